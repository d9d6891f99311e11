"""History of a training run: progress, epochs and monitor readings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, get_type_hints

from textassay.errors import InputError, check_type
from textassay_lab.training.recipe import Recipe


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number from 1, the mean loss of its batches, and the score after it."""

    number: int
    loss: float
    score: float


@dataclass(frozen=True)
class Reading:
    """The values of the monitors after `step` steps of the run, in epoch `epoch`; None for values not finite."""

    step: int
    epoch: int
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class History:
    """All epochs and monitor readings of a training run, in order, and its numerical precision."""

    epochs: tuple[Epoch, ...] = ()
    readings: tuple[Reading, ...] = ()
    precision: str = "float32"

    @classmethod
    def from_dict(cls, document: Any) -> Self:
        """Return the history in a JSON object; raise `InputError` or `OptionError` if it is not one."""
        check_type("the history of the training", document, Mapping[str, Any])
        if document.keys() != {"epochs", "readings", "precision"}:
            raise InputError(
                f"the history of the training must have epochs, readings and precision, got {', '.join(document)}"
            )
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
        """The epoch whose weights were kept: the first with the highest score."""
        return max(self.epochs, key=lambda epoch: epoch.score)

    def converged(self, recipe: Recipe) -> bool:
        """Return whether the last `Recipe.patience` epochs brought no better score."""
        return bool(self.epochs) and self.epochs[-1].number - self.best.number >= (recipe.patience or math.inf)


@dataclass(frozen=True)
class Step:
    """The progress of a run."""

    epoch: int  # From 1
    step: int  # Steps of this epoch that are done
    n_steps: int  # Steps of this epoch
    loss: float  # Mean loss of this epoch so far, over batches or their tokens, as last read from the device
    tokens_per_second: float | None  # In this epoch, or since it was resumed; None without `size`
    seconds_left: float  # Upper estimate, for all `Recipe.max_epochs` epochs
    # The epoch, once it is scored and its checkpoint written; None inside an epoch
    finished_epoch: Epoch | None = None
