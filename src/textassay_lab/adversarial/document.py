"""A training against a discriminator, as ``history.json`` and as a document."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from textassay.corpus.documents import parse_json
from textassay.errors import InputError
from textassay.report.document import Document, Figure, notes, section, sections
from textassay.report.plots import Axis, Curves, Point, Reference, Series
from textassay.report.table import Cell, Column, Row, Table, number_cell
from textassay.report.text import count, slug
from textassay_lab.adversarial.rounds import Round, RoundsHistory
from textassay_lab.generator.document import MONITORS, Monitored, TrainedText, monitored_note
from textassay_lab.training.history import Reading

_ROWS = 12  # about as many rounds are shown; all are in history.json
_VARIETY = "Variety: distinct bigrams of drawn sentences, divided by those of as many real sentences."
_MARKED = 40  # rounds of a curve up to which each is marked


@dataclass(frozen=True)
class AdversarialTraining:
    """What was trained, on what, where, and what each round brought."""

    model: str  # Name of the generator
    n_parameters: int  # Numbers that it learnt
    # What it draws over, special tokens counted
    tokenizer: str
    n_types: int
    # The texts
    train: TrainedText
    valid: TrainedText
    computed: Mapping[str, str]  # Device, precision and threads
    history: RoundsHistory  # The rounds
    keep: str = "last"  # ``last``, or what validation had lowest after the round that was kept
    monitored: Monitored | None = field(default=None)  # What the readings are of; none without

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_dict` gave, read back; raise `InputError` if it is something else."""
        try:
            document = parse_json(text)
            parts = {name: document[name] for name in cls.__dataclass_fields__}
            parts["train"], parts["valid"] = TrainedText(**parts["train"]), TrainedText(**parts["valid"])
            told = dict(parts["history"])
            told["rounds"] = tuple(Round(**each) for each in told["rounds"])
            for name in ("validations", "readings"):
                told[name] = tuple(Reading(**each) for each in told[name])
            parts["history"] = RoundsHistory(**told)
            parts["monitored"] = None if parts["monitored"] is None else Monitored(**parts["monitored"])
            return cls(**parts)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"history.json is damaged ({error}): delete the folder to train again") from None

    @property
    def curves(self) -> dict[str, dict[int, float]]:
        """What rounds and validation told: name to number of round to value."""
        told = [(each.number, each.values) for each in self.history.rounds]
        return _by_name([*told, *((each.step, each.values) for each in self.history.validations)])

    @property
    def readings(self) -> dict[str, dict[int, float]]:
        """What the monitors told, likewise."""
        return _by_name([(each.step, each.values) for each in self.history.readings])


def adversarial_training_document(training: AdversarialTraining, figures: Sequence[Figure] = ()) -> Document:
    """Return what was trained and what the rounds brought; `figures`: those of its monitors."""
    history, curves, readings = training.history, training.curves, training.readings
    last = "the last" if history.kept == len(history.rounds) else "the last good one" if history.kept else "before all"
    why = last if training.keep == "last" else f"the lowest {_words(training.keep)}"
    kept = f"after round {history.kept} of {len(history.rounds)}, {why}"
    drawn = {name: _figure(name, curve, training) for name, curve in curves.items()}
    validated = [name for name in curves if name.startswith("valid")]
    changes = [_change(name, curves[name], history.kept) for name in validated[:1]]
    changes += [_change(*each, history.kept) for each in list(readings.items())[:1]]
    ended = [] if history.stopped is None else [f"Training ended before all rounds: {history.stopped}."]
    return Document(
        f"Training of {training.model}",
        (f"{training.model} is kept {kept}.", *changes, *ended),
        tuple(_facts(training, kept)),
        sections(
            section("Rounds", _table("rounds", curves, training), *notes(_VARIETY * ("variety" in curves)),
                    *drawn.values()) if curves else None,
            section("Monitors", _table("monitors", readings, training), *notes(monitored_note(training.monitored)),
                    *map(_by_rounds, figures)) if readings else None,
        ),
        lead=next((drawn[name].name for name in (*validated, *drawn)), ""),
    )  # fmt: skip


