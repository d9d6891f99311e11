"""The n-gram index against counting by hand with dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError
from textassay.ngram.index import NgramIndex

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=9).map(" ".join), min_size=1, max_size=8)


def _ngrams(corpus: Corpus, sentence: int, max_order: int) -> Counter[tuple[str, ...]]:
    tokens = corpus.sentence(sentence)
    return Counter(
        tuple(tokens[start : start + order])
        for order in range(1, max_order + 1)
        for start in range(len(tokens) - order + 1)
    )


@settings(deadline=None, max_examples=60)
@given(first=SENTENCES, second=SENTENCES, other=SENTENCES, min_sentences=st.integers(1, 3))
def test_counts_are_those_of_a_dictionary(
    first: list[str], second: list[str], other: list[str], min_sentences: int
) -> None:
    corpora = corpora_from_texts({"first": first, "second": second, "other": other})
    index = NgramIndex.build([corpora["first"], corpora["second"]], max_order=4, min_sentences=min_sentences)
    n_sentences: Counter[tuple[str, ...]] = Counter()
    for name in ("first", "second"):
        for sentence in range(len(corpora[name])):
            n_sentences.update(set(_ngrams(corpora[name], sentence, 4)))
    kept = {ngram for ngram, count in n_sentences.items() if count >= min_sentences}
    assert {tuple(index.text(feature).split(" ")) for feature in range(index.n_features)} == kept
    assert index.n_features == len(kept)
    assert index.sizes == tuple(sum(len(ngram) == order for ngram in kept) for order in range(1, 5))
    for corpus in corpora.values():
        matrix = index.count_matrix(corpus)
        assert matrix.shape == (len(corpus), len(kept))
        assert matrix.dtype == np.float64
        assert matrix.has_canonical_format
        for sentence in range(len(corpus)):
            row = matrix[[sentence]]
            found = {
                tuple(index.text(int(feature)).split(" ")): int(count)
                for feature, count in zip(row.indices, row.data, strict=True)
            }
            expected = _ngrams(corpus, sentence, 4)
            assert found == {ngram: count for ngram, count in expected.items() if ngram in kept}


def test_ids_align_with_tokens() -> None:
    corpora = corpora_from_texts({"seen": ["a b a b", "", "a"], "new": ["b a b c", "a b"]})
    index = NgramIndex.build([corpora["seen"]], max_order=3)
    assert index.all_ids(corpora["seen"])[0].tolist() == [0, 1, 0, 1, 0]
    assert index.all_ids(corpora["seen"])[1].tolist() == [0, 1, 0, -1, -1]
    assert index.all_ids(corpora["seen"])[2].tolist() == [0, 1, -1, -1, -1]
    assert index.all_ids(corpora["new"])[0].tolist() == [1, 0, 1, -1, 0, 1]
    assert index.all_ids(corpora["new"])[1].tolist() == [1, 0, -1, -1, 0, -1]
    assert index.all_ids(corpora["new"])[1].dtype == np.int32
    assert [index.text(feature) for feature in range(index.n_features)] == ["a", "b", "a b", "b a", "a b a", "b a b"]


def test_features_number_orders_one_after_another() -> None:
    corpus = corpora_from_texts({"text": ["x y z x y"]})["text"]
    index = NgramIndex.build([corpus], max_order=3)
    orders = [len(index.text(feature).split(" ")) for feature in range(index.n_features)]
    assert orders == sorted(orders)
    assert index.sizes == (3, 3, 3)


def test_many_distinct_ngrams_get_distinct_ids() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, row)) for row in rng.integers(0, 300, size=(2000, 10))]
    corpus = corpora_from_texts({"text": texts})["text"]
    index = NgramIndex.build([corpus], max_order=2)
    pairs = {pair for text in texts for pair in zip(text.split()[:-1], text.split()[1:], strict=True)}
    assert index.sizes[1] == len(pairs)
    assert index.count_matrix(corpus).sum() == 2000 * (10 + 9)


def test_empty_sentences_and_orders_beyond_any_sentence() -> None:
    corpus = corpora_from_texts({"text": ["", "a", ""]})["text"]
    index = NgramIndex.build([corpus], max_order=4)
    assert index.sizes == (1, 0, 0, 0)
    assert index.count_matrix(corpus).toarray().tolist() == [[0.0], [1.0], [0.0]]
    nothing = corpora_from_texts({"text": ["", ""]})["text"]
    assert NgramIndex.build([nothing], max_order=2).count_matrix(nothing).shape == (2, 0)


def test_another_vocabulary_is_refused() -> None:
    corpora = corpora_from_texts({"text": ["a b"]})
    stranger = corpora_from_texts({"text": ["a b"]})["text"]
    with pytest.raises(OptionError, match="different vocabularies"):
        NgramIndex.build([corpora["text"], stranger], max_order=1)
    with pytest.raises(OptionError, match="different vocabularies"):
        NgramIndex.build([corpora["text"]], max_order=2).count_matrix(stranger)
