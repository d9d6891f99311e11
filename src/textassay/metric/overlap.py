"""What generated sentences share with the real texts nearest to them: references, rows of numbers, intervals.

A metric gives a row of numbers a sentence, and a value of the sum of rows. Each sentence has its own references, the
nearest real texts, found exactly by the cosine of their vectors (`NearestReferences`).

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, where references are the ten nearest real reviews by Sent2Vec vectors.
Departs from it: vectors are TF-IDF by default, (1 + ln count) x inverse document frequency of words among the
references, since Sent2Vec's are no longer distributed; any encoder may stand in.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.embedding.encoder import Encoder, FittedEncoder
from textassay.embedding.latent_semantic import count_matrix, inverse_document_frequency, row_lengths, tfidf
from textassay.embedding.store import features, fit_encoder, keep, resolve_encoder
from textassay.errors import OptionError
from textassay.execution.threads import one_blas_thread, parallel_map
from textassay.metric.base import Computed, compute_once
from textassay.metric.kernels_vectors import keep_most_similar, search
from textassay.resampling.jackknife import assign_groups, jackknife_terms, text_terms
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Equal = Literal["keep", "drop"]
References = int | Literal["all"]

Near = tuple[References, str | Encoder, Equal, int | None]
"""How many references, by which vectors, whether with equal texts, and the seed of their groups; None: as given."""

RowsOf = Callable[[IntArray, IntArray], FloatArray]
"""From sentences of a block, shape (m,), and columns of their table of references, shape (m, k), to rows (m, S)."""

_PARTS = 4  # pieces of work, so that threads have some
_BLOCK = 1 << 14  # most sentences whose pairs are held at once

Float32Array = npt.NDArray[np.float32]

TFIDF = "tf-idf"

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers number the positions in a sentence
_QUERIES = 256  # sparse vectors looked up by one thread at a time
_ROWS, _COLUMNS = 512, 2048  # a block of products of dense vectors: 4 MB


@dataclass(frozen=True)
class Overlap:
    """What the value is made of."""

    rows: FloatArray  # what each sentence adds, shape (N, S)
    # What the sum of rows gains without each group of references, shape (G, S). Where the references are the other
    # sentences of the same corpus, a group's own sentences are left out with it.
    changes: FloatArray
    group_sizes: IntArray  # references in each group, shape (G,); none where the references are taken as given
    is_self: bool  # whether the references are the other sentences of the same corpus
    units: IntArray | None  # groups of the generated sentences
    references: int  # of each sentence
    settings: Mapping[str, object]  # of the signature

    def mean(self, column: int = 0, **settings: object) -> Computed:
        """Return the mean of one number of the rows."""
        scores = self.rows[:, column].copy()
        return self.computed(
            lambda sums, n: float(sums[column]) / n if n else math.nan, lambda _: scores, scores, **settings
        )

    def computed(
        self,
        value_of: Callable[[FloatArray, int], float],
        terms_of: Callable[[float], FloatArray],
        scores: FloatArray,
        **settings: object,
    ) -> Computed:
        """Return the value that `value_of` makes of the sum of rows and their number.

        `terms_of`: from the value to one term a sentence, mean the value: what each adds to it, to first order.
        """
        n, sizes = len(self.rows), self.group_sizes
        sums = np.array([math.fsum(column) for column in self.rows.T])
        value = value_of(sums, n)
        left = n - sizes if self.is_self else np.full(len(sizes), n)
        changed = sums + self.changes  # (G, S)
        without = np.array([value_of(row, n_left) for row, n_left in zip(changed, left.tolist(), strict=True)])
        own, terms = text_terms(terms_of(value), self.units), jackknife_terms(value, without, sizes)
        if len(sizes) == 0:
            samples, method = {"generated": own}, "variance over generated sentences, references as given"
        elif self.is_self:
            samples, method = {"generated": terms}, f"jackknife over {len(sizes)} groups of sentences"
        else:
            samples = {"generated": own, "real": terms}
            method = f"variance over generated sentences, jackknife over {len(sizes)} groups of references"
        return Computed(
            value,
            terms=samples,
            method=f"t: {method}",
            sizes={"n_references": self.references},
            settings={**settings, **self.settings},
            generated_scores=scores,
        )


RowsOfAll = Callable[..., tuple[FloatArray, FloatArray]]
"""From hypotheses, references, their groups, whether both are the same, and arguments to what `Overlap` holds."""


def check_references(settings: Mapping[str, Any]) -> None:
    """Raise where all texts are references but for those that are equal."""
    if settings["references"] == "all" and settings["equal"] == "drop":
        raise OptionError("equal=drop needs a number of references, got references=all")


def overlap(
    generated: Corpus,
    real: Corpus,
    rows_of: Callable[..., RowsOf],
    *args: object,
    near: Near,
    together: Callable[[Corpus, Corpus, IntArray], Any] | None = None,
    rows_of_all: RowsOfAll | None = None,
) -> Overlap:
    """Return the rows of all sentences, and what their sum gains without each group of references.

    `rows_of`: from a block of hypotheses, the references, those of each, shape (n, n_kept), and `args`, to what makes
    rows; `together`: what all blocks need, which then is the last argument; `rows_of_all`: where all may be references.
    """
    references, nearest, equal, seed = near
    if references == "all":
        assert rows_of_all is not None
        assert seed is not None
        return compute_once(_overlap_with_all, generated, real, rows_of_all, args, seed)
    encoder = TFIDF if nearest == TFIDF else resolve_encoder(nearest)
    is_self = generated is real
    return compute_once(_overlap, generated, real, rows_of, args, together, references, encoder, equal, seed, is_self)


def best_rows(table: FloatArray) -> RowsOf:
    """Return what gives each sentence the largest of each number of its references, 0 where it has none.

    `table`: what each pair scores, at least 0, shape (n, n_kept, S).
    """

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        values = table[sentences[:, None], columns]  # (m, k, S)
        best: FloatArray = np.where(columns[..., None] >= 0, values, 0.0).max(axis=1)
        return best

    return rows_of


def _overlap_with_all(
    generated: Corpus, real: Corpus, rows_of_all: RowsOfAll, args: tuple[object, ...], seed: int
) -> Overlap:
    is_self = generated is real
    groups = assign_groups(len(real), stream(seed, "groups", "real"), units=real.groups)
    rows, changes = rows_of_all(generated, real, groups, is_self, *args)
    if is_self:
        changes -= np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    sizes = np.bincount(groups)
    settings = {"refs": "all", "itself": "excluded" if is_self else "kept", "groups": len(sizes)}
    return Overlap(rows, changes, sizes, is_self, generated.groups, len(real) - is_self, settings)


def _overlap(
    generated: Corpus,
    real: Corpus,
    rows_of: Callable[..., RowsOf],
    args: tuple[object, ...],
    together: Callable[[Corpus, Corpus, IntArray], Any] | None,
    k: int,
    encoder: str | Encoder,
    equal: Equal,
    seed: int | None,
    is_self: bool,
) -> Overlap:
    nearest = compute_once(NearestReferences, real, encoder)
    groups = np.full(len(real), -1)
    if seed is not None:
        groups = assign_groups(len(real), stream(seed, "groups", "real"), units=real.groups)
    # Twice as many let the next ones in where a group is left out; a group rarely holds more of the nearest.
    pairs = nearest.of(generated, k=min(2 * k, len(real)), exclude_self=is_self, exclude_equal=equal == "drop")
    shared = args if together is None else (*args, together(generated, real, pairs[:, :k]))
    size = max(1, min(_BLOCK, math.ceil(len(generated) / _PARTS)))

    def measure_block(start: int) -> tuple[FloatArray, FloatArray]:
        block = np.arange(start, min(start + size, len(generated)))
        of_block = rows_of(generated.take(block), real, pairs[block], *shared)
        own = groups[block] if is_self else np.full(len(block), -1)
        return _with_and_without(of_block, pairs[block], groups, own, k)

    blocks = parallel_map(measure_block, range(0, len(generated), size))
    rows = np.concatenate([rows for rows, _ in blocks])
    changes = np.sum([changes for _, changes in blocks], axis=0)
    if is_self and seed is not None:
        changes -= np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    sizes = np.bincount(groups + 1)[1:]
    settings = {
        "refs": k,
        "near": nearest.settings,
        "equal": equal,
        "itself": "excluded" if is_self else "kept",
        "groups": len(sizes),
    }
    return Overlap(rows, changes, sizes, is_self, generated.groups, k, settings)


def _with_and_without(
    rows_of: RowsOf, pairs: IntArray, groups: IntArray, own: IntArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with the `k` nearest references, and what their sum gains without each group of references.

    `pairs`: references of each sentence, nearest first, shape (n, n_kept), -1 for none; `groups`: of each reference,
    shape (M,); `own`: group of each sentence, whose own change does not count, shape (n,), -1 for none.
    """
    columns = np.broadcast_to(np.arange(min(k, pairs.shape[1])), (len(pairs), min(k, pairs.shape[1])))
    rows = rows_of(np.arange(len(pairs)), np.where(pairs[:, :k] >= 0, columns, -1))
    changes = np.zeros((int(groups.max()) + 1, rows.shape[1]))
    their_groups = np.where(pairs >= 0, groups[pairs], -1)
    for group in range(len(changes)):
        touched = np.flatnonzero((their_groups[:, :k] == group).any(axis=1) & (own != group))
        if len(touched) == 0:
            continue
        left = (their_groups[touched] != group) & (pairs[touched] >= 0)
        nearest = np.argsort(~left, axis=1, kind="stable")[:, :k]
        rows_left = rows_of(touched, np.where(np.take_along_axis(left, nearest, axis=1), nearest, -1))
        changes[group] = (rows_left - rows[touched]).sum(axis=0)
    return rows, changes


