"""Next tokens after every prefix of a reference text: of generators that only emit tokens, and of language models.

A generator needs no probabilities, only a way to draw one next token after a prefix. The simplest form,
`SteppableGenerator`, has one method, for code outside textassay. The fast form, `WindowStepper`, draws at all positions
of many windows in one call; `as_window_stepper` converts the first into the second. Of a language model the
probabilities are read, at all positions of many rows at once: networks in one pass, others position by position.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, section 3 (teacher
forcing); Press et al., "Language Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017
(generators whose only randomness is the initial state).
"""

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import EOS, Vocabulary
from textassay.errors import InputError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay_lab.generator.next_words import BatchReader, Ends, model_vocabulary, next_rows, reads_in_batches
from textassay_lab.training.backend import single_threaded

if TYPE_CHECKING:
    from torch import Tensor


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_TOKENS = 1 << 14  # read together
_LOGITS = 1 << 22  # held at once


def reference_log_probs(model: LanguageModel, windows: IntArray, *, ends: Ends, skipped: int = 0) -> FloatArray:
    """Return the log-probability of each token of each window given those before it, in nats, shape (B, T - skipped).

    `windows`: ids of the model's vocabulary without ends of texts, shape (B, T). `ends`: ``excluded`` gives the
    probability of the end to the other tokens, ``absorbing`` leaves it as the model has it. -inf for a token that the
    model never draws.
    """
    length = windows.shape[1]
    log_probs = np.empty((len(windows), length - skipped))
    if reads_in_batches(model):
        rows = max(1, _TOKENS // length)
        starts = range(0, len(windows), rows)

        def read(start: int) -> None:
            part = windows[start : start + rows]
            log_probs[start : start + rows] = _read(model, part, ends, skipped)

        parallel_map(read, starts)
        return log_probs
    step = max(1, _LOGITS // len(model_vocabulary(model)))
    for start in range(0, len(windows), step):
        part = windows[start : start + step]
        for position in range(skipped, length):
            scores, which = next_rows(model, part[:, :position], ends=ends)
            log_probs[start : start + step, position - skipped] = scores[which, part[:, position]]
    return log_probs


def next_token_probs(model: LanguageModel, windows: IntArray, *, ends: Ends) -> FloatArray:
    """Return the distribution of the next token after the first 0 to T - 1 tokens of each window, shape (B, T, V).

    Parameters are those of `reference_log_probs`; after the end of a row padded with ``<eos>`` the distribution is
    undefined. The whole array is in memory: keep B small.
    """
    length = windows.shape[1]
    if not reads_in_batches(model):
        probs = np.empty((*windows.shape, len(model_vocabulary(model))))
        for position in range(length):
            scores, which = next_rows(model, windows[:, :position], ends=ends)
            probs[:, position] = np.exp(scores)[which]
        return probs
    import torch

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])
        logits = _logits(model, vectors.reshape(-1, vectors.shape[-1]), ends).double()
        flat_probs: FloatArray = torch.softmax(logits, 1).cpu().numpy()
        return flat_probs.reshape(len(windows), length, -1)


