"""The commands that the scripts of this folder disturb: small, on Python's own docstrings, and run as processes."""

import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("child.py")
_STUDY_SENTENCES = 340

COMMANDS: Mapping[str, str] = {
    "compare": "compare --real real.txt a=generated.txt --metrics dd,bleu,self-bleu,distinct-n,length,vocabulary "
    "--effort quick",
    "ngram": "train ngram --real real.txt",
    "lstm": "train lstm --preset tiny --epochs 3 --real real.txt",
    "study": "study dd-real --scale micro --real study.txt",
    "bench": "bench real.txt --sentences 100 --truth 200 --estimators plain,quick --worlds growth-4,identical",
    "stress": "stress --real real.txt --sentences 50 --metrics bleu,distinct-n --damages drop-words "
    "--strengths 0.2,0.4 --draws 2",
}
"""Name to what stands after ``textassay``, but for ``--out``."""

Contents = Mapping[str, bytes]


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    status: int  # negative: the signal that killed it
    stdout: str
    stderr: str
    seconds: float  # of a processor


class Process(Protocol):
    """A process that runs a command: of `subprocess`, or a copy of this one."""

    pid: int

    def poll(self) -> int | None: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...
    def communicate(self, input: None = None, timeout: float | None = None) -> tuple[str, str]: ...


class Copy:
    """A copy of this process, in which everything is imported already, that runs a command."""

    def __init__(
        self, fault: Mapping[str, object], words: list[str], folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._files = [
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  (closed by `communicate`)
            for _ in range(2)
        ]
        self._status: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid:
            return
        status = 70
        try:
            for descriptor, file in enumerate(self._files, start=1):
                os.dup2(file.fileno(), descriptor)
            os.chdir(folder)
            os.environ.update(environment)
            _ignore_signals()
            status = import_module("child").run(fault, words)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)

    def poll(self) -> int | None:
        """Return the status, if it has ended."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def send_signal(self, sig: int, /) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: None = None, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; return what it printed."""
        limit = math.inf if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > limit:
                raise subprocess.TimeoutExpired("the copy", timeout or 0)
            time.sleep(0.005)
        printed = []
        for file in self._files:
            file.seek(0)
            printed.append(file.read())
            file.close()
        return printed[0], printed[1]


