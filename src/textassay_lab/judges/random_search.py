"""Random search: several settings of a discriminator are tried, the best on validation text is used.

The first trial has the default settings, so that searching never does worse on validation text. The settings of a trial
depend on nothing but the seed and its number: more trials repeat the first ones.

Sources: Bergstra and Bengio, "Random search for hyper-parameter optimization", JMLR 13, 2012; Garbacea et al., "Judge
the Judges", which searches without naming ranges or the number of trials: those of `SPACES` are ours. N-grams stay
those of order 1 to 3. Networks under search are trained until three epochs brought no better validation score, at most
twenty.
"""

import copy
import inspect
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import (
    Discriminator,
    Pair,
    balanced_accuracy,
    balanced_cross_entropy,
    validation_scores,
)
from textassay.discriminator.ngram_classifiers import (
    NaiveBayesDiscriminator,
    RandomForestDiscriminator,
    SvmDiscriminator,
    XgboostDiscriminator,
)
from textassay.errors import OptionError, unknown_name
from textassay.execution.threads import parallel_map
from textassay.seeding import stream
from textassay_lab.judges.cnn import CnnDiscriminator
from textassay_lab.judges.recurrent import RecurrentDiscriminator
from textassay_lab.training.recipe import Recipe

FloatArray = npt.NDArray[np.float64]

EVALUATORS = ("lstm", "cnn", "cnn-lstm", "svm", "random-forest", "naive-bayes", "xgboost")  # in the order of table 4


@dataclass(frozen=True)
class OneOf:
    """Each of `values`, at least one, is equally likely."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return "/".join(map(str, self.values))

    def draw(self, rng: np.random.Generator) -> Any:
        return self.values[int(rng.integers(len(self.values)))]


@dataclass(frozen=True)
class LogUniform:
    """A number between `low`, above 0, and `high`, whose logarithm is uniform."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g}-{self.high:g}"

    def draw(self, rng: np.random.Generator) -> float:
        """Return one, to three digits, so that what a report prints is what was used."""
        return float(f"{math.exp(rng.uniform(math.log(self.low), math.log(self.high))):.3g}")


@dataclass(frozen=True)
class SearchSpace:
    """What makes a discriminator, and where each of its settings is drawn from; `make` has defaults for all."""

    make: Callable[..., Discriminator]
    settings: Mapping[str, OneOf | LogUniform]

    def draw(self, seed: int, name: str, number: int) -> dict[str, Any]:
        """Return the settings of a trial; those of trial 0 are the defaults."""
        if number == 0:
            known = inspect.signature(self.make).parameters
            return {setting: known[setting].default for setting in self.settings}
        rng = stream(seed, "random-search", name, number)
        return {setting: values.draw(rng) for setting, values in self.settings.items()}


def _recipe(learning_rate: float) -> Recipe:
    return Recipe(max_epochs=20, patience=3, learning_rate=learning_rate, averaging=0.99, max_norm=1.0)


def _recurrent(
    *,
    convolution: bool = False,
    learning_rate: float = 3e-3,
    width: int = 96,
    dropout: float = 0.3,
    pooling: int = 1,
    batch_size: int = 128,
    min_sentences: int = 2,
) -> Discriminator:
    return RecurrentDiscriminator(
        convolution=convolution,
        pooling=pooling,
        width=width,
        dropout=dropout,
        recipe=_recipe(learning_rate),
        batch_size=batch_size,
        min_sentences=min_sentences,
    )


def _cnn(*, learning_rate: float = 3e-3, batch_size: int = 256, min_sentences: int = 2) -> Discriminator:
    return CnnDiscriminator(_recipe(learning_rate), batch_size=batch_size, min_sentences=min_sentences)


_OF_RECURRENT: Mapping[str, "OneOf | LogUniform"] = {
    "learning_rate": LogUniform(1e-3, 1e-2),
    "width": OneOf((48, 96, 192)),
    "dropout": OneOf((0.2, 0.3, 0.5)),
    "batch_size": OneOf((64, 128, 256)),
    "min_sentences": OneOf((2, 3, 5)),
}

