"""Algorithm 1: draw at every position, count how often the reference token was drawn, and divide once.

Counts are nested, so one set of N draws also gives the costs at smaller numbers of draws. Nothing of size N x positions
x V is ever in memory: only counts of the reference tokens are, and only their sums over rows are kept.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1.
Departs from it: for a language model, each count is drawn from its binomial distribution, which is what N passes give.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from textassay.seeding import stream
from textassay_lab.approximation.count_cost import harmonic_bits, jackknife_bits, plain_bits, soft_correction_bits
from textassay_lab.approximation.reference_windows import ReferenceWindows
from textassay_lab.approximation.steppable import NoiseDriven, WindowStepper

FloatArray = npt.NDArray[np.float64]
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
