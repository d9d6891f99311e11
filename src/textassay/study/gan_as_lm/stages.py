"""Stages that train and save SeqGAN, LeakGAN and the recurrent GAN: models along the rounds, and the last one.

Sources: Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017; Guo et al., "Long
Text Generation via Adversarial Training with Leaked Information", AAAI 2018; Press et al., "Language Generation with
Recurrent Generative Adversarial Networks without Pre-training", 2017; as Tevet et al., "Evaluating Text GANs as
Language Models", NAACL 2019, use them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from textassay.adversarial import (
    COLLAPSE,
    LeakGan,
    LeakGanRecipe,
    Phase,
    RoundsHistory,
    SeqGan,
    SeqGanRecipe,
    WganRecipe,
    train_in_rounds,
    train_wgan,
)
from textassay.corpus import Corpus, TextForm, Vocabulary
from textassay.execution import workers
from textassay.generator import LeakGanModel, LstmModel, NoiseGru, UniformGenerator, load_generator, save_model
from textassay.study.network_stages import MODEL
from textassay.study.stages import Stage, Work

LAST = "last"  # folder of the final model, inside that of its stage
_ROUNDS = "rounds.safetensors"  # the checkpoint of the training itself


@dataclass(frozen=True)
class TrainedGenerator:
    """A generator in a folder of the stage that trained it, or the uniform generator."""

    stage: Stage | None  # None for the uniform generator
    folder: str = MODEL  # inside the stage's folder
    vocabulary: Vocabulary | None = None  # of the uniform generator

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    def exists(self, work: Work) -> bool:
        """Return whether it counts: models of rounds after an early end of training do not."""
        return self.stage is None or not self.folder.isdigit() or int(self.folder) <= self._result(work)["kept"]

    def open(self, work: Work) -> object:
        """Return the generator."""
        if self.stage is None:
            assert self.vocabulary is not None
            return UniformGenerator(self.vocabulary)
        return load_generator(work.inputs[self.stage].folder / self.folder).model

    def _result(self, work: Work) -> dict[str, Any]:
        assert self.stage is not None
        result: dict[str, Any] = work.inputs[self.stage].result
        return result


def checkpoints_of(rounds: int, n: int) -> tuple[int, ...]:
    """Return after which rounds, 0 and the last among them, a model is kept: about `n` besides 0, evenly."""
    every = max(1, rounds // max(n, 1))
    return tuple(sorted({*range(0, rounds + 1, every), rounds}))


def seqgan_stage(
    name: str, before: Stage, text: Corpus, form: TextForm, *, recipe: SeqGanRecipe, n_checkpoints: int, seed: int,
    cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of the adversarial rounds; its result has each round's values, and why it ended early."""
    phases = (Phase("discriminator", recipe.pretraining_rounds, validated=False), Phase("adversarial", recipe.rounds))
    settings = _settings(recipe, n_checkpoints, seed=seed, text=text, form=form)

    def run(work: Work) -> dict[str, Any]:
        model = load_generator(work.inputs[before].folder / MODEL).model
        assert isinstance(model, LstmModel)
        training = SeqGan(model, text, recipe=recipe, seed=seed)
        return _in_rounds(work, training, model, form, kind="seqgan", phases=phases, settings=settings)

    return Stage("rounds", name, settings, run, (before,), cost)


def leakgan_stage(
    name: str, text: Corpus, form: TextForm, *, network: Mapping[str, Any], recipe: LeakGanRecipe, n_checkpoints: int,
    seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage that trains LeakGAN from nothing, with all its checkpoints; see `seqgan_stage`."""
    length = int(text.lengths[0])
    settings = _settings(recipe, n_checkpoints, seed=seed, text=text, form=form)
    settings["model"] = _new_leakgan(network, length, seed).settings
    phases = (Phase("pretraining", recipe.cycles, validated=False), Phase("adversarial", recipe.rounds))

    def run(work: Work) -> dict[str, Any]:
        model = _new_leakgan(network, length, seed)
        training = LeakGan(model, text, recipe=recipe, seed=seed)
        return _in_rounds(work, training, model, form, kind="leakgan", phases=phases, settings=settings)

    return Stage("leakgan", name, settings, run, (), cost)


def wgan_stage(
    name: str, text: Corpus, form: TextForm, *, width: int, recipe: WganRecipe, seed: int, cost: float
) -> Stage:
    """Return the stage that trains a recurrent GAN, and keeps it; see `seqgan_stage`, as for its result."""
    model = NoiseGru(width, length=recipe.length, ends=False)
    settings = {"model": model.settings, "recipe": asdict(recipe), "seed": seed}
    settings |= {"text": text.fingerprint, "form": form.hash}

    def run(work: Work) -> dict[str, Any]:
        fresh = NoiseGru(**model.settings)
        with workers(1):
            history = train_wgan(
                fresh, text, recipe=recipe, seed=seed, checkpoint=work.folder / _ROUNDS, progress=_teller(work)
            )
        fresh.record = {**fresh.record, "history": asdict(replace(history, rounds=history.rounds[-1:]))}
        save_model(fresh, work.folder / MODEL, form=form)
        (work.folder / _ROUNDS).unlink(missing_ok=True)
        return _summary(history, 0)

    return Stage("wgan", name, settings, run, (), cost)


def _new_leakgan(network: Mapping[str, Any], length: int, seed: int) -> LeakGanModel:
    return LeakGanModel(**network, length=length, max_length=length, seed=seed)


def _settings(
    recipe: SeqGanRecipe | LeakGanRecipe, n_checkpoints: int, *, seed: int, text: Corpus, form: TextForm
) -> dict[str, Any]:
    """Return the settings of the rounds, JSON-ready."""
    kept = checkpoints_of(recipe.rounds, n_checkpoints)
    settings = {"recipe": json.loads(json.dumps(asdict(recipe))), "kept": list(kept), "seed": seed}
    return {**settings, "text": text.fingerprint, "form": form.hash}


def _in_rounds(
    work: Work, training: SeqGan | LeakGan, model: LstmModel | LeakGanModel, form: TextForm, *, kind: str,
    phases: tuple[Phase, Phase], settings: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Train through both phases, save the model along the second, and return the result of the stage."""
    before, kept = phases[0].n_rounds, settings["kept"]

    def keep(number: int) -> None:
        record = {"kind": kind, "rounds": number - before, "recipe": settings["recipe"], "seed": settings["seed"]}
        training.finish(record)
        save_model(model, work.folder / str(number - before), form=form)

    with workers(1):  # the weights depend on the number of threads
        history = train_in_rounds(
            training,
            phases,
            collapse=COLLAPSE,
            checkpoint=work.folder / _ROUNDS,
            config=settings,
            monitors={"kept": keep},
            monitor_every=kept[1] if len(kept) > 1 else 1,
            progress=_teller(work),
        )
    keep(history.kept)
    save_model(model, work.folder / LAST, form=form)
    (work.folder / _ROUNDS).unlink(missing_ok=True)
    return _summary(history, before)


def _teller(work: Work) -> Callable[[str, int, int], None]:
    def tell(label: str, done: int, total: int) -> None:
        work.tell(f"{label.partition(':')[0]} ({done} of {total})")

    return tell


def _summary(history: RoundsHistory, before: int) -> dict[str, Any]:
    """Return values of the rounds of the last phase, to the one kept, by their number there, and how it ended."""
    rounds = {str(each.number - before): dict(each.values) for each in history.rounds[before : history.kept]}
    return {"rounds": rounds, "kept": history.kept - before, "stopped": history.stopped}
