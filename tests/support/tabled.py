"""Generators given in full: a table of sentences and their probabilities."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.stats import chisquare

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay_lab.generator.scored import ScoredGenerator

TOY_REAL = {"A A": 0.25, "A B": 0.25, "B A": 0.25, "B B": 0.25}
TOY_GENERATED = {"A A": 0.81, "A B": 0.09, "B A": 0.05, "B B": 0.05}


class Tabled:
    """Draws sentences of a table; a `ScoredGenerator`. What is not in it has probability 0."""

    def __init__(
        self, table: Mapping[str, float], vocabulary: Vocabulary, *, drawn_by: Mapping[str, float] | None = None
    ):
        self.table = table
        self.drawn_by = table if drawn_by is None else drawn_by
        self.vocabulary = vocabulary

    @property
    def name(self) -> str:
        return f"tabled({len(self.table)})"

    def sample(self, n: int, *, seed: int) -> Corpus:
        texts = np.random.default_rng(seed).choice(list(self.drawn_by), n, p=list(self.drawn_by.values())).tolist()
        return Corpus.from_texts(texts, vocabulary=self.vocabulary)

    def log_prob(self, corpus: Corpus) -> npt.NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.log([self.table.get(text, 0.0) for text in corpus.texts])


def toy(generated: Mapping[str, float] = TOY_GENERATED) -> tuple[Tabled, Tabled]:
    """Return the pair of the specification, or another one against the same real side."""
    vocabulary = Vocabulary(["A", "B"])
    return Tabled(TOY_REAL, vocabulary), Tabled(generated, vocabulary)


def corpus_of(texts: list[str]) -> Corpus:
    """Return `texts` with a vocabulary of their own."""
    return corpora_from_texts({"texts": texts})["texts"]


def all_sentences(words: tuple[str, ...], longest: int) -> Corpus:
    """Return every sentence of 0 to `longest` of the `words`."""
    return corpus_of([" ".join(s) for n in range(longest + 1) for s in product(words, repeat=n)])


def draws_fit(generator: ScoredGenerator, *, n: int = 20_000, seed: int = 1) -> bool:
    """Return whether what is drawn is as frequent as `log_prob` says, by a chi-squared test at 0.001."""
    sample = generator.sample(n, seed=seed)
    _, first, counts = np.unique(sample.texts, return_index=True, return_counts=True)
    expected = n * np.exp(generator.log_prob(sample)[first])
    common = expected >= 5
    assert common.sum() > 3
    observed = np.append(counts[common], counts[~common].sum())
    predicted = np.append(expected[common], n - expected[common].sum())
    if predicted[-1] < 1e-6 * n:
        assert observed[-1] == 0
        observed, predicted = observed[:-1], predicted[:-1] * (observed.sum() / predicted[:-1].sum())
    return bool(chisquare(observed, predicted).pvalue > 1e-3)