class NearestReferences:
    """References that are ready to be searched, for several sets of hypotheses.

    TF-IDF vectors stay sparse: words are taken by falling weight, and a search ends where the words that are left
    cannot bring in another reference. Vectors of an encoder are multiplied in blocks. Nothing is approximate, and
    memory holds no products but those of a block. Equal cosines are ordered by the content of the references, then by
    their number, so that neither the order of the texts nor other text in the vocabulary matters.

    `encoder`: ``tf-idf``, or whatever metrics of sentence vectors take. With ``lsa`` and ``lsa+lm``, whose vectors are
    comparable only among the sentences of one fold, references come from the hypothesis's own half of the text first.
    `settings`: what stands in signatures: how nearness is measured.
    """

    def __init__(self, references: Corpus, encoder: str | Encoder = TFIDF) -> None:
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
        """Return the numbers of the `k` nearest references of each hypothesis, nearest first.

        `exclude_self`: the hypotheses are the references, in the same order.

        Shape (N, k); -1 where there are fewer references.
        """
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
        query = np.repeat(np.arange(len(hypotheses)), np.diff(queries.indptr))
        by_weight = np.lexsort((-queries.data, query))
        words, weights = queries.indices[by_weight], queries.data[by_weight]

        def block(start: int) -> IntArray:
            nearest: IntArray = search(
                queries.indptr[start : start + _QUERIES + 1],
                words,
                weights,
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
                keep_most_similar(
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
