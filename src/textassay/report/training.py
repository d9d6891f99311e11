"""A training run as it is reported: on a terminal, as ``history.json``, as a learning curve."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import matplotlib as mpl
from matplotlib.ticker import MaxNLocator
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.corpus import parse_json
from textassay.errors import InputError
from textassay.estimate import json_ready
from textassay.generator import perplexity
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.number import MISSING, count, decimals, number
from textassay.report.old_drawing import Drawing, plane, tick_places
from textassay.report.svg import GENERATED, INK, REAL, RULE, SETTINGS, to_svg
from textassay.training import Epoch, Reading


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
            parts = {name: document[name] for name in cls.__dataclass_fields__ if name != "ends" or name in document}
            parts["train"], parts["valid"] = TrainedText(**parts["train"]), TrainedText(**parts["valid"])
            parts["epochs"] = tuple(Epoch(**{k: e[k] for k in Epoch.__dataclass_fields__}) for e in parts["epochs"])
            parts["readings"] = tuple(Reading(**reading) for reading in parts["readings"])
            parts["monitored"] = None if parts["monitored"] is None else Monitored(**parts["monitored"])
            return cls(**parts)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"history.json is damaged ({error}): delete the folder to train again") from None


def render_training(training: Training, console: Console) -> None:
    """Print what was trained, and the table of epochs."""
    heading(console, training.model)
    grid = label_grid()
    size = f"{count(training.n_types)} types ({training.tokenizer})"
    if training.n_parameters is not None:
        size = f"{count(training.n_parameters)} parameters, {size}"
    rows = {"size": size, "trained on": str(training.train), "validated with": str(training.valid)}
    if training.computed:
        rows["computed with"] = ", ".join(f"{name} {value}" for name, value in training.computed.items())
    cost = training.valid_nll_per_token
    ends = ", ends counted" if training.ends else "; nothing ends"
    rows["validation"] = f"perplexity {_perplexity(cost)} per token ({number(cost, 3)} nats){ends}"
    for name, told in rows.items():
        grid.add_row(safe(console, name, "dim"), safe(console, told))
    print_table(console, grid)
    if training.epochs:
        heading(console, "Epochs")
        _print_epochs(training, console)
    if training.readings:
        heading(console, "Monitors")
        _print_readings(training, console)


def _print_epochs(training: Training, console: Console) -> None:
    table = _table("epoch", "training loss", "validation perplexity", "")
    for epoch in training.epochs:
        kept = "kept" if epoch.number == training.kept else ""
        table.add_row(str(epoch.number), number(epoch.loss, 3), _perplexity(-epoch.score), kept)
    print_table(console, table)


def _print_readings(training: Training, console: Console) -> None:
    names = list(dict.fromkeys(name for reading in training.readings for name in reading.values))
    table = _table("step", "epoch", *(name.removeprefix("textassay/") for name in names))
    for reading in training.readings:
        told = [reading.values.get(name) for name in names]
        table.add_row(
            count(reading.step),
            str(reading.epoch),
            *map(_value, told),
        )
    monitored = training.monitored
    if monitored is not None and monitored.floor:
        table.add_row("real text", "", *(_value(monitored.floor.get(name)) for name in names), style="dim")
    print_table(console, table)
    if monitored is not None:
        console.print(Padding(safe(console, f"{monitored}.", "dim"), (0, 0, 0, 2), expand=False))


@mpl.rc_context(SETTINGS)
def draw_training(training: Training) -> Drawing | None:
    """Return loss and validation cost by epoch; None where there are no epochs."""
    if not training.epochs:
        return None
    figure, axes = plane(3.6, 2.3, x="epoch", y="nats per token", right=0.8, top=0.22)
    numbers = [epoch.number for epoch in training.epochs]
    lines = {
        "training": ([epoch.loss for epoch in training.epochs], GENERATED),
        "validation": ([-epoch.score for epoch in training.epochs], REAL),
    }
    ends = [values[-1] for values, _ in lines.values()]
    for name, (values, colour) in lines.items():
        axes.plot(numbers, values, "o-", color=colour, linewidth=1.3, ms=3.0, mew=0)
        beside = 3 if values[-1] == max(ends) else -3  # points, so that equal ends do not hide each other's names
        axes.annotate(name, (numbers[-1], values[-1]), (6, beside), textcoords="offset points", color=colour,
                      va="center", annotation_clip=False)  # fmt: skip
    kept = training.kept or 0
    axes.axvline(kept, color=RULE, linewidth=0.8, zorder=0)
    axes.annotate("kept", (kept, 1), (0, 2), ("data", "axes fraction"), "offset points", ha="center", color=INK,
                  annotation_clip=False)  # fmt: skip
    tick_places(axes)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    told = ", ".join(f"epoch {epoch.number} {-epoch.score:.3f}" for epoch in training.epochs)
    description = f"Cost of validation text in nats per token: {told}; epoch {kept} was kept."
    return Drawing("training", training.model, "learning-curve.svg", to_svg(figure), description)


def _value(value: float | None) -> str:
    return MISSING if value is None else number(value, decimals(value, None))


def _perplexity(nll_per_token: float) -> str:
    value = perplexity(nll_per_token)
    return number(value, decimals(value, None))


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for header in headers:
        table.add_column(header, justify="right", overflow="fold")
    return table
