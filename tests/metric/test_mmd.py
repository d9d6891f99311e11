"""mmd: against all pairs by NumPy, its p-value under the null, intervals, groups, degenerate samples."""

import sys
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.encoder import Encoder, FloatArray
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.errors import EmptyCorpusError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric.base import Shared
from textassay.metric.catalog import parse_metric
from textassay.metric.mmd import FeatureSums, cross_sums, mmd, orthogonal_frequencies, own_sums

Array = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]


def corpora(
    generated: npt.ArrayLike,
    real: npt.ArrayLike,
    generated_groups: Groups | None = None,
    real_groups: Groups | None = None,
) -> tuple[Corpus, Corpus]:
    rows = {"generated": np.asarray(generated, dtype=np.float64), "real": np.asarray(real, dtype=np.float64)}
    made = corpora_from_texts(
        {name: [f"{name} {name}{row}" for row in range(len(side))] for name, side in rows.items()}
    )
    return (
        replace(made["generated"], columns={"features": rows["generated"]}, groups=generated_groups),
        replace(made["real"], columns={"features": rows["real"]}, groups=real_groups),
    )


def of(generated: npt.ArrayLike, real: npt.ArrayLike, *groups: Groups | None, seed: int = 0) -> Estimate:
    return mmd(*corpora(generated, real, *groups), encoder="given", seed=seed)


def kernel(first: Array, second: Array) -> Array:
    return np.asarray(np.exp(-((first[:, None] - second[None]) ** 2).sum(axis=-1) / 2))


def by_numpy(generated: Array, real: Array) -> float:
    distances = ((real[:, None] - real[None]) ** 2).sum(axis=-1)
    n, m = len(real), len(generated)
    bandwidth = np.sqrt(distances.sum() / (n * (n - 1)))
    generated, real = generated / bandwidth, real / bandwidth
    within_real = (kernel(real, real).sum() - n) / (n * (n - 1))
    within_generated = (kernel(generated, generated).sum() - m) / (m * (m - 1))
    return float(within_real + within_generated - 2 * kernel(real, generated).mean())


def normal(seed: int, n: int, shift: float = 0.0, n_dimensions: int = 6) -> Array:
    return np.random.default_rng(seed).normal(size=(n, n_dimensions)) + shift


@pytest.mark.parametrize(("n_generated", "n_real"), [(50, 50), (2, 2), (2, 40), (130, 30)])
@pytest.mark.parametrize("shift", [0.0, 0.5, 20.0])
def test_equal_to_all_pairs_by_numpy(n_generated: int, n_real: int, shift: float) -> None:
    generated, real = normal(0, n_generated, shift), normal(1, n_real, 3.0)
    estimate = of(generated, real)
    assert estimate.value == pytest.approx(by_numpy(generated, real), abs=2e-7)
    assert estimate.details["bandwidth"] == pytest.approx(np.sqrt(2 * np.trace(np.cov(real.T))))


def test_worked_by_hand() -> None:
    """Real 0 and 2: s = 2, k = exp(-1/2) within; generated 0 and 0: 1 within; across 1 and exp(-1/2), each twice."""
    within = np.exp(-0.5)
    assert of([[0.0], [0.0]], [[0.0], [2.0]]).value == pytest.approx(within + 1 - (1 + within), abs=1e-7)


