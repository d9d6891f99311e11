"""The findings of the paper on exposure bias, checked on the published numbers and on ours.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 and 5.
Departs from it: a finding holds only beyond the error of the numbers. Each is a list of conditions, a number and where
it should lie, fixed before anything was measured; a trend is the slope over all lengths, not two points. The paper's
"slightly" and "slowly" are numbers here, and stand in the rule.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import stats

from textassay.estimate import Interval
from textassay.exposure import COLUMNS, Distance, parse_kind, row_distances
from textassay.generator import Quantity
from textassay.meta_evaluation import CheckedFinding, Number, Verdict
from textassay.study.exposure_bias.published import bleu_row, published_table, ratio_row, recomputed_ratios
from textassay.study.exposure_bias.results import (
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
from textassay.study.exposure_bias.values import (
    EB_C,
    LengthValues,
    bleu_values,
    deviation_values,
    mean_over,
    published_bleu,
    trend_over,
)
from textassay.study.findings import Condition, difference
from textassay.study.findings import Finding as _Rule

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
