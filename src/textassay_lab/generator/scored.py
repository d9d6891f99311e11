"""Generators with the probability of whole sentences: any `LanguageModel`, a mixture, a model with renamed words."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.ngram.language_model import LanguageModel, check_sample, check_temperature

FloatArray = npt.NDArray[np.float64]


class ScoredGenerator(Protocol):
    """A generator with the log-probability of each sentence."""

    @property
    def name(self) -> str:
        """Canonical name with the settings that matter."""
        ...

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences, drawn independently; the first k of them do not depend on n.

        The same seed gives the same sentences: two sides of a comparison need different seeds.
        """
        ...

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, its end included, in nats, float64, shape (N,).

        -inf for a sentence that is never drawn. The corpus may have any vocabulary.
        """
        ...


class AtTemperature:
    """A fitted language model at one temperature; a `ScoredGenerator`."""

    def __init__(self, model: LanguageModel, temperature: float) -> None:
        check_temperature(temperature, generator=model.name)
        self.model = model
        self.temperature = temperature

    @property
    def name(self) -> str:
        """Such as ``ngram(order=3) at temperature 0.8``."""
        return f"{self.model.name} at temperature {self.temperature:g}"

    def sample(self, n: int, *, seed: int) -> Corpus:
        """Return `n` sentences; see `ScoredGenerator.sample`."""
        return self.model.sample(n, seed=seed, temperature=self.temperature)

    def log_prob(self, corpus: Corpus) -> FloatArray:
        """Return the log-probability of each sentence, shape (N,), in nats."""
        return self.model.log_prob(corpus, temperature=self.temperature)


def check_plain(n: int, seed: int, *, generator: str) -> None:
    """Raise unless `n` is at least 1 and `seed` at least 0."""
    check_sample(n, seed=seed, generator=generator)
