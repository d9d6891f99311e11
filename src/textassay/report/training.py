"""A training run, as ``history.json`` and as a document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Self

from textassay.corpus.documents import parse_json
from textassay.errors import InputError
from textassay.estimate import json_ready
from textassay.ngram.likelihood import perplexity
from textassay.report.cells import count_cell, number_cell
from textassay.report.document import Cell, Column, Document, Figure, Row, Section, Table, notes, section
from textassay.report.number import count, decimals, number
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay_lab.training.history import Epoch, Reading

MONITORS = "textassay/"  # what names of readings begin with


@dataclass(frozen=True)
class TrainedText:
    """A text that was trained on, or validated with."""

    source: str  # As it was named, or what part of another it is
    # That were used; tokens without ends
    n_sentences: int
    n_tokens: int
    n_left_out: int  # Sentences with more tokens than were asked for
    unknown_share: float  # Share of tokens that are not in the vocabulary, in [0, 1]

    def __str__(self) -> str:
        left_out = f"; {count(self.n_left_out)} longer ones left out" if self.n_left_out else ""
        return (
            f"{count(self.n_sentences)} sentences, {count(self.n_tokens)} tokens, "
            f"{100 * self.unknown_share:.2f} % unknown ({self.source}{left_out})"
        )


@dataclass(frozen=True)
class Monitored:
    """What readings are of."""

    # Sentences of a reading, and real ones they were measured against
    n_drawn: int
    n_real: int
    # Name, as in the readings, to what as many other real sentences score; empty where there are too few
    floor: Mapping[str, float | None]

    def __str__(self) -> str:
        return f"{count(self.n_drawn)} sentences a reading, measured against {count(self.n_real)} real ones"


@dataclass(frozen=True)
class Training:
    """What was trained, on what, where, and what each epoch brought."""

    model: str  # Its name
    n_parameters: int | None  # That were learnt; for n-gram models, n-grams stored; none where the model does not say
    # What it draws over, special tokens counted
    tokenizer: str
    n_types: int
    # The texts
    train: TrainedText
    valid: TrainedText
    valid_nll_per_token: float  # Of the model that was kept, in nats
    # Device, precision and threads; empty for models that are counted
    computed: Mapping[str, str] = field(default_factory=dict)
    # In order; none for models that are counted. Scores are minus nats per token of the validation text.
    epochs: tuple[Epoch, ...] = ()
    readings: tuple[Reading, ...] = ()
    monitored: Monitored | None = None  # What the readings are of; none without
    ends: bool = True  # Whether sentences have ends, which are tokens then

    @property
    def kept(self) -> int | None:
        """Number of the epoch that was kept."""
        return max(self.epochs, key=lambda epoch: epoch.score).number if self.epochs else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        document = {**asdict(self), "valid_perplexity": perplexity(self.valid_nll_per_token), "kept_epoch": self.kept}
        document["epochs"] = [{**asdict(epoch), "valid_perplexity": perplexity(-epoch.score)} for epoch in self.epochs]
        found: dict[str, Any] = json_ready(document)
        return found

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_dict` gave, read back."""
        try:
            document = parse_json(text)
            parts = {name: document[name] for name in cls.__dataclass_fields__}
            parts["train"], parts["valid"] = TrainedText(**parts["train"]), TrainedText(**parts["valid"])
            parts["epochs"] = tuple(Epoch(**{k: e[k] for k in Epoch.__dataclass_fields__}) for e in parts["epochs"])
            parts["readings"] = tuple(Reading(**reading) for reading in parts["readings"])
            parts["monitored"] = None if parts["monitored"] is None else Monitored(**parts["monitored"])
            return cls(**parts)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"history.json is damaged ({error}): delete the folder to train again") from None


def training_document(training: Training, figures: Sequence[Figure] = ()) -> Document:
    """Return what was trained and what each epoch brought; `figures`: those of its monitors."""
    validation = f"perplexity {_perplexity(training.valid_nll_per_token)} per token of the validation text"
    kept = f", kept after epoch {training.kept} of {len(training.epochs)}" if training.epochs else ""
    sections = [_epochs_section(training)] if training.epochs else []
    sections += [_readings_section(training, figures)] if training.readings else []
    return Document(
        f"Training of {training.model}",
        (f"{training.model} has {validation}{kept}.",),
        tuple(_facts(training)),
        tuple(sections),
        lead="learning-curve",
        version=version("textassay"),
    )


def _facts(training: Training) -> Iterator[tuple[str, str]]:
    size = f"{count(training.n_types)} types ({training.tokenizer})"
    yield "Size", size if training.n_parameters is None else f"{count(training.n_parameters)} parameters, {size}"
    yield "Trained on", str(training.train)
    yield "Validated with", str(training.valid)
    if training.computed:
        yield "Computed with", ", ".join(f"{name} {value}" for name, value in training.computed.items())
    cost = training.valid_nll_per_token
    ends = ", ends counted" if training.ends else "; nothing ends"
    yield "Validation", f"perplexity {_perplexity(cost)} per token ({number(cost, 3)} nats){ends}"


def _epochs_section(training: Training) -> Section:
    rows = [
        (
            Cell(str(epoch.number), epoch.number),
            number_cell(epoch.loss, 3),
            number_cell(perplexity(-epoch.score)),
            "kept" if epoch.number == training.kept else "",
        )
        for epoch in training.epochs
    ]
    heads = ("epoch", "training loss", "validation perplexity", "")
    return section("Epochs", Table.of("epochs", heads, rows, texts=(3,)), _learning_curve(training))


def _learning_curve(training: Training) -> Figure:
    kept = training.kept or 0
    lines = {
        "training": tuple(Point(epoch.number, epoch.loss) for epoch in training.epochs),
        "validation": tuple(Point(epoch.number, -epoch.score) for epoch in training.epochs),
    }
    series = (
        Series("training", lines["training"], "generated", dashes=1, beside=True),
        Series("validation", lines["validation"], "real", beside=True),
    )
    plot = Curves(
        series,
        Axis("epoch"),
        Axis("nats per token"),
        references=(Reference(kept, "x", "kept"),),
        legend=False,
        size=(4.6, 2.6),
    )
    costs = ", ".join(f"epoch {epoch.number} {-epoch.score:.3f}" for epoch in training.epochs)
    description = f"Cost of validation text in nats per token: {costs}; epoch {kept} was kept."
    return Figure("learning-curve", plot, "Cost of training and validation text by epoch.", description)


def _readings_section(training: Training, figures: Sequence[Figure]) -> Section:
    names = list(dict.fromkeys(name for reading in training.readings for name in reading.values))
    rows = [
        Row((count_cell(reading.step), count_cell(reading.epoch), *(number_cell(reading.values.get(n)) for n in names)))
        for reading in training.readings
    ]
    monitored = training.monitored
    if monitored is not None and monitored.floor:
        floor = (number_cell(monitored.floor.get(name)) for name in names)
        rows.append(Row((Cell("real text"), Cell(), *floor), "reference"))
    columns = (Column("step"), Column("epoch"), *(Column(name.removeprefix(MONITORS)) for name in names))
    remark = "" if monitored is None else f"{monitored}."
    return section("Monitors", Table("monitors", columns, tuple(rows)), *notes(remark), *figures)


def _perplexity(nll_per_token: float) -> str:
    value = perplexity(nll_per_token)
    return number(value, decimals(value, None))
