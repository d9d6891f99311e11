import numpy as np
import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.ngram.index import NgramIndex, mark_ends
from textassay.ngram.text_counts import TextCounts

LINES = ["a b c", "a b", "", "c a b", "b b b", "d e", "d e a b c"]


@pytest.mark.parametrize("with_ends", [True, False])
@pytest.mark.parametrize("min_sentences", [1, 2])
def test_a_part_has_the_ngrams_and_counts_that_it_would_have_alone(with_ends: bool, min_sentences: int) -> None:
    sides = corpora_from_texts({"x": LINES[:4], "y": LINES[4:]})
    counts = TextCounts.of([*sides.values()], max_order=3, min_sentences=min_sentences, with_ends=with_ends)
    rows, others = np.array([0, 1, 3, 6]), np.array([2, 5])
    ngrams, own = counts.learnt_from(rows)
    corpus = corpora_from_texts({"all": LINES}, vocabulary=sides["x"].vocabulary)["all"]
    marked = mark_ends(corpus) if with_ends else corpus
    alone = NgramIndex.build([marked.take(rows)], max_order=3, min_sentences=min_sentences)
    names = {counts.index.text(int(column)): place for place, column in enumerate(ngrams.columns)}
    expected = [alone.text(feature) for feature in range(alone.n_features)]
    order = [names[name] for name in expected]
    assert sorted(names) == sorted(expected)
    assert np.array_equal(own.toarray()[:, order], alone.count_matrix(marked.take(rows)).toarray())
    of_others = alone.count_matrix(marked.take(others)).toarray()
    assert np.array_equal(counts.of_rows(others, ngrams).toarray()[:, order], of_others)
    assert np.array_equal(ngrams.counts(corpus.take(others)).toarray()[:, order], of_others)


def test_columns_of_tokens_are_those_of_the_ngrams_that_start_there() -> None:
    corpus = corpora_from_texts({"x": LINES})["x"]
    counts = TextCounts.of([corpus], max_order=2, min_sentences=2, with_ends=False)
    ngrams, _ = counts.learnt_from(np.array([0, 1, 3, 6]))
    one, two = ngrams.columns_of(corpus)
    words = [counts.index.text(int(column)) for column in ngrams.columns]
    tokens = " ".join(LINES).split()
    assert [words[column] if column >= 0 else None for column in one] == [w if w in "abc" else None for w in tokens]
    assert [words[column] for column in two if column >= 0] == ["a b", "b c", "a b", "a b", "a b", "b c"]
