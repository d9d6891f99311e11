"""What all discriminators that are networks share: batches, validation, the best epoch kept, judging.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5.
Departs from it: every sentence is used, none is cut, batches differ by one sentence rather than being left out. One
epoch is a pass over the real sentences, with as many generated ones; where those are more or fewer, they are drawn
without replacement until all were, then again.
"""

import copy
import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus import Corpus
from textassay.discriminator.base import Pair, balanced_cross_entropy
from textassay.discriminator.word_rows import Sentences, WordRows
from textassay.errors import OptionError
from textassay.seeding import stream
from textassay.training import History, Recipe, require_neural, single_threaded, train, training_device

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, "Tensor"]

_SENTENCES_AT_ONCE = 2048  # when judging


class Encoded(Protocol):
    """Sentences as a network reads them."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def take(self, rows: IntArray) -> Self:
        """Return the sentences numbered `rows`, in that order."""
        ...

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Return the sentences of all `parts`, at least one, in order."""
        ...


Rows = TypeVar("Rows", bound=Encoded)
RowsRead = TypeVar("RowsRead", bound=Encoded, covariant=True)


class Encoder(Protocol[RowsRead]):
    """Turns text into what a network reads; learnt from training text."""

    @property
    def n_rows(self) -> int:
        """How many word vectors there are."""
        ...

    def encode(self, corpus: Corpus) -> RowsRead:
        """Return sentences that it did not learn from."""
        ...


@dataclass(frozen=True)
class _Fitted(Generic[Rows]):
    encoder: Encoder[Rows]
    weights: Weights


