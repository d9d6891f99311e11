"""Clipped n-gram matches of each text with all others, BLEU's numerators, and the number of distinct n-grams.

Both take time linear in the number of tokens, and memory for the positions of a few first tokens at a time. The
positions of all n-grams with the same first token are grouped, and each group is split by the next token, n-gram after
n-gram, down to the longest; no n-gram needs a number or a hash, so counts are exact. First tokens are dealt out in
parts of a few million positions, which are collected, counted and dropped one after another.

Matches: of all references only the largest count of an n-gram matters, and to leave one text out, the two largest. A
group on one side only (or, if a corpus is matched with itself, in one text only) is dropped with all longer n-grams.
For the delete-a-group jackknife, each match says whether it is lost without one group of references: at most one group
matters to an n-gram of a text, the one that alone reaches the clipped count.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map
from textassay.ngram.kernels_matches import collect, count_part, match_part, separate

IntArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint8]
T = TypeVar("T")

_PART_POSITIONS = 1 << 22  # in each part, about: a first token is never divided
_MAX_PARTS = 16  # each reads all tokens once
_MIN_PARTS, _PART_TOKENS = 4, 50_000  # so that threads have some parts; with fewer tokens one is fastest


@dataclass(frozen=True)
class Matches:
    """Clipped n-gram matches of each text of a corpus."""

    # One number for the n-gram that starts at each token, shape (T, max_order), uint8: 0 if it does not match, 1 if it
    # does, ``2 + group`` if it matches but not without that group, which is never the text's own. An n-gram that occurs
    # c times in the text and at most m times in any one of the others matches at the first min(c, m) of its places.
    marks: Numbers


def match_references(hypotheses: Corpus, references: Corpus, *, max_order: int, groups: IntArray) -> Matches:
    """Return the n-gram matches of each hypothesis with the references.

    `groups`: jackknife group of each reference, shape (n_references,), from 0 to 253, so that a mark fits a byte.
    """
    no_groups = np.zeros(len(hypotheses), dtype=np.uint8)
    return _match([hypotheses, references], max_order, np.concatenate((no_groups, groups.astype(np.uint8))))


def match_each_other(corpus: Corpus, *, max_order: int, groups: IntArray) -> Matches:
    """Return the n-gram matches of each text with the other texts of the same corpus.

    `groups`: jackknife group of each text, shape (N,), numbers from 0 to 253.
    """
    return _match([corpus], max_order, groups.astype(np.uint8))


def _match(corpora: list[Corpus], max_order: int, groups: Numbers) -> Matches:
    marks = np.zeros((len(corpora[0].tokens), max_order), dtype=np.uint8)
    n_types, n_hypotheses = len(corpora[0].vocabulary), len(corpora[0])

    def match(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> None:
        match_part(tokens, starts, places, n_types, len(corpora) == 1, n_hypotheses, groups, marks)

    each_part(corpora, match)
    return Matches(marks)


def count_distinct(corpus: Corpus, *, max_order: int, groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return how many different n-grams of each order there are, and how many stand in the texts of one group alone.

    `groups`: jackknife group of each text, shape (N,), numbers from 0 to 253.

    Shapes (max_order,) and (max_order, n_groups).
    """
    of_text, n_types = groups.astype(np.uint8), len(corpus.vocabulary)
    n_distinct = np.zeros(max_order, dtype=np.int64)
    n_sole = np.zeros((max_order, int(groups.max(initial=-1)) + 1), dtype=np.int64)
    longest = max(1, int(corpus.lengths.max(initial=0)))  # no n-gram is longer

    def count(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
        distinct, sole = np.zeros_like(n_distinct[:longest]), np.zeros_like(n_sole[:longest])
        count_part(tokens, starts, places, n_types, of_text, distinct, sole)
        return distinct, sole

    for distinct, sole in each_part([corpus], count):
        n_distinct[:longest] += distinct
        n_sole[:longest] += sole
    return n_distinct, n_sole


def each_part(corpora: list[Corpus], of_part: Callable[[npt.NDArray[np.int32], IntArray, IntArray], T]) -> list[T]:
    """Return what `of_part` makes of the positions of a few first tokens, for all parts.

    It gets the tokens of all texts in one row; where in `places` the positions of each first token start, and the end
    of the last; and `places`, with the number of the text in the upper 32 bits, in ascending order for each token.
    """
    tokens = lay_out(corpora)
    totals = sum(
        (np.bincount(corpus.tokens, minlength=len(corpora[0].vocabulary)) for corpus in corpora),
        np.zeros(len(corpora[0].vocabulary), dtype=np.int64),
    )
    n_positions = int(totals.sum())
    n_parts = min(-(-n_positions // _PART_POSITIONS), _MAX_PARTS)
    n_parts = max(n_parts, _MIN_PARTS if n_positions >= _PART_TOKENS else 1)
    bounds = np.searchsorted(np.cumsum(totals), np.linspace(0, n_positions, n_parts + 1)[:-1], side="right")
    bounds = np.unique(np.append(bounds, len(totals)))

    def part(first_and_last: tuple[int, int]) -> T:
        first, last = first_and_last
        starts = np.concatenate(([0], np.cumsum(totals[first:last])))
        return of_part(tokens, starts, collect(tokens, first, last, starts))

    return parallel_map(part, itertools.pairwise(bounds.tolist()))


def lay_out(corpora: list[Corpus]) -> npt.NDArray[np.int32]:
    """Return the tokens of all texts in one row, -1 after each text.

    The position of a token in the row is its position in the corpora plus the number of its text.
    """
    row = np.empty(sum(len(corpus.tokens) + len(corpus) for corpus in corpora), dtype=np.int32)
    start = 0
    for corpus in corpora:
        end = start + len(corpus.tokens) + len(corpus)
        separate(corpus.tokens, corpus.offsets, row[start:end])
        start = end
    return row
