"""Permutation tests: exact on a small case, uniform under the null, in groups, and by blocks that may be exchanged."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kstest

from textassay.errors import EmptyCorpusError
from textassay.resampling.permutation import Blocks, exchange_blocks, permutation_p_value, permute_labels
from textassay.seeding import stream


def test_equals_the_full_enumeration_within_its_noise() -> None:
    real, generated = np.array([0.9, 0.7, 0.65]), np.array([0.2, 0.68, 0.4, 0.3])
    scores = np.concatenate([real, generated])
    observed = real.mean() - generated.mean()
    as_large = [
        scores[list(chosen)].mean() - np.delete(scores, list(chosen)).mean() >= observed - 1e-12
        for chosen in combinations(range(7), 3)
    ]
    p = permutation_p_value(real, generated, rng=np.random.default_rng(0), n_resamples=20_000)
    assert p == pytest.approx(np.mean(as_large), abs=0.01)


def test_the_smallest_p_value_is_one_over_resamples_plus_one() -> None:
    rng = np.random.default_rng(0)
    assert permutation_p_value(rng.random(50) + 2, rng.random(60), rng=rng) == 1 / 1000


def test_equal_scores_give_one() -> None:
    assert permutation_p_value(np.full(9, 0.1), np.full(13, 0.1), rng=np.random.default_rng(0)) == 1


def test_lower_real_scores_are_no_evidence() -> None:
    rng = np.random.default_rng(0)
    assert permutation_p_value(rng.random(50), rng.random(20) + 1, rng=rng) == 1


def test_p_values_are_uniform_under_the_null() -> None:
    rng = np.random.default_rng(1)
    p_values = [
        permutation_p_value(rng.random(40) ** 2, rng.random(25) ** 2, rng=rng, n_resamples=199) for _ in range(400)
    ]
    assert kstest(p_values, "uniform").pvalue > 0.01


def grouped(rng: np.random.Generator, n_groups: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores that are alike inside groups, and the group numbers."""
    groups = np.repeat(np.arange(first, first + n_groups), rng.integers(1, 8, n_groups))
    return rng.normal(size=n_groups)[groups - first] + 0.1 * rng.normal(size=len(groups)), groups


@pytest.mark.slow
def test_groups_of_one_side_keep_p_values_uniform_where_sentences_do_not() -> None:
    rng = np.random.default_rng(2)
    by_group, by_sentence = [], []
    for _ in range(400):
        (real, real_groups), (generated, generated_groups) = grouped(rng, 20, 0), grouped(rng, 15, 20)
        by_group.append(
            permutation_p_value(
                real, generated, rng=rng, n_resamples=199, real_groups=real_groups, generated_groups=generated_groups
            )
        )
        by_sentence.append(permutation_p_value(real, generated, rng=rng, n_resamples=199))
    assert kstest(by_group, "uniform").pvalue > 0.01
    assert kstest(by_sentence, "uniform").pvalue < 1e-6


def test_shared_groups_are_dealt_out_inside() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(30), 2)
    level = rng.normal(size=30)[groups]  # each prompt has its own level, far above the difference of the sides
    real, generated = level + 0.2 + 0.1 * rng.random(60), level + 0.1 * rng.random(60)
    inside = permutation_p_value(real, generated, rng=rng, real_groups=groups, generated_groups=groups)
    across = permutation_p_value(real, generated, rng=rng)
    assert inside == 1 / 1000
    assert across > 0.05


@pytest.mark.slow
def test_shared_groups_keep_p_values_uniform() -> None:
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(12), 3)
    p_values = []
    for _ in range(400):
        level = rng.normal(size=12)[groups]
        real, generated = level + rng.normal(size=36), level + rng.normal(size=36)
        p_values.append(
            permutation_p_value(real, generated, rng=rng, n_resamples=199, real_groups=groups, generated_groups=groups)
        )
    assert kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("blind", [True, False])
def test_groups_of_any_mix_keep_p_values_uniform(blind: bool) -> None:
    """Scores are alike in a group and rise with its size; sides fall on texts, or on half of the groups whole."""
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(800):
        sizes = rng.geometric(1 / 3, 40)
        groups = np.repeat(np.arange(40), sizes)
        scores = (rng.normal(size=40) + np.log(sizes))[groups] + 0.3 * rng.normal(size=len(groups))
        whole = (rng.random(40) < 0.5) & (not blind)
        is_real = np.where(whole[groups], (rng.random(40) < 0.5)[groups], rng.random(len(groups)) < 0.5)
        p = permutation_p_value(
            scores[is_real],
            scores[~is_real],
            rng=rng,
            n_resamples=99,
            real_groups=groups[is_real],
            generated_groups=groups[~is_real],
        )
        p_values.append(p - rng.random() / 100)  # no longer in steps
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_one_seed_gives_one_p_value() -> None:
    scores = np.random.default_rng(0).random((2, 30))
    first, second = (permutation_p_value(scores[0], scores[1], rng=np.random.default_rng(5)) for _ in range(2))
    assert first == second


