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
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import TextUnit, unit_of
from textassay.discriminator.base import (
    Discriminator,
    log_probs_column,
    reads_log_probs,
    reads_prior,
    reads_training_text,
)
from textassay.discriminator.catalog import (
    AUTO,
    as_discriminator,
    decided_by_size,
    family_sizes,
    make_family,
    missing_members,
)
from textassay.discriminator.cross_fitting import CrossFit, ThresholdRule, cross_fit
from textassay.discriminator.prior import Prior, with_prior
from textassay.discriminator.structure import with_structure
from textassay.discriminator.training_text import TrainingText
from textassay.errors import InputError, OptionError, check_range
from textassay.estimate import Estimate
from textassay.inspection.dependence import neighbours_of
from textassay.metric.base import Computed, Effort, Metric, check_corpora, declare_metric
from textassay.metric.blindness import blindness
from textassay.metric.discrepancy_details import details_of, fitted_to, mean_scores, p_value_of
from textassay.metric.discrepancy_interval import Answers
from textassay.metric.sharing import Shared, compute_once

SENTENCES_PER_FOLD = 10  # at least so many a side


def _judge(
    discriminator: Any, effort: str, prior: Prior | None, n_texts: int | None = None, unit: TextUnit = "sentence"
) -> Discriminator:
    """Return the discriminator; a family is that of so many texts of the smaller side, None: of plenty."""
    if _is_auto(discriminator):
        return make_family(effort, n_texts=n_texts, has_prior=prior is not None, unit=unit)
    return as_discriminator(discriminator)


def _n_texts(generated: Corpus, real: Corpus, fit_real: Corpus | None) -> int:
    """Return how many texts the smaller side has, those to learn from among them."""
    return min(len(generated), len(real) + (0 if fit_real is None else len(fit_real)))


def _is_auto(discriminator: Any) -> bool:
    return isinstance(discriminator, str) and discriminator == AUTO


