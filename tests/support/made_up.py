"""A made-up language whose sentences depend on word order, for tests that need text without having any."""

from functools import cache

import numpy as np

WORDS = [f"{onset}{rest}" for onset in "bdfgklmnprstvz" for rest in ("a", "en", "ir", "olo", "ut")]


def sentences(n: int, seed: int, *, shift: float = 0.0) -> list[str]:
    """Return `n` sentences of a bigram language; `shift` in [0, 1] moves its word frequencies."""
    return list(_sentences(n, seed, shift))


@cache  # hundreds of tests ask for the same few
def _sentences(n: int, seed: int, shift: float) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    n_words = len(WORDS)
    weights = 1.0 / np.arange(1, n_words + 1)
    weights = (1 - shift) * weights + shift * weights[::-1]
    follows = np.random.default_rng(0).permuted(np.tile(np.arange(n_words), (n_words, 1)), axis=1)
    cumulative = np.cumsum(weights / weights.sum())
    text = []
    for _ in range(n):
        length = 3 + rng.poisson(4)
        word = 0
        tokens = []
        for rank in np.minimum(np.searchsorted(cumulative, rng.random(length)), n_words - 1):
            word = int(follows[word, rank])
            tokens.append(WORDS[word])
        text.append(" ".join([*tokens, "."]))
    return tuple(text)


def shuffled(texts: list[str], seed: int) -> list[str]:
    """Return each sentence with its words, but for the final full stop, in random order."""
    return list(_shuffled(tuple(texts), seed))


@cache
def _shuffled(texts: tuple[str, ...], seed: int) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    return tuple(" ".join([*rng.permutation(text.split()[:-1]), "."]) for text in texts)
