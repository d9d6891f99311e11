"""The findings of the paper on exposure bias, checked on the published numbers and on ours.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 and 5.
Departs from it: a finding holds only beyond the error of the numbers. Each is a list of conditions, a number and where
it should lie, fixed before anything was measured; a trend is the slope over all lengths, not two points. The paper's
"slightly" and "slowly" are numbers here, and stand in the rule.

Where runs share one model, the covariance is over sequences (delta method), pooled over the runs, and intervals are
normal. Where each run trained its own model, and for BLEU, whose sentences are not kept, it is over runs, and intervals
are Student's. Published values are independent, with their published spreads.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Interval
from textassay_lab.exposure.bleu import BleuRun
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.kernel import COLUMNS, row_distances
from textassay_lab.exposure.runs import PrefixRun, parse_kind
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.meta_evaluation.reproduction import CheckedFinding, Number, Verdict
from textassay_lab.papers.exposure_bias.measures import (
    COT,
    DATA_MODEL,
    FRESH_SAMPLES,
    OTHERS,
    RANDOM_ORACLE,
    RANKGAN,
    SCRATCHGAN,
    SYNTHETIC_MODELS,
    TEST_SET,
    ExposureResults,
)
from textassay_lab.papers.exposure_bias.published import (
    LENGTHS,
    bleu_row,
    published_table,
    ratio_row,
    recomputed_ratios,
)
from textassay_lab.papers.findings import Condition, difference
from textassay_lab.papers.findings import Finding as _Rule
from textassay_lab.papers.measures import mean_interval

FloatArray = npt.NDArray[np.float64]

EB_C = "EB-C"
_RUNS = 10  # of table 2
_NONE = 1e-12  # a mean distance of no more than this is none


@dataclass(frozen=True, eq=False)
class LengthValues:
    """Several numbers at each of K prefix lengths."""

    lengths: tuple[int, ...]  # K numbers
    values: Mapping[str, FloatArray]  # Name to values, shapes (K,); m names
    covariance: FloatArray  # Of all values, in the order of their names, shape (m K, m K)
    degrees: float  # Of freedom of the covariance; infinite where it is known well

    def condition(
        self,
        name: str,
        weights: Mapping[str, FloatArray],
        *,
        less: float = 0.0,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> Condition:
        """Return a condition about the sum of weighted values less a constant; weights are of shapes (K,)."""
        zeros = np.zeros(len(self.lengths))
        row = np.concatenate([weights.get(one, zeros) for one in self.values])
        value = math.fsum(row * np.concatenate(list(self.values.values()))) - less
        return Condition(
            name, value, math.sqrt(max(0.0, float(row @ self.covariance @ row))), self.degrees, lower, upper
        )

    def at_each(
        self, name: str, weights: Mapping[str, float], *, lower: float = -math.inf, upper: float = math.inf
    ) -> list[Condition]:
        """Return a condition for each length about a sum of weighted values."""
        return [
            self.condition(
                f"l = {length}: {name}",
                {one: weight * np.eye(len(self.lengths))[k] for one, weight in weights.items()},
                lower=lower,
                upper=upper,
            )
            for k, length in enumerate(self.lengths)
        ]


def mean_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights of a mean over lengths."""
    return np.full(len(lengths), 1 / len(lengths))


def trend_over(lengths: Sequence[int]) -> FloatArray:
    """Return the weights that give the growth from the first to the last length along the line of least squares."""
    places = np.array(lengths, dtype=np.float64)
    centred = places - places.mean()
    squares = float(centred @ centred)
    return centred / squares * np.ptp(places) if squares > 0 else np.full(len(places), np.nan)


def after_words(runs: Sequence[PrefixRun]) -> tuple[PrefixRun, ...]:
    """Return the runs without the empty prefix, after which all prefixes are the same."""
    return tuple(run.at([length for length in run.lengths if length > 0]) for run in runs)


