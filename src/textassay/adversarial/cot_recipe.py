"""CoT's recipe and presets."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from textassay.errors import check_least, check_positive, check_share


@dataclass(frozen=True)
class CotRecipe:
    """How the two sides are trained."""

    # rounds, at least 0, and steps of a round, at least 1: one update of the mediator, then one of the generator
    rounds: int = 200
    iterations: int = 500
    batch_size: int = 64  # drawn sentences of a step, and as many real ones for the mediator; at least 1
    # Adam of the generator: learning rate, above 0; decays, in [0, 1)
    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.95
    # mediator: learning rate, above 0; embedding and hidden dimension, layers, at least 1; dropout, in [0, 1)
    mediator_learning_rate: float = 3e-3
    mediator_width: int = 64
    mediator_layers: int = 1
    mediator_dropout: float = 0.5
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds",), 0)
        check_least(self, ("iterations", "batch_size", "mediator_width", "mediator_layers", "n_validation"), 1)
        check_positive(self, ("learning_rate", "mediator_learning_rate"))
        check_share(self, ("beta1", "beta2", "mediator_dropout"))


# settings of the generator (`LstmModel`) and of the cooperative training
COT_PRESETS: Mapping[str, tuple[Mapping[str, Any], CotRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 32, "dropout": 0.0}, CotRecipe()),
        "tiny": (
            {"width": 32, "dropout": 0.0},
            CotRecipe(
                rounds=20, iterations=20, learning_rate=5e-3, mediator_learning_rate=1e-2, mediator_dropout=0.0,
                n_validation=1000,
            ),
        ),
    }
)  # fmt: skip
