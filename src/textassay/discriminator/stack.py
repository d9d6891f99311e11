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
on; then all is counted and fitted again with that text. Of much text, the top is fitted to a drawn subset
(`MOST_FITTED`): it has tens of weights, while the counts, which rise with text, are those of all of it.

Where texts come in groups, some that belong together may stand in different ones. The partner of a text is then counted
on the other side, what columns say of the text is wrong, and a free regression would learn to turn them round: two
samples of one distribution would look different. So a column that compares the sides speaks for the side that it names
or not at all: its coefficient is at least 0, log-probabilities of both sides are one such column, their difference, and
products are of what is pooled: a sum of both sides' would still tell them apart by what their discounts differ.

A few sentences that the generator finds all but impossible would stretch the scale of its log-probabilities until all
others look alike, so these are cut, per token, far from what is usual in the training text; one more column says where.

Sources: Wolpert, "Stacked generalization", Neural Networks 5, 1992; Breiman, "Stacked regressions", Machine Learning
24, 1996 (coefficients of at least 0); see `textassay.ngram.side_counts` for the counts.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.array_files import drop_pages
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator import structure, training_text
from textassay.discriminator.base import (
    FIT,
    MOST_FITTED,
    BaseDiscriminator,
    Pair,
    Part,
    Pool,
    Scores,
    balanced_cross_entropy,
    drawn,
    log_probs_column,
    setting,
)
from textassay.discriminator.logistic import Weights, count_texts
from textassay.discriminator.solvers import (
    MANY_COLUMNS,
    DenseLogistic,
    dense_logistic_path,
    fit_dense_logistic,
    fit_logistic,
)
from textassay.errors import UnavailableError
from textassay.execution.threads import parallel_map
from textassay.ngram.index import mark_ends
from textassay.ngram.side_counts import STRENGTHS, NgramTexts, SideCounts
from textassay.ngram.skip_counts import SKIP_PATTERNS_LABEL, SkipCounts, SkipTexts
from textassay.ngram.text_counts import KeptNgrams, TextCounts
from textassay.prior.catalog import COUNTS_COLUMN, MODEL_COLUMN
from textassay.resampling.permutation import joint_groups
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MOST_SCALES = 4.0  # bent columns are cut so many standard deviations from their mean: products have no long tails
_MOST_SPREADS = 5.0  # log-probabilities per token are cut so many distances of the quartiles beyond these

_N_LENGTHS = 2  # columns
_TEXTS_AT_ONCE = 1 << 14  # described at once, to limit memory
# Columns that may come with texts, in this order.
_GIVEN = (training_text.COLUMN, COUNTS_COLUMN, MODEL_COLUMN, structure.COLUMN)

# Of the linear model, whose margins need not be exact, as the stack weighs them.
_N_FOLDS = 3
_MAX_ORDER = 4
_MIN_SENTENCES = 2
_COUNTED = {"min_sentences": _MIN_SENTENCES, "with_ends": True}
_C = 0.1
_TOLERANCE = 0.1


