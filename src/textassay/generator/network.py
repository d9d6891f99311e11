"""What all neural language models share: training, exact log-probabilities, draws.

A network reads the beginning of a sentence and gives a vector; the output layer turns it into the probability of each
next token. `textassay.generator.scoring` and `textassay.generator.sampling` do the work, here are the doors.

Source: Mikolov et al., "Recurrent neural network based language model", Interspeech 2010.
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import Vocabulary
from textassay.errors import InputError, OptionError
from textassay.generator.base import (
    check_sample,
    check_temperature,
    check_train,
    drawn_corpus,
    not_fitted,
    prefix_of_each,
    sentence_sums,
    tokens_in,
    training_record,
)
from textassay.generator.batch_reading import BatchReading
from textassay.generator.fitted import Fitted
from textassay.generator.lessons import Lessons, sentence_lessons
from textassay.generator.likelihood import perplexity
from textassay.generator.reader import Weights
from textassay.generator.sampling import Beginnings, Choice, draw_sentences
from textassay.generator.scoring import next_scores, token_scores
from textassay.seeding import stream
from textassay.training import loop
from textassay.training.backend import require_neural, threads, training_device
from textassay.training.history import Epoch, History, Reading, Step
from textassay.training.processes import launched
from textassay.training.recipe import Recipe

__all__ = ["NetworkLanguageModel"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class NetworkLanguageModel(BatchReading):
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
        With the training text, decides everything random in training: the same bits on one CPU and number of threads.

    Attributes
    ----------
    precision
        ``float32``, or ``bfloat16``: what sampling and scoring compute in. Draws follow the precision, and the name
        says it.
    record
        How it was trained, JSON-ready; empty before.
    history
        Epochs of the training.

    Notes
    -----
    Every sentence over the vocabulary of the training corpus, the empty one and ``<unk>`` included, has a probability
    above 0, and these sum to 1; where the network has a longest sentence, these are the sentences up to there.
    """

    kind: ClassVar[str]

    def __init__(self, recipe: Recipe, *, batch_size: int, max_length: int | None, seed: int) -> None:
        require_neural(f"the {self.kind} generator")
        least = {"batch_size": (batch_size, 1), "max_length": (max_length, 1), "seed": (seed, 0)}
        for setting, (value, lowest) in least.items():
            if value is not None and value < lowest:
                raise OptionError(f"{setting} must be at least {lowest}, got {value}")
        self.recipe = recipe
        self.batch_size = batch_size
        self.seed = seed
        self.precision = "float32"
        self.history = History()
        self.record: dict[str, Any] = {}
        self._max_length = max_length
        self._fitted: Fitted | None = None

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What its constructor was called with, JSON-ready."""

    @property
    @abstractmethod
    def _title(self) -> str:
        """Name without the precision."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter, such as ``lstm(width=128)``."""
        return self._title if self.precision == "float32" else f"{self._title[:-1]}, precision={self.precision})"

    @property
    def vocabulary(self) -> Vocabulary:
        """What it draws over."""
        return self._require().vocabulary

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser of the training text."""
        return self._require().tokenizer

    @property
    def weights(self) -> Weights:
        """What was learnt, by name, float32."""
        return self._require().weights

    @property
    def max_length(self) -> int | None:
        """A sample has so many tokens at most; none where there is no limit."""
        longest = None if self._fitted is None else self.longest(self._fitted.weights)
        return min((limit for limit in (self._max_length, longest) if limit is not None), default=None)

    @property
    def n_parameters(self) -> int:
        """Numbers that were learnt."""
        return sum(weight.numel() for weight in self.weights.values())

    def fit(
        self,
        train: Corpus,
        valid: Corpus | None = None,
        *,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 120.0,
        monitors: Mapping[str, Callable[[int], float | None]] | None = None,
        monitor_steps: int | None = None,
        progress: Callable[[Step], None] | None = None,
    ) -> Self:
        """Learn from `train`, keep the epoch with the best likelihood of `valid` (the last without), and return itself.

        Parameters
        ----------
        train, valid
            At least one sentence each; `valid` may have another vocabulary.
        checkpoint, checkpoint_seconds, monitors, monitor_steps, progress
            See `textassay.training.loop.train`. While a monitor runs, this model is as the run has it then: it samples
            and scores.

        Raises
        ------
        EmptyCorpusError
            If `train` or `valid` has no sentence.
        InputError
            If a sentence holds ``<pad>``, ``<eos>`` or ``<sos>``, or is longer than the network can read; if training
            diverges: a loss is not finite, or the perplexity of `valid` is beyond all numbers.
        """
        check_train(train, generator=self.name)
        import torch

        if valid is not None:
            check_train(valid, generator=self.name, what="validation")

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self._title, purpose, train.fingerprint).integers(2**63))

        device = training_device()
        shapes = self.shapes(len(train.vocabulary), int(train.lengths.max()))
        began = self.new_weights(shapes, torch.Generator().manual_seed(seed("weights")))
        weights = {name: weight.to(device).requires_grad_() for name, weight in began.items()}
        before = self._fitted
        self._fitted = Fitted(weights, train.vocabulary, train.tokenizer, changing=True)
        try:
            self._tokens(train)
            scored = None if valid is None else (self._tokens(valid), valid.offsets)

            def score() -> float:
                assert scored is not None  # it is called where there is validation text
                found = float(token_scores(self, weights, *scored, 1.0).mean())
                return found if math.isfinite(perplexity(-found)) else -math.inf  # which ends the training

            lessons = self.lessons(train, weights, batch_size=self.batch_size, seed=seed("order"))
            with threads():
                self.history = loop.train(
                    weights,
                    batches=lessons.batches,
                    loss=lessons.loss,
                    score=None if scored is None else score,
                    recipe=self.recipe,
                    seed=seed("training"),
                    size=lessons.size,
                    checkpoint=checkpoint,
                    checkpoint_seconds=checkpoint_seconds,
                    config={
                        "kind": self.kind,
                        **self.settings,
                        "train": train.fingerprint,
                        "valid": None if valid is None else valid.fingerprint,
                    },
                    monitors=monitors,
                    monitor_steps=monitor_steps,
                    progress=progress,
                    processes=launched(),
                    carried=lessons.carried,
                )
                n_threads = torch.get_num_threads()
        except BaseException:
            self._fitted = before
            raise
        for weight in weights.values():
            weight.requires_grad_(False)
        self._fitted = Fitted(weights, train.vocabulary, train.tokenizer)
        self.record = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
            "history": asdict(self.history),
            "threads": n_threads,
            "device": device.type,
        }
        return self

    def lessons(self, train: Corpus, weights: Weights, *, batch_size: int, seed: int) -> Lessons:
        """Return the batches that `weights` learn from; here each sentence by itself."""
        return sentence_lessons(self, weights, train, batch_size=batch_size, seed=seed)

    def working_weights(self) -> Weights:
        """Return the weights in `precision`."""
        return self._require().at(self.precision)

    @property
    def digest(self) -> str:
        """Hash of what was learnt."""
        return self._require().digest

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the weights."""
        return {name: weight.cpu().numpy() for name, weight in self.weights.items()}

    def restore(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        vocabulary: Vocabulary,
        tokenizer: str,
        record: Mapping[str, Any],
    ) -> None:
        """Take over weights that were learnt before.

        Raises
        ------
        InputError
            If their names or shapes are not those of this network with this vocabulary.
        """
        import torch

        weights = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        expected = self.shapes(len(vocabulary), self.longest(weights) or 0)
        found = {name: tuple(array.shape) for name, array in arrays.items()}
        for name in sorted(found.keys() | expected.keys()):
            if found.get(name) != expected.get(name):
                raise InputError(
                    f"the weights do not fit the settings and a vocabulary of {len(vocabulary)} tokens: "
                    f"'{name}' must have shape {expected.get(name)}, got {found.get(name)}"
                )
        device = training_device()
        self._fitted = Fitted({name: weights[name].to(device) for name in expected}, vocabulary, tokenizer)
        self.record = dict(record)
        told = record["history"]
        epochs = tuple(Epoch(**epoch) for epoch in told["epochs"])
        self.history = History(epochs, tuple(Reading(**reading) for reading in told["readings"]), told["precision"])

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
        """Return `n` sentences; see `Generator.sample`. There must be no `context`.

        Raises
        ------
        OptionError
            If a setting is out of range, or `prefix` has neither 1 nor n sentences.
        InputError
            If a prefix is longer than the network can read.

        Warns
        -----
        UserWarning
            If a sentence reached `max_length` before the network's own limit and was cut.
        """
        check_sample(
            n,
            seed=seed,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            prefix=prefix,
            context=context,
            generator=self.name,
        )
        fitted = self._require()
        beginnings = Beginnings.nothing(n)
        if prefix is not None:
            beginnings = Beginnings(self._tokens(prefix), prefix.offsets, prefix_of_each(prefix, n))
        key = int(stream(seed, self.name, fitted.digest, repr(float(temperature))).integers(2**63))
        limit = self.max_length
        tokens, lengths = draw_sentences(
            self,
            fitted.at(self.precision),
            Choice(temperature, top_k, top_p),
            beginnings,
            key=key,
            limit=np.iinfo(np.int64).max if limit is None else limit,
        )
        if limit is not None and limit != self.longest(fitted.weights):
            n_cut = int(np.count_nonzero(lengths >= limit))
            if n_cut > 0:
                warnings.warn(f"{self.name}: {n_cut} of {n} samples were cut at {limit} tokens", stacklevel=2)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return drawn_corpus(tokens, offsets, vocabulary=fitted.vocabulary, tokenizer=fitted.tokenizer)

    def log_prob(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each sentence, its end included, shape (N,), in nats."""
        return sentence_sums(self.token_log_probs(corpus, temperature=temperature), corpus)

    def token_log_probs(self, corpus: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token and of each end, shape (T + N,); see `LanguageModel`."""
        return self._scored(token_scores, corpus, temperature)

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> FloatArray:
        """Return the log-probability of each token after each prefix, shape (B, V); see `LanguageModel`."""
        return self._scored(next_scores, prefixes, temperature)

    def _scored(self, score: Callable[..., FloatArray], corpus: Corpus, temperature: float) -> FloatArray:
        check_temperature(temperature, generator=self.name)
        weights = self._require().at(self.precision)
        return score(self, weights, self._tokens(corpus), corpus.offsets, temperature)

    def _require(self) -> Fitted:
        if self._fitted is None:
            raise not_fitted(self.name)
        return self._fitted

    def _tokens(self, corpus: Corpus) -> TokenArray:
        """Return the tokens of `corpus` as ids of this model, shape (T,), and raise where a sentence is too long."""
        fitted = self._require()
        longest = self.longest(fitted.weights)
        if longest is not None and len(corpus) > 0 and int(corpus.lengths.max()) > longest:
            number = int(np.argmax(corpus.lengths > longest))
            raise InputError(
                f"{self.name} reads at most {longest} tokens, but sentence {number + 1} has {corpus.lengths[number]}: "
                f"shorten it, or train with --max-tokens {corpus.lengths.max()} (positions={corpus.lengths.max() + 1})"
            )
        return tokens_in(fitted.vocabulary, corpus, generator=self.name)