def bleu_values(models: Mapping[str, Sequence[BleuRun]]) -> LengthValues:
    """Return C-bleu and EB-bleu of all models and kinds of prefixes, named as in table 2, BLEU in percent."""
    shapes = {(len(runs), *(run.lengths for run in runs)) for runs in models.values()}
    if len(shapes) != 1:
        raise InputError("models on one text must have as many runs each, with the same prefix lengths")
    tables: dict[str, FloatArray] = {}  # shapes (R, K)
    for model, runs in models.items():
        scores = {kind: 100 * np.stack([run.scores[kind] for run in runs]) for kind in runs[0].scores}
        tables |= {bleu_row(model, kind): values for kind, values in scores.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            tables |= {
                ratio_row(model, kind): np.where(values > 0, scores["data"] / values, np.nan)
                for kind, values in scores.items()
                if kind != "data"
            }
    return _over_runs(next(iter(models.values()))[0].lengths, tables)


def by_training(runs: Sequence[BleuRun], n_trainings: int) -> tuple[BleuRun, ...]:
    """Return the mean of the runs of each training; run r is of training r modulo `n_trainings`."""
    return tuple(_mean(runs[k::n_trainings]) for k in range(n_trainings))


def _mean(runs: Sequence[BleuRun]) -> BleuRun:
    scores = {kind: np.mean([run.scores[kind] for run in runs], axis=0) for kind in runs[0].scores}
    errors = {
        kind: np.sqrt(np.sum([run.errors[kind] ** 2 for run in runs], axis=0)) / len(runs) for kind in runs[0].errors
    }
    return replace(runs[0], scores=scores, errors=errors)


def mean_of_trainings(quantities: Sequence[Quantity]) -> Quantity:
    """Return the mean over trainings, with the interval of `mean_interval`: all are measured on one text."""
    if len(quantities) == 1:
        return quantities[0]
    values = [one.value for one in quantities]
    errors = [_error(one.interval) for one in quantities if one.interval is not None]
    if len(errors) < len(quantities) or not np.isfinite(values).all():
        return Quantity(float(np.mean(values)), None)
    interval = mean_interval(values, float(np.mean(errors)))
    return Quantity(float(np.mean(values)), replace(interval, low=max(0.0, interval.low)))


def published_bleu() -> LengthValues:
    """Return table 2; BLEU in percent."""
    table = published_table("table 2")
    assert table.spreads is not None
    spreads = np.array(table.spreads, dtype=np.float64)
    values = {
        row: np.array(row_values, dtype=np.float64) for row, row_values in zip(table.rows, table.values, strict=True)
    }
    return LengthValues(LENGTHS, values, np.diag(spreads.reshape(-1) ** 2 / _RUNS), _RUNS - 1)


def deviation_values(kinds: Mapping[str, Sequence[PrefixRun]], distance: str, *, retrained: bool) -> LengthValues:
    """Return the CGD after each kind of prefixes, named by the kind, and `EB_C`; without the empty prefix.

    `kinds`: runs of each, as many; ``data`` and ``model`` among them.
    """
    cut = {kind: after_words(runs) for kind, runs in kinds.items()}
    if len({(len(runs), *(run.lengths for run in runs)) for runs in cut.values()}) != 1:
        raise InputError("all kinds of prefixes must have as many runs, with the same lengths")
    lengths = cut["data"][0].lengths
    tables = {kind: np.stack([run.means[distance] for run in runs]) for kind, runs in cut.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        tables[EB_C] = np.where(tables["data"] > _NONE, tables["model"] / tables["data"], np.nan)
    over_runs = _over_runs(lengths, tables)
    n_runs, size = len(cut["data"]), len(lengths)
    if retrained and n_runs > 1:
        return over_runs
    total = np.zeros_like(over_runs.covariance)
    for run in range(n_runs):
        known = np.zeros((size * len(cut), size * len(cut)))
        slopes = np.zeros((size * len(tables), size * len(cut)))
        for place, runs in enumerate(cut.values()):
            own = slice(place * size, (place + 1) * size)
            known[own, own] = runs[run].covariances[distance]
            slopes[own, own] = np.eye(size)
        bottom, ratio, names = tables["data"][run], tables[EB_C][run], list(cut)
        with np.errstate(divide="ignore", invalid="ignore"):
            for kind, slope in (("data", -ratio / bottom), ("model", 1 / bottom)):
                begin = names.index(kind) * size
                slopes[-size:, begin : begin + size] = np.diag(np.where(bottom > _NONE, slope, np.nan))
            total += slopes @ known @ slopes.T
    return replace(over_runs, covariance=total / n_runs**2, degrees=math.inf)


def _over_runs(lengths: tuple[int, ...], tables: Mapping[str, FloatArray]) -> LengthValues:
    """Return the means of tables, shapes (R, K), with their covariance over runs; NaN of one run."""
    rows = np.concatenate(list(tables.values()), axis=1)  # (R, m K)
    n_runs, size = rows.shape
    covariance = np.full((size, size), np.nan)
    if n_runs > 1:
        centred = rows - rows.mean(axis=0)
        covariance = centred.T @ centred / ((n_runs - 1) * n_runs)
    return LengthValues(lengths, {name: table.mean(axis=0) for name, table in tables.items()}, covariance, n_runs - 1)


DISTANCE_NAMES: Mapping[Distance, str] = {
    "tv": "total variation",
    "js": "Jensen-Shannon",
    "greedy": "greedy",
}  # of figure 2
_LSTM, _TF, _UNIGRAM = "LSTM", "Transformer-XL", "position unigram"
_FLAT = 0.01  # of EB-bleu over the lengths: a third of the width of B1
_SLOW = 0.05  # of EB-C over the lengths: half of what the acceptance allows
_LITTLE = 1 / 0.9  # EB-bleu where a tenth of the quality is lost
_LEVEL = 0.95

Conditions = Iterable[Condition]

_RULES = {
    rule.id: rule
    for rule in (
        _Rule("B1", "EB-bleu lies between 1.00 and 1.03 at every length.", "1.009 to 1.023",
              "EB-bleu at each length, between 1 and 1.03."),
        _Rule("B1, mean", "EB-bleu is 1.01 to 1.02 on average.", "LSTM 1.020, Transformer-XL 1.012",
              "The mean over the lengths, between 1.005 and 1.025."),
        _Rule("B2", "EB-bleu does not grow with the length.",
              "LSTM 1.023 at 5 and 1.016 at 30; Transformer-XL 1.009 and 1.013",
              "Its growth from the first to the last length, by the slope over all, below 0.01."),
        _Rule("B3", "EB-bleu of shuffled prefixes grows with the length, and is above that of real ones.",
              "1.020 to 1.066", "Its growth, by the slope, above 0; its difference to EB-bleu at each length above 0."),
        _Rule("B4", "The Transformer-XL is ahead of the LSTM at every length, after both kinds of prefixes.",
              "by 17.0 to 21.0 points of BLEU", "Each difference of C-bleu above 0."),
        _Rule("B5", "Even after shuffled prefixes the Transformer-XL is ahead of the LSTM after real ones.",
              "by 15.8 to 17.5 points of BLEU", "Each difference of C-bleu above 0."),
        _Rule("B6", "EB-C is 1.01 to 1.02 on average.", "1.01 to 1.02 with all three distances",
              "The mean over the lengths, between 1.005 and 1.025, for each distance."),
        _Rule("B6, trend", "EB-C rises slowly with the length.", "slowly rising curves",
              "Its growth from the first to the last length, by the slope over all, between 0 and 0.05, for each "
              "distance."),
        _Rule("B7", "The model is worse after its own prefixes than after real ones, worse still after corrupted "
              "ones, and the more corrupted, the worse.", "true, in a figure without numbers",
              "Mean total variation over the lengths: each step above 0."),
        _Rule("B8", "EB-C of ScratchGAN is mostly below 1.", "true, in a figure without numbers",
              "The mean over the lengths, Jensen-Shannon, below 1."),
        _Rule("B8, ScratchGAN", "EB-C of ScratchGAN is below that of maximum likelihood.",
              "true, in a figure without numbers",
              "The mean over the lengths, Jensen-Shannon, less that of LSTM-512, below 0."),
        _Rule("B8, RankGAN", "EB-C of RankGAN lies between 1 and that of maximum likelihood.",
              "true, in a figure without numbers", "The mean over the lengths, Jensen-Shannon, above 1; less that "
              "of the model whose rounds they are, below 0."),
        _Rule("B8, oracle", "The random LSTM finds what is drawn likelier after the rounds of RankGAN.",
              "8.67 before, 8.55 after", "Nats per token after the rounds less those before, below 0."),
        _Rule("B9", "With people for the data, EB-C is 1.016 to 1.029 for text and 0.992 to 0.999 for translation.",
              "1.016 to 1.029; 0.992 to 0.999", "Needs people; of the printed numbers: each ratio as printed, within "
              "what rounding allows."),
        _Rule("B9, model", "EB-C of translation is near 1.", "0.992 to 0.999 with people for the data",
              "With a model for the data: EB-C at each length and for each distance, between 0.95 and 1.05."),
        _Rule("B10", "The models trained on samples have more perplexity than the data model, LSTM-32 more than "
              "LSTM-512.", "55.85, 115.3 and 156.3", "Both differences of the logarithms above 0."),
        _Rule("B11", "Example 1 of the paper has CGD 0.2 and 0.36 and EB-C 1.8.", "0.2, 0.36, 1.8",
              "The three numbers, to 12 decimals."),
        _Rule("B12", "EB-bleu of a model that looks at the position alone is 1.", "by argument",
              "The mean over the lengths between 0.99 and 1.01, its growth between -0.02 and 0.02."),
        _Rule("B13", "Continuations get only slightly worse from real prefixes to the model's own, to shuffled, to "
              "random ones.", "true, in examples", "Mean EB-bleu over the lengths: above 1 for the model's own, and "
              "each step to the next kind above 0; below 1.11 for all, which is a loss of a tenth."),
        _Rule("D1", "Scaled down, EB-C is within 0.1 of 1.", "by the specification, not the paper",
              "EB-C at each length and for each distance, between 0.9 and 1.1."),
        _Rule("D2", "Scaled down, EB-bleu is between 0.97 and 1.06.", "by the specification, not the paper",
              "EB-bleu at each length."),
        _Rule("D3", "Scaled down, shuffled prefixes hurt more than the model's own, and more as they get longer.",
              "by the specification, not the paper", "Growth of EB-bleu of shuffled prefixes, by the slope, above 0; "
              "mean over the lengths of its difference to EB-bleu above 0."),
        _Rule("D4", "EB-C of CoT is below that of maximum likelihood.", "CoT is named, without results",
              "The mean over the lengths, Jensen-Shannon, less that of LSTM-32, below 0."),
    )
}  # fmt: skip


def check_findings(
    results: ExposureResults, *, retrained: bool = False, level: float = _LEVEL
) -> tuple[CheckedFinding, ...]:
    """Return the verdict on every finding, once for each text or model with the measurements it needs."""
    checked: dict[str, list[CheckedFinding]] = {rule: [] for rule in _RULES}

    def add(rule: str, about: str, conditions: Conditions) -> None:
        checked[rule].append(_RULES[rule].checked(f"ours, {about}", conditions, level))

    for text, models in results.bleu.items():
        for rule, about, conditions in _of_bleu(bleu_values(models), f" on {text}"):
            add(rule, about, conditions)
    for model, kinds in results.synthetic.items():
        by_distance = {name: deviation_values(kinds, name, retrained=retrained) for name in DISTANCE_NAMES}
        add("D1", model, [one for name, values in by_distance.items() for one in _rates(values, name)])
        if model in SYNTHETIC_MODELS:
            add("B6", model, [_average(values, name) for name, values in by_distance.items()])
            add("B6, trend", model, [_rise(values, name) for name, values in by_distance.items()])
        if any(parse_kind(kind)[0] == "corrupted" for kind in kinds):
            add("B7", model, _corruption(by_distance["tv"]))
    for rule, model, conditions in _of_others(results, retrained=retrained):
        add(rule, model, conditions)
    for text in (TEST_SET, FRESH_SAMPLES):
        known = {model: texts[text] for model, texts in results.perplexity.items() if text in texts}
        if set(known) >= {DATA_MODEL, *SYNTHETIC_MODELS}:
            add("B10", text, _perplexities(known))
    if results.translation is not None:
        add("B9, model", "translation", _translation_conditions(results))
    checked["B11"].append(_RULES["B11"].with_verdict("ours, computed", *_example_one()))
    for rule, checks in checked.items():
        if not checks:
            checks.append(_RULES[rule].with_verdict("ours", "not measured", {}))
    return tuple(one for checks in checked.values() for one in checks)


def check_published(level: float = _LEVEL) -> tuple[CheckedFinding, ...]:
    """Return the verdicts on the published tables."""
    about = "the published numbers"
    checked = [
        _RULES[rule].checked(f"{about}, {model}", conditions, level)
        for rule, model, conditions in _of_bleu(published_bleu(), "")
        if rule.startswith("B")
    ]
    ratios = recomputed_ratios("table 4")
    off = [one for one in ratios if abs(one.value - one.printed) > one.rounding]
    numbers: dict[str, Number] = {f"{one.row}: {one.printed:g} printed, is": one.value for one in ratios}
    checked.append(_RULES["B9"].with_verdict(about, "does not hold" if off else "holds", numbers))
    printed = published_table("table 7").column("perplexity")
    checked.append(
        _RULES["B10"].checked(about, _perplexities({k: Quantity(v, None) for k, v in printed.items()}), level)
    )
    return tuple(checked)


def _of_bleu(values: LengthValues, where: str) -> Iterable[tuple[str, str, Conditions]]:
    """Yield the rule, what it is about, and the conditions of each finding about EB-bleu with these values."""
    mean, trend = mean_over(values.lengths), trend_over(values.lengths)
    known = [model for model in (_LSTM, _TF) if ratio_row(model) in values.values]
    for model in known:
        own, shuffled, random = (ratio_row(model, kind) for kind in ("model", "shuffled", "random"))
        about = f"{model}{where}"
        yield "B1", about, values.at_each(own, {own: 1.0}, lower=1.0, upper=1.03)
        yield "B1, mean", about, [values.condition("EB-bleu", {own: mean}, lower=1.005, upper=1.025)]
        yield "B2", about, [values.condition("growth", {own: trend}, upper=_FLAT)]
        yield "D2", about, values.at_each(own, {own: 1.0}, lower=0.97, upper=1.06)
        if shuffled not in values.values:
            continue
        growth = values.condition("growth, shuffled", {shuffled: trend}, lower=0.0)
        yield "B3", about, [growth, *values.at_each(f"{shuffled} - {own}", {shuffled: 1.0, own: -1.0}, lower=0.0)]
        yield "D3", about, [growth, values.condition("mean difference", {shuffled: mean, own: -mean}, lower=0.0)]
        if random not in values.values:
            continue
        yield (
            "B13",
            about,
            [
                values.condition("EB-bleu, own prefixes", {own: mean}, lower=1.0, upper=_LITTLE),
                values.condition("shuffled - own", {shuffled: mean, own: -mean}, lower=0.0),
                values.condition("random - shuffled", {random: mean, shuffled: -mean}, lower=0.0),
                values.condition("EB-bleu, shuffled", {shuffled: mean}, upper=_LITTLE),
                values.condition("EB-bleu, random", {random: mean}, upper=_LITTLE),
            ],
        )
    if len(known) == 2:
        both = f"{_LSTM} and {_TF}{where}"
        yield "B4", both, [one for kind in ("data", "model") for one in _ahead(values, kind, kind)]
        if bleu_row(_TF, "shuffled") in values.values:
            yield "B5", both, _ahead(values, "shuffled", "data")
    if ratio_row(_UNIGRAM) in values.values:
        own = ratio_row(_UNIGRAM)
        yield (
            "B12",
            f"{_UNIGRAM}{where}",
            [
                values.condition("EB-bleu", {own: mean}, lower=0.99, upper=1.01),
                values.condition("growth", {own: trend}, lower=-0.02, upper=0.02),
            ],
        )


def _ahead(values: LengthValues, first: str, second: str) -> list[Condition]:
    rows = bleu_row(_TF, first), bleu_row(_LSTM, second)
    return values.at_each(f"{rows[0]} - {rows[1]}", {rows[0]: 1.0, rows[1]: -1.0}, lower=0.0)


def _rates(values: LengthValues, distance: Distance) -> list[Condition]:
    return values.at_each(DISTANCE_NAMES[distance], {EB_C: 1.0}, lower=0.9, upper=1.1)


def _average(values: LengthValues, distance: Distance) -> Condition:
    return values.condition(DISTANCE_NAMES[distance], {EB_C: mean_over(values.lengths)}, lower=1.005, upper=1.025)


def _rise(values: LengthValues, distance: Distance) -> Condition:
    return values.condition(DISTANCE_NAMES[distance], {EB_C: trend_over(values.lengths)}, lower=0.0, upper=_SLOW)


def _corruption(values: LengthValues) -> list[Condition]:
    mean = mean_over(values.lengths)
    rates = sorted((parse_kind(kind)[1], kind) for kind in values.values if kind.startswith("corrupted"))
    order = ["data", "model", *(kind for _, kind in rates)]
    return [
        values.condition(f"{worse} - {better}", {worse: mean, better: -mean}, lower=0.0)
        for better, worse in pairwise(order)
    ]


def _of_others(results: ExposureResults, *, retrained: bool) -> Iterable[tuple[str, str, Conditions]]:
    """Yield the same for models that are not trained by maximum likelihood alone."""
    for model, rule in ((SCRATCHGAN, "B8, ScratchGAN"), (RANKGAN, "B8, RankGAN"), (COT, "D4")):
        if model not in results.others:
            continue
        mean, of_likelihood = (
            values.condition("", {EB_C: mean_over(values.lengths)})
            for kinds in (results.others[model], results.synthetic[OTHERS[model]])
            for values in (deviation_values(kinds, "js", retrained=retrained),)
        )
        below = difference(f"{model} - {OTHERS[model]}", mean, of_likelihood, upper=0.0)
        if model == SCRATCHGAN:
            yield "B8", model, [replace(mean, name="EB-C", upper=1.0)]
        yield rule, model, [*([replace(mean, name="EB-C", lower=1.0)] if model == RANKGAN else []), below]
    costs = results.oracle_costs
    if costs:
        yield "B8, oracle", RANKGAN, [_step("after - before", costs[RANDOM_ORACLE], costs[RANKGAN], upper=0.0)]


def _perplexities(known: Mapping[str, Quantity]) -> list[Condition]:
    """Return conditions about logarithms, the models as if they were measured on different sentences."""
    logs = {model: known[model].mapped(math.log) for model in (DATA_MODEL, *SYNTHETIC_MODELS)}
    return [
        _step(f"log of {worse} / {better}", logs[better], logs[worse], lower=0.0) for better, worse in pairwise(logs)
    ]


def _step(
    name: str, first: Quantity, second: Quantity, *, lower: float = -math.inf, upper: float = math.inf
) -> Condition:
    """Return a condition about the second less the first, measured on different sentences."""
    errors = [0.0 if one.interval is None else _error(one.interval) for one in (first, second)]
    return Condition(name, second.value - first.value, math.hypot(*errors), math.inf, lower, upper)


def _translation_conditions(results: ExposureResults) -> list[Condition]:
    assert results.translation is not None
    return [
        Condition(f"l = {length}: {title}", value, math.nan if interval is None else _error(interval), math.inf,
              lower=0.95, upper=1.05)
        for name, title in DISTANCE_NAMES.items()
        if (curve := results.translation.curves.get(name)) is not None
        for length, value, interval in zip(curve.lengths, curve.eb_c.tolist(), curve.eb_c_intervals, strict=True)
    ]  # fmt: skip


def _error(interval: Interval) -> float:
    """Return the standard error behind a normal interval."""
    return (interval.high - interval.low) / 2 / float(stats.norm.ppf((1 + interval.level) / 2))


def _example_one() -> tuple[Verdict, dict[str, Number]]:
    """Return example 1: two words, two letters, all equally likely; the model repeats its first A too often."""
    rows = {"A": (0.9, 0.1), "B": (0.5, 0.5)}  # the model's second word after each first one
    with np.errstate(divide="ignore"):
        model = np.log(np.array(list(rows.values())))
    distances = row_distances(model, np.log(np.full((2, 2), 0.5)))[:, COLUMNS.index("tv")]
    data, own = (float(np.array(first) @ distances) for first in ((0.5, 0.5), (0.9, 0.1)))
    numbers: dict[str, Number] = {"CGD(M|D)": data, "CGD(M|M)": own, "EB-C": own / data}
    exact = all(abs((value or 0.0) - to) < 1e-12 for value, to in zip(numbers.values(), (0.2, 0.36, 1.8), strict=True))
    return ("holds" if exact else "does not hold"), numbers
