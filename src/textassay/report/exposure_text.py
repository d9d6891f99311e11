"""What was found on exposure bias, for a terminal: the answer first, then tables, then sentences to read."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.exposure import Exposure
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.exposure_tables import TextTable, bleu_tables, other_tables
from textassay.report.exposure_words import explanations, rule, sizes, verdicts
from textassay.report.switching import print_switching


def render_exposure(found: Exposure, console: Console) -> None:
    """Print `found` on `console`, in its width."""
    heading(console, f"Exposure bias of {found.model}")
    for line in verdicts(found):
        _print(console, line)
    console.print()
    for line in (rule(found), *sizes(found), *(f"Note: {note}" for note in found.notes)):
        _print(console, line, "dim")
    for table in (*bleu_tables(found), *other_tables(found)):
        heading(console, table.title)
        print_table(console, _drawn(table, console))
    heading(console, "How to read it")
    grid = label_grid()
    for name, meaning in explanations(found):
        grid.add_row(safe(console, name), safe(console, meaning, "dim"))
    print_table(console, grid)
    print_switching(found.samples, console)


def _drawn(table: TextTable, console: Console) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for place, name in enumerate(table.header):
        drawn.add_column(safe(console, name), justify="right" if place else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(safe(console, cell) for cell in row))
    return drawn


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Padding(safe(console, line, style), (0, 0, 0, 2), expand=False))
