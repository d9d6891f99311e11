"""``textassay train``: fit a generator to the user's text, keep it in a folder, go on there where it stopped."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from textassay.cli.messages import print_line
from textassay.cli.model_contexts import check_contexts, contexts_hash, contexts_told, trained_contexts
from textassay.cli.model_names import ADVERSARIAL
from textassay.cli.models import open_generator
from textassay.cli.monitored import check_monitor, monitor_figures, monitored, new_monitor
from textassay.cli.options import check_sources, check_writable
from textassay.cli.progress import show_progress, tell_step
from textassay.cli.trained_folder import CHECKPOINT, FOUND, HISTORY, SETTINGS, begun, finished, print_training
from textassay.corpus.characters import read_running, split_characters
from textassay.corpus.contexts import Attributes
from textassay.corpus.corpus import Corpus
from textassay.corpus.documents import parse_json, read_document
from textassay.corpus.limits import running_text
from textassay.corpus.reader import read_texts
from textassay.corpus.split import nested_fractions, split_last
from textassay.corpus.text_form import TextForm
from textassay.corpus.vocabulary import SPECIAL_TOKENS
from textassay.corpus.windows import cut_windows
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.generator.base import LanguageModel, check_train
from textassay.generator.text_likelihood import text_likelihood
from textassay.model_store.catalog import PRESETS, make_generator
from textassay.model_store.context_presets import CONTEXT_PRESETS
from textassay.model_store.saved import save_model
from textassay.monitoring.loop import loop_monitors
from textassay.monitoring.monitor import TextMonitor
from textassay.network.batch_size import fit_in_memory, fitting_batch_size
from textassay.network.network import NetworkLanguageModel
from textassay.report.training import TrainedText, Training, draw_training
from textassay.report.whole_files import write_whole
from textassay.training.processes import is_main

__all__ = ["TrainOptions", "TrainingTexts", "check_options", "read_training", "run_train", "settings_of"]

_NEVER_DRAWN = 2  # <pad> and <sos>
_CUT = 200  # tokens after which samples are cut where --max-tokens says nothing and no sentence is longer
_VALIDATE = "validate with text that is not trained on"
_HELD_OUT = 10  # without --valid, one sentence in so many
_NOT_SETTINGS = ("out", "workers", "device", "monitor", "monitor_steps", "monitor_sentences", "quiet", "json", "column")


@dataclass(frozen=True)
class TrainOptions:
    """What the command line asked for; the fields are the options of ``textassay train``.

    `settings` are those of the model and of its training, by the names that `make_generator` gives them. `window` cuts
    running text into sentences of so many tokens; none reads one sentence a line.
    """

    model: str
    real: str
    out: Path
    valid: str | None = None
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    auto_batch: bool = False
    tokenizer: str = "auto"
    byte_pairs: int | None = None
    lowercase: bool = False
    vocabulary_size: int | None = None
    min_count: int = 1
    like: str | None = None
    max_tokens: int | None = None
    window: int | None = None
    fraction: float = 1.0
    seed: int = 0
    monitor: str | None = None
    monitor_steps: int | None = None
    monitor_sentences: int = 1000
    contexts: str | None = None
    valid_contexts: str | None = None
    context_count: int | None = None
    column: str | None = None
    workers: int | None = None
    device: str = "auto"
    quiet: bool = False
    json: bool = False


@dataclass(frozen=True)
class TrainingTexts:
    """Sentences to train on and to validate with, in the form of the model; `longest`: tokens it must take."""

    form: TextForm
    train: Corpus
    valid: Corpus
    train_told: TrainedText
    valid_told: TrainedText
    longest: int
    attributes: Attributes | None = None  # of contexts


def run_train(options: TrainOptions) -> int:
    """Train, write the model, print what came out, and return 0.

    Of several processes that a launcher started, only the main one prints and writes the model.
    """
    _check(options)
    if not is_main():
        options = replace(options, quiet=True)
    with workers(default_workers() if options.workers is None else options.workers), device(options.device):
        texts = read_training(options)
        settings = settings_of(options, texts)
        training = finished(options.out, settings, Training.from_json)
        if training is None:
            training = _train(options, texts, settings)
        elif not options.quiet:
            print_line(f"{options.out} holds this model, trained to the end: nothing was changed")
    if not is_main():
        return 0
    print_training(training, options.out, as_json=options.json)
    return 0


def _check(options: TrainOptions) -> None:
    """Raise for whatever can be seen to be wrong before anything is read."""
    if options.model not in {**PRESETS, **CONTEXT_PRESETS}:
        raise unknown_name("model", options.model, (*PRESETS, *CONTEXT_PRESETS, *ADVERSARIAL, "translation"))
    check_options(options)
    if options.model in CONTEXT_PRESETS:
        check_contexts(options.model, options.contexts, options.valid, options.valid_contexts, options.window)
    model = _new_model(options, {})
    if options.auto_batch and not isinstance(model, NetworkLanguageModel):
        raise OptionError(f"{options.model} is counted in one go: it has no --auto-batch")
    trains_in_steps = isinstance(model, NetworkLanguageModel)
    check_monitor(options.model, options.monitor, steps=options.monitor_steps, trains_in_steps=trains_in_steps)


def check_options(options: TrainOptions) -> None:
    """Raise for what is wrong with any option but the model's own, before anything is read."""
    least = {
        "--seed": (options.seed, 0),
        "--max-tokens": (options.max_tokens, 1),
        "--window": (options.window, 1),
        "--byte-pairs": (options.byte_pairs, 1),
        "--vocabulary-size": (options.vocabulary_size, 1),
        "--min-count": (options.min_count, 1),
        "--monitor-steps": (options.monitor_steps, 1),
        "--monitor-sentences": (options.monitor_sentences, 1),
        "--context-count": (options.context_count, 1),
    }
    for name, (value, smallest) in least.items():
        check_range(name, value, smallest)
    check_range("--workers", options.workers, 1, MAX_WORKERS)
    if not 0 < options.fraction <= 1:
        raise OptionError(f"--fraction must be above 0 and at most 1, got {options.fraction:g}")
    if options.window is not None and options.max_tokens is not None:
        raise OptionError("all windows have --window T tokens: leave --max-tokens out")
    if options.byte_pairs is not None and options.tokenizer != "auto":
        raise OptionError(f"--byte-pairs and --tokenizer {options.tokenizer} cannot go together: leave one of them out")
    if options.byte_pairs is not None and (options.vocabulary_size is not None or options.min_count != 1):
        raise OptionError("--byte-pairs N learns N tokens: leave --vocabulary-size and --min-count out")
    told = (options.byte_pairs, options.vocabulary_size, options.tokenizer, options.lowercase, options.min_count)
    if options.like is not None and told != (None, None, "auto", False, 1):
        raise OptionError("--like MODEL brings tokenizer and vocabulary: leave options of these out")
    check_device(options.device)
    if options.valid is not None:
        check_sources(options.real, {"--valid": options.valid}, {"--valid": _VALIDATE})
    check_writable(options.out)


