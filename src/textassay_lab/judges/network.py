"""What all discriminators that are networks share: sentences as rows of word vectors, batches, the best epoch kept.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5.
Departs from it: every sentence is used, none is cut, batches differ by one sentence rather than being left out. One
epoch is a pass over the real sentences, with as many generated ones; where those are more or fewer, they are drawn
without replacement until all were, then again. Words of too few training sentences share a vector. Each sentence is
padded as if all were `N_PADS` tokens longer than the longest; more padding would only repeat a window that is there
already. One row of padding is its end, a token like any other, so that an empty sentence has one.
"""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK, Vocabulary
from textassay.discriminator.base import BaseDiscriminator, Pair, balanced_cross_entropy, setting
from textassay.seeding import stream
from textassay_lab.training.backend import require_neural, single_threaded, training_device
from textassay_lab.training.history import History
from textassay_lab.training.loop import train
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, "Tensor"]

PAD, RARE = 0, 1  # the first two rows
N_PADS = 3  # as many as the widest window of a network

_SENTENCES_AT_ONCE = 2048  # when scoring


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
class Sentences:
    """Sentences as rows of word vectors, `words` (T,), each followed by its padding; `offsets` (N + 1,)."""

    words: IntArray
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def concatenate(cls, parts: Sequence["Sentences"]) -> "Sentences":
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(np.concatenate([part.words for part in parts]), np.concatenate(([0], np.cumsum(lengths))))

    def take(self, rows: IntArray) -> "Sentences":
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Sentences(self.words[positions], offsets)

    def padded(self) -> IntArray:
        """Return the words as a table, all sentences as long as the longest, shape (N, length)."""
        lengths = np.diff(self.offsets)
        table = np.full((len(self), lengths.max()), PAD)
        table[np.arange(table.shape[1]) < lengths[:, None]] = self.words
        return table


@dataclass(frozen=True)
class WordRows:
    """Which word has which vector."""

    vocabulary: Vocabulary  # Of the training text
    rows: IntArray  # Row of each token id, shape (V,); `RARE` for those without a row of their own
    n_rows: int  # How many rows there are, `PAD` and `RARE` among them

    @classmethod
    def build(cls, train: Pair, min_sentences: int) -> "WordRows":
        """Return the words of `train`, ordered by their hashes: the order of ids depends on what else was read."""
        vocabulary = train[0].vocabulary
        n_sentences = np.zeros(len(vocabulary), dtype=np.int64)
        for corpus in train:
            keys = np.repeat(np.arange(len(corpus)), corpus.lengths) * len(vocabulary) + corpus.tokens
            n_sentences += np.bincount(np.unique(keys) % len(vocabulary), minlength=len(vocabulary))
        n_sentences[UNK] = 0
        kept = np.flatnonzero(n_sentences >= min_sentences)
        kept = kept[np.argsort(vocabulary.hashes[kept])]
        rows = np.full(len(vocabulary), RARE)
        rows[kept] = np.arange(len(kept)) + 2
        return cls(vocabulary, rows, len(kept) + 2)

    def encode(self, corpus: Corpus) -> Sentences:
        """Return `corpus` as rows, padded."""
        if corpus.vocabulary is not self.vocabulary:
            corpus = corpus.with_vocabulary(self.vocabulary)
        offsets = corpus.offsets + N_PADS * np.arange(len(corpus) + 1)
        words = np.full(offsets[-1], PAD)
        positions = np.arange(len(corpus.tokens)) + N_PADS * np.repeat(np.arange(len(corpus)), corpus.lengths)
        words[positions] = self.rows[corpus.tokens]
        return Sentences(words, offsets)


