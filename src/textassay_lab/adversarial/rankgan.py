"""RankGAN: recipe, presets, and the public class; both sides are in `rankgan_training`.

Source: Lin et al., "Adversarial Ranking for Language Generation", NeurIPS 2017, and its public code, which the preset
``paper`` follows; ``tiny`` is ours, to try things out.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

from textassay.fields import Above, Between, Option
from textassay_lab.adversarial.seqgan import FILTERS, SeqGan, SeqGanRecipe
from textassay_lab.adversarial.system import DiscriminatorOption, Presets


@dataclass(frozen=True)
class RankGanRecipe(SeqGanRecipe):
    """How the two sides are trained; settings of the discriminator in `SeqGanRecipe` are the ranker's here.

    Departs from the paper: the baseline of each reward is the mean over the other samples of the step. Log-ranks are
    below 0 for every sentence, so without a baseline a step makes all samples less likely; the expected gradient is
    the same.
    """

    rounds: Annotated[int, Option("Adversarial rounds; 0: none, as MLE SeqGAN."), Between(0)] = 50
    baseline: Annotated[Literal["none", "leave-one-out"], Option("Subtracted from rewards: none or leave-one-out.")] = (
        "leave-one-out"
    )
    # drawn anew for each batch
    references: Annotated[
        int, DiscriminatorOption("Number of real sentences that similarity is measured to."), Between(1)
    ] = 16
    # inverse temperature of the similarity in a rank
    gamma: Annotated[float, DiscriminatorOption("Weight of similarity in a rank."), Above(0)] = 1.0


def _like_seqgan(preset: str, **changes: Any) -> tuple[Mapping[str, Any], RankGanRecipe]:
    """Return a preset of SeqGAN with what differs here."""
    network, recipe = SeqGan.presets[preset]
    return network, RankGanRecipe(**{**asdict(recipe), **changes})


class RankGan(SeqGan):
    """RankGAN: SeqGAN with a ranker instead of a discriminator.

    Settings: those of `SeqGan`, `references` and `gamma`.
    """

    kind = "rankgan"
    training = "textassay_lab.adversarial.rankgan_training:RankGanTraining"
    recipe_class = RankGanRecipe
    presets: ClassVar[Presets] = {
        # two windows more than SeqGAN's; how long they are the paper does not say
        "paper": _like_seqgan(
            "paper",
            rounds=50,
            baseline="leave-one-out",
            references=4,
            discriminator_filters={**FILTERS, 30: 160, 40: 160},
        ),
        "tiny": _like_seqgan("tiny", gamma=5.0, adversarial_learning_rate=3e-3),  # 1e-2 loses half the variety
    }
