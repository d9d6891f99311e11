"""Whether rows next to one another, or of the same number in both files, belong together."""

import math

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.inspection.nearest import Vectors
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

_FEWEST = 40  # texts
_ORDERED = 8.0  # standard deviations from shifted rows; independent files: at most 3
_CLEAR = 4.0  # standard errors, of pairs that have nothing in common but for some
_N_SHIFTS = 20
_LEAST_RUNS = 1.3  # sentences of paragraphs: 6; captions in the order of a public file: 1.2
_NEXT_TO, _BLOCK = 10, 20  # rows


def rows_together(vectors: Vectors, n_generated: int, n_real: int) -> IntArray | None:
    """Return links of rows of the same number, shape (2, n), where such rows belong together; else None."""
    if n_generated != n_real or n_real < _FEWEST:
        return None
    rows = np.arange(n_real)
    lags = stream(0, "dependence", "rows").permutation(np.arange(1, n_real))[:_N_SHIFTS]
    together = _exceeds(vectors, rows, n_generated + rows, n_generated, n_real, lags)
    return np.stack([rows, n_generated + rows]) if together else None


def are_runs(vectors: Vectors, side: Corpus) -> bool:
    """Return whether neighbouring rows have more in common than rows some way off."""
    n = len(side)
    if n < _FEWEST + 6 * _NEXT_TO or _is_sorted(side):
        return False
    rows = np.arange(n)
    lags = stream(0, "dependence", "runs").permutation(np.arange(_NEXT_TO, 5 * _NEXT_TO))[:_N_SHIFTS]
    return _exceeds(vectors, rows, (rows + 1) % n, 0, n, lags, least=_LEAST_RUNS)


def _is_sorted(side: Corpus) -> bool:
    """Return whether texts stand in alphabetical order, where neighbours are alike however they were drawn."""
    texts = list(side.texts[: 10 * _FEWEST])
    return texts == sorted(texts)


def _exceeds(
    vectors: Vectors, ones: IntArray, others: IntArray, first: int, n: int, lags: IntArray, *, least: float = 1.0
) -> bool:
    """Return whether pairs have more in common than those that are shifted by each of `lags` among `n` rows.

    `least`: how many times as much.
    """
    cosines = vectors.cosines(ones, others)
    here, error = float(cosines.mean()), float(cosines.std(ddof=1)) / math.sqrt(len(cosines))
    shifted = np.array([vectors.cosines(ones, first + (others - first + lag) % n).mean() for lag in lags.tolist()])
    mean, spread = float(shifted.mean()), float(shifted.std(ddof=1))
    return here - mean > max(_ORDERED * spread, _CLEAR * error) and here > least * mean


def blocks_of_rows(vectors: Vectors, side: Corpus) -> IntArray:
    """Return links that connect so many neighbouring rows as a document may have, shape (2, N).

    A block ends where rows before and after it have least in common.
    """
    n = len(side)
    rows, common = np.arange(n), np.zeros(n)
    for lag in range(1, 6):
        pairs = vectors.cosines(rows[:-lag], rows[lag:])
        for before in range(max(0, lag - 3), min(lag, 3)):  # rows from a row to the end of its block
            common[before : before + n - lag] += pairs
    starts = [0]
    while starts[-1] + 2 * _BLOCK < n:
        low = starts[-1] + _BLOCK // 2
        starts.append(low + int(np.argmin(common[low : low + _BLOCK])) + 1)
    return np.stack([rows, np.repeat(starts, np.diff([*starts, n]))])
