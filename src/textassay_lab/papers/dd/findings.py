"""Agreement of each metric's order with the truth, and what the findings look at, on published values or on ours.

Kendall's tau is taken inside each family and on synthetic text over all generators, too (tables 4 and 5); gold is by
training text or exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 5 and 6.
Departs from it: a finding holds only where it does beyond the error of the values. Findings about orders look at
differences with simultaneous intervals, findings about Kendall's tau at its distribution over draws.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay_lab.meta_evaluation.correlations import correlation
from textassay_lab.meta_evaluation.rank_agreement import (
    BY_VOLUME,
    MetricValues,
    Neighbours,
    TauDistribution,
    agreement,
    differences,
    gold_by_volume,
    pooled,
)
from textassay_lab.papers.dd.experiment import DD, DD_PAPER, EXACT, LM, VALID_DD
from textassay_lab.papers.findings import LEVEL, UNSURE, Outcome, Quantities, check, verdict_of_chances
from textassay_lab.papers.paper import Finding, Number
from textassay_lab.papers.reproduction import CheckedFinding, Verdict

CorpusKind = Literal["real", "synthetic"]


@dataclass(frozen=True)
class Measured:
    """The values of all generators on one corpus."""

    corpus: CorpusKind
    families: Mapping[str, Sequence[str]]  # family to its generators, from the least training text to the most
    # label, such as "BLEU-5", to values, one item a training seed; `EXACT` holds the exact discrepancies. A metric may
    # lack some generators.
    values: Mapping[str, Sequence[MetricValues]]
    dds: tuple[str, ...] = (DD,)  # the labels that are discrepancies found by a classifier, the paper's first

    @property
    def gold(self) -> Sequence[MetricValues]:
        """The gold order: on real text by training text, inside a family; on synthetic text by exact discrepancy."""
        if self.corpus == "synthetic":
            return self.values[EXACT]
        places = {name: place for names in self.families.values() for place, name in enumerate(names, start=1)}
        return [gold_by_volume(places)]

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the generators whose order the gold gives: those of each family and, on synthetic text, all."""
        groups = {family: tuple(names) for family, names in self.families.items()}
        if self.corpus == "synthetic":
            groups["all"] = tuple(chain.from_iterable(self.families.values()))
        return groups


