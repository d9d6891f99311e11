"""N-gram matches against counting by hand with dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus import corpora_from_texts
from textassay.errors import OptionError
from textassay.ngram import match_each_other, match_references

TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=9).map(" ".join), min_size=1, max_size=8)


def _counts(text: str, order: int) -> Counter[tuple[str, ...]]:
    tokens = text.split()
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def _clipped(hypothesis: str, references: list[str], order: int) -> int:
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= _counts(reference, order)
    return (_counts(hypothesis, order) & most).total()


def _total_losses(losses: np.ndarray, offsets: np.ndarray, sentence: int, group: int) -> list[int]:
    """Return what a sentence loses without a group, by order."""
    own = losses[:, offsets[sentence] : offsets[sentence + 1]]
    return [int((row[(row > 0) & (row & 127 == group)] >> 7).sum()) for row in own]


@given(hypotheses=TEXTS, references=TEXTS)
def test_matches_with_references(hypotheses: list[str], references: list[str]) -> None:
    corpora = corpora_from_texts({"hypotheses": hypotheses, "references": references})
    groups = np.arange(len(references)) % 3
    matches = match_references(corpora["hypotheses"], corpora["references"], max_order=6, groups=groups)
    for sentence, text in enumerate(hypotheses):
        full = [_clipped(text, references, order) for order in range(1, 7)]
        assert matches.counts[sentence].tolist() == full
        for group in range(3):
            left = [reference for place, reference in enumerate(references) if groups[place] != group]
            expected = [_clipped(text, left, order) for order in range(1, 7)]
            lost = _total_losses(matches.losses, corpora["hypotheses"].offsets, sentence, group)
            assert [count - loss for count, loss in zip(full, lost, strict=True)] == expected


@given(texts=TEXTS)
def test_matches_with_each_other(texts: list[str]) -> None:
    corpus = corpora_from_texts({"text": texts})["text"]
    groups = np.arange(len(texts)) % 3
    matches = match_each_other(corpus, max_order=6, groups=groups)
    for sentence, text in enumerate(texts):
        others = [place for place in range(len(texts)) if place != sentence]
        full = [_clipped(text, [texts[place] for place in others], order) for order in range(1, 7)]
        assert matches.counts[sentence].tolist() == full
        for group in range(3):
            if group == groups[sentence]:
                assert _total_losses(matches.losses, corpus.offsets, sentence, group) == [0] * 6
                continue
            left = [texts[place] for place in others if groups[place] != group]
            expected = [_clipped(text, left, order) for order in range(1, 7)]
            lost = _total_losses(matches.losses, corpus.offsets, sentence, group)
            assert [count - loss for count, loss in zip(full, lost, strict=True)] == expected


def test_parts_join_to_the_whole() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, row)) for row in rng.integers(0, 40, size=(8000, 8))]
    corpus = corpora_from_texts({"text": texts})["text"]
    assert len(corpus.tokens) > 50_000
    groups = np.zeros(len(texts), dtype=np.int64)
    matches = match_each_other(corpus, max_order=3, groups=groups)
    n_with = Counter(ngram for text in texts for ngram in set(_counts(text, 3)))
    for sentence in range(0, 8000, 400):
        expected = sum(n_with[ngram] > 1 for ngram in set(_counts(texts[sentence], 3)))
        assert matches.counts[sentence, 2] == pytest.approx(expected, abs=1)  # repeats inside a sentence are rare
    assert matches.counts[:, 0].sum() == pytest.approx(8 * 8000, rel=0.01)


def test_misuse_is_told() -> None:
    corpora = corpora_from_texts({"a": ["x y"], "b": ["x", "z"]})
    stranger = corpora_from_texts({"b": ["x", "z"]})["b"]
    with pytest.raises(OptionError, match="max_order must be at least 1, got 0"):
        match_each_other(corpora["b"], max_order=0, groups=np.zeros(2, dtype=np.int64))
    with pytest.raises(OptionError, match="one number from 0 to 126 per text"):
        match_each_other(corpora["b"], max_order=2, groups=np.zeros(3, dtype=np.int64))
    with pytest.raises(OptionError, match="one number from 0 to 126 per text"):
        match_references(corpora["a"], corpora["b"], max_order=2, groups=np.array([0, 127]))
    with pytest.raises(OptionError, match="different vocabularies"):
        match_references(corpora["a"], stranger, max_order=2, groups=np.zeros(2, dtype=np.int64))
