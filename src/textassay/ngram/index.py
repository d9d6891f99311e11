"""The n-gram index: an exact integer id for every n-gram of some corpora, and count matrices over these ids.

Ids are built order by order: an n-gram is the pair (id of its first n - 1 tokens, last token), and every distinct pair
gets the next free number, in order of appearance, so ids never collide. An n-gram is considered only if both
(n-1)-grams inside it were kept, which loses nothing: an n-gram occurs in at most as many texts as its parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS, Vocabulary
from textassay.errors import OptionError

Ids = npt.NDArray[np.int32]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads consecutive keys over the table
_EMPTY = np.int64(-1)


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order: the parts of each, and a hash table (open addressing) from pair to id."""

    prefixes: Ids
    last_tokens: Ids
    keys: npt.NDArray[np.int64]
    values: Ids


class NgramIndex:
    """Exact integer ids of n-grams, created by `build`; `sizes` is the number of n-grams of each order."""

    def __init__(self, orders: Sequence[_Order], vocabulary: Vocabulary, min_sentences: int) -> None:
        self._orders = tuple(orders)
        self._vocabulary = vocabulary
        self._firsts = np.concatenate(([0], np.cumsum([len(order.prefixes) for order in orders], dtype=np.int64)))
        self.min_sentences = min_sentences
        self.max_order = len(self._orders)
        self.sizes = tuple(len(order.prefixes) for order in self._orders)

    def __repr__(self) -> str:
        return f"NgramIndex({self.n_features} n-grams of order 1 to {self.max_order})"

    @classmethod
    def build(cls, corpora: Sequence[Corpus], *, max_order: int, min_sentences: int = 1) -> "NgramIndex":
        """Return the index of the n-grams that occur in at least `min_sentences` texts of `corpora`."""
        vocabulary = corpora[0].vocabulary
        for corpus in corpora:
            _check_vocabulary(corpus, vocabulary)
        tokens = np.concatenate([corpus.tokens for corpus in corpora])
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        ids = np.zeros(len(tokens), dtype=np.int32)
        orders = []
        for order in range(1, max_order + 1):
            prefixes, last_tokens, keys, values = _grow(tokens, offsets, ids, order, min_sentences)
            orders.append(_Order(prefixes, last_tokens, keys, values))
        return cls(orders, vocabulary, min_sentences)

    @property
    def n_features(self) -> int:
        return int(self._firsts[-1])

    def all_ids(self, corpus: Corpus) -> Ids:
        """Return the id, below ``sizes[order - 1]``, of the n-gram of each order that starts at each token of `corpus`.

        Shape (max_order, T); -1 if the n-gram crosses the end of its text or is not in the index.
        """
        _check_vocabulary(corpus, self._vocabulary)
        ids = np.zeros((self.max_order + 1, len(corpus.tokens)), dtype=np.int32)  # row 0: the empty n-gram, id 0
        for order, level in enumerate(self._orders, start=1):
            _look_up(corpus.tokens, corpus.offsets, ids[order - 1], ids[order], order, level.keys, level.values)
        return ids[1:]

    def prefixes(self, order: int) -> Ids:
        """Return the id, among n-grams of order - 1, of the prefix of each n-gram of `order`."""
        return self._orders[order - 1].prefixes

    def count_matrix(self, corpus: Corpus) -> csr_matrix:
        """Return the count of each n-gram of the index in each text, shape (N, n_features), float64, indices sorted.

        Features are ordered by n-gram order, then by id. Other n-grams are ignored.
        """
        ids = self.all_ids(corpus)
        data, indices, indptr = _count(ids, corpus.offsets, self._firsts)
        return csr_matrix((data, indices, indptr), shape=(len(corpus), self.n_features))

    def token_ids(self, feature: int) -> list[int]:
        """Return the vocabulary's ids of the tokens of the n-gram of column `feature` of `count_matrix`."""
        order = int(np.searchsorted(self._firsts, feature, side="right"))
        number = feature - int(self._firsts[order - 1])
        reverse = []
        for level in self._orders[order - 1 :: -1]:
            reverse.append(int(level.last_tokens[number]))
            number = int(level.prefixes[number])
        return reverse[::-1]

    def text(self, feature: int) -> str:
        """Return the n-gram of column `feature` of `count_matrix`, its tokens joined by spaces."""
        return " ".join(self._vocabulary.decode(self.token_ids(feature)))


