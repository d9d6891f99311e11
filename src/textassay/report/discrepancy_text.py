"""How far apart two models are, for a terminal: the value to read, its checks, what was drawn."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from textassay.estimate import Interval
from textassay.meta_evaluation import MOST_DISAGREEMENT, ModelDiscrepancy, Side
from textassay.report.console import heading, print_table, safe
from textassay.report.number import count, decimals, interval, level, number


def render_discrepancy(found: ModelDiscrepancy, console: Console) -> None:
    """Print what was found on `console`, in its width."""
    truth = found.truth
    heading(console, f"Discrepancy of {found.p.name} and {found.q.name}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("estimator", no_wrap=True)
    for header in ("value", level(truth.interval.level)):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("")
    rows: tuple[tuple[str, float, Interval, str], ...] = (
        ("both sides", truth.value, truth.interval, "read this: never less precise than the others"),
        ("ratio", truth.ratio, truth.ratio_interval, "a check"),
        ("sign", truth.sign, truth.sign_interval, "a check; the paper's equation (2)"),
    )
    for name, value, bounds, told in rows:
        places = decimals(value, (bounds.high - bounds.low) / 2)
        table.add_row(name, number(value, places), interval(bounds, places), safe(console, told, "dim"))
    print_table(console, table)
    console.print()
    for line in (_agreement(found), *(_drawn(name, side, found) for name, side in (("P", found.p), ("Q", found.q)))):
        console.print(Padding(safe(console, line), (0, 0, 0, 2), expand=False))


def _agreement(found: ModelDiscrepancy) -> str:
    distance = f"{found.truth.disagreement:.1f} standard errors apart at most"
    if found.agrees:
        return f"The estimators agree: {distance}."
    return (
        f"The estimators DISAGREE: {distance}, more than {MOST_DISAGREEMENT:g}. A log-probability is not that of what "
        "was drawn; trust none of the values."
    )


def _drawn(name: str, side: Side, found: ModelDiscrepancy) -> str:
    """Return what was drawn from one side, and what of it is out of the ordinary."""
    parts = [f"{name}: {count(found.n)} sentences of {side.name}"]
    if side.cut_share > 0 and found.max_length is not None:
        parts.append(f"{100 * side.cut_share:.2g} % reach {count(found.max_length)} tokens, where both are cut")
    if side.foreign_share > 0:
        parts.append(f"{100 * side.foreign_share:.2g} % the other never draws")
    return "; ".join(parts) + "."
