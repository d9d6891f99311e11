"""What a comparison drew from a generator by itself; see `textassay.comparison.drawing`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Draw:
    """What was drawn from one generator.

    `log_probs`: whether its own log-probabilities were used; `no_log_probs`: else why not. `note`: what the answers of
    an endpoint took, or that a command printed fewer texts than were asked for.
    """

    generator: str
    source: str | None  # as it was named, such as ``models/lstm``; None for an object of Python
    model: str
    seed: int  # of the first block
    n: int
    seconds: float  # of drawing
    file: str | None  # in the folder of results
    log_probs: bool = False
    no_log_probs: str | None = None
    note: str | None = None

    @property
    def is_answers(self) -> bool:
        """Whether the texts are answers of an endpoint."""
        return self.model.startswith("openai(")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Draw":
        """Return what `to_dict` gave."""
        return cls(**data)
