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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.structure import TextKind, TextUnit, text_kind, unit_of
from textassay.discriminator.base import (
    FIT,
    Discriminator,
    log_probs_column,
    reads_log_probs,
    reads_prior,
    reads_training_text,
    reads_vectors,
)
from textassay.discriminator.catalog import (
    AUTO,
    Seen,
    as_discriminator,
    decided_by_size,
    family_sizes,
    make_family,
    missing_members,
)
from textassay.discriminator.cross_fitting import (
    CrossFit,
    ThresholdRule,
    cross_fit,
    cross_fitted_plug_in,
    roc_points,
    score_folds,
    spread_between_classifiers,
)
from textassay.discriminator.structure import with_structure
from textassay.discriminator.training_text import TrainingText
from textassay.embedding.encoder import Encoder
from textassay.embedding.store import fit_encoder, is_pretrained, with_vectors
from textassay.errors import InputError, OptionError, check_range
from textassay.estimate import Estimate
from textassay.inspection.dependence import neighbours_of
from textassay.metric.base import (
    MOST_VECTORS,
    Computed,
    Counted,
    Metric,
    MoreRealText,
    Prompts,
    Setting,
    Shared,
    SharedEffort,
    SharedUnit,
    TrainText,
    check_corpora,
    compute_once,
    declare_metric,
)
from textassay.metric.blindness import blindness, hashes_of, unseen_shares
from textassay.metric.discrepancy_interval import Answers
from textassay.prior.catalog import AUTO as PRIOR_AUTO
from textassay.prior.catalog import chosen_prior, is_model, label_of, with_prior
from textassay.resampling.betting import ShareDifference
from textassay.resampling.bounds import choose_bound
from textassay.resampling.e_value import e_value
from textassay.resampling.multiplicity import bounds_of_several
from textassay.resampling.permutation import joint_groups, permutation_p_value
from textassay.seeding import stream

SENTENCES_PER_FOLD = 10  # at least so many a side

FloatArray = npt.NDArray[np.float64]
Sides = tuple[Corpus, Corpus]  # (real, generated)

CERTIFYING_FOLD = 0  # fixed in advance: bound and p-value use this fold alone
N_PERMUTATIONS = 999
N_BINS = 40


class _JudgeInputs(NamedTuple):
    """A judge, and what it sees beside both sides."""

    judge: Discriminator
    fit_real: Corpus | None
    trained_on: Corpus | None
    prior: str | None
    prompts: Corpus | None
    encoder: str | Encoder | None
    unit: TextUnit

    @property
    def reads_more_than_tokens(self) -> bool:
        """Whether a model says of texts what their tokens do not."""
        return self.encoder is not None or is_model(self.prior)


def _judge(discriminator: Any, effort: str, seen: Seen, n_texts: int | None = None) -> Discriminator:
    """Return the discriminator; a family is that of so many texts of the smaller side, None: of plenty."""
    if _is_auto(discriminator):
        return make_family(effort, seen, n_texts=n_texts)
    return as_discriminator(discriminator)


def _n_texts(generated: Corpus, real: Corpus, fit_real: Corpus | None) -> int:
    """Return how many texts the smaller side has, those to learn from among them."""
    return min(len(generated), len(real) + (0 if fit_real is None else len(fit_real)))


def _is_auto(discriminator: Any) -> bool:
    return isinstance(discriminator, str) and discriminator == AUTO


