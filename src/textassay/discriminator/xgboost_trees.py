"""XGBoost over n-grams: gradient-boosted trees on single counts, stopped early by validation text.

`boosted_trees` is another one: scikit-learn's histogram trees over some twenty numbers of a sentence (likelihood
ratios, length), which need no further library and find more in most text. This one is the paper's evaluator.

Sources: Garbacea et al., "Judge the Judges" (the evaluator); Chen and Guestrin, "XGBoost: A Scalable Tree Boosting
System", KDD 2016.
"""

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.discriminator.base import setting
from textassay.discriminator.ngram_classifier import NgramClassifier, Rows
from textassay.errors import MissingExtraError
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]


@dataclass(eq=False, kw_only=True)
class XgboostDiscriminator(NgramClassifier):
    """Gradient-boosted trees over n-gram counts; on one thread; needs the extra ``boosting``."""

    name = "xgboost"
    learning_rate: float = setting(0.1, "what each tree is multiplied by", above=0, most=1)
    max_depth: int = setting(6, "the depth of a tree, at most", least=1)
    max_trees: int = setting(500, "trees, at most", least=1)
    patience: int = setting(30, "trees without a gain on validation text after which no more are grown", least=1)
    columns: float = setting(0.5, "the share of the n-grams that a tree may use", above=0, most=1)
    seed: int = setting(0, "decides all that is random")

    def __post_init__(self) -> None:
        if importlib.util.find_spec("xgboost") is None:
            raise MissingExtraError("the xgboost discriminator", "boosting")
        super().__post_init__()

    @property
    def settings(self) -> str:
        """How trees are grown, and when no more."""
        return (
            f"<={self.max_trees} trees of depth {self.max_depth}, rate {self.learning_rate:g}, "
            f"{self.columns:g} of the n-grams a tree, patience {self.patience}, seed {self.seed}"
        )

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
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

    def score_rows(self, learnt: Any, features: csr_matrix) -> FloatArray:
        """Return the sigmoid of the sum over trees."""
        import xgboost

        return np.asarray(learnt.predict(xgboost.DMatrix(features, nthread=1)), dtype=np.float64)
