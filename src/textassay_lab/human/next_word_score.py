"""Exposure bias from the next-word task: disagreement of people with the model after its own and after real prefixes.

``CGD(M|H)`` is the fraction of judgements after prefixes from H in which the person did not choose the model's most
probable word; ``EB-C = CGD(M|M) / CGD(M|D)`` is 1 without exposure bias and larger with it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, equations 3 to 5 and section 4.4.
Departs from it: intervals besides the spread of five evaluations. They are clustered by rater and prefix
(`textassay.resampling.clusters`).
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, OptionError
from textassay.estimate import Interval, json_ready
from textassay.resampling.clusters import clustered_means
from textassay_lab.human.judgements import Judgements

BoolArray = npt.NDArray[np.bool_]

_EVALUATIONS = 5


@dataclass(frozen=True)
class NextWordScore:
    """The result of a next-word study of one model."""

    model: str  # Its name
    # Fraction in [0, 1] after prefixes of data and of the model; lower is better
    cgd_data: float
    cgd_model: float
    eb_c: float  # Their ratio; NaN if nobody disagreed after prefixes of data
    # None if a side has a single prefix; that of the ratio also if it is 0
    cgd_data_interval: Interval | None
    cgd_model_interval: Interval | None
    eb_c_interval: Interval | None
    # Judgements of each side
    n_data: int
    n_model: int
    # Prefixes judged, and raters who judged them
    n_prefixes: int
    n_raters: int
    # As in the paper: standard deviations of CGD after prefixes of data and of the model, and of EB-C, over five groups
    # of pages. None if a group lacks prefixes of one side, NaN if EB-C is undefined in one.
    spreads: tuple[float, float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON-ready values."""
        document: dict[str, Any] = json_ready(self.__dict__)
        return document

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "NextWordScore":
        """Return the score that `to_dict` gave as `data`."""
        intervals = {
            name: None if data[name] is None else Interval(**data[name]) for name in data if name.endswith("_interval")
        }
        eb_c = math.nan if data["eb_c"] is None else data["eb_c"]
        spreads = data["spreads"] and tuple(math.nan if one is None else one for one in data["spreads"])
        return cls(**{**data, **intervals, "eb_c": eb_c, "spreads": spreads})


def score_next_word(judgements: Judgements, *, level: float = 0.95) -> NextWordScore:
    """Return the scores of one model.

    Intervals of fractions are Wilson's with the effective sample size, that of the ratio is Student's on the log scale.
    With a single rater, the intervals hold for that rater only.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    names = judgements.generators
    if judgements.scale != "number" or not np.all((judgements.value == 0) | (judgements.value == 1)) or len(names) != 1:
        raise InputError("these are not judgements of a next-word study of one model")
    is_model = ~judgements.is_real[judgements.item]
    if is_model.all() or not is_model.any():
        raise InputError("the next-word task needs judgements of prefixes of both sides, of data and of the model")
    several = all(len(np.unique(judgements.rater[side])) > 1 for side in (is_model, ~is_model))
    how = "clustered by prefix" + (" and rater" if several else "")
    means = clustered_means(
        1 - judgements.value, is_model.astype(np.int64), judgements.item, judgements.rater if several else None
    )
    data, model = means.values.tolist()
    ratio, ratio_interval = math.nan, None
    if data == 0:
        warnings.warn("EB-C is undefined: nobody disagreed with the model after prefixes of data", stacklevel=2)
    else:
        ratio = model / data
        half = means.log_ratio_margin(1, 0, level=level) if model > 0 else math.nan
        if math.isfinite(half):
            ratio_interval = Interval(ratio * math.exp(-half), ratio * math.exp(half), level, f"t: {how}")
    method = f"wilson with the effective size, t, {how}"
    return NextWordScore(
        model=names[0],
        cgd_data=data,
        cgd_model=model,
        eb_c=ratio,
        cgd_data_interval=means.share_interval(0, level=level, method=method),
        cgd_model_interval=means.share_interval(1, level=level, method=method),
        eb_c_interval=ratio_interval,
        n_data=int((~is_model).sum()),
        n_model=int(is_model.sum()),
        n_prefixes=len(np.unique(judgements.item)),
        n_raters=len(np.unique(judgements.rater)),
        spreads=_spreads(judgements, is_model),
    )


def _spreads(judgements: Judgements, is_model: BoolArray) -> tuple[float, float, float] | None:
    """Return the spread over evaluations; page k belongs to evaluation k modulo 5."""
    order = {page: place for place, page in enumerate(dict.fromkeys(item.page for item in judgements.items))}
    group = np.array([order[item.page] for item in judgements.items])[judgements.item] % _EVALUATIONS
    cell = is_model * _EVALUATIONS + group
    counts = np.bincount(cell, minlength=2 * _EVALUATIONS)
    if not counts.all():
        return None
    means = (np.bincount(cell, weights=1 - judgements.value) / counts).reshape(2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(means[0] > 0, means[1] / means[0], np.nan)
    data, model, ratio = np.std([*means, rates], axis=1, ddof=1).tolist()
    return data, model, ratio
