"""Stages that train a generator against a discriminator, in rounds; a killed run resumes.

What a kind of training begins with, its phases and its rule of collapse are those of `textassay_lab.generators`. The
generator is the one after the last round: none is chosen by likelihood, which rounds make worse.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from textassay.corpus.text_form import TextForm
from textassay.execution.threads import workers
from textassay_lab.adversarial.rounds import RoundsHistory, train_in_rounds
from textassay_lab.adversarial.system import Rounds
from textassay_lab.generator.catalog import class_of
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.saved import load_generator, save_model
from textassay_lab.papers.network_stages import MODEL, Part, processor_seconds
from textassay_lab.papers.presets import as_json
from textassay_lab.papers.stages import Stage, Work
from textassay_lab.training.backend import single_threaded

_ROUNDS = "rounds.safetensors"

# Called when a training has begun; what it returns is called at the end, for more results of the stage.
Watch = Callable[[Work, Rounds], Callable[[RoundsHistory], Mapping[str, Any]]]


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
    cost: float,
    length: int | None = None,
    longest: int | None = None,
    folder: str = MODEL,
    keep_every: int | None = None,
    watch: Watch | None = None,
) -> Stage:
    """Return the stage that trains a generator of `kind`, such as ``seqgan``, on `text`, and saves it in `folder`.

    Its result has ``kept``, the number of rounds of the last phase that count, the values of each (``rounds``), why
    training ended early (``stopped``, None where it did not), and the seconds of a processor, with those of `start`.

    `start`: settings of a generator that has learnt nothing, or the stage of one that has learnt from text;
    `settings`: what decides the result beside recipe, seed and form;
    `length`, `longest`: tokens that every sentence has, or at most has;
    `keep_every`: the generator is also kept, in folders named by their number, after so many rounds of the last phase,
    again and again, and before and after all of them.
    """
    system: Any = class_of(kind)
    config = as_json({**settings, "recipe": recipe, "seed": seed, "form": form.hash})

    def run(work: Work) -> dict[str, Any]:
        checkpoint = work.folder / _ROUNDS
        # the weights depend on the number of threads
        with processor_seconds(work.folder) as seconds, workers(1), single_threaded():
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
                seconds()
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
        spent_before = work.inputs[start].result.get("seconds", 0.0) if isinstance(start, Stage) else 0.0
        return {
            "model": model.name,
            "n_parameters": int(model.n_parameters),
            "seconds": spent_before + seconds(),
            "rounds": {str(one.number - first): dict(one.values) for one in history.rounds[first : history.kept]},
            "kept": history.kept - first,
            "stopped": history.stopped,
            **results,
        }

    return Stage(stage_kind, name, config, run, inputs, cost)


def _of_length(model: Any, length: int | None) -> LstmModel:
    """Return a model with the same weights, and sentences of `length` tokens."""
    assert isinstance(model, LstmModel)
    if model.length == length:
        return model
    fixed_length = LstmModel(**{**model.settings, "recipe": model.recipe, "length": length, "max_length": length})
    fixed_length.restore(model.arrays(), vocabulary=model.vocabulary, tokenizer=model.tokenizer, record=model.record)
    return fixed_length
