"""The training batches of a network: their loss, their size, and state carried from one to the next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.generator.batching import epoch_batches, padded
from textassay.generator.reader import Reader, Weights
from textassay.generator.scoring import mean_loss

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Lessons:
    """The arguments of `textassay.training.loop.train` that depend on the network and its training text."""

    batches: Callable[[int], Sequence[Any]]  # from the number of the epoch, from 0, to its batches
    # from a batch to the mean loss of its tokens, to differentiate; dropout is drawn from the generator
    loss: "Callable[[Any, torch.Generator], Tensor]"
    # from a batch to its number of tokens, ends of sentences counted: its weight in the mean loss of an epoch
    size: Callable[[Any], int]
    heaviest: Any  # the batch that takes most memory
    # state that `loss` carries from each batch to the next, changed in place
    carried: Mapping[str, "Tensor"] = field(default_factory=dict)


def sentence_lessons(
    network: Reader,
    weights: Weights,
    train: Corpus,
    *,
    batch_size: int,
    seed: int,
    first: npt.NDArray[np.int64] | None = None,
) -> Lessons:
    """Return batches of `batch_size` independent sentences, shuffled by `seed`.

    `first`: input in place of ``<sos>`` of each sentence, shape (N,).
    """

    def loss(rows: npt.NDArray[np.int64], rng: "torch.Generator") -> "Tensor":
        inputs, targets = padded(train.tokens, train.offsets, rows, first)
        return mean_loss(network, weights, inputs, targets, rng)

    return Lessons(
        batches=lambda epoch: epoch_batches(train.lengths, batch_size, seed, epoch),
        loss=loss,
        size=lambda rows: int(train.lengths[rows].sum()) + len(rows),
        heaviest=np.argsort(-train.lengths, kind="stable")[:batch_size],
    )