def mark_ends(corpus: Corpus) -> Corpus:
    """Return `corpus` with each text between a start and an end token."""
    n = len(corpus)
    offsets = corpus.offsets + 2 * np.arange(n + 1)
    tokens = np.empty(len(corpus.tokens) + 2 * n, dtype=np.int32)
    inner = np.ones(len(tokens), dtype=bool)
    inner[offsets[:-1]] = False
    inner[offsets[1:] - 1] = False
    tokens[offsets[:-1]] = SOS
    tokens[offsets[1:] - 1] = EOS
    tokens[inner] = corpus.tokens
    return Corpus(tokens, offsets, corpus.vocabulary, corpus.texts, tokenizer=corpus.tokenizer)


def _check_vocabulary(corpus: Corpus, vocabulary: Vocabulary) -> None:
    if corpus.vocabulary is not vocabulary:
        raise OptionError(
            "n-gram index: the corpora have different vocabularies; build them with one call of corpora_from_texts"
        )


@njit(cache=True, nogil=True)
def hashed(key):  # type: ignore[no-untyped-def]
    """Return 64 bits of `key`."""
    return np.uint64(key) * _MULTIPLIER


@njit(cache=True, nogil=True)
def slot_of(keys, key):  # type: ignore[no-untyped-def]
    """Return the slot of `key` in the table, or the empty slot for it."""
    mask = np.uint64(len(keys) - 1)
    mixed = hashed(key)
    slot = (mixed ^ (mixed >> np.uint64(32))) & mask
    while keys[slot] != key and keys[slot] != _EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True)
def _new_table(n_entries):  # type: ignore[no-untyped-def]
    size = 2
    while size < 2 * n_entries:
        size *= 2
    return np.full(size, _EMPTY, dtype=np.int64), np.full(size, -1, dtype=np.int32)


@njit(cache=True, nogil=True)
def _grow(tokens, offsets, ids, order, min_sentences):  # type: ignore[no-untyped-def]
    """Turn `ids` of order - 1, shape (T,), into ids of `order`, in place; return the new n-grams and their table."""
    n_candidates, largest = 0, -1
    for sentence in range(len(offsets) - 1):
        end = offsets[sentence + 1]
        for start in range(offsets[sentence], end):
            alive = start + order <= end and ids[start] >= 0 and (order == 1 or ids[start + 1] >= 0)
            n_candidates += alive
            largest = max(largest, tokens[start])
    if order == 1:
        n_candidates = min(n_candidates, largest + 1)
    keys, values = _new_table(n_candidates)
    prefixes = np.empty(n_candidates, dtype=np.int32)
    last_tokens = np.empty(n_candidates, dtype=np.int32)
    n_sentences = np.zeros(n_candidates, dtype=np.int32)
    last_sentence = np.full(n_candidates, -1, dtype=np.int32)
    n_ngrams = 0
    for sentence in range(len(offsets) - 1):
        end = offsets[sentence + 1]
        for start in range(offsets[sentence], end):
            if start + order > end or ids[start] < 0 or (order > 1 and ids[start + 1] < 0):
                ids[start] = -1
                continue
            token = tokens[start + order - 1]
            key = (np.int64(ids[start]) << 32) | np.int64(token)
            slot = slot_of(keys, key)
            if keys[slot] == _EMPTY:
                keys[slot] = key
                values[slot] = n_ngrams
                prefixes[n_ngrams] = ids[start]
                last_tokens[n_ngrams] = token
                n_ngrams += 1
            number = values[slot]
            if last_sentence[number] != sentence:
                last_sentence[number] = sentence
                n_sentences[number] += 1
            ids[start] = number
    if min_sentences <= 1:
        return prefixes[:n_ngrams].copy(), last_tokens[:n_ngrams].copy(), keys, values
    renumbered = np.full(n_ngrams, -1, dtype=np.int32)
    n_kept = 0
    for number in range(n_ngrams):
        if n_sentences[number] >= min_sentences:
            renumbered[number] = n_kept
            prefixes[n_kept] = prefixes[number]
            last_tokens[n_kept] = last_tokens[number]
            n_kept += 1
    for start in range(len(ids)):
        if ids[start] >= 0:
            ids[start] = renumbered[ids[start]]
    keys, values = _new_table(n_kept)
    for number in range(n_kept):
        key = (np.int64(prefixes[number]) << 32) | np.int64(last_tokens[number])
        slot = slot_of(keys, key)
        keys[slot] = key
        values[slot] = number
    return prefixes[:n_kept].copy(), last_tokens[:n_kept].copy(), keys, values


