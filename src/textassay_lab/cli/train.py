"""What every ``textassay train MODEL`` does: reads texts, trains in a folder, goes on there where it stopped."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import TEXTS, Above, Computing, Files, Json, Lowercase, Seed, Tokenizer
from textassay.cli.messages import print_line
from textassay.cli.options import check_sources, check_writable
from textassay.cli.results import file_names, print_result
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError, TooFewSentencesError
from textassay_lab.cli.model_settings import WithSettings

if TYPE_CHECKING:
    from textassay.corpus.contexts import Attributes
    from textassay.corpus.corpus import Corpus
    from textassay.corpus.text_form import TextForm
    from textassay.ngram.language_model import LanguageModel
    from textassay.report.document import Document, Figure
    from textassay.report.training import TrainedText
    from textassay_lab.generator.network import NetworkLanguageModel
    from textassay_lab.monitoring.monitor import TextMonitor

MONITORING = "Monitoring"
CONTEXTS = "Contexts"

_NEVER_DRAWN = 2  # <pad> and <sos>
_CUT = 200  # tokens after which samples are cut where --max-tokens says nothing and no sentence is longer
_VALIDATE = "validate with text that is not trained on"
_HELD_OUT = 10  # without --valid, one sentence in so many
_NOT_RECORDED = {
    *("out", "workers", "device", "monitor", "monitor_steps", "monitor_sentences", "quiet", "json", "column"),
    *("max_input", "max_text", "config"),
}


class TrainingTexts(NamedTuple):
    """Sentences to train on and to validate with, in the form of the model; `longest`: tokens it must take."""

    form: "TextForm"
    train: "Corpus"
    valid: "Corpus"
    train_facts: "TrainedText"
    valid_facts: "TrainedText"
    longest: int
    attributes: "Attributes | None" = None  # of contexts


@dataclass(frozen=True, kw_only=True)
class Train(Files, Computing, WithSettings):
    """What is trained on, and where the model goes."""

    model = ""  # its name

    real: Annotated[str, option("Text to train on; '-' is standard input.", "FILE")]
    out: Annotated[Path, option("Folder of the model; the same command again resumes there.", "DIR")]
    valid: Annotated[str | None, option("Text that chooses the epoch; a tenth of --real by default.", "FILE")] = None
    preset: Annotated[str | None, option("Sizes and recipe to start from.", "NAME")] = None
    lowercase: Lowercase = False
    byte_pairs: Annotated[
        int | None, option("Learn N byte pairs from --real instead of a tokenizer's words.", "N", TEXTS), Between(1)
    ] = None
    like: Annotated[
        str | None, option("Take tokenizer and vocabulary from a model, such as an oracle.", "MODEL", TEXTS)
    ] = None
    seed: Seed = 0
    json: Json = False

    @staticmethod
    def leading() -> tuple[str, ...]:
        """Return the options that help lists first."""
        return "real", "out", "valid"

    def run(self) -> int:
        """Train, write the model, print what came out, and return 0.

        Of several processes that a launcher started, only the main one prints and writes the model.
        """
        from textassay_lab.training.processes import is_main

        if not is_main() and not self.quiet:
            return replace(self, quiet=True).run()
        self.check()

        from textassay_lab.cli.trained_folder import finished

        with self.computing():
            texts = self.read()
            record = json.loads(json.dumps(self.record(texts)))
            training = finished(self.out, record, self.load, options=self.spellings())
            if training is None:
                training = self.train(texts, record)
            else:
                self.say(f"{self.out} holds this model, trained to the end: nothing was changed")
        if is_main():
            self.show(training)
        return 0

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        raise NotImplementedError

    def read(self) -> Any:
        """Return the texts; say what was held out or left out."""
        raise NotImplementedError

    def record(self, texts: Any) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        own = [each.name for each in fields(self) if each.name not in {*_NOT_RECORDED, *self.settings}]
        settings = {**self.given("network", "training"), **{name: getattr(self, name) for name in own}}
        return {"model": self.model, **{name.replace("_", "-"): value for name, value in settings.items()}}

    def load(self, text: str) -> Any:
        """Return what was trained before, from the text of its history."""
        from textassay.report.training import Training

        return Training.from_json(text)

    def fit(self, texts: Any, record: Mapping[str, Any]) -> "Fitted":
        """Return the model, fitted in the folder, and what `Training` holds of it."""
        raise NotImplementedError

    def train(self, texts: Any, record: Mapping[str, Any]) -> Any:
        """Train, write all files, the model last, and return what is reported."""
        from textassay.report.training import Training
        from textassay_lab.cli.trained_folder import monitor_figures
        from textassay_lab.training.processes import is_main

        fitted = self.fit(texts, record)
        training = Training(**self.facts(texts, fitted.model), **fitted.outcome)
        if is_main():
            figures = [] if fitted.monitor is None else monitor_figures(fitted.monitor, training.readings)
            self.keep_model(training, fitted.model, texts.form, figures, fitted.files)
        return training

    def facts(self, texts: Any, model: Any) -> dict[str, Any]:
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
        from textassay_lab.cli.trained_folder import CHECKPOINT, HISTORY, MODEL, ROUNDS, SETTINGS
        from textassay_lab.generator.saved import save_model

        history = json.dumps(training.to_dict(), indent=1, allow_nan=False)
        files = {HISTORY: history, **document_files(self.document(training, figures), stem="training")}
        write_files(self.out, files)
        save_model(model, self.out, form=form)
        if not all((self.out / name).exists() for name in (SETTINGS, HISTORY)):
            (self.out / MODEL).unlink(missing_ok=True)  # or the folder would count as finished
            raise OutputError(f"somebody removed files of {self.out} meanwhile: run the same command again")
        for name in (CHECKPOINT, ROUNDS):
            (self.out / name).unlink(missing_ok=True)
        self.say(f"the model is in {self.out}, with {file_names([*files, *others])}")

    def show(self, training: Any) -> None:
        """Print what came out."""
        values = {"folder": str(self.out), **training.to_dict()}
        print_result(self.document(training), values, as_json=self.json)

    def document(self, training: Any, figures: "Sequence[Figure]" = ()) -> "Document":
        """Return what came out as a report; `figures` are those of monitors."""
        from textassay.report.training import training_document

        return training_document(training, figures)

    def say(self, line: str) -> None:
        """Print a line unless the command is to be quiet."""
        if not self.quiet:
            print_line(line)

    def form_like(self) -> "TextForm | None":
        """Return the form of the model of ``--like``."""
        from textassay_lab.cli.models import open_generator

        if self.like is None:
            return None
        form = open_generator(self.like).form
        form.to_dict()  # raises where it could not be kept with the model
        return form


@dataclass(frozen=True, kw_only=True)
class TrainText(Train):
    """A model of sentences."""

    tokenizer: Tokenizer = "auto"
    vocabulary_size: Annotated[
        int | None, option("Keep the N most frequent words; others become <unk>.", "N", TEXTS), Between(1)
    ] = None
    min_count: Annotated[int, option("Keep words that occur N times or more.", "N", TEXTS), Between(1)] = 1
    max_tokens: Annotated[
        int | None, option("Leave longer sentences out, and draw none that are longer.", "N", TEXTS), Between(1)
    ] = None
    fraction: Annotated[
        float, option("Train on the first F of the sentences; the vocabulary is of all.", "F", TEXTS), Above(0, 1)
    ] = 1.0

    @property
    def window_size(self) -> int | None:
        """Tokens of the windows that running text is cut into; None where a line is a sentence."""
        return None

    def check(self) -> None:
        """Raise for what is wrong with any option but the model's own, before anything is read."""
        if self.window_size is not None and self.max_tokens is not None:
            raise OptionError("all windows have --window T tokens: leave --max-tokens out")
        if self.byte_pairs is not None and self.tokenizer != "auto":
            raise OptionError(
                f"--byte-pairs and --tokenizer {self.tokenizer} cannot go together: leave one of them out"
            )
        if self.byte_pairs is not None and (self.vocabulary_size is not None or self.min_count != 1):
            raise OptionError("--byte-pairs N learns N tokens: leave --vocabulary-size and --min-count out")
        form = (self.byte_pairs, self.vocabulary_size, self.tokenizer, self.lowercase, self.min_count)
        if self.like is not None and form != (None, None, "auto", False, 1):
            raise OptionError("--like MODEL brings tokenizer and vocabulary: leave options of these out")
        check_sources(self.real, {} if self.valid is None else {"--valid": self.valid}, {"--valid": _VALIDATE})
        check_writable(self.out)

    def read(self) -> TrainingTexts:
        """Return the texts that training needs; say what was held out or left out."""
        from textassay.corpus.characters import split_characters
        from textassay.corpus.encoding import SPECIAL_TOKENS
        from textassay.corpus.limits import running_text
        from textassay.corpus.split import nested_fractions, split_last
        from textassay.ngram.language_model import check_train

        window = self.window_size
        real = self._texts(self.real)
        if self.valid is None and window is not None:
            train_part, valid_part = split_characters(real[0], (1 - 1 / _HELD_OUT, 1 / _HELD_OUT))
            train_texts, valid_texts = [train_part], [valid_part]
            valid_source = f"the last {len(valid_part)} characters of {self.real}"
            self.say(f"no --valid: {valid_source}, a tenth, are held out and not trained on")
        elif self.valid is None:
            if len(real) == 1:
                raise TooFewSentencesError(f"{self.real} has one line: to train on it as running text, add --window T")
            kept, held_out = split_last(len(real), math.ceil(len(real) / _HELD_OUT))
            train_texts = [real[index] for index in kept.tolist()]
            valid_texts = [real[index] for index in held_out.tolist()]
            valid_source = f"the last {len(valid_texts)} of {self.real}"
            self.say(f"no --valid: {valid_source}, a tenth, are held out and not trained on")
        else:
            train_texts, valid_texts = real, self._texts(self.valid)
            valid_source = self.valid
            if train_texts == valid_texts:
                raise InputError(f"{self.valid} holds the same sentences as {self.real}: {_VALIDATE}")
        with running_text(window is not None):
            form = self._form(train_texts)
        if len(form.vocabulary) == len(SPECIAL_TOKENS):
            raise EmptyCorpusError(
                f"no word is left of {self.real}: none stands --min-count {self.min_count} times; lower it"
            )
        with running_text(window is not None):
            all_train, all_valid = (self._cut(form.corpus(texts)) for texts in (train_texts, valid_texts))
        all_train, all_valid, attributes = self.with_contexts(all_train, all_valid)
        first = nested_fractions(len(all_train), [self.fraction])[0]
        source = self.real if self.fraction == 1 else f"the first {len(first)} of {len(all_train)}, {self.real}"
        train, train_facts = self._fitting(all_train.take(first), source)
        valid, valid_facts = self._fitting(all_valid, valid_source)
        if len(train) < 2:
            needed = "sentences, one a line" if window is None else f"windows of {window} tokens"
            remedy = "break its lines, or add --window T" if window is None else "ask for shorter ones"
            raise TooFewSentencesError(
                f"training needs at least 2 {needed}, {source} has {len(train)}: give more text, {remedy}"
            )
        check_train(train, generator=self.model)
        check_train(valid, generator=self.model, what="validation")
        self.say_contexts(train, valid, attributes)
        longest = self.max_tokens or int(max(all_train.lengths.max(), valid.lengths.max()))
        return TrainingTexts(form, train, valid, train_facts, valid_facts, longest, attributes)

    def with_contexts(self, train: "Corpus", valid: "Corpus") -> "tuple[Corpus, Corpus, Attributes | None]":
        """Return both corpora, with contexts where the model answers to some, and their attributes."""
        return train, valid, None

    def say_contexts(self, train: "Corpus", valid: "Corpus", attributes: "Attributes | None") -> None:
        """Say what contexts training has."""

    def _form(self, texts: list[str]) -> "TextForm":
        """Return the form of the model of ``--like``, or what is learnt from `texts`."""
        from textassay.corpus.text_form import TextForm

        return self.form_like() or TextForm.learn(
            texts,
            tokenizer=self.tokenizer if self.byte_pairs is None else f"bpe-{self.byte_pairs}",
            lowercase=self.lowercase,
            max_size=self.vocabulary_size,
            min_count=self.min_count,
        )

    def _texts(self, source: str) -> list[str]:
        """Return the sentences of a file; running text is one."""
        from textassay.corpus.characters import read_running_text

        if self.window_size is not None:
            return [read_running_text(source, column=self.column)]
        return list(self.read_file(source).texts)

    def _cut(self, corpus: "Corpus") -> "Corpus":
        from textassay.corpus.windows import cut_windows

        return corpus if self.window_size is None else cut_windows(corpus, self.window_size)

    def _fitting(self, corpus: "Corpus", source: str) -> "tuple[Corpus, TrainedText]":
        """Return the sentences that are not too long, and say how many are, and how many are blank."""
        import numpy as np

        from textassay.report.training import TrainedText

        n_long = 0
        if self.max_tokens is not None:
            fits = corpus.lengths <= self.max_tokens
            n_long = int((~fits).sum())
            if n_long == len(corpus):
                raise EmptyCorpusError(
                    f"no sentence is left of {source}: all {n_long} have more than "
                    f"--max-tokens {self.max_tokens} tokens"
                )
            corpus = corpus.take(np.flatnonzero(fits))
        if n_long:
            self.say(f"{n_long} sentences of {source} have more than {self.max_tokens} tokens and are left out")
        n_blank = int((corpus.lengths == 0).sum())
        if n_blank:
            self.say(f"warning: {n_blank} lines of {source} are blank and count as sentences without words")
        unknown = corpus.unk_rate if len(corpus.tokens) else 0.0
        return corpus, TrainedText(source, len(corpus), len(corpus.tokens), n_long, unknown)

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        hashes = {"real": texts.train.fingerprint, "valid": texts.valid.fingerprint, "vocabulary": texts.form.hash}
        return {"auto-batch": False, **super().record(texts), **hashes}


