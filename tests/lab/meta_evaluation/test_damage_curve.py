"""From values to verdicts: hand-made curves of every kind, and how often a verdict is wrong where nothing is there."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from textassay.errors import OptionError
from textassay.estimate import Better
from textassay_lab.meta_evaluation.damage_curve import DamageCurve, adjust_all, judge_curve

FloatArray = npt.NDArray[np.float64]

STRENGTHS = (0.1, 0.2, 0.4, 0.8)
WOBBLE = np.array([[0.3], [-0.4], [0.1], [0.2], [-0.2]])  # of five draws, in standard errors


def _judged(
    change: object, better: Better = "lower", *, noise: float = 1.0, jitter: float = 0.1, own: bool = True
) -> DamageCurve:
    """Return the curve of a metric that changes by `change` standard errors at the strengths, a little in each draw."""
    moves = np.broadcast_to(np.asarray(change, dtype=np.float64), (5, 4)) * (1 + jitter * WOBBLE)
    values = 7 + noise * np.hstack([WOBBLE, WOBBLE + moves])
    errors = np.full(5, noise if own else np.nan)
    return judge_curve("m", better, "d", STRENGTHS, values, errors)


@pytest.mark.parametrize("noise", [1.0, 1e-5])
def test_a_metric_that_gets_worse_sees(noise: float) -> None:
    curve = _judged([2.5, 5, 10, 20], noise=noise)
    assert (curve.verdict, curve.direction, curve.smallest, curve.monotone) == ("sees", "up", 0.2, True)
    assert curve.tau == pytest.approx(1)
    assert curve.noise == pytest.approx(noise)
    assert curve.sensitivity == pytest.approx(25)
    assert curve.effects == pytest.approx(tuple(noise * np.array([2.5, 5, 10, 20])))
    # sd of 1 + 0.1 wobble over five draws, Student's t with 4 degrees of freedom at 0.975
    margin = 20 * 0.1 * np.std(WOBBLE, ddof=1) / np.sqrt(5) * 2.7764451
    assert curve.highs[3] - curve.effects[3] == pytest.approx(noise * margin)
    assert curve.lows[3] == pytest.approx(noise * (20 - margin))


def test_what_is_told_needs_four_standard_errors() -> None:
    # (1.959964 + 0.841621) * sqrt(2) = 3.962
    assert _judged([1, 2, 3.95, 3.97]).smallest == 0.8
    assert _judged([1, 2, 3.97, 3.97]).smallest == 0.4
    assert _judged([5, 2, 5, 5]).smallest == 0.4


def test_the_other_direction_is_misled() -> None:
    curve = _judged([2.5, 5, 10, 20], "higher")
    assert (curve.verdict, curve.direction, curve.smallest) == ("misled", "up", 0.2)
    assert curve.sensitivity == pytest.approx(-25)
    assert _judged([-2.5, -5, -10, -20], "higher").verdict == "sees"
    assert _judged([-2.5, -5, -10, -20], "lower").verdict == "misled"
    assert _judged([0.1, 0.2, 0.4, 0.8], "higher").verdict == "faintly misled"


@pytest.mark.parametrize("sign", [1, -1])
def test_closer_is_worse_either_way(sign: int) -> None:
    curve = _judged(sign * np.array([2.5, 5, 10, 20]), "closer")
    assert (curve.verdict, curve.direction, curve.monotone) == ("sees", "up" if sign > 0 else "down", True)
    assert curve.effects[3] == pytest.approx(20, abs=0.5)
    assert curve.sensitivity is not None
    assert curve.sensitivity > 20


def test_closer_is_measured_from_the_other_draws_by_hand() -> None:
    # Undamaged 0, 3, 6: the others' means are 4.5, 3, 1.5, the distances 4.5, 0, 4.5; damaged 3.5, 2, 7.5.
    values = np.array([[0.0, 8], [3, 5], [6, 9]])
    curve = judge_curve("m", "closer", "d", (0.5,), values, np.ones(3))
    assert curve.effects == pytest.approx([(-1 + 2 + 3) / 3])


def test_small_but_steady_is_faint_and_constant_is_blind() -> None:
    faint = _judged([0.1, 0.2, 0.4, 0.8])
    assert (faint.verdict, faint.smallest) == ("faint", None)
    blind = _judged([0, 0, 0, 0])
    assert (blind.verdict, blind.direction, blind.p, blind.tau) == ("blind", "", 1.0, None)
    assert blind.sensitivity == 0
    rounding = _judged([1e-8, 2e-8, 4e-8, 8e-8])
    assert rounding.verdict == "blind"
    assert _judged([0, 0, 0, 0], noise=0.0, own=False).sensitivity is None


def test_directions_that_differ_between_draws_are_no_verdict() -> None:
    moves = np.array([[1.0], [-1], [1], [-1], [1]]) * [5, 10, 20, 40]
    assert _judged(moves).verdict == "either way"
    closer = _judged(moves, "closer")
    assert (closer.verdict, closer.direction) == ("sees", "")


def test_falling_back_is_not_monotone() -> None:
    assert _judged([5, 10, 20, 8]).monotone is False
    assert _judged([5, 10, 20, 19.5]).monotone is True  # less than a standard error
    assert _judged([5, 10, 20, 8], jitter=20).monotone is True  # not significant
    assert _judged([-5, 10, 20, 40]).monotone is False


def test_noise_of_draws_where_a_metric_tells_none() -> None:
    curve = _judged([2.5, 5, 10, 20], own=False)
    assert curve.noise_source == "draws"
    assert curve.noise == pytest.approx(np.std(WOBBLE, ddof=1))


def test_undefined_values_are_told() -> None:
    values = np.zeros((2, 5))
    values[1, 3] = np.nan
    curve = judge_curve("m", "lower", "d", STRENGTHS, values, np.ones(2))
    assert (curve.verdict, curve.reason) == ("unknown", "undefined on some of the damaged texts")
    assert curve.to_dict()["values"][1][3] is None
    for wrong in (values[:1], values[:, 1:]):
        with pytest.raises(OptionError, match="values must have shape"):
            judge_curve("m", "lower", "d", STRENGTHS, wrong, np.ones(len(wrong)))


def test_verdicts_of_a_table_are_adjusted_together() -> None:
    faint = _judged([0.1, 0.2, 0.4, 0.8], jitter=1)
    assert faint.p is not None
    assert 0.001 < faint.p < 0.05
    assert faint.verdict == "faint"
    nothing = _judged([0, 0, 0, 0])
    unknown = replace(nothing, p=None, verdict="unknown")
    together = adjust_all([faint, *[nothing] * 60, unknown], level=0.95)
    assert together[0].p_adjusted == pytest.approx(min(1, 61 * faint.p))
    assert together[0].verdict == "blind"
    assert together[-1] == unknown
    assert adjust_all([faint, unknown], level=0.95)[0].verdict == "faint"


@pytest.mark.parametrize(("n_draws", "own"), [(2, True), (3, False), (5, True), (5, False)])
@pytest.mark.parametrize("better", ["lower", "closer"])
def test_where_nothing_is_there_little_is_found(n_draws: int, own: bool, better: Better) -> None:
    """Each strength replaces a share of what the value is a mean of, as sentences of the same text would."""
    rng = np.random.default_rng(n_draws)
    n_found, n_covered, n_curves = 0, 0, 80
    errors = np.full(n_draws, 1.0 if own else np.nan)
    shares = np.array(STRENGTHS)
    for _ in range(n_curves):
        old, new = (
            np.cumsum(rng.normal(size=(n_draws, 4)) * np.sqrt(np.diff([0, *STRENGTHS])), axis=1) for _ in range(2)
        )
        rest = rng.normal(size=(n_draws, 1)) * np.sqrt(1 - shares[-1])
        clean = old[:, -1:] + rest
        curve = judge_curve("m", better, "d", STRENGTHS, np.hstack([clean, clean - old + new]), errors)
        n_found += curve.verdict != "blind"
        n_covered += curve.lows[3] <= 0 <= curve.highs[3]
    assert n_found <= 0.05 * n_curves + 2.6 * np.sqrt(0.05 * 0.95 * n_curves)
    assert n_covered >= 0.95 * n_curves - 3 * np.sqrt(0.05 * 0.95 * n_curves)
