"""One evaluator's values of several generators and, where it has them, scores of their texts.

Evaluators are people, metrics, classifiers and known orders, which may come from a file or the command line. Before
correlation, all are oriented so that higher is a better generator.

Source of the orientation: Garbacea, Carton, Yan, Mei, "Judge the Judges", section 5 (1 - accuracy of people and
classifiers, minus self-BLEU); of the agreement of classifiers with the majority of people: the same, figures 6 and 11:
trained classifiers are applied to the texts that people judged, and an answer is correct if it is the majority's,
whoever wrote the text.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.errors import InputError, OptionError, unknown_name
from textassay.estimate import Better, Estimate
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.reading import read_table

FloatArray = npt.NDArray[np.float64]

_EXACT = 1e-9  # tolerance for a value to count as the mean of its texts


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One evaluator's values of G generators.

    All evaluations that are compared have the same generators, and a generator's texts in one order.
    """

    name: str  # Name of the evaluator
    better: Better  # "higher", "lower" or "closer" (to `floor`); not "neither"
    generators: tuple[str, ...]  # G names, each once
    values: FloatArray  # Shape (G,), finite, read-only
    # Generator to the scores of its texts, shape (n_texts,), read-only, in the direction of the values; NaN for a text
    # without one. None without scores.
    texts: Mapping[str, FloatArray] | None = None
    floor: float | None = None  # Value of real text; needed for "closer"
    # Generator to one number for each text or group, shape (n_terms,): in a resample, the value moves by the mean of
    # these numbers minus their present mean. By default the scores of the texts, if the values are their means; else
    # None: then values do not vary over texts.
    terms: Mapping[str, FloatArray] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "generators", tuple(self.generators))
        object.__setattr__(self, "values", _read_only(self.values))
        if len(set(self.generators)) < len(self.generators) or self.values.shape != (len(self.generators),):
            raise InputError(f"{self.name} needs one value for each generator, each generator once")
        for generator, value in zip(self.generators, self.values.tolist(), strict=True):
            if not math.isfinite(value):
                raise InputError(f"{self.name} of {generator} is undefined")
        if self.better == "neither":
            raise InputError(f"{self.name} must have a direction (higher, lower or closer), got neither")
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
        values = list(estimates.values())
        if not values:
            raise InputError("an evaluation needs at least one estimate, got none")
        first = values[0]
        if any(estimate.metric != first.metric for estimate in values):
            raise InputError(f"all estimates must be of one metric, {first.metric}")
        scores, terms = _scores(estimates), _terms(estimates)
        if scores is not None and terms is not None and _run_against(scores, terms):
            scores = {generator: -own for generator, own in scores.items()}
        return cls(
            name or first.metric,
            first.better,
            tuple(estimates),
            np.array([estimate.value for estimate in values]),
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
        """Return the evaluation by people: the share of each generator's texts judged real, or a mean rating.

        `by`: "judgement" counts every judgement (H1, or the mean of all ratings), "majority" every text by the majority
        of
        its raters (H2). `name`: by default ``H1``, ``H2`` or, for numbers, ``rating``.
        """
        for noun, value, allowed in (("by", by, ("judgement", "majority")), ("ties", ties, ("fake", "real"))):
            if value not in allowed:
                raise unknown_name(noun, str(value), allowed)
        if by == "majority" and judgements.scale != "real-or-fake":
            raise InputError("a majority needs judgements of real or fake, got ratings")
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
                noun = "a judgement" if votes is None else f"{votes} judgement{'' if votes == 1 else 's'}"
                raise InputError(f"no text of {generator} has {noun}")
            values.append(sums[own].sum() / counts[own].sum())
            terms[generator] = ratio_terms(sums[own], counts[own])
            texts[generator] = np.divide(sums[own], counts[own], out=np.full(own.sum(), np.nan), where=counts[own] > 0)
        if not values:
            raise InputError("the judgements must be of at least one generator's texts, got none")
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
        """Values oriented so that higher is a better generator, shape (G,)."""
        return self.turned(self.values)

    @property
    def order(self) -> tuple[str, ...]:
        """Generators, the best first; ties in the order given."""
        return tuple(self.generators[place] for place in np.argsort(-self.goodness, kind="stable"))

    @property
    def text_goodness(self) -> dict[str, FloatArray] | None:
        """Scores of texts oriented so that higher is better; None for "closer", whose floor is for a corpus."""
        if self.texts is None or self.better == "closer":
            return None
        return {name: self.turned(scores) for name, scores in self.texts.items()}

    @property
    def goodness_terms(self) -> dict[str, FloatArray] | None:
        """Goodness as a mean over texts, to first order, generator to shape (n_terms,); None without terms."""
        if self.terms is None:
            return None
        slopes = {"higher": np.ones(len(self.values)), "lower": -np.ones(len(self.values))}.get(
            self.better, np.where(self.values < (self.floor or 0.0), 1.0, -1.0)
        )
        rows = zip(self.terms.items(), self.goodness, slopes, strict=True)
        return {name: good + slope * (terms - terms.mean()) for (name, terms), good, slope in rows}

    def half_widths(self, level: float) -> FloatArray:
        """Return the half widths of normal intervals over texts, shape (G,); NaN without terms."""
        if self.terms is None:
            return np.full(len(self.values), np.nan)
        errors = [np.sqrt(row.var(ddof=1) / len(row)) if len(row) > 1 else np.nan for row in self.terms.values()]
        return np.asarray(float(stats.norm.ppf((1 + level) / 2)) * np.array(errors), dtype=np.float64)

    def turned(self, values: FloatArray) -> FloatArray:
        """Return `values`, any shape, oriented so that higher is better, for "closer" as minus the distance."""
        if self.floor is not None and self.better == "closer":
            return np.asarray(-np.abs(values - self.floor), dtype=np.float64)
        return values if self.better == "higher" else -values

    def select(self, generators: Sequence[str]) -> "Evaluation":
        """Return the evaluation of some generators, in the order given."""
        for generator in generators:
            if generator not in self.generators:
                raise unknown_name(f"generator of {self.name}", generator, self.generators)
        if len(set(generators)) < len(generators):
            raise OptionError(f"generators must be distinct, got {', '.join(generators)}")
        return replace(
            self,
            generators=tuple(generators),
            values=self.values[[self.generators.index(generator) for generator in generators]],
            texts=None if self.texts is None else {name: self.texts[name] for name in generators},
            terms=None if self.terms is None else {name: self.terms[name] for name in generators},
        )


def ratio_terms(sums: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the terms of ``sum(sums) / sum(counts)``: one number for each text, to first order, with mean 0.

    `sums`, `counts`: of the judgements of each text, shape (n_texts,).
    """
    ratio = sums.sum() / counts.sum()
    return np.asarray((sums - ratio * counts) / counts.mean(), dtype=np.float64)


def _scores(estimates: Mapping[str, Estimate]) -> dict[str, FloatArray] | None:
    """Return the scores of all texts; None unless every estimate has one for each generated text."""
    scores_by_generator: dict[str, FloatArray] = {}
    for generator, estimate in estimates.items():
        scores = None if estimate.evidence is None else estimate.evidence.generated_scores
        if scores is None or len(scores) != estimate.sizes.get("n_generated"):
            return None
        scores_by_generator[generator] = scores
    return scores_by_generator


def _run_against(scores: Mapping[str, FloatArray], terms: Mapping[str, FloatArray]) -> bool:
    """Return whether texts with larger terms have smaller scores; not where terms are of groups."""
    covariance = 0.0
    for generator, own in scores.items():
        defined = np.isfinite(own)
        if len(own) != len(terms[generator]) or not defined.any():
            return False
        covariance += float(((own[defined] - own[defined].mean()) * terms[generator][defined]).sum())
    return covariance < 0


def _terms(estimates: Mapping[str, Estimate]) -> dict[str, FloatArray] | None:
    """Return the terms of all generators' texts or jackknife groups; None unless every estimate has some."""
    terms_by_generator: dict[str, FloatArray] = {}
    for generator, estimate in estimates.items():
        terms = None if estimate.evidence is None else estimate.evidence.generated_terms
        if terms is None or len(terms) < 2:
            return None
        terms_by_generator[generator] = terms
    return terms_by_generator


def _read_only(values: npt.ArrayLike) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def majority_agreement(
    prob_real: Mapping[str, npt.ArrayLike], majority: Evaluation, *, name: str, threshold: float = 0.5
) -> Evaluation:
    """Return the share of each generator's texts, in [0, 1], on which a classifier agrees with the majority of people.

    `majority`: from `Evaluation.of_judgements` with ``by="majority"``; texts without a majority do not count. "lower"
    is
    better, as for the accuracy on true labels.
    """
    if majority.texts is None:
        raise InputError(f"{majority.name} has no labels of texts")
    values, texts, terms = [], {}, {}
    for generator, labels in majority.texts.items():
        if generator not in prob_real:
            raise InputError(f"{name} has no probabilities for the texts of {generator}")
        probabilities = np.asarray(prob_real[generator], dtype=np.float64)
        if probabilities.shape != labels.shape:
            raise InputError(f"{name} has {probabilities.size} probabilities for {labels.size} texts of {generator}")
        if not np.all((probabilities >= 0) & (probabilities <= 1)):
            raise InputError(f"{name}: probabilities of {generator} must be in [0, 1]")
        defined = np.isfinite(labels)
        if not defined.any():
            raise InputError(f"no text of {generator} has a majority")
        agrees = np.where(defined, (probabilities > threshold) == (labels >= 0.5), np.nan)
        values.append(float(agrees[defined].mean()))
        texts[generator] = agrees
        terms[generator] = np.where(defined, agrees - values[-1], 0.0) / defined.mean()
    return Evaluation(name, "lower", majority.generators, np.array(values), texts, terms=terms)


KNOWN_ORDER = "known order"
_REAL = ("real", "(real)")


def read_gold(text: str) -> Evaluation:
    """Return the gold order in a file, or in text such as ``A>B=C>D``.

    `text`: a table with columns ``generator,value``, or a system and one number (higher is better: shares judged real,
    sizes of training
    text, minus the exact discrepancy), or names separated by ``>`` (better than) and ``=`` (as good as). The order is
    named after the file, or ``known order``, and has no scores of texts.
    """
    values = _of_order(text) if ">" in text and not Path(text).exists() else _of_file(Path(text))
    name = KNOWN_ORDER if ">" in text and not Path(text).exists() else Path(text).stem
    if len(values) < 2:
        raise InputError(f"{text}: a gold order needs at least 2 generators, got {len(values)}")
    return Evaluation(name, "higher", tuple(values), np.array(list(values.values())))


def place_judgements(judgements: Judgements, texts: Mapping[str, Sequence[str]]) -> Judgements:
    """Return the judgements with one item for each text of each generator, in the order of the texts.

    `judgements`: with items called ``NAME:LINE``, a generator of `texts` and a line from 1. Items of ``real`` text
    stay.
    """
    items = [Item(f"{name}:{n}", f"{name}:{n}", text, name) for name in texts for n, text in enumerate(texts[name], 1)]
    places = {item.id: place for place, item in enumerate(items)}
    moved = np.empty(len(judgements.items), dtype=np.int64)
    for place, item in enumerate(judgements.items):
        name, colon, line = item.id.rpartition(":")
        if not colon or not line.strip().isdecimal():
            raise InputError(f"items must be named NAME:LINE, such as lstm:12, got {item.id}; or leave NAME=GEN out")
        if name.lower() in _REAL:
            places[item.id] = len(items)
            items.append(replace(item, generator=None))
        elif name not in texts:
            raise unknown_name(f"generator of item {item.id}", name, [*texts, "real"])
        key = item.id if name.lower() in _REAL else f"{name}:{int(line)}"
        if key not in places:
            raise InputError(f"item {item.id}: {name} has {len(texts[name])} texts")
        if item.text and item.text != items[places[key]].text:
            raise InputError(f"item {item.id} has another text than line {line} of {name}")
        moved[place] = places[key]
    return replace(judgements, items=tuple(items), item=moved[judgements.item])


def _of_order(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    groups = text.split(">")
    for rank, group in enumerate(groups):
        for name in (part.strip() for part in group.split("=")):
            if not name:
                raise InputError(f"cannot read the order '{text}': write names with > between them, the best first")
            if name in values:
                raise InputError(f"an order must name each generator once, got {name} twice in '{text}'")
            values[name] = float(len(groups) - rank)
    return values


def _of_file(path: Path) -> dict[str, float]:
    values: dict[str, float] = {}
    rows = read_table(path, ())
    names = list(rows[0].values)
    by = next((name for name in ("generator", "system", "model") if name in names), "generator")
    others = [name for name in names if name != by]
    of = others[0] if len(others) == 1 else "value"
    for row in read_table(path, (by, of)):
        name, text = row.values[by].strip(), row.values[of].strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{row.place}: a value must be a finite number, got '{text[:40]}'")
        if not name:
            raise InputError(f"{row.place}: the generator is missing")
        if name in values:
            raise InputError(f"{row.place}: each generator must occur once, got {name} twice")
        values[name] = value
    return values