def _read(model: BatchReader, windows: IntArray, ends: Ends, skipped: int) -> FloatArray:
    import torch

    from textassay_lab.generator.scoring import log_probs_of

    with single_threaded(), torch.no_grad():
        vectors = model.next_vectors(windows[:, :-1])[:, skipped:]
        flat = vectors.reshape(-1, vectors.shape[-1])
        token_ids = torch.from_numpy(windows[:, skipped:].reshape(-1).copy()).to(flat.device)
        step = max(1, _LOGITS // len(model.vocabulary))
        blocks = zip(torch.split(flat, step), torch.split(token_ids, step), strict=True)
        scores = torch.cat([log_probs_of(_logits(model, part, ends), hits) for part, hits in blocks])
    return np.asarray(scores.cpu().numpy().reshape(len(windows), -1), dtype=np.float64)


def _logits(model: BatchReader, vectors: "Tensor", ends: Ends) -> "Tensor":
    """Return a copy of the logits, shape (R, V), that the caller may change."""
    logits = model.next_logits(vectors).clone()
    if ends == "excluded":
        logits[:, EOS] = -np.inf
    return logits


_NUMBERS = 1 << 22  # probabilities held at once


class SteppableGenerator(Protocol):
    """A generator that draws the next token after a prefix.

    An attribute ``draws_ends = False`` says that ``<eos>`` is never drawn: such a generator is measured on running text
    only.
    """

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What the ids mean."""
        ...

    def step(self, prefixes: IntArray, *, seed: int) -> IntArray:
        """Return one next token, shape (B,), for each of B prefixes of ids, shape (B, t) with t from 0.

        Rows are drawn independently, equal ones too. Padded rows hold ``<eos>`` after their end; draws there are
        ignored.
        """
        ...


class WindowStepper(Protocol):
    """A generator that draws the next token after each prefix of many windows in one call."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What the ids mean."""
        ...

    @property
    def draws_ends(self) -> bool:
        """Whether ``<eos>`` can be drawn; if not, only running text can be measured."""
        ...

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        """Return the tokens drawn in one pass over reference windows, both of shape (B, T).

        Column t is drawn after the first t tokens of the row; the last token of a window is never read. Rows are
        independent, equal ones too, so n passes over a window are one call with n equal rows. A pass may draw one noise
        vector for all positions of a row. Padded rows hold ``<eos>`` after their end; draws there are ignored.
        """
        ...


class NoiseDriven(WindowStepper, Protocol):
    """A `WindowStepper` driven by noise vectors: each gives a distribution at every position."""

    def soft_after(self, windows: IntArray, *, seed: int) -> npt.NDArray[np.floating[Any]]:
        """Return the distributions of one noise vector a row, shape (B, T, V), rows that sum to 1.

        The same windows and seed give the same noise as in `step_after`.
        """
        ...


def as_window_stepper(generator: object) -> WindowStepper:
    """Return the generator as a `WindowStepper`: itself, or a wrapper around its `step`."""
    if _steps_after(generator):
        return generator
    if not _steps(generator):
        name = getattr(generator, "name", type(generator).__name__)
        raise InputError(f"a generator needs step, step_after or token_log_probs, but {name} has none of them")
    return _Stepped(generator)


def emits_distributions(generator: object) -> TypeGuard[NoiseDriven]:
    """Return whether `generator` is driven by noise and gives its distributions."""
    return hasattr(generator, "soft_after")


def has_softmax(generator: object) -> TypeGuard[LanguageModel]:
    """Return whether `generator` is a language model, with a probability for every next token."""
    return all(hasattr(generator, name) for name in ("token_log_probs", "next_log_probs"))


class SoftmaxStepper:
    """The passes of Algorithm 1 for a language model: each draws a token from the softmax at each position.

    A multinomial draw of the counts is equivalent and much faster; this class is its reference in tests.
    `ends`: ``excluded`` if the text goes on, ``absorbing`` if the end is a token like any other.
    """

    def __init__(self, model: LanguageModel, *, ends: Ends) -> None:
        self._model = model
        self._ends: Ends = ends

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def vocabulary(self) -> Vocabulary:
        """What the ids mean."""
        return model_vocabulary(self._model)

    @property
    def draws_ends(self) -> bool:
        """Whether ends were not excluded."""
        return self._ends == "absorbing"

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        """Return one draw after each prefix of each window, shape (B, T); see `WindowStepper`."""
        draws, drawn = stream(seed, "softmax steps").random(windows.shape), np.empty_like(windows)
        rows = max(1, _NUMBERS // (windows.shape[1] * len(self.vocabulary)))
        for start in range(0, len(windows), rows):
            block = slice(start, start + rows)
            bounds = np.cumsum(next_token_probs(self._model, windows[block], ends=self._ends), axis=2)
            drawn[block] = (bounds <= (draws[block] * bounds[:, :, -1])[:, :, None]).sum(axis=2)
        return drawn


def _steps(generator: object) -> TypeGuard[SteppableGenerator]:
    return callable(getattr(generator, "step", None)) and isinstance(getattr(generator, "vocabulary", None), Vocabulary)


def _steps_after(generator: object) -> TypeGuard[WindowStepper]:
    return callable(getattr(generator, "step_after", None))


class _Stepped:
    """A `WindowStepper` around a generator with single steps: one call for each position."""

    def __init__(self, generator: SteppableGenerator) -> None:
        self._generator = generator

    @property
    def name(self) -> str:
        return self._generator.name

    @property
    def vocabulary(self) -> Vocabulary:
        return self._generator.vocabulary

    @property
    def draws_ends(self) -> bool:
        return bool(getattr(self._generator, "draws_ends", True))

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        drawn = np.empty_like(windows)
        for position in range(windows.shape[1]):
            key = int(stream(seed, "step", position).integers(2**62))
            tokens = np.asarray(self._generator.step(windows[:, :position], seed=key))
            if tokens.shape != (len(windows),):
                raise InputError(f"{self.name}: step must give shape ({len(windows)},), got {tokens.shape}")
            drawn[:, position] = tokens
        return drawn
