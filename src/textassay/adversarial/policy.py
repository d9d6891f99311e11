"""A generator as the policy of the rounds."""

import math
from typing import TYPE_CHECKING

from textassay.corpus import UNK
from textassay.generator import Reader, Weights

if TYPE_CHECKING:
    from torch import Tensor


class Policy(Reader):
    """Mix-in, before a network: without ``<unk>`` where real text has none (`excludes_unknown`)."""

    excludes_unknown = False

    def output_layer(self, weights: Weights) -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the output layer; -inf for ``<unk>`` where it `excludes_unknown`."""
        matrix, bias = super().output_layer(weights)
        if self.excludes_unknown:
            bias[UNK] = -math.inf
        return matrix, bias
