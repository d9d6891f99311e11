"""What a metric returns: a value with its interval, sizes, settings and the evidence behind it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.display import Displayed, columns_from

Better = Literal["lower", "higher", "closer", "neither"]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_NUMBERS = ("value", "low", "high", "level")
_COLUMNS = ("metric", *_NUMBERS, "interval_method", "unit", "better", "n_generated", "n_real", "signature")


@dataclass(frozen=True)
class Interval:
    """A confidence interval: `low` and `high` at `level` (0.95 for 95 %), by `method`."""

    low: float
    high: float
    level: float
    method: str

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class Signature:
    """Everything needed to reproduce a number, in fixed order; prints as ``key:value|key:value``."""

    settings: Mapping[str, str]

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self.settings.items())

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Return the signature that prints as `text`."""
        return cls(dict(part.split(":", 1) for part in text.split("|")))


@dataclass(frozen=True)
class Evidence:
    """The terms behind a value, for differences between generators and for files of scores per text.

    Terms linearise the value: its sampling variance is ``var(real_terms) / len(real_terms) + var(generated_terms) /
    len(generated_terms)`` with ddof 1, where no group has texts on both sides. A term belongs to a text, to a group of
    texts or, where the contribution of a text depends on the others, to a jackknife group (a pseudo-value). Two
    estimates on the same real text with the same seed have aligned real terms, so that their difference is paired.
    """

    # Shape (n_real,) or (n_groups,); None if the value does not depend on which real texts were drawn
    real_terms: FloatArray | None
    generated_terms: FloatArray | None  # Shape (n_generated,) or (n_groups,)
    # One score per text, for people to read, shapes (n_real,) and (n_generated,)
    real_scores: FloatArray | None = None
    generated_scores: FloatArray | None = None
    # Where texts come in groups: the group of each text, and the terms of texts that those above are made of, same
    # shapes; terms None where the value does not have one for every text
    real_groups: IntArray | None = None
    generated_groups: IntArray | None = None
    real_text_terms: FloatArray | None = None
    generated_text_terms: FloatArray | None = None


@dataclass(frozen=True)
class Estimate(Displayed):
    """One metric's value for one generator.

    Attributes
    ----------
    metric
        Canonical name with parameters, such as ``bleu(order=4)``.
    value
        NaN where the metric is undefined.
    interval
        None where the metric has none. Its ends are `low` and `high`, too, NaN where there is none.
    unit
        Such as "fraction" or "nats per token".
    better
        "lower", "higher", "closer" (to what real text scores) or "neither".
    sizes
        The counts behind the value: ``n_generated``, ``n_real`` and others.
    signature
        All settings, tokenisation, sizes, seed and version.
    details
        Further results, JSON-ready.
    evidence
        Arrays behind the value; not part of `to_dict`.
    findings
        What must be known of its texts, each a `Finding`: whether they depend on each other, what both sides share, how
        few they are. Of an estimate in a comparison none: it has them itself. Not part of `to_dict`.
    """

    metric: str
    value: float
    interval: Interval | None
    unit: str
    better: Better
    sizes: Mapping[str, int]
    signature: Signature
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    findings: Sequence[Any] = field(default=(), repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    @property
    def low(self) -> float:
        """Lower end of the interval; NaN where there is none."""
        return math.nan if self.interval is None else self.interval.low

    @property
    def high(self) -> float:
        """Upper end of the interval; NaN where there is none."""
        return math.nan if self.interval is None else self.interval.high

    def __hash__(self) -> int:
        return hash((self.metric, self.value, self.signature))

    def _columns(self) -> dict[str, list[Any]]:
        row = {**self.to_dict(), **{key: self.sizes.get(key) for key in ("n_generated", "n_real")}}
        numbers = {name: math.nan if row[name] is None else float(row[name]) for name in _NUMBERS}
        return columns_from([{**row, **numbers}], _COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; NaN and infinite values become None."""
        interval = self.interval
        return {
            "metric": self.metric,
            "value": json_ready(self.value),
            "low": None if interval is None else json_ready(interval.low),
            "high": None if interval is None else json_ready(interval.high),
            "level": None if interval is None else interval.level,
            "interval_method": None if interval is None else interval.method,
            "unit": self.unit,
            "better": self.better,
            "sizes": dict(self.sizes),
            "signature": str(self.signature),
            "details": json_ready(dict(self.details)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Estimate":
        """Return the estimate that `to_dict` gave as `data`, without its evidence."""
        interval = None
        if data["interval_method"] is not None:
            low, high = (math.nan if data[key] is None else data[key] for key in ("low", "high"))
            interval = Interval(low, high, data["level"], data["interval_method"])
        return cls(
            metric=data["metric"],
            value=math.nan if data["value"] is None else data["value"],
            interval=interval,
            unit=data["unit"],
            better=data["better"],
            sizes=data["sizes"],
            signature=Signature.parse(data["signature"]),
            details=data["details"],
        )


def json_ready(value: Any) -> Any:
    """Return `value` with None for NaN and infinity, and lists for arrays and tuples, at any depth."""
    if isinstance(value, Interval):
        return json_ready(value.__dict__)
    if isinstance(value, Mapping):
        return {key: json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_ready(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
