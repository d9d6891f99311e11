"""Translation models: encoder-decoder transformers, trained on pairs of sentences; they score, search and draw.

Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017: sinusoidal positions, layer norm after each part,
embeddings scaled by the square root of the width; He et al., "Quantifying Exposure Bias for Neural Language
Generation", 2019, for the settings (preset ``paper``). Departs from the first as the public
code of the second does: dropout on embeddings and residual branches, none on attention; only the decoder's embeddings
are tied to the output layer; Glorot and Bengio's initial weights (AISTATS 2010).
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import PAD, SOS
from textassay.errors import OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import check_sample, check_temperature, check_train, sentence_sums, tokens_in
from textassay.seeding import stream
from textassay_lab.generator.fitted_network import TrainedNetwork
from textassay_lab.generator.module import Network, dropped, linear_cross_entropy
from textassay_lab.generator.objective import TrainingObjective, padded
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.generator.sampling import Choice
from textassay_lab.generator.scoring import log_probs_of
from textassay_lab.generator.translation import TranslationSettings
from textassay_lab.generator.translation_decoding import BEAM, sample_translations, source_table, translate
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import Step

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_SLOWEST = 10_000.0  # wave lengths of position encodings go from 2 pi to 2 pi times this (the source)
_TOGETHER = 128  # pairs scored at once

KeysValues = tuple[Tensor, Tensor]  # each (R, heads, L, size)
Cache = list[KeysValues]  # of each layer


class PairBatch(NamedTuple):
    """Sources (B, S) with their ends; inputs, begun by ``<sos>``, and targets, (B, L + 1); padded."""

    source: IntArray
    inputs: IntArray
    targets: IntArray


def pair_batch(pairs: ParallelText, rows: IntArray) -> PairBatch:
    """Return the pairs of these numbers, shape (B,), as tables."""
    target = pairs.target
    return PairBatch(source_table(pairs.source, rows), *padded(target.tokens, target.offsets, rows))


def token_batches(pairs: ParallelText, n_tokens: int, seed: int, epoch: int) -> list[IntArray]:
    """Return the numbers of the pairs of each batch, shuffled anew in each epoch; similar lengths together."""
    rng = stream(seed, "pairs", str(epoch))
    order = rng.permutation(len(pairs))
    source, target = pairs.source.lengths[order], pairs.target.lengths[order]
    order = order[np.lexsort((source, target))]
    sizes = np.maximum(pairs.source.lengths, pairs.target.lengths)[order] + 1
    starts, longest = [0], 0
    for place, size in enumerate(sizes.tolist()):
        longest = max(longest, size)
        if longest * (place + 1 - starts[-1]) > n_tokens and place > starts[-1]:
            starts.append(place)
            longest = size
    batches = np.split(order, starts[1:])
    return [batches[number] for number in rng.permutation(len(batches))]


class Attention(nn.Module):
    """Attention of vectors to a memory, which may be themselves."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.memory = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.heads = heads

    def keys_and_values(self, vectors: Tensor) -> KeysValues:
        """Return keys and values, each (B, heads, L, size)."""
        keys, values = self.memory(vectors).chunk(2, -1)
        return self._split_heads(keys), self._split_heads(values)

    def forward(
        self, vectors: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, is_causal: bool = False
    ) -> Tensor:
        """Return the attention output for `vectors`, shape (B, L, width)."""
        queries = self._split_heads(self.query(vectors))
        if torch.is_grad_enabled():  # the fused kernel's backward pass takes four times as long on short sentences
            scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])  # (B, heads, L, S)
            if is_causal:
                mask = scores.new_ones(scores.shape[2:], dtype=torch.bool).tril()
            attention_weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf), -1)
            attention_output = attention_weights.to(values.dtype) @ values
        else:
            attend = nn.functional.scaled_dot_product_attention
            attention_output = attend(queries, keys, values, attn_mask=mask, is_causal=is_causal)
        joined: Tensor = self.out(attention_output.transpose(1, 2).flatten(2))
        return joined

    def _split_heads(self, vectors: Tensor) -> Tensor:
        return vectors.view(*vectors.shape[:2], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    """A layer of the encoder; of the decoder with attention to the source."""

    def __init__(self, width: int, inner: int, heads: int, dropout: float, *, attends_to_source: bool) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.source_attention = Attention(width, heads) if attends_to_source else None
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.attention_norm = nn.LayerNorm(width)
        self.source_norm = nn.LayerNorm(width) if attends_to_source else None
        self.mlp_norm = nn.LayerNorm(width)
        self.dropout = dropout

    def added(self, norm: nn.Module, vectors: Tensor, update: Tensor, rng: torch.Generator | None) -> Tensor:
        """Return the vectors with an update, normed."""
        both: Tensor = norm(vectors + dropped(update, self.dropout, rng))
        return both

    def mlp(self, vectors: Tensor, rng: torch.Generator | None) -> Tensor:
        """Return the vectors after the feed-forward layers."""
        return self.added(self.mlp_norm, vectors, self.outer(self.inner(vectors).relu()), rng)


class TranslationNetwork(Network):
    """The encoder and the decoder."""

    def __init__(
        self,
        n_types: int,
        *,
        width: int,
        feedforward_width: int,
        encoder_layers: int,
        decoder_layers: int,
        heads: int,
        dropout: float,
        label_smoothing: float,
    ) -> None:
        super().__init__()

        def layers(n: int, *, decodes: bool) -> Any:
            return nn.ModuleList(
                Layer(width, feedforward_width, heads, dropout, attends_to_source=decodes) for _ in range(n)
            )

        self.source_words = nn.Embedding(n_types, width)
        self.words = nn.Embedding(n_types, width)
        self.encoder = layers(encoder_layers, decodes=False)
        self.decoder = layers(decoder_layers, decodes=True)
        self.width, self.heads, self.dropout, self.label_smoothing = width, heads, dropout, label_smoothing

    def initialise(self, rng: torch.Generator) -> None:
        for name, weight in self.named_parameters():
            if weight.ndim == 1:
                weight.fill_(1.0 if name.endswith("norm.weight") else 0.0)
            elif "words" in name:
                weight.normal_(0.0, self.width**-0.5, generator=rng)
            else:
                rows = self.width if "memory" in name else weight.shape[0]  # keys and values are two matrices
                bound = math.sqrt(6 / (rows + weight.shape[1]))
                weight.uniform_(-bound, bound, generator=rng)

    def encode(self, source: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Return the encoder's hidden states, shape (B, S, width), of sentences (B, S) padded with ``<pad>``."""
        source_mask = (source != PAD)[:, None, None]  # (B, 1, 1, S)
        vectors = self._embedded(self.source_words, source, 0, rng)
        for layer in self.encoder:
            keys, values = layer.attention.keys_and_values(vectors)
            attention_output = layer.attention(vectors, keys, values, source_mask)
            vectors = layer.added(layer.attention_norm, vectors, attention_output, rng)
            vectors = layer.mlp(vectors, rng)
        return vectors

    def decode(self, source: Tensor, encoded: Tensor, inputs: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Return the decoder's hidden state after each token of `inputs`, (B, L), shape (B, L, width).

        `source`: ids, shape (B, S); `encoded`: their hidden states from `encode`.
        """
        return self._read(inputs, 0, None, self.memories(encoded), (source != PAD)[:, None, None], rng)

    def forward(self, batch: PairBatch, rng: torch.Generator | None = None) -> Tensor:
        """Return the decoder's hidden state after each token of the translations, shape (B, L + 1, width)."""
        source, inputs = (torch.from_numpy(table).to(self.device) for table in (batch.source, batch.inputs))
        return self.decode(source, self.encode(source, rng), inputs, rng)

    def memories(self, encoded: Tensor) -> Cache:
        """Return keys and values of the source for each layer of the decoder, shapes (B, heads, S, size)."""
        return [layer.source_attention.keys_and_values(encoded) for layer in self.decoder]

    def empty_cache(self, n: int) -> Cache:
        """Return the empty cache of `n` hypotheses."""
        empty = self.words.weight.new_empty((n, self.heads, 0, self.width // self.heads))
        return [(empty, empty)] * len(self.decoder)

    def step(self, inputs: Tensor, position: int, cache: Cache, memories: Cache, source_mask: Tensor) -> Tensor:
        """Return the hidden states after the tokens at `position`, shape (B, K, width), of K hypotheses a source.

        `inputs`: shape (B, K); `cache`: keys and values of earlier positions of each layer, shapes (B K, heads,
        position, size); `memories`: from `memories`; `source_mask`: where sources are not padding, shape (B, 1, 1, S).
        """
        batch, places = inputs.shape
        vectors = self._read(inputs.reshape(-1, 1), position, cache, memories, source_mask, None)
        return vectors.view(batch, places, self.width)

    def loss(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """Return the mean label-smoothed cross-entropy of the types `targets`, (N,), after hidden states (N, width)."""
        matrix, bias = self.output_layer()
        loss = linear_cross_entropy(vectors, matrix, bias, targets)
        if self.label_smoothing == 0:
            return loss
        # against (1 - e) target + e uniform, it grows by e times the target logit less the mean logit
        mean = (matrix.sum(0) - matrix[PAD] - matrix[SOS]) / (len(matrix) - 2)
        return loss + self.label_smoothing * (vectors.float() * (matrix[targets] - mean)).sum(1).mean()

    def logits(self, vectors: Tensor) -> Tensor:
        """Return the logits of the next token, shape (N, V), float32, after vectors (N, width); -inf: never."""
        return nn.functional.linear(vectors, *self.output_layer()).float()

    def output_layer(self) -> tuple[Tensor, Tensor]:
        """Return the embeddings, to which the output layer is tied, and a bias of -inf for excluded types."""
        matrix = self.words.weight
        bias = matrix.new_zeros(len(matrix))
        bias[[PAD, SOS]] = -math.inf
        return matrix, bias

    def _read(
        self,
        inputs: Tensor,
        position: int,
        cache: Cache | None,
        memories: Cache,
        source_mask: Tensor,
        rng: torch.Generator | None,
    ) -> Tensor:
        """Return the hidden states after `inputs`, (R, L): whole rows, or with a cache their next token."""
        rows, length = inputs.shape
        n_sources = len(source_mask)
        vectors = self._embedded(self.words, inputs, position, rng)
        for number, layer in enumerate(self.decoder):
            keys, values = layer.attention.keys_and_values(vectors)
            if cache is not None:
                keys, values = (torch.cat(both, 2) for both in zip(cache[number], (keys, values), strict=True))
                cache[number] = keys, values
            attended = layer.attention(vectors, keys, values, None, is_causal=cache is None)
            vectors = layer.added(layer.attention_norm, vectors, attended, rng)
            queries = vectors.view(n_sources, -1, self.width)  # translations of one source side by side
            attended = layer.source_attention(queries, *memories[number], source_mask).view(rows, length, self.width)
            vectors = layer.mlp(layer.added(layer.source_norm, vectors, attended, rng), rng)
        return vectors

    def _embedded(self, table: nn.Module, tokens: Tensor, position: int, rng: torch.Generator | None) -> Tensor:
        words = table(tokens) * math.sqrt(self.width)
        return dropped(words + self._position_encodings(position, tokens.shape[1], words), self.dropout, rng)

    def _position_encodings(self, start: int, length: int, like: Tensor) -> Tensor:
        """Return the sinusoidal position encodings, shape (L, width)."""
        half = self.width // 2
        speeds = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(_SLOWEST) / max(half - 1, 1)))
        angles = torch.arange(start, start + length, dtype=torch.float64)[:, None] * speeds
        encodings = torch.cat((torch.sin(angles), torch.cos(angles)), 1)
        return nn.functional.pad(encodings, (0, self.width % 2)).to(device=like.device, dtype=like.dtype)


class TranslationModel(TranslationSettings, TrainedNetwork):
    """An encoder-decoder transformer, trained from scratch. Needs the extra ``neural``.

    It is a language model of translations given the source: `context` in `sample`, `source` in scoring.
    """

    kind = "translation"

    needs_source: ClassVar[bool] = True  # metrics of unconditional text, such as EB-bleu, refuse this model

    @property
    def sizes(self) -> dict[str, Any]:
        names = (
            *("width", "feedforward_width", "encoder_layers", "decoder_layers", "heads", "dropout"),
            "label_smoothing",
        )
        return {name: getattr(self, name) for name in names}

    @property
    def _title(self) -> str:
        return f"{self.kind}(width={self.width}, layers={self.encoder_layers}+{self.decoder_layers})"

    def fit(
        self,
        train: ParallelText,
        valid: ParallelText | None = None,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 120.0,
        monitors: Mapping[str, Callable[[int], float | None]] | None = None,
        progress: Callable[[Step], None] | None = None,
    ) -> Self:
        """Fit to `train`, keep the epoch with the best likelihood of `valid` (else the last), and return self."""
        for what, pairs in (("training", train), ("validation", valid)):
            for corpus in () if pairs is None else (pairs.source, pairs.target):
                check_train(corpus, generator=self.name, what=what)

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self.kind, purpose, train.fingerprint).integers(2**63))

        text = train.target
        began = self.begun(len(text.vocabulary), 0, torch.Generator().manual_seed(seed("weights")))
        with self.in_training(began, text.vocabulary, text.tokenizer) as module:
            training = self._train(
                dict(module.named_parameters()),
                self.objective(train, module, seed=seed("order")),
                None if valid is None else lambda: float(pair_scores(module, valid).mean()),
                texts={"train": train.fingerprint, "valid": None if valid is None else valid.fingerprint},
                seed=seed("training"),
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                monitors=monitors,
                progress=progress,
            )
        self.record = {"train": _record(train), "valid": None if valid is None else _record(valid), **training}
        return self

    def objective(self, train: ParallelText, module: TranslationNetwork, *, seed: int) -> TrainingObjective:
        """Return the training batches, pairs of similar length together."""
        return TrainingObjective(
            batches=lambda epoch: token_batches(train, self.batch_tokens, seed, epoch),
            loss=lambda rows, rng: pair_loss(module, pair_batch(train, rows), rng),
            size=lambda rows: int(train.target.lengths[rows].sum()) + len(rows),
        )

    def pairs(self, source: Corpus | None, target: Corpus) -> ParallelText:
        """Return source and target as pairs of ids of this model."""
        if source is None:
            raise self._no_source()
        return ParallelText(self.known(source), self.known(target))

    def known(self, corpus: Corpus) -> Corpus:
        """Return `corpus` over the ids of this model; its words that the model lacks become ``<unk>``."""
        fitted = self.require()
        tokens_in(fitted.vocabulary, corpus, generator=self.name)
        return corpus if corpus.vocabulary is fitted.vocabulary else corpus.with_vocabulary(fitted.vocabulary)

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return a drawn translation of each of `n` sources, `context`; see `Generator.sample`."""
        check_sample(
            n, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, prefix=prefix, generator=self.name
        )
        if context is None:
            raise self._no_source()
        if len(context) != n:
            raise OptionError(f"{self.name}: context must have {n} sentences, got {len(context)}")
        return sample_translations(self, context, Choice(temperature, top_k, top_p), seed=seed, prefix=prefix)

    def translations(self, source: Corpus, *, width: int = BEAM) -> Corpus:
        """Return translations by beam search; see `textassay_lab.generator.translation_decoding`."""
        return translate(self, source, width=width).corpus

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each translation of its source, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature, source=source), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token and each end, shape (T + N,); see `LanguageModel`."""
        check_temperature(temperature, generator=self.name)
        return pair_scores(self.working_module, self.pairs(source, corpus), temperature)

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0, source: Corpus | None = None) -> FloatArray:
        """Return the log-probability of each token after each beginning of a translation, (B, V)."""
        check_temperature(temperature, generator=self.name)
        pairs = self.pairs(source, prefixes)
        last = pairs.target.lengths[:, None]
        logits = torch.from_numpy(self.prefix_logits(pairs, last)[:, 0]).double() / temperature
        return np.asarray(torch.log_softmax(logits, 1).numpy())

    def prefix_logits(self, pairs: ParallelText, positions: IntArray) -> npt.NDArray[np.float32]:
        """Return the logits of the next token after the first tokens of each target, shape (B, n, V), float32.

        `positions`: how many tokens of each target are read, shape (B, n) or (n,), at least 0.
        """
        return prefix_scores(self.working_module, pairs, positions)

    def new_module(self, n_types: int, longest: int = 0) -> TranslationNetwork:
        return TranslationNetwork(n_types, **self.sizes)

    def _no_source(self) -> OptionError:
        return OptionError(f"{self.name} needs a source for each text: set context or source, or use 'translate'")


def _record(pairs: ParallelText) -> dict[str, Any]:
    """Return the record of a training text, JSON-ready; by its target, as with other generators."""
    return {
        "fingerprint": pairs.target.fingerprint,
        "source_fingerprint": pairs.source.fingerprint,
        "sentences": len(pairs),
        "tokens": len(pairs.target.tokens),
    }


def pair_loss(network: TranslationNetwork, batch: PairBatch, rng: torch.Generator) -> Tensor:
    """Return the mean loss of the targets, a scalar to differentiate; dropout from `rng`."""
    inside = batch.targets != PAD
    vectors = network(batch, rng)[torch.from_numpy(inside).to(rng.device)]
    return network.loss(vectors, torch.from_numpy(batch.targets[inside]).to(rng.device))


def pair_scores(network: TranslationNetwork, pairs: ParallelText, temperature: float = 1.0) -> FloatArray:
    """Return the log-probability of each token and each end of the translations, shape (T + N,)."""
    target = pairs.target
    order = np.lexsort((pairs.source.lengths, target.lengths))
    scores = np.empty(len(target.tokens) + len(pairs))

    def score(rows: IntArray) -> None:
        batch = pair_batch(pairs, rows)
        inside = batch.targets != PAD
        with single_threaded(), torch.no_grad():
            vectors = network(batch)
            kept = vectors[torch.from_numpy(inside).to(vectors.device)]
            wanted = torch.from_numpy(batch.targets[inside]).to(vectors.device)
            log_probs = log_probs_of(network.logits(kept) / temperature, wanted).cpu().numpy()
        places = (target.offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
        scores[places[inside]] = log_probs

    parallel_map(score, [order[start : start + _TOGETHER] for start in range(0, len(order), _TOGETHER)])
    return scores


def prefix_scores(network: TranslationNetwork, pairs: ParallelText, positions: IntArray) -> npt.NDArray[np.float32]:
    """Return the logits of the next token after the first tokens of each target, shape (B, n, V).

    `positions`: how many tokens are read, shape (B, n) or (n,), at least 0.
    """
    rows = np.arange(len(pairs))
    shape = (len(pairs), positions.shape[-1])
    places = np.broadcast_to(np.minimum(positions, pairs.target.lengths[:, None]), shape)
    with single_threaded(), torch.no_grad():
        vectors = network(pair_batch(pairs, rows))
        wanted = vectors[rows[:, None], torch.from_numpy(places.copy()).to(vectors.device)]
        logits = network.logits(wanted.flatten(0, 1)).cpu().numpy()
    return np.asarray(logits.reshape(*shape, -1), dtype=np.float32)
