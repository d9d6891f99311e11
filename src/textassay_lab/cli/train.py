"""``textassay train MODEL``: reads texts, trains in a folder, goes on there where it stopped, and prints what came out.

A command is put together from the class that declares the model (see `textassay_lab.generator.text_generator`), whose
settings become its options, and the classes here that it names in `command_options`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, make_dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_origin, get_type_hints

from textassay.addresses import place_of
from textassay.cli.adapter import Between, Command, option
from textassay.cli.declarations import TEXTS, Computing, Files, Json, Lowercase, Seed, Tokenizer
from textassay.cli.messages import print_line
from textassay.cli.options import STANDARD_INPUT, check_sources, check_writable
from textassay.cli.results import file_names, print_result
from textassay.corpus.source import check_exists, is_url
from textassay.errors import EmptyCorpusError, OptionError, OutputError, TooFewSentencesError
from textassay.fields import Above, Field
from textassay_lab.generator.catalog import class_of
from textassay_lab.generator.text_generator import TextGenerator

if TYPE_CHECKING:
    from textassay.corpus.corpus import Corpus
    from textassay.corpus.text_file import TextFile
    from textassay.corpus.text_form import TextForm
    from textassay.report.document import Document, Figure
    from textassay_lab.adversarial.document import AdversarialTraining
    from textassay_lab.generator.contexts import Attributes
    from textassay_lab.generator.document import TrainedText
    from textassay_lab.generator.parallel import ParallelText
    from textassay_lab.monitoring.monitor import TextMonitor
    from textassay_lab.training.history import Step

MODEL, TRAINING, ROUNDS, MONITORING, CONTEXTS, PAIRS = (
    *("Model", "Training", "Adversarial training", "Monitoring", "Contexts", "Pairs"),
)
MLE = "mle"  # folder in the folder: the generator before the rounds
HELD_BACK = ("held-back-source.jsonl", "held-back-real.jsonl")  # in the folder of a translation model

_NEVER_DRAWN = 2  # <pad> and <sos>
_CUT = 200  # tokens after which samples are cut where --max-tokens says nothing and no sentence is longer
_VALIDATE = "give validation text that is not in the training text"
_READINGS = 5  # of the monitors over the rounds, where --monitor-steps says nothing
_NOT_RECORDED = {
    *("out", "workers", "device", "monitor", "monitor_steps", "monitor_sentences", "quiet", "json", "column"),
    *("max_input", "max_text", "config"),
}


class TrainingTexts(NamedTuple):
    """What to train on and to validate with, in the form of the model; `longest`: tokens it must take."""

    form: "TextForm"
    train: Any  # a corpus, or pairs
    valid: Any
    train_facts: "TrainedText"
    valid_facts: "TrainedText"
    longest: int = 0
    attributes: "Attributes | None" = None  # of contexts
    held: Sequence[Sequence[str]] = ()  # sources and translations of pairs that are held back


class Fitted(NamedTuple):
    """A fitted model, what `Training` holds of it, its monitor, and what other files are in the folder."""

    model: Any
    outcome: Mapping[str, Any]
    monitor: "TextMonitor | None" = None
    files: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Train(Files, Computing):
    """What every model is trained with."""

    declared: ClassVar[type[TextGenerator]]
    settings: ClassVar[Mapping[str, Field]]  # by the name of the option, those that are settings of the model

    real: Annotated[str, option("Text to train on; '-' is standard input.", "FILE")]
    out: Annotated[Path, option("Folder of the model; the same command resumes an interrupted training.", "DIR")]
    valid: Annotated[
        str | None, option("Validation text, which selects the epoch; a tenth of --real by default.", "FILE")
    ] = None
    preset: Annotated[str | None, option("Sizes and recipe to start from.", "NAME")] = None
    lowercase: Lowercase = False
    byte_pairs: Annotated[
        int | None, option("Learn N byte pairs from --real instead of a tokenizer's words.", "N", TEXTS), Between(1)
    ] = None
    like: Annotated[
        str | None, option("Use tokenizer and vocabulary of a model, such as an oracle.", "MODEL", TEXTS)
    ] = None
    seed: Seed = 0
    json: Json = False

    def run(self) -> int:
        """Train, write the model, print what came out, and return 0."""
        self.check()

        from textassay_lab.cli.trained_folder import finished

        with self.computing():
            texts = self.read()
            record = json.loads(json.dumps(self.record(texts)))
            spelt = {each.name: name.replace("_", "-") for name, each in self.settings.items()}
            training = finished(self.out, record, self.load, options=spelt)
            if training is None:
                training = self.train(texts, record)
            else:
                self.print_status(f"{self.out} contains this model, fully trained: nothing was changed")
        values = {"folder": str(self.out), **training.to_dict()}
        print_result(self.document(training), values, as_json=self.json)
        return 0

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        raise NotImplementedError

    def read(self) -> TrainingTexts:
        """Return the texts; say what was held out or left out."""
        raise NotImplementedError

    def file(self, source: str) -> "TextFile":
        """Return the texts of a file, under the name that the command line gave."""
        from textassay.corpus.text_file import TextFile

        return TextFile(source, self.read_file(source).texts)

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Fitted:
        """Return the model, fitted in the folder, and what `Training` holds of it."""
        raise NotImplementedError

    @cached_property
    def generator(self) -> Any:
        """The generator with these settings; raise where one is out of range."""
        with self.as_options():
            return self.declared(preset=self.preset, seed=self.seed, like=self._like(), **self.more(), **self.given)

    def more(self) -> dict[str, Any]:
        """Return arguments of the generator besides the settings of the model."""
        return {"lowercase": self.lowercase}

    @property
    def given(self) -> dict[str, Any]:
        """The settings of the model that the command line gave."""
        values = {name: getattr(self, name) for name in self.settings}
        return {
            self.settings[name].name: _parsed(self.settings[name], value)
            for name, value in values.items()
            if value is not None
        }

    @contextmanager
    def as_options(self) -> Iterator[None]:
        """Let messages inside the ``with`` block name settings as the options that they are."""
        try:
            yield
        except OptionError as error:
            name, must, rest = str(error).partition(" must ")
            option = next((option for option, each in self.settings.items() if each.name == name), None)
            if must and option is not None:
                raise OptionError(f"--{option.replace('_', '-')}{must}{rest}") from None
            raise

    def _like(self) -> TextGenerator | None:
        from textassay_lab.cli.models import open_generator

        if self.like is None:
            return None
        model = open_generator(self.like)
        model.form.to_dict()  # raises where it could not be kept with the model
        return model

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        own = [each.name for each in fields(self) if each.name not in {*_NOT_RECORDED, *self.settings}]
        values = {**self.given, **{name: getattr(self, name) for name in own}}
        return {"model": self.declared.kind, **{name.replace("_", "-"): value for name, value in values.items()}}

    def load(self, text: str) -> Any:
        """Return what was trained before, from the text of its history."""
        from textassay_lab.generator.document import Training

        return Training.from_json(text)

    def train(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Any:
        """Train, write all files, the model last, and return what is reported."""
        from textassay_lab.cli.trained_folder import monitor_figures
        from textassay_lab.generator.document import Training

        fitted = self.fit(texts, record)
        training = Training(**self.facts(texts, fitted.model), **fitted.outcome)
        figures = [] if fitted.monitor is None else monitor_figures(fitted.monitor, training.readings)
        self.keep_model(training, fitted.model, texts.form, figures, fitted.files)
        return training

    def facts(self, texts: TrainingTexts, model: Any) -> dict[str, Any]:
        """Return what every report says of a model and its texts."""
        return {
            "model": model.name,
            "n_parameters": getattr(model, "n_parameters", None),
            "tokenizer": texts.form.tokenizer.name,
            "n_types": len(texts.form.vocabulary),
            "train": texts.train_facts,
            "valid": texts.valid_facts,
        }

    def keep_model(
        self, training: Any, model: Any, form: "TextForm", figures: "Sequence[Figure]", others: Sequence[str] = ()
    ) -> None:
        """Write the history, its report and the model, take checkpoints away, and name all files."""
        from textassay.report.files import document_files
        from textassay.storage import write_files
        from textassay_lab.cli.trained_folder import CHECKPOINT, CONFIG, HISTORY, ROUNDS_CHECKPOINT, SETTINGS
        from textassay_lab.generator.saved import save_model

        history = json.dumps(training.to_dict(), indent=1, allow_nan=False)
        files = {HISTORY: history, **document_files(self.document(training, figures), stem="training")}
        write_files(self.out, files)
        save_model(model, self.out, form=form)
        if not all((self.out / name).exists() for name in (SETTINGS, HISTORY)):
            (self.out / CONFIG).unlink(missing_ok=True)  # or the folder would count as finished
            raise OutputError(f"files of {self.out} were removed during the run: run the same command again")
        for name in (CHECKPOINT, ROUNDS_CHECKPOINT):
            (self.out / name).unlink(missing_ok=True)
        self.print_status(f"the model is in {self.out}, with {file_names([*files, *others])}")

    def document(self, training: Any, figures: "Sequence[Figure]" = ()) -> "Document":
        """Return what came out as a report; `figures` are those of monitors."""
        from textassay_lab.generator.document import training_document

        return training_document(training, figures)

    def print_status(self, line: str) -> None:
        """Print a line unless the command is to be quiet."""
        if not self.quiet:
            print_line(line)

    def fit_network(
        self, fit: Callable[..., Any], model: Any, texts: TrainingTexts, files: Mapping[str, str]
    ) -> dict[str, Any]:
        """Train `model`, beginning with `files` in the folder; return what `Training` holds of it.

        `fit` takes a checkpoint to go on from, and a function that is told of progress.
        """
        from textassay.cli.messages import show_progress
        from textassay_lab.cli.trained_folder import CHECKPOINT, begun

        resumes = (self.out / CHECKPOINT).exists()
        with begun(self.out, files):
            self.print_status(f"{'going on with' if resumes else 'training'} {model.name} on {texts.train_facts}")
            with show_progress(quiet=self.quiet) as progress:
                tell = None if progress is None else partial(_show_step, progress, model.recipe.max_epochs)
                fit(texts.train, texts.valid, checkpoint=self.out / CHECKPOINT, progress=tell)
        history = model.history
        computed = {
            "device": str(model.record["device"]),
            "precision": history.precision,
            "threads": str(model.record["threads"]),
        }
        return {"valid_nll_per_token": -history.best.score, "computed": computed, "epochs": history.epochs}


@dataclass(frozen=True, kw_only=True)
class Sentences(Train):
    """A model of sentences, such as one that is counted in one go."""

    tokenizer: Tokenizer = "auto"
    vocabulary_size: Annotated[
        int | None, option("Keep the N most frequent words; others become <unk>.", "N", TEXTS), Between(1)
    ] = None
    min_count: Annotated[int, option("Keep words that occur at least N times.", "N", TEXTS), Between(1)] = 1
    max_tokens: Annotated[
        int | None, option("Leave out longer sentences, and draw none that are longer.", "N", TEXTS), Between(1)
    ] = None
    fraction: Annotated[
        float,
        option("Train on the first share F of the sentences; the vocabulary is built from all.", "F", TEXTS),
        Above(0, 1),
    ] = 1.0

    @property
    def window_size(self) -> int | None:
        """Tokens of the windows that running text is cut into; None where a line is a sentence."""
        return None

    def check(self) -> None:
        if self.window_size is not None and self.max_tokens is not None:
            raise OptionError("all windows have --window T tokens: leave --max-tokens out")
        if self.byte_pairs is not None and self.tokenizer != "auto":
            raise OptionError(
                f"--byte-pairs and --tokenizer {self.tokenizer} cannot be combined: leave one of them out"
            )
        if self.byte_pairs is not None and (self.vocabulary_size is not None or self.min_count != 1):
            raise OptionError("--byte-pairs N sets the vocabulary: leave --vocabulary-size and --min-count out")
        form = (self.byte_pairs, self.vocabulary_size, self.tokenizer, self.lowercase, self.min_count)
        if self.like is not None and form != (None, None, "auto", False, 1):
            raise OptionError("--like MODEL sets tokenizer and vocabulary: leave their options out")
        check_sources(self.real, {} if self.valid is None else {"--valid": self.valid}, {"--valid": _VALIDATE})
        check_writable(self.out)
        self.generator  # noqa: B018  (raises for settings that cannot be)

    def more(self) -> dict[str, Any]:
        return {
            **super().more(),
            "tokenizer": self.tokenizer if self.byte_pairs is None else f"bpe-{self.byte_pairs}",
            "vocabulary_size": self.vocabulary_size,
            "min_count": self.min_count,
            "window": self.window_size,
        }

    def read(self) -> TrainingTexts:
        from textassay.corpus.encoding import SPECIAL_TOKENS
        from textassay.corpus.limits import running_text
        from textassay.corpus.split import nested_fractions
        from textassay.ngram.language_model import check_train

        window = self.window_size
        with running_text(window is not None):
            real, valid_file = self.file(self.real), None if self.valid is None else self.file(self.valid)
            sides = self.generator.training_sides(real, valid_file)
            valid_source = sides[1].name
            if self.valid is None:
                self.print_status(f"no --valid: {valid_source}, a tenth, are held out for validation")
            form, all_train, all_valid = self.generator.corpora(*sides)
        if len(form.vocabulary) == len(SPECIAL_TOKENS):
            raise EmptyCorpusError(
                f"no word remains of {self.real}: none occurs --min-count {self.min_count} times; lower it"
            )
        all_train, all_valid, attributes = self.with_contexts(all_train, all_valid)
        first = nested_fractions(len(all_train), [self.fraction])[0]
        source = self.real if self.fraction == 1 else f"the first {len(first):,} of {len(all_train):,}, {self.real}"
        train, train_facts = self._fitting(all_train.take(first), source)
        valid, valid_facts = self._fitting(all_valid, valid_source)
        if len(train) < 2:
            needed = "sentences, one per line" if window is None else f"windows of {window} tokens"
            remedy = "break its lines, or add --window T" if window is None else "ask for shorter ones"
            raise TooFewSentencesError(
                f"training needs at least 2 {needed}, {source} has {len(train)}: give more text, {remedy}"
            )
        check_train(train, generator=self.declared.kind)
        check_train(valid, generator=self.declared.kind, what="validation")
        longest = self.max_tokens or int(max(all_train.lengths.max(), valid.lengths.max()))
        return TrainingTexts(form, train, valid, train_facts, valid_facts, longest, attributes)

    def with_contexts(self, train: "Corpus", valid: "Corpus") -> "tuple[Corpus, Corpus, Attributes | None]":
        """Return both corpora, with contexts where the model answers to some, and their attributes."""
        return train, valid, None

    def _fitting(self, corpus: "Corpus", source: str) -> "tuple[Corpus, TrainedText]":
        """Return the sentences that are not too long, and say how many are, and how many are blank."""
        import numpy as np

        from textassay_lab.generator.document import TrainedText

        n_long = 0
        if self.max_tokens is not None:
            fits = corpus.lengths <= self.max_tokens
            n_long = int((~fits).sum())
            if n_long == len(corpus):
                raise EmptyCorpusError(
                    f"no sentence remains of {source}: all {n_long} have more than --max-tokens {self.max_tokens} "
                    "tokens"
                )
            corpus = corpus.take(np.flatnonzero(fits))
        if n_long:
            self.print_status(
                f"{n_long:,} sentences of {source} have more than {self.max_tokens} tokens, and are left out"
            )
        n_blank = int((corpus.lengths == 0).sum())
        if n_blank:
            self.print_status(f"warning: {n_blank:,} lines of {source} are blank, and count as empty sentences")
        unknown = corpus.unk_rate if len(corpus.tokens) else 0.0
        return corpus, TrainedText(source, len(corpus), len(corpus.tokens), n_long, unknown)

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        hashes = {"real": texts.train.fingerprint, "valid": texts.valid.fingerprint, "vocabulary": texts.form.hash}
        return {**super().record(texts), **hashes}

    def new_model(self, texts: TrainingTexts) -> Any:
        """Return a model that has learnt nothing; no sample is longer than ``--max-tokens``, every sentence fits."""
        attributes = {} if texts.attributes is None else {"attributes": texts.attributes}
        most = texts.longest if self.max_tokens is not None else max(texts.longest, _CUT)
        with self.as_options():
            return self.generator.new_model({**attributes, **self.generator.lengths(texts.longest, most)})

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Fitted:
        from textassay_lab.cli.trained_folder import SETTINGS, begun
        from textassay_lab.generator.text_likelihood import text_likelihood

        model = self.new_model(texts)
        with begun(self.out, {SETTINGS: json.dumps(record, indent=1)}):
            self.print_status(f"training {model.name} on {texts.train_facts}")
            model.fit(texts.train, texts.valid)
            nll = text_likelihood(model, texts.valid).nll_per_token.value
        return self.fitted(model, texts, {"valid_nll_per_token": nll})

    def fitted(
        self,
        model: Any,
        texts: TrainingTexts,
        outcome: Mapping[str, Any],
        monitor: "TextMonitor | None" = None,
    ) -> Fitted:
        """Return what was fitted; warn where guessing is better."""
        n_choices = len(texts.form.vocabulary) - _NEVER_DRAWN
        if outcome["valid_nll_per_token"] > math.log(n_choices):
            self.print_status(
                f"warning: the model is worse than guessing: a uniform guess among {n_choices:,} tokens has a lower "
                "perplexity. Train longer, or with another --learning-rate"
            )
        return Fitted(model, {**outcome, "ends": getattr(model, "draws_ends", True)}, monitor)


@dataclass(frozen=True, kw_only=True)
class Windows(Sentences):
    """A model of sentences or of running text."""

    window: Annotated[
        int | None,
        option("Read files as running text, in windows of T tokens; otherwise line by line.", "T", TEXTS),
        Between(1),
    ] = None

    @property
    def window_size(self) -> int | None:
        return self.window


@dataclass(frozen=True, kw_only=True)
class Monitors(Sentences):
    """A model that is watched while it trains, by metrics of what it draws."""

    monitor: Annotated[
        str | None, option("Metrics to follow, such as 'dd,self-bleu(order=4),lm-score'.", "LIST", MONITORING)
    ] = None
    monitor_steps: Annotated[
        int | None, option("Also read every K steps, not only after each epoch.", "K", MONITORING), Between(1)
    ] = None
    monitor_sentences: Annotated[int, option("Sentences drawn at each reading.", "N", MONITORING), Between(1)] = 1000

    def check(self) -> None:
        if self.monitor is not None:
            from textassay_lab.monitoring.monitor import monitored_metrics

            monitored_metrics(self.monitor)
        elif self.monitor_steps is not None:
            raise OptionError("--monitor-steps needs --monitor LIST: add it, or leave --monitor-steps out")
        super().check()

    def new_monitor(self, valid: "Corpus") -> "TextMonitor | None":
        """Return the monitor that was asked for, whose readings are kept in the folder."""
        from textassay_lab.cli.trained_folder import MONITOR
        from textassay_lab.monitoring.monitor import TextMonitor

        if self.monitor is None:
            return None
        n = self.monitor_sentences
        monitor = TextMonitor(valid, metrics=self.monitor, n=n, seed=self.seed, keep=self.out / MONITOR)
        if monitor.floor is None:
            drawn = (
                "" if monitor.n_real == n else f"{n:,} sentences are drawn and measured against {monitor.n_real:,}; "
            )
            self.print_status(
                f"--monitor: {drawn}what real text scores is not told, which takes {2 * n} validation sentences, "
                f"there are {len(valid)}"
            )
        return monitor


@dataclass(frozen=True, kw_only=True)
class Networks(Monitors):
    """A network that learns by maximum likelihood alone."""

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Fitted:
        from textassay_lab.cli.trained_folder import SETTINGS, monitored
        from textassay_lab.monitoring.monitor import loop_monitors

        model = self.new_model(texts)
        monitor = self.new_monitor(texts.valid)
        monitors = None if monitor is None else loop_monitors(monitor, lambda n, seed: model.sample(n, seed=seed))
        fit = partial(model.fit, monitors=monitors, monitor_steps=self.monitor_steps)
        outcome = self.fit_network(fit, model, texts, {SETTINGS: json.dumps(record, indent=1)})
        sizes = None if monitor is None else monitored(monitor)
        return self.fitted(model, texts, {**outcome, "readings": model.history.readings, "monitored": sizes}, monitor)


@dataclass(frozen=True, kw_only=True)
class Contexts(Networks):
    """A network that answers to contexts."""

    contexts: Annotated[
        str, option("Context of each line of --real: a .tsv or .csv table with a header.", "FILE", CONTEXTS)
    ]
    valid_contexts: Annotated[str | None, option("Contexts of --valid, in the same form.", "FILE", CONTEXTS)] = None
    context_count: Annotated[
        int | None, option("Merge contexts that occur less often into one.", "N", CONTEXTS), Between(1)
    ] = None

    def check(self) -> None:
        if (self.valid is None) != (self.valid_contexts is None):
            raise OptionError(
                "--valid and --valid-contexts are needed together: give both, or neither for a tenth of --real"
            )
        super().check()

    def with_contexts(self, train: "Corpus", valid: "Corpus") -> "tuple[Corpus, Corpus, Attributes | None]":
        from textassay_lab.cli.model_contexts import contexts_of
        from textassay_lab.generator.contexts import trained_contexts

        rows = contexts_of(self.contexts, len(train) + (len(valid) if self.valid_contexts is None else 0))
        valid_rows = None if self.valid_contexts is None else contexts_of(self.valid_contexts, len(valid))
        return trained_contexts(train, valid, rows, valid_rows, min_count=self.context_count or 1)

    def read(self) -> TrainingTexts:
        from textassay_lab.cli.model_contexts import context_lines

        texts = super().read()
        for line in context_lines(texts.train, texts.valid, texts.attributes or {}):
            self.print_status(line)
        return texts

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        from textassay_lab.cli.model_contexts import contexts_hash

        hashes = [contexts_hash(corpus, texts.attributes or {}) for corpus in (texts.train, texts.valid)]
        return {**super().record(texts), "contexts": hashes[0], "valid-contexts": hashes[1]}


@dataclass(frozen=True, kw_only=True)
class Rounds(Monitors, Windows):
    """A generator that learns against a discriminator."""

    keep: Annotated[str, option("Round to keep: last, or best on validation text.", "WHICH", ROUNDS)] = "last"
    length: Annotated[int | None, option("All sentences have N tokens, and never end.", "N", ROUNDS), Between(1)] = None

    @property
    def sentence_length(self) -> int | None:
        """Tokens of every sentence; None where they end."""
        return self.length if self.window is None else self.window

    def more(self) -> dict[str, Any]:
        return {**super().more(), "length": self.sentence_length, "keep": self.keep}

    def check(self) -> None:
        from textassay_lab.training.backend import require_neural

        require_neural(f"the {self.declared.kind} generator")
        if self.window is not None and self.length is not None:
            raise OptionError("--window T sets the length of sentences: leave --length out")
        if self.keep not in ("last", "best"):
            raise OptionError(f"--keep must be last or best, got '{self.keep}'")
        super().check()

    def read(self) -> TrainingTexts:
        texts = super().read()
        self.generator.check_lengths(texts.train, texts.train_facts.source)
        self.generator.check_lengths(texts.valid, texts.valid_facts.source)
        return texts

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        network, recipe = self.generator.plan
        learnt = {"recipe": asdict(network["recipe"])} if "recipe" in network else {}
        spelt = {each.name.replace("_", "-") for each in self.settings.values()}  # all are in `network` and `rounds`
        shared = {name: value for name, value in super().record(texts).items() if name not in spelt}
        return {**shared, "length": self.sentence_length, "network": {**network, **learnt}, "rounds": asdict(recipe)}

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return what else the training is made of."""
        return {}

    def load(self, text: str) -> "AdversarialTraining":
        from textassay_lab.adversarial.document import AdversarialTraining

        return AdversarialTraining.from_json(text)

    def document(self, training: "AdversarialTraining", figures: "Sequence[Figure]" = ()) -> "Document":
        from textassay_lab.adversarial.document import adversarial_training_document

        return adversarial_training_document(training, figures)

    def train(self, texts: TrainingTexts, record: Mapping[str, Any]) -> "AdversarialTraining":
        from textassay.cli.messages import show_progress
        from textassay_lab.adversarial.document import AdversarialTraining
        from textassay_lab.cli.trained_folder import (
            CHECKPOINT,
            ROUNDS_CHECKPOINT,
            SETTINGS,
            begun,
            monitor_figures,
            monitored,
        )
        from textassay_lab.generator.saved import save_model
        from textassay_lab.monitoring.monitor import loop_monitors
        from textassay_lab.training.backend import training_device

        generator, out = self.generator, self.out
        resumes = (out / CHECKPOINT).exists() or (out / ROUNDS_CHECKPOINT).exists()
        monitor = self.new_monitor(texts.valid)
        with begun(out, {SETTINGS: json.dumps(record, indent=1)}):
            self.print_status(
                f"{'going on with' if resumes else 'training'} {self.declared.kind} on {texts.train_facts}"
            )
            note = generator.note(texts.train)
            if note is not None:
                self.print_status(note)
            with show_progress(quiet=self.quiet) as progress:
                model = generator.unfitted_model(texts.longest)
                if generator.begins_with_likelihood:
                    tell = None if progress is None else partial(_show_step, progress, model.recipe.max_epochs)
                    model.fit(texts.train, texts.valid, checkpoint=out / CHECKPOINT, progress=tell)
                    save_model(model, out / MLE, form=texts.form)
                how = {"seed": self.seed, **self.more_of_rounds(texts)}
                rounds = generator.begin(model, generator.plan[1], texts.train, texts.valid, **how)
                draw = lambda n, seed: rounds.sample(n, seed=seed)  # noqa: E731
                history = rounds.run(
                    keep=self.keep,
                    checkpoint=out / ROUNDS_CHECKPOINT,
                    config=record,
                    monitors=None if monitor is None else loop_monitors(monitor, draw),
                    monitor_every=self.monitor_steps or max(1, rounds.phases[-1].n_rounds // _READINGS),
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
            self.print_status(f"warning: training ended before all rounds: {history.stopped}")
        self.keep_model(training, model, texts.form, figures)
        return training


@dataclass(frozen=True, kw_only=True)
class Oracle(Rounds):
    """A generator that an oracle can evaluate."""

    oracle: Annotated[str | None, option("Model that drew --real, such as random-lstm.", "MODEL", ROUNDS)] = None

    @property
    def sentence_length(self) -> int | None:
        from textassay_lab.generator.random_lstm import RandomLstm

        oracle = self._opened
        return oracle.length if isinstance(oracle, RandomLstm) else super().sentence_length

    @cached_property
    def _opened(self) -> Any:
        from textassay_lab.cli.models import open_model

        return None if self.oracle is None else open_model(self.oracle).model

    def check(self) -> None:
        if self.oracle is not None:
            if self.like != self.oracle or (self.length, self.window) != (None, None):
                raise OptionError("--oracle MODEL sets vocabulary and length: leave --like and --length out")
            if self.oracle.split(":")[0] != "random-lstm":
                raise OptionError(f"--oracle must be random-lstm or random-lstm:SEED, got '{self.oracle}'")
        super().check()

    def run(self) -> int:
        """Train; an oracle brings tokenizer and vocabulary."""
        if self.oracle is not None and self.like is None:
            return replace(self, like=self.oracle).run()
        return super().run()

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        return {"oracle": self._opened, "oracle_name": self.oracle}


@dataclass(frozen=True, kw_only=True)
class Vectors(Oracle):
    """A generator that may be given word vectors."""

    vectors: Annotated[Path | None, option("Word vectors, such as GloVe's.", "FILE", MODEL)] = None

    @property
    def given(self) -> dict[str, Any]:
        from textassay_lab.adversarial.word_vectors import word_vector_size

        fixed = {} if self.vectors is None else {"fixed_width": word_vector_size(self.vectors)}
        return {**super().given, **fixed}

    def read(self) -> TrainingTexts:
        texts = super().read()
        self._read_vectors(texts)
        return texts

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        if self.vectors is None:
            return super().record(texts)
        with self.vectors.open("rb") as file:
            return {**super().record(texts), "vectors": hashlib.file_digest(file, "sha256").hexdigest()}

    def more_of_rounds(self, texts: TrainingTexts) -> dict[str, Any]:
        return {**super().more_of_rounds(texts), **self._read_vectors(texts)}

    def _read_vectors(self, texts: TrainingTexts) -> dict[str, Any]:
        from textassay_lab.adversarial.word_vectors import read_word_vectors

        if self.vectors is None:
            return {}
        return {"vectors": read_word_vectors(self.vectors, texts.train.vocabulary, seed=self.seed)}


@dataclass(frozen=True, kw_only=True)
class Pairs(Train):
    """A translation model."""

    source: Annotated[str, option("Source text: line k of --real translates line k.", "FILE", PAIRS)]
    valid_source: Annotated[str | None, option("Source text of --valid.", "FILE", PAIRS)] = None
    hold_back: Annotated[
        int, option("Hold N pairs out of training; they are written to --out.", "N", PAIRS), Between(0)
    ] = 0

    def check(self) -> None:
        if (self.valid is None) != (self.valid_source is None):
            raise OptionError(
                "--valid and --valid-source are needed together: give both, or neither for a tenth of the pairs"
            )
        if self.like is not None and (self.byte_pairs is not None or self.lowercase):
            raise OptionError("--like MODEL sets tokenizer and vocabulary: leave --byte-pairs and --lowercase out")
        named = (self.source, self.real, self.valid_source, self.valid)
        if named.count(STANDARD_INPUT) > 1:
            raise OptionError("standard input can be read only once: give a file for each side")
        for source in named:
            if source is not None and source != STANDARD_INPUT and not is_url(source):
                check_exists(place_of(source))
        self.generator  # noqa: B018  (raises for settings that cannot be)
        check_writable(self.out)

    def more(self) -> dict[str, Any]:
        return {**super().more(), **({} if self.byte_pairs is None else {"byte_pairs": self.byte_pairs})}

    def read(self) -> TrainingTexts:
        from textassay.corpus.text_file import TextFile
        from textassay_lab.generator.parallel import held_out_pairs
        from textassay_lab.generator.translation import checked_pairs

        both = checked_pairs(self.file(self.source), self.file(self.real))
        kept, out = held_out_pairs(len(both[0]), self.hold_back, seed=self.seed)
        held = [[side.texts[number] for number in out.tolist()] for side in both]
        train = [TextFile(side.name, [side.texts[number] for number in kept.tolist()]) for side in both]
        valid, valid_source = None, f"{self.valid_source}, {self.valid}"
        if self.valid is not None and self.valid_source is not None:
            valid = checked_pairs(self.file(self.valid_source), self.file(self.valid))
        form, *pairs = self.generator.training_pairs((train[0], train[1]), valid)
        if valid is None:
            valid_source = f"the last {len(pairs[1])} of the pairs"
            self.print_status(f"no --valid: {valid_source}, a tenth, are held out for validation")
        if self.hold_back:
            seen = set(zip(pairs[0].source.texts, pairs[0].target.texts, strict=True))
            repeated = sum(pair in seen for pair in zip(*held, strict=True))
            self.print_status(
                f"{self.hold_back:,} of {len(both[0]):,} pairs are held back; {repeated:,} equal one that is not"
            )
        facts = [_facts(pairs[0], f"{self.source}, {self.real}"), _facts(pairs[1], valid_source)]
        return TrainingTexts(form, pairs[0], pairs[1], facts[0], facts[1], held=held)

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        return {
            **super().record(texts),
            "vocabulary": texts.form.hash,
            "source": texts.train.source.fingerprint,
            "real": texts.train.target.fingerprint,
            "valid-source": texts.valid.source.fingerprint,
            "valid": texts.valid.target.fingerprint,
        }

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Fitted:
        from textassay_lab.cli.trained_folder import SETTINGS

        model = self.generator.new_model({})
        sides = [_json_lines(side) for side in texts.held]
        held = dict(zip(HELD_BACK, sides, strict=True)) if self.hold_back else {}
        outcome = self.fit_network(model.fit, model, texts, {SETTINGS: json.dumps(record, indent=1), **held})
        return Fitted(model, outcome, files=[*held])


def command(name: str) -> type[Command]:
    """Return the command of one model: what its class names in `command_options`, with an option for each setting."""
    declared = class_of(name)
    groups = declared.setting_fields()
    panels = {"network": MODEL, "training": TRAINING, "rounds": ROUNDS}
    settings = [
        (each.option.panel or panels[group], each) for group in groups for each in groups[group].values() if each.option
    ]
    settings.sort(key=lambda one: one[0] == TRAINING and one[1].name not in groups["training"])
    known = f"Sizes and recipe to start from: {', '.join(declared.presets)}; {declared.default_preset} by default."
    hints = get_type_hints(Train, include_extras=True)
    shared = {each.name: each for each in fields(Train)}
    options: list[Any] = [(key, hints[key], field(default=shared[key].default)) for key in ("real", "out", "valid")]
    options.append(("preset", Annotated[str | None, option(known, "NAME")], field(default=None)))
    options += [(_option_name(each), _annotated(each, panel), field(default=None)) for panel, each in settings]
    namespace = {
        "__doc__": (declared.__doc__ or "").partition("\n")[0],
        "declared": declared,
        "settings": MappingProxyType({_option_name(each): each for _, each in settings}),
    }
    bases = tuple(globals()[base] for base in declared.command_options)
    title = f"Train{declared.__name__}"
    return make_dataclass(title, options, bases=bases, namespace=namespace, frozen=True, kw_only=True)


def _option_name(setting: Field) -> str:
    """Return the name of the option that is a setting, as a field."""
    names = () if setting.option is None else setting.option.names
    return names[0].removeprefix("--").replace("-", "_") if names else setting.name


def _annotated(setting: Field, panel: str) -> Any:
    """Return the annotation of an option that is a setting; what is not given is None, and as the preset has it."""
    assert setting.option is not None
    kind, metavar = setting.kind, {int: "N", float: "X", str: "NAME"}.get(setting.kind)
    origin = get_origin(kind)
    if origin is not None:  # it is read from a word
        kind, metavar = str, {tuple: "N,N", Mapping: "W:N,W:N", Sequence: "W:N,W:N"}.get(origin, "NAME")
    shown = option(setting.option.help, metavar, panel, show_default=False)
    return Annotated[(kind | None, shown, *setting.rules)]


def _parsed(setting: Field, value: Any) -> Any:
    """Return the setting that an option's value stands for."""
    origin = get_origin(setting.kind)
    try:
        if origin is tuple:
            return tuple(int(part) for part in value.split(","))
        if origin in (Mapping, Sequence):
            pairs: list[Any] = [tuple(int(number) for number in part.split(":")) for part in value.split(",")]
            return dict(pairs) if origin is Mapping else tuple((width, count) for width, count in pairs)
    except ValueError:
        example = "whole numbers, such as 2000,4000" if origin is tuple else "widths and counts, such as 2:100,3:100"
        raise OptionError(f"cannot read --{setting.name.replace('_', '-')} '{value}': write {example}") from None
    return value


def _show_step(tell: Callable[[str, int, int], None], n_epochs: int, step: "Step") -> None:
    """Say how far training is: steps of all epochs, loss, tokens per second, time left at most."""
    from textassay.cli.messages import duration

    speed = "" if step.tokens_per_second is None else f", {step.tokens_per_second:,.0f} tokens/s"
    left = f", {duration(step.seconds_left)} left at most" if math.isfinite(step.seconds_left) else ""
    label = f"epoch {step.epoch} of {n_epochs}: loss {step.loss:.3f}{speed}{left}"
    tell(label, (step.epoch - 1) * step.n_steps + step.step, n_epochs * step.n_steps)


def _facts(pairs: "ParallelText", source: str) -> "TrainedText":
    import numpy as np

    from textassay_lab.generator.document import TrainedText

    unknown = float(np.mean([pairs.source.unk_rate, pairs.target.unk_rate]))
    return TrainedText(source, len(pairs), len(pairs.target.tokens), 0, unknown)


def _json_lines(texts: Sequence[str]) -> str:
    """Return sentences as JSON lines that `read_texts` reads, line breaks and all."""
    return "".join(f"{json.dumps({'text': text}, ensure_ascii=False)}\n" for text in texts)


def _n_threads() -> int:
    import torch

    from textassay_lab.training.backend import threads

    with threads():
        return torch.get_num_threads()