@dataclass(eq=False, kw_only=True)
class StackDiscriminator(BaseDiscriminator):
    """Logistic regression over what n-gram models of both sides say of a sentence; deterministic."""

    reads_log_probs = True
    reads_training_text = True
    reads_prior = True
    name: str = field(default="stack", kw_only=False)
    max_order: int = setting(5, "the longest n-grams", least=1)
    skips: bool = setting(True, "whether skip-grams are counted, too")
    margins: bool = setting(True, "whether the margin of a linear model over n-grams is a column")
    margin_order: int = setting(_MAX_ORDER, "the longest n-grams of that linear model", least=1)
    most_fitted: int = setting(
        MOST_FITTED,
        "most training texts a side for fitting the weights of columns; all are counted",
        least=1,
    )
    grid: Sequence[float] = setting((0.01, 0.1, 1.0, 10.0), "inverse strengths of regularisation to try", above=0)
    bends: Sequence[float] = setting(
        (0.0, 0.3), "scales of the bent columns to try, beside 1 for the straight ones; 0 omits them", least=0
    )

    @property
    def features(self) -> str:
        strengths = ",".join(f"{strength:g}" for strength in STRENGTHS)
        margins = (
            f"linear margins of 1-{self.margin_order}-grams in >={_MIN_SENTENCES} sentences from {_N_FOLDS} parts "
            f"at C={_C:g}"
        )
        also = [name for name, there in ((SKIP_PATTERNS_LABEL, self.skips), (margins, self.margins)) if there]
        models = [f"Witten-Bell, Kneser-Ney and shrunk ({strengths}) log-ratios of 1-{self.max_order}-grams with ends"]
        grid, bends = (",".join(f"{value:g}" for value in values) for values in (self.grid, self.bends))
        fit = "" if self.most_fitted == MOST_FITTED else f", fit={self.most_fitted}"
        return f"{', '.join(models + also)}, log-probabilities cut, C={grid}, bends={bends}{fit}"

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Stack, Mapping[str, Any]]":
        """Return the stack of all the text with what was best on validation text for a stack of the training text."""
        pool = Pool(*(Corpus.concatenate(sides) for sides in zip(train, valid, strict=True)))
        marked = [mark_ends(side) for side in pool.sides]
        texts = NgramTexts.with_index(marked, max_order=self.max_order)
        skips = SkipTexts.with_index(marked) if self.skips else None
        n_train = [len(side) for side in train]
        rows = [np.split(np.arange(len(side)), [n]) for side, n in zip(pool.sides, n_train, strict=True)]
        return self._learn(texts, skips, *(Part(pool, (rows[0][place], rows[1][place])) for place in (0, 1)))

    def fit_part(self, train: Part, valid: Part) -> Self:
        """Return a fitted copy that scores no other texts than those of the pool."""
        fitted = copy.copy(self)
        texts = train.pool.once(_repeated_ngrams, max_order=self.max_order)
        skips = train.pool.once(_repeated_skips) if self.skips else None
        fitted._model, fitted.chosen = self._learn(texts, skips, train, valid)
        return fitted

    def prob_real_of(self, part: Part) -> Scores:
        model: _Stack = self.model
        return model.features.scores(part, [model.top])[0]

    @property
    def valid_scores(self) -> Scores:
        """Scores of the validation sentences by a stack that learnt from the training sentences alone."""
        model: _Stack = self.model
        return model.valid_scores

    def _learn(
        self, texts: NgramTexts, skip_texts: SkipTexts | None, train: Part, valid: Part
    ) -> "tuple[_Stack, Mapping[str, Any]]":
        column = log_probs_column(*train.pool.sides)
        sides = np.repeat(np.array([0, 1], dtype=np.int8), [len(side) for side in train.pool.sides])
        counts = SideCounts(texts, sides)
        counts.count(train.numbers)
        skips = None if skip_texts is None else SkipCounts(skip_texts, sides)
        if skips is not None:
            skips.count(train.numbers)
        is_drawn = drawn(map(len, train.rows), self.most_fitted, "stack", "top")
        features, columns, is_real = self._describe(counts, skips, train, is_drawn, column)
        settings = [(c, bend) for bend in self.bends for c in self.grid]

        def path(bend: float) -> list[DenseLogistic]:
            n_columns, of_top = features.used(bend)
            return list(dense_logistic_path(columns[:, :n_columns], is_real, self.grid, **of_top))

        tops = [top for of_bend in parallel_map(path, self.bends) for top in of_bend]
        del columns  # large where there is much text
        scores = features.scores(valid, tops)
        best = int(np.argmin([balanced_cross_entropy(*of_top) for of_top in scores]))
        (c, bend), valid_scores = settings[best], scores[best]
        start = tops[best]
        del features, scores
        counts.count(valid.numbers)
        if skips is not None:
            skips.count(valid.numbers)
        everything = train.joined(valid)
        is_drawn = drawn(map(len, everything.rows), self.most_fitted, "stack", "top")
        features, columns, is_real = self._describe(counts, skips, everything, is_drawn, column)
        n_columns, of_top = features.used(bend)
        top = fit_dense_logistic(columns[:, :n_columns], is_real, c=c, start=start, **of_top)
        chosen = {"c": c, "bend": bend, "n_features": counts.n_ngrams, "log_probs": column is not None}
        if not is_drawn.all():
            chosen[FIT] = self.most_fitted
        return _Stack(features, top, valid_scores), chosen

    def _describe(
        self, counts: SideCounts, skips: SkipCounts | None, train: Part, drawn: Mask, column: str | None
    ) -> "tuple[StackFeatures, FloatArray, Mask]":
        margin_order = self.margin_order if self.margins else 0
        return StackFeatures.fit(counts, skips, train, drawn, margin_order=margin_order, column=column)


