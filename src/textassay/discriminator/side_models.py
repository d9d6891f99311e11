"""Two n-gram language models, one of the real and one of the generated side: what each sentence costs under both.

A training sentence can be scored without its own group on both sides, as if it had never been seen: what is learnt from
such scores then holds for new text. Words that no training sentence holds are one word, so that nothing depends on what
other text is there.

Source: the models of `textassay.ngram.kneser_ney`.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.discriminator.base import Pair
from textassay.ngram.backoff import BackoffModel
from textassay.ngram.kneser_ney import count_ngrams
from textassay.ngram.sentence_ends import with_ends

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TokenProbs:
    """How likely each token of N sentences, and each end, is on both sides."""

    # Probabilities, shape (T + N,), above 0
    real: FloatArray
    generated: FloatArray
    offsets: IntArray  # Where each sentence starts, and the end of the last, shape (N + 1,)

    def log_ratios(self, blur: float = 0.0) -> FloatArray:
        """Return the log of real over generated of each token, shape (T + N,), in nats.

        `blur`: what share of its probabilities each side takes from the other, in [0, 0.5): above 0, no single token
        says more than ``ln((1 - blur) / blur)``.
        """
        real = (1 - blur) * self.real + blur * self.generated
        generated = (1 - blur) * self.generated + blur * self.real
        return np.asarray(np.log(real / generated), dtype=np.float64)

    def sums(self, tokens: FloatArray) -> FloatArray:
        """Return the sum over each sentence of numbers of tokens, shapes (T + N,) to (N,)."""
        if len(self.offsets) == 1:
            return np.empty(0)
        return np.asarray(np.add.reduceat(tokens, self.offsets[:-1]), dtype=np.float64)


@dataclass(frozen=True)
class FittedSides:
    """A model of each side; made by `SideModels.fit`."""

    places: TokenArray  # (V,) id of each token of the vocabulary; what no training sentence holds is <unk>
    real: BackoffModel
    generated: BackoffModel

    def token_probs(self, corpus: Corpus) -> TokenProbs:
        """Return how likely the tokens of `corpus`, with the vocabulary of the training text, are on both sides."""
        text, offsets = with_ends(self.places[corpus.tokens], corpus.offsets)
        real, generated = (
            np.exp(model.traced_log_probs(model.trace(text, offsets))) for model in (self.real, self.generated)
        )
        return TokenProbs(real, generated, offsets)


class SideModels:
    """n-grams of both sides, counted once, and the models of every order.

    `groups`: group of each real and each generated sentence, where some shall be left out: shapes (n_real,) and
    (n_generated,), from 0, at least two on each side, none left out.
    """

    def __init__(self, train: Pair, *, max_order: int, groups: tuple[IntArray, IntArray] | None = None) -> None:
        words = np.unique(np.concatenate([corpus.tokens for corpus in train]))
        words = words[words > UNK]  # tokens that models keep for themselves are unknown words in a text
        n_types = UNK + 1 + len(words)
        self._places = np.full(len(train[0].vocabulary), UNK, dtype=np.int32)
        self._places[words] = np.arange(UNK + 1, n_types)
        self._counts = tuple(
            count_ngrams(
                self._places[corpus.tokens],
                corpus.offsets,
                order=max_order,
                n_types=n_types,
                groups=None if groups is None else groups[number],
            )
            for number, corpus in enumerate(train)
        )

    def fit(self, order: int, *, without: Collection[int] = ()) -> FittedSides:
        """Return the models of one order, at most `max_order`, without some groups of both sides."""
        real, generated = (counts.fit(order, without=without)[0] for counts in self._counts)
        return FittedSides(self._places, real, generated)
