"""What the top of a stack sees of a sentence: numbers of a fitted describer, leak-free for the training sentences.

Straight columns are sums over tokens (`textassay.ngram.side_counts`, `textassay.ngram.skip_counts`), the length, the
margin of a linear model where asked for, and the generator's log-probability where there is one. Bent columns are what
an average token is like, and products of two of those: a generator that leaves a kind of sentences out differs in no
average, but in a corner.

A few sentences that the generator finds all but impossible would stretch the scale of its log-probabilities until all
others look alike, so these are cut, per token, far from what is usual in the training text; one more column says where.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus, Vocabulary
from textassay.discriminator.base import Pair
from textassay.discriminator.linear_margins import LinearMargins
from textassay.errors import UnavailableError
from textassay.ngram import SideCounts, SkipCounts, mark_ends
from textassay.resampling import joint_groups

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_SCALES = 4.0  # bent columns are cut so many standard deviations from their mean: products have no long tails
_MOST_SPREADS = 5.0  # log-probabilities per token are cut so many distances of the quartiles beyond these


@dataclass(frozen=True)
class _LogProbs:
    """Log-probabilities of N sentences, cut, and where they were: below (-1), above (1), not at all (0)."""

    sums: FloatArray
    beyond: FloatArray


@dataclass(frozen=True)
class StackFeatures:
    """Describes sentences; made by `fit`."""

    counts: SideCounts  # n-grams of both sides
    skips: SkipCounts | None  # n-grams with gaps; or none
    linear: LinearMargins | None  # Models whose margin is a column; or none
    column: str | None  # Name of the column of log-probabilities that is used; or none
    vocabulary: Vocabulary  # Of the training text
    n_straight: int  # Straight columns, which come first
    _limits: tuple[float, float]  # of log-probabilities per token
    _centres: FloatArray
    _scales: FloatArray

    @classmethod
    def fit(
        cls, train: Pair, *, max_order: int, skips: bool, margins: bool, column: str | None
    ) -> "tuple[StackFeatures, FloatArray]":
        """Return the features, and the columns of the training sentences, real ones first, each without its group."""
        real, generated = train
        groups = None
        if real.groups is not None or generated.groups is not None:
            groups = joint_groups(real.groups, generated.groups, len(real), len(generated))
        marked = (mark_ends(real), mark_ends(generated))
        counts = SideCounts.build(*marked, max_order=max_order)
        lengths = np.concatenate([real.lengths, generated.lengths])
        log_probs, limits = None, (-np.inf, np.inf)
        if column is not None:
            given = np.concatenate([side.columns[column] for side in train])
            limits = _limits_of(given, lengths)
            log_probs = _cut(given, lengths, limits)
        linear, found = LinearMargins.fit(marked, groups) if margins else (None, None)
        sums = counts.describe_own(groups)
        gaps = SkipCounts.build(*marked) if skips else None
        straight = _straight(sums, None if gaps is None else gaps.describe_own(groups), lengths, found, log_probs)
        token = _average_token(counts, sums, lengths, log_probs)
        centres, scales = token.mean(axis=0), token.std(axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        features = cls(counts, gaps, linear, column, real.vocabulary, straight.shape[1], limits, centres, scales)
        return features, np.concatenate([straight, features._bent(token)], axis=1)

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the columns of new sentences, shape (N, n_columns), straight ones first."""
        if self.column is not None and self.column not in corpus.columns:
            raise UnavailableError(f"the stack was fitted with {self.column}, which these sentences do not have")
        if corpus.vocabulary is not self.vocabulary:
            corpus = corpus.with_vocabulary(self.vocabulary)
        marked = mark_ends(corpus)
        sums = self.counts.describe(marked)
        margins = None if self.linear is None else self.linear.margins(marked)
        log_probs = None if self.column is None else _cut(corpus.columns[self.column], corpus.lengths, self._limits)
        gaps = None if self.skips is None else self.skips.describe(marked)
        straight = _straight(sums, gaps, corpus.lengths, margins, log_probs)
        return np.concatenate(
            [straight, self._bent(_average_token(self.counts, sums, corpus.lengths, log_probs))], axis=1
        )

    def _bent(self, token: FloatArray) -> FloatArray:
        cut = np.clip((token - self._centres) / self._scales, -_MOST_SCALES, _MOST_SCALES)
        first, second = np.triu_indices(cut.shape[1])
        return np.concatenate([cut, cut[:, first] * cut[:, second]], axis=1)


def _straight(
    sums: FloatArray,
    gaps: FloatArray | None,
    lengths: IntArray,
    margins: FloatArray | None,
    log_probs: _LogProbs | None,
) -> FloatArray:
    parts = [sums, *([] if gaps is None else [gaps]), np.column_stack([lengths, np.log1p(lengths)])]
    if margins is not None:
        parts.append(margins[:, None])
    if log_probs is not None:
        parts += [log_probs.sums[:, None], log_probs.beyond[:, None]]
    return np.concatenate(parts, axis=1)


def _average_token(counts: SideCounts, sums: FloatArray, lengths: IntArray, log_probs: _LogProbs | None) -> FloatArray:
    """Return the log-length, and how likely an average token is and how much likelier in real text, by some models."""
    longest = counts.index.max_order
    orders = sorted({1, min(2, longest), longest})
    names = [f"kn_pooled[{order}]" for order in orders] + [f"wb_ratio[{order}]" for order in sorted({1, longest})]
    columns = [sums[:, counts.names.index(name)] for name in names]
    above = [sums[:, counts.names.index(f"{side}_over_pooled[{longest}]")] for side in ("real", "generated")]
    columns.append(above[0] - above[1])
    if log_probs is not None:
        columns.append(log_probs.sums)
    return np.column_stack([np.log1p(lengths), *(column / (lengths + 1) for column in columns)])


def _limits_of(log_probs: npt.NDArray[np.floating], lengths: IntArray) -> tuple[float, float]:
    """Return between what log-probabilities per token are kept; no limits where half of them are all the same."""
    low, high = np.quantile(log_probs / (lengths + 1), [0.25, 0.75]).tolist()
    margin = _MOST_SPREADS * (high - low) if high > low else np.inf
    return low - margin, high + margin


def _cut(log_probs: npt.NDArray[np.floating], lengths: IntArray, limits: tuple[float, float]) -> _LogProbs:
    """Return log-probabilities of sentences, those per token kept within `limits`."""
    per_token = log_probs.astype(np.float64) / (lengths + 1)
    kept = np.clip(per_token, *limits)
    return _LogProbs(kept * (lengths + 1), np.sign(per_token - kept))
