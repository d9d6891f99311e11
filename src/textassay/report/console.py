"""The parts that everything printed on a terminal shares: safe text, headings, arrows for directions."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from textassay.report.digest import printable

__all__ = ["ARROWS", "heading", "label_grid", "safe"]

ARROWS = {"lower": "↓", "higher": "↑", "closer": "≈", "neither": ""}
_ASCII = str.maketrans({"↓": "v", "↑": "^", "≈": "~", "±": "+-", "…": "...", "·": "-"})


def safe(console: Console, text: str, style: str = "") -> Text:
    """Return `text` for this console, line breaks kept, with nothing in it that could steer a terminal."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return Text(lines.translate(_ASCII) if console.options.ascii_only else lines, style)


def heading(console: Console, text: str) -> None:
    """Print an empty line and `text` as a heading."""
    console.print()
    console.print(safe(console, text, "bold underline" if console.is_terminal else "bold"))


def label_grid() -> Table:
    """Return a table without lines for labels and texts."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
