"""Canaries: texts that were planted in the training text, and how much of each a generator writes.

Source: Carlini, Liu, Erlingsson, Kos, Song, "The Secret Sharer: Evaluating and Testing Unintended Memorization in
Neural Networks", USENIX Security 2019. Departs from it: nothing but generated text is needed, so a canary's exposure is
the longest run of its tokens that a generated text holds, and canaries are ranked among texts that were never planted.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from textassay.corpus.corpus import Corpus
from textassay.leakage.personal_data import masked
from textassay.ngram.nearest import SuffixArray

IntArray = npt.NDArray[np.int64]

_N_PERMUTATIONS = 9_999


@dataclass(frozen=True)
class Canary:
    """How much of one planted text a generator writes."""

    text: str
    n_tokens: int
    n_shared: int  # Tokens of the longest run that a generated text holds


@dataclass(frozen=True)
class Canaries:
    """How much of the planted texts one generator writes."""

    canaries: tuple[Canary, ...]
    n_whole: int  # That stand whole in a generated text
    n_controls: int
    n_controls_whole: int
    p_value: float | None  # That planted texts rank no higher than those never planted; None without these


def find_canaries(
    planted: Corpus, controls: Corpus | None, generated: Corpus, *, rng: np.random.Generator, show_personal: bool
) -> Canaries:  # fmt: skip
    """Return how much of each planted text stands in a generated one."""
    planted, controls = (
        planted.take(np.flatnonzero(planted.lengths)),
        None if controls is None else controls.take(np.flatnonzero(controls.lengths)),
    )
    written = SuffixArray.build(generated)
    shared = written.runs(planted).lengths
    canaries = tuple(
        Canary(text if show_personal else masked(text), int(n), int(run))
        for text, n, run in zip(planted.texts, planted.lengths, shared, strict=True)
    )
    n_whole, p_value, n_controls, n_controls_whole = int(np.sum(shared == planted.lengths)), None, 0, 0
    if controls is not None:
        of_controls = written.runs(controls).lengths
        n_controls, n_controls_whole = len(controls), int(np.sum(of_controls == controls.lengths))
        p_value = rank_p_value(shared / planted.lengths, of_controls / controls.lengths, rng)
    return Canaries(canaries, n_whole, n_controls, n_controls_whole, p_value)


def rank_p_value(
    planted: npt.NDArray[np.float64], controls: npt.NDArray[np.float64], rng: np.random.Generator
) -> float:  # fmt: skip
    """Return the p-value of the sum of ranks of `planted`, by permutations, which is exact with ties, too."""
    ranks = rankdata(np.concatenate([planted, controls]))
    observed = ranks[: len(planted)].sum()
    n_as_high = sum(
        rng.choice(ranks, len(planted), replace=False, shuffle=False).sum() >= observed - 1e-9
        for _ in range(_N_PERMUTATIONS)
    )
    return float((n_as_high + 1) / (_N_PERMUTATIONS + 1))
