"""A report as data: a title, the answer, facts, and sections of paragraphs, tables, figures and texts.

Every kind of result becomes a `Document` by one function; every renderer (terminal, Markdown, LaTeX, page, CSV) reads
nothing else. So a new kind of result costs one function, and a new renderer touches no result.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self

from textassay.display import Displayed
from textassay.errors import InputError
from textassay.report import plots
from textassay.storage import write_files

Tone = Literal["", "best", "good", "bad", "weak"]
Arrow = Literal["", "lower", "higher", "closer", "neither"]
ParagraphKind = Literal["", "note", "warning", "item", "code"]
Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """One cell of a table; a plain text stands for a cell without anything else."""

    text: str = ""  # rounded, as people read it
    value: Value = None  # in full precision, for CSV and for sorting; none where it is missing or undefined
    spread: str = ""  # beside the text and smaller, such as "±0.012"
    below: str = ""  # under the text and smaller, such as the value at another sample size
    note: str = ""  # on demand: the interval, the signature, why there is no value
    tone: Tone = ""

    @property
    def plain(self) -> str:
        """The text with its spread."""
        return f"{self.text} {self.spread}".rstrip()


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    group: str = ""  # above the name, once for all columns beside each other that share it
    numeric: bool = True  # flush right, and never broken
    better: Arrow = ""
    note: str = ""  # on demand: what the column is
    hidden: bool = False  # the page shows it on demand, the terminal and LaTeX do not


@dataclass(frozen=True)
class Row:
    """A row: an ordinary one, one of reference (real text), or a heading over those that follow."""

    cells: tuple[Cell, ...]
    kind: Literal["", "reference", "heading"] = ""


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows."""

    name: str  # for files, labels and links: letters, digits and hyphens
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    main: bool = False  # one of those that a paper would print
    extra: bool = False  # for those who look for it: folded on the page, left out of the terminal's short form
    fits: bool = False  # on a terminal, columns for which there is no room are left out from the right

    @classmethod
    def of(
        cls,
        name: str,
        columns: Sequence[str | Column],
        rows: Sequence[Sequence[str | Cell] | Row],
        *,
        texts: Sequence[int] = (),
        title: str = "",
        notes: Sequence[str] = (),
        main: bool = False,
        extra: bool = False,
    ) -> Self:
        """Return a table of plain texts and cells; the columns at the places `texts` and the first are not numeric."""
        heads = tuple(
            column if isinstance(column, Column) else Column(column, numeric=place > 0 and place not in texts)
            for place, column in enumerate(columns)
        )
        lines = tuple(
            row if isinstance(row, Row) else Row(tuple(c if isinstance(c, Cell) else Cell(c) for c in row))
            for row in rows
        )
        for row in lines:
            if row.kind != "heading" and len(row.cells) != len(heads):
                raise InputError(f"table {name}: a row has {len(row.cells)} cells for {len(heads)} columns")
        return cls(name, heads, lines, title, tuple(notes), main, extra)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, a note under what stands before it, a warning, an item of a list, or lines of code."""

    text: str
    kind: ParagraphKind = ""


@dataclass(frozen=True)
class Terms:
    """Terms with their explanations, or labels with what they stand for."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TextEntry:
    """One text of a list of texts."""

    text: str
    source: str = ""  # whose it is
    score: float | None = None  # probability of being real, or another number in [0, 1]
    count: int = 1
    group: str = ""  # which list it is in, such as "Most lifelike"