@dataclass(frozen=True, kw_only=True)
class TrainWindows(TrainText):
    """A model of sentences or of running text."""

    window: Annotated[
        int | None,
        option("Read files as running text, in windows of T tokens; else line by line.", "T", TEXTS),
        Between(1),
    ] = None

    @property
    def window_size(self) -> int | None:
        """Tokens of the windows that running text is cut into; None where a line is a sentence."""
        return self.window


@dataclass(frozen=True, kw_only=True)
class Monitors:
    """Metrics of what the model draws while it trains."""

    monitor: Annotated[
        str | None, option("Metrics to follow, such as 'dd,self-bleu(order=4),lm-score'.", "LIST", MONITORING)
    ] = None
    monitor_steps: Annotated[
        int | None, option("Every K steps, too, not only after each epoch.", "K", MONITORING), Between(1)
    ] = None
    monitor_sentences: Annotated[int, option("Sentences drawn each time.", "N", MONITORING), Between(1)] = 1000

    def check_monitor(self) -> None:
        """Raise for whatever can be seen to be wrong with these options before the text is read."""
        if self.monitor is not None:
            from textassay_lab.monitoring.monitor import monitored_metrics

            monitored_metrics(self.monitor)
        elif self.monitor_steps is not None:
            raise OptionError("--monitor-steps says when to read --monitor LIST: add it, or leave both out")

    def new_monitor(self, valid: "Corpus", *, seed: int, folder: Path, quiet: bool) -> "TextMonitor | None":
        """Return the monitor that was asked for, whose readings are kept in `folder`."""
        from textassay_lab.cli.trained_folder import new_monitor

        if self.monitor is None:
            return None
        return new_monitor(valid, self.monitor, n=self.monitor_sentences, seed=seed, folder=folder, quiet=quiet)


