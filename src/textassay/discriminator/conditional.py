"""A judge of answers that sees their prompts, and how well it tells answers to prompts that it has not seen.

The judge is a logistic regression over columns: the log-odds of the stack of n-grams, which sees the answer alone, and
those of `prompt_columns`. So that columns of training answers mean what those of new ones do, models behind them are
fitted without each part of the training prompts in turn; then once more to all of them.

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

from textassay.corpus import Corpus, fold_numbers
from textassay.discriminator.answer_likeness import LIKENESS_COLUMNS, Likeness, Space
from textassay.discriminator.base import Discriminator, Part, Pool, fit_part, prob_real_of
from textassay.discriminator.family import log_odds
from textassay.discriminator.prompt_columns import PROMPT_COLUMNS, Association, Prompted
from textassay.discriminator.threshold import choose_threshold
from textassay.errors import TooFewSentencesError
from textassay.execution import map_parts
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_INNER = 3  # parts of training prompts that columns are computed for in turn
_VALIDATION = 5  # one in so many training prompts is the stack's validation text
_STRENGTHS = (0.003, 0.03, 0.3)  # inverse, of regularisation
_FIRST = 2  # folds that the first judge of `in_order` learns from
MIN_PROMPTS = 20
COLUMNS = ("log-odds of the answer alone", *PROMPT_COLUMNS, *LIKENESS_COLUMNS)  # what the judge sees of an answer


@dataclass(frozen=True)
class Differences:
    """Differences of prompts."""

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
    texts = Prompted(prompts, real, generated, seed=seed)
    if texts.n_prompts < max(MIN_PROMPTS, 2 * folds):
        raise TooFewSentencesError(
            f"at least {max(MIN_PROMPTS, 2 * folds)} prompts must have answers on both sides, got {texts.n_prompts}"
        )
    pool = Pool(*texts.sides)
    numbers = fold_numbers(texts.n_prompts, folds, stream(seed, "prompts", "folds"))
    jobs = [(fold, numbers != fold) for fold in range(folds)]
    jobs += [(fold, numbers < fold) for fold in range(_FIRST, folds - 1)]  # the last fold's judge is there already

    def fit(number: int) -> "_Judged":
        fold, learns = jobs[number]
        return _judge(judge, texts, pool, learns, numbers == fold, seed)

    judged = map_parts(fit, range(len(jobs)))
    scores, columns = np.full(len(texts), np.nan), np.full((len(texts), len(COLUMNS)), np.nan)
    values = np.empty(texts.n_prompts)
    for fold, of_fold in enumerate(judged[:folds]):
        scores[of_fold.rows], columns[of_fold.rows] = of_fold.scores, of_fold.columns
        values[numbers == fold] = of_fold.differences(texts)[numbers == fold]
    in_order = [of_fold.differences(texts)[numbers == jobs[folds + n][0]] for n, of_fold in enumerate(judged[folds:])]
    in_order.append(values[numbers == folds - 1])
    return Differences(texts.ids, values, in_order, scores, columns, texts)


@dataclass(frozen=True)
class _Judged:
    """What a judge says of the answers to the prompts that it is tested on."""

    rows: IntArray
    scores: FloatArray
    threshold: float
    columns: FloatArray

    def differences(self, texts: Prompted) -> FloatArray:
        """Return the difference of each prompt, NaN of others."""
        called = self.scores > self.threshold
        prompt, is_real = texts.prompt[self.rows], texts.is_real[self.rows]
        with np.errstate(invalid="ignore"):
            shares = [
                np.bincount(prompt, weights=called * (is_real == side), minlength=texts.n_prompts)
                / np.bincount(prompt, weights=is_real == side, minlength=texts.n_prompts)
                for side in (True, False)
            ]
        return np.asarray(shares[0] - shares[1])


def _judge(judge: Discriminator, texts: Prompted, pool: Pool, learns: Mask, tested: Mask, seed: int) -> _Judged:
    """Return what a judge that learnt from some prompts says of others."""
    train, test = learns[texts.prompt], tested[texts.prompt]
    chosen = np.flatnonzero(learns)
    part = np.full(texts.n_prompts, -1)
    part[chosen] = fold_numbers(len(chosen), min(_INNER, len(chosen)), stream(seed, "prompts", "inner"))
    columns = np.full((len(texts), len(COLUMNS)), np.nan)
    space = Space(texts, train)
    for number in range(int(part.max()) + 1):
        out = (part == number)[texts.prompt]
        columns[out] = _describe(judge, texts, pool, space, train & ~out, out, seed)
    columns[test] = _describe(judge, texts, pool, space, train, test, seed)
    rows, labels = np.flatnonzero(train), texts.is_real[train]
    weights, groups = texts.weights[train], part[texts.prompt[train]]
    out_of_part = np.empty((len(_STRENGTHS), len(rows)))
    for place, strength in enumerate(_STRENGTHS):
        for number in np.unique(groups):
            held = groups == number
            model = _fit(columns[rows[~held]], labels[~held], weights[~held], strength)
            out_of_part[place, held] = _prob_real(model, columns[rows[held]])
    losses = [float(weights @ -np.log(np.where(labels, p, 1 - p).clip(1e-12))) for p in out_of_part]
    best = int(np.argmin(losses))
    model = _fit(columns[rows], labels, weights, _STRENGTHS[best])
    threshold = choose_threshold(out_of_part[best][labels], out_of_part[best][~labels])
    rows = np.flatnonzero(test)
    return _Judged(rows, _prob_real(model, columns[rows]), threshold, columns[rows])


def _describe(
    judge: Discriminator, texts: Prompted, pool: Pool, space: Space, train: Mask, wanted: Mask, seed: int
) -> FloatArray:
    """Return the columns of some answers by models that learnt from others."""
    n_real = len(texts.sides[0])
    prompts = np.unique(texts.prompt[train])
    is_valid = np.zeros(texts.n_prompts, dtype=np.bool_)
    is_valid[prompts] = fold_numbers(len(prompts), _VALIDATION, stream(seed, "prompts", "valid")) == 0
    valid = is_valid[texts.prompt]

    def part(mask: Mask) -> Part:
        return Part(pool, (np.flatnonzero(mask[:n_real]), np.flatnonzero(mask[n_real:])))

    fitted = fit_part(judge, part(train & ~valid), part(train & valid))
    alone = log_odds(np.concatenate(prob_real_of(fitted, part(wanted))))
    beside = texts.columns(train, Association(texts, train))[wanted]
    likeness = np.column_stack(Likeness(space, texts, train).columns())[wanted]
    return np.column_stack([alone, beside, likeness])


def _fit(columns: FloatArray, is_real: Mask, weights: FloatArray, strength: float) -> Pipeline:
    top = LogisticRegression(C=strength, max_iter=1000)
    return make_pipeline(StandardScaler(), top).fit(columns, is_real, logisticregression__sample_weight=weights)


def _prob_real(model: Pipeline, columns: FloatArray) -> FloatArray:
    return np.asarray(model.predict_proba(columns)[:, 1], dtype=np.float64)
