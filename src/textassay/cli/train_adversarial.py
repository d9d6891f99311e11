"""``textassay train`` for generators that learn against a discriminator: folder, rounds, monitors, report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from textassay.cli.adapter import Between
from textassay.cli.train import Monitors, TrainingTexts, TrainWindows
from textassay.errors import InputError, OptionError, unknown_name

if TYPE_CHECKING:
    from textassay.adversarial import AdversarialTrainer, Collapse, Phase, RoundsHistory
    from textassay.generator import LanguageModel
    from textassay.monitoring import Sampler
    from textassay.report import AdversarialTraining

ROUNDS = "Adversarial training"

_READINGS = 5  # of the monitors over the rounds, where --monitor-steps says nothing

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Begun:
    """A training whose rounds can begin.

    `training`, `phases` and `collapse` are what `train_in_rounds` takes; `best` is what validation has lowest where it
    is best, None where it says nothing; `sample` draws from the generator as it is, for monitors; `finish` makes of the
    history the generator as it is kept, which `save_model` takes.
    """

    name: str
    n_parameters: int
    training: "AdversarialTrainer"
    phases: "Sequence[Phase]"
    collapse: "Collapse | None"
    best: str | None
    sample: "Sampler"
    finish: "Callable[[RoundsHistory], Any]"


@dataclass(frozen=True, kw_only=True)
class TrainAdversarial(Monitors, TrainWindows):
    """A generator that learns against a discriminator."""

    keep: Annotated[
        str, Option(metavar="WHICH", help="Round that is kept: last, or best in validation.", rich_help_panel=ROUNDS)
    ] = "last"
    length: Annotated[
        int | None,
        Option(metavar="N", help="All sentences have N tokens, and never end.", rich_help_panel=ROUNDS),
        Between(1),
    ] = None

    def untrained(self, longest: int | None = None) -> tuple[Any, Any]:
        """Return a generator that has learnt nothing and writes up to `longest` tokens, and the recipe."""
        raise NotImplementedError

    def check_plan(self) -> None:
        """Raise where a setting is out of range."""
        self.untrained()

    def plan(self) -> Mapping[str, Any]:
        """Return what the preset and the options come to: all that decides the training but the text."""
        model, recipe = self.untrained()
        return {"network": model.settings, "rounds": asdict(recipe)}

    def check_texts(self, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have, before anything is written."""
        self.check_lengths(texts)

    def begin(self, texts: TrainingTexts, tell: Tell | None) -> Begun:
        """Do what comes before the rounds, or take it from the folder, and return the training."""
        raise NotImplementedError

    @property
    def oracle_name(self) -> str | None:
        """The model that knows how likely a sentence truly is; None without."""
        return None

    @property
    def sentence_length(self) -> int | None:
        """Tokens of every sentence; None where they end."""
        return self.length if self.window is None else self.window

    def chosen_preset(self) -> tuple[dict[str, Any], Any]:
        """Return settings of the generator and the recipe, as the preset has them."""
        preset = self.preset or "tiny"
        if preset not in self.presets:
            raise unknown_name(f"preset of {self.model}", preset, self.presets)
        network, recipe = self.presets[preset]
        return dict(network), recipe

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        from textassay.training import launched, require_neural

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
        self.check_plan()

    def read(self) -> TrainingTexts:
        """Return the texts that training needs."""
        texts = super().read()
        self.check_texts(texts)
        return texts

    def check_lengths(self, texts: TrainingTexts) -> None:
        """Raise where a sentence has another length than all shall have."""
        import numpy as np

        length = self.sentence_length
        for corpus, told in ((texts.train, texts.train_told), (texts.valid, texts.valid_told)):
            others = np.flatnonzero(corpus.lengths != length)
            if length is not None and len(others):
                raise InputError(
                    f"{told.source}: {len(others)} of {len(corpus)} sentences do not have {length} tokens, the first "
                    f"is sentence {others[0] + 1} with {corpus.lengths[others[0]]}: cut the text, or leave --length out"
                )

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        length = self.length if self.window is None else self.window
        return {**super().record(texts), "oracle": self.oracle_name, "length": length, **self.plan()}

    def load(self, text: str) -> "AdversarialTraining":
        """Return what was trained before, from the text of its history."""
        from textassay.report import AdversarialTraining

        return AdversarialTraining.from_json(text)

    def show(self, training: "AdversarialTraining") -> None:
        """Print what came out."""
        from rich.console import Console

        from textassay.report import render_adversarial_training

        if self.json:
            print(json.dumps({"folder": str(self.out), **training.to_dict()}, indent=1, allow_nan=False))
        else:
            render_adversarial_training(training, Console())

    def train(self, texts: TrainingTexts, record: Mapping[str, Any]) -> "AdversarialTraining":
        """Train, write all files, the model last, and return what is reported."""
        from textassay.adversarial import train_in_rounds
        from textassay.cli.monitored import monitor_figures, monitored
        from textassay.cli.progress import show_progress
        from textassay.cli.trained_folder import CHECKPOINT, HISTORY, ROUNDS, SETTINGS, begun
        from textassay.model_store import save_model
        from textassay.monitoring import loop_monitors
        from textassay.report import AdversarialTraining, draw_rounds, write_whole
        from textassay.training import training_device

        out = self.out
        resumes = (out / CHECKPOINT).exists() or (out / ROUNDS).exists()
        monitor = self.new_monitor(texts.valid, seed=self.seed, folder=out, quiet=self.quiet)
        with begun(out, {SETTINGS: json.dumps(record, indent=1)}):
            self.say(f"{'going on with' if resumes else 'training'} {self.model} on {texts.train_told}")
            with show_progress(quiet=self.quiet) as progress:
                run = self.begin(texts, progress)
                if self.keep == "best" and run.best is None:
                    raise OptionError(f"--keep best needs something to validate by, which {self.model} does not have")
                n_rounds = run.phases[-1].n_rounds
                history = train_in_rounds(
                    run.training,
                    run.phases,
                    keep=run.best if self.keep == "best" else None,
                    collapse=run.collapse,
                    checkpoint=out / ROUNDS,
                    config=record,
                    monitors=None if monitor is None else loop_monitors(monitor, run.sample),
                    monitor_every=self.monitor_steps or max(1, n_rounds // _READINGS),
                    progress=progress,
                )
        training = AdversarialTraining(
            model=run.name,
            n_parameters=run.n_parameters,
            tokenizer=texts.form.tokenizer.name,
            n_types=len(texts.form.vocabulary),
            train=texts.train_told,
            valid=texts.valid_told,
            computed={"device": training_device().type, "precision": "float32", "threads": str(_n_threads())},
            history=history,
            keep=run.best or "last" if self.keep == "best" else "last",
            monitored=None if monitor is None else monitored(monitor),
        )
        figures = {drawing.file_name: drawing.svg for drawing in draw_rounds(training)}
        figures |= {} if monitor is None else monitor_figures(monitor, history.readings)
        written = write_whole(out, {HISTORY: json.dumps(training.to_dict(), indent=1, allow_nan=False), **figures})
        save_model(run.finish(history), out, form=texts.form)
        for name in (CHECKPOINT, ROUNDS):
            (out / name).unlink(missing_ok=True)
        if history.stopped is not None:
            self.say(f"warning: ended before all rounds: {history.stopped}")
        self.say(f"the model is in {out}, with {', '.join(path.name for path in written)}")
        return training


@dataclass(frozen=True, kw_only=True)
class TrainWithOracle(TrainAdversarial):
    """A generator that an oracle can judge."""

    oracle: Annotated[
        str | None,
        Option(metavar="MODEL", help="Model that drew --real, such as random-lstm.", rich_help_panel=ROUNDS),
    ] = None

    @property
    def oracle_name(self) -> str | None:
        """The model that knows how likely a sentence truly is; None without."""
        return self.oracle

    @property
    def sentence_length(self) -> int | None:
        """Tokens of every sentence; None where they end."""
        from textassay.network import RandomLstm

        oracle = self.opened_oracle()
        return oracle.length if isinstance(oracle, RandomLstm) else super().sentence_length

    def opened_oracle(self) -> "LanguageModel | None":
        """Return the oracle."""
        from textassay.cli.models import open_model

        return None if self.oracle is None else open_model(self.oracle).model

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong; why an oracle cannot be one comes first."""
        from textassay.cli.models import RANDOM

        if self.oracle is not None:
            if self.like != self.oracle or (self.length, self.window) != (None, None):
                raise OptionError("--oracle MODEL brings vocabulary and length: leave --like and --length out")
            if self.oracle.split(":")[0] != RANDOM:
                raise OptionError(f"--oracle must be random-lstm or random-lstm:SEED, got '{self.oracle}'")
        super().check()

    def run(self) -> int:
        """Train; an oracle brings tokenizer and vocabulary."""
        if self.oracle is not None and self.like is None:
            return replace(self, like=self.oracle).run()
        return super().run()


def _n_threads() -> int:
    import torch

    from textassay.training import threads

    with threads():
        return torch.get_num_threads()
