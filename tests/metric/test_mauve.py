"""MAUVE: against the reference implementation, by hand, and its promises: equal bits, intervals, pairs."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import rel_entr

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric import mauve as mauve_module
from textassay.metric.base import Effort
from textassay.metric.mauve import hierarchical_k_means, k_means, mauve, principal_components, row_hashes, unit_rows
from textassay.ngram.model import NgramModel

Array = npt.NDArray[np.float64]


def with_features(arrays: dict[str, Array], groups: dict[str, Any] | None = None) -> dict[str, Corpus]:
    texts = {name: [f"{name} {i}" for i in range(len(array))] for name, array in arrays.items()}
    corpora = corpora_from_texts(texts, groups=groups)
    return {name: replace(corpus, columns={"features": arrays[name]}) for name, corpus in corpora.items()}


def score(generated: Array, real: Array, **settings: Any) -> Estimate:
    corpora = with_features({"generated": generated, "real": real})
    return mauve(corpora["generated"], corpora["real"], encoder="given", **settings)


def blobs(*counts: int) -> Array:
    corners = np.array([[1.0, 0.0, 0.2], [-0.5, 0.9, 0.1], [-0.4, -0.8, 0.7]])
    rows: Array = np.repeat(corners, counts, axis=0)
    return rows


def made(n: int, seed: int, shift: float) -> Array:
    rng = np.random.default_rng(seed)
    rows: Array = rng.standard_normal((n, 32)) * 0.9 ** np.arange(32) + shift * np.eye(32)[0] + np.eye(32)[1]
    return rows


# mauve-text 0.4.0: compute_mauve(p_features=blobs(...), q_features=blobs(...), num_buckets=3), any seed: where vectors
# take three values, the clusters are those values and nothing is left to chance.
PEER_BLOBS = [((15, 9, 6), (5, 8, 17), 0.7240300183237858), ((15, 15, 0), (0, 10, 20), 0.05199221900747886)]
PEER_FRONTIER = {
    0: (1.0, 0.0),
    1: (0.9999999999977298, 0.15232378490174794),
    2: (0.9961982269280439, 0.1824681745186081),
    7: (0.8859950682581402, 0.3684736014454094),
    13: (0.6382666975633868, 0.6383855774028929),
    20: (0.32709407703844834, 0.9180819008026365),
    25: (0.15286085744336544, 0.9999999999977548),
    26: (0.0, 1.0),
}
# mauve-text 0.4.0: mean and standard deviation over seeds 0 to 19 of
# compute_mauve(p_features=made(600, 1, 0), q_features=made(600, 2, shift), seed=seed).
PEER_MADE = [(0.0, 0.9605958941556321, 0.009856725203073416), (0.6, 0.8460573704723444, 0.0275647515480956)]
PEER_MADE += [(1.5, 0.29890105167339187, 0.020140406484337372)]


@pytest.mark.parametrize(("real", "generated", "peer"), PEER_BLOBS)
def test_on_the_same_clusters_it_is_mauve_text(real: Any, generated: Any, peer: float) -> None:
    estimate = score(blobs(*generated), blobs(*real))
    assert estimate.details["n_clusters"] == 3
    assert estimate.details["values"] == pytest.approx([peer] * 5, rel=1e-9)
    assert estimate.value == pytest.approx(peer, rel=1e-9)


def test_the_frontier_is_that_of_mauve_text() -> None:
    frontier = score(blobs(5, 8, 17), blobs(15, 9, 6)).details["frontier"][::-1]
    assert len(frontier) == 27
    for at, point in PEER_FRONTIER.items():
        assert frontier[at] == pytest.approx(point, abs=1e-9)


@pytest.mark.parametrize(("shift", "mean", "sd"), PEER_MADE)
def test_with_its_own_clusters_it_is_mauve_text_within_the_spread_of_seeds(
    shift: float, mean: float, sd: float
) -> None:
    """Both means are over 20 clusterings: their difference stays within three of its standard errors."""
    estimate = score(made(600, 2, shift), made(600, 1, 0), effort="max")
    assert len(estimate.details["values"]) == 20
    error = math.hypot(sd, estimate.details["sd_clusterings"]) / math.sqrt(20)
    assert abs(estimate.value - mean) < 3 * error
    assert estimate.details["sd_clusterings"] == pytest.approx(sd, rel=0.6)


def test_the_installed_mauve_text_agrees() -> None:
    peer = pytest.importorskip("mauve")
    generated, real = made(400, 4, 0.8), made(400, 3, 0)
    values = [peer.compute_mauve(p_features=real, q_features=generated, seed=seed).mauve for seed in range(5)]
    estimate = score(generated, real, effort="max")
    error = math.hypot(float(np.std(values, ddof=1)) / math.sqrt(5), estimate.details["sd_clusterings"] / math.sqrt(20))
    assert abs(estimate.value - float(np.mean(values))) < 4 * error


def test_the_other_divergences_are_those_of_the_shares() -> None:
    details = score(blobs(5, 8, 17), blobs(15, 9, 6)).details
    p, q = np.array([15, 9, 6]) / 30, np.array([5, 8, 17]) / 30
    smooth_p, smooth_q = np.array([15.5, 9.5, 6.5]) / 31.5, np.array([5.5, 8.5, 17.5]) / 31.5
    assert details["total_variation"] == pytest.approx(11 / 30)
    assert details["jensen_shannon"] == pytest.approx(
        (rel_entr(p, (p + q) / 2).sum() + rel_entr(q, (p + q) / 2).sum()) / 2
    )
    assert details["kl_generated_real"] == pytest.approx((smooth_q * np.log(smooth_q / smooth_p)).sum())
    assert details["kl_real_generated"] == pytest.approx((smooth_p * np.log(smooth_p / smooth_q)).sum())


def test_the_jackknife_leaves_sentences_out() -> None:
    """With 30 sentences a side each is a group, and a replicate is MAUVE of the 29 that are left."""
    estimate = score(blobs(5, 8, 17), blobs(15, 9, 6))
    assert estimate.evidence is not None
    for side, counts in (("real", (15, 9, 6)), ("generated", (5, 8, 17))):
        expected = []
        for corner, count in enumerate(counts):
            left = [n - (i == corner) for i, n in enumerate(counts)]
            pair = (blobs(5, 8, 17), blobs(*left)) if side == "real" else (blobs(*left), blobs(15, 9, 6))
            expected += [score(*pair).value] * count
        pseudo_values = 30 * estimate.value - 29 * np.array(expected)
        terms = estimate.evidence.real_terms if side == "real" else estimate.evidence.generated_terms
        assert terms is not None
        assert np.sort(terms - terms.mean()) == pytest.approx(np.sort(pseudo_values - pseudo_values.mean()), abs=1e-9)


def test_swapped_sides_and_other_orders_of_sentences_have_the_same_clusters() -> None:
    corpora = with_features({"real": made(150, 1, 0), "generated": made(150, 2, 0.5)})
    real, generated = corpora["real"], corpora["generated"]
    value = mauve(generated, real, encoder="given").value
    assert mauve(real, generated, encoder="given").value == pytest.approx(value, abs=1e-12)
    order = np.random.default_rng(0).permutation(150)
    assert mauve(generated.take(order), real.take(order[::-1]), encoder="given").value == value


def test_the_last_bits_of_vectors_do_not_decide_the_clusters() -> None:
    """Another processor, or another order of the text that an encoder learns from, gives vectors with other bits."""
    arrays = {"real": made(300, 1, 0), "generated": made(300, 2, 0.5)}
    rng = np.random.default_rng(0)
    other = {name: rows * (1 + 1e-7 * rng.standard_normal(rows.shape)) for name, rows in arrays.items()}
    assert not np.array_equal(row_hashes(unit_rows(arrays["real"])), row_hashes(unit_rows(other["real"])))
    values = [
        mauve(corpora["generated"], corpora["real"], encoder="given").details["values"]
        for corpora in map(with_features, (arrays, other))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_sentences_of_both_sides_are_clustered_together() -> None:
    arrays = {"real": made(300, 1, 0), "near": made(200, 2, 0.3)}
    corpora = with_features(arrays)
    near = mauve(corpora["near"], corpora["real"], encoder="given", seed=5)
    together = unit_rows(np.concatenate(list(arrays.values()))).astype(np.float64)
    lengths = np.linalg.svd(together - together.mean(axis=0), compute_uv=False) ** 2
    n_components = int(np.count_nonzero(np.cumsum(lengths) / lengths.sum() < 0.9)) + 1
    assert near.details["n_components"] == n_components
    assert near.details["n_clusters"] == 20
    assert near.sizes == {"n_generated": 200, "n_real": 300}
    assert "|clusters:20|clusterings:5|" in str(near.signature)


def test_real_sentences_move_the_values_of_two_generators_the_same_way() -> None:
    corpora = with_features({"real": made(300, 1, 0), "near": made(200, 2, 0.3), "far": made(200, 3, 1.0)})
    terms = []
    for name in ("near", "far"):
        evidence = mauve(corpora[name], corpora["real"], encoder="given", seed=5).evidence
        assert evidence is not None
        assert evidence.real_terms is not None
        terms.append(evidence.real_terms)
    assert np.corrcoef(terms[0], terms[1])[0, 1] > 0.2


def test_differences_hold_the_spread_of_the_clusterings() -> None:
    """Each generator has clusterings of its own, so theirs do not cancel; nor where resampling moves nothing."""
    real, collapsed = made(200, 1, 0), np.repeat(made(1, 4, 0), 200, axis=0)
    for generated in (made(200, 2, 0.3), collapsed):
        estimate = score(generated, real)
        assert estimate.evidence is not None
        assert estimate.interval is not None
        terms = estimate.evidence.generated_terms
        assert terms is not None
        spread = estimate.details["sd_clusterings"] ** 2 / len(estimate.details["values"])
        assert spread > 0
        assert terms.var(ddof=1) / len(terms) >= spread * (1 - 1e-9)


def test_the_interval_holds_what_other_samples_score() -> None:
    """Intervals of 40 pairs of samples, at the level of the share that should hold the mean over all samples."""
    estimates = [score(made(300, 2 * i, 0.5), made(300, 2 * i + 1, 0)) for i in range(40)]
    mean = np.mean([estimate.value for estimate in estimates])
    held = [e.interval is not None and e.interval.low <= mean <= e.interval.high for e in estimates]
    assert sum(map(bool, held)) >= 34


def test_the_same_bits_at_any_number_of_threads() -> None:
    real, generated = made(500, 1, 0), made(500, 2, 0.5)
    results = []
    for n_workers in (1, 3):
        with workers(n_workers):
            results.append(score(generated, real, seed=7).to_dict())
    assert results[0] == results[1]


def test_collapsed_text_is_far_and_equal_text_is_near() -> None:
    real = made(200, 1, 0)
    assert score(np.repeat(real[:1], 200, axis=0), real).value < 0.05
    assert score(real, real).value == 1.0
    same = np.repeat(real[:1], 20, axis=0)
    assert score(same, same).value == 1.0
    assert score(np.zeros((20, 4)), np.zeros((20, 4))).value == 1.0


def test_few_sentences() -> None:
    real = made(30, 1, 0)
    with pytest.raises(TooFewSentencesError, match="at least 2 texts a side"):
        score(real[:1], real)
    estimate = score(real[:2], real)
    assert 0 < estimate.value < 1
    assert estimate.details["n_clusters"] == 2


def test_sentences_of_one_document_have_no_interval() -> None:
    arrays = {"generated": made(40, 1, 0), "real": made(40, 2, 0)}
    corpora = with_features(arrays, {"real": np.zeros(40, dtype=np.int64)})
    estimate = mauve(corpora["generated"], corpora["real"], encoder="given")
    assert 0 < estimate.value <= 1
    assert estimate.interval is None
    assert estimate.evidence is None


def test_the_name_says_which_encoder_and_the_level_is_checked() -> None:
    declared = mauve.declaration.with_settings
    assert declared().name == "mauve"
    assert declared(encoder="given").name == "mauve(encoder=given)"
    assert declared(encoder="given").reads_columns
    assert len({declared(effort=effort).key for effort in get_args(Effort)}) == 3
    with pytest.raises(OptionError, match="level"):
        declared(level=1.0)


def test_k_means_settles_where_no_point_is_nearer_to_another_centre() -> None:
    """Against a plain implementation: each point has the nearest mean, and each centre is the mean of its points."""
    points = made(700, 3, 0).astype(np.float32)
    labels = k_means(points, row_hashes(points), 40, np.random.default_rng(0))
    found = np.unique(labels)
    assert len(found) >= 35
    means = np.array([points[labels == label].mean(axis=0, dtype=np.float64) for label in found])
    distances = ((points[:, None].astype(np.float64) - means) ** 2).sum(axis=-1)
    assert (found[distances.argmin(axis=1)] == labels).all()


def test_no_two_first_centres_are_equal() -> None:
    points = np.repeat(np.arange(12, dtype=np.float32)[:, None], 50, axis=0)
    labels = k_means(points, row_hashes(points), 12, np.random.default_rng(0))
    assert [len(np.unique(part)) for part in np.split(labels, 12)] == [1] * 12
    assert len(np.unique(k_means(points, row_hashes(points), 30, np.random.default_rng(0)))) == 12


def test_principal_components_hold_the_share_of_variance_asked_for() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((400, 6)) * np.array([5, 3, 2, 1, 0.5, 0.1]) + 7).astype(np.float32)
    found = principal_components(rows, 0.9)
    share = np.cumsum(np.sort(np.linalg.eigvalsh(np.cov(rows.T)))[::-1]) / np.cov(rows.T).trace()
    assert found.shape == (400, int(np.searchsorted(share, 0.9)) + 1)
    assert found.var(axis=0).sum() / rows.var(axis=0).sum() == pytest.approx(share[found.shape[1] - 1], rel=1e-4)
    centred = found - found.mean(axis=0)
    assert np.abs(np.triu(centred.T @ centred, 1)).max() < 1e-2


def test_rows_have_length_one_or_zero() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [-0.0, -2.0]]))
    assert rows.dtype == np.float32
    assert np.array_equal(rows, np.array([[0.6, 0.8], [0, 0], [0, -1]], dtype=np.float32))


def in_parts_above(points_times_clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mauve_module, "TOGETHER_UP_TO", points_times_clusters)


def test_few_points_are_clustered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    points = made(700, 3, 0).astype(np.float32)
    kinds = row_hashes(points)
    together = k_means(points, kinds, 40, np.random.default_rng(0))
    in_parts_above(700 * 40, monkeypatch)
    assert np.array_equal(hierarchical_k_means(points, kinds, 40, np.random.default_rng(0)), together)
    in_parts_above(700 * 40 - 1, monkeypatch)
    assert not np.array_equal(hierarchical_k_means(points, kinds, 40, np.random.default_rng(0)), together)


def test_clusters_in_parts_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Around 0 and 100 lie three values each, so two parts have three clusters each; copies do not count."""
    in_parts_above(200, monkeypatch)
    values = np.array([0, 1, 2, 100, 101, 102], dtype=np.float32)[:, None]
    points = np.repeat(values, [5, 15, 10, 10, 5, 30], axis=0)
    labels = hierarchical_k_means(points, row_hashes(points), 6, np.random.default_rng(0))
    assert sorted(labels[[0, 5, 20, 30, 40, 45]].tolist()) == list(range(6))
    assert (labels == np.repeat(labels[[0, 5, 20, 30, 40, 45]], [5, 15, 10, 10, 5, 30])).all()


