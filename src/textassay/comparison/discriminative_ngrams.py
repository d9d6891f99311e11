"""Discriminative n-grams: words and n-grams that occur in more texts of one side than of the other; repeated phrases.

Every n-gram of order 1 to 4, ends of texts as tokens, that occurs in at least `MIN_SENTENCES` texts of both sides
together is tested by Fisher's exact test. The total count does not depend on the side, so leaving out rare n-grams
costs no validity. P-values are adjusted over all tests for the false discovery rate.

N-grams are ordered by their likelihood ratio. A redundant one is left out: given which texts contain an n-gram that is
already listed, less than half of its evidence remains. So of "bathroom", "a bathroom" and "in a bathroom" one is
listed, unless the longer ones carry more evidence than the word itself.

A phrase that a generator repeats from text to text, such as "I hope this helps !" in 80 %, starts as an n-gram of 2 to
4 tokens that occurs in at least `FREQUENT` of the generated texts, significantly more often than in real ones and at
least `TIMES` as often, and grows on both sides while `KEPT` of its texts share the next token. Unlike n-grams, phrases
are not pruned as redundant: only a seed that shares two neighbouring tokens with a listed phrase is skipped. A phrase
has the p-value of its own counts, adjusted together with the n-grams; how it grew only makes it longer, and rarer.

Sources: Benjamini and Hochberg, "Controlling the False Discovery Rate", Journal of the Royal Statistical Society B 57,
1995, by SciPy; Dunning, "Accurate Methods for the Statistics of Surprise and Coincidence", 1993.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.stats import false_discovery_control

from textassay.comparison.explanation import DiscriminativeNgram
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS
from textassay.ngram.index import NgramIndex, mark_ends
from textassay.resampling.proportions import fisher_p_values, signed_likelihood_ratios

Counts = npt.NDArray[np.int64]

MAX_ORDER = 4
MIN_SENTENCES = 10  # below, even an n-gram of one side alone could hardly be significant among thousands
_LEFT = 0.5  # share of its evidence that an n-gram must keep given those listed before it

FREQUENT = 0.05
TIMES = 5
KEPT = 0.9
MAX_TOKENS = 40
_MOST = 5

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NgramLists:
    """N-grams more frequent in generated and in real texts, the number tested, and boilerplate phrases."""

    more_generated: tuple[DiscriminativeNgram, ...]
    more_real: tuple[DiscriminativeNgram, ...]
    n_tested: int
    boilerplate: tuple[DiscriminativeNgram, ...] = ()


def find_discriminative_ngrams(real: Corpus, generated: Corpus, *, level: float, top: int) -> NgramLists:
    """Return the n-grams that separate the two sides most, at most `top` for each side."""
    marked = [mark_ends(corpus) for corpus in (real, generated)]
    index = NgramIndex.build(marked, max_order=MAX_ORDER, min_sentences=MIN_SENTENCES)
    if index.n_features == 0:
        return NgramLists((), (), 0)
    presences = [index.count_matrix(corpus) for corpus in marked]
    counts = [np.bincount(side.indices, minlength=index.n_features) for side in presences]
    sizes = [len(real), len(generated)]
    raw = fisher_p_values(counts[0], sizes[0], counts[1], sizes[1])
    p_values = false_discovery_control(raw)
    evidence = signed_likelihood_ratios(counts[0], sizes[0], counts[1], sizes[1])
    orders = np.repeat(np.arange(1, MAX_ORDER + 1), index.sizes)

    def listed(sign: float) -> tuple[DiscriminativeNgram, ...]:
        candidates = np.flatnonzero((p_values < 1 - level) & (sign * evidence > 0))
        chosen = _most_telling([side[:, candidates] for side in presences], sign, top)
        return tuple(
            DiscriminativeNgram(
                ngram=index.text(feature),
                order=int(orders[feature]),
                n_real=int(counts[0][feature]),
                n_generated=int(counts[1][feature]),
                share_real=float(counts[0][feature] / sizes[0]),
                share_generated=float(counts[1][feature] / sizes[1]),
                p_adjusted=float(p_values[feature]),
            )
            for feature in candidates[chosen].tolist()
        )

    shares = [count / size for count, size in zip(counts, sizes, strict=True)]
    frequent = (p_values < 1 - level) & (shares[1] >= FREQUENT) & (shares[1] >= TIMES * shares[0]) & (orders > 1)
    seeds = np.flatnonzero(frequent)
    seeds = seeds[np.lexsort((-orders[seeds], -counts[1][seeds]))]
    phrases = find_boilerplate(marked[0], marked[1], map(index.token_ids, seeds.tolist()), others=raw)
    return NgramLists(listed(-1.0), listed(1.0), index.n_features, phrases)


def _most_telling(presences: list[csr_matrix], sign: float, top: int) -> list[int]:
    """Return the columns of `presences` to list, the most discriminative first; ties by column number.

    `presences`: of real and of generated texts, shapes (n_real, n_candidates) and (n_generated, n_candidates), with an
    entry where a text contains an n-gram.
    """
    n_candidates = presences[0].shape[1]
    sizes = [side.shape[0] for side in presences]
    counts = [np.bincount(side.indices, minlength=n_candidates) for side in presences]
    by_ngram = [side.tocsc() for side in presences]
    evidence = sign * signed_likelihood_ratios(counts[0], sizes[0], counts[1], sizes[1])
    is_candidate = np.ones(n_candidates, dtype=bool)
    chosen: list[int] = []
    for candidate in np.argsort(-evidence, kind="stable").tolist():
        if len(chosen) == top:
            break
        if not is_candidate[candidate]:
            continue
        chosen.append(candidate)
        rows = [side.indices[side.indptr[candidate] : side.indptr[candidate + 1]] for side in by_ngram]
        inside = [
            np.bincount(side[held].indices, minlength=n_candidates) for side, held in zip(presences, rows, strict=True)
        ]
        n_inside = [len(held) for held in rows]
        remaining_evidence = signed_likelihood_ratios(
            inside[0], n_inside[0], inside[1], n_inside[1]
        ) + signed_likelihood_ratios(
            counts[0] - inside[0], sizes[0] - n_inside[0], counts[1] - inside[1], sizes[1] - n_inside[1]
        )
        is_candidate &= sign * remaining_evidence >= _LEFT * evidence
    return chosen


def find_boilerplate(
    real: Corpus, generated: Corpus, seeds: Iterable[list[int]], *, others: npt.NDArray[np.float64]
) -> tuple[DiscriminativeNgram, ...]:
    """Return the phrases that grow from `seeds`, the most frequent first, at most five.

    `others`: the p-values of the n-grams that were tested, with which those of the phrases are adjusted.
    """
    texts = np.repeat(np.arange(len(generated)), generated.lengths)
    listed: list[list[int]] = []
    for seed in seeds:
        if len(listed) == _MOST:
            break
        if _n_words(seed, generated) < 2 or any(_overlaps(seed, phrase) for phrase in listed):
            continue
        listed.append(_grown(seed, generated, texts))
    trimmed = [_without_leading_signs(phrase, generated) for phrase in listed]
    counts = [np.array([_n_texts(phrase, side) for phrase in trimmed], dtype=np.int64) for side in (real, generated)]
    own = fisher_p_values(counts[0], len(real), counts[1], len(generated))
    adjusted = false_discovery_control(np.concatenate([others, own]))[len(others) :]
    phrases = [
        DiscriminativeNgram(
            ngram=" ".join(generated.vocabulary.decode(phrase)),
            order=len(phrase),
            n_real=int(n_real),
            n_generated=int(n_generated),
            share_real=float(n_real / len(real)),
            share_generated=float(n_generated / len(generated)),
            p_adjusted=float(p),
        )
        for phrase, n_real, n_generated, p in zip(trimmed, *counts, adjusted, strict=True)
    ]
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
