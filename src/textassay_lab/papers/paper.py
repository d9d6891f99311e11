"""What a paper publishes and what a study asks of it, as data: the file ``paper.yaml`` beside an experiment.

``tables``
    A table a paragraph, a row a line, its cells between bars; before a bar stands a space, so that names may have bars,
    such as ``C-bleu(TF|D)``. The first line of a paragraph is the id and the title, the first line with bars names the
    columns; lines without bars are the note. A cell is empty, a number, or a number and its spread: ``0.85 ± 0.02``.
``ours``
    Id of a table to what is said of our side of it (`Ours`).
``findings``
    Id to the row of `Finding`.
``notes``
    Sentences that every report of the study ends with.
``settings``, ``scales``
    Sizes of the study: one value for all scales, or a value each for ``tiny``, ``laptop``, ``medium`` and ``paper``. A
    mapping with ``preset`` is a `Network`, one that also has ``generator`` or ``rounds`` a `Contest`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import yaml

from textassay.errors import InputError, unknown_name

Number = float | None
SCALES = ("tiny", "laptop", "medium", "paper")


@dataclass(frozen=True)
class PublishedTable:
    """A table as printed."""

    id: str  # such as "table 2"
    title: str
    # names, in the order printed
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Number, ...], ...]  # shape (rows, columns); None where nothing is printed
    spreads: tuple[tuple[Number, ...], ...]  # the printed plus-minus of each value, of the same shape
    note: str = ""

    def column(self, name: str) -> dict[str, float]:
        """Return the values of one column by row, without empty cells."""
        place = self.columns.index(name)
        column = {row: values[place] for row, values in zip(self.rows, self.values, strict=True)}
        return {row: value for row, value in column.items() if value is not None}

    def cells(self) -> dict[tuple[str, str], tuple[float, Number]]:
        """Return (row, column) to each printed value and its spread."""
        return {
            (row, column): (value, spread)
            for row, values, spreads in zip(self.rows, self.values, self.spreads, strict=True)
            for column, value, spread in zip(self.columns, values, spreads, strict=True)
            if value is not None
        }


@dataclass(frozen=True)
class Ours:
    """What is said of our values in a table; words in braces are filled in when they are known."""

    of: str = ""  # id of the published table, where it is not that of the entry
    # of a table of ours alone: its title, and its id where that says more than the entry's
    title: str = ""
    id: str = ""
    differs: str = ""  # how our setup differs, in all cells
    note: str = ""
    without: str = ""  # said instead where there is none of ours


@dataclass(frozen=True)
class Finding:
    """A finding of a paper: what it says, what the paper prints, and the rule that decides whether it holds here."""

    id: str
    statement: str
    paper: str  # the published numbers, in words
    quantity: str  # name of the function that computes what is looked at
    rule: str = "interval"  # one of `textassay_lab.papers.findings.RULES`
    where: str = ""  # what is looked at and where it should lie, in words
    about: tuple[str, ...] = ()  # of what `quantity` is about, that which the finding is about; empty for all
    # bounds of all numbers, and of those whose names begin in a certain way
    above: Number = None
    below: Number = None
    bounds: Mapping[str, tuple[Number, Number]] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """A preset of `textassay_lab.generator.catalog` and changed settings."""

    preset: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """An adversarial training: a preset of its kind, and changed settings of generator and rounds."""

    preset: str
    generator: Mapping[str, Any] = field(default_factory=dict)
    rounds: Mapping[str, Any] = field(default_factory=dict)


class Scale(SimpleNamespace):
    """The settings of a study at one scale, as attributes; `name` among them."""

    def but(self, **changes: Any) -> "Scale":
        """Return the same scale with some settings changed."""
        for name in changes:
            if name not in vars(self):
                raise unknown_name("setting of a scale", name, vars(self))
        return Scale(**{**vars(self), **changes})

    def in_words(self) -> dict[str, Any]:
        """Return the settings without the name, those that are not plain in words."""
        return {name: _in_words(value) for name, value in vars(self).items() if name != "name"}


@dataclass(frozen=True)
class Paper:
    """A paper and what a study says of it."""

    tables: dict[str, PublishedTable]
    ours: dict[str, Ours]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    scales: dict[str, Scale]

    def scale(self, name: str) -> Scale:
        """Return the scale called `name`."""
        if name not in self.scales:
            raise unknown_name("scale", name, self.scales)
        return self.scales[name]


def read_paper(package: str) -> Paper:
    """Return the paper whose ``paper.yaml`` is in a package."""
    data = yaml.safe_load(files(package).joinpath("paper.yaml").read_text(encoding="utf-8"))
    shared = {name: _setting(value) for name, value in data["settings"].items()}
    own = {name: tuple(map(_setting, values)) for name, values in data["scales"].items()}
    return Paper(
        {table.id: table for table in parse_tables(data["tables"])},
        {name: Ours(**words) for name, words in data["ours"].items()},
        tuple(Finding(id=name, **_setting(row)) for name, row in data["findings"].items()),
        tuple(data["notes"]),
        {
            scale: Scale(name=scale, **shared, **{name: values[place] for name, values in own.items()})
            for place, scale in enumerate(SCALES)
        },
    )


def parse_tables(text: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a text, in order."""
    return tuple(_table(*paragraph.splitlines()) for paragraph in text.strip().split("\n\n"))


def _table(heading: str, *lines: str) -> PublishedTable:
    name, _, title = heading.partition(": ")
    (_, *columns), *rows = ([part.strip() for part in line.split(" |")] for line in lines if " |" in line)
    parts = [[cell.partition("±") for cell in cells] for _, *cells in rows]
    if any(len(cells) != len(columns) for cells in parts):
        raise InputError(f"{name}: each row needs {len(columns)} cells")
    values, spreads = (tuple(tuple(_number(cell[side]) for cell in row) for row in parts) for side in (0, 2))
    note = " ".join(line for line in lines if " |" not in line)
    return PublishedTable(name, title, tuple(row for row, *_ in rows), tuple(columns), values, spreads, note)


def _number(text: str) -> Number:
    text = text.strip()
    return None if not text else int(text) if text.isdecimal() else float(text)


def _setting(value: Any) -> Any:
    """Return a value of the file: lists as tuples, mappings with a preset as settings of a model."""
    if isinstance(value, list):
        return tuple(map(_setting, value))
    if not isinstance(value, Mapping):
        return value
    parts = {name: _setting(one) for name, one in value.items()}
    if "preset" not in parts:
        return parts
    if parts.keys() & {"generator", "rounds"}:
        return Contest(**parts)
    return Network(parts.pop("preset"), parts)


def _in_words(value: Any) -> Any:
    if isinstance(value, Network):
        return ", ".join([value.preset, *(f"{name} {_in_words(one)}" for name, one in value.changes.items())])
    if isinstance(value, Contest):
        parts = ("generator", value.generator), ("rounds", value.rounds)
        return "; ".join([value.preset, *(_in_words(Network(name, part)) for name, part in parts if part)])
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_in_words(one)}" for name, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "all" if value is None else value
