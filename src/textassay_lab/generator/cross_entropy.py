"""Cross-entropy of an output layer in blocks of rows, so that the logits of all tokens are never in memory at once.

The gradient of a block is computed with its loss, so that each block of logits is computed once.

Source: Hsu et al., "Liger Kernel: Efficient Triton Kernels for LLM Training", 2024 (FusedLinearCrossEntropy).
"""

from typing import Any

import torch
from torch import Tensor

_AT_ONCE = 1 << 22  # logits
_ROWS = 64  # blocks have a multiple of this many rows: PyTorch caches megabytes of code for each shape of bfloat16


def linear_cross_entropy(vectors: Tensor, matrix: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of ``vectors @ matrix.T + bias``, a scalar to differentiate.

    `vectors`: shape (N, width), at least one row; `matrix`, `bias`: shapes (V, width) and (V,); `targets`: the type of
    each row, shape (N,), none with a bias of -inf.

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
