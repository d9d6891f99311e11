"""One metric's values for several generators, with the covariance of their errors.

All generators are measured against the same real text, so their values share the error of that text, and each has an
independent error from its own texts. The covariance comes from the estimates' evidence, as for differences between
generators in a comparison.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Better, Estimate, Interval

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MetricValues:
    """The values of n generators under one metric."""

    # The metric's name and direction
    metric: str
    better: Better
    generators: tuple[str, ...]
    values: FloatArray  # Shape (n,); for "closer", minus the value of real text
    # Covariance of the shared error, from the real text and from its floor, shape (n, n)
    shared: FloatArray
    own: FloatArray  # Variance of each generator's independent error, shape (n,)

    @classmethod
    def exact(cls, metric: str, better: Better, values: Mapping[str, float]) -> "MetricValues":
        """Return values without errors, such as sizes of training text or printed values; distances for "closer"."""
        n = len(values)
        return cls(metric, better, tuple(values), np.array(list(values.values())), np.zeros((n, n)), np.zeros(n))

    @classmethod
    def independent(
        cls, metric: str, better: Better, values: Mapping[str, tuple[float, Interval | None]]
    ) -> "MetricValues":
        """Return values with independent errors, from their intervals."""
        exact = cls.exact(metric, better, {name: value for name, (value, _) in values.items()})
        return replace(exact, own=np.array([_variance(interval) for _, interval in values.values()]))

    @classmethod
    def of_estimates(
        cls,
        estimates: Mapping[str, Estimate],
        *,
        name: str,
        better: Better | None = None,
        floor: Estimate | None = None,
    ) -> "MetricValues":
        """Return the values of estimates on the same real text with the same seed."""
        if not estimates:
            raise InputError(f"{name} needs at least one estimate, got none")
        direction = better or next(iter(estimates.values())).better
        for generator, estimate in estimates.items():
            if not math.isfinite(estimate.value):
                raise InputError(f"{name} of {generator} is undefined")
        if direction == "closer" and floor is None:
            raise InputError(f"{name} is better the closer it is to real text: give the floor")
        base = floor if direction == "closer" else None
        middle = 0.0 if base is None else base.value
        n = len(estimates)
        values = np.array([estimate.value - middle for estimate in estimates.values()])
        real = _terms(name, estimates, base)
        shared = np.zeros((n, n)) if real is None else np.atleast_2d(np.cov(real)) / real.shape[1]
        if base is not None and base.evidence is not None and base.evidence.generated_terms is not None:
            shared = shared + _mean_variance(base.evidence.generated_terms)
        own = np.array([_own_variance(name, generator, estimate) for generator, estimate in estimates.items()])
        return cls(name, direction, tuple(estimates), values, shared, own)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the values, shape (n, n)."""
        return np.asarray(self.shared + np.diag(self.own), dtype=np.float64)

    @property
    def goodness(self) -> FloatArray:
        """Values oriented so that higher is better, shape (n,)."""
        return self.turned(self.values)

    @property
    def order(self) -> tuple[str, ...]:
        """Generators, the best first; ties in the order given."""
        return tuple(self.generators[place] for place in np.argsort(-self.goodness, kind="stable"))

    def turned(self, values: FloatArray) -> FloatArray:
        """Return `values`, shape (..., n), oriented so that higher is better: "closer" as minus the distance."""
        if self.better == "closer":
            return np.asarray(-np.abs(values), dtype=np.float64)
        return values if self.better == "higher" else -values

    def slopes(self) -> FloatArray:
        """Return the derivative of goodness by the values, 1 or -1, shape (n,)."""
        if self.better == "closer":
            return np.where(self.values < 0, 1.0, -1.0)
        return np.full(len(self.values), 1.0 if self.better == "higher" else -1.0)

    def select(self, generators: Sequence[str]) -> "MetricValues":
        """Return the values of some generators, in the order given; raise KeyError for an unknown one."""
        missing = [name for name in generators if name not in self.generators]
        if missing:
            raise KeyError(f"{self.metric} has no value of {', '.join(missing)}")
        rows = np.array([self.generators.index(name) for name in generators], dtype=np.int64)
        return replace(
            self,
            generators=tuple(generators),
            values=self.values[rows],
            shared=self.shared[np.ix_(rows, rows)],
            own=self.own[rows],
        )


def _terms(name: str, estimates: Mapping[str, Estimate], floor: Estimate | None) -> FloatArray | None:
    """Return the real terms of all estimates minus those of the floor, shape (n, n_terms); None without terms."""
    rows = [None if e.evidence is None else e.evidence.real_terms for e in estimates.values()]
    defined = [row for row in rows if row is not None]
    if not defined:
        return None
    base = None if floor is None or floor.evidence is None else floor.evidence.real_terms
    lengths = {len(row) for row in defined} | (set() if base is None else {len(base)})
    if len(defined) < len(rows) or len(lengths) > 1:
        raise InputError(f"{name}: measure all generators against the same real text with the same seed")
    terms = np.array(defined)
    return terms if base is None else terms - base


def _own_variance(name: str, generator: str, estimate: Estimate) -> float:
    """Return the variance due to a generator's own texts, from its terms or else from its interval."""
    evidence = estimate.evidence
    if evidence is not None and (evidence.generated_terms is not None or evidence.real_terms is not None):
        return 0.0 if evidence.generated_terms is None else _mean_variance(evidence.generated_terms)
    if estimate.interval is None:
        raise InputError(f"{name} of {generator} has neither an interval nor the evidence for one")
    return _variance(estimate.interval)


def _mean_variance(terms: FloatArray) -> float:
    return float(np.var(terms, ddof=1)) / len(terms)


def _variance(interval: Interval | None) -> float:
    """Return the variance behind an approximately normal interval; 0 for None."""
    if interval is None:
        return 0.0
    return float(((interval.high - interval.low) / 2 / stats.norm.ppf((1 + interval.level) / 2)) ** 2)
