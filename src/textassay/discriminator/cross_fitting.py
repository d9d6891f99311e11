"""Cross-fitting: every sentence is judged by a discriminator that saw neither it nor its group; how each fold did.

Real and generated text are drawn into K folds; for each, a discriminator is fitted on the rest, part of which is kept
apart to choose its settings and its threshold. The draw of the real side depends on nothing but the real text and the
seed, so that all generators of a comparison meet the same real partition and their differences are paired.

The plug-in discrepancy is what calibrated probabilities say the total variation is. With eta(x) the probability of
being real if both sides were equally frequent, the total variation is the mean of |2 eta - 1| over the even mixture of
both sides. A classifier's scores are made into eta by isotonic regression on some of its test sentences and averaged
over the others, each part in turn. It is a diagnostic and no bound: it lies above dd by what calibration makes of
noise, since an eta on the wrong side of one half counts as much as one on the right side. Of equal distributions it is
about 0.03 with 1,000 sentences a side tested by one classifier and 0.01 with 10,000, where dd is 0 on average
(``benchmarks/bounds.py`` prints both). Further above dd than that, it says that the threshold loses something.

Sources: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation" (one split, 80/10/10, is
K = 1 here); Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS 2020 (why the
pooled folds may be treated as one test set: the target is the mean over the K discriminators); Ushio, Ishida, Sugiyama,
"Practical estimation of the optimal classification error with soft labels and calibration", arXiv 2505.20761; Zadrozny
and Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002 (isotonic
calibration, here on held-out parts of the test scores).
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from scipy.stats import rankdata

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import (
    LOG_PROBS,
    Discriminator,
    Part,
    Pool,
    TokenEvidence,
    balanced_accuracy,
    balanced_cross_entropy,
    choose_threshold,
    fit_part,
    prob_real_of,
    validation_scores,
)
from textassay.discriminator.family import FamilyDiscriminator
from textassay.errors import TooFewSentencesError
from textassay.execution.tasks import map_parts
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ThresholdRule = Literal["validation", "half"]

_N_PARTS_OF_ONE_SPLIT = 10  # one split: a tenth is tested, a tenth validates
_VALIDATION_SHARE = 8  # of the rest, one part in so many validates
_WINNER = ""  # no discriminator's name

N_ROC_POINTS = 101
_PARTS = 5


@dataclass(frozen=True)
class FoldFit:
    """One discriminator of a cross-fit."""

    threshold: float  # Above which a score says real
    chosen: Mapping[str, Any]  # What fitting chose
    valid_accuracy: float  # Balanced accuracy on validation text
    # Sizes (real, generated)
    n_train: tuple[int, int]
    n_valid: tuple[int, int]
    n_test: tuple[int, int]
    # Probabilities of being real of the validation text, real and generated, by models that did not see it
    valid_scores: tuple[FloatArray, FloatArray] = field(repr=False, compare=False)
    # The fitted discriminator itself where it can say what each token adds; else None, to save memory
    evidence: TokenEvidence | None = field(repr=False, compare=False)
    seconds: float = field(repr=False, compare=False)  # Wall time of fitting


@dataclass(frozen=True)
class CrossFit:
    """Judgements of all tested sentences."""

    # In which fold each sentence is tested, shapes (n_real,) and (n_generated,); -1 where in none (one split)
    real_folds: IntArray
    generated_folds: IntArray
    # Probability of being real by the discriminator of that fold, same shapes; NaN where untested
    real_scores: FloatArray
    generated_scores: FloatArray
    folds: tuple[FoldFit, ...]  # The discriminators, one a fold
    # Of a family: what each of its candidates would have given alone, on the same folds; else empty
    alone: Mapping[str, "CrossFit"] = field(default_factory=dict)

    def correct(self) -> tuple[FloatArray, FloatArray]:
        """Return 1 where a sentence was judged rightly, 0 where wrongly, NaN where untested, for real and generated.

        A score of exactly the threshold says generated.
        """
        thresholds = np.array([fold.threshold for fold in self.folds])
        real = np.where(np.isnan(self.real_scores), np.nan, self.real_scores > thresholds[self.real_folds])
        generated = np.where(
            np.isnan(self.generated_scores), np.nan, self.generated_scores <= thresholds[self.generated_folds]
        )
        return real, generated


def cross_fit(
    discriminator: Discriminator,
    real: Corpus,
    generated: Corpus,
    *,
    folds: int,
    threshold: ThresholdRule = "validation",
    seed: int,
    repeat: int = 0,
    fit_real: Corpus | None = None,
    near: IntArray | None = None,
) -> CrossFit:
    """Return how discriminators judge text they did not see.

    `fit_real`: more real text, from which each of them learns, and on which none is tested; `near`: pairs of one of
    these and a generated or real text that is near to it, numbered with generated ones first, shape (n, 2): no
    discriminator learns from it that is tested or chosen on the other.
    """
    n_parts, n_valid_parts = (
        (folds, _VALIDATION_SHARE) if folds > 1 else (_N_PARTS_OF_ONE_SPLIT, _N_PARTS_OF_ONE_SPLIT - 1)
    )
    pool = Pool(real if fit_real is None else _joined(real, fit_real), generated)
    more = np.arange(len(real), len(pool.sides[0]))
    numbers = _deal((real, generated), (np.arange(len(real)), np.arange(len(generated))), n_parts, seed, "test", repeat)

    def learnt(*judged: Part) -> IntArray:
        """Return the numbers of more real texts but for those that are near to texts of these parts."""
        if near is None:
            return more
        is_judged = np.zeros(len(generated) + len(real), dtype=np.bool_)
        for part in judged:
            is_judged[part.rows[1]] = True
            is_judged[len(generated) + part.rows[0]] = True
        return np.setdiff1d(more, len(real) + near[is_judged[near[:, 1]], 0])

    def split(fold: int) -> tuple[Part, Part, Part]:
        """Return the parts to learn from, to choose on and to test on: the only arrays that outlast this call."""
        rest = tuple(np.flatnonzero(side != fold) for side in numbers)
        parts = _deal((real, generated), rest, n_valid_parts, seed, "valid", repeat, fold)
        test = _part(pool, (np.flatnonzero(side == fold) for side in numbers))
        valid = _part(pool, (side[part == 0] for side, part in zip(rest, parts, strict=True)))
        of_real, of_generated = (side[part != 0] for side, part in zip(rest, parts, strict=True))
        train = _part(pool, (np.concatenate([of_real, learnt(test, valid)]), of_generated))
        if not all(len(rows) for part in (test, valid, train) for rows in part.rows):
            raise TooFewSentencesError("the groups are too few or too unequal to fill every fold: ask for fewer folds")
        return train, valid, test

    fits = map_parts(lambda fold: _fit_fold(discriminator, *split(fold), threshold), range(folds))
    tested = [np.where(side < folds, side, -1) for side in numbers]

    def gathered(name: str, alone: Mapping[str, CrossFit]) -> CrossFit:
        scores = [np.full(len(side), np.nan) for side in numbers]
        for fold, of_fold in enumerate(fits):
            for side, number, of_test in zip(scores, numbers, of_fold[name].test_scores, strict=True):
                side[number == fold] = of_test
        return CrossFit(tested[0], tested[1], scores[0], scores[1], tuple(of_fold[name].fit for of_fold in fits), alone)

    return gathered(_WINNER, {name: gathered(name, {}) for name in fits[0] if name != _WINNER})


@dataclass(frozen=True)
class _Fitted:
    """A fitted discriminator of one fold, and what it says of the test text, real and generated."""

    fit: FoldFit
    test_scores: tuple[FloatArray, FloatArray]


def _joined(real: Corpus, more: Corpus) -> Corpus:
    """Return the texts of both; where those of `real` have groups, each of `more` is one.

    Log-probabilities that `more` lacks are NaN.
    """
    unknown = {
        name: np.full(len(more), np.nan)
        for name in real.columns
        if name.startswith(LOG_PROBS) and name not in more.columns
    }
    groups = None
    if real.groups is not None:
        first = int(real.groups.max(initial=-1)) + 1
        groups = np.arange(first, first + len(more))
    return Corpus.concatenate([real, replace(more, groups=groups, columns={**more.columns, **unknown})])


def _part(pool: Pool, rows: Iterable[IntArray]) -> Part:
    real, generated = rows
    return Part(pool, (real, generated))


def _fit_fold(
    discriminator: Discriminator, train: Part, valid: Part, test: Part, rule: ThresholdRule
) -> dict[str, _Fitted]:  # fmt: skip
    """Return what was fitted under `_WINNER` and, of a family, every candidate under its name."""
    begin = time.perf_counter()
    fitted = fit_part(discriminator, train, valid)
    took = time.perf_counter() - begin
    n_train, n_valid, n_test = ((len(part.rows[0]), len(part.rows[1])) for part in (train, valid, test))

    def of(
        member: Discriminator | None, chosen: Mapping[str, Any], scores: tuple[FloatArray, FloatArray], seconds: float
    ) -> FoldFit:
        limit = choose_threshold(*scores) if rule == "validation" else 0.5
        evidence = member if isinstance(member, TokenEvidence) else None
        accuracy = balanced_accuracy(*scores, limit)
        return FoldFit(limit, chosen, accuracy, n_train, n_valid, n_test, scores, evidence, seconds)

    if not isinstance(fitted, FamilyDiscriminator):
        fit = of(fitted, fitted.chosen, validation_scores(fitted, valid), took)
        return {_WINNER: _Fitted(fit, prob_real_of(fitted, test))}
    alone = fitted.alone_of(test)
    of_candidates = {
        name: _Fitted(
            of(candidate.member, candidate.chosen, candidate.valid_scores, candidate.seconds),
            alone[name],
        )
        for name, candidate in fitted.candidates.items()
    }
    winner = fitted.candidates[fitted.won]
    fit = of(winner.member, fitted.chosen, winner.valid_scores, took)
    return {**of_candidates, _WINNER: _Fitted(fit, of_candidates[fitted.won].test_scores)}


def _deal(
    pair: tuple[Corpus, Corpus], chosen: tuple[IntArray, ...], n_parts: int, seed: int, *path: str | int
) -> tuple[IntArray, IntArray]:
    """Return the part, 0 to n_parts - 1, of each chosen real and generated sentence; whole groups go to one part.

    Fewer groups than parts make fewer parts, but at least two.
    """
    groups = [None if corpus.groups is None else corpus.groups[rows] for corpus, rows in zip(pair, chosen, strict=True)]
    n_units = [len(np.unique(group)) for group in groups if group is not None]
    if path[0] == "valid":
        n_parts = max(2, min([n_parts, *n_units]))
    real, generated = (
        fold_numbers(len(rows), n_parts, stream(seed, "cross-fit", *path, side), group)
        for side, rows, group in zip(("real", "generated"), chosen, groups, strict=True)
    )
    if groups[0] is not None and groups[1] is not None:
        names, firsts = np.unique(groups[0], return_index=True)
        where = np.searchsorted(names, groups[1]).clip(max=len(names) - 1)
        generated = np.where(names[where] == groups[1], real[firsts[where]], generated)
    return real, generated


@dataclass(frozen=True)
class FoldScore:
    """One classifier on its test sentences."""

    value: float  # Twice the balanced accuracy, less one
    variance: float  # What `value` varies by, squared, with the sentences that are tested
    auc: float  # Probability that a real sentence scores above a generated one (ties count half)
    cross_entropy: float  # Nats per sentence, both classes weighing a half
    # Real sentences called real and generated ones called real, out of how many
    n_real_correct: int
    n_real: int
    n_generated_wrong: int
    n_generated: int


def score_folds(fit: CrossFit) -> list[FoldScore]:
    correct = fit.correct()
    scored = []
    for fold in range(len(fit.folds)):
        rows = (fit.real_folds == fold, fit.generated_folds == fold)
        real, generated = fit.real_scores[rows[0]], fit.generated_scores[rows[1]]
        counts = [int(side[row].sum()) for side, row in zip(correct, rows, strict=True)]
        sizes = [len(real), len(generated)]
        shares = [count / size for count, size in zip(counts, sizes, strict=True)]
        ranks = rankdata(np.concatenate([real, generated]))[: len(real)]
        scored.append(
            FoldScore(
                value=shares[0] + shares[1] - 1,
                variance=sum(share * (1 - share) / max(1, size - 1) for share, size in zip(shares, sizes, strict=True)),
                auc=float((ranks.mean() - (len(real) + 1) / 2) / len(generated)),
                cross_entropy=balanced_cross_entropy(real, generated),
                n_real_correct=counts[0],
                n_real=sizes[0],
                n_generated_wrong=sizes[1] - counts[1],
                n_generated=sizes[1],
            )
        )
    return scored


def roc_points(real: FloatArray, generated: FloatArray) -> list[list[float]]:
    """Return the receiver operating characteristic of scores, real text being what is looked for.

    `real`, `generated`: scores, shapes (n_real,) and (n_generated,).
    """
    scores = np.unique(np.concatenate([real, generated]))
    sides = np.sort(generated), np.sort(real)

    def shares(steps: IntArray) -> FloatArray:
        """Return the shares of both sides among the `steps` highest scores, shape (n, 2)."""
        lowest = scores[np.minimum(len(scores) - steps, len(scores) - 1)]
        above = [1 - np.searchsorted(side, lowest, side="left") / len(side) for side in sides]
        return np.where(steps[:, None] > 0, np.stack(above, axis=1), 0.0)

    wanted = np.linspace(0, 2, N_ROC_POINTS) - 1e-9
    low, high = np.zeros(len(wanted), dtype=np.int64), np.full(len(wanted), len(scores))
    while (low < high).any():  # the fewest steps whose shares add up to what is wanted
        middle = (low + high) // 2
        enough = shares(middle).sum(axis=1) >= wanted
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    points: list[list[float]] = shares(np.unique(low)).tolist()
    return points


def spread_between_classifiers(fits: Sequence[Sequence[FoldScore]]) -> float | None:
    """Return the standard deviation between classifiers: how far folds vary beyond the sampling of their test text.

    None where a cross-fit has one fold.
    """
    if min(map(len, fits)) < 2:
        return None
    excess = [
        float(np.var([fold.value for fold in folds], ddof=1) - np.mean([fold.variance for fold in folds]))
        for folds in fits
    ]
    return math.sqrt(max(0.0, float(np.mean(excess))))


def plug_in(real_scores: FloatArray, generated_scores: FloatArray, *, rng: np.random.Generator) -> float:
    """Return the plug-in discrepancy of one classifier's scores.

    `real_scores`, `generated_scores`: scores of sentences that the classifier did not see, shapes (n_real,) and
    (n_generated,), at least two each.

    In [0, 1].
    """
    sides = (np.asarray(real_scores, dtype=np.float64), np.asarray(generated_scores, dtype=np.float64))
    parts = min(_PARTS, *map(len, sides))
    numbers = [rng.permutation(len(side)) % parts for side in sides]
    certainty = [np.empty(len(side)) for side in sides]
    for part in range(parts):
        rest = [side[number != part] for side, number in zip(sides, numbers, strict=True)]
        places, members = np.unique(np.concatenate(rest), return_inverse=True)
        of_real, of_generated = (
            np.bincount(side, minlength=len(places)) / len(side) for side in np.split(members, [len(rest[0])])
        )
        weights = of_real + of_generated
        eta = isotonic_regression(of_real / weights, weights=weights).x
        for side, number, certain in zip(sides, numbers, certainty, strict=True):
            certain[number == part] = np.abs(2 * np.interp(side[number == part], places, eta) - 1)
    return float(min(1.0, (certainty[0].mean() + certainty[1].mean()) / 2))


def cross_fitted_plug_in(fit: CrossFit, *, seed: int) -> float | None:
    """Return the mean plug-in discrepancy of the classifiers of a cross-fit, each on the sentences it was tested on.

    In [0, 1]; None where a fold tests a single sentence of a side.
    """
    scores = [
        (fit.real_scores[fit.real_folds == fold], fit.generated_scores[fit.generated_folds == fold])
        for fold in range(len(fit.folds))
    ]
    if min(len(side) for pair in scores for side in pair) < 2:
        return None
    values = [plug_in(*pair, rng=stream(seed, "plug-in", fold)) for fold, pair in enumerate(scores)]
    return float(np.mean(values))