class TrainCatalogued(TrainText):
    """A model that `make_generator` makes; networks override what differs."""

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        super().check()
        self.new_model({})

    def new_model(self, known: Mapping[str, Any]) -> "LanguageModel":
        """Return a model that has learnt nothing."""
        from textassay_lab.generator.catalog import make_generator

        settings = {**self.given("network", "training"), **known}
        with self.as_options("network", "training"):
            return make_generator(self.model, preset=self.preset, seed=self.seed, **settings)

    def lengths(self, longest: int) -> dict[str, int]:
        """Return what the model is told of lengths: no sample is longer than ``--max-tokens``, every sentence fits.

        An LSTM learns no end of windows; for other models it is a token as the end of a sentence is.
        """
        if self.model in ("lstm", "scheduled-sampling") and self.window_size is not None:
            return {"length": self.window_size, "max_length": self.window_size}
        if self.model == "gpt2":
            return {"positions": longest + 1}
        if self.model != "position-unigram":
            return {"max_length": longest if self.max_tokens is not None else max(longest, _CUT)}
        return {}

    def known(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return the settings that the texts decide."""
        attributes = {} if texts.attributes is None else {"attributes": texts.attributes}
        return {**attributes, **self.lengths(texts.longest)}

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> "Fitted":
        """Return the model, fitted in the folder, and what `Training` holds of it."""
        from textassay_lab.cli.trained_folder import SETTINGS, begun
        from textassay_lab.generator.text_likelihood import text_likelihood

        model = self.new_model(self.known(texts))
        with begun(self.out, {SETTINGS: json.dumps(record, indent=1)}):
            self.say(f"training {model.name} on {texts.train_facts}")
            model.fit(texts.train, texts.valid)
            nll = text_likelihood(model, texts.valid).nll_per_token.value
        return self.fitted(model, texts, {"valid_nll_per_token": nll})

    def fitted(
        self,
        model: "LanguageModel",
        texts: TrainingTexts,
        outcome: Mapping[str, Any],
        monitor: "TextMonitor | None" = None,
    ) -> "Fitted":
        """Return what was fitted; warn where guessing is better."""
        from textassay_lab.training.processes import is_main

        n_choices = len(texts.form.vocabulary) - _NEVER_DRAWN
        if is_main() and outcome["valid_nll_per_token"] > math.log(n_choices):
            self.say(
                f"warning: the model is worse than guessing: any of {n_choices} tokens at random has the lower "
                "perplexity; train it longer, or with another --learning-rate"
            )
        return Fitted(model, {**outcome, "ends": getattr(model, "draws_ends", True)}, monitor)


class Fitted(NamedTuple):
    """A fitted model, what `Training` holds of it, its monitor, and what other files are in the folder."""

    model: Any
    outcome: Mapping[str, Any]
    monitor: "TextMonitor | None" = None
    files: Sequence[str] = ()


def network_outcome(model: Any) -> dict[str, Any]:
    """Return what `Training` holds of the training of a network."""
    history = model.history
    return {
        "valid_nll_per_token": -history.best.score,
        "computed": {
            "device": str(model.record["device"]),
            "precision": history.precision,
            "threads": str(model.record["threads"]),
        },
        "epochs": history.epochs,
    }


@dataclass(frozen=True, kw_only=True)
class TrainCounted(TrainCatalogued, TrainWindows):
    """A model that is counted in one go."""


@dataclass(frozen=True, kw_only=True)
class TrainNetwork(Monitors, TrainCatalogued):
    """A network that learns by itself."""

    auto_batch: Annotated[bool, option("Halve the batch where memory runs out.", panel="Training")] = False

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        self.check_monitor()
        super().check()

    def fit(self, texts: TrainingTexts, record: Mapping[str, Any]) -> Fitted:
        """Return the model, fitted in the folder, and what `Training` holds of it."""
        from typing import cast

        from textassay.cli.progress import show_progress
        from textassay.corpus.documents import parse_json, read_document
        from textassay_lab.cli.trained_folder import CHECKPOINT, FOUND, SETTINGS, begun, monitored
        from textassay_lab.cli.training_progress import tell_step
        from textassay_lab.generator.batch_size import fit_in_memory, fitting_batch_size
        from textassay_lab.monitoring.loop import loop_monitors

        known = self.known(texts)
        model = cast("NetworkLanguageModel", self.new_model(known))
        resumes = (self.out / CHECKPOINT).exists()
        batch: dict[str, int] = {}
        if self.auto_batch:
            before = parse_json(read_document(self.out / SETTINGS)) if resumes else {}
            batch[FOUND] = fitting_batch_size(model, texts.train, known=before.get(FOUND))
            self.say(f"--auto-batch: batches of {batch[FOUND]} sentences")
            model = cast("NetworkLanguageModel", self.new_model({**known, "batch_size": batch[FOUND]}))
        monitor = self.new_monitor(texts.valid, seed=self.seed, folder=self.out, quiet=self.quiet)
        with begun(self.out, {SETTINGS: json.dumps({**record, **batch}, indent=1)}):
            self.say(f"{'going on with' if resumes else 'training'} {model.name} on {texts.train_facts}")
            monitors = None if monitor is None else loop_monitors(monitor, lambda n, seed: model.sample(n, seed=seed))
            with show_progress(quiet=self.quiet) as progress:
                fit_in_memory(
                    model,
                    texts.train,
                    texts.valid,
                    checkpoint=self.out / CHECKPOINT,
                    monitors=monitors,
                    monitor_steps=self.monitor_steps,
                    progress=None if progress is None else partial(tell_step, progress, model.recipe.max_epochs),
                )
        monitored_sizes = None if monitor is None else monitored(monitor)
        outcome = {**network_outcome(model), "readings": model.history.readings, "monitored": monitored_sizes}
        return self.fitted(model, texts, outcome, monitor)


@dataclass(frozen=True, kw_only=True)
class TrainWindowNetwork(TrainNetwork, TrainWindows):
    """A network that also learns from running text."""


@dataclass(frozen=True, kw_only=True)
class TrainConditional(TrainNetwork):
    """A network that answers to contexts."""

    contexts: Annotated[
        str, option("Context of each line of --real: a .tsv or .csv table with a header.", "FILE", CONTEXTS)
    ]
    valid_contexts: Annotated[str | None, option("The same for --valid.", "FILE", CONTEXTS)] = None
    context_count: Annotated[
        int | None, option("Merge contexts that occur less often into one.", "N", CONTEXTS), Between(1)
    ] = None

    def check(self) -> None:
        """Raise for whatever can be seen to be wrong before anything is read."""
        if (self.valid is None) != (self.valid_contexts is None):
            raise OptionError("--valid and --valid-contexts belong together: give both, or none for a tenth of --real")
        super().check()

    def with_contexts(self, train: "Corpus", valid: "Corpus") -> "tuple[Corpus, Corpus, Attributes | None]":
        """Return both corpora with contexts, and their attributes."""
        from textassay_lab.cli.model_contexts import trained_contexts

        return trained_contexts(train, valid, self.contexts, self.valid_contexts, min_count=self.context_count or 1)

    def say_contexts(self, train: "Corpus", valid: "Corpus", attributes: "Attributes | None") -> None:
        """Say what contexts training has."""
        from textassay_lab.cli.model_contexts import context_lines

        for line in context_lines(train, valid, attributes or {}):
            self.say(line)

    def record(self, texts: TrainingTexts) -> dict[str, Any]:
        """Return everything that decides what is trained."""
        from textassay_lab.cli.model_contexts import contexts_hash

        hashes = [contexts_hash(corpus, texts.attributes or {}) for corpus in (texts.train, texts.valid)]
        return {**super().record(texts), "contexts": hashes[0], "valid-contexts": hashes[1]}
