"""``textassay train wgan``: a noise-driven generator against a critic, with no training before."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textassay.adversarial import WGAN_PRESETS, WganRecipe
from textassay.cli.adapter import Command
from textassay.cli.groups import MODELS
from textassay.cli.model_settings import Settings, with_settings
from textassay.cli.train import TrainingTexts
from textassay.cli.train_adversarial import ROUNDS, Begun, Tell, TrainAdversarial
from textassay.model_store import SETTING_TYPES

if TYPE_CHECKING:
    from textassay.adversarial import RoundsHistory
    from textassay.network import NoiseGru


@dataclass(frozen=True, kw_only=True)
class TrainWgan(TrainAdversarial):
    """The recurrent Wasserstein GAN."""

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where no sentence is as long as windows shall be."""
        from textassay.adversarial import TextWindows

        model, recipe = self.untrained()
        for corpus in (texts.train, texts.valid):
            TextWindows(corpus, recipe.length, ends=model.ends)

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        from textassay.adversarial import WganTraining
        from textassay.adversarial.wgan import COLLAPSE, VALID

        model, recipe = self.untrained()
        n_long = int((texts.train.lengths > model.length).sum()) if model.ends else 0
        if n_long:
            self.say(f"{n_long} sentences have more than {model.length} tokens: only what they begin with is learnt")
        training = WganTraining(model, texts.train, texts.valid, recipe, seed=self.seed)

        def finish(history: "RoundsHistory") -> "NoiseGru":
            training.finish(history)
            return model

        return Begun(
            name=f"wgan({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=training.phases,
            collapse=COLLAPSE,
            best=VALID,
            sample=lambda n, seed: model.sample(n, seed=seed),
            finish=finish,
        )

    def untrained(self, longest: int | None = None) -> "tuple[NoiseGru, WganRecipe]":
        """Return a generator that has learnt nothing, and the recipe; the critic is as wide unless it is said."""
        from textassay.network import NoiseGru

        network, recipe = self.chosen_preset()
        network |= self.given("network")
        changes = self.given("rounds")
        length = self.sentence_length
        if "width" in self.given("network"):
            changes = {"critic_width": network["width"], **changes}
        if length is not None:
            changes["length"] = length
        with self.as_options("network", "rounds"):
            model = NoiseGru(**network, length=changes.get("length", recipe.length), ends=length is None)
            return model, replace(recipe, **changes)


def command(name: str) -> type[Command]:
    """Return the command, with the settings of the Wasserstein GAN."""
    network = Settings("network", SETTING_TYPES["noise-gru"], "Model", {
        "width": "Embedding and hidden dimension, and that of the noise; of the critic, too, without --critic-width.",
        "noise": "Standard deviation of the noise.",
        "feeds": "What a step reads when it draws: argmax (the chosen token) or distribution.",
    })  # fmt: skip
    rounds = Settings("rounds", WganRecipe, ROUNDS, {
        "rounds": "Rounds of each length of the curriculum.",
        "iterations": "Iterations of a round.",
        "critic_updates": "Updates of the critic in an iteration.",
        "generator_updates": "Updates of the generator in an iteration.",
        "batch_size": "Windows of a side in an update.",
        "learning_rate": "Learning rate of both sides.",
        "beta1": "Decay of Adam's mean of gradients.",
        "beta2": "Decay of Adam's mean of squared gradients.",
        "critic_width": "Embedding and hidden dimension of the critic.",
        "penalty": ("gradient_penalty", "Weight of the gradient penalty."),
        "helping": ("teacher_helping", "The generator reads real tokens; only the last of a row is its own."),
        "variable": ("variable_length", "Rows have 1 to as many tokens as the curriculum allows; else that many."),
    })  # fmt: skip
    return with_settings(TrainWgan, name, MODELS[name], [network, rounds], presets=WGAN_PRESETS, preset="tiny")
