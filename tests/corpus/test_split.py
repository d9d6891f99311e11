"""Splits: exact counts, no overlap, nothing lost, nested where promised, one seed one split."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.split import (
    DISCRIMINATOR_SHARES,
    contiguous_split,
    fold_numbers,
    halves,
    nested_fractions,
    random_split,
    split_last,
)
from textassay.errors import OptionError, TooFewSentencesError
from textassay.seeding import stream


def assert_partition(parts: list[npt.NDArray[np.int64]], n_sentences: int) -> None:
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_sentences))


@pytest.mark.feature("A-02")
def test_the_last_sentences_are_held_out() -> None:
    train, valid = split_last(278_586, 10_000)
    assert (len(train), len(valid), valid[0], valid[-1]) == (268_586, 10_000, 268_586, 278_585)
    assert_partition([train, valid], 278_586)


@pytest.mark.feature("A-02")
@given(st.integers(1, 5000))
def test_fractions_are_nested_and_round_up(n_sentences: int) -> None:
    parts = nested_fractions(n_sentences)
    assert [len(part) for part in parts] == [-(-tenths * n_sentences // 10) for tenths in (2, 4, 6, 8, 10)]
    for part in parts:
        assert np.array_equal(part, np.arange(len(part)))


def test_a_fraction_is_the_decimal_it_looks_like() -> None:
    """In binary 0.7 * 10 is 7.000000000000001, whose ceiling is 8."""
    assert len(nested_fractions(10, [0.7])[0]) == 7


@pytest.mark.feature("A-02")
@pytest.mark.parametrize(
    ("shares", "sizes"),
    [((0.9, 0.05, 0.05), (900, 50, 50)), ((0.8, 0.1, 0.1), (800, 100, 100)), ((0.7, 0.1, 0.2), (700, 100, 200))],
)
def test_counts_are_exact_and_parts_disjoint(shares: tuple[float, ...], sizes: tuple[int, ...]) -> None:
    for parts in (contiguous_split(1000, shares), random_split(1000, stream(0, "split"), shares)):
        assert tuple(map(len, parts)) == sizes
        assert_partition(parts, 1000)


@pytest.mark.feature("A-02")
def test_contiguous_parts_follow_one_another() -> None:
    parts = contiguous_split(1009)
    assert np.array_equal(np.concatenate(parts), np.arange(1009))


def test_the_90_5_5_split_is_that_of_the_character_corpus(data_dir: Path) -> None:
    names = ("train", "valid", "test")
    sizes = [len((data_dir / "wiki_chars" / f"{name}.txt").read_bytes().rstrip(b"\n")) for name in names]
    assert [len(part) for part in contiguous_split(sum(sizes))] == sizes


@pytest.mark.feature("A-02")
def test_the_same_seed_gives_the_same_split_and_another_another() -> None:
    first, again, other = (random_split(500, stream(seed, "split")) for seed in (3, 3, 4))
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert all(np.all(np.diff(part) > 0) for part in first)


@given(st.integers(2, 200), st.integers(2, 10), st.integers(0, 3))
def test_folds_are_balanced_to_within_one(n_sentences: int, n_folds: int, seed: int) -> None:
    if n_sentences < n_folds:
        return
    sizes = np.bincount(fold_numbers(n_sentences, n_folds, stream(seed)), minlength=n_folds)
    assert sizes.sum() == n_sentences
    assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.integers(-3, 12), min_size=1, max_size=150), st.integers(2, 6))
def test_groups_are_never_split_and_folds_differ_by_at_most_one_group(labels: list[int], n_folds: int) -> None:
    groups = np.array(labels)
    if len(np.unique(groups)) < n_folds:
        return
    folds = fold_numbers(len(groups), n_folds, stream(0), groups)
    assert all(len(np.unique(folds[groups == group])) == 1 for group in np.unique(groups))
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.min() > 0
    assert sizes.max() - sizes.min() <= np.unique(groups, return_counts=True)[1].max()


def test_every_sentence_is_as_likely_in_every_fold() -> None:
    """Over 2,000 seeds the first sentence's fold is uniform: each count is within 5 standard errors of a fifth."""
    counts = np.bincount([fold_numbers(12, 5, np.random.default_rng(seed))[0] for seed in range(2000)], minlength=5)
    # 12 sentences in 5 folds: folds 0 and 1 have three, the others two
    expected = np.array([3, 3, 2, 2, 2]) / 12 * 2000
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))


def test_one_seed_one_assignment() -> None:
    groups = np.arange(100) // 3
    for arguments in ((100, 5), (100, 5, groups)):
        first, again, other = (fold_numbers(*arguments[:2], stream(seed), *arguments[2:]) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_halves_are_disjoint_equal_and_keep_groups() -> None:
    first, second = halves(11, stream(0))
    assert (len(first), len(second)) == (6, 5)
    assert_partition([first, second], 11)
    groups = np.arange(40) // 4
    first, second = halves(40, stream(0), groups)
    assert (len(first), len(second)) == (20, 20)
    assert not set(groups[first]) & set(groups[second])


def test_settings_out_of_range() -> None:
    rng = stream(0)
    for call, message in (
        (lambda: split_last(5, 0), "n_last must be at least 1, got 0"),
        (lambda: nested_fractions(5, [0.0]), "above 0 and at most 1"),
        (lambda: nested_fractions(5, [1.1]), "above 0 and at most 1"),
        (lambda: contiguous_split(10, [0.5, 0.4]), "sum to 1"),
        (lambda: contiguous_split(10, [1.5, -0.5]), "above 0"),
        (lambda: contiguous_split(10, [float("nan")]), "must be finite"),
        (lambda: contiguous_split(10, []), "above 0"),
        (lambda: fold_numbers(10, 1, rng), "folds must be at least 2, got 1"),
    ):
        with pytest.raises(OptionError, match=message):
            call()


def test_too_few_sentences() -> None:
    rng = stream(0)
    for call, message in (
        (lambda: split_last(5, 5), "cannot hold out the last 5 of 5"),
        (lambda: nested_fractions(0), "no text"),
        (lambda: contiguous_split(10), "10 texts are too few for parts of 0.9, 0.05, 0.05"),
        (lambda: random_split(5, rng), "5 texts are too few for parts of 0.8, 0.1, 0.1"),
        (lambda: fold_numbers(4, 5, rng), "4 texts are too few for 5 folds"),
        (lambda: fold_numbers(4, 3, rng, np.array([0, 0, 1, 1])), "2 groups are too few for 3 folds"),
        (lambda: halves(1, rng), "1 texts are too few for 2 folds"),
    ):
        with pytest.raises(TooFewSentencesError, match=message):
            call()


@pytest.mark.parametrize(("n", "sizes"), [(32_500, [22_750, 3_250, 6_500]), (6_680, [4_676, 668, 1_336])])
def test_the_counts_of_the_published_study(n: int, sizes: list[int]) -> None:
    parts = random_split(n, stream(3), DISCRIMINATOR_SHARES)
    assert list(map(len, parts)) == sizes
    assert_partition(parts, n)
