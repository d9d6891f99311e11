"""Reading and continuing many sequences at once."""

from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import Vocabulary

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
