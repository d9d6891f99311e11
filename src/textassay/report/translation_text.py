"""Translations with forced beginnings, side by side, for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from textassay.report.console import heading, label_grid, print_table, safe


@dataclass(frozen=True)
class ForcedText:
    """A translation in two parts: what was forced, and what the model went on with."""

    prefix: str
    rest: str


def render_translations(
    sources: Sequence[str],
    references: Sequence[str],
    found: Mapping[str, Sequence[ForcedText]],
    console: Console,
) -> None:
    """Print each source with its reference and its translations; what was forced stands in brackets."""
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        heading(console, f"sentence {number + 1}")
        grid = label_grid()
        grid.add_row(safe(console, "source", "dim"), safe(console, source))
        grid.add_row(safe(console, "reference", "dim"), safe(console, reference))
        for mode, translations in found.items():
            grid.add_row(safe(console, mode.upper(), "dim"), _marked(translations[number], console))
        print_table(console, grid)
    forced = [mode.upper() for mode in found if mode != "normal"]
    if forced:
        note = f"In brackets: what was forced. {', '.join(forced)} are not scored against the reference."
        console.print()
        console.print(Padding(safe(console, note, "dim"), (0, 0, 0, 2), expand=False))


def _marked(translation: ForcedText, console: Console) -> Text:
    if not translation.prefix:
        return safe(console, translation.rest)
    return Text.assemble(safe(console, f"[{translation.prefix}]", "bold"), safe(console, translation.rest))
