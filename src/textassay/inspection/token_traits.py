"""Traits of tokens: case, attached punctuation, markers.

A trait is one bit. `token_traits` computes the bits once per entry of a vocabulary, so that a corpus of any size needs
only array operations on its token ids. Patterns run once over the whole vocabulary, one token per line.
"""

import re
from enum import IntFlag, auto

import numpy as np
import numpy.typing as npt

from textassay.corpus import Vocabulary


class Trait(IntFlag):
    """One property of a token."""

    LETTER = auto()
    UPPER = auto()
    INITIAL_UPPER = auto()
    STOP = auto()
    STOP_GLUED = auto()
    COMMA = auto()
    COMMA_GLUED = auto()
    QUOTE = auto()
    QUOTE_GLUED = auto()
    APOSTROPHE = auto()
    APOSTROPHE_GLUED = auto()
    HYPHEN = auto()
    HYPHEN_GLUED = auto()
    NUMBER = auto()
    NUMBER_SPLIT = auto()
    NUMBER_GLUED = auto()
    DIGIT = auto()
    CLOSER = auto()
    UNKNOWN = auto()
    MASK = auto()
    WEAK_MASK = auto()
    SPECIAL = auto()
    ENTITY = auto()
    JOINER = auto()
    SUBWORD = auto()
    MOJIBAKE = auto()
    TREEBANK = auto()


_OPENING, _CLOSING = r"\"'\u201c\u2018\u00ab\u2039\u201e(\[{`", r"\"'\u201d\u2019\u00bb\u203a)\]}"
_STOPS = r".!?\u2026\u3002\uff01\uff1f"
_MARKER_PATTERNS = {
    Trait.UNKNOWN: re.compile(
        r"(?<![^\W_])(?:unk|oov)(?![^\W_])|<unknown>|\[unknown\]|(?<!\S)__+(?!\S)|\u2047", re.IGNORECASE
    ),
    Trait.MASK: re.compile(
        r"[<\[_](?:num|number|nums|digits?|year|date|time|money|price|int|float|numeral)[>\]_]", re.IGNORECASE
    ),
    Trait.SPECIAL: re.compile(
        r"</?(?:s|pad|eos|bos|sos|go|start|end|cls|sep|mask|sent|extra_id_\d+)>|<\|[^|<>\s]{1,40}\|>"
        r"|\[(?:cls|sep|pad|mask|bos|eos|sos)\]|(?<![^\W_])_(?:pad|eos|bos|sos|go)_(?![^\W_])"
        r"|</?(?:br|p|div|span|i|b|em|strong) ?/?>",
        re.IGNORECASE,
    ),
    Trait.ENTITY: re.compile(r"&(?:[a-z]{2,8}|#x?[0-9a-f]{1,6});", re.IGNORECASE),
    Trait.MOJIBAKE: re.compile(r"\u00c3[\x80-\xbf]|\u00e2\u20ac|\u00c2[\xa0-\xbf]|\ufffd"),
}
_MAY_BE_MARKED = re.compile(r"[<\[_&\ufffd\u00e2\u00c2\u00c3\u2047]|unk|oov", re.IGNORECASE)
_PATTERNS = _MARKER_PATTERNS | {
    trait: re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for trait, pattern in {
        Trait.JOINER: r"^@[-,.:/]@$",
        Trait.SUBWORD: r"[\u2581\u0120\u010a]|^##\w|\w@@$",
        Trait.TREEBANK: r"^-[lr][rcs]b-$|^``$|^''$",
        Trait.WEAK_MASK: r"^(?:n|#+(?:[.,:/-]#+)*|0+(?:[.,:/-]0+)*)$",
        Trait.STOP: rf"^[{_STOPS}]+[{_CLOSING}]*$",
        Trait.STOP_GLUED: rf"[{_STOPS}][{_CLOSING}]*$",
        Trait.COMMA: r"^[,;:\u060c\u3001]$",
        Trait.COMMA_GLUED: rf"[,;:][{_CLOSING}]*$",
        Trait.QUOTE: rf"^[{_OPENING}{_CLOSING}]+$",
        Trait.QUOTE_GLUED: rf"^[{_OPENING}]|(?!['\u2019])[{_CLOSING}]$",
        Trait.APOSTROPHE: r"^(?:['\u2019](?:s|t|re|ve|ll|d|m)?|n['\u2019]t)$",
        Trait.APOSTROPHE_GLUED: r"[^\W\d_]['\u2019][^\W\d_]",
        Trait.HYPHEN: r"^(?:-|@-@)$",
        Trait.HYPHEN_GLUED: r"[^\W_]-[^\W_]",
        Trait.NUMBER: r"^\d+$",
        Trait.NUMBER_GLUED: r"\d[.,]\d",
        Trait.DIGIT: r"[1-9]",
    }.items()
}
_GLUED = Trait.STOP_GLUED | Trait.COMMA_GLUED | Trait.QUOTE_GLUED | Trait.APOSTROPHE_GLUED | Trait.HYPHEN_GLUED


