"""What ``textassay train`` needs to know of one kind of adversarial training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.rounds import Collapse, Phase, TwoSided
from textassay.cli.train import TrainingTexts, TrainOptions
from textassay.monitoring.monitor import Sampler

__all__ = ["AdversarialKind", "Begun", "TrainAdversarialOptions"]

Tell = Callable[[str, int, int], None]


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
