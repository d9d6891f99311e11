"""Phrases of any length that a generator repeats from text to text, such as "I hope this helps !" in 80 %.

A phrase starts as an n-gram of 2 to 4 tokens that occurs in at least `FREQUENT` of the generated texts, significantly
more often than in real ones and at least `TIMES` as often, and grows on both sides while `KEPT` of its texts share the
next token. Unlike n-grams, phrases are not pruned as redundant: only a seed that shares two neighbouring tokens with a
listed phrase is skipped.
"""

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from textassay.comparison.explanation import DiscriminativeNgram
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS

FREQUENT = 0.05
TIMES = 5
KEPT = 0.9
MAX_TOKENS = 40
_MOST = 5

IntArray = npt.NDArray[np.int64]


def find_boilerplate(
    real: Corpus, generated: Corpus, seeds: Iterable[tuple[list[int], float]]
) -> tuple[DiscriminativeNgram, ...]:  # fmt: skip
    """Return the phrases that grow from `seeds`, the most frequent first, at most five."""
    texts = np.repeat(np.arange(len(generated)), generated.lengths)
    phrases: list[DiscriminativeNgram] = []
    listed: list[list[int]] = []
    for seed, p_adjusted in seeds:
        if len(phrases) == _MOST:
            break
        if _n_words(seed, generated) < 2 or any(_overlaps(seed, phrase) for phrase in listed):
            continue
        phrase = _grown(seed, generated, texts)
        listed.append(phrase)
        trimmed = _without_leading_signs(phrase, generated)
        n_real, n_generated = (_n_texts(trimmed, corpus) for corpus in (real, generated))
        phrases.append(
            DiscriminativeNgram(
                ngram=" ".join(generated.vocabulary.decode(trimmed)),
                order=len(trimmed),
                n_real=n_real,
                n_generated=n_generated,
                share_real=n_real / len(real),
                share_generated=n_generated / len(generated),
                p_adjusted=p_adjusted,
            )
        )
    return tuple(sorted(phrases, key=lambda phrase: -phrase.n_generated))


def _grown(seed: list[int], corpus: Corpus, texts: IntArray) -> list[int]:
    """Return the longest phrase around `seed` that most of its texts share."""
    starts = _places(seed, corpus)
    n_least = KEPT * len(np.unique(texts[starts]))
    phrase = list(seed)
    growing = True
    while growing and len(phrase) < MAX_TOKENS:
        growing = False
        for on_the_right in (True, False):
            if phrase[-1 if on_the_right else 0] in (EOS, SOS):
                continue
            beside = corpus.tokens[starts + len(phrase)] if on_the_right else corpus.tokens[starts - 1]
            pairs = np.unique(np.stack([beside.astype(np.int64), texts[starts]]), axis=1)
            tokens, n_texts = np.unique(pairs[0], return_counts=True)
            if n_texts.max() >= n_least:
                token = int(tokens[np.argmax(n_texts)])
                starts = starts[beside == token] - (not on_the_right)
                phrase = [*phrase, token] if on_the_right else [token, *phrase]
                growing = True
    return phrase


def _places(phrase: list[int], corpus: Corpus) -> IntArray:
    """Return where `phrase` starts in the tokens of `corpus`."""
    n_starts = max(0, len(corpus.tokens) - len(phrase) + 1)
    matches = np.ones(n_starts, dtype=bool)
    for place, token in enumerate(phrase):
        matches &= corpus.tokens[place : place + n_starts] == token
    return np.flatnonzero(matches)


def _n_texts(phrase: list[int], corpus: Corpus) -> int:
    """Return the number of texts that contain `phrase`."""
    return len(np.unique(np.searchsorted(corpus.offsets, _places(phrase, corpus), side="right")))


def _n_words(phrase: list[int], corpus: Corpus) -> int:
    return sum(_is_word(token, corpus) for token in phrase)


def _is_word(token: int, corpus: Corpus) -> bool:
    return token not in (SOS, EOS) and any(map(str.isalnum, corpus.vocabulary.decode([token])[0]))


def _without_leading_signs(phrase: list[int], corpus: Corpus) -> list[int]:
    """Return `phrase` without leading punctuation, which ends the sentence before it."""
    while phrase[0] != SOS and not _is_word(phrase[0], corpus):
        phrase = phrase[1:]
    return phrase


def _overlaps(seed: list[int], phrase: list[int]) -> bool:
    """Return whether two neighbours of `seed` are neighbours in `phrase`, too."""
    return not set(itertools.pairwise(seed)).isdisjoint(itertools.pairwise(phrase))
