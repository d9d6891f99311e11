"""``textassay train`` for generators that learn against a discriminator, and their settings."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import textassay_lab.adversarial as systems
from textassay.cli.adapter import Between, Command, option
from textassay.errors import InputError, OptionError
from textassay_lab.adversarial.recipes import (
    CotRecipe,
    GumbelGanRecipe,
    LeakGanRecipe,
    RankGanRecipe,
    ScratchGanRecipe,
    SeqGanRecipe,
    WganRecipe,
)
from textassay_lab.cli.commands import MODELS
from textassay_lab.cli.model_settings import Help, Settings, with_settings
from textassay_lab.cli.train import Monitors, TrainingTexts, TrainWindows
from textassay_lab.cli.train_models import BATCH, LSTM, MODEL, RECIPE, TRAINING
from textassay_lab.generator.settings import settings_of

if TYPE_CHECKING:
    from textassay.ngram.language_model import LanguageModel
    from textassay.report.adversarial_training import AdversarialTraining
    from textassay.report.document import Document, Figure
    from textassay_lab.generators import Adversarial, Rounds

ROUNDS, DISCRIMINATOR = "Adversarial training", "Discriminator"
MLE = "mle"  # folder in the folder: the generator before the rounds

_READINGS = 5  # of the monitors over the rounds, where --monitor-steps says nothing
_LONG = 200  # tokens; roll-outs take time as the square of the longest sentence

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class TrainAdversarial(Monitors, TrainWindows):
    """A generator that learns against a discriminator."""

    keep: Annotated[str, option("Round that is kept: last, or best in validation.", "WHICH", ROUNDS)] = "last"
    length: Annotated[int | None, option("All sentences have N tokens, and never end.", "N", ROUNDS), Between(1)] = None

    @property
    def system(self) -> "type[Adversarial]":
        """The class of the generator."""
        from textassay_lab.generators import class_of

        return cast("type[Adversarial]", class_of(self.model))

    @property
    def sentence_length(self) -> int | None:
        """Tokens of every sentence; None where they end."""
        return self.length if self.window is None else self.window

    def plan(self) -> tuple[dict[str, Any], Any]:
        """Return all settings of the generator, and the recipe; raise where one is out of range."""
        settings = {group: self.given(group) for group in ("network", "training", "rounds")}
        settings["network"] |= self.more_settings()
        return self.system.plan(self.preset, settings, length=self.sentence_length, naming=self.as_options)

    def more_settings(self) -> dict[str, Any]:
        """Return settings of the generator that options of another kind decide."""
        return {}

    def untrained(self, longest: int | None = None) -> tuple[Any, Any]:
        """Return a generator that has learnt nothing and writes up to `longest` tokens, and the recipe."""
        network, recipe = self.plan()
        length = self.sentence_length
        model = self.system.untrained(network, recipe, length=length, longest=longest, seed=self.seed)
        return model, recipe

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> "tuple[Any, Rounds]":
        """Do what comes before the rounds, or take it from the folder; return the generator and the training."""
        model, recipe = self.untrained(texts.longest)
        self.before_rounds(model, texts, tell)
        sides = texts.train, texts.valid
        return model, self.system.begin(model, recipe, *sides, seed=self.seed, **self.more_of_rounds(texts))

    def before_rounds(self, model: Any, texts: TrainingTexts, tell: Tell | None) -> None:
        """Say what of the texts is slow or cut, and do what comes before the rounds."""

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return what else the training is made of."""
        return {}

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        from textassay_lab.training.backend import require_neural
        from textassay_lab.training.processes import launched

        require_neural(f"the {self.model} generator")
        if self.window is not None and self.length is not None:
            raise OptionError("--window T says how long sentences are: leave --length out")
        super().check()
        if self.keep not in ("last", "best"):
            raise OptionError(f"--keep must be last or best, got '{self.keep}'")
        self.check_monitor()
        processes = launched()
        if processes is not None and processes.count > 1:
            raise OptionError(f"{self.model} trains in one process, got {processes.count}: start only one")
        self.plan()

    def read(self) -> TrainingTexts:
        """Return the texts that training needs."""
        texts = super().read()
        self.check_texts(texts)
        return texts

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have."""
        import numpy as np

        length = self.sentence_length
        for corpus, facts in ((texts.train, texts.train_facts), (texts.valid, texts.valid_facts)):
            others = np.flatnonzero(corpus.lengths != length)
            if length is not None and len(others):
                raise InputError(
                    f"{facts.source}: {len(others)} of {len(corpus)} sentences do not have {length} tokens, the first "
                    f"is sentence {others[0] + 1} with {corpus.lengths[others[0]]}: cut the text, or leave --length out"
                )

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        network, recipe = self.plan()
        if "recipe" in network:
            settings = {**network, "recipe": asdict(network["recipe"])}
        else:
            settings = self.untrained()[0].settings
        plan = {"network": settings, "rounds": asdict(recipe)}
        length = self.length if self.window is None else self.window
        return {**super().record(texts), "oracle": getattr(self, "oracle", None), "length": length, **plan}

    def load(self, text: str) -> "AdversarialTraining":
        """Return what was trained before, from the text of its history."""
        from textassay.report.adversarial_training import AdversarialTraining

        return AdversarialTraining.from_json(text)

    def document(self, training: "AdversarialTraining", figures: "Sequence[Figure]" = ()) -> "Document":
        """Return what came out as a report; `figures` are those of monitors."""
        from textassay.report.adversarial_training import adversarial_training_document

        return adversarial_training_document(training, figures)

    def train(self, texts: TrainingTexts, record: Mapping[str, Any]) -> "AdversarialTraining":
        """Train, write all files, the model last, and return what is reported."""
        from textassay.cli.progress import show_progress
        from textassay.report.adversarial_training import AdversarialTraining
        from textassay_lab.adversarial.rounds import train_in_rounds
        from textassay_lab.cli.trained_folder import CHECKPOINT, ROUNDS, SETTINGS, begun, monitor_figures, monitored
        from textassay_lab.monitoring.loop import loop_monitors
        from textassay_lab.training.backend import training_device

        out = self.out
        resumes = (out / CHECKPOINT).exists() or (out / ROUNDS).exists()
        monitor = self.new_monitor(texts.valid, seed=self.seed, folder=out, quiet=self.quiet)
        with begun(out, {SETTINGS: json.dumps(record, indent=1)}):
            self.say(f"{'going on with' if resumes else 'training'} {self.model} on {texts.train_facts}")
            with show_progress(quiet=self.quiet) as progress:
                model, rounds = self.begin(texts, progress)
                n_rounds = rounds.phases[-1].n_rounds
                history = train_in_rounds(
                    rounds.training,
                    rounds.phases,
                    keep=rounds.best if self.keep == "best" else None,
                    collapse=rounds.collapse,
                    checkpoint=out / ROUNDS,
                    config=record,
                    monitors=None
                    if monitor is None
                    else loop_monitors(monitor, lambda n, seed: rounds.sample(n, seed=seed)),
                    monitor_every=self.monitor_steps or max(1, n_rounds // _READINGS),
                    progress=progress,
                )
        training = AdversarialTraining(
            **{**self.facts(texts, model), "model": rounds.name},
            computed={"device": training_device().type, "precision": "float32", "threads": str(_n_threads())},
            history=history,
            keep=rounds.best if self.keep == "best" else "last",
            monitored=None if monitor is None else monitored(monitor),
        )
        figures = [] if monitor is None else monitor_figures(monitor, history.readings)
        rounds.finish(history)
        if history.stopped is not None:
            self.say(f"warning: ended before all rounds: {history.stopped}")
        self.keep_model(training, model, texts.form, figures)
        return training


@dataclass(frozen=True, kw_only=True)
class TrainWithOracle(TrainAdversarial):
    """A generator that an oracle can judge."""

    oracle: Annotated[str | None, option("Model that drew --real, such as random-lstm.", "MODEL", ROUNDS)] = None

    @property
    def sentence_length(self) -> int | None:
        """Tokens of every sentence; None where they end."""
        from textassay_lab.generator.random_lstm import RandomLstm

        oracle = self.opened_oracle()
        return oracle.length if isinstance(oracle, RandomLstm) else super().sentence_length

    def opened_oracle(self) -> "LanguageModel | None":
        """Return the oracle."""
        from textassay_lab.cli.models import open_model

        oracle: LanguageModel | None = None if self.oracle is None else open_model(self.oracle).model
        return oracle

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong; why an oracle cannot be one comes first."""
        if self.oracle is not None:
            if self.like != self.oracle or (self.length, self.window) != (None, None):
                raise OptionError("--oracle MODEL brings vocabulary and length: leave --like and --length out")
            if self.oracle.split(":")[0] != "random-lstm":
                raise OptionError(f"--oracle must be random-lstm or random-lstm:SEED, got '{self.oracle}'")
        super().check()

    def run(self) -> int:
        """Train; an oracle brings tokenizer and vocabulary."""
        if self.oracle is not None and self.like is None:
            return replace(self, like=self.oracle).run()
        return super().run()

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return the oracle, and its name."""
        return {"oracle": self.opened_oracle(), "oracle_name": self.oracle}


class TrainSeqGan(TrainWithOracle):
    """SeqGAN, RankGAN: maximum likelihood first, kept as a model of its own."""

    def before_rounds(self, model: Any, texts: TrainingTexts, tell: Tell | None) -> None:
        """Fit the generator by maximum likelihood, and keep it."""
        from textassay_lab.cli.trained_folder import CHECKPOINT
        from textassay_lab.cli.training_progress import tell_step
        from textassay_lab.generator.saved import save_model

        if texts.longest > _LONG:
            self.say(
                f"a sentence has {texts.longest} tokens: roll-outs may be as long, and slow; --max-tokens N leaves "
                "longer ones out, and --window T reads running text"
            )
        progress = None if tell is None else partial(tell_step, tell, model.recipe.max_epochs)
        model.fit(texts.train, texts.valid, checkpoint=self.out / CHECKPOINT, progress=progress)
        save_model(model, self.out / MLE, form=texts.form)


@dataclass(frozen=True, kw_only=True)
class TrainScratchGan(TrainWithOracle):
    """ScratchGAN, which may be given word vectors."""

    vectors: Annotated[Path | None, option("Word vectors, such as GloVe's.", "FILE", MODEL)] = None

    def more_settings(self) -> dict[str, Any]:
        """Return the dimension of the word vectors, which are not learnt."""
        from textassay.embedding.word_vectors import word_vector_size

        return {} if self.vectors is None else {"fixed": word_vector_size(self.vectors)}

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return the oracle, its name, and the word vectors."""
        return {**super().more_of_rounds(texts), **self._read_vectors(texts)}

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have, or word vectors are damaged."""
        super().check_texts(texts)
        self._read_vectors(texts)

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        if self.vectors is None:
            return super().record(texts)
        with self.vectors.open("rb") as file:
            return {**super().record(texts), "vectors": hashlib.file_digest(file, "sha256").hexdigest()}

    def _read_vectors(self, texts: TrainingTexts) -> dict[str, Any]:
        from textassay.embedding.word_vectors import read_word_vectors

        if self.vectors is None:
            return {}
        return {"vectors": read_word_vectors(self.vectors, texts.train.vocabulary, seed=self.seed)}


class TrainWgan(TrainAdversarial):
    """The recurrent Wasserstein GAN."""

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where no sentence is as long as windows shall be."""
        from textassay_lab.adversarial.wgan import TextWindows

        model, recipe = self.untrained()
        for corpus in (texts.train, texts.valid):
            TextWindows(corpus, recipe.length, ends=model.ends)

    def before_rounds(self, model: Any, texts: TrainingTexts, tell: Tell | None) -> None:
        """Say what of the texts is cut."""
        n_long = int((texts.train.lengths > model.length).sum()) if model.ends else 0
        if n_long:
            self.say(f"{n_long} sentences have more than {model.length} tokens: only what they begin with is learnt")


