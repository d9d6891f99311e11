"""Algorithm 1: draw after every gold position, count how often the gold token came, divide once.

One set of N draws gives the costs at several smaller numbers of draws, too: counts are nested. Nothing of size N x
positions x V is ever held: counts of gold tokens are, and of these only sums over rows are kept.

Source: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019, algorithm 1.
Departs from it: of a language model, the count of a token is drawn as a whole, from its binomial distribution, which is
what N passes give.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from textassay.approximation.count_cost import (
    harmonic_bits,
    jackknife_bits,
    plain_bits,
    soft_correction_bits,
)
from textassay.approximation.gold_text import GoldText
from textassay.approximation.steppable import NoiseDriven, WindowStepper
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Tallies = Mapping[str, FloatArray]  # name to sums over each row, shape (K, B)
Progress = Callable[[str, int, int], None]

Mode = Literal["multinomial", "onehot", "soft", "exact"]
QUANTITIES = ("plain", "corrected", "jackknife", "zeros")

_POSITIONS = 1 << 12  # of rows whose draws are counted together
_DRAWS = 1 << 17  # positions of one call of a generator
_NUMBERS = 1 << 22  # probabilities of one call


class Keep(Protocol):
    """Where the sums of a part of the text are kept, so that a stopped run goes on."""

    def load(self, part: str) -> Mapping[str, FloatArray] | None:
        """Return what was kept of `part`, or None."""
        ...

    def save(self, part: str, arrays: Mapping[str, FloatArray]) -> None:
        """Keep arrays of `part`."""
        ...


def sizes_below(n: int, smallest: int) -> list[int]:
    """Return ``..., n / 4, n / 2, n``, rounded down, rising, none below `smallest` but `n` itself."""
    sizes = [n]
    while sizes[-1] // 2 >= smallest:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def multinomial_tallies(text: GoldText, gold: FloatArray, sizes: Sequence[int], *, floor: float, seed: int) -> Tallies:
    """Return what the gold tokens of each row cost, from binomial counts.

    `gold`: log-probabilities of the scored tokens of all rows, one after another, in nats, shape (n_tokens,).

    Each of `QUANTITIES` to sums over rows, shape (K, B).
    """
    parts = []
    bounds = np.concatenate(([0], np.cumsum(text.sizes)))
    for start, stop in _blocks(text):
        chances = np.exp(gold[bounds[start] : bounds[stop]])
        rng = stream(seed, "approximation", "multinomial", start)
        counts = np.zeros(len(chances), dtype=np.int64)
        costs = []
        for before, size in zip((0, *sizes), sizes, strict=False):
            counts = counts + rng.binomial(size - before, np.minimum(chances, 1.0))
            costs.append(_of_counts(counts, size, floor))
        parts.append(_summed(costs, text.sizes[start:stop]))
    return _joined(parts)


def one_hot_tallies(
    generator: WindowStepper,
    text: GoldText,
    sizes: Sequence[int],
    *,
    floor: float,
    seed: int,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> Tallies:
    """Return what the gold tokens of each row cost, from the counts of a generator's own draws.

    Parameters and result are those of `multinomial_tallies`; parts that `keep` has are not drawn again.
    """

    def part(start: int, stop: int) -> Tallies:
        rows, scored = text.part(start, stop)
        counts = np.zeros(rows.shape, dtype=np.int64)
        costs = []
        done = 0
        for size in sizes:
            while done < size:
                n = min(max(1, _DRAWS // rows.size), size - done)
                drawn = generator.step_after(np.tile(rows, (n, 1)), seed=_key(seed, "onehot", start, done))
                counts += (drawn.reshape(n, *rows.shape) == rows).sum(axis=0)
                done += n
            costs.append(_of_counts(counts[scored], size, floor))
        return _summed(costs, text.sizes[start:stop])

    return _parts(part, text, "onehot", keep, progress)


def soft_tallies(
    generator: NoiseDriven,
    text: GoldText,
    sizes: Sequence[int],
    *,
    floor: float,
    seed: int,
    keep: Keep | None = None,
    progress: Progress | None = None,
) -> Tallies:
    """Return what the gold tokens of each row cost, from the mean of the distributions of N noise vectors.

    Parameters and result are those of `one_hot_tallies`. What is corrected is the bias to second order, in both of
    ``corrected`` and ``jackknife``; ``zeros`` counts tokens whose mean probability is below the floor.
    """
    n_types = len(generator.vocabulary)

    def part(start: int, stop: int) -> Tallies:
        rows, scored = text.part(start, stop)
        sums, squares = np.zeros(rows.shape), np.zeros(rows.shape)
        costs = []
        done = 0
        for size in sizes:
            while done < size:
                n = min(max(1, min(_DRAWS, _NUMBERS // n_types) // rows.size), size - done)
                many = np.tile(rows, (n, 1))
                shown = generator.soft_after(many, seed=_key(seed, "soft", start, done))
                found = np.take_along_axis(shown, many[:, :, None], axis=2)[:, :, 0].astype(np.float64)
                found = found.reshape(n, *rows.shape)
                sums += found.sum(axis=0)
                squares += (found**2).sum(axis=0)
                done += n
            means = sums[scored] / size
            plain = -np.log2(np.maximum(means, floor))
            corrected = plain - soft_correction_bits(sums[scored], squares[scored], size, floor=floor)
            costs.append(np.stack((plain, corrected, corrected, (means < floor).astype(np.float64))))
        return _summed(costs, text.sizes[start:stop])

    return _parts(part, text, "soft", keep, progress)


def _blocks(text: GoldText) -> list[tuple[int, int]]:
    """Return where parts of the text begin and end, in rows."""
    rows = max(1, _POSITIONS // text.rows.shape[1])
    return [(start, min(start + rows, len(text.rows))) for start in range(0, len(text.rows), rows)]


def _parts(
    part: Callable[[int, int], Tallies], text: GoldText, name: str, keep: Keep | None, progress: Progress | None
) -> Tallies:
    found = []
    blocks = _blocks(text)
    for number, (start, stop) in enumerate(blocks):
        if progress is not None:
            progress("drawing", number, len(blocks))
        label = f"{name}-{start}-{stop}"
        tallies = None if keep is None else keep.load(label)
        if tallies is None:
            tallies = part(start, stop)
            if keep is not None:
                keep.save(label, tallies)
        found.append(tallies)
    if progress is not None:
        progress("drawing", len(blocks), len(blocks))
    return _joined(found)


def _of_counts(counts: IntArray, n: int, floor: float) -> FloatArray:
    """Return all of `QUANTITIES` for each count, shape (4, P); tables are made once for all counts there are."""
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


def _summed(costs: Sequence[FloatArray], sizes: IntArray) -> Tallies:
    """Return sums over rows of `sizes` tokens each, of costs (4, P) at K numbers of draws."""
    starts = np.cumsum(sizes) - sizes
    sums = np.stack([np.add.reduceat(cost, starts, axis=1) for cost in costs])  # (K, 4, B)
    return {name: sums[:, place] for place, name in enumerate(QUANTITIES)}


def _joined(parts: Sequence[Tallies]) -> Tallies:
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in QUANTITIES}


def _key(seed: int, *path: str | int) -> int:
    return int(stream(seed, "approximation", *path).integers(2**62))
