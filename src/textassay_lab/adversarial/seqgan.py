"""SeqGAN: recipe, presets, and the public class; both sides are in `seqgan_training`.

Source: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017, and its public code,
which the preset ``paper`` follows; ``tiny`` is ours, to try things out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from textassay.errors import OptionError
from textassay.fields import Above, Between, Option, Share, check_fields
from textassay_lab.adversarial.system import Adversarial, DiscriminatorOption, Presets
from textassay_lab.generator.lstm import LstmSettings
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus

_LONG = 200  # tokens; roll-outs take time as the square of the longest sentence
# Of the discriminator: window in words to number of filters.
FILTERS: Mapping[int, int] = MappingProxyType(
    {1: 100, 2: 200, 3: 200, 4: 200, 5: 200, 6: 100, 7: 100, 8: 100, 9: 100, 10: 100, 15: 160, 20: 160}
)

Filters = Annotated[
    Mapping[int, int],
    DiscriminatorOption("Filters of the discriminator: widths and numbers, such as 1:50,2:50."),
]
Negatives = Annotated[int, DiscriminatorOption("Sentences drawn for an update."), Between(1)]
Refreshes = Annotated[int, DiscriminatorOption("Updates of the discriminator in a round."), Between(0)]
# of a refresh: over its drawn sentences, and as many real ones
Epochs = Annotated[int, DiscriminatorOption("Epochs over the sentences of an update."), Between(1)]
# half of the discriminator's are real
BatchSize = Annotated[int, Option("Batch size of a step and of the discriminator."), Between(2)]
LearningRate = Annotated[float, DiscriminatorOption("Learning rate of the discriminator."), Above(0)]
RollOuts = Annotated[int, Option("Roll-outs after each action."), Between(1)]
ValidationSamples = Annotated[int, Option("Sentences drawn for the oracle's likelihood."), Between(1)]


@dataclass(frozen=True)
class SeqGanRecipe:
    """How the two sides are trained, after the generator has learnt from real text."""

    rounds: Annotated[int, Option("Adversarial rounds; 0: none, as MLE SeqGAN."), Between(0)] = 200
    generator_steps: Annotated[int, Option("Policy-gradient steps of the generator in a round."), Between(1)] = 1
    adversarial_batch_size: BatchSize = 64
    adversarial_learning_rate: Annotated[float, Option("Learning rate of the generator in the rounds."), Above(0)] = (
        1e-2
    )
    adversarial_max_norm: Annotated[
        float, Option("Clip gradients of the generator to this norm in the rounds."), Above(0)
    ] = 5.0
    roll_outs: RollOuts = 16
    # of the moving average over rounds
    roll_out_averaging: Annotated[
        float, Option("Share of the old roll-out policy kept after a round; 0: use the generator itself."), Share()
    ] = 0.8
    discount: Annotated[float, Option("Discount factor of the reward per action."), Above(0, 1)] = 1.0
    # of the rewards: none, or the mean over the other sentences of the step at the same position
    baseline: Annotated[Literal["none", "leave-one-out"], Option("Subtracted from rewards: none or leave-one-out.")] = (
        "none"
    )
    validation_samples: ValidationSamples = 10_000
    pretraining_rounds: Annotated[
        int, DiscriminatorOption("Updates of the discriminator before the rounds."), Between(0)
    ] = 50
    refreshes: Refreshes = 5
    discriminator_epochs: Epochs = 3
    negatives: Negatives = 10_000
    discriminator_learning_rate: LearningRate = 1e-4
    discriminator_width: Annotated[
        int, DiscriminatorOption("Embedding dimension of the discriminator."), Between(1)
    ] = 64
    discriminator_filters: Filters = field(default_factory=lambda: dict(FILTERS))
    discriminator_dropout: Annotated[float, DiscriminatorOption("Dropout of the discriminator."), Share()] = 0.25

    def __post_init__(self) -> None:
        check_fields(self)
        filters = self.discriminator_filters
        if not filters or any(window < 1 or count < 1 for window, count in filters.items()):
            raise OptionError(
                f"discriminator_filters must be windows of at least 1 with at least 1 filter, got {filters}"
            )


class SeqGan(Adversarial):
    """SeqGAN: policy gradient against a CNN discriminator, after maximum likelihood.

    Settings: those of `Lstm` and its training, and `rounds`, `adversarial_learning_rate`, `roll_outs`,
    `discriminator_learning_rate` and others of the rounds.
    """

    kind = "seqgan"
    saved_as = "lstm"
    implementation = "textassay_lab.generator.lstm_model:LstmModel"
    training = "textassay_lab.adversarial.seqgan_training:SeqGanTraining"
    settings_class = LstmSettings
    recipe_class = SeqGanRecipe
    command_options = ("Oracle",)
    begins_with_likelihood = True
    may_have_oracle = True
    presets: ClassVar[Presets] = {
        "paper": (
            {
                "width": 32,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=120, learning_rate=1e-2, max_norm=5.0),
            },
            SeqGanRecipe(),
        ),
        "characters": (  # Tevet et al., "Evaluating Text GANs as Language Models": the run that they call best
            {
                "width": 512,
                "embedding_width": 8,
                "dropout": 0.0,
                "batch_size": 64,
                "recipe": Recipe(max_epochs=480, learning_rate=1e-2, max_norm=5.0),
            },
            SeqGanRecipe(pretraining_rounds=200),
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
                discriminator_epochs=1,
                negatives=1000,
                roll_outs=4,
                roll_out_averaging=0.0,
                baseline="leave-one-out",
                adversarial_learning_rate=1e-2,  # 1e-3 had no visible effect
                discriminator_learning_rate=1e-3,
                discriminator_width=32,
                discriminator_filters={1: 50, 2: 50, 3: 50, 4: 50},
                validation_samples=1000,
            ),
        ),
    }

    @classmethod
    def title(cls, model: Any, recipe: Any) -> str:
        """Return the name of a training; without rounds it is that of MLE SeqGAN."""
        return super().title(model, recipe) if recipe.rounds else f"mle-{super().title(model, recipe)}"

    def note(self, train: "Corpus") -> str | None:
        """Return whether roll-outs may be slow."""
        longest = int(train.lengths.max())
        slow = (
            f"a sentence has {longest} tokens, which makes roll-outs slow: use --max-tokens N to leave out longer "
            "sentences, or --window T for running text"
        )
        return slow if longest > _LONG else None
