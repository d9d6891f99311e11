"""Translations of many sources by beam search or sampling, with forced prefixes.

Sources are decoded in blocks of similar length; keys and values are cached, those of a source once for all its
hypotheses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS, Vocabulary
from textassay.errors import InputError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import drawn_corpus
from textassay.seeding import stream, uniforms
from textassay_lab.generator.beam_search import Hypothesis, beam_search
from textassay_lab.generator.lessons import padded
from textassay_lab.generator.sampling import Choice
from textassay_lab.training.backend import single_threaded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BEAM = 10  # width (He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, section 5)
_PLACES = 640  # hypotheses that are decoded together
_TIMES, _MORE = 2, 10  # a translation has at most _TIMES times the tokens of its source, and _MORE more


class EncoderDecoder(Protocol):
    """A fitted encoder-decoder, as `textassay_lab.generator.translation_model.TranslationModel` is one."""

    @property
    def name(self) -> str:
        """Canonical name."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """Of source and translation."""
        ...

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser of the training text."""
        ...

    @property
    def digest(self) -> str:
        """Hash of the weights."""
        ...

    @property
    def working_module(self) -> Any:
        """The `TranslationNetwork` in the working precision."""
        ...

    def known(self, corpus: Corpus) -> Corpus:
        """Return `corpus` over the ids of this model; its words that the model lacks become ``<unk>``."""
        ...


@dataclass(frozen=True)
class Translations:
    """Translations of N sources."""

    corpus: Corpus
    log_probs: FloatArray  # of each, its end included, in nats, shape (N,)
    scores: FloatArray  # length-normalised, see `beam_search`, shape (N,)
    n_cut: int  # how many reached the length limit