SPACES: Mapping[str, SearchSpace] = {
    "cnn": SearchSpace(
        _cnn,
        {
            "learning_rate": LogUniform(3e-4, 1e-2),
            "batch_size": OneOf((64, 128, 256, 512)),
            "min_sentences": OneOf((2, 3, 5)),
        },
    ),
    "cnn-lstm": SearchSpace(
        partial(_recurrent, convolution=True, pooling=2), {**_OF_RECURRENT, "pooling": OneOf((1, 2, 3))}
    ),
    "lstm": SearchSpace(_recurrent, _OF_RECURRENT),
    "naive-bayes": SearchSpace(
        NaiveBayesDiscriminator,
        {
            "alpha": LogUniform(0.01, 10),
            "min_sentences": OneOf((1, 2, 3)),
            "weighting": OneOf(("counts", "presence", "tf-idf")),
        },
    ),
    "random-forest": SearchSpace(
        RandomForestDiscriminator,
        {"n_trees": OneOf((100, 200, 400)), "min_leaf": OneOf((1, 2, 5, 10)), "min_sentences": OneOf((2, 3, 5))},
    ),
    "svm": SearchSpace(SvmDiscriminator, {"c": LogUniform(0.01, 30), "min_sentences": OneOf((1, 2, 3, 5))}),
    "xgboost": SearchSpace(
        XgboostDiscriminator,
        {
            "learning_rate": LogUniform(0.03, 0.3),
            "max_depth": OneOf((3, 4, 6, 8, 10)),
            "columns": OneOf((0.25, 0.5, 1.0)),
            "min_sentences": OneOf((2, 3, 5)),
        },
    ),
}


@dataclass(frozen=True)
class Trial:
    """One setting, how it did on validation text, and the wall time of its fit."""

    number: int
    settings: Mapping[str, Any]
    valid_accuracy: float
    valid_cross_entropy: float
    seconds: float = field(compare=False)


class RandomSearchDiscriminator:
    """The best of several settings of one discriminator, drawn from ``SPACES[name]``, on validation text."""

    def __init__(self, name: str, *, n_trials: int = 20, seed: int = 0) -> None:
        if n_trials < 1:
            raise OptionError(f"n_trials must be at least 1, got {n_trials}")
        if name not in SPACES:
            raise unknown_name("discriminator to search", name, SPACES)
        self.kind = name
        self.n_trials = n_trials
        self.space = SPACES[name]
        self.seed = seed
        self.trials: tuple[Trial, ...] = ()
        self.best: Discriminator | None = None
        self._sample = self.space.make()  # an extra that is missing is said at once

    @property
    def name(self) -> str:
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
        fitted = copy.copy(self)
        lock = threading.Lock()
        kept: dict[str, Any] = {}  # only the best so far, to save memory

        def attempt(number: int) -> Trial:
            settings = self.space.draw(self.seed, self.kind, number)
            begin = time.perf_counter()
            discriminator = self.space.make(**settings).fit(train, valid)
            took = time.perf_counter() - begin
            scores = validation_scores(discriminator, valid)
            trial = Trial(number, settings, balanced_accuracy(*scores), balanced_cross_entropy(*scores), took)
            with lock:
                if not kept or _merit(trial) > _merit(kept["trial"]):
                    kept.update(trial=trial, discriminator=discriminator)
            return trial

        fitted.trials = tuple(parallel_map(attempt, range(self.n_trials)))
        fitted.best = kept["discriminator"]
        return fitted

    def prob_real(self, corpus: Corpus) -> FloatArray:
        if self.best is None:
            raise OptionError(f"a {self.name} discriminator must be fitted before it scores texts")
        return self.best.prob_real(corpus)


def _merit(trial: Trial) -> tuple[float, float, int]:
    return trial.valid_accuracy, -trial.valid_cross_entropy, -trial.number


def _best(trials: tuple[Trial, ...]) -> int:
    return max(trials, key=_merit).number
