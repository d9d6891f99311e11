"""What gives a generator away: words, lengths, positions, texts, and whether more text would show more.

All judgements come from dd at the chosen effort: its classifiers are cross-fitted, so every text is judged by one that
did not see it. They show what these classifiers detect, not every difference. Where in a text the decision falls comes
from logistic regression over n-grams alone, on the same folds: its evidence adds up over tokens.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack

import numpy as np
import numpy.typing as npt

from textassay.comparison.columns import columns_of
from textassay.comparison.comparison import FIT_REAL, FLOOR, TRAIN
from textassay.comparison.discriminative_ngrams import find_discriminative_ngrams
from textassay.comparison.drawn_texts import read_and_draw
from textassay.comparison.explanation import Example, Explanation, LengthBin, PositionBin
from textassay.comparison.learning_curve import HALVINGS, Judgement, half_rows, judge, learning_curve
from textassay.comparison.measure import EstimateStore, Progress, at_once, cell_key, estimate_key
from textassay.comparison.prefix_curve import prefix_curve
from textassay.comparison.sources import Source
from textassay.comparison.structural_differences import structural_differences
from textassay.corpus.corpus import Corpus, TextOptions, Texts
from textassay.corpus.named_texts import GENERATED, one_text
from textassay.corpus.structure import AUTO_UNIT, TextUnit, unit_of
from textassay.discriminator.cross_fitting import CrossFit, cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import EmptyCorpusError, TooFewSentencesError, check_range
from textassay.estimate import Estimate
from textassay.execution.tasks import stream_tasks
from textassay.execution.threads import recorded_warnings
from textassay.inspection.dependence import Examined, independent_units
from textassay.metric.base import Effort, Metric, check_level
from textassay.metric.blindness import alike_share, guessing_variance
from textassay.metric.discrepancy_interval import at_least_guessing, variance_factor
from textassay.resampling.proportions import newcombe_interval
from textassay.seeding import stream
from textassay.settings import Explaining

FloatArray = npt.NDArray[np.float64]

TOP = 20  # n-grams for each side
MOST_LINEAR = 100_000  # texts a side for the linear classifiers, whose time grows faster than the text
_N_LENGTHS = 8
_N_POSITIONS = 10
_N_EXAMPLES = 5
_ENOUGH = 30  # tested texts a side for the dd of one range of lengths


def explain(
    generated: Texts | Source | Mapping[str, Texts | Source],
    real: Texts,
    *,
    name: str = GENERATED,
    top: int = TOP,
    effort: Effort = "default",
    folds: int = 5,
    level: float = 0.95,
    seed: int = 0,
    halvings: int | None = None,
    full: Judgement | None = None,
    fit_real: Texts = None,
    trained_on: Texts = None,
    prior: str | None = None,
    draw: int | None = None,
    own_log_probs: bool = True,
    unit: str | None = None,
    independent: bool = False,
    **text: Unpack[TextOptions],
) -> Explanation:
    """Explain what gives the generator of `generated` away.

    Parameters
    ----------
    generated, real
        At least 10 texts a fold (50 for one split): lists of str, columns, paths or corpora, as in `compare`; in place
        of generated text, a generator that is drawn from. Either may stand under its name, as in `compare`.
    name
        Of the generator, where it does not.
    top
        Largest number of n-grams to list for each side.
    effort
        Effort of dd, for its value and learning curve.
    folds
        Cross-fitting folds; 1 judges a tenth of the text once.
    level
        Confidence level; 1 - `level` is the false discovery rate among n-grams.
    seed
        Draws the partitions and the subsets of the learning curve; `value` is that of ``dd`` with the same settings.
    halvings
        How often the learning curve halves the sample, at least 1; by default 4 at effort ``default``, else 1, and 1
        for documents.
    full
        The result of `judge` for the same texts and settings, to save computing it again.
    fit_real, trained_on
        More real text, and the generator's training text, for dd to learn from, as in ``dd``.
    prior
        What dd knows of a language, as in ``dd``.
    draw, own_log_probs
        How many texts to draw from a generator, and whether its log-probabilities are used, as in `compare`.
    unit
        ``sentence``, ``document``, or ``auto`` (None is the same), as in `compare`: of documents, the structure that
        differs is named, too.
    independent
        Whether to take texts for independent draws without a look at them, as in `compare`.
    text
        How both sides are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Raises
    ------
    InputError
        If texts depend on each other in ways that nearest neighbours do not hold.
    EmptyCorpusError, TooFewSentencesError
        If a side has too few texts, or groups.
    OptionError
        If a setting is out of range.
    """
    name, generated = one_text(generated, name)
    check_range("top", top, 0)
    if halvings is not None:
        check_range("halvings", halvings, 1)
    settings = Explaining(
        effort=effort,
        folds=folds,
        level=level,
        seed=seed,
        prior=prior,
        draw=draw,
        no_log_probs=not own_log_probs,
        unit=unit or AUTO_UNIT,
        independent=independent,
        **text,
    )
    check_level(level)
    more = {key: texts for key, texts in ((FIT_REAL, fit_real), (TRAIN, trained_on)) if texts is not None}
    corpora, drawn = read_and_draw({name: generated}, real, settings, more=more)
    of_generator, of_people = corpora[name], corpora[FLOOR]
    if full is None:
        of_generator, of_people = independent_units(of_generator, of_people, independent=independent)
    metric = settings.of_dd(
        fit_real=corpora.get(FIT_REAL), trained_on=corpora.get(TRAIN), unit=unit_of(of_people, settings.unit)
    )
    if full is None:
        full = judge(of_people, of_generator, metric, seed=seed)
    found = _explanation(of_people, of_generator, metric, full, top=top, halvings=halvings, seed=seed)
    notes = [f"{draw.n:,} texts were drawn from {name}." for draw in drawn.draws]
    return replace(found, generator=name, notes=(*found.notes, *notes))


def _explanation(
    real: Corpus,
    generated: Corpus,
    metric: Metric,
    full: Judgement,
    half: Judgement | None = None,
    *,
    top: int,
    halvings: int | None,
    seed: int,
) -> Explanation:
    """Explain what dd with its settings found, of a generator without a name; of the half, see `learning_curve`."""
    level, folds, seen_as = metric.level, metric.settings["folds"], metric.settings["unit"]
    if halvings is None:
        halvings = HALVINGS[metric.settings["effort"]] if seen_as == "sentence" else 1
    ngrams = find_discriminative_ngrams(real, generated, level=level, top=top)
    curve = learning_curve(real, generated, metric, seed=seed, halvings=halvings, full=full, half=half)
    rise = curve.rise
    of_real, of_generated = stream(seed, "explanation", "real"), stream(seed, "explanation", "generated")
    parts = real.drawn(MOST_LINEAR, of_real), generated.drawn(MOST_LINEAR, of_generated)
    prefixes = prefix_curve(*parts, folds=folds, level=level, seed=seed, unit=seen_as)
    real_scores, generated_scores = full.fit.real_scores, full.fit.generated_scores
    mistaken = np.where(full.fit.correct()[0] == 0, real_scores, np.nan)
    return Explanation(
        generator="",
        value=full.estimate.value,
        more_generated=ngrams.more_generated,
        more_real=ngrams.more_real,
        n_tested=ngrams.n_tested,
        level=level,
        lengths=_lengths(real, generated, full, level),
        positions=_positions(*_linear((real, generated), parts, full, folds, seed, seen_as)),
        most_generated=_examples(generated, generated_scores, lowest=True),
        most_lifelike=_examples(generated, generated_scores, lowest=False),
        mistaken=_examples(real, mistaken, lowest=True),
        curve=curve.points,
        rising=None if rise is None else rise.rising,
        rise=None if rise is None else rise.value,
        rise_low=None if rise is None else rise.low,
        rise_high=None if rise is None else rise.high,
        notes=_notes(real, generated),
        prefixes=prefixes.points,
        half_length=prefixes.half_length,
        half_low=prefixes.half_low,
        half_high=prefixes.half_high,
        boilerplate=ngrams.boilerplate,
        structure=structural_differences(real, generated, level=level) if seen_as == "document" else (),
    )


def explain_generators(
    texts: Mapping[str, Examined],
    metric: Metric,
    *,
    top: int = TOP,
    seed: int,
    halvings: int | None = None,
    store: EstimateStore,
    version: str,
    progress: Progress | None = None,
) -> tuple[tuple[Explanation, ...], tuple[str, ...]]:
    """Return the explanations of all generators with enough text, and a message for each of the others.

    `texts`: generator to its texts beside real text; `metric`: dd with its settings; `store`: keeps explanations, and
    the estimates of ``dd`` computed for them, by content.
    """
    explanations: dict[str, Explanation] = {}
    reasons: dict[str, str] = {}
    keys: dict[str, str] = {}

    def tell(sides: _Sides) -> None:
        if progress is not None:
            progress(f"explanation of {sides.name}", len(explanations) + len(reasons), len(texts))

    def missing() -> Iterator[_Sides]:
        for name, of_name in texts.items():
            with_columns = partial(columns_of, name=name)
            sides = _Sides(name, of_name.changed(with_columns, with_columns))
            if not metric.is_valid(of_name.dependence):
                reasons[name] = f"{name}: no explanation of what gives it away, since dd is not valid"
                continue
            both = sides.texts.real, sides.texts.generated
            keys[name] = _key(metric, *both, top, metric.settings["folds"], metric.level, seed, halvings, version)
            kept = _kept(store, keys[name])
            if kept is None:
                yield sides
            else:
                tell(sides)
                explanations[name] = replace(kept, generator=name)

    threads = at_once(side for of_name in texts.values() for side in (of_name.generated, of_name.real))
    work = partial(_explained, metric=metric, top=top, halvings=halvings, seed=seed, version=version)
    for sides, found in stream_tasks(work, missing(), tell=tell, threads=threads):
        if isinstance(found, str):
            reasons[sides.name] = f"{sides.name}: no explanation of what gives it away: {found}"
        elif isinstance(found, Explanation):
            store.save_document(keys[sides.name], found.to_dict())
            explanations[sides.name] = replace(found, generator=sides.name)
        else:  # dd, for the comparison
            key, estimate, told = found
            if store.load(key) is None:
                store.save(key, estimate, told)
    if progress is not None and texts:
        progress("done", len(texts), len(texts))
    return (
        tuple(explanations[name] for name in texts if name in explanations),
        tuple(reasons[name] for name in texts if name in reasons),
    )


@dataclass(frozen=True)
class _Sides:
    """The texts of a generator, and real text."""

    name: str
    texts: Examined


def _explained(
    sides: _Sides, *, metric: Metric, top: int, halvings: int | None, seed: int, version: str
) -> Iterator[tuple[str, Estimate, tuple[str, ...]] | Explanation | str]:
    """Yield dd of a generator with its key and its warnings, at the floor's size, too; then its explanation.

    Or yield why there is none.
    """
    found: list[Judgement] = []

    def judged(texts: Examined) -> tuple[str, Estimate, tuple[str, ...]]:
        with recorded_warnings() as messages:
            found.append(judge(texts.real, texts.generated, metric, seed=seed))
            estimate = metric.annotated(found[-1].estimate, texts, seed=seed)
        key = cell_key(metric, texts, seed=seed, version=version)
        return key, estimate, tuple(dict.fromkeys(map(str, messages)))

    generated, real = sides.texts.generated, sides.texts.real
    try:
        yield judged(sides.texts)
        real_rows, generated_rows = half_rows(real, generated, seed)
        is_at_floor = len(generated_rows) == len(real) - len(real_rows)
        if is_at_floor and real.groups is None and generated.groups is None:
            with suppress(TooFewSentencesError):
                yield judged(sides.texts.taken(generated_rows, real_rows))
        full, half = found[0], found[1] if len(found) > 1 else None
        yield _explanation(real, generated, metric, full, half, top=top, halvings=halvings, seed=seed)
    except (EmptyCorpusError, TooFewSentencesError) as error:
        yield str(error)


def _key(metric: Metric, real: Corpus, generated: Corpus, *others: object) -> str:
    """Return the key of an explanation in the store: a hash of everything that can change it."""
    content = [part for corpus in (generated, real) for part in (corpus.fingerprint, corpus.columns_fingerprint)]
    return estimate_key("explanation", metric.key, *others, *content)


def _kept(store: EstimateStore, key: str) -> Explanation | None:
    document = store.load_document(key)
    try:
        return None if document is None else Explanation.from_dict(document)
    except (TypeError, AttributeError, KeyError, ValueError):
        return None


def _notes(real: Corpus, generated: Corpus) -> tuple[str, ...]:
    notes = []
    if max(len(real), len(generated)) > MOST_LINEAR:
        notes.append(
            f"The position of the decision, and the number of tokens that it takes, were measured on {MOST_LINEAR:,} "
            "drawn texts of each side that has more."
        )
    if real.groups is None and generated.groups is None:
        return tuple(notes)
    notes.append(
        "The texts come in groups, which dd and its learning curve take into account. The p-values of n-grams and "
        "the intervals by length treat texts as independent and are too optimistic."
    )
    return tuple(notes)


def _lengths(real: Corpus, generated: Corpus, judged: Judgement, level: float) -> tuple[LengthBin, ...]:
    """Return dd among the texts of each range of lengths; the ranges hold about equally many texts."""
    lengths = [real.lengths, generated.lengths]
    together = np.concatenate(lengths)
    shares = np.arange(1, _N_LENGTHS) / _N_LENGTHS
    highest = int(together.max())
    ends = np.unique([*np.quantile(together, shares, method="inverted_cdf").tolist(), highest]).astype(np.int64)
    correct = judged.fit.correct()
    factor = variance_factor(len(judged.fit.folds))
    bins = []
    shortest = int(together.min())
    for end in ends.tolist():
        rows = [(side >= shortest) & (side <= end) for side in lengths]
        answers = [side[row] for side, row in zip(correct, rows, strict=True)]
        sizes = [np.count_nonzero(~np.isnan(side)) for side in answers]
        value = low = high = None
        if min(sizes) >= _ENOUGH:
            shares_right = [float(np.nanmean(side)) for side in answers]
            value = shares_right[0] + shares_right[1] - 1
            counted = [size / factor for size in sizes]
            interval = newcombe_interval(
                shares_right[0] * counted[0], counted[0], (1 - shares_right[1]) * counted[1], counted[1], level=level
            )
            alike = 0.0
            if judged.estimate.details["alike"] > 0:
                scores = [
                    np.where(row, side, np.nan)
                    for row, side in zip(rows, (judged.fit.real_scores, judged.fit.generated_scores), strict=True)
                ]
                folds = (judged.fit.real_folds, judged.fit.generated_folds)
                alike = alike_share((real.texts, generated.texts), (scores[0], scores[1]), folds)
            interval = at_least_guessing(interval, value, guessing_variance(alike, *counted))
            low, high = interval.low, interval.high
        counts = [int(np.count_nonzero(row)) for row in rows]
        bins.append(LengthBin(shortest, end, counts[0], counts[1], value, low, high))
        shortest = end + 1
    return tuple(bins)


def _linear(
    sides: tuple[Corpus, Corpus],
    parts: tuple[Corpus, Corpus],
    judged: Judgement,
    folds: int,
    seed: int,
    unit: TextUnit,
) -> tuple[Corpus, Corpus, CrossFit]:
    """Return the cross-fit of a linear classifier with its texts: the one in dd, or a new one of `parts`."""
    for fit in (judged.fit, *judged.fit.alone.values()):
        if all(fold.evidence is not None for fold in fit.folds):
            return *sides, fit
    judge = LogisticDiscriminator(max_order=2) if unit == "document" else LogisticDiscriminator()
    return *parts, cross_fit(judge, *parts, folds=folds, seed=seed)


def _positions(real: Corpus, generated: Corpus, linear: CrossFit) -> tuple[PositionBin, ...]:
    """Return the mean evidence of each tenth of a text, whose end counts as its last token."""
    means = []
    for corpus, numbers in ((real, linear.real_folds), (generated, linear.generated_folds)):
        total = np.zeros(_N_POSITIONS)
        for number, fold in enumerate(linear.folds):
            assert fold.evidence is not None
            tested = corpus.take(np.flatnonzero(numbers == number))
            total += _by_position(fold.evidence.token_evidence(tested), tested.lengths)
        means.append(total / np.count_nonzero(numbers >= 0))
    return tuple(
        PositionBin(bin_ / _N_POSITIONS, (bin_ + 1) / _N_POSITIONS, float(means[0][bin_]), float(means[1][bin_]))
        for bin_ in range(_N_POSITIONS)
    )


def _by_position(evidence: FloatArray, lengths: npt.NDArray[np.int64]) -> FloatArray:
    """Return the evidence in each tenth of a text, summed over texts, shape (10,); `lengths` has shape (N,)."""
    running = np.concatenate(([0.0], np.cumsum(evidence)))
    starts = np.concatenate(([0], np.cumsum(lengths + 2)))[:-1] + 1
    units = lengths + 1  # tokens and the end
    edges = []
    for edge in range(_N_POSITIONS + 1):
        whole, part = np.divmod(edge * units, _N_POSITIONS)
        beyond = np.append(evidence, 0.0)[starts + whole] * (part / _N_POSITIONS)
        edges.append(float(np.sum(running[starts + whole] - running[starts] + beyond)))
    return np.diff(edges)


def _examples(corpus: Corpus, scores: FloatArray, *, lowest: bool) -> tuple[Example, ...]:
    """Return the texts with the lowest or highest scores, each text once; NaN is skipped."""
    order = np.argsort(scores if lowest else -scores, kind="stable")
    scores_by_text: dict[str, float] = {}
    for row in order.tolist():
        if len(scores_by_text) == _N_EXAMPLES or np.isnan(scores[row]):
            break
        scores_by_text.setdefault(corpus.texts[row], float(scores[row]))
    return tuple(Example(text, score) for text, score in scores_by_text.items())