def test_sums_over_tiles_and_blocks() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2500, 3)), rng.normal(size=(1700, 3))
    blocks, others = rng.integers(0, 9, 2500), rng.integers(0, 700, 1700)
    others[:700] = np.arange(700)
    own, across = own_sums(first, blocks), cross_sums(first, blocks, second, others)
    expected = kernel(first, first) - np.eye(2500)
    np.testing.assert_allclose(own.rows, expected.sum(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(own.rows, own.columns)
    members, other_members = np.eye(9)[blocks], np.eye(700)[others]
    np.testing.assert_allclose(own.blocks, members.T @ expected @ members, rtol=1e-6)
    expected = kernel(first, second)
    np.testing.assert_allclose(across.rows, expected.sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(across.columns, expected.sum(axis=0), rtol=1e-6)
    np.testing.assert_allclose(across.blocks, members.T @ expected @ other_members, rtol=1e-5)


def test_sums_over_vectors_of_folds_with_dimensions_of_their_own() -> None:
    rng = np.random.default_rng(3)
    first, second = np.zeros((1300, 6)), np.zeros((700, 6))
    for side in (first, second):
        for fold in range(3):
            own = slice(fold * 200, (fold + 1) * 200 if fold < 2 else None)
            side[own, 2 * fold : 2 * fold + 2] = rng.normal(size=side[own, :2].shape) + 1
    second[second[:, 4] != 0, 4:] = 0.0  # no vector of the third fold: only zeros
    blocks, others = rng.permutation(np.arange(1300) % 9), rng.permutation(np.arange(700) % 5)
    own_of, across = own_sums(first, blocks), cross_sums(first, blocks, second, others)
    members, other_members = np.eye(9)[blocks], np.eye(5)[others]
    for found, expected, right in (
        (own_of, kernel(first, first) - np.eye(1300), members),
        (across, kernel(first, second), other_members),
    ):
        np.testing.assert_allclose(found.rows, expected.sum(axis=1), rtol=1e-5)
        np.testing.assert_allclose(found.columns, expected.sum(axis=0), rtol=1e-5)
        np.testing.assert_allclose(found.blocks, members.T @ expected @ right, rtol=1e-5)


def test_range() -> None:
    alike, apart = np.zeros((2, 1)), np.array([[0.0], [100.0]])
    assert of(np.full((9, 1), 1e6), normal(3, 9, n_dimensions=1) / 1e3).value == pytest.approx(1.6, abs=0.4)
    assert of(apart, [[0.0], [1.0]]).value >= -1
    assert of(alike, apart).value >= -1


def test_p_values_are_uniform_without_a_difference() -> None:
    found = np.array(
        [of(normal(2 * draw, 60), normal(2 * draw + 1, 90), seed=draw).details["p_value"] for draw in range(60)]
    )
    for level in (0.1, 0.25, 0.5, 0.75):
        assert abs(np.mean(found <= level) - level) < 3 * np.sqrt(level * (1 - level) / len(found)) + 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("n_generated", "n_real"), [(500, 500), (1003, 455)])
def test_p_values_are_uniform_with_blocks_of_several_sentences(n_generated: int, n_real: int) -> None:
    found = np.array(
        [
            of(normal(2 * draw, n_generated), normal(2 * draw + 1, n_real), seed=draw).details["p_value"]
            for draw in range(400)
        ]
    )
    for level in (0.05, 0.1, 0.25, 0.5, 0.75):
        assert abs(np.mean(found <= level) - level) < 3 * np.sqrt(level * (1 - level) / len(found)) + 0.005


@pytest.mark.slow
def test_documents_are_exchanged_whole() -> None:
    """Sentences of a document are near each other: as single draws they would differ from others too often."""
    numbers = np.repeat(np.arange(24), 8)
    found: dict[str, list[float]] = {"whole": [], "single": []}
    for draw in range(60):
        rng = np.random.default_rng(draw)
        sides = [np.repeat(rng.normal(size=(24, 3)), 8, axis=0) + 0.5 * rng.normal(size=(192, 3)) for _ in range(2)]
        found["single"].append(of(sides[0], sides[1], seed=draw).details["p_value"])
        found["whole"].append(of(sides[0], sides[1], numbers, numbers + 24, seed=draw).details["p_value"])
    assert np.mean(np.array(found["single"]) <= 0.05) > 0.3
    assert np.mean(np.array(found["whole"]) <= 0.05) < 0.15


def test_pairs_of_one_prompt_are_exchanged_within_it() -> None:
    numbers = np.arange(150)
    rng = np.random.default_rng(4)
    prompts = rng.normal(size=(150, 4)) * 3
    real, generated = (prompts + 0.3 * rng.normal(size=(150, 4)) for _ in range(2))
    estimate = of(generated + 0.25, real, numbers, numbers)
    assert estimate.details["p_value"] == 0.001  # a shift far smaller than the spread of the prompts
    assert of(generated + 0.25, real).details["p_value"] > 0.05
    assert of(generated, real, numbers, numbers).details["p_value"] > 0.05
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is not None
    assert len(estimate.evidence.real_terms) == 150


@pytest.mark.slow
def test_intervals_cover_where_there_is_a_difference_and_are_wide_where_there_is_none() -> None:
    for shift, least, most in ((0.6, 0.9, 0.985), (0.0, 0.95, 1.0)):
        estimates = [of(normal(2 * draw, 80, shift), normal(2 * draw + 1, 80), seed=draw) for draw in range(60)]
        mean = np.mean([estimate.value for estimate in estimates])
        covered = [
            estimate.interval.low <= mean <= estimate.interval.high
            for estimate in estimates
            if estimate.interval is not None
        ]
        assert len(covered) == 60
        assert least <= np.mean(covered) <= most


@pytest.mark.slow
def test_without_a_difference_the_mean_is_zero_at_any_size() -> None:
    for n_generated, n_real in ((10, 10), (10, 80)):
        # one kernel for all draws: the bandwidth is that of the real side
        values = [of(normal(2 * draw, n_generated), normal(2 * draw + 1, n_real)).value for draw in range(120)]
        assert abs(np.mean(values)) < 3.5 * np.std(values) / np.sqrt(len(values))


def test_influence_is_the_effect_of_leaving_a_sentence_out() -> None:
    sides = [normal(5, 200, 0.4), normal(6, 150)]
    estimate = of(sides[0], sides[1])
    assert estimate.evidence is not None
    terms = estimate.evidence.generated_terms
    assert terms is not None
    assert terms.mean() == pytest.approx(estimate.value)
    effects = [199 * (estimate.value - by_numpy(np.delete(sides[0], row, axis=0), sides[1])) for row in range(30)]
    assert np.corrcoef(effects, terms[:30])[0, 1] > 0.999
    assert np.std(effects) == pytest.approx(np.std(terms[:30]), rel=0.02)


def test_real_sums_are_made_once_and_do_not_depend_on_the_generator() -> None:
    first, real = corpora(normal(7, 60), normal(8, 50))
    second, _ = corpora(normal(9, 60, 1.0), normal(8, 50))
    second = replace(second, vocabulary=real.vocabulary)
    first = replace(first, vocabulary=real.vocabulary)
    sums = mock.Mock(wraps=own_sums)
    with mock.patch("textassay.metric.mmd.own_sums", sums), Shared().used():
        mmd(first, real, encoder="given")
        shared = mmd(second, real, encoder="given")
    assert sums.call_count == 3  # of real text, and of each generator's
    assert shared.to_dict() == mmd(second, real, encoder="given").to_dict()


def test_same_bits_at_any_number_of_threads_and_any_order_to_seven_digits() -> None:
    generated, real = normal(10, 2300, 0.1), normal(11, 1900)

    def run(n_workers: int) -> dict[str, Any]:
        with workers(n_workers):
            return of(generated, real, seed=3).to_dict()

    assert run(1) == run(3)
    mixed = np.random.default_rng(12).permutation
    assert of(mixed(generated), mixed(real)).value == pytest.approx(of(generated, real).value, abs=1e-7)


def test_degenerate_samples() -> None:
    with pytest.warns(RuntimeWarning, match="all real vectors are equal"):
        estimate = of(normal(13, 5), np.ones((4, 6)))
    assert np.isnan(estimate.value)
    assert estimate.interval is None
    collapsed = of(np.ones((30, 6)), normal(14, 30))
    assert collapsed.value > 0.3
    assert collapsed.details["p_value"] == 0.001
    with pytest.raises(EmptyCorpusError):
        of(np.zeros((0, 2)), np.zeros((3, 2)))
    with pytest.raises(TooFewSentencesError, match="at least 2"):
        of(np.zeros((1, 2)), np.zeros((3, 2)))


@pytest.mark.slow
def test_the_default_encoder_does_not_see_what_is_compared() -> None:
    """Fitted to the very real text that is compared, new real text would be called different, every time."""

    def p_values(encoder: str | Encoder) -> FloatArray:
        found = []
        for draw in range(20):
            made = corpora_from_texts({"real": rare_words(2 * draw, 200), "generated": rare_words(2 * draw + 1, 200)})
            estimate = mmd(made["generated"], made["real"], encoder=encoder, seed=draw)
            found.append(estimate.details["p_value"])
        return np.array(found)

    proper = p_values("lsa")
    assert np.mean(proper < 0.2) < 0.5
    assert np.mean(proper < 0.5) > 0.15
    assert np.mean(p_values(LatentSemanticEncoder()) < 0.05) > 0.8


def rare_words(seed: int, n: int) -> list[str]:
    """Return sentences of ten words, most of which stand in one sentence only."""
    words = np.random.default_rng(seed).zipf(1.2, size=(n, 10))
    return [" ".join(f"w{word}" for word in row) for row in words]


def test_signature() -> None:
    estimate = of(normal(15, 5), normal(16, 7), seed=4)
    assert str(estimate.signature).startswith(
        "metric:mmd(encoder=given)|encoder:given|kernel:rbf|bandwidth:rms-real|permutations:999|tok:whitespace|n:5+7|seed:4"
    )
    assert parse_metric("mmd").name == "mmd"
    assert parse_metric("mmd(encoder=given)").reads_columns


def features_above(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["textassay.metric.mmd"], "EXACT_UP_TO", n)


@pytest.mark.slow
def test_random_features_add_up_as_all_pairs_of_their_kernel_do() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(1500, 3)), rng.normal(size=(1100, 3))
    blocks, others = rng.integers(0, 9, 1500), rng.integers(0, 700, 1100)
    others[:700] = np.arange(700)
    frequencies = orthogonal_frequencies(3, 20, rng)
    one, other = FeatureSums(first, blocks, frequencies), FeatureSums(second, others, frequencies)

    def cosines(left: Array, right: Array) -> Array:
        rows: Array = np.mean([np.cos(np.subtract.outer(left @ w, right @ w)) for w in frequencies.T], axis=0)
        return rows

    for sums, expected, numbers in (
        (one.with_itself(), cosines(first, first) - np.eye(1500), (blocks, blocks)),
        (one.with_other(other), cosines(first, second), (blocks, others)),
    ):
        members = [np.eye(side.max() + 1)[side] for side in numbers]
        np.testing.assert_allclose(sums.rows, expected.sum(axis=1), rtol=1e-4, atol=2e-3)
        np.testing.assert_allclose(sums.columns, expected.sum(axis=0), rtol=1e-4, atol=2e-3)
        np.testing.assert_allclose(sums.blocks, members[0].T @ expected @ members[1], rtol=1e-4, atol=2e-3)
        assert sums.rows.sum() == pytest.approx(expected.sum(), rel=1e-6)


def test_frequencies_are_gaussian_and_at_right_angles() -> None:
    frequencies = orthogonal_frequencies(40, 2000, np.random.default_rng(0))
    assert frequencies.shape == (40, 2000)
    assert frequencies.mean() == pytest.approx(0, abs=0.02)
    np.testing.assert_allclose(frequencies @ frequencies.T / 2000, np.eye(40), atol=0.12)
    products = frequencies[:, :40].T @ frequencies[:, :40]
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-3)
    assert orthogonal_frequencies(40, 10, np.random.default_rng(0)).shape == (40, 10)


