"""PASS, FAIL or INCONCLUSIVE: the rule, several verdicts together, what would decide, and how it is shown."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import textassay as ta
from made_up import sentences, shuffled
from made_up_comparisons import HOSTILE, make_comparison
from textassay.comparison.comparison import Equivalence, Result
from textassay.comparison.equivalence import equivalence_of, exit_status, parse_margins
from textassay.comparison.equivalence_document import junit_xml, verdict_text
from textassay.errors import OptionError
from textassay.estimate import Estimate, Evidence, Interval, Signature
from textassay.metric.discrepancy_interval import interval_at

N = 400
SETTINGS = {"clf": "judge", "ci": "newcombe x1", "folds": "1", "repeats": "1"}


def _terms(mean: float, n: int = N) -> Any:
    return np.repeat([1.0, 0.0], [round(mean * n), n - round(mean * n)])


def _judged(name: str, value: float, *, n: int = N, bounds: dict[str, float] | None = None, **details: Any) -> Result:
    """Return what a judge finds that is right about so many texts of both sides."""
    share = (1 + value) / 2
    bound = {"value": 0.0, "level": 0.95, "of_several": bounds or {}}
    estimate = Estimate(
        *("dd", value, Interval(value - 0.1, value + 0.1, 0.95, "newcombe"), "fraction", "lower"),
        {"n_generated": n, "n_real": n},
        Signature(SETTINGS),
        {"certified_bound": bound, **details},
        Evidence(_terms(share, n), _terms(share, n)),
    )
    return Result(name, "dd", "lower", estimate)


def _scored(name: str, difference: float) -> Result:
    """Return a score of texts that is so far from that of real text."""

    def score(value: float) -> Estimate:
        spread = np.linspace(-0.2, 0.2, N)
        return Estimate(
            *("score", value, Interval(value - 0.1, value + 0.1, 0.95, "t"), "fraction", "closer"),
            *({"n_generated": N, "n_real": N}, Signature({})),
            evidence=Evidence(None, value + spread),
        )

    return Result(name, "score", "closer", score(0.5 + difference), score(0.5 + difference), score(0.5))


def _one(result: Result, margin: float) -> Equivalence:
    (found,) = equivalence_of([result], {result.metric: margin}, level=0.95)
    return found


def test_a_judge_passes_fails_or_leaves_it_open_by_its_interval() -> None:
    passed, failed, left = (_one(_judged("a", value), 0.1) for value in (0.0, 0.3, 0.09))
    assert (passed.verdict, failed.verdict, left.verdict) == ("PASS", "FAIL", "INCONCLUSIVE")
    assert passed.high is not None
    assert 0.05 < passed.high < 0.1
    assert (failed.for_any_judge, passed.judge) == (False, "dd[judge]")
    assert verdict_text(passed).endswith("< 0.1 for dd[judge] of 400 texts")
    assert "> 0.1 for dd[judge] of 400 texts" in verdict_text(failed)


def test_the_certified_bound_fails_a_text_whatever_the_judge() -> None:
    found = _one(_judged("a", 0.09, bounds={"2": 0.12, "4": 0.08}), 0.1)
    assert found.verdict == "FAIL"
    assert found.for_any_judge
    assert verdict_text(found) == "dd 0.090, at least 0.120 > 0.1 for any classifier"
    both = equivalence_of(
        [_judged(name, 0.09, bounds={"2": 0.12, "4": 0.08}) for name in "ab"], {"dd": 0.1}, level=0.95
    )
    assert {one.verdict for one in both} == {"INCONCLUSIVE"}, "of two, the bound of both together counts"


def test_the_certified_bound_counts_where_there_is_no_interval() -> None:
    result = _judged("a", 0.3, bounds={"2": 0.12})
    assert result.estimate is not None
    without = replace(result, estimate=replace(result.estimate, interval=None, evidence=None))
    assert verdict_text(_one(without, 0.1)) == "dd 0.300, at least 0.120 > 0.1 for any classifier"
    assert verdict_text(_one(without, 0.2)) == "dd is inconclusive: it has no interval here"


def test_a_difference_from_real_text_may_go_both_ways() -> None:
    verdicts = [_one(_scored("a", difference), 0.05) for difference in (0.02, -0.02, 0.2, -0.2, 0.045, -0.045)]
    assert [one.verdict for one in verdicts] == ["PASS", "PASS", "FAIL", "FAIL", "INCONCLUSIVE", "INCONCLUSIVE"]
    assert verdicts[4].needed == pytest.approx(verdicts[5].needed, rel=0.01)
    assert verdict_text(verdicts[3]).endswith("from real text, beyond ±0.05")


def test_several_verdicts_share_the_error_rate_by_holms_method() -> None:
    alone = _judged("a", 0.022)
    assert _one(alone, 0.1).verdict == "PASS"
    far = [_judged(name, 0.5) for name in "bcdefgh"]
    found = equivalence_of([alone, *far], {"dd": 0.1}, level=0.95)
    assert found[0].verdict == "INCONCLUSIVE"
    close = [_judged(name, -0.1) for name in "bcdefgh"]  # these pass at once, and then it is alone
    found = equivalence_of([alone, *close], {"dd": 0.1}, level=0.95)
    assert {one.verdict for one in found} == {"PASS"}
    assert found[0].high == _one(alone, 0.1).high


@pytest.mark.parametrize("metric", ["dd", "score"])
def test_of_several_at_the_margin_any_verdict_is_seldom_wrong(metric: str) -> None:
    """Undivided, a wrong PASS of five would come in 12 % of draws, and so would a wrong FAIL."""
    n, wrong = 250, {"PASS": 0, "FAIL": 0}
    for seed in range(n):
        rng = np.random.default_rng(seed)
        drawn = [0.1 + rng.normal(0, math.sqrt((1 - 0.1**2) / (2 * N))) for _ in range(5)]
        if metric == "score":  # its terms are spread evenly over a range of 0.4, those of real text too
            drawn = [0.1 + rng.normal(0, 0.4 / math.sqrt(12) * math.sqrt(2 / N)) for _ in range(5)]
        results = [(_judged if metric == "dd" else _scored)(f"g{k}", value) for k, value in enumerate(drawn)]
        verdicts = {one.verdict for one in equivalence_of(results, {metric: 0.1}, level=0.95)}
        for verdict in wrong:
            wrong[verdict] += verdict in verdicts
    assert max(wrong.values()) / n <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / n)
    assert min(wrong.values()) > 0


def test_it_says_how_many_texts_would_decide() -> None:
    left = _one(_judged("a", 0.06), 0.1)
    assert left.needed is not None
    assert _one(_judged("a", 0.06, n=left.needed), 0.1).verdict == "PASS"
    assert _one(_judged("a", 0.06, n=left.needed // 4), 0.1).verdict == "INCONCLUSIVE"
    at = _one(_judged("a", 0.1), 0.1)
    assert at.needed is None
    assert verdict_text(at).endswith("no number of texts would decide: the estimate is at the margin")


def test_what_cannot_be_judged_does_not_pass() -> None:
    blind = _one(_judged("a", 0.0, alike=0.95), 0.1)
    assert blind.verdict == "INCONCLUSIVE"
    assert "95 % of the texts of both sides exactly the same score" in verdict_text(blind)
    nothing = _one(Result("a", "dd", "lower", None, error="too few texts"), 0.1)
    assert nothing.verdict == "INCONCLUSIVE"
    assert verdict_text(nothing) == "dd is inconclusive: too few texts"
    assert exit_status([blind, nothing]) == 3
    assert exit_status([]) == 0
    assert exit_status([blind, replace(nothing, verdict="FAIL")]) == 1


@pytest.mark.parametrize("groups", [False, True])
def test_limits_are_the_interval_of_dd_where_it_is_the_only_verdict(groups: bool) -> None:
    corpora = ta.corpora_from_texts({"real": sentences(200, 1), "far": shuffled(sentences(200, 2), 0)})
    if groups:
        corpora = {name: replace(corpus, groups=np.arange(200) // 2) for name, corpus in corpora.items()}
    estimate = ta.dd(corpora["far"], corpora["real"], effort="quick", independent=True)
    assert estimate.interval is not None
    found = _one(Result("far", "dd", "lower", estimate), 0.1)
    assert found.low == pytest.approx(estimate.interval.low, abs=1e-3)
    assert found.high == pytest.approx(estimate.interval.high, abs=1e-3)
    assert (interval_at(estimate, 0.9) is None) == groups
    bounds = [estimate.details["certified_bound"]["value"], *estimate.details["certified_bound"]["of_several"].values()]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]


@pytest.mark.parametrize(
    ("text", "margins"),
    [
        ("0.1", {"dd": 0.1}),
        ("dd=0.1, bleu(order=4)=0.02", {"dd": 0.1, "bleu(order=4)": 0.02}),
        ("rouge(kind=l,order=2)=1e-2", {"rouge(kind=l,order=2)": 0.01}),
    ],
)
def test_margins_are_read(text: str, margins: dict[str, float]) -> None:
    assert parse_margins(text) == margins


@pytest.mark.parametrize("text", ["", "dd", "dd=", "dd=0.1,dd=0.2", "bleu=high"])
def test_margins_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--equivalent"):
        parse_margins(text)


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (0, "the margin of dd must be a number above 0 and below 1, got 0"),
        (float("nan"), "got nan"),
        (1, "below 1, got 1"),
        ("0.1", "got '0.1'"),
        ({"bleu": 0.1}, r"a margin is given for bleu\(order=5\), which is not among the metrics \(dd, length\)"),
        ({"dd": 0.1, "dd(folds=5)": 0.2}, "dd has two margins"),
    ],
)
def test_margins_are_checked(margin: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ta.compare(sentences(60, 1), sentences(60, 2), metrics=["dd", "length"], equivalent=margin, effort="quick")


def test_compare_gives_verdicts_on_the_screen_in_files_and_back(tmp_path: Path) -> None:
    texts = {"like": sentences(300, 2), "far": shuffled(sentences(300, 4), 0)}
    metrics = ["dd", "length"]
    comparison = ta.compare(
        texts, sentences(300, 1), metrics=metrics, effort="quick", explain=False, equivalent={"dd": 0.15, "length": 0.2}
    )
    found = comparison.equivalence
    assert [(one.generator, one.metric) for one in found[:3]] == [("like", "dd"), ("far", "dd"), ("like", "length")]
    assert (found[0].verdict, found[1].verdict, found[1].for_any_judge) == ("PASS", "FAIL", True)
    screen = str(comparison)
    assert screen.index("Within the margin of real text?") < screen.index("generator ")
    assert "far        FAIL          dd 0.5" in screen
    assert "--equivalent dd=0.15,length=0.2" in comparison.to_markdown()
    assert "| far | FAIL | dd 0.5" in comparison.to_markdown(short=True)
    comparison.save(tmp_path)
    assert ta.read_comparison(tmp_path).equivalence == found
    assert json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["equivalence"][1]["verdict"] == "FAIL"
    without = ta.compare(texts, sentences(300, 1), metrics=metrics, effort="quick", explain=False)
    assert "equivalence" not in without.to_dict()
    assert without.results == comparison.results
    assert "Equivalent" not in str(without)


def test_junit_has_a_case_for_each_verdict_and_no_name_breaks_it() -> None:
    found = [
        Equivalence("a", "dd", "PASS", 0.1, 0.0, -0.05, 0.05, judge="dd[x]"),
        Equivalence(f"{HOSTILE[0]}\x00\ud800", "dd", "FAIL", 0.1, 0.3, 0.2, 0.4, judge="dd[x]"),
        Equivalence("c", "dd", "INCONCLUSIVE", 0.1, reason="<no>"),
    ]
    comparison = replace(make_comparison(("a", "b")), equivalence=tuple(found))
    suites = ElementTree.fromstring(junit_xml(comparison))
    assert {name: suites.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    cases = list(suites.iter("testcase"))
    assert [case[0].tag for case in cases] == ["system-out", "failure", "skipped"]
    assert "at least 0.200 > 0.1" in str(cases[1][0].get("message"))


def test_of_many_verdicts_the_screen_shows_first_those_that_fail() -> None:
    found = [Equivalence(f"g{n}", "dd", "PASS", 0.1, 0.0, -0.05, 0.05, judge="dd[x]") for n in range(30)]
    found.append(Equivalence("last", "dd", "FAIL", 0.1, 0.3, 0.2, 0.4, judge="dd[x]"))
    screen = str(replace(make_comparison(("a", "b")), equivalence=tuple(found)))
    assert "last       FAIL     dd 0.300" in screen
    assert screen.count("PASS     dd") == 11
    assert "and 19 more; those that fail come first" in screen
