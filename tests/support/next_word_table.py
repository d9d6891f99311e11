"""Language models given by the probabilities of their next words, in full."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary

Chances = Callable[[tuple[str, ...]], Mapping[str, float]]


class NextWordTable:
    """A `LanguageModel` as far as measures of exposure bias look at one; counts the prefixes it is asked about."""

    def __init__(self, vocabulary: Vocabulary, chances: Chances, *, name: str = "table") -> None:
        self.vocabulary = vocabulary
        self.chances = chances
        self.name = name
        self.tokenizer = "whitespace"
        self.n_asked = 0

    def fit(self, *args: Any, **settings: Any) -> NoReturn:
        raise AssertionError

    def sample(self, *args: Any, **settings: Any) -> NoReturn:
        raise AssertionError

    def log_prob(self, *args: Any, **settings: Any) -> NoReturn:
        raise AssertionError

    def token_log_probs(self, *args: Any, **settings: Any) -> NoReturn:
        raise AssertionError

    def next_log_probs(self, prefixes: Corpus, *, temperature: float = 1.0) -> npt.NDArray[np.float64]:
        assert temperature == 1
        self.n_asked += len(prefixes)
        found = np.zeros((len(prefixes), len(self.vocabulary)))
        for row in range(len(prefixes)):
            for word, chance in self.chances(tuple(prefixes.sentence(row))).items():
                found[row, self.vocabulary.encode([word])[0]] = chance
        with np.errstate(divide="ignore"):
            return np.log(found)


def example_one() -> tuple[NextWordTable, NextWordTable]:
    """Return model and data of example 1 of the paper; sentences have two words."""
    vocabulary = Vocabulary(["A", "B"])

    def model(prefix: tuple[str, ...]) -> dict[str, float]:
        if len(prefix) == 2:
            return {"<eos>": 1.0}
        return {"A": 0.5, "B": 0.5} if prefix == ("B",) else {"A": 0.9, "B": 0.1}

    def data(prefix: tuple[str, ...]) -> dict[str, float]:
        return {"<eos>": 1.0} if len(prefix) == 2 else {"A": 0.5, "B": 0.5}

    return NextWordTable(vocabulary, model, name="model"), NextWordTable(vocabulary, data, name="data")


def random_table(vocabulary: Vocabulary, *, seed: int, spread: float = 1.0, name: str = "random") -> NextWordTable:
    """Return a model whose next words depend on the last word and on where it stands, without an end."""
    words = list(vocabulary.tokens[4:])
    logits = np.random.default_rng(seed).normal(size=(len(words) + 1, 8, len(words))) * spread

    def chances(prefix: tuple[str, ...]) -> dict[str, float]:
        last = words.index(prefix[-1]) + 1 if prefix else 0
        weights = np.exp(logits[last, len(prefix) % 8])
        return dict(zip(words, (weights / weights.sum()).tolist(), strict=True))

    return NextWordTable(vocabulary, chances, name=name)