def test_bad_input_is_an_error() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(EmptyCorpusError, match="got 0 and 3"):
        permutation_p_value(np.array([]), np.ones(3), rng=rng)


Array = npt.NDArray[np.int64]


def blocks_of(n_real: int, n_generated: int, real: Array | None = None, generated: Array | None = None) -> Blocks:
    return exchange_blocks(
        n_real,
        n_generated,
        real_rng=stream(0, "real"),
        generated_rng=stream(0, "generated"),
        real_groups=real,
        generated_groups=generated,
    )


def sizes_of(blocks: Blocks) -> Array:
    return np.bincount(np.concatenate([blocks.real, blocks.generated]))


@pytest.mark.parametrize(
    ("n_real", "n_generated"), [(1, 1), (2, 30), (300, 300), (10_000, 9_984), (1_000, 30_000), (5_000, 2_000)]
)
def test_blocks_of_one_stratum_have_one_size_and_what_is_left_is_little(n_real: int, n_generated: int) -> None:
    blocks = blocks_of(n_real, n_generated)
    assert len(blocks.real) == n_real
    assert len(blocks.generated) == n_generated
    assert len(blocks.strata) == len(blocks.is_real) <= 2_402
    assert (np.diff(blocks.strata) >= 0).all()
    assert blocks.is_real[blocks.real].all()
    assert not blocks.is_real[blocks.generated].any()
    exchanged = blocks.strata == 0
    sizes = sizes_of(blocks)
    assert len(set(sizes[exchanged].tolist())) == 1
    assert blocks.is_real[exchanged].any()
    assert not blocks.is_real[exchanged].all()
    fewer = blocks.real if n_real <= n_generated else blocks.generated
    assert np.count_nonzero(~exchanged[fewer]) < sizes[0]


def test_the_blocks_of_real_text_are_the_same_for_generators_of_one_size() -> None:
    first, second = (
        exchange_blocks(500, 400, real_rng=stream(0, "real"), generated_rng=stream(seed, "generated"))
        for seed in (1, 2)
    )
    np.testing.assert_array_equal(first.real, second.real)
    assert (first.generated != second.generated).any()


def test_groups_of_one_side_are_exchanged_whole() -> None:
    real, generated = np.repeat(np.arange(100), 7), np.repeat(np.arange(100, 700), 2)
    blocks = blocks_of(len(real), len(generated), real, generated)
    for groups, side in ((real, blocks.real), (generated, blocks.generated)):
        for group in np.unique(groups):
            assert len(set(side[groups == group].tolist())) == 1
    assert set(blocks.strata.tolist()) == {0}
    assert set(np.bincount(blocks.is_real.astype(int)).tolist()) == {100, 253}


def test_a_prompt_keeps_its_number_of_real_sentences() -> None:
    """Two real and three generated sentences a prompt: however labels are dealt, each prompt has two real ones."""
    real, generated = np.repeat(np.arange(900), 2), np.repeat(np.arange(900), 3)
    blocks = blocks_of(len(real), len(generated), real, generated)
    assert len(blocks.strata) <= 400
    everyone, members = np.concatenate([real, generated]), np.concatenate([blocks.real, blocks.generated])
    called_real = np.zeros(len(members))
    for labels in permute_labels(blocks, np.random.default_rng(0), 50):
        np.testing.assert_array_equal(np.bincount(everyone, weights=labels[members]), 2)
        called_real += labels[members]
    assert called_real.mean() / 50 == pytest.approx(0.4)
    assert called_real.min() > 5
    assert called_real.max() < 45


def test_shared_groups_beside_groups_of_one_side() -> None:
    rng = np.random.default_rng(1)
    real, generated = rng.integers(0, 60, 500), rng.integers(40, 100, 700)
    blocks = blocks_of(500, 700, real, generated)
    shared = np.intersect1d(real, generated)
    members = np.concatenate([blocks.real, blocks.generated])
    inside = np.isin(np.concatenate([real, generated]), shared)
    everyone = np.concatenate([real, generated])
    before = np.bincount(everyone[inside], weights=blocks.is_real[members][inside])
    for labels in permute_labels(blocks, rng, 20):
        dealt = labels[members]
        np.testing.assert_array_equal(np.bincount(everyone[inside], weights=dealt[inside]), before)
        for group in np.setdiff1d(everyone, shared):
            assert len(set(dealt[everyone == group].tolist())) == 1


def test_a_single_group_a_side_leaves_nothing_to_exchange() -> None:
    blocks = blocks_of(5, 5, np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64))
    labels = permute_labels(blocks, np.random.default_rng(0), 40)
    assert {tuple(row) for row in labels.tolist()} == {(True, False), (False, True)}


def test_every_label_is_as_likely_in_every_place() -> None:
    blocks = blocks_of(30, 60)
    labels = permute_labels(blocks, np.random.default_rng(0), 20_000)
    np.testing.assert_array_equal(labels.sum(axis=1), 30)
    assert np.abs(labels.mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 20_000)


def test_nobody_to_exchange() -> None:
    with pytest.raises(EmptyCorpusError, match="got 0 and 3"):
        blocks_of(0, 3)
