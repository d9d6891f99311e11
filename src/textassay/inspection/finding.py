"""Findings: what inspection reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from textassay.display import Displayed, columns_from

Severity = Literal["warning", "note"]

REAL = "(real)"
HELDOUT = "(real-heldout)"
LANGUAGE_UNKNOWN = "language-unknown"  # kind of the finding that dd learns a language from few texts
OWN_SHARE = 0.01  # of the texts of one side, from which what they show by themselves is told


@dataclass(frozen=True)
class Finding(Displayed, document="textassay.inspection.document:inspection_document", hashable=True):
    """One difference between two sides, or one problem of a side.

    Attributes
    ----------
    kind
        Stable name, such as ``glued-punctuation``.
    severity
        "warning" if it moves metrics by itself, else "note".
    generator
        The generator concerned, or ``(real)`` for the real text itself.
    message
        One sentence that says what differs and how much.
    count_generated, count_real
        Number of texts concerned on each side.
    n_generated, n_real
        Number of texts checked on each side; 0 if none.
    example_generated, example_real
        One example of each side, or None.
    remedy
        What to do, in one sentence.
    pairs
        Generated and real texts that belong together, some of them, side by side.
    """

    kind: str
    severity: Severity
    generator: str
    message: str
    count_generated: int
    count_real: int
    n_generated: int
    n_real: int
    example_generated: str | None
    example_real: str | None
    remedy: str
    pairs: tuple[tuple[str, str], ...] = ()

    def _columns(self) -> dict[str, list[Any]]:
        return Findings([self])._columns()

    @property
    def kind_in_words(self) -> str:
        """The kind for people, such as "glued punctuation"."""
        return self.kind.replace("-", " ")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {**asdict(self), "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Finding":
        """Return the finding that `to_dict` gave as `data`."""
        return cls(**{**data, "pairs": tuple(tuple(pair) for pair in data["pairs"])})


class Findings(Displayed, list[Finding], document="textassay.inspection.document:inspection_document"):
    """A list of findings that is printed and displayed as one report."""

    def _columns(self) -> dict[str, list[Any]]:
        names = [name for name in Finding.__dataclass_fields__ if name != "pairs"]
        return columns_from([one.to_dict() for one in self], names)


def own_finding(
    kind: str, severity: Severity, name: str, message: str, count: int, size: int, example: str | None, remedy: str
) -> Finding:
    """Return a finding about one side by itself; names in parentheses, such as ``(real)``, are real text."""
    if name.startswith("("):
        return Finding(kind, severity, name, message, 0, count, 0, size, None, example, remedy)
    return Finding(kind, severity, name, message, count, 0, size, 0, example, None, remedy)
