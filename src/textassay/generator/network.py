"""What all neural language models share: training, exact log-probabilities, draws.

A network reads the beginning of a sentence and gives a vector; the output layer turns it into the probability of each
next token. Draws invert the distribution with one uniform number a sentence and position: sums over stretches of the
vocabulary are searched first, then the one stretch that was hit, so a draw costs little more than the output layer.
Sentences that have ended drop out. A block of sentences is always drawn whole, so the first sentences do not depend on
how many are asked for.

Sources: Mikolov et al., "Recurrent neural network based language model", Interspeech 2010; Devroye, "Non-Uniform Random
Variate Generation", 1986, chapter III (inversion by guide tables).
"""

import hashlib
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import EOS, PAD, SOS
from textassay.errors import InputError, OptionError
from textassay.execution import parallel_map
from textassay.generator.base import check_sample, check_train, drawn_corpus, tokens_in
from textassay.seeding import stream, uniforms
from textassay.training import loop
from textassay.training.backend import require_neural, single_threaded, training_device
from textassay.training.loop import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["NetworkLanguageModel"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]
Weights = Mapping[str, "Tensor"]
State = tuple["Tensor", ...]

_DRAWN_TOGETHER = 512  # sentences
_SCORED_TOGETHER = 128  # sentences
_STRETCH = 64  # tokens of the vocabulary that are summed before the search
_SORTED_BATCHES = 16  # sentences of so many batches are sorted by length, so that padding costs little