def token_traits(vocabulary: Vocabulary) -> npt.NDArray[np.uint32]:
    """Return the traits of each entry of `vocabulary` as bits of `Trait`, shape (n_tokens,)."""
    lines = "\n".join([token.replace("\n", " ") for token in vocabulary.tokens]) + "\n"
    codes = np.frombuffer(lines.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    ends = np.flatnonzero(codes == ord("\n"))
    traits, has_word = _letters(codes, ends)
    for trait, pattern in _PATTERNS.items():
        places = np.fromiter((match.start() for match in pattern.finditer(lines)), dtype=np.int64)
        traits[np.searchsorted(ends, places)] |= np.uint32(trait)

    def shows(trait: Trait) -> npt.NDArray[np.bool_]:
        shown: npt.NDArray[np.bool_] = (traits & np.uint32(trait)) != 0
        return shown

    traits[shows(Trait.QUOTE)] |= np.uint32(Trait.CLOSER)
    traits[shows(Trait.APOSTROPHE)] &= ~np.uint32(Trait.QUOTE | _GLUED)
    traits[~has_word] &= ~np.uint32(_GLUED)
    markers = Trait.UNKNOWN | Trait.MASK | Trait.SPECIAL
    traits[shows(markers)] &= np.uint32(markers)
    return traits


def marker_traits(text: str) -> int:
    """Return the markers in a whole text, for tokenisers that split them."""
    if not _MAY_BE_MARKED.search(text):
        return 0
    traits = 0
    for trait, pattern in _MARKER_PATTERNS.items():
        if pattern.search(text):
            traits |= int(trait)
    return traits


def _letters(
    codes: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    """Return LETTER, UPPER and INITIAL_UPPER of each line, and whether it has a letter or a digit."""
    used = np.flatnonzero(np.bincount(codes, minlength=1))
    tables = np.zeros((3, int(used[-1]) + 1), dtype=np.bool_)  # letter, upper, letter or digit
    for code in used.tolist():
        character = chr(code)
        tables[:, code] = character.isalpha(), character != character.lower(), character.isalnum()
    letter, upper, word = (table[codes] for table in tables)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1] + 1))
    places = np.where(letter, np.arange(len(codes)), len(codes) - 1)
    first_letter = np.minimum.reduceat(places, starts)
    traits = np.zeros(len(ends), dtype=np.uint32)
    for trait, shown in (
        (Trait.LETTER, np.logical_or.reduceat(letter, starts)),
        (Trait.UPPER, np.logical_or.reduceat(upper, starts)),
        (Trait.INITIAL_UPPER, upper[first_letter]),
    ):
        traits[shown] |= np.uint32(trait)
    return traits, np.logical_or.reduceat(word, starts)
