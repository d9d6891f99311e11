"""``textassay train translation``: fit a translation model to pairs of sentences, some of which are held back."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from textassay.cli.messages import print_line
from textassay.cli.models import open_generator
from textassay.cli.options import STANDARD_INPUT, check_writable
from textassay.cli.progress import show_progress, tell_step
from textassay.cli.trained_folder import CHECKPOINT, HISTORY, SETTINGS, begun, finished, print_training
from textassay.corpus.parallel import ParallelText, held_back, learn_joint_form
from textassay.corpus.reader import read_texts
from textassay.corpus.split import split_last
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError, InputError, OptionError, check_range
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.model_store.catalog import make_generator
from textassay.model_store.saved import save_model
from textassay.report.training import TrainedText, Training, draw_training
from textassay.report.whole_files import write_whole
from textassay.training.processes import is_main
from textassay.translation.translation import TranslationModel

__all__ = ["BYTE_PAIRS", "HELD_BACK", "TrainTranslationOptions", "run_train_translation"]

BYTE_PAIRS = 8000
HELD_BACK = ("held-back-source.jsonl", "held-back-real.jsonl")  # in the folder of the model

_HELD_OUT = 10  # without --valid, one pair in so many
_NOT_SETTINGS = ("out", "workers", "device", "quiet", "json", "column")

Sides = tuple[list[str], list[str]]


@dataclass(frozen=True)
class TrainTranslationOptions:
    """What the command line asked for; the fields are options of ``textassay train``."""

    source: str
    real: str
    out: Path
    valid_source: str | None = None
    valid: str | None = None
    hold_back: int = 0
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    byte_pairs: int | None = None
    lowercase: bool = False
    like: str | None = None
    seed: int = 0
    column: str | None = None
    workers: int | None = None
    device: str = "auto"
    quiet: bool = False
    json: bool = False


@dataclass(frozen=True)
class _Texts:
    form: TextForm
    train: ParallelText
    valid: ParallelText
    held: Sides
    train_told: TrainedText
    valid_told: TrainedText


def run_train_translation(options: TrainTranslationOptions) -> int:
    """Train, write the model and the pairs that were held back, print what came out, and return 0."""
    _check(options)
    if not is_main():
        options = replace(options, quiet=True)
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        texts = _read(options)
        settings = _settings(options, texts)
        training = finished(options.out, settings, Training.from_json)
        if training is None:
            training = _train(options, texts, settings)
        elif not options.quiet:
            print_line(f"{options.out} holds this model, trained to the end: nothing was changed")
    if not is_main():
        return 0
    print_training(training, options.out, as_json=options.json)
    return 0


def _check(options: TrainTranslationOptions) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    check_range("--seed", options.seed, 0)
    check_range("--hold-back", options.hold_back, 0)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    check_device(options.device)
    if (options.valid is None) != (options.valid_source is None):
        raise OptionError("--valid and --valid-source belong together: give both, or none for a tenth of the pairs")
    if options.like is not None and (options.byte_pairs is not None or options.lowercase):
        raise OptionError("--like MODEL brings tokenizer and vocabulary: leave --byte-pairs and --lowercase out")
    named = (options.source, options.real, options.valid_source, options.valid)
    if named.count(STANDARD_INPUT) > 1:
        raise OptionError("standard input can be read once only: name a file for each side")
    _new_model(options)
    check_writable(options.out)


def _new_model(options: TrainTranslationOptions) -> TranslationModel:
    model = make_generator("translation", preset=options.preset, seed=options.seed, **options.settings)
    return cast(TranslationModel, model)


def _read(options: TrainTranslationOptions) -> _Texts:
    """Return the pairs that training needs; say what was held back or held out."""
    both = _sides(options, options.source, options.real)
    kept, out = held_back(len(both[0]), options.hold_back, seed=options.seed)
    held = _of(both, out.tolist())
    if options.valid is None or options.valid_source is None:
        first, last = split_last(len(kept), math.ceil(len(kept) / _HELD_OUT))
        train, valid = _of(both, kept[first].tolist()), _of(both, kept[last].tolist())
        valid_source = f"the last {len(last)} of the pairs"
        _say(options, f"no --valid: {valid_source}, a tenth, are held out and not trained on")
    else:
        train, valid = _of(both, kept.tolist()), _sides(options, options.valid_source, options.valid)
        valid_source = f"{options.valid_source}, {options.valid}"
        if train == valid:
            raise InputError(f"{valid_source} hold the pairs that are trained on: validate with others")
    if options.hold_back:
        seen = set(zip(*train, strict=True))
        repeated = sum(pair in seen for pair in zip(*held, strict=True))
        _say(options, f"{options.hold_back} of {len(both[0])} pairs are held back; {repeated} equal one that is not")
    form = _form(options, train)
    pairs = [ParallelText.from_texts(*sides, form) for sides in (train, valid)]
    told = [_told(pairs[0], f"{options.source}, {options.real}"), _told(pairs[1], valid_source)]
    return _Texts(form, pairs[0], pairs[1], held, told[0], told[1])


def _sides(options: TrainTranslationOptions, source: str, target: str) -> Sides:
    found = [list(read_texts(name, column=options.column).texts) for name in (source, target)]
    for name, texts in zip((source, target), found, strict=True):
        if not any(text and not text.isspace() for text in texts):
            raise EmptyCorpusError(f"{name} is empty: all of its {len(texts)} lines are blank")
    if len(found[0]) != len(found[1]):
        raise InputError(
            f"line k of {source} and {target} must say the same, but they have {len(found[0])} and "
            f"{len(found[1])} lines"
        )
    if found[0] == found[1]:
        raise InputError(f"{source} and {target} hold the same sentences: --source is the other language")
    return found[0], found[1]


def _of(sides: Sides, numbers: Sequence[int]) -> Sides:
    return [sides[0][number] for number in numbers], [sides[1][number] for number in numbers]


def _form(options: TrainTranslationOptions, train: Sides) -> TextForm:
    if options.like is not None:
        form = open_generator(options.like).form
        form.to_dict()  # raises where it could not be kept with the model
        return form
    size = BYTE_PAIRS if options.byte_pairs is None else options.byte_pairs
    return learn_joint_form(*train, size=size, lowercase=options.lowercase)


def _told(pairs: ParallelText, source: str) -> TrainedText:
    unknown = float(np.mean([pairs.source.unk_rate, pairs.target.unk_rate]))
    return TrainedText(source, len(pairs), len(pairs.target.tokens), 0, unknown)


def _settings(options: TrainTranslationOptions, texts: _Texts) -> dict[str, Any]:
    """Return everything that decides what is trained, as it reads back from JSON."""
    asked = {name.replace("_", "-"): value for name, value in asdict(options).items() if name not in _NOT_SETTINGS}
    asked |= {"model": "translation", "vocabulary": texts.form.hash}
    asked |= {"source": texts.train.source.fingerprint, "real": texts.train.target.fingerprint}
    asked |= {"valid-source": texts.valid.source.fingerprint, "valid": texts.valid.target.fingerprint}
    flat = {**{name.replace("_", "-"): value for name, value in asked.pop("settings").items()}, **asked}
    found: dict[str, Any] = json.loads(json.dumps(flat))
    return found


def _train(options: TrainTranslationOptions, texts: _Texts, settings: Mapping[str, Any]) -> Training:
    """Train, write all files, the model last, and return what is reported."""
    model, out = _new_model(options), options.out
    resumes = (out / CHECKPOINT).exists()
    sides = [_json_lines(side) for side in texts.held]
    held = dict(zip(HELD_BACK, sides, strict=True)) if options.hold_back else {}
    with begun(out, {SETTINGS: json.dumps(settings, indent=1), **held}) if is_main() else nullcontext():
        _say(options, f"{'going on with' if resumes else 'training'} {model.name} on {texts.train_told}")
        with show_progress(quiet=options.quiet) as progress:
            tell = None if progress is None else partial(tell_step, progress, model.recipe.max_epochs)
            model.fit(texts.train, texts.valid, checkpoint=out / CHECKPOINT, progress=tell)
    training = Training(
        model=model.name,
        n_parameters=model.n_parameters,
        tokenizer=texts.form.tokenizer.name,
        n_types=len(texts.form.vocabulary),
        train=texts.train_told,
        valid=texts.valid_told,
        valid_nll_per_token=-model.history.best.score,
        computed={
            "device": str(model.record["device"]),
            "precision": model.history.precision,
            "threads": str(model.record["threads"]),
        },
        epochs=model.history.epochs,
    )
    if not is_main():
        return training
    drawing = draw_training(training)
    figures = {} if drawing is None else {drawing.file_name: drawing.svg}
    written = write_whole(out, {HISTORY: json.dumps(training.to_dict(), indent=1, allow_nan=False), **figures})
    save_model(cast(Any, model), out, form=texts.form)
    (out / CHECKPOINT).unlink(missing_ok=True)
    _say(options, f"the model is in {out}, with {', '.join([*(path.name for path in written), *held])}")
    return training


def _json_lines(texts: Sequence[str]) -> str:
    """Return sentences as JSON lines that `read_texts` reads, line breaks and all."""
    return "".join(f"{json.dumps({'text': text}, ensure_ascii=False)}\n" for text in texts)


def _say(options: TrainTranslationOptions, line: str) -> None:
    if not options.quiet:
        print_line(line)