def _repeated_ngrams(real: Corpus, generated: Corpus, max_order: int) -> NgramTexts:
    drop_pages()  # of what was read before
    offsets = np.concatenate([side.offsets[first:] for side, first in ((real, 0), (generated, 1))])
    offsets[len(real) + 1 :] += real.offsets[-1]
    offsets += 2 * np.arange(len(offsets))  # with both ends
    tokens = np.empty(offsets[-1], dtype=np.int32)
    tokens[: offsets[len(real)]] = mark_ends(real).tokens
    tokens[offsets[len(real)] :] = mark_ends(generated).tokens
    drop_pages()
    return NgramTexts.repeated(tokens, offsets, max_order=max_order)


def _repeated_skips(real: Corpus, generated: Corpus) -> SkipTexts:
    return SkipTexts.repeated([mark_ends(real), mark_ends(generated)])


@dataclass(frozen=True)
class _Stack:
    """Features, the regression over them, and scores of validation text by another that did not learn from it."""

    features: "StackFeatures"
    top: DenseLogistic
    valid_scores: Scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.top.prob_real(self.features.describe(corpus)[:, : len(self.top.coefficients)])


@dataclass(frozen=True)
class LinearMargins:
    """Linear models of `_N_FOLDS` parts; made by `fit`."""

    ngrams: KeptNgrams
    coefficients: FloatArray  # Mean over the fits, the intercept last, shape (n_features + 1,)

    @classmethod
    def fit(
        cls, counts: TextCounts, numbers: IntArray, is_real: Mask, groups: IntArray | None = None
    ) -> "tuple[LinearMargins, FloatArray]":
        """Return models of the texts `numbers` of `counts`, and margins of these; all shapes (N,)."""
        ngrams, own_counts = counts.learnt_from(numbers)
        features = Weights()(own_counts)
        groups = np.arange(len(is_real)) if groups is None else groups
        parts = stream(0, "linear margins", "parts").permutation(int(groups.max()) + 1)[groups] % _N_FOLDS
        margins = np.zeros(len(is_real))
        fits = []
        for part in range(_N_FOLDS):
            rest = np.flatnonzero(parts != part)
            own = np.flatnonzero(parts == part)
            if is_real[rest].all() or not is_real[rest].any():
                continue
            theta = fit_logistic(features, is_real, c=_C, tolerance=_TOLERANCE, rows=rest)
            margins[own] = (features @ theta[:-1])[own] + theta[-1]
            fits.append(theta)
        mean = np.mean(fits, axis=0) if fits else np.zeros(len(ngrams.columns) + 1)
        return cls(ngrams, mean), margins

    def margins(self, corpus: Corpus) -> FloatArray:
        """Return the mean log-odds of new texts, shape (N,)."""
        return self._margins(self.ngrams.counts(corpus))

    def margins_of(self, counts: TextCounts, numbers: IntArray) -> FloatArray:
        """Return the same of the texts `numbers` of those that were counted."""
        return self._margins(counts.of_rows(numbers, self.ngrams))

    def _margins(self, counts: csr_matrix) -> FloatArray:
        return np.asarray(Weights()(counts) @ self.coefficients[:-1] + self.coefficients[-1], dtype=np.float64)


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
    _given: tuple[str, ...] = ()  # Columns that came with the texts, of `_GIVEN`, which are among the straight ones
    at_edges: LinearMargins | None = None  # Of documents: models of their first and last tokens
    in_groups: bool = False  # Whether training text came in groups: no column may then be turned round

    @classmethod
    def fit(
        cls,
        counts: SideCounts,
        skips: SkipCounts | None,
        train: Part,
        drawn: Mask,
        *,
        margin_order: int,
        column: str | None,
    ) -> "tuple[StackFeatures, FloatArray, Mask]":
        """Return the features, the columns of training sentences, each without its group, and which of them are real.

        `counts`, `skips`: those of `train`; `drawn`: which are described, but for those without log-probabilities.
        """
        real, generated = train.pool.sides
        groups = None
        if real.groups is not None or generated.groups is not None:
            of_sides = [
                None if side.groups is None else side.groups[rows]
                for side, rows in zip(train.pool.sides, train.rows, strict=True)
            ]
            groups = joint_groups(of_sides[0], of_sides[1], *map(len, train.rows))
        described = train.chosen(drawn)
        lengths = described.gathered(lambda side: side.lengths)
        linear, own_margins, own_gaps = None, None, None
        of_described = described.numbers, described.is_real, None if groups is None else groups[drawn]
        if margin_order:
            linear, own_margins = LinearMargins.fit(_counted(train, margin_order), *of_described)
        sums = counts.describe_own(groups, rows=train.numbers, drawn=drawn)
        if skips is not None:
            own_gaps = skips.describe_own(groups, rows=train.numbers, drawn=drawn)
        names = tuple(name for name in _GIVEN if all(name in side.columns for side in (real, generated)))
        came = [described.column(name) for name in names]
        at_edges = None
        if structure.COLUMN in names:
            at_edges, own_edges = LinearMargins.fit(_counted(train, _MAX_ORDER, edges=True), *of_described)
            came.append(own_edges)
        given = np.column_stack(came) if came else None
        is_real = train.is_real[drawn]
        log_probs, limits = None, (-np.inf, np.inf)
        if column is not None:
            raw_log_probs = described.column(column)
            known = ~np.isnan(raw_log_probs)
            if not known.all():
                raw_log_probs, lengths, sums, is_real = (
                    values[known] for values in (raw_log_probs, lengths, sums, is_real)
                )
                own_gaps, own_margins, given = (
                    None if values is None else values[known] for values in (own_gaps, own_margins, given)
                )
            limits = _limits_of(raw_log_probs, lengths)
            log_probs = _cut(raw_log_probs, lengths, limits)
        token = _average_token(counts, sums, lengths, log_probs, given, training_text.COLUMN in names)
        centres, scales = token.mean(axis=0), token.std(axis=0)
        scales = np.where(scales > 0, scales, 1.0)
        straight = _straight(sums, own_gaps, lengths, own_margins, log_probs, given)
        n_straight = sum(part.shape[1] for part in straight)
        measured = n_straight, limits, centres, scales, names
        features = cls(counts, skips, linear, column, real.vocabulary, *measured, at_edges, groups is not None)
        return features, features._columns(straight, token), is_real

    def describe(self, corpus: Corpus) -> FloatArray:
        """Return the columns of new sentences, shape (N, n_columns), straight ones first."""
        if self.column is not None and self.column not in corpus.columns:
            raise UnavailableError(f"the stack was fitted with {self.column}, which these sentences do not have")
        if corpus.vocabulary is not self.vocabulary:
            corpus = corpus.with_vocabulary(self.vocabulary)
        marked = mark_ends(corpus)
        log_probs = None if self.column is None else corpus.columns[self.column]
        came = [corpus.columns[name] for name in self._given]
        if self.at_edges is not None:
            came.append(self.at_edges.margins(structure.edges(corpus)))
        given = np.column_stack(came) if came else None
        gaps = None if self.skips is None else self.skips.describe(marked)
        margins = None if self.linear is None else self.linear.margins(corpus)
        return self._describe(self.counts.describe(marked), gaps, corpus.lengths, log_probs, given, margins)

    def scores(self, part: Part, tops: Sequence[DenseLogistic]) -> list[Scores]:
        """Return by each top the probabilities of being real of uncounted texts of the pool, real and generated."""
        n = len(part.is_real)
        scores = np.empty((len(tops), n))
        for first in range(0, n, _TEXTS_AT_ONCE):
            here = slice(first, first + _TEXTS_AT_ONCE)
            block = part.between(first, first + _TEXTS_AT_ONCE)
            lengths, log_probs, margins = block.gathered(lambda side: side.lengths), None, None
            came = [block.column(name) for name in self._given]
            if self.at_edges is not None:
                came.append(self.at_edges.margins_of(_counted(part, _MAX_ORDER, edges=True), block.numbers))
            given = np.column_stack(came) if came else None
            if self.column is not None:
                log_probs = block.column(self.column)
            if self.linear is not None:
                margins = self.linear.margins_of(_counted(part, self.linear.ngrams.index.max_order), block.numbers)
            sums = self.counts.describe_uncounted(block.numbers)
            gaps = None if self.skips is None else self.skips.describe_uncounted(block.numbers)
            columns = self._describe(sums, gaps, lengths, log_probs, given, margins)
            for number, top in enumerate(tops):
                scores[number, here] = top.prob_real(columns[:, : len(top.coefficients)])
        n_real = len(part.rows[0])
        return [(of_top[:n_real], of_top[n_real:]) for of_top in scores]

    def _describe(
        self,
        sums: FloatArray,
        gaps: FloatArray | None,
        lengths: IntArray,
        raw_log_probs: npt.NDArray[np.floating] | None,
        given: FloatArray | None,
        margins: FloatArray | None,
    ) -> FloatArray:
        log_probs = None if raw_log_probs is None else _cut(raw_log_probs, lengths, self._limits)
        token = _average_token(self.counts, sums, lengths, log_probs, given, training_text.COLUMN in self._given)
        return self._columns(_straight(sums, gaps, lengths, margins, log_probs, given), token)

    def used(self, bend: float) -> tuple[int, dict[str, Any]]:
        """Return how many columns a top with this bend uses, and how it is fitted to them."""
        n_columns = self.n_straight if bend == 0 else self.n_straight + self.n_bent
        emphasis = np.full(n_columns, bend if bend > 0 else 1.0)
        emphasis[: self.n_straight] = 1.0
        least = np.where(self._compares[:n_columns], 0.0, -np.inf) if self.in_groups else None
        return n_columns, {"emphasis": emphasis, "most_newton": self.most_newton, "least": least}

    @property
    def most_newton(self) -> int:
        """How many columns Newton's method fits; with a prior or structure, L-BFGS would need very many steps."""
        many = any(name in self._given for name in (COUNTS_COLUMN, MODEL_COLUMN, structure.COLUMN))
        return 2 * MANY_COLUMNS if many else MANY_COLUMNS

    @property
    def n_bent(self) -> int:
        return len(self._centres) + len(self._factors[0])

    @property
    def _factors(self) -> tuple[IntArray, IntArray]:
        """Which columns of `_average_token` are multiplied with which."""
        first, second = np.triu_indices(len(self._centres))
        if not self.in_groups:
            return first, second
        neither = ~(self._tokens_compare[first] | self._tokens_compare[second])
        return first[neither], second[neither]

    @property
    def _tokens_compare(self) -> Mask:
        """Which columns of `_average_token` compare the sides."""
        n_pooled, n_ratios = map(len, _average_orders(self.counts))
        compares = np.zeros(len(self._centres), dtype=np.bool_)
        compares[1 + n_pooled : 2 + n_pooled + n_ratios] = True
        return compares

    @property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Which columns are of the real side, and which are the same of the generated side."""
        names = self._names
        real = [number for number, name in enumerate(names) if "real" in name]
        return np.array(real), np.array([names.index(names[number].replace("real", "generated")) for number in real])

    @property
    def _names(self) -> list[str]:
        """Names of the first columns, those of counts."""
        return [*self.counts.names, *(() if self.skips is None else self.skips.names)]

    @property
    def _compares(self) -> Mask:
        """Which columns compare the sides where texts come in groups, shape (n_straight + n_bent,)."""
        names = self._names
        compares = np.zeros(self.n_straight + self.n_bent, dtype=np.bool_)
        compares[: len(names)] = ["ratio" in name for name in names]
        compares[self._pairs[0]] = True
        if self.linear is not None:
            compares[len(names) + _N_LENGTHS] = True
        if self.at_edges is not None:
            compares[self.n_straight - 1] = True
        compares[self.n_straight : self.n_straight + len(self._centres)] = self._tokens_compare
        return compares

    def _columns(self, straight: Sequence[FloatArray], token: FloatArray) -> FloatArray:
        """Return straight and bent columns."""
        columns = np.empty((len(token), self.n_straight + self.n_bent))
        np.concatenate(straight, axis=1, out=columns[:, : self.n_straight])
        if self.in_groups:
            of_real, of_generated = self._pairs
            columns[:, of_real] -= columns[:, of_generated]
            columns[:, of_generated] = 0.0  # says nothing
        first, second = self._factors
        for start in range(0, len(token), _TEXTS_AT_ONCE):
            block = columns[start : start + _TEXTS_AT_ONCE, self.n_straight :]
            scaled = (token[start : start + _TEXTS_AT_ONCE] - self._centres) / self._scales
            cut = np.clip(scaled, -_MOST_SCALES, _MOST_SCALES)
            block[:, : cut.shape[1]] = cut
            np.multiply(cut[:, first], cut[:, second], out=block[:, cut.shape[1] :])
        return columns


def _counted(part: Part, max_order: int, *, edges: bool = False) -> TextCounts:
    """Return the counts of n-grams of all texts of the pool, or of their first and last tokens."""
    return part.pool.once(_count_edges if edges else count_texts, max_order=max_order, **_COUNTED)


def _count_edges(real: Corpus, generated: Corpus, **counted: Any) -> TextCounts:
    return count_texts(structure.edges(real), structure.edges(generated), **counted)


def _straight(
    sums: FloatArray,
    gaps: FloatArray | None,
    lengths: IntArray,
    margins: FloatArray | None,
    log_probs: _LogProbs | None,
    given: FloatArray | None,
) -> list[FloatArray]:
    parts = [sums, *([] if gaps is None else [gaps]), np.column_stack([lengths, np.log1p(lengths)])]
    if margins is not None:
        parts.append(margins[:, None])
    if log_probs is not None:
        parts += [log_probs.sums[:, None], log_probs.beyond[:, None]]
    return parts if given is None else [*parts, given]


def _average_token(
    counts: SideCounts,
    sums: FloatArray,
    lengths: IntArray,
    log_probs: _LogProbs | None,
    given: FloatArray | None,
    reads_training: bool,
) -> FloatArray:
    """Return the log-length, and how likely an average token is and how much likelier in real text, by some models."""
    of_pooled, of_ratios = _average_orders(counts)
    longest = of_pooled[-1]
    names = [f"kn_pooled[{order}]" for order in of_pooled] + [f"wb_ratio[{order}]" for order in of_ratios]
    columns = [sums[:, counts.names.index(name)] for name in names]
    above = [sums[:, counts.names.index(f"{side}_over_pooled[{longest}]")] for side in ("real", "generated")]
    columns.append(above[0] - above[1])
    if log_probs is not None:
        columns.append(log_probs.sums)
    token = np.column_stack([np.log1p(lengths), *(column / (lengths + 1) for column in columns)])
    if given is None or not reads_training:
        return token
    return np.column_stack([token, training_text.average_token(given, lengths)])  # of the first columns


def _average_orders(counts: SideCounts) -> tuple[list[int], list[int]]:
    """Return of which orders there are pooled log-probabilities and ratios of an average token."""
    longest = counts.texts.max_order
    return sorted({1, min(2, longest), longest}), sorted({1, longest})


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
