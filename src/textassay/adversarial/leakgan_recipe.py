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

    rounds: int = 800  # Of the adversarial phase, at least 0
    # Of the phase before, at least 0: each is `pretraining_refreshes` of the discriminator, then `pretraining_epochs`
    # of the generator over real text
    cycles: int = 10
    pretraining_refreshes: int = 5
    pretraining_epochs: int = 8
    refreshes: int = 5  # Of the discriminator in an adversarial round, at least 0
    epochs: int = 3  # Of a refresh: passes over what the generator drew for it and as many real sentences, at least 1
    # After so many adversarial rounds, at least 1, the generator passes over the real text once more, so that it does
    # not collapse
    mle_every: int = 15
    n_negatives: int = 10_000  # Sentences drawn for a refresh, at least 1
    # Sentences of a step of the generator, and of a batch of the discriminator, half of them real; at least 2
    batch_size: int = 64
    n_roll_outs: int = 4  # After each action, at least 1
    rescaling: float = 12.0  # How steeply a reward rises with its rank in the batch, above 0
    # Of manager and worker: of Adam, and where their gradients are clipped; above 0
    learning_rate: float = 1.5e-3
    max_norm: float = 5.0
    # Of the discriminator: of Adam, above 0, and half the factor of its output layer's squares, at least 0
    judge_learning_rate: float = 1e-4
    penalty: float = 0.2

    def __post_init__(self) -> None:
        check_least(
            self, ("rounds", "cycles", "pretraining_refreshes", "pretraining_epochs", "refreshes", "penalty"), 0
        )
        check_least(self, ("epochs", "mle_every", "n_negatives", "n_roll_outs"), 1)
        check_least(self, ("batch_size",), 2)
        check_positive(self, ("rescaling", "learning_rate", "max_norm", "judge_learning_rate"))


# The generator (`LeakGanModel`) and the two-sided training.
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
