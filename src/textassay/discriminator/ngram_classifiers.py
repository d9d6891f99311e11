"""Classifiers over n-gram counts: naive Bayes, a linear support vector machine, a random forest, trees of XGBoost.

Features are made of token ids, and both classes weigh the same. All are deterministic or on one thread.

Source: Garbacea et al., "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for Online Review
Generation", section on discriminative evaluators (1- to 3-grams). Its n-grams are not further described: here all that
stand in enough training sentences are features, without marks for the ends of sentences.
"""

import importlib.util
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.sparse import csc_matrix, csr_matrix, vstack
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.discriminator.base import BaseDiscriminator, Pair, balanced_weights, is_real_of, setting
from textassay.errors import MissingExtraError
from textassay.execution.threads import one_blas_thread
from textassay.ngram.index import NgramIndex
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weighting = Literal["counts", "presence", "tf-idf"]

_MAX_ITERATIONS = 10_000
_STEEPEST = 1e3  # slope of the sigmoid, in spreads of the decisions

_LARGEST_SEED = 2**31


@dataclass(frozen=True)
class Rows:
    """Sentences as a classifier reads them: features (N, n_features), 1 for real or 0 (N,), weights (N,) of mean 1."""

    features: csr_matrix
    is_real: IntArray
    weights: FloatArray


@dataclass(eq=False, kw_only=True)
class NgramClassifier(BaseDiscriminator):
    """A classifier over the n-grams of a sentence: a subclass learns from `Rows` and scores features."""

    max_order: int = setting(3, "the longest n-grams", least=1)
    min_sentences: int = setting(2, "an n-gram is a feature if it occurs in so many training sentences", least=1)
    weighting: Weighting = setting(
        "counts",
        "``counts``; ``presence``: 1 if a sentence contains the n-gram; ``tf-idf``: 1 + log of the count, times the "
        "inverse document frequency in the training text, rows of length 1",
        choices=Weighting,
    )

    @property
    def features(self) -> str:
        return f"1-{self.max_order}-grams in >={self.min_sentences} sentences, {self.weighting}, {self.settings}"

    @property
    @abstractmethod
    def settings(self) -> str:
        """Every setting of the classifier that can change its answers."""

    @abstractmethod
    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return what is learnt from at least one feature, and what was chosen, JSON-ready."""

    @abstractmethod
    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        """Return the probability of being real of each row, at least one, shape (N,)."""

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Model, Mapping[str, Any]]":
        """Return the n-grams of the training text and what the classifier learnt from them."""
        index = NgramIndex.build(train, max_order=self.max_order, min_sentences=self.min_sentences)
        counts = vstack([index.count_matrix(corpus) for corpus in train], format="csr")
        idf = None
        if self.weighting == "tf-idf" and index.n_features:
            idf = TfidfTransformer(sublinear_tf=True).fit(counts)
        model = _Model(index, train[0].vocabulary, idf, self.weighting, None)
        if not index.n_features:
            return model, {"n_features": 0}
        rows = Rows(model.weighted(counts), is_real_of(train).astype(np.int64), balanced_weights(train))
        valid_features = vstack([model.features(corpus) for corpus in valid], format="csr")
        valid_rows = Rows(valid_features, is_real_of(valid).astype(np.int64), balanced_weights(valid))
        learnt, chosen = self.learn_rows(rows, valid_rows)
        return replace(model, learnt=learnt), {"n_features": index.n_features, **chosen}

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,); 1/2 where no n-gram was a feature."""
        model: _Model = self.model
        if model.learnt is None or len(corpus) == 0:
            return np.full(len(corpus), 0.5)
        return self.score_rows(model.learnt, model.features(corpus))


