"""How far apart two models are, as a document: the value to read, its checks, what was drawn."""

from textassay.estimate import Interval
from textassay.report.document import Document, Figure, section
from textassay.report.plots import Axis, Forest, ForestRow, Mark
from textassay.report.table import Table, quantity_cells
from textassay.report.text import count, level
from textassay_lab.meta_evaluation.model_discrepancy import MOST_DISAGREEMENT, ModelDiscrepancy, Side


def discrepancy_document(discrepancy: ModelDiscrepancy) -> Document:
    """Return the estimates of the discrepancy of two models, and whether they agree."""
    truth, p, q = discrepancy.truth, discrepancy.p, discrepancy.q
    estimates: tuple[tuple[str, float, Interval, str], ...] = (
        ("both sides", truth.value, truth.interval, "read this: never less precise than the others"),
        ("ratio", truth.ratio, truth.ratio_interval, "a check"),
        ("sign", truth.sign, truth.sign_interval, "a check; the paper's equation (2)"),
    )
    rows = [(name, *quantity_cells(value, bounds), remark) for name, value, bounds, remark in estimates]
    marks = [
        ForestRow(name, (Mark(value, bounds.low, bounds.high),), quantity_cells(value, bounds)[0].text)
        for name, value, bounds, _ in estimates
    ]
    table = Table.of(
        "discrepancy", ("estimator", "value", level(truth.interval.level), ""), rows, texts=(3,), main=True
    )
    figure = Figure("discrepancy", Forest(tuple(marks), Axis("discrepancy")), "Value and interval by each estimator.")
    _, best, ends, _ = rows[0]
    return Document(
        f"Discrepancy of {p.name} and {q.name}",
        (f"The discrepancy of {p.name} and {q.name} is {best.text} {ends.text}.", _agreement(discrepancy)),
        (("P", _draws(p, discrepancy)), ("Q", _draws(q, discrepancy))),
        (section("Estimates", table, figure),),
        lead="discrepancy",
    )


def _agreement(discrepancy: ModelDiscrepancy) -> str:
    distance = f"{discrepancy.truth.disagreement:.1f} standard errors apart at most"
    if discrepancy.agrees:
        return f"The estimators agree: {distance}."
    return (
        f"The estimators DISAGREE: {distance}, more than {MOST_DISAGREEMENT:g}. A log-probability is not that of what "
        "was drawn; trust none of the values."
    )


def _draws(side: Side, discrepancy: ModelDiscrepancy) -> str:
    """Return what was drawn from one side, and what of it is out of the ordinary."""
    parts = [f"{count(discrepancy.n)} sentences of {side.name}"]
    if side.cut_share > 0 and discrepancy.max_length is not None:
        parts.append(f"{100 * side.cut_share:.2g} % reach {count(discrepancy.max_length)} tokens, where both are cut")
    if side.foreign_share > 0:
        parts.append(f"{100 * side.foreign_share:.2g} % the other never draws")
    return "; ".join(parts) + "."