def read_training(options: TrainOptions) -> TrainingTexts:
    """Return the texts that training needs; say what was held out or left out."""
    real = _texts(options, options.real)
    if options.valid is None and options.window is not None:
        train_part, valid_part = split_characters(real[0], (1 - 1 / _HELD_OUT, 1 / _HELD_OUT))
        train_texts, valid_texts = [train_part], [valid_part]
        valid_source = f"the last {len(valid_part)} characters of {options.real}"
        _say(options, f"no --valid: {valid_source}, a tenth, are held out and not trained on")
    elif options.valid is None:
        if len(real) == 1:
            raise TooFewSentencesError(f"{options.real} has one line: to train on it as running text, add --window T")
        kept, held_out = split_last(len(real), math.ceil(len(real) / _HELD_OUT))
        train_texts = [real[index] for index in kept.tolist()]
        valid_texts = [real[index] for index in held_out.tolist()]
        valid_source = f"the last {len(valid_texts)} of {options.real}"
        _say(options, f"no --valid: {valid_source}, a tenth, are held out and not trained on")
    else:
        train_texts, valid_texts = real, _texts(options, options.valid)
        valid_source = options.valid
        if train_texts == valid_texts:
            raise InputError(f"{options.valid} holds the same sentences as {options.real}: {_VALIDATE}")
    with running_text(options.window is not None):
        form = _form(options, train_texts)
    if len(form.vocabulary) == len(SPECIAL_TOKENS):
        raise EmptyCorpusError(
            f"no word is left of {options.real}: none stands --min-count {options.min_count} times; lower it"
        )
    with running_text(options.window is not None):
        all_train, all_valid = (_cut(options, form.corpus(texts)) for texts in (train_texts, valid_texts))
    attributes = None
    if options.contexts is not None:
        all_train, all_valid, attributes = trained_contexts(
            all_train, all_valid, options.contexts, options.valid_contexts, min_count=options.context_count or 1
        )
    first = nested_fractions(len(all_train), [options.fraction])[0]
    source = options.real if options.fraction == 1 else f"the first {len(first)} of {len(all_train)}, {options.real}"
    train, train_told = _fitting(options, all_train.take(first), source)
    valid, valid_told = _fitting(options, all_valid, valid_source)
    if len(train) < 2:
        needed = "sentences, one a line" if options.window is None else f"windows of {options.window} tokens"
        remedy = "break its lines, or add --window T" if options.window is None else "ask for shorter ones"
        raise TooFewSentencesError(
            f"training needs at least 2 {needed}, {source} has {len(train)}: give more text, {remedy}"
        )
    check_train(train, generator=options.model)
    check_train(valid, generator=options.model, what="validation")
    for line in [] if attributes is None else contexts_told(train, valid, attributes):
        _say(options, line)
    longest = options.max_tokens or int(max(all_train.lengths.max(), valid.lengths.max()))
    return TrainingTexts(form, train, valid, train_told, valid_told, longest, attributes)


