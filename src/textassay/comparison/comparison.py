"""The comparison: every metric for every generator, the differences between pairs, ranks, findings, explanations."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from textassay.comparison.explanation import Explanation
from textassay.estimate import Better, Estimate
from textassay.inspection.finding import HELDOUT, REAL, Finding

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FLOOR", "HELDOUT", "TRAIN", "Comparison", "PairDifference", "Rank", "RealText", "Result"]

FLOOR = REAL  # the row of the real text itself
TRAIN = "(train)"  # the row of the text that the generators were trained on


@dataclass(frozen=True)
class RealText:
    """The real text of a comparison: where it came from, its size and content hash."""

    name: str
    n_sentences: int
    fingerprint: str


@dataclass(frozen=True)
class Result:
    """One metric for one generator; for rows of reference `generator` is ``(real)``, ``(real-heldout)`` or ``(train)``.

    Attributes
    ----------
    generator, metric
        Whose text, and the metric's canonical name.
    better
        The metric's direction.
    estimate
        On all text; none where it could not be computed.
    matched
        The same metric at the floor's sample size, or with all sentences of a generator that has fewer, and against the
        floor's half of the real text; none for the ``(real)`` row and where it could not be computed.
    floor
        What real text scores at the size of `matched`: the ``(real)`` row's estimate, or that of fewer sentences.
    error
        Why there is no estimate, or why its value is undefined.
    """

    generator: str
    metric: str
    better: Better
    estimate: Estimate | None
    matched: Estimate | None = None
    floor: Estimate | None = None
    error: str | None = None

    @property
    def ranked_by(self) -> Literal["value", "matched_value"] | None:
        """Which value generators are ranked by: where closer to real text is better, that at the floor's size."""
        if self.better == "neither":
            return None
        return "matched_value" if self.better == "closer" else "value"


@dataclass(frozen=True)
class PairDifference:
    """Difference ``value(a) - value(b)`` of one metric on the same real text, with interval and p-values.

    `p_adjusted` is Holm's over all pairs of this metric. All but `metric`, `a`, `b` are None where undefined.
    """

    metric: str
    a: str
    b: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class Rank:
    """Rank interval of a generator under one metric, 1 is best: from 1 + significantly better to n - worse."""

    generator: str
    metric: str
    low: int
    high: int


@dataclass(frozen=True, repr=False)
class Comparison:
    """Many metrics over many generators against one real text; `settings` are the others of the call, by name."""

    version: str
    real: RealText
    generators: tuple[str, ...]
    metrics: tuple[str, ...]
    results: tuple[Result, ...]
    pairs: tuple[PairDifference, ...]
    ranks: tuple[Rank, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...]
    level: float
    seed: int
    explanations: tuple[Explanation, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return one line: all the numbers are what `to_frame` is for."""
        return f"<Comparison of {', '.join(self.generators)} with {self.real.name} by {', '.join(self.metrics)}>"

    def result(self, generator: str, metric: str) -> Result:
        """Return the result of one cell; raises KeyError where there is none."""
        for result in self.results:
            if result.generator == generator and result.metric == metric:
                return result
        raise KeyError(f"no result of {metric} for {generator}")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of the command-line contract."""
        return {
            "version": self.version,
            "real": asdict(self.real),
            "generators": list(self.generators),
            "metrics": list(self.metrics),
            "level": self.level,
            "seed": self.seed,
            "results": [_result_to_dict(result) for result in self.results],
            "pairs": [asdict(pair) for pair in self.pairs],
            "ranks": [asdict(rank) for rank in self.ranks],
            "findings": [finding.to_dict() for finding in self.findings],
            "warnings": list(self.warnings),
            "explanations": [explanation.to_dict() for explanation in self.explanations],
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Comparison":
        """Return the comparison that `to_dict` gave as `data`, without evidence."""
        return cls(
            version=data["version"],
            real=RealText(**data["real"]),
            generators=tuple(data["generators"]),
            metrics=tuple(data["metrics"]),
            results=tuple(_result_from_dict(result) for result in data["results"]),
            pairs=tuple(PairDifference(**pair) for pair in data["pairs"]),
            ranks=tuple(Rank(**rank) for rank in data["ranks"]),
            findings=tuple(Finding(**finding) for finding in data["findings"]),
            warnings=tuple(data["warnings"]),
            level=data["level"],
            seed=data["seed"],
            explanations=tuple(Explanation.from_dict(explanation) for explanation in data.get("explanations", ())),
            settings=data.get("settings", {}),
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per generator and metric: value, interval, unit, direction, value at the floor's size."""
        import pandas as pd

        rows = [_result_to_dict(result) for result in self.results]
        columns = [
            "generator",
            "metric",
            "value",
            "low",
            "high",
            "unit",
            "better",
            "matched_value",
            "floor_value",
            "ranked_by",
            "error",
            "signature",
        ]
        return pd.DataFrame(rows, columns=columns)


def _result_to_dict(result: Result) -> dict[str, Any]:
    empty = dict.fromkeys(("value", "low", "high", "level", "interval_method", "unit", "sizes", "signature"))
    estimate = {**empty, "details": {}} if result.estimate is None else result.estimate.to_dict()
    matched, floor = (None if found is None else found.to_dict() for found in (result.matched, result.floor))
    return {
        **estimate,
        "generator": result.generator,
        "metric": result.metric,
        "better": result.better,
        "matched_value": None if matched is None else matched["value"],
        "floor_value": None if floor is None else floor["value"],
        "ranked_by": result.ranked_by,
        "matched": matched,
        "floor": floor,
        "error": result.error,
    }


def _result_from_dict(data: Mapping[str, Any]) -> Result:
    return Result(
        generator=data["generator"],
        metric=data["metric"],
        better=data["better"],
        estimate=None if data["signature"] is None else Estimate.from_dict(data),
        matched=None if data["matched"] is None else Estimate.from_dict(data["matched"]),
        floor=None if data["floor"] is None else Estimate.from_dict(data["floor"]),
        error=data["error"],
    )
