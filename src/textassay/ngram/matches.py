"""Clipped n-gram matches of each text with all others: the numerator of BLEU's modified precision.

They take time linear in the number of tokens: of all references only the largest count of an n-gram matters, and to
leave one text out, the two largest. Positions are grouped by their first token and the groups split token by token; a
group on one side only (or, if a corpus is matched with itself, in one text only) is dropped with all longer n-grams.

For the delete-a-group jackknife, each count comes with its loss without one group of references: at most one group
matters to a match, the one that alone reaches the clipped count.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from textassay.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay.execution import parallel_map

IntArray = npt.NDArray[np.int64]

_LOW = np.int64(0xFFFFFFFF)
_NONE = np.int64(-1)
_MAX_GROUPS = 127
_MAX_TOKENS = 2**24 - 1  # in one text, so that a loss and its group fit an int32
_N_PARTS = 4  # tasks run in parallel; each has its own copy of the counts
_PART_TOKENS = 50_000  # with fewer tokens one task is fastest


@dataclass(frozen=True)
class Matches:
    """Clipped n-gram matches of each text of a corpus."""

    # Matched n-grams of each text and order, shape (N, max_order), int32. An n-gram that occurs c times in the text and
    # at most m times in any one of the others counts min(c, m).
    counts: npt.NDArray[np.int32]
    # For the first occurrence of each n-gram in each text: ``128 * loss + group``, if without `group` it would match
    # `loss` fewer times, else 0. The text's own group is never named. Shape (max_order, T), int32.
    losses: npt.NDArray[np.int32]


def match_references(hypotheses: Corpus, references: Corpus, *, max_order: int, groups: IntArray) -> Matches:
    """Return the n-gram matches of each hypothesis with the references.

    `groups`: jackknife group of each reference, shape (n_references,), numbers from 0 to 126.
    """
    if hypotheses.vocabulary is not references.vocabulary:
        raise OptionError(
            "n-gram matches: the corpora have different vocabularies; build them with one call of corpora_from_texts"
        )
    no_groups = np.zeros(len(hypotheses), dtype=np.int64)
    return _match([hypotheses, references], max_order, np.concatenate((no_groups, groups)))


def match_each_other(corpus: Corpus, *, max_order: int, groups: IntArray) -> Matches:
    """Return the n-gram matches of each text with the other texts of the same corpus.

    `groups`: jackknife group of each text, shape (N,), numbers from 0 to 126.
    """
    return _match([corpus], max_order, groups)


def _match(corpora: list[Corpus], max_order: int, groups: IntArray) -> Matches:
    n_sentences = sum(len(corpus) for corpus in corpora)
    if max_order < 1:
        raise OptionError(f"max_order must be at least 1, got {max_order}")
    if len(groups) != n_sentences or groups.min(initial=0) < 0 or groups.max(initial=0) >= _MAX_GROUPS:
        raise OptionError(f"groups must have one number from 0 to {_MAX_GROUPS - 1} per text")
    if max(int(corpus.lengths.max(initial=0)) for corpus in corpora) > _MAX_TOKENS:
        raise InputError(f"n-gram matches: a text may have at most {_MAX_TOKENS} tokens")
    tokens, sentences = _lay_out(corpora)
    places, starts = _by_first_token(tokens, sentences, len(corpora[0].vocabulary))
    losses = np.zeros((max_order, len(corpora[0].tokens)), dtype=np.int32)

    def match_part(part: tuple[np.int64, np.int64]) -> npt.NDArray[np.int32]:
        counts = np.zeros((len(corpora[0]), max_order), dtype=np.int32)
        _match_part(tokens, places, starts, *part, len(corpora) == 1, groups, counts, losses)
        return counts

    n_parts = _N_PARTS if len(places) >= _PART_TOKENS else 1
    bounds = np.searchsorted(starts, np.linspace(0, len(places), n_parts + 1))
    bounds[0], bounds[-1] = 0, len(starts) - 1
    counts = parallel_map(match_part, itertools.pairwise(bounds))
    return Matches(np.sum(counts, axis=0, dtype=np.int32), losses)


def _lay_out(corpora: list[Corpus]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the tokens of all texts in one row, -1 after each text, and the text of each position.

    The position of a token in the row is its position in the corpora plus the number of its text.
    """
    lengths = np.concatenate([corpus.lengths for corpus in corpora])
    sentences = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths + 1)
    tokens = np.full(len(sentences), -1, dtype=np.int32)
    ends = np.cumsum(lengths + 1) - 1
    is_token = np.ones(len(sentences), dtype=np.bool_)
    is_token[ends] = False
    tokens[is_token] = np.concatenate([corpus.tokens for corpus in corpora])
    return tokens, sentences


