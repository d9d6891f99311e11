"""What takes several steps in the rooms, in one call each: from texts, files, models or folders of models to a result.

Inputs are read and checked here; what the rooms get is clean.
"""

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from textassay.comparison.comparison import FLOOR, TRAIN, Comparison
from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.parallel import ParallelText
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.discriminator.base import Discriminator
from textassay.discriminator.catalog import as_discriminator
from textassay.discriminator.prior import Prior
from textassay.discriminators import TextClassifier
from textassay.errors import InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.inspection.checks import CHARACTERS, UNSPACED
from textassay.metric.base import Effort
from textassay.metric.catalog import CATALOG, MetricLike, default_metrics, parse_metrics
from textassay.metric.discrepancy import exact_discrepancy as discrepancy_of_probabilities
from textassay.ngram.language_model import tokens_in
from textassay.ngram.model import NgramModel
from textassay.settings import Comparing
from textassay_lab.approximation.approximation import FLOOR as FLOOR_PROBABILITY
from textassay_lab.approximation.approximation import N_SAMPLES, Approximation, choose_mode
from textassay_lab.approximation.approximation import approximate as approximate_corpus
from textassay_lab.exposure.bleu import NotForTranslationError, check_not_translation
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.lengths import LONGEST, choose_lengths
from textassay_lab.exposure.measurement import Exposure, ExposureSettings, Keep, measure_exposure
from textassay_lab.exposure.translation import TranslationCurve, translation_eb_c
from textassay_lab.generator.catalog import FIXED_VECTORS as FIXED
from textassay_lab.generator.catalog import ParameterCounts, Shaped
from textassay_lab.generator.catalog import parameter_counts as counts_by_shapes
from textassay_lab.generator.next_words import Ends
from textassay_lab.generator.prefixes import blocks as cut_blocks
from textassay_lab.generators import TextGenerator, from_pretrained
from textassay_lab.human.files import read_judgements
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.rating_columns import read_rating_columns
from textassay_lab.judges.meta_evaluator import Balance, MetaEvaluation
from textassay_lab.judges.meta_evaluator import meta_evaluate as cross_fitted_meta_evaluation
from textassay_lab.meta_evaluation.bench import Bench, World, parse_estimators, run_bench
from textassay_lab.meta_evaluation.compared import evaluations_of
from textassay_lab.meta_evaluation.damaged_values import Evaluator
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.gold import place_judgements, read_gold
from textassay_lab.meta_evaluation.judging import Judging, judge_evaluators
from textassay_lab.meta_evaluation.known_truth_pairs import (
    FIRST_TEST_SEED,
    LEARNT_NAMES,
    N_FOR_TRUTH,
    PAIR_NAMES,
    KnownTruthPair,
)
from textassay_lab.meta_evaluation.model_discrepancy import ModelDiscrepancy, exact_model_discrepancy, model_discrepancy
from textassay_lab.meta_evaluation.neural_pairs import NETWORKS, neural_pairs
from textassay_lab.meta_evaluation.prompted_worlds import N_ANSWERS, PROMPTED_NAMES, prompted_worlds
from textassay_lab.meta_evaluation.stress import Stress, run_stress

Model = TextGenerator | str | os.PathLike[str]
Probabilities = Mapping[Any, float] | npt.ArrayLike
# What no comparison computes unless it is named, but a meta-evaluation does.
_OVERLAP = ("bleu-nearest", "rouge", "meteor", "cider", "cider-d")
_CALLED_REAL = ("human", "humans", "people", "person", "reference", "references", "gold")


