"""Latent semantic analysis of words, word n-grams and character n-grams.

It encodes texts that it was fitted to differently from new ones, so the encoders ``lsa`` and ``lsa+lm`` cross-fit it
(`textassay.embedding.encoder`).

Sources: Deerwester et al., "Indexing by Latent Semantic Analysis", JASIS 1990; Halko, Martinsson, Tropp, "Finding
Structure with Randomness", SIAM Review 2011, algorithm 4.4 (the leading singular vectors, by randomised subspace
iteration); the subword n-grams of Bojanowski et al., "Enriching Word Vectors with Subword Information", TACL 2017.
Departs from them: weights are (1 + ln count) x inverse document frequency; word n-grams are terms, too; a word is the
sum of itself and its character n-grams, so that unseen words have vectors; these n-grams are exact instead of hashed,
weighted by inverse frequency among words, and not trained; columns are orthonormalised by their Gram matrix, twenty
times as fast as by Householder reflections.
Own code since scikit-learn's `randomized_svd` needs the product of the factors, and is four to six times as slow; and
its `TfidfVectorizer`, which gives the same to 1e-15, takes 1 s to load and twice as long.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError
from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.ngram.index import NgramIndex
from textassay.seeding import uniforms

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Float = TypeVar("Float", np.float32, np.float64)

_DIMENSIONS = 128
_MAX_ORDER = 2  # of word n-grams
_CHARACTER_ORDERS = (2, 4)
_CHARACTER_WEIGHT = 0.6  # of a word's character n-grams; the rest is of the word itself
_MOST = 100_000  # texts learnt from
_BLOCK = 1 << 15  # texts encoded at once
_OVERSAMPLING = 16  # additional random directions
_ITERATIONS = 3  # products with the matrix and its transpose before the last one
_NOISE = 1e-13  # directions whose squared length is below this share of the longest are rounding errors
_ROWS = 2048  # of a matrix, multiplied at once
_START, _END = 0x110000, 0x110001  # around a word: no character has these codes


class LatentSemanticEncoder:
    """Latent semantic analysis of words, word n-grams and the characters inside words."""

    reads_columns = False

    def __init__(self, dimensions: int = _DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.name = "lsa-plain" if dimensions == _DIMENSIONS else f"lsa-plain(dimensions={dimensions})"

    def fit(self, real: Corpus) -> "FittedLatentSemantic":
        if len(real) == 0:
            raise EmptyCorpusError("lsa needs at least one real text to learn from, got 0")
        learnt = evenly_spread(real, _MOST)
        weighting = _Weighting(learnt)
        words, word_rows, ngram_rows = weighting.rows(learnt)
        matrix = TermMatrix(word_rows, ngram_rows, weighting.own[words], weighting.profiles(words))
        directions = top_directions(
            matrix, _random_columns(learnt, min(self.dimensions + _OVERSAMPLING, len(learnt))), self.dimensions
        )
        settings = {
            "encoder": f"lsa-plain({self.dimensions})",
            "terms": f"words 1-{weighting.max_order}+chars {'-'.join(map(str, _CHARACTER_ORDERS))}",
            "fit": str(len(learnt)),
        }
        terms = {
            "character_orders": _CHARACTER_ORDERS,
            "character_weight": _CHARACTER_WEIGHT,
            "dimensions": self.dimensions,
            "max_order": _MAX_ORDER,
            "most": _MOST,
        }
        content = f"{list(terms.items())} {real.fingerprint}"
        return FittedLatentSemantic(
            hashlib.blake2b(content.encode(), digest_size=16).hexdigest(), settings, weighting, words, directions
        )


class FittedLatentSemantic:
    """Texts as vectors in the leading directions of real text."""

    reads_columns = False
    costly = False

    def __init__(
        self, key: str, settings: Mapping[str, str], weighting: "_Weighting", words: IntArray, directions: "Terms"
    ) -> None:
        self.key = key
        self.settings = {**settings, "encoder": f"{settings['encoder']}:{key[:8]}"}
        self._weighting = weighting
        self._places = np.full(len(weighting.vocabulary), -1)
        self._places[words] = np.arange(len(words))
        self._words = (weighting.own[words, None] * directions.words).astype(np.float32)
        self._ngrams = directions.ngrams.astype(np.float32)
        self._characters = directions.characters.astype(np.float32)

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, d + 1), float32, of length 1.

        The last number is 1 for a text without any known term, such as an empty one, and 0 for all others: a zero
        vector would be nearer to every text than texts are to one another.
        """
        vectors = np.zeros((len(corpus), self._ngrams.shape[1] + 1), dtype=np.float32)
        for start in range(0, len(corpus), _BLOCK):
            block = corpus.take(np.arange(start, min(start + _BLOCK, len(corpus))))
            words, word_rows, ngram_rows = self._weighting.rows(block)
            places = self._places[words]
            of_words = times(self._weighting.profiles(words), self._characters)
            of_words[places >= 0] += self._words[places[places >= 0]]
            sums = times(word_rows, of_words) + times(ngram_rows, self._ngrams)
            lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums, dtype=np.float64))[:, None]
            known = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
            vectors[start : start + len(block)] = np.hstack([known, lengths == 0])
        return vectors


