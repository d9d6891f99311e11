"""The stack: n-gram models of both sides, their pooled text and their ratios, weighed by a logistic regression.

Each sentence is described by numbers. Straight columns are sums over its tokens (`textassay.ngram.side_counts`,
`textassay.ngram.skip_counts`): log-probabilities by smoothed n-gram models of the real, the generated and the pooled
training text, and log-ratios of counts that shrink to those of shorter contexts; its length, the margin of a linear
model over its n-grams, and the generator's log-probability where both sides come with one. Bent columns are what an
average token is like, and products of two of those: a generator that leaves a kind of sentences out differs in no
average, but in a corner.

A training sentence is described without its own counts, so that its description means what that of a new sentence
does; no text is set aside for it. The linear model is fitted without each of `_N_FOLDS` parts of the training text in
turn: a training sentence gets its log-odds from the fit that did not see its part, a new sentence the mean over all
fits. How strongly the top is regularised, and whether it bends, is chosen on validation text that nothing was counted
on; then all is counted and fitted again with that text.

A few sentences that the generator finds all but impossible would stretch the scale of its log-probabilities until all
others look alike, so these are cut, per token, far from what is usual in the training text; one more column says where.

Sources: Wolpert, "Stacked generalization", Neural Networks 5, 1992; see `textassay.ngram.side_counts` for the counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from textassay.corpus import Corpus, Vocabulary
from textassay.discriminator.base import (
    BaseDiscriminator,
    Pair,
    balanced_cross_entropy,
    is_real_of,
    log_probs_column,
    setting,
)
from textassay.discriminator.dense_logistic import DenseLogistic, dense_logistic_path, fit_dense_logistic
from textassay.discriminator.logistic import Weights
from textassay.discriminator.newton import fit_logistic
from textassay.errors import UnavailableError
from textassay.ngram import SKIP_PATTERNS_LABEL, STRENGTHS, NgramIndex, SideCounts, SkipCounts, mark_ends
from textassay.resampling import joint_groups
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_SCALES = 4.0  # bent columns are cut so many standard deviations from their mean: products have no long tails
_MOST_SPREADS = 5.0  # log-probabilities per token are cut so many distances of the quartiles beyond these

# Of the linear model, whose margins need not be exact, as the stack weighs them.
_N_FOLDS = 3
_MAX_ORDER = 4
_MIN_SENTENCES = 2
_C = 0.1
_TOLERANCE = 0.1


@dataclass(eq=False, kw_only=True)
class StackDiscriminator(BaseDiscriminator):
    """Logistic regression over what n-gram models of both sides say of a sentence; deterministic."""

    reads_log_probs = True
    name: str = field(default="stack", kw_only=False)
    max_order: int = setting(5, "the longest n-grams", least=1)
    skips: bool = setting(True, "whether n-grams with gaps are counted, too")
    margins: bool = setting(True, "whether the margin of a linear model over n-grams is a column")
    grid: Sequence[float] = setting((0.01, 0.1, 1.0, 10.0), "inverse strengths of regularisation to try", above=0)
    bends: Sequence[float] = setting(
        (0.0, 0.3), "scales of the bent columns to try, beside 1 for the straight ones; 0 leaves them out", least=0
    )

    @property
    def features(self) -> str:
        """N-grams, models and strengths of regularisation."""
        strengths = ",".join(f"{strength:g}" for strength in STRENGTHS)
        margins = (
            f"linear margins of 1-{_MAX_ORDER}-grams in >={_MIN_SENTENCES} sentences from {_N_FOLDS} parts at C={_C:g}"
        )
        also = [name for name, there in ((SKIP_PATTERNS_LABEL, self.skips), (margins, self.margins)) if there]
        models = [f"Witten-Bell, Kneser-Ney and shrunk ({strengths}) log-ratios of 1-{self.max_order}-grams with ends"]
        grid, bends = (",".join(f"{value:g}" for value in values) for values in (self.grid, self.bends))
        return f"{', '.join(models + also)}, log-probabilities cut, C={grid}, bends={bends}"

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Stack, Mapping[str, Any]]":
        """Return the stack of all the text with what was best on validation text for a stack of the training text."""
        column = log_probs_column(*train)
        features, columns = self._describe(train, column)
        valid_columns = [features.describe(corpus) for corpus in valid]
        lowest = np.inf
        for bend in self.bends:
            n_columns, emphasis = features.used(bend)
            path = dense_logistic_path(columns[:, :n_columns], is_real_of(train), self.grid, emphasis=emphasis)
            for c, top in zip(self.grid, path, strict=True):
                scores = [top.prob_real(side[:, :n_columns]) for side in valid_columns]
                loss = balanced_cross_entropy(*scores)
                if loss < lowest:
                    lowest, best, valid_scores = loss, (c, bend), (scores[0], scores[1])
        del features, columns, valid_columns, path  # large where there is much text
        everything = (Corpus.concatenate([train[0], valid[0]]), Corpus.concatenate([train[1], valid[1]]))
        features, columns = self._describe(everything, column)
        c, bend = best
        n_columns, emphasis = features.used(bend)
        top = fit_dense_logistic(columns[:, :n_columns], is_real_of(everything), c=c, emphasis=emphasis)
        n_features = features.counts.index.n_features
        chosen = {"c": c, "bend": bend, "n_features": n_features, "log_probs": column is not None}
        return _Stack(features, top, valid_scores), chosen

    @property
    def valid_scores(self) -> tuple[FloatArray, FloatArray]:
        """Scores of the validation sentences by a stack that learnt from the training sentences alone."""
        model: _Stack = self.model
        return model.valid_scores

    def _describe(self, pair: Pair, column: str | None) -> "tuple[StackFeatures, FloatArray]":
        return StackFeatures.fit(pair, max_order=self.max_order, skips=self.skips, margins=self.margins, column=column)


@dataclass(frozen=True)
class _Stack:
    """Features, the regression over them, and scores of validation text by another that did not learn from it."""

    features: "StackFeatures"
    top: DenseLogistic
    valid_scores: tuple[FloatArray, FloatArray]

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.top.prob_real(self.features.describe(corpus)[:, : len(self.top.coefficients)])


@dataclass(frozen=True)
class LinearMargins:
    """Linear models of `_N_FOLDS` parts; made by `fit`."""

    index: NgramIndex  # The n-grams
    coefficients: FloatArray  # Mean over the fits, the intercept last, shape (n_features + 1,)

    @classmethod
    def fit(cls, train: Pair, groups: IntArray | None = None) -> "tuple[LinearMargins, FloatArray]":
        """Return models, and the margins of training sentences, real ones first, shape (n_real + n_generated,)."""
        index = NgramIndex.build(train, max_order=_MAX_ORDER, min_sentences=_MIN_SENTENCES)
        rows: csr_matrix = Weights()(vstack([index.count_matrix(corpus) for corpus in train], format="csr"))
        is_real = is_real_of(train)
        groups = np.arange(len(is_real)) if groups is None else groups
        parts = stream(0, "linear margins", "parts").permutation(int(groups.max()) + 1)[groups] % _N_FOLDS
        margins = np.zeros(len(is_real))
        fits = []
        for part in range(_N_FOLDS):
            rest = np.flatnonzero(parts != part)
            own = np.flatnonzero(parts == part)
            if is_real[rest].all() or not is_real[rest].any():
                continue
            theta = fit_logistic(rows[rest], is_real[rest], c=_C, tolerance=_TOLERANCE)
            margins[own] = rows[own] @ theta[:-1] + theta[-1]
            fits.append(theta)
        mean = np.mean(fits, axis=0) if fits else np.zeros(index.n_features + 1)
        return cls(index, mean), margins

    def margins(self, corpus: Corpus) -> FloatArray:
        """Return the mean log-odds of new sentences, with ends as in `fit`, shape (N,)."""
        rows = Weights()(self.index.count_matrix(corpus))
        return np.asarray(rows @ self.coefficients[:-1] + self.coefficients[-1], dtype=np.float64)


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
            raw_log_probs = np.concatenate([side.columns[column] for side in train])
            limits = _limits_of(raw_log_probs, lengths)
            log_probs = _cut(raw_log_probs, lengths, limits)
        linear, own_margins = LinearMargins.fit(marked, groups) if margins else (None, None)
        sums = counts.describe_own(groups)
        gaps = SkipCounts.build(*marked) if skips else None
        straight = _straight(sums, None if gaps is None else gaps.describe_own(groups), lengths, own_margins, log_probs)
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

    def used(self, bend: float) -> tuple[int, FloatArray]:
        """Return how many columns a top with this bend uses, and the emphasis of each."""
        emphasis = np.full(self.n_straight if bend == 0 else self.n_straight + self.n_bent, bend if bend > 0 else 1.0)
        emphasis[: self.n_straight] = 1.0
        return len(emphasis), emphasis

    @property
    def n_bent(self) -> int:
        """How many columns are bent."""
        n = len(self._centres)
        return n + n * (n + 1) // 2

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
