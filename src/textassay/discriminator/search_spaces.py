"""Where random search draws the settings of each discriminative evaluator from.

Garbacea et al. ("Judge the Judges") search at random without naming ranges: these are ours. N-grams stay those of order
1 to 3. Networks under search are trained until three epochs brought no better validation score, at most twenty.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from textassay.discriminator.base import Discriminator
from textassay.discriminator.cnn import CnnDiscriminator
from textassay.discriminator.naive_bayes import NaiveBayesDiscriminator
from textassay.discriminator.random_forest import RandomForestDiscriminator
from textassay.discriminator.recurrent import RecurrentDiscriminator
from textassay.discriminator.svm import SvmDiscriminator
from textassay.discriminator.xgboost_trees import XgboostDiscriminator
from textassay.seeding import stream
from textassay.training import Recipe

EVALUATORS = ("lstm", "cnn", "cnn-lstm", "svm", "random-forest", "naive-bayes", "xgboost")  # in the order of table 4


@dataclass(frozen=True)
class OneOf:
    """Each of `values`, at least one, is equally likely."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return "/".join(map(str, self.values))

    def draw(self, rng: np.random.Generator) -> Any:
        """Return one of them."""
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
    """Return how networks under search train: until three epochs brought no better validation score."""
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
