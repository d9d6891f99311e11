"""LSTM with tied embeddings, part of them fixed: the generator of ScratchGAN.

An embedding is learnt dimensions joined to fixed ones (such as GloVe). The output of the last layer, projected to that
space, is multiplied with all embeddings.

Sources: Press, Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017 (one table for both); de Masson
d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019 (the join, the projection).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textassay.errors import check_least
from textassay.generator.lstm import LstmModel

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FIXED = "fixed words"  # name of the fixed embeddings among the weights


@dataclass(eq=False, repr=False, kw_only=True)
class TiedLstm(LstmModel):
    """LSTM language model with tied embeddings; a `LanguageModel`. Needs the extra ``neural``."""

    kind: ClassVar[str] = "tied-lstm"

    dimension: int = 64
    fixed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("dimension",), 1)
        check_least(self, ("fixed",), 0)

    @property
    def _title(self) -> str:
        common = super()._title.removeprefix("lstm(").removesuffix(")")
        fixed = f", fixed={self.fixed}" if self.fixed else ""
        return f"{self.kind}({common}, dimension={self.dimension}{fixed})"

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; ``output`` is the projection."""
        size = self.dimension + self.fixed
        shapes = super().shapes(n_types, longest)
        shapes |= {"words": (n_types, self.dimension), "output": (size, self.width)}
        shapes["layer 0 input"] = (4 * self.width, size)
        return shapes | ({FIXED: (n_types, self.fixed)} if self.fixed else {})

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        """Return the embeddings, shape (V, dimension + fixed), and the bias, (V,)."""
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
    """Return the embeddings: learnt, then fixed dimensions."""
    import torch

    return torch.cat((weights["words"], weights[FIXED]), 1) if FIXED in weights else weights["words"]
