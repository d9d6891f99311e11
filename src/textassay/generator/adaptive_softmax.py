"""Adaptive softmax: an output layer in clusters of types, from frequent to rare, so that most tokens need few logits.

The frequent types and one entry for each cluster of rarer ones share the first distribution; a type of a cluster has
the probability of its cluster times that of the type within it. With ids in the order of frequency, which a learnt
vocabulary has, clusters are ranges of ids; in another order it is only slower, not wrong.

Source: Grave et al., "Efficient softmax approximation for GPUs", ICML 2017.
Departs from it: rare types have vectors as wide as frequent ones, as in the script of Transformer-XL's authors.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from textassay.generator.cross_entropy import linear_cross_entropy

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Clusters:
    """An output layer in clusters."""

    # of all types, shapes (V, width) and (V,); a bias of -inf excludes a type
    matrix: "Tensor"
    bias: "Tensor"
    # of the clusters' entries in the first distribution, shapes (K, width) and (K,)
    heads: "Tensor"
    head_bias: "Tensor"
    cutoffs: tuple[int, ...]  # first id of each cluster, K ids, rising, above 0 and below V

    def loss(self, vectors: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the mean cross-entropy of the types `targets`, (N,), after vectors (N, width), to differentiate."""
        import torch

        first = targets.clone()
        parts = []
        for number, (low, high) in enumerate(self._ranges()):
            inside = (targets >= low) & (targets < high)
            first[inside] = self.cutoffs[0] + number
            n_inside = int(inside.sum())
            if n_inside > 0:
                of_cluster = linear_cross_entropy(
                    vectors[inside], self.matrix[low:high], self.bias[low:high], targets[inside] - low
                )
                parts.append(of_cluster * (n_inside / len(targets)))
        return linear_cross_entropy(vectors, *self._first(), first) + sum(
            parts, torch.zeros_like(vectors[0, 0]).float()
        )

    def log_probs(self, vectors: "Tensor") -> "Tensor":
        """Return the log-probability of each type, (B, V), float32, after vectors (B, width)."""
        import torch

        functional = torch.nn.functional
        first = torch.log_softmax(functional.linear(vectors, *self._first()).float(), 1)
        parts = [first[:, : self.cutoffs[0]]]
        for number, (low, high) in enumerate(self._ranges()):
            within = functional.linear(vectors, self.matrix[low:high], self.bias[low:high]).float()
            parts.append(torch.log_softmax(within, 1) + first[:, self.cutoffs[0] + number, None])
        return torch.cat(parts, 1)

    def _ranges(self) -> list[tuple[int, int]]:
        return list(pairwise((*self.cutoffs, len(self.matrix))))

    def _first(self) -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the first distribution: the frequent types, then the clusters."""
        import torch

        n = self.cutoffs[0]
        return torch.cat([self.matrix[:n], self.heads]), torch.cat([self.bias[:n], self.head_bias])
