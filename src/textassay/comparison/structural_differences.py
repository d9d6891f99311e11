"""What differs in the structure of documents: how they begin and close, lists, headings, code, sentences, repetition.

Shares of texts with a trait are compared by Fisher's exact test, with Newcombe's interval of the difference; means by
Welch's test and interval. Openings are the first 1 to 4 tokens, closings the last 1 to 4, as far as `MIN_TEXTS` texts
share them; of those that hold one another, the longest stays that nine tenths of the texts of the shorter one have.
P-values are adjusted over all that was tested for the false discovery rate.

Sources: as of `textassay.comparison.discriminative_ngrams`; Welch, "The generalization of 'Student's' problem when
several different population variances are involved", Biometrika 34, 1947.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit
from scipy.stats import false_discovery_control

from textassay.comparison.explanation import StructuralDifference
from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import STRUCTURES, count_structures
from textassay.discriminator.structure import repeated_shares, sentence_lengths
from textassay.resampling.proportions import fisher_p_values, newcombe_interval

FloatArray = npt.NDArray[np.float64]

MIN_TEXTS = 10  # of both sides together
_MOST_TOKENS = 4  # of an opening or a closing
_KEPT = 0.9  # of the texts with an opening, so many share the next token
_MOST = 20  # differences
_SMALLEST = 0.02  # a smaller difference of shares is not told, however sure it is
_SMALLEST_SPREAD = 0.1  # nor is one of means below so many standard deviations
_ROUNDING = 1e-12
_HAS = {
    "bulleted items": "has a bulleted list",
    "numbered items": "has a numbered list",
    "headings": "has headings",
    "code blocks": "has a code block",
    "table rows": "has a table",
    "quoted lines": "has quoted lines",
    "indented lines": "has indented lines",
    "lines that end in a colon": "has a line that ends in a colon",
    "repeated lines": "repeats a line",
    "bold phrases": "has bold phrases",
    "links": "has links",
    "code in lines": "has code inside lines",
    "emoji": "has emoji",
    "exclamation marks": "has an exclamation mark",
    "question marks": "has a question mark",
}


@dataclass(frozen=True)
class _Shared:
    """An opening or a closing, and how many texts of each side have it."""

    tokens: tuple[int, ...]
    counts: tuple[int, int]


def structural_differences(real: Corpus, generated: Corpus, *, level: float) -> tuple[StructuralDifference, ...]:
    """Return what differs significantly, shares before means, the clearest first; of equals, what is generated."""
    sides = real, generated
    sizes = len(real), len(generated)
    counts = [count_structures(corpus.texts) for corpus in sides]
    traits = [
        (trait, tuple(int(np.count_nonzero(side[:, STRUCTURES.index(name)])) for side in counts))
        for name, trait in _HAS.items()
    ]
    several = STRUCTURES.index("paragraphs")
    traits.append(("has several paragraphs", tuple(int(np.count_nonzero(side[:, several] > 1)) for side in counts)))
    for verb, at_end in (("begins with", False), ("ends with", True)):
        for shared in _shared_edges(sides, at_end=at_end):
            words = " ".join(real.vocabulary.decode(list(shared.tokens)))
            traits.append((f"{verb} \u201c{words}\u201d", shared.counts))
    tested = [
        _share(trait, (of_both[0], of_both[1]), sizes, level)
        for trait, of_both in traits
        if sum(of_both) >= MIN_TEXTS and sum(of_both) < sum(sizes)
    ]
    tested += [found for name, values in _means(sides, counts) if (found := _mean(name, values, level)) is not None]
    if not tested:
        return ()
    adjusted = false_discovery_control([one.p_adjusted for one, _ in tested]).tolist()
    told = [
        (replace(one, p_adjusted=p), size)
        for (one, size), p in zip(tested, adjusted, strict=True)
        if p < 1 - level and size >= 1
    ]
    order = sorted(told, key=lambda each: (each[0].kind == "mean", -each[1], each[0].generated < each[0].real))
    return tuple(one for one, _ in order[:_MOST])


def _share(
    trait: str, counts: tuple[int, int], sizes: tuple[int, int], level: float
) -> tuple[StructuralDifference, float]:
    """Return the difference, its p-value not adjusted, and how often the smallest one that is told."""
    real, generated = (count / size for count, size in zip(counts, sizes, strict=True))
    interval = newcombe_interval(counts[1], sizes[1], counts[0], sizes[0], level=level)
    p = fisher_p_values(np.array(counts[:1]), sizes[0], np.array(counts[1:]), sizes[1])
    difference = StructuralDifference(trait, "share", real, generated, interval.low, interval.high, float(p[0]))
    return difference, abs(generated - real) / _SMALLEST


def _mean(trait: str, sides: tuple[FloatArray, FloatArray], level: float) -> tuple[StructuralDifference, float] | None:
    """Return the same of means; None where a side has one text, or all values are alike."""
    if min(map(len, sides)) < 2:
        return None
    real, generated = (float(side.mean()) for side in sides)
    variances = [float(side.var(ddof=1)) for side in sides]
    parts = [variance / len(side) for variance, side in zip(variances, sides, strict=True)]
    gap, error = generated - real, math.sqrt(sum(parts))
    if error <= _ROUNDING * (abs(real) + abs(generated)):  # every value of a side is the same
        if abs(gap) <= _ROUNDING * (abs(real) + abs(generated)):
            return None
        return StructuralDifference(trait, "mean", real, generated, gap, gap, 0.0), math.inf
    degrees = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, sides, strict=True))
    margin = float(stdtrit(degrees, (1 + level) / 2)) * error
    p = 2 * float(stdtr(degrees, -abs(gap) / error))
    spread = math.sqrt(sum(variances) / 2)
    return StructuralDifference(trait, "mean", real, generated, gap - margin, gap + margin, p), abs(
        gap
    ) / spread / _SMALLEST_SPREAD


def _means(
    sides: tuple[Corpus, Corpus], counts: list[npt.NDArray[np.int64]]
) -> Iterator[tuple[str, tuple[FloatArray, FloatArray]]]:
    lengths = [sentence_lengths(corpus) for corpus in sides]
    repeated = [repeated_shares(corpus)[:, 1] for corpus in sides]
    yield "tokens", (sides[0].lengths.astype(np.float64), sides[1].lengths.astype(np.float64))
    for name in ("paragraphs", "headings", "bulleted items"):
        values = [side[:, STRUCTURES.index(name)].astype(np.float64) for side in counts]
        yield name, (values[0], values[1])
    yield "tokens in a sentence", (lengths[0][:, 0], lengths[1][:, 0])
    yield "spread of the tokens in a sentence", (lengths[0][:, 1], lengths[1][:, 1])
    yield "share of the trigrams of the second half that occur in the first", (repeated[0], repeated[1])


def _shared_edges(sides: tuple[Corpus, Corpus], *, at_end: bool) -> list[_Shared]:
    """Return the openings, or the closings, that enough texts share."""
    found: list[_Shared] = []
    for n_tokens in range(1, _MOST_TOKENS + 1):
        of_sides = [_edges(corpus, n_tokens, at_end=at_end) for corpus in sides]
        longer = [
            _Shared(tokens, (of_sides[0][tokens], of_sides[1][tokens]))
            for tokens in (of_sides[0] | of_sides[1])
            if of_sides[0][tokens] + of_sides[1][tokens] >= MIN_TEXTS
        ]
        by_inner = {(one.tokens[1:] if at_end else one.tokens[:-1]): one for one in sorted(longer, key=_total)}
        found = [one for one in found if not _goes_on(one, by_inner)] + longer
    return found


def _goes_on(one: _Shared, by_inner: dict[tuple[int, ...], _Shared]) -> bool:
    """Return whether nine tenths of the texts share a longer one."""
    longer = by_inner.get(one.tokens)
    return longer is not None and _total(longer) >= _KEPT * _total(one)


def _total(one: _Shared) -> int:
    return sum(one.counts)


def _edges(corpus: Corpus, n_tokens: int, *, at_end: bool) -> Counter[tuple[int, ...]]:
    """Return how many texts have each opening, or closing, of so many tokens."""
    long_enough = np.flatnonzero(corpus.lengths >= n_tokens)
    first = corpus.offsets[1:][long_enough] - n_tokens if at_end else corpus.offsets[:-1][long_enough]
    rows = corpus.tokens[first[:, None] + np.arange(n_tokens)]
    return Counter(map(tuple, rows.tolist()))
