"""Distributional Discrepancy (dd): how much better than chance a classifier tells real from generated sentences.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equations (1) and (6).
Departs from it: the classifier is, by default, the best of a family, chosen on validation text; every sentence is
tested once, by cross-fitting, instead of a tenth; the number has an interval, a certified bound and a p-value. What a
classifier finds is, in expectation, at most the total variation (1), so the largest of several is nearest the truth.

One cross-fitting partition is the default. On 2,000 to 10,000 captions or news sentences, another partition moves the
value by 0.35 to 0.7 of the sampling standard error, and the interval of a single one already holds most of that, since
a classifier's whims are part of the answers it counts. Averaging eight partitions shortens the interval by a tenth to
a quarter and takes eight times as long; `repeats` asks for it. Of the interval: `discrepancy_interval`.
"""

import math
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, get_args

from textassay.corpus import Corpus, TextOptions, Texts
from textassay.discriminator import (
    AUTO,
    CrossFit,
    Discriminator,
    ThresholdRule,
    as_discriminator,
    cross_fit,
    log_probs_column,
    make_family,
    missing_members,
    reads_columns,
    reads_log_probs,
)
from textassay.errors import OptionError, check_range, unknown_name
from textassay.estimate import Better, Estimate, Evidence
from textassay.metric.base import Effort, check_corpora, check_effort, check_level, make_signature, measure
from textassay.metric.blindness import blindness
from textassay.metric.discrepancy_details import details_of, mean_scores, p_value_of
from textassay.metric.discrepancy_interval import Answers

SENTENCES_PER_FOLD = 10  # at least so many a side


