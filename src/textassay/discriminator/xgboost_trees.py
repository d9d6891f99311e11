"""XGBoost over n-grams: gradient-boosted trees on single counts, stopped early by validation text.

`boosted_trees` is another judge: scikit-learn's histogram trees over some twenty numbers of a sentence (likelihood
ratios, length), which need no further library and find more in most text. This one is the paper's evaluator.

Sources: Garbacea et al., "Judge the Judges" (the evaluator); Chen and Guestrin, "XGBoost: A Scalable Tree Boosting
System", KDD 2016.
"""

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.discriminator.ngram_classifier import MAX_ORDER, NgramClassifier, Rows, Weighting, check_least
from textassay.errors import MissingExtraError, OptionError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]


class XgboostDiscriminator(NgramClassifier):
    """Gradient-boosted trees over n-gram counts; on one thread; needs the extra ``boosting``."""

    name = "xgboost"

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        max_trees: int = 500,
        patience: int = 30,
        columns: float = 0.5,
        max_order: int = MAX_ORDER,
        min_sentences: int = 2,
        weighting: Weighting = "counts",
        seed: int = 0,
    ) -> None:
        if importlib.util.find_spec("xgboost") is None:
            raise MissingExtraError("the xgboost discriminator", "boosting")
        check_least(max_depth=(max_depth, 1), max_trees=(max_trees, 1), patience=(patience, 1))
        for setting, value in (("learning_rate", learning_rate), ("columns", columns)):
            if not 0 < value <= 1:
                raise OptionError(f"{setting} must be above 0 and at most 1, got {value}")
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_trees = max_trees
        self.patience = patience
        self.columns = columns
        self.seed = seed
        super().__init__(max_order=max_order, min_sentences=min_sentences, weighting=weighting)

    @property
    def settings(self) -> str:
        """How trees are grown, and when no more."""
        return (
            f"<={self.max_trees} trees of depth {self.max_depth}, rate {self.learning_rate:g}, "
            f"{self.columns:g} of the n-grams a tree, patience {self.patience}, seed {self.seed}"
        )

    def learn(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return the trees up to the best on validation text."""
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

    def judge(self, model: Any, features: csr_matrix) -> FloatArray:
        """Return the sigmoid of the sum over trees."""
        import xgboost

        return np.asarray(model.predict(xgboost.DMatrix(features, nthread=1)), dtype=np.float64)
