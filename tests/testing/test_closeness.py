"""`assert_close`: its rule, its message, its plugin."""

import math
from contextlib import suppress
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

import textassay as ta
from made_up import sentences, shuffled
from textassay.errors import OptionError, TooFewSentencesError
from textassay.testing import closeness
from textassay.testing.closeness import assert_close

REAL = sentences(120, 1)
FAR = shuffled(sentences(100, 2), 0)
QUICK: dict[str, Any] = {"effort": "quick", "folds": 2}


def _limit(value: float, low: float | None, high: float | None, *, limit: float = 0.1, is_least: bool = False) -> Any:
    return closeness.Limit("m", limit, is_least, "m", value, low, high, None)


@pytest.mark.parametrize(
    ("limit", "is_broken", "is_broken_strictly"),
    [
        (_limit(0.3, 0.2, 0.4), True, True),
        (_limit(0.3, 0.1, 0.5), False, True),
        (_limit(0.05, 0.0, 0.2), False, True),
        (_limit(0.05, 0.0, 0.1), False, False),
        (_limit(0.3, 0.2, 0.4, limit=0.5, is_least=True), True, True),
        (_limit(0.3, 0.2, 0.6, limit=0.5, is_least=True), False, True),
        (_limit(0.8, 0.5, 0.9, limit=0.5, is_least=True), False, False),
        (_limit(0.3, None, None), True, True),
        (_limit(0.05, None, None), False, False),
        (_limit(math.nan, None, None), True, True),
        (_limit(math.nan, None, None, is_least=True), True, True),
        (_limit(-math.inf, None, None), True, True),
        (_limit(math.inf, None, None, is_least=True), True, True),
    ],
)
def test_the_rule_is_about_the_whole_interval(limit: Any, is_broken: bool, is_broken_strictly: bool) -> None:
    assert limit.is_broken(strict=False) == is_broken
    assert limit.is_broken(strict=True) == is_broken_strictly


def test_far_text_fails_on_one_screen_with_value_interval_rule_and_what_gives_it_away() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close(["the " + text for text in FAR], REAL, dd=0.1, bleu=0.01, distinct_n=0.5, **QUICK)
    lines = str(caught.value).splitlines()
    assert lines[0] == "generated text is not close to real text by dd(folds=2)"
    assert lines[1].startswith("  broken: dd(folds=2) 1.000, 95 % interval [")
    assert lines[1].split("; ")[0].endswith("], at most 0.1 allowed")
    assert lines[2].startswith("  kept: bleu(order=5) ")
    assert "at least 0.01 allowed; at equal size 0." in lines[2]  # of all texts it is no match for half the real ones
    assert lines[3].startswith("  kept: distinct-n(order=2) away from real text ")
    assert lines[4] == "rule: it fails if the 95 % interval is wholly beyond the limit"
    assert any(line.startswith("  too often: ") and "the" in line for line in lines)
    assert lines[-1].startswith("100 generated and 120 real texts, seed 0, textassay ")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 160


def test_values_are_those_of_compare_and_few_texts_prove_nothing() -> None:
    close = sentences(100, 3)
    comparison = assert_close(close, REAL, dd=0.02, seed=2, **QUICK)
    result = comparison.result("generated", "dd").estimate
    assert result is not None
    assert result.value == ta.dd(close, REAL, seed=2, **QUICK).value
    assert closeness.checks[-1].lines()[0].startswith("kept, not proven: dd(folds=2) ")
    with pytest.raises(AssertionError, match="fails if the 95 % interval is not within the limit"):
        assert_close(close, REAL, dd=0.02, seed=2, strict=True, **QUICK)
    assert_close(close, REAL, limits={"bleu(order=2)": 0.3, "self-bleu(order=2)": 0.3}, strict=True)
    closeness.checks.clear()


