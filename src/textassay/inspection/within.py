"""Whether texts of one side depend on each other: pairs, threes, near-copies, copies, runs of rows.

Copies can be chance: some texts are frequent, and a collapsed generator has few. Then numbers of texts that stand once,
twice, three times are a mixture of Poisson distributions, for which ``j! d_j`` is log-convex in j (Cauchy and Schwarz).
A file written three times breaks that.

Rows next to one another may belong together, as may, across two files, rows of the same number.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, pdtr

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError
from textassay.inspection.drawn_by_content import drawn_by_content
from textassay.inspection.grouping import (
    LISTED,
    NONE,
    Vectors,
    as_links,
    candidate_groups,
    connected,
    equal_or_declared,
    share_of_triples,
)
from textassay.inspection.sentence_keys import sentence_keys
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]

WITHIN, RUNS, COPIES = "within a side", "runs", "copies"

MOST_EXAMINED = 200_000  # texts a side: of more, those drawn by content and the first ones say what the whole is like
MOST_GROUPED = 4_000_000  # texts of both sides: groups of neighbours take about 1.5 kB a text
_FEWEST_WITHIN = 150  # texts
_COPIES = 0.12  # share of near-copies
_COPY_COSINE, _COPY_TOKENS = 0.95, 5

_TOO_REGULAR = 1e-3  # chance of so few texts that stand once more often
_LACKING, _LACKING_BESIDE = 3.0, 1.75  # the same in standard errors; where near-copies are many, independent text: 1.5

_FEWEST = 40  # texts
_ORDERED = 8.0  # standard deviations from shifted rows; independent files: at most 3
_CLEAR = 4.0  # standard errors, of pairs that have nothing in common but for some
_N_SHIFTS = 20
_LEAST_RUNS = 1.3  # sentences of paragraphs: 6; captions in the order of a public file: 1.2
_NEXT_TO, _BLOCK = 10, 20  # rows


@dataclass(frozen=True, eq=False)
class Within:
    """What is known of one side alone."""

    kinds: tuple[str, ...]
    words: tuple[str, ...]
    groups: IntArray | None  # Of the rows, shape (N,): those given, with nearest neighbours where they are dependent


def examine_real(real: Corpus) -> Within:
    """Return whether real text depends within itself, beyond the groups that it has."""
    return examine_side(real, "real", neighbours=True)


def examine_side(side: Corpus, name: str, *, neighbours: bool) -> Within:
    """Return whether texts of one side depend on each other; `neighbours`: whether pairs and threes say so, too.

    A generator that repeats itself has these by its own doing.
    """
    few, first = side, side
    if len(side) > MOST_EXAMINED:
        few, first = drawn_by_content([side], MOST_EXAMINED)[0], side.take(np.arange(MOST_EXAMINED))
    vectors = Vectors.of([few])
    kinds, words = [], []
    if neighbours and (clause := depends_within(vectors, few, name, few.groups)):
        kinds.append(WITHIN)
        words.append(clause)
    if side.groups is None:
        if copied := repeated_copies(side, name):
            kinds.append(COPIES)
            words.append(copied)
        if are_runs(vectors if first is few else Vectors.of([first]), first):
            kinds.append(RUNS)
            words.append(f"neighbouring rows of the {name} text share words")
    if not kinds:
        return Within((), (), side.groups)
    check_few(len(side))
    vectors = vectors if few is side else Vectors.of([side])
    base = equal_or_declared([side])
    if RUNS in kinds:
        return Within(tuple(kinds), tuple(words), connected([as_links(base), blocks_of_rows(vectors, side)], len(side)))
    for groups in candidate_groups(vectors, base):
        if not depends_within(vectors, side, name, groups):
            break
    return Within(tuple(kinds), tuple(words), groups)


def check_few(n_texts: int) -> None:
    """Raise where texts that depend on each other are too many to find what belongs together."""
    if n_texts > MOST_GROUPED:
        raise InputError(
            f"texts depend on each other, and {n_texts:,} are too many to find their groups. Name the column of "
            "groups (--group-column, --prompt-column), or add --independent"
        )


def depends_within(vectors: Vectors, side: Corpus, name: str, groups: IntArray | None) -> str:
    """Return how texts of different groups of a side come in pairs and more, in words; empty where they do not.

    Limits lie above what independent text of 25 kinds has: of texts that are the nearest of their nearest .51 at 200
    texts and .44 at 2,000, and of those whose two nearest are near to each other .67 and .44. Four short answers a
    prompt have .91 of these at 400 texts and .79 at 8,000. In larger groups that overlap, neither share is high:
    nothing in the texts tells these from a kind of text with many topics. Copies and near-copies count unless so many
    texts stand twice that others would stand three times by chance, as they do.
    """
    n = len(side)
    if n < _FEWEST_WITHIN:
        return ""
    places, _ = vectors.nearest(LISTED, groups=groups)
    nearest = places[:, 0].astype(np.int64)
    by_chance = repeat_by_chance(side)
    mutual = (nearest != NONE) & (nearest[nearest] == np.arange(n))
    if by_chance:
        mutual = mutual[occur_once(side)]
    if len(mutual) and mutual.mean() >= 0.5 + 1.6 / math.sqrt(len(mutual)):
        return f"{name} texts come in pairs ({100 * mutual.mean():.0f} % are mutual nearest neighbours)"
    if (triples := share_of_triples(places)) >= 0.55 + 3.5 / math.sqrt(n):
        return f"{name} texts come in groups of three or more ({100 * triples:.0f} % have such neighbours)"
    share = _near_copies(vectors, nearest, side.lengths)
    if share >= _COPIES and not by_chance:
        return f"{100 * share:.0f} % of the {name} texts are copied nearly word by word"
    return ""


def _near_copies(vectors: Vectors, nearest: IntArray, lengths: IntArray) -> float:
    """Return the share of texts of five tokens and more that another one repeats nearly word by word."""
    long = np.flatnonzero((lengths >= _COPY_TOKENS) & (nearest != NONE))
    n_long = int(np.count_nonzero(lengths >= _COPY_TOKENS))
    return float(np.sum(vectors.cosines(long, nearest[long]) >= _COPY_COSINE)) / n_long if n_long else 0.0


def repeated_copies(side: Corpus, name: str) -> str:
    """Return how texts are repeated as independent draws do not repeat texts, in words; empty where they are not.

    Of all texts, then of the longer half: short ones are repeated by chance, which hides copies of others.
    """
    for which, rows in ((f"{name} texts", side.lengths > 0), (f"of the longer {name} texts", _longer(side))):
        for j, expected, lacking, n_times in _repeats(side, rows):
            if pdtr(n_times[j + 1], expected) < _TOO_REGULAR or lacking > _LACKING:
                return f"{int(n_times[j]):,} {which} occur exactly {_times(j)}{_passes(side, rows)}"
    return ""


def occur_once(side: Corpus) -> npt.NDArray[np.bool_]:
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


def rows_together(vectors: Vectors, n: int) -> bool:
    """Return whether rows of the same number belong together; `vectors`: of `n` texts of each of two sides."""
    if n < _FEWEST:
        return False
    rows = np.arange(n)
    lags = stream(0, "dependence", "rows").permutation(np.arange(1, n))[:_N_SHIFTS]
    return _exceeds(vectors, rows, n + rows, n, n, lags)


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
