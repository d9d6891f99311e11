"""A reproduced study for a terminal: findings, taus, tables with ours beside the published, samples, times, notes."""

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.meta_evaluation import ReproducedTable, Reproduction
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.number import number
from textassay.report.reproduction_words import (
    MARKS,
    cell_texts,
    differences_told,
    finding_numbers,
    inseparable,
    settings_told,
    sides_told,
    table_heading,
    tau_row,
    unmatched,
)
from textassay.report.switching import print_switching

_STYLES = {"holds": "green", "does not hold": "red", "not separated at this size": "yellow", "not measured": "dim"}


def render_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print a reproduced study on `console`, in its width."""
    heading(console, reproduction.title)
    if reproduction.findings:
        heading(console, "What the paper found, and whether it holds here")
        _print_findings(reproduction, console)
    if reproduction.taus:
        heading(console, "Kendall's tau with the gold order")
        _print_taus(reproduction, console)
    for table in reproduction.tables:
        sides = sides_told(table)
        heading(console, f"{table_heading(table)}: {sides}" if sides else table_heading(table))
        _print_table(table, console)
    for title, samples in reproduction.samples.items():
        heading(console, f"Prefix switching: {title}")
        print_switching(samples, console)
    if reproduction.seconds:
        heading(console, "Seconds of each stage")
        times = _table(console, "stage", "seconds")
        for stage, seconds in reproduction.seconds.items():
            times.add_row(safe(console, stage), number(seconds, 1))
        times.add_row(safe(console, "all"), number(sum(reproduction.seconds.values()), 1))
        console.print(Padding(times, (0, 0, 0, 2), expand=False))
    if reproduction.notes:
        heading(console, "To know besides")
        for note in reproduction.notes:
            _say(console, note)
    heading(console, "Settings")
    grid = label_grid()
    for name, text in settings_told(reproduction):
        grid.add_row(safe(console, name, "dim"), safe(console, text))
    print_table(console, grid)


def _print_findings(reproduction: Reproduction, console: Console) -> None:
    table = _table(console, "")
    table.add_column("")
    for finding in reproduction.findings:
        style = _STYLES[finding.verdict]
        mark = safe(console, f"{MARKS[finding.verdict]} {finding.id}", style)
        text = safe(console, finding.statement)
        text.append(f"\n{finding.verdict}", style)
        text.append(f" ({finding.about}). Paper: {finding.published}.", "dim")
        numbers = finding_numbers(finding)
        if numbers:
            text.append("\n")
            text.append(safe(console, f"Numbers: {numbers}.", "dim"))
        table.add_row(mark, text)
    table.show_header = False
    print_table(console, table)


def _print_taus(reproduction: Reproduction, console: Console) -> None:
    for gold in dict.fromkeys(tau.gold for tau in reproduction.taus):
        taus = [tau for tau in reproduction.taus if tau.gold == gold]
        table = _table(console, f"by {gold}", "group", "tau", "interval", "seeds", "paper", ">= .8")
        before = ""
        for tau in taus:
            metric, *row = tau_row(tau)
            table.add_row(safe(console, "" if metric == before else metric), *(safe(console, text) for text in row))
            before = metric
        print_table(console, table)
        for text in inseparable(taus):
            _say(console, text)


def _print_table(table: ReproducedTable, console: Console) -> None:
    for columns in _fitting(table, console.width):
        shown = _table(console, "")
        kept: list[dict[str, str]] = []  # row to text, one item a printed column
        for column in columns:
            texts = cell_texts(table, column)
            for side, header in enumerate((column, "")):
                part = {row: both[side] for row, both in texts.items()}
                if any(part.values()):
                    kept.append(part)
                    shown.add_column(safe(console, header), justify="right", no_wrap=True, style="dim" if side else "")
        for row in table.rows:
            cells = [part.get(row, "") for part in kept]
            if any(cells):
                shown.add_row(safe(console, row), *(safe(console, text) for text in cells))
        print_table(console, shown, below=1)
    for text in [*differences_told(table), *unmatched(table), *([table.note] if table.note else [])]:
        _say(console, text)


def _fitting(table: ReproducedTable, width: int) -> Iterator[list[str]]:
    """Yield the columns in parts that fit `width`."""
    room = width - 4 - max(map(len, table.rows), default=0)
    part: list[str] = []
    left = room
    for column in table.columns:
        texts = cell_texts(table, column).values()
        need = max(len(column), *(len(ours) for ours, _ in texts)) + max(len(paper) for _, paper in texts) + 4
        if part and need > left:
            yield part
            part, left = [], room
        part.append(column)
        left -= need
    if part:
        yield part


def _table(console: Console, *headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for place, header in enumerate(headers):
        table.add_column(safe(console, header), justify="left" if place == 0 else "right", no_wrap=place > 0)
    return table


def _say(console: Console, text: str) -> None:
    console.print(Padding(safe(console, text, "dim"), (0, 0, 0, 2), expand=False))
