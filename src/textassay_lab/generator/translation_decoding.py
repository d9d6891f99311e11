"""Translations of many sources by beam search or sampling, with forced prefixes.

Sources are decoded in blocks of similar length; keys and values are cached, those of a source once for all its
hypotheses. In each step of beam search every live hypothesis is extended by every token; the likeliest `width`
unfinished ones stay alive, and those of the first `width` that end are finished. A source is done when `width`
hypotheses have finished. The result has the highest score: its log-probability, end included, divided by its number of
tokens, end included, to a power.

Sources: Graves, "Sequence Transduction with Recurrent Neural Networks", 2012; Wu et al., "Google's Neural Machine
Translation System", 2016 (length normalisation).
Departs from them: the result of greedy search is one of the candidates, so no score is below it. Tokens of a forced
prefix are part of the score, as log-probability and as length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS, Vocabulary
from textassay.errors import InputError, OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import drawn_corpus
from textassay.seeding import stream, uniforms
from textassay_lab.generator.objective import padded
from textassay_lab.generator.sampling import Choice
from textassay_lab.training.backend import single_threaded

if TYPE_CHECKING:
    from torch import Tensor


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


class Decoder(Protocol):
    """The model as a search uses it: B sources, each with K hypotheses."""

    def log_probs(self, tokens: "Tensor", position: int) -> "Tensor":
        """Return the log-probability of each next token after the tokens (B, K) at `position`, (B, K, V)."""
        ...

    def keep(self, sources: "Tensor", places: "Tensor") -> None:
        """Keep the sources of these numbers, (B',), and, in each, copies of the hypotheses (B', K)."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation of a source."""

    tokens: IntArray  # without the end, shape (L,)
    log_prob: float  # its end included, in nats
    score: float  # `log_prob` divided by (L + 1) to a power


def beam_search(
    decoder: "Callable[[int], Decoder]",
    limits: Sequence[int],
    *,
    width: int = 10,
    power: float = 1.0,
    prefixes: Sequence[IntArray] | None = None,
) -> list[Hypothesis]:
    """Return the best hypothesis for each of B sources; `prefixes` are forced."""
    if width < 1:
        raise OptionError(f"the width of a beam must be at least 1, got {width}")
    if not 0 <= power < math.inf:
        raise OptionError(f"the power of the length must be at least 0, got {power}")
    forced = [np.empty(0, dtype=np.int64) for _ in limits] if prefixes is None else list(prefixes)
    greedy = _Search(decoder(1), limits, forced, 1, power).run()
    if width == 1:
        return greedy
    wide = _Search(decoder(width), limits, forced, width, power).run()
    return [max(pair, key=lambda hypothesis: hypothesis.score) for pair in zip(wide, greedy, strict=True)]


@dataclass
class _Search:
    """One search; arrays hold the unfinished sources, `live` their numbers."""

    decoder: Decoder
    limits: Sequence[int]
    prefixes: Sequence[IntArray]
    width: int
    power: float
    finished: list[list[Hypothesis]] = field(default_factory=list)

    def run(self) -> list[Hypothesis]:
        import torch

        n, width = len(self.limits), self.width
        self.finished = [[] for _ in range(n)]
        live = np.arange(n)
        limits, prefix_lengths = (
            np.array(self.limits, dtype=np.int64),
            np.array([len(tokens) for tokens in self.prefixes]),
        )
        tokens: Tensor | None = None  # the last token of each hypothesis, (B, K)
        sums = np.full((n, width), -math.inf)
        sums[:, 0] = 0.0  # all hypotheses are equal before the first step: one of them counts
        written = np.empty((n, width, 0), dtype=np.int64)
        position = 0
        while len(live) > 0:
            if tokens is None:
                tokens = torch.full((len(live), width), SOS)
            rows = self.decoder.log_probs(tokens, position)  # (B, K, V)
            totals = rows.double() + torch.from_numpy(sums).to(rows.device)[:, :, None]
            self._force(totals, live, position, prefix_lengths, limits)
            n_types = rows.shape[2]
            best = totals.flatten(1).topk(min(2 * width, width * n_types))
            scores, places = best.values.cpu().numpy(), best.indices.cpu().numpy()
            parents, chosen = places // n_types, places % n_types
            ends = (chosen == EOS) & np.isfinite(scores)
            self._finish(ends, scores, parents, live, written)
            order = np.argsort(ends, axis=1, kind="stable")[:, :width]  # those that go on come first, best first
            kept = np.take_along_axis(parents, order, 1)
            next_tokens = np.take_along_axis(chosen, order, 1)
            sums = np.take_along_axis(np.where(ends, -math.inf, scores), order, 1)
            if sums.shape[1] < width:  # fewer candidates than places
                more = ((0, 0), (0, width - sums.shape[1]))
                sums = np.pad(sums, more, constant_values=-math.inf)
                kept, next_tokens = np.pad(kept, more), np.pad(next_tokens, more)
            written = np.concatenate(
                (np.take_along_axis(written, kept[:, :, None], 1), next_tokens[:, :, None]), axis=2
            )
            goes_on = np.array([len(self.finished[source]) < width for source in live]) & np.isfinite(sums[:, 0])
            rest = np.flatnonzero(goes_on)
            if len(rest) == 0:
                break
            live, sums, written = live[rest], sums[rest], written[rest]
            tokens = torch.from_numpy(next_tokens[rest])
            self.decoder.keep(torch.from_numpy(rest), torch.from_numpy(kept[rest]))
            position += 1
        for number, candidates in enumerate(self.finished):
            if not candidates:
                raise InputError(f"source {number + 1} has no translation of a probability above 0")
        return [max(candidates, key=lambda hypothesis: hypothesis.score) for candidates in self.finished]

    def _force(
        self, totals: "Tensor", live: IntArray, position: int, prefix_lengths: IntArray, limits: IntArray
    ) -> None:
        """Allow only the next token of a prefix, where there is one, and only the end at the length limit."""
        for rows, wanted in (
            (np.flatnonzero(prefix_lengths[live] > position), None),
            (np.flatnonzero((prefix_lengths[live] <= position) & (limits[live] <= position)), EOS),
        ):
            for row in rows.tolist():
                token = int(self.prefixes[live[row]][position]) if wanted is None else wanted
                value = totals[row, :, token].clone()
                totals[row] = -math.inf
                totals[row, :, token] = value

    def _finish(
        self,
        ends: npt.NDArray[np.bool_],
        log_probs: npt.NDArray[np.float64],
        parents: IntArray,
        live: IntArray,
        written: IntArray,
    ) -> None:
        """Keep what ended among the first `width` candidates of each source."""
        for row, place in zip(*np.nonzero(ends[:, : self.width]), strict=True):
            tokens = written[row, parents[row, place]]
            log_prob = float(log_probs[row, place])
            score = log_prob / (len(tokens) + 1) ** self.power
            self.finished[live[row]].append(Hypothesis(tokens.copy(), log_prob, score))
