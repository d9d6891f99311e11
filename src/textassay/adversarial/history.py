"""The history of an adversarial training: its rounds, the readings of validation and monitors, how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textassay.training import Reading


@dataclass(frozen=True)
class Round:
    """One round: its number from 1, over all phases, its phase, and its finite losses, rewards and other values."""

    number: int
    phase: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class RoundsHistory:
    """A whole training."""

    # in order; after a collapse also those whose weights were not kept
    rounds: tuple[Round, ...] = ()
    # `Reading.step` and `Reading.epoch` are both the number of the round before the reading, 0 before the first
    validations: tuple[Reading, ...] = ()
    readings: tuple[Reading, ...] = ()
    kept: int = 0  # number of the round whose weights were kept
    # why training ended early, with advice, in one line; None where it did not
    stopped: str | None = None

    @property
    def ending(self) -> dict[str, Any]:
        """The entry in the record of a model, JSON-ready: the round that is kept, of how many, why it ended."""
        return {"kept": self.kept, "rounds": len(self.rounds), "stopped": self.stopped}


def mean_values(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each value over steps, which have the same names; {} without steps."""
    return {name: float(np.mean([each[name] for each in steps])) for name in (steps[0] if steps else {})}
