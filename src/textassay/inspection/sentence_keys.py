"""Sentence keys: one 64-bit hash per text, equal for equal token sequences, to count repeated and shared texts.

The key is the sum over positions of a random number of the token times a random odd number of the position (multilinear
hashing, modulo 2^64): among a million distinct texts two share a key with a probability of about one in ten million.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from textassay.corpus.corpus import Corpus
from textassay.seeding import stream

Keys = npt.NDArray[np.uint64]
_MAX_WORD = np.iinfo(np.uint64).max
_BLOCK = 1 << 16  # texts or keys handled at once


def sentence_keys(corpus: Corpus) -> Keys:
    """Return one key per text, shape (N,); comparable between corpora that share a vocabulary."""
    words = _random_words("tokens", _power_of_two(len(corpus.vocabulary)))
    odd = _random_words("positions", _power_of_two(int(corpus.lengths.max(initial=1)) + 1)) | np.uint64(1)
    keys = np.empty(len(corpus), dtype=np.uint64)
    for start in range(0, len(corpus), _BLOCK):
        offsets, lengths = corpus.offsets[start : start + _BLOCK + 1], corpus.lengths[start : start + _BLOCK]
        starts, tokens = offsets - offsets[0], corpus.tokens[offsets[0] : offsets[-1]]
        positions = np.arange(len(tokens)) - np.repeat(starts[:-1], lengths)
        terms = words[tokens] * odd[positions]
        totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)))
        keys[start : start + _BLOCK] = totals[starts[1:]] - totals[starts[:-1]] + odd[lengths]
    return keys


def beginning_keys(corpus: Corpus, n_tokens: int) -> Keys:
    """Return one key per text of its first `n_tokens`, as `sentence_keys`, shape (N,); 0 for shorter texts."""
    words = _random_words("tokens", _power_of_two(len(corpus.vocabulary)))
    odd = _random_words("positions", _power_of_two(n_tokens)) | np.uint64(1)
    long = corpus.lengths >= n_tokens
    keys = np.zeros(len(corpus), dtype=np.uint64)
    for place in range(n_tokens):
        keys[long] += words[corpus.tokens[corpus.offsets[:-1][long] + place]] * odd[place]
    return keys


def pair_keys(corpus: Corpus, first: int, last: int) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Return a key of each pair of adjacent tokens, marks of the ends among them, and where those of each text start.

    Of the texts from `first` to `last`, that one not among them; every text has a pair, the empty one too.
    """
    words = _random_words("tokens", _power_of_two(len(corpus.vocabulary)))
    end, second, mixing = _random_words("pairs", 4)[:3] | np.uint64(1)
    offsets = corpus.offsets[first : last + 1]
    n_texts = len(offsets) - 1
    starts = offsets - offsets[0] + np.arange(n_texts + 1)
    marked = np.empty(starts[-1] + 1, dtype=np.uint64)
    marked[starts] = end
    is_token = np.ones(len(marked), dtype=np.bool_)
    is_token[starts] = False
    marked[is_token] = words[corpus.tokens[offsets[0] : offsets[-1]]]
    keys = marked[:-1] + marked[1:] * second
    keys = (keys ^ (keys >> np.uint64(31))) * mixing
    return keys ^ (keys >> np.uint64(29)), starts[:-1]


def occurs_in(keys: Keys, others: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key whether it is among `others`, shape (N,)."""
    return _among(keys, np.sort(others))


def occurs_elsewhere(keys: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key whether another text of the same corpus has it, shape (N,)."""
    ordered = np.sort(keys)
    return _among(keys, ordered[1:][ordered[1:] == ordered[:-1]])


def _among(keys: Keys, ordered: Keys) -> npt.NDArray[np.bool_]:
    """Return for each key whether it is among `ordered`, which is ascending."""
    mask = np.zeros(len(keys), dtype=np.bool_)
    if len(ordered):
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            places = np.minimum(np.searchsorted(ordered, block), len(ordered) - 1)
            mask[start : start + _BLOCK] = ordered[places] == block
    return mask


def n_distinct(keys: Keys) -> int:
    ordered = np.sort(keys)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(len(keys))


def expected_repeats(keys: Keys, n_drawn: int) -> float:
    """Return the expected share of repeats, in [0, 1), among `n_drawn` texts drawn from `keys` without replacement.

    Repeats become more frequent as a corpus grows, so corpora of different sizes are compared at the smaller size. A
    text that occurs c times among N is missing from the draw with probability C(N - c, n) / C(N, n).

    `keys`: shape (N,), N at least 1; `n_drawn`: from 1 to N; at N the result is ``1 - n_distinct / N``.
    """
    n_keys = len(keys)
    counts = np.unique(np.unique(keys, return_counts=True)[1], return_counts=True)
    copies, n_types = counts[0].astype(np.float64), counts[1]
    rest = n_keys - copies
    possible = rest >= n_drawn
    log_missing = np.full(len(copies), -np.inf)
    log_missing[possible] = (
        gammaln(rest[possible] + 1)
        - gammaln(rest[possible] - n_drawn + 1)
        - gammaln(n_keys + 1)
        + gammaln(n_keys - n_drawn + 1)
    )
    n_distinct = float(np.sum(n_types * -np.expm1(np.minimum(log_missing, 0.0))))
    return min(max(1.0 - n_distinct / n_drawn, 0.0), 1.0)


@lru_cache(maxsize=8)
def _random_words(purpose: str, size: int) -> Keys:
    words = stream(0, "sentence-keys", purpose).integers(0, _MAX_WORD, size=size, dtype=np.uint64, endpoint=True)
    words.flags.writeable = False
    return words


def _power_of_two(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()