@dataclass(eq=False)
class _Fitted(Generic[Rows]):
    encoder: Encoder[Rows]
    weights: Weights
    network: Any = None  # with these weights; not saved

    def __getstate__(self) -> dict[str, Any]:
        return {"encoder": self.encoder, "weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "network": None}


@dataclass(eq=False, kw_only=True)
class NetworkDiscriminator(BaseDiscriminator, Generic[Rows]):
    """A network that reads sentences; a subclass says which. Needs the extra ``neural``."""

    recipe: Recipe = setting(Recipe(max_epochs=5), "how it is trained")
    batch_size: int = setting(256, "sentences in a batch, of both sides together", least=2)
    min_sentences: int = setting(2, "a word has its own vector if it occurs in so many training sentences", least=1)
    seed: int = setting(0, "random seed: the same seed and text give the same bits on one CPU")

    def __post_init__(self) -> None:
        require_neural(f"the {self.name} discriminator")
        super().__post_init__()

    @property
    @abstractmethod
    def network(self) -> str:
        """The network in words, for signatures."""

    @property
    def stream_name(self) -> str:
        """Name of its random streams."""
        return self.name

    @property
    def features(self) -> str:
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
    def new_network(self, encoder: Any) -> Any:
        """Return the network, a `JudgeNetwork`."""

    def valid_score(self, real_scores: FloatArray, generated_scores: FloatArray) -> float:
        """Return what decides which epoch is kept, higher is better, from the scores of validation sentences."""
        return -balanced_cross_entropy(real_scores, generated_scores)

    def valid_history(self, history: History) -> dict[str, Any]:
        """Return the validation scores of the epochs, for `chosen`."""
        return {"valid_cross_entropies": [-epoch.score for epoch in history.epochs]}

    def pretrain(self, network: Any, sides: tuple[Rows, Rows], seed: int) -> dict[str, Any]:
        """Change the weights before they learn to tell sides apart; return what `chosen` says of it. Here: nothing."""
        return {}

    def learn(self, train: Pair, valid: Pair) -> tuple[_Fitted[Rows], dict[str, Any]]:
        """Return the weights of the epoch that was best on validation text."""
        with single_threaded():
            return self._train(train, valid)

    def prob_real(self, corpus: Corpus) -> FloatArray:
        model: _Fitted[Rows] = self.model
        if model.network is None:
            model.network = self._opened(model)
        with single_threaded():
            return _prob_real(model.network, model.encoder.encode(corpus))

    def _opened(self, model: _Fitted[Rows]) -> Any:
        """Return the network with its weights."""
        from textassay_lab.generator.module import shaped

        network = shaped(partial(self.new_network, model.encoder))
        network.load_state_dict(model.weights, assign=True)
        return network.requires_grad_(False)

    def _train(self, pair: Pair, valid: Pair) -> tuple[_Fitted[Rows], dict[str, Any]]:
        """Return the trained network and what was chosen; what is random depends on the seed and all the text."""
        import torch

        from textassay_lab.generator.module import begun

        content = hashlib.blake2b("".join(corpus.fingerprint for corpus in (*pair, *valid)).encode()).hexdigest()

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self.stream_name, purpose, content).integers(2**63))

        encoder, sides, valid_sides = self.encoded(pair, valid)
        rng = torch.Generator().manual_seed(seed("weights"))
        network = begun(partial(self.new_network, encoder), rng).to(training_device())
        weights = dict(network.named_parameters())
        pretrained = self.pretrain(network, sides, seed("pretraining"))
        concatenate: Callable[..., Rows] = type(sides[0]).concatenate

        def batch_loss(rows: tuple[IntArray, IntArray], rng: "torch.Generator") -> "Tensor":
            sentences = concatenate([side.take(chosen) for side, chosen in zip(sides, rows, strict=True)])
            loss: Tensor = network.loss(sentences, np.repeat([1, 0], [len(chosen) for chosen in rows]), rng)
            return loss

        def score() -> float:
            real, generated = (_prob_real(network, side) for side in valid_sides)
            return self.valid_score(real, generated)

        history = train(
            weights,
            batches=seeded(len(sides[0]), len(sides[1]), self.batch_size, seed("order")),
            loss=batch_loss,
            score=score,
            recipe=self.recipe,
            seed=seed("training"),
        )
        network.requires_grad_(False)
        chosen = {
            **pretrained,
            "epochs": len(history.epochs),
            "best_epoch": history.best.number,
            "converged": history.converged(self.recipe),
            **self.valid_history(history),
            "n_words": encoder.n_rows,
            "n_parameters": sum(weight.numel() for weight in weights.values()),
        }
        return _Fitted(encoder, weights, network), chosen


def _prob_real(network: Any, sentences: Any) -> FloatArray:
    import torch

    scores = []
    with torch.no_grad():
        for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
            block = sentences.take(np.arange(start, min(start + _SENTENCES_AT_ONCE, len(sentences))))
            scores.append(expit(network(block).cpu().double().numpy()))
    return np.concatenate(scores) if scores else np.empty(0)


@dataclass(eq=False, kw_only=True)
class WordNetworkDiscriminator(NetworkDiscriminator[Sentences]):
    """A network that reads words alone."""

    def encoded(
        self, train: Pair, valid: Pair
    ) -> tuple[WordRows, tuple[Sentences, Sentences], tuple[Sentences, Sentences]]:
        """Return the words of the training text, and all sentences as rows of their vectors."""
        words = WordRows.build(train, self.min_sentences)
        real, generated, *valid_sides = (words.encode(corpus) for corpus in (*train, *valid))
        return words, (real, generated), (valid_sides[0], valid_sides[1])


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