@dataclass(frozen=True)
class _Model:
    """From sentences to features, and from these to probabilities."""

    index: NgramIndex
    vocabulary: Vocabulary
    idf: TfidfTransformer | None
    weighting: Weighting
    learnt: Any  # None where there was no feature

    def features(self, corpus: Corpus) -> csr_matrix:
        known = corpus if corpus.vocabulary is self.vocabulary else corpus.with_vocabulary(self.vocabulary)
        return self.weighted(self.index.count_matrix(known))

    def weighted(self, counts: csr_matrix) -> csr_matrix:
        if self.weighting == "presence":
            return csr_matrix((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        return counts if self.idf is None else csr_matrix(self.idf.transform(counts))


@dataclass(eq=False, kw_only=True)
class NaiveBayesDiscriminator(NgramClassifier):
    """Multinomial naive Bayes.

    Both classes are equally likely before a sentence is read, and their counts are scaled to weigh the same, whatever
    the sizes: else the n-grams of the larger one would speak for it. With n-grams that overlap, probabilities are far
    too sure; the side it takes is what counts.

    Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification", AAAI workshop 1998
    (by scikit-learn).
    """

    name = "naive-bayes"
    min_sentences: int = 1
    alpha: float = setting(1.0, "smoothing constant added to every count", above=0)

    @property
    def settings(self) -> str:
        return f"multinomial, alpha={self.alpha:g}, equal priors"

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return what each n-gram adds to the log-odds of being real."""
        model = MultinomialNB(alpha=self.alpha, fit_prior=False)
        model.fit(train.features, train.is_real, sample_weight=train.weights)
        return model.feature_log_prob_[1] - model.feature_log_prob_[0], {}

    def score_rows(self, learnt: Any, features: csr_matrix) -> npt.NDArray[np.float64]:
        return np.asarray(expit(features @ learnt), dtype=np.float64)


@dataclass(eq=False, kw_only=True)
class SvmDiscriminator(NgramClassifier):
    """Linear support vector machine.

    Its own decision, on which side of the plane a sentence lies, is kept: probabilities come from the decision by a
    sigmoid through 1/2 at 0, whose slope alone is fitted on validation text and changes no answer.

    Sources: Cortes and Vapnik, "Support-vector networks", Machine Learning 20, 1995; Fan et al., "LIBLINEAR: A library
    for large linear classification", JMLR 9, 2008 (by scikit-learn); Platt, "Probabilistic outputs for support vector
    machines", 1999 (sigmoid and targets).
    Departs from them: the squared hinge, solved in the primal, where nothing is drawn at random (the dual solver's
    random stream is one for all threads); the sigmoid has no intercept.
    """

    name = "svm"
    weighting: Weighting = "tf-idf"
    c: float = setting(1.0, "inverse strength of regularisation", above=0)

    @property
    def settings(self) -> str:
        return f"squared hinge, C={self.c:g}"

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        with one_blas_thread():
            svm = LinearSVC(C=self.c, dual=False, max_iter=_MAX_ITERATIONS)
            svm.fit(train.features, train.is_real, sample_weight=train.weights)
            decisions = svm.decision_function(valid.features)
        slope = _slope(decisions, valid)
        return (svm.coef_[0], float(svm.intercept_[0]), slope), {"slope": slope}

    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        plane, intercept, slope = learnt
        return np.asarray(expit(slope * (features @ plane + intercept)), dtype=np.float64)


def _slope(decisions: FloatArray, valid: Rows) -> float:
    """Return the slope, above 0, with the least cross-entropy on validation text against Platt's targets."""
    counts = np.bincount(valid.is_real, minlength=2)
    targets = np.where(valid.is_real == 1, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
    spread = float(np.sqrt(np.mean(decisions**2)))
    if spread == 0:
        return 1.0

    def loss(log_slope: float) -> float:
        odds = np.exp(log_slope) * decisions
        return float(np.average(np.logaddexp(0, odds) - targets * odds, weights=valid.weights))

    limit = math.log(_STEEPEST)
    middle = -math.log(spread)
    return math.exp(minimize_scalar(loss, bounds=(middle - limit, middle + limit), method="bounded").x)


@dataclass(eq=False, kw_only=True)
class RandomForestDiscriminator(NgramClassifier):
    """Random forest.

    Every tree is grown from as many real as generated sentences, drawn with replacement: as many as the smaller side
    has. With weights instead, trees that are grown out would take nearly every sentence for one of the larger side. The
    probability is the mean over trees of the share of real sentences in the leaf.

    Sources: Breiman, "Random Forests", Machine Learning 45, 2001 (trees by scikit-learn); Chen, Liaw, Breiman, "Using
    random forest to learn imbalanced data", report 666, University of California at Berkeley, 2004 (balanced draws).
    """

    name = "random-forest"
    n_trees: int = setting(200, "trees", least=1)
    min_leaf: int = setting(1, "minimum number of training sentences in a leaf", least=1)
    seed: int = setting(0, "random seed")

    @property
    def settings(self) -> str:
        return (
            f"{self.n_trees} trees of balanced draws, >={self.min_leaf} a leaf, "
            f"square root of the n-grams a split, seed {self.seed}"
        )

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        features = csc_matrix(train.features, dtype=np.float32)
        sides = [np.flatnonzero(train.is_real == side) for side in (0, 1)]
        n_drawn = min(map(len, sides))
        trees = []
        for number in range(self.n_trees):
            rng = stream(self.seed, self.name, number)
            drawn = np.concatenate([rng.choice(side, n_drawn) for side in sides])
            times = np.bincount(drawn, minlength=len(train.is_real)).astype(np.float64)
            tree = DecisionTreeClassifier(
                max_features="sqrt", min_samples_leaf=self.min_leaf, random_state=int(rng.integers(_LARGEST_SEED))
            )
            trees.append(tree.fit(features, train.is_real, sample_weight=times, check_input=False))
        return trees, {}

    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        rows = csr_matrix(features, dtype=np.float32)
        total = np.zeros(rows.shape[0])
        for tree in learnt:
            total += tree.predict_proba(rows, check_input=False)[:, 1]
        return total / len(learnt)


@dataclass(eq=False, kw_only=True)
class XgboostDiscriminator(NgramClassifier):
    """Gradient-boosted trees on single counts, stopped early by validation text; needs the extra ``boosting``.

    `boosted_trees` is another one: scikit-learn's histogram trees over some twenty numbers of a sentence (likelihood
    ratios, length), which need no further library and find more in most text. This one is the paper's evaluator.

    Source: Chen and Guestrin, "XGBoost: A Scalable Tree Boosting System", KDD 2016.
    """

    name = "xgboost"
    learning_rate: float = setting(0.1, "factor by which each tree is multiplied", above=0, most=1)
    max_depth: int = setting(6, "maximum depth of a tree", least=1)
    max_trees: int = setting(500, "trees, at most", least=1)
    patience: int = setting(30, "number of trees without a gain on validation text after which training stops", least=1)
    columns: float = setting(0.5, "share of the n-grams that a tree may use", above=0, most=1)
    seed: int = setting(0, "random seed")

    def __post_init__(self) -> None:
        if importlib.util.find_spec("xgboost") is None:
            raise MissingExtraError("the xgboost discriminator", "boosting")
        super().__post_init__()

    @property
    def settings(self) -> str:
        return (
            f"<={self.max_trees} trees of depth {self.max_depth}, rate {self.learning_rate:g}, "
            f"{self.columns:g} of the n-grams a tree, patience {self.patience}, seed {self.seed}"
        )

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        import xgboost

        tables = [
            xgboost.DMatrix(rows.features, label=rows.is_real, weight=rows.weights, nthread=1)
            for rows in (train, valid)
        ]
        history: dict[str, Any] = {}
        trees = xgboost.train(
            {
                "objective": "binary:logistic",
                "eval_metric": "logloss",
                "base_score": 0.5,
                "tree_method": "hist",
                "eta": self.learning_rate,
                "max_depth": self.max_depth,
                "colsample_bytree": self.columns,
                "nthread": 1,
                "seed": int(stream(self.seed, self.name).integers(2**31)),
            },
            tables[0],
            num_boost_round=self.max_trees,
            evals=[(tables[1], "valid")],
            early_stopping_rounds=self.patience,
            evals_result=history,
            verbose_eval=False,
        )
        losses = history["valid"]["logloss"]
        n_trees = trees.best_iteration + 1
        return trees[:n_trees], {
            "n_trees": n_trees,
            "n_grown": len(losses),
            "valid_cross_entropy": min(losses),
        }

    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        import xgboost

        return np.asarray(learnt.predict(xgboost.DMatrix(features, nthread=1)), dtype=np.float64)
