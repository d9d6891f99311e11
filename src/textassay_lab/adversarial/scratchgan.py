"""ScratchGAN: settings of its generator, recipe, presets, and the public class.

The generator is in `tied_lstm`, both sides are in `scratchgan_training`.

Source: de Masson d'Autume et al., "Training Language GANs from Scratch", NeurIPS 2019, and its public code, which the
preset ``paper`` follows; ``tiny`` is ours, to try things out.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

from textassay.fields import Above, Between, Option, Share, check_fields
from textassay_lab.adversarial.cot import BatchSize, Beta1, Beta2, Iterations
from textassay_lab.adversarial.seqgan import LearningRate, ValidationSamples
from textassay_lab.adversarial.system import Adversarial, DiscriminatorOption, Presets
from textassay_lab.generator.lstm import LstmSettings


@dataclass(eq=False, repr=False)
class TiedLstmSettings(LstmSettings):
    """What can be set of an LSTM with tied embeddings."""

    width: Annotated[int, Option("Hidden dimension."), Between(1)] = 128
    _: KW_ONLY
    embedding_width: Annotated[int, Option("Learnt embedding dimension."), Between(1)] = 64
    fixed_width: Annotated[
        int,
        Option("Fixed embedding dimension; that of --vectors if they are given."),
        Between(0),
    ] = 0


@dataclass(frozen=True)
class ScratchGanRecipe:
    """How the two sides are trained; training needs large batches."""

    rounds: Annotated[int, Option("Rounds."), Between(0)] = 200
    iterations: Iterations = 1000
    batch_size: BatchSize = 512
    learning_rate: Annotated[float, Option("Learning rate of the generator."), Above(0)] = 9.59e-5
    discount: Annotated[float, Option("Discount factor of the reward per step."), Share(whole=True)] = 0.23
    baseline_decay: Annotated[float, Option("Decay of the moving average of rewards used as baseline."), Share()] = 0.08
    beta1: Beta1 = 0.5
    beta2: Beta2 = 0.999
    validation_samples: ValidationSamples = 10_000
    discriminator_learning_rate: LearningRate = 9.38e-3
    discriminator_embedding_width: Annotated[
        int, DiscriminatorOption("Learnt embedding dimension of the discriminator."), Between(1)
    ] = 64
    discriminator_width: Annotated[int, DiscriminatorOption("Hidden dimension of the discriminator."), Between(1)] = 512
    discriminator_dropout: Annotated[float, DiscriminatorOption("Dropout of the discriminator."), Share()] = 0.1
    discriminator_penalty: Annotated[
        float, DiscriminatorOption("L2 weight of the discriminator's weights."), Between(0)
    ] = 1e-6

    def __post_init__(self) -> None:
        check_fields(self)


class ScratchGan(Adversarial):
    """ScratchGAN: trained against a discriminator from the first step.

    Settings: `width`, `layers`, `init_range`, `embedding_width`, `fixed_width`, and `rounds`, `iterations`,
    `batch_size`, `learning_rate`, `discriminator_learning_rate` and others of the rounds.
    """

    kind = "scratchgan"
    saved_as = "tied-lstm"
    implementation = "textassay_lab.adversarial.scratchgan_training:TiedLstm"
    training = "textassay_lab.adversarial.scratchgan_training:ScratchGanTraining"
    settings_class = TiedLstmSettings
    recipe_class = ScratchGanRecipe
    command_options = ("Vectors",)
    may_have_oracle = True
    presets: ClassVar[Presets] = {
        "paper": (
            {"width": 512, "layers": 2, "embedding_width": 64, "fixed_width": 300, "dropout": 0.0},
            ScratchGanRecipe(),
        ),
        "tiny": (
            {"width": 32, "layers": 1, "embedding_width": 16, "fixed_width": 16, "dropout": 0.0},
            ScratchGanRecipe(
                rounds=20,
                iterations=25,
                batch_size=128,
                learning_rate=3e-3,
                discriminator_learning_rate=5e-3,
                discriminator_embedding_width=16,
                discriminator_width=32,
                validation_samples=1000,
            ),
        ),
    }
