"""Stages that train generators, by likelihood or against a discriminator, and draw sentences from them.

A killed training resumes. Of rounds against a discriminator, what a kind begins with, its phases and its rule of
collapse are those of `textassay_lab.generators`; the generator is the one after the last round: none is chosen by
likelihood, which rounds make worse.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4.2 and 4.3.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import nested_fractions
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import InputError
from textassay.execution.threads import workers
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay.storage import atomic_write
from textassay_lab.adversarial.rounds import RoundsHistory, train_in_rounds
from textassay_lab.adversarial.system import Rounds
from textassay_lab.generator.catalog import class_of, make_generator, presets_of
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.saved import load_generator, load_model, save_model
from textassay_lab.papers.paper import Contest, Network
from textassay_lab.papers.stages import Stage, Work
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import Step

MODEL = "model"  # folder of the trained model, inside that of its stage
_CHECKPOINT, _ROUNDS = "training.safetensors", "rounds.safetensors"

# Called when rounds have begun; what it returns is called at the end, for more results of the stage.
Watch = Callable[[Work, Rounds], Callable[[RoundsHistory], Mapping[str, Any]]]


@dataclass(frozen=True)
class Part:
    """Sentences that stages read: a corpus, or samples of a stage; `first` of them, or all."""

    corpus: Corpus | None = None
    # the stage that draws it, and which of its files it is
    stage: Stage | None = None
    file: str = ""
    first: int | None = None  # number of sentences; None for all

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """The stages it depends on."""
        return () if self.stage is None else (self.stage,)

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings, beside `inputs`."""
        if self.corpus is None:
            return {"file": self.file, "first": self.first}
        corpus = self.corpus if self.first is None else self.corpus.take(np.arange(self.first))
        return {"text": corpus.fingerprint}

    def load(self, work: Work, form: TextForm) -> Corpus:
        """Return the sentences."""
        corpus = self.corpus
        if corpus is None:
            assert self.stage is not None
            corpus = load_draws(work.inputs[self.stage].folder / f"{self.file}.npz", form)
        return corpus if self.first is None else corpus.take(np.arange(self.first))


def first_share(n: int, share: float) -> int:
    """Return ceil(share * n), in decimal arithmetic."""
    return len(nested_fractions(n, (share,))[0])


def seed_for(seed: int, *purpose: str | int) -> int:
    """Return a seed of its own for a purpose."""
    return int(stream(seed, "study", *purpose).integers(2**31))


def numbered(name: str, run: int) -> str:
    """Return the name of a stage of one of several runs, from 0."""
    return f"{name} again {run}" if run else name


def fitted(work: Work, model: Any, train: Any, valid: Any, form: TextForm) -> dict[str, Any]:
    """Train a network, or resume a killed run, and save it; return the result of its stage."""
    checkpoint = work.folder / _CHECKPOINT
    # the weights depend on the number of threads
    with workers(1), single_threaded():
        model.fit(train, valid, checkpoint=checkpoint, progress=lambda step: _show_step(work, step))
    save_model(model, work.folder / MODEL, form=form)
    checkpoint.unlink(missing_ok=True)
    return {"model": model.name, "n_parameters": int(getattr(model, "n_parameters", 0))}


def training(
    name: str,
    kind: str,
    network: Network,
    text: Part,
    valid: Part,
    form: TextForm,
    *,
    longest: int,
    seed: int,
    precision: str = "float32",
    stage_kind: str = "train",
) -> Stage:
    """Return the stage that trains and saves a network."""

    def run(work: Work) -> dict[str, Any]:
        positions = {"positions": longest + 1} if kind == "gpt2" else {}
        model: Any = make_generator(
            kind,
            preset=network.preset,
            seed=seed,
            max_length=longest,
            precision=precision,
            **positions,
            **network.changes,
        )
        return fitted(work, model, text.load(work, form), valid.load(work, form), form)

    settings: Mapping[str, Any] = {
        "model": kind,
        "preset": f"{network.preset} {presets_of(kind)[network.preset]}",
        "seed": seed,
        "precision": precision,
        "form": form.hash,
        "longest": longest,
        "train": text.settings,
        "valid": valid.settings,
        **({"changes": dict(network.changes)} if network.changes else {}),
    }
    return Stage(stage_kind, name, settings, run, (*text.inputs, *valid.inputs))


def opened(work: Work, trained: Stage, *, precision: str = "float32") -> LanguageModel:
    """Return the network that a stage saved, in `precision`."""
    model: Any = load_model(work.inputs[trained].folder / MODEL).model
    model.precision = precision
    network: LanguageModel = model
    return network


