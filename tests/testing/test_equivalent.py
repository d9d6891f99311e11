"""`assert_equivalent`: its verdicts, what it does where it cannot tell, its lines under the results."""

from importlib.metadata import entry_points
from typing import Any
from unittest import SkipTest

import pytest

from made_up import sentences, shuffled
from textassay.errors import OptionError
from textassay.testing import assert_equivalent, closeness

REAL = sentences(300, 1)
QUICK: dict[str, Any] = {"effort": "quick"}


def test_it_passes_fails_or_cannot_tell() -> None:
    comparison = assert_equivalent(sentences(300, 2), REAL, margin=0.15, **QUICK)
    assert comparison.equivalence[0].verdict == "PASS"
    assert closeness.checks.pop().lines()[0].startswith("PASS generated: dd ")
    with pytest.raises(AssertionError) as caught:
        assert_equivalent(
            {"like": sentences(300, 2), "far": shuffled(sentences(300, 4), 0)}, REAL, margin={"dd": 0.15}, **QUICK
        )
    lines = str(caught.value).splitlines()
    assert lines[0] == "generated text is not equivalent to real text"
    assert lines[1].startswith("  PASS like: dd ")
    assert lines[2].startswith("  FAIL far: dd 0.5")
    with pytest.raises(AssertionError, match=r"is not shown to be equivalent(.|\n)*INCONCLUSIVE generated: dd"):
        assert_equivalent(sentences(300, 2), REAL, margin=0.02, **QUICK)
    with pytest.raises(SkipTest, match="INCONCLUSIVE"):
        assert_equivalent(sentences(300, 2), REAL, margin=0.02, inconclusive="skip", **QUICK)
    with pytest.raises(AssertionError):
        assert_equivalent(shuffled(sentences(300, 4), 0), REAL, margin=0.15, inconclusive="skip", **QUICK)
    closeness.checks.clear()


def test_settings_are_checked() -> None:
    with pytest.raises(OptionError, match="unknown setting of assert_equivalent 'efort': did you mean effort"):
        assert_equivalent(REAL[:60], REAL, efort="quick")
    with pytest.raises(OptionError, match="inconclusive must be 'fail' or 'skip', got 'pass'"):
        assert_equivalent(REAL[:60], REAL, inconclusive="pass")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="the margin of dd must be a number above 0"):
        assert_equivalent(sentences(60, 2), REAL, margin=-1, **QUICK)


def test_pytest_skips_what_cannot_be_told_and_shows_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        from made_up import sentences
        from textassay.testing import assert_equivalent

        def test_it():
            assert_equivalent(sentences(100, 2), sentences(100, 1), margin=0.02, inconclusive="skip", effort="quick")
    """)
    plugin = () if "textassay" in entry_points(group="pytest11").names else ("-p", "textassay.testing.plugin")
    result = pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*test_it: INCONCLUSIVE generated: dd *"])
