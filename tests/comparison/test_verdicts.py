"""The rules of answers: what an interval does not support is not said, and what would settle it is."""

from dataclasses import replace

import pytest

from made_up import sentences
from made_up_comparisons import make_comparison
from textassay.comparison.answer_sentences import answer
from textassay.comparison.caveats import supported
from textassay.comparison.comparison import FLOOR, Comparison, Result
from textassay.comparison.digest import Digest
from textassay.comparison.run import compare
from textassay.comparison.verdicts import MARGIN, is_clear, more_sentences, sentences_to_settle, verdict_of
from textassay.estimate import Estimate, Interval, Signature
from textassay.inspection.finding import Finding
from textassay.metric.discrepancy_interval import variance_factor
from textassay.metric.lm_score import LIKELIER
from textassay.resampling.power import sentences_to_detect


@pytest.mark.parametrize(
    ("low", "high", "p", "margin", "said"),
    [
        (0.01, 0.09, None, None, "separated"),
        (-0.09, -0.01, None, 0.02, "separated"),
        (0.01, 0.09, 0.001, None, "separated"),
        (0.01, 0.09, 0.2, None, "open"),  # the test does not find it, whatever the interval
        (-0.01, 0.09, 0.001, 0.2, "hardly"),
        (-0.01, 0.09, 0.2, 0.2, "negligible"),
        (-0.01, 0.02, None, 0.02, "negligible"),
        (-0.01, 0.03, None, 0.02, "open"),
        (-0.03, 0.01, None, 0.02, "open"),
        (-0.01, 0.01, None, None, "open"),  # how much matters is not known
        (None, None, None, 0.02, "unknown"),
        (float("nan"), 0.1, None, 0.02, "unknown"),
    ],
)
def test_the_table_of_rules(
    low: float | None, high: float | None, p: float | None, margin: float | None, said: str
) -> None:
    assert verdict_of(low, high, margin=margin, p=p, alpha=0.05) == said


def test_how_many_sentences_it_takes_is_what_plan_says() -> None:
    for dd in (0.02, 0.05, 0.1):
        n = sentences_to_detect(dd, level=0.95, power=0.8, variance_factor=variance_factor(5))
        half_width = 1.96 * (variance_factor(5) / 2 / 1000) ** 0.5  # of 1000 sentences a side
        assert sentences_to_settle(dd, half_width, 1000, level=0.95) == pytest.approx(n, rel=0.02)
    assert sentences_to_settle(0.1, 0.1, 1000, level=0.95, n_tests=10) > 1.3 * sentences_to_settle(
        0.1, 0.1, 1000, level=0.95
    )


def test_more_sentences_are_rounded_capped_and_none_where_there_are_enough() -> None:
    assert more_sentences(0.05, 0.07, 400, level=0.95) == ("about 1,300 more texts a side", 0.05)
    assert more_sentences(0.0, 0.07, 400, level=0.95, margin=0.02) == ("about 9,700 more texts a side", 0.02)
    assert more_sentences(0.001, 0.07, 400, level=0.95) == ("more than 100 times as many texts a side", 0.001)
    assert more_sentences(0.5, 0.07, 400, level=0.95) is None
    assert more_sentences(0.0, 0.07, 400, level=0.95) is None


def test_clear_is_more_than_apart() -> None:
    assert is_clear(0.5, 0.2)
    assert not is_clear(0.5, 0.3)


def _with(comparison: Comparison, generator: str, metric: str, *, p: float | None = None, **parts: float) -> Comparison:
    """Return `comparison` with a value and half an interval of one cell, in full and at the floor's size."""

    def changed(estimate: Estimate | None) -> Estimate | None:
        assert estimate is not None
        value, width = parts["value"], parts["width"]
        details = {**estimate.details, **({} if p is None else {"p_value": p})}
        bounds = Interval(value - width, value + width, 0.95, "t")
        return replace(estimate, value=value, interval=bounds, details=details)

    def one(result: Result) -> Result:
        if (result.generator, result.metric) != (generator, metric):
            return result
        matched = None if result.matched is None else changed(result.matched)
        return replace(result, estimate=changed(result.estimate), matched=matched)

    return replace(comparison, results=tuple(map(one, comparison.results)))


def _compared(*, value: float, width: float, p: float, n: int = 500) -> Comparison:
    made = make_comparison(("a",), metrics={"dd": "lower", "mauve": "higher"}, n_sentences=n)
    return _with(_with(made, "a", "dd", value=value, width=width, p=p), "a", "mauve", value=0.89, width=0.02)


def test_where_noise_decides_it_cannot_be_told_and_more_text_would() -> None:
    said = " ".join(answer(Digest(_compared(value=0.04, width=0.08, p=0.3))))
    why = "p 0.30; with 500 texts a side, its interval reaches 0, which is guessing; it may be up to 0.1"
    assert f"dd leaves open whether a differs from real text. a: {why}" in said
    assert "more texts a side would show a difference of 0.0" in said
    assert "Not distinguished" not in said
    assert "But" not in said  # mauve does not separate it either


def test_a_test_that_sees_less_than_the_interval_is_named_as_the_reason() -> None:
    comparison = _compared(value=0.34, width=0.16, p=0.06, n=100)
    signature = Signature({"metric": "dd", "folds": "5"})
    results = tuple(
        replace(one, estimate=replace(one.estimate, signature=signature))
        if one.metric == "dd" and one.estimate is not None
        else one
        for one in comparison.results
    )
    said = " ".join(answer(Digest(replace(comparison, results=results))))
    assert "its interval does not reach 0, which is guessing, but p comes from one fold in 5, of about 20 texts" in said
    assert "about 130 more texts a side would show a difference of 0.340" in said


