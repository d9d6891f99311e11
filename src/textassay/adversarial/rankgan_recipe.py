"""RankGAN's recipe and presets.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017, and its public code.
Departs from it: the baseline of each reward is the mean over the other samples of the step. Log-ranks are below 0 for
every sentence, so without a baseline a step makes all samples less likely; the expected gradient is the same.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from textassay.adversarial.seqgan_recipe import SEQGAN_PRESETS, Baseline, SeqGanRecipe
from textassay.errors import check_least, check_positive


@dataclass(frozen=True)
class RankGanRecipe(SeqGanRecipe):
    """How the two sides are trained; settings of the discriminator in `SeqGanRecipe` are the ranker's here."""

    rounds: int = 50
    baseline: Baseline = "leave-one-out"
    n_references: int = 16  # size of the reference set, drawn anew for each batch, at least 1
    gamma: float = 1.0  # inverse temperature of the similarity in a rank, above 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, ("n_references",), 1)
        check_positive(self, ("gamma",))


def _like_seqgan(preset: str, **changes: Any) -> tuple[Mapping[str, Any], RankGanRecipe]:
    """Return a preset of SeqGAN with what differs here."""
    network, recipe = SEQGAN_PRESETS[preset]
    return network, RankGanRecipe(**{**asdict(recipe), **changes})


# settings of the generator (`LstmModel` and its pre-training) and of the adversarial training
RANKGAN_PRESETS: Mapping[str, tuple[Mapping[str, Any], RankGanRecipe]] = MappingProxyType(
    {
        "paper": _like_seqgan("paper", rounds=50, baseline="leave-one-out", n_references=4),
        "tiny": _like_seqgan("tiny", gamma=5.0, learning_rate=3e-3),  # 1e-2 loses half the variety
    }
)
