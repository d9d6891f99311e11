"""Progress by itself: a line that is written anew where someone looks on, in a terminal or a notebook.

It appears once work takes longer than two seconds, and goes when it is done. A command has its own.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from typing import Any, TextIO, TypeVar, cast

Progress = Callable[[str, int, int], None]
Function = TypeVar("Function", bound=Callable[..., Any])

_SECONDS_BEFORE, _SECONDS_BETWEEN = 2.0, 0.2
_BY_ITSELF: ContextVar[bool] = ContextVar("progress_by_itself", default=True)


@contextmanager
def no_own_progress() -> Iterator[None]:
    """Let only those show progress inside the ``with`` block who are told to."""
    token = _BY_ITSELF.set(False)
    try:
        yield
    finally:
        _BY_ITSELF.reset(token)


def shows_progress(function: Function) -> Function:
    """Let a function that has a keyword `progress` show it by itself where that is None."""

    @wraps(function)
    def call(*arguments: Any, progress: Any = None, **settings: Any) -> Any:
        if progress is not None or not _BY_ITSELF.get() or not _is_looked_at(sys.stderr):
            return function(*arguments, progress=progress, **settings)
        line = _Line(sys.stderr)
        with no_own_progress():  # of what is called in turn
            try:
                return function(*arguments, progress=line, **settings)
            finally:
                line.clear()

    return cast(Function, call)


def _is_looked_at(stream: Any) -> bool:
    """Return whether a stream is a terminal or a notebook."""
    return type(stream).__module__.startswith("ipykernel") or (hasattr(stream, "isatty") and stream.isatty())


class _Line:
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._next, self._width = stream, time.monotonic() + _SECONDS_BEFORE, 0

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _SECONDS_BETWEEN
            text = f"{done} of {total} done, {label}"[:79]
            self._write(f"\r{text.ljust(self._width)}")
            self._width = len(text)

    def clear(self) -> None:
        if self._width:
            self._write(f"\r{' ' * self._width}\r")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
