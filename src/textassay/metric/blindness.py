"""Where a judge is blind: texts of both sides that it scores exactly alike, or that share no token with its training.

A judge that gives most texts one score decides nothing about them. On which side of the threshold that score falls is
one accident a fold, and the answers then hardly vary: 600 texts of which no token was seen before came out as dd
0.000 [-0.010, 0.010], though nothing was known of them. Such answers are guesses, so they count in the variance
as guesses do, a quarter each (`guessing_variance`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (real, generated)

NEARLY_ALL = 0.9  # scored alike: less may be the verdict of a judge that knows no more than yes and no
MOST = 0.5  # of the texts: a judge that cannot see more than this share cannot tell that two texts are alike


def alike_share(
    texts: tuple[Sequence[str], Sequence[str]],
    scores: tuple[FloatArray, FloatArray],
    folds: tuple[IntArray, IntArray] | None = None,
) -> float:
    """Return the share of texts that a judge scores exactly like most others, on both sides, in [0, 1].

    In each fold, the most common score among texts that stand in it once; the share of all tested texts that are such
    texts and have it, on the side where that is less; the mean over folds. Repeated texts do not count, since equal
    texts must have equal scores. Nor does a score that one side alone has, since it tells the sides apart.

    `texts`, `scores`: a score of NaN is of a sentence that was not tested.
    """
    if folds is None:
        folds = np.zeros(len(scores[0]), dtype=np.int64), np.zeros(len(scores[1]), dtype=np.int64)
    tested = [np.where(np.isnan(side), -1, fold) for side, fold in zip(scores, folds, strict=True)]
    shares, sizes = [], []
    for fold in np.unique(np.concatenate(tested)):
        if fold < 0:
            continue
        rows = [np.flatnonzero(side == fold) for side in tested]
        if not all(map(len, rows)):
            continue
        words = [list(map(side.__getitem__, row.tolist())) for side, row in zip(texts, rows, strict=True)]
        often = Counter(words[0] + words[1])
        once = [np.array([often[text] == 1 for text in side], dtype=np.bool_) for side in words]
        of_once = [side[row][kept] for side, row, kept in zip(scores, rows, once, strict=True)]
        values, counts = np.unique(np.concatenate(of_once), return_counts=True)
        common = values[np.argmax(counts)] if len(values) else np.nan
        shares.append(min(np.count_nonzero(side == common) / len(row) for side, row in zip(of_once, rows, strict=True)))
        sizes.append(sum(map(len, rows)))
    return float(np.average(shares, weights=sizes)) if shares else 0.0


def unseen_shares(sides: Sides, folds: tuple[IntArray, IntArray]) -> tuple[float, float]:
    """Return the share of tested real and of generated sentences of which no token stands in any other fold.

    Sentences without a token do not count as unseen. `folds` is negative for sentences that are never tested.
    """
    n_types = len(sides[0].vocabulary)
    unseen = [0, 0]
    for fold in np.unique(np.concatenate(folds)):
        if fold < 0:
            continue
        seen = np.zeros(n_types, dtype=np.bool_)
        for corpus, side in zip(sides, folds, strict=True):
            seen[corpus.tokens[np.repeat(side != fold, corpus.lengths)]] = True
        for number, (corpus, side) in enumerate(zip(sides, folds, strict=True)):
            unseen[number] += int(np.count_nonzero(without_tokens(corpus, seen) & (side == fold)))
    n_tested = [max(1, int(np.count_nonzero(side >= 0))) for side in folds]
    return unseen[0] / n_tested[0], unseen[1] / n_tested[1]


def without_tokens(corpus: Corpus, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which sentences have tokens but none of those that `seen` marks, shape (N,)."""
    known = np.concatenate(([0], np.cumsum(seen[corpus.tokens])))
    lacking: npt.NDArray[np.bool_] = (np.diff(known[corpus.offsets]) == 0) & (corpus.lengths > 0)
    return lacking


def blindness(alike: float, unseen: Mapping[str, float]) -> str | None:
    """Return in words why a judge could not see most texts of both sides; None where it could."""
    least = min(unseen.values(), default=0.0)
    if least > MOST:
        return f"{100 * least:.0f} % of the texts of both sides share no token with the text that its judge learnt from"
    if alike > NEARLY_ALL:
        return f"its judge scores {100 * alike:.0f} % of the texts of both sides exactly alike"
    return None


def guessing_variance(alike: float, n_real: float, n_generated: float) -> float:
    """Return the variance of a discrepancy if a share `alike` of the answers were guesses and all others certain.

    0 up to a half: texts that are scored alike fall on one side of the threshold, so the judge is wrong about those of
    one side, and the answers themselves vary as much.
    """
    return alike / 4 * (1 / n_real + 1 / n_generated) if alike > MOST else 0.0
