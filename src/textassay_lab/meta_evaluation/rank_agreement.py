"""Agreement of a metric's order of generators with a gold order, and its sampling distribution.

All generators are measured against the same real text, so their values share the error of that text, and each has an
independent error from its own texts. The covariance comes from the estimates' evidence, as for differences between
generators in a comparison.

Kendall's tau-b of the values with the gold, oriented so that higher is better ("closer": minus the distance to real
text). For its distribution, values are drawn from a normal distribution around those measured, with that covariance;
the gold likewise, if it has errors. With several training seeds, each generator's seed is drawn too, the same for
metric and gold. Measured values already contain an error and the draws add another, so tau of the draws is on average
below that of new measurements of the same generators; around the true values, it has exactly their distribution.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 5 (inside a
family, more training text is better; on synthetic text, a smaller exact discrepancy is); Kendall, "The treatment of
ties in ranking problems", Biometrika 33, 1945 (tau-b).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError
from textassay.estimate import Better, Estimate, Interval
from textassay.seeding import stream

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


BY_VOLUME = "training text"
BY_DISCREPANCY = "exact DD"


def gold_by_volume(sizes: Mapping[str, float]) -> MetricValues:
    """Return the order by training text, without error; `sizes` maps generators to texts or shares of the text."""
    return MetricValues.exact(BY_VOLUME, "higher", sizes)


_DRAWS_FOR_QUANTILES = 50_000


@dataclass(frozen=True)
class Neighbours:
    """Two neighbours of a gold order, and whether some values separate them."""

    # generators, by the gold order
    better: str
    worse: str
    by: str  # source of the values: a metric, or the gold itself
    # by how much `better` is better in these values (below 0: it is worse), with an interval that holds for all
    # neighbours together
    difference: float
    low: float
    high: float
    separated: bool  # whether the interval leaves out 0


@dataclass(frozen=True)
class TauDistribution:
    """Kendall's tau-b of a metric with a gold order, and its distribution."""

    # such as "our DD", "5 LSTM" and "exact DD"
    metric: str
    group: str
    gold: str
    value: float | None  # of the values as measured, averaged over training seeds; None where a side is constant
    # of tau over the draws
    mean: float
    low: float
    high: float
    # distinct taus of the draws, ascending, and the share of draws of each
    values: tuple[float, ...]
    shares: tuple[float, ...]
    by_seed: tuple[float | None, ...]  # tau of each training seed by itself; one where there is one
    neighbours: tuple[Neighbours, ...] = ()  # by the gold and by the metric

    def share_at_least(self, tau: float) -> float:
        """Return the share of draws in which tau is at least `tau`."""
        return math.fsum(share for value, share in zip(self.values, self.shares, strict=True) if value >= tau - 1e-9)


def agreement(
    metric: Sequence[MetricValues],
    gold: Sequence[MetricValues],
    *,
    group: str,
    level: float = 0.95,
    n_draws: int = 10_000,
    seed: int = 0,
) -> TauDistribution:
    """Return tau-b of a metric with a gold order, its distribution, and which neighbours are not separated."""
    names = metric[0].generators if metric else ()
    if len(names) < 2:
        raise InputError(f"a rank correlation needs at least 2 generators, got {len(names)}")
    if len(gold) not in (1, len(metric)):
        raise InputError(f"gold must be one order, or one for each of {len(metric)} training seeds, got {len(gold)}")
    if any(set(values.generators) != set(names) for values in (*metric, *gold)):
        raise InputError("metric and gold must be of the same generators")
    metric, gold = ([values.select(names) for values in side] for side in (metric, gold))
    means = pooled(metric), pooled(gold)
    value = float(tau_b(means[0].goodness[None], means[1].goodness[None])[0])
    picks = stream(seed, "tau", "training seeds").integers(len(metric), size=(n_draws, len(names)))
    drawn = np.nan_to_num(
        tau_b(
            _draw(metric, picks, seed=seed, name=f"metric/{means[0].metric}"),
            _draw(gold, picks if len(gold) > 1 else np.zeros_like(picks), seed=seed, name="gold"),
        )
    )
    taus, counts = np.unique(np.round(drawn, 12), return_counts=True)
    order = means[1].order
    tail = (1 - level) / 2
    golds = gold if len(gold) > 1 else gold * len(metric)
    return TauDistribution(
        metric=means[0].metric,
        group=group,
        gold=means[1].metric,
        value=None if np.isnan(value) else value,
        mean=float(drawn.mean()),
        low=float(np.quantile(drawn, tail, method="inverted_cdf")),
        high=float(np.quantile(drawn, 1 - tail, method="inverted_cdf")),
        values=tuple(taus.tolist()),
        shares=tuple((counts / n_draws).tolist()),
        by_seed=tuple(
            None if np.isnan(tau) else float(tau)
            for m, g in zip(metric, golds, strict=True)
            for tau in tau_b(m.goodness[None], g.goodness[None])
        ),
        neighbours=tuple(
            pair for values in (means[1], means[0]) for pair in _neighbours(values, order, level=level, seed=seed)
        ),
    )