def translate(
    model: EncoderDecoder, source: Corpus, *, width: int = BEAM, power: float = 1.0, prefix: Corpus | None = None
) -> Translations:
    """Return the best translations that beam search finds.

    `source`: at least one sentence; words that the model does not know count as ``<unk>``.
    """
    known = model.known(source)
    prefixes = _prefixes(model, prefix, len(known))
    limits = _limits(known, prefixes)
    order = np.argsort(known.lengths, kind="stable")
    together = max(1, _PLACES // max(width, 1))

    def search(rows: IntArray) -> list[Hypothesis]:
        with single_threaded():
            block = _Sources(model, known, rows)
            return beam_search(
                block.decoder,
                limits[rows].tolist(),
                width=width,
                power=power,
                prefixes=[prefixes[row] for row in rows.tolist()],
            )

    blocks = [order[start : start + together] for start in range(0, len(order), together)]
    hypotheses = [each for block in parallel_map(search, blocks) for each in block]
    in_order = [hypotheses[place] for place in np.argsort(order).tolist()]
    return Translations(
        _corpus(model, [each.tokens for each in in_order]),
        np.array([each.log_prob for each in in_order]),
        np.array([each.score for each in in_order]),
        sum(len(each.tokens) >= limit for each, limit in zip(in_order, limits.tolist(), strict=True)),
    )


def sample_translations(
    model: EncoderDecoder, source: Corpus, choice: Choice, *, seed: int, prefix: Corpus | None = None
) -> Corpus:
    """Return one drawn translation of each source."""
    known = model.known(source)
    prefixes = _prefixes(model, prefix, len(known))
    limits = _limits(known, prefixes)
    key = int(stream(seed, model.name, model.digest, repr(choice.temperature)).integers(2**63))
    order = np.argsort(known.lengths, kind="stable")

    def draw(rows: IntArray) -> list[IntArray]:
        with single_threaded():
            decoder = _Sources(model, known, rows).decoder(1)
            written: list[list[int]] = [[] for _ in rows]
            live, tokens, position = np.arange(len(rows)), np.full(len(rows), SOS), 0
            while len(live) > 0:
                logits = decoder.log_probs(torch.from_numpy(tokens[:, None]), position)[:, 0] / choice.temperature
                draws = torch.from_numpy(uniforms(key, rows[live], position)).to(logits.device)
                tokens = choice.tokens(logits, draws).cpu().numpy().astype(np.int64)
                for place, row in enumerate(rows[live].tolist()):
                    if position < len(prefixes[row]):
                        tokens[place] = prefixes[row][position]
                    elif position >= limits[row]:
                        tokens[place] = EOS
                    if tokens[place] != EOS:
                        written[live[place]].append(int(tokens[place]))
                rest = np.flatnonzero(tokens != EOS)
                decoder.keep(torch.from_numpy(rest), torch.zeros((len(rest), 1), dtype=torch.int64))
                live, tokens, position = live[rest], tokens[rest], position + 1
            return [np.array(each, dtype=np.int64) for each in written]

    blocks = [order[start : start + _PLACES] for start in range(0, len(order), _PLACES)]
    drawn = [each for block in parallel_map(draw, blocks) for each in block]
    return _corpus(model, [drawn[place] for place in np.argsort(order).tolist()])


def _prefixes(model: EncoderDecoder, prefix: Corpus | None, n: int) -> list[IntArray]:
    if prefix is None:
        return [np.empty(0, dtype=np.int64)] * n
    if len(prefix) != n:
        raise InputError(f"{model.name}: prefix must have {n} sentences, one a source, got {len(prefix)}")
    known = model.known(prefix)
    return np.split(known.tokens.astype(np.int64), known.offsets[1:-1])


def _limits(source: Corpus, prefixes: Sequence[IntArray]) -> IntArray:
    return np.maximum(_TIMES * source.lengths + _MORE, [len(tokens) for tokens in prefixes])


def _corpus(model: EncoderDecoder, rows: Sequence[IntArray]) -> Corpus:
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    tokens = np.concatenate([*rows, np.empty(0, dtype=np.int64)])
    return drawn_corpus(tokens.astype(np.int32), offsets, vocabulary=model.vocabulary, tokenizer=model.tokenizer)


class _Sources:
    """A block of encoded sources."""

    def __init__(self, model: EncoderDecoder, source: Corpus, rows: IntArray) -> None:
        self.network = model.working_module
        with torch.no_grad():
            table = torch.from_numpy(source_table(source, rows)).to(self.network.device)
            self.memories = self.network.memories(self.network.encode(table))
            self.source_mask = (table != PAD)[:, None, None]

    def decoder(self, width: int) -> "_Decoder":
        """Return a decoder with `width` hypotheses of each source."""
        return _Decoder(self, width)


class _Decoder:
    """A `Decoder` with cached keys and values."""

    def __init__(self, sources: _Sources, width: int) -> None:
        self._network = sources.network
        self._memories, self._source_mask = list(sources.memories), sources.source_mask
        self._cache = self._network.empty_cache(len(self._source_mask) * width)
        self._width = width

    def log_probs(self, tokens: Tensor, position: int) -> Tensor:
        with torch.no_grad():
            tokens = tokens.to(self._source_mask.device)
            vectors = self._network.step(tokens, position, self._cache, self._memories, self._source_mask)
            logits = self._network.logits(vectors.flatten(0, 1))
            return torch.log_softmax(logits, 1).view(*tokens.shape, -1)

    def keep(self, sources: Tensor, places: Tensor) -> None:
        device = self._source_mask.device
        sources, places = sources.to(device), places.to(device)
        rows = (sources[:, None] * self._width + places).flatten()
        self._cache = [(keys[rows], values[rows]) for keys, values in self._cache]
        if len(sources) < len(self._source_mask):
            self._memories = [(keys[sources], values[sources]) for keys, values in self._memories]
            self._source_mask = self._source_mask[sources]


def source_table(source: Corpus, rows: IntArray) -> IntArray:
    """Return the sentences of these numbers, each with its end, padded to the longest, shape (B, S)."""
    _, ended = padded(source.tokens, source.offsets, rows)
    return ended
