"""What a comparison drew from a generator by itself; see `textassay.comparison.drawing`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from textassay.comparison.explanation import CurvePoint

TIMES_REAL = 5  # the budget where none is given: so many times the real texts
Stopped = Literal["level", "budget", "time", "ended", "no dd"]


@dataclass(frozen=True)
class Draw:
    """What was drawn from one generator, and why no more.

    `curve` is dd (effort ``quick``, with log-probabilities where `log_probs`) against all real texts by the number of
    draws; `gain` is what the last enlargement added to it, with its interval at the level of the comparison; None where
    dd was not measured twice. `stopped`: ``level`` (the last doubling raised dd by no more than its standard error),
    ``budget``, ``time``, ``ended`` (the command printed no more) or ``no dd`` (it is not measured: as many as real
    texts). `log_probs`: whether its own log-probabilities were used; `no_log_probs`: else why not.
    `note`: of an endpoint, what the answers took.
    """

    generator: str
    source: str | None  # as it was named, such as ``models/lstm``; None for an object of Python
    model: str
    seed: int  # of the first block
    n: int
    seconds: float  # of drawing
    budget: str
    stopped: Stopped
    curve: tuple[CurvePoint, ...]
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    file: str | None  # in the folder of results
    log_probs: bool = False
    no_log_probs: str | None = None
    note: str | None = None

    @property
    def rising(self) -> bool:
        """Whether dd was still rising: the last enlargement raised it by more than luck explains."""
        return self.gain_low is not None and self.gain_low > 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Draw":
        """Return what `to_dict` gave."""
        return cls(**{**data, "curve": tuple(CurvePoint(**point) for point in data["curve"])})
