"""The paper's convolutional discriminator, and the same network trained in a tenth of the epochs.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4 and 5 (the
network is in `cnn_network`).
Departs from it: every sentence is used, none is cut, batches differ by one sentence rather than being left out. One
epoch is a pass over the real sentences, with as many generated ones; where those are more or fewer, they are drawn
without replacement until all were, then again. "Converged" is where 20 epochs brought no better validation accuracy.
`FAST` is not the paper's: within 12 epochs, at a rate 30 times as high, the running mean of the weights is judged and
kept instead of the weights, so that every epoch is a fit one could end with.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_accuracy
from textassay.discriminator.cnn_network import DIMENSION, DROPOUT, FILTERS, L2, cnn_logits, cnn_loss, cnn_weights
from textassay.discriminator.word_rows import Sentences, WordRows
from textassay.errors import OptionError
from textassay.seeding import stream
from textassay.training.backend import require_neural, single_threaded, training_device
from textassay.training.loop import Recipe, train

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["FAST", "PAPER", "CnnDiscriminator"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

PAPER = Recipe(max_epochs=120, patience=20, learning_rate=1e-4)
FAST = Recipe(max_epochs=12, learning_rate=3e-3, averaging=0.99)

_SENTENCES_AT_ONCE = 2048  # when judging


class CnnDiscriminator:
    """The convolutional network; needs the extra ``neural``.

    Parameters
    ----------
    recipe
        How to train: `FAST`, or `PAPER` (the paper's), or another.
    batch_size
        Sentences in a batch, half of them real, at least 2.
    min_sentences
        Words in fewer training sentences, real and generated together, at least 1, share one vector, with those that
        were never seen.
    seed
        With the training text, decides everything random: the same bits on one CPU.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    OptionError
        If a number is out of range.
    """

    def __init__(self, recipe: Recipe = FAST, *, batch_size: int = 512, min_sentences: int = 2, seed: int = 0) -> None:
        require_neural("the cnn discriminator")
        for setting, value, least in (("batch_size", batch_size, 2), ("min_sentences", min_sentences, 1)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.recipe = recipe
        self.batch_size = batch_size
        self.min_sentences = min_sentences
        self.seed = seed
        self.chosen: Mapping[str, Any] = {}
        self._network: _Network | None = None

    @property
    def name(self) -> str:
        """``cnn-paper`` with the paper's recipe, else ``cnn``."""
        return "cnn-paper" if self.recipe == PAPER else "cnn"

    @property
    def features(self) -> str:
        """The network and how it is trained."""
        recipe = self.recipe
        filters = ", ".join(f"{count} filters of {window}" for window, count in FILTERS.items())
        patience = "" if recipe.patience is None else f" or {recipe.patience} without gain"
        return (
            f"words in >={self.min_sentences} sentences, {DIMENSION}-d, {filters}, highway, "
            f"dropout {DROPOUT}, L2 {L2}, Adam {recipe.learning_rate:g} {recipe.schedule}, "
            f"averaging {recipe.averaging:g}, batch {self.batch_size}, {recipe.max_epochs} epochs{patience}, "
            f"seed {self.seed}"
        )

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return a fitted copy, with the weights of the epoch of the best validation accuracy."""
        fitted = type(self)(self.recipe, batch_size=self.batch_size, min_sentences=self.min_sentences, seed=self.seed)
        with single_threaded():
            fitted.chosen, fitted._network = _fit(self, train, valid)
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,).

        Raises
        ------
        OptionError
            If the discriminator was not fitted.
        """
        if self._network is None:
            raise OptionError("a cnn discriminator must be fitted before it judges")
        with single_threaded():
            return self._network.prob_real(self._network.words.encode(corpus))


@dataclass(frozen=True)
class _Network:
    words: WordRows
    weights: Mapping[str, "Tensor"]

    def prob_real(self, sentences: Sentences) -> FloatArray:
        import torch

        scores = []
        with torch.no_grad():
            for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
                block = sentences.take(np.arange(start, min(start + _SENTENCES_AT_ONCE, len(sentences))))
                logits = cnn_logits(self.weights, block).cpu().double().numpy()
                scores.append(expit(logits[:, 1] - logits[:, 0]))
        return np.concatenate(scores) if scores else np.empty(0)


def _fit(settings: CnnDiscriminator, pair: Pair, valid: Pair) -> tuple[dict[str, Any], _Network]:
    """Return what was chosen and the trained network; what is random depends on the seed and all the text."""
    content = hashlib.blake2b("".join(corpus.fingerprint for corpus in (*pair, *valid)).encode()).hexdigest()

    def seed(purpose: str) -> int:
        return int(stream(settings.seed, "cnn", purpose, content).integers(2**63))

    words = WordRows.build(pair, settings.min_sentences)
    weights = cnn_weights(words.n_rows, seed=seed("weights"), device=training_device())
    network = _Network(words, weights)
    sides, valid_sides = ([words.encode(corpus) for corpus in part] for part in (pair, valid))
    n_real = len(pair[0])
    order_seed = seed("order")

    def batches(epoch: int) -> list[tuple[IntArray, IntArray]]:
        orders = [
            _shuffled(len(corpus), epoch * n_real, n_real, order_seed, side)
            for side, corpus in zip(("real", "generated"), pair, strict=True)
        ]
        n_batches = math.ceil(2 * n_real / settings.batch_size)
        real, generated = (np.array_split(order, n_batches) for order in orders)
        return list(zip(real, generated, strict=True))

    def loss(rows: tuple[IntArray, IntArray], rng: "torch.Generator") -> "Tensor":
        sentences = Sentences.concatenate([side.take(chosen) for side, chosen in zip(sides, rows, strict=True)])
        return cnn_loss(weights, sentences, np.repeat([1, 0], [len(chosen) for chosen in rows]), rng)

    def score() -> float:
        real, generated = (network.prob_real(side) for side in valid_sides)
        return balanced_accuracy(real, generated)

    recipe = settings.recipe
    history = train(weights, batches=batches, loss=loss, score=score, recipe=recipe, seed=seed("training"))
    for weight in weights.values():
        weight.requires_grad_(False)
    return {
        "epochs": len(history.epochs),
        "best_epoch": history.best.number,
        "converged": history.converged(recipe),
        "valid_accuracies": [epoch.score for epoch in history.epochs],
        "n_words": words.n_rows,
        "n_parameters": sum(weight.numel() for weight in weights.values()),
    }, network


def _shuffled(n: int, first: int, count: int, seed: int, side: str) -> IntArray:
    """Return places `first` to `first + count` of an endless row of passes over 0 to n - 1, each in its own order."""
    passes = range(first // n, (first + count - 1) // n + 1)
    row = np.concatenate([stream(seed, side, number).permutation(n) for number in passes])
    return row[first - passes[0] * n :][:count]
