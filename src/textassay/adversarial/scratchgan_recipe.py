"""ScratchGAN's recipe and presets.

``paper`` has the numbers of de Masson d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019, and their
public code. ``tiny`` is ours, to try things out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from textassay.errors import OptionError, check_least, check_positive, check_share


@dataclass(frozen=True)
class ScratchGanRecipe:
    """How the two sides are trained."""

    # rounds, at least 0, and steps of a round, at least 1: one update of the discriminator, then one of the generator
    rounds: int = 200
    iterations: int = 1000
    batch_size: int = 512  # sentences of each side in an update, at least 1; training needs large batches
    # of the generator and of the discriminator, above 0
    learning_rate: float = 9.59e-5
    judge_learning_rate: float = 9.38e-3
    # decays of Adam, in [0, 1), for both
    beta1: float = 0.5
    beta2: float = 0.999
    discount: float = 0.23  # of later rewards, per step, in [0, 1]
    baseline_decay: float = 0.08  # weight of the old baseline in the moving average of returns, in [0, 1)
    # discriminator: learnt embedding dimension and hidden dimension, at least 1
    dimension: int = 64
    width: int = 512
    # discriminator: dropout, in [0, 1); L2 penalty, at least 0
    dropout: float = 0.1
    penalty: float = 1e-6
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds", "penalty"), 0)
        check_least(self, ("iterations", "batch_size", "dimension", "width", "n_validation"), 1)
        check_positive(self, ("learning_rate", "judge_learning_rate"))
        check_share(self, ("beta1", "beta2", "baseline_decay", "dropout"))
        if not 0 <= self.discount <= 1:
            raise OptionError(f"discount must be at least 0 and at most 1, got {self.discount}")


# settings of the generator (`TiedLstm`) and of the adversarial training
SCRATCHGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], ScratchGanRecipe]] = MappingProxyType(
    {
        "paper": ({"width": 512, "layers": 2, "dimension": 64, "fixed": 300, "dropout": 0.0}, ScratchGanRecipe()),
        "tiny": (
            {"width": 32, "layers": 1, "dimension": 16, "fixed": 16, "dropout": 0.0},
            ScratchGanRecipe(
                rounds=20,
                iterations=25,
                batch_size=128,
                learning_rate=3e-3,
                judge_learning_rate=5e-3,
                dimension=16,
                width=32,
                n_validation=1000,
            ),
        ),
    }
)
