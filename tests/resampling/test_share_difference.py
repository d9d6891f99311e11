"""Bounds of texts in groups with any mix of both sides: false as rarely as promised, every text weighing the same."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import beta

from textassay.errors import InputError
from textassay.resampling.betting import BoundedMean, ShareDifference

Groups = tuple[np.ndarray, np.ndarray]  # texts called real, and texts; each of shape (n_groups, 2)


@dataclass(frozen=True)
class World:
    """Groups of geometric sizes; where some are dense, those are larger and their texts are called real otherwise."""

    p: float
    q: float
    alike: float = 0.3  # correlation of two texts of a group
    mixed: float = 1.0  # share of groups that may have texts of both sides
    real: float = 0.5  # share of the texts that are real
    mean: float = 3.0
    dense: float = 0.0  # share of the groups that are dense, with texts of which one half is called real on both sides
    dense_mean: float = 10.0

    @property
    def truth(self) -> float:
        sparse = (1 - self.dense) * self.mean
        return (self.p - self.q) * sparse / (sparse + self.dense * self.dense_mean)

    def sizes(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return real and generated texts of each group, shape (n, 2), and which groups are dense."""
        dense = rng.random(n) < self.dense
        sizes = rng.geometric(1 / np.where(dense, self.dense_mean, self.mean))
        real = rng.binomial(sizes, np.where(rng.random(n) < self.mixed, self.real, rng.random(n) < self.real))
        return np.stack([real, sizes - real], axis=1), dense

    def draw(self, rng: np.random.Generator, n: int) -> Groups:
        sizes, dense = self.sizes(rng, n)
        place = rng.random(n)
        levels = [
            np.where(dense, *(_levels(place, of, self.alike) for of in (0.5, share))) for share in (self.p, self.q)
        ]
        return rng.binomial(sizes, np.stack(levels, axis=1)), sizes

    def bets(self, rng: np.random.Generator, n: int) -> ShareDifference:
        elsewhere = self.sizes(rng, 4 * n)[0]
        return ShareDifference(*self.draw(rng, n), elsewhere=elsewhere, alpha=0.05, rng=rng)


def _levels(place: np.ndarray, share: float, alike: float) -> np.ndarray:
    """Return a group's own share, by a beta distribution with this mean, at these quantiles."""
    if alike == 0 or share in (0, 1):
        return np.full(len(place), share)
    return np.asarray(beta.ppf(place, share * (1 / alike - 1), (1 - share) * (1 / alike - 1)))


WORLDS = {
    "equal": World(0.5, 0.5),
    "equal, texts of a group alike": World(0.5, 0.5, alike=0.9),
    "equal, of one side each": World(0.5, 0.5, mixed=0.0),
    "equal, few called real": World(0.02, 0.02, alike=0.0),
    "equal, nearly all called real": World(0.98, 0.98),
    "apart": World(0.8, 0.3),
    "apart, single texts": World(0.8, 0.3, mean=1.0),
    "apart, independent texts": World(0.8, 0.3, alike=0.0),
    "apart, of one side each": World(0.8, 0.3, mixed=0.0, alike=0.7),
    "apart, unequal sides": World(0.7, 0.4, mixed=0.5, real=0.8),
    "apart, at the ends": World(0.98, 0.01, alike=0.5),
    "apart in the sparse part": World(0.9, 0.1, dense=0.3, mean=1.5),
}


def false_share(world: World, n_runs: int, n: int) -> float:
    rng = np.random.default_rng([n_runs, n])
    return float(np.mean([world.bets(rng, n).lower_bound > world.truth for _ in range(n_runs)]))


def test_a_bound_by_hand() -> None:
    # A pair, told apart: the gain is (1 - p) + p = 1 for every p. Over a cell of p, 1/64 long, a pair may lose 65/64,
    # so the stake is 0.95 * 64/65. A twentieth is bet on p, by stakes of at most sqrt(8 log 80) = 5.92. That is also
    # 0.95 / (1 - p) at p = 0.84: there the half that is bet on a smaller p loses 0.95 and the other half gains
    # 0.95 (1 - p) / p, which is the least for any p.
    bets = ShareDifference([[1, 0]], [[1, 1]], elsewhere=[[1, 1]], alpha=0.5, rng=np.random.default_rng(0))
    rest = 0.95 / math.sqrt(8 * math.log(80))
    on_p = (0.05 + 1 + 0.95 * rest / (1 - rest)) / 2
    assert bets.e_value == pytest.approx(0.95 * (1 + 0.95 * 64 / 65) + 0.05 * on_p, abs=0.001)
    assert bets.largest == (1, 1, 2)
    assert bets.lower_bound == 0


