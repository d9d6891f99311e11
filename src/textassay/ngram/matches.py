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
from numba import njit

from textassay.corpus.corpus import Corpus
from textassay.execution.threads import parallel_map

IntArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint8]
T = TypeVar("T")

_LOW = np.int64(0xFFFFFFFF)
_NONE = np.int64(-1)
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

    def match_part(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> None:
        _match_part(tokens, starts, places, n_types, len(corpora) == 1, n_hypotheses, groups, marks)

    each_part(corpora, match_part)
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

    def count_part(tokens: npt.NDArray[np.int32], starts: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
        distinct, sole = np.zeros_like(n_distinct[:longest]), np.zeros_like(n_sole[:longest])
        _count_part(tokens, starts, places, n_types, of_text, distinct, sole)
        return distinct, sole

    for distinct, sole in each_part([corpus], count_part):
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
        return of_part(tokens, starts, _collect(tokens, first, last, starts))

    return parallel_map(part, itertools.pairwise(bounds.tolist()))


def lay_out(corpora: list[Corpus]) -> npt.NDArray[np.int32]:
    """Return the tokens of all texts in one row, -1 after each text.

    The position of a token in the row is its position in the corpora plus the number of its text.
    """
    row = np.empty(sum(len(corpus.tokens) + len(corpus) for corpus in corpora), dtype=np.int32)
    start = 0
    for corpus in corpora:
        end = start + len(corpus.tokens) + len(corpus)
        _separate(corpus.tokens, corpus.offsets, row[start:end])
        start = end
    return row


@njit(cache=True, nogil=True)
def _separate(tokens, offsets, row):  # type: ignore[no-untyped-def]
    place = 0
    for sentence in range(len(offsets) - 1):
        for position in range(offsets[sentence], offsets[sentence + 1]):
            row[place] = tokens[position]
            place += 1
        row[place] = -1
        place += 1


@njit(cache=True, nogil=True)
def _collect(tokens, first, last, starts):  # type: ignore[no-untyped-def]
    """Return the positions of tokens from `first` to `last` - 1, with the text in the upper 32 bits."""
    places = np.empty(starts[-1], dtype=np.int64)
    following = starts[:-1].copy()
    sentence = np.int64(0)
    for position in range(len(tokens)):
        token = tokens[position]
        if token < 0:
            sentence += 1
        elif first <= token < last:
            places[following[token - first]] = (sentence << 32) | position
            following[token - first] += 1
    return places


# Counters below begin with np.int64(0): what is called with a literal 0 would be compiled once more for it.


@njit(cache=True, nogil=True)
def _match_part(tokens, starts, places, n_types, one_side, n_hypotheses, groups, marks):  # type: ignore[no-untyped-def]
    """Match all n-grams whose first tokens are those of `starts`; fill `marks`."""
    max_order = marks.shape[1]
    longest = _longest(starts)
    rows, bounds = _levels(max_order, longest)
    n_groups, at = np.zeros(max_order, dtype=np.int64), np.zeros(max_order, dtype=np.int64)
    slots, sizes, firsts, lasts, table = _slots(n_types, longest)
    for number in range(len(starts) - 1):
        begin, end = starts[number], starts[number + 1]
        if end - begin < 2 or not _can_match(places[begin] >> 32, places[end - 1] >> 32, one_side, n_hypotheses):
            continue
        bounds[0, 0], bounds[0, 1] = begin, end
        n_groups[0], at[0] = 1, 0
        level = np.int64(0)
        while level >= 0:
            if at[level] == n_groups[level]:
                level -= 1
                continue
            start, stop = bounds[level, at[level]], bounds[level, at[level] + 1]
            at[level] += 1
            here = places[start:stop] if level == 0 else rows[level - 1, start:stop]
            _mark(here, one_side, n_hypotheses, groups, marks, level)
            if level + 1 == max_order:
                continue
            n_slots = _next_tokens(tokens, here, level, slots, sizes, firsts, lasts, table)
            n_there, n_kept = 0, 0
            for slot in range(n_slots):
                size = sizes[slot]
                sizes[slot] = -1
                one, two = firsts[slot], lasts[slot]
                if size < 2 or not _can_match(one >> 32, two >> 32, one_side, n_hypotheses):
                    continue
                if size == 2:  # needs no further splitting
                    _mark_pair(tokens, one, two, one_side, groups, marks, level + 1)
                    continue
                sizes[slot] = n_there
                bounds[level + 1, n_kept] = n_there
                n_there += size
                n_kept += 1
            if n_kept:
                bounds[level + 1, n_kept] = n_there
                _split(here, slots, sizes, rows[level])
                level += 1
                n_groups[level], at[level] = n_kept, 0


@njit(cache=True, nogil=True)
def _count_part(tokens, starts, places, n_types, groups, n_distinct, n_sole):  # type: ignore[no-untyped-def]
    """Count all n-grams whose first tokens are those of `starts`; add to `n_distinct` and `n_sole`."""
    max_order = len(n_distinct)
    longest = _longest(starts)
    rows, bounds = _levels(max_order, longest)
    n_groups, at = np.zeros(max_order, dtype=np.int64), np.zeros(max_order, dtype=np.int64)
    slots, sizes, firsts, lasts, table = _slots(n_types, longest)
    for number in range(len(starts) - 1):
        begin, end = starts[number], starts[number + 1]
        if begin == end:
            continue
        bounds[0, 0], bounds[0, 1] = begin, end
        n_groups[0], at[0] = 1, 0
        level = np.int64(0)
        while level >= 0:
            if at[level] == n_groups[level]:
                level -= 1
                continue
            start, stop = bounds[level, at[level]], bounds[level, at[level] + 1]
            at[level] += 1
            here = places[start:stop] if level == 0 else rows[level - 1, start:stop]
            n_distinct[level] += 1
            sole = groups[here[0] >> 32]
            is_sole = True
            for place in here:
                if groups[place >> 32] != sole:
                    is_sole = False
                    break
            n_sole[level, sole] += is_sole
            if level + 1 == max_order:
                continue
            n_slots = _next_tokens(tokens, here, level, slots, sizes, firsts, lasts, table)
            n_there, n_kept = 0, 0
            for slot in range(n_slots):
                size = sizes[slot]
                sizes[slot] = -1
                if size == 1:  # so is every longer n-gram
                    position = firsts[slot] & _LOW
                    sole = groups[firsts[slot] >> 32]
                    order = level + 1
                    while order < max_order and tokens[position + order] >= 0:
                        n_distinct[order] += 1
                        n_sole[order, sole] += 1
                        order += 1
                    continue
                sizes[slot] = n_there
                bounds[level + 1, n_kept] = n_there
                n_there += size
                n_kept += 1
            if n_kept:
                bounds[level + 1, n_kept] = n_there
                _split(here, slots, sizes, rows[level])
                level += 1
                n_groups[level], at[level] = n_kept, 0


@njit(cache=True, nogil=True)
def _longest(starts):  # type: ignore[no-untyped-def]
    longest = 0
    for number in range(len(starts) - 1):
        longest = max(longest, starts[number + 1] - starts[number])
    return longest


@njit(cache=True, nogil=True)
def _levels(max_order, longest):  # type: ignore[no-untyped-def]
    """Return room for the positions of one group's subgroups, and where each of these starts, for each length."""
    return np.empty((max_order, longest), dtype=np.int64), np.empty((max_order, longest // 2 + 2), dtype=np.int64)


@njit(cache=True, nogil=True)
def _slots(n_types, longest):  # type: ignore[no-untyped-def]
    """Return room to number the tokens that follow a group of positions: see `_next_tokens`."""
    return (
        np.empty(longest, dtype=np.int32),
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.full(n_types, -1, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def _next_tokens(tokens, here, level, slots, sizes, firsts, lasts, table):  # type: ignore[no-untyped-def]
    """Give every token that follows an n-gram of `level` + 1 tokens a slot; return how many there are.

    `slots`: of each position, -1 at the end of a text; `sizes`, `firsts`, `lasts`: positions of each slot, the first
    and the last of them.
    """
    n_slots = 0
    for entry in range(len(here)):
        place = here[entry]
        following = tokens[(place & _LOW) + level + 1]
        if following < 0:
            slots[entry] = -1
            continue
        slot = table[following]
        if slot < 0:
            slot = n_slots
            table[following] = slot
            sizes[slot] = 0
            firsts[slot] = place
            n_slots += 1
        slots[entry] = slot
        sizes[slot] += 1
        lasts[slot] = place
    for slot in range(n_slots):
        table[tokens[(firsts[slot] & _LOW) + level + 1]] = -1
    return n_slots


@njit(cache=True, nogil=True)
def _split(here, slots, following, there):  # type: ignore[no-untyped-def]
    """Copy each position to the next free place of its slot, -1 for none."""
    for entry in range(len(here)):
        slot = slots[entry]
        if slot >= 0 and following[slot] >= 0:
            there[following[slot]] = here[entry]
            following[slot] += 1


@njit(cache=True, nogil=True)
def _can_match(first, last, one_side, n_hypotheses):  # type: ignore[no-untyped-def]
    """Return whether positions from text `first` to text `last` can match."""
    return first != last if one_side else first < n_hypotheses <= last


@njit(cache=True, nogil=True)
def _mark_pair(tokens, one, two, one_side, groups, marks, order):  # type: ignore[no-untyped-def]
    """Mark the matches of two positions that share an n-gram of `order` + 1 tokens, and of all longer ones."""
    place, other = one & _LOW, two & _LOW
    sentence, other_sentence = one >> 32, two >> 32
    group, other_group = groups[sentence], groups[other_sentence]
    for row in range(order, marks.shape[1]):
        token = tokens[place + row]
        if token < 0 or token != tokens[other + row]:
            break
        if one_side:
            marks[place - sentence, row] = 1 if group == other_group else 2 + other_group
            marks[other - other_sentence, row] = 1 if group == other_group else 2 + group
        else:
            marks[place - sentence, row] = 2 + other_group


@njit(cache=True, nogil=True)
def _run_end(places, entry):  # type: ignore[no-untyped-def]
    """Return the end of the run of positions in one text that starts at `entry`."""
    sentence = places[entry] >> 32
    entry += 1
    while entry < len(places) and places[entry] >> 32 == sentence:
        entry += 1
    return entry


@njit(cache=True, nogil=True)
def _mark_run(places, entry, end, matched, left, group, marks, row):  # type: ignore[no-untyped-def]
    """Mark the first `matched` places of a run; only `left` of them match without `group`."""
    matched = min(matched, end - entry)
    for number in range(matched):
        place = places[entry + number]
        marks[(place & _LOW) - (place >> 32), row] = 2 + group if number < matched - left else 1


@njit(cache=True, nogil=True)
def _mark(places, one_side, n_hypotheses, groups, marks, row):  # type: ignore[no-untyped-def]
    """Mark the matches of one n-gram, given its positions in ascending order."""
    if one_side:
        _mark_each_other(places, groups, marks, row)
        return
    largest, entry = 0, np.int64(0)
    while entry < len(places) and places[entry] >> 32 < n_hypotheses:
        end = _run_end(places, entry)
        largest = max(largest, end - entry)
        entry = end
    n_here = entry
    # The largest count in a reference, the group it is in, and the largest count in any other group.
    most, owner, second = 0, _NONE, 0
    while entry < len(places) and second < largest:
        group = np.int64(groups[places[entry] >> 32])
        end = _run_end(places, entry)
        count = end - entry
        entry = end
        if group == owner:
            most = max(most, count)
        elif count > most:
            most, owner, second = count, group, most
        else:
            second = max(second, count)
    entry = np.int64(0)
    while entry < n_here:
        end = _run_end(places, entry)
        _mark_run(places, entry, end, most, second, owner, marks, row)
        entry = end


@njit(cache=True, nogil=True)
def _mark_each_other(places, groups, marks, row):  # type: ignore[no-untyped-def]
    """Mark the matches of each text's run of an n-gram with the largest run of another text.

    That is the best run, or for its own text the second best; without the group of that run, the best run in any other
    group is left. Ties do not change the result.
    """
    largest, entry = 0, np.int64(0)
    while entry < len(places):
        end = _run_end(places, entry)
        largest = max(largest, end - entry)
        entry = end
    best, most = _best_run(groups, places, largest, _NONE, _NONE)
    owner = np.int64(groups[places[best] >> 32])
    other, second = _best_run(groups, places, largest, best, _NONE)
    other_owner = np.int64(groups[places[other] >> 32])
    elsewhere, most_elsewhere = _best_run(groups, places, largest, _NONE, owner)
    _, next_elsewhere = _best_run(groups, places, largest, elsewhere, owner)
    _, next_best = _best_run(groups, places, largest, best, other_owner)
    entry = np.int64(0)
    while entry < len(places):
        end = _run_end(places, entry)
        if entry == best:
            matched, lost, left = second, other_owner, next_best
        else:
            matched, lost, left = most, owner, next_elsewhere if entry == elsewhere else most_elsewhere
        if groups[places[entry] >> 32] == lost:
            left = matched
        _mark_run(places, entry, end, matched, left, lost, marks, row)
        entry = end


@njit(cache=True, nogil=True)
def _best_run(groups, places, largest, but_run, but_group):  # type: ignore[no-untyped-def]
    """Return the first run with the largest count, and the count, but one run and one group; -1 and 0 for none."""
    best, most, entry = int(_NONE), 0, 0
    while entry < len(places):
        end = _run_end(places, entry)
        if end - entry > most and entry != but_run and groups[places[entry] >> 32] != but_group:
            best, most = entry, end - entry
            if most == largest:
                break
        entry = end
    return best, most
