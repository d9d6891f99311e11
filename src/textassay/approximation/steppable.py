"""Generators that only emit tokens: what they draw next after every beginning of a gold text.

Nothing is asked of a generator but one next token after given ones; how likely the token was, nobody needs to know. The
simplest form, `SteppableGenerator`, is for outsiders: one method. The fast form, `WindowStepper`, answers for all
positions of many windows in one call; `as_window_stepper` makes it of the other.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, section 3 (a generator fed
with gold history); Press et al., "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017, for generators whose chance is in their initial state.
"""

from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from textassay.approximation.gold_history import next_probs
from textassay.corpus import Vocabulary
from textassay.errors import InputError
from textassay.generator import Ends, LanguageModel, model_vocabulary
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_NUMBERS = 1 << 22  # probabilities held at once


class SteppableGenerator(Protocol):
    """Something that draws the next token after given ones.

    An attribute ``draws_ends`` that is False says that ``<eos>`` is never drawn: such a generator is asked for running
    text only. Without the attribute it may be drawn.
    """

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """What the ids mean."""
        ...

    def step(self, gold_prefixes: IntArray, *, seed: int) -> IntArray:
        """Return one next token for each of B prefixes, shape (B, t) with t from 0, as ids of shape (B,).

        Rows are drawn independently, equal ones too. A row that was padded holds ``<eos>`` behind its end; what is
        drawn there is not looked at.
        """
        ...


class WindowStepper(Protocol):
    """Something that draws the next token after each beginning of many windows in one call."""

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
        """Whether ``<eos>`` can be drawn; where not, text is read as running text only."""
        ...

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        """Return what is drawn in one pass over gold windows, both of shape (B, T).

        Column t is drawn after the first t tokens of the row, from 0 on: the last token of a window is never read.
        Rows are drawn independently of each other, equal ones too: so n passes over a window are one call with n equal
        rows. One pass may draw its chance (a noise vector) once for all positions of a row. Rows may be padded with
        ``<eos>`` behind their end; what is drawn there is not looked at.
        """
        ...


class NoiseDriven(WindowStepper, Protocol):
    """A `WindowStepper` whose chance is in a noise vector: for each it emits a distribution at every position."""

    def soft_after(self, windows: IntArray, *, seed: int) -> npt.NDArray[np.floating[Any]]:
        """Return the distributions of one noise vector a row, shape (B, T, V), rows that sum to 1.

        From the same windows and seed, the noise is that of `step_after`.
        """
        ...


def as_window_stepper(generator: object) -> WindowStepper:
    """Return a generator in the fast form: itself, or made of its `step`."""
    if _steps_after(generator):
        return generator
    if not _steps(generator):
        name = getattr(generator, "name", type(generator).__name__)
        raise InputError(f"{name} can neither say how likely a token is nor draw one after given text")
    return _Stepped(generator)


def emits_distributions(generator: object) -> TypeGuard[NoiseDriven]:
    """Return whether `generator` is driven by noise and shows its distributions."""
    return hasattr(generator, "soft_after")


def has_softmax(generator: object) -> TypeGuard[LanguageModel]:
    """Return whether `generator` is a language model: it knows the probability of every next token."""
    return all(hasattr(generator, name) for name in ("token_log_probs", "next_log_probs"))


class SoftmaxStepper:
    """The passes that Algorithm 1 makes, of a language model: each draws a token from the softmax at each position.

    Where only counts of draws matter, a multinomial draw is the same and much faster; this is what it is tested by.

    `ends`: ``excluded``: the text goes on; ``absorbing``: the end is a token like any other.
    """

    def __init__(self, model: LanguageModel, *, ends: Ends) -> None:
        self._model = model
        self._ends: Ends = ends

    @property
    def name(self) -> str:
        """That of the model."""
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
        """Return one draw after each beginning of each window, (B, T); see `WindowStepper`."""
        draws, drawn = stream(seed, "softmax steps").random(windows.shape), np.empty_like(windows)
        rows = max(1, _NUMBERS // (windows.shape[1] * len(self.vocabulary)))
        for start in range(0, len(windows), rows):
            some = slice(start, start + rows)
            bounds = np.cumsum(next_probs(self._model, windows[some], ends=self._ends), axis=2)
            drawn[some] = (bounds <= (draws[some] * bounds[:, :, -1])[:, :, None]).sum(axis=2)
        return drawn


def _steps(generator: object) -> TypeGuard[SteppableGenerator]:
    return callable(getattr(generator, "step", None)) and isinstance(getattr(generator, "vocabulary", None), Vocabulary)


def _steps_after(generator: object) -> TypeGuard[WindowStepper]:
    return callable(getattr(generator, "step_after", None))


class _Stepped:
    """A `WindowStepper` of a generator that can only make single steps: one call a position."""

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
            told = np.asarray(self._generator.step(windows[:, :position], seed=key))
            if told.shape != (len(windows),):
                raise InputError(f"{self.name}: step must give shape ({len(windows)},), got {told.shape}")
            drawn[:, position] = told
        return drawn
