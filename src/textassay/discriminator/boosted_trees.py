"""Boosted trees over some fifty numbers of a sentence: what n-gram models of both sides say of it, and where it lies.

The numbers are, for each order, the log-likelihood ratio of the two sides' models, its largest terms either way, and
the same with tokens that can say less (see `likelihood_ratio`); the sentence's length and probability; and its latent
semantic vector. Training sentences are scored by models that were fitted without them.

Sources: Friedman, "Greedy Function Approximation: A Gradient Boosting Machine", Annals of Statistics 2001; Ke et al.,
"LightGBM: A Highly Efficient Gradient Boosting Decision Tree", NeurIPS 2017 (histograms; here scikit-learn's, which
needs no further library, but takes no sparse counts: there is no tree on single n-grams here).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import threadpoolctl
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import Pair, balanced_cross_entropy
from textassay.discriminator.side_models import FittedSides, SideModels
from textassay.embedding.latent_semantic import FittedLatentSemantic, LatentSemanticEncoder
from textassay.errors import OptionError
from textassay.execution import one_blas_thread
from textassay.seeding import stream

__all__ = ["BoostedTreesDiscriminator"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BLURS = (0.0, 0.2)
_LEARNING_RATE = 0.05
_LEAVES = 15
_L2 = 1.0


class BoostedTreesDiscriminator:
    """Gradient boosting over likelihood ratios, length and latent semantic vectors; on one thread.

    Parameters
    ----------
    max_order
        Longest n-grams of the models, in tokens, at least 1.
    dimensions
        Latent semantic dimensions, at least 1.
    folds
        Parts of the training text; each is scored by models of the others. At least 2.
    max_trees
        Most trees, at least 1; how many are used is chosen by cross-entropy on validation text.

    Raises
    ------
    OptionError
        If a number is out of range.
    """

    name = "boosted-trees"

    def __init__(self, *, max_order: int = 3, dimensions: int = 32, folds: int = 5, max_trees: int = 200) -> None:
        numbers = (("max_order", max_order, 1), ("dimensions", dimensions, 1), ("folds", folds, 2))
        for setting, value, least in (*numbers, ("max_trees", max_trees, 1)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.max_order = max_order
        self.dimensions = dimensions
        self.folds = folds
        self.max_trees = max_trees
        self.chosen: Mapping[str, Any] = {}
        self._fitted: _Boosted | None = None

    @property
    def features(self) -> str:
        """The numbers of a sentence, and how trees are grown."""
        return (
            f"Kneser-Ney 1-{self.max_order}-gram ratios of {self.folds} folds, blur 0+0.2, length, "
            f"{self.dimensions} latent semantic dimensions, <={self.max_trees} trees of {_LEAVES} leaves, "
            f"rate {_LEARNING_RATE:g}, L2 {_L2:g}"
        )

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the fitted discriminator; deterministic, this one stays as it is."""
        fitted = type(self)(
            max_order=self.max_order, dimensions=self.dimensions, folds=self.folds, max_trees=self.max_trees
        )
        sizes = [len(corpus) for corpus in train]
        parts = _parts(train, self.folds)
        models = SideModels(train, max_order=self.max_order, groups=parts)
        with one_blas_thread():
            encoder = LatentSemanticEncoder(dimensions=self.dimensions).fit(Corpus.concatenate(train))
        orders = range(1, self.max_order + 1)
        numbers = _Numbers(tuple(models.fit(order) for order in orders), encoder)
        rows = np.concatenate([numbers.of(corpus) for corpus in train])
        side = np.repeat([0, 1], sizes)
        if parts is not None:
            part = np.concatenate(parts)
            for left_out in range(int(part.max()) + 1):
                sides = tuple(models.fit(order, without=(left_out,)) for order in orders)
                for number, corpus in enumerate(train):
                    chosen = np.flatnonzero(parts[number] == left_out)
                    places = chosen + number * sizes[0]
                    unseen = _ratios(sides, corpus.take(chosen))
                    rows[places, : unseen.shape[1]] = unseen
        trees = HistGradientBoostingClassifier(
            learning_rate=_LEARNING_RATE,
            max_iter=self.max_trees,
            max_leaf_nodes=_LEAVES,
            l2_regularization=_L2,
            early_stopping=False,
            random_state=0,
        )
        prior = float(np.log(sizes[0] / sizes[1]))  # taken off instead of weighting sentences: a tenth of the time
        with _one_thread():
            trees.fit(rows, 1 - side)
            stages = zip(*(trees.staged_decision_function(numbers.of(corpus)) for corpus in valid), strict=True)
            losses = [balanced_cross_entropy(*(expit(judged - prior) for judged in stage)) for stage in stages]
        n_trees = int(np.argmin(losses)) + 1
        fitted._fitted = _Boosted(numbers, trees, n_trees, prior)
        fitted.chosen = {"n_trees": n_trees, "n_features": rows.shape[1]}
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,).

        Raises
        ------
        OptionError
            If the discriminator was not fitted.
        """
        if self._fitted is None:
            raise OptionError("a boosted-trees discriminator must be fitted before it judges")
        return self._fitted.prob_real(corpus)


@dataclass(frozen=True)
class _Numbers:
    """What the trees look at."""

    sides: tuple[FittedSides, ...]
    encoder: FittedLatentSemantic

    def of(self, corpus: Corpus) -> FloatArray:
        """Return the numbers of each sentence, shape (N, n_features)."""
        with one_blas_thread():
            vectors = self.encoder.encode(corpus)
        return np.hstack([_ratios(self.sides, corpus), corpus.lengths[:, None], vectors])


@dataclass(frozen=True)
class _Boosted:
    numbers: _Numbers
    trees: HistGradientBoostingClassifier
    n_trees: int
    prior: float  # log-odds of the sizes of the sides

    def prob_real(self, corpus: Corpus) -> FloatArray:
        if len(corpus) == 0:
            return np.empty(0)
        with _one_thread():
            stages = self.trees.staged_decision_function(self.numbers.of(corpus))
            return np.asarray(expit(next(islice(stages, self.n_trees - 1, None)) - self.prior), dtype=np.float64)


def _one_thread() -> threadpoolctl.threadpool_limits:
    """Return a block in which trees are grown by the thread that calls: `parallel_map` has the others."""
    return threadpoolctl.threadpool_limits(1, user_api="openmp")


def _ratios(sides: tuple[FittedSides, ...], corpus: Corpus) -> FloatArray:
    """Return sum, least and greatest of tokens' log ratios for each order, and what both sides' best models say."""
    columns = []
    for models in sides:
        probs = models.token_probs(corpus)
        plain = probs.log_ratios()
        columns += [probs.sums(probs.log_ratios(blur)) for blur in _BLURS]
        columns += [extreme.reduceat(plain, probs.offsets[:-1]) for extreme in (np.minimum, np.maximum)]
    costs = [probs.sums(np.log(side)) for side in (probs.real, probs.generated)]
    lengths = np.diff(probs.offsets)
    return np.stack([*columns, *costs, (costs[0] + costs[1]) / (2 * lengths)], axis=1)


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
        dealt = np.concatenate([fold_numbers(size, n, rng, groups) for size, groups in blocks])
        real, generated = dealt[: len(pair[0])], dealt[len(pair[0]) :]
        if len(np.unique(real)) == len(np.unique(generated)) == n:
            return real, generated
    return None
