"""Whether texts of a side are repeated as independent draws are not.

Copies can be chance: some texts are frequent, and a collapsed generator has few. Then numbers of texts that stand once,
twice, three times are a mixture of Poisson distributions, for which ``j! d_j`` is log-convex in j (Cauchy and Schwarz).
A file written three times breaks that.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, pdtr

from textassay.corpus.corpus import Corpus
from textassay.inspection.sentence_keys import sentence_keys

IntArray = npt.NDArray[np.int64]

_TOO_REGULAR = 1e-3  # chance of so few texts that stand once more often
_LACKING, _LACKING_BESIDE = 3.0, 1.75  # the same in standard errors; where near-copies are many, independent text: 1.5


def repeated_copies(side: Corpus, name: str) -> str:
    """Return how texts are repeated as independent draws do not repeat texts, in words; empty where they are not.

    Of all texts, then of the longer half: short ones are repeated by chance, which hides copies of others.
    """
    for which, rows in ((f"{name} texts", side.lengths > 0), (f"of the longer {name} texts", _longer(side))):
        for j, expected, lacking, n_times in _repeats(side, rows):
            if pdtr(n_times[j + 1], expected) < _TOO_REGULAR or lacking > _LACKING:
                return f"{int(n_times[j]):,} {which} stand exactly {_times(j)}{_passes(side, rows)}"
    return ""


def stand_once(side: Corpus) -> npt.NDArray[np.bool_]:
    """Return which texts have no equal one, a mask of shape (N,)."""
    _, which, times = np.unique(sentence_keys(side), return_inverse=True, return_counts=True)
    return np.asarray(times[which.reshape(-1)] == 1)


def repeat_by_chance(side: Corpus) -> bool:
    """Return whether so many texts stand twice that others would stand three times by chance, and do."""
    repeats = list(_repeats(side, side.lengths > 0))
    expected = max((expected for _, expected, _, _ in repeats), default=0.0)
    lacking = max((lacking for _, _, lacking, _ in repeats), default=0.0)
    is_regular = any(pdtr(n_times[j + 1], least) < _TOO_REGULAR for j, least, _, n_times in repeats)
    return expected >= -math.log(_TOO_REGULAR) and lacking < _LACKING_BESIDE and not is_regular


def _longer(side: Corpus) -> npt.NDArray[np.bool_]:
    """Return which texts are longer than half of them, a mask of shape (N,)."""
    return side.lengths > (np.median(side.lengths) if len(side) else 0)


def _repeats(side: Corpus, rows: npt.NDArray[np.bool_]) -> Iterator[tuple[int, float, float, IntArray]]:
    """Yield numbers j from 2, how many texts would stand j + 1 times by chance, and how many stand j times.

    The first is a limit that chance seldom falls below; then, by how many standard errors more are expected than there
    are.
    """
    _, times = np.unique(sentence_keys(side)[rows], return_counts=True)
    n_times = np.bincount(times, minlength=int(times.max(initial=0)) + 2)
    for j in range(2, len(n_times) - 1):
        before, here, after = n_times[j - 1] + 1, n_times[j], n_times[j + 1]
        at_least = chdtri(2 * here, 1 - _TOO_REGULAR) / 2 if here else 0.0
        at_most = chdtri(2 * before, _TOO_REGULAR) / 2
        likely = j / (j + 1) * here * (here - 1) / before
        lacking = (likely - after) / math.sqrt(likely + likely**2 * (4 / here + 1 / before)) if here > 1 else 0.0
        yield j, j / (j + 1) * at_least**2 / at_most, lacking, n_times


def _times(j: int) -> str:
    return "twice" if j == 2 else f"{j} times"


def _passes(side: Corpus, rows: npt.NDArray[np.bool_]) -> str:
    """Return how many rows lie between copies, in words, where most lie equally far apart."""
    keys = sentence_keys(side)[rows]
    order = np.argsort(keys, kind="stable")
    gaps = np.diff(np.flatnonzero(rows)[order])[keys[order][1:] == keys[order][:-1]]
    lags, counts = np.unique(gaps, return_counts=True)
    if not len(lags) or counts.max() < 0.5 * counts.sum():
        return ""
    lag = int(lags[np.argmax(counts)])
    return ", one after the other" if lag == 1 else f", {lag:,} rows apart"
