"""fed: closed forms, SciPy's root, degenerate samples, influence, intervals and the effect of sizes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import sqrtm

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.encoder import FloatArray
from textassay.embedding.store import features, fit_encoder
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError, UnavailableError
from textassay.execution.threads import workers
from textassay.metric.catalog import parse_metric
from textassay.metric.frechet import Moments, fed, frechet, moments, root
from textassay.resampling.jackknife import assign_groups, jackknife_terms
from textassay.seeding import stream

Array = npt.NDArray[np.float64]

Groups = dict[str, npt.NDArray[np.int64]]


def _distance(generated: FloatArray, real: FloatArray) -> float:
    of_real = moments(real)
    return sum(frechet(moments(generated), of_real, root(of_real.covariance).matrix))


def corpora(generated: npt.ArrayLike, real: npt.ArrayLike, groups: Groups | None = None) -> tuple[Corpus, Corpus]:
    arrays = {"generated": np.asarray(generated, dtype=np.float64), "real": np.asarray(real, dtype=np.float64)}
    made = corpora_from_texts(
        {name: [f"{name} {name}{row}" for row in range(len(rows))] for name, rows in arrays.items()}
    )
    first, second = (
        replace(made[name], columns={"features": rows}, groups=(groups or {}).get(name))
        for name, rows in arrays.items()
    )
    return first, second


def by_scipy(generated: Array, real: Array) -> float:
    covariances = np.cov(generated.T), np.cov(real.T)
    shift = generated.mean(axis=0) - real.mean(axis=0)
    product = sqrtm(covariances[0] @ covariances[1]).real
    return float(shift @ shift + np.trace(covariances[0] + covariances[1] - 2 * product))


@pytest.fixture
def pair() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    generated = 1.3 * rng.normal(size=(1500, 12)) + 0.2
    real = rng.normal(size=(2100, 12)) @ rng.normal(size=(12, 12)) * 0.4
    return generated, real


def test_worked_by_hand() -> None:
    """Means 1 and 4, standard deviations 1 and 3 (ddof 1): 3^2 + 2^2."""
    estimate = fed(*corpora([[0.0], [1.0], [2.0]], [[1.0], [4.0], [7.0]]), encoder="given")
    assert estimate.value == pytest.approx(13)
    assert estimate.details["means"] == pytest.approx(9)
    assert estimate.details["covariances"] == pytest.approx(4)


def test_equal_to_scipys_root(pair: tuple[Array, Array]) -> None:
    expected = by_scipy(*pair)
    assert fed(*corpora(*pair), encoder="given").value == pytest.approx(expected, rel=1e-9)
    assert _distance(*pair) == pytest.approx(expected, rel=1e-9)


@pytest.mark.feature("DD-18")
def test_closed_forms_and_equal_sets(pair: tuple[Array, Array]) -> None:
    _, real = pair
    shift = np.arange(12) / 10
    assert fed(*corpora(real + shift, real), encoder="given").value == pytest.approx(shift @ shift, rel=1e-6)
    centre = real.mean(axis=0)
    assert _distance(centre + 2 * (real - centre), real) == pytest.approx(np.trace(np.cov(real.T)), rel=1e-6)
    assert fed(*corpora(real[::-1], real), encoder="given").value == pytest.approx(
        0, abs=1e-6 * np.trace(real.T @ real)
    )
    standard = np.random.default_rng(1).normal(size=(200_000, 3))
    drawn = standard[:100_000] * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.0]
    assert _distance(drawn, standard[100_000:]) == pytest.approx(1 + 0 + 1 + 0.25, rel=0.02)


@pytest.mark.feature("DD-18")
def test_order_of_sentences_does_not_matter(pair: tuple[Array, Array]) -> None:
    generated, real = pair
    mixed = np.random.default_rng(2).permutation
    first, second = (fed(*corpora(*sides), encoder="given") for sides in ((generated, real), map(mixed, pair)))
    assert first.value == pytest.approx(second.value, rel=1e-12)
    assert first.interval is not None
    assert second.interval is not None
    assert first.interval.high == pytest.approx(second.interval.high, rel=1e-9)


@pytest.mark.feature("DD-18")
def test_any_encoder() -> None:
    fitted_to: list[str] = []

    class Lengths:
        name = "lengths"
        reads_columns = False
        costly = False
        key = "lengths"
        settings: Mapping[str, str] = {"encoder": "lengths:1"}

        def fit(self, real: Corpus) -> "Lengths":
            fitted_to.append(real.fingerprint)
            return self

        def encode(self, corpus: Corpus) -> FloatArray:
            return corpus.lengths[:, None].astype(np.float64)

    made = corpora_from_texts({"generated": ["a", "a b", "a b c"], "real": ["a", "a b c d", "a b c d e f g"]})
    estimate = fed(made["generated"], made["real"], encoder=Lengths())
    assert estimate.value == pytest.approx((4 - 2) ** 2 + (3 - 1) ** 2)
    assert fitted_to == [made["real"].fingerprint]
    assert estimate.metric == "fed(encoder=lengths)"
    assert estimate.signature.settings["encoder"] == "lengths:1"
    assert fed.declaration.with_settings(encoder=Lengths()).key == "fed(encoder=lengths, texts=None)"
    assert not parse_metric("fed").reads_columns
    assert parse_metric("fed(encoder=given)").reads_columns
    assert parse_metric("fed").name == "fed"


@pytest.mark.parametrize(("n_generated", "n_real"), [(2, 2), (5, 30), (30, 5), (8, 8)])
def test_fewer_sentences_than_dimensions(n_generated: int, n_real: int) -> None:
    rng = np.random.default_rng(3)
    generated, real = rng.normal(size=(n_generated, 20)), rng.normal(size=(n_real, 20))
    estimate = fed(*corpora(generated, real), encoder="given")
    # tr (C_r C_g)^(1/2) is the nuclear norm of the products of deviations
    deviations = [rows - rows.mean(axis=0) for rows in (generated, real)]
    root = np.linalg.svd(deviations[0] @ deviations[1].T, compute_uv=False).sum()
    shift = generated.mean(axis=0) - real.mean(axis=0)
    traces = sum(np.sum(rows**2) / (len(rows) - 1) for rows in deviations)
    expected = shift @ shift + traces - 2 * root / np.sqrt((n_generated - 1) * (n_real - 1))
    assert estimate.value == pytest.approx(expected, rel=1e-6)
    assert estimate.interval is not None
    assert np.isfinite([estimate.interval.low, estimate.interval.high]).all()
    assert estimate.details["bias"] is None
    assert estimate.details["extrapolated"] is None


def test_collapsed_text_has_a_distance() -> None:
    rng = np.random.default_rng(4)
    real, collapsed = rng.normal(size=(100, 5)), np.ones((7, 5))
    shift = real.mean(axis=0) - 1
    expected = shift @ shift + np.trace(np.cov(real.T))
    assert fed(*corpora(collapsed, real), encoder="given").value == pytest.approx(expected)
    assert fed(*corpora(real, collapsed), encoder="given").value == pytest.approx(expected)
    nothing = fed(*corpora(collapsed, collapsed[:3]), encoder="given")
    assert nothing.value == 0
    assert nothing.interval is not None
    assert nothing.interval.high == 0


def test_a_few_directions_of_many() -> None:
    """Real text spans 3 of 40 directions: neither a ridge nor a complex root is needed."""
    rng = np.random.default_rng(5)
    real = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 40))
    generated = rng.normal(size=(300, 40)) * 0.1
    deviations = [rows - rows.mean(axis=0) for rows in (generated, real)]
    root = np.linalg.svd(deviations[0] @ deviations[1].T, compute_uv=False).sum() / 299
    shift = generated.mean(axis=0) - real.mean(axis=0)
    expected = shift @ shift + sum(np.sum(rows**2) / 299 for rows in deviations) - 2 * root
    assert fed(*corpora(generated, real), encoder="given").value == pytest.approx(expected, rel=1e-6)


def test_wrong_input() -> None:
    full = np.zeros((3, 2))
    with pytest.raises(EmptyCorpusError):
        fed(*corpora(np.zeros((0, 2)), full), encoder="given")
    with pytest.raises(TooFewSentencesError, match="at least 2 texts a side"):
        fed(*corpora(full[:1], full), encoder="given")
    with pytest.raises(TooFewSentencesError, match="at least 2 texts a side"):
        fed(*corpora(full, full[:1]), encoder="given")
    generated, real = corpora(full, full)
    with pytest.raises(UnavailableError, match="features"):
        fed(replace(generated, columns={}), real, encoder="given")
    with pytest.raises(OptionError, match="level"):
        fed(generated, real, level=1)


def test_moments_of_shifted_and_of_merged_vectors() -> None:
    rows = np.random.default_rng(6).normal(size=(5000, 4)) * [1, 2, 3, 4] + 1e5
    whole = moments(rows)
    np.testing.assert_allclose(whole.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(whole.covariance, np.cov(rows.T), rtol=1e-7, atol=1e-9)
    merged = Moments.merge([moments(rows[:17]), moments(rows[17:3000]), moments(rows[3000:])])
    np.testing.assert_allclose(merged.covariance, whole.covariance, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12)
    assert merged.n == 5000


def test_influence_is_the_effect_of_leaving_a_sentence_out(pair: tuple[Array, Array]) -> None:
    estimate = fed(*corpora(*pair), encoder="given")
    assert estimate.evidence is not None
    for side, terms in enumerate((estimate.evidence.generated_terms, estimate.evidence.real_terms)):
        assert terms is not None
        assert terms.mean() == pytest.approx(estimate.value)
        effects = []
        for row in range(40):
            left = [np.delete(rows, row, axis=0) if place == side else rows for place, rows in enumerate(pair)]
            effects.append((len(pair[side]) - 1) * (estimate.value - _distance(*left)))
        assert np.corrcoef(effects, terms[:40])[0, 1] > 0.999
        assert np.std(effects) == pytest.approx(np.std(terms[:40]), rel=0.05)


def simulate(
    n: int, n_dimensions: int, shift: float, scale: float, n_draws: int, *, n_generated: int | None = None
) -> list[Any]:
    lengths = np.geomspace(1, 0.05, n_dimensions)
    estimates = []
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        real = rng.normal(size=(n, n_dimensions)) * lengths
        generated = (scale * rng.normal(size=(n_generated or n, n_dimensions)) + shift) * lengths
        estimates.append(fed(*corpora(generated, real), encoder="given", seed=draw))
    return estimates


def coverage(estimates: list[Any]) -> float:
    mean = np.mean([estimate.value for estimate in estimates])
    return float(np.mean([estimate.interval.low <= mean <= estimate.interval.high for estimate in estimates]))


@pytest.mark.parametrize(("shift", "scale"), [(0.3, 1.0), (0.0, 1.3)])
def test_intervals_cover_what_samples_of_this_size_score(shift: float, scale: float) -> None:
    assert 0.92 <= coverage(simulate(400, 12, shift, scale, 120)) <= 0.985


def test_intervals_err_on_the_wide_side_where_there_is_no_difference() -> None:
    assert coverage(simulate(400, 12, 0.0, 1.0, 60)) >= 0.95


def test_bias_and_extrapolation() -> None:
    equal, shifted = simulate(250, 20, 0.0, 1.0, 60), simulate(250, 20, 0.3, 1.1, 60)
    lengths = np.geomspace(1, 0.05, 20)
    true = float(np.sum((0.3 * lengths) ** 2 + (0.1 * lengths) ** 2))
    excess = np.mean([estimate.value for estimate in equal])
    assert np.mean([estimate.details["bias"] for estimate in equal]) == pytest.approx(excess, rel=0.05)
    assert np.mean([estimate.value for estimate in shifted]) > 1.2 * true
    for estimates, expected in ((equal, 0.0), (shifted, true)):
        found = [estimate.details["extrapolated"] for estimate in estimates]
        assert abs(np.mean(found) - expected) < 3 * np.std(found) / np.sqrt(len(found)) + 0.02 * excess


def test_bias_is_that_of_the_sizes_there_are() -> None:
    fewer = simulate(600, 10, 0.0, 1.0, 40, n_generated=150)
    excess = np.mean([estimate.value for estimate in fewer])
    assert np.mean([estimate.details["bias"] for estimate in fewer]) == pytest.approx(excess, rel=0.1)


def test_groups_are_halved_and_counted_whole() -> None:
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(80, 4))
    rows = np.repeat(centres, 5, axis=0)
    numbers = np.repeat(np.arange(80), 5)
    generated, real = corpora(rows + 0.3, rows, {"generated": 80 + numbers, "real": numbers})
    estimate = fed(generated, real, encoder="given")
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is not None
    assert estimate.evidence.real_terms.shape == (80,)
    assert estimate.evidence.generated_terms is not None
    assert estimate.evidence.generated_terms.shape == (80,)
    alone = fed(*corpora(rows + 0.3, rows), encoder="given")
    assert estimate.interval is not None
    assert alone.interval is not None
    assert estimate.interval.high - estimate.value > 1.5 * (alone.interval.high - alone.value)
    shared = fed(*corpora(rows + 0.3, rows, {"generated": numbers, "real": numbers}), encoder="given")
    assert shared.interval is not None  # of pairs that differ by a constant, the distance does not vary
    assert shared.interval.high - shared.value < 1e-9
    one = fed(*corpora(rows, rows, {"real": np.zeros(400, dtype=np.int64)}), encoder="given")
    assert one.interval is None
    assert one.details["bias"] is None


def test_same_bits_at_any_number_of_threads() -> None:
    rng = np.random.default_rng(8)
    sides = corpora(rng.normal(size=(5000, 40)), rng.normal(size=(4000, 40)) * 1.1)

    def run(n_workers: int) -> dict[str, Any]:
        with workers(n_workers):
            return fed(*sides, encoder="given", seed=5).to_dict()

    assert run(1) == run(3)


def test_influence_agrees_with_the_jackknife_on_real_text(data_dir: Path) -> None:
    folder = data_dir / "leakgan_coco"
    made = corpora_from_texts(
        {
            name: (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()[:2000]
            for name in ("generated", "real")
        }
    )
    real = made["real"]
    encoder = fit_encoder("lsa", real)
    generated = replace(made["generated"], columns={"features": features(encoder, made["generated"])[:, :64]})
    real = replace(real, columns={"features": features(encoder, real)[:, :64]})
    estimate = fed(generated, real, encoder="given")
    assert estimate.evidence is not None
    rows, of_real = generated.columns["features"], real.columns["features"]
    groups = assign_groups(len(generated), stream(0, "groups", "generated"))
    without = np.array([_distance(rows[groups != group], of_real) for group in range(groups.max() + 1)])
    by_jackknife = jackknife_terms(estimate.value, without, np.bincount(groups))
    terms = estimate.evidence.generated_terms
    assert by_jackknife is not None
    assert terms is not None
    means = np.bincount(groups, weights=terms) / np.bincount(groups)
    assert np.corrcoef(means, by_jackknife)[0, 1] > 0.99
    errors = [float(np.std(side, ddof=1) / np.sqrt(len(side))) for side in (means, by_jackknife)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)