@dataclass
class Scratch:
    """A folder with the texts; processes run in it, new ones or, with `fork`, copies of this one."""

    folder: Path
    fork: bool = False
    number: int = field(default=0)

    def __post_init__(self) -> None:
        from textassay.corpus.docstrings import docstring_sentences

        sentences = [text for text in docstring_sentences() if 3 <= len(text.split()) <= 12]
        parts = {"real": sentences[:300], "generated": sentences[300:600], "other": sentences[600:900]}
        for name, texts in {**parts, "study": sentences[:_STUDY_SENTENCES]}.items():
            (self.folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        (self.folder / "tmp").mkdir()

    def new(self) -> Path:
        """Return the path of an output folder that is not there yet."""
        self.number += 1
        return self.folder / f"out-{self.number}"

    def start(self, command: str, out: Path | str, fault: Mapping[str, object] | None = None) -> Process:
        """Start a command of `COMMANDS`, or one that is spelt out, with `fault` (see `child.py`)."""
        words = [*COMMANDS.get(command, command).split(), "--out", str(out), "--quiet", "--workers", "2"]
        environment = {"TMPDIR": str(self.folder / "tmp"), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        if self.fork:
            return Copy(fault or {}, words, self.folder, environment)
        fault_file = self.folder / f"{Path(out).name}.fault.json"
        fault_file.write_text(json.dumps(fault or {}), encoding="utf-8")
        return subprocess.Popen(
            [sys.executable, str(CHILD), str(fault_file), *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_ignore_signals,
        )

    def run(self, command: str, out: Path | str, fault: Mapping[str, object] | None = None) -> Ended:
        """Run a command to its end."""
        return end(self.start(command, out, fault))

    def undisturbed(self, command: str) -> "Whole":
        """Return what two runs of the command left, which must be the same."""
        counted = self.folder / "count"
        outs = self.new(), self.new()
        runs = [self.run(command, out, {"count": str(counted)}) for out in outs]
        for run in runs:
            if run.status != 0:
                raise SystemExit(f"{command} fails undisturbed: {run.stderr}")
        first, second = (contents(out) for out in outs)
        if first != second:
            raise SystemExit(f"two undisturbed runs of {command} differ: {', '.join(differences(first, second))}")
        for out in outs:
            shutil.rmtree(out)
        return Whole(first, runs[1].seconds, int(counted.read_text()))


@dataclass(frozen=True)
class Whole:
    """An undisturbed run: what it wrote, how long it took, how many changes of files it made."""

    contents: Contents
    seconds: float
    n_changes: int


def end(process: Process, *, timeout: float = 600) -> Ended:
    """Wait for a process; one that does not end is killed, and its status is 124."""
    before = os.times()
    try:
        stdout, stderr = process.communicate(timeout=timeout)
        status = process.poll() or 0
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        status = 124
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return Ended(status, stdout, stderr, seconds)


def signal_at(process: Process, number: int, seconds: float) -> None:
    """Send a signal once the process has taken so many seconds of a processor."""
    ticks = os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        try:
            numbers = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        if (int(numbers[11]) + int(numbers[12])) / ticks >= seconds:
            process.send_signal(number)
            return
        time.sleep(0.002)


def contents(out: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def differences(ours: Contents, whole: Contents) -> list[str]:
    """Return the files that are missing, new or different."""
    names = sorted({*ours, *whole})
    return [
        f"{name} {'is missing' if name not in ours else 'is left' if name not in whole else 'differs'}"
        for name in names
        if ours.get(name) != whole.get(name)
    ]


def one_line(ended: Ended) -> bool:
    """Return whether the last line of standard error is ours, and no traceback stands anywhere."""
    lines = ended.stderr.splitlines()
    ours = all(line.startswith("textassay: ") for line in lines)
    return bool(lines) and ours and "Traceback" not in ended.stderr + ended.stdout


def refusal(ended: Ended) -> list[str]:
    """Return what is wrong with how a command ended that could not go on: one line and status 1 or 2 are right."""
    good = ended.status in (1, 2) and one_line(ended) and "this is a bug" not in ended.stderr
    return [] if good else [f"status {ended.status}: {ended.stderr[-1500:]}"]


def finishes(place: Scratch, command: str, out: Path, whole: Whole) -> list[str]:
    """Run the command undisturbed; return how what it left differs from an undisturbed run."""
    ended = place.run(command, out)
    if ended.status != 0:
        return [f"run again, it has status {ended.status}: {ended.stderr[-1500:]}"]
    return differences(contents(out), whole.contents)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as a Markdown table, "wrong" last; a key that a row lacks is 0."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    heads.sort(key="wrong".__eq__)
    lines = [heads, ["---"] * len(heads), *([str(row.get(head, 0)) for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@contextmanager
def scratch(options: argparse.Namespace) -> Iterator[Scratch]:
    """Give a folder with the texts, which is removed in the end unless it was named."""
    sys.path.insert(0, str(ROOT / "src"))
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    if options.fork:
        _import_everything()
    place = Path(tempfile.mkdtemp(prefix="textassay-faults-", dir=options.folder))
    try:
        yield Scratch(place, options.fork)
    finally:
        if options.folder is None:
            shutil.rmtree(place, ignore_errors=True)


def _import_everything() -> None:
    """Import the package and what it imports where it is used."""
    os.environ["OMP_NUM_THREADS"] = "1"
    package = import_module("textassay")
    others = (
        "matplotlib.backends.backend_svg",
        "scipy.stats",
        "sklearn.linear_model",
        "torch",
        "rich.console",
        "pandas",
    )
    for name in [*others, *(module.name for module in walk_packages(package.__path__, "textassay."))]:
        if not name.endswith("__main__"):
            with suppress(ImportError):
                import_module(name)


def parser(about: str, *, times: int | None = None) -> argparse.ArgumentParser:
    """Return a parser with the options that all scripts have."""
    result = argparse.ArgumentParser(description=about.partition("\n")[0])
    result.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}; all by default")
    result.add_argument("--seed", type=int, default=0, help="of the moments")
    result.add_argument("--fork", action="store_true", help="copy a process with all imports done: half the time")
    result.add_argument("--folder", type=Path, help="where to work, and leave everything")
    if times is not None:
        result.add_argument("--times", type=int, default=times, help=f"how many moments of each command; {times}")
    return result


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the commands that were named."""
    names: list[str] = options.commands or list(COMMANDS)
    unknown = set(names) - set(COMMANDS)
    if unknown:
        raise SystemExit(f"unknown commands {', '.join(sorted(unknown))}: choose among {', '.join(COMMANDS)}")
    return names


def draws(seed: int, name: str) -> random.Random:
    """Return random numbers of a command."""
    return random.Random(f"{seed} {name}")


def say(message: str) -> None:
    """Print a line of progress on standard error."""
    print(message, file=sys.stderr, flush=True)


def _ignore_signals() -> None:
    """Ignore what comes before the command listens: `child.run` ends it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
