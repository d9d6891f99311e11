"""Fuzz a reader: ``python tests/fuzz/fuzz.py READER... --seconds 600``; without a name, all of them.

Small valid files are changed at random, for ever new ones; with atheris installed (``pip install atheris``), guided by
which lines of textassay an input reaches (``--plain``: not so). An input may raise a TextassayError and nothing else,
within 5 seconds and with memory of 10 times its size and a constant at most. What breaks that is kept in ``--found``.
"""

import argparse
import faulthandler
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import FrameType

from readers import READERS, Reader, reader

MAX_INPUT = 1_000_000  # bytes that readers may decompress here, in place of 4 GB
_MAX_LENGTH = 200_000
_SECONDS = 5
_SOURCE = Path(__file__).resolve().parents[2] / "src"
_MEMORY_FACTOR, _MEMORY_CONSTANT = 10, 64 << 20
_PIECES = (
    b"", b"\0", b"\n", b"\r\n", b'"', b"{", b"[" * 60, b"]", b",", b":", b"\\u0000", b"\\ud800", b"1e999", b"-1", b"0",
    b"NaN", b"null", b"true", b"9" * 400, b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xef\xbb\xbf",
    b"\xff\xfe", b"&a [*a,*a]", b"!!python/object:os.system", b"\x80\x04", b"PAR1", b"\x1f\x8b\x08", b"PK\x03\x04",
    b"'", b"- ", b"? ", b"\x85", b"\xe2\x80\xa8", b"9223372036854775808", b"-9223372036854775809", b"1" * 5000,
)  # fmt: skip


class _TooSlow(BaseException):
    """Nothing that reads a file may swallow it."""


class FaultError(Exception):
    """An input that breaks the promise; the message says how."""


def main() -> int:
    """Fuzz the readers named, each in a process of its own, and print how many inputs did what."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)}; all by default")
    parser.add_argument("--seconds", type=float, default=600, help="of a processor for each; 600")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="where inputs that break something go")
    options = parser.parse_args()
    sys.path.insert(0, str(_SOURCE))
    faults = [_in_a_process(name, options) for name in options.readers or READERS]
    return int(any(faults))


def _in_a_process(name: str, options: argparse.Namespace) -> bool:
    """Fuzz a reader in a copy of this process, and a new one whenever an input ended it; return if there are faults."""
    trial = Trial(name, options.found)
    number = options.seed
    while trial.seconds < options.seconds:
        child = os.fork()
        if not child:
            try:
                _fuzz(trial, options.seconds, number, plain=options.plain)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        _, waited = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(waited)
        trial.load()
        if status == 0:
            break
        if status == 70:
            return True
        trial.keep(f"ends the process with status {status}", trial.last())
        trial.seconds += 1
        number += 1000
        trial.save()
    trial.print()
    return bool(trial.faults)


def _fuzz(trial: "Trial", seconds: float, number: int, *, plain: bool) -> None:
    """Fuzz a reader for so many seconds of a processor and end the process with status 0."""
    if not plain:
        try:
            import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            plain = True
    if plain:
        target = reader(trial.name)
        _call_once(target)
        numbers = random.Random(f"{number} {trial.name}")
        pool = list(target.seeds)
        trial.start()
        while trial.seconds < seconds:
            content = changed(numbers, pool)
            if trial.run(target, content) and len(content) < 20_000 and numbers.random() < 0.02:
                pool = [*target.seeds, *pool[len(target.seeds) :][-50:], content]  # it was read: begin from there, too
        trial.save()
        os._exit(0)
    with atheris.instrument_imports(include=["textassay"]):
        target = reader(trial.name)
        _call_once(target)

    def one(content: bytes) -> None:
        trial.run(target, content)
        if trial.seconds > seconds:
            trial.save()
            os._exit(0)

    trial.start()
    with tempfile.TemporaryDirectory() as folder:
        for place, seed in enumerate(target.seeds):
            (Path(folder) / str(place)).write_bytes(seed)
        flags = ("verbosity=0", "handle_segv=0", "handle_abrt=0", f"max_len={_MAX_LENGTH}", f"seed={number + 1}")
        atheris.Setup([sys.argv[0], folder, *(f"-{flag}" for flag in flags)], one)
        atheris.Fuzz()


def _call_once(target: Reader) -> None:
    """Read the seeds, so that whatever is imported on first use is there."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in target.seeds:
            read(target, Path(folder), seed)


