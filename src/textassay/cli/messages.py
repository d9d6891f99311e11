"""What is said on standard error: mistakes in one line, with the exit status that belongs to them, and progress.

Progress is a bar on a terminal, now and then a line elsewhere, nothing when asked to be quiet.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from textassay.errors import NotPutError, TextassayError, is_out_of_memory, missing_extra, unknown_name
from textassay.storage import with_addresses

if TYPE_CHECKING:
    from textassay.corpus.text_file import TextFile

_LONGEST_WORD = 400  # characters: longer than any path that people type
_LONGEST_LINE = 4000

_BROKEN_PIPE = 141  # what a shell reports of a program that a closed pipe ends
_FAULT = 70  # of the program itself, as in sysexits.h

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_OF_SILENCE = 60.0
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_WORTH_TELLING = 60.0


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM), which stops a command as Ctrl-C does."""


_received: list[KeyboardInterrupt] = []  # signals of this command, whatever became of what they raised


@contextlib.contextmanager
def handling_signals() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` inside the ``with`` block, and note it and Ctrl-C for `report_error`.

    Libraries may catch what a signal raises, and fail later of what was left undone. Outside the main thread it does
    nothing.
    """
    _received.clear()

    def stop(number: int, frame: object) -> None:
        _received.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise _received[-1]

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Let nothing interrupt or terminate what is left to do; it does nothing outside the main thread."""
    with contextlib.suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def report_error(error: BaseException) -> int:
    """Say in one line on standard error what `error` means to the user, and return the exit status."""
    interruption = _interruption(error)
    if interruption is None and not isinstance(error, TextassayError) and _received:
        interruption = _received[-1]
    _received.clear()
    if interruption is not None:
        ignore_signals()
        is_terminated = isinstance(interruption, Terminated)
        word = "terminated" if is_terminated else "interrupted"
        print_line(f"{word}; run the same command again (with --out it resumes where it stopped)")
        return 143 if is_terminated else 130
    if isinstance(error, BrokenPipeError):
        drop_output()
        return _BROKEN_PIPE
    error = missing_extra(error) or error
    if isinstance(error, TextassayError):
        print_line(f"error: {error}")
        return 1 if isinstance(error, NotPutError) else 2
    if isinstance(error, typer.TyperException):
        print_line(f"error: {_usage_message(error)}")
        return 2
    if is_out_of_memory(error):
        reason = f" ({str(error).splitlines()[0]})" if str(error) else ""
        print_line(f"error: out of memory{reason}; use fewer sentences or fewer workers")
        return 1
    if isinstance(error, OSError):
        drop_output()
        place = "" if error.filename is None else f"{error.filename}: "
        print_line(f"error: {place}{(error.strerror or str(error)).lower()}")
        return 2
    print_line(f"error: {type(error).__name__}: {error}; this is a bug, please report it (--debug shows where)")
    return _FAULT


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption that `error` is or came of: compiled code wraps it in an error of its own."""
    if error is None or isinstance(error, KeyboardInterrupt):
        return error
    return _interruption(error.__cause__) or _interruption(error.__context__)


def _usage_message(error: Any) -> str:
    """Return what Typer found wrong with the command line; an unknown option is answered with the nearest ones."""
    context, option = getattr(error, "ctx", None), getattr(error, "option_name", "")
    if context is not None and type(error).__name__ == "NoSuchOption":
        known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
        return str(unknown_name("option", option, known))
    message = str(error.format_message()).removesuffix(".")
    return message[:1].lower() + message[1:]


def print_line(message: str) -> None:
    """Print `message` as one line on standard error, where that is still open; of what is too long both ends."""
    with contextlib.suppress(OSError):
        print("textassay:", shortened(with_addresses(" ".join(message.splitlines()))), file=sys.stderr, flush=True)


def print_notes(files: "Mapping[str, TextFile]", *, quiet: bool = False) -> None:
    """Print what was noted while files were read, for commands whose results do not say it."""
    for name, file in () if quiet else files.items():
        for note in file.notes:
            print_line(f"{'warning' if note.is_warning else 'note'} {name}: {note.message} {note.remedy}")


def print_json(document: Mapping[str, Any]) -> None:
    import json

    json.dump(document, sys.stdout, indent=1, allow_nan=False)
    print()


def shortened(message: str) -> str:
    """Return a message without what no person reads: of a very long word, and of a very long message, both ends."""
    words = (_both_ends(word, _LONGEST_WORD) for word in message.split(" "))
    return _both_ends(" ".join(words), _LONGEST_LINE)


def _both_ends(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = (longest - 40) // 2
    return f"{text[:half]}...({len(text) - 2 * half:,} characters)...{text[-half:]}"


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; takes the place of `warnings.showwarning`."""
    print_line(f"warning: {message}")


def drop_output() -> None:
    """Point standard output nowhere, so that what is left in its buffer raises no second error at exit."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give the function that is called with a label, the steps done and their total; None when `quiet`."""
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = _Lines()
        try:
            yield lines
        finally:
            lines.stop()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task, pace = bar.add_task("reading", total=None), _Pace()

        def advance(label: str, done: int, total: int) -> None:
            bar.update(task, description=f"{label}{pace.left(label, done, total)}", completed=done, total=total)

        yield advance


def duration(seconds: float) -> str:
    """Return a time as people say it, such as 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class _Pace:
    """How long the rest will take, by the pace since the total changed."""

    def __init__(self) -> None:
        self._total, self._first, self._began = -1, 0, 0.0

    def left(self, label: str, done: int, total: int) -> str:
        """Return the time that is left where it is over a minute and the label does not say it."""
        now = time.monotonic()
        if total != self._total or done < self._first:
            self._total, self._first, self._began = total, done, now
        if done == self._first or " left" in label:
            return ""
        seconds = (now - self._began) / (done - self._first) * (total - done)
        return f", about {duration(seconds)} left" if seconds > _SECONDS_WORTH_TELLING else ""


class _Lines:
    """Prints a line at most every ten seconds, the first after ten; and one a minute while one step takes long."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._line = "at the first step"
        self._pace = _Pace()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._break_silence, name="progress", daemon=True).start()

    def __call__(self, label: str, done: int, total: int) -> None:
        with self._lock:
            self._line = f"{done} of {total} done, {label}{self._pace.left(label, done, total)}"
        self.tell(after=_SECONDS_BETWEEN_LINES)

    def tell(self, *, after: float) -> None:
        """Print where it stands if the last line is older than `after` seconds."""
        with self._lock:
            now = time.monotonic()
            if now - self._last >= after:
                self._last = now
                print_line(self._line)

    def stop(self) -> None:
        self._stopped.set()

    def _break_silence(self) -> None:
        while not self._stopped.wait(_SECONDS_BETWEEN_LOOKS):
            self.tell(after=_SECONDS_OF_SILENCE)