def _change(name: str, curve: Mapping[int, float], kept: int) -> str:
    """Return the first value of validation, and that of the round that was kept or the last one before it."""
    first, last = min(curve), max((place for place in curve if place <= kept), default=min(curve))
    values = f"{_at_start(name)} is {number_cell(curve[first]).text} after round {first}"
    return values + (f" and {number_cell(curve[last]).text} after round {last}." if last != first else ".")


def _facts(training: AdversarialTraining, kept: str) -> Iterator[tuple[str, str]]:
    types = f"{count(training.n_types)} types ({training.tokenizer})"
    yield "Size", f"{count(training.n_parameters)} parameters, {types}"
    yield "Trained on", str(training.train)
    yield "Validated with", str(training.valid)
    yield "Computed with", ", ".join(f"{name} {value}" for name, value in training.computed.items())
    yield "Kept", kept
    if training.history.stopped is not None:
        yield "Stopped", training.history.stopped


def _table(name: str, curves: Mapping[str, Mapping[int, float]], training: AdversarialTraining) -> Table:
    phases = {each.number: each.phase for each in training.history.rounds}
    rows: list[Sequence[Cell] | Row] = [
        (Cell(str(place), place), Cell(phases.get(place, "before")),
         *(number_cell(curve.get(place)) for curve in curves.values()))
        for place in _shown(curves, training.history)
    ]  # fmt: skip
    floor = {} if training.monitored is None else training.monitored.floor
    real = [floor.get(f"{MONITORS}{name}") for name in curves]
    if any(value is not None for value in real):
        rows.append(Row((Cell("real text"), Cell(), *map(number_cell, real)), "reference"))
    return Table.of(name, (Column("round"), "phase", *map(_words, curves)), rows, texts=(1,))


def _shown(curves: Mapping[str, Mapping[int, float]], history: RoundsHistory) -> list[int]:
    """Return the rounds that are shown: about `_ROWS`.

    The first, the last, the kept, and the one after which validation first spoke (before the rounds that are judged)
    are among them.
    """
    places = sorted({place for curve in curves.values() for place in curve})
    step = math.ceil(len(places) / _ROWS)
    always = {places[-1], history.kept, *(reading.step for reading in history.validations[:1])}
    return [place for index, place in enumerate(places) if index % step == 0 or place in always]


def _figure(name: str, curve: Mapping[int, float], training: AdversarialTraining) -> Figure:
    points = tuple(Point(place, value) for place, value in sorted(curve.items()))
    series = Series("", points, "generated", dots=len(points) < _MARKED)
    kept = Reference(training.history.kept, "x", "kept")
    plot = Curves((series,), Axis("round"), Axis(_words(name)), references=(kept,), legend=False, size=(4.2, 2.3))
    return Figure(f"rounds-{slug(name)}", plot, f"{_at_start(name)} over the rounds.")


def _by_rounds(figure: Figure) -> Figure:
    """Return a figure of a monitor, whose steps are rounds here."""
    plot = figure.plot
    return replace(figure, plot=replace(plot, x=Axis("round"))) if isinstance(plot, Curves) else figure


def _by_name(told: Sequence[tuple[int, Mapping[str, float | None]]]) -> dict[str, dict[int, float]]:
    """Return name to number of round to value, what is missing left out."""
    curves: dict[str, dict[int, float]] = {}
    for place, values in told:
        for name, value in values.items():
            if value is not None:
                curves.setdefault(name.removeprefix(MONITORS), {})[place] = value
    return curves


def _words(name: str) -> str:
    words = name.replace("_", " ").replace("nll", "NLL").replace("judge", "discriminator")
    return words.replace("valid ", "validation ")


def _at_start(name: str) -> str:
    """Return the words of a name as a sentence begins; names of metrics stay as they are."""
    words = _words(name)
    return words[:1].upper() + words[1:] if " " in words or name in ("variety", "reward") else words
