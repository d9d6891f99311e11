"""The measurements of a study of generators on one corpus, and the agreement of each metric's order with the truth.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", tables 4 and 5: inside
each family, and on synthetic text over all generators, too; gold is by training text or exact discrepancy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from textassay.errors import InputError
from textassay.meta_evaluation import BY_VOLUME, Cell, MetricValues, TauDistribution, agreement, gold_by_volume
from textassay.study.dd.published import (
    DD,
    EXACT,
    FAMILIES,
    VALID_DD,
    group_name,
    published_table,
    published_tau,
    published_values,
)

Corpus = Literal["real", "synthetic"]


@dataclass(frozen=True)
class Measured:
    """The values of all generators on one corpus."""

    corpus: Corpus  # "real" or "synthetic"
    # Family to its generators, from the least training text to the most; the same shares in every family
    families: Mapping[str, Sequence[str]]
    # Label, such as "BLEU-5", to values, one item a training seed; `EXACT` holds the exact discrepancies. A metric may
    # lack some generators.
    values: Mapping[str, Sequence[MetricValues]]
    dds: tuple[str, ...] = (DD,)  # The labels that are discrepancies found by a classifier, the paper's first

    @property
    def gold(self) -> Sequence[MetricValues]:
        """The gold order: on real text by training text, inside a family; on synthetic text by exact discrepancy."""
        if self.corpus == "real":
            places = {name: place for names in self.families.values() for place, name in enumerate(names, start=1)}
            return [gold_by_volume(places)]
        if EXACT not in self.values:
            raise InputError("the order on synthetic text needs the exact discrepancy, which was not measured")
        return self.values[EXACT]

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the generators whose order the gold gives: those of each family and, on synthetic text, all."""
        groups = {family: tuple(names) for family, names in self.families.items()}
        if self.corpus == "synthetic":
            groups["all"] = tuple(chain.from_iterable(self.families.values()))
        return groups


def agreements(
    measured: Measured, *, level: float = 0.95, n_draws: int = 10_000, seed: int = 0
) -> tuple[TauDistribution, ...]:
    """Return tau of every metric in every group of generators, with its distribution, metric by metric.

    A metric that lacks some generators of a group is compared on those it has, as the group's name says ("4 LSTM"), and
    not at all where those are fewer than two.
    """
    gold, taus = measured.gold, []
    for metric, runs in measured.values.items():
        for family, names in measured.groups().items():
            known = [name for name in names if all(name in run.generators for run in (*runs, *gold))]
            if metric == EXACT or len(known) < 2:
                continue
            group = f"all {len(known)}" if family == "all" else group_name(family, len(known))
            taus.append(
                agreement(
                    [run.select(known) for run in runs],
                    [run.select(known) for run in (gold if len(runs) == len(gold) else gold[:1])],
                    group=group,
                    published=published_tau(measured.corpus, metric, group),
                    level=level,
                    n_draws=n_draws,
                    seed=seed,
                )
            )
    return tuple(taus)


def tau_cells(taus: Iterable[TauDistribution], *, differs: Mapping[str, str] | None = None) -> list[Cell]:
    """Return the taus as cells of table 4 or 5; `differs` is metric to what of it is made in another way."""
    notes = differs or {}
    return [Cell(t.metric, t.group, t.value, t.low, t.high, differs=notes.get(t.metric, "")) for t in taus]


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
