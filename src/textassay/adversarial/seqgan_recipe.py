"""SeqGAN's recipe and presets.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017, and its public code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from textassay.errors import OptionError, check_least, check_positive, check_share
from textassay.training import Recipe

# Of the discriminator: window in words to number of filters.
FILTERS: Mapping[int, int] = MappingProxyType(
    {1: 100, 2: 200, 3: 200, 4: 200, 5: 200, 6: 100, 7: 100, 8: 100, 9: 100, 10: 100, 15: 160, 20: 160}
)

Baseline = Literal["none", "leave-one-out"]


@dataclass(frozen=True)
class SeqGanRecipe:
    """How the two sides are trained, after the generator has learnt from real text."""

    rounds: int = 200  # of the adversarial phase, at least 0; 0 leaves the generator unchanged (MLE SeqGAN)
    pretraining_rounds: int = 50  # of the discriminator, at least 0: each is one refresh
    # of an adversarial round: policy-gradient steps, then refreshes of the discriminator; at least 1 and 0
    generator_steps: int = 1
    refreshes: int = 5
    epochs: int = 3  # of a refresh, over its drawn and as many real sentences, at least 1
    n_negatives: int = 10_000  # sentences drawn for a refresh, at least 1
    # sentences of a generator step, and of a batch of the discriminator, half of them real; at least 2
    batch_size: int = 64
    n_roll_outs: int = 16  # after each action, at least 1
    # weight, in [0, 1), of the old roll-out policy in its moving average over rounds; 0: it is the generator
    roll_out_averaging: float = 0.8
    discount: float = 1.0  # of the reward, per later action, in (0, 1]
    # of the rewards: none, or the mean over the other sentences of the step at the same position
    baseline: Baseline = "none"
    # generator: learning rate of Adam, gradient norm for clipping
    learning_rate: float = 1e-2
    max_norm: float = 5.0
    judge_learning_rate: float = 1e-4  # of the discriminator
    # discriminator: embedding dimension, filters by window, dropout
    dimension: int = 64
    filters: Mapping[int, int] = field(default_factory=lambda: dict(FILTERS))
    dropout: float = 0.25
    n_validation: int = 10_000  # sentences drawn for the oracle to score, at least 1

    def __post_init__(self) -> None:
        check_least(self, ("rounds", "pretraining_rounds", "refreshes"), 0)
        check_least(self, ("generator_steps", "epochs", "n_negatives", "n_roll_outs", "dimension", "n_validation"), 1)
        check_least(self, ("batch_size",), 2)
        check_positive(self, ("learning_rate", "max_norm", "judge_learning_rate"))
        check_share(self, ("roll_out_averaging", "dropout"))
        allowed = {
            "discount": ("above 0 and at most 1", 0 < self.discount <= 1),
            "baseline": (" or ".join(get_args(Baseline)), self.baseline in get_args(Baseline)),
            "filters": ("windows of at least 1 with at least 1 filter", _positive(self.filters)),
        }
        for name, (what, holds) in allowed.items():
            if not holds:
                raise OptionError(f"{name} must be {what}, got {getattr(self, name)}")


def _positive(filters: Mapping[int, int]) -> bool:
    return len(filters) > 0 and all(window >= 1 and count >= 1 for window, count in filters.items())


# settings of the generator (`LstmModel` and its pre-training) and of the adversarial training
SEQGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], SeqGanRecipe]] = MappingProxyType(
    {
        "paper": (
            {
                "width": 32,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=120, learning_rate=1e-2, max_norm=5.0),
            },
            SeqGanRecipe(),
        ),
        "tiny": (
            {
                "width": 32,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=4, learning_rate=1e-2, schedule="linear", max_norm=5.0),
            },
            SeqGanRecipe(
                rounds=30,
                pretraining_rounds=3,
                refreshes=1,
                epochs=1,
                n_negatives=1000,
                n_roll_outs=4,
                roll_out_averaging=0.0,
                baseline="leave-one-out",
                learning_rate=1e-2,  # 1e-3 had no visible effect
                judge_learning_rate=1e-3,
                dimension=32,
                filters={1: 50, 2: 50, 3: 50, 4: 50},
                n_validation=1000,
            ),
        ),
    }
)