class NetworkDiscriminator(ABC, Generic[Rows]):
    """A network that judges sentences; a subclass says which. Needs the extra ``neural``.

    `seed`: with the training text, decides everything random: the same bits on one CPU.
    """

    def __init__(self, recipe: Recipe, *, batch_size: int, min_sentences: int, seed: int) -> None:
        require_neural(f"the {self.name_of_kind} discriminator")
        for setting, value, least in (("batch_size", batch_size, 2), ("min_sentences", min_sentences, 1)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.recipe = recipe
        self.batch_size = batch_size
        self.min_sentences = min_sentences
        self.seed = seed
        self.chosen: Mapping[str, Any] = {}
        self._fitted: _Fitted[Rows] | None = None

    @property
    @abstractmethod
    def name_of_kind(self) -> str:
        """Name of the kind of network, for messages and random streams."""

    @property
    @abstractmethod
    def network(self) -> str:
        """The network in words, for signatures."""

    @property
    def name(self) -> str:
        """Short name for signatures."""
        return self.name_of_kind

    @property
    def features(self) -> str:
        """The network and how it is trained."""
        recipe = self.recipe
        patience = "" if recipe.patience is None else f" or {recipe.patience} without gain"
        return (
            f"words in >={self.min_sentences} sentences, {self.network}, "
            f"Adam {recipe.learning_rate:g} {recipe.schedule}, "
            f"averaging {recipe.averaging:g}, batch {self.batch_size}, {recipe.max_epochs} epochs{patience}, "
            f"seed {self.seed}"
        )

    @abstractmethod
    def encoded(self, train: Pair, valid: Pair) -> tuple[Encoder[Rows], tuple[Rows, Rows], tuple[Rows, Rows]]:
        """Return an encoder, and real and generated sentences of training and of validation text as they are read.

        What a validation sentence shows must be what a new sentence would show.
        """

    @abstractmethod
    def new_weights(self, encoder: Any, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin."""

    @abstractmethod
    def log_odds(self, weights: Weights, sentences: Rows, rng: "torch.Generator | None") -> "Tensor":
        """Return the log-odds of being real, shape (N,); with dropout drawn from `rng`, without it where none."""

    def loss(self, weights: Weights, sentences: Rows, is_real: IntArray, rng: "torch.Generator") -> "Tensor":
        """Return the mean cross-entropy in nats per sentence, a scalar; `is_real` is 1 for real, 0 for generated."""
        import torch

        odds = self.log_odds(weights, sentences, rng)
        labels = torch.from_numpy(is_real).to(odds)
        return torch.nn.functional.binary_cross_entropy_with_logits(odds, labels)

    def score(self, real_scores: FloatArray, generated_scores: FloatArray) -> float:
        """Return what decides which epoch is kept, higher is better, from the scores of validation sentences."""
        return -balanced_cross_entropy(real_scores, generated_scores)

    def pretrain(self, weights: Weights, sides: tuple[Rows, Rows], seed: int) -> dict[str, Any]:
        """Change `weights` before they learn to judge, and return what is to be said of it; by default, nothing."""
        return {}

    def said(self, history: History) -> dict[str, Any]:
        """Return what is said of the validation scores of the epochs."""
        return {"valid_cross_entropies": [-epoch.score for epoch in history.epochs]}

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return a fitted copy, with the weights of the epoch that was best on validation text."""
        fitted = copy.copy(self)
        with single_threaded():
            fitted.chosen, fitted._fitted = _fit(self, train, valid)
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self._fitted is None:
            raise OptionError(f"a {self.name_of_kind} discriminator must be fitted before it scores texts")
        with single_threaded():
            return self._judged(self._fitted.weights, self._fitted.encoder.encode(corpus))

    def _judged(self, weights: Weights, sentences: Rows) -> FloatArray:
        import torch

        scores = []
        with torch.no_grad():
            for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
                block = sentences.take(np.arange(start, min(start + _SENTENCES_AT_ONCE, len(sentences))))
                scores.append(expit(self.log_odds(weights, block, None).cpu().double().numpy()))
        return np.concatenate(scores) if scores else np.empty(0)


class WordNetworkDiscriminator(NetworkDiscriminator[Sentences]):
    """A network that reads words alone."""

    def encoded(
        self, train: Pair, valid: Pair
    ) -> tuple[WordRows, tuple[Sentences, Sentences], tuple[Sentences, Sentences]]:
        """Return the words of the training text, and all sentences as rows of their vectors."""
        words = WordRows.build(train, self.min_sentences)
        real, generated, *valid_sides = (words.encode(corpus) for corpus in (*train, *valid))
        return words, (real, generated), (valid_sides[0], valid_sides[1])


def _fit(settings: NetworkDiscriminator[Rows], pair: Pair, valid: Pair) -> tuple[dict[str, Any], _Fitted[Rows]]:
    """Return what was chosen and the trained network; what is random depends on the seed and all the text."""
    import torch

    content = hashlib.blake2b("".join(corpus.fingerprint for corpus in (*pair, *valid)).encode()).hexdigest()

    def seed(purpose: str) -> int:
        return int(stream(settings.seed, settings.name_of_kind, purpose, content).integers(2**63))

    encoder, sides, valid_sides = settings.encoded(pair, valid)
    began = settings.new_weights(encoder, torch.Generator().manual_seed(seed("weights")))
    device = training_device()
    weights = {name: weight.to(device).requires_grad_() for name, weight in began.items()}
    before = settings.pretrain(weights, sides, seed("pretraining"))
    kind: Callable[..., Rows] = type(sides[0]).concatenate

    def batch_loss(rows: tuple[IntArray, IntArray], rng: "torch.Generator") -> "Tensor":
        sentences = kind([side.take(chosen) for side, chosen in zip(sides, rows, strict=True)])
        return settings.loss(weights, sentences, np.repeat([1, 0], [len(chosen) for chosen in rows]), rng)

    def score() -> float:
        real, generated = (settings._judged(weights, side) for side in valid_sides)
        return settings.score(real, generated)

    history = train(
        weights,
        batches=seeded(len(sides[0]), len(sides[1]), settings.batch_size, seed("order")),
        loss=batch_loss,
        score=score,
        recipe=settings.recipe,
        seed=seed("training"),
    )
    for weight in weights.values():
        weight.requires_grad_(False)
    chosen = {
        **before,
        "epochs": len(history.epochs),
        "best_epoch": history.best.number,
        "converged": history.converged(settings.recipe),
        **settings.said(history),
        "n_words": encoder.n_rows,
        "n_parameters": sum(weight.numel() for weight in weights.values()),
    }
    return chosen, _Fitted(encoder, weights)


def seeded(
    n_real: int, n_generated: int, batch_size: int, seed: int
) -> Callable[[int], list[tuple[IntArray, IntArray]]]:
    """Return the function from the number of an epoch to its batches: sentence numbers, real and generated."""

    def batches(epoch: int) -> list[tuple[IntArray, IntArray]]:
        orders = [
            _shuffled(n, epoch * n_real, n_real, seed, side)
            for side, n in (("real", n_real), ("generated", n_generated))
        ]
        n_batches = math.ceil(2 * n_real / batch_size)
        real, generated = (np.array_split(order, n_batches) for order in orders)
        return list(zip(real, generated, strict=True))

    return batches


def _shuffled(n: int, first: int, count: int, seed: int, side: str) -> IntArray:
    """Return places `first` to `first + count` of an endless row of passes over 0 to n - 1, each in its own order."""
    passes = range(first // n, (first + count - 1) // n + 1)
    row = np.concatenate([stream(seed, side, number).permutation(n) for number in passes])
    return row[first - passes[0] * n :][:count]
