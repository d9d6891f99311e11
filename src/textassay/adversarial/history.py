"""What a two-sided training tells: its rounds, what validation and monitors said between them, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass

from textassay.training.history import Reading

__all__ = ["Round", "RoundsHistory"]


@dataclass(frozen=True)
class Round:
    """One round: its number from 1, over all phases, its phase, and losses, rewards and the like by name."""

    number: int
    phase: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class RoundsHistory:
    """A whole training.

    Attributes
    ----------
    rounds
        In order.
    validations, readings
        What validation and the monitors said; `Reading.step` and `Reading.epoch` are both the number of the round
        after which, 0 before the first.
    kept
        Number of the round after which the weights were as they are now.
    stopped
        Why training ended before all rounds were over, with advice, in one line; none where it did not.
    """

    rounds: tuple[Round, ...] = ()
    validations: tuple[Reading, ...] = ()
    readings: tuple[Reading, ...] = ()
    kept: int = 0
    stopped: str | None = None
