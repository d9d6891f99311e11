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

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.discriminator.base import balanced_accuracy
from textassay.discriminator.network import Sentences, WordNetworkDiscriminator, WordRows
from textassay.training import History, Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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

    @property
    def name(self) -> str:
        """``cnn-paper`` or ``cnn-paper-120`` with a recipe of the paper, else ``cnn``."""
        if self.recipe == FIXED:
            return "cnn-paper-120"
        return "cnn-paper" if self.recipe == PAPER else "cnn"

    @property
    def network(self) -> str:
        """The layers."""
        filters = ", ".join(f"{count} filters of {window}" for window, count in FILTERS.items())
        return f"{DIMENSION}-d, {filters}, highway, dropout {DROPOUT}, L2 {L2}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the initial weights."""
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

    def valid_score(self, real_scores: FloatArray, generated_scores: FloatArray) -> float:
        """Return the balanced accuracy, as the paper does."""
        return balanced_accuracy(real_scores, generated_scores)

    def valid_history(self, history: History) -> dict[str, Any]:
        """Return the validation accuracies."""
        return {"valid_accuracies": [epoch.score for epoch in history.epochs]}


def cnn_weights(
    n_words: int,
    *,
    dimension: int = DIMENSION,
    filters: Mapping[int, int] = FILTERS,
    seed: int,
    device: "torch.device | str" = "cpu",
) -> dict[str, "Tensor"]:
    """Return the initial weights of a network."""
    import torch

    n_filters = sum(filters.values())
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> "Tensor":
        return torch.nn.init.trunc_normal_(torch.empty(shape), std=0.1, a=-0.2, b=0.2, generator=rng)

    def glorot(*shape: int) -> "Tensor":
        return torch.nn.init.xavier_uniform_(torch.empty(shape), generator=rng)

    weights = {"words": torch.nn.init.uniform_(torch.empty(n_words, dimension), -1, 1, generator=rng)}
    for window, count in filters.items():
        weights[f"filters {window}"] = normal(count, dimension, window)
        weights[f"filters {window} bias"] = torch.full((count,), 0.1)
    for part in ("highway", "highway gate"):
        weights[part] = glorot(n_filters, n_filters)
        weights[f"{part} bias"] = torch.zeros(n_filters)
    weights["output"] = normal(2, n_filters)
    weights["output bias"] = torch.full((2,), 0.1)
    return {name: weight.to(device).requires_grad_() for name, weight in weights.items()}


def cnn_loss(
    weights: Mapping[str, "Tensor"],
    sentences: Sentences,
    is_real: IntArray,
    rng: "torch.Generator | None",
    *,
    dropout: float = DROPOUT,
) -> "Tensor":
    """Return the mean cross-entropy, in nats per sentence, with the penalty on the output layer; a scalar.

    `is_real`: 1 for real, 0 for generated, shape (N,).
    """
    import torch

    labels = torch.from_numpy(is_real).to(weights["words"].device)
    cross_entropy = torch.nn.functional.cross_entropy(cnn_logits(weights, sentences, rng, dropout=dropout), labels)
    penalty = sum((weights[name] ** 2).sum() / 2 for name in ("output", "output bias"))
    return cross_entropy + L2 * penalty


def cnn_logits(
    weights: Mapping[str, "Tensor"],
    sentences: Sentences,
    rng: "torch.Generator | None" = None,
    *,
    dropout: float = DROPOUT,
) -> "Tensor":
    """Return the logits of generated and real, shape (N, 2); with dropout drawn from `rng`, without it where none."""
    from torch.nn.functional import linear

    y = cnn_features(weights, sentences, rng, dropout=dropout)
    return linear(y, weights["output"], weights["output bias"])  # (n, 2)


def cnn_features(
    weights: Mapping[str, "Tensor"],
    sentences: Sentences,
    rng: "torch.Generator | None" = None,
    *,
    dropout: float = DROPOUT,
) -> "Tensor":
    """Return what the output layer reads of each sentence, at least 0, shape (N, filters); dropout as in the logits."""
    import torch
    from torch.nn.functional import linear

    device = weights["words"].device
    pooled = (
        pooled_by_look_up(weights, sentences) if device.type == "cpu" else pooled_by_convolution(weights, sentences)
    )
    bias = torch.cat([weights[f"filters {window} bias"] for window in _filters(weights)])
    y = torch.relu(pooled + bias)  # (n, filters)
    gate = torch.sigmoid(linear(y, weights["highway gate"], weights["highway gate bias"]))
    y = gate * torch.relu(linear(y, weights["highway"], weights["highway bias"])) + (1 - gate) * y
    if rng is not None:
        y = y * (torch.rand(y.shape, generator=rng, device=device) >= dropout) / (1 - dropout)
    return y  # (n, filters)


