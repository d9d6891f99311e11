"""A prior of English: what general counts of words and word pairs, and a text's style, say of it.

A classifier that has seen a thousand texts knows few pairs of words. Which pairs English has is known from elsewhere,
and a generator that joins words as nobody does is found out by them. The columns need no training text; they are the
same for texts of both sides, whether a classifier learns from a text or is tested on it.

Sources: counts of the package wordsegment, from Norvig, "Natural Language Corpus Data", in Segaran and Hammerbacher
(eds.), Beautiful Data, 2009: 333,333 words and 286,358 pairs of Google's web text of 2006; word rarity of wordfreq:
Speer, "rspeer/wordfreq", Zenodo 7199437; style: Stamatatos, "A survey of modern authorship attribution methods",
JASIST 2009.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COLUMN = "prior"  # of corpora, shape (N, n_columns)
_FEWEST = 1e4  # of the pairs that are counted, the rarest occurs so often
_RARITIES = (0.0, 2.5, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 9.0)  # bounds of Zipf frequencies that are counted apart
_RATIOS = (-np.inf, 0.0, 1.5, 3.0, 4.5, 6.0, np.inf)  # bounds of log-ratios of pairs to what chance would give
_MISSING = (0.0, 1.5, 3.0, 4.5, np.inf)  # and of how often, in nats over the fewest, a pair would be that is never used
_NEITHER = re.compile(r"[\W_]+")
_BREAKS = re.compile(r"[,.;:!?()\[\]\"\u201c\u201d\u2013\u2014]|--")


@dataclass(frozen=True)
class _English:
    """Counts of words and pairs of words."""

    places: dict[str, int]  # of words
    log_probs: FloatArray  # (n_words,)
    log_counts: FloatArray  # (n_words,)
    pairs: IntArray  # first * n_words + second, sorted
    log_pairs: FloatArray  # logarithms of their counts
    zipf: Callable[[str], float]  # of a word as it is written


@lru_cache(maxsize=1)
def _english() -> _English:
    from wordfreq import zipf_frequency
    from wordsegment import Segmenter

    counts = Segmenter()
    counts.load()
    places = {word: place for place, word in enumerate(counts.unigrams)}
    words = np.log(np.fromiter(counts.unigrams.values(), np.float64))
    codes, values = [], []
    for pair, count in counts.bigrams.items():
        first, second = (places.get(word) for word in pair.split(" "))
        if first is not None and second is not None:
            codes.append(first * len(places) + second)
            values.append(count)
    order = np.argsort(codes)
    return _English(
        places,
        words - np.log(counts.total),
        words,
        np.array(codes, dtype=np.int64)[order],
        np.log(np.array(values, dtype=np.float64))[order],
        lambda word: zipf_frequency(word, "en"),
    )


def with_counts(corpus: Corpus) -> Corpus:
    """Return `corpus` with the column `COLUMN`."""
    english = _english()
    n = len(corpus)
    rows = np.repeat(np.arange(n), corpus.lengths)
    types, tokens = np.unique(corpus.tokens, return_inverse=True)
    words = [corpus.vocabulary.tokens[number] for number in types.tolist()]

    def total(values: npt.NDArray[np.floating | np.bool_], of: IntArray = rows) -> FloatArray:
        return np.asarray(np.bincount(of, weights=values, minlength=n), dtype=np.float64)

    columns, per_pair = _pairs(english, words, tokens, rows, total)
    columns += _rarity(english, words, tokens, rows, total)
    columns += _style(corpus, words, tokens, rows, total)
    lengths = np.maximum(corpus.lengths, 1)
    values = np.column_stack([*columns, *(column / lengths for column in per_pair)])
    return replace(corpus, columns={**corpus.columns, COLUMN: values})


Total = Callable[..., FloatArray]


def _pairs(
    english: _English, words: list[str], tokens: IntArray, rows: IntArray, total: Total
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the columns of adjacent words between which no mark stands, and two of them for an average token."""
    places = np.array([english.places.get(_NEITHER.sub("", word.lower()), -1) for word in words], dtype=np.int64)
    breaks = np.array([_BREAKS.search(word) is not None for word in words], dtype=np.bool_)
    first, second = tokens[:-1], tokens[1:]
    counted = (rows[:-1] == rows[1:]) & (places[first] >= 0) & (places[second] >= 0) & ~breaks[first]
    first, second, own = places[first[counted]], places[second[counted]], rows[1:][counted]
    codes = first * len(english.places) + second
    where = np.searchsorted(english.pairs, codes).clip(max=len(english.pairs) - 1)
    known = english.pairs[where] == codes
    expected = english.log_counts[first] + english.log_probs[second]  # of the count, if words were independent
    ratios = np.where(known, english.log_pairs[where] - expected, 0.0)
    missing = np.where(known, 0.0, np.maximum(0.0, expected - np.log(_FEWEST)))
    sums = [total(values, own) for values in (ratios, missing, missing**2)]
    used = [total(known & (low < ratios) & (ratios <= high), own) for low, high in pairwise(_RATIOS)]
    unused = [total(~known & (low < missing) & (missing <= high), own) for low, high in pairwise(_MISSING)]
    return [*sums, *used, *unused, total(~known & (missing == 0), own)], sums[:2]


