"""Tokens of text that puts no spaces between words: single letters (`mixed`), or words that ICU finds (`segment`).

Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan and some other scripts are written so; emoji are, too. Both
tokenisers split at white space and take apart only what stands in these scripts, so that Latin words, numbers and all
text of other scripts stay as they are, and text without such letters has the tokens of ``whitespace``.

A letter has the marks after it: most vowels and all tones of Thai or Burmese are marks. A zero-width space parts words,
for which it is used in Khmer, Thai and Burmese. Source of words: the dictionaries and the LSTM of ICU, through icu4py.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from textassay.errors import MissingExtraError, OptionError

SEGMENT = "segment"

# Han, kana, bopomofo, Yi
HAN = (
    "\u3005-\u3007\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
# Thai, Lao, Tibetan, Burmese, Khmer, Tai scripts, Balinese, Javanese
SOUTHEAST_ASIAN = "\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff\uaa60-\uaadf"
_FULL_WIDTH_PUNCTUATION = "\u3001-\u3004\u3008-\u3020\u3030\u303d\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
_JOINER, _ZERO_WIDTH_SPACE = "\u200d", "\u200b"
_REGIONAL = "\U0001f1e6-\U0001f1ff"  # two are a flag


def _marks() -> str:
    """Return all characters that belong to the letter before them."""
    spans = ((0x300, 0x370), (0xE00, 0x10A0), (0x1780, 0x1800), (0x1950, 0x1B80), (0x20D0, 0x2100), (0xA980, 0xAAE0))
    marks = [chr(code) for start, stop in spans for code in range(start, stop)]
    others = "\u0e33\u0eb3\u200c\u200d\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
    return "".join(mark for mark in marks if unicodedata.category(mark).startswith("M")) + others


_MARKS = _marks()
_LETTER = rf"[{HAN}{SOUTHEAST_ASIAN}{_FULL_WIDTH_PUNCTUATION}{EMOJI}]"
_UNIT = rf"(?:[{_REGIONAL}]{{2}}|{_LETTER}(?:[{_MARKS}]*{_JOINER}[{EMOJI}])*[{_MARKS}]*)"
_UNITS = re.compile(f"({_UNIT})")
_RUNS = re.compile(rf"{_UNIT}+")
_BEGINS = re.compile(rf"(?![{_MARKS}]){_LETTER}")
_ENDS = re.compile(rf"{_LETTER}[{_MARKS}]*\Z")
_HALF_FLAG = re.compile(rf"(?:\A|[^{_REGIONAL}])[{_REGIONAL}]\Z")


def tokenize_mixed(text: str) -> list[str]:
    """Return words that spaces part, and single letters, with their marks, of scripts without spaces."""
    return space_letters([text])[0].split()


def tokenize_segment(text: str) -> list[str]:
    """Return words that spaces part, and words that ICU finds in scripts without spaces."""
    return space_segments([text])[0].split()


def space_letters(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of `tokenize_mixed`."""
    joined = _joined(texts)
    # splitting at what is captured keeps it, in half the time of a substitution
    return (joined if joined.isascii() else " ".join(_UNITS.split(joined))).split("\n")


def space_segments(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of `tokenize_segment`."""
    _check_extra()
    from icu4py.breakers import WordBreaker

    joined = _joined(texts)
    if joined.isascii():
        return joined.split("\n")
    # ICU chooses the dictionary by script: the locale changes nothing
    return _RUNS.sub(lambda run: f" {' '.join(WordBreaker(run[0], 'en'))} ", joined).split("\n")


def _joined(texts: Sequence[str]) -> str:
    """Return `texts`, one a line."""
    joined = "\n".join([text.replace("\n", " ") for text in texts])
    return joined if joined.isascii() else joined.replace(_ZERO_WIDTH_SPACE, " ")


def join_letters(tokens: Iterable[str]) -> str:
    """Return the text of tokens: no space between two in scripts without spaces, one between all others."""
    pieces: list[str] = []
    for token in tokens:
        if pieces and not _adjoin(pieces[-1], token):
            pieces.append(" ")
        pieces.append(token)
    return "".join(pieces)


def is_unspaced(character: str) -> bool:
    """Return whether a character is a letter or sign of a script without spaces, or a mark in it."""
    return _ENDS.search(f"\u4e00{character}") is not None


@lru_cache(maxsize=1 << 16)
def _adjoin(before: str, after: str) -> bool:
    """Return whether two tokens are written together, and are two tokens if they are."""
    if before.isascii() or after.isascii() or _BEGINS.match(after) is None or _ENDS.search(before) is None:
        return False
    return not (before.endswith(_JOINER) or (_HALF_FLAG.search(before) and re.match(rf"[{_REGIONAL}]", after)))


def segment_name() -> str:
    """Return the name of ``segment`` in signatures, with the version of the library that decides what a word is."""
    _check_extra()
    import icu4py

    return f"{SEGMENT}-icu{icu4py.icu_version}"


def check_segment_name(name: str) -> None:
    """Raise an OptionError if `name` is ``segment`` with another version than the one here."""
    if name != segment_name():
        raise OptionError(f"words were found by {name.removeprefix(f'{SEGMENT}-')}, but {segment_name()} is installed")


def _check_extra() -> None:
    try:
        import icu4py  # noqa: F401
    except ImportError:
        raise MissingExtraError("--tokenizer segment", "segment") from None