@pytest.mark.parametrize("name", ["equal, of one side each", "apart", "apart in the sparse part"])
def test_bounds_are_false_no_more_often_than_promised(name: str) -> None:
    assert false_share(WORLDS[name], 100, 40) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_of_two_thousand_bounds_at_most_a_twentieth_are_false(name: str) -> None:
    assert false_share(WORLDS[name], 2000, 40) <= 0.05


def test_the_mean_of_e_values_of_equal_shares_is_at_most_one() -> None:
    rng = np.random.default_rng(1)
    for name in ("equal", "equal, nearly all called real"):
        values = [WORLDS[name].bets(rng, 30).e_value for _ in range(100)]
        assert np.mean(values) <= 1 + 2 * np.std(values) / math.sqrt(len(values))
        assert np.mean(np.array(values) >= 20) <= 0.05


def test_every_text_weighs_the_same() -> None:
    """Where sparse parts differ and a dense one does not, equal weights of groups exceed the truth, these do not."""
    world, rng = WORLDS["apart in the sparse part"], np.random.default_rng(2)
    called, sizes = world.draw(rng, 3000)
    both = (sizes > 0).all(axis=1)
    shares = called[both] / sizes[both]
    by_group = BoundedMean([shares[:, 0] - shares[:, 1]], alpha=0.05, rng=rng).lower_bound
    bound = ShareDifference(called, sizes, elsewhere=world.sizes(rng, 9000)[0], alpha=0.05, rng=rng).lower_bound
    assert world.truth - 0.1 < bound < world.truth < by_group


def test_the_bound_comes_near_the_truth_of_many_groups() -> None:
    rng = np.random.default_rng(3)
    for name in ("apart", "apart, at the ends", "apart, unequal sides"):
        assert WORLDS[name].truth - 0.1 < WORLDS[name].bets(rng, 2000).lower_bound < WORLDS[name].truth


def test_it_is_above_two_limits_at_half_the_error_rate() -> None:
    rng = np.random.default_rng(4)
    world = WORLDS["apart, single texts"]
    called, sizes = world.draw(rng, 600)
    low, high = (
        BoundedMean([sign * (2 * side[of_side > 0] - 1)], alpha=0.025, rng=rng).lower_bound
        for sign, side, of_side in zip((1, -1), called.T, sizes.T, strict=True)
    )
    bets = ShareDifference(called, sizes, elsewhere=world.sizes(rng, 2400)[0], alpha=0.05, rng=rng)
    assert bets.lower_bound > (low + high) / 2 + 0.01


def test_evidence_falls_with_the_difference_and_with_every_error() -> None:
    rng = np.random.default_rng(5)
    called, sizes = WORLDS["apart"].draw(rng, 200)
    elsewhere = WORLDS["apart"].sizes(rng, 800)[0]

    def bets(counts: np.ndarray) -> ShareDifference:
        return ShareDifference(counts, sizes, elsewhere=elsewhere, alpha=0.05, rng=np.random.default_rng(0))

    capitals = [bets(called).log_capital(difference) for difference in (0.0, 0.1, 0.2, 0.4, 0.8)]
    assert capitals == sorted(capitals, reverse=True)
    worse = called.copy()
    worse[:60, 0] = 0
    assert bets(worse).lower_bound < bets(called).lower_bound
    assert bets(worse).e_value < bets(called).e_value
    assert bets(called[:, ::-1] * 0 + np.stack([np.zeros(200), sizes[:, 1]], axis=1)).lower_bound == 0


def test_a_larger_group_counts_as_the_largest_elsewhere() -> None:
    elsewhere = [[2, 1], [1, 2], [0, 2]]

    def bets(group: list[int], sizes: list[int]) -> ShareDifference:
        rows = [[1, 0]] * 20
        return ShareDifference(
            [*rows, group], [*[[1, 1]] * 20, sizes], elsewhere=elsewhere, alpha=0.05, rng=np.random.default_rng(0)
        )

    large, full = bets([10, 0], [10, 5]), bets([2, 0], [2, 1])
    assert large.largest == (2, 2, 3)
    assert large.e_value == pytest.approx(full.e_value)


def test_one_side_alone_says_nothing() -> None:
    rng = np.random.default_rng(0)
    alone = ShareDifference([[3, 0]] * 50, [[3, 0]] * 50, elsewhere=[[3, 3]], alpha=0.05, rng=rng)
    assert alone.lower_bound == 0
    assert alone.e_value < 1 / 0.05


@pytest.mark.parametrize("elsewhere", [[[1, 0]], np.zeros((0, 2))])
def test_groups_elsewhere_need_texts_of_both_sides(elsewhere: list[list[int]]) -> None:
    with pytest.raises(InputError, match="groups elsewhere must have texts of both sides"):
        ShareDifference([[1, 0]], [[1, 1]], elsewhere=elsewhere, alpha=0.05, rng=np.random.default_rng(0))
