"""What a training run tells: its progress while it goes on, its epochs and what monitors read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, get_type_hints

from textassay.errors import InputError, check_type
from textassay.training.recipe import Recipe


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number from 1, the mean loss of its batches, and the score after it."""

    number: int
    loss: float
    score: float


@dataclass(frozen=True)
class Reading:
    """What the monitors said after so many steps of the run, in the epoch numbered `epoch`; None: no finite number."""

    step: int
    epoch: int
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class History:
    """All epochs and readings of a training run, in order, and the precision it was computed in."""

    epochs: tuple[Epoch, ...] = ()
    readings: tuple[Reading, ...] = ()
    precision: str = "float32"

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Return the history that was written as JSON; raises `InputError`, or `OptionError`, where it is none."""
        check_type("the history of the training", document, Mapping[str, Any])
        if document.keys() != {"epochs", "readings", "precision"}:
            raise InputError("the history of the training must have epochs, readings and precision")
        rows: dict[type, list[Any]] = {}
        for name, kind in (("epochs", Epoch), ("readings", Reading)):
            hints = get_type_hints(kind)
            check_type(f"{name} of the training", document[name], list[Mapping[str, Any]])
            for row in document[name]:
                if row.keys() != hints.keys():
                    raise InputError(f"each of the {name} of the training must have {', '.join(hints)}")
                for part, value in row.items():
                    check_type(f"{part} of the training's {name}", value, hints[part])
            rows[kind] = [kind(**row) for row in document[name]]
        check_type("precision of the training", document["precision"], str)
        return cls(tuple(rows[Epoch]), tuple(rows[Reading]), document["precision"])

    @property
    def best(self) -> Epoch:
        """The epoch whose weights were kept: of those with the highest score, the first."""
        return max(self.epochs, key=lambda epoch: epoch.score)

    def converged(self, recipe: Recipe) -> bool:
        """Return whether the last epochs, as many as `Recipe.patience`, brought nothing better."""
        return bool(self.epochs) and self.epochs[-1].number - self.best.number >= (recipe.patience or math.inf)


@dataclass(frozen=True)
class Step:
    """How far a run is."""

    epoch: int  # Number of the epoch, from 1
    # Steps of this epoch that are done, and all of them
    step: int
    n_steps: int
    loss: float  # Mean loss of this epoch so far, over batches or their tokens, as last read from the device
    tokens_per_second: float | None  # In the steps of this epoch, or since it was resumed; None without `size`
    seconds_left: float  # At most: for all epochs, as if none brought the end before `Recipe.max_epochs`
    # The epoch, when it has been scored and its checkpoint is written; None inside an epoch
    finished_epoch: Epoch | None = None
