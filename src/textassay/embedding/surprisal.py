"""How surprising a text is, word after word, to n-gram models of real text: what a bag of words cannot see.

The models are interpolated Kneser-Ney models of single words, pairs and triples. The surprisal of a word is -ln p; what
the one before takes off it is their pointwise mutual information (Church and Hanks, "Word Association Norms, Mutual
Information, and Lexicography", Computational Linguistics 1990).

A text that the models learnt from surprises them less than a new one, so this encoder is to be cross-fitted
(`textassay.embedding.encoder`). For the same reason its scale comes from halves of the real text under models of
the other half.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK
from textassay.embedding.encoder import folds_of
from textassay.embedding.latent_semantic import evenly_spread
from textassay.errors import EmptyCorpusError
from textassay.execution.threads import parallel_map
from textassay.ngram.backoff import with_ends
from textassay.ngram.kneser_ney import count_ngrams

FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]

_ORDERS = (1, 2, 3)
_CHARACTER_ORDERS = (1, 3, 5)  # where tokens are characters
_MOST = 100_000  # texts learnt from
_BLOCK = 1 << 13  # texts encoded at once
_QUANTILES = (0.25, 0.75, 1.0)
_N_STATISTICS = 14
_SMALLEST_SPREAD = 0.05  # where real texts hardly differ, as in the surprisal of a full stop that ends all of them
_FARTHEST = 2.0  # standard deviations that no statistic lies beyond: very odd texts are alike, not far from each other
_LENGTH = 0.5  # of a vector whose statistics are all one standard deviation off; latent semantic vectors have length 1


class SurprisalEncoder:
    """Statistics of the surprisals of each text, in standard deviations of real text."""

    name = "lm"
    reads_columns = False

    def fit(self, real: Corpus) -> "FittedSurprisal":
        if len(real) == 0:
            raise EmptyCorpusError("lm needs at least one real text to learn from, got 0")
        learnt = evenly_spread(real, _MOST)
        in_half = folds_of(learnt, 4) >= 2  # even if the texts are those of one of two folds
        first, second = (learnt.take(np.flatnonzero(half)) for half in (in_half, ~in_half))
        if len(first) and len(second):
            held_out = np.concatenate([_Models(first).statistics(second), _Models(second).statistics(first)])
        else:
            held_out = _Models(learnt).statistics(learnt)
        return FittedSurprisal(_Models(learnt), held_out, real.fingerprint)


class FittedSurprisal:
    """n-gram models, and the mean and spread of each statistic over real texts that models had not seen."""

    reads_columns = False
    costly = False

    def __init__(self, models: "_Models", held_out: FloatArray, fingerprint: str) -> None:
        self.key = hashlib.blake2b(f"lm {fingerprint}".encode(), digest_size=16).hexdigest()
        self.settings: Mapping[str, str] = {
            "encoder": f"lm:{self.key[:8]}",
            "lm-orders": "+".join(map(str, models.orders)),
        }
        self._models = models
        self._centre = held_out.mean(axis=0)
        self._spread = np.maximum(held_out.std(axis=0), _SMALLEST_SPREAD)

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, 14), float32, shorter than 1."""
        deviations = (self._models.statistics(corpus) - self._centre) / self._spread
        bounded = _FARTHEST * np.tanh(deviations / _FARTHEST)
        return np.asarray(_LENGTH / np.sqrt(_N_STATISTICS) * bounded, dtype=np.float32)


class _Models:
    """n-gram models of real text, to which all words that it lacks are one: nothing depends on other texts."""

    def __init__(self, real: Corpus) -> None:
        self.orders = _ORDERS if real.separator else _CHARACTER_ORDERS
        distinct, firsts = np.unique(real.tokens, return_index=True)
        self._ids = np.full(len(real.vocabulary), UNK, dtype=np.int32)
        self._ids[distinct[np.argsort(firsts)]] = np.arange(len(distinct)) + UNK + 1
        n_types = len(distinct) + UNK + 1
        counts = count_ngrams(self._ids[real.tokens], real.offsets, order=self.orders[-1], n_types=n_types)
        self._models = [counts.fit(order)[0] for order in self.orders]
        # the nodes of shorter n-grams have lower numbers in the trie
        first_nodes = np.cumsum([1, *(len(level.tokens) for level in counts.levels)])
        self._first_nodes = [int(first_nodes[order - 1]) for order in self.orders]

    def statistics(self, corpus: Corpus) -> FloatArray:
        """Return the statistics of each text, shape (N, 14)."""
        blocks = [np.arange(start, min(start + _BLOCK, len(corpus))) for start in range(0, len(corpus), _BLOCK)]
        return np.concatenate(
            [np.empty((0, _N_STATISTICS)), *parallel_map(lambda rows: self._block(corpus.take(rows)), blocks)]
        )

    def _block(self, corpus: Corpus) -> FloatArray:
        tokens, offsets = with_ends(self._ids[corpus.tokens], corpus.offsets)
        starts, lengths = offsets[:-1], np.diff(offsets)
        texts = np.repeat(np.arange(len(corpus)), lengths)

        def mean(values: npt.NDArray[np.generic]) -> FloatArray:
            return np.asarray(np.add.reduceat(values, starts, dtype=np.float64) / lengths)

        def spread(values: FloatArray) -> FloatArray:
            return np.asarray(np.sqrt(mean((values - mean(values)[texts]) ** 2)))

        word, pair, triple = (-model.token_log_probs(tokens, offsets, model.plain) for model in self._models)
        after_one, after_two = pair - word, triple - pair  # what the word before changes, and the one before that
        ranked = after_one[np.lexsort((after_one, texts))]
        quantiles = [ranked[starts + np.ceil(share * (lengths - 1)).astype(np.int64)] for share in _QUANTILES]
        nodes = self._models[-1].trace(tokens, offsets).nodes
        return np.stack(
            [
                np.log(lengths),
                mean(word),
                mean(after_one),
                mean(after_two),
                spread(word),
                spread(after_one),
                *quantiles,
                after_one[offsets[1:] - 1],  # at the end of the text
                *(mean(nodes < first) for first in self._first_nodes[1:]),  # pairs and triples not seen
                mean(tokens == UNK),
                _repeated_shares(corpus),
            ],
            axis=1,
        )


def _repeated_shares(corpus: Corpus) -> FloatArray:
    """Return the share of the words of each text that stand in it before, shape (N,)."""
    n_types = len(corpus.vocabulary)
    keys = np.sort(np.repeat(np.arange(len(corpus)), corpus.lengths) * n_types + corpus.tokens)
    n_repeated = np.bincount(keys[1:][keys[1:] == keys[:-1]] // n_types, minlength=len(corpus))
    return np.asarray(n_repeated / np.maximum(corpus.lengths, 1), dtype=np.float64)
