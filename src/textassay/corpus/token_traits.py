"""What the string of a token shows: case, glued punctuation, markers; once per vocabulary entry, not per occurrence.

A trait is one bit. `token_traits` gives one number of bits for each entry of a vocabulary, so that a corpus of any size
is read by array operations on its token ids.
"""

import re
from collections.abc import Iterable
from enum import IntFlag, auto

import numpy as np
import numpy.typing as npt

from textassay.corpus.vocabulary import SPECIAL_TOKENS, Vocabulary

__all__ = ["Trait", "marker_traits", "token_traits"]


class Trait(IntFlag):
    """One thing a token can show."""

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


_OPENING, _CLOSING = "\"'“\u2018«\u2039„([{`", "\"'”\u2019»\u203a)]}"
_MARKER_PATTERNS = {
    Trait.UNKNOWN: re.compile(r"(?<![^\W_])(?:unk|oov)(?![^\W_])|<unknown>|\[unknown\]|⁇", re.IGNORECASE),
    Trait.MASK: re.compile(
        r"[<\[_](?:num|number|nums|digits?|year|date|time|money|price|int|float|numeral)[>\]_]", re.IGNORECASE
    ),
    Trait.SPECIAL: re.compile(
        r"</?(?:s|pad|eos|bos|sos|go|start|end|cls|sep|mask|sent|extra_id_\d+)>|<\|[^|<>\s]{1,40}\|>"
        r"|\[(?:cls|sep|pad|mask|bos|eos|sos)\]|(?<![^\W_])_(?:pad|eos|bos|sos|go)_(?![^\W_])"
        r"|</?(?:br|p|div|span|i|b|em|strong)\s*/?>",
        re.IGNORECASE,
    ),
    Trait.ENTITY: re.compile(r"&(?:[a-z]{2,8}|#x?[0-9a-f]{1,6});", re.IGNORECASE),
    Trait.JOINER: re.compile(r"^@[-,.:/]@$"),
    Trait.SUBWORD: re.compile(r"[▁ĠĊ]|^##\w|\w@@$"),
    Trait.MOJIBAKE: re.compile(r"Ã[\x80-\xbf]|â€|Â[\xa0-\xbf]|\ufffd"),
    Trait.TREEBANK: re.compile(r"^-[lr][rcs]b-$|^``$|^''$", re.IGNORECASE),
}
_WEAK_MASK = re.compile(r"[Nn]|#+(?:[.,:/-]#+)*|0+(?:[.,:/-]0+)*")
_STOP = re.compile(r"[.!?…。\uff01\uff1f]+[\"'”\u2019»)\]]*")
_COMMA = re.compile(r"[,;:،、]")
_NUMBER = re.compile(r"\d+")
_NUMBER_GLUED = re.compile(r"\d[.,]\d")
_HYPHEN_GLUED = re.compile(r"[^\W_]-[^\W_]")
_APOSTROPHE = re.compile(r"(?:['\u2019](?:s|t|re|ve|ll|d|m)?|n['\u2019]t)", re.IGNORECASE)
_APOSTROPHE_GLUED = re.compile(r"[^\W\d_]['\u2019][^\W\d_]")


def token_traits(vocabulary: Vocabulary) -> npt.NDArray[np.uint32]:
    """Return the traits of each entry of `vocabulary` as bits of `Trait`, shape (n_tokens,)."""
    return np.array([_traits(token) for token in vocabulary.tokens], dtype=np.uint32)


def marker_traits(text: str) -> int:
    """Return which markers stand in a whole sentence, for tokenisers that would take them apart."""
    if not any(character in text for character in "<[_&\ufffdâÃÂ⁇") and "unk" not in text.lower():
        return 0
    patterns = (Trait.UNKNOWN, Trait.MASK, Trait.SPECIAL, Trait.ENTITY, Trait.MOJIBAKE)
    return _bits(trait for trait in patterns if _MARKER_PATTERNS[trait].search(text))


def _traits(token: str) -> int:
    if token.isalpha() and token.islower() and token.isascii() and token not in {"unk", "oov", "n"}:
        return int(Trait.LETTER)
    marker = _bits(trait for trait, pattern in _MARKER_PATTERNS.items() if pattern.search(token))
    if marker & int(Trait.UNKNOWN | Trait.MASK | Trait.SPECIAL) or token in SPECIAL_TOKENS:
        return marker
    found = marker
    if _WEAK_MASK.fullmatch(token):
        found |= Trait.WEAK_MASK
    letters = [character for character in token if character.isalpha()]
    if letters:
        found |= Trait.LETTER
        if token != token.lower():
            found |= Trait.UPPER
        if letters[0] != letters[0].lower():
            found |= Trait.INITIAL_UPPER
    return int(found | _digits(token) | (_glued(token) if any(map(str.isalnum, token)) else _split(token)))


def _digits(token: str) -> int:
    found = 0
    if any(character in "123456789" for character in token):
        found |= Trait.DIGIT
    if _NUMBER.fullmatch(token):
        found |= Trait.NUMBER
    elif _NUMBER_GLUED.search(token):
        found |= Trait.NUMBER_GLUED
    return found


def _glued(token: str) -> int:
    """Return the traits of a token with a letter or a digit: punctuation on it, or a split-off contraction."""
    if _APOSTROPHE.fullmatch(token):
        return int(Trait.APOSTROPHE)
    found = 0
    bare = token.rstrip(_CLOSING)
    if bare.endswith((".", "!", "?", "…", "。")):
        found |= Trait.STOP_GLUED
    if bare.endswith((",", ";", ":")):
        found |= Trait.COMMA_GLUED
    if token[0] in _OPENING or (token[-1] in _CLOSING and token[-1] not in "'\u2019"):
        found |= Trait.QUOTE_GLUED
    if _HYPHEN_GLUED.search(token):
        found |= Trait.HYPHEN_GLUED
    if _APOSTROPHE_GLUED.search(token):
        found |= Trait.APOSTROPHE_GLUED
    return found


def _split(token: str) -> int:
    """Return the traits of a token without letter or digit."""
    if _STOP.fullmatch(token):
        return int(Trait.STOP)
    if _COMMA.fullmatch(token):
        return int(Trait.COMMA)
    if token in ("'", "\u2019"):
        return int(Trait.APOSTROPHE | Trait.CLOSER)
    if token in ("-", "@-@"):
        return int(Trait.HYPHEN)
    if token and all(character in _OPENING + _CLOSING for character in token):
        return int(Trait.QUOTE | Trait.CLOSER)
    return 0


def _bits(traits: Iterable[Trait]) -> int:
    found = 0
    for trait in traits:
        found |= trait
    return int(found)