def dd(
    generated: Texts,
    real: Texts,
    *,
    discriminator: str | Discriminator | Any = AUTO,
    effort: Effort = "default",
    folds: int = 5,
    repeats: int = 1,
    threshold: ThresholdRule = "validation",
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> Estimate:
    """Return the Distributional Discrepancy of `generated` from `real`.

    Parameters
    ----------
    generated, real
        At least 10 sentences a fold (50 for one split), sharing a vocabulary; sizes may differ, nothing is dropped.
        Sentences of one group (`Corpus.groups`) stay together; equal numbers mean the same group on both sides. Where
        both have one column ``log_probs/NAME``, discriminators that can use it do: the signature then has
        ``log_probs:NAME``, and the value is no longer comparable to one without.
    discriminator
        ``"auto"``, a name in `textassay.discriminator.catalog.DISCRIMINATORS` such as ``"logistic"`` or
        ``"cnn-paper"`` (networks need the extra ``neural``), an object with `fit` and `prob_real`, or a classifier
        over texts of `textassay.discriminators` or scikit-learn. ``"auto"`` fits the family of the effort and lets
        validation text choose.
    effort
        ``"quick"``, ``"default"`` or ``"max"``: which family ``"auto"`` is; two values are comparable only at the same
        effort and size. A member whose extra is not installed is left out, and the signature names those that are in.
    folds
        Cross-fitting folds; 1 tests a tenth of each side once.
    repeats
        Cross-fitting partitions to average over, at least 1; with one fold, 1.
    threshold
        ``"validation"``: one half, or another threshold that is clearly better on validation text; ``"half"``: 1/2.
    level
        Of the interval and the certified bound, in (0, 1).
    seed
        Decides the partitions.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Estimate
        Twice the balanced accuracy on text the classifier did not see, less one: in [-1, 1], lower is closer, 0 for
        equal distributions (slightly negative is noise), 1 for what can always be told apart. The interval is for the
        mean over the fitted classifiers; total variation is at least that mean. Details: `certified_bound` (total
        variation is at least `value` with probability `level`, whatever the sizes; by a `threshold` of its own, chosen
        on validation text), `p_value` (permutation of the scores of fold 0) and `e_value` (of the same scores; bound
        and e-value are None where sentences come in groups), `won` (of a family: which candidate judged in each fold,
        and in most), `alone` (what each candidate would have given), `left_out` (members that need an extra),
        `log_probs` (whose log-probabilities were used, or None), `dd_distinct_texts` (every text weighs once a side),
        `alike` (share of the texts that the classifier scored exactly alike on both sides: it decided nothing about
        them), `unseen` (share of each side's texts of which no token stands in the text the classifier learnt from),
        `plug_in` (what calibrated scores say: a diagnostic above dd, no bound, see `discriminator.fold_scores`),
        `se_sampling` (which sentences were tested), `sd_classifiers` (between the classifiers of folds), `sd_seeds`
        (between repeats) and `se_total` (as if those were independent of the first, so rather too large),
        `fold_values`, `thresholds`, `chosen`, `dd_validation`, `auc`, `cross_entropy`, `roc`, `score_histogram` and
        others. Evidence: whether a sentence was judged rightly (with groups, a term a group), spread around the mean
        by the root of the variance factor, and its probability of being real.

    Raises
    ------
    EmptyCorpusError, TooFewSentencesError
        If a side has too few sentences, or groups.
    OptionError
        If a setting is out of range.

    Notes
    -----
    With t the threshold of the classifier that did not see x and D(x) its score,
    ``dd = mean over real of [D(x) > t] + mean over generated of [D(x) <= t] - 1``, equation (6). The intervals are
    Newcombe's for a difference of independent proportions; with groups, Student's over groups; the variance is taken
    times 1.64 under cross-fitting, times 2 with more than five folds or `repeats`, times 1 for one split. It is at
    least that of guessing on the texts that were scored alike, which matters where these are more than half.
    """
    metric = DistributionalDiscrepancy(discriminator, folds, repeats, threshold, level, effort)
    return measure(metric, generated, real, seed=seed, **text)


def exact_discrepancy(p: Mapping[Any, float], q: Mapping[Any, float]) -> float:
    """Return the discrepancy (1) of two distributions given in full: half the sum of the absolute differences.

    In [0, 1]; 0 for equal distributions, 1 for distributions without a common sentence.
    """
    for name, probabilities in (("p", p), ("q", q)):
        total = math.fsum(probabilities.values())
        if min(probabilities.values(), default=0.0) < 0 or not math.isclose(total, 1.0, abs_tol=1e-9):
            raise OptionError(f"{name} must hold probabilities that sum to 1, got a sum of {total:.12g}")
    differences = (abs(p.get(sentence, 0.0) - q.get(sentence, 0.0)) for sentence in {**p, **q})
    return min(1.0, math.fsum(differences) / 2)


@dataclass(frozen=True)
class _Statistics:
    """What the number is made of: one cross-fit a repeat, and whose log-probabilities were used."""

    real: Corpus
    generated: Corpus
    seed: int
    fits: tuple[CrossFit, ...]
    log_probs: str | None
    p_value: float


@dataclass(frozen=True)
class DistributionalDiscrepancy:
    """The metric `dd`; parameters as there."""

    discriminator: str | Discriminator | Any = AUTO
    folds: int = 5
    repeats: int = 1
    threshold: ThresholdRule = "validation"
    level: float = 0.95
    effort: Effort = "default"

    def __post_init__(self) -> None:
        check_range("folds", self.folds, 1)
        check_range("repeats", self.repeats, 1, 1 if self.folds == 1 else None)
        check_level(self.level)
        if self.threshold not in get_args(ThresholdRule):
            raise unknown_name("threshold", str(self.threshold), get_args(ThresholdRule))
        check_effort(self.effort)
        self._judge()

    @property
    def name(self) -> str:
        """``dd``, with the parameters that differ from their defaults; an effort never shows."""
        settings = {
            "discriminator": (AUTO if self._is_auto else self._judge().name, AUTO),
            "folds": (self.folds, 5),
            "repeats": (self.repeats, 1),
            "threshold": (self.threshold, "validation"),
        }
        changed = [f"{key}={value}" for key, (value, default) in settings.items() if value != default]
        return f"dd({', '.join(changed)})" if changed else "dd"

    @property
    def better(self) -> Better:
        """Lower is closer to real text."""
        return "lower"

    @property
    def shares(self) -> Hashable:
        """Metrics that differ in their level alone share everything else; members that are missing are not shared."""
        judge = (*((AUTO, self.effort) if self._is_auto else ()), self._judge().name, self._judge().features)
        return ("dd", judge, self.folds, self.repeats, self.threshold)

    @property
    def reads_columns(self) -> bool:
        """Whether the discriminator looks at log-probabilities, or other columns, where there are any."""
        judge = self._judge()
        return reads_log_probs(judge) or reads_columns(judge)

    def prepare(self, real: Corpus) -> Corpus:
        """Return the real text itself: folds are drawn when the seed is known."""
        return real

    def statistics(self, state: Corpus, generated: Corpus, *, seed: int) -> _Statistics:
        """Return the judgements of all sentences by classifiers that did not see them."""
        at_least = SENTENCES_PER_FOLD * (self.folds if self.folds > 1 else 5)
        check_corpora(generated, state, metric=self.name, at_least=at_least)
        judge = self._judge()
        column = log_probs_column(state, generated) if reads_log_probs(judge) else None
        sides = (_with_log_probs(state, column), _with_log_probs(generated, column))
        fits = tuple(
            cross_fit(judge, *sides, folds=self.folds, threshold=self.threshold, seed=seed, repeat=repeat)
            for repeat in range(self.repeats)
        )
        whose = None if column is None else column.split("/", 1)[1]
        return _Statistics(state, generated, seed, fits, whose, p_value_of(fits[0], sides, seed))

    def estimate(self, statistics: _Statistics) -> Estimate:
        """Return the discrepancy with its interval."""
        fits, real, generated = statistics.fits, statistics.real, statistics.generated
        answers = Answers.of(fits, real, generated)
        judge = self._judge()
        details = details_of(fits, (real, generated), answers, level=self.level, seed=statistics.seed)
        reason = blindness(details["alike"], details["unseen"])
        if reason is not None:
            warnings.warn(f"{self.name} says little here: {reason}", RuntimeWarning, stacklevel=2)
        return Estimate(
            metric=self.name,
            value=answers.value,
            interval=answers.interval(self.level),
            unit="fraction",
            better=self.better,
            sizes={
                "n_generated": len(generated),
                "n_real": len(real),
                "n_generated_tested": len(answers.terms[1]),
                "n_real_tested": len(answers.terms[0]),
            },
            signature=make_signature(
                "dd",
                generated,
                real,
                seed=statistics.seed,
                clf=judge.name,
                feats=judge.features,
                **({"effort": self.effort} if self._is_auto else {}),
                **({} if statistics.log_probs is None else {"log_probs": statistics.log_probs}),
                folds=self.folds,
                repeats=self.repeats,
                selection="balanced-accuracy",
                threshold=self.threshold,
                ci=f"{'cluster-t' if answers.by_group else 'newcombe'} x{answers.factor:g}",
                split="group" if answers.by_group else "draw",
            ),
            details={
                **details,
                "p_value": statistics.p_value,
                "log_probs": statistics.log_probs,
                "left_out": missing_members(self.effort) if self._is_auto else {},
            },
            evidence=Evidence(*answers.evidence, *mean_scores(fits)),
        )

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.discriminator, str) and self.discriminator == AUTO

    def _judge(self) -> Discriminator:
        if self._is_auto:
            return make_family(self.effort)
        return as_discriminator(self.discriminator)


def _with_log_probs(corpus: Corpus, column: str | None) -> Corpus:
    """Return `corpus` with no other log-probabilities than those of `column`."""
    columns = {
        name: values for name, values in corpus.columns.items() if name == column or not name.startswith("log_probs/")
    }
    return corpus if len(columns) == len(corpus.columns) else replace(corpus, columns=columns)
