"""Findings: what inspection says, the same for every check, and how it quotes a sentence."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from textassay.display import Displayed

Severity = Literal["warning", "note"]

REAL = "(real)"
HELDOUT = "(real-heldout)"
_WIDTH = 160


@dataclass(frozen=True)
class Finding(Displayed):
    """One thing that differs between two sides, or is wrong with one.

    Attributes
    ----------
    kind
        Stable name, such as ``glued-punctuation``.
    severity
        "warning" where it moves metrics by itself, "note" where it is worth knowing.
    generator
        Whose text it is about (``(real)`` where it is the real text's own).
    message
        One sentence: what was found and how many.
    count_generated, count_real
        How many sentences show it on each side.
    n_generated, n_real
        Out of how many; 0 for a side that was not looked at.
    example_generated, example_real
        One example of each side, or none.
    remedy
        What to do, one sentence.
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

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)


class Findings(Displayed, list[Finding]):
    """Findings that print and show themselves together."""


def own_finding(
    kind: str, how_bad: Severity, name: str, message: str, count: int, size: int, example: str | None, remedy: str
) -> Finding:
    """Return a finding about one text by itself, with the counts on the side that `name` says.

    Names in parentheses, such as ``(real)``, are real text; the counts of the other side are 0.
    """
    if name.startswith("("):
        return Finding(kind, how_bad, name, message, 0, count, 0, size, None, example, remedy)
    return Finding(kind, how_bad, name, message, count, 0, size, 0, example, None, remedy)


def excerpt(text: str, spot: str | None = None) -> str:
    """Return at most about 160 characters of `text` around `spot`, in one line, unprintable characters escaped."""
    at = -1 if spot is None else text.rfind(spot)
    if at < 0 and spot is not None:
        at = text.lower().rfind(spot)
    start = min(max(at + len(spot or "") // 2 - _WIDTH // 2, 0), max(len(text) - _WIDTH, 0))
    stop = start + _WIDTH
    cut = ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in cut
    )
