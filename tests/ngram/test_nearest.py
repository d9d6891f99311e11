"""Suffix arrays and matches of pairs against sorting and counting by hand."""

from collections import Counter
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import corpora_from_texts
from textassay.ngram.nearest import SuffixArray, match_pairs

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=9).map(" ".join), min_size=1, max_size=8)


def _ngrams(text: str, order: int) -> Counter[tuple[str, ...]]:
    tokens = text.split()
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


@pytest.mark.parametrize("part_positions", [1, 1 << 22])
@given(texts=TEXTS)
def test_places_are_sorted_by_what_follows(part_positions: int, texts: list[str]) -> None:
    corpus = corpora_from_texts({"text": texts})["text"]
    suffixes = [
        (corpus.tokens[start : corpus.offsets[text + 1]].tolist(), text, start)
        for text in range(len(texts))
        for start in range(corpus.offsets[text], corpus.offsets[text + 1])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("textassay.ngram.matches"), "_PART_POSITIONS", part_positions)
        places = SuffixArray.build(corpus)._places
    found = [(place >> 32, (place & 0xFFFFFFFF) - (place >> 32)) for place in places.tolist()]
    assert found == [(text, start) for _, text, start in sorted(suffixes)]


@given(texts=TEXTS, others=TEXTS)
def test_longest_shared_ngram_is_that_of_a_search_through_all(texts: list[str], others: list[str]) -> None:
    corpora = corpora_from_texts({"text": texts, "other": others})
    nearest = SuffixArray.build(corpora["other"]).nearest(corpora["text"], n_candidates=3)
    for text, length in zip(texts, nearest.lengths.tolist(), strict=True):
        shared = [order for order in range(1, 10) for other in others if _ngrams(text, order) & _ngrams(other, order)]
        assert length == max(shared, default=0)


@given(texts=TEXTS, others=TEXTS)
def test_longest_runs_are_those_of_a_search_through_all(texts: list[str], others: list[str]) -> None:
    corpora = corpora_from_texts({"text": texts, "other": others})
    suffixes = SuffixArray.build(corpora["other"])
    own = np.arange(len(others))
    for hypotheses, runs, left_out in (
        (texts, suffixes.runs(corpora["text"]), [-1] * len(texts)),
        (others, suffixes.runs(corpora["other"], own=own), own.tolist()),
    ):
        for number, text in enumerate(hypotheses):
            holders = [
                {order: _ngrams(other, order) for order in range(1, 10)} if place != left_out[number] else {}
                for place, other in enumerate(others)
            ]
            n_holders = {
                run: sum(run in each.get(len(run), {}) for each in holders)
                for order in range(1, 10)
                for run in _ngrams(text, order)
            }
            assert runs.lengths[number] == max((len(run) for run, n in n_holders.items() if n), default=0)
            assert runs.sole_lengths[number] == max((len(run) for run, n in n_holders.items() if n == 1), default=0)
            for lengths, starts, of in (
                (runs.lengths, runs.starts, runs.texts),
                (runs.sole_lengths, runs.sole_starts, runs.sole_texts),
            ):
                run = tuple(text.split()[starts[number] : starts[number] + lengths[number]])
                assert (of[number] == -1) == (not run)
                assert not run or run in holders[of[number]][len(run)]


@given(texts=TEXTS, others=TEXTS, max_order=st.integers(1, 10))
def test_matches_of_pairs_are_clipped_counts(texts: list[str], others: list[str], max_order: int) -> None:
    corpora = corpora_from_texts({"text": texts, "other": others})
    pairs = np.tile(np.arange(-1, len(others)), (len(texts), 1))
    matches = match_pairs(corpora["text"], corpora["other"], pairs, max_order=max_order)
    for number, text in enumerate(texts):
        for place, other in enumerate([None, *others]):
            expected = [0] * max_order
            if other is not None:
                expected = [(_ngrams(text, order) & _ngrams(other, order)).total() for order in range(1, max_order + 1)]
            assert matches[number, place].tolist() == expected
