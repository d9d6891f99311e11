"""Comparisons side by side: what moved is found, noise is not taken for a change, and what does not compare is said."""

from dataclasses import replace

import numpy as np
import pytest

from made_up_comparisons import make_comparison
from textassay.comparison.comparison import Comparison
from textassay.comparison.side_by_side import changes, side_by_side
from textassay.errors import OptionError
from textassay.estimate import Estimate, Interval
from textassay.report.files import to_csv

GENERATORS = ("alpha", "beta")


def _shifted(comparison: Comparison, by: float, *, metric: str = "dd", generator: str = "alpha") -> Comparison:
    def shifted(estimate: Estimate | None) -> Estimate | None:
        if estimate is None or estimate.interval is None:
            return estimate
        bounds = replace(estimate.interval, low=estimate.interval.low + by, high=estimate.interval.high + by)
        return replace(estimate, value=estimate.value + by, interval=bounds)

    results = tuple(
        replace(one, estimate=shifted(one.estimate)) if (one.generator, one.metric) == (generator, metric) else one
        for one in comparison.results
    )
    return replace(comparison, results=results)


def test_a_clear_change_is_found_with_its_direction_and_the_rest_is_the_same() -> None:
    first = make_comparison(GENERATORS)
    moves = {(one.metric, one.generator): one for one in changes(first, _shifted(first, 0.2))}
    assert moves["dd", "alpha"].moved == "worse"
    assert moves["dd", "alpha"].difference == pytest.approx(0.2)
    assert {one.moved for key, one in moves.items() if key != ("dd", "alpha")} == {"same"}
    back = {(one.metric, one.generator): one for one in changes(_shifted(first, 0.2), first)}
    assert back["dd", "alpha"].moved == "better"
    assert back["dd", "alpha"].p == pytest.approx(moves["dd", "alpha"].p)


def test_a_small_change_is_not_clear_and_its_interval_adds_both_in_squares() -> None:
    first = make_comparison(GENERATORS)
    (move,) = [one for one in changes(first, _shifted(first, 0.004)) if (one.metric, one.generator) == ("dd", "alpha")]
    assert move.moved == "not clear"
    assert move.before.interval is not None
    arm = np.hypot(move.before.value - move.before.interval.low, move.before.interval.high - move.before.value)
    assert [move.low, move.high] == pytest.approx([0.004 - arm, 0.004 + arm])


def test_p_is_uniform_where_nothing_changed() -> None:
    """Two draws of the same mean, with Student's intervals at 200 values a side."""
    rng = np.random.default_rng(0)
    base = make_comparison(("alpha",), metrics={"dd": "lower"})

    def drawn() -> Comparison:
        values = rng.normal(0.3, 0.5, 200)
        arm = 1.972 * values.std(ddof=1) / np.sqrt(200)
        mean = float(values.mean())

        def of(estimate: Estimate | None) -> Estimate:
            assert estimate is not None
            return replace(estimate, value=mean, interval=Interval(mean - arm, mean + arm, 0.95, "t"))

        results = tuple(replace(one, estimate=of(one.estimate)) if one.generator == "alpha" else one
                        for one in base.results)  # fmt: skip
        return replace(base, results=results)

    found = [one.p for _ in range(400) for one in changes(drawn(), drawn()) if one.generator == "alpha"]
    p = np.array(found, dtype=float)
    assert abs((p < 0.05).mean() - 0.05) < 0.03
    assert abs((p < 0.5).mean() - 0.5) < 0.075


def test_the_document_answers_and_its_record_has_every_value() -> None:
    first = make_comparison(GENERATORS)
    document = side_by_side({"monday": first, "tuesday": _shifted(first, 0.2)})
    assert "from monday to tuesday: alpha +0.200" in document.answer[0]
    assert "clearly worse" in document.answer[0]
    assert "1 changed by more than noise: 1 worse" in document.answer[1]
    lines = to_csv(document.records[0]).splitlines()
    assert lines[0].startswith("metric,generator,from,to,value_from,value_to,difference,low,high,p,p_adjusted,moved")
    assert len(lines) == 1 + len(changes(first, first))


def test_what_does_not_compare_is_said() -> None:
    first = make_comparison(GENERATORS)
    other = replace(first, real=replace(first.real, fingerprint="another"))
    settings = tuple(
        replace(
            one,
            estimate=replace(
                one.estimate,
                signature=replace(one.estimate.signature, settings={**one.estimate.signature.settings, "tok": "chars"}),
            ),
        )
        if one.metric == "dd" and one.estimate is not None
        else one
        for one in other.results
    )
    document = side_by_side({"a": first, "b": replace(other, results=settings)})
    told = " ".join(getattr(part, "text", "") for part in document.sections[0].parts)
    assert "The real texts differ" in told
    assert "a and b differ in the setting tok of dd" in told


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(OptionError, match="no generator and metric in common"):
        side_by_side({"a": make_comparison(metrics={"dd": "lower"}),
                               "b": make_comparison(metrics={"length": "lower"})})  # fmt: skip
    with pytest.raises(OptionError, match="at least two"):
        side_by_side({"a": make_comparison()})
