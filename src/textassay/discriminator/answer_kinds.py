"""Kinds of answers, found without labels, and how likely an answer is by the kinds of the others to its prompt.

All answers of a side to a prompt are taken to be of one kind. Kinds are clusters of the mean vectors of such answers;
each has a language model, and answers move to the kind whose model, learnt from other prompts, fits them best. The
kinds of the other real and of the other generated answers to a prompt follow from how likely these are (Bayes); the
columns are how much likelier an answer is by the first than by the second, without the prompt and with the prompt as
one more of the real answers.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from textassay.corpus.corpus import Corpus
from textassay.discriminator.answer_likeness import Space, spreads
from textassay.discriminator.prompt_columns import IntArray, Mask, Prompted, row_sums
from textassay.ngram.model import NgramModel

FloatArray = npt.NDArray[np.float64]

KIND_COLUMNS = (
    "of the kind of other answers, real over generated", "of the kind of prompt and other answers, real over generated",
)  # fmt: skip
_N_KINDS = 4
_N_DIRECTIONS = 8  # of the vectors, those in which prompts differ most
_ORDER = 2  # of the language models
_STARTS = 3  # of the clustering
_MOVES = 2  # of one half of the prompts each, by models of the other half
_EVIDENCE = 0.5  # words of a text are less independent than a model of pairs takes them to be
_MOST = 20.0  # nats, of one answer


class Kinds:
    """A clustering of the answers that are learnt from, and a language model of each cluster."""

    def __init__(self, space: Space, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        rows = np.flatnonzero(train)
        units, unit, sizes = np.unique(texts.unit[rows], return_inverse=True, return_counts=True)
        vectors = space.answers[rows]
        scales, turn = spreads(vectors, unit)
        if scales.any():
            vectors = vectors @ turn[:, -_N_DIRECTIONS:]
        means = row_sums(unit, vectors, len(sizes)) / sizes[:, None]
        kinds = KMeans(min(_N_KINDS, len(np.unique(means, axis=0))), n_init=_STARTS, random_state=0).fit_predict(means)
        answers = Corpus.concatenate(texts.sides).take(rows)
        half = units // 2 % 2
        for move in range(_MOVES):
            learnt, moved = half == move % 2, half != move % 2
            if learnt.any() and moved.any():
                found, _, models = _models(answers, np.where(learnt, kinds, -1)[unit])
                scores = _scores(models, answers.take(np.flatnonzero(moved[unit])))
                of_units = row_sums(unit[moved[unit]], scores, len(units))[moved]
                kinds[moved] = found[np.argmax(of_units, axis=1)]
        _, self._prior, self._models = _models(answers, kinds[unit])

    def columns(self, texts: Prompted) -> list[FloatArray]:
        """Return how much likelier each answer is by the kinds of the other real answers than of the generated."""
        scores = np.concatenate([_scores(self._models, side) for side in texts.sides])
        real, generated = (self._prior + texts.sums_seen(scores, side) for side in (True, False))
        likely = [
            logsumexp(kinds + scores, axis=1) - logsumexp(kinds, axis=1)
            for kinds in (real, real + _scores(self._models, texts.prompts)[texts.prompt], generated)
        ]
        return [np.clip(one - likely[2], -_MOST, _MOST) for one in likely[:2]]


def _models(answers: Corpus, kinds: IntArray) -> tuple[IntArray, FloatArray, list[NgramModel]]:
    """Return the kinds from 0 on that there are, the logarithms of their shares, and a model of each."""
    found, sizes = np.unique(kinds[kinds >= 0], return_counts=True)
    models = [NgramModel(_ORDER).fit(answers.take(np.flatnonzero(kinds == kind))) for kind in found]
    return found, np.log(sizes / sizes.sum()), models


def _scores(models: Sequence[NgramModel], texts: Corpus) -> FloatArray:
    """Return the evidence of each text for each kind, in nats, shape (n, n_kinds)."""
    return np.asarray(_EVIDENCE * np.stack([model.log_prob(texts) for model in models], axis=1))
