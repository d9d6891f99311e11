"""A two-sided training as it is reported: on a terminal, as ``history.json``, as curves over its rounds."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import matplotlib as mpl
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.adversarial import Round, RoundsHistory
from textassay.corpus import parse_json
from textassay.errors import InputError
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.number import MISSING, count, decimals, number
from textassay.report.old_drawing import Drawing, plane, tick_places
from textassay.report.svg import GENERATED, INK, RULE, SETTINGS, to_svg
from textassay.report.training import Monitored, TrainedText
from textassay.report.words import slug
from textassay.training import Reading

_ROWS = 12  # about as many rounds are printed; all are in history.json
_GAP = 3  # between columns: padding, and the line that is not drawn
_REAL = "real text"
_MONITORS = "textassay/"  # what names of readings begin with


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
        """Return everything, JSON-ready."""
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


def render_adversarial_training(training: AdversarialTraining, console: Console) -> None:
    """Print what was trained, and a table of rounds."""
    heading(console, training.model)
    history = training.history
    grid = label_grid()
    types = f"{count(training.n_types)} types ({training.tokenizer})"
    kept, last = f"after round {history.kept} of {len(history.rounds)}", "the last"
    if history.kept < len(history.rounds):
        last = "the last good one" if history.kept else "before all"
    rows = {
        "size": f"{count(training.n_parameters)} parameters, {types}",
        "trained on": str(training.train),
        "validated with": str(training.valid),
        "computed with": ", ".join(f"{name} {value}" for name, value in training.computed.items()),
        "kept": f"{kept}, {last}" if training.keep == "last" else f"{kept}, the lowest {_words(training.keep)}",
    }
    if history.stopped is not None:
        rows["stopped"] = history.stopped
    for name, told in rows.items():
        grid.add_row(safe(console, name, "dim"), safe(console, told))
    print_table(console, grid)
    for title, curves in {"Rounds": training.curves, "Monitors": training.readings}.items():
        if curves:
            heading(console, title)
            shown = _shown(curves, history)
            for part in _parts(curves, training, console.width - 2):
                print_table(console, _table(part, shown, training, console.width - 2))
    if training.monitored is not None:
        console.print(Padding(safe(console, f"{training.monitored}.", "dim"), (0, 0, 0, 2), expand=False))


def _parts(
    curves: Mapping[str, Mapping[int, float]], training: AdversarialTraining, width: int
) -> list[dict[str, Mapping[int, float]]]:
    """Return the curves table by table: as many in one as fit with no word and no number broken over two lines."""
    phases = [len(each.phase) for each in training.history.rounds]
    room = width - max(len("before"), *phases) - len(_REAL if training.monitored else "round") - _GAP
    parts: list[dict[str, Mapping[int, float]]] = [{}]
    left = room
    for name, curve in curves.items():
        needed = _GAP + _least(name, curve, training)
        if needed > left and parts[-1]:
            parts.append({})
            left = room
        parts[-1][name] = curve
        left -= needed
    return parts


def _least(name: str, curve: Mapping[int, float], training: AdversarialTraining) -> int:
    """Return how wide the column must be for its longest word or number."""
    told = [*_words(name).split(), *map(_value, curve.values()), _value(_floor(training, name))]
    return max(map(len, told))


def _table(
    curves: Mapping[str, Mapping[int, float]], rows: Sequence[int], training: AdversarialTraining, width: int
) -> Table:
    phases = {each.number: each.phase for each in training.history.rounds}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="dim")
    least = {_words(name): _least(name, curve, training) for name, curve in curves.items()}
    first = max(map(len, ("before", *phases.values()))) + len(_REAL if training.monitored else "round") + _GAP
    broken = first + sum(_GAP + max(len(header), fits) for header, fits in least.items()) > width
    for header in ("round", "phase", *least):
        fits = least.get(header, 0) if broken else 0
        table.add_column(textwrap.fill(header, fits) if fits else header, justify="right", no_wrap=True)
    for place in rows:
        told = [curve.get(place) for curve in curves.values()]
        table.add_row(str(place), phases.get(place, "before"), *(_value(each) for each in told))
    found = [_floor(training, name) for name in curves]
    if any(each is not None for each in found):
        table.add_row(_REAL, "", *(_value(each) for each in found), style="dim")
    return table


def _floor(training: AdversarialTraining, name: str) -> float | None:
    """Return what the monitor `name` says of real text, if it says something."""
    return None if training.monitored is None else training.monitored.floor.get(f"{_MONITORS}{name}")


def _shown(curves: Mapping[str, Mapping[int, float]], history: RoundsHistory) -> list[int]:
    """Return the rounds that are printed: about `_ROWS`.

    The first, the last, the kept, and the one after which validation first spoke (before the rounds that are judged)
    are among them.
    """
    places = sorted({place for curve in curves.values() for place in curve})
    step = math.ceil(len(places) / _ROWS)
    always = {places[-1], history.kept, *(reading.step for reading in history.validations[:1])}
    return [place for index, place in enumerate(places) if index % step == 0 or place in always]


@mpl.rc_context(SETTINGS)
def draw_rounds(training: AdversarialTraining) -> list[Drawing]:
    """Return a figure for each loss, reward and validation value over the rounds."""
    return [_draw(name, curve, training) for name, curve in training.curves.items()]


def _draw(name: str, curve: Mapping[int, float], training: AdversarialTraining) -> Drawing:
    figure, axes = plane(3.6, 2.0, x="round", y=_words(name), top=0.22)
    places, values = zip(*sorted(curve.items()), strict=True)
    axes.plot(places, values, "o-" if len(places) < 40 else "-", color=GENERATED, linewidth=1.3, ms=3.0, mew=0)
    kept = training.history.kept
    axes.axvline(kept, color=RULE, linewidth=0.8, zorder=0)
    axes.annotate("kept", (kept, 1), (0, 2), ("data", "axes fraction"), "offset points", ha="center", color=INK,
                  annotation_clip=False)  # fmt: skip
    tick_places(axes)
    first, last = _value(values[0]), _value(values[-1])
    told = f"{_words(name)} over the rounds: {first} after round {places[0]}, {last} after round {places[-1]}."
    return Drawing("rounds", name, f"rounds-{slug(name)}.svg", to_svg(figure), told)


def _by_name(told: Sequence[tuple[int, Mapping[str, float | None]]]) -> dict[str, dict[int, float]]:
    """Return name to number of round to value, what is missing left out."""
    curves: dict[str, dict[int, float]] = {}
    for place, values in told:
        for name, value in values.items():
            if value is not None:
                curves.setdefault(name.removeprefix(_MONITORS), {})[place] = value
    return curves


def _words(name: str) -> str:
    return name.replace("_", " ").replace("nll", "NLL")


def _value(value: float | None) -> str:
    return MISSING if value is None else number(value, decimals(value, None))
