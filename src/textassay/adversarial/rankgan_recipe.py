"""How RankGAN is trained: what it has beyond SeqGAN, and the presets.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017, and its public code.
Departs from it: from each reward the mean of the other draws of the step is taken off. A rank's logarithm is below 0
for every sentence, so without that a step makes all that was drawn less likely; the expected gradient is the same.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from textassay.adversarial.seqgan_recipe import SEQGAN_PRESETS, Baseline, SeqGanRecipe
from textassay.errors import check_least, check_positive


@dataclass(frozen=True)
class RankGanRecipe(SeqGanRecipe):
    """How the two sides are trained; what stands in `SeqGanRecipe` of the discriminator is of the ranker here."""

    rounds: int = 50
    baseline: Baseline = "leave-one-out"
    n_references: int = 16  # Real sentences that likeness is measured to, drawn anew for each batch, at least 1
    gamma: float = 1.0  # How much likeness counts in a rank, above 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("n_references",), 1)
        check_positive(self, ("gamma",))


def _like_seqgan(preset: str, **changes: Any) -> tuple[Mapping[str, Any], RankGanRecipe]:
    """Return a preset of SeqGAN with what differs here."""
    network, recipe = SEQGAN_PRESETS[preset]
    return network, RankGanRecipe(**{**asdict(recipe), **changes})


# The generator (`LstmModel`, how it learns from real text first) and the two-sided training that follows.
RANKGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], RankGanRecipe]] = MappingProxyType(
    {
        "paper": _like_seqgan("paper", rounds=50, baseline="leave-one-out", n_references=4),
        "tiny": _like_seqgan("tiny", gamma=5.0, learning_rate=3e-3),  # with 1e-2 half the variety was lost
    }
)