def _form(options: TrainOptions, texts: list[str]) -> TextForm:
    """Return the form of the model of `--like`, or what is learnt from `texts`."""
    if options.like is not None:
        form = open_generator(options.like).form
        form.to_dict()  # raises where it could not be kept with the model
        return form
    return TextForm.learn(
        texts,
        tokenizer=options.tokenizer if options.byte_pairs is None else f"bpe-{options.byte_pairs}",
        lowercase=options.lowercase,
        max_size=options.vocabulary_size,
        min_count=options.min_count,
    )


def _texts(options: TrainOptions, source: str) -> list[str]:
    """Return the sentences of a file; running text is one."""
    if options.window is not None:
        return [read_running(source, column=options.column)]
    texts = list(read_texts(source, column=options.column).texts)
    if not any(text and not text.isspace() for text in texts):
        raise EmptyCorpusError(f"{source} is empty: all of its {len(texts)} lines are blank")
    return texts


def _cut(options: TrainOptions, corpus: Corpus) -> Corpus:
    return corpus if options.window is None else cut_windows(corpus, options.window)


def _fitting(options: TrainOptions, corpus: Corpus, source: str) -> tuple[Corpus, TrainedText]:
    """Return the sentences that are not too long, and say how many are, and how many are blank."""
    n_long = 0
    if options.max_tokens is not None:
        fits = corpus.lengths <= options.max_tokens
        n_long = int((~fits).sum())
        if n_long == len(corpus):
            raise EmptyCorpusError(
                f"no sentence is left of {source}: all {n_long} have more than --max-tokens {options.max_tokens} tokens"
            )
        corpus = corpus.take(np.flatnonzero(fits))
    if n_long:
        _say(options, f"{n_long} sentences of {source} have more than {options.max_tokens} tokens and are left out")
    n_blank = int((corpus.lengths == 0).sum())
    if n_blank:
        _say(options, f"warning: {n_blank} lines of {source} are blank and count as sentences without words")
    unknown = corpus.unk_rate if len(corpus.tokens) else 0.0
    return corpus, TrainedText(source, len(corpus), len(corpus.tokens), n_long, unknown)


def settings_of(options: TrainOptions, texts: TrainingTexts) -> dict[str, Any]:
    """Return everything that decides what is trained, as it reads back from JSON."""
    asked = {name.replace("_", "-"): value for name, value in asdict(options).items() if name not in _NOT_SETTINGS}
    asked |= {"real": texts.train.fingerprint, "valid": texts.valid.fingerprint, "vocabulary": texts.form.hash}
    if texts.attributes is not None:
        hashes = [contexts_hash(corpus, texts.attributes) for corpus in (texts.train, texts.valid)]
        asked |= {"contexts": hashes[0], "valid-contexts": hashes[1]}
    flat = {**asked.pop("settings"), **asked}
    found: dict[str, Any] = json.loads(json.dumps({name.replace("_", "-"): value for name, value in flat.items()}))
    return found


def _new_model(options: TrainOptions, lengths: Mapping[str, Any]) -> LanguageModel:
    """Return a model that has learnt nothing; the name of a setting it does not have is answered as an option's."""
    known = {**options.settings, **lengths}
    try:
        return make_generator(options.model, preset=options.preset, seed=options.seed, **known)
    except OptionError as error:
        asked = next((name for name in known if f"'{name}'" in str(error)), None)
        if asked is None or "unknown setting" not in str(error):
            raise
        raise OptionError(
            f"{options.model} has no --{asked.replace('_', '-').replace('max-epochs', 'epochs')}"
        ) from None


