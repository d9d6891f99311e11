"""The nearest real texts of each text, to serve as its references: exact, by the cosine of their vectors.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, where references are the ten nearest real reviews by Sent2Vec vectors.
Departs from it: vectors are TF-IDF by default, (1 + ln count) x inverse document frequency of words among the
references, since Sent2Vec's are no longer distributed; any encoder may stand in.

TF-IDF vectors stay sparse: words are taken by falling weight, and a search ends where the words that are left cannot
bring in another reference. Vectors of an encoder are multiplied in blocks. Nothing is approximate, and memory holds no
products but those of a block. Equal cosines are ordered by the content of the references, then by their number, so that
neither the order of the texts nor other text in the vocabulary matters.
"""

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.latent_semantic import count_matrix, inverse_document_frequency, row_lengths, tfidf
from textassay.embedding.store import features, fit_encoder, keep, resolve_encoder
from textassay.errors import EmptyCorpusError, OptionError
from textassay.execution.threads import one_blas_thread, parallel_map

IntArray = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]

TFIDF = "tf-idf"

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers number the positions in a sentence
_QUERIES = 256  # sparse vectors looked up by one thread at a time
_ROWS, _COLUMNS = 512, 2048  # a block of products of dense vectors: 4 MB
_SLACK = 1e-9  # of a bound, far above its rounding


def nearest_references(
    hypotheses: Corpus,
    references: Corpus,
    *,
    k: int = 10,
    encoder: str | Encoder = TFIDF,
    exclude_self: bool = False,
    exclude_equal: bool = False,
) -> IntArray:
    """Return the numbers of the `k` nearest references of each hypothesis, nearest first.

    `encoder`: ``tf-idf``, or whatever metrics of sentence vectors take. With ``lsa`` and ``lsa+lm``, whose
    vectors are comparable only among the sentences of one fold, references come from the hypothesis's own half of the
    text first.

    Shape (N, k); -1 where there are fewer references.
    """
    finder = NearestReferences(references, encoder)
    return finder.of(hypotheses, k=k, exclude_self=exclude_self, exclude_equal=exclude_equal)


