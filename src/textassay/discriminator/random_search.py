"""Random search: several settings of a discriminator are tried, the best on validation text judges.

The first trial has the default settings, so that searching never does worse on validation text. The settings of a trial
depend on nothing but the seed and its number: more trials repeat the first ones.

Source: Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 13, 2012. The paper that asks for it
("Judge the Judges") names neither ranges nor the number of trials: ours are in `textassay.discriminator.search_spaces`.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.discriminator.base import (
    Discriminator,
    Pair,
    balanced_accuracy,
    balanced_cross_entropy,
    validation_scores,
)
from textassay.discriminator.search_spaces import SPACES, SearchSpace
from textassay.errors import OptionError, unknown_name
from textassay.execution import parallel_map

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """One setting, how it did on validation text, and the wall time of its fit."""

    number: int
    settings: Mapping[str, Any]
    valid_accuracy: float
    valid_cross_entropy: float
    seconds: float = field(compare=False)


class RandomSearchDiscriminator:
    """The best of several settings of one discriminator on validation text.

    `space`: what is searched instead of ``SPACES[name]``.
    """

    def __init__(self, name: str, *, n_trials: int = 20, space: SearchSpace | None = None, seed: int = 0) -> None:
        if n_trials < 1:
            raise OptionError(f"n_trials must be at least 1, got {n_trials}")
        if space is None and name not in SPACES:
            raise unknown_name("discriminator to search", name, SPACES)
        self.kind = name
        self.n_trials = n_trials
        self.space = SPACES[name] if space is None else space
        self.seed = seed
        self.trials: tuple[Trial, ...] = ()
        self.best: Discriminator | None = None
        self._sample = self.space.make()  # an extra that is missing is said at once

    @property
    def name(self) -> str:
        """Of the discriminator, with ``-search``."""
        return f"{self.kind}-search"

    @property
    def features(self) -> str:
        """Trials and ranges, and what the default settings look at."""
        ranges = ", ".join(f"{setting} {values}" for setting, values in self.space.settings.items())
        return (
            f"best of {self.n_trials} settings on validation text: {ranges}, seed {self.seed}; {self._sample.features}"
        )

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The best settings, what the discriminator chose with them, and all trials, without their times."""
        if self.best is None:
            return {}
        number = _best(self.trials)
        return {
            "trial": number,
            "settings": dict(self.trials[number].settings),
            "fitted": dict(self.best.chosen),
            "trials": [
                {name: value for name, value in asdict(trial).items() if name != "seconds"} for trial in self.trials
            ],
        }

    def fit(self, train: Pair, valid: Pair) -> Self:
        """Return the search with its best discriminator; this one stays as it is.

        The best has the highest balanced accuracy on `valid`, of equal ones the lowest cross-entropy, then the first.
        """
        fitted = type(self)(self.kind, n_trials=self.n_trials, space=self.space, seed=self.seed)
        lock = threading.Lock()
        kept: dict[str, Any] = {}  # only the best so far, to save memory

        def attempt(number: int) -> Trial:
            settings = self.space.draw(self.seed, self.kind, number)
            begin = time.perf_counter()
            judge = self.space.make(**settings).fit(train, valid)
            took = time.perf_counter() - begin
            scores = validation_scores(judge, valid)
            trial = Trial(number, settings, balanced_accuracy(*scores), balanced_cross_entropy(*scores), took)
            with lock:
                if not kept or _merit(trial) > _merit(kept["trial"]):
                    kept.update(trial=trial, judge=judge)
            return trial

        fitted.trials = tuple(parallel_map(attempt, range(self.n_trials)))
        fitted.best = kept["judge"]
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        """Return the probability that each sentence is real, shape (N,)."""
        if self.best is None:
            raise OptionError(f"a {self.name} discriminator must be fitted before it scores texts")
        return self.best.prob_real(corpus)


def _merit(trial: Trial) -> tuple[float, float, int]:
    return trial.valid_accuracy, -trial.valid_cross_entropy, -trial.number


def _best(trials: tuple[Trial, ...]) -> int:
    return max(trials, key=_merit).number
