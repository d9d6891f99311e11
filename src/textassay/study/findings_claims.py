"""Findings that are lists of claims: what is said, what the paper prints, where the numbers should lie.

Source: none of the papers; how a verdict follows from intervals is that of `judge_claims`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textassay.meta_evaluation.reproduction import CheckedFinding, Number, Verdict
from textassay.study.exposure_values import Claim, judge_claims

__all__ = ["ClaimRule"]

_HOW = (
    "Holds where the {level:g} % interval of each number lies there; does not hold where one, widened for how many "
    "there are, lies wholly outside."
)


@dataclass(frozen=True)
class ClaimRule:
    """A finding: its id, what it says, what the paper prints, where the numbers should lie."""

    id: str
    statement: str
    published: str
    where: str

    def checked(self, about: str, claims: Iterable[Claim], level: float) -> CheckedFinding:
        """Return the verdict on claims."""
        verdict, numbers = judge_claims(claims, level)
        rule = f"{self.where} {_HOW.format(level=100 * level)}"
        return CheckedFinding(self.id, self.statement, about, verdict, rule, self.published, numbers)

    def with_verdict(self, about: str, verdict: Verdict, numbers: Mapping[str, Number]) -> CheckedFinding:
        """Return the finding with a verdict that needs no interval."""
        return CheckedFinding(self.id, self.statement, about, verdict, self.where, self.published, numbers)
