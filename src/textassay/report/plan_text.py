"""How many sentences are needed, for a terminal: one line a question, what is assumed, and the pilot it rests on."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.comparison import Pilot, Plan, Requirement
from textassay.report.console import heading, print_table, safe
from textassay.report.number import count, level, number, span

_PLACES = 3


def render_plan(plan: Plan, console: Console) -> None:
    """Print `plan` on `console`, in its width."""
    if plan.pilot is not None:
        _print_pilot(plan.pilot, console, share=level(plan.level))
    heading(console, "Texts needed, real and of each generator")
    table = _table()
    table.add_column("question", overflow="fold")
    for header in ("tested", "in all") if plan.folds == 1 else ("texts",):
        table.add_column(header, justify="right", no_wrap=True)
    for requirement in plan.requirements:
        judged = [count(requirement.n_tested)] if plan.folds == 1 else []
        table.add_row(safe(console, _question(requirement, plan)), *judged, count(requirement.n))
    _print(table, console)
    heading(console, "Assumed")
    for assumption in plan.assumptions:
        console.print(Padding(safe(console, f"· {assumption}"), (0, 0, 0, 2), expand=False))


def _question(requirement: Requirement, plan: Plan) -> str:
    share, power = level(plan.level), level(plan.power)
    if requirement.question == "margin":
        return f"dd within ±{requirement.size:g}, {share} interval"
    if requirement.question == "detect":
        return f"dd of {requirement.size:g} told from 0 at {share}, with power {power}"
    return f"two generators whose dd differ by {requirement.size:g} told apart at {share}, with power {power}"


def _print_pilot(pilot: Pilot, console: Console, *, share: str) -> None:
    heading(console, "The pilot")
    table = _table()
    table.add_column("generator", overflow="fold")
    for header in ("generated", "real", "dd", share, "still rising?"):
        table.add_column(header, justify="right", no_wrap=True)
    for found in pilot.generators:
        points = () if found.curve is None else found.curve.points
        rising = None if found.curve is None else found.curve.rising
        said = "unknown" if rising is None else "yes" if rising else "no"
        for row, point in enumerate(points):
            last = row == len(points) - 1
            table.add_row(
                safe(console, found.generator if row == 0 else ""),
                count(point.n_generated),
                count(point.n_real),
                number(point.value, _PLACES),
                span(point.low, point.high, _PLACES),
                said if last else "",
            )
        if not points:
            sizes = (count(found.n_generated), count(found.n_real))
            table.add_row(safe(console, found.generator), *sizes, number(found.value, _PLACES), "", said)
    _print(table, console)
    if pilot.correlation is not None:
        told = f"Scores of the same real texts beside different generators correlate by {pilot.correlation:.2f}"
        least = " or more." if len(pilot.generators) > 2 else "."
        console.print(Padding(safe(console, told + least, "dim"), (0, 0, 0, 2), expand=False))


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")


def _print(table: Table, console: Console) -> None:
    print_table(console, table)
