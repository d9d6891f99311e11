"""A generator's training text as a third side: how likely a text is under models of it, and how much of it is new.

A generator hardly leaves what it learnt from; fresh real text does. The training text is never labelled real or
generated: it only adds columns to the texts of both sides, alike for both, so that a text of either side is described
the same way, whether a classifier learns from it or is tested on it.
"""

from dataclasses import dataclass, replace
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS, UNK
from textassay.discriminator.kernels import count_absent
from textassay.ngram.backoff import BackoffModel, with_ends
from textassay.ngram.kneser_ney import count_ngrams

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COLUMN = "training_text"  # of corpora, shape (N, n_names)
_ORDERS = (1, 2, 3, 5)  # of the models
_LONGEST = 6  # tokens of an n-gram that is looked up
_N_SPECIAL = max(PAD, SOS, EOS, UNK) + 1


@dataclass(frozen=True)
class TrainingText:
    """Models of a training text; made by `fit`, or by `of`, once for a text."""

    models: tuple[BackoffModel, ...]  # Kneser-Ney models, one an order; the last has order `_LONGEST`
    # The number of each token of the vocabulary in the models. Words that the text lacks have one number together, so
    # that the words of other texts change nothing.
    numbers: npt.NDArray[np.int32]

    @classmethod
    def fit(cls, train: Corpus) -> "TrainingText":
        """Return the models of `train`, which has at least one text."""
        numbers, unknown = _numbers(train)
        counts = count_ngrams(numbers[train.tokens], train.offsets, order=_LONGEST, n_types=unknown + 1)
        return cls(tuple(counts.fit(order)[0] for order in (*_ORDERS, _LONGEST)), numbers)

    @classmethod
    def of(cls, train: Corpus) -> "TrainingText":
        """Return what `fit` does, computed once as long as this corpus is held: a comparison asks many times.

        The models are also those of a corpus of the same texts with another vocabulary.
        """
        with _LOCK:
            if train not in _FITTED:
                others = [fitted for other, fitted in _FITTED.items() if other.fingerprint == train.fingerprint]
                _FITTED[train] = cls(others[0].models, _numbers(train)[0]) if others else cls.fit(train)
            return _FITTED[train]

    def described(self, corpus: Corpus) -> Corpus:
        """Return `corpus`, which shares the vocabulary, with the column `COLUMN`.

        Of each text: its log-probability in nats under the models of `_ORDERS`; the number of its n-grams of 2 to
        `_LONGEST` tokens, ends included, that the training text does not have; and the longest run of tokens, each the
        end of an n-gram of `_LONGEST` tokens that it has.
        """
        tokens, offsets = with_ends(self.numbers[corpus.tokens], corpus.offsets)
        columns = [
            np.add.reduceat(model.token_log_probs(tokens, offsets, model.plain), offsets[:-1])
            for model in self.models[:-1]
        ]
        depths = _depths(self.models[-1])[self.models[-1].trace(tokens, offsets).nodes]
        columns += list(count_absent(depths, offsets, _LONGEST))
        values = np.stack(columns, axis=1)
        return replace(corpus, columns={**corpus.columns, COLUMN: values})


def _numbers(train: Corpus) -> tuple[npt.NDArray[np.int32], int]:
    """Return the number in the models of each token of the vocabulary, and that of words that the text lacks."""
    types, firsts = np.unique(train.tokens, return_index=True)
    types = types[np.argsort(firsts)]
    types = types[~np.isin(types, (PAD, SOS, EOS))]  # written out, they are words that a model never draws
    unknown = _N_SPECIAL + len(types)
    numbers = np.full(len(train.vocabulary), unknown, dtype=np.int32)
    numbers[types] = np.arange(_N_SPECIAL, unknown)
    return numbers, unknown


_FITTED: WeakKeyDictionary[Corpus, TrainingText] = WeakKeyDictionary()
_LOCK = Lock()


def average_token(column: FloatArray, lengths: IntArray) -> FloatArray:
    """Return two of the columns for an average token: log-probability, and n-grams of 3 tokens that are new."""
    return column[:, [len(_ORDERS) - 1, len(_ORDERS) + 1]] / (lengths + 1)[:, None]


def _depths(model: BackoffModel) -> npt.NDArray[np.int8]:
    """Return the length of the n-gram of each node."""
    starts = [0, 1]
    while starts[-1] < len(model.first) - 1:
        starts.append(int(model.first[starts[-1]]))
    return np.repeat(np.arange(len(starts), dtype=np.int8), np.diff([*starts, len(model.tokens)]))
