"""The latent-semantic encoder: against the exact decomposition, and what it promises of order, content and threads."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_matrix, random_array

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.latent_semantic import LatentSemanticEncoder, TermMatrix, times, top_directions
from textassay.errors import EmptyCorpusError
from textassay.execution.threads import workers

FloatArray = npt.NDArray[np.float64]

SMALL = ["a b c", "a b d", "b a d d", "c d", "a b c d", ""]


def _exact(texts: list[str], share: float, orders: tuple[int, int]) -> FloatArray:
    """Return the terms of each sentence, written out: words, pairs of words, characters of each word."""
    tokens = [text.split() for text in texts]
    pairs = [list(pairwise(sentence)) for sentence in tokens]
    words = sorted({word for sentence in tokens for word in sentence})
    frequency = {word: sum(word in sentence for sentence in tokens) for word in words}
    kinds = sorted({pair for sentence in pairs for pair in sentence})
    kept = {pair: n for pair in kinds if (n := sum(pair in sentence for sentence in pairs)) > 1}

    def idf(n: int, total: int) -> float:
        return float(np.log((1 + total) / (1 + n)) + 1)

    def grams(word: str) -> list[str]:
        marked = f"<{word}>"
        return [marked[i : i + n] for n in range(orders[0], orders[1] + 1) for i in range(len(marked) - n + 1)]

    known = sorted({gram for word in words for gram in grams(word)})
    in_words = {gram: n for gram in known if (n := sum(gram in grams(word) for word in words)) > 1}
    profiles = np.array(
        [[grams(word).count(gram) * idf(n, len(words)) for gram, n in in_words.items()] for word in words]
    ).reshape(len(words), len(in_words))
    lengths = np.linalg.norm(profiles, axis=1, keepdims=True)
    profiles = np.divide(profiles, lengths, out=np.zeros_like(profiles), where=lengths > 0)
    rows = []
    for sentence, of_pairs in zip(tokens, pairs, strict=True):
        of_words = np.array([_weight(sentence.count(word)) * idf(frequency[word], len(texts)) for word in words])
        of_kept = np.array([_weight(of_pairs.count(pair)) * idf(n, len(texts)) for pair, n in kept.items()])
        length = np.sqrt((of_words**2).sum() + (of_kept**2).sum()) or 1.0
        own = of_words * np.array([frequency[word] > 1 for word in words]) * np.sqrt(1 - share)
        rows.append(np.concatenate((own, of_kept, np.sqrt(share) * of_words @ profiles)) / length)
    return np.array(rows)


def _weight(count: int) -> float:
    return 1 + float(np.log(count)) if count else 0.0


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), dtype=np.float64)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 256])
def test_vectors_are_those_of_the_exact_decomposition(dimensions: int) -> None:
    """Inner products, which do not depend on the signs of directions, equal those of the best approximation."""
    terms = _exact(SMALL, 0.6, (2, 4))
    left, values, _ = np.linalg.svd(terms)
    rank = min(dimensions, int((values > 1e-9).sum()))
    expected = _unit(left[:, :rank] * values[:rank])
    corpus = Corpus.from_texts(SMALL)
    vectors = LatentSemanticEncoder(dimensions=dimensions).fit(corpus).encode(corpus)
    assert vectors.shape == (len(SMALL), rank + 1)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[:, :-1] @ vectors[:, :-1].T, expected @ expected.T, atol=1e-5)


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    real = sentences(5000, 1)
    return corpora_from_texts(
        {"real": real, "generated": [*sentences(300, 2, shift=0.5), "xyz", "", "ba"], "reversed": real[::-1]}
    )


def test_what_is_learnt_is_learnt_from_real_text_alone(corpora: dict[str, Corpus]) -> None:
    alone = corpora_from_texts({"real": corpora["real"].texts})["real"]
    fitted, other = LatentSemanticEncoder().fit(corpora["real"]), LatentSemanticEncoder().fit(alone)
    assert fitted.key == other.key
    np.testing.assert_array_equal(fitted.encode(corpora["real"]), other.encode(alone))


def test_the_same_bits_at_any_number_of_threads_and_again(corpora: dict[str, Corpus]) -> None:
    def run(n_workers: int) -> npt.NDArray[np.float32]:
        with workers(n_workers):
            return LatentSemanticEncoder().fit(corpora["real"]).encode(corpora["generated"])

    first = run(1)
    np.testing.assert_array_equal(first, run(1))
    np.testing.assert_array_equal(first, run(3))


def test_the_order_of_sentences_does_not_matter(corpora: dict[str, Corpus]) -> None:
    fitted = LatentSemanticEncoder().fit(corpora["real"])
    order = np.random.default_rng(0).permutation(len(corpora["generated"]))
    vectors = fitted.encode(corpora["generated"])
    np.testing.assert_allclose(fitted.encode(corpora["generated"].take(order)), vectors[order], atol=1e-6)
    turned = LatentSemanticEncoder().fit(corpora["reversed"]).encode(corpora["generated"])
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, atol=1e-4)


def test_a_vector_does_not_depend_on_its_neighbours_nor_on_blocks(
    corpora: dict[str, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = LatentSemanticEncoder().fit(corpora["real"])
    vectors = fitted.encode(corpora["generated"])
    monkeypatch.setattr("textassay.embedding.latent_semantic._BLOCK", 7)
    np.testing.assert_allclose(fitted.encode(corpora["generated"]), vectors, atol=1e-6)


def test_vectors_have_length_one_and_those_of_unknown_sentences_a_direction_of_their_own(
    corpora: dict[str, Corpus],
) -> None:
    vectors = LatentSemanticEncoder().fit(corpora["real"]).encode(corpora["generated"])
    assert vectors.shape[1] <= 257
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors[[-3, -2], -1] == 1).all()
    assert (np.delete(vectors[:, -1], [-3, -2]) == 0).all()


def test_unseen_forms_of_a_word_lie_near_it() -> None:
    texts = ["walking home", "walking away", "talking away", "talking home", "red stone", "red brick", "big brick"] * 3
    corpora = corpora_from_texts({"real": texts, "new": ["walkings", "walking", "brick"]})
    form, word, other = LatentSemanticEncoder().fit(corpora["real"]).encode(corpora["new"])
    assert form @ word > 0.7
    assert form @ other < 0.3


@pytest.mark.parametrize("tokenizer", ["whitespace", "chars"])
@pytest.mark.parametrize("texts", [[""], ["a"], ["a b c"] * 5, ["one", "two", "three"], ["ab ba", "ba ab"]])
def test_tiny_texts(texts: list[str], tokenizer: str) -> None:
    corpora = corpora_from_texts({"real": texts, "other": ["b a", "x"], "none": []}, tokenizer=tokenizer)
    fitted = LatentSemanticEncoder().fit(corpora["real"])
    for corpus in corpora.values():
        vectors = fitted.encode(corpus)
        assert len(vectors) == len(corpus)
        assert 2 <= vectors.shape[1] <= len(texts) + 1
        assert np.isfinite(vectors).all()


def test_of_much_text_so_many_sentences_are_learnt_from_and_the_signature_says_it(
    corpora: dict[str, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LatentSemanticEncoder().fit(corpora["real"]).settings["fit"] == "5000"
    monkeypatch.setattr("textassay.embedding.latent_semantic._MOST", 500)
    fitted = LatentSemanticEncoder().fit(corpora["real"])
    assert fitted.settings["fit"] == "500"
    part = corpora["real"].take(np.arange(0, 5000, 10))
    np.testing.assert_array_equal(
        fitted.encode(corpora["generated"]), LatentSemanticEncoder().fit(part).encode(corpora["generated"])
    )


def test_names_and_keys_tell_settings_and_texts_apart(corpora: dict[str, Corpus]) -> None:
    assert LatentSemanticEncoder().name == "lsa-plain"
    assert LatentSemanticEncoder(dimensions=8).name == "lsa-plain(dimensions=8)"
    small = corpora["real"].take(np.arange(100))
    keys = {
        LatentSemanticEncoder(dimensions=dimensions).fit(corpus).key
        for dimensions in (4, 8)
        for corpus in (small, corpora["generated"])
    }
    assert len(keys) == 4


def test_no_text_is_refused() -> None:
    with pytest.raises(EmptyCorpusError):
        LatentSemanticEncoder().fit(Corpus.from_texts([]))


def _read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _nearest_is_of_the_same_text(first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]) -> float:
    """Return how often the nearest other sentence stands in the same text: 0.5 where the texts are alike."""
    both = np.concatenate((first, second))
    side = np.repeat((0, 1), (len(first), len(second)))
    likeness = both @ both.T
    np.fill_diagonal(likeness, -np.inf)
    return float(np.mean(side[likeness.argmax(axis=1)] == side))


def test_real_texts_that_differ_lie_apart_and_halves_of_one_do_not(data_dir: Path) -> None:
    captions, news = _read(data_dir / "leakgan_coco/real.txt"), _read(data_dir / "emnlp_news/valid.txt")
    corpora = corpora_from_texts(
        {
            "captions": captions[:2500],
            "held out": captions[2500:4000],
            "leakgan": _read(data_dir / "leakgan_coco/generated.txt")[:1500],
            "news": news[:4000],
            "first": news[4000:5500],
            "second": news[5500:7000],
            "coco": _read(data_dir / "coco/test.txt")[:1500],
        }
    )
    of_captions = LatentSemanticEncoder().fit(corpora["captions"]).encode
    of_news = LatentSemanticEncoder().fit(corpora["news"]).encode
    assert _nearest_is_of_the_same_text(of_captions(corpora["held out"]), of_captions(corpora["leakgan"])) > 0.75
    assert _nearest_is_of_the_same_text(of_news(corpora["first"]), of_news(corpora["coco"])) > 0.85
    assert abs(_nearest_is_of_the_same_text(of_news(corpora["first"]), of_news(corpora["second"])) - 0.5) < 0.04


@pytest.fixture(scope="module")
def parts() -> tuple[csr_matrix, csr_matrix, FloatArray, csr_matrix]:
    rng = np.random.default_rng(0)
    decay = np.arange(1, 151) ** -0.5
    words = random_array((500, 150), density=0.05, rng=rng).toarray() * decay
    ngrams = csr_matrix(random_array((500, 200), density=0.02, rng=rng))
    own = rng.random(150)
    return csr_matrix(words), ngrams, own, csr_matrix(random_array((150, 80), density=0.1, rng=rng))


def _dense(parts: tuple[csr_matrix, csr_matrix, FloatArray, csr_matrix]) -> FloatArray:
    words, ngrams, own, profiles = parts
    return np.hstack((words.toarray() * own, ngrams.toarray(), (words @ profiles).toarray()))


def test_products_are_those_of_the_whole_matrix(parts: tuple[csr_matrix, csr_matrix, FloatArray, csr_matrix]) -> None:
    matrix, dense = TermMatrix(*parts), _dense(parts)
    rng = np.random.default_rng(1)
    sentences = rng.standard_normal((500, 5))
    terms = matrix.transposed_times(sentences)
    np.testing.assert_allclose(np.vstack(terms), dense.T @ sentences, atol=1e-9)
    np.testing.assert_allclose(matrix.times(terms), dense @ (dense.T @ sentences), atol=1e-9)


def test_directions_are_orthonormal_and_hold_what_the_best_hold(
    parts: tuple[csr_matrix, csr_matrix, FloatArray, csr_matrix],
) -> None:
    """30 directions of a matrix of rank 350 whose singular values fall slowly."""
    dense = _dense(parts)
    start = np.random.default_rng(2).standard_normal((500, 46))
    directions = np.vstack(top_directions(TermMatrix(*parts), start, 30))
    np.testing.assert_allclose(directions.T @ directions, np.eye(30), atol=1e-9)
    best = np.linalg.svd(dense, compute_uv=False)[:30]
    found = np.linalg.norm(dense @ directions, axis=0)
    assert found[:5] == pytest.approx(best[:5], rel=5e-3)
    assert (found**2).sum() > 0.98 * (best**2).sum()


def test_a_matrix_of_low_rank_has_no_more_directions() -> None:
    words = csr_matrix(np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 0.0]))
    matrix = TermMatrix(words, csr_matrix((8, 0)), np.ones(3), csr_matrix((3, 0)))
    directions = top_directions(matrix, np.random.default_rng(0).standard_normal((8, 6)), 4)
    np.testing.assert_allclose(np.abs(directions.words), np.array([[1.0], [2.0], [0.0]]) / np.sqrt(5), atol=1e-12)
    nothing = TermMatrix(csr_matrix((8, 3)), csr_matrix((8, 0)), np.ones(3), csr_matrix((3, 0)))
    assert not top_directions(nothing, np.ones((8, 2)), 2).words.any()


def test_products_have_the_same_bits_at_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = csr_matrix(random_array((1000, 300), density=0.1, rng=np.random.default_rng(0)))
    dense = np.random.default_rng(1).standard_normal((300, 7)).astype(np.float32)
    whole = times(matrix, dense)
    assert whole.dtype == np.float32
    monkeypatch.setattr("textassay.embedding.latent_semantic._BLOCK", 64)
    with workers(3):
        np.testing.assert_array_equal(times(matrix, dense), whole)
