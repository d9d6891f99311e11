"""Limits on input: bytes of one file, characters of one text.

A small compressed file can hold more text than fits into memory, and one text of many megabytes costs every metric far
more than the same words in short texts. Both are rejected with one line; users can raise the limits.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from textassay.errors import InputError, OptionError

MAX_ORDER = 100  # of n-grams that a model counts: each order is one more pass over the text
MAX_TOKENS = 1_000_000  # the longest text that a model may draw
MIN_LINE_BYTES = 64  # bytes that a line counts at least: about what a short text costs with its tokens
_MAX_INPUT = 4_000_000_000
_USUAL_RATIO = 16  # how far text compresses, at most; a bomb compresses a thousandfold
_LINE_FACTOR = 16  # how many times as long as a text its line may be
_DOCUMENT_COST = 4  # memory for parsing a whole document, in multiples of its size
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


@dataclass(frozen=True)
class InputLimits:
    """How many decompressed bytes of a file are read, and how many characters one text may have."""

    max_input: int = _MAX_INPUT
    max_text: int = 1_000_000


_LIMITS: ContextVar[InputLimits] = ContextVar("limits", default=InputLimits())  # noqa: B039  (it is frozen)


def current_limits() -> InputLimits:
    return _LIMITS.get()


def input_limit(n_bytes: int) -> int:
    """Return how many bytes, decompressed, a file of `n_bytes` may hold that is read block by block.

    That is `InputLimits.max_input`; or, where nobody changed it, as much as text of this size may hold if that is more:
    it is kept on disk, as the file is.
    """
    limit = _LIMITS.get().max_input
    return max(limit, _USUAL_RATIO * n_bytes) if limit == _MAX_INPUT else limit


def line_limit() -> int:
    """Return how many characters a line or field with a text may have, with all other fields."""
    return _LINE_FACTOR * _LIMITS.get().max_text


def document_limit() -> int:
    """Return how many bytes a document may have that is parsed as a whole."""
    return max(1, _LIMITS.get().max_input // _DOCUMENT_COST)


@contextmanager
def input_limits(*, max_input: int | str | None = None, max_text: int | None = None) -> Iterator[InputLimits]:
    """Change how much may be read inside the ``with`` block.

    Parameters
    ----------
    max_input
        Decompressed bytes of one file: a number, or a text such as "20GB". A line counts as at least 64 bytes. None
        keeps the limit; it is 4 GB at first, or 16 times the size of a file of more than 250 MB.
    max_text
        Characters of one text, from files and from Python. None keeps the limit; it is 1,000,000 at first.

    Raises
    ------
    OptionError
        If a limit is not a size, or is below 1.

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
    """Let one text be as long as the file inside the ``with`` block, for running text that is cut into windows."""
    token = _LIMITS.set(InputLimits(_LIMITS.get().max_input, sys.maxsize) if is_running else _LIMITS.get())
    try:
        yield
    finally:
        _LIMITS.reset(token)


def set_limits(*, max_input: int | str | None = None, max_text: int | None = None) -> None:
    """Change the limits until the enclosing `input_limits` block ends."""
    before = _LIMITS.get()
    n_bytes = before.max_input if max_input is None else parse_size(max_input)
    n_characters = before.max_text if max_text is None else max_text
    for name, value in (("--max-input", n_bytes), ("--max-text", n_characters)):
        if value < 1:
            raise OptionError(f"{name} must be at least 1, got {value}")
    _LIMITS.set(InputLimits(n_bytes, n_characters))


def parse_size(size: int | str) -> int:
    """Return a size in bytes: a number, perhaps with k, M, G, T (powers of 1,000) or ki, Mi, Gi, Ti (of 1,024).

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


def input_too_long(place: str, limit: int, *, n_lines: int | None = None, size: int | None = None) -> InputError:
    """Return the error for an input at `place` of more than `limit` bytes, or with too many lines (`n_lines`).

    `size`: bytes that it has, where that is known; a limit is advised that lets it through.
    """
    more = f"more than {format_size(limit)}"
    if n_lines is not None:
        more = f"at least {n_lines:,} lines, each of which counts as {MIN_LINE_BYTES} bytes or more, which is {more}"
    higher = format_size(max(5 * current_limits().max_input, _DOCUMENT_COST * (size or 0), 1000)).replace(" ", "")
    return InputError(
        f"{place} holds {more}, the limit: give a part of the file, or raise the limit with --max-input {higher}"
    )


def text_too_long(place: str, n: int | None, limit: int) -> InputError:
    """Return the error for a text at `place` of `n` characters (None: unknown) where `limit` are allowed."""
    length = f"more than the {limit:,} characters" if n is None else f"{n:,} characters, more than the {limit:,}"
    allowed = current_limits().max_text
    return InputError(
        f"{place} has {length} allowed for one text: split the text, or read it whole with --max-text "
        f"{allowed * 10 if n is None else max(n, allowed)} (and cut it with --max-tokens)"
    )


def format_size(n_bytes: int) -> str:
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
