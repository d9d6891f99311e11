"""Findings: trivial differences between two corpora that any metric would mistake for quality."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
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
        Out of how many.
    example_generated, example_real
        One example of each side, or none.
    remedy
        What to do, one sentence.
    """

    kind: str
    severity: Literal["warning", "note"]
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