def _resolve(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings with a discriminator in place of its name; then no effort matters."""
    check_range("repeats", settings["repeats"], 1, 1 if settings["folds"] == 1 else None)
    if not is_pretrained(settings["encoder"]):
        settings = {**settings, "encoder": None}
    if _is_auto(settings["discriminator"]):
        return settings
    return {**settings, "discriminator": as_discriminator(settings["discriminator"]), "effort": "default"}


def _identity(settings: Mapping[str, Any]) -> str:
    """Return what the judge is at each size: of a family, members whose extra is not installed are left out."""
    discriminator, effort, prior = (settings[name] for name in ("discriminator", "effort", "prior"))
    kind: TextKind = settings["unit"] or "sentence"  # recognised by texts that are part of any key
    seen = Seen(kind, prior, settings["encoder"] is not None)
    sizes = family_sizes(effort, seen) if _is_auto(discriminator) else [0]
    judges = {size: _judge(discriminator, effort, seen, size) for size in sizes}
    known = "" if prior is None or prior == PRIOR_AUTO else f"{label_of(prior)} "
    return known + " ".join(
        f"{f'from {size}: ' if size else ''}{judge.name} {judge.features}" for size, judge in judges.items()
    )


def _reads_columns(settings: Mapping[str, Any]) -> bool:
    return reads_log_probs(_judge(settings["discriminator"], settings["effort"], Seen(prior=settings["prior"])))


@declare_metric(
    "dd",
    "Distributional Discrepancy: how much better than chance a classifier separates real from generated sentences",
    better="lower",
    bounds=(-1, 1),
    classifies=True,
    symmetric=True,
    exact_under_reordering=False,
    reads_columns=_reads_columns,
    resolve=_resolve,
    identity=_identity,
)
def dd(
    generated: Corpus,
    real: Corpus,
    *,
    discriminator: str | Discriminator | Any = AUTO,
    effort: SharedEffort = "default",
    folds: Counted = 5,
    repeats: Counted = 1,
    threshold: ThresholdRule = "validation",
    fit_real: MoreRealText = None,
    trained_on: TrainText = None,
    prior: Annotated[str | None, Setting(is_shared=True)] = None,
    prompts: Prompts = None,
    encoder: Annotated[str | Encoder | None, Setting(is_shared=True, names_encoder=True)] = None,
    unit: SharedUnit = None,
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
        All text is counted; from 150,000 texts a side on, weights are fitted to 120,000 drawn
        training texts a side, and the signature says ``fit=120000``.
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
        ``smollm2`` or ``pretrained:MODEL``: a language model reads each text, and discriminators see how likely, how
        ranked and how expected its tokens are, which tells most of what there is to find in few fluent texts (the extra
        ``prior-lm``). ``english``: they see what general counts of English words and word pairs say of a text (the
        extra ``prior``). ``auto``: ``smollm2`` where it is installed, text is English and reading takes minutes. The
        signature then has ``prior:``, the name, and of a model the beginning of its hash and its precision.
    prompts
        Where texts answer prompts: a model then reads each answer after its prompt. Nothing else sees them.
    encoder
        A pretrained encoder: ``minilm``, a sentence-transformers model or ``openai:MODEL@URL``. A logistic regression
        over its vectors joins the family, which sees what sentences are about; of up to 120,000 texts of the smaller
        side. Others, which learn from the real text or are given, are not used. The signature then has ``encoder:``.
    unit
        ``sentence`` or ``document``; None recognises it by the real text, as `compare` does. Of documents, the stack
        also sees paragraphs, lists, headings, code, openings and closings, the lengths of sentences, repetition over
        distance, and how rich the words of each quarter are; at effort ``default`` its n-grams have at most 3 tokens.
        The signature then has ``unit:document``. Of documents, and of real sentences whose marks stick to words,
        characters of the texts are read, too, but for ``quick``, and the blend is preferred.
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
        on validation text; `of_several`: the same by how many such bounds are to hold together; where sentences come in
        groups, the bound is by betting, and a group counts as at most `largest` sentences), `as_independent` (where
        texts of one side depend on each other: value and interval where each is taken for an independent draw),
        `p_value` (permutation of the scores of fold 0) and
        `e_value` (of the same scores), `won` (of a family: which candidate judged in each fold, and in most),
        `alone` (what each candidate would have given), `by_size` (where the size of the text decided who is in the
        family: for which sizes), `left_out` (members that need an extra),
        `log_probs` (whose log-probabilities were used, or None), `dd_distinct_texts` (every text weighs once a side),
        `alike` (share of the texts that the classifier scored exactly alike on both sides: it decided nothing about
        them), `unseen` (share of each side's texts of which no token stands in the text the classifier learnt from),
        `plug_in` (what calibrated scores say: a diagnostic above dd, no bound, see `discriminator.cross_fitting`),
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
    inputs, seen = _judge_inputs(
        generated, real, discriminator, effort, fit_real, trained_on, prior, prompts, encoder, unit
    )
    judge, is_auto, n_texts = inputs.judge, _is_auto(discriminator), _n_texts(generated, real, fit_real)
    by_size = decided_by_size(effort, n_texts, seen) if is_auto else None
    left_out = missing_members(effort, seen, n_texts=n_texts) if is_auto else {}
    if is_auto and encoder is not None and not seen.vectors:
        left_out["vectors"] = f"they are computed for up to {MOST_VECTORS:,} texts of the smaller side"
    if fit_real is not None and fit_real.fingerprint == real.fingerprint:
        raise InputError("fit_real is the real text itself: give other real text, which is not tested")
    fits = compute_once(_cross_fits, generated, real, folds, repeats, threshold, seed, *inputs)
    column = _column(judge, real, generated)
    whose = None if column is None else column.split("/", 1)[1]
    answers = Answers.of(fits, real, generated)
    details = details_of(fits, (real, generated), answers, level=level, seed=seed)
    terms, scores = answers.evidence, mean_scores(fits)
    return Computed(
        answers.value,
        terms={"real": terms[0], "generated": terms[1]},
        interval=answers.interval(level),
        caution=blindness(details["alike"], {} if inputs.reads_more_than_tokens else details["unseen"]),
        sizes={"n_generated_tested": len(answers.terms[1]), "n_real_tested": len(answers.terms[0])},
        settings={
            "clf": judge.name,
            "feats": judge.features,
            **({"effort": effort} if is_auto else {}),
            **({} if by_size is None else {"clf_for": by_size}),
            **({} if whose is None else {"log_probs": whose}),
            **({} if fit_real is None else {"fit_real": f"{len(fit_real)}-{fit_real.fingerprint[:8]}"}),
            **({} if inputs.trained_on is None else {"trained_on": inputs.trained_on.fingerprint[:8]}),
            **({} if inputs.prior is None else {"prior": label_of(inputs.prior)}),
            **({} if inputs.prompts is None else {"prompts": inputs.prompts.fingerprint[:8]}),
            **({} if inputs.encoder is None else fit_encoder(inputs.encoder, real).settings),
            **({"unit": inputs.unit} if inputs.unit == "document" else {}),
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
    names = "discriminator", "effort", "fit_real", "trained_on", "prior", "prompts", "encoder", "unit"
    inputs, _ = _judge_inputs(generated, real, *(settings[name] for name in names))
    with Shared().used():
        estimate = metric.estimate(generated, real, seed=seed)
        folds, repeats, threshold = settings["folds"], settings["repeats"], settings["threshold"]
        return estimate, compute_once(_cross_fits, generated, real, folds, repeats, threshold, seed, *inputs)


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
    folds: int,
    repeats: int,
    threshold: ThresholdRule,
    seed: int,
    judge: Discriminator,
    fit_real: Corpus | None,
    trained_on: Corpus | None,
    prior: str | None,
    prompts: Corpus | None,
    encoder: str | Encoder | None,
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
        sides = compute_once(with_prior, sides[0], prior, prompts), compute_once(with_prior, sides[1], prior, prompts)
        fit_real = None if fit_real is None else compute_once(with_prior, fit_real, prior, prompts)
    if encoder is not None:
        sides = with_vectors(sides[0], encoder, real), with_vectors(sides[1], encoder, real)
        fit_real = None if fit_real is None else with_vectors(fit_real, encoder, real)
    if unit == "document":
        sides = compute_once(with_structure, sides[0]), compute_once(with_structure, sides[1])
        fit_real = None if fit_real is None else compute_once(with_structure, fit_real)
    return tuple(
        cross_fit(
            judge, *sides, folds=folds, threshold=threshold, seed=seed, repeat=repeat, fit_real=fit_real, near=near
        )
        for repeat in range(repeats)
    )


def _judge_inputs(
    generated: Corpus,
    real: Corpus,
    discriminator: Any,
    effort: str,
    fit_real: Corpus | None,
    trained_on: Corpus | None,
    prior: str | None,
    prompts: Corpus | None,
    encoder: str | Encoder | None,
    unit: str | None,
) -> tuple[_JudgeInputs, Seen]:
    """Return what the judge sees, without what it does not use, and what decided who is in its family."""
    unit = unit_of(real, unit)
    prior, _ = chosen_prior(prior, real, generated)
    n_texts = _n_texts(generated, real, fit_real)
    seen = Seen(compute_once(text_kind, real, unit), prior, encoder is not None and n_texts <= MOST_VECTORS)
    judge = _judge(discriminator, effort, seen, n_texts)
    prior = prior if reads_prior(judge) else None
    return _JudgeInputs(
        judge,
        fit_real,
        trained_on if reads_training_text(judge) else None,
        prior,
        prompts if is_model(prior) else None,
        encoder if seen.vectors and reads_vectors(judge) else None,
        unit,
    ), seen


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


def mean_scores(fits: Sequence[CrossFit]) -> tuple[FloatArray, FloatArray]:
    """Return each sentence's mean probability of being real over cross-fits, real and generated; NaN where untested."""
    return (
        np.mean([fit.real_scores for fit in fits], axis=0),
        np.mean([fit.generated_scores for fit in fits], axis=0),
    )


def p_value_of(fit: CrossFit, sides: Sides, seed: int) -> float:
    """Return the p-value of the permutation test of the scores of the certifying fold."""
    rows = (fit.real_folds == CERTIFYING_FOLD, fit.generated_folds == CERTIFYING_FOLD)
    groups = [None if corpus.groups is None else corpus.groups[row] for corpus, row in zip(sides, rows, strict=True)]
    return permutation_p_value(
        fit.real_scores[rows[0]],
        fit.generated_scores[rows[1]],
        rng=stream(seed, "dd", "permutation"),
        n_resamples=N_PERMUTATIONS,
        real_groups=groups[0],
        generated_groups=groups[1],
    )


def details_of(fits: Sequence[CrossFit], sides: Sides, answers: Answers, *, level: float, seed: int) -> dict[str, Any]:
    """Return all details but the p-value; those of `won` and `alone` are None where one discriminator judged."""
    scored = [score_folds(fit) for fit in fits]
    folds = [fold for fit in scored for fold in fit]
    models = [model for fit in fits for model in fit.folds]
    judged = [side[~np.isnan(side)] for side in mean_scores(fits)]
    tested = (fits[0].real_folds >= 0, fits[0].generated_folds >= 0)
    edges = np.linspace(0, 1, N_BINS + 1)
    partitions = [np.mean([np.nanmean(side) for side in fit.correct()]) * 2 - 1 for fit in fits]
    distinct = [_mean_over_distinct(*side) for side in zip(sides, answers.terms, tested, strict=True)]
    unseen = unseen_shares(sides, (fits[0].real_folds, fits[0].generated_folds))
    error = answers.standard_error
    spread = spread_between_classifiers(scored)
    sd_seeds = float(np.std(partitions, ddof=1)) if len(fits) > 1 else None
    extra = (spread or 0.0) ** 2 / len(fits[0].folds) if sd_seeds is None else sd_seeds**2 / len(fits)
    return {
        "accuracy_real": float(answers.terms[0].mean()),
        "accuracy_generated": float(answers.terms[1].mean()),
        "won": _won(fits),
        "alone": _alone(fits, sides, level),
        "fold_values": [fold.value for fold in folds],
        "thresholds": [model.threshold for model in models],
        "chosen": [dict(model.chosen) for model in models],
        "dd_validation": float(np.mean([2 * model.valid_accuracy - 1 for model in models])),
        **_certified(fits[0], sides, level=level, seed=seed),
        "n_permutations": N_PERMUTATIONS,
        "dd_distinct_texts": sum(distinct) - 1,
        "alike": answers.alike,
        "unseen": dict(zip(("real", "generated"), unseen, strict=True)),
        "plug_in": cross_fitted_plug_in(fits[0], seed=seed),
        "sd_classifiers": spread,
        "sd_seeds": sd_seeds,
        "mean_score_real": float(judged[0].mean()),
        "mean_score_generated": float(judged[1].mean()),
        "auc": float(np.mean([fold.auc for fold in folds])),
        "cross_entropy": float(np.mean([fold.cross_entropy for fold in folds])),
        "roc": roc_points(*judged),
        "score_histogram": {
            "edges": edges.tolist(),
            "real": np.histogram(judged[0], edges)[0].tolist(),
            "generated": np.histogram(judged[1], edges)[0].tolist(),
        },
        **{
            key: dict(zip(("real", "generated"), getattr(models[0], key), strict=True))
            for key in ("n_train", "n_valid", "n_test")
        },
        "se_sampling": error,
        "se_total": float(np.hypot(error, np.sqrt(extra))),
    }


def fitted_to(chosen: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return for the signature to how many texts a side weights were fitted, where some were left out."""
    sizes = [choices[FIT] for choices in chosen if FIT in choices]
    return {FIT: max(sizes)} if sizes else {}


def _won(fits: Sequence[CrossFit]) -> dict[str, Any] | None:
    """Return the winner of each fold, and the one that won most of them; of several, the first in the family."""
    if not fits[0].alone:
        return None
    folds = [str(model.chosen["won"]) for fit in fits for model in fit.folds]
    counts = Counter(folds)
    return {"most": max(fits[0].alone, key=lambda name: counts[name]), "folds": folds}


def _alone(fits: Sequence[CrossFit], sides: Sides, level: float) -> dict[str, dict[str, float | None]] | None:
    """Return the discrepancy of each candidate of a family by itself, on the same partitions."""
    if not fits[0].alone:
        return None
    candidates = {}
    for name in fits[0].alone:
        answers = Answers.of([fit.alone[name] for fit in fits], *sides)
        interval = answers.interval(level)
        candidates[name] = {
            "value": answers.value,
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "se_sampling": answers.standard_error,
        }
    return candidates


def _certified(fit: CrossFit, sides: Sides, *, level: float, seed: int) -> dict[str, Any]:
    """Return the certified bound and the e-value of the certifying fold, which has the whole error rate."""
    bound: dict[str, Any] = {"value": None, "level": level, "fold": CERTIFYING_FOLD}
    if any(corpus.groups is not None for corpus in sides):
        of_groups, evidence = _certified_by_group(fit, sides, level=level, seed=seed)
        return {"certified_bound": {**bound, **of_groups}, "e_value": evidence}
    model = fit.folds[CERTIFYING_FOLD]
    test = (
        fit.real_scores[fit.real_folds == CERTIFYING_FOLD],
        fit.generated_scores[fit.generated_folds == CERTIFYING_FOLD],
    )
    n_real, n_generated = map(len, test)
    rule = choose_bound(
        *model.valid_scores, n_real=n_real, n_generated=n_generated, alpha=1 - level, usual=model.threshold
    )
    certified = rule.bound(*test, alpha=1 - level)
    of_several = bounds_of_several(lambda alpha: rule.bound(*test, alpha=alpha).value, 1 - level)
    return {
        "certified_bound": {
            **bound,
            "value": certified.value,
            "threshold": certified.threshold,
            "kind": certified.kind,
            "exact": certified.exact,
            "of_several": of_several,
        },
        "e_value": e_value(*test, rng=stream(seed, "dd", "e-value")),
    }


def _certified_by_group(fit: CrossFit, sides: Sides, *, level: float, seed: int) -> tuple[dict[str, Any], float]:
    """Return the bound and the e-value of texts in groups, of one side or both; every text weighs the same.

    Groups are independent draws, texts of one group are not.
    """
    groups = joint_groups(sides[0].groups, sides[1].groups, *map(len, sides))
    members = groups[: len(sides[0])], groups[len(sides[0]) :]
    tested = fit.real_folds == CERTIFYING_FOLD, fit.generated_folds == CERTIFYING_FOLD
    scores = fit.real_scores, fit.generated_scores
    n_groups = int(groups.max()) + 1
    sizes = np.stack([np.bincount(side, minlength=n_groups) for side in members], axis=1)  # (n_groups, 2)
    inside = np.zeros(n_groups, dtype=np.bool_)
    for side, rows in zip(members, tested, strict=True):
        inside[side[rows]] = True
    elsewhere = sizes[~inside]
    model = fit.folds[CERTIFYING_FOLD]
    n_real, n_generated = np.ceil((elsewhere > 0).mean(axis=0) * np.count_nonzero(inside)).astype(int).tolist()
    threshold = choose_bound(
        *model.valid_scores, n_real=n_real, n_generated=n_generated, alpha=1 - level, usual=model.threshold
    ).threshold
    called = [
        np.bincount(side[rows], weights=of_side[rows] > threshold, minlength=n_groups)
        for side, rows, of_side in zip(members, tested, scores, strict=True)
    ]
    bets = ShareDifference(
        np.stack(called, axis=1)[inside],
        sizes[inside],
        elsewhere=elsewhere,
        alpha=1 - level,
        rng=stream(seed, "dd", "bets"),
    )
    bound = {
        "value": bets.lower_bound,
        "of_several": bounds_of_several(bets.lower_bound_at, 1 - level),
        "threshold": threshold,
        "kind": "betting",
        "exact": True,
        "n_groups": int(np.count_nonzero(inside)),
        "largest": dict(zip(("real", "generated", "both"), map(int, bets.largest), strict=True)),
        "assumes": "independent groups; one of more texts than `largest` counts as so many",
    }
    return bound, bets.e_value


def _mean_over_distinct(corpus: Corpus, terms: FloatArray, tested: npt.NDArray[np.bool_]) -> float:
    """Return the mean of `terms` over distinct texts; copies of a text share its weight."""
    hashes = hashes_of(corpus.texts)[tested]
    _, firsts, members = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(firsts)  # the texts in order of appearance
    counts, sums = np.bincount(members), np.bincount(members, weights=terms)
    return float(np.mean((sums / counts)[order]))
