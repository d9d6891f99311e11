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
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.errors import MissingExtraError, OptionError, check_range
from textassay.generator.fitted_network import MAX_LAYERS
from textassay.generator.network import NetworkLanguageModel
from textassay.training import Recipe, dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import GPT2LMHeadModel


_INIT_STD = 0.02  # standard deviation of initial weights (the source)
_POSITION_INIT_STD = 0.01
MLP_RATIO = 4
_EPSILON = 1e-5  # added to variances in layer norm
_FIRST_CACHE = 16  # positions of a new key-value cache; doubled when it is full


class Gpt2Model(NetworkLanguageModel):
    """GPT-2 language model, trained from scratch; a `LanguageModel`. Needs the extra ``neural``."""

    kind: ClassVar[str] = "gpt2"

    def __init__(
        self,
        width: int = 256,
        *,
        layers: int = 4,
        heads: int = 4,
        dropout: float = 0.1,
        positions: int | None = None,
        recipe: Recipe,
        batch_size: int = 128,
        max_length: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(recipe, batch_size=batch_size, max_length=max_length, seed=seed)
        check_range("layers", layers, 1, MAX_LAYERS)
        check_range("heads", heads, 1)
        check_range("positions", positions, 2)
        if width < 1 or width % heads != 0:
            raise OptionError(f"width must be a multiple of heads, {heads}, got {width}")
        if not 0 <= dropout < 1:
            raise OptionError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.width = width
        self.layers = layers
        self.heads = heads
        self.dropout = dropout
        self.positions = positions

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("width", "layers", "heads", "dropout", "positions", "batch_size", "max_length", "seed")
        return {**{name: getattr(self, name) for name in names}, "recipe": asdict(self.recipe)}

    @property
    def _title(self) -> str:
        return f"gpt2(width={self.width}, layers={self.layers}, heads={self.heads})"

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; without `positions`, they are one more than `longest`."""
        width = self.width
        shapes: dict[str, tuple[int, ...]] = {
            "transformer.wte.weight": (n_types, width),
            "transformer.wpe.weight": (self.positions or longest + 1, width),
        }
        for layer in range(self.layers):
            block = f"transformer.h.{layer}"
            for part, shape in {
                "ln_1": (width,),
                "attn.c_attn": (width, 3 * width),
                "attn.c_proj": (width, width),
                "ln_2": (width,),
                "mlp.c_fc": (width, MLP_RATIO * width),
                "mlp.c_proj": (MLP_RATIO * width, width),
            }.items():
                shapes[f"{block}.{part}.weight"] = shape
                shapes[f"{block}.{part}.bias"] = shape[-1:]
        return {**shapes, "transformer.ln_f.weight": (width,), "transformer.ln_f.bias": (width,)}

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        import torch

        weights = {}
        for name, shape in shapes.items():
            if name.endswith("bias"):
                weights[name] = torch.zeros(shape)
            elif len(shape) == 1:
                weights[name] = torch.ones(shape)
            else:
                std = _POSITION_INIT_STD if "wpe" in name else _INIT_STD
                weights[name] = torch.empty(shape).normal_(0.0, std, generator=rng)
        return weights

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor | None]":
        """Return the embeddings, to which the output layer is tied, and no bias."""
        return weights["transformer.wte.weight"], None

    def longest(self, weights: "Mapping[str, Tensor]") -> int | None:
        """Return how many tokens a sentence may have at most: one less than there are positions."""
        return len(weights["transformer.wpe.weight"]) - 1

    def read(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the hidden state after each token, shape (B, L, width)."""
        return self._run(weights, tokens, 0, None, rng)

    def begin(self, weights: "Mapping[str, Tensor]", n: int) -> "tuple[Tensor, ...]":
        """Return an empty cache: keys and values of each layer, 2 x layers parts of shape (B, heads, places, size)."""
        shape = (n, self.heads, _FIRST_CACHE, self.width // self.heads)
        return tuple(weights["transformer.wte.weight"].new_zeros(shape) for _ in range(2 * self.layers))

    def step(
        self, weights: "Mapping[str, Tensor]", state: "tuple[Tensor, ...]", tokens: "Tensor", position: int
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        """Return the hidden state after the token at `position`, shape (B, width), and the extended cache."""
        import torch

        if position == state[0].shape[2]:
            state = tuple(torch.nn.functional.pad(part, (0, 0, 0, position)) for part in state)
        return self._run(weights, tokens[:, None], position, state, None)[:, 0], state

    def as_transformers(self) -> "GPT2LMHeadModel":
        """Return a copy as a model of the library transformers."""
        try:
            from transformers import GPT2Config, GPT2LMHeadModel
        except ImportError:
            raise MissingExtraError("a model of transformers", "neural") from None
        from textassay.corpus import EOS, PAD, SOS

        config = GPT2Config(
            vocab_size=len(self.vocabulary),
            n_positions=len(self.weights["transformer.wpe.weight"]),
            n_embd=self.width,
            n_layer=self.layers,
            n_head=self.heads,
            activation_function="gelu_new",
            resid_pdrop=self.dropout,
            embd_pdrop=self.dropout,
            attn_pdrop=self.dropout,
            layer_norm_epsilon=_EPSILON,
            bos_token_id=SOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
        )
        model = GPT2LMHeadModel(config)
        tied = {"lm_head.weight": self.weights["transformer.wte.weight"]}
        model.load_state_dict({**self.weights, **tied})
        model.train(False)
        return model

    def _run(
        self,
        weights: "Mapping[str, Tensor]",
        tokens: "Tensor",
        position: int,
        cache: "tuple[Tensor, ...] | None",
        rng: "torch.Generator | None",
    ) -> "Tensor":
        import torch

        functional = torch.nn.functional

        def part(name: str) -> "Tensor":
            return weights[f"transformer.{name}"]

        def layer_norm(vectors: "Tensor", name: str) -> "Tensor":
            scale, shift = part(f"{name}.weight"), part(f"{name}.bias")
            return functional.layer_norm(vectors, (self.width,), scale, shift, _EPSILON)

        def linear(vectors: "Tensor", name: str) -> "Tensor":
            return functional.linear(vectors, part(f"{name}.weight").t(), part(f"{name}.bias"))

        positions = part("wpe.weight")[position : position + tokens.shape[1]]
        vectors = dropped(functional.embedding(tokens, part("wte.weight")) + positions, self.dropout, rng)
        for layer in range(self.layers):
            block = f"h.{layer}"
            qkv = linear(layer_norm(vectors, f"{block}.ln_1"), f"{block}.attn.c_attn")  # (batch, length, 3 width)
            layer_cache = None if cache is None else cache[2 * layer : 2 * layer + 2]
            attention_output = linear(self._attention(qkv, position, layer_cache, rng), f"{block}.attn.c_proj")
            vectors = vectors + dropped(attention_output, self.dropout, rng)
            hidden = linear(layer_norm(vectors, f"{block}.ln_2"), f"{block}.mlp.c_fc")  # (batch, length, 4 width)
            mlp_output = linear(functional.gelu(hidden, approximate="tanh"), f"{block}.mlp.c_proj")
            vectors = vectors + dropped(mlp_output, self.dropout, rng)
        return layer_norm(vectors, "ln_f")

    def _attention(
        self, qkv: "Tensor", position: int, cache: "tuple[Tensor, ...] | None", rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the output of causal self-attention, shape (batch, length, width), from queries, keys and values."""
        import torch

        batch, length, _ = qkv.shape
        parts = qkv.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (3, batch, heads, length, size)
        query, key, value = parts.unbind(0)
        if cache is not None:
            for kept, new in zip(cache, (key, value), strict=True):
                kept[:, :, position] = new[:, :, 0]
            key, value = (kept[:, :, : position + 1] for kept in cache)
        if rng is None or self.dropout == 0:
            causal = cache is None
            attention_output = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        else:
            scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])  # (batch, heads, length, length)
            future = torch.ones(length, length, dtype=torch.bool, device=qkv.device).triu(1)
            attention_weights = torch.softmax(scores.masked_fill(future, -math.inf), -1)
            attention_output = dropped(attention_weights, self.dropout, rng).to(value.dtype) @ value
        return attention_output.transpose(1, 2).reshape(batch, length, -1)
