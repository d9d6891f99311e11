"""CoT: recipe, presets, and the public class; both sides are in `cot_training`.

Source: Lu et al., "CoT: Cooperative Training for Generative Modeling of Discrete Data", ICML 2019, and its public code,
which the preset ``paper`` follows; ``tiny`` is ours, to try things out.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

from textassay.fields import Above, Between, Option, Share, check_fields
from textassay_lab.adversarial.seqgan import ValidationSamples
from textassay_lab.adversarial.system import Adversarial, Presets
from textassay_lab.generator.lstm import LstmSettings

_MediatorOption = partial(Option, panel="Mediator")
Iterations = Annotated[int, Option("Steps of a round: an update of each side."), Between(1)]
BatchSize = Annotated[int, Option("Sentences of each side in an update."), Between(1)]
Beta1 = Annotated[float, Option("Decay of Adam's mean of gradients."), Share()]
Beta2 = Annotated[float, Option("Decay of Adam's mean of squared gradients."), Share()]


@dataclass(frozen=True)
class CotRecipe:
    rounds: Annotated[int, Option("Rounds."), Between(0)] = 200
    iterations: Iterations = 500
    batch_size: BatchSize = 64
    learning_rate: Annotated[float, Option("Learning rate of the generator."), Above(0)] = 1e-3
    beta1: Beta1 = 0.9
    beta2: Beta2 = 0.95
    validation_samples: ValidationSamples = 10_000
    mediator_learning_rate: Annotated[float, _MediatorOption("Learning rate of the mediator."), Above(0)] = 3e-3
    mediator_width: Annotated[int, _MediatorOption("Embedding and hidden dimension of the mediator."), Between(1)] = 64
    mediator_layers: Annotated[int, _MediatorOption("LSTM layers of the mediator."), Between(1)] = 1
    mediator_dropout: Annotated[float, _MediatorOption("Dropout of the mediator."), Share()] = 0.5

    def __post_init__(self) -> None:
        check_fields(self)


class CoT(Adversarial):
    """CoT: cooperative training of a generator and a mediator.

    Settings: `width`, `layers`, `embedding_width`, `init_range`, and `rounds`, `iterations`, `batch_size`,
    `learning_rate`, `mediator_learning_rate` and others of the rounds.
    """

    kind = "cot"
    saved_as = "lstm"
    implementation = "textassay_lab.generator.lstm_model:LstmModel"
    training = "textassay_lab.adversarial.cot_training:CotTraining"
    settings_class = LstmSettings
    recipe_class = CotRecipe
    command_options = ("Oracle",)
    may_have_oracle = True
    presets: ClassVar[Presets] = {
        "paper": ({"width": 32, "dropout": 0.0}, CotRecipe()),
        "tiny": (
            {"width": 32, "dropout": 0.0},
            CotRecipe(
                rounds=20,
                iterations=20,
                learning_rate=5e-3,
                mediator_learning_rate=1e-2,
                mediator_dropout=0.0,
                validation_samples=1000,
            ),
        ),
    }
