"""`assert_equivalent`: its verdicts, what it does where it cannot tell, its lines under the results."""

from typing import Any

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
    with pytest.raises(pytest.skip.Exception, match="INCONCLUSIVE"):
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
