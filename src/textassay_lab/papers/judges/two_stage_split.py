"""The two splits of a study with trained generators and trained discriminators.

Real text is split for the generators (G-train, G-valid, G-test). Generated texts, with equally many from G-test, which
the generators never saw, are split again for the discriminators (D-train, D-valid, D-test).

Source: Garbacea et al., "Judge the Judges", EMNLP 2019, section 3 and table 2 (70, 10 and 20 % for discriminators).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.split import random_split
from textassay.errors import OptionError, TooFewSentencesError
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
GENERATOR_SHARES = (0.4, 0.1, 0.5)
DISCRIMINATOR_SHARES = (0.7, 0.1, 0.2)


@dataclass(frozen=True)
class DiscriminatorPart:
    """Indices of the real texts, shape (n_real,), and of each generator's texts, increasing."""

    real: IntArray
    generated: Mapping[str, IntArray]


@dataclass(frozen=True)
class TwoStageSplit:
    """Indices of real texts for the generators (increasing), and the three sets of the discriminators."""

    generator_train: IntArray
    generator_valid: IntArray
    generator_test: IntArray
    discriminator_train: DiscriminatorPart
    discriminator_valid: DiscriminatorPart
    discriminator_test: DiscriminatorPart


def two_stage_split(
    n_real: int,
    n_generated: Mapping[str, int],
    *,
    generator_shares: Sequence[float] = GENERATOR_SHARES,
    discriminator_shares: Sequence[float] = DISCRIMINATOR_SHARES,
    seed: int = 0,
) -> TwoStageSplit:
    """Return both random splits."""
    if len(generator_shares) != 3 or len(discriminator_shares) != 3:
        raise OptionError(
            "shares must be three, of training, validation and test, got "
            f"{tuple(generator_shares)} and {tuple(discriminator_shares)}"
        )
    train, valid, test = random_split(n_real, stream(seed, "two stage split", "real"), generator_shares)
    total = sum(n_generated.values())
    if total > len(test):
        raise TooFewSentencesError(
            f"balanced sets need as many real texts as generated ones: {total} are generated, G-test has {len(test)} "
            f"of {n_real:,} real texts"
        )
    parts = {
        name: random_split(n, stream(seed, "two stage split", "generated", name), discriminator_shares)
        for name, n in n_generated.items()
    }
    drawn = stream(seed, "two stage split", "G-test").permutation(test)
    sets, start = [], 0
    for place in range(3):
        generated = {name: split[place] for name, split in parts.items()}
        stop = start + sum(map(len, generated.values()))
        sets.append(DiscriminatorPart(np.sort(drawn[start:stop]), generated))
        start = stop
    return TwoStageSplit(train, valid, test, *sets)
