"""Algorithm 1: draw at every position, count how often the reference token was drawn, and divide once.

Counts are nested, so one set of N draws also gives the costs at smaller numbers of draws. Nothing of size N x positions
x V is ever in memory: only counts of the reference tokens are, and only their sums over rows are kept.

The cost of a token in bits when C of N draws were that token is given plain and corrected for its bias. Minus the
logarithm of a mean is too high on average (Jensen), by ``(1 - p) / (2 N p ln 2)`` bits to second order, and by far more
where p is of the order of 1/N, since a count of 0 costs what the floor says. `harmonic_bits` has the opposite bias, and
a far smaller one. The number of draws K up to the first hit has ``E[1 + 1/2 + ... + 1/(K - 1)] = -ln p``; averaged over
all orders of N draws with C hits, and cut off at N, this is ``H(N) - H(C)`` with harmonic numbers H. It is too low by
``sum of (1 - p)^j / j over j > N``: 0.05 nats at Np = 2, 0.001 at Np = 5, much only where Np is below 1. It needs no
floor. So on average the true cost lies between the two.

Sources: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1 (the plain
value and its floor); van Opheusden, Acerbi, Ma, "Unbiased and efficient log-likelihood estimation with inverse binomial
sampling", PLoS Computational Biology 16, 2020 (the sum up to the first hit); Quenouille, "Notes on bias in estimation",
Biometrika 43, 1956 (jackknife); Richardson, "The deferred approach to the limit", 1927.
Departs from them: for a language model, each count is drawn from its binomial distribution, which is what N passes
give; averages over orders of draws, where van Opheusden et al. draw until the first hit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import digamma
from scipy.stats import binom

from textassay.errors import OptionError
from textassay.seeding import stream
from textassay_lab.approximation.reference_windows import ReferenceWindows
from textassay_lab.approximation.steppable import NoiseDriven, WindowStepper

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.integer[Any]]

_LOG_2 = math.log(2)
_BLOCK = 1 << 12  # tokens whose expectations are summed together
_SERIES_FROM, _COUNTED_TO = 50.0, 200  # expected counts from which the series is good to 1e-5; counts summed below


def check_floor(floor: float, n: int, *, name: str = "floor") -> None:
    """Raise unless `floor`, an option called `name`, is above 0 and at most 1/n, where it changes only counts of 0."""
    if not 0 < floor <= 1 / n:
        raise OptionError(f"{name} must be above 0 and at most 1 / samples ({1 / n:g}), got {floor:g}")


def floor_bits(floor: float) -> float:
    """Return the cost of a token that was never drawn: 66.44 bits at 1e-20."""
    return -math.log2(floor)


def plain_bits(counts: Counts, n: int, *, floor: float) -> FloatArray:
    """Return ``-log2(C / n)``, shape of `counts`; a count of 0 costs ``-log2(floor)``."""
    return np.asarray(-np.log2(np.maximum(counts / n, floor)), dtype=np.float64)


def jackknife_bits(counts: Counts, n: int, *, floor: float) -> FloatArray:
    """Return the plain value minus its jackknife estimate of bias, shape of `counts`.

    Counts of 0 and 1 stay as they are: without its only hit, a token would cost the floor. So frequent tokens are
    corrected, but not those with probabilities of the order of 1/n, which have most of the bias.
    """
    plain = plain_bits(counts, n, floor=floor)
    if n < 2:
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        without_hit = -np.log2((counts - 1) / (n - 1))
        without_miss = -np.log2(counts / (n - 1))
        left_out = (counts * without_hit + np.where(counts < n, (n - counts) * without_miss, 0.0)) / n
        corrected = n * plain - (n - 1) * left_out
    return np.where(counts > 1, corrected, plain)


def harmonic_bits(counts: Counts, n: int) -> FloatArray:
    """Return ``(H(n) - H(C)) / ln 2``, shape of `counts`: between 0 and about log2(n) + 0.83, without a floor."""
    return np.asarray((digamma(n + 1) - digamma(np.asarray(counts) + 1)) / _LOG_2, dtype=np.float64)


def richardson(at_n: FloatArray, at_half: FloatArray) -> FloatArray:
    """Return ``2 f(n) - f(n / 2)``, which cancels a bias that falls as 1/n; zero counts do not fall so."""
    return 2 * at_n - at_half


def second_order_bits(probabilities: FloatArray, n: int) -> FloatArray:
    """Return the second-order bias of the plain value, ``(1 - p) / (2 n p ln 2)`` bits; accurate where n p is large."""
    return np.asarray((1 - probabilities) / (2 * n * probabilities * _LOG_2), dtype=np.float64)


def expected_bias_bits(log_probs: FloatArray, n: int, *, floor: float) -> FloatArray:
    """Return the expected bias of the plain value over all samples of n draws, for tokens of known probability.

    Includes zero counts and their floor. Exact: nothing is drawn.

    `log_probs`: in nats, finite, any shape (P,).
    """
    expected = np.empty(len(log_probs))
    few = log_probs + math.log(n) < math.log(_SERIES_FROM)
    p = np.exp(np.minimum(log_probs[~few], 0.0))
    mean, spread = n * p, n * p * (1 - p)
    third, fourth = spread * (1 - 2 * p), 3 * spread**2 + spread * (1 - 6 * p * (1 - p))
    expected[~few] = (spread / (2 * mean**2) - third / (3 * mean**3) + fourth / (4 * mean**4)) / _LOG_2
    counts = np.arange(min(n, _COUNTED_TO) + 1)
    costs = plain_bits(counts, n, floor=floor)
    rare = np.flatnonzero(few)
    for start in range(0, len(rare), _BLOCK):
        block = rare[start : start + _BLOCK]
        chances = binom.pmf(counts, n, np.exp(log_probs[block])[:, None])
        expected[block] = chances @ costs + log_probs[block] / _LOG_2
    return expected


def soft_correction_bits(sums: FloatArray, squares: FloatArray, n: int, *, floor: float) -> FloatArray:
    """Return the bias, to second order, of ``-log2`` of the mean of n probabilities, from their sums and squares.

    It is ``variance / (2 n mean^2 ln 2)``, and 0 where the mean is below the floor or n is 1.
    """
    mean = sums / n
    if n < 2:
        return np.zeros_like(mean)
    variance = np.maximum(squares - n * mean**2, 0.0) / (n - 1)
    above = mean > floor
    return np.where(above, variance / (2 * n * np.where(above, mean, 1.0) ** 2 * _LOG_2), 0.0)


IntArray = npt.NDArray[np.int64]
RowCosts = Mapping[str, FloatArray]  # quantity to sums over each row, shape (K, B)
Progress = Callable[[str, int, int], None]

Mode = Literal["multinomial", "onehot", "soft", "exact"]
QUANTITIES = ("plain", "corrected", "jackknife", "zeros")

_POSITIONS = 1 << 12  # of rows whose draws are counted together
_DRAWS = 1 << 17  # positions of one call of a generator
_NUMBERS = 1 << 22  # probabilities of one call


class Keep(Protocol):
    """Stores the sums of each part of the text, so that an interrupted run can be resumed."""

    def load(self, part: str) -> Mapping[str, FloatArray] | None:
        """Return the arrays saved for `part`, or None."""
        ...

    def save(self, part: str, arrays: Mapping[str, FloatArray]) -> None:
        """Save the arrays of `part`."""
        ...


def sizes_below(n: int, smallest: int) -> list[int]:
    """Return ``..., n / 4, n / 2, n``, rounded down, ascending; all but `n` itself at least `smallest`."""
    sizes = [n]
    while sizes[-1] // 2 >= smallest:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def multinomial_costs(
    text: ReferenceWindows, log_probs: FloatArray, sizes: Sequence[int], *, floor: float, seed: int
) -> RowCosts:
    """Return each of `QUANTITIES`, summed over each row, shape (K, B), from binomial counts.

    `log_probs`: of the scored tokens of all rows, one after another, in nats, shape (n_tokens,).
    """
    parts = []
    bounds = np.concatenate(([0], np.cumsum(text.sizes)))
    for start, stop in _blocks(text):
        probs = np.exp(log_probs[bounds[start] : bounds[stop]])
        rng = stream(seed, "approximation", "multinomial", start)
        counts = np.zeros(len(probs), dtype=np.int64)
        costs = []
        for previous, size in zip((0, *sizes), sizes, strict=False):
            counts = counts + rng.binomial(size - previous, np.minimum(probs, 1.0))
            costs.append(_of_counts(counts, size, floor))
        parts.append(_summed(costs, text.sizes[start:stop]))
    return _joined(parts)


def one_hot_costs(
    generator: WindowStepper,
    text: ReferenceWindows,
    sizes: Sequence[int],
    *,
    floor: float,
    seed: int,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> RowCosts:
    """Return the costs of each row from counts of the generator's own draws.

    Parameters and result are those of `multinomial_costs`; parts that `keep` holds are not drawn again.
    """

    def part(start: int, stop: int) -> RowCosts:
        rows, scored = text.part(start, stop)
        counts = np.zeros(rows.shape, dtype=np.int64)
        costs = []
        n_done = 0
        for size in sizes:
            while n_done < size:
                n = min(max(1, _DRAWS // rows.size), size - n_done)
                drawn = generator.step_after(np.tile(rows, (n, 1)), seed=_key(seed, "onehot", start, n_done))
                counts += (drawn.reshape(n, *rows.shape) == rows).sum(axis=0)
                n_done += n
            costs.append(_of_counts(counts[scored], size, floor))
        return _summed(costs, text.sizes[start:stop])

    return _parts(part, text, "onehot", keep, progress)


def soft_costs(
    generator: NoiseDriven,
    text: ReferenceWindows,
    sizes: Sequence[int],
    *,
    floor: float,
    seed: int,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> RowCosts:
    """Return the costs of each row from the mean of the distributions of N noise vectors.

    Parameters and result are those of `one_hot_costs`. Both ``corrected`` and ``jackknife`` correct the second-order
    bias; ``zeros`` counts tokens whose mean probability is below the floor.
    """
    n_types = len(generator.vocabulary)

    def part(start: int, stop: int) -> RowCosts:
        rows, scored = text.part(start, stop)
        sums, squares = np.zeros(rows.shape), np.zeros(rows.shape)
        costs = []
        n_done = 0
        for size in sizes:
            while n_done < size:
                n = min(max(1, min(_DRAWS, _NUMBERS // n_types) // rows.size), size - n_done)
                repeated = np.tile(rows, (n, 1))
                probs = generator.soft_after(repeated, seed=_key(seed, "soft", start, n_done))
                token_probs = np.take_along_axis(probs, repeated[:, :, None], axis=2)[:, :, 0].astype(np.float64)
                token_probs = token_probs.reshape(n, *rows.shape)
                sums += token_probs.sum(axis=0)
                squares += (token_probs**2).sum(axis=0)
                n_done += n
            means = sums[scored] / size
            plain = -np.log2(np.maximum(means, floor))
            corrected = plain - soft_correction_bits(sums[scored], squares[scored], size, floor=floor)
            costs.append(np.stack((plain, corrected, corrected, (means < floor).astype(np.float64))))
        return _summed(costs, text.sizes[start:stop])

    return _parts(part, text, "soft", keep, progress)


def _blocks(text: ReferenceWindows) -> list[tuple[int, int]]:
    """Return the first and last row of each part of the text, as half-open ranges."""
    rows = max(1, _POSITIONS // text.rows.shape[1])
    return [(start, min(start + rows, len(text.rows))) for start in range(0, len(text.rows), rows)]


def _parts(
    part: Callable[[int, int], RowCosts],
    text: ReferenceWindows,
    name: str,
    keep: Keep | None,
    progress: Progress | None,
) -> RowCosts:
    parts = []
    blocks = _blocks(text)
    for number, (start, stop) in enumerate(blocks):
        if progress is not None:
            progress("drawing", number, len(blocks))
        label = f"{name}-{start}-{stop}"
        costs = None if keep is None else keep.load(label)
        if costs is None:
            costs = part(start, stop)
            if keep is not None:
                keep.save(label, costs)
        parts.append(costs)
    if progress is not None:
        progress("drawing", len(blocks), len(blocks))
    return _joined(parts)


def _of_counts(counts: IntArray, n: int, floor: float) -> FloatArray:
    """Return all of `QUANTITIES` for each count, shape (4, P); each distinct count is computed once."""
    levels, which = np.unique(counts, return_inverse=True)
    table = np.stack(
        (
            plain_bits(levels, n, floor=floor),
            harmonic_bits(levels, n),
            jackknife_bits(levels, n, floor=floor),
            (levels == 0).astype(np.float64),
        )
    )
    return table[:, which.reshape(-1)]


def _summed(costs: Sequence[FloatArray], sizes: IntArray) -> RowCosts:
    """Return sums over rows of `sizes` tokens each, of costs (4, P) at K numbers of draws."""
    starts = np.cumsum(sizes) - sizes
    sums = np.stack([np.add.reduceat(cost, starts, axis=1) for cost in costs])  # (K, 4, B)
    return {name: sums[:, place] for place, name in enumerate(QUANTITIES)}


def _joined(parts: Sequence[RowCosts]) -> RowCosts:
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in QUANTITIES}


def _key(seed: int, *path: str | int) -> int:
    return int(stream(seed, "approximation", *path).integers(2**62))
