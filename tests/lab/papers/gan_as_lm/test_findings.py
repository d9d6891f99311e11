"""Findings on GANs as language models: on printed numbers, on made-up ones of known verdict; errors by simulation."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from textassay.errors import InputError
from textassay_lab.approximation.stopping_rule import RuleCurve
from textassay_lab.papers.gan_as_lm.experiment import (
    LEAKGAN,
    LSTM,
    MLE,
    SEQGAN,
    UNIFORM,
    WGAN,
    WGAN_SOFT,
    GanResults,
    TextCost,
)
from textassay_lab.papers.gan_as_lm.findings import (
    check_findings,
    check_published,
    crossed,
    difference_of,
    first_below,
    mean_of,
    unpaired_of,
)
from textassay_lab.papers.gan_as_lm.results import gan_tables
from textassay_lab.papers.reproduction import CheckedFinding

UNSURE = "not separated at this size"
NOTHING = GanResults({}, {}, {}, {}, {}, 27)
_STRETCHES, _SIZE = 20, 100


def make_cost(
    bits: float, gap: float | None, rng: np.random.Generator, *, error: float = 0.01, window: int = 7, n: int = 2000
) -> TextCost:
    """Return a cost whose stretches vary by `error`, around values that all share; `gap` of one with a softmax."""
    sizes = np.full(_STRETCHES, _SIZE)

    def around(value: float) -> tuple[float, ...]:
        return tuple((sizes * (value + error * rng.standard_normal(_STRETCHES))).tolist())

    sums = {"plain": around(bits + (gap or 0.0)), "corrected": around(bits), "zeros": (0.0,) * _STRETCHES}
    if gap is not None:
        sums |= {"exact": around(bits), "expected": tuple((sizes * gap).tolist())}
    return TextCost(window, n, 1e-20, 0.0, tuple(sizes.tolist()), sums)


def make_curve(stop: float, *, slope: float = -1.0, error_slope: float | None = -0.5) -> RuleCurve:
    sizes = np.arange(20, 2001, 10)
    differences = 1e-3 * (sizes / stop) ** slope
    errors = None if error_slope is None else tuple((0.3 * sizes**error_slope).tolist())
    return RuleCurve(tuple(sizes.tolist()), tuple(differences.tolist()), errors, None, 10, 1e-3, 16, 1600)


def make_results(
    *,
    gap: float = 0.15,
    rounds: float = 0.13,
    leakgan: float = 0.2,
    leakgan_short: float = 0.2,
    lstm: float = 1.4,
    wgan: float = 3.3,
    longer: float = 0.2,
    stop: float = 1600,
    slope: float = -1.0,
    left: float = 0.0,
    error: float = 0.01,
) -> GanResults:
    """Return results as the paper's, or as the settings say."""
    rng = np.random.default_rng(0)
    before = [1.93 + 0.01 * run for run in range(3)]

    def of(bits: float, own: float | None, window: int = 1000, n: int = 2000) -> TextCost:
        return make_cost(bits, own, rng, error=error, window=window, n=n)

    costs = {
        LSTM: (of(lstm, gap),),
        MLE: tuple(of(bits, gap) for bits in before),
        SEQGAN: tuple(of(bits + rounds, gap) for bits in before),
        WGAN: (of(wgan, None, 7),),
        WGAN_SOFT: (of(wgan, None, 7),),
        UNIFORM: (of(4.76, None, 7),),
    }
    windows: dict[str, dict[int, tuple[TextCost, ...]]] = {
        LSTM: {w: (of(lstm + 0.5, gap, w),) for w in (7, 14, 28)},
        **{one: {w: (of(wgan + longer * (w > 7), None, w),) for w in (7, 14, 28)} for one in (WGAN, WGAN_SOFT)},
    }
    falling = {n: of(1.4, left + gap * 2000 / n, n=n) for n in (250, 500, 1000, 2000, 128_000)}
    rules = {
        model: tuple(make_curve(stop + k, slope=slope, error_slope=known) for k in range(-2, 3))
        for model, known in ((LSTM, -0.5), (SEQGAN, -0.5), (WGAN, None))
    }
    along = {SEQGAN: tuple({0: one, 10: other} for one, other in zip(costs[MLE], costs[SEQGAN], strict=True))}
    costs[LEAKGAN] = tuple(of(2.1 + leakgan, gap) for _ in range(4))
    windows |= {SEQGAN: {7: tuple(of(2.7, gap, 7) for _ in before)}}
    windows |= {LEAKGAN: {7: tuple(of(2.7 + leakgan_short, gap, 7) for _ in range(4))}}
    return GanResults(costs, windows, along, {LSTM: falling}, rules, 27)


def verdicts(found: Sequence[CheckedFinding]) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for one in found:
        told.setdefault(one.id, set()).add(one.verdict)
    return told


def test_the_printed_numbers_hold_what_the_paper_says() -> None:
    found = check_published()
    assert verdicts(found) == {rule: {"holds"} for rule in ("G1", "G1, size", "G2", "G3", "G3, uniform", "G4", "G5")}
    numbers = {one.id: one.numbers for one in found}
    assert numbers["G2"]["BPC, after - before"] == pytest.approx(0.13)
    assert numbers["G4"]["bound at 27 types"] == 4_297_078
    assert numbers["G4"]["orders of magnitude"] == pytest.approx(math.log10(4_297_078) - math.log10(1580 * 1600) / 2)


