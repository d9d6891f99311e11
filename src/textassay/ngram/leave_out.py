"""An n-gram language model of a corpus, and the same without each group of its sentences.

The models without a group say two things: what a sentence costs under a model that never saw it (cross-fitting), and
how much a score would change with another training text (delete-a-group jackknife). Text is counted once; a model
without a group is a matter of subtraction, and a text is looked up in the trie once for all of them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import TooFewSentencesError
from textassay.execution.threads import parallel_map
from textassay.ngram.backoff import BackoffModel, Trace
from textassay.ngram.kneser_ney import Discounts, NgramCounts, count_ngrams
from textassay.ngram.order import OrderChoice, choose_order
from textassay.ngram.sentence_ends import with_ends

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_ORDER = 5  # ten thousand sentences support no longer context


@dataclass(frozen=True)
class LeaveOutModels:
    """Interpolated modified Kneser-Ney models of one corpus: of all of it, and without each group."""

    train: Corpus
    groups: IntArray  # group of each sentence, shape (N,), from 0, none left out
    counts: NgramCounts
    choice: OrderChoice  # the order of all models
    model: BackoffModel  # of the whole corpus
    discounts: tuple[Discounts, ...]  # of `model`

    @classmethod
    def fit(cls, train: Corpus, groups: IntArray, *, valid: Corpus | None = None) -> "LeaveOutModels":
        """Return the models of `train`.

        `groups`: group of each sentence, shape (N,), from 0, none left out.
        """
        n_groups = int(groups.max()) + 1
        if n_groups < 2:
            raise TooFewSentencesError("a language model needs at least two sentences of different groups to be tested")
        n_types = len(train.vocabulary)
        counts = count_ngrams(train.tokens, train.offsets, order=MAX_ORDER, n_types=n_types, groups=groups)
        if valid is None:
            kept_apart = range(max(1, n_groups // 10))
            choice = choose_order(counts, train.take(np.flatnonzero(groups < len(kept_apart))), without=kept_apart)
        else:
            choice = choose_order(counts, valid)
        return cls(train, groups, counts, choice, *counts.fit(choice.order))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.counts.n_groups

    def nll(self, corpus: Corpus) -> FloatArray:
        """Return what each sentence costs under the model of the whole corpus, in nats, its end included: (N,)."""
        trace, offsets = self._trace(corpus)
        return sentence_nll(self.model.traced_log_probs(trace), offsets)

    def nll_without(self, corpus: Corpus) -> FloatArray:
        """Return what all of `corpus` costs in nats under the model without each group: shape (n_groups,)."""
        trace, _ = self._trace(corpus)
        return np.array(parallel_map(lambda group: -self._without(group).traced_log_probs(trace).sum(), self._all()))

    def nll_held_out(self) -> FloatArray:
        """Return what each training sentence costs, in nats, under the model without its group: shape (N,)."""

        def score(group: int) -> FloatArray:
            trace, offsets = self._trace(self.train.take(np.flatnonzero(self.groups == group)))
            return sentence_nll(self._without(group).traced_log_probs(trace), offsets)

        nll = np.empty(len(self.train))
        for group, group_nll in enumerate(parallel_map(score, self._all())):
            nll[self.groups == group] = group_nll
        return nll

    def _all(self) -> range:
        return range(self.n_groups)

    def _without(self, group: int) -> BackoffModel:
        return self.counts.fit(self.choice.order, without=(group,))[0]

    def _trace(self, corpus: Corpus) -> tuple[Trace, IntArray]:
        text, offsets = with_ends(corpus.tokens, corpus.offsets)
        return self.model.trace(text, offsets), offsets


def sentence_nll(log_probs: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the sums of ``-log_probs``, shape (T,), over sentences that each have at least one: shape (N,)."""
    return -np.add.reduceat(log_probs, offsets[:-1])
