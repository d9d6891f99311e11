"""The paper's convolutional discriminator, and the same network trained in a tenth of the epochs.

Word vectors, windows of two and three words with 100 and 200 filters (or other windows: what the weights are of says
which), the largest value of each filter over the sentence, one highway layer, two classes. On a CPU the convolution is
a table look-up: each distinct word of a batch is multiplied with the filters once, and a window is a sum of rows of
that table; the same sums as a convolution's. Of the gradient, only what the largest windows got flows back.

Sources: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4 and 5; Kim,
"Convolutional Neural Networks for Sentence Classification", EMNLP 2014; Srivastava, Greff, Schmidhuber, "Highway
Networks", 2015.
Where the paper says nothing, filters and output begin as normal draws of deviation 0.1, cut at two deviations, the
highway layer as Glorot's uniform draws.
Departs from it: "Converged" is where 20 epochs brought no better validation accuracy (`PAPER`); `FIXED` trains for 120,
as their code. `FAST` is not the paper's: within 12 epochs, at a rate 30 times as high, the running mean of the weights
is scored and kept instead of the weights, so that every epoch is a fit one could end with.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from textassay.discriminator.base import balanced_accuracy
from textassay_lab.judges.network import WordNetworkDiscriminator, WordRows
from textassay_lab.training.history import History
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from textassay_lab.judges.networks import CnnNetwork


FloatArray = npt.NDArray[np.float64]

PAPER = Recipe(max_epochs=120, patience=20, learning_rate=1e-4)
FIXED = Recipe(max_epochs=120, learning_rate=1e-4)  # as in their code: no early stop
FAST = Recipe(max_epochs=12, learning_rate=3e-3, averaging=0.99)
DIMENSION = 512
FILTERS = {2: 100, 3: 200}  # window in words: filters
DROPOUT = 0.5
L2 = 0.2


@dataclass(eq=False, kw_only=True)
class CnnDiscriminator(WordNetworkDiscriminator):
    """The convolutional network; needs the extra ``neural``."""

    stream_name = "cnn"
    recipe: Recipe = field(default=FAST, kw_only=False, metadata={"meaning": "how it is trained"})
    batch_size: int = 512
    dimension: ClassVar[int] = DIMENSION  # of word vectors
    dropout: ClassVar[float] = DROPOUT

    @property
    def name(self) -> str:
        """``cnn-paper`` or ``cnn-paper-120`` with a recipe of the paper, else ``cnn``."""
        if self.recipe == FIXED:
            return "cnn-paper-120"
        return "cnn-paper" if self.recipe == PAPER else "cnn"

    @property
    def network(self) -> str:
        filters = ", ".join(f"{count} filters of {window}" for window, count in FILTERS.items())
        return f"{DIMENSION}-d, {filters}, highway, dropout {DROPOUT}, L2 {L2}"

    def new_network(self, encoder: WordRows) -> "CnnNetwork":
        from textassay_lab.judges.networks import CnnNetwork

        return CnnNetwork(encoder.n_rows, dimension=DIMENSION, filters=FILTERS, dropout=DROPOUT)

    def valid_score(self, real_scores: FloatArray, generated_scores: FloatArray) -> float:
        """Return the balanced accuracy, as the paper does."""
        return balanced_accuracy(real_scores, generated_scores)

    def valid_history(self, history: History) -> dict[str, Any]:
        return {"valid_accuracies": [epoch.score for epoch in history.epochs]}