def test_results_like_the_papers_hold_and_what_is_not_there_is_not_measured() -> None:
    found = check_findings(make_results())
    told = verdicts(found)
    assert [one.about for one in found if one.id == "G3, LeakGAN"] == ["ours, windows of 1000", "ours, windows of 7"]
    assert set().union(*told.values()) == {"holds"}, told
    assert set().union(*verdicts(check_findings(NOTHING)).values()) == {"not measured"}
    assert [table.id for table in gan_tables(NOTHING)] == ["table 1", "figure 2", "stopping rule", "bound"]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("G1", {"gap": -0.05}),
        ("G1, size", {"gap": 0.02}),
        ("G1, size", {"gap": 0.6}),
        ("G2", {"rounds": -0.05}),
        ("D2", {"rounds": -0.05}),
        ("G3", {"lstm": 2.5, "wgan": 2.0}),
        ("G3, LeakGAN", {"leakgan": -0.2, "leakgan_short": -0.2}),
        ("G3, uniform", {"wgan": 5.0}),
        ("G4", {"stop": 40_000.0}),
        ("G5", {"stop": 900.0}),
        ("G5", {"stop": 2600.0}),
        ("G5, slopes", {"slope": -0.5}),
        ("G6", {"left": 0.1}),
        ("D1", {"left": 0.1}),
        ("G7", {"longer": -0.2}),
    ],
)
def test_findings_fail_where_they_should(rule: str, change: dict[str, float]) -> None:
    assert verdicts(check_findings(make_results(**change)))[rule] == {"does not hold"}


def test_what_noise_covers_is_not_separated() -> None:
    told = verdicts(check_findings(make_results(error=8.0)))
    for rule in ("G1", "G1, size", "G2", "G3", "G3, uniform", "G7", "D2"):
        assert told[rule] == {UNSURE}, rule
    assert told["G4"] == told["G5"] == {"holds"}  # of other numbers


def test_two_trainings_are_not_three() -> None:
    made = make_results()
    fewer = replace(made, costs={**made.costs, **{model: made.costs[model][:2] for model in (MLE, SEQGAN)}})
    assert verdicts(check_findings(fewer))["D2"] == {"not measured"}
    with pytest.raises(InputError, match="cannot pair 3 trainings with 2"):
        difference_of(made.costs[SEQGAN], fewer.costs[MLE], "exact")
    longer = replace(made.costs[LSTM][0], sizes=(101,) * _STRETCHES)
    with pytest.raises(InputError, match="different texts"):
        difference_of([longer], made.costs[LSTM], "exact")


def test_what_all_share_cancels_in_paired_differences_by_hand() -> None:
    shared = np.array([1.0, 3.0])
    terms = np.stack([shared, shared + 0.2, shared + 0.4])
    both = crossed(terms - shared)
    # By hand: means over trainings 0, 0.2, 0.4 (sd 0.2); over stretches 0.2 and 0.2.
    assert (both.value, both.runs_sd, both.text_error) == pytest.approx((0.2, 0.2, 0.0))
    assert both.error == pytest.approx(0.2 / math.sqrt(3))
    assert both.condition().interval(0.95) == pytest.approx(
        (0.2 - 4.30265 * 0.11547, 0.2 + 4.30265 * 0.11547), rel=1e-5
    )
    one = crossed(terms[:1])
    assert (one.value, one.error, one.runs_sd, one.n_stretches) == (2.0, 1.0, None, 2)  # sd sqrt(2), of two
    cost = TextCost(7, 100, 1e-20, 0.0, (10, 30), {"plain": (20.0, 90.0), "exact": (10.0, 90.0)})
    assert cost.mean("plain") == pytest.approx(110 / 40)
    assert cost.terms("plain").mean() == pytest.approx(110 / 40)
    assert mean_of([cost], "plain", "-exact").value == pytest.approx(10 / 40)


@pytest.mark.parametrize(("of_runs", "of_text", "of_both"), [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.3, 0.0, 3.0)])
def test_intervals_over_trainings_and_text_cover(of_runs: float, of_text: float, of_both: float) -> None:
    rng = np.random.default_rng(1)
    n, inside = 600, 0
    for _ in range(n):
        terms = of_runs * rng.standard_normal((3, 1)) + of_text * rng.standard_normal((1, 20))
        low, high = crossed(terms + of_both * rng.standard_normal((3, 20))).condition().interval(0.95)
        inside += low < 0 < high
    assert inside / n > 0.945  # 0.966 at least, by 40,000 simulations


def test_unrelated_trainings_add_their_errors_and_intervals_cover() -> None:
    rng = np.random.default_rng(2)
    n, inside = 600, 0
    for _ in range(n):
        text = rng.standard_normal(20)
        sides = []
        for k in (2, 5):
            bits = text + rng.standard_normal((k, 1)) + 0.3 * rng.standard_normal((k, 20))
            sides.append([TextCost(7, 9, 1e-20, 0.0, (1,) * 20, {"exact": tuple(row)}) for row in bits])
        found = unpaired_of(sides[0], sides[1], "exact")
        low, high = found.condition().interval(0.95)
        inside += low < 0 < high
    means = [[cost.mean("exact") for cost in side] for side in sides]
    errors = [np.std(side, ddof=1) / math.sqrt(len(side)) for side in means]
    assert found.value == pytest.approx(np.mean(means[0]) - np.mean(means[1]))
    assert (found.runs_error, *found.others) == pytest.approx((errors[0], errors[1], 5))
    assert inside / n > 0.945
    assert low == pytest.approx(
        found.value - math.hypot(12.7062 * errors[0], 2.77645 * errors[1], 2.09302 * found.text_error), rel=1e-4
    )


def test_the_line_through_a_curve_finds_where_it_stops() -> None:
    for stop, slope in ((1600.0, -1.0), (900.0, -1.1), (3000.0, -1.0)):
        assert first_below(make_curve(stop, slope=slope)) == pytest.approx(stop)
