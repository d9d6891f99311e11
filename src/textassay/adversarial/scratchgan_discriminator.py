"""The discriminator of ScratchGAN, with a logit for every prefix of a sentence.

An LSTM with layer normalisation reads embeddings (learnt, fixed, and positional, as cosines); an output layer turns
each hidden state into a logit of being real so far.

Source: de Masson d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019, and its public code; Ba, Kiros,
Hinton, "Layer Normalization", 2016 (all four gates together).
"""

import math

import torch
from torch import Tensor, nn

from textassay.generator import Network
from textassay.training import dropped

POSITIONS = 8  # dimensions of the position encoding
_LONGEST_WAVE = 10_000.0  # steps of the slowest cosine; the fastest has one radian a step
_FORGET_BIAS = 1.0


class StepDiscriminator(Network):
    """The network; the embedding has `dimension` learnt dimensions, then `fixed` given ones."""

    def __init__(self, n_types: int, *, dimension: int, fixed: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, dimension)
        self.input = nn.Linear(dimension + fixed + POSITIONS, 4 * width, bias=False)
        self.state = nn.Linear(width, 4 * width, bias=False)
        self.head = nn.Linear(width, 1)
        self.norm = nn.LayerNorm(4 * width)

    def initialise(self, rng: torch.Generator) -> None:
        """Draw the weights."""
        width = self.state.in_features
        roots = {self.words: 3 / self.words.embedding_dim, self.input: 3 / self.input.in_features}
        for layer in (self.words, self.input, self.state, self.head):
            spread = math.sqrt(roots.get(layer, 1 / width))
            layer.weight.uniform_(-spread, spread, generator=rng)
        self.head.bias.zero_()
        self.norm.weight.fill_(1.0)
        self.norm.bias.zero_()
        self.norm.bias[width : 2 * width] = _FORGET_BIAS

    def forward(
        self, tokens: Tensor, fixed: Tensor | None = None, *, dropout: float = 0.0, rng: torch.Generator | None = None
    ) -> Tensor:
        """Return the logit, after each token, that the sentence is real, shape (B, L).

        `tokens`: rows of ids, shape (B, L), ``<pad>`` behind their ends, or of distributions, (B, L, V); `fixed`: fixed
        embeddings, shape (V, fixed).
        """
        table = self.words.weight if fixed is None else torch.cat((self.words.weight, fixed), 1)
        vectors = tokens @ table if tokens.is_floating_point() else nn.functional.embedding(tokens, table)
        places = _positions(tokens.shape[1], vectors.device).expand(len(tokens), -1, -1)
        inputs = self.input(dropped(torch.cat((vectors, places), 2), dropout, rng))  # (B, L, 4 x width)
        state = cell = inputs.new_zeros(len(tokens), self.state.in_features)
        states = []
        for part in inputs.unbind(1):
            input_gate, forget_gate, new, output_gate = self.norm(part + self.state(state)).chunk(4, 1)
            cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(new)
            state = torch.sigmoid(output_gate) * torch.tanh(cell)
            states.append(state)
        logits: Tensor = self.head(dropped(torch.stack(states, 1), dropout, rng))[:, :, 0]
        return logits


def _positions(length: int, device: torch.device) -> Tensor:
    """Return cosines of each position, shape (L, POSITIONS), from one radian a step to the longest wave."""
    exponents = torch.arange(POSITIONS, device=device) / (POSITIONS - 1)
    return torch.cos(torch.arange(length, device=device)[:, None] * _LONGEST_WAVE**-exponents)
