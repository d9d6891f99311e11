"""Transformer-XL: a transformer with segment-level recurrence and relative positions.

It reads running text in segments; hidden states of earlier segments are its memory, through which no gradient flows.
Attention depends on distances, not on absolute positions, so that the memory stays valid.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019; settings and
numbers of weights as in its authors' script for WikiText-103. Random resets of the memory are from He et al.,
"Quantifying Exposure Bias for Neural Language Generation", appendix D: without them, tokens with a short context are
rare in training, and the model is bad at the first tokens of a sample.
Departs from it: attention reaches no farther than in training; no text is left over where its length is no multiple of
the batch; initial weights are larger in narrower networks, so that sums are as large.
Names of weights are those of saved models.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from textassay.corpus import PAD, SPECIAL_TOKENS, Corpus
from textassay.errors import OptionError, check_range
from textassay.generator.adaptive_softmax import Clusters
from textassay.generator.fitted_network import MAX_LAYERS
from textassay.generator.lessons import Lessons
from textassay.generator.network import NetworkLanguageModel
from textassay.generator.reader import Weights
from textassay.generator.relative_attention import relative_attention_output
from textassay.generator.running_text import Segment, running, segments, streams
from textassay.generator.scoring import log_probs_of
from textassay.training import Recipe, dropped, threads

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]

_INIT_STD, _AT_WIDTH = 0.02, 410  # standard deviation of initial weights in the authors' script, and its width
_EPSILON = 1e-5  # added to variances in layer norm
_SLOWEST = 10_000.0  # wave lengths of position encodings go from 2 pi to 2 pi times this
_FIRST_CACHE = 16  # positions of a new key-value cache; doubled when it is full


class TransformerXlModel(NetworkLanguageModel):
    """Transformer-XL language model; a `LanguageModel`. Needs the extra ``neural``.

    As a `LanguageModel` it reads each sentence with an empty memory; `running_log_probs` reads running text.
    """

    kind: ClassVar[str] = "transformer-xl"

    def __init__(
        self,
        width: int = 256,
        *,
        inner: int = 1024,
        layers: int = 4,
        heads: int = 4,
        dropout: float = 0.1,
        segment: int = 64,
        memory: int = 64,
        emptied: float = 0.03,
        cutoffs: tuple[int, ...] = (),
        recipe: Recipe,
        batch_size: int = 32,
        max_length: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__(recipe, batch_size=batch_size, max_length=max_length, seed=seed)
        for setting, value in {"inner": inner, "heads": heads, "segment": segment}.items():
            check_range(setting, value, 1)
        check_range("layers", layers, 1, MAX_LAYERS)
        check_range("memory", memory, 0)
        if width < 1 or width % heads != 0 or width % 2 != 0:
            raise OptionError(f"width must be even and a multiple of heads, {heads}, got {width}")
        if not 0 <= dropout < 1:
            raise OptionError(f"dropout must be at least 0 and below 1, got {dropout}")
        if not 0 <= emptied <= 1:
            raise OptionError(f"emptied must be at least 0 and at most 1, got {emptied}")
        rising = sorted({len(SPECIAL_TOKENS) - 1, *cutoffs})
        if rising[1:] != list(cutoffs):
            raise OptionError(f"cutoffs must rise, from {len(SPECIAL_TOKENS)} on, got {list(cutoffs)}")
        self.width = width
        self.inner = inner
        self.layers = layers
        self.heads = heads
        self.dropout = dropout
        self.segment = segment
        self.memory = memory
        self.emptied = emptied
        self.cutoffs = tuple(cutoffs)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("width", "inner", "layers", "heads", "dropout", "segment", "memory", "emptied", "batch_size", "seed")
        own = {name: getattr(self, name) for name in names}
        return {
            **own,
            "cutoffs": list(self.cutoffs),
            "max_length": self.max_length,
            "recipe": asdict(self.recipe),
        }

    @property
    def span(self) -> int | None:
        """Most tokens that a token attends to, itself included; None for all of its sentence."""
        return self.memory + self.segment if self.memory else None

    @property
    def _title(self) -> str:
        return (
            f"transformer-xl(width={self.width}, inner={self.inner}, layers={self.layers}, heads={self.heads}, "
            f"segment={self.segment}, memory={self.memory})"
        )

    def shapes(self, n_types: int, longest: int) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the weights; `longest` does not matter."""
        width, per_head = self.width, (self.heads, self.width // self.heads)
        shapes: dict[str, tuple[int, ...]] = {"words": (n_types, width), "output bias": (n_types,)}
        n_clusters = sum(cutoff < n_types for cutoff in self.cutoffs)
        if n_clusters:
            shapes |= {"clusters": (n_clusters, width), "cluster bias": (n_clusters,)}
        shapes |= {"content": per_head, "distance": per_head}  # biases of the queries
        for layer in range(self.layers):
            parts: dict[str, tuple[int, ...]] = {"query": (width, width), "key value": (2 * width, width)}
            parts |= {"distances": (width, width), "mix": (width, width)}
            parts |= {"heard scale": (width,), "heard bias": (width,)}
            parts |= {"inner": (self.inner, width), "inner bias": (self.inner,)}
            parts |= {"outer": (width, self.inner), "outer bias": (width,)}
            parts |= {"thought scale": (width,), "thought bias": (width,)}
            shapes |= {f"layer {layer} {name}": shape for name, shape in parts.items()}
        return shapes

    def new_weights(self, shapes: Mapping[str, tuple[int, ...]], rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return initial weights."""
        import torch

        weights = {}
        std = _INIT_STD * (_AT_WIDTH / self.width) ** 0.5
        for name, shape in shapes.items():
            weights[name] = torch.zeros(shape)
            if name.endswith("scale"):
                weights[name].normal_(1.0, _INIT_STD, generator=rng)
            elif not name.endswith("bias"):
                weights[name].normal_(0.0, std, generator=rng)
        return weights

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor | None]":
        """Return the embeddings, to which the output layer is tied, and its bias."""
        return weights["words"], weights["output bias"]

    def output_layer(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the output layer; raise where it is an adaptive softmax."""
        if "clusters" in weights:
            raise OptionError(f"{self.name} has an adaptive softmax and no single output layer: use its logits")
        return super().output_layer(weights)

    def loss(self, weights: "Mapping[str, Tensor]", vectors: "Tensor", targets: "Tensor") -> "Tensor":
        """Return the mean cross-entropy of the types `targets`, (N,), after hidden states (N, width)."""
        if "clusters" in weights:
            return self._clusters(weights).loss(vectors, targets)
        return super().loss(weights, vectors, targets)

    def plain_logits(self, weights: "Mapping[str, Tensor]", vectors: "Tensor") -> "Tensor":
        """Return the logits at temperature 1, (B, V)."""
        if "clusters" in weights:
            return self._clusters(weights).log_probs(vectors)
        return super().plain_logits(weights, vectors)

    def read(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the hidden state after each token, shape (B, L, width)."""
        return self._run(weights, tokens, None, rng)[0]

    def begin(self, weights: "Mapping[str, Tensor]", n: int) -> "tuple[Tensor, ...]":
        """Return an empty cache: keys and values of each layer, 2 x layers parts of shape (B, heads, places, size)."""
        shape = (n, self.heads, _FIRST_CACHE, self.width // self.heads)
        return tuple(weights["words"].new_zeros(shape) for _ in range(2 * self.layers))

    def step(
        self, weights: "Mapping[str, Tensor]", state: "tuple[Tensor, ...]", tokens: "Tensor", position: int
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        """Return the hidden state after the token at `position`, shape (B, width), and the extended cache."""
        import torch

        if position == state[0].shape[2]:
            state = tuple(torch.nn.functional.pad(part, (0, 0, 0, position)) for part in state)
        first = 0 if self.span is None else max(0, position + 1 - self.span)
        vectors = self._embedded(weights, tokens[:, None], None)
        encodings = self._distance_encodings(position + 1 - first, vectors)
        for layer in range(self.layers):
            kept = state[2 * layer : 2 * layer + 2]
            for part, new in zip(kept, self._keys_and_values(weights, layer, vectors), strict=True):
                part[:, :, position] = new[:, :, 0]
            key, value = (part[:, :, first : position + 1] for part in kept)
            vectors = self._layer(weights, layer, vectors, key, value, encodings, None)
        return vectors[:, 0], state

    def running_log_probs(self, corpus: Corpus, *, reset_memory: bool = False) -> FloatArray:
        """Return the log-probability of each token and end of running text, as `token_log_probs`, shape (T + N,).

        `reset_memory`: whether the memory is reset before each segment.
        """
        import torch

        weights = self.working_weights()
        inputs, targets = running(self._tokens(corpus), corpus.offsets)
        device = weights["words"].device
        scores = np.empty(len(inputs))
        memory: list[Tensor] = []
        parts = segments(len(inputs), segment=self.segment, memory=self.memory, reset_prob=float(reset_memory))
        with threads(), torch.no_grad():
            for part in parts:
                tokens = torch.from_numpy(inputs[None, part.start : part.stop]).to(device)
                vectors, layers = self._run(weights, tokens, memory if part.remembered else None, None)
                memory = _joined(memory if part.remembered else [], layers, self.memory)
                wanted = torch.from_numpy(targets[part.start : part.stop]).to(device)
                logits = self.logits(weights, vectors[0]).float()
                scores[part.start : part.stop] = log_probs_of(logits, wanted).cpu().numpy()
        return scores

    def lessons(self, train: Corpus, weights: Weights, *, batch_size: int, seed: int) -> Lessons:
        """Return segments of `batch_size` streams of the text, in order; the memory is carried between them."""
        import torch

        if self.memory == 0:
            return super().lessons(train, weights, batch_size=batch_size, seed=seed)
        inputs, targets = streams(train.tokens, train.offsets, batch_size)
        kept = {
            f"memory {layer}": weights["words"].new_zeros(len(inputs), self.memory, self.width)
            for layer in range(self.layers)
        }

        def loss(part: Segment, rng: "torch.Generator") -> "Tensor":
            wanted = targets[:, part.start : part.stop]
            inside = wanted != PAD
            tokens = torch.from_numpy(inputs[:, part.start : part.stop]).to(rng.device)
            memory = [each[:, self.memory - part.remembered :] for each in kept.values()]
            vectors, layers = self._run(weights, tokens, memory, rng)
            for each, new in zip(kept.values(), _joined(memory, layers, self.memory), strict=True):
                each[:, self.memory - new.shape[1] :] = new
            rows = vectors[torch.from_numpy(inside).to(rng.device)]
            return self.loss(weights, rows, torch.from_numpy(wanted[inside]).to(rng.device))

        def batches(epoch: int) -> list[Segment]:
            length = inputs.shape[1]
            return segments(
                length, segment=self.segment, memory=self.memory, reset_prob=self.emptied, seed=seed, epoch=epoch
            )

        return Lessons(
            batches=batches,
            loss=loss,
            size=lambda part: int((targets[:, part.start : part.stop] != PAD).sum()),
            heaviest=Segment(0, min(self.segment, inputs.shape[1]), self.memory),
            carried=kept,
        )

    def _clusters(self, weights: "Mapping[str, Tensor]") -> Clusters:
        matrix, bias = super().output_layer(weights)
        cutoffs = self.cutoffs[: len(weights["clusters"])]
        return Clusters(matrix, bias, weights["clusters"], weights["cluster bias"], cutoffs)

    def _run(
        self,
        weights: "Mapping[str, Tensor]",
        tokens: "Tensor",
        memory: "list[Tensor] | None",
        rng: "torch.Generator | None",
    ) -> "tuple[Tensor, list[Tensor]]":
        """Return the hidden states after each token, (B, L, width), and the input of each layer, for the memory."""
        import torch

        vectors = self._embedded(weights, tokens, rng)
        n_before = memory[0].shape[1] if memory else 0
        encodings = dropped(self._distance_encodings(n_before + tokens.shape[1], vectors), self.dropout, rng)
        layers = []
        for layer in range(self.layers):
            layers.append(vectors.detach())
            joint = torch.cat([memory[layer].to(vectors.dtype), vectors], 1) if memory else vectors
            key, value = self._keys_and_values(weights, layer, joint)
            vectors = self._layer(weights, layer, vectors, key, value, encodings, rng)
        return dropped(vectors, self.dropout, rng), layers

    def _embedded(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None") -> "Tensor":
        import torch

        return dropped(torch.nn.functional.embedding(tokens, weights["words"]) * self.width**0.5, self.dropout, rng)

    def _distance_encodings(self, n: int, like: "Tensor") -> "Tensor":
        """Return the sinusoidal encodings of the distances n - 1 to 0, shape (n, width)."""
        import torch

        rates = _SLOWEST ** (-torch.arange(0, self.width, 2, device=like.device) / self.width)
        angles = torch.arange(n - 1, -1, -1, device=like.device)[:, None] * rates
        return torch.cat([angles.sin(), angles.cos()], 1).to(like.dtype)

    def _keys_and_values(self, weights: "Mapping[str, Tensor]", layer: int, vectors: "Tensor") -> "tuple[Tensor, ...]":
        """Return keys and values, each of shape (B, heads, L, size)."""
        import torch

        joint = torch.nn.functional.linear(vectors, weights[f"layer {layer} key value"])
        batch, length, _ = joint.shape
        return joint.view(batch, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def _layer(
        self,
        weights: "Mapping[str, Tensor]",
        layer: int,
        vectors: "Tensor",
        key: "Tensor",
        value: "Tensor",
        encodings: "Tensor",
        rng: "torch.Generator | None",
    ) -> "Tensor":
        """Return the output of a layer for `vectors`, (B, L, width), the last of the K tokens of `key` and `value`."""
        import torch

        functional = torch.nn.functional

        def part(name: str) -> "Tensor":
            return weights[f"layer {layer} {name}"]

        def layer_norm(sums: "Tensor", name: str) -> "Tensor":
            return functional.layer_norm(sums, (self.width,), part(f"{name} scale"), part(f"{name} bias"), _EPSILON)

        batch, length, _ = vectors.shape
        n_keys = key.shape[2]
        query = functional.linear(vectors, part("query")).view(batch, length, self.heads, -1).transpose(1, 2)
        distances = functional.linear(encodings, part("distances")).view(n_keys, self.heads, -1).transpose(0, 1)
        attention_output = relative_attention_output(
            query, key, value, distances, content=weights["content"], distance=weights["distance"], span=self.span
        )
        joined = attention_output.transpose(1, 2).reshape(batch, length, -1)
        vectors = layer_norm(vectors + dropped(functional.linear(joined, part("mix")), self.dropout, rng), "heard")
        hidden = dropped(
            functional.relu(functional.linear(vectors, part("inner"), part("inner bias"))), self.dropout, rng
        )
        mlp_output = functional.linear(hidden, part("outer"), part("outer bias"))
        return layer_norm(vectors + dropped(mlp_output, self.dropout, rng), "thought")


def _joined(memory: "list[Tensor]", layers: "list[Tensor]", memory_length: int) -> "list[Tensor]":
    """Return the memory of each layer, its last `memory_length` inputs, shape (B, up to `memory_length`, width)."""
    import torch

    before = memory or [layer[:, :0] for layer in layers]
    return [
        torch.cat([old, new], 1)[:, max(0, old.shape[1] + new.shape[1] - memory_length) :]
        for old, new in zip(before, layers, strict=True)
    ]
