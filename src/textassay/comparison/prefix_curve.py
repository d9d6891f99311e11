"""The prefix curve: dd of the first k tokens, and the length at which it reaches one half.

Where whole texts can always be told apart, dd is 1 for every generator. The number of tokens it takes is graded: a
generator that is detected after twelve tokens is better than one detected after three. Both sides are cut to their
first k tokens; shorter texts stay whole, so that their end counts once it is within reach. Every point is a
cross-fitted dd on the same partition, so that points differ by the cut, not by chance.

The classifier is logistic regression over n-grams with one weighting, at any effort: the curve shows where a generator
is detected, and even its last point, on whole texts, is no substitute for dd.

Documents are cut at fewer and rounder lengths, about twice as long each time, so that all points together take about
twice the time of the last; the classifier sees n-grams of at most two tokens there.

The half-length is where the curve, interpolated linearly from 0 at no token, first reaches one half. Its interval holds
the lengths at which the band of the curve contains one half. More tokens never reduce the total variation; as far as
this also holds for the classifiers, a length is excluded only where the interval at that length is wrong, so the
half-length has the level of the points.
"""

from dataclasses import dataclass

import numpy as np

from textassay.comparison.explanation import HALF, PrefixPoint
from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import TextUnit
from textassay.corpus.tokenizer import join_tokens
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.logistic import GRID, LogisticDiscriminator
from textassay.metric.base import check_corpora, check_level
from textassay.metric.discrepancy import SENTENCES_PER_FOLD
from textassay.metric.discrepancy_interval import Answers

_FIRST = (1, 2, 3, 5, 8, 12)
_STEP = 1.5
_FIRST_OF_DOCUMENTS = (5, 10, 20, 50, 100, 200, 500)  # then each ten times the one three places before


@dataclass(frozen=True)
class PrefixCurve:
    points: tuple[PrefixPoint, ...]  # The shortest first; empty where most texts are
    # Tokens at which dd is one half, interpolated; None where no point reaches it
    half_length: float | None
    # Its interval; None for an end that lies beyond the curve
    half_low: float | None
    half_high: float | None


def prefix_curve(
    real: Corpus,
    generated: Corpus,
    *,
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
    unit: TextUnit = "sentence",
) -> PrefixCurve:
    """Return dd of the first tokens, as many as `prefix_lengths` says, on the partition of ``dd`` with this seed."""
    check_level(level)
    check_corpora(generated, real, metric="prefix curve", at_least=SENTENCES_PER_FOLD * (folds if folds > 1 else 5))
    points = []
    judge = LogisticDiscriminator(grid={"binary": GRID["binary"]}, max_order=2 if unit == "document" else 4)
    for n_tokens in prefix_lengths(real, generated, unit):
        sides = (first_tokens(real, n_tokens), first_tokens(generated, n_tokens))
        fit = cross_fit(judge, *sides, folds=folds, seed=seed)
        answers = Answers.of([fit], *sides)
        interval = answers.interval(level)
        low, high = (-1.0, 1.0) if interval is None else (interval.low, interval.high)
        points.append(PrefixPoint(n_tokens, answers.value, low, high))
    return PrefixCurve(tuple(points), *half_length(points))


def prefix_lengths(real: Corpus, generated: Corpus, unit: TextUnit = "sentence") -> tuple[int, ...]:
    """Return the lengths of the points, up to what half the texts of each side reach.

    These are 1, 2, 3, 5, 8, 12, ... tokens; of documents 5, 10, 20, 50, 100, 200, 500, 1000, ...
    """
    longest = min(int(np.quantile(corpus.lengths, 0.5, method="higher")) for corpus in (real, generated))
    if unit == "document":
        rounded = list(_FIRST_OF_DOCUMENTS)
        while rounded[-1] < longest:
            rounded.append(10 * rounded[-3])
        return tuple(length for length in rounded if length <= longest)
    lengths = list(_FIRST)
    while lengths[-1] < longest:
        lengths.append(int(lengths[-1] * _STEP))
    return tuple(length for length in lengths if length <= longest)


def first_tokens(corpus: Corpus, n_tokens: int) -> Corpus:
    """Return `corpus` with every text cut to its first `n_tokens` tokens; groups stay, columns of whole texts go."""
    kept = np.minimum(corpus.lengths, n_tokens)
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(kept)))
    places = np.arange(offsets[-1]) + np.repeat(corpus.offsets[:-1] - offsets[:-1], kept)
    tokens = corpus.tokens[places]
    words = np.asarray(corpus.vocabulary.tokens, dtype=object)[tokens].tolist()
    texts = tuple(
        join_tokens(corpus.tokenizer, words[start:stop])
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    )
    return Corpus(tokens, offsets, corpus.vocabulary, texts, tokenizer=corpus.tokenizer, groups=corpus.groups)


def half_length(points: list[PrefixPoint]) -> tuple[float | None, float | None, float | None]:
    """Return where the values first reach one half, where the upper ends do, and from where on the lower ends do."""
    lengths = np.array([0, *(point.n_tokens for point in points)], dtype=np.float64)
    values, lows, highs = (
        np.array([0.0, *(getattr(point, name) for point in points)]) for name in ("value", "low", "high")
    )
    below = np.flatnonzero(lows < HALF)[-1]
    return (
        _crossing(lengths, values, int(np.argmax(values >= HALF)) - 1),
        _crossing(lengths, highs, int(np.argmax(highs >= HALF)) - 1),
        _crossing(lengths, lows, int(below)),
    )


def _crossing(lengths: np.ndarray, values: np.ndarray, before: int) -> float | None:
    """Return where the line from point `before` to the next reaches one half; None without such a line."""
    if before < 0 or before == len(values) - 1:
        return None
    share = (HALF - values[before]) / (values[before + 1] - values[before])
    return float(lengths[before] + share * (lengths[before + 1] - lengths[before]))
