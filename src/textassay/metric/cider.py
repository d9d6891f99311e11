"""CIDEr and CIDEr-D: n-grams that generated texts share with the nearest real texts, weighted by rarity.

Source: Vedantam, Zitnick, Parikh, "CIDEr: Consensus-based Image Description Evaluation", CVPR 2015; as a score of
generators: Garbacea, Carton, Yan, Mei, "Judge the Judges", EMNLP 2019.
Departs from them: n-grams are rare or common among all real texts, the same for every generator, where caption
evaluation counts the sets of references (``documents=sets``), which here differ between generators; words are not
stemmed; both variants are multiplied by 10, as caption evaluation does with CIDEr-D; TF-IDF vectors decide what is
near; there is an interval.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.metric.base import Computed, Counted, EncoderName, declare_metric
from textassay.metric.kernels_words import mean_cosines, set_frequency
from textassay.metric.overlap import Equal, Near, Overlap, RowsOf, overlap
from textassay.ngram.index import NgramIndex

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Documents = Literal["real", "sets"]

_MAX_ORDER = 4
_SIGMA = 6.0  # tokens of difference in length at which CIDEr-D falls to exp(-1/2)
_SCALE = 10.0


@declare_metric(
    "cider",
    "mean CIDEr of each generated sentence against the ten real ones nearest to it",
    unit="score",
    better="higher",
    bounds=(0, _SCALE),
    only_named=True,
    cost="quadratic",
    family="nearest",
)
def cider(
    generated: Corpus,
    real: Corpus,
    *,
    documents: Documents = "real",
    references: Counted = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
    seed: int = 0,
) -> Computed:
    """Return the mean CIDEr of generated sentences: the cosine to the real texts nearest to each, averaged over them.

    Parameters
    ----------
    generated
        The hypotheses; one that shares no n-gram scores 0.
    real
        Where references come from. The same `Corpus` on both sides: no sentence is a reference of itself.
    documents
        Where n-grams are rare or common: among all ``real`` texts, or among the ``sets`` of references of the generated
        sentences, as caption evaluation counts them; with one sentence only, all then weigh 0.
    references, nearest, equal, seed
        As for `bleu_nearest`.

    Returns
    -------
    Estimate
        Score in [0, 10], higher is better; 10 where every sentence equals all its references and has four tokens. It
        moves with the number of real texts.

    Notes
    -----
    10 times the mean, over n-grams of 1 to 4 tokens and over references, of the cosine of vectors with count x ln(D /
    max(1, documents with the n-gram)) of D documents. The interval is that of `bleu_nearest`, with the scores of the
    sentences themselves; the weights of n-grams are taken as given.
    """
    found = _overlap(generated, real, documents, (references, nearest, equal, seed), is_d=False)
    return found.mean(orders=f"1-{_MAX_ORDER}", idf=documents)


@declare_metric(
    "cider-d",
    "mean CIDEr-D of each generated sentence against the ten real ones nearest to it",
    unit="score",
    better="higher",
    bounds=(0, _SCALE),
    only_named=True,
    cost="quadratic",
    family="nearest",
)
def cider_d(
    generated: Corpus,
    real: Corpus,
    *,
    documents: Documents = "real",
    references: Counted = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
    seed: int = 0,
) -> Computed:
    """Return the mean CIDEr-D of generated sentences: `cider`, made harder to game.

    Parameters and notes as for `cider`. A weight counts up to that of the reference only, and each cosine is multiplied
    by ``exp(-d^2 / 72)``, d the difference of the lengths in tokens. Caption-evaluation packages call this one CIDEr.
    """
    found = _overlap(generated, real, documents, (references, nearest, equal, seed), is_d=True)
    return found.mean(orders=f"1-{_MAX_ORDER}", idf=documents, sigma="6")


def _overlap(generated: Corpus, real: Corpus, documents: Documents, near: Near, *, is_d: bool) -> Overlap:
    weights = _weights_of_real if documents == "real" else NgramWeights.of_documents
    return overlap(generated, real, _rows, is_d, near=near, together=weights)


def _weights_of_real(hypotheses: Corpus, references: Corpus, pairs: IntArray) -> "NgramWeights":
    return NgramWeights.of_documents(hypotheses, references)


def _rows(hypotheses: Corpus, references: Corpus, pairs: IntArray, is_d: bool, weights: "NgramWeights") -> RowsOf:
    table = cider_pairs(hypotheses, references, pairs, weights, is_d=is_d)

    def rows_of(sentences: IntArray, columns: IntArray) -> FloatArray:
        values = np.where(columns >= 0, table[sentences[:, None], columns], 0.0)
        means: FloatArray = values.sum(axis=1) / np.maximum((columns >= 0).sum(axis=1), 1)
        return means[:, None]

    return rows_of


@dataclass(frozen=True)
class NgramWeights:
    """Weights of n-grams; see `of_documents`."""

    index: NgramIndex  # The n-grams of 1 to 4 tokens
    idf: FloatArray  # Weight of one occurrence, shape (n_ngrams,)

    @classmethod
    def of_documents(cls, hypotheses: Corpus, references: Corpus, sets: IntArray | None = None) -> "NgramWeights":
        """Return the weights of the n-grams of both corpora: ln(documents / max(1, documents with the n-gram)).

        `sets`: references of each hypothesis, shape (N, k), -1 for none: each row is a document.
        """
        index = NgramIndex.build([references, hypotheses], max_order=_MAX_ORDER)
        counts = index.count_matrix(references)
        if sets is None:
            frequency = np.bincount(counts.indices, minlength=index.n_features)
        else:
            frequency = set_frequency(counts.indptr, counts.indices, sets, index.n_features)
        n_documents = len(references) if sets is None else len(sets)
        return cls(index, math.log(n_documents) - np.log(np.maximum(frequency, 1)))

    def vectors(self, corpus: Corpus) -> tuple[csr_matrix, FloatArray]:
        """Return count x idf of the n-grams of each sentence, and the length of that vector by order, shape (N, 4)."""
        weights = self.index.count_matrix(corpus)
        weights.data *= self.idf[weights.indices]
        orders = np.searchsorted(self.firsts, weights.indices, side="right") - 1
        rows = np.repeat(np.arange(len(corpus)), np.diff(weights.indptr))
        squares = np.bincount(rows * _MAX_ORDER + orders, weights=weights.data**2, minlength=len(corpus) * _MAX_ORDER)
        return weights, np.sqrt(squares).reshape(len(corpus), _MAX_ORDER)

    @property
    def firsts(self) -> IntArray:
        """Where the n-grams of each order start, and the end of the last, shape (5,)."""
        return np.concatenate(([0], np.cumsum(self.index.sizes, dtype=np.int64))).astype(np.int64)


def cider_pairs(
    hypotheses: Corpus, references: Corpus, pairs: IntArray, weights: NgramWeights, *, is_d: bool
) -> FloatArray:
    """Return the CIDEr, or CIDEr-D, of each pair, in [0, 10].

    `pairs`: numbers of the references of each hypothesis, shape (N, k).

    Shape (N, k); 0 where there is no reference, and for an order of which one side has no n-gram of any weight.
    """
    mine, lengths = weights.vectors(hypotheses)
    theirs, their_lengths = weights.vectors(references)
    cosines = mean_cosines(
        mine.indptr,
        mine.indices,
        mine.data,
        lengths,
        theirs.indptr,
        theirs.indices,
        theirs.data,
        their_lengths,
        pairs,
        weights.firsts,
        is_d,
    )
    if is_d:
        gaps = hypotheses.lengths[:, None] - references.lengths[pairs]
        cosines *= np.exp(-(gaps**2) / (2 * _SIGMA**2))
    return np.asarray(_SCALE * cosines, dtype=np.float64)
