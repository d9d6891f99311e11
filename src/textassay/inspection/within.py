"""Whether texts of one side depend on each other: pairs, threes, near-copies, copies, runs of rows."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.inspection.copies import repeat_by_chance, repeated_copies, stand_once
from textassay.inspection.grouping import (
    LISTED,
    as_links,
    candidate_groups,
    connected,
    equal_or_declared,
    share_of_triples,
)
from textassay.inspection.nearest import NONE, Vectors
from textassay.inspection.row_order import are_runs, blocks_of_rows

IntArray = npt.NDArray[np.int64]

WITHIN, RUNS, COPIES = "within a side", "runs", "copies"

_FEWEST_WITHIN = 150  # texts
_COPIES = 0.12  # share of near-copies
_COPY_COSINE, _COPY_TOKENS = 0.95, 5


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
    vectors = Vectors.of([side])
    kinds, words = [], []
    if neighbours and (clause := depends_within(vectors, side, name, side.groups)):
        kinds.append(WITHIN)
        words.append(clause)
    if side.groups is None:
        if copied := repeated_copies(side, name):
            kinds.append(COPIES)
            words.append(copied)
        if are_runs(vectors, side):
            kinds.append(RUNS)
            words.append(f"neighbouring rows of the {name} text have words in common")
    if not kinds:
        return Within((), (), side.groups)
    base = equal_or_declared([side])
    if RUNS in kinds:
        return Within(tuple(kinds), tuple(words), connected([as_links(base), blocks_of_rows(vectors, side)], len(side)))
    for groups in candidate_groups(vectors, base):
        if not depends_within(vectors, side, name, groups):
            break
    return Within(tuple(kinds), tuple(words), groups)


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
        mutual = mutual[stand_once(side)]
    if len(mutual) and mutual.mean() >= 0.5 + 1.6 / math.sqrt(len(mutual)):
        return f"{name} texts come in pairs ({100 * mutual.mean():.0f} % are the nearest of their nearest)"
    if (triples := share_of_triples(places)) >= 0.55 + 3.5 / math.sqrt(n):
        return f"{name} texts come in groups of three and more ({100 * triples:.0f} % have such neighbours)"
    share = _near_copies(vectors, nearest, side.lengths)
    if share >= _COPIES and not by_chance:
        return f"{100 * share:.0f} % of the {name} texts are copied nearly word by word"
    return ""


def _near_copies(vectors: Vectors, nearest: IntArray, lengths: IntArray) -> float:
    """Return the share of texts of five tokens and more that another one repeats nearly word by word."""
    long = np.flatnonzero((lengths >= _COPY_TOKENS) & (nearest != NONE))
    n_long = int(np.count_nonzero(lengths >= _COPY_TOKENS))
    return float(np.sum(vectors.cosines(long, nearest[long]) >= _COPY_COSINE)) / n_long if n_long else 0.0