def _lengths(options: TrainOptions, longest: int) -> dict[str, int]:
    """Return what the model is told of lengths: no sample is longer than ``--max-tokens``, every sentence fits.

    An LSTM learns no end of windows; for other models it is a token as the end of a sentence is.
    """
    if options.model in ("lstm", "scheduled-sampling") and options.window is not None:
        return {"length": options.window, "max_length": options.window}
    if options.model == "gpt2":
        return {"positions": longest + 1}
    if options.model in ("lstm", "ngram", "scheduled-sampling", "transformer-xl", *CONTEXT_PRESETS):
        return {"max_length": longest if options.max_tokens is not None else max(longest, _CUT)}
    return {}


def _train(options: TrainOptions, texts: TrainingTexts, settings: Mapping[str, Any]) -> Training:
    """Train, write all files, the model last, and return what is reported."""
    told: dict[str, Any] = {} if texts.attributes is None else {"attributes": texts.attributes}
    told |= _lengths(options, texts.longest)
    model = _new_model(options, told)
    out = options.out
    resumes = (out / CHECKPOINT).exists()
    found: dict[str, int] = {}
    if options.auto_batch and isinstance(model, NetworkLanguageModel):
        before = parse_json(read_document(out / SETTINGS)) if resumes else {}
        found[FOUND] = fitting_batch_size(model, texts.train, found=before.get(FOUND))
        _say(options, f"--auto-batch: batches of {found[FOUND]} sentences")
        model = _new_model(options, {**told, "batch_size": found[FOUND]})
    monitor = None
    if options.monitor is not None:
        drawn = {"n": options.monitor_sentences, "seed": options.seed}
        monitor = new_monitor(texts.valid, options.monitor, **drawn, folder=out, quiet=options.quiet)
    with begun(out, {SETTINGS: json.dumps({**settings, **found}, indent=1)}):
        _say(options, f"{'going on with' if resumes else 'training'} {model.name} on {texts.train_told}")
        if isinstance(model, NetworkLanguageModel):
            outcome = _fit_network(options, texts, model, monitor)
        else:
            model.fit(texts.train, texts.valid)
            outcome = {"valid_nll_per_token": text_likelihood(model, texts.valid).nll_per_token.value}
    training = Training(
        model=model.name,
        n_parameters=getattr(model, "n_parameters", None),
        tokenizer=texts.form.tokenizer.name,
        n_types=len(texts.form.vocabulary),
        train=texts.train_told,
        valid=texts.valid_told,
        ends=getattr(model, "draws_ends", True),
        **outcome,
    )
    if not is_main():
        return training
    n_choices = len(texts.form.vocabulary) - _NEVER_DRAWN
    if training.valid_nll_per_token > math.log(n_choices):
        _say(
            options,
            f"warning: the model is worse than guessing: any of {n_choices} tokens at random has the lower perplexity; "
            "train it longer, or with another --learning-rate",
        )
    drawing = draw_training(training)
    figures = {} if drawing is None else {drawing.file_name: drawing.svg}
    figures |= {} if monitor is None else monitor_figures(monitor, training.readings)
    written = write_whole(out, {HISTORY: json.dumps(training.to_dict(), indent=1, allow_nan=False), **figures})
    save_model(model, out, form=texts.form)
    (out / CHECKPOINT).unlink(missing_ok=True)
    _say(options, f"the model is in {out}, with {', '.join(path.name for path in written)}")
    return training


def _fit_network(
    options: TrainOptions, texts: TrainingTexts, model: NetworkLanguageModel, monitor: TextMonitor | None
) -> dict[str, Any]:
    """Train a network and return what `Training` holds of it."""
    monitors = None if monitor is None else loop_monitors(monitor, lambda n, seed: model.sample(n, seed=seed))
    with show_progress(quiet=options.quiet) as progress:
        fit_in_memory(
            model,
            texts.train,
            texts.valid,
            checkpoint=options.out / CHECKPOINT,
            monitors=monitors,
            monitor_steps=options.monitor_steps,
            progress=None if progress is None else partial(tell_step, progress, model.recipe.max_epochs),
        )
    history = model.history
    return {
        "valid_nll_per_token": -history.best.score,
        "computed": {
            "device": str(model.record["device"]),
            "precision": history.precision,
            "threads": str(model.record["threads"]),
        },
        "epochs": history.epochs,
        "readings": history.readings,
        "monitored": None if monitor is None else monitored(monitor),
    }


def _say(options: TrainOptions, line: str) -> None:
    if not options.quiet:
        print_line(line)
