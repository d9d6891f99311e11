"""Latent semantic analysis of words, word n-grams and character n-grams.

It encodes texts that it was fitted to differently from new ones, so the encoders ``lsa`` and ``lsa+lm`` cross-fit it
(`textassay.embedding.cross_fitted`).

Source: Deerwester et al., "Indexing by Latent Semantic Analysis", JASIS 1990.
Departs from it: weights are (1 + ln count) x inverse document frequency; word n-grams are terms, too; a word is the sum
of itself and its character n-grams, so that unseen words have vectors.
"""

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus.corpus import Corpus
from textassay.embedding.character_grams import CharacterGrams
from textassay.embedding.singular import TermMatrix, Terms, times, top_directions
from textassay.embedding.weighting import count_matrix, inverse_document_frequency, row_lengths, tfidf
from textassay.errors import EmptyCorpusError, OptionError
from textassay.ngram.index import NgramIndex
from textassay.seeding import uniforms

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]

_OVERSAMPLING = 16  # additional random directions
_BLOCK = 1 << 15  # texts encoded at once


class LatentSemanticEncoder:
    """Latent semantic analysis of words, word n-grams and the characters inside words."""

    reads_columns = False

    def __init__(
        self,
        *,
        dimensions: int = 128,
        max_order: int = 2,
        character_orders: tuple[int, int] = (2, 4),
        character_weight: float = 0.6,
        most: int = 100_000,
    ) -> None:
        for setting, value in (("dimensions", dimensions), ("max_order", max_order), ("most", most)):
            if value < 1:
                raise OptionError(f"{setting} must be at least 1, got {value}")
        if not 1 <= character_orders[0] <= character_orders[1]:
            raise OptionError(f"character_orders must be two numbers, 1 <= smallest <= largest, got {character_orders}")
        if not 0 <= character_weight <= 1:
            raise OptionError(f"character_weight must be between 0 and 1, got {character_weight}")
        self.dimensions = dimensions
        self.max_order = max_order
        self.character_orders = character_orders
        self.character_weight = character_weight
        self.most = most

    @property
    def name(self) -> str:
        """``lsa-plain``, with the settings that differ from the defaults."""
        changed = [f"{name}={value}" for name, value in vars(self).items() if value != _DEFAULTS.get(name, value)]
        return f"lsa-plain({','.join(changed)})" if changed else "lsa-plain"

    def fit(self, real: Corpus) -> "FittedLatentSemantic":
        """Return the encoder fitted to real text; deterministic."""
        if len(real) == 0:
            raise EmptyCorpusError("lsa needs at least one real text to learn from, got 0")
        learnt = evenly_spread(real, self.most)
        weighting = _Weighting(learnt, self)
        words, word_rows, ngram_rows = weighting.rows(learnt)
        matrix = TermMatrix(word_rows, ngram_rows, weighting.own[words], weighting.profiles(words))
        directions = top_directions(
            matrix, _random_columns(learnt, min(self.dimensions + _OVERSAMPLING, len(learnt))), self.dimensions
        )
        settings = {
            "encoder": f"{self.name.split('(')[0]}({self.dimensions})",
            "terms": f"words 1-{weighting.max_order}+chars {'-'.join(map(str, self.character_orders))}",
            "fit": str(len(learnt)),
        }
        content = f"{sorted(vars(self).items())} {real.fingerprint}"
        return FittedLatentSemantic(
            hashlib.blake2b(content.encode(), digest_size=16).hexdigest(), settings, weighting, words, directions
        )


_DEFAULTS = dict(vars(LatentSemanticEncoder()))


