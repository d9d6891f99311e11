"""``textassay train leakgan``: cycles of learning from real text and of the discriminator, then rounds."""

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from textassay.adversarial import LEAKGAN_PRESETS, LeakGanRecipe
from textassay.cli.adapter import Command
from textassay.cli.groups import MODELS
from textassay.cli.model_settings import Settings, with_settings
from textassay.cli.train import TrainingTexts
from textassay.cli.train_adversarial import ROUNDS, Begun, Tell, TrainAdversarial
from textassay.model_store import SETTING_TYPES

if TYPE_CHECKING:
    from textassay.adversarial import RoundsHistory
    from textassay.network import LeakGanModel


@dataclass(frozen=True, kw_only=True)
class TrainLeakGan(TrainAdversarial):
    """LeakGAN."""

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        from textassay.adversarial import COLLAPSE, VALID, LeakGan, Phase

        model, recipe = self.untrained(texts.longest)
        training = LeakGan(model, texts.train, texts.valid, recipe=recipe, seed=self.seed)

        def finish(history: "RoundsHistory") -> "LeakGanModel":
            recorded = json.loads(json.dumps(asdict(recipe)))
            training.finish({"kind": "leakgan", **history.ending, "recipe": recorded})
            return model

        return Begun(
            name=model.name,
            n_parameters=model.n_parameters,
            training=training,
            phases=(Phase("pretraining", recipe.cycles), Phase("adversarial", recipe.rounds)),
            collapse=COLLAPSE,
            best=VALID,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )

    def untrained(self, longest: int | None = None) -> "tuple[LeakGanModel, LeakGanRecipe]":
        """Return a generator that has learnt nothing and writes up to `longest` tokens, and the recipe."""
        from textassay.network import LeakGanModel

        network, recipe = self.chosen_preset()
        with self.as_options("rounds"):
            recipe = replace(recipe, **self.given("rounds"))
        length = self.sentence_length
        settings = {**network, **self.given("network")}
        with self.as_options("network"):
            return LeakGanModel(**settings, length=length, max_length=length or longest or 1, seed=self.seed), recipe


def command(name: str) -> type[Command]:
    """Return the command, with LeakGAN's settings."""
    network = Settings("network", SETTING_TYPES["leakgan"], "Model", {
        "width": "Hidden dimension of manager and worker.",
        "goal": "Dimension of a goal embedding.",
        "memory": "Goals that the worker reads, and tokens that a goal is for.",
        "dimension": ("feature_width", "Embedding dimension of the features."),
        "filters": ("feature_filters", "Filters of the features: widths and counts, such as 1:100,2:100."),
        "sharpness": "Factor of the logits: one over the temperature of the paper.",
    })  # fmt: skip
    rounds = Settings("rounds", LeakGanRecipe, ROUNDS, {
        "cycles": "Cycles before the rounds: refreshes of the discriminator, then epochs over real text.",
        "pretraining_epochs": ("epochs", "Epochs over real text in each cycle before the rounds."),
        "rounds": "Adversarial rounds.",
        "mle_every": "An epoch over real text after every N rounds.",
        "batch_size": "Sentences of a step, and of a batch of the discriminator.",
        "learning_rate": "Learning rate of manager and worker.",
        "max_norm": "Clip gradients of manager and worker to this norm.",
        "n_roll_outs": ("roll_outs", "Roll-outs after each action."),
        "rescaling": "How steeply a reward rises with its rank in the batch.",
    })  # fmt: skip
    discriminator = Settings("rounds", LeakGanRecipe, "Discriminator", {
        "pretraining_refreshes": "Refreshes of the discriminator in each cycle.",
        "refreshes": "Refreshes of the discriminator in a round.",
        "epochs": ("discriminator_epochs", "Passes over the sentences of a refresh."),
        "n_negatives": ("negatives", "Sentences drawn for a refresh."),
        "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
        "penalty": ("discriminator_penalty", "Weight of the squares of its output layer."),
    })  # fmt: skip
    parts = [network, rounds, discriminator]
    return with_settings(TrainLeakGan, name, MODELS[name], parts, presets=LEAKGAN_PRESETS, preset="tiny")
