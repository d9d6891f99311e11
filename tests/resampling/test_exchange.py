"""Blocks that may be exchanged: equal sizes, whole groups, labels dealt inside strata, exact levels."""

import numpy as np
import numpy.typing as npt
import pytest

from textassay.errors import EmptyCorpusError
from textassay.resampling.exchange import Blocks, exchange_blocks, permute_labels
from textassay.seeding import stream

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