class _Weighting:
    """The terms of real text and their weights."""

    def __init__(self, real: Corpus) -> None:
        self.vocabulary = real.vocabulary
        self.max_order = _MAX_ORDER + (0 if real.separator else 2)
        self._index = NgramIndex.build([real], max_order=self.max_order, min_sentences=2)
        words, word_counts = _words(real)
        frequency = np.zeros(len(self.vocabulary), dtype=np.int64)
        frequency[words] = np.bincount(word_counts.indices, minlength=len(words))
        self._word_idf = inverse_document_frequency(frequency, len(real))
        ngram_counts = self._ngrams(real)
        in_ngrams = np.bincount(ngram_counts.indices, minlength=ngram_counts.shape[1])
        self._ngram_idf = inverse_document_frequency(in_ngrams, len(real))
        self._characters = _CharacterGrams(self.vocabulary.decode(words))
        # a word of one text has its character n-grams only, like an unseen word
        self.own = np.sqrt(1 - _CHARACTER_WEIGHT) * (frequency > 1)

    def rows(self, corpus: Corpus) -> tuple[IntArray, csr_matrix, csr_matrix]:
        """Return the distinct words, and the weights of words and n-grams in each text, normalised to length 1.

        Words are ordered by first appearance, so that sums do not depend on the rest of the vocabulary.
        """
        words, counts = _words(corpus)
        word_rows = tfidf(counts, self._word_idf[words])
        ngram_rows = tfidf(self._ngrams(corpus), self._ngram_idf)
        lengths = np.hypot(row_lengths(word_rows), row_lengths(ngram_rows))
        for rows in (word_rows, ngram_rows):
            rows.data /= np.repeat(lengths, np.diff(rows.indptr))
        return words, word_rows, ngram_rows

    def profiles(self, words: IntArray) -> csr_matrix:
        return self._characters.profiles(self.vocabulary.decode(words)) * float(np.sqrt(_CHARACTER_WEIGHT))

    def _ngrams(self, corpus: Corpus) -> csr_matrix:
        ids = self._index.all_ids(corpus)[1:].astype(np.int64)
        sizes = self._index.sizes[1:]
        firsts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))
        ids = np.where(ids >= 0, ids + firsts[:-1, None], -1)
        return count_matrix(ids.T.ravel(), corpus.offsets * len(ids), int(firsts[-1]))


