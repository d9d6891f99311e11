"""A mixture of generators: each sentence comes from one of them, chosen at random, and its probability is exact."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, OptionError
from textassay.seeding import stream, uniforms
from textassay_lab.generator.scored import ScoredGenerator, check_plain

FloatArray = npt.NDArray[np.float64]

_ROUNDING = 1e-9  # by so much the weights may miss 1


class Mixture:
    """Draws each sentence from one of several fitted generators; a `ScoredGenerator`.

    ``p(x) = sum over k of weight_k p_k(x)``, by log-sum-exp.
    """

    def __init__(self, generators: Sequence[ScoredGenerator], weights: Sequence[float]) -> None:
        if not generators or len(generators) != len(weights):
            raise OptionError(f"a mixture needs one weight a generator, got {len(generators)} and {len(weights)}")
        if min(weights) < 0 or not math.isclose(math.fsum(weights), 1.0, abs_tol=_ROUNDING):
            raise OptionError(f"weights must be at least 0 and sum to 1, got {', '.join(f'{w:g}' for w in weights)}")
        self.generators = tuple(generators)
        self.weights = tuple(float(weight) for weight in weights)

    @property
    def name(self) -> str:
        """Such as ``mixture(0.7 ngram(order=2), 0.3 ngram(order=3))``."""
        parts = (f"{weight:g} {part.name}" for weight, part in zip(self.weights, self.generators, strict=True))
        return f"mixture({', '.join(parts)})"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences; see `ScoredGenerator.sample`."""
        check_plain(n, seed, generator=self.name)
        key = int(stream(seed, "mixture", "choice", self.name).integers(2**63))
        bounds = np.cumsum(self.weights)
        last = int(np.flatnonzero(self.weights)[-1])  # where rounding leaves the sum below a draw
        choice = np.minimum(np.searchsorted(bounds, uniforms(key, np.arange(n), 0), side="right"), last)
        parts = []
        rows = []
        for place, generator in enumerate(self.generators):
            chosen = np.flatnonzero(choice == place)
            if len(chosen) > 0:
                of_place = int(stream(seed, "mixture", "part", place).integers(2**63))
                parts.append(generator.sample(len(chosen), seed=of_place))
                rows.append(chosen)
        if any(part.vocabulary is not parts[0].vocabulary for part in parts):
            raise InputError(f"{self.name}: the generators must have one vocabulary")
        return Corpus.concatenate(parts).take(np.argsort(np.concatenate(rows)))

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, shape (N,), in nats."""
        used = [(part, weight) for part, weight in zip(self.generators, self.weights, strict=True) if weight > 0]
        scores = np.stack([part.log_prob(corpus) + math.log(weight) for part, weight in used])
        return np.asarray(logsumexp(scores, axis=0), dtype=np.float64)
