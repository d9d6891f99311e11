"""A random forest over n-grams.

Every tree is grown from as many real as generated sentences, drawn with replacement: as many as the smaller side has.
With weights instead, trees that are grown out would take nearly every sentence for one of the larger side. The
probability is the mean over trees of the share of real sentences in the leaf.

Sources: Breiman, "Random Forests", Machine Learning 45, 2001 (trees by scikit-learn); Chen, Liaw, Breiman, "Using
random forest to learn imbalanced data", report 666, University of California at Berkeley, 2004 (balanced draws).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.tree import DecisionTreeClassifier

from textassay.discriminator.base import setting
from textassay.discriminator.ngram_classifier import NgramClassifier, Rows
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]

_LARGEST_SEED = 2**31


@dataclass(eq=False, kw_only=True)
class RandomForestDiscriminator(NgramClassifier):
    """Random forest; on one thread."""

    name = "random-forest"
    n_trees: int = setting(200, "trees", least=1)
    min_leaf: int = setting(1, "training sentences that a leaf holds at least", least=1)
    seed: int = setting(0, "decides all that is random")

    @property
    def settings(self) -> str:
        """How trees are grown."""
        return (
            f"{self.n_trees} trees of balanced draws, >={self.min_leaf} a leaf, "
            f"square root of the n-grams a split, seed {self.seed}"
        )

    def learn_rows(self, train: Rows, valid: Rows) -> tuple[Any, dict[str, Any]]:
        """Return the trees."""
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
        """Return the mean over trees."""
        rows = csr_matrix(features, dtype=np.float32)
        total = np.zeros(rows.shape[0])
        for tree in learnt:
            total += tree.predict_proba(rows, check_input=False)[:, 1]
        return total / len(learnt)
