"""LSTM language models.

Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zaremba, Sutskever, Vinyals,
"Recurrent Neural Network Regularization", 2014 (dropout between layers, none along time).
"""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.errors import check_positive, check_range, check_share
from textassay.generator.base import MAX_WINDOW
from textassay.generator.fitted_network import MAX_LAYERS
from textassay.generator.one_length import OneLength
from textassay.training import Recipe, dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


SMALL = Recipe(max_epochs=6, learning_rate=4e-3, schedule="linear", max_norm=5.0)

_FORGET_BIAS = 1.0  # so that the cell is kept at first


@dataclass(eq=False, repr=False)
class LstmModel(OneLength):
    """LSTM language model; a `LanguageModel`. Needs the extra ``neural``."""

    kind: ClassVar[str] = "lstm"

    width: int = 128
    _: KW_ONLY
    layers: int = 1
    dropout: float = 0.1
    spread: float | None = None
    length: int | None = None
    recipe: Recipe = SMALL
    batch_size: int = 128
    max_length: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.recipe, batch_size=self.batch_size, max_length=self.max_length, seed=self.seed)
        check_range("width", self.width, 1)
        check_range("layers", self.layers, 1, MAX_LAYERS)
        check_range("length", self.length, 1, MAX_WINDOW)
        check_share(self, ("dropout",))
        check_positive(self, ("spread",))

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.length is None:
            del own["length"]
        return {**own, "recipe": asdict(self.recipe)}

    @property
    def _title(self) -> str:
        layers = "" if self.layers == 1 else f", layers={self.layers}"
        length = "" if self.length is None else f", length={self.length}"
        return f"lstm(width={self.width}{layers}{length})"

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; `longest` does not matter."""
        shapes: dict[str, tuple[int, ...]] = {"words": (n_types, self.width)}
        for layer in range(self.layers):
            for part in ("input", "state"):
                shapes[f"layer {layer} {part}"] = (4 * self.width, self.width)
            shapes[f"layer {layer} bias"] = (4 * self.width,)
        return {**shapes, "output": (n_types, self.width), "output bias": (n_types,)}

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        import torch

        weights = {}
        for name, shape in shapes.items():
            weights[name] = torch.zeros(shape)
            if name.endswith("bias"):
                if name != "output bias":
                    weights[name][self.width : 2 * self.width] = _FORGET_BIAS
            else:
                spread = self.spread or (math.sqrt(3) if name == "words" else 1) / math.sqrt(self.width)
                weights[name].uniform_(-spread, spread, generator=rng)
        return weights

    def read(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the output of the last layer after each token, shape (B, L, width)."""
        vectors, _ = self._run(weights, tokens, self.begin(weights, len(tokens)), rng)
        return vectors

    def begin(self, weights: "Mapping[str, Tensor]", n: int) -> "tuple[Tensor, ...]":
        """Return zeros: hidden state and cell of each layer, 2 x layers parts of shape (B, width)."""
        zeros = weights["output"].new_zeros(n, self.width)
        return (zeros,) * (2 * self.layers)

    def step(
        self, weights: "Mapping[str, Tensor]", state: "tuple[Tensor, ...]", tokens: "Tensor", position: int
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        """Return the output of the last layer, shape (B, width), and the next state."""
        vectors, state = self._run(weights, tokens[:, None], state, None)
        return vectors[:, 0], state

    def _run(
        self,
        weights: "Mapping[str, Tensor]",
        tokens: "Tensor",
        state: "tuple[Tensor, ...]",
        rng: "torch.Generator | None",
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        import torch

        device = tokens.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weights["output"].dtype
        vectors = dropped(torch.nn.functional.embedding(tokens, weights["words"]).to(dtype), self.dropout, rng)
        after: list[Tensor] = []
        for layer in range(self.layers):
            before = [
                part[None].to(dtype).contiguous() for part in state[2 * layer : 2 * layer + 2]
            ]  # (1, batch, width)
            bias = weights[f"layer {layer} bias"].to(dtype)
            parameters = [
                weights[f"layer {layer} input"].to(dtype),
                weights[f"layer {layer} state"].to(dtype),
                bias,
                torch.zeros_like(bias),
            ]
            learns = rng is not None  # else a GPU saves nothing for the backward pass
            vectors, output, cell = torch.lstm(vectors, before, parameters, True, 1, 0.0, learns, False, True)
            vectors = dropped(vectors, self.dropout, rng)
            after += [output[0], cell[0]]
        return vectors, tuple(after)