class NetworkLanguageModel(ABC):
    """A neural `LanguageModel`; a subclass says what the network is.

    Parameters
    ----------
    recipe
        How to train.
    batch_size
        Sentences in a batch, at least 1.
    max_length
        A sample that reaches so many tokens is cut there, with a warning; `log_prob` knows no such limit.
    seed
        With the training text, decides everything random in training: the same bits on one CPU.

    Notes
    -----
    Every sentence over the vocabulary of the training corpus, the empty one and ``<unk>`` included, has a probability
    above 0, and these sum to 1.
    """

    kind: ClassVar[str]

    def __init__(self, recipe: Recipe, *, batch_size: int, max_length: int, seed: int) -> None:
        require_neural(f"the {self.kind} generator")
        for setting, value, least in (("batch_size", batch_size, 1), ("max_length", max_length, 1), ("seed", seed, 0)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        self.recipe = recipe
        self.batch_size = batch_size
        self.max_length = max_length
        self.seed = seed
        self.history: tuple[float, ...] = ()
        self._fitted: tuple[Corpus, dict[str, Tensor], str] | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """Canonical name with the settings that matter."""

    @abstractmethod
    def new_weights(self, n_types: int, rng: "torch.Generator") -> dict[str, "Tensor"]:
        """Return the weights as they begin; ``output`` (V, width) and ``output bias`` (V,) are the output layer's."""

    @abstractmethod
    def read(self, weights: Weights, tokens: "Tensor", rng: "torch.Generator | None" = None) -> "Tensor":
        """Return the vector after each token, shape (B, L, width), of whole sentences (B, L); dropout from `rng`."""

    @abstractmethod
    def begin(self, weights: Weights, n: int) -> State:
        """Return the state of `n` sentences before their first token; sentences are the first axis of each part."""

    @abstractmethod
    def step(self, weights: Weights, state: State, tokens: "Tensor") -> tuple["Tensor", State]:
        """Return the vector after one more token, shape (B, width), as `read` gives it, and the next state."""

    @property
    def train(self) -> Corpus:
        """The corpus it was fitted to."""
        return self._require()[0]

    @property
    def n_parameters(self) -> int:
        """Numbers that were learnt."""
        return sum(weight.numel() for weight in self._require()[1].values())

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Learn from `train`, keep the epoch with the best likelihood of `valid` (the last without), and return itself.

        Raises
        ------
        EmptyCorpusError
            If `train` has no sentence.
        InputError
            If a sentence holds ``<pad>``, ``<eos>`` or ``<sos>``.
        """
        check_train(train, generator=self.name)
        import torch

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self.name, purpose, train.fingerprint).integers(2**63))

        device = training_device()
        order_seed = seed("order")
        n_batches = math.ceil(len(train) / self.batch_size)

        def batches(epoch: int) -> list[IntArray]:
            rng = stream(order_seed, str(epoch))
            order = rng.permutation(len(train))
            parts = np.array_split(order, math.ceil(n_batches / _SORTED_BATCHES))
            ordered = np.concatenate([part[np.argsort(train.lengths[part], kind="stable")] for part in parts])
            chosen = np.array_split(ordered, n_batches)
            return [chosen[number] for number in rng.permutation(n_batches)]

        with single_threaded():
            began = self.new_weights(len(train.vocabulary), torch.Generator().manual_seed(seed("weights")))
            weights = {name: weight.to(device).requires_grad_() for name, weight in began.items()}
            blocked = _blocked(len(train.vocabulary)).to(device)

            def batch_loss(rows: IntArray, rng: "torch.Generator") -> "Tensor":
                inputs, targets = _padded(train, rows)
                vectors = self.read(weights, torch.from_numpy(inputs).to(device), rng)
                inside = torch.from_numpy(targets != PAD).to(device)
                logits = torch.nn.functional.linear(
                    vectors[inside], weights["output"], weights["output bias"] + blocked
                )
                wanted = torch.from_numpy(targets[targets != PAD]).to(device)
                return torch.nn.functional.cross_entropy(logits, wanted)

            n_scored = 0

            def score() -> float:
                nonlocal n_scored
                n_scored += 1
                if valid is None:
                    return float(n_scored)
                return float(np.mean(self._scores(weights, valid, train, 1.0)))

            history = loop.train(
                weights, batches=batches, loss=batch_loss, score=score, recipe=self.recipe, seed=seed("training")
            )
        for weight in weights.values():
            weight.requires_grad_(False)
        self.history = tuple(epoch.loss for epoch in history.epochs)
        digest = hashlib.blake2b(digest_size=16)
        for weight in weights.values():
            digest.update(weight.cpu().numpy().tobytes())
        self._fitted = (train, weights, digest.hexdigest())
        return self

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return `n` sentences; see `Generator.sample`. There must be no `context`.

        Raises
        ------
        OptionError
            If n is below 1, the temperature not above 0, or `prefix` has neither 1 nor n sentences.

        Warns
        -----
        UserWarning
            If a sentence reached `max_length` and was cut.
        """
        check_sample(n, temperature=temperature, context=context, generator=self.name)
        if seed < 0:
            raise OptionError(f"seed must be at least 0, got {seed}")
        train_corpus, weights, digest = self._require()
        if prefix is None:
            prefix = train_corpus.take(np.arange(0))
            which = np.full(n, -1)
        elif len(prefix) in (1, n):
            which = np.arange(n) if len(prefix) == n else np.zeros(n, dtype=np.int64)
        else:
            raise OptionError(f"{self.name}: prefix must have 1 or {n} sentences, got {len(prefix)}")
        given = np.append(tokens_in(train_corpus.vocabulary, prefix, generator=self.name), PAD)
        begins = np.append(prefix.offsets[:-1], 0)
        n_given = np.append(prefix.lengths, 0)
        key = int(stream(seed, self.name, digest, repr(float(temperature))).integers(2**63))

        def draw(start: int) -> tuple[TokenArray, IntArray]:
            numbers = np.arange(start, start + _DRAWN_TOGETHER)
            rows = which[np.minimum(numbers, n - 1)]

            def forced(block_rows: IntArray, position: int) -> tuple[npt.NDArray[np.bool_], TokenArray]:
                chosen = rows[block_rows]
                inside = position < n_given[chosen]
                return inside, given[np.where(inside, begins[chosen] + position, -1)]

            with single_threaded():
                return self._draw(weights, key, numbers, n_given[rows], forced, temperature)

        blocks = parallel_map(draw, range(0, n, _DRAWN_TOGETHER))
        lengths = np.concatenate([block for _, block in blocks])[:n]
        tokens = np.concatenate([block for block, _ in blocks])[: lengths.sum()]
        n_cut = int(np.count_nonzero(lengths >= self.max_length))
        if n_cut > 0:
            warnings.warn(f"{self.name}: {n_cut} of {n} samples were cut at {self.max_length} tokens", stacklevel=2)
        return drawn_corpus(tokens, np.concatenate(([0], np.cumsum(lengths))), train=train_corpus)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, its end included, shape (N,), in nats."""
        scores = self.token_log_probs(corpus, temperature=temperature)
        if len(corpus) == 0:
            return np.empty(0)
        return np.add.reduceat(scores, corpus.offsets[:-1] + np.arange(len(corpus)))

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each end, shape (T + N,); see `LanguageModel`."""
        check_sample(1, temperature=temperature, generator=self.name)
        train_corpus, weights, _ = self._require()
        return self._scores(weights, corpus, train_corpus, temperature)

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each prefix, shape (B, V); see `LanguageModel`."""
        check_sample(1, temperature=temperature, generator=self.name)
        import torch

        train_corpus, weights, _ = self._require()
        tokens = tokens_in(train_corpus.vocabulary, prefixes, generator=self.name)
        table, _ = _padded(_with_tokens(prefixes, tokens, train_corpus), np.arange(len(prefixes)))
        with single_threaded(), torch.no_grad():
            vectors = self.read(weights, torch.from_numpy(table).to(weights["output"].device))
            last = vectors[torch.arange(len(prefixes)), torch.from_numpy(prefixes.lengths)]
            logits = _logits(weights, last, temperature).double()
            return np.asarray(torch.log_softmax(logits, 1).cpu().numpy())

    def _require(self) -> tuple[Corpus, dict[str, "Tensor"], str]:
        if self._fitted is None:
            raise InputError(f"{self.name} has learnt nothing yet: call fit first")
        return self._fitted

    def _scores(self, weights: Weights, corpus: Corpus, train_corpus: Corpus, temperature: float) -> FloatArray:
        """Return the log-probability of each token and end; sentences of like length are scored together."""
        import torch

        tokens = tokens_in(train_corpus.vocabulary, corpus, generator=self.name)
        known = _with_tokens(corpus, tokens, train_corpus)
        order = np.argsort(corpus.lengths, kind="stable")
        blocks = [order[start : start + _SCORED_TOGETHER] for start in range(0, len(order), _SCORED_TOGETHER)]
        scores = np.empty(len(tokens) + len(corpus))

        def score(rows: IntArray) -> None:
            inputs, targets = _padded(known, rows)
            with single_threaded(), torch.no_grad():
                device = weights["output"].device
                inside = targets != PAD
                vectors = self.read(weights, torch.from_numpy(inputs).to(device))[torch.from_numpy(inside).to(device)]
                logits = _logits(weights, vectors, temperature)
                top = logits.amax(1, keepdim=True)
                total = torch.exp(logits - top).sum(1, dtype=torch.float64)
                hit = logits.gather(1, torch.from_numpy(targets[inside]).to(device)[:, None])[:, 0].double()
                found = (hit - top[:, 0].double() - total.log()).cpu().numpy()
            places = (corpus.offsets[rows] + rows)[:, None] + np.arange(inside.shape[1])
            scores[places[inside]] = found

        parallel_map(score, blocks)
        return scores

    def _draw(
        self, weights: Weights, key: int, numbers: IntArray, started: IntArray, forced: Any, temperature: float
    ) -> tuple[TokenArray, IntArray]:
        """Return drawn tokens, prefixes included, one sentence after another, (T,), and lengths (B,)."""
        import torch

        device = weights["output"].device
        lengths = np.zeros(len(numbers), dtype=np.int64)
        limits = np.maximum(self.max_length, started)
        columns: list[tuple[IntArray, TokenArray]] = []
        active = np.arange(len(numbers))
        with torch.no_grad():
            state = self.begin(weights, len(numbers))
            inputs = torch.full((len(numbers),), SOS, device=device)
            while len(active) > 0:
                position = len(columns)
                inside, given = forced(active, position)
                vectors, state = self.step(weights, state, inputs)
                drawn = given.astype(np.int64)
                if not inside.all():
                    draws = uniforms(key, numbers[active], position)
                    chosen = _inverted(_logits(weights, vectors, temperature), torch.from_numpy(draws).to(device))
                    drawn = np.where(inside, drawn, chosen.cpu().numpy())
                going = inside | (drawn != EOS)
                lengths[active[going]] += 1
                columns.append((active[going], drawn[going].astype(np.int32)))
                stays = np.flatnonzero(going & (position + 1 < limits[active]))
                active = active[stays]
                kept = torch.from_numpy(stays).to(device)
                state = tuple(part.index_select(0, kept) for part in state)
                inputs = torch.from_numpy(drawn[stays]).to(device)
        tokens = np.empty(lengths.sum(), dtype=np.int32)
        starts = np.cumsum(lengths) - lengths
        for position, (rows, column) in enumerate(columns):
            tokens[starts[rows] + position] = column
        return tokens, lengths


def _with_tokens(corpus: Corpus, tokens: TokenArray, train: Corpus) -> Corpus:
    """Return `corpus` with `tokens`, ids of the vocabulary of `train`."""
    return Corpus(tokens, corpus.offsets, train.vocabulary, corpus.texts, tokenizer=corpus.tokenizer)


def _padded(corpus: Corpus, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return what is read (begun by ``<sos>``) and what is to come (ended by ``<eos>``), padded, each (B, L)."""
    lengths = corpus.lengths[rows]
    length = int(lengths.max(initial=0))
    inputs = np.full((len(rows), length + 1), PAD, dtype=np.int64)
    inside = np.arange(length) < lengths[:, None]
    positions = np.arange(lengths.sum()) + np.repeat(corpus.offsets[rows] - np.cumsum(lengths) + lengths, lengths)
    inputs[:, 1:][inside] = corpus.tokens[positions]
    targets = np.roll(inputs, -1, axis=1)
    targets[np.arange(len(rows)), lengths] = EOS
    inputs[:, 0] = SOS
    return inputs, targets


def _blocked(n_types: int) -> "Tensor":
    """Return -inf for the tokens that never come, 0 for all others, shape (V,)."""
    import torch

    blocked = torch.zeros(n_types)
    blocked[[PAD, SOS]] = -math.inf
    return blocked


def _logits(weights: Weights, vectors: "Tensor", temperature: float) -> "Tensor":
    """Return the logits of the next token, shape (B, V); -inf for what never comes."""
    import torch

    output = weights["output"]
    bias = weights["output bias"] + _blocked(len(output)).to(output.device)
    logits = torch.nn.functional.linear(vectors, output, bias)
    return logits if temperature == 1 else logits / temperature


def _inverted(logits: "Tensor", draws: "Tensor") -> "Tensor":
    """Return the token that each uniform draw (B,) in [0, 1) hits, shape (B,); sums are taken in float64."""
    import torch

    n_types = logits.shape[1]
    n_stretches = -(-n_types // _STRETCH)
    mass = logits.new_zeros(len(logits), n_stretches * _STRETCH)
    torch.exp(logits - logits.amax(1, keepdim=True), out=mass[:, :n_types])
    parts = mass.view(len(logits), n_stretches, _STRETCH)
    ends = parts.sum(2, dtype=torch.float64).cumsum(1)  # (batch, stretches)
    wanted = (draws * ends[:, -1])[:, None]
    stretch = torch.searchsorted(ends, wanted, right=True).clamp_(max=n_stretches - 1)
    before = torch.where(stretch > 0, ends.gather(1, (stretch - 1).clamp(min=0)), 0.0)
    within = parts[torch.arange(len(logits), device=logits.device), stretch[:, 0]].cumsum(1, dtype=torch.float64)
    last = (within < within[:, -1:]).sum(1, keepdim=True)  # where rounding has left nothing
    place = torch.minimum(torch.searchsorted(within, wanted - before, right=True), last)
    return (stretch * _STRETCH + place)[:, 0]
