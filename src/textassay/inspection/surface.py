"""What texts look like: traits of their tokens, signs and scripts of their characters, and how two corpora differ.

A trait is one bit of a token: case, attached punctuation, a marker. `token_traits` computes the bits once per entry of
a vocabulary, so that a corpus of any size needs only array operations on its token ids. Patterns run once over the
whole vocabulary, one token per line. A sign is one bit of a character that is easily overlooked (`Characters`); a
character, too, is looked up once, in the Unicode data of Python.

The difference between the shares of texts with a trait is a lower bound of the total variation between two corpora: a
discriminator that sees nothing else reaches it. `gap` is the part of that difference beyond chance; checks compare it
with thresholds for notes and warnings.

Source of the interval: Newcombe, "Interval estimation for the difference between independent proportions", Statistics
in Medicine 17, 1998 (method 10), here at four standard errors.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag, auto
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import Spacing, resolve_tokenizer
from textassay.inspection.finding import Finding, Severity
from textassay.inspection.sentence_keys import Keys, n_distinct, sentence_keys

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

Mask = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint32]
_Z = 4.0
NOTE, WARNING = 0.02, 0.1  # least gaps, as shares of texts, that are told
_WIDTH = 160  # characters of an excerpt
_BLOCK = 1 << 16  # texts whose tokens are looked at together


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


@dataclass(frozen=True, eq=False)
class Surface:
    """The traits of the texts of a corpus, as metrics see them."""

    corpus: Corpus  # The corpus as it is measured, for lengths and keys
    # The same texts in words: `corpus` itself, or split at spaces if its tokens are characters or subwords
    words: Corpus
    traits: Bits  # Traits of each entry of the vocabulary of `words`, shape (V,)
    present: Bits  # Union of the traits of the tokens of each text, shape (N,)
    # Traits of its first token, and of the last that is not a closing quote or bracket, shape (N,); 0 if empty
    first: Bits
    last: Bits
    mostly_upper: Mask  # Whether more than half of its words have a capital, shape (N,)
    keys: Keys  # One hash per text, equal for equal tokens, shape (N,)
    weight: float  # Fraction of distinct texts, in (0, 1]: repeats are not independent evidence

    def __len__(self) -> int:
        return len(self.present)

    @property
    def filled(self) -> Mask:
        """Which texts have a token, shape (N,)."""
        return np.diff(self.corpus.offsets) > 0

    @cached_property
    def spacing(self) -> Spacing:
        return Spacing.of(self.corpus.texts)

    @cached_property
    def characters(self) -> Characters:
        return Characters.of(self.corpus.texts)

    def shows(self, traits: Trait) -> Mask:
        """Return which texts have a token with any of `traits`, shape (N,)."""
        mask: Mask = (self.present & np.uint32(traits)) != 0
        return mask

    def example(self, sentences: Mask, traits: Trait | Mask | None = None) -> str | None:
        """Return an excerpt of the first of `sentences`, around its last token with any of `traits`, or None."""
        if not sentences.any():
            return None
        index = int(np.argmax(sentences))
        spot = None
        if traits is not None:
            ids = self.words.tokens[self.words.offsets[index] : self.words.offsets[index + 1]]
            marked = traits[ids] if isinstance(traits, np.ndarray) else self.traits[ids] & np.uint32(traits)
            if np.any(marked):
                spot = self.words.vocabulary.tokens[ids[np.flatnonzero(marked)[-1]]]
        return excerpt(self.corpus.texts[index], spot)


@dataclass(frozen=True, eq=False)
class Contrast:
    """How many texts of each side have a trait; all pairs are (generated, real)."""

    has_trait: tuple[Mask, Mask]  # Which texts have it, shapes (n_generated,) and (n_real,)
    considered: tuple[Mask, Mask]  # Which texts were checked
    # How many have it, out of how many checked
    counts: tuple[int, int]
    sizes: tuple[int, int]
    gap: float  # Difference beyond chance; above 0 if more frequent in generated text

    def __str__(self) -> str:
        percent = [100 * count / size if size else 0.0 for count, size in zip(self.counts, self.sizes, strict=True)]
        return (
            f"{self.counts[0]:,} of {self.sizes[0]:,} generated ({percent[0]:.1f} %) and "
            f"{self.counts[1]:,} of {self.sizes[1]:,} real texts ({percent[1]:.1f} %)"
        )


@dataclass(frozen=True, eq=False)
class Pair:
    """The two sides that a check compares, and the name of the generator."""

    generated: Surface
    real: Surface
    name: str

    @property
    def sides(self) -> tuple[Surface, Surface]:
        return self.generated, self.real

    def contrast(self, shown: tuple[Mask, Mask], among: tuple[Mask, Mask] | None = None) -> Contrast:
        """Return the contrast of a trait, given as masks, among all texts with a token or those of `among`."""
        looked = among if among is not None else (self.generated.filled, self.real.filled)
        shown = shown[0] & looked[0], shown[1] & looked[1]
        counts = int(np.count_nonzero(shown[0])), int(np.count_nonzero(shown[1]))
        sizes = int(np.count_nonzero(looked[0])), int(np.count_nonzero(looked[1]))
        return Contrast(shown, looked, counts, sizes, self.gap(counts, sizes))

    def gap(self, counts: tuple[int, int], sizes: tuple[int, int]) -> float:
        """Return the gap of these counts, both (generated, real), weighted so that repeats do not count twice."""
        weights = self.generated.weight, self.real.weight
        return gap(counts[0] * weights[0], sizes[0] * weights[0], counts[1] * weights[1], sizes[1] * weights[1])

    def traits(self, traits: Trait) -> Contrast:
        return self.contrast((self.generated.shows(traits), self.real.shows(traits)))

    def finding(
        self,
        kind: str,
        severity: Severity,
        message: str,
        contrast: Contrast,
        remedy: str,
        *,
        spots: tuple[Trait | Mask | None, Trait | Mask | None] = (None, None),
    ) -> Finding:
        """Return a finding with an example from the side with more, and a counterexample from the other."""
        more = 0 if contrast.gap > 0 or (contrast.gap == 0 and contrast.counts[0]) else 1
        examples = []
        for number, side in enumerate(self.sides):
            having, checked = contrast.has_trait[number], contrast.considered[number]
            candidates = having if number == more else checked & ~having
            examples.append(side.example(candidates if candidates.any() else checked, spots[number]))
        return self.plain_finding(
            kind, severity, message, contrast.counts, contrast.sizes, (examples[0], examples[1]), remedy
        )

    def plain_finding(
        self,
        kind: str,
        severity: Severity,
        message: str,
        counts: tuple[int, int],
        sizes: tuple[int, int],
        examples: tuple[str | None, str | None],
        remedy: str,
    ) -> Finding:
        """Return a finding with these counts, sizes and examples, each (generated, real)."""
        return Finding(
            kind=kind,
            severity=severity,
            generator=self.name,
            message=message,
            count_generated=counts[0],
            count_real=counts[1],
            n_generated=sizes[0],
            n_real=sizes[1],
            example_generated=examples[0],
            example_real=examples[1],
            remedy=remedy,
        )


def plain_surface(corpus: Corpus) -> Surface:
    """Return a corpus without traits, which take longest, for checks of its texts as a whole."""
    n_types, n = len(corpus.vocabulary), len(corpus)
    none = np.zeros(n, dtype=np.uint32)
    keys = sentence_keys(corpus)
    types = np.zeros(n_types, dtype=np.uint32)
    return Surface(corpus, corpus, types, none, none, none, np.zeros(n, dtype=np.bool_), keys, _weight(corpus, keys))


def _weight(corpus: Corpus, keys: Keys) -> float:
    some = keys[corpus.lengths > 0]
    return n_distinct(some) / len(some) if len(some) else 1.0


def surfaces(corpora: list[Corpus]) -> list[Surface]:
    """Return the surface of each corpus; the corpora, at least one, share vocabulary and tokeniser."""
    words = _in_words(corpora) if not corpora[0].separator else corpora
    traits = token_traits(words[0].vocabulary)
    return [_surface(corpus, view, traits) for corpus, view in zip(corpora, words, strict=True)]


def gap(count_a: float, n_a: float, count_b: float, n_b: float) -> float:
    """Return the difference ``count_a / n_a - count_b / n_b``, shrunk towards 0 by four standard errors.

    In [-1, 1]; 0 if the difference could be chance, or a side is empty.
    """
    if not n_a or not n_b:
        return 0.0
    difference = count_a / n_a - count_b / n_b
    if difference < 0:
        return -gap(count_b, n_b, count_a, n_a)
    below = count_a / n_a - _wilson(count_a, n_a)[0]
    above = _wilson(count_b, n_b)[1] - count_b / n_b
    return max(difference - math.hypot(below, above), 0.0)


def severity_of(size: float, *, note: float = NOTE, warning: float = WARNING) -> Severity | None:
    """Return the severity of a gap of either sign; None below `note`."""
    if abs(size) >= warning:
        return "warning"
    return "note" if abs(size) >= note else None


def _wilson(count: float, n: float) -> tuple[float, float]:
    share, spread = count / n, _Z * _Z / n
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return centre - half, centre + half


def excerpt(text: str, spot: str | None = None) -> str:
    """Return about 160 characters of `text` around `spot`, in one line, with unprintable characters escaped."""
    at = -1 if spot is None else text.rfind(spot)
    if at < 0 and spot is not None:
        at = text.lower().rfind(spot)
    start = min(max(at + len(spot or "") // 2 - _WIDTH // 2, 0), max(len(text) - _WIDTH, 0))
    stop = start + _WIDTH
    cut = ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in cut
    )


def _in_words(corpora: list[Corpus]) -> list[Corpus]:
    """Return the corpora split at spaces, with a new shared vocabulary."""
    texts = {str(number): corpus.texts for number, corpus in enumerate(corpora)}
    at_spaces = resolve_tokenizer("whitespace", lowercase="+lower" in corpora[0].tokenizer)
    return list(corpora_from_texts(texts, tokenizer=at_spaces).values())


def _surface(corpus: Corpus, words: Corpus, traits: Bits) -> Surface:
    shown, first, last = (np.zeros(len(words), dtype=np.uint32) for _ in range(3))
    mostly_upper = np.zeros(len(words), dtype=np.bool_)
    for begin in range(0, len(words), _BLOCK):
        offsets = words.offsets[begin : begin + _BLOCK + 1]
        filled = np.flatnonzero(np.diff(offsets))
        if not len(filled):
            continue
        starts, ends = offsets[filled] - offsets[0], offsets[filled + 1] - offsets[0] - 1
        filled += begin
        bits = traits[words.tokens[offsets[0] : offsets[-1]]]
        shown[filled] = np.bitwise_or.reduceat(bits, starts) | _split_numbers(bits, starts)
        first[filled] = bits[starts]
        closed = (bits[ends] & np.uint32(Trait.CLOSER) != 0) & (ends > starts)
        last[filled] = bits[ends - closed]
        n_upper = np.add.reduceat((bits & np.uint32(Trait.UPPER)) != 0, starts, dtype=np.int64)
        n_letter = np.add.reduceat((bits & np.uint32(Trait.LETTER)) != 0, starts, dtype=np.int64)
        mostly_upper[filled] = 2 * n_upper > n_letter
    if words.tokenizer.split("+")[0] != "whitespace":
        shown |= np.fromiter(map(marker_traits, words.texts), dtype=np.uint32, count=len(words))
    keys = sentence_keys(corpus)
    return Surface(corpus, words, traits, shown, first, last, mostly_upper, keys, _weight(corpus, keys))


def _split_numbers(bits: Bits, starts: npt.NDArray[np.int64]) -> Bits:
    """Return NUMBER_SPLIT for texts with a separate comma or full stop between two numbers, else 0."""
    number = (bits & np.uint32(Trait.NUMBER)) != 0
    mark = (bits & np.uint32(Trait.STOP | Trait.COMMA)) != 0
    between = np.zeros(len(bits), dtype=np.bool_)
    between[1:-1] = number[:-2] & mark[1:-1] & number[2:]
    between[starts] = between[starts[1:] - 1] = False
    result: Bits = np.bitwise_or.reduceat(between, starts).astype(np.uint32) * np.uint32(Trait.NUMBER_SPLIT)
    return result


_OPENING, _CLOSING = r"\"'\u201c\u2018\u00ab\u2039\u201e(\[{`", r"\"'\u201d\u2019\u00bb\u203a)\]}"
_STOPS = r".!?\u2026\u3002\uff01\uff0e\uff1f\uff61\u061f\u06d4\u0964\u0965\u104a\u104b\u1362\u17d4\u17d5\u0f0d\u0f0e"
_MARKER_PATTERNS = {
    Trait.UNKNOWN: re.compile(
        r"(?<![^\W_])(?:unk|oov)(?![^\W_])|<unknown>|\[unknown\]|(?<!\S)__+(?!\S)|\u2047", re.IGNORECASE
    ),
    Trait.MASK: re.compile(
        r"[<\[_](?:num|number|nums|digits?|year|date|time|money|price|int|float|numeral)[>\]_]", re.IGNORECASE
    ),
    Trait.SPECIAL: re.compile(
        r"</?(?:s|pad|eos|bos|sos|go|start|end|cls|sep|mask|sent|extra_id_\d+)>|<\|[^|<>\s]{1,40}\|>"
        r"|\[(?:cls|sep|pad|mask|bos|eos|sos)\]|(?<![^\W_])_(?:pad|eos|bos|sos|go)_(?![^\W_])",
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
        Trait.COMMA: r"^[,;:\u060c\u3001\uff0c]$",
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
        # letters without case, as in Arabic or Chinese, count for nothing: only case is compared
        tables[:, code] = character.lower() != character.upper(), character != character.lower(), character.isalnum()
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
