"""A judge of answers that sees their prompts, and how well it tells answers to prompts that it has not seen.

The judge is a logistic regression over columns: the log-odds of the stack of n-grams, which sees the answer alone, and
those of `prompt_columns`. So that columns of training answers mean what those of
new ones do, models behind them are fitted without each part of the training folds in turn, then once more to all; as
some folds are what one judge learns from and another leaves out, most models serve two judges.

Whole prompts are held out. A prompt's difference is the share of its real answers that the judge calls real, less that
of its generated ones: in [-1, 1], and on average at most the prompt's total variation, for any judge that learnt from
other prompts. Two things are computed: differences of all prompts by cross-fitting, for the value; and, for what is
certified, differences by judges that each learnt from earlier folds alone (`Differences.in_order`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import fold_numbers
from textassay.discriminator.base import Discriminator, Part, Pool, choose_threshold, fit_part, prob_real_of
from textassay.discriminator.family import log_odds
from textassay.discriminator.prompt_columns import (
    KIND_COLUMNS,
    LIKENESS_COLUMNS,
    PROMPT_COLUMNS,
    Association,
    Background,
    Kinds,
    Likeness,
    Prompted,
    Space,
)
from textassay.errors import TooFewSentencesError
from textassay.execution.tasks import map_parts
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Folds = frozenset[int]

_INNER = 4  # most parts of training folds that columns are computed for in turn
_VALIDATION = 5  # one in so many training prompts is the stack's validation text
_STRENGTHS = (0.003, 0.03, 0.3)  # inverse, of regularisation
_FIRST = 2  # folds that the first judge of `in_order` learns from
MIN_PROMPTS = 20
COLUMNS = ("log-odds of the answer alone", *PROMPT_COLUMNS, *LIKENESS_COLUMNS, *KIND_COLUMNS)  # what the judge sees


@dataclass(frozen=True)
class Differences:
    ids: IntArray  # group numbers of the prompts, shape (n_prompts,)
    values: FloatArray  # by judges that learnt from all other folds, in [-1, 1], shape (n_prompts,)
    in_order: Sequence[FloatArray]  # of the prompts of one fold after another, by judges that learnt from those before
    scores: FloatArray  # probabilities of being real of all answers, real ones first
    columns: FloatArray  # those of all answers, as the judge saw them, shape (n, len(COLUMNS))
    texts: Prompted


def cross_fit_prompts(
    judge: Discriminator, prompts: Corpus, real: Corpus, generated: Corpus, *, folds: int, seed: int
) -> Differences:
    """Return the differences of the prompts that both sides answer.

    `judge`: of the answers alone; `prompts`: each once, with the group numbers of their answers.
    """
    texts = Prompted.of(prompts, real, generated, seed=seed)
    if texts.n_prompts < max(MIN_PROMPTS, 2 * folds):
        raise TooFewSentencesError(
            f"at least {max(MIN_PROMPTS, 2 * folds)} prompts must have answers on both sides, got {texts.n_prompts}"
        )
    pool = Pool(*texts.sides)
    numbers = fold_numbers(texts.n_prompts, folds, stream(seed, "prompts", "folds"))
    rows = [np.flatnonzero(numbers[texts.prompt] == fold) for fold in range(folds)]
    prompts_of = [np.flatnonzero(numbers == fold) for fold in range(folds)]
    parts = [texts.part(chosen) for chosen in prompts_of]
    tests = [(frozenset(range(folds)) - {fold}, fold) for fold in range(folds)]
    tests += [(frozenset(range(fold)), fold) for fold in range(_FIRST, folds - 1)]  # the last fold's judge is there
    wanted: dict[Folds, set[int]] = {}  # folds that models learn from, and those that they describe
    for learns, tested in tests:
        wanted.setdefault(learns, set()).add(tested)
        for held in _inner(learns):
            wanted.setdefault(learns - held, set()).update(held)

    def describe(learns: Folds) -> dict[int, FloatArray]:
        train = np.isin(numbers, list(learns))[texts.prompt]
        models = _Models(judge, texts, pool, train, seed)
        return {fold: models.columns(rows[fold], prompts_of[fold], parts[fold]) for fold in wanted[learns]}

    described = dict(zip(wanted, map_parts(describe, wanted), strict=True))

    def judged(test: tuple[Folds, int]) -> tuple[FloatArray, FloatArray]:
        learns, tested = test
        held_out = [(fold, number) for number, held in enumerate(_inner(learns)) for fold in held]
        columns = [described[learns - _inner(learns)[number]][fold] for fold, number in held_out]
        groups = np.repeat([number for _, number in held_out], [len(one) for one in columns])
        learnt = np.concatenate([rows[fold] for fold, _ in held_out])
        scores, threshold = _judged(
            np.concatenate(columns), texts.is_real[learnt], texts.weights[learnt], groups, described[learns][tested]
        )
        return scores, parts[tested].differences(scores > threshold)

    of_tests = map_parts(judged, tests)
    scores, columns = np.empty(len(texts)), np.empty((len(texts), len(COLUMNS)))
    values = np.empty(texts.n_prompts)
    for (learns, fold), (of_fold, differences) in zip(tests[:folds], of_tests, strict=False):
        scores[rows[fold]], columns[rows[fold]] = of_fold, described[learns][fold]
        values[numbers == fold] = differences
    in_order = [differences for _, differences in of_tests[folds:]]
    return Differences(texts.ids, values, [*in_order, values[numbers == folds - 1]], scores, columns, texts)


def _inner(learns: Folds) -> list[Folds]:
    """Return the parts of training folds that models are fitted without in turn."""
    n_parts = min(_INNER, len(learns))
    return [frozenset(sorted(learns)[number::n_parts]) for number in range(n_parts)]


def _judged(
    columns: FloatArray, is_real: Mask, weights: FloatArray, groups: IntArray, tested: FloatArray
) -> tuple[FloatArray, float]:
    """Return the probabilities of being real of tested answers, and the threshold, by a judge fitted to `columns`.

    `groups`: of the training answers; some are left out in turn to choose regularisation and threshold.
    """
    out_of_group = np.empty((len(_STRENGTHS), len(columns)))
    for place, strength in enumerate(_STRENGTHS):
        for number in np.unique(groups):
            held = groups == number
            model = _fit(columns[~held], is_real[~held], weights[~held], strength)
            out_of_group[place, held] = _prob_real(model, columns[held])
    losses = [float(weights @ -np.log(np.where(is_real, p, 1 - p).clip(1e-12))) for p in out_of_group]
    best = int(np.argmin(losses))
    model = _fit(columns, is_real, weights, _STRENGTHS[best])
    return _prob_real(model, tested), choose_threshold(out_of_group[best][is_real], out_of_group[best][~is_real])


class _Models:
    """What is learnt from some answers, to describe others by."""

    def __init__(self, judge: Discriminator, texts: Prompted, pool: Pool, train: Mask, seed: int) -> None:
        self._pool, self._n_real = pool, len(texts.sides[0])
        prompts = np.unique(texts.prompt[train])
        is_valid = np.zeros(texts.n_prompts, dtype=np.bool_)
        n_parts = min(_VALIDATION, len(prompts))
        is_valid[prompts] = fold_numbers(len(prompts), n_parts, stream(seed, "prompts", "valid")) == 0
        valid = is_valid[texts.prompt]
        learnt, checked = (self._part(np.flatnonzero(train & mask)) for mask in (~valid, valid))
        self._judge = fit_part(judge, learnt, checked)
        self._background = Background.of(texts, train)
        self._association = Association(texts, train, self._background)
        self._space = Space(texts, train, self._background)
        self._likeness = Likeness(self._space, texts, train)
        self._kinds = Kinds(self._space, texts, train)

    def _part(self, rows: IntArray) -> Part:
        return Part(self._pool, (rows[rows < self._n_real], rows[rows >= self._n_real] - self._n_real))

    def columns(self, rows: IntArray, prompts: IntArray, texts: Prompted) -> FloatArray:
        """Return the columns of the answers in `rows`, to `prompts`, which are `texts`, shape (n, len(COLUMNS))."""
        return np.column_stack(
            [
                log_odds(np.concatenate(prob_real_of(self._judge, self._part(rows)))),
                *texts.columns(self._background),
                *self._association.columns(texts),
                *self._likeness.columns(texts, self._space.answers[rows], self._space.prompts[prompts]),
                *self._kinds.columns(texts),
            ]
        )


def _fit(columns: FloatArray, is_real: Mask, weights: FloatArray, strength: float) -> Pipeline:
    top = LogisticRegression(C=strength, max_iter=1000, solver="newton-cholesky")
    return make_pipeline(StandardScaler(), top).fit(columns, is_real, logisticregression__sample_weight=weights)


def _prob_real(model: Pipeline, columns: FloatArray) -> FloatArray:
    return np.asarray(model.predict_proba(columns)[:, 1], dtype=np.float64)
