"""Leading directions: against the exact decomposition of a dense matrix."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_matrix, random_array

from textassay.embedding.singular import TermMatrix, times, top_directions
from textassay.execution.threads import workers

FloatArray = npt.NDArray[np.float64]


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
    monkeypatch.setattr("textassay.embedding.singular._BLOCK", 64)
    with workers(3):
        np.testing.assert_array_equal(times(matrix, dense), whole)
