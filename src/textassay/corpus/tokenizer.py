"""Tokenisers: from a text to its tokens; and which of them suits a text.

Source of ``13a``: the rules of NIST's mteval-v13a.pl, used by the WMT shared tasks; equal to sacreBLEU's tokeniser of
that name.

Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan and some other scripts have no spaces between words; emoji have
none, either. There ``mixed`` finds single letters, and ``segment`` the words that ICU finds (its dictionaries and its
LSTM, through icu4py). Both split at white space and take apart only what stands in these scripts, so that Latin words,
numbers and all text of other scripts stay as they are. A letter has the marks after it: most vowels and all tones of
Thai or Burmese are marks. A zero-width space parts words, for which it is used in Khmer, Thai and Burmese.

Where words have no spaces between them, white space finds phrases or whole texts; the number of letters between two
spaces tells whether such text was segmented into words. In any script, tokens are characters where each line is one
long token: hashes, addresses, sequences.
"""

import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus.kernels import count_words
from textassay.corpus.packed_texts import PackedTexts
from textassay.errors import MissingExtraError, OptionError, unknown_name

Tokenizer = Callable[[str], Sequence[str]]

AUTO = "auto"  # let `choose_tokenizer` choose
SEGMENT = "segment"
SPLIT_AT_SPACES = ("whitespace", "words", "13a")  # tokenizers that need spaces between words

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))  # in this order: &amp;lt; ends as <
_RULES_13A = (
    (re.compile(r"([!-&(-+/:-@\[-`{-~])"), r" \1 "),  # all ASCII punctuation but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokenize_words(text: str) -> list[str]:
    """Return words and single punctuation marks.

    A word is a run of letters, digits, underscores and combining marks, with apostrophes and hyphens inside it
    (``don't``, ``well-known``), or one of the four special tokens (``<unk>``).
    """
    return _space_words([text])[0].split()


def tokenize_13a(text: str) -> list[str]:
    """Return the tokens of mteval-v13a: ASCII punctuation is split off, but not ``.`` and ``,`` between digits."""
    return _space_13a([text])[0].split()


def _space_words(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of each."""
    joined = "\n".join([text.replace("\n", " ") for text in texts])
    has_marks = not joined.isascii() and any(map(_is_mark, set(joined)))
    return _punctuation(has_marks).sub(r" \g<0> ", joined).split("\n")


def _is_mark(character: str) -> bool:
    """Return whether a character continues a word without being a letter: a combining mark or a joiner."""
    return unicodedata.category(character).startswith("M") or character in "\u200c\u200d"


@cache
def _punctuation(has_marks: bool) -> re.Pattern[str]:
    r"""Return the pattern of a special token or of a punctuation mark outside words.

    Python's `\w` excludes combining marks, so decomposed accents and Indic vowel signs would break words. The pattern
    with them is slow and used only if there are any.
    """
    marks = "".join(filter(_is_mark, map(chr, range(sys.maxunicode + 1)))) if has_marks else ""
    letter = rf"[\w{marks}]"
    special, inside = r"(?<=<)(?:pad|eos|sos|unk)>", r"['\u2019-]"
    return re.compile(rf"[^\w\s{marks}](?:{special}|(?<!{letter}{inside})|(?!{letter}))")


def _space_13a(texts: Sequence[str]) -> list[str]:
    """Return `texts` with spaces between the tokens of each and, as in mteval, at both ends."""
    lines = [text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ") for text in texts]
    joined = " " + " \n ".join(lines) + " "
    for entity, character in _ENTITIES:
        joined = joined.replace(entity, character)
    for pattern, replacement in _RULES_13A:
        joined = pattern.sub(replacement, joined)
    return joined.split("\n")


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


TOKENIZERS: dict[str, Tokenizer] = {
    "13a": tokenize_13a,
    "chars": list,
    "mixed": tokenize_mixed,
    SEGMENT: tokenize_segment,
    "whitespace": str.split,
    "words": tokenize_words,
}
# the same tokenisers for many texts at once; the result is split at white space
SPACERS: dict[Tokenizer, Callable[[Sequence[str]], list[str]]] = {
    tokenize_13a: _space_13a,
    tokenize_mixed: space_letters,
    tokenize_segment: space_segments,
    tokenize_words: _space_words,
}


@runtime_checkable
class SubwordTokenizer(Protocol):
    """A tokeniser with a fixed list of tokens, which encodes many texts at once."""

    @property
    def name(self) -> str:
        """The name in signatures; ``bpe-...`` if tokens are written in `BYTE_LETTERS`."""
        ...

    @property
    def types(self) -> Sequence[str]:
        """All tokens, in the order of their ids."""
        ...

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        ...

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the ids of all tokens, shape (T,), and the number of tokens of each text, shape (N,)."""
        ...


def _byte_letters() -> tuple[str, ...]:
    """Return a printable character for each byte: the byte itself if printable, else the next from U+0100 on."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(itself))
    letters = {byte: chr(byte) for byte in itself} | {byte: chr(0x100 + rank) for rank, byte in enumerate(others)}
    return tuple(letters[byte] for byte in range(256))


# Printable letters for bytes (a space is Ġ). Source: the code of Radford et al., "Language Models are Unsupervised
# Multitask Learners", 2019.
BYTE_LETTERS = _byte_letters()
_BYTES = {letter: bytes([byte]) for byte, letter in enumerate(BYTE_LETTERS)}
_TO_LATIN = {ord(letter): byte for byte, letter in enumerate(BYTE_LETTERS)}


def join_tokens(tokenizer: str, tokens: Sequence[str]) -> str:
    """Return the text of some tokens: words joined by spaces, characters by nothing, byte tokens decoded.

    Letters of scripts without spaces, and words of them that were found, are joined by nothing, too.

    Bytes that are not UTF-8, which only a model can sample, become U+FFFD.
    """
    name = tokenizer.split("+")[0]
    if name.startswith("bpe-"):
        letters = "".join(tokens)
        try:
            data = letters.translate(_TO_LATIN).encode("latin-1")
        except UnicodeEncodeError:  # a special token of some pretrained model
            data = b"".join(_BYTES.get(letter) or letter.encode() for letter in letters)
        return data.decode("utf-8", "replace")
    if name.startswith("hf-"):
        raise OptionError(f"tokens of {name} can be joined only by the pretrained model of this tokenizer")
    if finds_letters(name):
        return join_letters(tokens)
    return ("" if name == "chars" else " ").join(tokens)


def finds_letters(tokenizer: str) -> bool:
    """Return whether a tokeniser, by its name in signatures, takes apart text that has no spaces between words."""
    name = tokenizer.split("+")[0]
    return name == "mixed" or name.startswith(f"{SEGMENT}-")


@dataclass(frozen=True)
class NamedTokenizer:
    """A tokeniser with its name in signatures."""

    name: str
    function: Tokenizer
    lowercase: bool

    def __call__(self, text: str) -> Sequence[str]:
        """Return the tokens of one text."""
        return self.function(text.lower() if self.lowercase else text)


def resolve_tokenizer(tokenizer: str | Tokenizer, *, lowercase: bool = False) -> NamedTokenizer:
    """Return a tokeniser, given by its name in `TOKENIZERS` or as a callable, with its name in signatures.

    That is the callable's qualified name, ``<lambda>`` for a lambda, or the `name` of a `SubwordTokenizer`.
    """
    if isinstance(tokenizer, NamedTokenizer):
        lower = lowercase and not tokenizer.lowercase
        return NamedTokenizer(f"{tokenizer.name}+lower", tokenizer.function, True) if lower else tokenizer
    if callable(tokenizer):
        name, function = _name(tokenizer), tokenizer
    elif tokenizer == SEGMENT or tokenizer.startswith(f"{SEGMENT}-icu"):
        name, function = segment_name(), tokenize_segment
        check_segment_name(name if tokenizer == SEGMENT else tokenizer)
    elif tokenizer in TOKENIZERS:
        name, function = tokenizer, TOKENIZERS[tokenizer]
    else:
        raise unknown_name("tokenizer", tokenizer, TOKENIZERS)
    return NamedTokenizer(f"{name}+lower" if lowercase else name, function, lowercase)


def check_tokenizer(name: str) -> None:
    if name == SEGMENT:
        segment_name()  # raises where the extra is missing
    elif name != AUTO and name not in TOKENIZERS:
        raise unknown_name("tokenizer", name, (AUTO, *TOKENIZERS))


def _name(function: Tokenizer) -> str:
    """Return the name of a subword tokeniser, or the qualified name of a callable."""
    if isinstance(function, SubwordTokenizer):
        return function.name
    if getattr(function, "__name__", "") == "<lambda>":
        return "<lambda>"
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return name if module in (None, "builtins", "__main__") else f"{module}.{name}"


_IDEOGRAPHS = re.compile(f"[{HAN}{EMOJI}]")
_ALPHABETS = re.compile(f"[{SOUTHEAST_ASIAN}]")  # combining marks are never counted
# A run of letters that is no word, whatever else stands in the text
_PHRASE = re.compile(f"[{HAN}]{{12}}|[{SOUTHEAST_ASIAN}]{{30}}")
# Letters of a typical word; and the mean number of letters per token above which a text is not segmented
_USUAL_IDEOGRAPHS, _USUAL_LETTERS, _USUAL_OTHERS = 2, 4, 5
_MAX_IDEOGRAPHS, _MAX_LETTERS = 3, 7

# Shares of the texts from which letters without spaces are taken apart: the first, where not more texts were segmented
# into words, whose words would be lost; and from which tokens are characters for all texts
_UNSPACED_SHARE, _UNSPACED_BESIDE_WORDS, _SINGLE_TOKEN_SHARE = 0.02, 0.2, 0.2
# Texts of one long token: at least 10 of them, 80 % of all, half of them distinct, at least 16 characters on average
_MIN_SINGLE, _SINGLE_SHARE, _DISTINCT_SHARE, _LONG_TOKEN = 10, 0.8, 0.5, 16


class SpacingWarning(UserWarning):
    """Texts without spaces between words were tokenised."""


@dataclass(frozen=True, eq=False)
class Spacing:
    """Which of N texts have spaces between words."""

    # Texts with words without spaces between them, in a script that writes so, shape (N,)
    unspaced: npt.NDArray[np.bool_]
    # Texts without white space inside, so that each is one token, shape (N,)
    single: npt.NDArray[np.bool_]
    # Texts of one short token in such a script, of which nobody can say, shape (N,)
    short: npt.NDArray[np.bool_]
    n_filled: int  # Texts that are not blank
    n_segmented: int  # Texts of several words in such a script, with spaces between them
    # Of the single ones: distinct texts, and characters altogether
    n_distinct: int
    n_characters: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Spacing":
        unspaced = np.zeros(len(texts), dtype=np.bool_)
        single = np.zeros(len(texts), dtype=np.bool_)
        short = np.zeros(len(texts), dtype=np.bool_)
        n_done = n_filled = n_segmented = n_characters = 0
        distinct = set()
        for block in PackedTexts.of(texts).blocks():
            n_words = count_words(block.data, block.lengths)
            is_ascii = block.n_characters == block.lengths
            n_filled += int(np.count_nonzero(n_words))
            single[n_done : n_done + len(block)] = n_words == 1
            for place in np.flatnonzero((n_words == 1) | ((n_words > 0) & ~is_ascii)).tolist():
                stripped = block[place].strip()
                if n_words[place] == 1:
                    n_characters += len(stripped)
                    distinct.add(stripped)
                if not is_ascii[place]:
                    unspaced[n_done + place], is_segmented, short[n_done + place] = _is_unspaced(stripped)
                    n_segmented += is_segmented
            n_done += len(block)
        return cls(unspaced, single, short, n_filled, n_segmented, len(distinct), n_characters)

    @cached_property
    def lacking(self) -> npt.NDArray[np.bool_]:
        """Texts that white space cannot split into words, shape (N,)."""
        return self.unspaced | self.single if self._one_long_token else self.unspaced

    @property
    def n_lacking(self) -> int:
        return int(np.count_nonzero(self.lacking))

    @property
    def tokenizer(self) -> str:
        """The tokeniser that suits these texts: ``whitespace``, ``mixed`` or ``chars``."""
        n_unspaced = int(np.count_nonzero(self.unspaced))
        least = _UNSPACED_SHARE if n_unspaced >= self.n_segmented else _UNSPACED_BESIDE_WORDS
        if n_unspaced and n_unspaced >= max(least * self.n_filled, self.n_lacking / 2):
            return "mixed"
        return "chars" if self.n_filled and self.n_lacking >= _SINGLE_TOKEN_SHARE * self.n_filled else "whitespace"

    @property
    def n_alone(self) -> int:
        """Number of texts of one token, if most of these are distinct."""
        return int(np.count_nonzero(self.single)) if self._mostly_distinct else 0

    @property
    def _mostly_distinct(self) -> bool:
        n_single = int(np.count_nonzero(self.single))
        return (
            n_single >= max(_MIN_SINGLE, _SINGLE_SHARE * self.n_filled)
            and self.n_distinct >= _DISTINCT_SHARE * n_single
        )

    @property
    def _one_long_token(self) -> bool:
        return self._mostly_distinct and self.n_characters >= _LONG_TOKEN * int(np.count_nonzero(self.single))


def choose_tokenizer(texts: Sequence[str]) -> str:
    """Return the tokeniser that suits `texts`; with a warning unless it is ``whitespace``."""
    spacing = Spacing.of(texts)
    tokenizer = spacing.tokenizer
    if tokenizer != "whitespace":
        tokens = "characters" if tokenizer == "chars" else "single letters there, words elsewhere"
        warnings.warn(
            f"{spacing.n_lacking:,} of {len(texts):,} texts have no spaces between words: tokens are {tokens} "
            f"(--tokenizer {tokenizer})",
            SpacingWarning,
            stacklevel=3,
        )
    return tokenizer


def warn_of_spacing(texts: Sequence[str], tokenizer: str) -> None:
    """Warn if `tokenizer` splits at spaces but `texts` have none between words."""
    if tokenizer not in SPLIT_AT_SPACES:
        return
    spacing = Spacing.of(texts)
    if spacing.tokenizer != "whitespace":
        warnings.warn(
            f"{spacing.n_lacking:,} of {len(texts):,} texts have no spaces between words: --tokenizer {tokenizer} "
            "turns whole phrases into single tokens, which hides differences inside them; use --tokenizer "
            f"{spacing.tokenizer}",
            SpacingWarning,
            stacklevel=3,
        )


def _is_unspaced(text: str) -> tuple[bool, bool, bool]:
    """Return whether `text` has words without spaces between them: a phrase, or most of it in longer tokens than words.

    And whether, instead, most of it is several words in such a script, with spaces between them, or one short token.

    Letters are weighted by the length of a typical word, so that a Chinese text with an English name counts as Chinese.
    """
    if _IDEOGRAPHS.search(text) is None and _ALPHABETS.search(text) is None:
        return False, False, False
    if _PHRASE.search(text) is not None:
        return True, False, False
    ideographs = letters = others = n_tokens = 0
    for token in text.split():
        n_ideographs = len(_IDEOGRAPHS.findall(token))
        n_letters = sum(map(str.isalpha, _ALPHABETS.findall(token)))
        ideographs += n_ideographs
        letters += n_letters
        others += sum(map(str.isalpha, token)) - sum(map(str.isalpha, _IDEOGRAPHS.findall(token))) - n_letters
        n_tokens += n_ideographs + n_letters > 0
    is_mostly_unspaced = ideographs / _USUAL_IDEOGRAPHS + letters / _USUAL_LETTERS >= others / _USUAL_OTHERS
    is_unspaced = is_mostly_unspaced and ideographs / _MAX_IDEOGRAPHS + letters / _MAX_LETTERS > n_tokens
    is_rest = is_mostly_unspaced and not is_unspaced
    return is_unspaced, is_rest and n_tokens > 1, is_rest and n_tokens == 1