def test_a_metric_that_is_undefined_is_not_close() -> None:
    with pytest.raises(AssertionError, match=r"broken: distinct-n\(order=2\) .* has no value \("):
        assert_close(["x"] * 60, REAL, distinct_n=0.9)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "assert_close needs a limit, such as dd=0.1"),
        ({"ddd": 0.1}, "unknown metric or setting of assert_close 'ddd': did you mean dd"),
        ({"dd": math.nan}, "the limit of dd must be a finite number, got nan"),
        ({"dd": "0.1"}, "the limit of dd must be a finite number, got '0.1'"),
        ({"bleu": 0.1, "limits": {"bleu(order=5)": 0.2}}, r"two limits are given for bleu\(order=5\)"),
        ({"limits": {"bleus": 0.2}}, "unknown metric 'bleus'"),
        ({"dd": 0.1, "limits": {"dd(folds=2)": 0.2}, "folds": 2}, "two limits are given for dd"),
    ],
)
def test_limits_are_checked(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        assert_close(FAR, REAL, **limits)


def test_too_few_texts_are_no_answer() -> None:
    with pytest.raises(TooFewSentencesError, match="dd needs"):
        assert_close(FAR[:10], REAL, dd=0.1, effort="quick")


@pytest.mark.slow
def test_answers_are_compared_with_answers_to_the_same_prompts() -> None:
    prompts = [f"question {number // 2}" for number in range(100)]
    answers = [text.upper() for text in sentences(100, 2)]
    with pytest.raises(AssertionError, match=r"broken: conditional-dd\(folds=3\) 1\.000, .*, at most 0.3 allowed"):
        assert_close(answers, REAL[:100], prompts=prompts, conditional_dd=0.3, effort="quick", folds=3)


PLUGIN = () if "textassay" in entry_points(group="pytest11").names else ("-p", "textassay.testing.plugin")
OF_USER = """
    from textassay.testing import assert_close

    def test_close(real_texts):
        assert_close(list(real_texts)[:60], real_texts, length=0.9)

    def test_far(real_texts):
        assert_close(["x"] * 60, real_texts, length=0.1)

    def test_nothing():
        pass
"""


def test_the_plugin_brings_real_text_and_lists_the_checks(pytester: pytest.Pytester) -> None:
    with pytest.raises(AssertionError):  # what it loads stays loaded after the run inside
        assert_close(["x"] * 60, REAL, length=0.1)
    closeness.checks.clear()
    pytester.makefile(".txt", real="\n".join(REAL))
    pytester.makeini("[pytest]\ntextassay_real = real.txt")
    pytester.makepyfile(OF_USER)
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines([
        "E * AssertionError: generated text is not close to real text by length",
        "*rule: it fails if the 95 % interval is wholly beyond the limit",
        "*= closeness of generated text =*",
        "*test_close: kept: length 0.*, at most 0.9 allowed*",
        "*test_far: broken: length 1.*, at most 0.1 allowed*",
    ])  # fmt: skip
    result.stdout.no_fnmatch_line("*closeness.py:*")  # the traceback ends in the test


def test_without_real_text_the_fixture_says_what_it_needs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(real_texts): pass")
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the fixture real_texts needs textassay_real in pytest's configuration, or *"])
    result.stdout.no_fnmatch_line("*closeness of generated text*")


@pytest.mark.slow
def test_equal_text_seldom_fails() -> None:
    n, n_failed = 200, 0
    for seed in range(n):
        real, generated = sentences(150, 1000 + seed), sentences(150, 5000 + seed)
        with suppress(AssertionError):
            assert_close(generated, real, dd=0, seed=seed, **QUICK)
        n_failed += bool(closeness.checks.pop().broken)
    assert n_failed / n <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / n)


def test_text_at_the_limit_fails_seldom_and_passes_strictly_seldom() -> None:
    """By a metric whose truth is known: the share of texts with a word, 0.3 of all there are."""

    @ta.declare_metric("marked-share", better="lower", looks_at_real=False)
    def marked_share(generated: ta.Corpus, real: ta.Corpus) -> Any:
        return np.array([text.startswith("zzz") for text in generated.texts], float)

    n, n_failed, n_passed = 60, 0, 0
    for seed in range(n):
        drawn = np.random.default_rng(seed).random(400) < 0.3
        generated = [f"zzz {text}" if is_marked else text for text, is_marked in zip(REAL * 4, drawn, strict=False)]
        with suppress(AssertionError):
            assert_close(generated, REAL, limits={marked_share: 0.3})
        (limit,) = closeness.checks.pop().limits
        n_failed += limit.is_broken(strict=False)
        n_passed += not limit.is_broken(strict=True)
    error = 3 * math.sqrt(0.025 * 0.975 / n)
    assert n_failed / n <= 0.025 + error
    assert n_passed / n <= 0.025 + error
