"""What ``textassay train`` needs to know of one kind of adversarial training, and what kinds check alike."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.rounds import Collapse, Phase, TwoSided
from textassay.cli.models import RANDOM, open_model
from textassay.cli.train import TrainingTexts, TrainOptions
from textassay.errors import InputError, OptionError, unknown_name
from textassay.monitoring.monitor import Sampler
from textassay.network.random_lstm import RandomLstm

__all__ = [
    "AdversarialKind",
    "Begun",
    "TrainAdversarialOptions",
    "check_lengths",
    "check_oracle",
    "chosen_preset",
    "sentence_length",
]

Tell = Callable[[str, int, int], None]
Preset = TypeVar("Preset")


@dataclass(frozen=True)
class TrainAdversarialOptions:
    """What the command line asked for.

    Attributes
    ----------
    texts
        All that has to do with text, folder, seed, monitors, device; `TrainOptions.model` is the kind, and
        `TrainOptions.settings` are those of its networks.
    rounds
        Adversarial rounds; none for those of the preset.
    rounds_rate
        Learning rate of the generator in the rounds, where another comes before; none for that of the preset.
    keep
        ``last``, or ``best``: the round where validation is best.
    oracle
        A model that knows how likely a sentence truly is, as `open_model` takes it; none without.
    length
        Tokens of every sentence; none where sentences end.
    vectors
        File of word vectors; none without.
    """

    texts: TrainOptions
    rounds: int | None = None
    rounds_rate: float | None = None
    keep: str = "last"
    oracle: str | None = None
    length: int | None = None
    vectors: str | None = None


@dataclass(frozen=True)
class Begun:
    """A training whose rounds can begin.

    Attributes
    ----------
    name
        Of the generator.
    n_parameters
        Of the generator.
    training, phases, collapse
        What `train_in_rounds` takes.
    best
        What validation has lowest where it is best; none where it says nothing.
    sample
        Draws from the generator as it is, for monitors.
    finish
        From the history to the generator as it is kept, which `save_model` takes.
    """

    name: str
    n_parameters: int
    training: TwoSided
    phases: Sequence[Phase]
    collapse: Collapse | None
    best: str | None
    sample: Sampler
    finish: Callable[[RoundsHistory], Any]


class AdversarialKind(Protocol):
    """One kind."""

    def check(self, options: TrainAdversarialOptions) -> None:
        """Raise for what is wrong with the options before anything is read."""
        ...

    def settings(self, options: TrainAdversarialOptions) -> Mapping[str, Any]:
        """Return what the preset and the options come to, JSON-ready: all that decides the training but the text."""
        ...

    def check_texts(self, options: TrainAdversarialOptions, texts: TrainingTexts) -> None:
        """Raise for what is wrong with the texts, before anything is written."""
        ...

    def begin(self, options: TrainAdversarialOptions, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Do what comes before the rounds, or take it from the folder, and return the training."""
        ...


def chosen_preset(
    kind: str, presets: Mapping[str, Preset], options: TrainAdversarialOptions, allowed: Collection[str]
) -> Preset:
    """Return the preset that is asked for; raise where there is none, or a setting is not one of those `allowed`."""
    preset = options.texts.preset or "tiny"
    if preset not in presets:
        raise unknown_name(f"preset of {kind}", preset, presets)
    for name in options.texts.settings:
        if name not in allowed:
            raise OptionError(f"{kind} has no --{name.replace('_', '-').replace('max-epochs', 'epochs')}")
    return presets[preset]


def check_oracle(options: TrainAdversarialOptions) -> None:
    """Raise where the oracle is none that there can be, or another vocabulary or length than its own is asked for."""
    if options.oracle is None:
        return
    if options.texts.like != options.oracle or options.length is not None:
        raise OptionError("--oracle MODEL brings vocabulary and length: leave --like and --length out")
    if options.oracle.split(":")[0] != RANDOM:
        raise OptionError(f"--oracle must be random-lstm or random-lstm:SEED, got '{options.oracle}'")


def sentence_length(options: TrainAdversarialOptions) -> int | None:
    """Return how many tokens every sentence has; none where they end."""
    oracle = None if options.oracle is None else open_model(options.oracle).model
    return oracle.length if isinstance(oracle, RandomLstm) else options.length


def check_lengths(texts: TrainingTexts, length: int | None) -> None:
    """Raise where a sentence has another length than all shall have; none where they end."""
    for corpus, told in ((texts.train, texts.train_told), (texts.valid, texts.valid_told)):
        others = np.flatnonzero(corpus.lengths != length)
        if length is not None and len(others):
            raise InputError(
                f"{told.source}: {len(others)} of {len(corpus)} sentences do not have {length} tokens, the first is "
                f"sentence {others[0] + 1} with {corpus.lengths[others[0]]}: cut the text, or leave --length out"
            )
