"""Encoders that never meet a sentence they learnt from: real and generated text are then seen with the same eyes.

An encoder that was fitted to real text places those very sentences differently from new ones: two samples of one
distribution, one of them fitted to, look different (with 5,000 news sentences a side and 256 dimensions, density is 2.9
where 1 is expected, and recall 0.62). So sentences are dealt into folds by their content, an encoder is fitted for each
fold on the real sentences of the others, and encodes the sentences of that fold, real and generated alike. Their spaces
are then turned onto one another (orthogonal Procrustes), which leaves distances inside a fold as they were.

Source of the rotation: Schönemann, "A generalized solution of the orthogonal Procrustes problem", Psychometrika 1966.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.base import Encoder, FittedEncoder, FloatArray
from textassay.errors import EmptyCorpusError, OptionError
from textassay.execution import one_blas_thread

__all__ = ["CrossFittedEncoder", "folds_of"]

IntArray = npt.NDArray[np.int64]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers number the positions in a sentence
_STILL = 1e-9  # how much every direction holds on to itself, against those that sentences pull
_FOLD_BITS = np.uint64(32)  # the high half of a key is mixed best


def folds_of(corpus: Corpus, n_folds: int) -> IntArray:
    """Return the fold of each sentence, shape (N,), 0 to `n_folds` - 1: equal token sequences have equal folds."""
    longest = int(corpus.lengths.max(initial=0)) + 1
    powers = np.multiply.accumulate(np.full(longest, _STEP))
    positions = np.arange(len(corpus.tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    terms = corpus.vocabulary.hashes[corpus.tokens] * powers[positions]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)))
    keys = (totals[corpus.offsets[1:]] - totals[corpus.offsets[:-1]]) * _STEP
    return ((keys >> _FOLD_BITS) % np.uint64(n_folds)).astype(np.int64)


class CrossFittedEncoder:
    """An encoder that is fitted anew for each fold of the text.

    Parameters
    ----------
    encoder
        What is fitted; it must not read columns.
    name
        What it goes by; two encoders with one name must be one.
    n_folds
        At least 2. More folds learn from more text and take longer.
    """

    reads_columns = False

    def __init__(self, encoder: Encoder, *, name: str | None = None, n_folds: int = 2) -> None:
        if n_folds < 2:
            raise OptionError(f"n_folds must be at least 2, got {n_folds}")
        if encoder.reads_columns:
            raise OptionError(f"{encoder.name} learns nothing from text: there is nothing to cross-fit")
        self.name = f"cross-fitted({encoder.name},folds={n_folds})" if name is None else name
        self._encoder = encoder
        self._n_folds = n_folds

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return one encoder a fold, fitted to the real sentences of the other folds.

        A fold that holds all of the real sentences (few of them, or one repeated) has the encoder of all.

        Raises
        ------
        EmptyCorpusError
            If there is no sentence.
        """
        if len(real) == 0:
            raise EmptyCorpusError(f"{self.name} needs real text to learn from, got no sentence")
        folds = folds_of(real, self._n_folds)
        parts = [np.flatnonzero(folds != fold) for fold in range(self._n_folds)]
        encoders = [self._encoder.fit(real.take(part) if len(part) else real) for part in parts]
        vectors = [np.asarray(encoder.encode(real), dtype=np.float64) for encoder in encoders]
        width = max(found.shape[1] for found in vectors)
        with one_blas_thread():
            turns = [_turn(found, _widened(vectors[0], width), width) for found in vectors]
        return _CrossFitted(self.name, encoders, turns)


class _CrossFitted:
    """One encoder a fold and the rotation of its space onto that of the first."""

    reads_columns = False

    def __init__(self, name: str, encoders: Sequence[FittedEncoder], turns: Sequence[FloatArray]) -> None:
        self._encoders = encoders
        self._turns = turns
        self.costly = any(encoder.costly for encoder in encoders)
        keys = " ".join(["cross-fitted", *(encoder.key for encoder in encoders)])
        self.key = hashlib.blake2b(keys.encode(), digest_size=16).hexdigest()
        shared = {
            setting: "+".join(dict.fromkeys(encoder.settings[setting] for encoder in encoders))
            for setting in encoders[0].settings
        }
        self.settings: Mapping[str, str] = {
            **shared,
            "encoder": f"{name}({turns[0].shape[1]}):{self.key[:8]}",
            "encoder-folds": str(len(encoders)),
        }

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector a sentence, shape (N, d), by the encoder of its fold."""
        folds = folds_of(corpus, len(self._encoders))
        vectors = np.empty((len(corpus), self._turns[0].shape[1]), dtype=np.float32)
        with one_blas_thread():
            for fold, (encoder, turn) in enumerate(zip(self._encoders, self._turns, strict=True)):
                rows = np.flatnonzero(folds == fold)
                if len(rows):
                    vectors[rows] = encoder.encode(corpus.take(rows)) @ turn
        return vectors


def _turn(vectors: FloatArray, onto: FloatArray, width: int) -> FloatArray:
    """Return the rotation, shape (d, width), that brings `vectors` nearest to those they are turned `onto`.

    Directions in which no real sentence points stay as they are.
    """
    products = _widened(vectors, width).T @ onto
    left, _, right = np.linalg.svd(products + _STILL * np.abs(products).max(initial=1.0) * np.eye(width))
    turn: FloatArray = (left @ right)[: vectors.shape[1]].astype(np.float32)
    return turn


def _widened(vectors: FloatArray, width: int) -> FloatArray:
    return np.pad(vectors, ((0, 0), (0, width - vectors.shape[1])))
