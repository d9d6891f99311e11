"""Networks as `torch.nn.Module`: what all have in common, and those that read sentences token by token.

A module is made on the device ``meta``, where it has shapes but no numbers. `begun` draws its first weights from a
generator of its own, as PyTorch's layers would from the global random state; a saved model brings them along.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import Any, Self, TypeVar

import torch
from torch import Tensor, nn

from textassay.corpus.encoding import EOS, PAD, SOS

State = tuple[Tensor, ...]

_ROWS = 64  # products have a multiple of this many rows: PyTorch caches megabytes of code for each shape of bfloat16
_AT_ONCE = 1 << 22  # logits in memory
_COLDEST = 1e-37  # float32 can hardly represent smaller temperatures; draws are greedy long before


class Network(nn.Module):
    """A module that can draw its first weights."""

    def initialise(self, rng: torch.Generator) -> None:
        """Set all weights to their initial values."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def digest(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for weight in self.parameters():
            digest.update(weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def copied(self) -> Self:
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
    """Return the rows of padding that make `n` a multiple of 64 where `like` is bfloat16 on a CPU; else 0."""
    return -n % _ROWS if like.dtype == torch.bfloat16 and like.device.type == "cpu" else 0


def dropped(vectors: Tensor, share: float, rng: torch.Generator | None) -> Tensor:
    """Apply dropout with probability `share` to `vectors`; return them unchanged without `rng`.

    The generator is its own, so that a resumed training gives the same bits.
    """
    if rng is None or share == 0:
        return vectors
    kept = torch.rand(vectors.shape, generator=rng, device=vectors.device) >= share
    return vectors * kept / (1 - share)


def linear_cross_entropy(vectors: Tensor, matrix: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of ``vectors @ matrix.T + bias``, a scalar to differentiate.

    `vectors`: shape (N, width), at least one row; `matrix`, `bias`: shapes (V, width) and (V,); `targets`: the type of
    each row, shape (N,), none with a bias of -inf.

    It is computed in blocks of rows, so that the logits of all tokens are never in memory at once, and each block's
    gradient with its loss, as in Hsu et al., "Liger Kernel: Efficient Triton Kernels for LLM Training", 2024.
    Products are taken in the precision of autocast where it is on; exponentials and sums in float32.
    """
    loss: Tensor = _LinearCrossEntropy.apply(vectors, matrix, bias, targets)  # type: ignore[no-untyped-call]
    return loss


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, matrix: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        device = vectors.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else matrix.dtype
        n = len(targets)
        lowered, shift = matrix.to(dtype), bias.to(dtype)
        of_vectors, of_matrix, of_bias = torch.empty_like(vectors), torch.zeros_like(matrix), torch.zeros_like(bias)
        total = vectors.new_zeros((), dtype=torch.float64)
        step = max(1, _AT_ONCE // len(matrix) // _ROWS) * _ROWS
        for rows in (slice(start, start + step) for start in range(0, n, step)):
            wanted = targets[rows, None]
            n_rows = len(wanted)
            seen = torch.nn.functional.pad(vectors[rows].to(dtype), (0, 0, 0, -n_rows % _ROWS))  # with rows of 0
            logits = torch.nn.functional.linear(seen, lowered, shift).float()
            logits -= logits.amax(1, keepdim=True)
            hit = logits[:n_rows].gather(1, wanted)
            mass = logits.exp_().sum(1, keepdim=True)
            total += (mass[:n_rows].log() - hit).sum(dtype=torch.float64)
            logits *= 1 / (mass * n)
            logits[:n_rows].scatter_add_(1, wanted, torch.full_like(hit, -1 / n))
            logits[n_rows:] = 0.0
            of_bias += logits.sum(0)
            slopes = logits.to(dtype)
            of_vectors[rows] = (slopes @ lowered)[:n_rows]
            of_matrix += slopes.t() @ seen
        ctx.save_for_backward(of_vectors, of_matrix, of_bias)
        return (total / n).float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_vectors, of_matrix, of_bias = ctx.saved_tensors
        (slope,) = gradients
        return of_vectors * slope.to(of_vectors.dtype), of_matrix * slope, of_bias * slope, None
