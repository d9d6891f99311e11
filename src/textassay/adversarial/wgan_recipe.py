"""The recurrent Wasserstein GAN's recipe and presets.

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
    """How the two sides are trained."""

    length: int = 32  # tokens of the longest windows, the last of the curriculum, at least 1
    rounds: int = 1000  # rounds of each length, at least 1
    iterations: int = 15  # of a round, at least 1; each is `critic_updates`, then `generator_updates`
    critic_updates: int = 10
    generator_updates: int = 50
    batch_size: int = 64  # windows of a side in an update, at least 1
    critic_width: int = 512  # embedding and hidden dimension of the critic, at least 1
    learning_rate: float = 1e-4  # of both sides, above 0
    # decays of Adam, in [0, 1)
    beta1: float = 0.5
    beta2: float = 0.9
    penalty: float = 10.0  # weight of the gradient penalty, at least 0
    # teacher helping: the generator reads real tokens and predicts only the last of a row; else all
    helping: bool = True
    # variable length: rows have 1 to the curriculum's number of tokens, evenly; else always that number
    variable: bool = True

    def __post_init__(self) -> None:
        ones = ("length", "rounds", "iterations", "critic_updates", "generator_updates", "batch_size", "critic_width")
        check_least(self, ones, 1)
        check_least(self, ("penalty",), 0)
        check_positive(self, ("learning_rate",))
        check_share(self, ("beta1", "beta2"))

    @property
    def curriculum(self) -> Curriculum:
        """The length of each round."""
        return Curriculum(self.length, self.rounds)


# settings of the generator (`NoiseGru`) and of its training
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
