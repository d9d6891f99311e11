"""LSTM language models.

Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zaremba, Sutskever, Vinyals,
"Recurrent Neural Network Regularization", 2014 (dropout between layers, none along time).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from textassay_lab.generator.lstm import LstmSettings
from textassay_lab.generator.module import SentenceNetwork, State, dropped
from textassay_lab.generator.network import NetworkLanguageModel

_FORGET_BIAS = 1.0  # so that the cell is kept at first


class LstmLayer(nn.Module):
    """One layer of PyTorch's LSTM kernel, with one bias for its two products with weights.

    The first axis of the weights holds input, forget, candidate and output gate. `torch.nn.LSTM` has a second bias,
    which adds nothing, and draws its dropout from the global random state.
    """

    def __init__(self, n_inputs: int, width: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * width, n_inputs))
        self.weight_hh = nn.Parameter(torch.empty(4 * width, width))
        self.bias = nn.Parameter(torch.empty(4 * width))

    def initialise_bias(self) -> None:
        """Set all biases to 0, those of the forget gate to 1."""
        width = len(self.bias) // 4
        self.bias.zero_()
        self.bias[width : 2 * width] = _FORGET_BIAS

    def forward(self, vectors: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs, shape (B, L, width), and the hidden state and cell after the last, shapes (B, width)."""
        dtype = vectors.dtype
        bias = self.bias.to(dtype)
        parameters = [self.weight_ih.to(dtype), self.weight_hh.to(dtype), bias, torch.zeros_like(bias)]
        before = [part[None].to(dtype).contiguous() for part in (hidden, cell)]
        learns = torch.is_grad_enabled()  # else a GPU saves nothing for the backward pass
        # Under autocast cuDNN's LSTM runs in float16 whatever is asked, where gradients vanish without a scaler.
        with torch.autocast(vectors.device.type, enabled=False):
            vectors, hidden, cell = torch.lstm(vectors, before, parameters, True, 1, 0.0, learns, False, True)
        return vectors, hidden[0], cell[0]


class LstmNetwork(SentenceNetwork):
    """Embeddings, LSTM layers with dropout around them, and an output layer."""

    def __init__(
        self,
        n_types: int,
        width: int,
        *,
        layers: int,
        dropout: float,
        init_range: float | None,
        excluded: Sequence[int],
        longest: int | None,
        embedding: tuple[int, int] | None = None,
    ) -> None:
        """`embedding`: learnt and fixed dimension of the input vectors; `width` and 0 without it."""
        super().__init__(excluded=excluded, longest=longest)
        dimension, fixed = embedding or (width, 0)
        self.embedding = nn.Embedding(n_types, dimension)
        self.layers: Any = nn.ModuleList(
            LstmLayer(width if layer else dimension + fixed, width) for layer in range(layers)
        )
        self.width, self.dropout, self.init_range = width, dropout, init_range
        self.add_head(n_types)

    def add_head(self, n_types: int) -> None:
        self.head: Any = nn.Linear(self.width, n_types)

    def initialise(self, rng: torch.Generator) -> None:
        for name, weight in self.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
            else:
                root = math.sqrt(3) if name == "embedding.weight" else 1
                spread = self.init_range or root / math.sqrt(self.width)
                weight.uniform_(-spread, spread, generator=rng)
        for layer in self.layers:
            layer.initialise_bias()

    def forward(self, tokens: Tensor, rng: torch.Generator | None = None) -> Tensor:
        return self.run(tokens, self.begin(len(tokens)), rng)[0]

    def begin(self, n: int) -> State:
        zeros = self.layers[0].bias.new_zeros(n, self.width)
        return (zeros,) * (2 * len(self.layers))

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        vectors, state = self.run(tokens[:, None], state, None)
        return vectors[:, 0], state

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self.head.weight, self.head.bias

    def run(self, tokens: Tensor, state: State, rng: torch.Generator | None) -> tuple[Tensor, State]:
        """Return the outputs of the last layer, (B, L, width), and the state: hidden state and cell of each layer."""
        return self.run_vectors(self.embedded(tokens), state, rng)

    def run_vectors(self, vectors: Tensor, state: State, rng: torch.Generator | None) -> tuple[Tensor, State]:
        """Return the same for input vectors, (B, L, dimension)."""
        device = vectors.device.type
        if torch.is_autocast_enabled(device):
            vectors = vectors.to(torch.get_autocast_dtype(device))
        vectors = dropped(vectors, self.dropout, rng)
        after: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            vectors, hidden, cell = layer(vectors, *state[2 * number : 2 * number + 2])
            vectors = dropped(vectors, self.dropout, rng)
            after += [hidden, cell]
        return vectors, tuple(after)

    def embedded(self, tokens: Tensor) -> Tensor:
        """Return the input vectors of tokens (B, L), shape (B, L, dimension)."""
        vectors: Tensor = self.embedding(tokens)
        return vectors


class LstmModel(LstmSettings, NetworkLanguageModel):
    """LSTM language model; a `LanguageModel`. Needs the extra ``neural``."""

    kind = "lstm"

    @property
    def _title(self) -> str:
        layers = "" if self.layers == 1 else f", layers={self.layers}"
        length = "" if self.length is None else f", length={self.length}"
        embedding = "" if self.embedding_width is None else f", embedding={self.embedding_width}"
        return f"lstm(width={self.width}{embedding}{layers}{length})"

    @property
    def network_settings(self) -> dict[str, Any]:
        names = ("width", "layers", "dropout", "init_range", "excluded")
        return {**{name: getattr(self, name) for name in names}, "longest": self.length}

    def new_module(self, n_types: int, longest: int) -> LstmNetwork:
        return LstmNetwork(n_types, **self.network_settings, embedding=(self.embedding_width or self.width, 0))
