"""Small parts of sentences and safe text, for every renderer."""

import re
import unicodedata
from collections.abc import Sequence

from textassay.embedding.store import DEFAULT_ENCODER

# Unicode's embeddings, overrides and isolates, by which a text turns the order of what follows.
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def join_words(words: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def printable(text: str) -> str:
    """Return `text` with what could steer a terminal or reorder a page replaced: controls, line breaks, directions."""
    return "".join("\N{REPLACEMENT CHARACTER}" if _steers(character) else character for character in text)


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` characters, cut in the middle: both ends of a text tell something."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 3
    return f"{text[: width - 3 - tail].rstrip()} … {text[len(text) - tail :].lstrip()}"


def excerpt(text: str, width: int, phrases: Sequence[str] = ()) -> str:
    """Return `text` in at most `width` characters, cut at spaces around the first of `phrases` that it holds.

    Without one, as `shorten` does. Line breaks become the sign of a return.
    """
    text = re.sub(r"\s*\n\s*", " \u23ce ", text.strip("\n"))
    if len(text) <= width:
        return text
    for phrase in phrases:
        match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) if phrase else None
        if match is not None and len(phrase) <= width - 4:
            return _window(text, match.start(), match.end(), width)
    return shorten(text, width)


def slug(text: str) -> str:
    """Return `text` in lower-case letters, digits and hyphens, at most 60 of them, for file names and ids.

    The default encoder in a metric's name is left out.
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower().removesuffix(f"[{DEFAULT_ENCODER}]")).strip("-")[:60] or "unnamed"


def _steers(character: str) -> bool:
    if character.isprintable():
        return False
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTIONS


def _window(text: str, begin: int, end: int, width: int) -> str:
    """Return `text` from about `begin` to `end` and as much around it as `width` allows, whole words where they fit."""
    room = (width - 4 - (end - begin)) // 2
    start = max(0, min(begin - room, len(text) - width + 2))
    stop = min(len(text), start + width - (2 if start == 0 else 4))
    if start:
        space = text.find(" ", start, begin)
        start = begin if space < 0 else space + 1
    if stop < len(text):
        space = text.rfind(" ", end, stop + 1)
        stop = end if space < 0 else space
    return "… " * (start > 0) + text[start:stop] + " …" * (stop < len(text))
