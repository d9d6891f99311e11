"""How an answer fits its prompt and the other answers to it, in a space of style and subject.

An answer is a short vector: style (length, how frequent its words are, punctuation, ...) and subject (latent semantic
analysis of its words). Vectors of one side's answers to a prompt are taken as normal around a mean of the prompt, and
these means as normal around a linear function of the prompt's own vector. So how likely an answer's vector is as one
more of the real answers, and as one more of the generated ones, follows in closed form from the prompt and from the
other answers of both sides; the columns are log-ratios of these.

Source: Ioffe, "Probabilistic Linear Discriminant Analysis", ECCV 2006 (means within and between, diagonalised
together). Departs from it: the mean depends on the prompt; predictive densities as columns of a classifier.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD

from textassay.discriminator.prompt_columns import Background, Mask, Prompted, Words

FloatArray = npt.NDArray[np.float64]

LIKENESS_COLUMNS = (
    "fits the prompt, real over generated", "fits prompt and other answers, real over generated",
    "fits the other answers, both sides together",
)  # fmt: skip
_N_SUBJECTS = 32
_RIDGE = 10.0  # prompts that say nothing, by which the linear function is held back
_FLOOR = 1e-3  # of variances, relative to the mean one
_MOST = 20.0  # nats, of one answer


class Space:
    """Vectors of style and subject; learnt from the text of some answers and prompts, without their labels."""

    def __init__(self, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        background = Background.of(texts, train)
        self._background = background
        rows = self._weighted(texts.words)
        self._svd = None
        n_subjects = min(_N_SUBJECTS, rows.shape[1] - 1, int(np.count_nonzero(train)) - 1)
        if n_subjects > 0:
            self._svd = TruncatedSVD(n_subjects, n_iter=2, random_state=0).fit(rows[train])
        words = texts.prompts.vocabulary.tokens
        self._kinds = np.array([_kind(word) for word in words], dtype=np.float64).reshape(len(words), -1)
        self.answers = self._vectors(texts.words, rows)
        self.prompts = self._vectors(texts.prompt_words, self._weighted(texts.prompt_words))
        mean, scale = self.answers[train].mean(axis=0), self.answers[train].std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        self.answers = (self.answers - mean) / scale
        self.prompts = (self.prompts - mean) / scale

    def _weighted(self, words: Words) -> csr_matrix:
        rarity = self._background.rarity
        values = (1 + np.log(words.count)) * rarity[words.word]
        norms = np.sqrt(words.sums(values**2))
        starts = np.searchsorted(words.text, np.arange(words.n_texts + 1))
        shape = words.n_texts, len(rarity)
        return csr_matrix((values / np.maximum(norms, 1e-9)[words.text], words.word, starts), shape=shape)

    def _vectors(self, words: Words, rows: csr_matrix) -> FloatArray:
        length = np.maximum(words.lengths, 1)
        logs = np.log(self._background.share)[words.word]
        mean_log = words.sums(words.count * logs) / length
        spread = np.sqrt(np.maximum(words.sums(words.count * logs**2) / length - mean_log**2, 0.0))
        kinds = [words.sums(words.count * kind[words.word]) / length for kind in self._kinds.T]
        distinct = words.sums(np.ones(len(words.word))) / length
        subjects = [] if self._svd is None else list(self._svd.transform(rows).T)
        return np.column_stack([np.log1p(words.lengths), mean_log, spread, distinct, *kinds, *subjects])


def _kind(word: str) -> tuple[float, float, float]:
    """Return the length of a word, whether it has no letter, and whether it begins with a capital."""
    return float(len(word)), float(not any(map(str.isalpha, word))), float(word[:1].isupper())


@dataclass(frozen=True)
class Likeness:
    """Normal models of both sides, learnt from some answers."""

    space: Space
    texts: Prompted
    train: Mask

    @cached_property
    def _asked(self) -> FloatArray:
        """Vectors of prompts, with a one for the intercept."""
        return np.column_stack([self.space.prompts, np.ones(self.texts.n_prompts)])

    def _expected(self, side: bool) -> FloatArray:
        """Return what is expected of a side's answers to each prompt, shape (n_prompts, d)."""
        texts, mine = self.texts, self.train & (self.texts.is_real == side)
        given = self._asked[texts.prompt[mine]]
        weights = texts.weights[mine][:, None]
        square = (given * weights).T @ given
        held = np.full(given.shape[1], _RIDGE)
        held[-1] = 1e-6
        return np.asarray(
            self._asked @ np.linalg.solve(square + np.diag(held), (given * weights).T @ self.space.answers[mine])
        )

    def columns(self) -> list[FloatArray]:
        """Return the columns of all answers; the others of an answer are those that it sees."""
        texts, vectors = self.texts, self.space.answers
        expected = self._expected(True), self._expected(False)
        rest = [vectors - side[texts.prompt] for side in expected]
        own = np.where(texts.is_real[:, None], rest[0], rest[1])
        within, between = self._spreads(own)
        scales, turn = _diagonalised(within, between)
        turned = [side @ turn for side in rest]
        alone, beside, seen_sums = [], [], []
        for side, of_side in zip((True, False), turned, strict=True):
            mine = texts.is_real == side
            sums = np.stack(
                [np.bincount(texts.prompt, weights=column * mine, minlength=texts.n_prompts) for column in of_side.T],
                axis=1,
            )[texts.prompt]
            seen_sums.append(sums - np.where(mine[:, None], of_side, of_side[texts.hidden]))
        for number, of_side in enumerate(turned):
            n = (texts.sizes[number] - 1)[texts.prompt][:, None]
            alone.append(_log_density(of_side, np.zeros_like(of_side), 1 + scales))
            gain = scales / (1 + n * scales)
            beside.append(_log_density(of_side, gain * seen_sums[number], 1 + gain))
        middle = (turned[0] + turned[1]) / 2
        n_all = (texts.sizes[0] + texts.sizes[1] - 2)[texts.prompt][:, None]
        gain = scales / (1 + n_all * scales)
        shift = gain * (seen_sums[0] + seen_sums[1]) * (n_all > 0)
        together = _log_density(middle, shift, 1 + gain) - _log_density(middle, np.zeros_like(middle), 1 + scales)
        return [
            np.clip(alone[0] - alone[1], -_MOST, _MOST),
            np.clip(beside[0] - beside[1], -_MOST, _MOST),
            np.clip(together, -_MOST, _MOST),
        ]

    def _spreads(self, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the covariances of training answers around their prompt's mean, and of these means."""
        texts = self.texts
        rows = np.flatnonzero(self.train)
        unit = texts.prompt[rows] * 2 + texts.is_real[rows]
        _, unit, sizes = np.unique(unit, return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(unit, weights=column) for column in rest[rows].T], axis=1)
        means = sums / sizes[:, None]
        d = rest.shape[1]
        total = rest[rows].T @ rest[rows] / len(rows)
        several = sizes[unit] > 1
        freedom = int(np.count_nonzero(several)) - int(np.count_nonzero(sizes > 1))
        if freedom < 2 * d:
            return _lifted(total), np.zeros((d, d))
        apart = (rest[rows] - means[unit])[several]
        within = apart.T @ apart / freedom
        between = means.T @ means / len(means) - within * float(np.mean(1 / sizes))
        return _lifted(within), between


def _lifted(covariance: FloatArray) -> FloatArray:
    return covariance + np.eye(len(covariance)) * (_FLOOR * float(np.trace(covariance)) / len(covariance) + 1e-9)


def _diagonalised(within: FloatArray, between: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return variances of means in a basis where those within are 1 and both are diagonal, and the basis."""
    scales, turn = eigh((between + between.T) / 2, within)
    return np.maximum(scales, 0.0), turn


def _log_density(values: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the log-density of independent normals, without its constant, shape (n,)."""
    variances = np.broadcast_to(variances, values.shape)
    return np.asarray(-((values - means) ** 2 / variances + np.log(variances)).sum(axis=1) / 2)
