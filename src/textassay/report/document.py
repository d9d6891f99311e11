"""A report as data: a title, the answer, facts, and sections of paragraphs, tables, figures and texts.

Every kind of result becomes a `Document` by one function; every renderer (terminal, Markdown, LaTeX, page, CSV) reads
nothing else. So a new kind of result costs one function, and a new renderer touches no result.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from textassay.display import Displayed
from textassay.report import plots
from textassay.report.table import Table
from textassay.storage import write_files

ParagraphKind = Literal["", "note", "warning", "item", "code"]


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
    phrases: tuple[str, ...] = ()  # marked in all of them
    title: str = ""
    score: str = ""  # what the scores are
    own_phrases: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of each source, marked in its texts

    def phrases_in(self, entry: TextEntry) -> tuple[str, ...]:
        """Return the phrases that are marked in a text."""
        return (*self.phrases, *dict(self.own_phrases).get(entry.source, ()))


Pieces = tuple[tuple[str, bool], ...]  # parts of a text, and whether each is marked


@dataclass(frozen=True)
class Pair:
    """Two texts side by side, in pieces, those that differ marked."""

    source: str  # whose they are
    label: str  # what they are
    left: Pieces
    right: Pieces


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts to look through."""

    name: str
    sides: tuple[str, str]  # what stands on the left, and on the right
    entries: tuple[Pair, ...]


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows as data, which one function a kind of plot draws."""

    name: str  # of its file, without the ending
    plot: plots.Plot
    caption: str = ""
    description: str = ""  # for those who cannot see it: the values, where it is not given

    def __post_init__(self) -> None:
        if not self.description:
            object.__setattr__(self, "description", plots.described(self.plot) or self.caption)

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


Part = Paragraph | Terms | Table | Figure | Texts | Pairs | Section


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
    series
        What has a colour of its own in figures and tables, such as generators; `plots.series_colour` of its place.
    """

    title: str
    answer: tuple[str, ...] = ()  # sentences, the most important first
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    lead: str = ""  # the name of the figure that stands beside the answer
    version: str = field(default_factory=lambda: version("textassay"))
    records: tuple[Table, ...] = ()  # long tables in full precision, for files only
    series: tuple[str, ...] = ()  # names that have a colour, the same in figures and tables

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
        """Return the document as JSON-ready values; every part names its class."""
        encoded: dict[str, Any] = _encoded(self)
        return encoded


def section(title: str, *parts: Part | None, extra: bool = False) -> Section:
    """Return a section of those parts that there are; a table without rows and notes is none."""
    kept = (part for part in parts if part is not None and not (isinstance(part, Table) and part.is_empty))
    return Section(title, tuple(kept), extra)


def sections(*parts: Section | None) -> tuple[Section, ...]:
    """Return those sections that hold something."""
    return tuple(part for part in parts if part is not None and part.parts)


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


def _is_default(of: Any, value: Any) -> bool:
    return of.default is not MISSING and type(of.default) is type(value) and bool(of.default == value)