def stress(
    real: Texts,
    *,
    train: Texts = None,
    other: Texts = None,
    metrics: Sequence[MetricLike] | None = None,
    evaluators: Sequence[Evaluator] = (),
    damages: Sequence[str] | None = None,
    strengths: Sequence[float] = (0.1, 0.2, 0.4, 0.8),
    n_sentences: int | None = None,
    n_draws: int = 5,
    effort: Effort = "quick",
    encoder: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Stress:
    """Return what every metric says of real text that is damaged more and more.

    Parameters
    ----------
    real
        Real text, as `textassay.compare` takes it: for `n_sentences` of each part twice as many, once more where there
        is no `train`, and once more for the control.
    train, other
        Training text, and text of another kind.
    metrics, damages
        Names; by default all that the texts allow.
    evaluators
        Measures of your own.
    strengths
        In (0, 1]; 0 is always measured.
    n_sentences
        Of each part, at least 2; by default 2,000, or as many as there are for all parts.
    n_draws
        Random draws, at least 2.
    effort, encoder, level, seed, progress
        As in `textassay.compare`.
    folder
        Where values are kept, so that the same call goes on; nowhere without one.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.
    """
    sources = {FLOOR: real, TRAIN: train, "(other)": other}
    corpora = corpora_from_texts({name: source for name, source in sources.items() if source is not None}, **text)
    return run_stress(
        corpora[FLOOR],
        train=corpora.get(TRAIN),
        other=corpora.get("(other)"),
        metrics=metrics,
        evaluators=evaluators,
        damages=damages,
        strengths=strengths,
        n_sentences=n_sentences,
        n_draws=n_draws,
        effort=effort,
        encoder=encoder,
        level=level,
        seed=seed,
        folder=None if folder is None else Path(folder),
        progress=progress,
    )


def bench(
    texts: Mapping[str, Texts] | None = None,
    *,
    estimators: Sequence[str] = ("plain", "quick", "default"),
    worlds: Sequence[str] | None = None,
    n_sentences: Sequence[int] = (20_000,),
    n_generated: int | None = None,
    n_fit_real: int = 0,
    n_answers: int = N_ANSWERS,
    n_truth: int = N_FOR_TRUTH,
    seeds: Sequence[int] = (FIRST_TEST_SEED,),
    prior: Prior | None = None,
    level: float = 0.95,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Bench:
    """Return how much of a known discrepancy metrics find, and whether their intervals are honest.

    Parameters
    ----------
    texts
        Name to text that generators are fitted to; without any, sentences from the docstrings of installed packages.
    estimators
        ``plain``, efforts of dd, and names of metrics; with ``+log-probs`` at its end, one is given the generator's
        log-probabilities, with ``+train`` what it was fitted to.
    worlds
        Pairs of generators whose discrepancy is known, by default all but ``learnt`` and networks; a name stands for
        all that begin with it, ``lstm`` and ``gpt2`` for networks, which are trained anew each time, ``answers`` for
        those with prompts, where ``conditional-dd`` is measured, and nowhere else.
    n_sentences
        Real sentences, one or more sizes; in worlds with prompts, real answers.
    n_generated
        Generated sentences; as many as real ones where None.
    n_fit_real
        More real sentences, for dd to learn from and not to be tested on.
    n_answers
        Real answers to each prompt, in worlds with prompts.
    n_truth
        Sentences a side for the truth, at least 2.
    seeds
        One draw each.
    prior
        What estimators that can use it know of a language, as in ``dd``.
    level
        Of intervals.
    folder
        Where cells are kept, so that the same call goes on; in memory without one.
    progress
        Called with what is done next, the cells done and all cells.
    text
        How each text is prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.
    """
    sources = {"docstrings": docstring_sentences()} if texts is None else texts
    corpora = {name: corpora_from_texts({name: source}, **text)[name] for name, source in sources.items()}
    names, networks = matching_worlds(worlds)
    measures = parse_estimators(estimators, level=level, prior=prior)
    prompted = [name for name in names if name in PROMPTED_NAMES]
    if worlds is None:
        for_prompts = [each.needs_prompts for each in measures]
        prompted = list(PROMPTED_NAMES) if any(for_prompts) else []
        names = [] if all(for_prompts) else names
    if any(each.needs_prompts for each in measures) and not prompted:
        raise OptionError("conditional-dd is measured in worlds with prompts alone: add answers to the worlds")
    return run_bench(
        corpora,
        measures,
        pair_names=[name for name in names if name not in prompted],
        extra=partial(_more_worlds, networks=networks, prompted=prompted, n_answers=n_answers),
        sizes=sorted(set(n_sentences)),
        n_generated=n_generated,
        n_fit_real=n_fit_real,
        n_truth=n_truth,
        seeds=seeds,
        folder=None if folder is None else Path(folder),
        progress=progress,
    )


def matching_worlds(worlds: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the worlds that a list stands for, and what it names of networks; none names no networks.

    A name stands for all worlds that begin with it.
    """
    if worlds is None:
        return list(PAIR_NAMES), []
    chosen: list[str] = []
    networks = []
    if not worlds:
        raise OptionError("no world is named: name a world or more, or leave them out")
    for name in worlds:
        known = (*PAIR_NAMES, *LEARNT_NAMES, *PROMPTED_NAMES)
        matching = [world for world in known if _is_part(name, world)]
        if any(_is_part(network, name) for network in NETWORKS):
            networks.append(name)
        elif not matching:
            raise unknown_name("world", name, [*known, *NETWORKS])
        chosen += matching
    return list(dict.fromkeys(chosen)), networks


def _is_part(beginning: str, name: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}-")


def _more_worlds(
    corpus: Corpus, seed: int, *, networks: Sequence[str], prompted: Sequence[str], n_answers: int
) -> list[World]:
    """Return the worlds of networks and those with prompts that are called for."""
    return [*_networks(corpus, seed, names=networks), *prompted_worlds(corpus, seed, prompted, n_answers=n_answers)]


def _networks(corpus: Corpus, seed: int, *, names: Sequence[str]) -> list[KnownTruthPair]:
    """Return the worlds of networks that are called for; they are trained anew each time."""
    networks = [network for network in NETWORKS if any(_is_part(network, name) for name in names)]
    worlds = [world for network in networks for world in neural_pairs(corpus, seed, network=network)]
    for name in names:
        if not any(_is_part(name, world.name) for world in worlds):
            raise unknown_name("world", name, [world.name for world in worlds])
    return [world for world in worlds if any(_is_part(name, world.name) for name in names)]


@dataclass(frozen=True)
class KeptComparison:
    """A finished comparison, with the texts and the scores of single texts that were kept with it."""

    comparison: Comparison
    texts: Mapping[str, Sequence[str]]
    scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]  # of (generator, metric)


def judge(
    generated: Mapping[str, Texts] | Comparison | KeptComparison | None = None,
    real: Texts = None,
    *,
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
        raise OptionError("nothing says which generator is better: give ratings or gold")
    kept = KeptComparison(generated, {}, {}) if isinstance(generated, Comparison) else generated
    finished = isinstance(kept, KeptComparison)
    if finished and real is not None:
        raise OptionError("give generated and real texts, or a finished comparison alone")
    settings = Comparing(effort=effort, encoder=encoder, level=level).of_metrics()
    chosen = judged_metrics(has_train=train is not None) if metrics is None else list(metrics)
    full_names = [metric.name for metric in parse_metrics(chosen, **settings)]
    from_items = not finished and not generated
    if real_name is not None and (ratings is None or not from_items):
        raise OptionError("real_name says which texts of ratings are real: give ratings, and texts of nothing else")
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
        raise OptionError("nothing is to be judged: give texts, a comparison, or ratings with texts")
    texts: dict[str, Any] = {
        name: [item.text for item in people.items if item.generator == name] for name in people.generators
    }
    for name, judged in texts.items():
        if not all(judged):
            raise InputError(f"{source} has no texts of {name}: give the texts of all generators, and real ones")
    if not texts:
        raise InputError(f"{source} names no generator: give texts by name, and call its items NAME:LINE")
    texts[FLOOR] = [item.text for item in people.items if item.generator is None] if real is None else real
    if real is None and not all(texts[FLOOR] or [""]):
        names = [name for name in people.generators if name.lower() in _CALLED_REAL] or ["NAME"]
        raise InputError(
            f"{source} calls no text real, but {', '.join(people.generators)}: give real text by --real FILE, or say "
            f"which of them it is by --real-name {names[0]}"
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
        raise OptionError(f"votes are counted of real or fake: the ratings of {source} are numbers")
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
    reason = "items are not called NAME:LINE" if has_texts else "the comparison has no texts"
    notes.append(f"{reason}, so nobody knows which text they are: no text level")
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
            raise InputError(f"{source} has the name of a metric: call it something else")
    for gold in golds:
        missing = [name for name in names if name not in gold.generators]
        if missing:
            raise InputError(f"{gold.name} says nothing of {', '.join(missing)}: leave it out, or add it there")
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


def meta_evaluate(
    generated: Mapping[str, Texts],
    real: Texts,
    *,
    discriminator: str | Discriminator | Any = "svm",
    individual: bool = False,
    balance: Balance = "equal",
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
    **text: Unpack[TextOptions],
) -> MetaEvaluation:
    """Return which texts a discriminator takes for real, each judged by one that did not see it or an equal text.

    Parameters
    ----------
    generated, real
        Each generator's texts, and real ones, as in `textassay.compare`.
    discriminator
        A name, such as ``svm``, or a classifier over texts of `textassay.discriminators` or scikit-learn.
    individual
        Whether each generator has one of its own; else one learns from all generators together.
    balance
        ``equal`` draws as many real texts as generated ones; ``weights`` uses all, with equal weights of the sides.
    folds
        At least 2.
    level, seed
        As in `textassay.compare`.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`.
    """
    corpora = corpora_from_texts({FLOOR: real, **generated}, **text)
    return cross_fitted_meta_evaluation(
        as_discriminator(discriminator),
        corpora.pop(FLOOR),
        corpora,
        individual=individual,
        balance=balance,
        folds=folds,
        level=level,
        seed=seed,
    )


def exposure_bias(
    model: Model,
    real: Texts,
    *,
    oracle: Model | None = None,
    lengths: Sequence[int] | None = None,
    prefixes: Sequence[str] = ("model", "shuffled"),
    n_samples: int = 10_000,
    bleu_runs: int = 10,
    oracle_runs: int = 5,
    sentence_length: int | None = None,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    ends: Ends = "excluded",
    with_dd: bool = False,
    blocks: bool = False,
    n_shown: int = 3,
    folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exposure:
    """Return how much worse a language model goes on from its own words than from real ones.

    Parameters
    ----------
    model
        A fitted generator of `textassay_lab.generators` with a likelihood, or the folder of one.
    real
        Real text that the model never saw, as `textassay.compare` takes it, at least 2 texts.
    oracle
        A model of the same tokens that stands for the data: with it EB-C, the accumulated error and EB-DD.
    lengths
        Tokens of the prefixes; by default six lengths that suit the text.
    prefixes
        What prefixes of the data are compared with: ``model``, ``shuffled``, ``random``, ``corrupted:RATE``.
    n_samples
        Continuations and references of each run, or as many as the text allows.
    bleu_runs, oracle_runs
        Runs of EB-bleu, and of EB-C.
    sentence_length, distances, ends
        Tokens of the sentences; distances of EB-C; whether texts may end in the measure.
    with_dd
        Whether to measure EB-DD, too.
    blocks
        Whether the text is running text, to be cut into blocks of `sentence_length` tokens.
    n_shown
        Example texts of each kind of prefix.
    folder
        Where values are kept, so that the same call goes on; nowhere without one.
    level, seed, progress
        As in `textassay.compare`.

    Raises
    ------
    InputError, OptionError, TooFewSentencesError
        If the model knows no token of the text or was trained on it, the two models differ in tokens, or the texts are
        too few or short.
    """
    opened, truth = _opened(model), None if oracle is None else _opened(oracle)
    for side in (opened, truth):
        try:
            check_not_translation(None if side is None else side.model)
        except NotForTranslationError as error:
            advice = "'textassay translate --prefix-mode' shows what it makes of forced beginnings"
            raise NotForTranslationError(f"{error}; {advice}") from None
    if truth is not None:
        tokens = [set(side.form.vocabulary.tokens) for side in (opened, truth)]
        if tokens[0] != tokens[1]:
            raise OptionError(
                f"{_name(opened)} and its oracle {_name(truth)} have different vocabularies, of {len(tokens[0])} and "
                f"{len(tokens[1])} tokens, {len(tokens[0] & tokens[1])} in both: train one like (--like) the other, on "
                "text that it drew"
            )
    file = as_texts(real, "the text")
    corpus = opened.corpus(file)
    tokens_in(opened.form.vocabulary, corpus, generator=opened.model.name)  # raises where a text holds <eos>
    if corpus.unk_rate == 1:
        raise InputError(f"{_name(opened)} knows no token of {file.name}: give text in its language, in its tokens")
    _check_unseen(opened, corpus, file.name)
    if blocks:
        sentence_length = LONGEST if sentence_length is None else sentence_length
        corpus = cut_blocks(corpus, sentence_length)
    elif len(corpus) == 1:
        raise TooFewSentencesError(
            f"{file.name} is one sentence, of {len(corpus.tokens)} tokens: at least 2 are needed, for a prefix and "
            "for a reference; is it running text? then cut it into blocks (--blocks)"
        )
    settings = ExposureSettings(
        kinds=tuple(prefixes),
        n=n_samples,
        bleu_runs=bleu_runs,
        oracle_runs=oracle_runs,
        distances=tuple(distances),
        ends=ends,
        with_dd=with_dd,
        n_shown=n_shown,
        level=level,
        seed=seed,
    )
    return measure_exposure(
        opened.model,
        corpus,
        choose_lengths(corpus, lengths, sentence_length, ends=ends),
        settings,
        oracle=None if truth is None else truth.model,
        keep=None if folder is None else _keep_cells(Path(folder), opened, truth, corpus),
        progress=progress,
    )


def _check_unseen(opened: TextGenerator, corpus: Corpus, name: str) -> None:
    """Raise where the text is, or begins with, what the model was trained on, as far as its folder tells."""
    record = opened.document.get("training", {})
    seen = record.get("train") or {}
    n_seen = seen.get("sentences", 0)
    reason = (
        f"what {_name(opened)} was trained on: give text that it never saw, since what it learnt by heart reads well"
    )
    if corpus.fingerprint == seen.get("fingerprint"):
        raise InputError(f"{name} is {reason}")
    if 0 < n_seen < len(corpus) and corpus.take(np.arange(n_seen)).fingerprint == seen.get("fingerprint"):
        raise InputError(f"the first {n_seen} of {len(corpus)} sentences of {name} are {reason}")
    if corpus.fingerprint == (record.get("valid") or {}).get("fingerprint"):
        warnings.warn(
            f"{name} decided when the training of {_name(opened)} stopped: other text is better", stacklevel=3
        )


def _keep_cells(folder: Path, opened: TextGenerator, oracle: TextGenerator | None, corpus: Corpus) -> Keep:
    """Return what keeps cells of exposure bias in a folder, by the content they were computed from."""
    store = EstimateStore(folder)
    identities = [_identity(side) for side in (opened, oracle) if side is not None]

    def keep(settings: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        # EB-bleu knows no oracle, EB-C no text: what they do not depend on is left out of their keys
        known = identities[:1] if settings["measure"] == "EB-bleu" else identities
        text = corpus.fingerprint if settings["measure"] != "EB-C" else ""
        key = estimate_key(version("textassay"), *known, text, _precision(opened), json.dumps(settings, sort_keys=True))
        document = store.load_document(key)
        if document is None:
            document = compute()
            store.save_document(key, document)
        return document

    return keep


def _identity(opened: TextGenerator) -> str:
    """Return what tells a model from every other: what is in its folder, or, without one, what names it."""
    if not opened.document:
        return json.dumps([_name(opened), opened.model.name])
    return json.dumps(
        {name: opened.document[name] for name in ("kind", "settings", "checksum", "vocabulary")}, sort_keys=True
    )


def translation_exposure_bias(
    model: Model,
    oracle: Model,
    sources: Texts,
    translations: Texts,
    lengths: Sequence[int],
    *,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    beam: int = 10,
    level: float = 0.95,
) -> dict[str, TranslationCurve]:
    """Return how much worse a translation model goes on from its own words than from the reference, by each distance.

    Parameters
    ----------
    model, oracle
        Fitted `textassay_lab.generators.Translation`, or folders of such; the oracle stands for the data, with the same
        tokens (``like=model``).
    sources, translations
        Texts and their translations that neither saw in training.
    lengths
        Tokens to read before the next word is looked at, each at least 0.
    distances
        Of the probabilities of the next word.
    beam
        Width of the search for the model's own translations.
    level
        Of the intervals.
    """
    opened, truth = _opened(model), _opened(oracle)
    pairs = ParallelText(opened.corpus(sources), opened.corpus(translations))
    return translation_eb_c(opened.model, truth.model, pairs, lengths, distances=distances, width=beam, level=level)


def approximate(
    generator: Model | Any,
    text: Texts,
    *,
    mode: str | None = None,
    n_samples: int = N_SAMPLES,
    window: int | None = None,
    context: int = 0,
    floor: float = FLOOR_PROBABILITY,
    rule: bool = False,
    folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
    seed: int = 0,
) -> Approximation:
    """Return what a text costs under a generator without a likelihood, by its average output after the real words.

    Parameters
    ----------
    generator
        A fitted generator of `textassay_lab.generators`, or the folder of one; or an object of your own that has
        `vocabulary` and ``step(prefixes, seed=)``.
    text
        Real text, as `textassay.compare` takes it; with `window`, one running text.
    mode
        ``multinomial``, ``onehot``, ``soft`` or ``exact``; by default what the generator can do.
    n_samples
        Draws at each place, at least 20.
    window, context
        Tokens of a window of running text, and how many before it are read; whole texts without.
    floor
        What a token that was never drawn has instead of probability 0, above 0 and at most 1/`n_samples`.
    rule
        Whether to follow the stopping rule, with draws of its own.
    folder
        Where parts are kept where many draws take long, so that the same call goes on; nowhere without one.
    level, progress, seed
        As in `textassay.compare`.
    """
    if isinstance(generator, TextGenerator | str | os.PathLike):
        opened = _opened(generator)
    elif isinstance(text, Corpus):
        opened = TextGenerator._of(generator, TextForm(resolve_tokenizer(text.tokenizer), text.vocabulary))
    else:
        raise OptionError("a generator of your own needs its text as a Corpus over its vocabulary")
    corpus = text if isinstance(text, Corpus) and opened.form.vocabulary is text.vocabulary else opened.corpus(text)
    if window is not None and len(corpus) > 1:
        corpus = opened.corpus([" ".join(corpus)])
    keep = None
    if folder is not None and choose_mode(opened.model, mode) in ("onehot", "soft"):
        settings = (n_samples, window, context, floor, seed, _precision(opened))
        checksum = opened.document.get("checksum")
        decides = (version("textassay"), opened.model.name, checksum, opened.form.hash, corpus.fingerprint, *settings)
        keep = _Parts(EstimateStore(Path(folder)), ("approximation", *decides))
    return approximate_corpus(
        opened.model,
        corpus,
        keep=keep,
        mode=mode,
        n_samples=n_samples,
        window=window,
        context=context,
        floor=floor,
        rule=rule,
        level=level,
        progress=progress,
        seed=seed,
    )


@dataclass(frozen=True)
class _Parts:
    """Finished parts of an approximation in a folder, named by all that decides them."""

    store: EstimateStore
    decides: tuple[Any, ...]

    def load(self, part: str) -> Mapping[str, npt.NDArray[np.float64]] | None:
        """Return what was kept of `part`, or None."""
        rows: dict[str, Any] | None = self.store.load_document(estimate_key(*self.decides, part))
        return None if rows is None else {name: np.asarray(row, dtype=np.float64) for name, row in rows.items()}

    def save(self, part: str, arrays: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Keep arrays of `part`."""
        document = {name: array.tolist() for name, array in arrays.items()}
        self.store.save_document(estimate_key(*self.decides, part), document)


def discrepancy(
    p: Model,
    q: Model,
    *,
    n: int = 10_000,
    temperatures: tuple[float, float] = (1.0, 1.0),
    level: float = 0.95,
    seed: int = 0,
) -> ModelDiscrepancy:
    """Return how far apart two language models are, by their own probabilities.

    Parameters
    ----------
    p, q
        Fitted generators of `textassay_lab.generators` with a likelihood, or folders of such, with one tokeniser.
    n
        Texts drawn from each, at least 2.
    temperatures
        Of each.
    level, seed
        As in `textassay.compare`.
    """
    first, second = _with_one_tokenizer(p, q)
    vocabularies = first.form.vocabulary, second.form.vocabulary
    return model_discrepancy(
        first.model, second.model, vocabularies, n=n, temperatures=temperatures, level=level, seed=seed
    )


def exact_discrepancy(p: Model | Probabilities, q: Model | Probabilities, *, max_length: int | None = None) -> float:
    """Return the discrepancy of two distributions whose texts can all be listed.

    It is half the sum of the absolute differences of probabilities, the total variation distance, which `dd` and
    `discrepancy` estimate: in [0, 1], 0 for equal distributions, 1 for those without a common text.

    Parameters
    ----------
    p, q
        Two mappings from text to probability, where a text that is missing has probability 0; two arrays with the
        probabilities of the same texts, shapes (N,); or two fitted generators of `textassay_lab.generators` with a
        likelihood, or folders of such, with one tokeniser.
    max_length
        Of generators: tokens at which texts are cut, by default where they cut their own. There must not be more than
        1,000,000 texts of up to so many tokens.

    Raises
    ------
    OptionError
        If probabilities do not sum to 1, p and q are of different kinds, or there are too many texts.
    InputError
        If what is given are no probabilities, or a generator has none.

    Notes
    -----
    Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", equation (1).
    """
    if isinstance(p, TextGenerator | str | os.PathLike) and isinstance(q, TextGenerator | str | os.PathLike):
        check_range("max_length", max_length, 1)
        first, second = _with_one_tokenizer(p, q)
        vocabularies = first.form.vocabulary, second.form.vocabulary
        tokenizer = first.form.tokenizer.name
        return exact_model_discrepancy(
            first.model, second.model, vocabularies, tokenizer=tokenizer, max_length=max_length
        )
    if max_length is not None:
        raise OptionError(f"max_length is for generators, got probabilities and max_length {max_length}")
    of_p, of_q = _probabilities("p", p), _probabilities("q", q)
    if hasattr(p, "items") != hasattr(q, "items") or not (hasattr(p, "items") or len(of_p) == len(of_q)):
        raise OptionError("p and q must be two mappings, two arrays of one length or two generators")
    return discrepancy_of_probabilities(of_p, of_q)


def parameter_counts(
    model: Model | TextClassifier, n_types: int | None = None, *, longest: int | None = None
) -> ParameterCounts:
    """Return how many numbers a network learns: `trainable`, and `with_moments`, which is three times as many.

    Adam keeps two moments of each weight; papers sometimes print all three together as the number of parameters. Fixed
    word vectors are not learnt and do not count; nor does the discriminator that a generator is trained against.

    Parameters
    ----------
    model
        A generator of `textassay_lab.generators`, fitted or not, or a folder of one; or a fitted network of
        `textassay.discriminators`.
    n_types
        Of a generator that is not fitted: types of its vocabulary, the 4 special ones among them, at least 4. A fitted
        one knows its own.
    longest
        Tokens of the longest text, at least 1, where a network that is not fitted has weights for each place, as GPT-2;
        51 by default.

    Raises
    ------
    OptionError
        If `n_types` is missing, or given for a fitted model, or out of range.
    InputError
        If the model is no network, or cannot say before it is fitted.
    """
    if isinstance(model, TextClassifier):
        counted = getattr(model, "chosen_", {}).get("n_parameters")
        if counted is None:
            raise InputError(f"{type(model).__name__} is not fitted, or is no network")
        return ParameterCounts(int(counted))
    opened = _opened(model)
    check_range("n_types", n_types, 4)
    check_range("longest", longest, 1)
    network = opened.unfitted_model(51 if longest is None else longest) if opened._fitted is None else opened.model
    if isinstance(network, NgramModel) or not (isinstance(network, Shaped) or hasattr(network, "n_parameters")):
        raise InputError(f"{type(opened).__name__} is no network: it has no weights")
    if opened._fitted is not None:
        if (n_types, longest) != (None, None):
            raise OptionError(f"{_name(opened)} is fitted and knows its vocabulary: leave n_types and longest out")
        weights = getattr(network, "weights", {})
        return ParameterCounts(network.n_parameters - (weights[FIXED].numel() if FIXED in weights else 0))
    if n_types is None:
        raise OptionError(f"{type(opened).__name__} is not fitted: give n_types, the size of its vocabulary")
    return counts_by_shapes(network, n_types, longest=51 if longest is None else longest)


def _probabilities(name: str, given: Any) -> dict[Any, float]:
    """Return text to probability, of a mapping or a pandas series; of an array, place to probability."""
    named = hasattr(given, "items")
    keys, values = zip(*given.items(), strict=True) if named and len(given) else ((), ()) if named else (None, given)
    try:
        probs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        probs = np.empty((0, 0))
    if probs.ndim != 1:
        what = type(given).__name__
        raise InputError(f"{name} must be probabilities by text, an array of them or a generator, got {what}")
    return dict(zip(range(len(probs)) if keys is None else keys, probs.tolist(), strict=True))


def _with_one_tokenizer(p: Model, q: Model) -> tuple[TextGenerator, TextGenerator]:
    """Return two models, opened; raise unless both see text in the same tokens."""
    first, second = _opened(p), _opened(q)
    names = [side.form.tokenizer.name for side in (first, second)]
    if names[0] != names[1]:
        raise OptionError(
            f"the two models see text differently: {_name(first)} in tokens of '{names[0]}', {_name(second)} of "
            f"'{names[1]}'; train both with one tokenizer (and lowercase)"
        )
    for side in (first, second):
        if not hasattr(side.model, "log_prob"):
            raise InputError(f"{side.model.name} has no likelihood: measure the dd of its texts instead")
    return first, second


def _opened(model: Model) -> TextGenerator:
    return model if isinstance(model, TextGenerator) else from_pretrained(model)


def _name(opened: TextGenerator) -> str:
    return opened.source or str(opened.model.name)


def _precision(opened: TextGenerator) -> str:
    return str(getattr(opened.model, "precision", "float32"))