class NearestReferences:
    """References that are ready to be searched, for several sets of hypotheses; parameters as above.

    `settings`: What stands in signatures: how nearness is measured.
    """

    def __init__(self, references: Corpus, encoder: str | Encoder = TFIDF) -> None:
        if len(references) == 0:
            raise EmptyCorpusError("nearest references: there is no reference")
        self.references = references
        keys = _content_keys(references)
        self._order = np.argsort(keys, kind="stable")  # what is searched is in the order of content
        self._keys = keys[self._order]
        self._places = np.argsort(self._order)
        self._encoder: FittedEncoder | None = None
        if encoder == TFIDF:
            self._index_words()
            self.settings = self._key = TFIDF
        else:
            self._encoder = fit_encoder(resolve_encoder(encoder), references)
            self._vectors = _unit_rows(features(self._encoder, references))[self._order]
            self.settings, self._key = self._encoder.settings["encoder"], self._encoder.key

    def __repr__(self) -> str:
        return f"NearestReferences({len(self.references)} references by {self.settings})"

    def of(self, hypotheses: Corpus, *, k: int, exclude_self: bool = False, exclude_equal: bool = False) -> IntArray:
        """Return what `nearest_references` does."""
        if k < 1:
            raise OptionError(f"k must be at least 1, got {k}")
        if hypotheses.vocabulary is not self.references.vocabulary:
            raise OptionError(
                "nearest references: the corpora have different vocabularies; make them with one corpora_from_texts"
            )
        if exclude_self and hypotheses.fingerprint != self.references.fingerprint:
            raise OptionError("exclude_self needs hypotheses that are the references, in the same order")
        key = (
            "nearest",
            hypotheses.fingerprint,
            self.references.fingerprint,
            self._key,
            k,
            exclude_self,
            exclude_equal,
        )
        if self._encoder is not None and self._encoder.reads_columns:  # which fingerprints do not tell
            return self._find(hypotheses, k, exclude_self, exclude_equal)
        return keep(key, lambda: self._find(hypotheses, k, exclude_self, exclude_equal))

    def _find(self, hypotheses: Corpus, k: int, exclude_self: bool, exclude_equal: bool) -> IntArray:
        low = high = np.zeros(len(hypotheses), dtype=np.int64)  # the places from `low` up to `high` are left out
        if exclude_equal:
            keys = _content_keys(hypotheses)
            low, high = (np.searchsorted(self._keys, keys, side=side).astype(np.int64) for side in ("left", "right"))
        elif exclude_self:
            low, high = self._places, self._places + 1
        find = self._of_words if self._encoder is None else self._of_vectors
        places = find(hypotheses, min(k, len(self.references)), low, high)
        nearest = np.full((len(hypotheses), k), -1, dtype=np.int64)
        nearest[:, : places.shape[1]] = np.where(places >= 0, self._order[places], -1)
        return nearest

    def _index_words(self) -> None:
        """Weigh the words of the references, in an order of words that only depends on the words."""
        references = self.references
        distinct, places = np.unique(references.tokens, return_inverse=True)
        order = np.argsort(references.vocabulary.hashes[distinct], kind="stable")
        self._columns = np.full(len(references.vocabulary), -1, dtype=np.int64)
        self._columns[distinct[order]] = np.arange(len(order))
        counts = count_matrix(np.argsort(order)[places], references.offsets, len(distinct))
        self._idf = inverse_document_frequency(np.bincount(counts.indices, minlength=len(distinct)), len(references))
        weights = tfidf(counts, self._idf)
        lengths = row_lengths(weights)
        weights.data /= np.repeat(lengths, np.diff(weights.indptr))
        self._rows: csr_matrix = weights[self._order]
        self._postings = self._rows.tocsc()

    def _of_words(self, hypotheses: Corpus, k: int, low: IntArray, high: IntArray) -> IntArray:
        columns = self._columns[hypotheses.tokens]
        queries = tfidf(count_matrix(columns, hypotheses.offsets, len(self._idf)), self._idf)
        rows, postings = self._rows, self._postings

        def block(start: int) -> IntArray:
            nearest: IntArray = _search(
                queries.indptr[start : start + _QUERIES + 1],
                queries.indices,
                queries.data,
                rows.indptr,
                rows.indices,
                rows.data,
                postings.indptr,
                postings.indices,
                postings.data,
                low[start : start + _QUERIES],
                high[start : start + _QUERIES],
                k,
            )
            return nearest

        blocks = parallel_map(block, range(0, len(hypotheses), _QUERIES))
        return np.concatenate([np.zeros((0, k), dtype=np.int64), *blocks])

    def _of_vectors(self, hypotheses: Corpus, k: int, low: IntArray, high: IntArray) -> IntArray:
        assert self._encoder is not None
        queries = _unit_rows(features(self._encoder, hypotheses))

        def block(start: int) -> IntArray:
            rows = queries[start : start + _ROWS]
            cosines = np.full((len(rows), k), -np.inf, dtype=np.float32)
            nearest = np.full((len(rows), k), -1, dtype=np.int64)
            for column in range(0, len(self._vectors), _COLUMNS):
                products = rows @ self._vectors[column : column + _COLUMNS].T
                _keep_nearest(
                    products, column, low[start : start + _ROWS], high[start : start + _ROWS], cosines, nearest
                )
            return nearest

        with one_blas_thread():
            blocks = parallel_map(block, range(0, len(hypotheses), _ROWS))
        return np.concatenate([np.zeros((0, k), dtype=np.int64), *blocks])


def _content_keys(corpus: Corpus) -> npt.NDArray[np.uint64]:
    """Return a number a sentence, shape (N,), equal for equal token sequences, whatever else the vocabulary holds."""
    powers = np.multiply.accumulate(np.full(int(corpus.lengths.max(initial=0)) + 1, _STEP))
    positions = np.arange(len(corpus.tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    terms = corpus.vocabulary.hashes[corpus.tokens] * powers[positions]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)))
    keys: npt.NDArray[np.uint64] = totals[corpus.offsets[1:]] - totals[corpus.offsets[:-1]] + powers[corpus.lengths]
    return keys


