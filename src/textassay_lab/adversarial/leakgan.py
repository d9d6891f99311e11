"""LeakGAN: settings of its generator, recipe, presets, and the public class.

The generator is in `leakgan_model`, both sides are in `leakgan_training`.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018, and its public
code, which the presets ``paper`` follow; ``tiny`` is ours, to try things out.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

from textassay.errors import OptionError
from textassay.fields import Above, Between, Option, check_fields
from textassay_lab.adversarial.seqgan import FILTERS, BatchSize, Epochs, LearningRate, Negatives, Refreshes, RollOuts
from textassay_lab.adversarial.system import Adversarial, DiscriminatorOption, Presets
from textassay_lab.generator.text_generator import Length, MaxLength, Settings

_MAX_MEMORY = 1000  # goals, each kept for every sentence that is drawn


@dataclass(eq=False, repr=False)
class LeakGanSettings(Settings):
    """What can be set of LeakGAN's generator."""

    width: Annotated[int, Option("Hidden dimension of manager and worker."), Between(1)] = 32
    _: KW_ONLY
    goal: Annotated[int, Option("Dimension of a goal embedding."), Between(1)] = 16
    memory: Annotated[
        int, Option("Number of goals that the worker reads, and number of tokens per goal."), Between(1, _MAX_MEMORY)
    ] = 4
    feature_width: Annotated[int, Option("Embedding dimension of the features."), Between(1)] = 64
    feature_filters: Annotated[
        Sequence[Sequence[int]], Option("Filters of the features: widths and numbers, such as 1:100,2:100.")
    ] = ((1, 100), (2, 100), (3, 100))
    sharpness: Annotated[float, Option("Factor of the logits: one over the temperature of the paper."), Above(0)] = 1.0
    length: Length = None
    max_length: MaxLength = 200
    batch_size: Annotated[int, Between(1)] = 128
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        filters = self.feature_filters
        windows = {pair[0] for pair in filters}
        if not windows or min(map(min, filters)) < 1 or len(windows) < len(filters):
            raise OptionError(
                f"feature_filters must be different windows of at least 1 with at least 1 filter, got {filters}"
            )


@dataclass(frozen=True)
class LeakGanRecipe:
    """How the two sides are trained: a cycle is refreshes of the discriminator, then epochs over real text."""

    cycles: Annotated[
        int, Option("Cycles of pre-training: updates of the discriminator, then epochs over real text."), Between(0)
    ] = 10
    epochs: Annotated[int, Option("Epochs over real text in each cycle of pre-training."), Between(0)] = 8
    rounds: Annotated[int, Option("Adversarial rounds."), Between(0)] = 800
    # which prevents collapse
    mle_every: Annotated[int, Option("An epoch over real text after every N rounds."), Between(1)] = 15
    batch_size: BatchSize = 64
    learning_rate: Annotated[float, Option("Learning rate of manager and worker."), Above(0)] = 1.5e-3
    max_norm: Annotated[float, Option("Clip gradients of manager and worker to this norm."), Above(0)] = 5.0
    roll_outs: RollOuts = 4
    rescaling: Annotated[float, Option("How steeply a reward rises with its rank in the batch."), Above(0)] = 12.0
    pretraining_refreshes: Annotated[
        int, DiscriminatorOption("Updates of the discriminator in each cycle."), Between(0)
    ] = 5
    refreshes: Refreshes = 5
    discriminator_epochs: Epochs = 3
    negatives: Negatives = 10_000
    discriminator_learning_rate: LearningRate = 1e-4
    # twice the L2 penalty
    discriminator_penalty: Annotated[
        float, DiscriminatorOption("L2 weight of the discriminator's output layer."), Between(0)
    ] = 0.2

    def __post_init__(self) -> None:
        check_fields(self)


_PAPER = {
    "width": 32,
    "goal": 16,
    "memory": 4,
    "feature_width": 64,
    "feature_filters": tuple(FILTERS.items()),
    "sharpness": 1.5,
}


class LeakGan(Adversarial):
    """LeakGAN: manager and worker that see the discriminator's features.

    Settings: `width`, `goal`, `memory`, `feature_width`, `feature_filters`, `sharpness`, and `cycles`, `rounds`,
    `learning_rate`, `roll_outs` and others of the rounds.
    """

    kind = "leakgan"
    implementation = "textassay_lab.adversarial.leakgan_model:LeakGanModel"
    training = "textassay_lab.adversarial.leakgan_training:LeakGanTraining"
    settings_class = LeakGanSettings
    recipe_class = LeakGanRecipe
    command_options = ("Rounds",)
    presets: ClassVar[Presets] = {
        "paper": (_PAPER, LeakGanRecipe()),
        "paper-40": (_PAPER, LeakGanRecipe(learning_rate=5e-4)),  # of sentences of 40 tokens
        "tiny": (
            {
                "width": 32,
                "goal": 16,
                "memory": 4,
                "feature_width": 16,
                "feature_filters": ((1, 16), (2, 16), (3, 16)),
            },
            LeakGanRecipe(
                rounds=10,
                cycles=2,
                pretraining_refreshes=1,
                epochs=2,
                refreshes=1,
                discriminator_epochs=1,
                mle_every=5,
                negatives=500,
                roll_outs=2,
                learning_rate=3e-3,
                discriminator_learning_rate=1e-3,
            ),
        ),
    }

    @classmethod
    def title(cls, model: Any, recipe: Any) -> str:
        """Return the name of a training."""
        name: str = model.name
        return name
