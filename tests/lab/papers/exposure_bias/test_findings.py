"""Findings on exposure bias: on the printed numbers, on made-up ones of known verdict, and where there is no bias."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from made_up_exposure import (
    LENGTHS,
    make_bleu_runs,
    make_exposure_results,
    make_prefix_runs,
    make_synthetic,
    make_translation_curve,
    quantity,
)
from textassay.errors import InputError
from textassay_lab.exposure.bias import eb_c
from textassay_lab.exposure.bleu import eb_bleu_of_runs
from textassay_lab.papers.exposure_bias.experiment import DATA_MODEL, OTHERS, TEST_SET, ExposureResults
from textassay_lab.papers.exposure_bias.findings import (
    EB_C,
    after_words,
    bleu_values,
    check_findings,
    check_published,
    deviation_values,
    mean_over,
    published_bleu,
    trend_over,
)
from textassay_lab.papers.findings import Condition, check_conditions, difference
from textassay_lab.papers.reproduction import CheckedFinding

NOTHING = ExposureResults({}, {}, {}, {}, {}, None)
UNSURE = "not separated at this size"


def verdicts(found: Sequence[CheckedFinding]) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for one in found:
        told.setdefault(one.id, set()).add(one.verdict)
    return told


def bleu_results(ratios: Mapping[str, Sequence[float]], *, seed: int = 0, error: float = 0.0005) -> ExposureResults:
    runs = make_bleu_runs(np.random.default_rng(seed), ratios=ratios, error=error)
    return replace(NOTHING, bleu={"wikitext2": {"LSTM": runs}})


def test_the_printed_numbers_hold_what_the_paper_says() -> None:
    found = check_published()
    told = verdicts(found)
    assert set(told) == {"B1", "B1, mean", "B2", "B3", "B4", "B5", "B9", "B10"}
    assert set().union(*told.values()) == {"holds"}
    growth = next(one.numbers for one in found if one.id == "B2" and "Transformer" in one.about)
    # By hand: squares of -12.5, -7.5, ... 12.5 sum to 437.5; their products with the ratios to 0.06.
    assert growth["growth"] == pytest.approx(25 * 0.06 / 437.5, rel=1e-6)
    low = growth["growth: low"]
    assert low is not None
    assert low > 0  # the Transformer-XL's does grow, by less than the rule calls growing


def test_results_like_the_papers_hold_and_what_is_not_there_is_not_measured() -> None:
    told = verdicts(check_findings(make_exposure_results()))
    assert told["B9"] == {"not measured"}
    for rule in (
        "B8",
        "B8, ScratchGAN",
        "B8, RankGAN",
        "B8, oracle",
        "D4",
        "B1, mean",
        "B2",
        "B4",
        "B5",
        "B6",
        "B6, trend",
        "B7",
        "B9, model",
        "B10",
        "B11",
        "B12",
        "B13",
        "D1",
        "D2",
        "D3",
    ):
        assert told[rule] == {"holds"}, rule
    assert verdicts(check_findings(NOTHING)) == {rule: {"holds" if rule == "B11" else "not measured"} for rule in told}
    example = next(one for one in check_findings(NOTHING) if one.id == "B11")
    assert list(example.numbers.values()) == pytest.approx([0.2, 0.36, 1.8], abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "ratios"),
    [
        ("B1", {"model": [1.05] * 6}),
        ("B1", {"model": [0.98] * 6}),
        ("B1, mean", {"model": [0.95, 1.0, 1.0, 1.0, 1.0, 1.0]}),
        ("B2", {"model": np.linspace(1.0, 1.03, 6)}),
        ("B3", {"model": [1.01] * 6, "shuffled": np.linspace(1.06, 1.02, 6)}),
        ("B3", {"model": [1.04] * 6, "shuffled": np.linspace(1.02, 1.06, 6)}),
        ("B13", {"model": [1.01] * 6, "shuffled": [1.05] * 6, "random": [1.03] * 6}),
        ("B13", {"model": [1.01] * 6, "shuffled": [1.1] * 6, "random": [1.2] * 6}),
        ("D2", {"model": [1.09] * 6}),
        ("D3", {"model": [1.03] * 6, "shuffled": np.linspace(1.01, 1.02, 6)}),
    ],
)
def test_findings_about_bleu_fail_where_they_should(rule: str, ratios: Mapping[str, Sequence[float]]) -> None:
    assert verdicts(check_findings(bleu_results(ratios)))[rule] == {"does not hold"}
    noisy = bleu_results(ratios, error=0.06)
    assert verdicts(check_findings(noisy))[rule] == {UNSURE}
    assert verdicts(check_findings(noisy, level=0.999))[rule] == {UNSURE}


def test_findings_about_two_models_fail_where_they_should() -> None:
    made = make_exposure_results().bleu["wikitext2"]
    turned = {"LSTM": made["Transformer-XL"], "Transformer-XL": made["LSTM"]}
    told = verdicts(check_findings(replace(NOTHING, bleu={"wikitext2": turned})))
    assert told["B4"] == told["B5"] == {"does not hold"}
    with pytest.raises(InputError, match="as many runs"):
        bleu_values({**made, "LSTM": made["LSTM"][:2]})


@pytest.mark.parametrize(
    ("rises", "expected"),
    [
        ({"model": 0.0}, {"B6": "does not hold", "B6, trend": UNSURE, "D1": "holds"}),
        ({"model": 0.3}, {"B6": "does not hold", "B6, trend": "does not hold", "D1": "does not hold"}),
        ({"model": -0.05}, {"B6": "does not hold", "B6, trend": "does not hold", "D1": "holds"}),
        ({"model": 0.03, "corrupted:0.1": 0.3, "corrupted:0.5": 0.2}, {"B7": "does not hold", "B6": "holds"}),
        ({"model": 0.03, "corrupted:0.5": 0.2, "corrupted:0.1": 0.1}, {"B7": "holds"}),
    ],
)
def test_findings_about_words_fail_where_they_should(rises: Mapping[str, float], expected: Mapping[str, str]) -> None:
    kinds = make_synthetic(np.random.default_rng(3), rises, n=20_000)
    told = verdicts(check_findings(replace(NOTHING, synthetic={"LSTM-512": kinds})))
    assert {rule: told[rule] for rule in expected} == {rule: {verdict} for rule, verdict in expected.items()}


@pytest.mark.parametrize(
    ("model", "rise", "expected"),
    [
        ("ScratchGAN", -0.05, {"B8": "holds", "B8, ScratchGAN": "holds"}),
        ("ScratchGAN", 0.0, {"B8": UNSURE, "B8, ScratchGAN": "holds"}),
        ("ScratchGAN", 0.1, {"B8": "does not hold", "B8, ScratchGAN": UNSURE}),
        ("ScratchGAN", 0.2, {"B8": "does not hold", "B8, ScratchGAN": "does not hold"}),
        ("CoT", 0.1, {"D4": UNSURE}),
        ("CoT", 0.05, {"D4": "holds"}),
        ("RankGAN", 0.05, {"B8, RankGAN": "holds"}),
        ("RankGAN", 0.0, {"B8, RankGAN": UNSURE}),
        ("RankGAN", 0.1, {"B8, RankGAN": UNSURE}),
        ("RankGAN", -0.1, {"B8, RankGAN": "does not hold"}),
        ("RankGAN", 0.2, {"B8, RankGAN": "does not hold"}),
    ],
)
def test_findings_about_two_sides_follow_the_rates(model: str, rise: float, expected: Mapping[str, str]) -> None:
    """By maximum likelihood the rate grows by a tenth."""
    rng = np.random.default_rng(5)
    synthetic = {OTHERS[model]: make_synthetic(rng, {"model": 0.1}, n=20_000)}
    others = {model: make_synthetic(rng, {"model": rise}, n=5000)}
    told = verdicts(check_findings(replace(NOTHING, synthetic=synthetic, others=others)))
    assert {rule: told[rule] for rule in expected} == {rule: {verdict} for rule, verdict in expected.items()}


@pytest.mark.parametrize(("after", "verdict"), [(8.5, "holds"), (8.95, UNSURE), (9.6, "does not hold")])
def test_the_oracle_is_asked_before_the_rounds_and_after(after: float, verdict: str) -> None:
    costs = {"random LSTM": quantity(5.8), "LSTM-32 (random oracle)": quantity(9.0), "RankGAN": quantity(after)}
    assert verdicts(check_findings(replace(NOTHING, oracle_costs=costs)))["B8, oracle"] == {verdict}


def test_a_difference_of_two_that_vary_independently_has_welchs_interval() -> None:
    rng = np.random.default_rng(7)
    samples = [rng.normal(size=5), 3 * rng.normal(size=8)]
    first, second = (
        Condition("", float(one.mean()), float(one.std(ddof=1) / len(one) ** 0.5), len(one) - 1) for one in samples
    )
    found = difference("", first, second)
    wanted = stats.ttest_ind(*samples, equal_var=False).confidence_interval(0.95)
    assert found.interval(0.95) == pytest.approx((wanted.low, wanted.high))
    known = difference("", replace(first, degrees=math.inf), replace(second, degrees=math.inf))
    assert (known.error, known.degrees) == (found.error, math.inf)


def test_the_other_findings_fail_where_they_should() -> None:
    made = make_exposure_results()
    swapped = {DATA_MODEL: {TEST_SET: quantity(80.0)}, "LSTM-512": {TEST_SET: quantity(60.0)},
               "LSTM-32": {TEST_SET: quantity(100.0)}}  # fmt: skip
    assert made.translation is not None
    curves = {name: make_translation_curve(name, rate=1.2) for name in ("tv", "js", "greedy")}
    away = make_bleu_runs(np.random.default_rng(0), ratios={"model": [1.05] * 6})
    told = verdicts(check_findings(replace(
        NOTHING, perplexity=swapped, translation=replace(made.translation, curves=curves),
        bleu={"wikitext2": {"position unigram": away}},
    )))  # fmt: skip
    assert told["B10"] == told["B9, model"] == told["B12"] == {"does not hold"}
    close = {**swapped, DATA_MODEL: {TEST_SET: quantity(59.8)}}
    assert verdicts(check_findings(replace(NOTHING, perplexity=close)))["B10"] == {UNSURE}


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.3, 0.5], "holds"),
        ([0.19, 0.5], UNSURE),  # 1.9 errors above the bound
        ([-0.21, 0.5], UNSURE),  # two errors below: not sure of two at once
        ([-0.23, 0.5], "does not hold"),
        ([math.nan, 0.5], "not measured"),
        ([], "not measured"),
    ],
)
def test_verdicts_follow_the_intervals(values: Sequence[float], verdict: str) -> None:
    conditions = [Condition(f"c{k}", value, 0.1, math.inf, lower=0.0) for k, value in enumerate(values)]
    assert check_conditions(conditions, 0.95)[0] == verdict


def test_the_intervals_shown_are_those_that_decide() -> None:
    conditions = [Condition(f"c{k}", value, 0.1, math.inf, lower=0.0) for k, value in enumerate((-0.21, 0.5))]
    _, numbers = check_conditions(conditions, 0.95)  # beyond 0 by 2.1 errors, where 2.24 decide
    assert numbers["c0: high"] == pytest.approx(-0.21 + 0.1 * 2.2414, abs=1e-5)
    _, numbers = check_conditions(conditions[1:], 0.95)
    assert numbers["c1: low"] == pytest.approx(0.5 - 0.1 * 1.95996, abs=1e-5)


def test_many_numbers_come_with_those_nearest_to_their_bounds_first() -> None:
    conditions = [Condition(f"c{k}", 1.0 + k % 4 + k / 100, 0.1, math.inf, lower=0.0) for k in range(8)]
    _, numbers = check_conditions(conditions, 0.95)
    assert numbers["numbers compared"] == 8
    assert [name for name in numbers if ":" not in name][1:] == ["c0", "c4", "c1", "c5", "c2", "c6", "c3", "c7"]


def test_one_run_of_bleu_has_no_error_and_is_never_sure() -> None:
    runs = make_bleu_runs(np.random.default_rng(0), ratios={"model": [1.01] * 6}, n_runs=1)
    told = verdicts(check_findings(replace(NOTHING, bleu={"wikitext2": {"LSTM": runs}})))
    assert told["B1"] == told["B2"] == told["D2"] == {UNSURE}


def test_claims_over_runs_are_students_intervals_of_the_runs() -> None:
    rng = np.random.default_rng(1)
    runs = make_bleu_runs(rng, ratios={"model": [1.01] * 6}, n_runs=4)
    values, rate = bleu_values({"LSTM": runs}), eb_bleu_of_runs(runs)
    mean = values.condition("mean", {"EB-bleu(LS)": mean_over(LENGTHS)})
    assert rate.average_interval is not None
    assert mean.interval(0.95) == pytest.approx((rate.average_interval.low, rate.average_interval.high))
    slopes = [np.polyfit(LENGTHS, row, 1)[0] * 25 for row in rate.runs]
    trend = values.condition("trend", {"EB-bleu(LS)": trend_over(LENGTHS)})
    assert trend.value == pytest.approx(np.mean(slopes))
    assert trend.error == pytest.approx(np.std(slopes, ddof=1) / 2)
    kinds = make_synthetic(rng, {"model": 0.02}, n_runs=4)
    curve = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), "tv")
    over_runs = deviation_values(kinds, "tv", retrained=True)
    condition = over_runs.condition("mean", {EB_C: mean_over(over_runs.lengths)})
    assert curve.average_interval is not None
    assert condition.interval(0.95) == pytest.approx((curve.average_interval.low, curve.average_interval.high))
    one = {kind: runs[:1] for kind, runs in kinds.items()}
    single = eb_c(after_words(one["data"]), after_words(one["model"]), "tv")
    condition = deviation_values(one, "tv", retrained=False).condition("mean", {EB_C: mean_over(over_runs.lengths)})
    assert single.average_interval is not None
    assert condition.interval(0.95) == pytest.approx((single.average_interval.low, single.average_interval.high))


def test_printed_spreads_become_errors_of_ten_runs() -> None:
    condition = published_bleu().at_each("", {"EB-bleu(TF)": 1.0, "EB-bleu(LS)": -1.0})[0]
    assert condition.value == pytest.approx(1.009 - 1.023)
    assert condition.error == pytest.approx(math.hypot(0.002, 0.003) / math.sqrt(10))
    assert condition.degrees == 9


@pytest.mark.slow
@pytest.mark.parametrize("retrained", [False, True])
def test_intervals_cover_and_there_is_seldom_a_rise_without_exposure_bias(*, retrained: bool) -> None:
    """Five runs of 200 sequences, 200 times, without exposure bias: 1 is the truth, and no growth."""
    rng = np.random.default_rng(11)
    n_times, covered, alarms = 200, np.zeros(2), 0
    for _ in range(n_times):
        shift = 0.02 if retrained else 0.0
        kinds = {kind: make_prefix_runs(rng, kind, [1.0] * 6, n_runs=5, shift=shift) for kind in ("data", "model")}
        values = deviation_values(kinds, "tv", retrained=retrained)
        conditions = [
            (values.condition("", {EB_C: weights(values.lengths)}).interval(0.95), truth)
            for weights, truth in ((mean_over, 1.0), (trend_over, 0.0))
        ]
        covered += [low <= truth <= high for (low, high), truth in conditions]
        found = check_findings(replace(NOTHING, synthetic={"LSTM-512": kinds}, retrained=retrained))
        alarms += verdicts(found)["B6, trend"] == {"holds"}
    assert 0.915 <= min(covered) / n_times <= max(covered) / n_times <= 0.98
    assert alarms / n_times <= 0.055  # one side of 95 %: 0.025


def test_there_is_seldom_harm_by_shuffling_where_there_is_none() -> None:
    rng = np.random.default_rng(12)
    alarms = 0
    for _ in range(300):
        runs = make_bleu_runs(rng, ratios={"model": [1.0] * 6, "shuffled": [1.0] * 6, "random": [1.0] * 6}, n_runs=5)
        told = verdicts(check_findings(replace(NOTHING, bleu={"wikitext2": {"LSTM": runs}})))
        alarms += bool("holds" in told["D3"] | told["B3"] | told["B13"])
    assert alarms / 300 <= 0.055
