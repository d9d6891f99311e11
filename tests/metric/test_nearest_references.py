"""Nearest references: against brute force, with ties, exclusions, other encoders, threads."""

from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from made_up import sentences
from nearest import nearest_references
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.encoder import FloatArray
from textassay.execution.threads import workers
from textassay.metric.catalog import parse_metric
from textassay.metric.overlap import NearestReferences

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join), min_size=1, max_size=12)


class _Counts:
    """Sentences to counts of words: an encoder that learns nothing."""

    name = "counts"
    key = "counts"
    settings = {"encoder": "counts"}  # noqa: RUF012
    reads_columns = False
    costly = False

    def fit(self, real: Corpus) -> "_Counts":
        return self

    def encode(self, corpus: Corpus) -> FloatArray:
        counts = np.zeros((len(corpus), len(corpus.vocabulary)))
        np.add.at(counts, (np.repeat(np.arange(len(corpus)), corpus.lengths), corpus.tokens), 1.0)
        return counts


def _pair(hypotheses: list[str], references: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"hypotheses": hypotheses, "references": references})
    return corpora["hypotheses"], corpora["references"]


def _cosines(hypotheses: list[str], references: list[str]) -> npt.NDArray[np.float64]:
    """Return all cosines by scikit-learn, whose inverse document frequency is the same."""
    vectors = TfidfVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False, sublinear_tf=True)
    theirs = vectors.fit_transform(references)
    return np.asarray((vectors.transform(hypotheses) @ theirs.T).todense())


@pytest.mark.feature("JJ-29")
@pytest.mark.parametrize("metric", ["bleu-nearest", "rouge"])
def test_no_text_is_a_reference_of_itself(metric: str) -> None:
    """Texts without a common word: each is only like itself."""
    texts = Corpus.from_texts([f"a{number} b{number} c{number} d{number}" for number in range(12)])
    assert parse_metric(metric).estimate(texts, texts).value < 0.2
    with_copies = Corpus.from_texts([*texts.texts, *texts.texts])
    assert parse_metric(metric).estimate(with_copies, with_copies).value == pytest.approx(1)


@pytest.mark.feature("JJ-29")
@given(hypotheses=TEXTS, references=TEXTS, k=st.integers(1, 14))
def test_nearest_are_those_of_brute_force(hypotheses: list[str], references: list[str], k: int) -> None:
    references = [*references, "a b"]  # scikit-learn wants a word
    found = nearest_references(*_pair(hypotheses, references), k=k)
    cosines = _cosines(hypotheses, references)
    n = min(k, len(references))
    assert found.shape == (len(hypotheses), k)
    assert (found[:, n:] == -1).all()
    assert all(len(set(row.tolist())) == n for row in found[:, :n])
    np.testing.assert_allclose(np.take_along_axis(cosines, found[:, :n], 1), -np.sort(-cosines)[:, :n], atol=1e-12)


@pytest.mark.feature("JJ-29")
def test_the_search_that_ends_early_finds_the_same_among_thousands() -> None:
    hypotheses, references = sentences(300, 1), sentences(4000, 2, shift=0.3)
    found = nearest_references(*_pair(hypotheses, references), k=10)
    cosines = _cosines(hypotheses, references)
    np.testing.assert_allclose(np.take_along_axis(cosines, found, 1), -np.sort(-cosines)[:, :10], atol=1e-12)


@pytest.mark.feature("JJ-29")
@pytest.mark.parametrize("encoder", ["tf-idf", _Counts()])
def test_no_sentence_is_its_own_reference_but_equal_ones_are(encoder: str | _Counts) -> None:
    corpus = Corpus.from_texts([*sentences(200, 1), "ba ben .", "ba ben .", ""])
    found = nearest_references(corpus, corpus, k=5, encoder=encoder, exclude_self=True)
    assert not (found == np.arange(len(corpus))[:, None]).any()
    assert (found[200, 0], found[201, 0]) == (201, 200)
    others = nearest_references(corpus, corpus, k=5, encoder=encoder, exclude_equal=True)
    assert not any(corpus.texts[other] == text for text, row in zip(corpus.texts, others, strict=True) for other in row)
    everything = nearest_references(corpus, corpus, k=len(corpus), encoder=encoder, exclude_self=True)
    assert (everything[:, -1] == -1).all()
    assert (np.sort(everything[:, :-1]) >= 0).all()


