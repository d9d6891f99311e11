"""A network over counts: it reads, for each token, how often the n-grams that end there stand in each side's text.

How much a count means (how far one occurrence may be trusted, how a long n-gram outweighs a short one) is what
smoothing methods fix beforehand; here it is learnt. A few layers turn the counts at each token, with a vector of a
frequent word, into evidence, look at the neighbours, and sum it over the sentence. The sums of smoothed n-gram models
over the whole sentence, which the stack weighs, stand beside. A sentence the counts were made of is
counted without itself (and without its group), so that what it shows is what a new sentence would show: with its own
counts, every training sentence would say which side it is from.

Sources: our own; the sum over tokens is the form of a log-likelihood ratio, its parts are learnt as in Zaheer et al.,
"Deep Sets", NeurIPS 2017; leave-one-out counts: Ney, Essen, Kneser, "On the estimation of 'small' probabilities by
leaving-one-out", PAMI 17, 1995.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.discriminator.base import Pair, setting
from textassay.ngram.index import mark_ends
from textassay.ngram.side_counts import SideCounts
from textassay.resampling.permutation import joint_groups
from textassay_lab.judges.network import N_PADS, NetworkDiscriminator, Sentences, WordRows
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from textassay_lab.judges.networks import NgramNetwork


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]

COUNTING = Recipe(max_epochs=5, learning_rate=3e-3, schedule="linear", averaging=0.99, max_norm=1.0)

_LONGEST = 5  # n-grams summed over sentences
_WIDTH = 64
_WINDOW = 3
_DROPOUT = 0.1
_SMALLEST_SCALE = 1e-6  # of a number that is the same for all sentences


@dataclass(frozen=True)
class CountedSentences:
    """Sentences with their ends, as rows of word vectors, padded, and what counts say of them."""

    sentences: Sentences  # N sentences of T rows
    # Shape (T, max_order, 2): ``counts[t, k - 1]`` is how often the k tokens that end at t stand in real and in
    # generated text; -1 where they would begin before the sentence, and in padding
    counts: Counts
    # What `SideCounts` says of whole sentences, and their length, shape (N, n_numbers)
    numbers: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sentences)

    @classmethod
    def concatenate(cls, parts: Sequence["CountedSentences"]) -> "CountedSentences":
        return cls(
            Sentences.concatenate([part.sentences for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.numbers for part in parts]),
        )

    def take(self, rows: IntArray) -> "CountedSentences":
        taken = self.sentences.take(rows)
        lengths = np.diff(taken.offsets)
        positions = np.arange(taken.offsets[-1]) + np.repeat(self.sentences.offsets[rows] - taken.offsets[:-1], lengths)
        return CountedSentences(taken, self.counts[positions], self.numbers[rows])

    def padded_counts(self) -> Counts:
        """Return the counts as a table beside `Sentences.padded`, shape (N, length, max_order, 2)."""
        lengths = np.diff(self.sentences.offsets)
        table = np.full((len(self), lengths.max(), *self.counts.shape[1:]), -1, dtype=np.int32)
        table[np.arange(table.shape[1]) < lengths[:, None]] = self.counts
        return table


@dataclass(frozen=True)
class CountRows:
    """n-grams of both sides with their counts, and which word has a vector; made by `build`."""

    words: WordRows
    sides: SideCounts
    max_order: int
    center: FloatArray
    scale: FloatArray

    @property
    def n_rows(self) -> int:
        return self.words.n_rows

    @property
    def n_numbers(self) -> int:
        return len(self.center)

    @classmethod
    def build(
        cls, pair: Pair, *, max_order: int, longest: int, min_sentences: int
    ) -> tuple["CountRows", tuple[CountedSentences, CountedSentences]]:
        """Return the counts of `pair`, and both its sides, each sentence without its own counts."""
        marked = (mark_ends(pair[0]), mark_ends(pair[1]))
        sides = SideCounts.build(*marked, max_order=longest)
        groups = joint_groups(pair[0].groups, pair[1].groups, len(pair[0]), len(pair[1]))
        numbers = sides.describe_own(groups)
        numbers = np.column_stack([numbers, np.concatenate([np.log1p(corpus.lengths) for corpus in marked])])
        center, scale = numbers.mean(axis=0), np.maximum(numbers.std(axis=0), _SMALLEST_SCALE)
        words = WordRows.build(marked, min_sentences)
        built = cls(words, sides, max_order, center, scale)
        index = sides.texts.index
        ids = np.concatenate([index.all_ids(corpus)[:max_order] for corpus in marked], axis=1)
        side = np.repeat([0, 1], [len(corpus.tokens) for corpus in marked])
        sentence = np.repeat(groups, np.concatenate([corpus.lengths for corpus in marked]))
        own = np.zeros((len(side), max_order, 2), dtype=np.int32)
        for level, size in enumerate(index.sizes[:max_order]):
            here = np.flatnonzero(ids[level] >= 0)
            distinct, number = np.unique(sentence[here] * size + ids[level][here], return_inverse=True)
            ngram_counts = np.bincount(2 * number + side[here], minlength=2 * len(distinct)).reshape(-1, 2)
            own[here + level, level] = ngram_counts[number]
        firsts, split = len(marked[0].tokens), len(marked[0])
        real = built._rows(marked[0], own[:firsts], numbers[:split])
        generated = built._rows(marked[1], own[firsts:], numbers[split:])
        return built, (real, generated)

    def encode(self, corpus: Corpus) -> CountedSentences:
        """Return new sentences: none of them was counted."""
        if corpus.vocabulary is not self.words.vocabulary:
            corpus = corpus.with_vocabulary(self.words.vocabulary)
        marked = mark_ends(corpus)
        numbers = np.column_stack([self.sides.describe(marked), np.log1p(marked.lengths)])
        return self._rows(marked, 0, numbers)

    def _rows(self, marked: Corpus, own: Counts | int, numbers: FloatArray) -> CountedSentences:
        ids = self.sides.texts.index.all_ids(marked)
        counts = np.full((len(marked.tokens), self.max_order, 2), -1, dtype=np.int32)
        place = np.arange(len(marked.tokens)) - np.repeat(marked.offsets[:-1], marked.lengths)
        for level in range(self.max_order):
            ends = np.flatnonzero(place >= level)
            grams = ids[level][ends - level]
            counts[ends, level] = 0
            counts[ends[grams >= 0], level] = self.sides.occurrences(level + 1, grams[grams >= 0])
        counts -= np.where(counts >= 0, own, 0)
        sentences = self.words.encode(marked)
        table = np.full((len(sentences.words), self.max_order, 2), -1, dtype=np.int32)
        table[np.arange(len(counts)) + N_PADS * np.repeat(np.arange(len(marked)), marked.lengths)] = counts
        scaled = ((numbers - self.center) / self.scale).astype(np.float32)
        return CountedSentences(sentences, table, scaled)


@dataclass(eq=False, kw_only=True)
class NgramNetworkDiscriminator(NetworkDiscriminator[CountedSentences]):
    """Network over n-gram counts; needs the extra ``neural``."""

    name = "ngram-network"
    max_order: int = setting(4, "the longest n-grams that are counted at each token", least=1, most=_LONGEST)
    word_width: int = setting(8, "the width of word vectors; none with 0", least=0)
    recipe: Recipe = COUNTING
    min_sentences: int = 50

    @property
    def network(self) -> str:
        return (
            f"{self.word_width}-d, counts of 1-{self.max_order}-grams on both sides, "
            f"sums as in a stack of 1-{_LONGEST}-grams, {_WIDTH} wide, window {_WINDOW}, sum, mean and maximum, "
            f"dropout {_DROPOUT}"
        )

    def encoded(
        self, train: Pair, valid: Pair
    ) -> tuple[CountRows, tuple[CountedSentences, CountedSentences], tuple[CountedSentences, CountedSentences]]:
        """Return the counts of the training text, its sentences, each without its own, and validation sentences.

        Were validation text counted, too, its labels would reach the training sentences through their counts, and
        what is found on it would be more than what is found on new text.
        """
        rows, sides = CountRows.build(
            train, max_order=self.max_order, longest=_LONGEST, min_sentences=self.min_sentences
        )
        return rows, sides, (rows.encode(valid[0]), rows.encode(valid[1]))

    def new_network(self, encoder: CountRows) -> "NgramNetwork":
        from textassay_lab.judges.networks import NgramNetwork

        sizes = {"max_order": self.max_order, "word_width": self.word_width, "width": _WIDTH}
        return NgramNetwork(encoder.n_rows, encoder.n_numbers, **sizes, dropout=_DROPOUT)
