"""``textassay train seqgan``, ``rankgan``: maximum likelihood first, kept as a model of its own, then the rounds."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textassay.adversarial import RANKGAN_PRESETS, SEQGAN_PRESETS, RankGanRecipe, SeqGanRecipe
from textassay.cli.adapter import Command
from textassay.cli.groups import MODELS
from textassay.cli.model_settings import Help, Settings, with_settings
from textassay.cli.train import TrainingTexts
from textassay.cli.train_adversarial import ROUNDS, Begun, Tell, TrainWithOracle
from textassay.cli.train_models import BATCH, LSTM, MODEL, RECIPE, TRAINING
from textassay.model_store import SETTING_TYPES

if TYPE_CHECKING:
    from textassay.adversarial import Phase, RoundsHistory, SeqGan
    from textassay.network import LstmModel

MLE = "mle"  # folder in the folder: the generator before the rounds

_LONG = 200  # tokens; roll-outs take time as the square of the longest sentence

_DISCRIMINATOR = "Discriminator"
_ROUNDS: Help = {
    "rounds": "Adversarial rounds; 0: none, as MLE SeqGAN.",
    "generator_steps": "Policy-gradient steps of the generator in a round.",
    "batch_size": ("adversarial_batch_size", "Sentences of a step, and of a batch of the discriminator."),
    "learning_rate": ("adversarial_learning_rate", "Learning rate of the generator in the rounds."),
    "max_norm": ("adversarial_max_norm", "Clip gradients of the generator to this norm in the rounds."),
    "n_roll_outs": ("roll_outs", "Roll-outs after each action."),
    "roll_out_averaging": "Share of the roll-out policy that stays after a round; 0: it is the generator.",
    "discount": "Discount of the reward for each action in between.",
    "baseline": "Subtracted from rewards: none or leave-one-out.",
    "n_validation": ("validation_samples", "Sentences drawn to ask an oracle about."),
}  # fmt: skip
_JUDGE: Help = {
    "pretraining_rounds": "Refreshes of the discriminator before the rounds.",
    "refreshes": "Refreshes of the discriminator in a round.",
    "epochs": ("discriminator_epochs", "Passes over the sentences of a refresh."),
    "n_negatives": ("negatives", "Sentences drawn for a refresh."),
    "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
    "dimension": ("discriminator_width", "Embedding dimension of the discriminator."),
    "filters": ("discriminator_filters", "Filters of the discriminator: widths and counts, such as 1:50,2:50."),
    "dropout": ("discriminator_dropout", "Dropout of the discriminator."),
}  # fmt: skip
_RANKS: Help = {
    "n_references": ("references", "Real sentences that likeness is measured to."),
    "gamma": "How much likeness counts in a rank.",
}


@dataclass(frozen=True, kw_only=True)
class TrainSeqGan(TrainWithOracle):
    """SeqGAN, and MLE SeqGAN with no rounds."""

    def two_sided(self) -> "Callable[..., SeqGan]":
        """Return what makes the training."""
        from textassay.adversarial import SeqGan

        return SeqGan

    def check_plan(self) -> None:
        """Raise where a setting is out of range."""
        from textassay.network import LstmModel

        network, _ = self._plan()
        with self.as_options("network", "training"):
            LstmModel(**network, length=self.sentence_length)

    def plan(self) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        network, recipe = self._plan()
        return {"network": {**network, "recipe": asdict(network["recipe"])}, "rounds": asdict(recipe)}

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Fit the generator by maximum likelihood, keep it, and return the training."""
        from textassay.adversarial import COLLAPSE, ORACLE, VALID
        from textassay.cli.progress import tell_step
        from textassay.cli.trained_folder import CHECKPOINT
        from textassay.model_store import save_model
        from textassay.network import LstmModel

        network, recipe = self._plan()
        oracle, length = self.opened_oracle(), self.sentence_length
        if texts.longest > _LONG:
            self.say(
                f"a sentence has {texts.longest} tokens: roll-outs may be as long, and slow; --max-tokens N leaves "
                "longer ones out, and --window T reads running text"
            )
        model = LstmModel(**network, length=length, max_length=length or texts.longest, seed=self.seed)
        progress = None if tell is None else partial(tell_step, tell, model.recipe.max_epochs)
        model.fit(texts.train, texts.valid, checkpoint=self.out / CHECKPOINT, progress=progress)
        save_model(model, self.out / MLE, form=texts.form)
        sides = self.two_sided()
        training = sides(model, texts.train, texts.valid, recipe=recipe, oracle=oracle, seed=self.seed)

        def finish(history: "RoundsHistory") -> "LstmModel":
            recorded = json.loads(json.dumps(asdict(recipe)))
            training.finish({"kind": self.model, **history.ending, "recipe": recorded, "oracle": self.oracle})
            return model

        return Begun(
            name=f"{self.model}({model.name})" if recipe.rounds else f"mle-{self.model}({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=_phases(recipe),
            collapse=COLLAPSE,
            best=VALID if oracle is None else ORACLE,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )

    def _plan(self) -> tuple[dict[str, Any], SeqGanRecipe]:
        """Return the settings of the generator and the recipe of the rounds."""
        network, recipe = self.chosen_preset()
        network |= self.given("network")
        with self.as_options("training"):
            network["recipe"] = replace(network["recipe"], **self.given("training"))
        with self.as_options("rounds"):
            return network, replace(recipe, **self.given("rounds"))


class TrainRankGan(TrainSeqGan):
    """What differs from SeqGAN in the two sides alone."""

    def two_sided(self) -> "Callable[..., SeqGan]":
        """Return what makes the training."""
        from textassay.adversarial import RankGan

        return RankGan


def command(name: str) -> type[Command]:
    """Return the command of one of the two, with its settings."""
    ranks = name == "rankgan"
    owner = RankGanRecipe if ranks else SeqGanRecipe
    rest = {**_JUDGE, **_RANKS} if ranks else _JUDGE
    parts = [
        Settings("network", SETTING_TYPES["lstm"], MODEL, LSTM),
        RECIPE,
        Settings("network", SETTING_TYPES["lstm"], TRAINING, BATCH),
        Settings("rounds", owner, ROUNDS, _ROUNDS),
        Settings("rounds", owner, "Ranker" if ranks else _DISCRIMINATOR, rest),
    ]
    base, presets = (TrainRankGan, RANKGAN_PRESETS) if ranks else (TrainSeqGan, SEQGAN_PRESETS)
    return with_settings(base, name, MODELS[name], parts, presets=presets, preset="tiny")


def _phases(recipe: SeqGanRecipe) -> "tuple[Phase, ...]":
    """Return the phases; without adversarial rounds nobody asks the discriminator, which then learns nothing."""
    from textassay.adversarial import Phase

    pretraining = recipe.pretraining_rounds if recipe.rounds else 0
    return Phase("discriminator", pretraining, judged=False), Phase("adversarial", recipe.rounds)
