"""Judge metrics: compare generators by many metrics, and correlate these with people's judgements or a known order."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from textassay.comparison.comparison import FLOOR, Comparison, Result
from textassay.comparison.measure import Progress
from textassay.comparison.run import compare
from textassay.corpus.corpus import TextOptions, Texts, corpora_from_texts
from textassay.corpus.named_texts import named_texts
from textassay.corpus.texts import as_texts
from textassay.discriminator.catalog import as_discriminator
from textassay.errors import InputError, OptionError
from textassay.estimate import Estimate
from textassay.execution.progress import shows_progress
from textassay.inspection.checks import CHARACTERS, UNSPACED
from textassay.metric.base import Effort
from textassay.metric.catalog import CATALOG, MetricLike, default_metrics, parse_metrics
from textassay.settings import Comparing
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.ratings_file import read_rating_columns
from textassay_lab.human.results import read_judgements
from textassay_lab.judges.meta_evaluator import meta_evaluate as cross_fitted_meta_evaluation
from textassay_lab.meta_evaluation.correlations import row_correlations
from textassay_lab.meta_evaluation.evaluation import Evaluation, place_judgements, read_gold
from textassay_lab.meta_evaluation.judging import Judging, judge_evaluators

FloatArray = npt.NDArray[np.float64]

_CLEAR = 0.5  # correlation of mean scores with values above which the direction of the scores counts as known


def evaluations_of(
    comparison: Comparison,
    *,
    generators: Sequence[str] | None = None,
    scores: Mapping[tuple[str, str], FloatArray] | None = None,
) -> tuple[list[Evaluation], dict[str, str]]:
    """Return the evaluations by a comparison's metrics, and the reasons why other metrics have none.

    `scores`: (generator, metric) to the scores of its texts, for estimates without evidence.
    """
    names = comparison.generators if generators is None else tuple(generators)
    evaluations, left_out = [], {}
    for metric in comparison.metrics:
        results = {name: comparison.result(name, metric) for name in names}
        better = next(iter(results.values())).better
        missing = [(name, r.error or "it has no value") for name, r in results.items() if _estimate(r) is None]
        if better == "neither":
            left_out[metric] = "it has no direction"
        elif missing:
            left_out[metric] = f"no value for {missing[0][0]}: {missing[0][1]}"
        elif better == "closer":
            evaluations.append(_from_floor(metric, results))
        else:
            own = {name: estimate for name, r in results.items() if (estimate := _estimate(r)) is not None}
            evaluations.append(_with_scores(Evaluation.of_estimates(own), scores or {}))
    return evaluations, left_out


def _estimate(result: Result) -> Estimate | None:
    """Return the estimate that generators are compared by, or None."""
    if result.better == "closer":
        has_floor = result.floor is not None and math.isfinite(result.floor.value)
        estimate = result.matched if has_floor else None
    else:
        estimate = result.estimate
    return estimate if estimate is not None and math.isfinite(estimate.value) else None


def _from_floor(metric: str, results: Mapping[str, Result]) -> Evaluation:
    values, terms = [], {}
    for name, result in results.items():
        if result.matched is None or result.floor is None:
            raise InputError(f"{metric} of {name} must have a value at the floor's size, got none")
        values.append(result.matched.value - result.floor.value)
        own = None if result.matched.evidence is None else result.matched.evidence.generated_terms
        if own is not None and len(own) > 1:
            terms[name] = own
    return Evaluation(
        metric,
        "closer",
        tuple(results),
        np.array(values),
        floor=0.0,
        terms=terms if len(terms) == len(results) else None,
    )


def _with_scores(evaluation: Evaluation, scores: Mapping[tuple[str, str], FloatArray]) -> Evaluation:
    """Add scores of texts to an evaluation without any, if all generators have them.

    Their sign is that of the correlation of their means with the values; if that is weak, they are not added.
    """
    own = {name: scores[name, evaluation.name] for name in evaluation.generators if (name, evaluation.name) in scores}
    if evaluation.texts is not None or len(own) < len(evaluation.generators):
        return evaluation
    means = np.array([float(np.nanmean(array)) for array in own.values()])
    correlation = float(row_correlations(means[None], evaluation.values[None], "pearson")[0])
    if not abs(correlation) >= _CLEAR:
        return evaluation
    own = own if correlation > 0 else {name: -array for name, array in own.items()}
    return Evaluation(
        evaluation.name,
        evaluation.better,
        evaluation.generators,
        evaluation.values,
        own,
        evaluation.floor,
        terms=evaluation.terms,
    )


# What no comparison computes unless it is named, but a meta-evaluation does.
_OVERLAP = ("bleu-nearest", "rouge", "meteor", "cider", "cider-d")
_CALLED_REAL = ("human", "humans", "people", "person", "reference", "references", "gold")


@dataclass(frozen=True)
class KeptComparison:
    """A finished comparison, with the texts and the scores of single texts that were kept with it."""

    comparison: Comparison
    texts: Mapping[str, Sequence[str]]
    scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]  # of (generator, metric)


@shows_progress
def judge(
    generated: Texts | Mapping[str, Texts] | Comparison | KeptComparison | None = None,
    real: Texts = None,
    *,
    by: str | None = None,
    ratings: str | os.PathLike[str] | Judgements | None = None,
    rating_columns: Sequence[str] = (),
    text_column: str | None = None,
    system_column: str | None = None,
    rater_column: str | None = None,
    real_name: str | None = None,
    gold: Mapping[str, Mapping[str, float]] | Sequence[str] = (),
    train: Texts = None,
    metrics: Sequence[MetricLike] | None = None,
    discriminators: Sequence[Any] = (),
    votes: int | None = None,
    effort: Effort = "default",
    encoder: str | None = None,
    n_resamples: int = 2_000,
    level: float = 0.95,
    independent: bool = False,
    seed: int = 0,
    workers: int | None = None,
    device: str = "auto",
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Judging:
    """Return which metrics rank these generators as people do, or as a known order has them.

    Parameters
    ----------
    generated
        Generator name to its texts, at least 2, as `textassay.compare` takes them; or a finished comparison. Without
        any, the texts that `ratings` have.
    real
        Real text, where `generated` is texts; by default the texts that the ratings call ``real``.
    by
        Of a table of all texts, as in `textassay.compare`.
    ratings
        People's judgements: a file that ``textassay human`` or `ratings` tables have, or what it was read into.
    rating_columns, text_column, system_column, rater_column
        Columns of any other CSV file of ratings: one or more criteria, each of which ranks the generators, the texts,
        who wrote them and who judged. ``*`` stands for the number of numbered columns. The last three may be left out
        where they have usual names, or where there is no rater.
    real_name
        Which system of the ratings is the real text where none is called ``real``, such as ``human``; not ranked.
    gold
        Known orders: name to the score of each generator, higher is better; or files of such.
    train
        What the generators were trained on.
    metrics
        Names; by default those of a comparison, and word overlap.
    discriminators
        Classifiers that learn from all generators together and judge each text: names, such as ``svm``, or objects.
    votes
        How many votes of "real" make a text real, for ratings that are votes.
    effort, encoder, level, independent, seed, workers, device, out, progress
        As in `textassay.compare`.
    n_resamples
        Of the intervals, at least 100.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.

    Raises
    ------
    OptionError
        If nothing says which generator is better, or texts stand beside a finished comparison.
    InputError
        If there are fewer than 2 generators, or ratings or an order say nothing of one.
    """
    if ratings is None and not gold:
        raise OptionError("no order of the generators is given: give ratings or gold")
    if isinstance(generated, Comparison | KeptComparison):
        kept: Any = generated if isinstance(generated, KeptComparison) else KeptComparison(generated, {}, {})
    else:
        kept, real = named_texts(generated, real, by=by, may_be_none=True)
    finished = isinstance(kept, KeptComparison)
    if finished and real is not None:
        raise OptionError("give either generated and real texts, or a finished comparison")
    settings = Comparing(effort=effort, encoder=encoder, level=level).of_metrics()
    chosen = judged_metrics(has_train=train is not None) if metrics is None else list(metrics)
    full_names = [metric.name for metric in parse_metrics(chosen, **settings)]
    from_items = not finished and not kept
    if real_name is not None and (ratings is None or not from_items):
        raise OptionError("real_name names the real texts of ratings: give ratings, and no other texts")
    source = "the ratings" if isinstance(ratings, Judgements) else str(ratings)
    criteria = {
        name: _with_real(judged, real_name, source)
        for name, judged in _criteria(ratings, text_column, rating_columns, system_column, rater_column).items()
    }
    people = next(iter(criteria.values()), None)
    if isinstance(kept, KeptComparison):
        texts: dict[str, Any] = {name: kept.texts.get(name) for name in kept.comparison.generators}
    else:
        texts = _judged_texts(kept, real, people, source)
    names = [name for name in texts if name != FLOOR]
    if len(names) < 2:
        raise InputError(f"at least 2 generators are needed to rank them, got {', '.join(names) or 'none'}")
    notes: list[str] = []
    golds = []
    for criterion, judged in criteria.items():
        of_people = _of_people(judged, texts, names, votes, notes, source, from_items=from_items)
        golds += [replace(gold, name=_of_criterion(gold.name, criterion)) for gold in of_people]
    golds = _with_orders(golds, gold, names, full_names, notes)
    if isinstance(kept, KeptComparison):
        comparison = kept.comparison
        wanted = list(comparison.metrics) if metrics is None else full_names
        missing = [name for name in wanted if name not in comparison.metrics]
        if missing:
            raise OptionError(f"the comparison has no {', '.join(missing)}: it has {', '.join(comparison.metrics)}")
        evaluations, left_out = evaluations_of(comparison, generators=names, scores=kept.scores)
        evaluations = [evaluation for evaluation in evaluations if evaluation.name in wanted]
        left_out = {name: reason for name, reason in left_out.items() if name in wanted}
    else:
        comparison = compare(
            {name: texts[name] for name in names},
            texts[FLOOR],
            train=train,
            metrics=chosen,
            effort=effort,
            encoder=encoder,
            explain=False,
            level=level,
            independent=independent,
            seed=seed,
            workers=workers,
            device=device,
            out=None if out is None else Path(out),
            progress=progress,
            **text,
        )
        evaluations, left_out = evaluations_of(comparison, generators=names)
        evaluations += _classified(discriminators, texts, names, seed, progress, text)
    notes += joined(comparison.warnings, names)
    notes += [
        f"real text: {finding.message}"
        for finding in comparison.findings
        if finding.generator == FLOOR and finding.kind in (CHARACTERS, UNSPACED) and not finished
    ]
    return judge_evaluators(
        golds,
        evaluations,
        left_out=left_out,
        notes=notes,
        findings=[finding for finding in comparison.findings if finding.generator in (*names, FLOOR)]
        if finished
        else comparison.findings,
        real=_real_words(people, real_name, source, is_given=real is not None) if from_items else "",
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        progress=progress,
    )


def judged_metrics(*, has_train: bool) -> list[str]:
    """Return the metrics that are judged by default: those of a comparison, and word overlap."""
    return [*default_metrics(["train"] if has_train else []), *(name for name in _OVERLAP if name in CATALOG)]


def _criteria(
    ratings: Any, text: str | None, columns: Sequence[str], system: str | None, rater: str | None
) -> dict[str, Judgements]:
    """Return the judgements by each criterion; under an empty name where there is one that has none."""
    if ratings is None:
        return {}
    if isinstance(ratings, Judgements):
        return {"": ratings}
    if not (columns or text or system or rater):
        return {"": read_judgements(Path(ratings))}
    return read_rating_columns(Path(ratings), columns, text=text, system=system, rater=rater)


def _with_real(people: Judgements, name: str | None, source: str) -> Judgements:
    """Return the judgements with the texts of the system `name` as real ones."""
    if name is None:
        return people
    if name not in people.generators:
        raise InputError(
            f"{source} has no system '{name}' (--real-name): it has {', '.join(people.generators) or 'none'}"
        )
    if people.is_real.any():
        raise InputError(f"{source} has texts called real, and --real-name {name} names others: leave it out")
    items = (replace(item, generator=None) if item.generator == name else item for item in people.items)
    return replace(people, items=tuple(items))


def _real_words(people: Judgements | None, name: str | None, source: str, *, is_given: bool) -> str:
    """Return which text is the real one that metrics compare with, and whether people judged real texts, too."""
    n_real = 0 if people is None else int(people.is_real.sum())
    called = f"{n_real:,} texts that {source} calls {name or 'real'}"
    if not is_given:
        return called
    return f"as given; {called} are not ranked" if n_real else "as given"


def _of_criterion(name: str, criterion: str) -> str:
    """Return the name of a gold by one criterion: that of numbers, which is ``rating``, says no more."""
    return name if not criterion else criterion if name == "rating" else f"{criterion} {name}"


def _judged_texts(
    generated: Mapping[str, Texts] | None, real: Texts, people: Judgements | None, source: str
) -> dict[str, Any]:
    """Return the real text and every generator's, as they were read, or from the items that were judged."""
    if generated:
        if real is None:
            raise OptionError("real text is missing: metrics compare generated text with it")
        return {name: as_texts(texts, name) for name, texts in {FLOOR: real, **generated}.items()}
    if people is None:
        raise OptionError("no texts are given: give texts, a comparison, or ratings with texts")
    texts: dict[str, Any] = {
        name: [item.text for item in people.items if item.generator == name] for name in people.generators
    }
    for name, judged in texts.items():
        if not all(judged):
            raise InputError(f"{source} has no texts of {name}: give the texts of all generators, and real ones")
    if not texts:
        raise InputError(f"{source} names no generator: give texts as NAME=FILE, and name its items NAME:LINE")
    texts[FLOOR] = [item.text for item in people.items if item.generator is None] if real is None else real
    if real is None and not all(texts[FLOOR] or [""]):
        names = [name for name in people.generators if name.lower() in _CALLED_REAL] or ["NAME"]
        raise InputError(
            f"{source} has no texts called real, but {', '.join(people.generators)}: give --real FILE, or name the "
            f"real text with --real-name {names[0]}"
        )
    return {name: as_texts(judged, name) for name, judged in texts.items()}


