"""The network of a noise-driven generator: a GRU that maps a noise vector to a sentence.

Source: Press, Bar, Bogin, Berant, Wolf, "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017.
Departs from it: ``<sos>`` is the start token, where the public code has a start vector of its own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.corpus import EOS, PAD, SOS
from textassay.generator.gru_cell import gru_inputs, gru_run, gru_shapes, gru_step, new_gru_weights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Weights = Mapping[str, "Tensor"]


@dataclass(frozen=True)
class NoiseGruNetwork:
    """The network's settings; methods take the weights."""

    width: int  # dimension of embeddings, state and noise, at least 1
    ends: bool  # whether ``<eos>`` can be drawn; ``<pad>`` and ``<sos>`` never are

    def shapes(self, n_types: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights."""
        output: dict[str, tuple[int, ...]] = {"output": (n_types, self.width), "output bias": (n_types,)}
        return {"words": (n_types, self.width), **gru_shapes(self.width, self.width), **output}

    def new_weights(self, n_types: int, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        return new_gru_weights(self.shapes(n_types), rng)

    def forced(self, weights: Weights, tokens: "Tensor", noise: "Tensor") -> "Tensor":
        """Return the logits at each position with teacher forcing, shape (R, T, V).

        `tokens`: ids, shape (R, T), or (1, T) for all; `noise`: first states, shape (R, width).
        """
        import torch

        read = torch.nn.functional.pad(tokens[:, :-1], (1, 0), value=SOS)
        words = weights["words"]
        if read.numel() < len(words):
            inputs = gru_inputs(weights, torch.nn.functional.embedding(read, words))
        else:  # the inputs of each type are computed once
            inputs = torch.nn.functional.embedding(read, gru_inputs(weights, words))
        return self._logits(weights, gru_run(weights, inputs, noise))

    def free(self, weights: Weights, noise: "Tensor", length: int) -> "Tensor":
        """Return the distributions of `length` tokens, each step fed the one before it, (R, length, V)."""
        import torch

        vectors = weights["words"][SOS].expand(len(noise), -1)
        state, distributions = noise, []
        for _ in range(length):
            state = gru_step(weights, gru_inputs(weights, vectors), state)
            distributions.append(self._logits(weights, state).softmax(1))
            vectors = distributions[-1] @ weights["words"]
        return torch.stack(distributions, 1)

    def drawn(
        self,
        weights: Weights,
        noise: "Tensor",
        length: int,
        prefixes: "Tensor",
        prefix_lengths: "Tensor",
        *,
        soft: bool,
    ) -> "Tensor":
        """Return the likeliest token at each of `length` positions, shape (R, length), after the prefixes.

        `prefixes`: ids that rows begin with, shape (R, width of the longest); `prefix_lengths`: how many of them belong
        to each row, shape (R,).
        """
        import torch

        vectors = weights["words"][SOS].expand(len(noise), -1)
        state, tokens = noise, []
        for position in range(length):
            state = gru_step(weights, gru_inputs(weights, vectors), state)
            logits = self._logits(weights, state)
            chosen = logits.argmax(1)
            vectors = logits.softmax(1) @ weights["words"] if soft else weights["words"][chosen]
            if position < prefixes.shape[1]:
                is_prefix = position < prefix_lengths
                chosen = torch.where(is_prefix, prefixes[:, position], chosen)
                vectors = torch.where(is_prefix[:, None], weights["words"][chosen], vectors)
            tokens.append(chosen)
        return torch.stack(tokens, 1)

    def _logits(self, weights: Weights, states: "Tensor") -> "Tensor":
        import torch

        blocked = torch.zeros_like(weights["output bias"])
        blocked[[PAD, SOS] if self.ends else [PAD, SOS, EOS]] = -math.inf
        return torch.nn.functional.linear(states, weights["output"], weights["output bias"] + blocked)
