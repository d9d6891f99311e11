"""Cross-fitted encoders, which never encode a text that they were fitted to.

An encoder fitted to real text encodes those very texts differently from new ones: two samples of one distribution, one
of them used for fitting, look different (with 5,000 news sentences per side and 256 dimensions, density is 2.8 where 1
is expected, and recall 0.62: `benchmarks/encoder.py`). So texts are assigned to folds by their group, or by content
where they have none; an encoder is fitted for each fold on the real texts of the others, and encodes all texts of that
fold, real and generated.

Each fold has dimensions of its own, so texts of different folds are all equally far apart. (If the spaces were aligned,
real texts would leak across folds, since each space was learnt from the other fold.) Comparisons are thus made within
folds, where real and generated texts of one distribution are exchangeable.
"""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.embedding.base import Encoder, FittedEncoder, FloatArray
from textassay.errors import EmptyCorpusError, OptionError

IntArray = npt.NDArray[np.int64]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: its powers number the positions in a sentence
_FOLD_BITS = np.uint64(32)  # the high half of a key is mixed best


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

    def __init__(self, encoder: Encoder, *, name: str | None = None, n_folds: int = 2) -> None:
        if n_folds < 2:
            raise OptionError(f"n_folds must be at least 2, got {n_folds}")
        if encoder.reads_columns:
            raise OptionError(f"{encoder.name} is not fitted to text, so it cannot be cross-fitted")
        self.name = f"cross-fitted({encoder.name},folds={n_folds})" if name is None else name
        self._encoder = encoder
        self._n_folds = n_folds

    def fit(self, real: Corpus) -> FittedEncoder:
        """Return one encoder per fold, fitted to the real texts of the other folds.

        If one fold holds all real texts (few, or one repeated), its encoder is fitted to all of them.
        """
        if len(real) == 0:
            raise EmptyCorpusError(f"{self.name} needs at least one real text to learn from, got 0")
        folds = folds_of(real, self._n_folds)
        parts = [np.flatnonzero(folds != fold) for fold in range(self._n_folds)]
        encoders = [self._encoder.fit(real.take(part) if len(part) else real) for part in parts]
        return _CrossFitted(self.name, encoders)


class _CrossFitted:
    """One encoder per fold."""

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
            "encoder-folds": str(len(encoders)),
        }

    def encode(self, corpus: Corpus) -> FloatArray:
        """Return one vector per text, shape (N, d): the dimensions of its fold, zeros for the other folds."""
        folds = folds_of(corpus, len(self._encoders))
        rows = [np.flatnonzero(folds == fold) for fold in range(len(self._encoders))]
        parts = [encoder.encode(corpus.take(chosen)) for encoder, chosen in zip(self._encoders, rows, strict=True)]
        ends = np.cumsum([part.shape[1] for part in parts])
        vectors = np.zeros((len(corpus), int(ends[-1])), dtype=np.float32)
        for part, chosen, end in zip(parts, rows, ends.tolist(), strict=True):
            vectors[chosen, end - part.shape[1] : end] = part
        return vectors
