"""LSTM whose output layer is its word vectors, some of their numbers given and fixed: the generator of ScratchGAN.

A word vector is what was learnt of the word, joined to what was given of it (such as GloVe); the output of the last
layer, projected to that space, meets all word vectors.

Sources: Press, Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017 (one table for both); de Masson
d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019 (the join, the projection).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.errors import OptionError
from textassay.network.lstm import SMALL, LstmModel
from textassay.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["FIXED", "TiedLstm"]

FIXED = "fixed words"  # the weights that are given


class TiedLstm(LstmModel):
    """LSTM language model with one table of word vectors; a `LanguageModel`. Needs the extra ``neural``.

    Parameters
    ----------
    width, layers, dropout, spread, length, recipe, batch_size, max_length, seed
        See `LstmModel`.
    dimension
        Numbers of a word vector that are learnt, at least 1.
    fixed
        Numbers of a word vector that a training against a discriminator leaves as they began, at least 0; `fit` learns
        them as well.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    OptionError
        If a setting is out of range.
    """

    kind: ClassVar[str] = "tied-lstm"

    def __init__(
        self,
        width: int = 128,
        *,
        dimension: int = 64,
        fixed: int = 0,
        layers: int = 1,
        dropout: float = 0.1,
        spread: float | None = None,
        length: int | None = None,
        recipe: Recipe = SMALL,
        batch_size: int = 128,
        max_length: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__(
            width,
            layers=layers,
            dropout=dropout,
            spread=spread,
            length=length,
            recipe=recipe,
            batch_size=batch_size,
            max_length=max_length,
            seed=seed,
        )
        for setting, value, least in (("dimension", dimension, 1), ("fixed", fixed, 0)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.dimension = dimension
        self.fixed = fixed

    @property
    def settings(self) -> dict[str, Any]:
        """What its constructor was called with."""
        return {**super().settings, "dimension": self.dimension, "fixed": self.fixed}

    @property
    def _title(self) -> str:
        told = super()._title.removeprefix("lstm(").removesuffix(")")
        fixed = f", fixed={self.fixed}" if self.fixed else ""
        return f"{self.kind}({told}, dimension={self.dimension}{fixed})"

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; ``output`` is the projection."""
        size = self.dimension + self.fixed
        shapes = super().shapes(n_types, longest)
        shapes |= {"words": (n_types, self.dimension), "output": (size, self.width)}
        shapes["layer 0 input"] = (4 * self.width, size)
        return shapes | ({FIXED: (n_types, self.fixed)} if self.fixed else {})

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        """Return the word vectors, shape (V, dimension + fixed), and the bias, (V,)."""
        return _joined(weights), weights["output bias"]

    def _run(
        self,
        weights: "Mapping[str, Tensor]",
        tokens: "Tensor",
        state: "tuple[Tensor, ...]",
        rng: "torch.Generator | None",
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        vectors, state = super()._run({**weights, "words": _joined(weights)}, tokens, state, rng)
        return vectors @ weights["output"].to(vectors.dtype).T, state


def _joined(weights: "Mapping[str, Tensor]") -> "Tensor":
    """Return the word vectors: what was learnt, then what was given."""
    import torch

    return torch.cat((weights["words"], weights[FIXED]), 1) if FIXED in weights else weights["words"]