@pytest.mark.parametrize("shift", [0.0, 0.2, 1.0])
def test_beyond_a_size_random_features_say_nearly_the_same(shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = normal(0, 700, shift, 30), normal(1, 800, 0, 30)
    exact = of(*sides)
    features_above(799, monkeypatch)
    found = [of(*sides, seed=seed) for seed in range(2)]
    assert "|kernel:rbf|" in str(exact.signature)
    assert "|kernel:rbf by 1024 random frequencies|" in str(found[0].signature)
    assert exact.interval is not None
    for estimate in found:
        assert estimate.interval is not None
        assert estimate.value == pytest.approx(exact.value, rel=0.06, abs=1e-4)
        width = exact.interval.high - exact.interval.low
        assert estimate.interval.high - estimate.interval.low == pytest.approx(width, rel=0.1)
        assert estimate.details["p_value"] == pytest.approx(exact.details["p_value"], abs=0.1)
    assert len({estimate.value for estimate in found}) == 2
    features_above(800, monkeypatch)
    assert of(*sides).to_dict() == exact.to_dict()


@pytest.mark.slow
def test_p_values_of_random_features_are_uniform_without_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    features_above(0, monkeypatch)
    found = np.array(
        [of(normal(2 * draw, 60), normal(2 * draw + 1, 90), seed=draw).details["p_value"] for draw in range(60)]
    )
    for level in (0.1, 0.25, 0.5, 0.75):
        assert abs(np.mean(found <= level) - level) < 3 * np.sqrt(level * (1 - level) / len(found)) + 0.01


def test_random_features_on_any_number_of_threads_and_of_generators(monkeypatch: pytest.MonkeyPatch) -> None:
    features_above(0, monkeypatch)
    generated, real = corpora(normal(10, 2300, 0.1), normal(11, 1900))
    features = mock.Mock(wraps=FeatureSums)
    monkeypatch.setattr(sys.modules["textassay.metric.mmd"], "FeatureSums", features)
    results = []
    for n_workers in (1, 3):
        with workers(n_workers), Shared().used():
            results += [mmd(generated, real, encoder="given", seed=3).to_dict() for _ in range(2)]
    assert all(result == results[0] for result in results)
    assert features.call_count == 6  # of real text once, and of the generator's each time
