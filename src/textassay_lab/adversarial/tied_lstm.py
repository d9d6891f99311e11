"""LSTM with tied embeddings, part of them fixed: the generator of ScratchGAN.

An embedding is learnt dimensions joined to fixed ones (such as GloVe). The output of the last layer, projected to that
space, is multiplied with all embeddings.

Sources: Press, Wolf, "Using the Output Embedding to Improve Language Models", EACL 2017 (one table for both); de Masson
d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019 (the join, the projection).
"""

from typing import Any

import torch
from torch import Tensor, nn

from textassay_lab.adversarial.scratchgan import TiedLstmSettings
from textassay_lab.generator.lstm_model import LstmModel, LstmNetwork
from textassay_lab.generator.module import State


class TiedLstmNetwork(LstmNetwork):
    """An LSTM whose output layer has the embeddings."""

    def add_head(self, n_types: int) -> None:
        """Add the projection to the space of the embeddings, and the bias of the output layer."""
        size = self.layers[0].weight_ih.shape[1]
        self.projection = nn.Linear(self.width, size, bias=False)
        self.head = nn.ParameterDict({"bias": torch.empty(n_types)})
        fixed = size - self.embedding.embedding_dim
        self.fixed: Any = nn.Embedding(n_types, fixed) if fixed else None

    def embedded(self, tokens: Tensor) -> Tensor:
        return nn.functional.embedding(tokens, self._joined())

    def run_vectors(self, vectors: Tensor, state: State, rng: torch.Generator | None) -> tuple[Tensor, State]:
        vectors, state = super().run_vectors(vectors, state, rng)
        return vectors @ self.projection.weight.to(vectors.dtype).T, state

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self._joined(), self.head["bias"]

    def _joined(self) -> Tensor:
        """Return the embeddings, shape (V, dimension + fixed): learnt, then fixed dimensions."""
        learnt = self.embedding.weight
        return learnt if self.fixed is None else torch.cat((learnt, self.fixed.weight), 1)


class TiedLstm(TiedLstmSettings, LstmModel):
    """LSTM language model with tied embeddings; a `LanguageModel`. Needs the extra ``neural``."""

    kind = "tied-lstm"

    @property
    def _title(self) -> str:
        common = super()._title.removeprefix("lstm(").removesuffix(")")
        common = common.replace(f", embedding={self.embedding_width}", "")
        fixed = f", fixed={self.fixed_width}" if self.fixed_width else ""
        return f"{self.kind}({common}, dimension={self.embedding_width}{fixed})"

    def new_module(self, n_types: int, longest: int) -> TiedLstmNetwork:
        """Return the network; `longest` does not matter."""
        return TiedLstmNetwork(n_types, **self.network_settings, embedding=(self.embedding_width, self.fixed_width))