def _unit_rows(vectors: npt.NDArray[np.floating]) -> Float32Array:
    """Return the vectors at length 1; those of length 0 as they are."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))[:, None]
    return np.ascontiguousarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


@njit(cache=True, nogil=True)
def _keep_nearest(products, column, low, high, cosines, found):  # type: ignore[no-untyped-def]
    """Sort the references of a block of products into the nearest ones found so far; of equals the first stays."""
    last = found.shape[1] - 1
    for row in range(products.shape[0]):
        for other in range(products.shape[1]):
            cosine = products[row, other]
            if cosine <= cosines[row, last] or low[row] <= column + other < high[row]:
                continue
            place = last
            while place > 0 and cosines[row, place - 1] < cosine:
                cosines[row, place] = cosines[row, place - 1]
                found[row, place] = found[row, place - 1]
                place -= 1
            cosines[row, place] = cosine
            found[row, place] = column + other


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    starts, words, weights, row_starts, row_words, row_weights, posting_starts, postings, posting_weights, low, high, k
):
    """Return the places of the `k` nearest rows of each query, shape (n_queries, k); -1 where there are fewer."""
    n_rows = len(row_starts) - 1
    found = np.full((len(starts) - 1, k), -1, dtype=np.int64)
    sums = np.zeros(n_rows)  # of what is known of a row's product with the query
    met = np.empty(n_rows, dtype=np.int64)
    dense = np.zeros(len(posting_starts) - 1)
    best = np.empty(k)
    for query in range(len(starts) - 1):
        mine = np.argsort(-weights[starts[query] : starts[query + 1]], kind="mergesort") + starts[query]
        square = 0.0
        for entry in mine:
            square += weights[entry] ** 2
            dense[words[entry]] = weights[entry]
        # Rows have length 1: the words that are left add at most the length of the query's vector of them.
        n_met, rest = 0, np.sqrt(square)
        for entry in mine:
            word = words[entry]
            first, end = posting_starts[word], posting_starts[word + 1]
            if n_met >= k and end - first > n_met and _kth(sums, met[:n_met], best) > rest * (1 + _SLACK) + _SLACK:
                break
            for posting in range(first, end):
                row = postings[posting]
                if low[query] <= row < high[query]:
                    continue
                if sums[row] == 0:
                    met[n_met] = row
                    n_met += 1
                sums[row] += weights[entry] * posting_weights[posting]
            square = max(0.0, square - weights[entry] ** 2)
            rest = np.sqrt(square)
        threshold = -1.0 if n_met < k else _kth(sums, met[:n_met], best)
        _choose(sums, met[:n_met], rest, threshold, dense, row_starts, row_words, row_weights, best, found[query])
        place, row = min(n_met, k), 0
        while place < k and row < n_rows:  # no word in common: the first rows
            if sums[row] == 0 and not low[query] <= row < high[query]:
                found[query, place] = row
                place += 1
            row += 1
        for number in range(n_met):
            sums[met[number]] = 0.0
        for entry in mine:
            dense[words[entry]] = 0.0
    return found


@njit(cache=True, nogil=True)
def _kth(sums, met, best):  # type: ignore[no-untyped-def]
    """Return the ``len(best)``-th largest of the sums of the rows that were met, as many at least."""
    best[:] = -1.0
    last = len(best) - 1
    for row in met:
        value = sums[row]
        if value <= best[last]:
            continue
        place = last
        while place > 0 and best[place - 1] < value:
            best[place] = best[place - 1]
            place -= 1
        best[place] = value
    return best[last]


@njit(cache=True, nogil=True)
def _choose(  # type: ignore[no-untyped-def]
    sums, met, rest, threshold, dense, row_starts, row_words, row_weights, best, chosen
):
    """Write the nearest of the rows that were met into `chosen`; products are summed anew, in one order of words."""
    best[:] = -1.0
    last = len(best) - 1
    for row in met:
        if sums[row] + rest * (1 + _SLACK) + _SLACK < threshold:
            continue
        product = 0.0
        for entry in range(row_starts[row], row_starts[row + 1]):
            product += row_weights[entry] * dense[row_words[entry]]
        place = last
        if product < best[last] or (product == best[last] and row > chosen[last]):
            continue
        while place > 0 and (best[place - 1] < product or (best[place - 1] == product and chosen[place - 1] > row)):
            best[place] = best[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        best[place] = product
        chosen[place] = row
