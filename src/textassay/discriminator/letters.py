"""Logistic regression over the characters of texts as they were read: case, white space, lines, runs of punctuation.

A tokeniser hides these from all that counts tokens. A text is described by its n-grams of characters, with its
beginning and its end as characters of their own, hashed into a fixed number of slots: square roots of counts, rows of
length 1. As in the naive Bayes SVM, a slot weighs more where the two sides hold it unequally often, whichever holds it
more often; here half of its weight is the same for all slots, so that no row is made of a few of them.

How strongly it is regularised is chosen on validation text; then it is fitted again with that text.

Sources: Cavnar and Trenkle, "N-gram-based text categorization", SDAIR 1994; Wang and Manning, "Baselines and bigrams:
simple, good sentiment and topic classification", ACL 2012; Weinberger et al., "Feature hashing for large scale
multitask learning", ICML 2009.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack
from scipy.special import expit

from textassay.corpus.corpus import Corpus
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.structure import is_cut
from textassay.corpus.tokenizer import join_tokens
from textassay.discriminator import kernels
from textassay.discriminator.base import (
    BaseDiscriminator,
    Pair,
    Part,
    Scores,
    balanced_cross_entropy,
    is_real_of,
    setting,
)
from textassay.discriminator.solvers import fit_logistic

FloatArray = npt.NDArray[np.float64]
Rows = tuple[csr_matrix, npt.NDArray[np.bool_]]  # counts of texts, and which of these are real

N_SLOTS = 1 << 16
_TOLERANCE = 0.1


@dataclass(eq=False, kw_only=True)
class LettersDiscriminator(BaseDiscriminator):
    """Logistic regression over hashed n-grams of characters; deterministic."""

    name = "letters"
    max_order: int = setting(4, "the longest n-grams of characters", least=1)
    grid: Sequence[float] = setting((10.0, 30.0), "inverse strengths of regularisation to try", above=0)

    @property
    def features(self) -> str:
        strengths = ",".join(f"{c:g}" for c in self.grid)
        return f"1-{self.max_order}-grams of characters with ends in {N_SLOTS} slots, C={strengths}"

    def learn(self, train: Pair, valid: Pair) -> "tuple[_Fitted, Mapping[str, Any]]":
        return self._learn(*((count_sides(*pair, self.max_order), is_real_of(pair)) for pair in (train, valid)))

    def fit_part(self, train: Part, valid: Part) -> Self:
        fitted = copy.copy(self)
        counts = train.pool.once(count_sides, max_order=self.max_order)
        fitted._model, fitted.chosen = self._learn(*((counts[part.numbers], part.is_real) for part in (train, valid)))
        return fitted

    def prob_real_of(self, part: Part) -> Scores:
        scores = self.model.prob_real_of(part.pool.once(count_sides, max_order=self.max_order)[part.numbers])
        return scores[part.is_real], scores[~part.is_real]

    @property
    def valid_scores(self) -> Scores:
        """Scores of the validation texts by the fit that did not see them."""
        model: _Fitted = self.model
        return model.valid_scores

    def _learn(self, train: Rows, valid: Rows) -> "tuple[_Fitted, Mapping[str, Any]]":
        importance = _importance(*train)
        rows, valid_rows = (_weighted(counts, importance) for counts, _ in (train, valid))
        fits: list[FloatArray] = []
        scores: list[Scores] = []
        for c in self.grid:
            start = fits[-1] if fits else None
            fits.append(fit_logistic(rows, train[1], c=c, tolerance=_TOLERANCE, start=start))
            of_valid = _prob_real(valid_rows, fits[-1])
            scores.append((of_valid[valid[1]], of_valid[~valid[1]]))
        best = int(np.argmin([balanced_cross_entropy(*of_fit) for of_fit in scores]))
        everything = vstack([rows, valid_rows], format="csr")
        labels = np.concatenate([train[1], valid[1]])
        theta = fit_logistic(everything, labels, c=self.grid[best], tolerance=_TOLERANCE, start=fits[best])
        return _Fitted(self.max_order, importance, theta, scores[best]), {"c": self.grid[best]}


@dataclass(frozen=True)
class _Fitted:
    max_order: int
    importance: npt.NDArray[np.float32]  # of each slot, shape (N_SLOTS,)
    theta: FloatArray  # coefficients, the intercept last, shape (N_SLOTS + 1,)
    valid_scores: Scores

    def prob_real(self, corpus: Corpus) -> FloatArray:
        return self.prob_real_of(count_characters(corpus, self.max_order))

    def prob_real_of(self, counts: csr_matrix) -> FloatArray:
        return _prob_real(_weighted(counts, self.importance), self.theta)


def count_sides(real: Corpus, generated: Corpus, max_order: int) -> csr_matrix:
    """Return `count_characters` of both sides, real texts first."""
    counts: csr_matrix = vstack([count_characters(side, max_order) for side in (real, generated)], format="csr")
    return counts


def count_characters(corpus: Corpus, max_order: int) -> csr_matrix:
    """Return how often n-grams of characters, beginning and end among them, fall into each slot: (N, N_SLOTS), float32.

    Texts are lower-cased if the corpus is. Where texts were cut after some tokens, all are read as their tokens, so
    that white space does not tell which were cut.
    """
    texts = PackedTexts.of(corpus.texts)
    if is_cut(corpus):
        texts = PackedTexts.of(join_tokens(corpus.tokenizer, corpus.sentence(row)) for row in range(len(corpus)))
    lower = "lower" in corpus.tokenizer.split("+")
    table = np.zeros(N_SLOTS, dtype=np.int64)
    slots, counts, sizes = [np.empty(0, np.int32)], [np.empty(0, np.float32)], [np.zeros(1, np.int64)]
    for block in texts.blocks():
        strings = [text.lower() for text in block] if lower else list(block)
        codes = np.frombuffer("".join(strings).encode("utf-32-le"), dtype=np.uint32)
        lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
        most = max_order * int((lengths + 2).sum())
        of_block = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(len(lengths), np.int64)
        n = kernels.count_characters(codes, lengths, max_order, table, *of_block)
        slots.append(of_block[0][:n].copy())
        counts.append(of_block[1][:n].copy())
        sizes.append(of_block[2])
    offsets = np.cumsum(np.concatenate(sizes))
    return csr_matrix((np.concatenate(counts), np.concatenate(slots), offsets), shape=(len(corpus), N_SLOTS))


def _importance(counts: csr_matrix, is_real: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Return 1 for each slot, and how far the shares of both sides' texts that hold it differ, in means of that."""
    real, generated = (1 + np.bincount(counts[side].indices, minlength=N_SLOTS) for side in (is_real, ~is_real))
    ratios = np.abs(np.log(real / real.sum()) - np.log(generated / generated.sum()))
    return np.asarray(1 + ratios / max(float(ratios.mean()), 1e-9), dtype=np.float32)


def _weighted(counts: csr_matrix, importance: npt.NDArray[np.float32]) -> csr_matrix:
    """Return rows of length 1: square roots of counts times the importance of slots."""
    data = np.empty_like(counts.data)
    kernels.weigh(counts.data, counts.indices, counts.indptr, importance, data)
    return csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def _prob_real(rows: csr_matrix, theta: FloatArray) -> FloatArray:
    return np.asarray(expit(rows @ theta[:-1] + theta[-1]), dtype=np.float64)
