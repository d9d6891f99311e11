"""How LeakGAN is trained: sizes, rates, numbers of rounds; and the presets.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018, and its public
code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from textassay.adversarial.seqgan_recipe import FILTERS
from textassay.errors import check_least, check_positive


@dataclass(frozen=True)
class LeakGanRecipe:
    """How the two sides are trained."""

    rounds: int = 800  # of the adversarial phase, at least 0
    # pre-training, at least 0: a cycle is `pretraining_refreshes` of the discriminator, then `pretraining_epochs` of
    # the generator on real text
    cycles: int = 10
    pretraining_refreshes: int = 5
    pretraining_epochs: int = 8
    refreshes: int = 5  # of the discriminator in an adversarial round, at least 0
    epochs: int = 3  # of a refresh, over its drawn and as many real sentences, at least 1
    # adversarial rounds between two epochs of maximum likelihood, which prevent collapse, at least 1
    mle_every: int = 15
    n_negatives: int = 10_000  # sentences drawn for a refresh, at least 1
    # sentences of a generator step, and of a batch of the discriminator, half of them real; at least 2
    batch_size: int = 64
    n_roll_outs: int = 4  # after each action, at least 1
    rescaling: float = 12.0  # slope of the reward by its rank in the batch, above 0
    # manager and worker: learning rate of Adam, and gradient norm for clipping; above 0
    learning_rate: float = 1.5e-3
    max_norm: float = 5.0
    # discriminator: learning rate of Adam, above 0; twice the L2 penalty of its output layer, at least 0
    judge_learning_rate: float = 1e-4
    penalty: float = 0.2

    def __post_init__(self) -> None:
        check_least(
            self, ("rounds", "cycles", "pretraining_refreshes", "pretraining_epochs", "refreshes", "penalty"), 0
        )
        check_least(self, ("epochs", "mle_every", "n_negatives", "n_roll_outs"), 1)
        check_least(self, ("batch_size",), 2)
        check_positive(self, ("rescaling", "learning_rate", "max_norm", "judge_learning_rate"))


# settings of the generator (`LeakGanModel`) and the adversarial training
LEAKGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], LeakGanRecipe]] = MappingProxyType(
    {
        "paper": (
            {
                "width": 32,
                "goal": 16,
                "memory": 4,
                "dimension": 64,
                "filters": tuple(FILTERS.items()),
                "sharpness": 1.5,
            },
            LeakGanRecipe(),
        ),
        "tiny": (
            {"width": 32, "goal": 16, "memory": 4, "dimension": 16, "filters": ((1, 16), (2, 16), (3, 16))},
            LeakGanRecipe(
                rounds=10,
                cycles=2,
                pretraining_refreshes=1,
                pretraining_epochs=2,
                refreshes=1,
                epochs=1,
                mle_every=5,
                n_negatives=500,
                n_roll_outs=2,
                learning_rate=3e-3,
                judge_learning_rate=1e-3,
            ),
        ),
    }
)
