"""Boosted trees over some twenty features of a text from n-gram models of both sides.

The features are, for each order, the log-likelihood ratio of the two sides' models, its smallest and largest terms, and
the same with blurred probabilities; and the length and probability of the text. Blurred: as models of a few thousand
sentences are sure of much that is chance, each side takes a share of its probabilities from the other, which bounds
what one token can say. With the generator's own log-probabilities, these and their ratio to each model of the real side
are features too, as is what a prior of the language says (see `prior`). Training texts are scored by models that were
fitted without them. Where texts come in groups, trees follow these models or not at all, as the stack does and says
why.

The models of both sides cost each training sentence without its own group, as if it had never been seen. Words that no
training sentence holds are one word, so that nothing depends on what other text is there.

Sources: Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", Annals of Statistics 2001; Ke et al.,
"LightGBM: A Highly Efficient Gradient Boosting Decision Tree", NeurIPS 2017 (histograms; here scikit-learn's, which
needs no further library, but takes no sparse counts: there is no tree on single n-grams here, and 32 latent semantic
dimensions beside these numbers gained nothing); Huber, "A robust version of the probability ratio test", 1965 (bounded
terms; here they are bounded by blurring, not by cutting).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import threadpoolctl
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import (
    BaseDiscriminator,
    Pair,
    balanced_cross_entropy,
    is_real_of,
    log_probs_column,
    setting,
)
from textassay.errors import UnavailableError
from textassay.ngram.backoff import BackoffModel, with_ends
from textassay.ngram.kneser_ney import count_ngrams
from textassay.prior.catalog import COUNTS_COLUMN
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BLURS = (0.0, 0.2)
_LEARNING_RATE = 0.05
_LEAVES = 7
_L2 = 10.0

TokenArray = npt.NDArray[np.int32]


@dataclass(eq=False, kw_only=True)
class BoostedTreesDiscriminator(BaseDiscriminator):
    """Gradient boosting over likelihood ratios and length; deterministic, on one thread."""

    name = "boosted-trees"
    reads_log_probs = True
    reads_prior = True
    max_order: int = setting(4, "the longest n-grams", least=1)
    folds: int = setting(5, "the parts of the training text that are scored by models fitted without them", least=2)
    max_trees: int = setting(200, "trees, at most", least=1)

    @property
    def features(self) -> str:
        return (
            f"Kneser-Ney 1-{self.max_order}-gram ratios of {self.folds} folds, blur 0+0.2, length, "
            f"<={self.max_trees} trees of {_LEAVES} leaves, "
            f"rate {_LEARNING_RATE:g}, L2 {_L2:g}"
        )

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Boosted, Mapping[str, Any]]":
        """Return as many trees as are best on validation text."""
        sizes = [len(corpus) for corpus in train]
        parts = _parts(train, self.folds)
        models = SideModels(train, max_order=self.max_order, groups=parts)
        orders = range(1, self.max_order + 1)
        has_prior = all(COUNTS_COLUMN in corpus.columns for corpus in (*train, *valid))
        column = log_probs_column(*train)
        if column is not None and any(np.isnan(corpus.columns[column]).any() for corpus in train):
            column = None  # text to learn from that has none would be known by that
        numbers = _Numbers(tuple(models.fit(order) for order in orders), column, has_prior)
        rows = np.concatenate([numbers.of(corpus) for corpus in train])
        if parts is not None:
            part = np.concatenate(parts)
            for left_out in range(int(part.max()) + 1):
                without = replace(numbers, sides=tuple(models.fit(order, without=(left_out,)) for order in orders))
                for number, corpus in enumerate(train):
                    chosen = np.flatnonzero(parts[number] == left_out)
                    rows[chosen + number * sizes[0]] = without.of(corpus.take(chosen))
        trees = HistGradientBoostingClassifier(
            learning_rate=_LEARNING_RATE,
            max_iter=self.max_trees,
            max_leaf_nodes=_LEAVES,
            l2_regularization=_L2,
            early_stopping=False,
            random_state=0,
            monotonic_cst=None if all(corpus.groups is None for corpus in train) else numbers.directions(rows.shape[1]),
        )
        prior_odds = float(np.log(sizes[0] / sizes[1]))  # taken off instead of weighting sentences: a tenth of the time
        with _one_thread():
            trees.fit(rows, is_real_of(train).astype(np.int64))
            stages = zip(*(trees.staged_decision_function(numbers.of(corpus)) for corpus in valid), strict=True)
            losses = [balanced_cross_entropy(*(expit(odds - prior_odds) for odds in stage)) for stage in stages]
        n_trees = int(np.argmin(losses)) + 1
        return _Boosted(numbers, trees, n_trees, prior_odds), {"n_trees": n_trees, "n_features": rows.shape[1]}


@dataclass(frozen=True)
class TokenProbs:
    """How likely each token of N sentences, and each end, is on both sides."""

    # Probabilities, shape (T + N,), above 0
    real: FloatArray
    generated: FloatArray
    offsets: IntArray  # Where each sentence starts, and the end of the last, shape (N + 1,)

    def log_ratios(self, blur: float = 0.0) -> FloatArray:
        """Return the log of real over generated of each token, shape (T + N,), in nats.

        `blur`: what share of its probabilities each side takes from the other, in [0, 0.5): above 0, no single token
        says more than ``ln((1 - blur) / blur)``.
        """
        real = (1 - blur) * self.real + blur * self.generated
        generated = (1 - blur) * self.generated + blur * self.real
        return np.asarray(np.log(real / generated), dtype=np.float64)

    def sums(self, tokens: FloatArray) -> FloatArray:
        """Return the sum over each sentence of numbers of tokens, shapes (T + N,) to (N,)."""
        if len(self.offsets) == 1:
            return np.empty(0)
        return np.asarray(np.add.reduceat(tokens, self.offsets[:-1]), dtype=np.float64)


@dataclass(frozen=True)
class FittedSides:
    """A model of each side; made by `SideModels.fit`."""

    places: TokenArray  # (V,) id of each token of the vocabulary; what no training sentence holds is <unk>
    real: BackoffModel
    generated: BackoffModel

    def token_probs(self, corpus: Corpus) -> TokenProbs:
        """Return how likely the tokens of `corpus`, with the vocabulary of the training text, are on both sides."""
        text, offsets = with_ends(self.places[corpus.tokens], corpus.offsets)
        real, generated = (
            np.exp(model.traced_log_probs(model.trace(text, offsets))) for model in (self.real, self.generated)
        )
        return TokenProbs(real, generated, offsets)


@dataclass(frozen=True)
class _Numbers:
    sides: tuple[FittedSides, ...]  # of each order
    log_probs: str | None  # the column of the generator's own log-probabilities
    has_prior: bool = False  # whether what a prior says is among them

    def directions(self, n_features: int) -> IntArray:
        """Return which features speak for the real side (1), for the generated one (-1), and for none (0)."""
        directions = np.zeros(n_features, dtype=np.int64)
        n_compare = len(self.sides) * (len(_BLURS) + 2 + (self.log_probs is not None))
        directions[:n_compare] = 1
        directions[n_compare : n_compare + 2] = 1, -1
        return directions

    def of(self, corpus: Corpus) -> FloatArray:
        """Return the features of each text, shape (N, n_features)."""
        if self.log_probs is not None and self.log_probs not in corpus.columns:
            raise UnavailableError(f"boosted-trees was fitted with {self.log_probs}, which these sentences do not have")
        columns: list[FloatArray] = []
        for models in self.sides:
            probs = models.token_probs(corpus)
            ratios = probs.log_ratios()
            columns += [probs.sums(probs.log_ratios(blur)) for blur in _BLURS]
            columns += [extreme.reduceat(ratios, probs.offsets[:-1]) for extreme in (np.minimum, np.maximum)]
            costs = [probs.sums(np.log(side)) for side in (probs.real, probs.generated)]
            if self.log_probs is not None:
                columns.append(costs[0] - corpus.columns[self.log_probs].astype(np.float64))
        lengths = (corpus.lengths + 1).astype(np.float64)  # ends count
        columns += [*costs, (costs[0] + costs[1]) / (2 * lengths), lengths]
        if self.log_probs is not None:
            own_log_probs = corpus.columns[self.log_probs].astype(np.float64)
            columns += [own_log_probs, own_log_probs / lengths]
        if self.has_prior:
            given = corpus.columns[COUNTS_COLUMN]
            columns += [*given.T, *(given / lengths[:, None]).T]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class _Boosted:
    numbers: _Numbers
    trees: HistGradientBoostingClassifier
    n_trees: int
    prior_odds: float  # log-odds of the sizes of the sides

    def prob_real(self, corpus: Corpus) -> FloatArray:
        if len(corpus) == 0:
            return np.empty(0)
        with _one_thread():
            stages = self.trees.staged_decision_function(self.numbers.of(corpus))
            return np.asarray(expit(next(islice(stages, self.n_trees - 1, None)) - self.prior_odds), dtype=np.float64)


def _one_thread() -> threadpoolctl.threadpool_limits:
    """Return a block in which trees are grown by the thread that calls: `parallel_map` has the others."""
    return threadpoolctl.threadpool_limits(1, user_api="openmp")


def _parts(pair: Pair, n_parts: int) -> tuple[IntArray, IntArray] | None:
    """Return the part of each real and each generated sentence; none where a side cannot be divided.

    Whole groups go to one part, equal numbers meaning the same group. There are fewer parts where some would be empty.
    """
    rng = stream(0, "boosted-trees", *(corpus.fingerprint for corpus in pair))
    blocks = [(len(corpus), corpus.groups) for corpus in pair]
    if pair[0].groups is not None and pair[1].groups is not None:
        blocks = [(len(pair[0]) + len(pair[1]), np.concatenate([pair[0].groups, pair[1].groups]))]
    n_units = min(size if groups is None else len(np.unique(groups)) for size, groups in blocks)
    for n in range(min(n_parts, n_units), 1, -1):
        folds = np.concatenate([fold_numbers(size, n, rng, groups) for size, groups in blocks])
        real, generated = folds[: len(pair[0])], folds[len(pair[0]) :]
        if len(np.unique(real)) == len(np.unique(generated)) == n:
            return real, generated
    return None


class SideModels:
    """n-grams of both sides, counted once, and the models of every order.

    `groups`: group of each real and each generated sentence, where some shall be left out: shapes (n_real,) and
    (n_generated,), from 0, at least two on each side, none left out.
    """

    def __init__(self, train: Pair, *, max_order: int, groups: tuple[IntArray, IntArray] | None = None) -> None:
        words = np.unique(np.concatenate([corpus.tokens for corpus in train]))
        words = words[words > UNK]  # tokens that models keep for themselves are unknown words in a text
        n_types = UNK + 1 + len(words)
        self._places = np.full(len(train[0].vocabulary), UNK, dtype=np.int32)
        self._places[words] = np.arange(UNK + 1, n_types)
        self._counts = tuple(
            count_ngrams(
                self._places[corpus.tokens],
                corpus.offsets,
                order=max_order,
                n_types=n_types,
                groups=None if groups is None else groups[number],
            )
            for number, corpus in enumerate(train)
        )

    def fit(self, order: int, *, without: Collection[int] = ()) -> FittedSides:
        """Return the models of one order, at most `max_order`, without some groups of both sides."""
        real, generated = (counts.fit(order, without=without)[0] for counts in self._counts)
        return FittedSides(self._places, real, generated)
