"""What users see of every command and study, at the smallest size, as text files in ``tests/snapshots/``.

``make snapshots`` computes all of them anew, in the folder or, with ``--check``, beside it, and prints what differs:
a redesign may change words on purpose, and no value without an entry in the changelog. Processor times, versions and
temporary folders are masked. Names on the command line restrict it to some cases: ``compare study-judges``.
"""

import argparse
import contextlib
import csv
import difflib
import inspect
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import typer

import textassay
from made_up import sentences, shuffled
from textassay.cli.main import main, make_app

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"
COLUMNS = "100"
TEXT_FILES = {".md", ".txt", ".tsv", ".jsonl", ".yaml"}  # pages, LaTeX and CSV show the same: tests/report
WIDTH = 116
# Weights and kept work are not what a user reads.
NOT_READ = {"estimates", "stages", "checkpoint", "checkpoints"}
MASKS = (
    (re.compile(r"(\"[a-z_]*seconds[a-z_]*\": )(\{[^}]*\}|[^{\[,\n}]+)"), r"\1<masked>"),
    (re.compile(r"(\"(?:peak_bytes|started|finished|date|created)\": )[^{\[,\n}]+"), r"\1<masked>"),
    (re.compile(r"\d+(\.\d+)? (processor )?seconds"), "<seconds>"),
    (re.compile(r"textassay \d+\.\d+\.\d+"), "textassay <version>"),
    (re.compile(r"(\"version\": )\"[^\"]+\""), r"\1<version>"),
)


@dataclass(frozen=True)
class Case:
    """Commands to run one after the other in a fresh folder; what the last ones print and write is kept."""

    name: str
    commands: tuple[str, ...]
    before: Callable[[Path], contextlib.AbstractContextManager[None]] | None = None
    """What is written or replaced first, such as a study's scale."""

    keep: Sequence[str] = ("out",)
    """Folders whose files are kept."""


def run_case(case: Case, target: Path) -> None:
    """Write the snapshots of a case into the folder `target`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        _write_texts(folder)
        before = Path.cwd()
        os.chdir(folder)
        try:
            with case.before(folder) if case.before else contextlib.nullcontext():
                for number, command in enumerate(case.commands, start=1):
                    status, printed = _run(command.split())
                    part = target / f"{number}-{command.split()[0]}.txt"
                    _write(part, f"$ textassay {command}\n[exit status {status}]\n{printed}", folder)
        finally:
            os.chdir(before)
        for kept in case.keep:
            _keep(folder / kept, target / kept, folder)


def _run(arguments: list[str]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()) as messages:
        status = main(arguments)
    return status, output.getvalue() if status == 0 else output.getvalue() + messages.getvalue()


def _keep(source: Path, target: Path, folder: Path) -> None:
    """Keep the text of what a command wrote, and the names of its pictures and weights."""
    if not source.exists():
        return
    names = []
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if not path.is_file() or NOT_READ & set(inner.parts):
            continue
        names.append(inner.as_posix())
        if path.suffix == ".json":
            _write(target / inner, _compact(json.loads(path.read_text(encoding="utf-8"))) + "\n", folder)
        elif path.suffix in TEXT_FILES:
            _write(target / inner, path.read_text(encoding="utf-8"), folder)
    _write(target / "files.txt", "".join(f"{name}\n" for name in names), folder)


def _compact(value: Any, indent: int = 0) -> str:
    """Return JSON in which what fits on a line stands on one, and long rows of numbers are filled into lines."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    begin = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_compact(part, indent + 1)}" for key, part in value.items()]
        body = ",\n".join(begin + part for part in parts)
    elif any(isinstance(part, dict | list) for part in value):
        body = ",\n".join(begin + _compact(part, indent + 1) for part in value)
    else:
        body = textwrap.fill(
            line[1:-1],
            WIDTH,
            initial_indent=begin,
            subsequent_indent=begin,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return f"{line[0]}\n{body}\n{' ' * indent}{line[-1]}"


def _write(path: Path, text: str, folder: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = text.replace(str(folder), "<folder>")
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    path.write_text("\n".join(line.rstrip() for line in text.split("\n")), encoding="utf-8")


def _write_texts(folder: Path) -> None:
    """Write real text, training text, two generators, one of another kind, contexts, ratings and judgements."""
    texts = {
        "real": sentences(300, 1),
        "train": sentences(300, 2),
        "heldout": sentences(200, 5),
        "trigram": sentences(300, 3, shift=0.3),
        "lstm": shuffled(sentences(300, 4), 0),
        "copier": sentences(300, 2)[:100] * 2,
        "other": [" ".join(line.split()[::-1]) for line in sentences(300, 11)],
        "valid": sentences(60, 6),
    }
    for name, lines in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "german.txt").write_text("".join(f"{line.upper()}\n" for line in texts["train"]), encoding="utf-8")
    (folder / "labels.txt").write_text("".join(f"{k % 2}\n" for k in range(300)), encoding="utf-8")
    _write_judgements(folder / "judged.csv")


def _write_judgements(path: Path) -> None:
    texts = {
        "": sentences(60, 1),
        "SS": sentences(60, 2, shift=0.4),
        "gan": shuffled(sentences(60, 3), 0),
        "mle": sentences(60, 7, shift=0.1),
    }
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "rater", "label", "generator", "page", "text"))
        for name, lines in texts.items():
            for k, text in enumerate(lines):
                for rater in range(3):
                    label = "fake" if (k + rater) % 4 < {"": 1, "SS": 2, "gan": 3, "mle": 2}[name] else "real"
                    writer.writerow((f"{name}:{k}", f"r{rater}", label, name, f"p{k % 8}", text))


