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
from functools import partial
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError
from textassay_lab.meta_evaluation.correlation import correlation
from textassay_lab.meta_evaluation.gold_order import BY_VOLUME, gold_by_volume
from textassay_lab.meta_evaluation.metric_values import MetricValues
from textassay_lab.meta_evaluation.rank_agreement import agreement, differences, pooled
from textassay_lab.meta_evaluation.reproduction import Cell, CheckedFinding, Number, TauDistribution, Verdict
from textassay_lab.papers.dd.published import DD, EXACT, VALID_DD, group_name, published_tau
from textassay_lab.papers.findings import BY_CHANCES, UNSURE, Outcome, Rule, verdict_of_chances

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


FloatArray = npt.NDArray[np.float64]

_RIVALS = ("BLEU-5", "LM score", "FED")  # of tables 4 and 5
_OF_TABLE_7 = tuple(f"{kind}BLEU-{order}" for kind in ("", "self-") for order in (2, 3, 4))
_UNINFORMATIVE = 0.2  # of tau: six of ten pairs in one order, four in the other
_ORDER = "Holds where all simultaneous intervals lie above 0, does not where one lies below 0."
_TAUS = BY_CHANCES.format(draws="draws", of_it="of it ")


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
    measured: Sequence[Measured], taus: Sequence[TauDistribution], *, level: float = 0.95
) -> tuple[CheckedFinding, ...]:
    """Return every finding, checked for each discrepancy that was measured."""
    by_group: dict[tuple[str, str, str], TauDistribution] = {}
    for tau in taus:
        n, name = tau.group.split(" ", 1)
        by_group.setdefault(
            ("real" if tau.gold == BY_VOLUME else "synthetic", tau.metric, n if n == "all" else name), tau
        )
    dds = list(dict.fromkeys(dd for one in measured for dd in one.dds)) or [DD]
    studies = [_Study(dd, {one.corpus: one for one in measured}, by_group, level) for dd in dds]
    return tuple(
        rule.checked_on(study, rule.about.format(dd=study.dd), level)
        for rule in _RULES
        for study in (studies if "{dd}" in rule.about else studies[:1])
    )


def of_this_text(findings: Sequence[CheckedFinding], corpus: Corpus) -> tuple[CheckedFinding, ...]:
    """Return the findings without those of the other text, real or synthetic, that `corpus` cannot show."""
    other = "synthetic text" if corpus == "real" else "real text"
    return tuple(
        finding for finding in findings if finding.verdict != "not measured" or finding.about.split(", ")[-1] != other
    )


def _monotone_in_exact(study: _Study) -> Outcome:
    tau = study.taus["synthetic", study.dd, "all"]
    gold, own = (
        {(pair.better, pair.worse): pair for pair in tau.neighbours if pair.by == name} for name in (EXACT, study.dd)
    )
    pairs = [(gold[pair], own[pair]) for pair in gold]
    wrong = [g.separated and o.difference <= 0 and (o.separated or not o.high) for g, o in pairs]
    right = [g.separated and o.separated and o.difference > 0 for g, o in pairs]
    numbers: dict[str, Number] = {
        "tau": tau.value,
        "low": tau.low,
        "high": tau.high,
        "share of draws with tau 1": tau.share_at_least(1.0),
        "neighbours": len(pairs),
        "told apart by exact DD": sum(pair.separated for pair in gold.values()),
        f"told apart by {study.dd}": sum(pair.separated for pair in own.values()),
    }
    return ("does not hold" if any(wrong) else "holds" if all(right) else UNSURE), numbers


def _taus_by_volume(study: _Study, label: str) -> dict[str, TauDistribution]:
    """Return family to tau on real text."""
    return {family: study.taus["real", label, family] for family in study.corpora["real"].groups()}


def _steps_by_volume(taus: Mapping[str, TauDistribution], label: str) -> tuple[list[str], FloatArray]:
    """Return the names of steps in training text, and their differences with intervals."""
    pairs = [pair for tau in taus.values() for pair in tau.neighbours if pair.by == label]
    rows = np.array([[pair.difference, pair.low, pair.high] for pair in pairs])
    return [f"{pair.worse} - {pair.better}" for pair in pairs], rows


def _order_by_volume(study: _Study, label: str) -> Outcome:
    taus = _taus_by_volume(study, label)
    numbers: dict[str, Number] = {}
    for family, tau in taus.items():
        numbers |= {f"tau, {family}": tau.value, f"share of draws with 1, {family}": tau.share_at_least(1.0)}
    return _all_above(_steps_by_volume(taus, label)[1]), numbers


def _every_step(study: _Study) -> Outcome:
    names, rows = _steps_by_volume(_taus_by_volume(study, study.dd), study.dd)
    return _all_above(rows), _with_intervals(names, rows)


