"""Language models of long short-term memory (LSTM).

Source: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zaremba, Sutskever, Vinyals,
"Recurrent Neural Network Regularization", 2014 (dropout between layers, none along time).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import EOS
from textassay.errors import InputError, OptionError
from textassay.network.lessons import Lessons
from textassay.network.network import NetworkLanguageModel
from textassay.training.dropout import dropped
from textassay.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["SMALL", "LstmModel"]

SMALL = Recipe(max_epochs=6, learning_rate=4e-3, schedule="linear", max_norm=5.0)

_FORGET_BIAS = 1.0  # memory is kept to begin with


class LstmModel(NetworkLanguageModel):
    """LSTM language model; a `LanguageModel`. Needs the extra ``neural``.

    Parameters
    ----------
    width
        Numbers in a word vector and in the state of a layer, at least 1.
    layers
        Layers of LSTM, at least 1.
    dropout
        Share of word vectors' and layers' outputs that is left out in training, at least 0 and below 1.
    spread
        Weights begin uniform between minus and plus this, above 0; none for 1 / sqrt(width), word vectors with
        variance 1 / width.
    length
        Every sentence has so many tokens, at least 1, and no end is learnt or drawn: for text cut into windows, which
        `next_vectors` reads on beyond a window. None where sentences end.
    recipe, batch_size, max_length, seed
        See `NetworkLanguageModel`.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    OptionError
        If a setting is out of range.
    """

    kind: ClassVar[str] = "lstm"

    def __init__(
        self,
        width: int = 128,
        *,
        layers: int = 1,
        dropout: float = 0.1,
        spread: float | None = None,
        length: int | None = None,
        recipe: Recipe = SMALL,
        batch_size: int = 128,
        max_length: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__(recipe, batch_size=batch_size, max_length=max_length, seed=seed)
        for setting, value in (("width", width), ("layers", layers), ("length", 1 if length is None else length)):
            if value < 1:
                raise OptionError(f"{setting} must be at least 1, got {value}")
        if not 0 <= dropout < 1:
            raise OptionError(f"dropout must be at least 0 and below 1, got {dropout}")
        if spread is not None and not 0 < spread < math.inf:
            raise OptionError(f"spread must be above 0, got {spread}")
        self.width = width
        self.layers = layers
        self.dropout = dropout
        self.spread = spread
        self.length = length

    @property
    def settings(self) -> dict[str, Any]:
        """What its constructor was called with."""
        names = ("width", "layers", "dropout", "spread", "batch_size", "seed")
        own = {name: getattr(self, name) for name in names}
        own |= {} if self.length is None else {"length": self.length}
        return {**own, "max_length": self._max_length, "recipe": asdict(self.recipe)}

    @property
    def draws_ends(self) -> bool:
        """Whether sentences end."""
        return self.length is None

    @property
    def _title(self) -> str:
        layers = "" if self.layers == 1 else f", layers={self.layers}"
        length = "" if self.length is None else f", length={self.length}"
        return f"lstm(width={self.width}{layers}{length})"

    def lessons(self, train: Corpus, weights: "Mapping[str, Tensor]", *, batch_size: int, seed: int) -> Lessons:
        """Return batches of sentences; raise where all must have one length and one has another."""
        others = [] if self.length is None else [length for length in train.lengths.tolist() if length != self.length]
        if others:
            raise InputError(
                f"{self.name} learns from sentences of {self.length} tokens, but {len(others)} of {len(train)} have "
                f"others, such as {others[0]}"
            )
        return super().lessons(train, weights, batch_size=batch_size, seed=seed)

    def longest(self, weights: "Mapping[str, Tensor]") -> int | None:
        """Return how many tokens every sentence has; None where they end."""
        return self.length

    def loss(self, weights: "Mapping[str, Tensor]", vectors: "Tensor", wanted: "Tensor") -> "Tensor":
        """Return the mean cross-entropy; ends count only where they are learnt."""
        if self.length is not None:
            words = wanted != EOS
            vectors, wanted = vectors[words], wanted[words]
        return super().loss(weights, vectors, wanted)

    def output_layer(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the output layer; -inf for the end where it never comes."""
        matrix, bias = super().output_layer(weights)
        if self.length is not None:
            bias[EOS] = -math.inf
        return matrix, bias

    def _check_length(self, weights: "Mapping[str, Tensor]", length: int) -> None:
        if self.length is None:
            super()._check_length(weights, length)

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; `longest` does not matter."""
        shapes: dict[str, tuple[int, ...]] = {"words": (n_types, self.width)}
        for layer in range(self.layers):
            for part in ("input", "state"):
                shapes[f"layer {layer} {part}"] = (4 * self.width, self.width)
            shapes[f"layer {layer} bias"] = (4 * self.width,)
        return {**shapes, "output": (n_types, self.width), "output bias": (n_types,)}

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin."""
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
        """Return zeros: output and memory of each layer, 2 x layers parts of shape (B, width)."""
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
            learns = rng is not None  # else a GPU keeps nothing for a way back
            vectors, output, memory = torch.lstm(vectors, before, parameters, True, 1, 0.0, learns, False, True)
            vectors = dropped(vectors, self.dropout, rng)
            after += [output[0], memory[0]]
        return vectors, tuple(after)