@dataclass(frozen=True)
class Texts:
    """Texts to look through, with the phrases that are marked in them."""

    name: str
    entries: tuple[TextEntry, ...]
    phrases: tuple[str, ...] = ()
    title: str = ""
    score: str = ""  # what the scores are


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows as data, which one function a kind of plot draws."""

    name: str  # of its file, without the ending
    plot: plots.Plot
    caption: str = ""
    description: str = ""  # for those who cannot see it

    @property
    def file_name(self) -> str:
        """Its file."""
        return f"{self.name}.svg"

    @property
    def svg(self) -> str:
        """The drawing, as an SVG document on white."""
        from textassay.report.drawing import draw_file

        return draw_file(self)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Section:
    """A section; sections may stand in sections."""

    title: str
    parts: "tuple[Part, ...]"
    extra: bool = False  # folded on the page, left out of the terminal's short form


Part = Paragraph | Terms | Table | Figure | Texts | Section


@dataclass(frozen=True)
class Document(Displayed):
    """A report as data, which prints as on a terminal and shows itself in notebooks.

    Attributes
    ----------
    title
        What it is about.
    answer
        Sentences, the most important first.
    facts
        Labels with what they stand for: sizes, settings.
    sections
        Paragraphs, terms, tables, figures, lists of texts, and sections in sections.
    lead
        The name of the figure that stands beside the answer; empty for none.
    version
        Of textassay.
    records
        Long tables in full precision, for CSV files only.
    """

    title: str
    answer: tuple[str, ...] = ()  # sentences, the most important first
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    lead: str = ""  # the name of the figure that stands beside the answer
    version: str = ""
    records: tuple[Table, ...] = ()  # long tables in full precision, for files only

    def parts(self) -> Iterator[Part]:
        """Yield every part, those of sections behind their section."""
        for section in self.sections:
            yield from _walk(section)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, with names that differ."""
        return tuple(part for part in self.parts() if isinstance(part, Figure))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, without the records."""
        return tuple(part for part in self.parts() if isinstance(part, Table))

    def save(self, folder: str | Path, *, stem: str = "report", png: bool = False) -> list[Path]:
        """Write the document into a folder, which is made if it is absent: all files or none.

        Parameters
        ----------
        folder
            Files of these names are replaced.
        stem
            Of the names: ``STEM.md``, ``STEM.html``, and ``STEM.tex`` where there is a table for a paper.
        png
            Whether to write each figure as PNG, too, on white at 160 dots an inch.

        Returns
        -------
        list of Path
            These, a CSV file for each record, and ``figures/*.svg``.

        Raises
        ------
        OutputError
            If a file cannot be written; then the folder is as it was before.
        """
        files = import_module("textassay.report.files").document_files(self, stem=stem, png=png)
        return write_files(Path(folder), files)

    def to_dict(self) -> dict[str, Any]:
        """Return the document as JSON-ready values, for `from_dict`."""
        encoded: dict[str, Any] = _encoded(self)
        return encoded

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Document":
        """Return the document that `to_dict` described."""
        try:
            document = _decoded(values)
        except (KeyError, TypeError) as error:
            raise InputError(f"not a document of textassay: {error}") from error
        if not isinstance(document, Document):
            raise InputError("not a document of textassay")
        return document


def section(title: str, *parts: Part | None, extra: bool = False) -> Section:
    """Return a section of those parts that there are."""
    return Section(title, tuple(part for part in parts if part is not None), extra)


def notes(*texts: str) -> tuple[Paragraph, ...]:
    """Return notes, without empty ones."""
    return tuple(Paragraph(text, "note") for text in texts if text)


def items(texts: Sequence[str]) -> tuple[Paragraph, ...]:
    """Return a list."""
    return tuple(Paragraph(text, "item") for text in texts)


def is_item(part: Part | None) -> bool:
    """Return whether a part is an item of a list; terms that follow one belong to it."""
    return isinstance(part, Paragraph) and part.kind in ("item", "warning")


def with_unique_names(document: Document) -> Document:
    """Return the document with a number behind the name of each figure and table whose name was taken before."""
    taken: set[str] = set()

    def renamed(part: Part) -> Part:
        if isinstance(part, Section):
            return replace(part, parts=tuple(map(renamed, part.parts)))
        if not isinstance(part, Figure | Table):
            return part
        kind, name, n = type(part).__name__, part.name, 1
        while f"{kind} {name}" in taken:
            n += 1
            name = f"{part.name}-{n}"
        taken.add(f"{kind} {name}")
        return replace(part, name=name)

    return replace(document, sections=tuple(replace(s, parts=tuple(map(renamed, s.parts))) for s in document.sections))


def without_extras(document: Document) -> Document:
    """Return the document without what is marked as extra."""

    def kept(section: Section) -> Section:
        parts = (one for one in section.parts if not (isinstance(one, Section | Table) and one.extra))
        return replace(section, parts=tuple(kept(one) if isinstance(one, Section) else one for one in parts))

    return replace(document, sections=tuple(kept(one) for one in document.sections if not one.extra))


def _walk(part: Part) -> Iterator[Part]:
    yield part
    if isinstance(part, Section):
        for inner in part.parts:
            yield from _walk(inner)


_CLASSES = {
    kind.__name__: kind
    for kind in (
        Document,
        Section,
        Paragraph,
        Terms,
        Table,
        Column,
        Row,
        Cell,
        Texts,
        TextEntry,
        Figure,
        *plots.CLASSES,
    )
}


def _encoded(value: Any) -> Any:
    """Return dataclasses as objects that name their class, without fields that have their default."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = {f.name: getattr(value, f.name) for f in fields(value) if not _is_default(f, getattr(value, f.name))}
        return {"is": type(value).__name__, **{name: _encoded(part) for name, part in shown.items()}}
    if isinstance(value, tuple | list):
        return [_encoded(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _CLASSES[value["is"]](**{name: _decoded(part) for name, part in value.items() if name != "is"})
    return tuple(map(_decoded, value)) if isinstance(value, list | tuple) else value


def _is_default(of: Any, value: Any) -> bool:
    return of.default is not MISSING and type(of.default) is type(value) and bool(of.default == value)