def pooled_by_look_up(weights: Mapping[str, "Tensor"], sentences: Sentences) -> "Tensor":
    """Return the largest value of each filter over each sentence, shape (N, filters), by table look-up."""
    import torch

    distinct, local = np.unique(sentences.words, return_inverse=True)
    counts = _filters(weights)
    filters = [weights[f"filters {window}"].permute(1, 2, 0).flatten(1) for window in counts]
    vectors = weights["words"].index_select(0, torch.from_numpy(distinct))
    table = vectors @ torch.cat(filters, dim=1)  # (distinct words, window x filters, for each window)
    pooled: Tensor = _look_up().apply(table, local.astype(np.int32), sentences.offsets, counts)
    return pooled


def pooled_by_convolution(weights: Mapping[str, "Tensor"], sentences: Sentences) -> "Tensor":
    """Return the same as `pooled_by_look_up`, as PyTorch would: faster on a GPU."""
    import torch

    words = torch.from_numpy(sentences.padded()).to(weights["words"].device)
    vectors = torch.nn.functional.embedding(words, weights["words"]).transpose(1, 2)  # (n, dimension, length)
    pooled = [torch.nn.functional.conv1d(vectors, weights[f"filters {window}"]).amax(2) for window in _filters(weights)]
    return torch.cat(pooled, dim=1)


@cache
def _look_up() -> Any:
    """Return the differentiable function from table, words and offsets to the pooled sums, shape (N, filters)."""
    import torch

    class LookUp(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, table: "Tensor", words: npt.NDArray[np.int32], offsets: IntArray, counts: Mapping[int, int]
        ) -> "Tensor":
            pooled = np.empty((len(offsets) - 1, sum(counts.values())), dtype=np.float32)
            where = np.empty(pooled.shape, dtype=np.int32)
            for window, (column, filters) in _layout(counts).items():
                _pool(table.detach().numpy()[:, column:], words, offsets, window, pooled[:, filters], where[:, filters])
            ctx.table_shape, ctx.words, ctx.where, ctx.counts = table.shape, words, where, counts
            return torch.from_numpy(pooled)

        @staticmethod
        def backward(ctx: Any, *gradients: "Tensor") -> tuple["Tensor", None, None, None]:
            table = np.zeros(ctx.table_shape, dtype=np.float32)
            gradient = gradients[0].contiguous().numpy()
            for window, (column, filters) in _layout(ctx.counts).items():
                _spread(gradient[:, filters], ctx.words, ctx.where[:, filters], window, table[:, column:])
            return torch.from_numpy(table), None, None, None

    return LookUp


def _filters(weights: Mapping[str, "Tensor"]) -> dict[int, int]:
    """Return window to number of filters, in the order of the weights."""
    banks = [weight for name, weight in weights.items() if name.startswith("filters ") and weight.ndim == 3]
    return {int(bank.shape[2]): len(bank) for bank in banks}


def _layout(counts: Mapping[int, int]) -> dict[int, tuple[int, slice]]:
    """Return, for each window, its first column in the table and its columns among the filters."""
    layout, column, first = {}, 0, 0
    for window, n_filters in counts.items():
        layout[window] = (column, slice(first, first + n_filters))
        column, first = column + window * n_filters, first + n_filters
    return layout


@njit(cache=True, nogil=True)
def _pool(table, words, offsets, window, pooled, where):  # type: ignore[no-untyped-def]
    """Fill `pooled` with the largest sum over the windows of each sentence, `where` with the start of that window."""
    n_filters = pooled.shape[1]
    total = np.empty(n_filters, dtype=np.float32)
    best = np.empty(n_filters, dtype=np.float32)
    start = np.empty(n_filters, dtype=np.int32)
    for sentence in range(len(offsets) - 1):
        best[:] = -np.inf
        start[:] = offsets[sentence]
        for position in range(offsets[sentence], offsets[sentence + 1] - window + 1):
            row = table[words[position]]
            for column in range(n_filters):
                total[column] = row[column]
            for shift in range(1, window):
                row = table[words[position + shift]][shift * n_filters : (shift + 1) * n_filters]
                for column in range(n_filters):
                    total[column] += row[column]
            here = np.int32(position)
            for column in range(n_filters):
                larger = total[column] > best[column]
                best[column] = total[column] if larger else best[column]
                start[column] = here if larger else start[column]
        pooled[sentence] = best
        where[sentence] = start


@njit(cache=True, nogil=True)
def _spread(gradient, words, where, window, table):  # type: ignore[no-untyped-def]
    """Add each sentence's gradient to the rows of the window that was largest."""
    n_filters = gradient.shape[1]
    for sentence in range(gradient.shape[0]):
        for column in range(n_filters):
            value = gradient[sentence, column]
            if value != 0:
                position = where[sentence, column]
                for shift in range(window):
                    table[words[position + shift], shift * n_filters + column] += value