@njit(cache=True, nogil=True)
def _by_first_token(tokens, sentences, n_types):  # type: ignore[no-untyped-def]
    """Return all positions, with the text in the upper 32 bits; those of token t at ``starts[t]:starts[t + 1]``."""
    starts = np.zeros(n_types + 2, dtype=np.int64)
    for token in tokens:
        if token >= 0:
            starts[token + 2] += 1
    for token in range(2, n_types + 2):
        starts[token] += starts[token - 1]
    places = np.empty(starts[n_types + 1], dtype=np.int64)
    for position in range(len(tokens)):
        token = tokens[position]
        if token >= 0:
            places[starts[token + 1]] = (np.int64(sentences[position]) << 32) | position
            starts[token + 1] += 1
    return places, starts[: n_types + 1]


@njit(cache=True, nogil=True)
def _match_part(tokens, places, starts, first, last, one_side, groups, counts, losses):  # type: ignore[no-untyped-def]
    """Match all n-grams whose first token is from `first` to `last` - 1; add to `counts`, fill `losses`."""
    n_hypotheses, max_order = counts.shape
    longest = 0
    for token in range(first, last):
        longest = max(longest, starts[token + 1] - starts[token])
    here, there = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    here_starts, there_starts = np.empty(longest + 1, dtype=np.int64), np.empty(longest + 1, dtype=np.int64)
    runs = np.empty(
        (longest, 2), dtype=np.int64
    )  # first occurrence in a text (text and position), and number of occurrences
    slots = np.empty(longest, dtype=np.int32)
    slot_sizes = np.empty(longest, dtype=np.int64)
    slot_firsts = np.empty(longest, dtype=np.int64)
    slot_lasts = np.empty(longest, dtype=np.int64)
    slot_of_token = np.empty(len(starts), dtype=np.int32)
    stamps = np.zeros(len(starts), dtype=np.int64)
    stamp = 0
    for token in range(first, last):
        n_here = starts[token + 1] - starts[token]
        if n_here < 2:
            continue
        first_sentence, last_sentence = places[starts[token]] >> 32, places[starts[token + 1] - 1] >> 32
        if not _can_match(first_sentence, last_sentence, one_side, n_hypotheses):
            continue
        here[:n_here] = places[starts[token] : starts[token + 1]]
        here_starts[0], here_starts[1] = 0, n_here
        n_groups = 1
        for order in range(max_order):
            n_there = 0
            n_groups_there = 0
            for group in range(n_groups):
                start, end = here_starts[group], here_starts[group + 1]
                _visit(here, start, end, one_side, groups, runs, counts, losses, order)
                if order + 1 == max_order:
                    continue
                # Give every next token a slot.
                stamp += 1
                n_slots = 0
                for entry in range(start, end):
                    place = here[entry]
                    following = tokens[(place & _LOW) + order + 1]
                    if following < 0:
                        slots[entry] = -1
                        continue
                    if stamps[following] != stamp:
                        stamps[following] = stamp
                        slot_of_token[following] = n_slots
                        slot_sizes[n_slots] = 0
                        slot_firsts[n_slots] = place
                        n_slots += 1
                    slot = slot_of_token[following]
                    slots[entry] = slot
                    slot_sizes[slot] += 1
                    slot_lasts[slot] = place
                # Keep the slots that can match. Two positions need no further grouping.
                n_before = n_there
                for slot in range(n_slots):
                    size = slot_sizes[slot]
                    slot_sizes[slot] = -1
                    one, two = slot_firsts[slot], slot_lasts[slot]
                    if size < 2 or not _can_match(one >> 32, two >> 32, one_side, n_hypotheses):
                        continue
                    if size == 2:
                        _visit_pair(tokens, one, two, one_side, groups, counts, losses, order + 1)
                        continue
                    there_starts[n_groups_there] = n_there
                    slot_sizes[slot] = n_there
                    n_there += size
                    n_groups_there += 1
                there_starts[n_groups_there] = n_there
                if n_there > n_before:
                    for entry in range(start, end):
                        slot = slots[entry]
                        if slot >= 0 and slot_sizes[slot] >= 0:
                            there[slot_sizes[slot]] = here[entry]
                            slot_sizes[slot] += 1
            if n_groups_there == 0:
                break
            here, there = there, here
            here_starts, there_starts = there_starts, here_starts
            n_groups = n_groups_there