@njit(cache=True, nogil=True)
def _look_up(tokens, offsets, shorter, ids, order, keys, values):  # type: ignore[no-untyped-def]
    """Fill `ids` with the ids of n-grams of `order`, given those of order - 1 in `shorter`; both shape (T,)."""
    for sentence in range(len(offsets) - 1):
        end = offsets[sentence + 1]
        for start in range(offsets[sentence], end):
            if start + order > end or shorter[start] < 0 or (order > 1 and shorter[start + 1] < 0):
                ids[start] = -1
            else:
                key = (np.int64(shorter[start]) << 32) | np.int64(tokens[start + order - 1])
                ids[start] = values[slot_of(keys, key)]


@njit(cache=True, nogil=True)
def _count(ids, offsets, firsts):  # type: ignore[no-untyped-def]
    """Return data, indices and indptr of the count matrix of `ids`, shape (max_order, T).

    Texts are listed per feature first; reading features in order then fills every row with sorted columns and adjacent
    repeats.
    """
    n_orders, n_tokens = ids.shape
    n_sentences = len(offsets) - 1
    starts = np.zeros(firsts[-1] + 2, dtype=np.int64)
    for order in range(n_orders):
        for position in range(n_tokens):
            if ids[order, position] >= 0:
                starts[firsts[order] + ids[order, position] + 2] += 1
    for feature in range(2, len(starts)):
        starts[feature] += starts[feature - 1]
    listed = np.empty(starts[-1], dtype=np.int32)
    row_ends = np.zeros(n_sentences, dtype=np.int64)
    for order in range(n_orders):
        for sentence in range(n_sentences):
            for position in range(offsets[sentence], offsets[sentence + 1]):
                if ids[order, position] >= 0:
                    feature = firsts[order] + ids[order, position] + 1
                    listed[starts[feature]] = sentence
                    starts[feature] += 1
    for feature in range(firsts[-1]):
        for entry in range(starts[feature], starts[feature + 1]):
            if entry == starts[feature] or listed[entry] != listed[entry - 1]:
                row_ends[listed[entry]] += 1
    indptr = np.zeros(n_sentences + 1, dtype=np.int64)
    for sentence in range(n_sentences):
        indptr[sentence + 1] = indptr[sentence] + row_ends[sentence]
        row_ends[sentence] = indptr[sentence] - 1
    data = np.zeros(indptr[-1], dtype=np.float64)
    indices = np.empty(indptr[-1], dtype=np.int32)
    for feature in range(firsts[-1]):
        for entry in range(starts[feature], starts[feature + 1]):
            sentence = listed[entry]
            if entry == starts[feature] or sentence != listed[entry - 1]:
                row_ends[sentence] += 1
                indices[row_ends[sentence]] = feature
            data[row_ends[sentence]] += 1.0
    return data, indices, indptr