def agreements(
    measured: Measured, *, level: float = LEVEL, n_draws: int = 10_000, seed: int = 0
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
            taus.append(
                agreement(
                    [run.select(known) for run in runs],
                    [run.select(known) for run in (gold if len(runs) == len(gold) else gold[:1])],
                    group=f"all {len(known)}" if family == "all" else f"{len(known)} {family}",
                    level=level,
                    n_draws=n_draws,
                    seed=seed,
                )
            )
    return tuple(taus)


FloatArray = npt.NDArray[np.float64]

_RIVALS = ("BLEU-5", LM, "FED")  # of tables 4 and 5
_BOTH = "real and synthetic text"
_OF_TABLE_7 = tuple(f"{kind}BLEU-{order}" for kind in ("", "self-") for order in (2, 3, 4))
quantity = Quantities()
_UNINFORMATIVE = 0.2  # of tau: six of ten pairs in one order, four in the other


@dataclass(frozen=True)
class _Study:
    """All that was measured, for one discrepancy `dd`; what was not measured raises KeyError."""

    dd: str
    corpora: Mapping[str, Measured]
    taus: Mapping[tuple[str, str, str], TauDistribution]  # by corpus, metric, and family or "all"
    level: float

    def values(self, corpus: str, metric: str) -> MetricValues:
        """Return the mean over training seeds."""
        return pooled(self.corpora[corpus].values[metric])

    @property
    def groups(self) -> list[tuple[str, str]]:
        """Corpus and family, or "all", of every group of generators that tau is about."""
        return [(corpus, family) for corpus, measured in self.corpora.items() for family in measured.groups()]


def check_findings(
    measured: Sequence[Measured], taus: Sequence[TauDistribution], *, level: float = LEVEL
) -> tuple[CheckedFinding, ...]:
    """Return every finding that something was measured for, checked for each discrepancy that was measured."""
    by_group: dict[tuple[str, str, str], TauDistribution] = {}
    for tau in taus:
        n, name = tau.group.split(" ", 1)
        corpus = "real" if tau.gold == BY_VOLUME else "synthetic"
        by_group.setdefault((corpus, tau.metric, n if n == "all" else name), tau)
    dds = dict.fromkeys(dd for one in measured for dd in one.dds)
    studies = [_Study(dd, {one.corpus: one for one in measured}, by_group, level) for dd in dds]

    def compute(finding: Finding) -> Iterator[Outcome]:
        about = set()
        for study in studies:
            try:
                outcomes = list(quantity[finding.quantity](study))
            except KeyError:  # not measured
                continue
            yield from (one for one in outcomes if one.about not in about)
            about |= {one.about for one in outcomes}

    return check(DD_PAPER.findings, compute, level=level)


@quantity
def monotone_in_exact(study: _Study) -> Iterator[Outcome]:
    tau = study.taus["synthetic", study.dd, "all"]
    gold, own = (
        {(pair.better, pair.worse): pair for pair in tau.neighbours if pair.by == name} for name in (EXACT, study.dd)
    )
    pairs = [(gold[pair], own[pair]) for pair in gold]
    numbers: dict[str, Number] = {
        "tau": tau.value,
        "low": tau.low,
        "high": tau.high,
        "share of draws with tau 1": tau.share_at_least(1.0),
        "neighbours": len(pairs),
        "told apart by exact DD": sum(pair.separated for pair in gold.values()),
        f"told apart by {study.dd}": sum(pair.separated for pair in own.values()),
    }
    yield Outcome(f"{study.dd}, synthetic text", partial(_same_steps, pairs), numbers)


def _same_steps(pairs: Sequence[tuple[Neighbours, Neighbours]], times: float = 1.0) -> Verdict:
    """Return whether neighbours by the exact discrepancy are told apart by both, in the same order."""

    def apart(pair: Neighbours) -> bool:
        low, high = (pair.difference + (end - pair.difference) / np.sqrt(times) for end in (pair.low, pair.high))
        return bool(low > 0 or high < 0)

    if any(apart(gold) and own.difference <= 0 and (apart(own) or not own.high) for gold, own in pairs):
        return "does not hold"
    return "holds" if all(apart(gold) and apart(own) and own.difference > 0 for gold, own in pairs) else UNSURE


def _taus_by_volume(study: _Study, label: str) -> dict[str, TauDistribution]:
    """Return family to tau on real text."""
    return {family: study.taus["real", label, family] for family in study.corpora["real"].groups()}


def _steps_by_volume(taus: Mapping[str, TauDistribution], label: str) -> tuple[list[str], FloatArray]:
    """Return the names of steps in training text, and their differences with intervals."""
    pairs = [pair for tau in taus.values() for pair in tau.neighbours if pair.by == label]
    rows = np.array([[pair.difference, pair.low, pair.high] for pair in pairs])
    return [f"{pair.worse} - {pair.better}" for pair in pairs], rows


@quantity
def order_by_volume(study: _Study) -> Iterator[Outcome]:
    yield _order_by_volume(study, study.dd)


@quantity
def valid_order_by_volume(study: _Study) -> Iterator[Outcome]:
    yield _order_by_volume(study, VALID_DD)


def _order_by_volume(study: _Study, label: str) -> Outcome:
    taus = _taus_by_volume(study, label)
    numbers: dict[str, Number] = {}
    for family, tau in taus.items():
        numbers |= {f"tau, {family}": tau.value, f"share of draws with 1, {family}": tau.share_at_least(1.0)}
    return Outcome(f"{label}, real text", partial(_all_above, _steps_by_volume(taus, label)[1]), numbers)


@quantity
def every_step(study: _Study) -> Iterator[Outcome]:
    names, rows = _steps_by_volume(_taus_by_volume(study, study.dd), study.dd)
    yield Outcome(f"{study.dd}, real text", partial(_all_above, rows), _with_intervals(names, rows))


@quantity
def highest_tau(study: _Study) -> Iterator[Outcome]:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus, family in study.groups:
        own = study.taus.get((corpus, study.dd, family))
        rivals = {name: tau for name in _RIVALS if (tau := study.taus.get((corpus, name, family))) is not None}
        if own is not None and rivals:
            numbers |= {f"{name}, {corpus}, {family}": tau.value for name, tau in {study.dd: own, **rivals}.items()}
            fails += [_chance_above(tau, own) for tau in rivals.values()]
    yield Outcome(f"{study.dd}, {_BOTH}", partial(verdict_of_chances, fails, study.level), numbers)


@quantity
def language_model_ties(study: _Study) -> Iterator[Outcome]:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus, family in study.groups:
        own, other = (study.taus.get((corpus, name, family)) for name in (study.dd, LM))
        if own is not None and other is not None:
            numbers[f"{corpus}, {family}"] = other.value
            below = _chance_above(own, other)
            fails.append(below if family == "GPT-2" else 1 - below)
    yield Outcome(f"{study.dd}, {_BOTH}", partial(verdict_of_chances, fails, study.level), numbers)


@quantity
def uninformative_bleu(study: _Study) -> Iterator[Outcome]:
    tau = study.taus["real", "BLEU-5", "LSTM"]
    share = _share_where(tau, lambda value: abs(value) > _UNINFORMATIVE + 1e-9)
    numbers = {"tau": tau.value, "low": tau.low, "high": tau.high, "share beyond 0.2": share}
    yield Outcome("BLEU-5, real text", partial(verdict_of_chances, [share], study.level), numbers)


@quantity
def narrow_fed(study: _Study) -> Iterator[Outcome]:
    fed = study.values("synthetic", "FED")
    rows = _steps(fed.select(fed.order), level=study.level)
    _, counts = np.unique(np.round(fed.values, 3), return_counts=True)
    n_ties = int(counts[counts > 1].sum())
    n_apart = int(np.sum(rows[:, 1] > 0))

    def verdict_at(times: float) -> Verdict:
        return "holds" if n_ties else "does not hold" if _all_above(rows, times) == "holds" else UNSURE

    numbers: dict[str, Number] = {
        "least": float(fed.values.min()),
        "range": float(np.ptp(fed.values)),
        "generators that tie in three decimals": n_ties,
        "neighbours": len(rows),
        "neighbours told apart": n_apart,
    }
    yield Outcome("FED, synthetic text", verdict_at, numbers)


@quantity
def families(study: _Study) -> Iterator[Outcome]:
    for corpus, measured in study.corpora.items():
        values = study.values(corpus, study.dd)
        row_of = dict(zip(values.generators, np.eye(len(values.generators)), strict=True))
        pairs = list(zip(measured.families["LSTM"], measured.families["GPT-2"], strict=True))
        contrasts = np.array([row_of[lstm] - row_of[gpt] for lstm, gpt in pairs])
        rows = differences(values.values, values.covariance, contrasts, level=study.level)
        numbers = _with_intervals([f"{lstm} - {gpt}" for lstm, gpt in pairs], rows)
        yield Outcome(f"{study.dd}, {corpus} text", partial(_all_above, rows), numbers)


@quantity
def far_below(study: _Study) -> Iterator[Outcome]:
    own, exact = _own_and_exact(study)
    (order,) = monotone_in_exact(study)
    in_order = order.basis
    assert callable(in_order)
    excess = _excess(exact, own, factor=0.5, level=study.level)

    def verdict_at(times: float) -> Verdict:
        verdicts = {_all_above(excess, times), in_order(times)}
        return "does not hold" if "does not hold" in verdicts else "holds" if verdicts == {"holds"} else UNSURE

    shares = own.values / exact.values
    numbers = {
        "least share of exact DD": float(shares.min()),
        "greatest share of exact DD": float(shares.max()),
        "Pearson": correlation(own.values, exact.values, "pearson").value,
        "tau": order.numbers["tau"],
    }
    yield Outcome(f"{study.dd}, synthetic text", verdict_at, numbers)


@quantity
def never_above(study: _Study) -> Iterator[Outcome]:
    own, exact = _own_and_exact(study)
    rows = _excess(exact, own, factor=1.0, level=study.level)
    names = [f"exact DD - {study.dd}: {name}" for name in own.generators]
    verdict: Verdict = "does not hold" if np.any(rows[:, 2] < 0) else "holds"
    yield Outcome(f"{study.dd}, synthetic text", verdict, _with_intervals(names, rows))


@quantity
def no_perfect_bleu(study: _Study) -> Iterator[Outcome]:
    numbers: dict[str, Number] = {}
    fails = []
    families = study.corpora["real"].groups()
    for metric in _OF_TABLE_7:
        known = [study.taus[place] for family in families if (place := ("real", metric, family)) in study.taus]
        if 2 <= len(known) == len(families):
            perfect = [tau.share_at_least(1.0) + _share_where(tau, lambda value: value <= -1 + 1e-9) for tau in known]
            fails.append(float(np.prod(perfect)))
            numbers |= {f"{metric}, {tau.group}": tau.value for tau in known}
    yield Outcome("real text", partial(verdict_of_chances, fails, study.level), numbers)


def _all_above(rows: FloatArray, times: float = 1.0) -> Verdict:
    """Return the verdict on differences, low and high, shape (m, 3), that should lie above 0; 0 for sure does not.

    `times`: with so many times as much data, if the differences stay what they are.
    """
    low, high = (rows[:, :1] + (rows[:, 1:] - rows[:, :1]) / np.sqrt(times)).T
    if np.any((high < 0) | ((low == 0) & (high == 0))):
        return "does not hold"
    return "holds" if np.all(low > 0) else UNSURE


def _steps(values: MetricValues, *, level: float) -> FloatArray:
    """Return by how much each generator is better than the next."""
    n, slopes = len(values.generators), values.slopes()
    covariance = np.outer(slopes, slopes) * values.covariance
    return differences(values.goodness, covariance, np.eye(n)[:-1] - np.eye(n)[1:], level=level)


def _own_and_exact(study: _Study) -> tuple[MetricValues, MetricValues]:
    """Return what was found, and the exact discrepancies of the same generators."""
    own = study.values("synthetic", study.dd)
    return own, study.values("synthetic", EXACT).select(own.generators)


def _excess(exact: MetricValues, own: MetricValues, *, factor: float, level: float) -> FloatArray:
    """Return `factor` times exact less own of every generator; the two are measured on different sentences."""
    covariance = factor**2 * exact.covariance + own.covariance
    return differences(factor * exact.values - own.values, covariance, np.eye(len(own.generators)), level=level)


def _with_intervals(names: Iterable[str], rows: FloatArray) -> dict[str, Number]:
    numbers: dict[str, Number] = {}
    for name, (difference, low, high) in zip(names, rows.tolist(), strict=True):
        numbers |= {name: difference, f"{name}: low": low, f"{name}: high": high}
    return numbers


def _chance_above(first: TauDistribution, second: TauDistribution) -> float:
    """Return the chance that a draw of `first` lies above one of `second`, as if they were independent."""
    above = np.subtract.outer(first.values, second.values) > 1e-9
    return float(np.array(first.shares) @ above @ np.array(second.shares))


def _share_where(tau: TauDistribution, condition: Callable[[float], bool]) -> float:
    return sum(share for value, share in zip(tau.values, tau.shares, strict=True) if condition(value))
