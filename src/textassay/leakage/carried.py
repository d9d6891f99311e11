"""What the texts of one corpus share with the training text: copies, near copies, runs of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.inspection.sentence_keys import occurs_elsewhere, sentence_keys
from textassay.leakage.excess import Side
from textassay.leakage.near_copies import SHORTEST, Near, first_of_each, near_copies
from textassay.ngram.nearest import Runs, SuffixArray
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

COPIES, NEAR, LONG, RARE = "copies", "near copies", "long runs", "rare runs"
QUANTITIES = (COPIES, NEAR, LONG, RARE)
_N_TRAIN = 10_000  # training texts from which limits of runs are learnt
_BEYOND = 0.01  # share of these that may exceed a limit
_LONGEST_CURVE = 40  # tokens


@dataclass(frozen=True, eq=False)
class Carried:
    """What N texts share with the training text."""

    corpus: Corpus
    copies: IntArray  # A training text of the same tokens, shape (N,); -1 where there is none
    near: Near
    runs: Runs

    def has(self, quantity: str, limits: Mapping[str, int]) -> Mask:
        """Return which texts count, shape (N,)."""
        if quantity == COPIES:
            return np.asarray((self.copies >= 0) & (self.corpus.lengths > 0))
        if quantity == NEAR:
            return self.near.texts >= 0
        lengths = self.runs.lengths if quantity == LONG else self.runs.sole_lengths
        return np.asarray(lengths > limits[quantity])

    def sources(self, quantity: str) -> IntArray:
        """Return the training text that each text has it of, shape (N,); where a text does not count, any number."""
        of = {COPIES: self.copies, NEAR: self.near.texts, LONG: self.runs.texts, RARE: self.runs.sole_texts}
        return of[quantity]

    def side(self, quantity: str, limits: Mapping[str, int], groups: IntArray | None) -> Side:
        """Return the texts that can count, as one side of a test."""
        has = self.has(quantity, limits)
        least = {COPIES: 1, NEAR: SHORTEST}.get(quantity, limits.get(quantity, 0) + 1)
        can = self.corpus.lengths >= least
        return Side(self.corpus.lengths[can], has[can], None if groups is None else groups[can])

    def run_shares(self) -> tuple[float, ...]:
        """Return the share of texts whose longest run has at least 1, 2, ... tokens, up to the longest or 40."""
        most = min(_LONGEST_CURVE, int(self.runs.lengths.max(initial=0)))
        return tuple(float(np.mean(self.runs.lengths >= n)) for n in range(1, most + 1))


@dataclass(frozen=True, eq=False)
class Training:
    """The training text, ready to be searched, and how far its own texts share runs with each other."""

    corpus: Corpus
    suffixes: SuffixArray
    # Tokens that a run must exceed: at most one in a hundred training texts shares a longer one with another; the same
    # for a run that stands in one other text only. Neither side of a test has a part in it.
    limits: Mapping[str, int]
    share_repeated: float  # Training texts that another one repeats

    @classmethod
    def of(cls, corpus: Corpus, *, seed: int) -> "Training":
        suffixes = SuffixArray.build(corpus)
        chosen = np.sort(stream(seed, "leaks", "limits").permutation(len(corpus))[:_N_TRAIN])
        runs = suffixes.runs(corpus.take(chosen), own=chosen)
        limits = {LONG: _limit(runs.lengths), RARE: _limit(runs.sole_lengths)}
        repeated = occurs_elsewhere(sentence_keys(corpus))
        return cls(corpus, suffixes, limits, float(repeated.mean()))

    def shared_with(self, corpus: Corpus) -> Carried:
        """Return what texts share with the training text."""
        copies = first_of_each(sentence_keys(corpus), self.corpus)
        return Carried(corpus, copies, near_copies(corpus, self.corpus), self.suffixes.runs(corpus))


def _limit(lengths: IntArray) -> int:
    """Return the least number that at most one in a hundred lengths exceeds."""
    ordered = np.sort(lengths)
    return int(ordered[len(ordered) - 1 - int(_BEYOND * len(ordered))])
