"""Cross-fitting: every sentence is judged by a discriminator that saw neither it nor its group.

Real and generated text are drawn into K folds; for each, a discriminator is fitted on the rest, part of which is kept
apart to choose its settings and its threshold. The draw of the real side depends on nothing but the real text and the
seed, so that all generators of a comparison meet the same real partition and their differences are paired.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation" (one split,
80/10/10, is K = 1 here); Bayle, Bayle, Janson, Mackey, "Cross-validation confidence intervals for test error", NeurIPS
2020 (why the pooled folds may be treated as one test set: the target is the mean over the K discriminators).
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import Discriminator, balanced_accuracy
from textassay.discriminator.threshold import choose_threshold
from textassay.errors import TooFewSentencesError
from textassay.execution import parallel_map
from textassay.seeding import stream

__all__ = ["CrossFit", "FoldFit", "ThresholdRule", "cross_fit"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
ThresholdRule = Literal["validation", "half"]

_N_PARTS_OF_ONE_SPLIT = 10  # one split: a tenth is tested, a tenth validates
_VALIDATION_SHARE = 8  # of the rest, one part in so many validates


@dataclass(frozen=True)
class FoldFit:
    """One discriminator: its threshold, what it chose, its balanced accuracy on validation text, sizes, and itself.

    Sizes are (real, generated).
    """

    threshold: float
    chosen: Mapping[str, Any]
    valid_accuracy: float
    n_train: tuple[int, int]
    n_valid: tuple[int, int]
    n_test: tuple[int, int]
    fitted: Discriminator = field(repr=False, compare=False)


@dataclass(frozen=True)
class CrossFit:
    """Judgements of all tested sentences.

    Attributes
    ----------
    real_folds, generated_folds
        In which fold each sentence is tested, shapes (n_real,) and (n_generated,); -1 where in none (one split).
    real_scores, generated_scores
        Probability of being real by the discriminator of that fold, same shapes; NaN where untested.
    folds
        The discriminators, one a fold.
    """

    real_folds: IntArray
    generated_folds: IntArray
    real_scores: FloatArray
    generated_scores: FloatArray
    folds: tuple[FoldFit, ...]

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
) -> CrossFit:
    """Return how discriminators judge text they did not see.

    Parameters
    ----------
    discriminator
        A copy of it is fitted in each fold.
    real, generated
        Sentences of a group (`Corpus.groups`) share a fold; equal group numbers mean the same group on both sides.
    folds
        At least 1. With 1, a tenth of each side is tested, by one discriminator.
    threshold
        Chosen on validation text, or one half.
    seed
        Decides the partition.
    repeat
        Another number gives another partition.

    Raises
    ------
    TooFewSentencesError
        If there are too few sentences or groups to fill every part of every fold.
    """
    n_parts, n_valid_parts = (
        (folds, _VALIDATION_SHARE) if folds > 1 else (_N_PARTS_OF_ONE_SPLIT, _N_PARTS_OF_ONE_SPLIT - 1)
    )
    everything = np.arange(len(real)), np.arange(len(generated))
    numbers = _deal((real, generated), everything, n_parts, seed, "test", repeat)

    def fit(fold: int) -> tuple[FoldFit, FloatArray, FloatArray]:
        rest = tuple(np.flatnonzero(side != fold) for side in numbers)
        parts = _deal((real, generated), rest, n_valid_parts, seed, "valid", repeat, fold)
        test, valid, train = (
            (real.take(chosen[0]), generated.take(chosen[1]))
            for chosen in (
                tuple(np.flatnonzero(side == fold) for side in numbers),
                tuple(side[part == 0] for side, part in zip(rest, parts, strict=True)),
                tuple(side[part != 0] for side, part in zip(rest, parts, strict=True)),
            )
        )
        if not all(len(corpus) for pair in (test, valid, train) for corpus in pair):
            raise TooFewSentencesError("the groups are too few or too unequal to fill every fold: ask for fewer folds")
        fitted = copy.deepcopy(discriminator).fit(train, valid)
        valid_scores = [fitted.prob_real(corpus) for corpus in valid]
        limit = choose_threshold(*valid_scores) if threshold == "validation" else 0.5
        n_train, n_valid, n_test = ((len(pair[0]), len(pair[1])) for pair in (train, valid, test))
        accuracy = balanced_accuracy(valid_scores[0], valid_scores[1], limit)
        fold_fit = FoldFit(limit, fitted.chosen, accuracy, n_train, n_valid, n_test, fitted)
        return fold_fit, fitted.prob_real(test[0]), fitted.prob_real(test[1])

    fits = parallel_map(fit, range(folds))
    scores = [np.full(len(side), np.nan) for side in numbers]
    for fold, (_, *judged) in enumerate(fits):
        for side, number, of_fold in zip(scores, numbers, judged, strict=True):
            side[number == fold] = of_fold
    tested = [np.where(side < folds, side, -1) for side in numbers]
    return CrossFit(tested[0], tested[1], scores[0], scores[1], tuple(fold for fold, *_ in fits))


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