class FittedLatentSemantic:
    """Texts as vectors in the leading directions of real text."""

    reads_columns = False
    costly = False

    def __init__(
        self, key: str, settings: Mapping[str, str], weighting: "_Weighting", words: IntArray, directions: Terms
    ) -> None:
        self.key = key
        self.settings = {**settings, "encoder": f"{settings['encoder']}:{key[:8]}"}
        self._weighting = weighting
        self._places = np.full(len(weighting.vocabulary), -1)
        self._places[words] = np.arange(len(words))
        self._words = (weighting.own[words, None] * directions.words).astype(np.float32)
        self._ngrams = directions.ngrams.astype(np.float32)
        self._characters = directions.characters.astype(np.float32)

    def encode(self, corpus: Corpus) -> Vectors:
        """Return one vector per text, shape (N, d + 1), float32, of length 1.

        The last number is 1 for a text without any known term, such as an empty one, and 0 for all others: a zero
        vector would be nearer to every text than texts are to one another.
        """
        vectors = np.zeros((len(corpus), self._ngrams.shape[1] + 1), dtype=np.float32)
        for start in range(0, len(corpus), _BLOCK):
            block = corpus.take(np.arange(start, min(start + _BLOCK, len(corpus))))
            words, word_rows, ngram_rows = self._weighting.rows(block)
            places = self._places[words]
            of_words = times(self._weighting.profiles(words), self._characters)
            of_words[places >= 0] += self._words[places[places >= 0]]
            sums = times(word_rows, of_words) + times(ngram_rows, self._ngrams)
            lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums, dtype=np.float64))[:, None]
            known = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
            vectors[start : start + len(block)] = np.hstack([known, lengths == 0])
        return vectors


class _Weighting:
    """The terms of real text and their weights."""

    def __init__(self, real: Corpus, encoder: LatentSemanticEncoder) -> None:
        self.vocabulary = real.vocabulary
        self.max_order = encoder.max_order + (0 if real.separator else 2)
        self._index = NgramIndex.build([real], max_order=self.max_order, min_sentences=2)
        words, word_counts = _words(real)
        frequency = np.zeros(len(self.vocabulary), dtype=np.int64)
        frequency[words] = np.bincount(word_counts.indices, minlength=len(words))
        self._word_idf = inverse_document_frequency(frequency, len(real))
        ngram_counts = self._ngrams(real)
        in_ngrams = np.bincount(ngram_counts.indices, minlength=ngram_counts.shape[1])
        self._ngram_idf = inverse_document_frequency(in_ngrams, len(real))
        self._characters = CharacterGrams(self.vocabulary.decode(words), encoder.character_orders)
        self._share = encoder.character_weight
        # a word of one text has its character n-grams only, like an unseen word
        self.own = np.sqrt(1 - self._share) * (frequency > 1)

    def rows(self, corpus: Corpus) -> tuple[IntArray, csr_matrix, csr_matrix]:
        """Return the distinct words, and the weights of words and n-grams in each text, normalised to length 1.

        Words are ordered by first appearance, so that sums do not depend on the rest of the vocabulary.
        """
        words, counts = _words(corpus)
        word_rows = tfidf(counts, self._word_idf[words])
        ngram_rows = tfidf(self._ngrams(corpus), self._ngram_idf)
        lengths = np.hypot(row_lengths(word_rows), row_lengths(ngram_rows))
        for rows in (word_rows, ngram_rows):
            rows.data /= np.repeat(lengths, np.diff(rows.indptr))
        return words, word_rows, ngram_rows

    def profiles(self, words: IntArray) -> csr_matrix:
        """Return the weights of the character n-grams of each word."""
        return self._characters.profiles(self.vocabulary.decode(words)) * float(np.sqrt(self._share))

    def _ngrams(self, corpus: Corpus) -> csr_matrix:
        ids = self._index.all_ids(corpus)[1:].astype(np.int64)
        sizes = self._index.sizes[1:]
        firsts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))
        ids = np.where(ids >= 0, ids + firsts[:-1, None], -1)
        return count_matrix(ids.T.ravel(), corpus.offsets * len(ids), int(firsts[-1]))


def _words(corpus: Corpus) -> tuple[IntArray, csr_matrix]:
    """Return the distinct tokens, by first appearance, and their counts in each text."""
    distinct, firsts, places = np.unique(corpus.tokens, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return distinct[order].astype(np.int64), count_matrix(ranks[places], corpus.offsets, len(distinct))


def evenly_spread(corpus: Corpus, most: int) -> Corpus:
    """Return `corpus`, or `most` of its texts, evenly spaced, if it has more."""
    if len(corpus) <= most:
        return corpus
    return corpus.take(np.arange(most) * len(corpus) // most)


def _random_columns(corpus: Corpus, n_columns: int) -> FloatArray:
    """Return random numbers, shape (N, n_columns), that depend on each text, not on its position."""
    numbers = [
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest())
        for text in corpus.texts
    ]
    sentences = np.array(numbers, dtype=np.int64)
    return np.stack([uniforms(0, sentences, position) - 0.5 for position in range(n_columns)], axis=1)