def _of_people(
    people: Judgements,
    texts: Mapping[str, Any],
    names: Sequence[str],
    votes: int | None,
    notes: list[str],
    source: str,
    *,
    from_items: bool,
) -> list[Evaluation]:
    """Return people's evaluation and, of real or fake, that of their majorities."""
    if votes is not None and people.scale == "number":
        raise OptionError(f"votes apply to judgements of real or fake: the ratings of {source} are numbers")
    mentioned = {item.id.rpartition(":")[0] for item in people.items} - {"real", "Real", FLOOR}
    is_placed = from_items
    if people.generators or is_placed:
        # else: that no column names generators; lines do
        notes += [note for note in people.notes if note not in notes]
    has_texts = all(texts[name] is not None for name in names)
    if not is_placed and has_texts and (mentioned <= {*names} or not people.generators):
        people, is_placed = place_judgements(people, {name: [*texts[name]] for name in names}), True
    golds = [Evaluation.of_judgements(people)]
    if people.scale == "real-or-fake":
        golds.append(Evaluation.of_judgements(people, by="majority", votes=votes))
    if is_placed:
        return golds
    reason = "items are not named NAME:LINE" if has_texts else "the comparison has no texts"
    notes.append(f"{reason}, so judgements cannot be matched to texts: there are no results for single texts")
    return [replace(gold, texts=None) for gold in golds]