@njit(cache=True, nogil=True)
def _can_match(first, last, one_side, n_hypotheses):  # type: ignore[no-untyped-def]
    """Return whether positions from text `first` to text `last` can match."""
    return first != last if one_side else first < n_hypotheses <= last


@njit(cache=True, nogil=True)
def _visit_pair(tokens, one, two, one_side, groups, counts, losses, order):  # type: ignore[no-untyped-def]
    """Count the matches of two positions that share an n-gram of `order` + 1 tokens, and of all longer ones."""
    place, other = one & _LOW, two & _LOW
    sentence, other_sentence = one >> 32, two >> 32
    group, other_group = groups[sentence], groups[other_sentence]
    for row in range(order, counts.shape[1]):
        token = tokens[place + row]
        if token < 0 or token != tokens[other + row]:
            break
        counts[sentence, row] += 1
        if one_side:
            counts[other_sentence, row] += 1
            if group != other_group:
                losses[row, place - sentence] = 128 + other_group
                losses[row, other - other_sentence] = 128 + group
        else:
            losses[row, place - sentence] = 128 + other_group


@njit(cache=True, nogil=True)
def _visit(places, start, end, one_side, groups, runs, counts, losses, row):  # type: ignore[no-untyped-def]
    """Count the matches of one n-gram, given its positions in ascending order."""
    n_hypotheses = len(counts)
    n_runs, largest = 0, 0
    entry = start
    while entry < end:
        sentence = places[entry] >> 32
        if sentence >= n_hypotheses:
            break
        begin = entry
        entry += 1
        while entry < end and places[entry] >> 32 == sentence:
            entry += 1
        runs[n_runs, 0], runs[n_runs, 1] = places[begin], entry - begin
        largest = max(largest, entry - begin)
        n_runs += 1
    if one_side:
        _match_runs(groups, runs, n_runs, largest, counts, losses, row)
        return
    # The largest count in a reference, the group it is in, and the largest count in any other group.
    most, owner, second = 0, -1, 0
    while entry < end and second < largest:
        sentence = places[entry] >> 32
        begin = entry
        entry += 1
        while entry < end and places[entry] >> 32 == sentence:
            entry += 1
        count = entry - begin
        if groups[sentence] == owner:
            most = max(most, count)
        elif count > most:
            most, owner, second = count, groups[sentence], most
        else:
            second = max(second, count)
    for run in range(n_runs):
        sentence = runs[run, 0] >> 32
        matched = min(runs[run, 1], most)
        counts[sentence, row] += matched
        if matched > second:
            losses[row, (runs[run, 0] & _LOW) - sentence] = (matched - second) * 128 + owner


@njit(cache=True, nogil=True)
def _match_runs(groups, runs, n_runs, largest, counts, losses, row):  # type: ignore[no-untyped-def]
    """Count the matches of each text's run of an n-gram with the largest run of another text.

    That is the best run, or for its own text the second best; without the group of that run, the best run in any other
    group is left. Ties do not change the result.
    """
    best = _best_run(groups, runs, n_runs, largest, _NONE, _NONE)
    owner = groups[runs[best, 0] >> 32]
    other = _best_run(groups, runs, n_runs, largest, best, _NONE)
    other_owner = groups[runs[other, 0] >> 32]
    elsewhere = _best_run(groups, runs, n_runs, largest, _NONE, owner)
    elsewhere_next = _best_run(groups, runs, n_runs, largest, elsewhere, owner)
    best_next = _best_run(groups, runs, n_runs, largest, best, other_owner)
    for run in range(n_runs):
        sentence = runs[run, 0] >> 32
        if run == best:
            most, lost, rest = runs[other, 1], other_owner, best_next
        else:
            most, lost, rest = runs[best, 1], owner, elsewhere_next if run == elsewhere else elsewhere
        matched = min(runs[run, 1], most)
        counts[sentence, row] += matched
        left = runs[rest, 1] if rest >= 0 else 0
        if matched > left and groups[sentence] != lost:
            losses[row, (runs[run, 0] & _LOW) - sentence] = (matched - left) * 128 + lost


@njit(cache=True, nogil=True)
def _best_run(groups, runs, n_runs, largest, but_run, but_group):  # type: ignore[no-untyped-def]
    """Return the first run with the largest count, excluding one run and one group; -1 if there is none."""
    best, most = int(_NONE), 0
    for run in range(n_runs):
        if runs[run, 1] > most and run != but_run and groups[runs[run, 0] >> 32] != but_group:
            best, most = run, runs[run, 1]
            if most == largest:
                break
    return best
