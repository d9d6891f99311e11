"""The uniform generator: every ordinary token is equally likely at every position."""

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import SPECIAL_TOKENS, Vocabulary
from textassay.errors import EmptyCorpusError
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]


class UniformGenerator:
    """Draws tokens of running text; a `textassay_lab.approximation.steppable.WindowStepper`.

    `vocabulary`: special tokens are never drawn.
    """

    name = "uniform"
    draws_ends = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        if len(vocabulary) == len(SPECIAL_TOKENS):
            raise EmptyCorpusError("uniform: the vocabulary has no ordinary token")
        self.vocabulary = vocabulary

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        """Return one draw after each beginning of each window, (B, T)."""
        rng = stream(seed, self.name)
        return rng.integers(len(SPECIAL_TOKENS), len(self.vocabulary), size=windows.shape, dtype=np.int64)
