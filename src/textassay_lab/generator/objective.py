"""What a network is trained on: batches of sentences of similar length, as padded tables, and their loss."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.seeding import stream
from textassay_lab.generator.module import SentenceNetwork

IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_SORTED_BATCHES = 16  # sentences are sorted by length within this many batches, so that there is little padding


def padded(
    tokens: TokenArray, offsets: IntArray, rows: IntArray, first: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return inputs (begun by ``<sos>``) and targets (ended by ``<eos>``), padded.

    `tokens`, `offsets`: sentences, shapes (T,) and (N + 1,); `rows`: which of them, shape (B,); `first`: input in place
    of ``<sos>`` of each of the N sentences, shape (N,), for conditional networks.

    Each of shape (B, L + 1), where L is the length of the longest of these sentences.
    """
    lengths = np.diff(offsets)[rows]
    length = int(lengths.max(initial=0))
    inputs = np.full((len(rows), length + 1), PAD, dtype=np.int64)
    inside = np.arange(length) < lengths[:, None]
    positions = np.arange(lengths.sum()) + np.repeat(offsets[rows] - np.cumsum(lengths) + lengths, lengths)
    inputs[:, 1:][inside] = tokens[positions]
    targets = np.roll(inputs, -1, axis=1)
    targets[np.arange(len(rows)), lengths] = EOS
    inputs[:, 0] = SOS if first is None else first[rows]
    return inputs, targets


def epoch_batches(lengths: IntArray, batch_size: int, seed: int, epoch: int) -> list[IntArray]:
    """Return the sentences of each batch, shuffled anew in each epoch; similar lengths share a batch."""
    n_batches = math.ceil(len(lengths) / batch_size)
    rng = stream(seed, str(epoch))
    order = rng.permutation(len(lengths))
    parts = np.array_split(order, math.ceil(n_batches / _SORTED_BATCHES))
    ordered = np.concatenate([part[np.argsort(lengths[part], kind="stable")] for part in parts])
    chosen = np.array_split(ordered, n_batches)
    return [chosen[number] for number in rng.permutation(n_batches)]


@dataclass(frozen=True)
class TrainingObjective:
    """The arguments of `textassay_lab.training.loop.train` that depend on the network and its training text."""

    batches: Callable[[int], Sequence[Any]]  # from the number of the epoch, from 0, to its batches
    # from a batch to the mean loss of its tokens, to differentiate; dropout is drawn from the generator
    loss: Callable[[Any, torch.Generator], Tensor]
    # from a batch to its number of tokens, ends of sentences counted: its weight in the mean loss of an epoch
    size: Callable[[Any], int]
    # state that `loss` carries from each batch to the next, changed in place
    carried: Mapping[str, Tensor] = field(default_factory=dict)


def sentence_objective(
    network: SentenceNetwork,
    train: Corpus,
    *,
    batch_size: int,
    seed: int,
    first: IntArray | None = None,
) -> TrainingObjective:
    """Return batches of `batch_size` independent sentences, shuffled by `seed`.

    `first`: input in place of ``<sos>`` of each sentence, shape (N,).
    """

    def loss(rows: IntArray, rng: torch.Generator) -> Tensor:
        inputs, targets = padded(train.tokens, train.offsets, rows, first)
        return mean_loss(network, inputs, targets, rng)

    return TrainingObjective(
        batches=lambda epoch: epoch_batches(train.lengths, batch_size, seed, epoch),
        loss=loss,
        size=lambda rows: int(train.lengths[rows].sum()) + len(rows),
    )


def mean_loss(network: SentenceNetwork, inputs: IntArray, targets: IntArray, rng: torch.Generator) -> Tensor:
    """Return the mean cross-entropy of the targets, a scalar to differentiate; arrays as `padded` gives them."""
    inside = targets != PAD
    vectors = network(torch.from_numpy(inputs).to(rng.device), rng)[torch.from_numpy(inside).to(rng.device)]
    return network.loss(vectors, torch.from_numpy(targets[inside]).to(rng.device))
