"""The characters of texts: which of them are easily overlooked, and in which script a text is.

A character is looked up once in the Unicode data of Python; a corpus of any size then needs only array operations.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag, auto
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from textassay.corpus.packed_texts import PackedTexts

Codes = npt.NDArray[np.uint32]

NO_SCRIPT = ""
_NAMES = {
    "CJK": "Han",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "KATAKANA-HIRAGANA": "Japanese",
    "MYANMAR": "Burmese",
}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")
# letters whose names do not begin with a script
_OF_NO_SCRIPT = {
    "MATHEMATICAL",
    "MODIFIER",
    "FEMININE",
    "MASCULINE",
    "MICRO",
    "SCRIPT",
    "DOUBLE-STRUCK",
    "BLACK-LETTER",
}
_DENSE = {"Han": 2, "Japanese": 2, "Hangul": 2}  # so many letters of an alphabet say what one of these says
_ALIKE = frozenset({"Latin", "Cyrillic", "Greek"})  # scripts with letters that look the same
# the Greek letters that do: others stand beside Latin ones in formulas and units
_GREEK_ALIKE = frozenset(
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03b9\u03c1\u03c5"
)
_CURLY = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f"
_FORMS = ((0xFF01, 0xFFE6), (0xFB00, 0xFB06), (0x1D400, 0x1D7FF), (0x2460, 0x24FF))
# besides the characters of the category Cf, which are format: fillers and variation selectors
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(map(chr, range(0xFE00, 0xFE10)))
_JOINERS = "\u200c\u200d"  # needed in many scripts and in emoji; invisible between letters that never join
_NEVER_JOIN = frozenset({"Latin", "Cyrillic", "Greek", "Han", "Japanese", "Hangul", "Hebrew", "Thai"})


class Sign(IntFlag):
    """What is easily overlooked in a text."""

    FORM = auto()  # full-width, half-width and styled letters, ligatures
    INVISIBLE = auto()  # zero-width characters, marks of direction, control characters
    SPACE = auto()  # white space other than a space, a tab or a line end
    CURLY = auto()
    STRAIGHT = auto()
    DECOMPOSED = auto()  # not in the Unicode form NFC
    ALIKE = auto()  # a word with letters of two scripts that look the same
    BREAK = auto()  # a line feed
    RETURN = auto()  # a carriage return


_LINE_ENDS = {"\n": Sign.BREAK, "\r": Sign.RETURN}
_SINGLE = (Sign.FORM, Sign.INVISIBLE, Sign.SPACE, Sign.CURLY, Sign.STRAIGHT, Sign.BREAK, Sign.RETURN)


@dataclass(frozen=True, eq=False)
class Characters:
    """The signs and the script of N texts."""

    signs: npt.NDArray[np.uint16]  # bits of `Sign`, shape (N,)
    scripts: npt.NDArray[np.int64]  # number in `names` of the script of most letters, shape (N,); 0 without letters
    names: tuple[str, ...]
    counts: dict[Sign, Counter[int]]  # how often each character with a sign occurs, by code point

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Characters":
        """Return the signs and scripts of `texts`."""
        signs, scripts = np.zeros(len(texts), dtype=np.uint16), np.zeros(len(texts), dtype=np.int64)
        names: dict[str, int] = {NO_SCRIPT: 0}
        counts: dict[Sign, Counter[int]] = {sign: Counter() for sign in Sign}
        n_done = 0
        for block in PackedTexts.of(texts).blocks():
            content = block.data.tobytes()
            codes = block.data.astype(np.uint32)
            if not content.isascii():
                wide = content.decode("utf-8", "surrogatepass").encode("utf-32-le", "surrogatepass")
                codes = np.frombuffer(wide, dtype=np.uint32)
                _note_decomposed(block, signs[n_done:], counts[Sign.DECOMPOSED])
            _note(codes, block.n_characters, signs[n_done:], scripts[n_done:], names, counts)
            n_done += len(block)
        return cls(signs, scripts, tuple(names), counts)

    def shows(self, sign: Sign) -> npt.NDArray[np.bool_]:
        """Return which texts show a sign, shape (N,)."""
        mask: npt.NDArray[np.bool_] = (self.signs & np.uint16(sign)) != 0
        return mask

    def mostly(self, script: str) -> npt.NDArray[np.bool_]:
        """Return which texts are mostly in a script, shape (N,)."""
        mask: npt.NDArray[np.bool_] = self.scripts == (self.names.index(script) if script in self.names else -1)
        return mask


def script_of(character: str) -> str:
    """Return the script of a letter, such as Latin, from its name in Unicode; `NO_SCRIPT` for all that is none."""
    if not character.isalpha():
        return NO_SCRIPT
    words = unicodedata.name(character, "").split()
    if words and words[0] in _WIDTHS:
        words = words[1:]
    if not words or words[0] in _OF_NO_SCRIPT:
        return NO_SCRIPT
    return _NAMES.get(words[0], words[0].capitalize())


@lru_cache(maxsize=1 << 17)
def _looked_up(code: int) -> tuple[int, str]:
    """Return the signs of a character by itself, and its script."""
    character = chr(code)
    category = unicodedata.category(character)
    if character in "'\"":
        return int(Sign.STRAIGHT), NO_SCRIPT
    if character in _CURLY:
        return int(Sign.CURLY), NO_SCRIPT
    if any(start <= code <= stop for start, stop in _FORMS):
        return int(Sign.FORM), script_of(character)
    if character.isspace():
        return int(_LINE_ENDS.get(character, 0 if character in " \t" else Sign.SPACE)), NO_SCRIPT
    if (category in ("Cf", "Cc") and character not in _JOINERS) or character in _INVISIBLE:
        is_tag = (
            0xE0020 <= code <= 0xE007F or 0x600 <= code <= 0x605 or code in (0x6DD, 0x70F)
        )  # flags; signs of Arabic
        return (0 if is_tag else int(Sign.INVISIBLE)), NO_SCRIPT
    return 0, script_of(character)


def _note(
    codes: Codes,
    lengths: npt.NDArray[np.int64],
    signs: npt.NDArray[np.uint16],
    scripts: npt.NDArray[np.int64],
    names: dict[str, int],
    counts: dict[Sign, Counter[int]],
) -> None:
    """Note the signs and scripts of a block of texts, all their characters one after another, at the front."""
    if not len(codes):
        return
    occurrences = np.bincount(codes)
    used = np.flatnonzero(occurrences)
    sign_of, script_numbers = np.zeros(len(occurrences), np.uint16), np.zeros(len(occurrences), np.int64)
    for code in used.tolist():
        bits, name = _looked_up(code)
        sign_of[code], script_numbers[code] = bits, names.setdefault(name, len(names))
        for sign in _SINGLE:
            if bits & sign:
                counts[sign][code] += int(occurrences[code])
    texts = np.repeat(np.arange(len(lengths)), lengths)
    shown, script = sign_of[codes], script_numbers[codes]
    for place in _lone_joiners(codes, script, names).tolist():
        shown[place] |= int(Sign.INVISIBLE)
        counts[Sign.INVISIBLE][int(codes[place])] += 1
    for place in _pairs_alike(codes, script, texts, names).tolist():
        shown[place] |= int(Sign.ALIKE)
        for code in codes[place : place + 2].tolist():
            counts[Sign.ALIKE][code] += 1
    some = np.flatnonzero(lengths)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)[:-1]))[some]
    signs[some] |= np.bitwise_or.reduceat(shown, starts)
    scripts[: len(lengths)] = _main_scripts(texts, script, len(lengths), names)


def _main_scripts(
    texts: npt.NDArray[np.int64], script: npt.NDArray[np.int64], n_texts: int, names: dict[str, int]
) -> npt.NDArray[np.int64]:
    """Return the script of most letters of each text, shape (n_texts,); Han beside any kana is Japanese."""
    letters = np.bincount(texts * len(names) + script, minlength=n_texts * len(names)).reshape(n_texts, len(names))
    weighted = letters * np.array([_DENSE.get(name, 1) for name in names])
    if "Han" in names and "Japanese" in names:
        han, kana = names["Han"], names["Japanese"]
        japanese = weighted[:, kana] > 0
        weighted[japanese, kana] += weighted[japanese, han]
        weighted[japanese, han] = 0
    weighted[:, 0] = 0
    return np.where(weighted.any(axis=1), weighted.argmax(axis=1), 0)


def _lone_joiners(codes: Codes, script: npt.NDArray[np.int64], names: dict[str, int]) -> npt.NDArray[np.int64]:
    """Return the places of joiners and non-joiners after a letter that never joins."""
    never = [number for name, number in names.items() if name in _NEVER_JOIN]
    places = np.flatnonzero(np.isin(codes, [ord(joiner) for joiner in _JOINERS]))
    places = places[places > 0]
    return places[np.isin(script[places - 1], never)]


def _pairs_alike(
    codes: Codes, script: npt.NDArray[np.int64], texts: npt.NDArray[np.int64], names: dict[str, int]
) -> npt.NDArray[np.int64]:
    """Return the places of letters before one of another script whose letters look the same."""
    known = {names[name] for name in _ALIKE if name in names}
    if len(known) < 2:
        return np.empty(0, dtype=np.int64)
    alike = np.isin(script, sorted(known))
    if "Greek" in names:
        alike &= (script != names["Greek"]) | np.isin(codes, [ord(letter) for letter in _GREEK_ALIKE])
    pairs = alike[:-1] & alike[1:] & (script[:-1] != script[1:]) & (texts[:-1] == texts[1:])
    return np.flatnonzero(pairs)


def _note_decomposed(block: PackedTexts, signs: npt.NDArray[np.uint16], counts: Counter[int]) -> None:
    """Note which texts of a block are not in the form NFC."""
    for place, text in enumerate(block):
        if not unicodedata.is_normalized("NFC", text):
            signs[place] |= np.uint16(Sign.DECOMPOSED)
            composed = unicodedata.normalize("NFC", text)
            counts.update((Counter(map(ord, text)) - Counter(map(ord, composed))).keys())
