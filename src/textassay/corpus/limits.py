"""How much is read: bytes of one input, characters of one text.

A small compressed file can hold more text than the memory does, and one text of many megabytes costs every metric far
more than the same words in sentences. Both are refused in one line before the memory is gone; who means it raises the
limit.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from textassay.errors import InputError, OptionError

LEAST_LINE = 64  # bytes that a line counts for at least, about what the string of a short one takes in memory
_WHOLE = 4
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


@dataclass(frozen=True)
class InputLimits:
    """How many bytes of a file are read, decompressed, and how many characters one text may have."""

    max_input: int = 4_000_000_000
    max_text: int = 1_000_000


_LIMITS: ContextVar[InputLimits] = ContextVar("limits", default=InputLimits())  # noqa: B039  (it is frozen)


def current_limits() -> InputLimits:
    """Return the limits that hold here."""
    return _LIMITS.get()


def document_limit() -> int:
    """Return how many bytes a document may have that is parsed as a whole, and so takes several times its size."""
    return max(1, _LIMITS.get().max_input // _WHOLE)


@contextmanager
def input_limits(*, max_input: int | str | None = None, max_text: int | None = None) -> Iterator[InputLimits]:
    """Change how much may be read inside the ``with`` block.

    Parameters
    ----------
    max_input
        Bytes of one file, decompressed: a number, or a text such as "20GB". A line counts for 64 bytes at least. By
        default as it was before; 4 GB at first.
    max_text
        Characters of one text, from files and from Python alike; 1,000,000 at first.

    Raises
    ------
    OptionError
        If a limit is no size, or below 1.

    Examples
    --------
    >>> with input_limits(max_input="20GB") as limits:
    ...     limits.max_input
    20000000000
    """
    token = _LIMITS.set(_LIMITS.get())
    try:
        set_limits(max_input=max_input, max_text=max_text)
        yield _LIMITS.get()
    finally:
        _LIMITS.reset(token)


@contextmanager
def running_text(is_running: bool = True, /) -> Iterator[None]:
    """Let one text be as long as the file inside the ``with`` block: running text, which is cut into windows."""
    token = _LIMITS.set(InputLimits(_LIMITS.get().max_input, sys.maxsize) if is_running else _LIMITS.get())
    try:
        yield
    finally:
        _LIMITS.reset(token)


def set_limits(*, max_input: int | str | None = None, max_text: int | None = None) -> None:
    """Change the limits from here on, to the end of the `input_limits` around it."""
    before = _LIMITS.get()
    n_bytes = before.max_input if max_input is None else parse_size(max_input)
    n_characters = before.max_text if max_text is None else max_text
    for name, value in (("--max-input", n_bytes), ("--max-text", n_characters)):
        if value < 1:
            raise OptionError(f"{name} must be at least 1, got {value}")
    _LIMITS.set(InputLimits(n_bytes, n_characters))


def parse_size(size: int | str) -> int:
    """Return how many bytes a size is: a number, with k, M, G or T (of 1,000) or ki, Mi, Gi, Ti (of 1,024).

    >>> parse_size("1.5GB"), parse_size("512 MiB")
    (1500000000, 536870912)
    """
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size.strip())
    if match is None or (match[3] and not match[2]):
        raise OptionError(f"--max-input must be a number of bytes, such as 500MB or 20GB, got '{size}'")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** " kmgt".index(match[2].lower() or " "))


def long_input(place: str, limit: int, *, n_lines: int | None = None) -> InputError:
    """Return the error for an input at `place` that has more than `limit` bytes; or too many lines, `n_lines`."""
    more = f"more than {size_told(limit)}"
    if n_lines is not None:
        more = f"{n_lines:,} lines and more, each of which counts for {LEAST_LINE} bytes, which is {more}"
    higher = size_told(5 * current_limits().max_input).replace(" ", "")
    return InputError(
        f"{place} holds {more}, and that is the limit: give a part of it, or raise the limit with --max-input {higher}"
    )


def long_text(place: str, n: int | None, limit: int) -> InputError:
    """Return the error for what stands at `place`: `n` characters (None: nobody knows how many) instead of `limit`."""
    length = f"more than {limit:,} characters" if n is None else f"{n:,} characters, more than the {limit:,}"
    allowed = current_limits().max_text
    return InputError(
        f"{place} has {length} that one text may have: split long documents into sentences or paragraphs, one a "
        f"text; --max-text {allowed * 10 if n is None else max(n, allowed)} reads it all the same, and --max-tokens "
        "then cuts it"
    )


def size_told(n_bytes: int) -> str:
    """Return a number of bytes for people."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
