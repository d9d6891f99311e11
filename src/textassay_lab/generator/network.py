"""Neural language models: training, exact log-probabilities, draws.

A network turns the beginning of a sentence into a hidden state, the output layer turns that into the probability of
each next token. `textassay_lab.generator.module` says what a network is; `textassay_lab.generator.scoring` and
`textassay_lab.generator.sampling` do the work.

Source: Mikolov et al., "Recurrent neural network based language model", Interspeech 2010.
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import InputError, OptionError, is_out_of_memory
from textassay.ngram.language_model import (
    check_sample,
    check_temperature,
    check_train,
    drawn_corpus,
    perplexity,
    prefix_of_each,
    refuse,
    sentence_sums,
    tokens_in,
    training_record,
)
from textassay.seeding import stream
from textassay_lab.generator.fitted_network import TrainedNetwork
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.objective import TrainingObjective, sentence_objective
from textassay_lab.generator.sampling import Beginnings, Choice, draw_sentences
from textassay_lab.generator.scoring import next_scores, token_scores
from textassay_lab.training.history import Step

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


class NetworkLanguageModel(TrainedNetwork):
    """A neural `LanguageModel` and `BatchReader`; subclasses define the network.

    Every sentence over the vocabulary of the training corpus, the empty one and ``<unk>`` included, has a probability
    above 0, and these sum to 1; where the network has a longest sentence, these are the sentences up to there.
    """

    batch_size: int
    max_length: Any  # int; None where networks have a longest sentence
    length: int | None = None  # tokens of every sentence, whose ends are neither learnt nor drawn; None: sentences end

    @abstractmethod
    def new_module(self, n_types: int, longest: int) -> SentenceNetwork:
        """Return the network for `n_types` of tokens and sentences up to `longest` tokens."""

    @property
    def draws_ends(self) -> bool:
        """Whether sentences end; where not, ends do not count in nats per token."""
        return self.length is None

    @property
    def excluded(self) -> tuple[int, ...]:
        """Types that never follow."""
        return (PAD, SOS) if self.length is None else (PAD, SOS, EOS)

    @property
    def limit(self) -> int | None:
        """Most tokens of a sample; None where there is no limit."""
        longest = self.length if self._fitted is None else self.module.longest
        return min((limit for limit in (self.max_length, longest) if limit is not None), default=None)

    def limit_for(self, *corpora: Corpus) -> int:
        """Return the most tokens of a sample; raise where sentences of `corpora` are longer."""
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        limit = self.limit
        if limit is None or lengths.max() > limit:
            raise InputError(f"{self.name} draws at most {limit} tokens, but real sentences have up to {lengths.max()}")
        self._check_lengths(lengths)
        return limit

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
        """Fit to `train`, keep the epoch with the best likelihood of `valid` (else the last), and return self."""
        check_train(train, generator=self.name)
        if valid is not None:
            check_train(valid, generator=self.name, what="validation")

        def seed(purpose: str) -> int:
            return int(stream(self.seed, self._title, purpose, train.fingerprint).integers(2**63))

        rng = torch.Generator().manual_seed(seed("weights"))
        with self._memory_explained():
            began = self.begun(len(train.vocabulary), int(train.lengths.max()), rng)
        with self._memory_explained(), self.in_training(began, train.vocabulary, train.tokenizer) as module:
            self._tokens(train)
            scored = None if valid is None else (self._tokens(valid), valid.offsets, 1.0, self._first(valid))

            def score() -> float:
                assert scored is not None  # it is called where there is validation text
                log_probs = token_scores(module, *scored)
                mean = float(log_probs.sum()) / (len(log_probs) if self.draws_ends else len(scored[0]))
                return mean if math.isfinite(perplexity(-mean)) else -math.inf  # which ends the training

            training = self._train(
                dict(module.named_parameters()),
                self.objective(train, module, seed=seed("order")),
                None if valid is None else score,
                texts=self._fingerprints(train, valid),
                seed=seed("training"),
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                monitors=monitors,
                monitor_steps=monitor_steps,
                progress=progress,
            )
        self.record = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
            **training,
        }
        return self

    def objective(self, train: Corpus, module: SentenceNetwork, *, seed: int) -> TrainingObjective:
        """Return the training batches, here of independent sentences."""
        self._check_lengths(train.lengths)
        return sentence_objective(module, train, batch_size=self.batch_size, seed=seed, first=self._first(train))

    @contextmanager
    def _memory_explained(self) -> Iterator[None]:
        """Say in one line what to do where memory runs out inside the ``with`` block."""
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            remedy = "use a smaller model or shorter texts"
            if self.batch_size > 1:
                remedy = f"try {self.batch_size // 2} (checkpoints can be resumed only with the same), or {remedy}"
            raise OptionError(f"out of memory with batch_size {self.batch_size}: {remedy}") from error

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
        """Return `n` sentences; see `Generator.sample`. Only conditional networks take a `context`."""
        check_sample(
            n,
            seed=seed,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            prefix=prefix,
            generator=self.name,
        )
        fitted = self.require()
        first = self._first_of_samples(n, context, seed=seed)
        beginnings = Beginnings.nothing(n, first)
        if prefix is not None:
            beginnings = Beginnings(self._tokens(prefix), prefix.offsets, prefix_of_each(prefix, n), first)
        key = int(stream(seed, self.name, fitted.digest, repr(float(temperature))).integers(2**63))
        limit = self.limit
        tokens, lengths = draw_sentences(
            fitted.at(self.precision),
            Choice(temperature, top_k, top_p),
            beginnings,
            key=key,
            limit=np.iinfo(np.int64).max if limit is None else limit,
        )
        if limit is not None and limit != fitted.module.longest:
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
        return score(self.working_module, self._tokens(corpus), corpus.offsets, temperature, self._first(corpus))

    def next_vectors(self, tokens: IntArray) -> Tensor:
        """Return the hidden state after the first 0 to L tokens of each row; see `BatchReader`."""
        module = self.working_module
        self._check_length(tokens.shape[1])
        inputs = np.concatenate((np.full((len(tokens), 1), SOS), tokens), axis=1)
        with torch.no_grad():
            vectors: Tensor = module(torch.from_numpy(inputs).to(module.device))
        return vectors

    def next_logits(self, vectors: Tensor) -> Tensor:
        """Return the logits of the next token, (R, V), float32; see `BatchReader`."""
        with torch.no_grad():
            logits: Tensor = self.working_module.logits(vectors).float()
        return logits

    def continued(
        self, prefixes: IntArray, n_tokens: int, *, seed: int, temperature: float = 1.0, ends: bool = False
    ) -> tuple[TokenArray, IntArray]:
        """Return prefixes with their continuations, and lengths; see `BatchReader`."""
        check_sample(max(len(prefixes), 1), seed=seed, temperature=temperature, generator=self.name)
        n, length = prefixes.shape
        offsets = np.arange(n + 1, dtype=np.int64) * length
        self._check_length(length + n_tokens)
        return draw_sentences(
            self.working_module,
            Choice(temperature, ends=ends),
            Beginnings(prefixes.reshape(-1).astype(np.int32), offsets, np.arange(n)),
            key=int(stream(seed, self.name, self.digest, repr(float(temperature))).integers(2**63)),
            limit=length + n_tokens,
        )

    def _first(self, corpus: Corpus) -> IntArray | None:
        """Return the first input of each sentence, shape (N,), where it stands for a context; None for ``<sos>``."""
        return None

    def _first_of_samples(self, n: int, context: Corpus | None, *, seed: int) -> IntArray | None:
        """Return the same for `n` samples given `context`."""
        refuse(self.name, context=context)
        return None

    def _fingerprints(self, train: Corpus, valid: Corpus | None) -> dict[str, str | None]:
        """Return the hashes of the texts, which a checkpoint must match."""
        return {"train": train.fingerprint, "valid": None if valid is None else valid.fingerprint}

    def _check_length(self, length: int) -> None:
        longest = self.module.longest
        if self.length is None and longest is not None and length > longest:
            raise InputError(f"{self.name} reads at most {longest} tokens, got sequences of {length}")

    def _check_lengths(self, lengths: IntArray) -> None:
        others = lengths[lengths != self.length]
        if self.length is not None and len(others):
            raise InputError(
                f"{self.name} needs sentences of {self.length} tokens, but {len(others)} of {len(lengths)} have "
                f"another length, such as {others[0]}"
            )

    def _tokens(self, corpus: Corpus) -> TokenArray:
        """Return the tokens of `corpus` as ids of this model, shape (T,), and raise where a sentence is too long."""
        fitted = self.require()
        longest = fitted.module.longest
        if longest is not None and len(corpus) > 0 and int(corpus.lengths.max()) > longest:
            number = int(np.argmax(corpus.lengths > longest))
            problem = (
                f"{self.name} reads at most {longest} tokens, but sentence {number + 1} has {corpus.lengths[number]}"
            )
            if not self.draws_ends:
                raise InputError(f"{problem}: score running text with 'approximate --window {longest} --mode exact'")
            raise InputError(
                f"{problem}: shorten it, or train with --max-tokens {corpus.lengths.max()} "
                f"(positions={corpus.lengths.max() + 1})"
            )
        return tokens_in(fitted.vocabulary, corpus, generator=self.name)
