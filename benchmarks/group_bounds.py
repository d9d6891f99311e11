"""What bounds of a difference of shares give away where texts come in groups with any mix of both sides.

    python benchmarks/group_bounds.py [--runs 20] [--false 0]

Groups have geometric sizes of mean 3, or sizes with a heavier tail; a side each or texts of both; a share p of the real
and q of the generated texts are called real, and two texts of a group have a correlation. Of each row, the mean bound
at 95 % by what textassay does, by the same with a limit of twice the largest group, and by others that it leaves out:
a limit for each side at half the error rate; Student's t over groups, exact only for many of them; one text of each
group, with the exact bound of two proportions; all texts as if they were independent, which is wrong. In the last
row dense groups are larger and called alike on both sides: there one text a group exceeds the truth.

`--false N` counts bounds above the truth in N draws of 100 groups instead. All in Markdown.
"""

import argparse
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import stdtrit
from scipy.stats import beta

from textassay.resampling.betting import N_ORDERS, ShareDifference, stakes
from textassay.resampling.proportions import certified_lower_bound

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ALPHA = 0.05
N_GROUPS = (100, 400, 4000)
ELSEWHERE = 4  # times as many groups outside the certifying fold, of five


@dataclass(frozen=True)
class World:
    """Groups of texts and how they are called."""

    p: float
    q: float
    alike: float  # correlation of two texts of a group
    mixed: bool = True
    heavy: bool = False
    dense: float = 0.0  # share of the groups that have 10 texts on average, half of which are called real on each side
    mean: float = 3.0

    @property
    def truth(self) -> float:
        """The difference of the shares, every text weighing the same."""
        sparse = (1 - self.dense) * self.mean
        return (self.p - self.q) * sparse / (sparse + self.dense * 10)

    def sizes(self, rng: np.random.Generator, n: int) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return the texts of each side, shape (n, 2), and which groups are dense."""
        dense = rng.random(n) < self.dense
        if self.heavy:
            sizes = 1 + rng.poisson(rng.exponential(rng.gamma(0.8, (self.mean - 1) / 0.8, n)))
        else:
            sizes = rng.geometric(1 / np.where(dense, 10, self.mean))
        shares = np.full(n, 0.5) if self.mixed else (rng.random(n) < 0.5).astype(float)
        real = rng.binomial(sizes, shares)
        return np.stack([real, sizes - real], axis=1), dense

    def draw(self, rng: np.random.Generator, n: int) -> "Draw":
        """Return so many groups of a fold, and of the others."""
        (sizes, dense), place = self.sizes(rng, n), rng.random(n)
        levels = [np.where(dense, self.level(place, 0.5), self.level(place, share)) for share in (self.p, self.q)]
        return Draw(rng.binomial(sizes, np.stack(levels, axis=1)), sizes, self.sizes(rng, ELSEWHERE * n)[0])

    def level(self, place: FloatArray, share: float) -> FloatArray:
        """Return each group's own share, by its place among all groups."""
        if self.alike == 0:
            return np.full(len(place), share)
        scale = 1 / self.alike - 1
        return np.asarray(beta.ppf(place, share * scale, (1 - share) * scale))

    def __str__(self) -> str:
        kind = "mixed" if self.mixed else "a side each"
        tail = ", dense part" if self.dense else ", heavy tail" if self.heavy else ""
        return f"{self.p:g} / {self.q:g}, {self.alike:g}, {kind}{tail}"


@dataclass(frozen=True)
class Draw:
    """Texts called real and texts of the groups, a column a side, and texts of the groups elsewhere."""

    called: IntArray
    sizes: IntArray
    elsewhere: IntArray


WORLDS = (
    World(0.5, 0.5, 0.3),
    World(0.6, 0.5, 0.3),
    World(0.8, 0.3, 0.0),
    World(0.8, 0.3, 0.3),
    World(0.8, 0.3, 0.9),
    World(0.8, 0.3, 0.3, mixed=False),
    World(0.98, 0.02, 0.3),
    World(0.6, 0.5, 0.3, heavy=True),
    World(0.8, 0.3, 0.3, heavy=True),
    World(0.9, 0.1, 0.3, dense=0.3, mean=1.5),
)


def ours(draw: Draw, rng: np.random.Generator) -> float:
    return ShareDifference(draw.called, draw.sizes, elsewhere=draw.elsewhere, alpha=ALPHA, rng=rng).lower_bound


def twice(draw: Draw, rng: np.random.Generator) -> float:
    """With one more group elsewhere, of twice the texts of the largest."""
    largest = draw.elsewhere[np.argmax(draw.elsewhere.sum(axis=1))]
    return ours(replace(draw, elsewhere=np.concatenate([draw.elsewhere, [2 * largest]])), rng)


