"""What a sentence earns, token by token: how much likelier each word is where it stands than anywhere.

A token earns its log-probability under an n-gram model of real text, less that of the word out of context: a word that
fits earns, whether it is common or rare. What a sentence says again earns nothing, and costs what it is worth in real
text: every token adds the log-probability of its ending, or not ending, a pair of words that stood in the same sentence
before.

Source: the difference of the two log-probabilities, per token, is SLOR: Pauls, Klein, "Large-Scale Syntactic Language
Modeling with Treelets", ACL 2012; Lau, Clark, Lappin, "Grammaticality, Acceptability, and Probability", Cognitive
Science 41, 2017.
Departs from it: repetition inside the sentence is part of it; the end of the sentence is not, since people judge words.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from textassay.corpus import Corpus
from textassay.execution import parallel_map
from textassay.generator import OrderChoice, choose_order
from textassay.metric.token_cost import EventSpace
from textassay.ngram import NgramCounts, count_ngrams, with_ends

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_ORDER = 5


@dataclass(frozen=True)
class Placed:
    """A corpus with what does not depend on the model."""

    corpus: Corpus  # The sentences in the events of the model
    sentences: IntArray  # Sentence of each token, shape (T,)
    repeated: BoolArray  # Whether a token ends a pair of words that stood in its sentence before, shape (T,)
    paired: BoolArray  # Whether a token ends a pair at all, shape (T,): all but the first of each sentence
    scored: BoolArray  # Whether it is scored, shape (T,): neither markup nor right after it
    n_scored: IntArray  # Scored tokens of each sentence, shape (N,)


def place(corpus: Corpus, space: EventSpace, markup: str | None) -> Placed:
    """Return `corpus`, in the vocabulary shared with the real text, ready to be scored."""
    sentences = np.repeat(np.arange(len(corpus)), corpus.lengths)
    first = np.zeros(len(corpus.tokens), dtype=np.bool_)
    first[corpus.offsets[:-1][corpus.lengths > 0]] = True
    marked = np.zeros(len(corpus.tokens), dtype=np.bool_)
    if markup is not None and markup in corpus.vocabulary:
        marked = corpus.tokens == corpus.vocabulary.encode([markup])[0]
    scored = ~marked
    scored[1:] &= ~marked[:-1] | first[1:]
    return Placed(
        corpus=space.encode(corpus),
        sentences=sentences,
        repeated=repeated_pairs(corpus, sentences, first),
        paired=~first,
        scored=scored,
        n_scored=np.bincount(sentences[scored], minlength=len(corpus)),
    )


def repeated_pairs(corpus: Corpus, sentences: IntArray, first: BoolArray) -> BoolArray:
    """Return whether each token, with the one before it, stood in its sentence before; shape (T,)."""
    tokens = corpus.tokens.astype(np.int64)
    pairs = np.where(first, -1, np.concatenate(([0], tokens[:-1]))[: len(tokens)] * len(corpus.vocabulary) + tokens)
    order = np.lexsort((pairs, sentences))  # stable: of equal pairs, the first to stand in the sentence comes first
    again = np.zeros(len(tokens), dtype=np.bool_)
    again[1:] = (pairs[order[1:]] == pairs[order[:-1]]) & (sentences[order[1:]] == sentences[order[:-1]])
    repeated = np.empty(len(tokens), dtype=np.bool_)
    repeated[order] = again
    return repeated & ~first


@dataclass(frozen=True)
class TokenCredit:
    """The models of real text, and the same without each group of its sentences."""

    space: EventSpace  # What is predicted
    markup: str | None  # The token that hides a word; none where there is none
    real: Placed  # The real text
    groups: IntArray  # Group of each real sentence, shape (N,), from 0, none left out
    counts: NgramCounts  # n-grams of the real text and, as one more group that is never left out, of the background
    choice: OrderChoice  # The order of the models

    @classmethod
    def fit(cls, real: Corpus, groups: IntArray, background: Corpus | None, markup: str | None) -> "TokenCredit":
        """Return the credit that real text gives.

        `groups`: group of each real sentence, shape (N,), from 0, none left out.
        """
        every = real if background is None else _joined(real, background)
        space = EventSpace.of(every)
        placed = place(real, space, markup)
        encoded = space.encode(every)
        n_groups = int(groups.max()) + 1
        owners = np.concatenate((groups, np.full(len(every) - len(real), n_groups)))
        n_types = len(space.vocabulary)
        counts = count_ngrams(encoded.tokens, encoded.offsets, order=MAX_ORDER, n_types=n_types, groups=owners)
        apart = range(max(1, n_groups // 10))
        choice = choose_order(counts, placed.corpus.take(np.flatnonzero(groups < len(apart))), without=apart)
        return cls(space, markup, placed, groups, counts, choice)

    @property
    def n_groups(self) -> int:
        """Groups of real sentences."""
        return int(self.groups.max()) + 1

    def repeat_rate(self, without: Collection[int] = ()) -> float:
        """Return the probability that a scored token of real text ends a repeated pair, never 0 or 1."""
        real = self.real
        counted = real.scored & real.paired & ~np.isin(self.groups[real.sentences], list(without))
        return float((np.count_nonzero(real.repeated & counted) + 0.5) / (np.count_nonzero(counted) + 1))

    def score(self, placed: Placed, without: Collection[int] = ()) -> FloatArray:
        """Return the mean credit of a scored token of each sentence, in nats, shape (N,); 0 where none is scored."""
        credit = self._credit(placed, without)
        sums = np.bincount(placed.sentences, weights=np.where(placed.scored, credit, 0.0), minlength=len(placed.corpus))
        return np.asarray(sums / np.maximum(placed.n_scored, 1), dtype=np.float64)

    def score_without(self, placed: Placed) -> FloatArray:
        """Return `score` under the models without each group of real sentences, shape (G, N)."""
        return np.array(parallel_map(lambda group: self.score(placed, (group,)), range(self.n_groups)))

    def score_held_out(self) -> FloatArray:
        """Return `score` of each real sentence under the models that did not see its group, shape (N,)."""

        def score(group: int) -> FloatArray:
            return self.score(_taken(self.real, np.flatnonzero(self.groups == group)), (group,))

        scores = np.empty(len(self.groups))
        for group, credits in enumerate(parallel_map(score, range(self.n_groups))):
            scores[self.groups == group] = credits
        return scores

    def log_probs(self, placed: Placed, without: Collection[int] = ()) -> tuple[FloatArray, FloatArray]:
        """Return the log-probability of each token after those before it and out of context, shapes (T,), in nats."""
        tokens = placed.corpus.tokens
        model, _ = self.counts.fit(self.choice.order, without=without)
        alone, _ = self.counts.fit(1, without=without)
        text, offsets = with_ends(tokens, placed.corpus.offsets)
        inside = np.ones(len(text), dtype=np.bool_)
        inside[offsets[1:] - 1] = False
        in_context = model.traced_log_probs(model.trace(text, offsets))[inside]
        return in_context, np.log(alone.probs[1 + tokens.astype(np.int64)])

    def _credit(self, placed: Placed, without: Collection[int]) -> FloatArray:
        """Return what each token earns, shape (T,)."""
        in_context, alone = self.log_probs(placed, without)
        fit, rate = in_context - alone, self.repeat_rate(without)
        first_time = fit + np.where(placed.paired, np.log1p(-rate), 0.0)
        return np.asarray(np.where(placed.repeated, np.minimum(fit, 0.0) + np.log(rate), first_time), dtype=np.float64)


def _joined(real: Corpus, background: Corpus) -> Corpus:
    return Corpus.concatenate([replace(part, groups=None, columns={}) for part in (real, background)])


def _taken(placed: Placed, sentences: IntArray) -> Placed:
    """Return some of the sentences."""
    keep = np.isin(placed.sentences, sentences)
    return Placed(
        corpus=placed.corpus.take(sentences),
        sentences=np.searchsorted(sentences, placed.sentences[keep]),
        repeated=placed.repeated[keep],
        paired=placed.paired[keep],
        scored=placed.scored[keep],
        n_scored=placed.n_scored[sentences],
    )