class Trial:
    """The inputs of a reader and what came of them, kept in a folder that outlives the process."""

    def __init__(self, name: str, found: Path) -> None:
        self.name, self.found = name, found
        self.counts: Counter[str] = Counter()
        self.faults: dict[str, bytes] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        (self._folder / "in").mkdir()
        self.seconds = 0.0  # of a processor, on inputs alone
        self._looked = self._saved = 0.0

    def start(self) -> None:
        """Begin to count seconds."""
        self._looked = time.process_time()

    def run(self, target: Reader, content: bytes) -> bool:
        """Read one input; return whether it was read without an error."""
        was_read = False
        try:
            was_read = read(target, self._folder / "in", content)
            self.counts["read" if was_read else "refused"] += 1
        except FaultError as fault:
            self.keep(str(fault), content)
        now = time.process_time()
        self.seconds += now - self._looked
        self._looked = now
        if self.seconds - self._saved > 1:
            self.save()
        return was_read

    def keep(self, fault: str, content: bytes) -> None:
        """Keep an input that breaks something, if it is the shortest that does."""
        self.counts["faults"] += 1
        if fault not in self.faults or len(content) < len(self.faults[fault]):
            self.faults[fault] = content
            self.found.mkdir(parents=True, exist_ok=True)
            (self.found / f"{self.name}-{list(self.faults).index(fault)}").write_bytes(content)

    def last(self) -> bytes:
        """Return the input that was read last."""
        return max((self._folder / "in").iterdir(), key=lambda path: path.stat().st_mtime_ns).read_bytes()

    def save(self) -> None:
        """Write counts and faults for `load`."""
        self._saved = self.seconds
        (self._folder / "state").write_bytes(pickle.dumps((self.counts, self.faults, self.seconds)))

    def load(self) -> None:
        """Take over what another process saved."""
        with suppress(FileNotFoundError):
            self.counts, self.faults, self.seconds = pickle.loads((self._folder / "state").read_bytes())

    def print(self) -> None:
        """Print a row of a table, and the faults."""
        shutil.rmtree(self._folder, ignore_errors=True)
        counts = [sum(self.counts.values()), *(self.counts[key] for key in ("read", "refused", "faults"))]
        print(f"| {self.name} | {' | '.join(f'{count:,}' for count in counts)} | {len(self.faults)} |", flush=True)
        for number, (fault, content) in enumerate(self.faults.items()):
            print(f"{self.name}-{number} ({len(content)} bytes): {fault}", file=sys.stderr, flush=True)


def read(target: Reader, folder: Path, content: bytes) -> bool:
    """Read one input as a file; return whether that was possible; raise `FaultError` where it breaks the promise."""
    from textassay.corpus.limits import input_limits
    from textassay.errors import TextassayError

    for name, other in target.others.items():
        (folder / name).write_bytes(other)
    path = folder / target.name
    path.unlink(missing_ok=True)  # the last one may still be mapped into memory
    path.write_bytes(content)
    before = _resident(reset=True)
    signal.signal(signal.SIGPROF, _raise_too_slow)
    faulthandler.dump_traceback_later(60 * _SECONDS, exit=True)  # by the clock: compiled code heeds no signal
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    begun = time.process_time()
    was_read = False
    try:
        with warnings.catch_warnings(), input_limits(max_input=MAX_INPUT):
            warnings.simplefilter("ignore")
            target.read(path)
        was_read = True
    except TextassayError as error:
        if "\n" in str(error):
            raise FaultError(f"message of several lines: {str(error)[:200]!r}") from None
    except _TooSlow:
        raise FaultError("takes more than 5 seconds") from None
    except Exception as error:
        raise FaultError(f"{type(error).__name__} at {_place(error)}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        seconds = time.process_time() - begun
    if seconds > _SECONDS:
        raise FaultError("takes more than 5 seconds")
    grown = _resident() - before
    if grown > _MEMORY_FACTOR * max(len(content), MAX_INPUT) + _MEMORY_CONSTANT:
        raise FaultError(f"takes {grown >> 20} MB")
    return was_read


def changed(numbers: random.Random, pool: list[bytes]) -> bytes:
    """Return an input of the pool, changed in a few places."""
    content = bytearray(numbers.choice(pool))
    for _ in range(1 << numbers.randrange(4)):
        begin = numbers.randint(0, len(content))
        end = min(len(content), begin + numbers.choice((1, 2, 4, 16, 64, 1 << 20)))
        how = numbers.randrange(7)
        if how == 0 and begin < len(content):
            content[begin] ^= 1 << numbers.randrange(8)
        elif how == 1 and begin < len(content):
            content[begin] = numbers.choice((0, 1, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
        elif how == 2:
            del content[begin:end]
        elif how == 3:
            content[begin:begin] = content[begin:end] * numbers.choice((1, 2, 100))
        elif how == 4:
            content[begin : numbers.choice((begin, end))] = numbers.choice(_PIECES)
        elif how == 5:
            other = numbers.choice(pool)
            place = numbers.randint(0, len(other))
            content[begin:end] = other[place : place + numbers.choice((1, 8, 64, 512))]
        else:
            content[begin:end] = numbers.randbytes(min(end - begin, 64))
        del content[_MAX_LENGTH:]
    return bytes(content)


def _resident(*, reset: bool = False) -> int:
    """Return the bytes of memory held, or the most since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    wanted = "VmRSS:" if reset else "VmHWM:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(wanted))


def _place(error: BaseException) -> str:
    """Return the innermost line of textassay, and the line that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/textassay/" in frame.filename]
    return ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*ours[-1:], *frames[-1:]))


def _raise_too_slow(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


if __name__ == "__main__":
    sys.exit(main())
