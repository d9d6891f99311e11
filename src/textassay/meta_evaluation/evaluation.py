"""What one evaluator says of several generators: a value each and, where it has them, a score for each text.

Evaluators are people, metrics, classifiers and known orders. All are turned the same way, so that higher is a better
generator, before they are correlated.

Source of the orientation: Garbacea, Carton, Yan, Mei, "Judge the Judges", section 5 (1 - accuracy of people and
classifiers, minus self-BLEU).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, OptionError, unknown_name
from textassay.estimate import Better, Estimate
from textassay.human import Judgements

FloatArray = npt.NDArray[np.float64]

_EXACT = 1e-9  # a value that is the mean of its texts differs from it by rounding only


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One evaluator's values of G generators.

    All evaluations that are compared have the same generators, and a generator's texts in one order.
    """

    name: str  # Of the evaluator
    better: Better  # "higher", "lower" or "closer" (to `floor`); "neither" is no evaluator
    generators: tuple[str, ...]  # G names, each once
    values: FloatArray  # Shape (G,), finite, read-only
    # Generator to the score of each text, shape (n_texts,), read-only, in the direction of the values; NaN where a text
    # has none. None where there are no such scores.
    texts: Mapping[str, FloatArray] | None = None
    floor: float | None = None  # What real text scores; needed for "closer"
    # Generator to one number a text or group of texts, shape (n_terms,): over another draw, the value moves by the mean
    # of these numbers less their present mean. Where none are given, the scores of the texts, if the values are their
    # means; else None: the values stay as they are whatever texts are drawn.
    terms: Mapping[str, FloatArray] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "generators", tuple(self.generators))
        object.__setattr__(self, "values", _read_only(self.values))
        if len(set(self.generators)) < len(self.generators) or self.values.shape != (len(self.generators),):
            raise InputError(f"{self.name} needs one value for each generator, and each generator once")
        for generator, value in zip(self.generators, self.values.tolist(), strict=True):
            if not math.isfinite(value):
                raise InputError(f"{self.name} of {generator} is undefined")
        if self.better == "neither":
            raise InputError(f"{self.name} has no direction: neither more nor less of it is better")
        if self.better == "closer" and self.floor is None:
            raise InputError(f"{self.name} is better the closer it is to real text: give the floor")
        for name in ("texts", "terms"):
            object.__setattr__(self, name, self._checked(getattr(self, name)))
        if self.terms is None and self.texts is not None and self._values_are_means(self.texts):
            object.__setattr__(self, "terms", self.texts)
        if self.terms is not None and not all(np.isfinite(terms).all() for terms in self.terms.values()):
            raise InputError(f"the terms of {self.name} must be finite")

    def _checked(self, arrays: Mapping[str, FloatArray] | None) -> dict[str, FloatArray] | None:
        if arrays is None:
            return None
        if set(arrays) != set(self.generators) or any(np.ndim(array) != 1 for array in arrays.values()):
            raise InputError(f"{self.name} needs a list of numbers, one a text, for each of its generators or for none")
        return {name: _read_only(arrays[name]) for name in self.generators}

    def _values_are_means(self, texts: Mapping[str, FloatArray]) -> bool:
        if any(len(scores) == 0 or not np.isfinite(scores).all() for scores in texts.values()):
            return False
        means = np.array([scores.mean() for scores in texts.values()])
        return bool(np.all(np.abs(means - self.values) <= _EXACT * np.maximum(1.0, np.abs(means))))

    @classmethod
    def of_estimates(
        cls,
        estimates: Mapping[str, Estimate],
        *,
        name: str | None = None,
        floor: Estimate | float | None = None,
    ) -> "Evaluation":
        """Return the evaluation by one metric."""
        found = list(estimates.values())
        if not found:
            raise InputError("there is no estimate to make an evaluation of")
        first = found[0]
        if any(estimate.metric != first.metric for estimate in found):
            raise InputError(f"{first.metric}: the estimates are of several metrics")
        scores, terms = _scores(estimates), _terms(estimates)
        if scores is not None and terms is not None and _run_against(scores, terms):
            scores = {generator: -own for generator, own in scores.items()}
        return cls(
            name or first.metric,
            first.better,
            tuple(estimates),
            np.array([estimate.value for estimate in found]),
            scores,
            float(floor) if floor is not None else None,
            terms=terms,
        )

    @classmethod
    def of_judgements(
        cls,
        judgements: Judgements,
        *,
        by: Literal["judgement", "majority"] = "judgement",
        votes: int | None = None,
        ties: Literal["fake", "real"] = "fake",
        name: str | None = None,
    ) -> "Evaluation":
        """Return the evaluation by people: the share of each generator's texts that passed for real, or a mean rating.

        `by`: "judgement" counts every judgement (H1, or the mean of all ratings), "majority" every text by what most of
        its raters said (H2); `name`: what to call it; by default ``H1``, ``H2`` or, for numbers, ``rating``.
        """
        for what, given, allowed in (("by", by, ("judgement", "majority")), ("ties", ties, ("fake", "real"))):
            if given not in allowed:
                raise unknown_name(what, str(given), allowed)
        if by == "majority" and judgements.scale != "real-or-fake":
            raise InputError("ratings are not votes: a majority needs judgements of real or fake")
        n_items = len(judgements.items)
        counts = np.bincount(judgements.item, minlength=n_items).astype(np.float64)
        sums = np.bincount(judgements.item, weights=judgements.value, minlength=n_items)
        counts = np.where(counts == votes, counts, 0.0) if votes is not None else counts
        sums = np.where(counts > 0, sums, 0.0)
        if by == "majority":
            tied = 2 * sums == counts
            sums = np.where(tied, float(ties == "real"), 2 * sums > counts) * (counts > 0)
            counts = np.minimum(counts, 1.0)
        writers = np.array([item.generator or "" for item in judgements.items])
        is_real = judgements.is_real
        values, terms, texts = [], {}, {}
        for generator in judgements.generators:
            own = (writers == generator) & ~is_real
            if not counts[own].any():
                what = "a judgement" if votes is None else f"{votes} judgement{'' if votes == 1 else 's'}"
                raise InputError(f"no text of {generator} has {what}")
            values.append(sums[own].sum() / counts[own].sum())
            terms[generator] = ratio_terms(sums[own], counts[own])
            texts[generator] = np.divide(sums[own], counts[own], out=np.full(own.sum(), np.nan), where=counts[own] > 0)
        if not values:
            raise InputError("the judgements are of no generator's text")
        real = counts[is_real].sum()
        default = "rating" if judgements.scale == "number" else {"judgement": "H1", "majority": "H2"}[by]
        return cls(
            name or default,
            "higher",
            judgements.generators,
            np.array(values),
            texts,
            float(sums[is_real].sum() / real) if real else None,
            terms=terms,
        )

    @property
    def goodness(self) -> FloatArray:
        """Values turned so that higher is a better generator, shape (G,)."""
        return self.turned(self.values)

    @property
    def order(self) -> tuple[str, ...]:
        """Generators, the best first; of equal ones, the one given first."""
        return tuple(self.generators[place] for place in np.argsort(-self.goodness, kind="stable"))

    @property
    def text_goodness(self) -> dict[str, FloatArray] | None:
        """Scores of texts turned so that higher is better; none for "closer", whose floor is that of a whole corpus."""
        if self.texts is None or self.better == "closer":
            return None
        return {name: self.turned(scores) for name, scores in self.texts.items()}

    @property
    def goodness_terms(self) -> dict[str, FloatArray] | None:
        """Goodness as a mean over texts, to first order, generator to shape (n_terms,); none where terms are none."""
        if self.terms is None:
            return None
        slopes = {"higher": np.ones(len(self.values)), "lower": -np.ones(len(self.values))}.get(
            self.better, np.where(self.values < (self.floor or 0.0), 1.0, -1.0)
        )
        rows = zip(self.terms.items(), self.goodness, slopes, strict=True)
        return {name: good + slope * (terms - terms.mean()) for (name, terms), good, slope in rows}

    def half_widths(self, level: float) -> FloatArray:
        """Return half the normal intervals of the values over other texts, shape (G,); NaN without terms."""
        if self.terms is None:
            return np.full(len(self.values), np.nan)
        errors = [np.sqrt(row.var(ddof=1) / len(row)) if len(row) > 1 else np.nan for row in self.terms.values()]
        return np.asarray(float(stats.norm.ppf((1 + level) / 2)) * np.array(errors), dtype=np.float64)

    def turned(self, values: FloatArray) -> FloatArray:
        """Return `values`, any shape, turned so that higher is better: "closer" as minus the distance to the floor."""
        if self.floor is not None and self.better == "closer":
            return np.asarray(-np.abs(values - self.floor), dtype=np.float64)
        return values if self.better == "higher" else -values

    def select(self, generators: Sequence[str]) -> "Evaluation":
        """Return the evaluation of some generators, in the order given."""
        for generator in generators:
            if generator not in self.generators:
                raise unknown_name(f"generator of {self.name}", generator, self.generators)
        if len(set(generators)) < len(generators):
            raise OptionError(f"a generator is named twice: {', '.join(generators)}")
        return replace(
            self,
            generators=tuple(generators),
            values=self.values[[self.generators.index(generator) for generator in generators]],
            texts=None if self.texts is None else {name: self.texts[name] for name in generators},
            terms=None if self.terms is None else {name: self.terms[name] for name in generators},
        )


