"""Exposure bias from the next-word task: how often people disagree with the model, after its own prefixes and people's.

``CGD(M|H)`` is the share of judgements in which the person did not choose the model's most probable word (none of them
counts as that) after prefixes from H; ``EB-C = CGD(M|M) / CGD(M|D)`` is 1 without exposure bias and larger with it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equations 3 to 5 and section 4.4.
Departs from it: intervals instead of the spread of five evaluations. They allow for raters who differ and for prefixes
that are judged several times, by two-way clustering (Cameron, Gelbach, Miller, "Robust Inference With Multiway
Clustering", JBES 29, 2011).
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, OptionError
from textassay.estimate import Interval
from textassay.human.judgements import Judgements

__all__ = ["NextWordScore", "score_next_word"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NextWordScore:
    """What people say of a model's next words.

    Attributes
    ----------
    model
        Its name.
    cgd_data, cgd_model
        Fraction in [0, 1] after prefixes of data and of the model; lower is better.
    eb_c
        Their ratio; NaN where nobody ever disagreed after prefixes of data.
    cgd_data_interval, cgd_model_interval, eb_c_interval
        None where there are fewer than two raters and fewer than two prefixes of a side.
    n_data, n_model
        Judgements of each side.
    n_prefixes, n_raters
        Prefixes judged, and raters who judged them.
    """

    model: str
    cgd_data: float
    cgd_model: float
    eb_c: float
    cgd_data_interval: Interval | None
    cgd_model_interval: Interval | None
    eb_c_interval: Interval | None
    n_data: int
    n_model: int
    n_prefixes: int
    n_raters: int

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-ready values, NaN as null."""
        document: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, Interval):
                document[name] = dict(value.__dict__)
            else:
                document[name] = None if isinstance(value, float) and math.isnan(value) else value
        return document


def score_next_word(judgements: Judgements, *, level: float = 0.95) -> NextWordScore:
    """Return the scores of one model.

    Parameters
    ----------
    judgements
        As `textassay.human.acceptance.collect` makes them of a next-word study: 1 where the model's most probable word
        was chosen, 0 elsewhere.
    level
        Of the intervals, in (0, 1).

    Raises
    ------
    InputError
        If the judgements are of another task, or a side has none.

    Warns
    -----
    UserWarning
        If EB-C is undefined.

    Notes
    -----
    The intervals are t intervals with one degree of freedom less than there are clusters, of the ratio on the log
    scale. A single rater is no cluster: the intervals are then for that rater.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    names = judgements.generators
    if judgements.scale != "number" or not np.all((judgements.value == 0) | (judgements.value == 1)) or len(names) != 1:
        raise InputError("these are no judgements of a next-word study of one model")
    is_model = ~judgements.is_real[judgements.item]
    if is_model.all() or not is_model.any():
        raise InputError("the next-word task needs judgements of prefixes of both sides, of data and of the model")
    wrong = 1 - judgements.value
    values, terms = [], []
    for side in (~is_model, is_model):
        values.append(float(wrong[side].mean()))
        terms.append(
            np.where(side, (wrong - values[-1]) / side.sum(), 0.0)
        )  # (J,), the mean's deviation from its truth
    data, model = values
    clusters = (judgements.item, judgements.rater)
    ratio, ratio_interval = math.nan, None
    if data == 0:
        warnings.warn("EB-C is undefined: nobody ever disagreed with the model after prefixes of data", stacklevel=2)
    else:
        ratio = model / data
        spread = _spread(terms[1] / model - terms[0] / data, clusters) if model > 0 else None
        if spread is not None:
            half = _quantile(level, clusters) * spread
            ratio_interval = Interval(ratio * math.exp(-half), ratio * math.exp(half), level, _method(clusters))
    return NextWordScore(
        model=names[0],
        cgd_data=data,
        cgd_model=model,
        eb_c=ratio,
        cgd_data_interval=_interval(data, terms[0], ~is_model, clusters, level),
        cgd_model_interval=_interval(model, terms[1], is_model, clusters, level),
        eb_c_interval=ratio_interval,
        n_data=int((~is_model).sum()),
        n_model=int(is_model.sum()),
        n_prefixes=len(np.unique(judgements.item)),
        n_raters=len(np.unique(judgements.rater)),
    )


def _interval(
    value: float, terms: FloatArray, side: npt.NDArray[np.bool_], clusters: tuple[IntArray, IntArray], level: float
) -> Interval | None:
    own = clusters[0][side], clusters[1][side]
    spread = _spread(terms[side], own)
    if spread is None:
        return None
    half = _quantile(level, own) * spread
    return Interval(max(0.0, value - half), min(1.0, value + half), level, _method(own))


def _spread(terms: FloatArray, clusters: tuple[IntArray, IntArray]) -> float | None:
    """Return the standard error of the sum of `terms`, shape (J,), which vary by prefix and by rater."""
    single = _clustered(terms, np.arange(len(terms)))
    by_prefix = _clustered(terms, clusters[0])
    by_rater = _clustered(terms, clusters[1])
    if by_prefix is None or single is None:
        return None
    both = by_prefix if by_rater is None else max(by_prefix + by_rater - single, by_prefix, by_rater)
    return math.sqrt(both)


def _clustered(terms: FloatArray, cluster: IntArray) -> float | None:
    """Return the variance of the sum of `terms` with independent clusters; none where there is only one."""
    _, members = np.unique(cluster, return_inverse=True)
    sums = np.bincount(members.reshape(-1), weights=terms)
    n = len(sums)
    return None if n < 2 else float(np.sum(sums**2)) * n / (n - 1)


def _quantile(level: float, clusters: tuple[IntArray, IntArray]) -> float:
    n_prefixes, n_raters = (len(np.unique(cluster)) for cluster in clusters)
    fewest = n_prefixes if n_raters < 2 else min(n_prefixes, n_raters)
    return float(stats.t.ppf((1 + level) / 2, fewest - 1))


def _method(clusters: tuple[IntArray, IntArray]) -> str:
    return "t: clustered by prefix" + (" and rater" if len(np.unique(clusters[1])) > 1 else "")
