"""What a two-sided training tells: its rounds, what validation and monitors said between them, and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textassay.training import Reading


@dataclass(frozen=True)
class Round:
    """One round: its number from 1, over all phases, its phase, and the losses, rewards and so on that are finite."""

    number: int
    phase: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class RoundsHistory:
    """A whole training."""

    # All that were run, in order; after a collapse also those whose weights were not kept
    rounds: tuple[Round, ...] = ()
    # What validation and the monitors said; `Reading.step` and `Reading.epoch` are both the number of the round after
    # which, 0 before the first
    validations: tuple[Reading, ...] = ()
    readings: tuple[Reading, ...] = ()
    kept: int = 0  # Number of the round after which the weights were as they are now
    # Why training ended before all rounds were over, with advice, in one line; none where it did not
    stopped: str | None = None

    @property
    def ending(self) -> dict[str, Any]:
        """What the record of a model says of it, JSON-ready: the round that is kept, of how many, why it ended."""
        return {"kept": self.kept, "rounds": len(self.rounds), "stopped": self.stopped}


def mean_values(told: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each value, over steps that told the same names; nothing of no step."""
    return {name: float(np.mean([each[name] for each in told])) for name in (told[0] if told else {})}
