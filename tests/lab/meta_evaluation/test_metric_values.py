"""Values of several generators: the covariance is that of a comparison's differences, directions turn as they say."""

from dataclasses import replace

import numpy as np
import pytest

from textassay.comparison.comparison import Result
from textassay.comparison.pairs import pair_differences
from textassay.errors import InputError
from textassay.estimate import Better, Estimate, Evidence, Interval, Signature
from textassay_lab.meta_evaluation.rank_agreement import MetricValues, gold_by_volume


def _estimate(seed: int, *, better: Better = "lower", shift: float = 0.0) -> Estimate:
    rng = np.random.default_rng(seed)
    real = np.random.default_rng(100).normal(size=5000) + 0.5 * rng.normal(size=5000)
    own = rng.normal(size=4000) + shift
    value = float(real.mean() + own.mean())
    return Estimate("m", value, Interval(-1, 1, 0.95, "t"), "", better, {}, Signature({}), {}, Evidence(real, own))


@pytest.mark.parametrize("better", ["lower", "closer"])
def test_differences_err_as_in_a_comparison(better: Better) -> None:
    made = {"a": _estimate(1, better=better, shift=1), "b": _estimate(2, better=better, shift=-1)}
    floor = _estimate(3, better=better)
    results = [Result(name, "m", better, found, matched=found, floor=floor) for name, found in made.items()]
    (pair,) = pair_differences(results, level=0.95)
    values = MetricValues.of_estimates(made, name="m", floor=floor)
    slopes = values.slopes()
    variance = slopes[0] ** 2 * values.covariance[0, 0] + values.covariance[1, 1]
    variance -= 2 * slopes[0] * slopes[1] * values.covariance[0, 1]
    assert pair.difference == pytest.approx(-(values.goodness[0] - values.goodness[1]))
    assert pair.high is not None
    assert pair.difference is not None
    assert np.sqrt(variance) * 1.96 == pytest.approx(pair.high - pair.difference, rel=1e-3)


def test_directions() -> None:
    given = {"a": 1.0, "b": -2.0, "c": 0.5}
    assert MetricValues.exact("m", "higher", given).order == ("a", "c", "b")
    assert MetricValues.exact("m", "lower", given).order == ("b", "c", "a")
    assert MetricValues.exact("m", "closer", given).order == ("c", "a", "b")
    assert MetricValues.exact("m", "closer", given).slopes().tolist() == [-1, 1, -1]
    with pytest.raises(KeyError, match="no value of d"):
        MetricValues.exact("m", "lower", given).select(["a", "d"])


def test_intervals_serve_where_there_is_no_evidence() -> None:
    plain = replace(_estimate(1), evidence=None)
    found = MetricValues.of_estimates({"a": plain}, name="m")
    assert found.own[0] == pytest.approx((1 / 1.959964) ** 2, rel=1e-5)
    assert found.shared[0, 0] == 0
    with pytest.raises(InputError, match="neither an interval"):
        MetricValues.of_estimates({"a": replace(plain, interval=None)}, name="m")
    with pytest.raises(InputError, match="same real text"):
        MetricValues.of_estimates({"a": _estimate(1), "b": plain}, name="m")
    with pytest.raises(InputError, match="give the floor"):
        MetricValues.of_estimates({"a": _estimate(1)}, name="m", better="closer")
    with pytest.raises(InputError, match="undefined"):
        MetricValues.of_estimates({"a": replace(plain, value=float("nan"))}, name="m")


def test_gold_by_volume() -> None:
    assert gold_by_volume({"a": 0.2, "b": 1.0, "c": 0.4}).order == ("b", "c", "a")