@pytest.mark.feature("JJ-29")
def test_vectors_of_an_encoder_are_compared_by_brute_force() -> None:
    hypotheses, references = _pair(sentences(700, 1), sentences(2500, 2))
    encoder = _Counts()
    mine, theirs = (
        vectors / np.linalg.norm(vectors, axis=1)[:, None] for vectors in map(encoder.encode, (hypotheses, references))
    )
    cosines = mine @ theirs.T
    found = nearest_references(hypotheses, references, k=7, encoder=encoder)
    np.testing.assert_allclose(np.take_along_axis(cosines, found, 1), -np.sort(-cosines)[:, :7], atol=1e-6)
    assert NearestReferences(references, "lsa").of(hypotheses, k=3).min() >= 0


def test_neither_order_nor_other_text_matters() -> None:
    hypotheses, references = sentences(80, 1), ["ba .", "ben .", *sentences(400, 2), *["ba ben ."] * 3]
    order = np.random.default_rng(0).permutation(len(references))
    plain = nearest_references(*_pair(hypotheses, references), k=10)
    shuffled = nearest_references(*_pair(hypotheses, [references[place] for place in order]), k=10)
    corpora = corpora_from_texts({"other": [*sentences(50, 9), "x y z"], "references": references, "mine": hypotheses})
    among = nearest_references(corpora["mine"], corpora["references"], k=10)
    np.testing.assert_array_equal(plain, among)
    texts = [[references[place] for place in row] for row in plain]
    assert texts == [[references[order[place]] for place in row] for row in shuffled]


@pytest.mark.parametrize("encoder", ["tf-idf", _Counts()])
def test_which_of_equally_near_texts_are_references_does_not_depend_on_their_order(encoder: str | _Counts) -> None:
    references = [" ".join(words) for words in permutations("wxyz")] + ["w x", "other words"]
    chosen = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(references))
        shuffled = [references[place] for place in order]
        found = nearest_references(*_pair(["w x y z"], shuffled), k=5, encoder=encoder)
        chosen.append([shuffled[place] for place in found[0]])
    assert chosen[1:] == chosen[:1] * 3
    more = nearest_references(*_pair(["w x y z"], references), k=9, encoder=encoder)
    assert [references[place] for place in more[0]][:5] == chosen[0]  # asking for more only adds


def test_threads_do_not_matter() -> None:
    hypotheses, references = _pair(sentences(1500, 1), sentences(900, 2))
    for encoder in ("tf-idf", "lsa"):
        with workers(3):
            many = nearest_references(hypotheses, references, encoder=encoder)
        np.testing.assert_array_equal(many, nearest_references(hypotheses, references, encoder=encoder))


def test_a_sentence_with_no_known_word_has_references_all_the_same() -> None:
    hypotheses, references = _pair(["zzz", "", "a"], ["a", "b c", "b"])
    found = nearest_references(hypotheses, references, k=3)
    assert np.sort(found).tolist() == [[0, 1, 2]] * 3
    assert found[2, 0] == 0


@pytest.mark.feature("JJ-29")
def test_news_is_searched_as_by_brute_force(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()[:3200]
    hypotheses, references = lines[:200], lines[200:]
    found = nearest_references(*_pair(hypotheses, references), k=10)
    cosines = _cosines(hypotheses, references)
    np.testing.assert_allclose(np.take_along_axis(cosines, found, 1), -np.sort(-cosines)[:, :10], atol=1e-12)
