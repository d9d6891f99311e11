"""Stages that train networks and draw samples from them.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4.2 and 4.3.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json, read_document
from textassay.corpus.split import nested_fractions
from textassay.corpus.text_form import TextForm
from textassay.execution.threads import workers
from textassay.ngram.language_model import LanguageModel
from textassay.seeding import stream
from textassay.storage import atomic_write
from textassay_lab.generator.catalog import make_generator, presets_of
from textassay_lab.generator.saved import load_model, save_model
from textassay_lab.papers.draws import load_draws, save_draws
from textassay_lab.papers.stages import Stage, Work
from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import Step

MODEL = "model"  # folder of the trained model, inside that of its stage
_CHECKPOINT, _SECONDS = "training.safetensors", "seconds.json"
_KEEP_EVERY = 5.0  # seconds of a processor


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
    with processor_seconds(work.folder) as seconds, workers(1), single_threaded():

        def progress(step: Step) -> None:
            seconds()
            tell_step(work, step)

        model.fit(train, valid, checkpoint=checkpoint, progress=progress)
    save_model(model, work.folder / MODEL, form=form)
    checkpoint.unlink(missing_ok=True)
    n_parameters = int(getattr(model, "n_parameters", 0))
    return {"model": model.name, "n_parameters": n_parameters, "seconds": seconds()}


@contextmanager
def processor_seconds(folder: Path) -> Iterator[Callable[[], float]]:
    """Yield a function for the processor seconds of this thread in the block; those of killed runs count."""
    path = folder / _SECONDS
    try:
        before = float(parse_json(read_document(path)))
    except (OSError, ValueError):
        before = 0.0
    begun = time.thread_time()
    kept, total = begun, None

    def spent() -> float:
        nonlocal kept
        if total is not None:
            return total
        now = time.thread_time()
        if now - kept >= _KEEP_EVERY:
            kept = now
            with atomic_write(path) as file:
                file.write(json.dumps(before + now - begun).encode())
        return before + now - begun

    yield spent
    total = before + time.thread_time() - begun
    path.unlink(missing_ok=True)


def training(
    name: str,
    kind: str,
    *,
    preset: str,
    text: Part,
    valid: Part,
    form: TextForm,
    longest: int,
    seed: int,
    cost: float,
    precision: str = "float32",
    changes: Mapping[str, Any] | None = None,
    stage_kind: str = "train",
) -> Stage:
    """Return the stage that trains and saves a network."""

    def run(work: Work) -> dict[str, Any]:
        positions = {"positions": longest + 1} if kind == "gpt2" else {}
        model: Any = make_generator(
            kind,
            preset=preset,
            seed=seed,
            max_length=longest,
            precision=precision,
            **positions,
            **(changes or {}),
        )
        return fitted(work, model, text.load(work, form), valid.load(work, form), form)

    settings: Mapping[str, Any] = {
        "model": kind,
        "preset": f"{preset} {presets_of(kind)[preset]}",
        "seed": seed,
        "precision": precision,
        "form": form.hash,
        "longest": longest,
        "train": text.settings,
        "valid": valid.settings,
        **({"changes": dict(changes)} if changes else {}),
    }
    return Stage(stage_kind, name, settings, run, (*text.inputs, *valid.inputs), cost)


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
    longest: int,
    precision: str = "float32",
    stage_kind: str = "sample",
) -> Stage:
    """Return the stage that draws sentences from a trained network: one file a set, each from a seed of its own."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, trained, precision=precision)
        statistics = {}
        for number, (file, count) in enumerate(counts.items()):
            work.tell(f"{count} sentences, set {number + 1} of {len(counts)}")
            drawn = model.sample(count, seed=seed_for(seed, "draw", file), temperature=temperature)
            save_draws(work.folder / f"{file}.npz", drawn)
            statistics[file] = drawn_statistics(drawn, longest)
        return statistics

    settings = {"counts": dict(counts), "seed": seed, "temperature": temperature, "longest": longest}
    settings |= {} if precision == "float32" else {"precision": precision}
    return Stage(stage_kind, name, settings, run, (trained,), float(sum(counts.values())))


def drawn_statistics(drawn: Corpus, longest: int) -> dict[str, Any]:
    """Return what the result of a stage says of sentences that it drew, of up to `longest` tokens."""
    return {
        "n": len(drawn),
        "unk_rate": drawn.unk_rate if len(drawn.tokens) else 0.0,
        "cut_share": float(np.mean(drawn.lengths >= longest)),
        "mean_length": float(np.mean(drawn.lengths)),
    }


def tell_step(work: Work, step: Step) -> None:
    """Report the progress of a training."""
    left = "" if not math.isfinite(step.seconds_left) else f", at most {step.seconds_left:.0f} s left"
    work.tell(f"epoch {step.epoch}, step {step.step} of {step.n_steps}{left}")