def _rarity(english: _English, words: list[str], tokens: IntArray, rows: IntArray, total: Total) -> list[FloatArray]:
    """Return the columns of how rare words are."""
    is_word = np.array([any(map(str.isalnum, word)) for word in words], dtype=np.bool_)
    rarity = np.array([english.zipf(word) if is_word[place] else 0.0 for place, word in enumerate(words)])
    own, there = rarity[tokens], is_word[tokens]
    n_words = np.maximum(total(there), 1)
    sums = [total(own), total(own**2)]
    bands = [total(there & (own <= 0))]
    bands += [total(there & (own > low) & (own <= high)) for low, high in pairwise(_RARITIES)]
    rarest = np.full(len(n_words), 9.0)
    np.minimum.at(rarest, rows[there], own[there])
    return [*sums, *bands, *(column / n_words for column in sums), rarest]


def _style(corpus: Corpus, words: list[str], tokens: IntArray, rows: IntArray, total: Total) -> list[FloatArray]:
    """Return the columns of marks, forms of words, and repetition."""
    features: list[Callable[[str], float]] = [
        len,
        lambda word: not any(map(str.isalnum, word)),
        lambda word: word[-1:] in tuple(".!?"),
        lambda word: word.endswith(","),
        lambda word: word.endswith("!"),
        lambda word: word.endswith("?"),
        lambda word: "'" in word or "\u2019" in word,
        lambda word: any(mark in word for mark in "-;:()"),
        lambda word: any(mark in word for mark in '"\u201c\u201d`') or word == "''",
        lambda word: any(map(str.isdigit, word)),
        lambda word: word[:1].isupper(),
        lambda word: len(word) > 1 and word.isupper(),
        lambda word: word.endswith("ing"),
        lambda word: word.endswith("ed"),
        lambda word: word.endswith("ly"),
        lambda word: len(word) > 2 and word.endswith("s"),
        lambda word: len(word) >= 8,
    ]
    columns = [total(np.array([feature(word) for word in words], dtype=np.float64)[tokens]) for feature in features]
    lengths = np.maximum(corpus.lengths, 1)
    n = len(corpus)
    texts_types = np.unique(rows * max(len(words), 1) + tokens)
    distinct = np.bincount(texts_types // max(len(words), 1), minlength=n)
    inside = rows[:-1] == rows[1:]
    firsts = np.searchsorted(texts_types, (rows * len(words) + tokens)[:-1][inside])
    _, where = np.unique(firsts * max(len(words), 1) + tokens[1:][inside], return_index=True)
    of_pairs = rows[1:][inside]
    repeated_pairs = np.bincount(of_pairs, minlength=n) - np.bincount(of_pairs[where], minlength=n)
    adjacent = total((tokens[:-1] == tokens[1:])[inside], of_pairs)
    ends = np.array([word[-1:] in tuple(".!?") for word in words], dtype=np.float64)
    full = np.flatnonzero(corpus.lengths)
    closed = np.zeros(n)
    closed[full] = ends[tokens[corpus.offsets[1:][full] - 1]]
    repeats = np.stack([corpus.lengths - distinct, repeated_pairs]).astype(np.float64)
    return [*columns, columns[0] / lengths, distinct / lengths, *repeats, adjacent, closed]
