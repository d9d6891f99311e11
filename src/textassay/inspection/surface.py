"""The surface of a corpus: which traits the tokens of each text have, and significant differences of two corpora.

A trait is one bit: case, attached punctuation, a marker. `token_traits` computes the bits once per entry of a
vocabulary, so that a corpus of any size needs only array operations on its token ids. Patterns run once over the whole
vocabulary, one token per line.

The difference between the shares of texts with a trait is a lower bound of the total variation between two corpora: a
discriminator that sees nothing else reaches it. `gap` is the part of that difference beyond chance; checks compare it
with thresholds for notes and warnings.

Source of the interval: Newcombe, "Interval estimation for the difference between independent proportions", Statistics
in Medicine 17, 1998 (method 10), here at four standard errors.
"""

import math
import re
from dataclasses import dataclass
from enum import IntFlag, auto
from functools import cached_property

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.tokenizer import Spacing, resolve_tokenizer
from textassay.inspection.characters import Characters
from textassay.inspection.finding import Finding, Severity
from textassay.inspection.sentence_keys import Keys, n_distinct, sentence_keys

Mask = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint32]
_Z = 4.0
NOTE, WARNING = 0.02, 0.1  # least gaps, as shares of texts, that are told
_WIDTH = 160  # characters of an excerpt
_BLOCK = 1 << 16  # texts whose tokens are looked at together


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
        """Which texts have spaces between words."""
        return Spacing.of(self.corpus.texts)

    @cached_property
    def characters(self) -> Characters:
        """The signs and scripts of the texts."""
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
            f"{self.counts[0]} of {self.sizes[0]} generated ({percent[0]:.1f} %) and "
            f"{self.counts[1]} of {self.sizes[1]} real texts ({percent[1]:.1f} %)"
        )


@dataclass(frozen=True, eq=False)
class Pair:
    """The two sides that a check compares, and the name of the generator."""

    generated: Surface
    real: Surface
    name: str

    @property
    def sides(self) -> tuple[Surface, Surface]:
        """The generated and the real side."""
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
        """Return the contrast of texts with any of `traits`."""
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
    some = keys[corpus.lengths > 0]
    weight = n_distinct(some) / len(some) if len(some) else 1.0
    return Surface(corpus, words, traits, shown, first, last, mostly_upper, keys, weight)


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