def ratio_terms(sums: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the terms of ``sum(sums) / sum(counts)``: one number a text, to first order, with mean 0.

    `sums`, `counts`: of the judgements of each text, shape (n_texts,).
    """
    ratio = sums.sum() / counts.sum()
    return np.asarray((sums - ratio * counts) / counts.mean(), dtype=np.float64)


def _scores(estimates: Mapping[str, Estimate]) -> dict[str, FloatArray] | None:
    """Return the scores of all texts; None unless all estimates have one a generated sentence."""
    found: dict[str, FloatArray] = {}
    for generator, estimate in estimates.items():
        scores = None if estimate.evidence is None else estimate.evidence.generated_scores
        if scores is None or len(scores) != estimate.sizes.get("n_generated"):
            return None
        found[generator] = scores
    return found


def _run_against(scores: Mapping[str, FloatArray], terms: Mapping[str, FloatArray]) -> bool:
    """Return whether texts with larger terms have smaller scores; not where terms are of groups."""
    covariance = 0.0
    for generator, own in scores.items():
        known = np.isfinite(own)
        if len(own) != len(terms[generator]) or not known.any():
            return False
        covariance += float(((own[known] - own[known].mean()) * terms[generator][known]).sum())
    return covariance < 0


def _terms(estimates: Mapping[str, Estimate]) -> dict[str, FloatArray] | None:
    """Return the terms of all generators' own texts, one a text or a jackknife group; None unless all have some."""
    found: dict[str, FloatArray] = {}
    for generator, estimate in estimates.items():
        terms = None if estimate.evidence is None else estimate.evidence.generated_terms
        if terms is None or len(terms) < 2:
            return None
        found[generator] = terms
    return found


def _read_only(values: npt.ArrayLike) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
