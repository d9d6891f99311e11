"""The paper's convolutional discriminator, and the same network trained in a tenth of the epochs.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4 and 5 (the
network is in `cnn_network`, how it is fed and judged in `network`).
Departs from it: "Converged" is where 20 epochs brought no better validation accuracy. `FAST` is not the paper's: within
12 epochs, at a rate 30 times as high, the running mean of the weights is judged and kept instead of the weights, so
that every epoch is a fit one could end with.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.discriminator.base import balanced_accuracy
from textassay.discriminator.cnn_network import DIMENSION, DROPOUT, FILTERS, L2, cnn_logits, cnn_loss, cnn_weights
from textassay.discriminator.network import WordNetworkDiscriminator
from textassay.discriminator.word_rows import Sentences, WordRows
from textassay.training import History, Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

PAPER = Recipe(max_epochs=120, patience=20, learning_rate=1e-4)
FAST = Recipe(max_epochs=12, learning_rate=3e-3, averaging=0.99)


class CnnDiscriminator(WordNetworkDiscriminator):
    """The convolutional network; needs the extra ``neural``."""

    name_of_kind = "cnn"

    def __init__(self, recipe: Recipe = FAST, *, batch_size: int = 512, min_sentences: int = 2, seed: int = 0) -> None:
        super().__init__(recipe, batch_size=batch_size, min_sentences=min_sentences, seed=seed)

    @property
    def name(self) -> str:
        """``cnn-paper`` with the paper's recipe, else ``cnn``."""
        return "cnn-paper" if self.recipe == PAPER else "cnn"

    @property
    def network(self) -> str:
        """The layers."""
        filters = ", ".join(f"{count} filters of {window}" for window, count in FILTERS.items())
        return f"{DIMENSION}-d, {filters}, highway, dropout {DROPOUT}, L2 {L2}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin."""
        return cnn_weights(encoder.n_rows, seed=rng.initial_seed())

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        logits = cnn_logits(weights, sentences, rng).cpu().double()
        return logits[:, 1] - logits[:, 0]

    def loss(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, is_real: IntArray, rng: "torch.Generator"
    ) -> "Tensor":
        """Return the mean cross-entropy with the penalty on the output layer."""
        return cnn_loss(weights, sentences, is_real, rng)

    def score(self, real_scores: FloatArray, generated_scores: FloatArray) -> float:
        """Return the balanced accuracy, as the paper does."""
        return balanced_accuracy(real_scores, generated_scores)

    def said(self, history: History) -> dict[str, Any]:
        """Return the validation accuracies."""
        return {"valid_accuracies": [epoch.score for epoch in history.epochs]}
