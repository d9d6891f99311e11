"""Agreement of each metric's order with the truth, and the paper's findings, checked on published values or on ours.

Kendall's tau is taken inside each family and on synthetic text over all generators, too (tables 4 and 5); gold is by
training text or exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 5 and 6.
Departs from it: a finding holds only where it does beyond the error of the values. Findings about orders look at
differences with simultaneous intervals, findings about Kendall's tau at its distribution over draws (`_ORDER` and
`_TAUS` say how). What lacks values is not measured. Published values count as exact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError
from textassay.meta_evaluation import (
    BY_VOLUME,
    Cell,
    CheckedFinding,
    MetricValues,
    Neighbours,
    Number,
    TauDistribution,
    Verdict,
    agreement,
    correlation,
    differences,
    gold_by_volume,
    pooled,
)
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
from textassay.study.findings import BY_CHANCES, UNSURE, Finding, verdict_of_chances

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


FloatArray = npt.NDArray[np.float64]
Outcome = tuple[Verdict, dict[str, Number]]

_RIVALS = ("BLEU-5", "LM score", "FED")  # of tables 4 and 5
_OF_TABLE_7 = tuple(f"{kind}BLEU-{order}" for kind in ("", "self-") for order in (2, 3, 4))
_UNINFORMATIVE = 0.2  # of tau: six of ten pairs in one order, four in the other
_NOT_MEASURED: Outcome = ("not measured", {})
_ORDER = "Holds where all simultaneous intervals lie above 0, does not where one lies below 0."
_TAUS = BY_CHANCES.format(draws="draws", of_it="of it ")


@dataclass(frozen=True)
class _Study:
    """All that was measured, for one discrepancy `dd`."""

    dd: str
    corpora: Mapping[str, Measured]
    taus: Sequence[TauDistribution]
    level: float

    def values(self, corpus: str, metric: str) -> MetricValues | None:
        """Return the mean over training seeds; None where it was not measured."""
        measured = self.corpora.get(corpus)
        runs = () if measured is None else measured.values.get(metric, ())
        return pooled(runs) if runs else None

    def tau(self, corpus: str, metric: str, family: str) -> TauDistribution | None:
        """Return tau in one family, or over "all"."""
        gold = BY_VOLUME if corpus == "real" else EXACT
        for tau in self.taus:
            words = tau.group.split(" ", 1)
            if (tau.metric, tau.gold) == (metric, gold) and family in (words[0] if family == "all" else words[1],):
                return tau
        return None

    def columns(self, corpus: str) -> list[str]:
        """Return the groups of generators that tau is about."""
        return list(self.corpora[corpus].groups()) if corpus in self.corpora else []

    def order(self, rows: FloatArray) -> Verdict:
        """Return the verdict on differences, low and high, shape (m, 3), that should lie above 0."""
        if any(_is_wrong(low, high) for _, low, high in rows.tolist()):
            return "does not hold"
        return "holds" if np.all(rows[:, 1] > 0) else UNSURE


def check_findings(
    measured: Sequence[Measured], taus: Sequence[TauDistribution], *, level: float = 0.95
) -> tuple[CheckedFinding, ...]:
    """Return every finding, checked for each discrepancy that was measured."""
    corpora: dict[str, Measured] = {one.corpus: one for one in measured}
    dds = list(dict.fromkeys(dd for one in measured for dd in one.dds)) or [DD]
    checked = []
    for rule in _RULES:
        for dd in dds if rule.of_dd else dds[:1]:
            verdict, numbers = rule.check(_Study(dd, corpora, taus, level))
            about = f"{dd}, {rule.about}" if rule.of_dd else rule.about
            checked.append(rule.with_verdict(about, verdict, numbers))
    return tuple(checked)


def of_this_text(findings: Sequence[CheckedFinding], corpus: Corpus) -> tuple[CheckedFinding, ...]:
    """Return the findings without those of the other text, real or synthetic, that `corpus` cannot show."""
    other = "synthetic text" if corpus == "real" else "real text"
    return tuple(
        finding for finding in findings if finding.verdict != "not measured" or finding.about.split(", ")[-1] != other
    )


def _monotone_in_exact(study: _Study) -> Outcome:
    tau = study.tau("synthetic", study.dd, "all")
    if tau is None:
        return _NOT_MEASURED
    gold, own = (_by(tau.neighbours, name) for name in (EXACT, study.dd))
    pairs = {pair: (gold[pair], own[pair]) for pair in gold}
    wrong = [
        pair for pair, (g, o) in pairs.items() if g.separated and o.difference <= 0 and (o.separated or not o.high)
    ]
    right = [pair for pair, (g, o) in pairs.items() if g.separated and o.separated and o.difference > 0]
    numbers: dict[str, Number] = {
        "tau": tau.value,
        "low": tau.low,
        "high": tau.high,
        "share of draws with tau 1": tau.share_at_least(1.0),
        "neighbours": len(pairs),
        "told apart by exact DD": sum(pair.separated for pair in gold.values()),
        f"told apart by {study.dd}": sum(pair.separated for pair in own.values()),
    }
    verdict: Verdict = "does not hold" if wrong else "holds" if len(right) == len(pairs) else UNSURE
    return verdict, numbers


def _by_volume(metric: Callable[[_Study], str], *, steps: bool) -> Callable[[_Study], Outcome]:
    def check(study: _Study) -> Outcome:
        label = metric(study)
        taus = {family: study.tau("real", label, family) for family in study.columns("real")}
        if not taus or any(tau is None for tau in taus.values()):
            return _NOT_MEASURED
        known = {family: tau for family, tau in taus.items() if tau is not None}
        pairs = [pair for tau in known.values() for pair in tau.neighbours if pair.by == label]
        numbers: dict[str, Number] = {}
        if steps:
            for pair in pairs:
                name = f"{pair.worse} - {pair.better}"
                numbers |= {name: pair.difference, f"{name}: low": pair.low, f"{name}: high": pair.high}
        else:
            for family, tau in known.items():
                numbers |= {f"tau, {family}": tau.value, f"share of draws with 1, {family}": tau.share_at_least(1.0)}
        return study.order(np.array([[pair.difference, pair.low, pair.high] for pair in pairs])), numbers

    return check


def _highest_tau(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus in study.corpora:
        for family in study.columns(corpus):
            own = study.tau(corpus, study.dd, family)
            rivals = {name: tau for name in _RIVALS if (tau := study.tau(corpus, name, family)) is not None}
            if own is None or not rivals:
                continue
            numbers[f"{study.dd}, {corpus}, {family}"] = own.value
            for name, tau in rivals.items():
                numbers[f"{name}, {corpus}, {family}"] = tau.value
                fails.append(_chance_above(tau, own))
    return (verdict_of_chances(fails, study.level), numbers) if fails else _NOT_MEASURED


def _language_model_ties(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus in study.corpora:
        for family in study.columns(corpus):
            own, other = study.tau(corpus, study.dd, family), study.tau(corpus, "LM score", family)
            if own is None or other is None:
                continue
            numbers |= {f"{corpus}, {family}": other.value}
            below = _chance_above(own, other)
            fails.append(below if family == "GPT-2" else 1 - below)
    return (verdict_of_chances(fails, study.level), numbers) if fails else _NOT_MEASURED


def _uninformative_bleu(study: _Study) -> Outcome:
    tau = study.tau("real", "BLEU-5", "LSTM")
    if tau is None:
        return _NOT_MEASURED
    share = sum(s for value, s in zip(tau.values, tau.shares, strict=True) if abs(value) > _UNINFORMATIVE + 1e-9)
    return verdict_of_chances([share], study.level), {
        "tau": tau.value,
        "low": tau.low,
        "high": tau.high,
        "share beyond 0.2": share,
    }


def _narrow_fed(study: _Study) -> Outcome:
    fed = study.values("synthetic", "FED")
    if fed is None:
        return _NOT_MEASURED
    ordered = fed.select(fed.order)
    rows = _steps(ordered, level=study.level)
    _, counts = np.unique(np.round(fed.values, 3), return_counts=True)
    n_ties = int(counts[counts > 1].sum())
    n_apart = int(np.sum(rows[:, 1] > 0))
    numbers: dict[str, Number] = {
        "least": float(fed.values.min()),
        "range": float(np.ptp(fed.values)),
        "generators that tie in three decimals": n_ties,
        "neighbours": len(rows),
        "neighbours told apart": n_apart,
    }
    return ("holds" if n_ties else "does not hold" if n_apart == len(rows) else UNSURE), numbers


def _families(corpus: str) -> Callable[[_Study], Outcome]:
    def check(study: _Study) -> Outcome:
        values, measured = study.values(corpus, study.dd), study.corpora.get(corpus)
        if values is None or measured is None or not {"LSTM", "GPT-2"} <= set(measured.families):
            return _NOT_MEASURED
        pairs = list(zip(measured.families["LSTM"], measured.families["GPT-2"], strict=True))
        if not {name for pair in pairs for name in pair} <= set(values.generators):
            return _NOT_MEASURED
        contrasts = np.zeros((len(pairs), len(values.generators)))
        for row, (lstm, gpt) in enumerate(pairs):
            contrasts[row, values.generators.index(lstm)], contrasts[row, values.generators.index(gpt)] = 1, -1
        rows = differences(values.values, values.covariance, contrasts, level=study.level)
        return study.order(rows), _with_intervals([f"{lstm} - {gpt}" for lstm, gpt in pairs], rows)

    return check


def _far_below(study: _Study) -> Outcome:
    exact, own = study.values("synthetic", EXACT), study.values("synthetic", study.dd)
    if exact is None or own is None:
        return _NOT_MEASURED
    rows = _excess(exact, own, factor=0.5, level=study.level)
    order, numbers = _monotone_in_exact(study)
    shares = own.values / exact.select(own.generators).values
    pearson = correlation(own.values, exact.select(own.generators).values, "pearson").value
    verdicts = (study.order(rows), order)
    verdict: Verdict = UNSURE if "does not hold" not in verdicts else "does not hold"
    verdict = "holds" if set(verdicts) == {"holds"} else verdict
    return verdict, {
        "least share of exact DD": float(shares.min()),
        "greatest share of exact DD": float(shares.max()),
        "Pearson": pearson,
        "tau": numbers.get("tau"),
    }


def _never_above(study: _Study) -> Outcome:
    exact, own = study.values("synthetic", EXACT), study.values("synthetic", study.dd)
    if exact is None or own is None:
        return _NOT_MEASURED
    rows = _excess(exact, own, factor=1.0, level=study.level)
    above = bool(np.any(rows[:, 2] < 0))
    return ("does not hold" if above else "holds"), _with_intervals(
        [f"exact DD - {study.dd}: {n}" for n in own.generators], rows
    )


def _no_perfect_bleu(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    for metric in _OF_TABLE_7:
        taus = [study.tau("real", metric, family) for family in study.columns("real")]
        known = [tau for tau in taus if tau is not None]
        if len(known) < 2 or len(known) < len(taus):
            continue
        perfect = [t.share_at_least(1.0) + sum(_shares_where(t, lambda x: x <= -1 + 1e-9)) for t in known]
        fails.append(float(np.prod(perfect)))
        numbers |= {f"{metric}, {tau.group}": tau.value for tau in known}
    return (verdict_of_chances(fails, study.level), numbers) if fails else _NOT_MEASURED


def _is_wrong(low: float, high: float) -> bool:
    """Return whether a difference that should lie above 0 lies below, or is 0 for sure."""
    return high < 0 or low == high == 0


def _by(neighbours: Iterable[Neighbours], name: str) -> dict[tuple[str, str], Neighbours]:
    return {(pair.better, pair.worse): pair for pair in neighbours if pair.by == name}


def _steps(values: MetricValues, *, level: float) -> FloatArray:
    """Return by how much each generator is better than the next."""
    n, slopes = len(values.generators), values.slopes()
    covariance = np.outer(slopes, slopes) * values.covariance
    return differences(values.goodness, covariance, np.eye(n)[:-1] - np.eye(n)[1:], level=level)


def _excess(exact: MetricValues, own: MetricValues, *, factor: float, level: float) -> FloatArray:
    """Return `factor` times exact less own of every generator; the two are measured on different sentences."""
    same = exact.select(own.generators)
    covariance = factor**2 * same.covariance + own.covariance
    return differences(factor * same.values - own.values, covariance, np.eye(len(own.generators)), level=level)


def _with_intervals(names: Iterable[str], rows: FloatArray) -> dict[str, Number]:
    numbers: dict[str, Number] = {}
    for name, (difference, low, high) in zip(names, rows.tolist(), strict=True):
        numbers |= {name: difference, f"{name}: low": low, f"{name}: high": high}
    return numbers


def _chance_above(first: TauDistribution, second: TauDistribution) -> float:
    """Return the chance that a draw of `first` lies above one of `second`, as if they were independent."""
    above = np.subtract.outer(first.values, second.values) > 1e-9
    return float(np.array(first.shares) @ above @ np.array(second.shares))


def _shares_where(tau: TauDistribution, condition: Callable[[float], bool]) -> list[float]:
    return [share for value, share in zip(tau.values, tau.shares, strict=True) if condition(value)]


@dataclass(frozen=True)
class _Rule(Finding):
    """A finding: what it is about, whether of each discrepancy, how it is checked."""

    about: str
    check: Callable[[_Study], Outcome]
    of_dd: bool = True


_BOTH = "real and synthetic text"
_RULES = (
    _Rule("F1", "DD puts all generators in the order of the exact discrepancy.", "tau 1.0",
          "Holds where every two neighbours by exact DD are told apart by both, in one order; does not where both "
          "tell two apart in opposite orders. Intervals are simultaneous.", "synthetic text", _monotone_in_exact),
    _Rule("F2", "Test DD puts each family in the order of its training text.", "tau 1.0 and 1.0", _ORDER, "real text",
          _by_volume(lambda study: study.dd, steps=False)),
    _Rule("F3", "Validation DD does, too.", "tau 1.0 and 1.0", _ORDER, "valid DD, real text",
          _by_volume(lambda study: VALID_DD, steps=False), of_dd=False),
    _Rule("F4", "No other metric has a higher tau than DD, in any group of generators.", "true", _TAUS, _BOTH,
          _highest_tau),
    _Rule("F5", "The LM score is as good as DD for GPT-2, and only there.", "tau 1.0 for GPT-2", _TAUS, _BOTH,
          _language_model_ties),
    _Rule("F6", "BLEU-5 says nothing of the order of the LSTMs.", "tau 0.0",
          f"|tau| at most {_UNINFORMATIVE}. {_TAUS}", "BLEU-5, real text", _uninformative_bleu, of_dd=False),
    _Rule("F7", "FED hardly varies between the generators, and ties.",
          "range 0.006; 8 of 10 tie with another in three decimals",
          "Holds where values tie in three decimals, does not where every two neighbours by FED are told apart.",
          "FED, synthetic text", _narrow_fed, of_dd=False),
    _Rule("F8", "With equal training text GPT-2 has the lower DD.", "true at all five sizes", _ORDER, "real text",
          _families("real")),
    _Rule("F8", "With equal training text GPT-2 has the lower DD.", "true at all five sizes", _ORDER,
          "synthetic text", _families("synthetic")),
    _Rule("F9", "DD is below half of the exact discrepancy for every generator, and yet rises with it.",
          "0.192 to 0.442 against 0.935 to 0.994; Pearson 0.924", f"Both parts. {_ORDER}", "synthetic text",
          _far_below),
    _Rule("F10", "Less training text means a higher test DD, at every step.", "true, both families", _ORDER,
          "real text", _by_volume(lambda study: study.dd, steps=True)),
    _Rule("F11", "No BLEU or self-BLEU of order 2 to 4 has |tau| = 1 in both families.", "true; at most 0.949", _TAUS,
          "real text", _no_perfect_bleu, of_dd=False),
    _Rule("I3", "DD is never above the exact discrepancy, which no classifier can exceed.", "true",
          "Does not hold where a simultaneous interval of the difference lies below 0.", "synthetic text",
          _never_above),
)  # fmt: skip