def _highest_tau(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus, family in study.groups:
        own = study.taus.get((corpus, study.dd, family))
        rivals = {name: tau for name in _RIVALS if (tau := study.taus.get((corpus, name, family))) is not None}
        if own is not None and rivals:
            numbers |= {f"{name}, {corpus}, {family}": tau.value for name, tau in {study.dd: own, **rivals}.items()}
            fails += [_chance_above(tau, own) for tau in rivals.values()]
    return verdict_of_chances(fails, study.level), numbers


def _language_model_ties(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    for corpus, family in study.groups:
        own, other = (study.taus.get((corpus, name, family)) for name in (study.dd, "LM score"))
        if own is not None and other is not None:
            numbers[f"{corpus}, {family}"] = other.value
            below = _chance_above(own, other)
            fails.append(below if family == "GPT-2" else 1 - below)
    return verdict_of_chances(fails, study.level), numbers


def _uninformative_bleu(study: _Study) -> Outcome:
    tau = study.taus["real", "BLEU-5", "LSTM"]
    share = _share_where(tau, lambda value: abs(value) > _UNINFORMATIVE + 1e-9)
    numbers = {"tau": tau.value, "low": tau.low, "high": tau.high, "share beyond 0.2": share}
    return verdict_of_chances([share], study.level), numbers


def _narrow_fed(study: _Study) -> Outcome:
    fed = study.values("synthetic", "FED")
    rows = _steps(fed.select(fed.order), level=study.level)
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


def _families(study: _Study, corpus: str) -> Outcome:
    values, families = study.values(corpus, study.dd), study.corpora[corpus].families
    row_of = dict(zip(values.generators, np.eye(len(values.generators)), strict=True))
    pairs = list(zip(families["LSTM"], families["GPT-2"], strict=True))
    contrasts = np.array([row_of[lstm] - row_of[gpt] for lstm, gpt in pairs])
    rows = differences(values.values, values.covariance, contrasts, level=study.level)
    return _all_above(rows), _with_intervals([f"{lstm} - {gpt}" for lstm, gpt in pairs], rows)


def _far_below(study: _Study) -> Outcome:
    own, exact = _own_and_exact(study)
    order, numbers = _monotone_in_exact(study)
    verdicts = {_all_above(_excess(exact, own, factor=0.5, level=study.level)), order}
    verdict: Verdict = "does not hold" if "does not hold" in verdicts else "holds" if verdicts == {"holds"} else UNSURE
    shares = own.values / exact.values
    return verdict, {
        "least share of exact DD": float(shares.min()),
        "greatest share of exact DD": float(shares.max()),
        "Pearson": correlation(own.values, exact.values, "pearson").value,
        "tau": numbers["tau"],
    }


def _never_above(study: _Study) -> Outcome:
    own, exact = _own_and_exact(study)
    rows = _excess(exact, own, factor=1.0, level=study.level)
    names = [f"exact DD - {study.dd}: {name}" for name in own.generators]
    return ("does not hold" if np.any(rows[:, 2] < 0) else "holds"), _with_intervals(names, rows)


def _no_perfect_bleu(study: _Study) -> Outcome:
    numbers: dict[str, Number] = {}
    fails = []
    families = study.corpora["real"].groups()
    for metric in _OF_TABLE_7:
        known = [study.taus[place] for family in families if (place := ("real", metric, family)) in study.taus]
        if 2 <= len(known) == len(families):
            perfect = [tau.share_at_least(1.0) + _share_where(tau, lambda value: value <= -1 + 1e-9) for tau in known]
            fails.append(float(np.prod(perfect)))
            numbers |= {f"{metric}, {tau.group}": tau.value for tau in known}
    return verdict_of_chances(fails, study.level), numbers


def _all_above(rows: FloatArray) -> Verdict:
    """Return the verdict on differences, low and high, shape (m, 3), that should lie above 0; 0 for sure does not."""
    low, high = rows[:, 1], rows[:, 2]
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


_BOTH = "{dd}, real and synthetic text"
_REAL, _SYNTHETIC = "{dd}, real text", "{dd}, synthetic text"
_RULES = (
    Rule("F1", "DD puts all generators in the order of the exact discrepancy.", "tau 1.0",
         "Holds where every two neighbours by exact DD are told apart by both, in one order; does not where both "
         "tell two apart in opposite orders. Intervals are simultaneous.", _monotone_in_exact, "", _SYNTHETIC),
    Rule("F2", "Test DD puts each family in the order of its training text.", "tau 1.0 and 1.0", "",
         lambda study: _order_by_volume(study, study.dd), _ORDER, _REAL),
    Rule("F3", "Validation DD does, too.", "tau 1.0 and 1.0", "", lambda study: _order_by_volume(study, VALID_DD),
         _ORDER, "valid DD, real text"),
    Rule("F4", "No other metric has a higher tau than DD, in any group of generators.", "true", "", _highest_tau,
         _TAUS, _BOTH),
    Rule("F5", "The LM score is as good as DD for GPT-2, and only there.", "tau 1.0 for GPT-2", "",
         _language_model_ties, _TAUS, _BOTH),
    Rule("F6", "BLEU-5 says nothing of the order of the LSTMs.", "tau 0.0", f"|tau| at most {_UNINFORMATIVE}.",
         _uninformative_bleu, _TAUS, "BLEU-5, real text"),
    Rule("F7", "FED hardly varies between the generators, and ties.",
         "range 0.006; 8 of 10 tie with another in three decimals",
         "Holds where values tie in three decimals, does not where every two neighbours by FED are told apart.",
         _narrow_fed, "", "FED, synthetic text"),
    *(Rule("F8", "With equal training text GPT-2 has the lower DD.", "true at all five sizes", "",
           partial(_families, corpus=corpus), _ORDER, about)
      for corpus, about in (("real", _REAL), ("synthetic", _SYNTHETIC))),
    Rule("F9", "DD is below half of the exact discrepancy for every generator, and yet rises with it.",
         "0.192 to 0.442 against 0.935 to 0.994; Pearson 0.924", "Both parts.", _far_below, _ORDER, _SYNTHETIC),
    Rule("F10", "Less training text means a higher test DD, at every step.", "true, both families", "", _every_step,
         _ORDER, _REAL),
    Rule("F11", "No BLEU or self-BLEU of order 2 to 4 has |tau| = 1 in both families.", "true; at most 0.949", "",
         _no_perfect_bleu, _TAUS, "real text"),
    Rule("I3", "DD is never above the exact discrepancy, which no classifier can exceed.", "true",
         "Does not hold where a simultaneous interval of the difference lies below 0.", _never_above, "", _SYNTHETIC),
)  # fmt: skip
