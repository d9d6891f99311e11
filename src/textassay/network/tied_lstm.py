"""LSTM whose output layer is its word vectors, some of their numbers given and fixed: the generator of ScratchGAN.

A word vector is what was learnt of the word, joined to what was given of it (such as GloVe); the output of the last
layer, projected to that space, meets all word vectors.

Sources: Press, Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017 (one table for both); de Masson
d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019 (the join, the projection).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textassay.errors import check_least
from textassay.network.lstm import LstmModel

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FIXED = "fixed words"  # the weights that are given


@dataclass(eq=False, repr=False, kw_only=True)
class TiedLstm(LstmModel):
    """LSTM language model with one table of word vectors; a `LanguageModel`. Needs the extra ``neural``."""

    kind: ClassVar[str] = "tied-lstm"

    dimension: int = 64
    fixed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("dimension",), 1)
        check_least(self, ("fixed",), 0)

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
