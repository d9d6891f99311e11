"""GPT-2 language models: a causal transformer.

Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019: learned positions, layer norm
before each block's parts, tanh-approximated GELU, the output layer tied to the embeddings. Weights have the names and
shapes of transformers' `GPT2LMHeadModel`, and its outputs are equal (`Gpt2Model.as_transformers`, which a test
compares). We do not use the library's model because it draws dropout from the global random state, and its cache is
copied at every step.
Departs from it: a sentence that fills all positions has ended, with certainty, so that probabilities sum to 1.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from textassay.errors import MissingExtraError
from textassay_lab.generator.gpt2 import Gpt2Settings
from textassay_lab.generator.module import SentenceNetwork, State, dropped
from textassay_lab.generator.network import NetworkLanguageModel

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel


_INIT_STD = 0.02  # standard deviation of initial weights (the source)
_POSITION_INIT_STD = 0.01
MLP_RATIO = 4
_FIRST_CACHE = 16  # positions of a new key-value cache; doubled when it is full

Cache = tuple[Tensor, Tensor]  # keys and values, each of shape (B, heads, places, size)


class Conv1D(nn.Module):
    """A linear layer whose matrix is transposed, as in the code of GPT-2's authors."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_inputs, n_outputs))
        self.bias = nn.Parameter(torch.empty(n_outputs))

    def forward(self, vectors: Tensor) -> Tensor:
        return nn.functional.linear(vectors, self.weight.t(), self.bias)


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)
        self.heads, self.dropout = heads, dropout

    def forward(self, vectors: Tensor, position: int, cache: Cache | None, rng: torch.Generator | None) -> Tensor:
        batch, length, width = vectors.shape
        qkv = self.c_attn(vectors).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, size)
        if cache is not None:
            for kept, new in zip(cache, (key, value), strict=True):
                kept[:, :, position] = new[:, :, 0]
            key, value = (kept[:, :, : position + 1] for kept in cache)
        if rng is None or self.dropout == 0:
            attend = nn.functional.scaled_dot_product_attention
            attention_output = attend(query, key, value, is_causal=cache is None)
        else:  # dropout of our own
            scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])  # (batch, heads, length, length)
            future = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
            attention_weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
            attention_output = dropped(attention_weights, self.dropout, rng).to(value.dtype) @ value
        joined: Tensor = self.c_proj(attention_output.transpose(1, 2).reshape(batch, length, width))
        return joined


class Mlp(nn.Module):
    """The feed-forward layers of a block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_fc = Conv1D(width, MLP_RATIO * width)
        self.c_proj = Conv1D(MLP_RATIO * width, width)

    def forward(self, vectors: Tensor) -> Tensor:
        mlp_output: Tensor = self.c_proj(nn.functional.gelu(self.c_fc(vectors), approximate="tanh"))
        return mlp_output


class Block(nn.Module):
    """Attention and feed-forward layers, each after a layer norm, each added to what came in."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)
        self.dropout = dropout

    def forward(self, vectors: Tensor, position: int, cache: Cache | None, rng: torch.Generator | None) -> Tensor:
        attention_output = self.attn(self.ln_1(vectors), position, cache, rng)
        vectors = vectors + dropped(attention_output, self.dropout, rng)
        return vectors + dropped(self.mlp(self.ln_2(vectors)), self.dropout, rng)


class Gpt2Network(SentenceNetwork):
    """The network; `positions` are one more than the tokens of the longest sentence."""

    def __init__(self, n_types: int, positions: int, *, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__(longest=positions - 1)
        blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        embeddings = {"wte": nn.Embedding(n_types, width), "wpe": nn.Embedding(positions, width)}
        self.transformer: Any = nn.ModuleDict({**embeddings, "h": blocks, "ln_f": nn.LayerNorm(width)})
        self.heads, self.dropout = heads, dropout

    def initialise(self, rng: torch.Generator) -> None:
        for name, weight in self.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
            elif weight.ndim == 1:
                weight.fill_(1.0)
            else:
                weight.normal_(0.0, _POSITION_INIT_STD if "wpe" in name else _INIT_STD, generator=rng)

    def forward(
        self, tokens: Tensor, rng: torch.Generator | None = None, position: int = 0, cache: State | None = None
    ) -> Tensor:
        parts = self.transformer
        positions = parts.wpe.weight[position : position + tokens.shape[1]]
        vectors = dropped(parts.wte(tokens) + positions, self.dropout, rng)
        for layer, block in enumerate(parts.h):
            layer_cache = None if cache is None else (cache[2 * layer], cache[2 * layer + 1])
            vectors = block(vectors, position, layer_cache, rng)
        normed: Tensor = parts.ln_f(vectors)
        return normed

    def begin(self, n: int) -> State:
        weight = self.transformer.wte.weight
        shape = (n, self.heads, _FIRST_CACHE, weight.shape[1] // self.heads)
        return tuple(weight.new_zeros(shape) for _ in range(2 * len(self.transformer.h)))

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        if position == state[0].shape[2]:
            state = tuple(nn.functional.pad(part, (0, 0, 0, position)) for part in state)
        return self(tokens[:, None], None, position, state)[:, 0], state

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self.transformer.wte.weight, None  # tied to the embeddings


class Gpt2Model(Gpt2Settings, NetworkLanguageModel):
    """GPT-2 language model, trained from scratch; a `LanguageModel`. Needs the extra ``neural``."""

    kind = "gpt2"

    @property
    def _title(self) -> str:
        return f"gpt2(width={self.width}, layers={self.layers}, heads={self.heads})"

    def new_module(self, n_types: int, longest: int) -> Gpt2Network:
        """Return the network; without `positions`, they are one more than `longest`."""
        sizes = {"width": self.width, "layers": self.layers, "heads": self.heads}
        return Gpt2Network(n_types, self.positions or longest + 1, **sizes, dropout=self.dropout)

    def longest_in(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Return how many tokens a sentence may have at most: one less than there are positions."""
        return shapes["transformer.wpe.weight"][0] - 1

    def as_transformers(self) -> "GPT2LMHeadModel":
        """Return a copy as a model of the library transformers."""
        try:
            from transformers import GPT2Config, GPT2LMHeadModel
        except ImportError:
            raise MissingExtraError("a model of transformers", "neural") from None
        from textassay_lab.generator.gpt2_folder import gpt2_config

        weights = dict(self.module.named_parameters())
        model = GPT2LMHeadModel(GPT2Config(**gpt2_config(self)))
        model.load_state_dict({**weights, "lm_head.weight": weights["transformer.wte.weight"]})
        model.train(False)
        return model
