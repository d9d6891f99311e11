"""Which texts are measured at the size of the floor.

The floor is one half of the real text, measured against the other half. A generator is measured against that other
half, too, with as many of its texts as the first half has.
"""

import numpy as np
import numpy.typing as npt

from textassay.corpus.split import halves, halves_within
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


def real_halves(
    n_real: int, seed: int, groups: IntArray | None = None, *, within: bool = False
) -> tuple[IntArray, IntArray]:
    """Return the indices of the half of the real texts that is measured, and of the half that it is measured against.

    `groups`: group number of each text; `within`: whether each group is halved, rather than kept whole.
    """
    rng = stream(seed, "floor", "halves")
    return halves_within(groups, rng) if within and groups is not None else halves(n_real, rng, groups)


def in_random_order(n_generated: int, seed: int) -> IntArray:
    """Return the indices of generated texts in the order in which they are taken at the floor's size."""
    return stream(seed, "floor", "size").permutation(n_generated)
