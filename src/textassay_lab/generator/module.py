"""Networks as `torch.nn.Module`: what all have in common, and those that read sentences token by token.

A module is made on the device ``meta``, where it has shapes but no numbers. `begun` draws its first weights from a
generator of its own, as PyTorch's layers would from the global random state; a saved model brings them along.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import Self, TypeVar

import torch
from torch import Tensor, nn

from textassay.corpus.encoding import EOS, PAD, SOS
from textassay_lab.generator.cross_entropy import linear_cross_entropy

State = tuple[Tensor, ...]

_ROWS = 64
_COLDEST = 1e-37  # float32 can hardly represent smaller temperatures; draws are greedy long before


class Network(nn.Module):
    """A module that can draw its first weights."""

    def initialise(self, rng: torch.Generator) -> None:
        """Set all weights to their initial values."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def digest(self) -> str:
        """Hash of the weights."""
        digest = hashlib.blake2b(digest_size=16)
        for weight in self.parameters():
            digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def copied(self) -> Self:
        """Return a copy that shares no memory."""
        return deepcopy(self)


AnyNetwork = TypeVar("AnyNetwork", bound=Network)


def shaped(build: Callable[[], AnyNetwork]) -> AnyNetwork:
    """Return the network that `build` makes, on the device ``meta``: without numbers and without random draws."""
    with torch.device("meta"):
        return build()


def begun(build: Callable[[], AnyNetwork], rng: torch.Generator) -> AnyNetwork:
    """Return the network that `build` makes, on the CPU, with initial weights."""
    network = shaped(build).to_empty(device="cpu")
    with torch.no_grad():
        network.initialise(rng)
    return network


class SentenceNetwork(Network):
    """A network that reads sentences, whole or token by token; subclasses define its layers.

    `excluded`: types that never follow; `longest`: most tokens of a sentence; None where there is no limit.
    """

    def __init__(self, *, excluded: Sequence[int] = (PAD, SOS), longest: int | None = None) -> None:
        super().__init__()
        self.excluded = list(excluded)
        self.longest = longest

    def forward(self, tokens: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Return the hidden state after each token, shape (B, L, width), of sentences (B, L); dropout from `rng`."""
        raise NotImplementedError

    def begin(self, n: int) -> State:
        """Return the state of `n` sentences before their first token; sentences are the first axis of each part."""
        raise NotImplementedError

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        """Return the hidden state after the token at `position`, from 0, shape (B, width), and the next state."""
        raise NotImplementedError

    def output(self) -> tuple[Tensor, Tensor | None]:
        """Return matrix, shape (V, width), and bias, (V,), of the output layer."""
        raise NotImplementedError

    def excluding(self, *types: int) -> Self:
        """Return a network of the same weights after which `types` never follow either."""
        network = copy(self)
        network.excluded = [*self.excluded, *types]
        return network

    def output_layer(self) -> tuple[Tensor, Tensor]:
        """Return matrix and bias of the output layer; the bias is -inf for excluded types."""
        matrix, bias = self.output()
        blocked = matrix.new_zeros(len(matrix))
        blocked[self.excluded] = -math.inf
        return matrix, blocked if bias is None else bias + blocked

    def loss(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of the types `targets`, (N,), after hidden states (N, width).

        Ends count only where sentences end.
        """
        if EOS in self.excluded:
            words = targets != EOS
            vectors, targets = vectors[words], targets[words]
        return self.cross_entropy(vectors, targets)

    def cross_entropy(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross-entropy of `targets`, all of which can follow."""
        return linear_cross_entropy(vectors, *self.output_layer(), targets)

    def logits(self, vectors: Tensor, temperature: float = 1.0) -> Tensor:
        """Return the logits of the next token, (B, V), for hidden states (B, width); -inf for excluded types."""
        n = len(vectors)
        padding = rows_to_add(n, vectors)
        logits = self.plain_logits(nn.functional.pad(vectors, (0, 0, 0, padding)))[:n]
        if temperature == 1:
            return logits
        below = (logits - logits.amax(1, keepdim=True)).float()  # the highest is 0 at every temperature
        return below / max(temperature, _COLDEST)

    def plain_logits(self, vectors: Tensor) -> Tensor:
        """Return the logits at temperature 1, (B, V)."""
        return nn.functional.linear(vectors, *self.output_layer())


def rows_to_add(n: int, like: Tensor) -> int:
    """Return the rows of padding that make `n` a multiple of 64 where `like` is bfloat16 on a CPU; else 0.

    There, PyTorch caches megabytes of code for each shape of a product.
    """
    return -n % _ROWS if like.dtype == torch.bfloat16 and like.device.type == "cpu" else 0