def test_values_without_a_test_say_that_intervals_overlap_at_the_floor_size() -> None:
    comparison = make_comparison(("a",), metrics={"mauve": "higher"}, n_sentences=100)
    floor = comparison.result(FLOOR, "mauve").estimate
    assert floor is not None
    said = " ".join(answer(Digest(_with(comparison, "a", "mauve", value=floor.value, width=0.05))))
    assert "with 50 texts a side, its interval and that of real text overlap" in said


def test_the_noise_of_half_the_real_text_does_not_move_what_dd_is_compared_with() -> None:
    comparison = _compared(value=0.1, width=0.06, p=0.001)
    noisy = _with(comparison, FLOOR, "dd", value=0.12, width=0.24)
    assert comparison.verdict("a") == noisy.verdict("a") == "separated"
    assert _with(comparison, FLOOR, "dd", value=0.12, width=0.05).verdict("a") == "hardly"  # itself above 0
    below = _with(_compared(value=-0.08, width=0.17, p=0.3, n=100), FLOOR, "dd", value=0.12, width=0.2)
    said = " ".join(answer(Digest(below)))
    assert "would show a difference of 0.020" in said  # the margin: a value below guessing cannot be shown


def test_a_difference_that_cannot_matter_is_said_with_its_size() -> None:
    said = " ".join(answer(Digest(_compared(value=0.008, width=0.01, p=0.3, n=200_000))))
    assert "Not distinguished from real text by dd, and at most 0.0" in said
    assert float(said.split("at most ")[1].split()[0]) <= MARGIN
    assert "is not clear" not in said


def test_nothing_below_half_the_interval_is_claimed() -> None:
    """At 100 texts, dd -.160 [-.340, .020] shows no distance below .180."""
    below = _compared(value=-0.16, width=0.18, p=0.9, n=100)
    assert below.verdict("a") == "open"
    said = " ".join(answer(Digest(below)))
    assert "at most 0.020" not in said
    assert "it may be up to 0.180 away" in said
    alike = _with(
        _with(make_comparison(("a",)), FLOOR, "mauve", value=1.0, width=0.0), "a", "mauve", value=1.0, width=0.0
    )
    assert Digest(alike).verdict("a", "mauve") is None  # nor of texts that are all alike to a metric


def test_another_metric_that_separates_clearly_is_named() -> None:
    comparison = _with(_compared(value=0.04, width=0.08, p=0.3), "a", "mauve", value=0.016, width=0.01)
    said = " ".join(answer(Digest(comparison)))
    assert "But a clearly differs from real text by mauve (0.016 against 0.9" in said
    barely = _with(comparison, "a", "mauve", value=0.86, width=0.02)
    assert "But a" not in " ".join(answer(Digest(barely)))


def _repeating(generator: str, n: int, *, severity: str = "warning") -> Finding:
    message = f"Repeated sentences: {n} of 10000"
    return Finding("repeated-sentences", severity, generator, message, n, 0, 10_000, 10_000, None, None, "-")  # type: ignore[arg-type]


def test_first_place_of_text_that_is_mostly_repeats_is_said_to_be_so() -> None:
    made = make_comparison(("a", "b"))
    said = " ".join(answer(Digest(replace(made, findings=(_repeating("a", 9700),)))))
    assert "Where a comes first (dd, bleu (all 4)," in said
    assert "note that 97 % of its texts repeat an earlier one." in said
    for finding in (_repeating("a", 4000), _repeating("b", 9700), _repeating("a", 9700, severity="note")):
        assert "repeat an earlier" not in " ".join(answer(Digest(replace(made, findings=(finding,)))))


def test_generators_that_are_not_separated_share_nothing() -> None:
    made = make_comparison(("a", "b"))
    pairs = tuple(replace(p, p=0.4, p_adjusted=0.4, low=-0.3, high=0.1) if p.metric == "dd" else p for p in made.pairs)
    ranks = tuple(replace(r, low=1, high=2) if r.metric == "dd" else r for r in made.ranks)
    said = answer(Digest(replace(made, pairs=pairs, ranks=ranks)))[0]
    assert "a and b are not separated by dd." in said
    assert "It is not clear which of them is closest: they may differ by up to 0.300" in said
    narrow = tuple(replace(p, low=-0.01, high=0.015) if p.metric == "dd" else p for p in pairs)
    assert "They differ by at most 0.015." in answer(Digest(replace(made, pairs=narrow, ranks=ranks)))[0]


def test_likelier_than_real_text_is_said_only_where_the_intervals_are_apart() -> None:
    made = make_comparison(("a", "b"), metrics={"lm-score": "closer", "reverse-lm-score": "lower"})
    made = _with(made, "a", "lm-score", value=4.0, width=0.3)
    made = _with(made, "b", "lm-score", value=4.85, width=0.3)
    floors = {result.metric: result.estimate for result in made.results if result.generator == FLOOR}
    made = replace(made, results=tuple(replace(result, floor=floors[result.metric]) for result in made.results))
    warnings = [f"lm-score of {name}: {LIKELIER}" for name in ("a", "b", FLOOR)]
    warnings += ["lm-score of b: something else", f"lm-score of a at the floor's size: {LIKELIER}"]
    kept = supported(warnings, made.results)
    assert kept == [warnings[0], warnings[3], warnings[4]]


def test_from_text_to_answer() -> None:
    """Two draws of one source: nothing is claimed to be alike, and a number of sentences is named."""
    comparison = compare(
        {"same": sentences(60, 2)}, sentences(120, 1), metrics=["dd", "length"], effort="quick", workers=1
    )
    said = " ".join(answer(Digest(comparison)))
    assert "dd leaves open whether same differs from real text. same: p " in said
    assert "more texts a side would show a difference of" in said or "times as many texts" in said