@contextlib.contextmanager
def _dd_study(folder: Path) -> Iterator[None]:
    from textassay_lab.papers.dd.experiment import DD_PAPER
    from textassay_lab.papers.paper import Network

    (folder / "text.txt").write_text("".join(f"{line}\n" for line in sentences(340, 1)), encoding="utf-8")
    micro = DD_PAPER.scales["tiny"].but(
        name="micro", n_train=120, n_drawn_train=100, n_valid=12, n_test=30, n_class=40, fractions=(0.5, 1.0),
        networks=dict.fromkeys(("LSTM", "GPT-2"), Network("tiny")), original=Network("tiny"), min_count=1,
    )  # fmt: skip
    with mock.patch.dict(DD_PAPER.scales, {"micro": micro}):
        yield


@contextlib.contextmanager
def _gan_study(folder: Path) -> Iterator[None]:
    from micro_gan import micro_scale, write_characters
    from textassay_lab.papers.gan_as_lm.experiment import GAN_PAPER

    write_characters(folder / "text")
    with mock.patch.dict(GAN_PAPER.scales, {"tiny": micro_scale()}):
        yield


@contextlib.contextmanager
def _exposure_study(folder: Path) -> Iterator[None]:
    from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER, TEXTS
    from textassay_lab.papers.paper import Contest, Network

    small = Network("tiny", {"max_epochs": 1, "width": 8})
    micro = EXPOSURE_PAPER.scales["tiny"].but(
        lstm=small, lstm_32=small, n_random=40, n_sequences=20,
        n_damaged=10, n_compared=10, n_fresh=20, rankgan=Contest("tiny", {}, {"rounds": 1, "pretraining_rounds": 0}),
        runs=2, bleu_runs=2, n_bleu=dict.fromkeys(TEXTS, 20), precision="float32",
    )  # fmt: skip
    words = " ".join(sentences(300, 1)).split()
    (folder / "data" / "yelp").mkdir(parents=True)
    lines = [" ".join(words[12 * k : 12 * (k + 1)]) for k in range(120)]
    (folder / "data" / "yelp" / "train.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with mock.patch.dict(EXPOSURE_PAPER.scales, {"tiny": micro}):
        yield


@contextlib.contextmanager
def _judges_study(folder: Path) -> Iterator[None]:
    from textassay_lab.papers.judges.findings import JUDGES_PAPER

    few = JUDGES_PAPER.scales["tiny"].but(classifiers=("SVM", "NB"))
    with mock.patch.dict(JUDGES_PAPER.scales, {"tiny": few}):
        yield


FILES = "--real real.txt trigram=trigram.txt lstm=lstm.txt"
QUIET = "--quiet --workers 1"
REST = "--train train.txt --real-heldout heldout.txt"
BENCH = "bench real.txt --sentences 200 --truth 400 --worlds growth-4,identical --estimators plain,quick"
STRESS = "stress --real real.txt --metrics dd,bleu(order=2),length --damages drop-words,shuffle-words --draws 2"
GOLD = "--gold trigram>copier>lstm --metrics dd,bleu --effort quick --resamples 100"
MODELS = (
    f"train ngram --order 2 --real train.txt --valid valid.txt --out ngram {QUIET} --json",
    f"train lstm --preset tiny --real train.txt --valid valid.txt --out lstm {QUIET} --json",
)
CASES = (
    Case("compare", (
        f"compare {FILES} copier=copier.txt {REST} --effort quick --out out {QUIET}",
    )),
    Case("compare-default", (f"compare {FILES} --metrics dd,bleu,mauve --out out {QUIET}",)),
    Case("compare-fail-if", (f"compare {FILES} --metrics dd --effort quick --no-explain {QUIET} --fail-if dd>0.1",)),
    Case("report", (
        f"compare {FILES} --metrics dd,bleu --effort quick --no-explain --out out {QUIET}",
        "report out",
    )),
    Case("explain", (f"explain {FILES} --effort quick {QUIET}", f"explain {FILES} --effort quick {QUIET} --json")),
    Case("plan", ("plan --margin 0.02 --detect 0.05 --separate 0.02 --quiet",
                  f"plan {FILES} --effort quick --margin 0.02 --separate 0.02 {QUIET} --json")),
    Case("leaks", (f"leaks --train train.txt --real heldout.txt copier=copier.txt lstm=lstm.txt --out out {QUIET}",)),
    Case("inspect", (f"inspect {FILES} copier=copier.txt --train train.txt",
                     f"inspect {FILES} copier=copier.txt --train train.txt --json")),
    Case("bench", (
        f"{BENCH} --out out {QUIET}",
        f"{BENCH} {QUIET} --json",
    )),
    Case("stress", (
        f"{STRESS} --out out {QUIET}",
        f"{STRESS} {QUIET} --json",
    )),
    Case("judge", (
        f"judge --ratings judged.csv --discriminators svm,naive-bayes --effort quick --resamples 100 "
        f"--metrics dd,bleu(order=4),rouge,self-bleu(order=2),length --out out {QUIET}",
        f"judge {FILES} copier=copier.txt {GOLD} {QUIET} --json",
    )),
    Case("human", (
        "human power --texts 20 --judges 3 --json",
        f"human build {FILES} --per-generator 20 --judgements 3 --out study --json",
        "human export study --to mechanical-turk --out mturk",
        "human export study --to html --out html",
        "human analyse judged.csv --out out",
        "human analyse judged.csv --json",
    )),
    Case("models", (
        *MODELS,
        "sample ngram -n 20 --quiet",
        "sample lstm -n 20 --quiet",
        f"likelihood lstm heldout.txt {QUIET}",
        f"likelihood ngram heldout.txt {QUIET} --json",
        f"discrepancy ngram lstm -n 200 {QUIET}",
        f"discrepancy ngram lstm -n 200 --out out {QUIET} --json",
    )),
    Case("exposure", (
        MODELS[1],
        f"exposure lstm --real heldout.txt --lengths 2,3 --sentence-length 6 --samples 50 --runs 2 --out out {QUIET}",
        f"exposure lstm --real heldout.txt --lengths 2,3 --sentence-length 6 --samples 50 --runs 2 {QUIET} --json",
    )),
    Case("approximate", (
        MODELS[1],
        f"approximate lstm valid.txt -n 40 --curve --out out {QUIET}",
        f"approximate lstm valid.txt -n 40 {QUIET} --json",
    )),
    Case("translate", (
        f"train translation --real train.txt --source german.txt --preset tiny --epochs 1 --out model {QUIET} --json",
        f"translate model german.txt -n 5 --real train.txt --beam 2 {QUIET}",
    )),
    Case("contexts", ("contexts train.txt --labels labels.txt --out contexts.tsv",)),
    Case("study-list", ("study list", "study list --json")),
    Case("study-dd-real", (f"study dd-real --real text.txt --scale micro --out out {QUIET}",), _dd_study),
    Case("study-dd-synthetic", (f"study dd-synthetic --real text.txt --scale micro --out out {QUIET}",), _dd_study),
    Case("study-gan-as-lm", (f"study gan-as-lm --data text --seeds 1 --out out {QUIET}",), _gan_study),
    Case("study-exposure-bias", (f"study exposure-bias --data data --out out {QUIET}",), _exposure_study),
    Case("study-judges", (f"study judges --judgements judged.csv --out out {QUIET}",), _judges_study),
)  # fmt: skip


def write_help(target: Path) -> None:
    """Write the help of every command."""

    def walk(command: Any, words: list[str]) -> None:
        _, text = _run([*words, "--help"])
        _write(target / f"{'-'.join(['textassay', *words])}.txt", text, Path("/nowhere"))
        for name in sorted(getattr(command, "commands", {})):
            walk(command.commands[name], [*words, name])

    walk(typer.main.get_command(make_app()), [])


def write_signatures(target: Path) -> None:
    """Write the signatures of all public names and of their public methods."""
    lines = []
    things = {name: getattr(textassay, name) for name in textassay.__all__}
    for face in (textassay.generators, textassay.discriminators):
        things |= {f"{face.__name__.split('.')[1]}.{name}": getattr(face, name) for name in face.__all__}
    for name, thing in sorted(things.items()):
        members = {f"{name}.{key}": value for key, value in vars(thing).items()} if inspect.isclass(thing) else {}
        public = {key: value for key, value in members.items() if not key.rpartition(".")[2].startswith("_")}
        for key, value in {name: thing, **public}.items():
            if callable(value):
                with contextlib.suppress(ValueError):
                    lines.append(f"{key}{inspect.signature(value)}")
            else:
                lines.append(key)
    _write(target / "python.txt", "\n".join(lines) + "\n", Path("/nowhere"))


def make(target: Path, names: Sequence[str]) -> None:
    """Compute the snapshots of the named cases, or all of them, into the folder `target`."""
    os.environ["COLUMNS"] = COLUMNS
    parts: dict[str, Callable[[Path], None]] = {"help": write_help, "signatures": write_signatures}
    parts |= {case.name: partial(run_case, case) for case in CASES}
    unknown = set(names) - set(parts)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    for name, write in parts.items():
        if not names or name in names:
            shutil.rmtree(target / name, ignore_errors=True)
            began = time.process_time()
            write(target / name)
            print(f"{name}: {time.process_time() - began:.1f} s", file=sys.stderr, flush=True)


def differences(before: Path, after: Path) -> Iterator[str]:
    """Yield what differs between two folders of snapshots; numbers of JSON files count as equal to 9 digits."""
    files = {path.relative_to(root) for root in (before, after) for path in root.rglob("*") if path.is_file()}
    for file in sorted(files):
        if not (before / file).exists() or not (after / file).exists():
            yield f"{'new' if (after / file).exists() else 'gone'}: {file}"
            continue
        old, new = ((root / file).read_text(encoding="utf-8") for root in (before, after))
        if old == new or _same_numbers(old, new):
            continue
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"old {file}", f"new {file}", n=0, lineterm="")
        yield "\n".join(list(lines)[:30])


def _same_numbers(old: str, new: str) -> bool:
    """Say whether two texts differ in numbers alone, by less than 1e-9 of them: another processor, not another rule."""
    number = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
    left, right = re.split(number, old), re.split(number, new)
    return len(left) == len(right) and all(
        one == two if place % 2 == 0 else math.isclose(float(one), float(two), rel_tol=1e-9, abs_tol=1e-12)
        for place, (one, two) in enumerate(zip(left, right, strict=True))
    )


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="cases, all by default")
    parser.add_argument("--check", action="store_true", help="write nothing; print what differs, exit with 1")
    options = parser.parse_args()
    if not options.check:
        make(FOLDER, options.names)
        return 0
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), options.names)
        chosen = [path.name for path in Path(name).iterdir()]
        found = [line for part in chosen for line in differences(FOLDER / part, Path(name) / part)]
    print("\n".join(found))
    print(f"{len(found)} files differ", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(_main())
