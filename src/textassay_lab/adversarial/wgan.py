"""The recurrent Wasserstein GAN: settings of its generator, recipe, presets, and the public class.

The generator is in `noise_gru`, both sides are in `wgan_training`.

Source: Press et al., "Language Generation with Recurrent Generative Adversarial Networks without Pre-training", 2017,
and its public code, which the preset ``paper`` follows; ``tiny`` is ours, to try things out.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from textassay.fields import Above, Between, Option, check_fields
from textassay_lab.adversarial.cot import Beta1, Beta2
from textassay_lab.adversarial.system import Adversarial, Presets
from textassay_lab.generator.text_generator import MAX_WINDOW, Settings

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus

Feeds = Literal["argmax", "distribution"]


@dataclass(eq=False, repr=False)
class NoiseGruSettings(Settings):
    """What can be set of a GRU driven by noise."""

    width: Annotated[
        int,
        Option("Embedding, hidden and noise dimension; also of the critic, unless --critic-width is given."),
        Between(1),
    ] = 64
    _: KW_ONLY
    noise: Annotated[float, Option("Standard deviation of the noise."), Above(0)] = 10.0
    feeds: Annotated[Feeds, Option("Input of each sampling step: argmax (the chosen token) or distribution.")] = (
        "argmax"
    )
    length: Annotated[int, Between(1, MAX_WINDOW)] = 32
    ends: bool = True


@dataclass(frozen=True)
class Curriculum:
    """Lengths from 1 to `longest`, each for `rounds` rounds."""

    longest: Annotated[int, Between(1)]
    rounds: Annotated[int, Between(1)]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def n_rounds(self) -> int:
        """Rounds of all lengths."""
        return self.longest * self.rounds

    def length(self, number: int) -> int:
        """Return the length in round `number`, from 1."""
        return min(self.longest, 1 + (number - 1) // self.rounds)


@dataclass(frozen=True)
class WganRecipe:
    # tokens of the longest windows, the last of the curriculum
    length: Annotated[int, Between(1)] = 32
    rounds: Annotated[int, Option("Rounds of each length of the curriculum."), Between(1)] = 1000
    iterations: Annotated[int, Option("Iterations of a round."), Between(1)] = 15
    critic_updates: Annotated[int, Option("Updates of the critic in an iteration."), Between(1)] = 10
    generator_updates: Annotated[int, Option("Updates of the generator in an iteration."), Between(1)] = 50
    batch_size: Annotated[int, Option("Windows of each side in an update."), Between(1)] = 64
    learning_rate: Annotated[float, Option("Learning rate of generator and critic."), Above(0)] = 1e-4
    beta1: Beta1 = 0.5
    beta2: Beta2 = 0.9
    critic_width: Annotated[int, Option("Embedding and hidden dimension of the critic."), Between(1)] = 512
    gradient_penalty: Annotated[float, Option("Weight of the gradient penalty."), Between(0)] = 10.0
    teacher_helping: Annotated[
        bool, Option("Teacher helping: the generator reads real tokens, and draws only the last token of a row.")
    ] = True
    variable_length: Annotated[
        bool, Option("Vary row length from 1 to the curriculum's maximum; otherwise use the maximum.")
    ] = True

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def curriculum(self) -> Curriculum:
        """The length of each round."""
        return Curriculum(self.length, self.rounds)


class Wgan(Adversarial):
    """Recurrent Wasserstein GAN, without a likelihood.

    A noise-driven network; `textassay.approximate` estimates its perplexity. Settings: `width`, `noise`, `feeds`, and
    `rounds`, `iterations`, `critic_updates`, `learning_rate`, `gradient_penalty` and others of the rounds; `length`:
    tokens of the longest windows.
    """

    kind = "wgan"
    saved_as = "noise-gru"
    implementation = "textassay_lab.adversarial.noise_gru:NoiseGru"
    training = "textassay_lab.adversarial.wgan_training:WganTraining"
    settings_class = NoiseGruSettings
    recipe_class = WganRecipe
    command_options = ("Rounds",)
    presets: ClassVar[Presets] = {
        "paper": ({"width": 512, "noise": 10.0}, WganRecipe()),
        "tiny": (
            {"width": 64, "noise": 10.0},
            WganRecipe(
                length=7,
                rounds=20,
                iterations=10,
                critic_updates=5,
                generator_updates=2,
                critic_width=64,
                learning_rate=2e-3,
            ),
        ),
    }

    def more_of_rounds(self, of_network: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return settings of the rounds that others decide; the critic is as wide as the generator unless it is set."""
        as_wide = {"critic_width": of_network["width"]} if "width" in of_network else {}
        return as_wide if self.length is None else {**as_wide, "length": self.length}

    @classmethod
    def untrained(
        cls, network: Mapping[str, Any], recipe: Any, *, length: int | None, longest: int | None = None, seed: int = 0
    ) -> Any:
        """Return a generator that has learnt nothing."""
        return cls._network(**network, length=length or recipe.length, ends=length is None)

    def check_lengths(self, corpus: "Corpus", source: str) -> None:
        """Raise where no text is as long as windows, which are cut, shall be."""
        from textassay_lab.adversarial.wgan_training import TextWindows

        TextWindows(corpus, self.plan[1].length, ends=self.length is None)

    def note(self, train: "Corpus") -> str | None:
        """Return how many texts are cut."""
        length = self.plan[1].length
        n_long = int((train.lengths > length).sum()) if self.length is None else 0
        cut = f"{n_long:,} sentences have more than {length} tokens: only their beginning is learnt"
        return cut if n_long else None
