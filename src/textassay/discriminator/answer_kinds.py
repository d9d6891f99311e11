"""Kinds of answers, found without labels, and how likely an answer is by the kinds of the others to its prompt.

All answers of a side to a prompt are taken to be of one kind. Kinds are clusters of the mean vectors of such answers;
each has a language model, which says how likely an answer is. The kinds of the other real and of the other generated
answers to a prompt follow from how likely these are (Bayes), and the column is how much likelier an answer is by the
first than by the second.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from textassay.corpus import Corpus
from textassay.discriminator.answer_likeness import Space, spreads
from textassay.discriminator.prompt_columns import Mask, Prompted
from textassay.generator import NgramModel

FloatArray = npt.NDArray[np.float64]

_N_KINDS = (4, 8)
KIND_COLUMNS = tuple(f"of a kind with the other answers, real over generated ({n} kinds)" for n in _N_KINDS)
_N_DIRECTIONS = 8  # of the vectors, those in which prompts differ most
_ORDER = 2  # of the language models
_STARTS = 3  # of the clustering
_EVIDENCE = 0.5  # words of a text are less independent than a model of pairs takes them to be
_MOST = 20.0  # nats, of one answer


class Kinds:
    """A clustering of the answers that are learnt from, and a language model of each cluster."""

    def __init__(self, space: Space, texts: Prompted, train: Mask, n_kinds: int) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        rows = np.flatnonzero(train)
        _, unit, sizes = np.unique(texts.unit[rows], return_inverse=True, return_counts=True)
        vectors = space.answers[rows]
        scales, turn = spreads(vectors, unit)
        if scales.any():
            vectors = vectors @ turn[:, -_N_DIRECTIONS:]
        means = np.stack([np.bincount(unit, weights=column) for column in vectors.T], axis=1) / sizes[:, None]
        kinds = KMeans(min(n_kinds, len(means)), n_init=_STARTS, random_state=0).fit_predict(means)[unit]
        answers = Corpus.concatenate(texts.sides)
        chosen = [rows[kinds == kind] for kind in np.unique(kinds)]
        self._prior = np.log([len(of_kind) / len(rows) for of_kind in chosen])
        self._models = [NgramModel(_ORDER).fit(answers.take(of_kind)) for of_kind in chosen]

    def column(self, texts: Prompted) -> FloatArray:
        """Return how much likelier each answer is by the kinds of the other real answers than of the generated."""
        scores = np.stack([np.concatenate([m.log_prob(side) for side in texts.sides]) for m in self._models], axis=1)
        scores *= _EVIDENCE
        likely = []
        for side in (True, False):
            kinds = self._prior + texts.sums_seen(scores, side)
            likely.append(logsumexp(kinds + scores, axis=1) - logsumexp(kinds, axis=1))
        return np.clip(likely[0] - likely[1], -_MOST, _MOST)


def kinds_of(space: Space, texts: Prompted, train: Mask) -> list[Kinds]:
    """Return what each of `KIND_COLUMNS` is computed by."""
    return [Kinds(space, texts, train, n_kinds) for n_kinds in _N_KINDS]
