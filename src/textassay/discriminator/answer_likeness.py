"""How an answer fits its prompt and the other answers to it, in a space of style and subject.

An answer is a short vector: style (length, how frequent its words are, punctuation, ...) and subject (latent semantic
analysis of its words). Vectors of one side's answers to a prompt are taken as normal around a mean of the prompt, and
these means as normal around a linear function of the prompt's own vector. So how likely an answer's vector is as one
more of the real answers, and as one more of the generated ones, follows in closed form from the prompt and from the
other answers of both sides; the columns are log-ratios of these.

Source: Ioffe, "Probabilistic Linear Discriminant Analysis", ECCV 2006 (means within and between, diagonalised
together). Departs from it: the mean depends on the prompt; predictive densities as columns of a classifier.
"""

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD

from textassay.discriminator.prompt_columns import Background, IntArray, Mask, Prompted, Words, row_sums

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

    def __init__(self, texts: Prompted, train: Mask, background: Background) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._background = background
        rows = self._weighted(texts.words)
        self._svd = None
        n_subjects = min(_N_SUBJECTS, rows.shape[1] - 1, int(np.count_nonzero(train)) - 1)
        if n_subjects > 0 and rows[train].count_nonzero():  # none where all texts have the same words
            self._svd = TruncatedSVD(n_subjects, n_iter=2, random_state=0).fit(rows[train])
        self._marks = texts.marks
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
        marks = [words.sums(words.count * mark[words.word]) / length for mark in self._marks.T]
        distinct = words.sums(np.ones(len(words.word))) / length
        subjects = [] if self._svd is None else list(self._svd.transform(rows).T)
        return np.column_stack([np.log1p(words.lengths), mean_log, spread, distinct, *marks, *subjects])


class Likeness:
    """Normal models of both sides, learnt from some answers."""

    def __init__(self, space: Space, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._space = space
        self._functions = [self._function(texts, train & side) for side in (texts.is_real, ~texts.is_real)]
        rows = np.flatnonzero(train)
        expected = self._expected(space.prompts)
        rest = space.answers[rows] - np.where(
            texts.is_real[rows, None], expected[0][texts.prompt[rows]], expected[1][texts.prompt[rows]]
        )
        self._scales, self._turn = spreads(rest, texts.unit[rows])

    def _function(self, texts: Prompted, mine: Mask) -> FloatArray:
        """Return the linear function from a prompt's vector to that of a side's answers."""
        given = _with_one(self._space.prompts[texts.prompt[mine]])
        weights = texts.weights[mine][:, None]
        held = np.full(given.shape[1], _RIDGE)
        held[-1] = 1e-6
        square = (given * weights).T @ given + np.diag(held)
        return np.asarray(np.linalg.solve(square, (given * weights).T @ self._space.answers[mine]))

    def _expected(self, prompts: FloatArray) -> list[FloatArray]:
        """Return what is expected of real and of generated answers to each prompt, shapes (n_prompts, d)."""
        return [_with_one(prompts) @ function for function in self._functions]

    def columns(self, texts: Prompted, answers: FloatArray, prompts: FloatArray) -> list[FloatArray]:
        """Return the columns of answers, from their vectors and those of their prompts."""
        scales = self._scales
        turned = [(answers - side[texts.prompt]) @ self._turn for side in self._expected(prompts)]
        sums = [texts.sums_seen(of_side, side) for side, of_side in zip((True, False), turned, strict=True)]
        zero = np.zeros(1)
        alone = [_log_density(of_side, zero, 1 + scales) for of_side in turned]
        beside = []
        for of_side, seen, n_seen in zip(turned, sums, texts.n_seen, strict=True):
            gain = scales / (1 + n_seen[:, None] * scales)
            beside.append(_log_density(of_side, gain * seen, 1 + gain))
        middle = (turned[0] + turned[1]) / 2
        gain = scales / (1 + (texts.n_seen[0] + texts.n_seen[1])[:, None] * scales)
        together = _log_density(middle, gain * sum(sums), 1 + gain) - _log_density(middle, zero, 1 + scales)
        return [np.clip(column, -_MOST, _MOST) for column in (alone[0] - alone[1], beside[0] - beside[1], together)]


def spreads(vectors: FloatArray, unit: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the means of units, in a basis where those within are 1 and both diagonal, and the basis.

    Zeros where too few units have several vectors.
    """
    _, unit, sizes = np.unique(unit, return_inverse=True, return_counts=True)
    d = vectors.shape[1]
    total = vectors.T @ vectors / len(vectors)
    several = sizes[unit] > 1
    freedom = int(np.count_nonzero(several)) - int(np.count_nonzero(sizes > 1))
    if freedom < 2 * d:
        within, between = total, np.zeros((d, d))
    else:
        means = row_sums(unit, vectors, len(sizes)) / sizes[:, None]
        apart = (vectors - means[unit])[several]
        within = apart.T @ apart / freedom
        between = means.T @ means / len(means) - within * float(np.mean(1 / sizes))
    within = within + np.eye(d) * (_FLOOR * float(np.trace(within)) / d + 1e-9)
    scales, turn = eigh((between + between.T) / 2, within)
    return np.maximum(scales, 0.0), turn


def _with_one(vectors: FloatArray) -> FloatArray:
    return np.column_stack([vectors, np.ones(len(vectors))])


def _log_density(values: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the log-density of independent normals, without its constant, shape (n,)."""
    variances = np.broadcast_to(variances, values.shape)
    return np.asarray(-((values - means) ** 2 / variances + np.log(variances)).sum(axis=1) / 2)
