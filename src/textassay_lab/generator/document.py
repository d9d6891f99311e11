"""A training run, also as ``history.json``; what texts cost under a model; forced translations: all as documents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from textassay.corpus.documents import parse_json
from textassay.errors import InputError
from textassay.estimate import json_ready
from textassay.ngram.language_model import perplexity
from textassay.report.document import Document, Figure, notes, section, sections
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.table import (
    Cell,
    Column,
    Row,
    Table,
    as_is,
    count_cell,
    number_cell,
    numbers,
    quantity_cells,
    text_cell,
)
from textassay.report.text import count, counted, number
from textassay.report.text import level as percent_of
from textassay_lab.generator.text_likelihood import TextLikelihood
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
    value = _perplexity(training.valid_nll_per_token)
    kept = f", kept after epoch {training.kept} of {len(training.epochs)}" if training.epochs else ""
    epochs = Table.of_items("epochs", training.epochs, [
        ("epoch", lambda epoch: Cell(str(epoch.number), epoch.number), as_is),
        ("training loss", "loss", numbers(3)),
        ("validation perplexity", lambda epoch: perplexity(-epoch.score), number_cell),
        ("", lambda epoch: "kept" if epoch.number == training.kept else "", text_cell),
    ])  # fmt: skip
    return Document(
        f"Training of {training.model}",
        (f"{training.model} has perplexity {value} per token of the validation text{kept}.",),
        tuple(_facts(training)),
        sections(
            section("Epochs", epochs, _learning_curve(training) if training.epochs else None),
            section("Monitors", _readings(training), *notes(monitored_note(training.monitored)), *figures)
            if training.readings
            else None,
        ),
        lead="learning-curve",
    )


def monitored_note(monitored: Monitored | None) -> str:
    """Return what readings are of, as a sentence; empty without any."""
    return "" if monitored is None else f"{monitored}."


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


def _learning_curve(training: Training) -> Figure:
    losses = tuple(Point(epoch.number, epoch.loss) for epoch in training.epochs)
    costs = tuple(Point(epoch.number, -epoch.score) for epoch in training.epochs)
    plot = Curves(
        (
            Series("training", losses, "generated", dashes=1, beside=True),
            Series("validation", costs, "real", beside=True),
        ),
        Axis("epoch"),
        Axis("nats per token"),
        references=(Reference(training.kept or 0, "x", "kept"),),
        legend=False,
        size=(4.6, 2.6),
    )
    return Figure("learning-curve", plot, "Cost of training and validation text by epoch, in nats per token.")


def _readings(training: Training) -> Table:
    names = list(dict.fromkeys(name for reading in training.readings for name in reading.values))
    rows = [
        (count_cell(reading.step), count_cell(reading.epoch), *(number_cell(reading.values.get(n)) for n in names))
        for reading in training.readings
    ]
    floor = {} if training.monitored is None else training.monitored.floor
    real = Row((Cell("real text"), Cell(), *(number_cell(floor.get(name)) for name in names)), "reference")
    columns: tuple[str | Column, ...] = (Column("step"), "epoch", *(name.removeprefix(MONITORS) for name in names))
    return Table.of("monitors", columns, [*rows, *([real] if floor else [])])


def _perplexity(nll_per_token: float) -> str:
    return number_cell(perplexity(nll_per_token)).text


_ROWS = {
    "perplexity, per token": "perplexity",
    "nats per token": "nll_per_token",
    "bits per token": "bits_per_token",
    "bits per character": "bits_per_character",
    "nats per sentence": "nll_per_sentence",
}


def likelihood_document(
    likelihoods: Mapping[str, TextLikelihood] | TextLikelihood,
    *,
    model: str = "the model",
    tokenizer: str = "",
    level: float = 0.95,
) -> Document:
    """Return what each text costs under `model`; names are those of the texts."""
    if isinstance(likelihoods, TextLikelihood):
        likelihoods = {"the text": likelihoods}
    columns = [Column("", numeric=False)]
    for name in likelihoods:
        group = name if len(likelihoods) > 1 else ""
        columns += [Column("value", group), Column(percent_of(level), group)]
    rows = []
    for name, attribute in _ROWS.items():
        quantities = [getattr(one, attribute) for one in likelihoods.values()]
        rows.append(
            Row((text_cell(name), *(cell for one in quantities for cell in quantity_cells(one.value, one.interval))))
        )
    answers = []
    for name, one in likelihoods.items():
        value, bounds = quantity_cells(one.perplexity.value, one.perplexity.interval)
        answers.append(f"{name} has perplexity {value.text} {bounds.text}".rstrip() + f" per token under {model}.")
    table = Table(
        "likelihood", tuple(columns), tuple(rows), f"Cost under {model}, with {percent_of(level)} intervals", main=True
    )
    is_unknown = any(one.unknown_share > 0 for one in likelihoods.values())
    remarks = notes(
        "Ends of sentences are counted, as a token and as a character each. The intervals are over sentences.",
        "Unknown tokens cost what <unk> costs, which is too little: no value here compares with that of a model "
        "with another vocabulary." if is_unknown else "",
        "A text with a sentence of probability 0 costs infinitely much."
        if any(one.n_impossible for one in likelihoods.values()) else "",
    )  # fmt: skip
    return Document(
        f"Likelihood of {' and '.join(likelihoods)} under {model}",
        tuple(answers),
        tuple((name, _sizes(one, tokenizer)) for name, one in likelihoods.items()),
        (section("Cost of the text", table, *remarks),),
    )


def _sizes(likelihood: TextLikelihood, tokenizer: str) -> str:
    tokens = f"{count(likelihood.n_tokens)} tokens" + (f" ({tokenizer})" if tokenizer else "")
    sizes = [f"{count(likelihood.n_sentences)} sentences", tokens, f"{count(likelihood.n_characters)} characters"]
    if likelihood.n_tokens:
        sizes.append(f"{100 * likelihood.unknown_share:.2f} % of tokens unknown")
    if likelihood.n_impossible:
        sizes.append(f"{count(likelihood.n_impossible)} sentences of probability 0")
    return ", ".join(sizes)


_MODES = {
    "normal": "nothing is forced",
    "data3": "begins with the first three tokens of the reference",
    "unrel3": "begins with the first three tokens of the reference of another sentence",
    "rand3": "begins with three random words of the vocabulary",
}


@dataclass(frozen=True)
class ForcedText:
    """A translation in two parts: what was forced, and what the model went on with."""

    prefix: str
    rest: str


def translation_document(
    sources: Sequence[str],
    references: Sequence[str],
    translations: Mapping[str, Sequence[ForcedText]],
    *,
    model: str = "the model",
) -> Document:
    """Return each source with its reference and its translations; what was forced stands in brackets."""
    rows: list[Row | Sequence[str]] = []
    for place, (source, reference) in enumerate(zip(sources, references, strict=True)):
        rows += [Row((Cell(f"sentence {place + 1}"),), "heading"), ("source", source), ("reference", reference)]
        rows += [(mode.upper(), _marked(texts[place])) for mode, texts in translations.items()]
    forced = [mode.upper() for mode in translations if mode != "normal"]
    both = ", with and without forced beginnings" if 0 < len(forced) < len(translations) else ""
    note = f"In brackets: what was forced. {', '.join(forced)} are not scored against the reference." if forced else ""
    return Document(
        f"Translations by {model}",
        (f"{counted(len(sources), 'sentence')} translated by {model}{both}.",),
        tuple((mode.upper(), _MODES[mode]) for mode in translations if mode in _MODES),
        (section("Side by side", Table.of("translations", ("", "text"), rows, texts=(1,), notes=[note] * bool(note))),),
    )


def _marked(translation: ForcedText) -> str:
    return f"[{translation.prefix}]{translation.rest}" if translation.prefix else translation.rest
