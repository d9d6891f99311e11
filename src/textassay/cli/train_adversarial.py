"""``textassay train`` for generators that learn against a discriminator: folder, rounds, monitors, report.

What is particular to one kind of them is in a module of its own, which `KINDS` names: it says what can be asked
of it, does what comes before the rounds, and begins them.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from rich.console import Console

from textassay.adversarial.cot import COT_PRESETS, CoT
from textassay.adversarial.rankgan import RankGan
from textassay.adversarial.rankgan_recipe import RANKGAN_PRESETS
from textassay.adversarial.rounds import train_in_rounds
from textassay.adversarial.scratchgan import ScratchGan
from textassay.adversarial.scratchgan_recipe import SCRATCHGAN_PRESETS
from textassay.adversarial.seqgan import SeqGan
from textassay.adversarial.seqgan_recipe import SEQGAN_PRESETS
from textassay.cli.adversarial_kind import AdversarialKind, TrainAdversarialOptions
from textassay.cli.from_scratch_training import FromScratchKind
from textassay.cli.leakgan_training import LeakGanKind
from textassay.cli.messages import print_line
from textassay.cli.monitored import check_monitor, monitor_figures, monitored, new_monitor
from textassay.cli.progress import show_progress
from textassay.cli.seqgan_training import SeqGanKind
from textassay.cli.train import TrainingTexts, check_options, read_training, settings_of
from textassay.cli.trained_folder import CHECKPOINT, HISTORY, ROUNDS, SETTINGS, begun, finished
from textassay.cli.wgan_training import WganKind
from textassay.errors import OptionError, check_range
from textassay.execution import default_workers, device, workers
from textassay.model_store.saved import save_model
from textassay.monitoring.loop import loop_monitors
from textassay.network.lstm import LstmModel
from textassay.network.tied_lstm import TiedLstm
from textassay.report.adversarial_training import AdversarialTraining, draw_rounds, render_adversarial_training
from textassay.report.whole_files import write_whole
from textassay.training.backend import require_neural, threads, training_device
from textassay.training.processes import launched

__all__ = ["KINDS", "run_train_adversarial"]

KINDS: Mapping[str, AdversarialKind] = MappingProxyType(
    {
        "cot": FromScratchKind("cot", COT_PRESETS, LstmModel, CoT),
        "leakgan": LeakGanKind(),
        "rankgan": SeqGanKind("rankgan", RANKGAN_PRESETS, RankGan),
        "scratchgan": FromScratchKind("scratchgan", SCRATCHGAN_PRESETS, TiedLstm, ScratchGan),
        "seqgan": SeqGanKind("seqgan", SEQGAN_PRESETS, SeqGan),
        "wgan": WganKind(),
    }
)

_READINGS = 5  # of the monitors over the rounds, where --monitor-steps says nothing


def run_train_adversarial(options: TrainAdversarialOptions) -> int:
    """Train, write the model, print what came out, and return 0."""
    if options.oracle is not None and options.texts.like is None:  # it brings tokenizer and vocabulary
        options = replace(options, texts=replace(options.texts, like=options.oracle))
    kind, texts_asked = KINDS[options.texts.model], options.texts
    _check(options, kind)
    with (
        workers(default_workers() if texts_asked.workers is None else texts_asked.workers),
        device(texts_asked.device),
    ):
        texts = read_training(texts_asked)
        kind.check_texts(options, texts)
        settings = _settings(options, kind, texts)
        training = finished(texts_asked.out, settings, AdversarialTraining.from_json)
        if training is None:
            training = _train(options, kind, texts, settings)
        else:
            _say(options, f"{texts_asked.out} holds this model, trained to the end: nothing was changed")
    if texts_asked.json:
        print(json.dumps({"folder": str(texts_asked.out), **training.to_dict()}, indent=1, allow_nan=False))
    else:
        render_adversarial_training(training, Console())
    return 0


def _check(options: TrainAdversarialOptions, kind: AdversarialKind) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    asked = options.texts
    require_neural(f"the {asked.model} generator")
    if options.oracle is not None:  # why it cannot be comes before what its vocabulary rules out
        kind.check(options)
    check_options(asked)
    check_range("--rounds", options.rounds, 0)
    check_range("--length", options.length, 1)
    if options.keep not in ("last", "best"):
        raise OptionError(f"--keep must be last or best, got '{options.keep}'")
    if asked.auto_batch:
        raise OptionError(f"{asked.model} has no --auto-batch")
    check_monitor(asked.model, asked.monitor, steps=asked.monitor_steps, trains_in_steps=True)
    processes = launched()
    if processes is not None and processes.count > 1:
        raise OptionError(f"{asked.model} trains in one process, got {processes.count}: start only one")
    kind.check(options)


def _settings(options: TrainAdversarialOptions, kind: AdversarialKind, texts: TrainingTexts) -> dict[str, Any]:
    """Return everything that decides what is trained, as it reads back from JSON."""
    asked = {"keep": options.keep, "oracle": options.oracle, "length": options.length, **kind.settings(options)}
    found: dict[str, Any] = json.loads(json.dumps({**settings_of(options.texts, texts), **asked}))
    return found


def _train(
    options: TrainAdversarialOptions, kind: AdversarialKind, texts: TrainingTexts, settings: Mapping[str, Any]
) -> AdversarialTraining:
    """Train, write all files, the model last, and return what is reported."""
    asked = options.texts
    out = asked.out
    resumes = (out / CHECKPOINT).exists() or (out / ROUNDS).exists()
    monitor = None
    if asked.monitor is not None:
        told = {"n": asked.monitor_sentences, "seed": asked.seed}
        monitor = new_monitor(texts.valid, asked.monitor, **told, folder=out, quiet=asked.quiet)
    with begun(out, {SETTINGS: json.dumps(settings, indent=1)}):
        _say(options, f"{'going on with' if resumes else 'training'} {asked.model} on {texts.train_told}")
        with show_progress(quiet=asked.quiet) as progress:
            run = kind.begin(options, texts, progress)
            if options.keep == "best" and run.best is None:
                raise OptionError(f"--keep best needs something to validate by, which {asked.model} does not have")
            n_rounds = run.phases[-1].n_rounds
            history = train_in_rounds(
                run.training,
                run.phases,
                keep=run.best if options.keep == "best" else None,
                collapse=run.collapse,
                checkpoint=out / ROUNDS,
                config=settings,
                monitors=None if monitor is None else loop_monitors(monitor, run.sample),
                monitor_every=asked.monitor_steps or max(1, n_rounds // _READINGS),
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
        keep=run.best or "last" if options.keep == "best" else "last",
        monitored=None if monitor is None else monitored(monitor),
    )
    figures = {drawing.file_name: drawing.svg for drawing in draw_rounds(training)}
    figures |= {} if monitor is None else monitor_figures(monitor, history.readings)
    written = write_whole(out, {HISTORY: json.dumps(training.to_dict(), indent=1, allow_nan=False), **figures})
    save_model(run.finish(history), out, form=texts.form)
    for name in (CHECKPOINT, ROUNDS):
        (out / name).unlink(missing_ok=True)
    if history.stopped is not None:
        _say(options, f"warning: ended before all rounds: {history.stopped}")
    _say(options, f"the model is in {out}, with {', '.join(path.name for path in written)}")
    return training


def _n_threads() -> int:
    import torch

    with threads():
        return torch.get_num_threads()


def _say(options: TrainAdversarialOptions, line: str) -> None:
    if not options.texts.quiet:
        print_line(line)
