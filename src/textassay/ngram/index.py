"""The n-gram index: an exact integer id for every n-gram of some corpora, and count matrices over these ids.

Ids are built order by order: an n-gram is the pair (id of its first n - 1 tokens, last token), and every distinct pair
gets the next free number, in order of appearance, so ids never collide. An n-gram is considered only if both
(n-1)-grams inside it were kept, which loses nothing: an n-gram occurs in at most as many texts as its parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, SOS, Vocabulary
from textassay.errors import OptionError
from textassay.ngram.kernels_index import count_by_text, grow, look_up

Ids = npt.NDArray[np.int32]


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
            prefixes, last_tokens, keys, values = grow(tokens, offsets, ids, order, min_sentences)
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
            look_up(corpus.tokens, corpus.offsets, ids[order - 1], ids[order], order, level.keys, level.values)
        return ids[1:]

    def prefixes(self, order: int) -> Ids:
        """Return the id, among n-grams of order - 1, of the prefix of each n-gram of `order`."""
        return self._orders[order - 1].prefixes

    def count_matrix(self, corpus: Corpus) -> csr_matrix:
        """Return the count of each n-gram of the index in each text, shape (N, n_features), float64, indices sorted.

        Features are ordered by n-gram order, then by id. Other n-grams are ignored.
        """
        ids = self.all_ids(corpus)
        data, indices, indptr = count_by_text(ids, corpus.offsets, self._firsts)
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