def tau_b(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Kendall's tau-b of each row, shape (D,); NaN where a side is constant.

    `first`, `second`: shapes (D, n), or (1, n) for one that stands against every row of the other.
    """
    one, other = np.triu_indices(first.shape[1], 1)
    signs = [np.sign(side[:, one] - side[:, other]) for side in (first, second)]
    untied = [np.count_nonzero(side, axis=1) for side in signs]
    with np.errstate(invalid="ignore"):
        return np.asarray((signs[0] * signs[1]).sum(axis=1) / np.sqrt(untied[0] * untied[1]), dtype=np.float64)


def pooled(runs: Sequence[MetricValues]) -> MetricValues:
    """Return the mean over training seeds, with the error of that mean.

    The error of the real text is the same in all runs. A generator's own error (training and texts) is the variance
    over
    runs, but at least the variance due to its texts.
    """
    if len(runs) == 1:
        return runs[0]
    values = np.array([run.values for run in runs])
    own = np.maximum(values.var(axis=0, ddof=1), np.mean([run.own for run in runs], axis=0)) / len(runs)
    return replace(runs[0], values=values.mean(axis=0), shared=np.mean([run.shared for run in runs], axis=0), own=own)


def differences(
    values: FloatArray, covariance: FloatArray, contrasts: FloatArray, *, level: float = 0.95, seed: int = 0
) -> FloatArray:
    """Return contrasts of jointly normal values with simultaneous intervals (the largest |t| of all).

    `values`, `covariance`: shapes (n,) and (n, n); `contrasts`: one a row, shape (m, n), such as 1 and -1 for a
    difference.

    Value, low, high, shape (m, 3); an interval without width where there is no error.
    """
    middle = contrasts @ values
    spread = contrasts @ covariance @ contrasts.T
    errors = np.sqrt(np.maximum(np.diag(spread), 0.0))
    erring = errors > 0
    margin = np.zeros_like(errors)
    if erring.any():
        correlation = spread[np.ix_(erring, erring)] / np.outer(errors[erring], errors[erring])
        noise = stream(seed, "simultaneous").standard_normal((_DRAWS_FOR_QUANTILES, len(correlation)))
        largest = np.abs(noise @ _root(correlation)).max(axis=1)
        margin = float(np.quantile(largest, level)) * errors
    return np.column_stack([middle, middle - margin, middle + margin])


def _neighbours(values: MetricValues, order: Sequence[str], *, level: float, seed: int) -> list[Neighbours]:
    """Return the difference between each generator of `order` and the next."""
    sorted_values = values.select(order)
    n, slopes = len(order), sorted_values.slopes()
    contrasts = np.eye(n)[:-1] - np.eye(n)[1:]
    covariance = np.outer(slopes, slopes) * sorted_values.covariance
    intervals = differences(sorted_values.goodness, covariance, contrasts, level=level, seed=seed)
    return [
        Neighbours(better, worse, values.metric, difference, low, high, separated=low > 0 or high < 0)
        for better, worse, (difference, low, high) in zip(order, order[1:], intervals.tolist(), strict=False)
    ]


def _draw(runs: Sequence[MetricValues], picks: npt.NDArray[np.int64], *, seed: int, name: str) -> FloatArray:
    """Return draws of the goodness of every generator from the picked runs, shape of `picks`."""
    rng = stream(seed, "tau", name)
    columns = np.arange(picks.shape[1])
    values, own_variance = (np.array([getattr(run, key) for run in runs])[picks, columns] for key in ("values", "own"))
    shared = np.mean([run.shared for run in runs], axis=0)
    noise = rng.standard_normal(picks.shape) * np.sqrt(own_variance) + rng.standard_normal(picks.shape) @ _root(shared)
    return runs[0].turned(values + noise)


def _root(covariance: FloatArray) -> FloatArray:
    """Return the symmetric square root of a covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, dtype=np.float64)