def _n_threads() -> int:
    import torch

    from textassay_lab.training.backend import threads

    with threads():
        return torch.get_num_threads()


_SEQGAN: Help = {
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
_SEQGAN_DISCRIMINATOR: Help = {
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
_SHAPE: Help = {
    "width": "Hidden dimension.",
    "layers": "LSTM layers.",
    "embedding": ("embedding_width", "Embedding dimension; that of --width by default."),
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
_SETTINGS: Mapping[str, tuple[Settings, ...]] = {
    **{
        name: (
            Settings("network", settings_of("lstm"), MODEL, LSTM),
            RECIPE,
            Settings("network", settings_of("lstm"), TRAINING, BATCH),
            Settings("rounds", recipe, ROUNDS, _SEQGAN),
            Settings("rounds", recipe, panel, others),
        )
        for name, recipe, panel, others in (
            ("seqgan", SeqGanRecipe, DISCRIMINATOR, _SEQGAN_DISCRIMINATOR),
            ("rankgan", RankGanRecipe, "Ranker", {**_SEQGAN_DISCRIMINATOR, **_RANKS}),
        )
    },
    "cot": (
        Settings("network", settings_of("lstm"), MODEL, {**_SHAPE, "width": "Embedding and hidden dimension."}),
        Settings("rounds", CotRecipe, ROUNDS, {**_STEPS, **_ADAM}),
        Settings("rounds", CotRecipe, "Mediator", {
            "mediator_learning_rate": "Learning rate of the mediator.",
            "mediator_width": "Embedding and hidden dimension of the mediator.",
            "mediator_layers": "LSTM layers of the mediator.",
            "mediator_dropout": "Dropout of the mediator.",
        }),
    ),
    "gumbelgan": (
        Settings("network", settings_of("lstm"), MODEL, LSTM),
        RECIPE,
        Settings("network", settings_of("lstm"), TRAINING, BATCH),
        Settings("rounds", GumbelGanRecipe, ROUNDS, {
            "rounds": "Adversarial rounds.",
            "iterations": "Steps of a round: an update of each side.",
            "batch_size": ("adversarial_batch_size", "Sentences of each side in an update."),
            "temperature": "Temperature of the relaxed draws in the first round.",
            "last_temperature": "Temperature of the relaxed draws in the last round.",
            "learning_rate": ("adversarial_learning_rate", "Learning rate of the generator in the rounds."),
            "max_norm": ("adversarial_max_norm", "Clip gradients of the generator to this norm in the rounds."),
            "n_validation": ("validation_samples", "Sentences drawn to ask an oracle about."),
        }),
        Settings("rounds", GumbelGanRecipe, DISCRIMINATOR, {
            "pretraining_rounds": "Rounds of the discriminator alone, before those of both.",
            "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
            "dimension": ("discriminator_embedding_width", "Embedding dimension of the discriminator."),
            "width": ("discriminator_width", "Hidden dimension of the discriminator."),
            "dropout": ("discriminator_dropout", "Dropout of the discriminator."),
        }),
    ),
    "scratchgan": (
        Settings("network", settings_of("tied-lstm"), MODEL, {
            **{name: line for name, line in _SHAPE.items() if name != "embedding"},
            "dimension": ("embedding_width", "Embedding dimension that is learnt."),
            "fixed": ("fixed_width", "Embedding dimension that is not learnt; that of --vectors where they are given."),
        }),
        Settings("rounds", ScratchGanRecipe, ROUNDS, {
            **_STEPS,
            "discount": "Discount of the reward for each step in between.",
            "baseline_decay": "Share of the old baseline of rewards in the new one.",
            **_ADAM,
        }),
        Settings("rounds", ScratchGanRecipe, DISCRIMINATOR, {
            "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
            "dimension": ("discriminator_embedding_width", "Embedding dimension of the discriminator that is learnt."),
            "width": ("discriminator_width", "Hidden dimension of the discriminator."),
            "dropout": ("discriminator_dropout", "Dropout of the discriminator."),
            "penalty": ("discriminator_penalty", "Weight of the squares of its weights."),
        }),
    ),
    "leakgan": (
        Settings("network", settings_of("leakgan"), MODEL, {
            "width": "Hidden dimension of manager and worker.",
            "goal": "Dimension of a goal embedding.",
            "memory": "Goals that the worker reads, and tokens that a goal is for.",
            "dimension": ("feature_width", "Embedding dimension of the features."),
            "filters": ("feature_filters", "Filters of the features: widths and counts, such as 1:100,2:100."),
            "sharpness": "Factor of the logits: one over the temperature of the paper.",
        }),
        Settings("rounds", LeakGanRecipe, ROUNDS, {
            "cycles": "Cycles before the rounds: refreshes of the discriminator, then epochs over real text.",
            "pretraining_epochs": ("epochs", "Epochs over real text in each cycle before the rounds."),
            "rounds": "Adversarial rounds.",
            "mle_every": "An epoch over real text after every N rounds.",
            "batch_size": "Sentences of a step, and of a batch of the discriminator.",
            "learning_rate": "Learning rate of manager and worker.",
            "max_norm": "Clip gradients of manager and worker to this norm.",
            "n_roll_outs": ("roll_outs", "Roll-outs after each action."),
            "rescaling": "How steeply a reward rises with its rank in the batch.",
        }),
        Settings("rounds", LeakGanRecipe, DISCRIMINATOR, {
            "pretraining_refreshes": "Refreshes of the discriminator in each cycle.",
            "refreshes": "Refreshes of the discriminator in a round.",
            "epochs": ("discriminator_epochs", "Passes over the sentences of a refresh."),
            "n_negatives": ("negatives", "Sentences drawn for a refresh."),
            "judge_learning_rate": ("discriminator_learning_rate", "Learning rate of the discriminator."),
            "penalty": ("discriminator_penalty", "Weight of the squares of its output layer."),
        }),
    ),
    "wgan": (
        Settings("network", settings_of("noise-gru"), MODEL, {
            "width": "Embedding and hidden dimension, and that of the noise; "
            "of the critic, too, without --critic-width.",
            "noise": "Standard deviation of the noise.",
            "feeds": "What a step reads when it draws: argmax (the chosen token) or distribution.",
        }),
        Settings("rounds", WganRecipe, ROUNDS, {
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
        }),
    ),
}  # fmt: skip
_COMMANDS: Mapping[str, type[TrainAdversarial]] = {
    "seqgan": TrainSeqGan,
    "rankgan": TrainSeqGan,
    "gumbelgan": TrainSeqGan,
    "cot": TrainWithOracle,
    "scratchgan": TrainScratchGan,
    "leakgan": TrainAdversarial,
    "wgan": TrainWgan,
}


def command(name: str) -> type[Command]:
    """Return the command of one of them, with its settings."""
    presets = getattr(systems, f"{name.upper()}_PRESETS")
    return with_settings(_COMMANDS[name], name, MODELS[name], _SETTINGS[name], presets=presets, preset="tiny")
