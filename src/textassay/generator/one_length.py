"""Networks whose sentences end, or all have one length; then ends are neither learnt nor drawn."""

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, Corpus
from textassay.errors import InputError
from textassay.generator.lessons import Lessons
from textassay.generator.network import NetworkLanguageModel
from textassay.generator.reader import Weights

if TYPE_CHECKING:
    from torch import Tensor


class OneLength(NetworkLanguageModel):
    """A language model with an optional `length`; subclasses define the network."""

    length: int | None  # tokens of every sentence; None where sentences end

    @property
    def draws_ends(self) -> bool:
        """Whether sentences end."""
        return self.length is None

    @property
    def limit(self) -> int | None:
        """Most tokens of a sample; None where there is no limit."""
        return min((each for each in (self.max_length, self.length) if each is not None), default=None)

    def longest(self, weights: Weights) -> int | None:
        """Return the length of all sentences in tokens; None where they end."""
        return self.length

    def lessons(self, train: Corpus, weights: Weights, *, batch_size: int, seed: int) -> Lessons:
        """Return batches of sentences; raise where a sentence has another length than `length`."""
        self._check_lengths(train.lengths)
        return super().lessons(train, weights, batch_size=batch_size, seed=seed)

    def loss(self, weights: Weights, vectors: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the mean cross-entropy; ends count only where sentences end."""
        if self.length is not None:
            words = targets != EOS
            vectors, targets = vectors[words], targets[words]
        return super().loss(weights, vectors, targets)

    def output_layer(self, weights: Weights) -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the output layer; -inf for ``<eos>`` where sentences have one length."""
        matrix, bias = super().output_layer(weights)
        if self.length is not None:
            bias[EOS] = -math.inf
        return matrix, bias

    def limit_for(self, *corpora: Corpus) -> int:
        """Return the most tokens of a sample; raise where sentences of `corpora` are longer."""
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        limit = self.limit
        if limit is None or lengths.max() > limit:
            raise InputError(f"{self.name} draws at most {limit} tokens, but real sentences have up to {lengths.max()}")
        self._check_lengths(lengths)
        return limit

    def _check_lengths(self, lengths: npt.NDArray[np.int64]) -> None:
        others = lengths[lengths != self.length]
        if self.length is not None and len(others):
            raise InputError(
                f"{self.name} needs sentences of {self.length} tokens, but {len(others)} of {len(lengths)} have "
                f"another length, such as {others[0]}"
            )

    def _check_length(self, weights: Weights, length: int) -> None:
        if self.length is None:
            super()._check_length(weights, length)
