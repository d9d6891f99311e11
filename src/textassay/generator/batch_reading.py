"""Reading and continuing many sequences at once."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from textassay.corpus import SOS, Vocabulary
from textassay.errors import InputError
from textassay.generator.base import check_sample
from textassay.generator.reader import Reader, Weights
from textassay.generator.sampling import Beginnings, Choice, draw_sentences
from textassay.seeding import stream

if TYPE_CHECKING:
    from torch import Tensor


IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class BatchReader(Protocol):
    """A fitted language model that reads whole sequences and draws ones of a given length."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the training text."""
        ...

    def next_vectors(self, tokens: IntArray) -> "Tensor":
        """Return the hidden state after the first 0 to L tokens of each row (B, L), shape (B, L + 1, width)."""
        ...

    def next_logits(self, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token for hidden states (R, width), shape (R, V), float32; -inf: never."""
        ...

    def continued(
        self, prefixes: IntArray, n_tokens: int, *, seed: int, temperature: float = 1.0, ends: bool = False
    ) -> tuple[TokenArray, IntArray]:
        """Return prefixes (N, l), each continued by up to `n_tokens` drawn tokens, concatenated, and lengths, (N,).

        Sentences may end early only with `ends`; else all have l + `n_tokens` tokens. From empty prefixes, with
        `ends`, the draws are the beginnings of those of `sample` with the same seed.
        """
        ...


def reads_in_batches(model: object) -> TypeGuard[BatchReader]:
    """Return whether `model` is a network that reads sequences in batches."""
    return all(hasattr(model, name) for name in ("next_vectors", "next_logits", "continued"))


class BatchReading(Reader):
    """A network that is a `BatchReader`; subclasses hold the weights."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Canonical name."""

    @abstractmethod
    def working_weights(self) -> Weights:
        """Return the weights in the working precision."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Hash of the weights."""

    def next_vectors(self, tokens: IntArray) -> "Tensor":
        """Return the hidden state after the first 0 to L tokens of each row; see `BatchReader`."""
        import torch

        weights = self.working_weights()
        self._check_length(weights, tokens.shape[1])
        inputs = np.concatenate((np.full((len(tokens), 1), SOS), tokens), axis=1)
        with torch.no_grad():
            return self.read(weights, torch.from_numpy(inputs).to(next(iter(weights.values())).device))

    def next_logits(self, vectors: "Tensor") -> "Tensor":
        """Return the logits of the next token, (R, V), float32; see `BatchReader`."""
        import torch

        with torch.no_grad():
            return self.logits(self.working_weights(), vectors).float()

    def continued(
        self, prefixes: IntArray, n_tokens: int, *, seed: int, temperature: float = 1.0, ends: bool = False
    ) -> tuple[TokenArray, IntArray]:
        """Return prefixes with their continuations, and lengths; see `BatchReader`."""
        check_sample(max(len(prefixes), 1), seed=seed, temperature=temperature, generator=self.name)
        n, length = prefixes.shape
        offsets = np.arange(n + 1, dtype=np.int64) * length
        weights = self.working_weights()
        self._check_length(weights, length + n_tokens)
        return draw_sentences(
            self,
            weights,
            Choice(temperature, ends=ends),
            Beginnings(prefixes.reshape(-1).astype(np.int32), offsets, np.arange(n)),
            key=int(stream(seed, self.name, self.digest, repr(float(temperature))).integers(2**63)),
            limit=length + n_tokens,
        )

    def _check_length(self, weights: Weights, length: int) -> None:
        longest = self.longest(weights)
        if longest is not None and length > longest:
            raise InputError(f"{self.name} reads at most {longest} tokens, got sequences of {length}")
