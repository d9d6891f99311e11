"""Transformer-XL: a transformer that reads running text in segments, remembers those before, and counts distances.

Positions are relative: what a token hears of another depends on how far apart they are, not on where they stand, so
that remembered vectors stay valid. Gradients end at the memory.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019; settings and
numbers of weights as in its authors' script for WikiText-103. Emptying the memory now and then is of He et al.,
"Quantifying Exposure Bias for Neural Language Generation", appendix D: without it, text with little before is rare in
training, and the model bad at the beginnings that samples grow from.
Departs from it: a token hears no other that is farther away than any was in training; nothing of the text is left over
where its length is no multiple of the batch; weights begin larger in narrower networks, so that sums are as large.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from textassay.corpus import PAD, SPECIAL_TOKENS, Corpus
from textassay.errors import OptionError, check_range
from textassay.network.adaptive_softmax import Clusters
from textassay.network.fitted_network import MAX_LAYERS
from textassay.network.lessons import Lessons
from textassay.network.network import NetworkLanguageModel
from textassay.network.reader import Weights
from textassay.network.relative_attention import heard
from textassay.network.running_text import Segment, running, segments, streams
from textassay.network.scoring import log_probs_of
from textassay.training import Recipe, dropped, threads

if TYPE_CHECKING:
    import torch
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]

_SPREAD, _AT_WIDTH = 0.02, 410  # standard deviation of weights as they begin, in the authors' script at its width
_EPSILON = 1e-5  # added to variances in layer norm
_SLOWEST = 10_000.0  # positions are sines and cosines of wave lengths from 2 pi to so many times as much
_FIRST_CACHE = 16  # places that are remembered to begin with; doubled when they are full


class TransformerXlModel(NetworkLanguageModel):
    """Transformer-XL language model; a `LanguageModel`. Needs the extra ``neural``.

    As a `LanguageModel` it reads each sentence with an empty memory; `running_log_probs` reads them one after another.
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
        """What its constructor was called with."""
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
        """How many tokens, itself included, a token can hear; None for all of its sentence."""
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
        shapes |= {"content": per_head, "distance": per_head}  # what each head listens for whatever the token
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
        """Return the weights as they begin."""
        import torch

        weights = {}
        spread = _SPREAD * (_AT_WIDTH / self.width) ** 0.5
        for name, shape in shapes.items():
            weights[name] = torch.zeros(shape)
            if name.endswith("scale"):
                weights[name].normal_(1.0, _SPREAD, generator=rng)
            elif not name.endswith("bias"):
                weights[name].normal_(0.0, spread, generator=rng)
        return weights

    def output(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor | None]":
        """Return the word vectors, to which the output layer is tied, and its bias."""
        return weights["words"], weights["output bias"]

    def output_layer(self, weights: "Mapping[str, Tensor]") -> "tuple[Tensor, Tensor]":
        """Return matrix and bias of the output layer; there is no such layer where there are clusters."""
        if "clusters" in weights:
            raise OptionError(f"{self.name} has an output layer of clusters: ask for its logits")
        return super().output_layer(weights)

    def loss(self, weights: "Mapping[str, Tensor]", vectors: "Tensor", wanted: "Tensor") -> "Tensor":
        """Return the mean cross-entropy of the types `wanted`, (N,), after vectors (N, width), to differentiate."""
        if "clusters" in weights:
            return self._clusters(weights).loss(vectors, wanted)
        return super().loss(weights, vectors, wanted)

    def plain_logits(self, weights: "Mapping[str, Tensor]", vectors: "Tensor") -> "Tensor":
        """Return the logits at temperature 1, (B, V)."""
        if "clusters" in weights:
            return self._clusters(weights).log_probs(vectors)
        return super().plain_logits(weights, vectors)

    def read(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the vector after each token, shape (B, L, width)."""
        return self._run(weights, tokens, None, rng)[0]

    def begin(self, weights: "Mapping[str, Tensor]", n: int) -> "tuple[Tensor, ...]":
        """Return empty memory: keys and values of each layer, 2 x layers parts of shape (B, heads, places, size)."""
        shape = (n, self.heads, _FIRST_CACHE, self.width // self.heads)
        return tuple(weights["words"].new_zeros(shape) for _ in range(2 * self.layers))

    def step(
        self, weights: "Mapping[str, Tensor]", state: "tuple[Tensor, ...]", tokens: "Tensor", position: int
    ) -> "tuple[Tensor, tuple[Tensor, ...]]":
        """Return the vector after the token at `position`, shape (B, width), and the memory it was added to."""
        import torch

        if position == state[0].shape[2]:
            state = tuple(torch.nn.functional.pad(part, (0, 0, 0, position)) for part in state)
        first = 0 if self.span is None else max(0, position + 1 - self.span)
        vectors = self._embedded(weights, tokens[:, None], None)
        waves = self._waves(position + 1 - first, vectors)
        for layer in range(self.layers):
            kept = state[2 * layer : 2 * layer + 2]
            for part, new in zip(kept, self._keys_and_values(weights, layer, vectors), strict=True):
                part[:, :, position] = new[:, :, 0]
            key, value = (part[:, :, first : position + 1] for part in kept)
            vectors = self._layer(weights, layer, vectors, key, value, waves, None)
        return vectors[:, 0], state

    def running_log_probs(self, corpus: Corpus, *, emptied: bool = False) -> FloatArray:
        """Return the log-probability of each token and end of running text, laid out as `token_log_probs`, (T + N,)."""
        import torch

        weights = self.working_weights()
        inputs, targets = running(self._tokens(corpus), corpus.offsets)
        device = weights["words"].device
        scores = np.empty(len(inputs))
        memory: list[Tensor] = []
        parts = segments(len(inputs), segment=self.segment, memory=self.memory, emptied=float(emptied))
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
        """Return segments of `batch_size` streams of the text, in order; a memory goes from each to the next."""
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
                length, segment=self.segment, memory=self.memory, emptied=self.emptied, seed=seed, epoch=epoch
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
        """Return the vectors after each token, (B, L, width), and what each layer read, which a memory is made of."""
        import torch

        vectors = self._embedded(weights, tokens, rng)
        n_before = memory[0].shape[1] if memory else 0
        waves = dropped(self._waves(n_before + tokens.shape[1], vectors), self.dropout, rng)
        layers = []
        for layer in range(self.layers):
            layers.append(vectors.detach())
            joint = torch.cat([memory[layer].to(vectors.dtype), vectors], 1) if memory else vectors
            key, value = self._keys_and_values(weights, layer, joint)
            vectors = self._layer(weights, layer, vectors, key, value, waves, rng)
        return dropped(vectors, self.dropout, rng), layers

    def _embedded(self, weights: "Mapping[str, Tensor]", tokens: "Tensor", rng: "torch.Generator | None") -> "Tensor":
        import torch

        return dropped(torch.nn.functional.embedding(tokens, weights["words"]) * self.width**0.5, self.dropout, rng)

    def _waves(self, n: int, like: "Tensor") -> "Tensor":
        """Return the waves of the distances n - 1 to 0, shape (n, width)."""
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
        waves: "Tensor",
        rng: "torch.Generator | None",
    ) -> "Tensor":
        """Return what a layer makes of `vectors`, (B, L, width), the last of the K tokens of `key` and `value`."""
        import torch

        functional = torch.nn.functional

        def part(name: str) -> "Tensor":
            return weights[f"layer {layer} {name}"]

        def normal(sums: "Tensor", name: str) -> "Tensor":
            return functional.layer_norm(sums, (self.width,), part(f"{name} scale"), part(f"{name} bias"), _EPSILON)

        batch, length, _ = vectors.shape
        n_keys = key.shape[2]
        query = functional.linear(vectors, part("query")).view(batch, length, self.heads, -1).transpose(1, 2)
        distances = functional.linear(waves, part("distances")).view(n_keys, self.heads, -1).transpose(0, 1)
        told = heard(
            query, key, value, distances, content=weights["content"], distance=weights["distance"], span=self.span
        )
        joined = told.transpose(1, 2).reshape(batch, length, -1)
        vectors = normal(vectors + dropped(functional.linear(joined, part("mix")), self.dropout, rng), "heard")
        inner = dropped(
            functional.relu(functional.linear(vectors, part("inner"), part("inner bias"))), self.dropout, rng
        )
        thought = functional.linear(inner, part("outer"), part("outer bias"))
        return normal(vectors + dropped(thought, self.dropout, rng), "thought")


def _joined(memory: "list[Tensor]", layers: "list[Tensor]", most: int) -> "list[Tensor]":
    """Return what each layer remembers, its last `most` vectors, shape (B, up to `most`, width)."""
    import torch

    before = memory or [layer[:, :0] for layer in layers]
    return [
        torch.cat([old, new], 1)[:, max(0, old.shape[1] + new.shape[1] - most) :]
        for old, new in zip(before, layers, strict=True)
    ]
