"""The printed values of the paper on distributional discrepancy, as if they had been measured without error."""

from textassay_lab.meta_evaluation.rank_agreement import BY_VOLUME, MetricValues, TauDistribution
from textassay_lab.papers.dd.experiment import DD, DD_PAPER, EXACT, VALID_DD
from textassay_lab.papers.dd.findings import Measured, agreements
from textassay_lab.papers.dd.results import DIRECTIONS

FRACTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
FAMILIES = {family: tuple(f"{family}_{fraction:.1f}" for fraction in FRACTIONS) for family in ("LSTM", "GPT-2")}


def column_values(table: str, column: str) -> MetricValues:
    """Return a column of a table as values without errors, with the direction in which the paper ranks by it."""
    return MetricValues.exact(column, DIRECTIONS.get(column, "lower"), DD_PAPER.tables[table].column(column))


def published_measured() -> tuple[Measured, Measured]:
    """Return what the paper prints on real and on synthetic text, as values without errors."""
    table_7 = DD_PAPER.tables["table 7"].columns
    real = {name: [column_values("table 3", name)] for name in (DD, VALID_DD)}
    real |= {name: [column_values("table 7", name)] for name in table_7}
    synthetic = {name: [column_values("table 2", name)] for name in (EXACT, DD)}
    synthetic["FED"] = [column_values("table 6", "FED")]
    return Measured("real", FAMILIES, real), Measured("synthetic", FAMILIES, synthetic)


def published_agreements() -> tuple[TauDistribution, ...]:
    """Return the taus that follow from printed values, and the printed ones of metrics whose values are not printed."""
    taus = [tau for measured in published_measured() for tau in agreements(measured, n_draws=1)]
    there = {(tau.metric, tau.group, tau.gold) for tau in taus}
    for table, gold in (("table 4", BY_VOLUME), ("table 5", EXACT)):
        for (row, column), (value, _) in DD_PAPER.tables[table].cells().items():
            if (row, column, gold) not in there:
                taus.append(_certain(row, column, gold, value))
    return tuple(taus)


def _certain(metric: str, group: str, gold: str, tau: float) -> TauDistribution:
    """Return a tau without a distribution."""
    return TauDistribution(metric, group, gold, tau, tau, tau, tau, (tau,), (1.0,), (tau,))
