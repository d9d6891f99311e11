"""N-gram matches and distinct n-grams against counting by hand with dictionaries."""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textassay.corpus.corpus import corpora_from_texts
from textassay.ngram.matches import count_distinct, match_each_other, match_references

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=9).map(" ".join), min_size=1, max_size=8)


def _counts(text: str, order: int) -> Counter[tuple[str, ...]]:
    tokens = text.split()
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def _clipped(hypothesis: str, references: list[str], order: int) -> int:
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= _counts(reference, order)
    return (_counts(hypothesis, order) & most).total()


def _matched(marks: np.ndarray, offsets: np.ndarray, sentence: int, left_out: int | None = None) -> list[int]:
    """Return the matches of a sentence, by order, all of them or those without a group."""
    own = marks[offsets[sentence] : offsets[sentence + 1]]
    return [int(count) for count in ((own > 0) & (own != (-1 if left_out is None else 2 + left_out))).sum(axis=0)]


@pytest.fixture(params=["whole", "in parts"])
def parts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Count all first tokens together, or each alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "in parts":
            for name, value in (("_PART_POSITIONS", 1), ("_MAX_PARTS", 1000)):
                patch.setattr(import_module("textassay.ngram.matches"), name, value)
        yield


ANY_WAY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANY_WAY
@given(hypotheses=TEXTS, references=TEXTS)
def test_matches_with_references(parts: None, hypotheses: list[str], references: list[str]) -> None:
    corpora = corpora_from_texts({"hypotheses": hypotheses, "references": references})
    groups = np.arange(len(references)) % 3
    marks = match_references(corpora["hypotheses"], corpora["references"], max_order=6, groups=groups).marks
    offsets = corpora["hypotheses"].offsets
    for sentence, text in enumerate(hypotheses):
        assert _matched(marks, offsets, sentence) == [_clipped(text, references, order) for order in range(1, 7)]
        for group in range(3):
            left = [reference for place, reference in enumerate(references) if groups[place] != group]
            expected = [_clipped(text, left, order) for order in range(1, 7)]
            assert _matched(marks, offsets, sentence, group) == expected


@ANY_WAY
@given(texts=TEXTS)
def test_matches_with_each_other(parts: None, texts: list[str]) -> None:
    corpus = corpora_from_texts({"text": texts})["text"]
    groups = np.arange(len(texts)) % 3
    marks = match_each_other(corpus, max_order=6, groups=groups).marks
    for sentence, text in enumerate(texts):
        others = [place for place in range(len(texts)) if place != sentence]
        full = [_clipped(text, [texts[place] for place in others], order) for order in range(1, 7)]
        assert _matched(marks, corpus.offsets, sentence) == full
        for group in range(3):
            left = [texts[place] for place in others if groups[place] != group]
            expected = full if group == groups[sentence] else [_clipped(text, left, order) for order in range(1, 7)]
            assert _matched(marks, corpus.offsets, sentence, group) == expected


@ANY_WAY
@given(texts=TEXTS, max_order=st.integers(1, 12))
def test_distinct_ngrams_are_those_of_a_dictionary(parts: None, texts: list[str], max_order: int) -> None:
    corpus = corpora_from_texts({"text": texts})["text"]
    groups = np.arange(len(texts)) % 3
    n_distinct, n_sole = count_distinct(corpus, max_order=max_order, groups=groups)
    for order in range(1, max_order + 1):
        groups_of: dict[tuple[str, ...], set[int]] = {}
        for text, group in zip(texts, groups.tolist(), strict=True):
            for ngram in _counts(text, order):
                groups_of.setdefault(ngram, set()).add(group)
        assert n_distinct[order - 1] == len(groups_of)
        alone = Counter(next(iter(owners)) for owners in groups_of.values() if len(owners) == 1)
        assert n_sole[order - 1].tolist() == [alone[group] for group in range(n_sole.shape[1])]


def test_parts_join_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, row)) for row in rng.integers(0, 40, size=(8000, 8))]
    corpus = corpora_from_texts({"text": texts})["text"]
    assert len(corpus.tokens) > 50_000
    groups = rng.integers(0, 50, size=len(texts))
    in_four = (
        match_each_other(corpus, max_order=3, groups=groups).marks,
        *count_distinct(corpus, max_order=3, groups=groups),
    )
    monkeypatch.setattr(import_module("textassay.ngram.matches"), "_PART_TOKENS", 1 << 30)
    in_one = (
        match_each_other(corpus, max_order=3, groups=groups).marks,
        *count_distinct(corpus, max_order=3, groups=groups),
    )
    for first, second in zip(in_four, in_one, strict=True):
        np.testing.assert_array_equal(first, second)
