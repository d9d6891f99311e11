"""A generator as it draws in the rounds."""

import math
from typing import TYPE_CHECKING

from textassay.corpus import UNK
from textassay.network import Reader, Weights

if TYPE_CHECKING:
    from torch import Tensor


class Policy(Reader):
    """To be mixed into a network, before it: where real text has no unknown word, none is drawn.

    `knows_all`: Whether real text has no ``<unk>``.
    """

    knows_all = False

    def output_layer(self, weights: Weights) -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the network's output layer; -inf for ``<unk>`` where it `knows_all`."""
        matrix, bias = super().output_layer(weights)
        if self.knows_all:
            bias[UNK] = -math.inf
        return matrix, bias
