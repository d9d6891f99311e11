"""`assert_equivalent`: a test that generated text is equivalent to real text; `comparison.equivalence` has the rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from unittest import SkipTest

from textassay.comparison.comparison import Comparison
from textassay.comparison.equivalence import Margins, exit_status
from textassay.comparison.equivalence_document import verdict_text
from textassay.comparison.run import compare
from textassay.corpus.corpus import Texts
from textassay.errors import OptionError, unknown_name
from textassay.report.text import count
from textassay.testing.closeness import SETTINGS, checks


@dataclass(frozen=True)
class _Check:
    """What one call of `assert_equivalent` found."""

    comparison: Comparison

    def lines(self) -> list[str]:
        """Return a line for each verdict."""
        return [f"{one.verdict} {one.generator}: {verdict_text(one)}" for one in self.comparison.equivalence]


def assert_equivalent(
    generated: Texts | Mapping[str, Texts],
    real: Texts,
    *,
    margin: Margins = 0.1,
    inconclusive: Literal["fail", "skip"] = "fail",
    level: float = 0.95,
    seed: int = 0,
    **settings: Any,
) -> Comparison:
    """Raise an AssertionError unless generated text is shown to be equivalent to real text, within a margin.

    Parameters
    ----------
    generated, real
        As in `compare`; generators by name share the error rate. dd needs 50 texts a side.
    margin
        The largest dd that does not matter, or metric to margin, as `equivalent` of `compare`.
    inconclusive
        What becomes of a test that cannot tell: it fails, or is skipped, by pytest and by unittest.
    level
        Of all verdicts together: the chance that any PASS is wrong is at most ``1 - level``, and so is that of a FAIL.
    seed
        As in `compare`: the same texts and seed give the same verdict.
    settings
        Of `compare`, as in `assert_close`.

    Returns
    -------
    Comparison
        Everything that was measured; its `equivalence` holds the verdicts.

    Raises
    ------
    AssertionError
        With a line for each verdict.
    SkipTest
        Where it cannot tell and `inconclusive` is ``skip``.
    OptionError
        If a margin is not above 0, or a metric or setting is unknown.
    TooFewSentencesError
        If a metric needs more texts.
    """
    __tracebackhide__ = True
    if inconclusive not in ("fail", "skip"):
        raise OptionError(f"inconclusive must be 'fail' or 'skip', got {inconclusive!r}")
    for name in settings:
        if name not in SETTINGS:
            raise unknown_name("setting of assert_equivalent", name, SETTINGS)
    metrics = list(margin) if isinstance(margin, Mapping) else ["dd"]
    comparison = compare(
        generated, real, metrics=metrics, equivalent=margin, level=level, seed=seed, explain=False, **settings
    )
    check = _Check(comparison)
    checks.append(check)
    status = exit_status(comparison.equivalence)
    if status == 0:
        return comparison
    what = "not equivalent" if status == 1 else "not shown to be equivalent"
    sizes = f"{count(comparison.real.n_sentences)} real texts, seed {seed}, textassay {comparison.version}"
    message = "\n".join([f"generated text is {what} to real text", *(f"  {line}" for line in check.lines()), sizes])
    if status != 1 and inconclusive == "skip":
        raise SkipTest(message)
    raise AssertionError(message)
