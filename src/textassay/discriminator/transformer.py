"""A small transformer that tells real from generated sentences, from scratch or pre-trained as a language model.

Pre-training predicts each next word of both sides' training sentences, without saying which side they are from; the
same layers then learn to judge. Attention looks back only, so that both tasks read a sentence in the same way.

Sources: Vaswani et al., "Attention Is All You Need", NeurIPS 2017; Radford et al., "Improving Language Understanding by
Generative Pre-Training", 2018.
Departs from them: layer norms stand before the layers, and the mean, the maximum and the last vector are judged.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from textassay.discriminator.network import WordNetworkDiscriminator, seeded
from textassay.discriminator.padding import padded_words, pooled
from textassay.discriminator.word_rows import PAD, Sentences, WordRows
from textassay.training import Recipe, dropped, train

if TYPE_CHECKING:
    import torch
    from torch import Tensor


JUDGING = Recipe(max_epochs=6, learning_rate=1e-3, averaging=0.99, max_norm=1.0)
PRETRAINING = Recipe(max_epochs=4, learning_rate=2e-3, schedule="linear", max_norm=1.0)

_WIDTH = 64
_LAYERS = 2
_HEADS = 4
_DROPOUT = 0.1


class TransformerDiscriminator(WordNetworkDiscriminator):
    """Small transformer; needs the extra ``neural``."""

    def __init__(
        self,
        *,
        pretraining: Recipe | None = None,
        recipe: Recipe = JUDGING,
        batch_size: int = 256,
        min_sentences: int = 2,
        seed: int = 0,
    ) -> None:
        self.pretraining = pretraining
        super().__init__(recipe, batch_size=batch_size, min_sentences=min_sentences, seed=seed)

    @property
    def name_of_kind(self) -> str:
        """``transformer``, or ``transformer-pretrained``."""
        return "transformer" if self.pretraining is None else "transformer-pretrained"

    @property
    def network(self) -> str:
        """The layers, and how they are pre-trained."""
        before = self.pretraining
        pretrained = "" if before is None else f", {before.max_epochs} epochs of words at {before.learning_rate:g}"
        return f"{_WIDTH}-d, {_LAYERS} layers of {_HEADS} heads, dropout {_DROPOUT}{pretrained}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin; those of a layer's exit are small, so that it adds little."""
        import torch

        def normal(*shape: int, scale: float = 1.0) -> "Tensor":
            return torch.nn.init.normal_(torch.empty(shape), std=scale / math.sqrt(shape[-1]), generator=rng)

        weights = {"words": normal(encoder.n_rows, _WIDTH)}
        exits = 1 / math.sqrt(2 * _LAYERS)
        for layer in range(_LAYERS):
            weights[f"layer {layer} attention"] = normal(3 * _WIDTH, _WIDTH)
            weights[f"layer {layer} attention exit"] = normal(_WIDTH, _WIDTH, scale=exits)
            weights[f"layer {layer} wide"] = normal(4 * _WIDTH, _WIDTH)
            weights[f"layer {layer} wide bias"] = torch.zeros(4 * _WIDTH)
            weights[f"layer {layer} wide exit"] = normal(_WIDTH, 4 * _WIDTH, scale=exits)
            weights[f"layer {layer} wide exit bias"] = torch.zeros(_WIDTH)
            for part in ("attention", "wide"):
                weights[f"layer {layer} {part} norm"] = torch.ones(_WIDTH)
        weights["norm"] = torch.ones(_WIDTH)
        weights["next bias"] = torch.zeros(encoder.n_rows)
        weights["output"] = normal(1, 3 * _WIDTH)
        weights["output bias"] = torch.zeros(1)
        return weights

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        import torch

        words, inside = padded_words(sentences, weights["words"].device)
        vectors = _read(weights, words, rng)
        last = vectors[torch.arange(len(words), device=words.device), inside.sum(1) - 1]
        hidden = dropped(torch.cat([*pooled(vectors, inside), last], 1), _DROPOUT, rng)
        odds: Tensor = torch.nn.functional.linear(hidden, weights["output"], weights["output bias"])[:, 0]
        return odds

    def pretrain(
        self, weights: "Mapping[str, Tensor]", sides: tuple[Sentences, Sentences], seed: int
    ) -> dict[str, Any]:
        """Teach the layers to predict words, for as many epochs as asked; the last is kept."""
        import torch

        if self.pretraining is None:
            return {}
        device = weights["words"].device

        def loss(rows: "tuple[Any, Any]", rng: "torch.Generator") -> "Tensor":
            chosen = Sentences.concatenate([side.take(part) for side, part in zip(sides, rows, strict=True)])
            words, inside = padded_words(chosen, device)
            begun = torch.nn.functional.pad(words[:, :-1], (1, 0), value=PAD)  # padding begins and ends a sentence
            vectors = _read(weights, begun, rng)[inside]
            logits = torch.nn.functional.linear(vectors, weights["words"], weights["next bias"])
            return torch.nn.functional.cross_entropy(logits, words[inside])

        n_scored = 0

        def score() -> float:
            nonlocal n_scored
            n_scored += 1
            return n_scored

        learnt = {name: weight for name, weight in weights.items() if not name.startswith("output")}
        batches = seeded(len(sides[0]), len(sides[1]), self.batch_size, seed)
        history = train(learnt, batches=batches, loss=loss, score=score, recipe=self.pretraining, seed=seed)
        return {"pretraining_losses": [epoch.loss for epoch in history.epochs]}


def _read(weights: "Mapping[str, Tensor]", words: "Tensor", rng: "torch.Generator | None") -> "Tensor":
    """Return the vector of each word after the last layer, shape (N, length, width)."""
    import torch
    from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

    n, length = words.shape
    places = _places(length).to(weights["words"].device)
    vectors = math.sqrt(_WIDTH) * torch.nn.functional.embedding(words, weights["words"]) + places
    vectors = dropped(vectors, _DROPOUT, rng)
    for layer in range(_LAYERS):
        normed = layer_norm(vectors, (_WIDTH,), weights[f"layer {layer} attention norm"])
        parts = (
            linear(normed, weights[f"layer {layer} attention"]).view(n, length, 3, _HEADS, -1).permute(2, 0, 3, 1, 4)
        )
        seen = scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)  # (n, heads, length, part)
        seen = linear(seen.transpose(1, 2).reshape(n, length, _WIDTH), weights[f"layer {layer} attention exit"])
        vectors = vectors + dropped(seen, _DROPOUT, rng)
        normed = layer_norm(vectors, (_WIDTH,), weights[f"layer {layer} wide norm"])
        wide = gelu(linear(normed, weights[f"layer {layer} wide"], weights[f"layer {layer} wide bias"]))
        exits = linear(wide, weights[f"layer {layer} wide exit"], weights[f"layer {layer} wide exit bias"])
        vectors = vectors + dropped(exits, _DROPOUT, rng)
    return layer_norm(vectors, (_WIDTH,), weights["norm"])


def _places(length: int) -> "Tensor":
    """Return a vector for each place in a sentence, sines and cosines of falling frequency, shape (length, width)."""
    import torch

    angles = np.arange(length)[:, None] * 10_000.0 ** (-np.arange(0, _WIDTH, 2) / _WIDTH)
    return torch.from_numpy(np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32))