def sampling(
    name: str,
    trained: Stage,
    counts: Mapping[str, int],
    *,
    seed: int,
    temperature: float = 1.0,
    precision: str = "float32",
    stage_kind: str = "sample",
) -> Stage:
    """Return the stage that draws sentences from a trained network: one file a set, each from a seed of its own."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, trained, precision=precision)
        for number, (file, count) in enumerate(counts.items()):
            work.tell(f"{count} sentences, set {number + 1} of {len(counts)}")
            drawn = model.sample(count, seed=seed_for(seed, "draw", file), temperature=temperature)
            save_draws(work.folder / f"{file}.npz", drawn)
        return {"sentences": dict(counts)}

    settings = {"counts": dict(counts), "seed": seed, "temperature": temperature}
    settings |= {} if precision == "float32" else {"precision": precision}
    return Stage(stage_kind, name, settings, run, (trained,))


def _show_step(work: Work, step: Step) -> None:
    """Report the progress of a training."""
    left = "" if not math.isfinite(step.seconds_left) else f", at most {step.seconds_left:.0f} s left"
    work.tell(f"epoch {step.epoch}, step {step.step} of {step.n_steps}{left}")


def adversarial_stage(
    stage_kind: str,
    name: str,
    kind: str,
    start: Mapping[str, Any] | Stage,
    recipe: Any,
    text: Part,
    form: TextForm,
    *,
    settings: Mapping[str, Any],
    inputs: tuple[Stage, ...] = (),
    seed: int,
    length: int | None = None,
    longest: int | None = None,
    folder: str = MODEL,
    keep_every: int | None = None,
    watch: Watch | None = None,
) -> Stage:
    """Return the stage that trains a generator of `kind`, such as ``seqgan``, on `text`, and saves it in `folder`.

    Its result has ``kept``, the number of rounds of the last phase that count, the values of each (``rounds``), and why
    training ended early (``stopped``, None where it did not).

    `start`: settings of a generator that has learnt nothing, or the stage of one that has learnt from text;
    `settings`: what decides the result beside recipe, seed and form;
    `length`, `longest`: tokens that every sentence has, or at most has;
    `keep_every`: the generator is also kept, in folders named by their number, after so many rounds of the last phase,
    again and again, and before and after all of them.
    """
    system: Any = class_of(kind)
    config = _as_json({**settings, "recipe": recipe, "seed": seed, "form": form.hash})

    def run(work: Work) -> dict[str, Any]:
        checkpoint = work.folder / _ROUNDS
        # the weights depend on the number of threads
        with workers(1), single_threaded():
            if isinstance(start, Stage):
                model: Any = _of_length(load_generator(work.inputs[start].folder / MODEL).model, length)
            else:
                model = system.untrained(start, recipe, length=length, longest=longest, seed=seed)
            rounds = system.begin(model, recipe, text.load(work, form), None, seed=seed)
            more = None if watch is None else watch(work, rounds)
            *before, last = rounds.phases
            first = sum(phase.n_rounds for phase in before)

            def keep(number: int) -> None:
                rounds.training.finish(RoundsHistory(kept=number), {})
                save_model(model, work.folder / str(number - first), form=form)

            def progress(label: str, done: int, total: int) -> None:
                work.tell(f"{label.partition(':')[0]} ({done} of {total})")

            history = train_in_rounds(
                rounds.training,
                [*(replace(phase, validated=False) for phase in before), last],
                collapse=rounds.collapse,
                checkpoint=checkpoint,
                config=config,
                monitors={} if keep_every is None else {"kept": keep},
                monitor_every=keep_every or 1,
                progress=progress,
            )
            if keep_every is not None:
                keep(history.kept)
            results = {} if more is None else more(history)
        rounds.finish(history)
        save_model(model, work.folder / folder, form=form)
        checkpoint.unlink(missing_ok=True)
        return {
            "model": model.name,
            "n_parameters": int(model.n_parameters),
            "rounds": {str(one.number - first): dict(one.values) for one in history.rounds[first : history.kept]},
            "kept": history.kept - first,
            "stopped": history.stopped,
            **results,
        }

    return Stage(stage_kind, name, config, run, inputs)


def _of_length(model: Any, length: int | None) -> LstmModel:
    """Return a model with the same weights, and sentences of `length` tokens."""
    assert isinstance(model, LstmModel)
    if model.length == length:
        return model
    fixed_length = LstmModel(**{**model.settings, "recipe": model.recipe, "length": length, "max_length": length})
    fixed_length.restore(model.arrays(), vocabulary=model.vocabulary, tokenizer=model.tokenizer, record=model.record)
    return fixed_length


def of_contest(contest: Contest, presets: Mapping[str, tuple[Mapping[str, Any], Any]]) -> tuple[dict[str, Any], Any]:
    """Return the settings of the generator and the recipe of the rounds, from the presets of a kind of training."""
    network, recipe = presets[contest.preset]
    return {**network, **contest.generator}, replace(recipe, **contest.rounds)


def _as_json(settings: Any) -> Any:
    """Return settings, dataclasses at any depth among them, as they come back from JSON."""
    return json.loads(json.dumps(settings, default=asdict))


def save_draws(path: Path, corpus: Corpus) -> None:
    """Write the tokens of `corpus` to `path`, atomically."""
    with atomic_write(path) as file:
        np.savez(file, tokens=corpus.tokens, offsets=corpus.offsets)


def load_draws(path: Path, form: TextForm) -> Corpus:
    """Return the corpus whose tokens `save_draws` wrote, as `form` writes them."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            tokens, offsets = kept["tokens"], kept["offsets"]
    except Exception:  # a damaged file raises anything
        raise InputError(f"{path} is damaged: delete its folder to compute it again") from None
    if tokens.max(initial=0) >= len(form.vocabulary):
        raise InputError(f"{path} was drawn over another vocabulary: delete its folder to compute it again")
    return _written(tokens, offsets, form)


def as_written(corpus: Corpus, form: TextForm, longest: int | None = None) -> Corpus:
    """Return `corpus`, which is in `form`, as a generator would write it.

    Sentences are cut after `longest` tokens, and a token that the vocabulary does not have reads ``<unk>`` in the text,
    too.
    """
    lengths = corpus.lengths if longest is None else np.minimum(corpus.lengths, longest)
    inside = np.arange(len(corpus.tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths) < np.repeat(
        lengths, corpus.lengths
    )
    return _written(corpus.tokens[inside], np.concatenate(([0], np.cumsum(lengths))), form)


def _written(tokens: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], form: TextForm) -> Corpus:
    words = np.array(form.vocabulary.tokens, dtype=object)[tokens].tolist()
    name = form.tokenizer.name
    texts = [join_tokens(name, words[begin:end]) for begin, end in pairwise(offsets.tolist())]
    return Corpus(tokens, offsets, form.vocabulary, texts, tokenizer=name)