def _with_orders(
    golds: Sequence[Evaluation],
    orders: Mapping[str, Mapping[str, float]] | Sequence[str],
    names: Sequence[str],
    metrics: Sequence[str],
    notes: list[str],
) -> list[Evaluation]:
    """Return people's evaluations and the known orders, of the generators `names`."""
    golds = list(golds)
    if isinstance(orders, Mapping):
        known = [
            (name, Evaluation(name, "higher", tuple(scores), np.array([float(score) for score in scores.values()])))
            for name, scores in orders.items()
        ]
    else:
        known = [(name, read_gold(name)) for name in orders]
    for source, order in known:
        n_alike = sum(gold.name.rsplit(" #")[0] == order.name for gold in golds)
        golds.append(replace(order, name=f"{order.name} #{n_alike + 1}") if n_alike else order)
        if order.name in metrics:
            raise InputError(f"{source} has the name of a metric: rename it")
    for gold in golds:
        missing = [name for name in names if name not in gold.generators]
        if missing:
            raise InputError(
                f"{gold.name} has no value for {', '.join(missing)}: leave the generator out, or add it to {gold.name}"
            )
        more = [name for name in gold.generators if name not in names]
        if more:
            notes.append(f"{gold.name} also knows {', '.join(more)}, of which there is no text: left out")
    return [gold.select(names) for gold in golds]


def _classified(
    discriminators: Sequence[Any],
    texts: Mapping[str, Any],
    names: Sequence[str],
    seed: int,
    progress: Progress | None,
    text: TextOptions,
) -> list[Evaluation]:
    """Return what each classifier, which learns from all generators together, says of them."""
    corpora = corpora_from_texts(texts, **text) if discriminators else {}
    evaluations = []
    for place, name in enumerate(discriminators):
        if progress is not None:
            progress(f"{name} of all generators", place, len(discriminators))
        evaluation = cross_fitted_meta_evaluation(
            as_discriminator(name), corpora[FLOOR], {each: corpora[each] for each in names}, seed=seed
        )
        evaluations.append(Evaluation.of_estimates(evaluation.to_estimates()))
    return evaluations


def joined(warnings: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the warnings, those that are alike but for the generator once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for warning in warnings:
        name = next((name for name in sorted(names, key=len, reverse=True) if name in warning), "")
        before, _, after = warning.partition(name) if name else ("", "", warning)
        groups.setdefault((before, after), []).append(name)
    return [
        f"{before}{'each of ' if len(alike) > 1 else ''}{', '.join(alike)}{after}"
        for (before, after), alike in groups.items()
    ]
