"""Encoders, from texts to vectors: what they are; given vectors; several encoders as one; cross-fitted encoders.

Encoders are fitted to real text only, to treat all generators equally. One that is fitted to real text encodes those
very texts differently from new ones: two samples of one distribution, one of them used for fitting, look different
(with 5,000 news sentences per side and 256 dimensions, density is 2.8 where 1 is expected, and recall 0.62:
`benchmarks/encoder.py`). So a cross-fitted encoder never encodes a text that it was fitted to: texts are assigned to
folds by their group, or by content where they have none; an encoder is fitted for each fold on the real texts of the
other, and encodes all texts of that fold, real and generated.

Each fold has dimensions of its own, so texts of different folds are all equally far apart. (If the spaces were aligned,
real texts would leak across folds, since each space was learnt from the other fold.) Comparisons are thus made within
folds, where real and generated texts of one distribution are exchangeable.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import EmptyCorpusError, UnavailableError

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]

FEATURES = "features"  # the column of given vectors
VECTORS = "vectors"  # the column of those that classifiers see
N_FOLDS = 2
_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers number the positions in a sentence
_FOLD_BITS = np.uint64(32)  # the high half of a key is mixed best


class FittedEncoder(Protocol):
    """A fitted encoder, from texts to vectors."""

    @property
    def key(self) -> str:
        """Content hash; equal keys mean equal vectors."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings for signatures: ``encoder`` (name and short hash), and all others that change the vectors."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns`, so that they need not be stored."""
        ...

    @property
    def costly(self) -> bool:
        """Whether encoding takes longer than reading vectors from disk, so that they should be stored."""
        ...

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector per text, shape (N, d), float32 or float64, finite."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """An encoder that can be fitted to real text."""

    @property
    def name(self) -> str:
        """A unique name: ``lsa``, or a model with a hash of its content."""
        ...

    @property
    def reads_columns(self) -> bool:
        """Whether vectors come from `Corpus.columns` instead of the text."""
        ...

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return the encoder fitted to at least one real text; deterministic."""
        ...


class PrecomputedEncoder:
    """The encoder called ``given``, which returns the column ``features``."""

    name = "given"
    reads_columns = True
    costly = False
    key = "given"
    settings: Mapping[str, str] = {"encoder": "given"}

    def fit(self, real: Corpus) -> "PrecomputedEncoder":
        return self

    def encode(self, corpus: Corpus) -> FloatArray:
        if FEATURES not in corpus.columns:
            raise UnavailableError("these texts have no features: give --features NAME=FILE.npy for all of them")
        return corpus.columns[FEATURES]


class JoinedEncoder:
    """The vectors of several encoders side by side."""

    reads_columns = False

    def __init__(self, *encoders: Encoder) -> None:
        self.name = "+".join(encoder.name for encoder in encoders)
        self._encoders = encoders

    def fit(self, real: Corpus) -> FittedEncoder:
        return _FittedJoined([encoder.fit(real) for encoder in self._encoders])


class _FittedJoined:
    reads_columns = False

    def __init__(self, encoders: Sequence[FittedEncoder]) -> None:
        self.costly = any(encoder.costly for encoder in encoders)
        keys = " ".join(encoder.key for encoder in encoders)
        self.key = hashlib.blake2b(keys.encode(), digest_size=16).hexdigest()
        names = [encoder.settings["encoder"].split(":")[0] for encoder in encoders]
        settings = {name: value for encoder in encoders for name, value in encoder.settings.items()}
        self.settings: Mapping[str, str] = {**settings, "encoder": f"{'+'.join(names)}:{self.key[:8]}"}
        self._encoders = encoders

    def encode(self, corpus: Corpus) -> FloatArray:
        return np.hstack([encoder.encode(corpus) for encoder in self._encoders])


def folds_of(corpus: Corpus, n_folds: int) -> IntArray:
    """Return the fold of each text, shape (N,), 0 to `n_folds` - 1: that of its group, if it has one.

    Else equal token sequences have equal folds.
    """
    if corpus.groups is not None:
        return ((corpus.groups.astype(np.uint64) * _STEP >> _FOLD_BITS) % np.uint64(n_folds)).astype(np.int64)
    longest = int(corpus.lengths.max(initial=0)) + 1
    powers = np.multiply.accumulate(np.full(longest, _STEP))
    positions = np.arange(len(corpus.tokens)) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    terms = corpus.vocabulary.hashes[corpus.tokens] * powers[positions]
    totals = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)))
    keys = (totals[corpus.offsets[1:]] - totals[corpus.offsets[:-1]]) * _STEP
    return ((keys >> _FOLD_BITS) % np.uint64(n_folds)).astype(np.int64)


class CrossFittedEncoder:
    """An encoder that is fitted once per fold."""

    reads_columns = False

    def __init__(self, encoder: Encoder, *, name: str) -> None:
        self.name = name
        self._encoder = encoder

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return one encoder per fold, fitted to the real texts of the other.

        If one fold holds all real texts (few, or one repeated), its encoder is fitted to all of them.
        """
        if len(real) == 0:
            raise EmptyCorpusError(f"{self.name} needs at least one real text to learn from, got 0")
        folds = folds_of(real, N_FOLDS)
        parts = [np.flatnonzero(folds != fold) for fold in range(N_FOLDS)]
        encoders = [self._encoder.fit(real.take(part) if len(part) else real) for part in parts]
        return _CrossFitted(self.name, encoders)


class _CrossFitted:
    reads_columns = False

    def __init__(self, name: str, encoders: Sequence[FittedEncoder]) -> None:
        self._encoders = encoders
        self.costly = any(encoder.costly for encoder in encoders)
        keys = " ".join(["cross-fitted", *(encoder.key for encoder in encoders)])
        self.key = hashlib.blake2b(keys.encode(), digest_size=16).hexdigest()
        shared = {
            setting: "+".join(dict.fromkeys(encoder.settings[setting] for encoder in encoders))
            for setting in encoders[0].settings
        }
        self.settings: Mapping[str, str] = {
            **shared,
            "encoder": f"{name}:{self.key[:8]}",
            "fold-encoder": encoders[0].settings["encoder"].split(":")[0],  # without the hash of what it learnt
            "encoder-folds": str(N_FOLDS),
        }

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector per text, shape (N, d): the dimensions of its fold, zeros for the other."""
        folds = folds_of(corpus, N_FOLDS)
        rows = [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
        parts = [encoder.encode(corpus.take(chosen)) for encoder, chosen in zip(self._encoders, rows, strict=True)]
        ends = np.cumsum([part.shape[1] for part in parts])
        vectors = np.zeros((len(corpus), int(ends[-1])), dtype=np.float32)
        for part, chosen, end in zip(parts, rows, ends.tolist(), strict=True):
            vectors[chosen, end - part.shape[1] : end] = part
        return vectors