def _resolve(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings with a discriminator in place of its name; then no effort matters."""
    check_range("repeats", settings["repeats"], 1, 1 if settings["folds"] == 1 else None)
    if _is_auto(settings["discriminator"]):
        return settings
    return {**settings, "discriminator": as_discriminator(settings["discriminator"]), "effort": "default"}


def _identity(settings: Mapping[str, Any]) -> str:
    """Return what the judge is at each size: of a family, members whose extra is not installed are left out."""
    discriminator, effort, prior = (settings[name] for name in ("discriminator", "effort", "prior"))
    unit: TextUnit = settings["unit"] or "sentence"  # recognised by texts that are part of any key
    sizes = family_sizes(effort, has_prior=prior is not None, unit=unit) if _is_auto(discriminator) else [0]
    judges = {size: _judge(discriminator, effort, prior, size, unit) for size in sizes}
    return " ".join(
        f"{f'from {size}: ' if size else ''}{judge.name} {judge.features}" for size, judge in judges.items()
    )


def _reads_columns(settings: Mapping[str, Any]) -> bool:
    return reads_log_probs(_judge(settings["discriminator"], settings["effort"], settings["prior"]))


@declare_metric(
    "dd",
    "Distributional Discrepancy: how much better than chance a classifier tells real from generated sentences",
    better="lower",
    bounds=(-1, 1),
    classifies=True,
    symmetric=True,
    exact_under_reordering=False,
    ranges={"folds": (1, None), "repeats": (1, None)},
    reads_columns=_reads_columns,
    resolve=_resolve,
    identity=_identity,
)
def dd(
    generated: Corpus,
    real: Corpus,
    *,
    discriminator: str | Discriminator | Any = AUTO,
    effort: Effort = "default",
    folds: int = 5,
    repeats: int = 1,
    threshold: ThresholdRule = "validation",
    fit_real: Corpus | None = None,
    trained_on: Corpus | None = None,
    prior: Prior | None = None,
    unit: TextUnit | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Computed:
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
        From 20,000 texts of the smaller side on, a transformer joins at ``"max"`` where there is a GPU: the signature
        then has ``clf_for``.
        All text is counted; from 312,500 texts a side on, the few weights of the stack are fitted to 250,000 drawn
        training texts a side, and the signature says ``fit=250000``.
    folds
        Cross-fitting folds; 1 tests a tenth of each side once.
    repeats
        Cross-fitting partitions to average over, at least 1; with one fold, 1.
    threshold
        ``"validation"``: one half, or another threshold that is clearly better on validation text; ``"half"``: 1/2.
    fit_real
        More real text of the same kind, drawn independently of `real`: classifiers learn from it and are not tested on
        it. Where it depends on either side, none learns from a text that is near to one that it is tested on. The
        signature then has ``fit_real:``, the number of its texts and the beginning of its hash.
    trained_on
        The text that the generator was trained on, a third side: discriminators that can use it (the stack) see how
        likely a text is under models of it, and how much of a text is new. It is labelled neither real nor generated.
        The signature then has ``trained_on:`` and the beginning of its hash. Real text must not stand in it.
    prior
        ``english``: discriminators that can use it (the stack) see what general counts of English words and word pairs
        say of a text, and its style, which helps where there is little text (the extra ``prior``). The signature then
        has ``prior:english``.
    unit
        ``sentence`` or ``document``; None recognises it by the real text, as `compare` does. Of documents, the stack
        also sees paragraphs, lists, headings, code, openings and closings, the lengths of sentences, repetition over
        distance, and how rich the words of each quarter are; at effort ``default`` its n-grams have at most 3 tokens.
        The signature then has ``unit:document``.
    level
        Of the interval and the certified bound.
    seed
        Decides the partitions.

    Returns
    -------
    Estimate
        Twice the balanced accuracy on text the classifier did not see, less one: in [-1, 1], lower is closer, 0 for
        equal distributions (slightly negative is noise), 1 for what can always be told apart. The interval is for the
        mean over the fitted classifiers; total variation is at least that mean. Details: `certified_bound` (total
        variation is at least `value` with probability `level`, whatever the sizes; by a `threshold` of its own, chosen
        on validation text; where sentences come in groups, the bound is by betting, and a group counts as at most
        `largest` sentences), `as_independent` (where texts of one side depend on each other: value and interval where
        each is taken for an independent draw), `p_value` (permutation of the scores of fold 0) and
        `e_value` (of the same scores), `won` (of a family: which candidate judged in each fold, and in most),
        `alone` (what each candidate would have given), `by_size` (where the size of the text decided who is in the
        family: for which sizes), `left_out` (members that need an extra),
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
    TooFewSentencesError
        If a side has too few sentences, or groups.

    Notes
    -----
    With t the threshold of the classifier that did not see x and D(x) its score,
    ``dd = mean over real of [D(x) > t] + mean over generated of [D(x) <= t] - 1``, equation (6). The intervals are
    Newcombe's for a difference of independent proportions; with groups, Student's over groups; the variance is taken
    times 1.64 under cross-fitting, times 2 with more than five folds or `repeats`, times 1 for one split. It is at
    least that of guessing on the texts that were scored alike, which matters where these are more than half.
    """
    at_least = SENTENCES_PER_FOLD * (folds if folds > 1 else 5)
    check_corpora(generated, real, metric="dd", at_least=at_least)
    n_texts, is_auto = _n_texts(generated, real, fit_real), _is_auto(discriminator)
    unit = unit_of(real, unit)
    judge = _judge(discriminator, effort, prior, n_texts, unit)
    family: Any = {"has_prior": prior is not None, "unit": unit}
    by_size = decided_by_size(effort, n_texts, **family) if is_auto else None
    left_out = missing_members(effort, n_texts=n_texts, **family) if is_auto else {}
    if fit_real is not None and fit_real.fingerprint == real.fingerprint:
        raise InputError("fit_real is the real text itself: give other real text, which is not tested")
    if not reads_training_text(judge):
        trained_on = None
    if not reads_prior(judge):
        prior = None
    fits = compute_once(
        _cross_fits, generated, real, judge, folds, repeats, threshold, seed, fit_real, trained_on, prior, unit
    )
    column = _column(judge, real, generated)
    whose = None if column is None else column.split("/", 1)[1]
    answers = Answers.of(fits, real, generated)
    details = details_of(fits, (real, generated), answers, level=level, seed=seed)
    terms, scores = answers.evidence, mean_scores(fits)
    return Computed(
        answers.value,
        terms={"real": terms[0], "generated": terms[1]},
        interval=answers.interval(level),
        caution=blindness(details["alike"], details["unseen"]),
        sizes={"n_generated_tested": len(answers.terms[1]), "n_real_tested": len(answers.terms[0])},
        settings={
            "clf": judge.name,
            "feats": judge.features,
            **({"effort": effort} if is_auto else {}),
            **({} if by_size is None else {"clf_for": by_size}),
            **({} if whose is None else {"log_probs": whose}),
            **({} if fit_real is None else {"fit_real": f"{len(fit_real)}-{fit_real.fingerprint[:8]}"}),
            **({} if trained_on is None else {"trained_on": trained_on.fingerprint[:8]}),
            **({} if prior is None else {"prior": prior}),
            **({"unit": unit} if unit == "document" else {}),
            **fitted_to([fold.chosen for fit in fits for each in (fit, *fit.alone.values()) for fold in each.folds]),
            "folds": folds,
            "repeats": repeats,
            "selection": "balanced-accuracy",
            "threshold": threshold,
            "ci": f"{'cluster-t' if answers.by_group else 'newcombe'} x{answers.factor:g}",
            "split": "group" if answers.by_group else "draw",
        },
        details={
            **details,
            "p_value": p_value_of(fits[0], (real, generated), seed),
            "log_probs": whose,
            **({} if by_size is None else {"by_size": by_size}),
            "left_out": left_out,
        },
        real_scores=scores[0],
        generated_scores=scores[1],
    )


def dd_and_fits(
    metric: Metric, generated: Corpus, real: Corpus, *, seed: int = 0
) -> tuple[Estimate, tuple[CrossFit, ...]]:
    """Return the estimate of `metric`, a dd, and the cross-fits it comes from, one a repeat."""
    settings = metric.settings
    n_texts = _n_texts(generated, real, settings["fit_real"])
    unit = unit_of(real, settings["unit"])
    judge = _judge(settings["discriminator"], settings["effort"], settings["prior"], n_texts, unit)
    with Shared().used():
        estimate = metric.estimate(generated, real, seed=seed)
        others = (settings["folds"], settings["repeats"], settings["threshold"], seed)
        trained_on = settings["trained_on"] if reads_training_text(judge) else None
        prior = settings["prior"] if reads_prior(judge) else None
        more = settings["fit_real"], trained_on, prior, unit
        return estimate, compute_once(_cross_fits, generated, real, judge, *others, *more)


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


def _cross_fits(
    generated: Corpus,
    real: Corpus,
    judge: Discriminator,
    folds: int,
    repeats: int,
    threshold: ThresholdRule,
    seed: int,
    fit_real: Corpus | None,
    trained_on: Corpus | None,
    prior: Prior | None,
    unit: TextUnit,
) -> tuple[CrossFit, ...]:
    """Return the judgements of all sentences by classifiers that did not see them, one cross-fit a repeat."""
    column = _column(judge, real, generated)
    sides = _with_log_probs(real, column), _with_log_probs(generated, column)
    near = None if fit_real is None else compute_once(neighbours_of, fit_real, generated, real)
    if trained_on is not None:
        sides = compute_once(_described, sides[0], trained_on), compute_once(_described, sides[1], trained_on)
        fit_real = None if fit_real is None else compute_once(_described, fit_real, trained_on)
    if prior is not None:
        sides = compute_once(with_prior, sides[0], prior), compute_once(with_prior, sides[1], prior)
        fit_real = None if fit_real is None else compute_once(with_prior, fit_real, prior)
    if unit == "document":
        sides = compute_once(with_structure, sides[0]), compute_once(with_structure, sides[1])
        fit_real = None if fit_real is None else compute_once(with_structure, fit_real)
    return tuple(
        cross_fit(
            judge, *sides, folds=folds, threshold=threshold, seed=seed, repeat=repeat, fit_real=fit_real, near=near
        )
        for repeat in range(repeats)
    )


def _described(corpus: Corpus, trained_on: Corpus) -> Corpus:
    return TrainingText.of(trained_on).described(corpus)


def _column(judge: Discriminator, real: Corpus, generated: Corpus) -> str | None:
    """Return the column of log-probabilities that the judge uses, if any."""
    return log_probs_column(real, generated) if reads_log_probs(judge) else None


def _with_log_probs(corpus: Corpus, column: str | None) -> Corpus:
    """Return `corpus` with no other log-probabilities than those of `column`."""
    columns = {
        name: values for name, values in corpus.columns.items() if name == column or not name.startswith("log_probs/")
    }
    return corpus if len(columns) == len(corpus.columns) else replace(corpus, columns=columns)