def test_points_that_cannot_be_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    in_parts_above(10, monkeypatch)
    for points in (np.ones((50, 2), dtype=np.float32), np.repeat(np.eye(2, dtype=np.float32), 25, axis=0)):
        labels = hierarchical_k_means(points, row_hashes(points), 5, np.random.default_rng(0))
        assert len(np.unique(labels)) == len(np.unique(points, axis=0))
        assert labels.max() < 5


def test_every_cluster_is_used_and_settled_within_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    in_parts_above(9_000, monkeypatch)
    points = made(2000, 3, 0).astype(np.float32)
    labels = hierarchical_k_means(points, row_hashes(points), 200, np.random.default_rng(0))
    assert 0 <= labels.min() <= labels.max() < 200
    assert len(np.unique(labels)) > 180


@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_in_parts_it_is_what_it_is_together(shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means of 20 clusterings differ by less than single clusterings do, or than their standard errors allow."""
    pair = made(2000, 2, shift), made(2000, 1, 0)
    together = score(*pair, effort="max")
    in_parts_above(50_000, monkeypatch)
    in_parts = score(*pair, effort="max")
    assert "|clusters:200|" in str(together.signature)
    assert "|clusters:200 hierarchical|" in str(in_parts.signature)
    spreads = together.details["sd_clusterings"], in_parts.details["sd_clusterings"]
    assert abs(in_parts.value - together.value) < max(spreads[0], 4 * math.hypot(*spreads) / math.sqrt(20))
    assert spreads[1] == pytest.approx(spreads[0], rel=0.6)


def test_in_parts_threads_and_order_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    in_parts_above(2_000, monkeypatch)
    corpora = with_features({"real": made(500, 1, 0), "generated": made(500, 2, 0.5)})
    real, generated = corpora["real"], corpora["generated"]
    results = []
    for n_workers in (1, 3):
        with workers(n_workers):
            results.append(mauve(generated, real, encoder="given", seed=7).to_dict())
    assert results[0] == results[1]
    order = np.random.default_rng(0).permutation(500)
    assert mauve(generated.take(order), real.take(order[::-1]), encoder="given", seed=7).value == results[0]["value"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emnlp_news", "yelp"])
def test_in_parts_real_sentences_score_what_they_score_together(
    name: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 10,000 sentences a side: real ones of two draws, and those of a trigram model."""
    lines = [(data_dir / name / f"{part}.txt").read_text("utf-8").splitlines() for part in ("test", "valid")]
    trigram = NgramModel(3, max_length=2000).fit(Corpus.from_texts(lines[1])).sample(10_000, seed=0).texts
    corpora = corpora_from_texts({"real": lines[0], "other": lines[1], "trigram": trigram})
    for generated in (corpora["other"], corpora["trigram"]):
        in_parts_above(20_000_000, monkeypatch)
        together = mauve(generated, corpora["real"])
        in_parts_above(7_000_000, monkeypatch)
        in_parts = mauve(generated, corpora["real"])
        spread = math.hypot(together.details["sd_clusterings"], in_parts.details["sd_clusterings"])
        assert abs(in_parts.value - together.value) < 2 * spread


def test_many_sentences_on_one_side_only_are_clustered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes time is sentences times clusters, of which there are few."""
    in_parts_above(60_000, monkeypatch)
    assert "|clusters:20|" in str(score(made(200, 2, 0.5), made(2_800, 1, 0)).signature)
    assert "|clusters:150 hierarchical|" in str(score(made(1_500, 2, 0.5), made(1_500, 1, 0)).signature)


def in_folds(rng: np.random.Generator, n: int, n_dimensions: int) -> npt.NDArray[np.float32]:
    """Return rows of three folds, each with dimensions of its own, and a row of zeros."""
    rows = np.zeros((n, 3 * n_dimensions), dtype=np.float32)
    for fold in range(3):
        own = np.arange(fold, n, 3)
        rows[own, fold * n_dimensions : (fold + 1) * n_dimensions] = rng.normal(size=(len(own), n_dimensions)) + 0.5
    rows[7] = 0.0
    return rows


def test_k_means_of_folds_is_that_of_the_same_points_turned() -> None:
    """After a turn no point has a zero, so that every point is compared with every centre."""
    rng = np.random.default_rng(3)
    points = in_folds(rng, 900, 4)
    turned = (points @ np.linalg.qr(rng.normal(size=(12, 12)))[0]).astype(np.float32)
    kinds = row_hashes(points)
    for n_clusters in (2, 5, 60):
        labels = k_means(points, kinds, n_clusters, np.random.default_rng(n_clusters))
        assert np.array_equal(labels, k_means(turned, kinds, n_clusters, np.random.default_rng(n_clusters)))


def test_principal_components_of_folds_keep_them_apart() -> None:
    rows = in_folds(np.random.default_rng(4), 900, 4)
    found = principal_components(rows, 0.999999)
    distances = ((rows[:60, None] - rows[None, :60]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(((found[:60, None] - found[None, :60]) ** 2).sum(axis=-1), distances, atol=1e-4)
    assert found.shape == (900, 12)
    few = principal_components(rows, 0.5)
    assert 6 < few.shape[1] < 12
    assert np.all((few[0] != 0) + (few[1] != 0) + (few[2] != 0) == 1)