def two_limits(draw: Draw, rng: np.random.Generator) -> float:
    """Add a limit of the share judged rightly on each side, by bets at half the error rate."""
    right = (draw.called[:, 0], draw.sizes[:, 1] - draw.called[:, 1])
    limits = [side_limit(right[side], draw.sizes[:, side], draw.elsewhere[:, side], rng) for side in (0, 1)]
    return max(0.0, sum(limits) - 1)


def side_limit(right: IntArray, sizes: IntArray, elsewhere: IntArray, rng: np.random.Generator) -> float:
    """Return the largest share at which bets on ``right - share * sizes`` gain enough; stakes follow earlier groups."""
    largest = int(elsewhere.max())
    weights = np.minimum(1, largest / np.maximum(sizes, 1))
    orders = np.stack([rng.permutation(len(sizes)) for _ in range(N_ORDERS)])
    counts, totals = (right * weights)[orders], (sizes * weights)[orders]
    before = (np.cumsum(counts, axis=1) - counts + 0.5) / (np.cumsum(totals, axis=1) - totals + 1)
    best = stakes(counts - before * totals, ALPHA / 2, prior=float((elsewhere**2).mean()) / 4)

    def lacking(share: float) -> float:
        limited = np.minimum(best, 0.95 / (share * largest))
        grown = np.log1p(limited * (counts - share * totals)).sum(axis=1)
        return float(np.logaddexp.reduce(grown) - math.log(N_ORDERS) + math.log(ALPHA / 2))

    return float(brentq(lacking, 1e-9, 1)) if lacking(1e-9) > 0 else 0.0


def student(draw: Draw, rng: np.random.Generator) -> float:
    n, totals = len(draw.sizes), draw.sizes.sum(axis=0)
    shares = draw.called.sum(axis=0) / totals
    parts = (draw.called - shares * draw.sizes) / totals
    error = math.sqrt(((parts[:, 0] - parts[:, 1]) ** 2).sum() * n / (n - 1))
    return max(0.0, float(shares[0] - shares[1] - stdtrit(n - 1, 1 - ALPHA) * error))


def one_text(draw: Draw, rng: np.random.Generator) -> float:
    """Of each group one text is drawn: on the side that has texts, or on one of both at random."""
    side = (rng.random(len(draw.sizes)) < draw.sizes[:, 1] / draw.sizes.sum(axis=1)).astype(int)
    rows = np.arange(len(side))
    drawn = rng.random(len(side)) < draw.called[rows, side] / draw.sizes[rows, side]
    real, generated = (drawn[side == each] for each in (0, 1))
    return certified_lower_bound(int(real.sum()), len(real), int(generated.sum()), len(generated), alpha=ALPHA)


def ungrouped(draw: Draw, rng: np.random.Generator) -> float:
    (called_real, called_generated), (n_real, n_generated) = draw.called.sum(axis=0), draw.sizes.sum(axis=0)
    return certified_lower_bound(int(called_real), int(n_real), int(called_generated), int(n_generated), alpha=ALPHA)


BOUNDS: dict[str, Callable[[Draw, np.random.Generator], float]] = {
    "textassay": ours,
    "twice the largest": twice,
    "two limits": two_limits,
    "Student's t": student,
    "one text a group": one_text,
    "ungrouped": ungrouped,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--false", type=int, default=0)
    options = parser.parse_args()
    first = ("p / q, correlation, groups", "true")
    if options.false:
        names = [name for name in BOUNDS if name != "twice the largest"]
        print(f"\nBounds above the truth, of {options.false}, {N_GROUPS[0]} groups\n")
        table((*first, *names), rows(N_GROUPS[0], options.false, names, lambda bound, truth: bound > truth, "g"))
        return
    for n in N_GROUPS:
        print(f"\nMean bound, {n:,} groups in the fold, {options.runs} runs\n")
        table((*first, *BOUNDS), rows(n, options.runs, list(BOUNDS), lambda bound, truth: bound / options.runs, ".3f"))


def rows(
    n: int, runs: int, names: Sequence[str], count: Callable[[float, float], float], form: str
) -> Iterable[tuple[str, ...]]:
    for world in WORLDS:
        rng = np.random.default_rng(0)
        sums = np.zeros(len(names))
        for _ in range(runs):
            draw = world.draw(rng, n)
            sums += [count(BOUNDS[name](draw, rng), world.truth) for name in names]
        yield str(world), f"{world.truth:.3f}", *(format(value, form) for value in sums)


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    print(f"| {' | '.join(header)} |")
    print("|" + "---|" * len(header))
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