def _words(corpus: Corpus) -> tuple[IntArray, csr_matrix]:
    """Return the distinct tokens, by first appearance, and their counts in each text."""
    distinct, firsts, places = np.unique(corpus.tokens, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return distinct[order].astype(np.int64), count_matrix(ranks[places], corpus.offsets, len(distinct))


def evenly_spread(corpus: Corpus, most: int) -> Corpus:
    """Return `corpus`, or `most` of its texts, evenly spaced, if it has more."""
    if len(corpus) <= most:
        return corpus
    return corpus.take(np.arange(most) * len(corpus) // most)


def _random_columns(corpus: Corpus, n_columns: int) -> FloatArray:
    """Return random numbers, shape (N, n_columns), that depend on each text, not on its position."""
    numbers = [
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest())
        for text in corpus.texts
    ]
    sentences = np.array(numbers, dtype=np.int64)
    return np.stack([uniforms(0, sentences, position) - 0.5 for position in range(n_columns)], axis=1)


class Terms(NamedTuple):
    """One matrix per kind of term: words, word n-grams, character n-grams; shapes (n_terms, k)."""

    words: FloatArray
    ngrams: FloatArray
    characters: FloatArray


class TermMatrix:
    """Texts by terms, where a word counts as itself and as its character n-grams.

    The matrix ``[word_rows @ diag(own), ngram_rows, word_rows @ profiles]`` is never built: products with its sparse
    factors cost a tenth.

    `word_rows`, `ngram_rows`: weights of words and of n-grams in each text, shapes (n, n_words), (n, n_ngrams);
    `own`: weight of each word as itself, shape (n_words,); `profiles`: weights of the character n-grams of each word,
    shape (n_words, n_characters).
    """

    def __init__(self, word_rows: csr_matrix, ngram_rows: csr_matrix, own: FloatArray, profiles: csr_matrix) -> None:
        self._word_rows, self._word_columns = word_rows, word_rows.T.tocsr()
        self._ngram_rows, self._ngram_columns = ngram_rows, ngram_rows.T.tocsr()
        self._profiles, self._profile_columns = profiles, profiles.T.tocsr()
        self._own = own[:, None]

    def times(self, terms: Terms) -> FloatArray:
        """Return the product with `terms`, shape (n, k)."""
        words = self._own * terms.words
        words += times(self._profiles, terms.characters)
        product = times(self._word_rows, words)
        product += times(self._ngram_rows, terms.ngrams)
        return product

    def transposed_times(self, sentences: FloatArray) -> Terms:
        """Return the product of the transpose with `sentences`, shape (n, k)."""
        words = times(self._word_columns, sentences)
        characters = times(self._profile_columns, words)
        words *= self._own
        return Terms(words, times(self._ngram_columns, sentences), characters)


def times(matrix: csr_matrix, dense: npt.NDArray[Float]) -> npt.NDArray[Float]:
    """Return ``matrix @ dense`` in the precision of `dense`, with the same bits for any number of threads."""
    if matrix.shape[0] <= _ROWS:
        return np.asarray(matrix @ dense, dtype=dense.dtype)
    blocks = [slice(start, start + _ROWS) for start in range(0, matrix.shape[0], _ROWS)]
    product = np.empty((matrix.shape[0], dense.shape[1]), dtype=dense.dtype)
    wide = dense.astype(np.result_type(matrix, dense), copy=False)  # here, or each product would make a copy

    def fill(block: slice) -> None:
        product[block] = matrix[block] @ wide

    parallel_map(fill, blocks)
    return product


def top_directions(matrix: TermMatrix, start: FloatArray, dimensions: int) -> Terms:
    """Return the leading right singular vectors, from random columns `start`, shape (n, k)."""
    with one_blas_thread():
        sentences = _orthonormal(start)
        for _ in range(_ITERATIONS):
            sentences = _orthonormal(matrix.times(matrix.transposed_times(sentences)))
        terms = matrix.transposed_times(sentences)
        values, rotation = _eigen(sum((part.T @ part for part in terms), start=np.zeros(())))
        if len(values) == 0:
            return Terms(*(np.zeros((len(part), 1)) for part in terms))
        turn = rotation[:, :dimensions] / np.sqrt(values[:dimensions])
        return Terms(*(part @ turn for part in terms))


def _orthonormal(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of `columns`, in two passes for precision."""
    for _ in range(2):
        values, rotation = _eigen(columns.T @ columns)
        columns = columns @ (rotation / np.sqrt(values))
    return columns


def _eigen(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, largest first, and eigenvectors in columns, without those of rounding errors."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > _NOISE * values.max(initial=0)
    return values[kept][::-1], vectors[:, kept][:, ::-1]


class _CharacterGrams:
    """Words as bags of the character n-grams that occur in at least two of them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._keys: list[IntArray] = []  # of each order from 1: its n-grams as sorted pairs (prefix, last character)
        counts = self._counts(words, learn=True)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        self._kept = np.flatnonzero(frequency > 1)
        self._idf = inverse_document_frequency(frequency[self._kept], len(words))

    def profiles(self, words: Sequence[str]) -> csr_matrix:
        """Return one row per word, shape (len(words), n_grams), float64, of length 1 (0 without known n-grams)."""
        counts = self._counts(words, learn=False)[:, self._kept]
        counts.data *= self._idf[counts.indices]
        counts.data /= np.repeat(row_lengths(counts), np.diff(counts.indptr))
        return counts

    def _counts(self, words: Sequence[str], *, learn: bool) -> csr_matrix:
        """Return the count of each n-gram in each word; with `learn`, of new n-grams."""
        codes, offsets = _codes(words)
        ends = np.repeat(offsets[1:], np.diff(offsets))
        ids = np.zeros(len(codes), dtype=np.int64)
        columns, n_columns = [], 0
        for order in range(1, _CHARACTER_ORDERS[1] + 1):
            starts = np.flatnonzero((np.arange(len(codes)) + order <= ends) & (ids >= 0))
            keys = ids[starts] * (_END + 1) + codes[starts + order - 1]
            if learn:
                self._keys.append(np.unique(keys))
            known = self._keys[order - 1]
            ids = np.full(len(codes), -1)
            ids[starts] = _find(known, keys)
            if order >= _CHARACTER_ORDERS[0]:
                columns.append(np.where(ids >= 0, ids + n_columns, -1))
                n_columns += len(known)
        together = np.stack(columns, axis=1).ravel()
        return count_matrix(together, offsets * len(columns), n_columns)


def _codes(words: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return the characters of all words, each between a start and an end mark, and the offsets of words."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words)) + 2
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    codes = np.full(offsets[-1], _START, dtype=np.int64)
    codes[offsets[1:] - 1] = _END
    inner = np.ones(len(codes), dtype=bool)
    inner[offsets[:-1]] = False
    inner[offsets[1:] - 1] = False
    codes[inner] = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return codes, offsets


def _find(known: IntArray, keys: IntArray) -> IntArray:
    """Return the index of each of `keys` in the sorted `known`; -1 if absent."""
    if len(known) == 0:
        return np.full(len(keys), -1)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, places, -1)


def count_matrix(ids: IntArray, offsets: IntArray, n_columns: int) -> csr_matrix:
    """Return the count of each id in each row, shape (len(offsets) - 1, n_columns), float64, for ids of at least 0."""
    is_known = ids >= 0
    starts: IntArray = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(is_known, dtype=np.int64)))[offsets]
    matrix: csr_matrix = csr_matrix((np.ones(starts[-1]), ids[is_known], starts), shape=(len(offsets) - 1, n_columns))
    matrix.sum_duplicates()
    return matrix


def inverse_document_frequency(frequency: npt.NDArray[np.integer], n_documents: int) -> FloatArray:
    """Return ln((1 + n_documents) / (1 + frequency)) + 1, at least 1."""
    return np.asarray(np.log((1 + n_documents) / (1 + frequency)) + 1, dtype=np.float64)


def tfidf(counts: csr_matrix, idf: FloatArray) -> csr_matrix:
    """Return (1 + ln count) times `idf` for every count above 0."""
    data = (1 + np.log(counts.data)) * idf[counts.indices]
    return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def row_lengths(matrix: csr_matrix) -> FloatArray:
    """Return the Euclidean length of each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(np.sqrt(np.bincount(rows, weights=matrix.data**2, minlength=matrix.shape[0])))
