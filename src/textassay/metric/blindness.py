"""Blindness of a classifier: texts of both sides with identical scores, or without a token of its training text.

A classifier that gives most texts one score decides nothing about them. On which side of the threshold that score falls
is one random event a fold, so the answers hardly vary: 600 texts of unseen tokens alone gave dd 0.000
[-0.010, 0.010], though the classifier knew nothing about them. Such answers are guesses and count in the variance as
guesses, a quarter each (`guessing_variance`).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Sides = tuple[Corpus, Corpus]  # (real, generated)

NEARLY_ALL = 0.9  # share of identical scores from which a classifier is blind; binary classifiers may have less
MOST = 0.5  # share of unseen texts above which a classifier cannot show that two sides are alike


def alike_share(
    texts: tuple[Sequence[str], Sequence[str]],
    scores: tuple[FloatArray, FloatArray],
    folds: tuple[IntArray, IntArray] | None = None,
) -> float:
    """Return the share of texts that share their fold's most common score, on both sides, in [0, 1].

    The most common score of a fold is that among texts that occur in it once. The share is that of all tested texts, on
    the side where it is smaller, averaged over folds. Repeated texts do not count, since equal texts must have equal
    scores, nor does a score of one side alone, since it separates the sides. `scores` are NaN for untested texts.
    """
    if folds is None:
        folds = np.zeros(len(scores[0]), dtype=np.int64), np.zeros(len(scores[1]), dtype=np.int64)
    tested = [np.where(np.isnan(side), -1, fold) for side, fold in zip(scores, folds, strict=True)]
    hashes = [hashes_of(side) for side in texts]
    shares, sizes = [], []
    for fold in np.unique(np.concatenate(tested)):
        if fold < 0:
            continue
        rows = [np.flatnonzero(side == fold) for side in tested]
        if not all(map(len, rows)):
            continue
        hashes_of_fold = np.concatenate([side[row] for side, row in zip(hashes, rows, strict=True)])
        _, members, n_copies = np.unique(hashes_of_fold, return_inverse=True, return_counts=True)
        is_unique = np.split(n_copies[members] == 1, [len(rows[0])])
        unique_scores = [side[row][kept] for side, row, kept in zip(scores, rows, is_unique, strict=True)]
        values, counts = np.unique(np.concatenate(unique_scores), return_counts=True)
        common = values[np.argmax(counts)] if len(values) else np.nan
        shares.append(
            min(np.count_nonzero(side == common) / len(row) for side, row in zip(unique_scores, rows, strict=True))
        )
        sizes.append(sum(map(len, rows)))
    return float(np.average(shares, weights=sizes)) if shares else 0.0


def hashes_of(texts: Sequence[str]) -> IntArray:
    """Return a number for each text, the same for equal texts in one process, shape (N,)."""
    return np.fromiter(map(hash, texts), np.int64, len(texts))


def unseen_shares(sides: Sides, folds: tuple[IntArray, IntArray]) -> tuple[float, float]:
    """Return the shares of tested real and generated texts without a token of any other fold.

    Empty texts do not count as unseen. `folds` is negative for texts that are never tested.
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
    """Return which texts have tokens but none that `seen` marks, shape (N,)."""
    known = np.concatenate(([0], np.cumsum(seen[corpus.tokens])))
    lacking: npt.NDArray[np.bool_] = (np.diff(known[corpus.offsets]) == 0) & (corpus.lengths > 0)
    return lacking


def blindness(alike: float, unseen: Mapping[str, float]) -> str | None:
    """Return in words why a classifier could not see most texts of both sides; None where it could."""
    least = min(unseen.values(), default=0.0)
    if least > MOST:
        return f"{100 * least:.0f} % of the texts of both sides share no token with the training text of its classifier"
    if alike > NEARLY_ALL:
        return f"its classifier gives {100 * alike:.0f} % of the texts of both sides exactly the same score"
    return None


def guessing_variance(alike: float, n_real: float, n_generated: float) -> float:
    """Return the variance of a discrepancy if a share `alike` of the answers were guesses and all others certain.

    0 up to one half: then the variance of the answers, of which those of one side are wrong, is at least as large.
    """
    return alike / 4 * (1 / n_real + 1 / n_generated) if alike > MOST else 0.0
