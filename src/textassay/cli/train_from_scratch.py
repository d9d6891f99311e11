"""``textassay train cot``, ``scratchgan``: two sides from their first step, with no maximum likelihood before."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from textassay.adversarial import COT_PRESETS, SCRATCHGAN_PRESETS, CotRecipe, ScratchGanRecipe
from textassay.cli.adapter import Command
from textassay.cli.groups import MODELS
from textassay.cli.model_settings import Help, Settings, with_settings
from textassay.cli.train import TrainingTexts
from textassay.cli.train_adversarial import ROUNDS, Begun, Tell, TrainWithOracle
from textassay.model_store import SETTING_TYPES

if TYPE_CHECKING:
    from textassay.adversarial import FromScratch, RoundsHistory
    from textassay.network import LstmModel

_COLLAPSED = 0.05  # share of the pairs of neighbours that real text has; dips to a few words are how it begins

AnyRecipe = CotRecipe | ScratchGanRecipe


@dataclass(frozen=True, kw_only=True)
class TrainFromScratch(TrainWithOracle):
    """One of them; a subclass has its parts."""

    def sides(self) -> "tuple[type[LstmModel], Callable[..., FromScratch]]":
        """Return the class of the generator, and what makes the training."""
        raise NotImplementedError

    @property
    def vector_file(self) -> Path | None:
        """File of word vectors; None without."""
        return None

    def plan(self) -> Mapping[str, Any]:
        """Return what the preset and the options come to."""
        told = super().plan()
        if self.vector_file is None:
            return told
        with self.vector_file.open("rb") as file:
            return {**told, "vectors": hashlib.file_digest(file, "sha256").hexdigest()}

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have, or word vectors are damaged."""
        super().check_texts(texts)
        self._vectors(texts)

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Return the training."""
        from textassay.adversarial import ORACLE, VALID, Collapse

        model, recipe = self.untrained(texts.longest)
        told = {"recipe": recipe, "seed": self.seed, **self._vectors(texts)}
        oracle = self.opened_oracle()
        _, two_sided = self.sides()
        training = two_sided(model, texts.train, texts.valid, oracle=oracle, **told)

        def finish(history: "RoundsHistory") -> "LstmModel":
            training.finish(history, {"recipe": json.loads(json.dumps(asdict(recipe))), "oracle": self.oracle})
            return model

        return Begun(
            name=f"{self.model}({model.name})",
            n_parameters=model.n_parameters,
            training=training,
            phases=training.phases,
            collapse=Collapse("variety", least=_COLLAPSED),
            best=VALID if oracle is None else ORACLE,
            sample=lambda n, seed: training.sample(n, seed=seed),
            finish=finish,
        )

    def untrained(self, longest: int | None = None) -> "tuple[LstmModel, AnyRecipe]":
        """Return a generator that has learnt nothing and writes up to `longest` tokens, and the recipe."""
        from textassay.embedding import word_vector_size

        length = self.sentence_length
        network, recipe = self.chosen_preset()
        network |= self.given("network")
        if self.vector_file is not None:
            network["fixed"] = word_vector_size(self.vector_file)
        if length is not None or longest is not None:
            network["max_length"] = length or longest
        generator, _ = self.sides()
        with self.as_options("network"):
            model = generator(**network, length=length, seed=self.seed)
        with self.as_options("rounds"):
            return model, replace(recipe, **self.given("rounds"))

    def _vectors(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return the word vectors of the file that was given, by the name of the setting; nothing without."""
        from textassay.embedding import read_word_vectors

        if self.vector_file is None:
            return {}
        return {"vectors": read_word_vectors(self.vector_file, texts.train.vocabulary, seed=self.seed)}


class TrainCot(TrainFromScratch):
    """CoT."""

    def sides(self) -> "tuple[type[LstmModel], Callable[..., FromScratch]]":
        """Return the class of the generator, and what makes the training."""
        from textassay.adversarial import CoT
        from textassay.network import LstmModel

        return LstmModel, CoT


@dataclass(frozen=True, kw_only=True)
class TrainScratchGan(TrainFromScratch):
    """ScratchGAN, which may be given word vectors."""

    vectors: Annotated[
        Path | None, Option(metavar="FILE", help="Word vectors, such as GloVe's.", rich_help_panel="Model")
    ] = None

    @property
    def vector_file(self) -> Path | None:
        """File of word vectors; None without."""
        return self.vectors

    def sides(self) -> "tuple[type[LstmModel], Callable[..., FromScratch]]":
        """Return the class of the generator, and what makes the training."""
        from textassay.adversarial import ScratchGan
        from textassay.network import TiedLstm

        return TiedLstm, ScratchGan


_SHAPE: Help = {
    "width": "Hidden dimension.",
    "layers": "LSTM layers.",
    "spread": ("init_range", "Initial weights are uniform between -X and X."),
}
_STEPS: Help = {
    "rounds": "Rounds.",
    "iterations": "Steps of a round: an update of each side.",
    "batch_size": "Sentences of each side in an update.",
    "learning_rate": "Learning rate of the generator.",
}
_ADAM: Help = {
    "beta1": "Decay of Adam's mean of gradients.",
    "beta2": "Decay of Adam's mean of squared gradients.",
    "n_validation": ("validation_samples", "Sentences drawn to ask an oracle about."),
}


def command(name: str) -> type[Command]:
    """Return the command of one of the two, with its settings."""
    if name == "cot":
        network = Settings(
            "network", SETTING_TYPES["lstm"], "Model", {**_SHAPE, "width": "Embedding and hidden dimension."}
        )
        rounds = Settings("rounds", CotRecipe, ROUNDS, {**_STEPS, **_ADAM})
        mediator = Settings("rounds", CotRecipe, "Mediator", {
            "mediator_learning_rate": "Learning rate of the mediator.",
            "mediator_width": "Embedding and hidden dimension of the mediator.",
            "mediator_layers": "LSTM layers of the mediator.",
            "mediator_dropout": "Dropout of the mediator.",
        })  # fmt: skip
        parts = [network, rounds, mediator]
        return with_settings(TrainCot, name, MODELS[name], parts, presets=COT_PRESETS, preset="tiny")
    network = Settings("network", SETTING_TYPES["tied-lstm"], "Model", {
        **_SHAPE,
        "dimension": ("embedding_width", "Embedding dimension that is learnt."),
        "fixed": ("fixed_width", "Embedding dimension that is not learnt; that of --vectors where they are given."),
    })  # fmt: skip
    rounds = Settings("rounds", ScratchGanRecipe, ROUNDS, {
        **_STEPS,
        "discount": "Discount of the reward for each step in between.",
        "baseline_decay": "Share of the old baseline of rewards in the new one.",
        **_ADAM,
    })  # fmt: skip
    discriminator = Settings("rounds", ScratchGanRecipe, "Discriminator", {
        "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
        "dimension": ("discriminator_embedding_width", "Embedding dimension of the discriminator that is learnt."),
        "width": ("discriminator_width", "Hidden dimension of the discriminator."),
        "dropout": ("discriminator_dropout", "Dropout of the discriminator."),
        "penalty": ("discriminator_penalty", "Weight of the squares of its weights."),
    })  # fmt: skip
    parts = [network, rounds, discriminator]
    return with_settings(TrainScratchGan, name, MODELS[name], parts, presets=SCRATCHGAN_PRESETS, preset="tiny")
