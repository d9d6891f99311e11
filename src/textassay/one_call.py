"""What takes several steps in the rooms, in one call each: from texts, files, models or folders of models to a result.

Inputs are read and checked here; what the rooms get is clean.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from textassay.approximation import FLOOR as FLOOR_PROBABILITY
from textassay.approximation import N_SAMPLES, Approximation
from textassay.approximation import approximate as approximate_corpus
from textassay.comparison import FLOOR, TRAIN, Comparison, Progress, compare
from textassay.corpus import (
    Corpus,
    ParallelText,
    TextForm,
    TextOptions,
    Texts,
    as_texts,
    docstring_sentences,
    prepare_corpora,
    read_if_path,
    resolve_tokenizer,
)
from textassay.discriminator import Balance, Discriminator, MetaEvaluation, as_discriminator
from textassay.discriminator import meta_evaluate as cross_fitted_meta_evaluation
from textassay.errors import InputError, OptionError
from textassay.exposure import (
    Distance,
    Exposure,
    ExposureSettings,
    TranslationCurve,
    choose_lengths,
    measure_exposure,
    translation_eb_c,
)
from textassay.generator import Ends
from textassay.generators import TextGenerator, from_pretrained
from textassay.human import Judgements, read_judgements
from textassay.meta_evaluation import (
    FIRST_TEST_SEED,
    N_FOR_TRUTH,
    WORLD_NAMES,
    Bench,
    Evaluation,
    Evaluator,
    Judging,
    ModelDiscrepancy,
    Stress,
    evaluations_of,
    judge_evaluators,
    model_discrepancy,
    parse_estimator,
    place_judgements,
    read_gold,
    run_bench,
    run_stress,
)
from textassay.metric import CATALOG, Effort, default_metrics

Model = TextGenerator | str | os.PathLike[str]
# What no comparison computes unless it is named, but a meta-evaluation does.
_OVERLAP = ("bleu-nearest", "rouge", "meteor", "cider", "cider-d")


def stress(
    real: Texts,
    *,
    train: Texts = None,
    other: Texts = None,
    metrics: Sequence[str] | None = None,
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
    corpora = prepare_corpora({name: source for name, source in sources.items() if source is not None}, **text)
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
    worlds: Sequence[str] = WORLD_NAMES,
    n_sentences: Sequence[int] = (20_000,),
    n_truth: int = N_FOR_TRUTH,
    seeds: Sequence[int] = (FIRST_TEST_SEED,),
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
        ``plain``, efforts of dd, and names of metrics.
    worlds
        Pairs of generators whose discrepancy is known.
    n_sentences
        Sentences a side, one or more sizes.
    n_truth
        Sentences a side for the truth, at least 2.
    seeds
        One draw each.
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
    corpora = {name: prepare_corpora({name: source}, **text)[name] for name, source in sources.items()}
    return run_bench(
        corpora,
        [parse_estimator(name, level=level) for name in estimators],
        world_names=worlds,
        sizes=sorted(set(n_sentences)),
        n_truth=n_truth,
        seeds=seeds,
        folder=None if folder is None else Path(folder),
        progress=progress,
    )


def judge(
    generated: Mapping[str, Texts] | Comparison,
    real: Texts = None,
    *,
    ratings: str | os.PathLike[str] | Judgements | None = None,
    gold: Mapping[str, Mapping[str, float]] | Sequence[str] = (),
    train: Texts = None,
    metrics: Sequence[str] | None = None,
    discriminators: Sequence[Any] = (),
    votes: int | None = None,
    effort: Effort = "default",
    encoder: str | None = None,
    n_resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Judging:
    """Return which metrics rank these generators as people do, or as a known order has them.

    Parameters
    ----------
    generated
        Generator name to its texts, at least 2, as `textassay.compare` takes them; or a finished comparison.
    real
        Real text, where `generated` is texts.
    ratings
        People's judgements: a file that ``textassay human`` or `ratings` tables have, or what it was read into.
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
    effort, encoder, level, seed, out, progress
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
    if isinstance(generated, Comparison) != (real is None):
        raise OptionError("give generated and real texts, or a finished comparison alone")
    names = list(generated.generators if isinstance(generated, Comparison) else generated)
    if len(names) < 2:
        raise InputError(f"at least 2 generators are needed to rank them, got {', '.join(names) or 'none'}")
    notes: list[str] = []
    texts: dict[str, Any] = {}
    if not isinstance(generated, Comparison):
        texts = {name: as_texts(read_if_path(source), name) for name, source in {FLOOR: real, **generated}.items()}
    golds = [found.select(names) for found in _golds(ratings, gold, texts, names, votes, notes)]
    if isinstance(generated, Comparison):
        comparison = generated
        evaluations, left_out = evaluations_of(comparison, generators=names)
    else:
        chosen = [*default_metrics([] if train is None else ["train"]), *(name for name in _OVERLAP if name in CATALOG)]
        comparison = compare(
            {name: texts[name] for name in names},
            texts[FLOOR],
            train=train,
            metrics=chosen if metrics is None else metrics,
            effort=effort,
            encoder=encoder,
            explain=False,
            level=level,
            seed=seed,
            out=None if out is None else Path(out),
            progress=progress,
            **text,
        )
        evaluations, left_out = evaluations_of(comparison, generators=names)
        corpora = prepare_corpora(texts, **text) if discriminators else {}
        for name in discriminators:
            made = cross_fitted_meta_evaluation(
                as_discriminator(name), corpora[FLOOR], {each: corpora[each] for each in names}, seed=seed
            )
            evaluations.append(Evaluation.of_estimates(made.to_estimates()))
    return judge_evaluators(
        golds,
        evaluations,
        left_out=left_out,
        notes=[*notes, *comparison.warnings],
        findings=comparison.findings,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        progress=progress,
    )


