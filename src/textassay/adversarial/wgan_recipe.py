"""How a recurrent Wasserstein GAN is trained, and the presets.

``paper`` is as Press et al. and their public code have it: 15,000 iterations a length, in rounds of 15. ``tiny`` trains
within two minutes on two processors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from textassay.errors import check_least, check_positive, check_share


@dataclass(frozen=True)
class Curriculum:
    """Lengths from 1 to `longest`, each for `rounds` rounds; both at least 1."""

    longest: int
    rounds: int

    def __post_init__(self) -> None:
        check_least(self, ("longest", "rounds"), 1)

    @property
    def n_rounds(self) -> int:
        """Rounds of all lengths."""
        return self.longest * self.rounds

    def length(self, number: int) -> int:
        """Return the length in round `number`, from 1."""
        return min(self.longest, 1 + (number - 1) // self.rounds)


@dataclass(frozen=True)
class WganRecipe:
    """How to train."""

    length: int = 32  # Tokens of the longest windows, the last of the curriculum, at least 1
    rounds: int = 1000  # Rounds of each length, at least 1
    iterations: int = 15  # Of a round, at least 1; each is `critic_updates`, then `generator_updates`
    # At least 1
    critic_updates: int = 10
    generator_updates: int = 50
    batch_size: int = 64  # Windows of a side in an update, at least 1
    critic_width: int = 512  # Numbers in a word vector and in the state of the critic, at least 1
    learning_rate: float = 1e-4  # Of both sides, above 0
    # Decays of Adam's means of gradients and of their squares, in [0, 1)
    beta1: float = 0.5
    beta2: float = 0.9
    penalty: float = 10.0  # Weight of the gradient penalty, at least 0
    # Teacher helping: the generator reads gold tokens and only the last of a row is its own; else all are
    helping: bool = True
    # Variable length: rows have 1 to as many tokens as the curriculum allows, evenly; else as many as it allows
    variable: bool = True

    def __post_init__(self) -> None:
        ones = ("length", "rounds", "iterations", "critic_updates", "generator_updates", "batch_size", "critic_width")
        check_least(self, ones, 1)
        check_least(self, ("penalty",), 0)
        check_positive(self, ("learning_rate",))
        check_share(self, ("beta1", "beta2"))

    @property
    def curriculum(self) -> Curriculum:
        """Which length each round has."""
        return Curriculum(self.length, self.rounds)


# The generator (`NoiseGru`) and how it is trained.
WGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], WganRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 512, "noise": 10.0}, WganRecipe()),
        "tiny": (
            {"width": 64, "noise": 10.0},
            WganRecipe(
                length=7,
                rounds=20,
                iterations=10,
                critic_updates=5,
                generator_updates=2,
                critic_width=64,
                learning_rate=2e-3,
            ),
        ),
    }
)
