"""Columns of reproduced tables to draw side by side, as plain data that is stored with the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Panel:
    """A column of a table as a panel of a figure: its table, its name there, and the title of the panel."""

    table: str
    column: str
    title: str


@dataclass(frozen=True)
class TableFigure:
    """Columns of tables side by side, a line for each row: our value with its interval, and the published one."""

    # Name of the file, and title of the figure, such as "figure 5: ..."
    name: str
    title: str
    x: str  # Label of all x axes
    rows: tuple[str, ...]  # From the top
    panels: tuple[Panel, ...]  # From the left
    # Table, row and column of marked values of ours, such as significant ones
    starred: tuple[tuple[str, str, str], ...] = ()
    shared: bool = True  # Whether all panels share an axis

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TableFigure":
        """Return the figure whose `asdict` is `data`, with lists for tuples."""
        panels = tuple(Panel(**panel) for panel in data["panels"])
        starred = tuple((table, row, column) for table, row, column in data["starred"])
        return cls(**{**data, "rows": tuple(data["rows"]), "panels": panels, "starred": starred})