def _golds(
    ratings: str | os.PathLike[str] | Judgements | None,
    gold: Mapping[str, Mapping[str, float]] | Sequence[str],
    texts: Mapping[str, Any],
    names: Sequence[str],
    votes: int | None,
    notes: list[str],
) -> list[Evaluation]:
    """Return people's evaluations and the known orders."""
    golds: list[Evaluation] = []
    if ratings is not None:
        judgements = ratings if isinstance(ratings, Judgements) else read_judgements(Path(ratings))
        notes += judgements.notes
        if texts:
            judgements = place_judgements(judgements, {name: texts[name].texts for name in names})
        golds.append(Evaluation.of_judgements(judgements))
        if judgements.scale == "real-or-fake":
            golds.append(Evaluation.of_judgements(judgements, by="majority", votes=votes))
    if isinstance(gold, Mapping):
        golds += [
            Evaluation(name, "higher", tuple(scores), np.array([float(score) for score in scores.values()]))
            for name, scores in gold.items()
        ]
    else:
        golds += [read_gold(name) for name in gold]
    for found in golds:
        missing = [name for name in names if name not in found.generators]
        if missing:
            raise InputError(f"{found.name} says nothing of {', '.join(missing)}: leave it out, or add it there")
    return golds


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
    corpora = prepare_corpora({FLOOR: real, **generated}, **text)
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
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exposure:
    """Return how much worse a language model goes on from its own words than from real ones.

    Parameters
    ----------
    model
        A fitted generator of `textassay.generators` with a likelihood, or the folder of one.
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
    level, seed, progress
        As in `textassay.compare`.

    Raises
    ------
    InputError, OptionError, TooFewSentencesError
        If the model knows no token of the text, the two models differ in tokens, or the texts are too few or short.
    """
    opened, truth = _opened(model), None if oracle is None else _opened(oracle)
    if truth is not None and set(truth.form.vocabulary.tokens) != set(opened.form.vocabulary.tokens):
        raise OptionError("the model and its oracle have different vocabularies: fit one with like=the other")
    corpus = opened.corpus(real)
    if corpus.unk_rate == 1:
        raise InputError("the model knows no token of the text: give text in its language, in its tokens")
    settings = ExposureSettings(
        kinds=tuple(prefixes),
        n=n_samples,
        bleu_runs=bleu_runs,
        oracle_runs=oracle_runs,
        distances=tuple(distances),
        ends=ends,
        with_dd=with_dd,
        level=level,
        seed=seed,
    )
    chosen = choose_lengths(corpus, lengths, sentence_length, ends=ends)
    oracle_model = None if truth is None else truth.model
    return measure_exposure(opened.model, corpus, chosen, settings, oracle=oracle_model, progress=progress)


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
        Fitted `textassay.generators.Translation`, or folders of such; the oracle stands for the data, with the same
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
    level: float = 0.95,
    progress: Progress | None = None,
    seed: int = 0,
) -> Approximation:
    """Return what a text costs under a generator without a likelihood, by its average output after the real words.

    Parameters
    ----------
    generator
        A fitted generator of `textassay.generators`, or the folder of one; or an object of your own that has
        `vocabulary` and ``step(gold_prefixes, seed=)``.
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
    return approximate_corpus(
        opened.model,
        corpus,
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
        Fitted generators of `textassay.generators` with a likelihood, or folders of such, with one tokeniser.
    n
        Texts drawn from each, at least 2.
    temperatures
        Of each.
    level, seed
        As in `textassay.compare`.
    """
    first, second = _opened(p), _opened(q)
    names = [side.form.tokenizer.name for side in (first, second)]
    if names[0] != names[1]:
        raise OptionError(f"the two models see text differently, in tokens of '{names[0]}' and of '{names[1]}'")
    vocabularies = first.form.vocabulary, second.form.vocabulary
    return model_discrepancy(
        first.model, second.model, vocabularies, n=n, temperatures=temperatures, level=level, seed=seed
    )


def _opened(model: Model) -> TextGenerator:
    return model if isinstance(model, TextGenerator) else from_pretrained(model)
