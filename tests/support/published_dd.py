"""The printed values of the paper on distributional discrepancy, as if they had been measured without error."""

from textassay_lab.meta_evaluation.gold_order import BY_VOLUME
from textassay_lab.meta_evaluation.metric_values import MetricValues
from textassay_lab.meta_evaluation.reproduction import TauDistribution
from textassay_lab.papers.dd.findings import Measured, agreements
from textassay_lab.papers.dd.published import DD, DIRECTIONS, EXACT, FAMILIES, VALID_DD, published_table


def published_values(table: str, column: str) -> MetricValues:
    """Return a column of a table as values without errors, with the direction in which the paper ranks by it."""
    return MetricValues.exact(column, DIRECTIONS[column], published_table(table).column(column))


def published_measured() -> tuple[Measured, Measured]:
    """Return what the paper prints on real and on synthetic text, as values without errors."""
    table_7 = published_table("table 7").columns
    real = {name: [published_values("table 3", name)] for name in (DD, VALID_DD)}
    real |= {name: [published_values("table 7", name)] for name in table_7}
    synthetic = {name: [published_values("table 2", name)] for name in (EXACT, DD)}
    synthetic["FED"] = [published_values("table 6", "FED")]
    return Measured("real", FAMILIES, real), Measured("synthetic", FAMILIES, synthetic)


def published_agreements() -> tuple[TauDistribution, ...]:
    """Return the taus that follow from printed values, and the printed ones of metrics whose values are not printed."""
    taus = [tau for measured in published_measured() for tau in agreements(measured, n_draws=1)]
    there = {(tau.metric, tau.group, tau.gold) for tau in taus}
    for table, gold in (("table 4", BY_VOLUME), ("table 5", EXACT)):
        for cell in published_table(table).cells():
            if (cell.row, cell.column, gold) not in there and cell.published is not None:
                taus.append(_certain(cell.row, cell.column, gold, cell.published))
    return tuple(taus)


def _certain(metric: str, group: str, gold: str, tau: float) -> TauDistribution:
    """Return a tau without a distribution."""
    return TauDistribution(metric, group, gold, tau, tau, tau, tau, tau, 0.95, (tau,), (1.0,), (tau,), 1)
