"""Sentences after switched prefixes, side by side: on a terminal, as Markdown, as HTML; prefixes stand in brackets."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from textassay.exposure import SwitchedSample
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.old_markdown import markdown_rows
from textassay.report.words import printable

NOTE = "In brackets: the prefix. What follows is the model's. Drawn at random, none was chosen."


def print_switching(samples: Sequence[SwitchedSample], console: Console) -> None:
    """Print the first sentence of each kind under one heading, then the second ones, and so on."""
    for number, row in enumerate(_beside(samples), start=1):
        heading(console, f"sample {number}")
        grid = label_grid()
        for sample in row:
            prefix, gap = _bracketed(sample)
            grid.add_row(
                safe(console, sample.kind, "dim"),
                Text.assemble(safe(console, prefix, "bold"), safe(console, gap + sample.continuation.lstrip())),
            )
        print_table(console, grid)
    if samples:
        console.print()
        console.print(Padding(safe(console, NOTE, "dim"), (0, 0, 0, 2), expand=False))


def switching_markdown(samples: Sequence[SwitchedSample]) -> list[str]:
    """Return the lines of a table: number, kind of prefix, text."""
    rows = []
    for number, row in enumerate(_beside(samples), start=1):
        for place, sample in enumerate(row):
            prefix, gap = _bracketed(sample)
            rows.append(("" if place else str(number), sample.kind, prefix + gap + sample.continuation.lstrip()))
    return [*markdown_rows(("sample", "prefix", "text"), rows, numbers=False), "", NOTE]


def switching_html(samples: Sequence[SwitchedSample]) -> str:
    """Return a table; prefixes are marked by a ``b`` element, too, so that a page can give them a style."""
    lines = ["<table class='switching'>", "<thead><tr><th>sample</th><th>prefix</th><th>text</th></tr></thead>"]
    for number, row in enumerate(_beside(samples), start=1):
        lines.append("<tbody>")
        for place, sample in enumerate(row):
            prefix, gap = _bracketed(sample)
            first = Markup("<th rowspan='{}'>{}</th>").format(len(row), number) if place == 0 else Markup("")
            lines.append(
                Markup("<tr>{}<td>{}</td><td><b>{}</b>{}{}</td></tr>").format(
                    first, sample.kind, printable(prefix), gap, printable(sample.continuation.lstrip())
                )
            )
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>", f"<p>{NOTE}</p>"])


def _beside(samples: Sequence[SwitchedSample]) -> Iterator[tuple[SwitchedSample, ...]]:
    """Yield the first samples of all kinds, then the second ones."""
    kinds: dict[str, list[SwitchedSample]] = {}
    for sample in samples:
        kinds.setdefault(sample.kind, []).append(sample)
    return zip(*kinds.values(), strict=True) if kinds else iter(())


def _bracketed(sample: SwitchedSample) -> tuple[str, str]:
    """Return the prefix in brackets, nothing where none was given, and the white space before what follows."""
    rest = sample.continuation
    return f"[{sample.prefix}]" if sample.prefix else "", rest[: len(rest) - len(rest.lstrip())]
