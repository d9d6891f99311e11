"""Stress test: every metric on real text with growing damage; which damage it misses, and which it takes for quality.

Each draw splits the real text at random into the reference, the text to damage, training text and spare text for the
control; the parts are disjoint. Values are stored by the content they were computed from, so an interrupted run
resumes, and further metrics, damages or draws cost only what is new.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy import stats

from textassay.comparison.comparison import FLOOR, TRAIN
from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.display import Displayed
from textassay.embedding.store import feature_store
from textassay.errors import InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.estimate import Better, Estimate
from textassay.execution.progress import shows_progress
from textassay.execution.tasks import map_tasks
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect, inspect_corpus
from textassay.metric.base import Effort, Metric, Shared, check_level
from textassay.metric.catalog import MetricLike, default_metrics, drawn_where_large, parse_metrics
from textassay.seeding import stream
from textassay.settings import Comparing
from textassay_lab.meta_evaluation.damage import DAMAGES, damage, obstacle, prepare_corpora
from textassay_lab.meta_evaluation.damage_curve import DamageCurve, adjust_all, judge_curve, unknown_curve

PARTS = ("reference", "clean", "train", "spare")
_STRESS = "stress 1"  # version of the stored values
Cell = tuple[str, float]  # damage and strength; "" and 0 for undamaged text


@dataclass(frozen=True)
class Evaluator:
    """A function that scores generated text and is not in the catalogue of metrics.

    Attributes
    ----------
    name
        Its name.
    better
        Its direction: "lower", "higher", "closer" or "neither".
    measure
        Maps generated, reference and training text (or None) and a seed to a float, or to an `Estimate`, whose interval
        gives the noise. Called from several threads.
    settings
        Everything else that its values depend on; part of their key in the store.
    """

    name: str
    better: Better
    measure: Callable[[Corpus, Corpus, Corpus | None, int], Estimate | float]
    settings: str = ""


class Value(NamedTuple):
    """One value, its standard error from the metric's own interval, and the reason if there is none."""

    value: float | None
    standard_error: float | None
    reason: str | None = None


@dataclass(frozen=True)
class Draw:
    """The texts of one draw by name (those of `PARTS`, and others shared by all draws), and its seed."""

    texts: Mapping[str, Corpus]
    seed: int

    def damaged(self, name: str, strength: float) -> Corpus:
        """Return the clean text with a damage of this strength; "" is no damage."""
        clean = self.texts["clean"]
        if name == "":
            return clean
        return damage(clean, name, strength, source=self._source(name), seed=self.seed)

    def obstacle(self, name: str, strength: float) -> str | None:
        """Return why the clean text does not allow a damage of this strength, or None."""
        return obstacle(self.texts["clean"], name, strength, source=self._source(name))

    def _source(self, name: str) -> Corpus | None:
        source = DAMAGES[name].source
        return None if source is None else self.texts[source]


def draw_texts(
    real: Corpus, others: Mapping[str, Corpus], parts: Sequence[str], n_sentences: int, number: int, *, seed: int
) -> Draw:
    """Return disjoint random parts of `real`, `n_sentences` each, with the `others`, for draw `number`."""
    own_seed = int(stream(seed, "stress", number).integers(1 << 31))
    order = stream(own_seed, "stress", "parts").permutation(len(real))
    drawn = {name: real.take(np.sort(order[k * n_sentences : (k + 1) * n_sentences])) for k, name in enumerate(parts)}
    return Draw({**others, **drawn}, own_seed)


def measure_draw(
    draw: Draw,
    cells: Sequence[Cell],
    metrics: Sequence[Metric],
    evaluators: Sequence[Evaluator],
    *,
    store: EstimateStore,
    tell: Callable[[Cell], None],
    done: Callable[[], None],
) -> dict[Cell, dict[str, Value]]:
    """Return the values of every metric and evaluator on every damaged text.

    `tell` is called with a cell that is being measured, `done` after each.
    """
    reference, train = draw.texts["reference"], draw.texts.get("train")
    keys = {_metric_key(metric): metric.name for metric in metrics}
    keys |= {_evaluator_key(evaluator, train): evaluator.name for evaluator in evaluators}
    values: dict[Cell, dict[str, Value]] = {}

    def finish(cell: Cell, stored: Mapping[str, Sequence[Any]]) -> None:
        values[cell] = {name: Value(*stored[key]) for key, name in keys.items()}
        done()

    def missing() -> Iterator[_Part]:
        for cell in cells:
            generated = draw.damaged(*cell)
            key = estimate_key(_STRESS, version("textassay"), generated.fingerprint, reference.fingerprint, draw.seed)
            part = _Part(cell, generated, key, store.load_document(key) or {})
            if part.stored.keys() >= keys.keys():
                tell(cell)
                finish(cell, part.stored)
            else:
                yield part

    with feature_store():
        measure = _Measure(reference, train, draw.seed, metrics, evaluators)
        for part, stored in map_tasks(measure, missing(), tell=lambda part: tell(part.cell), threads=True):
            store.save_document(part.key, stored)
            finish(part.cell, stored)
    return {cell: values[cell] for cell in cells}


@dataclass(frozen=True)
class _Part:
    """One damaged text to measure, and the values that are stored of it, under their own keys."""

    cell: Cell
    generated: Corpus
    key: str
    stored: Mapping[str, Sequence[Any]]


class _Measure:
    """Measures damaged texts of one draw; what the metrics share of the reference is kept."""

    def __init__(
        self,
        reference: Corpus,
        train: Corpus | None,
        seed: int,
        metrics: Sequence[Metric],
        evaluators: Sequence[Evaluator],
    ) -> None:
        self._reference = reference
        self._train = train
        self._seed = seed
        self._metrics = metrics
        self._evaluators = evaluators
        self._shared = Shared()

    def __call__(self, part: _Part) -> dict[str, Sequence[Any]]:
        """Return all values of one text under their keys, those that are stored first."""
        generated = part.generated
        stored = dict(part.stored)
        with self._shared.used():
            for metric in self._metrics:
                if _metric_key(metric) not in stored:
                    stored[_metric_key(metric)] = list(self._value(metric, generated))
        self._shared.forget(generated)
        for evaluator in self._evaluators:
            key = _evaluator_key(evaluator, self._train)
            if key not in stored:
                stored[key] = list(self._own(evaluator, generated))
        return stored

    def _value(self, metric: Metric, generated: Corpus) -> Value:
        try:
            return _value(metric.estimate(generated, self._reference, seed=self._seed))
        except InputError as error:
            return Value(None, None, str(error))

    def _own(self, evaluator: Evaluator, generated: Corpus) -> Value:
        try:
            return _value(evaluator.measure(generated, self._reference, self._train, self._seed))
        except InputError as error:
            return Value(None, None, str(error))


def _evaluator_key(evaluator: Evaluator, train: Corpus | None) -> str:
    return f"{evaluator.name} {evaluator.settings} {'' if train is None else train.fingerprint}"


def _metric_key(metric: Metric) -> str:
    return f"{metric.name} {metric.level} {metric.key}"


def _value(estimate: Estimate | float) -> Value:
    """Return a value with the standard error from the longer arm of its interval, since the other may be clipped."""
    value = float(estimate)
    if not math.isfinite(value):
        return Value(None, None, "undefined")
    interval = estimate.interval if isinstance(estimate, Estimate) else None
    if interval is None:
        return Value(value, None)
    arm = max(value - interval.low, interval.high - value)
    error = arm / float(stats.norm.ppf((1 + interval.level) / 2))
    return Value(value, error if math.isfinite(error) else None)


STRENGTHS = (0.1, 0.2, 0.4, 0.8)
N_SENTENCES = 2_000
N_DRAWS = 5
_CLEAN: Cell = ("", 0.0)

_Values = Sequence[Mapping[Cell, Mapping[str, Value]]]  # of each draw


@dataclass(frozen=True)
class Stress(Displayed, document="textassay_lab.meta_evaluation.stress_document:stress_document"):
    """The response of every metric to every damage."""

    curves: tuple[DamageCurve, ...]  # In the order of `metrics`, then of `damages`
    metrics: tuple[str, ...]
    damages: tuple[str, ...]
    strengths: tuple[float, ...]
    # Sentences of each part, random draws of them, level of intervals and significance, and the seed
    n_sentences: int
    n_draws: int
    level: float
    seed: int
    texts: Mapping[str, int]  # Name to number of sentences of each input text
    left_out: Mapping[str, str] = field(default_factory=dict)  # Metrics and damages that were not measured, and why
    findings: tuple[Finding, ...] = ()  # Trivial differences in the undamaged texts

    def of(self, metric: str, damage: str) -> DamageCurve:
        """Return one curve."""
        return self.curves[self.metrics.index(metric) * len(self.damages) + self.damages.index(damage)]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "version": version("textassay"),
            "texts": dict(self.texts),
            "n_sentences": self.n_sentences,
            "n_draws": self.n_draws,
            "strengths": list(self.strengths),
            "level": self.level,
            "seed": self.seed,
            "damages": {name: DAMAGES[name].summary for name in self.damages},
            "metrics": list(self.metrics),
            "left_out": dict(self.left_out),
            "findings": [finding.to_dict() for finding in self.findings],
            "curves": [curve.to_dict() for curve in self.curves],
        }


@shows_progress
def stress(
    real: Texts,
    *,
    train: Texts = None,
    other: Texts = None,
    metrics: Sequence[MetricLike] | None = None,
    evaluators: Sequence[Evaluator] = (),
    damages: Sequence[str] | None = None,
    strengths: Sequence[float] = STRENGTHS,
    n_sentences: int | None = None,
    n_draws: int = N_DRAWS,
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
    strengths = _check(strengths, damages, n_sentences=n_sentences, n_draws=n_draws, level=level, seed=seed)
    settings = Comparing(effort=effort, encoder=encoder, level=level).of_metrics()
    parse_metrics(metrics or ["dd"], **settings)  # raises before anything is computed
    given = {FLOOR: real, TRAIN: train, "(other)": other}
    corpora = corpora_from_texts({name: source for name, source in given.items() if source is not None}, **text)
    texts = {name.strip("()"): corpus for name, corpus in corpora.items()}
    left_out: dict[str, str] = {}
    parts, n = _parts(
        len(texts["real"]),
        n_sentences,
        _needed(metrics, evaluators, damages, texts.get("train")),
        strict=damages is not None,
    )
    others = prepare_corpora(texts)
    prepared_real = others.pop("real")
    draws = [draw_texts(prepared_real, others, parts, n, number, seed=seed) for number in range(n_draws)]
    damage_names = _possible(draws, damages, max(strengths), left_out)
    names = default_metrics({"train"} & draws[0].texts.keys()) if metrics is None else metrics
    of_draws = [parse_metrics(names, train=draw.texts.get("train"), **settings) if names else [] for draw in draws]
    if metrics is None:
        of_draws = [drawn_where_large(of_draw, n) for of_draw in of_draws]
    directions = _directions(of_draws[0], evaluators)
    cells = [_CLEAN, *((name, strength) for name in damage_names for strength in strengths)]
    counter = _Counter(progress, len(cells) * n_draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # undefined values are in the curves
        values = [
            measure_draw(
                draw,
                cells,
                of_draw,
                evaluators,
                store=EstimateStore(None if folder is None else Path(folder)),
                tell=partial(counter.tell, number=number),
                done=counter.done,
            )
            for number, (draw, of_draw) in enumerate(zip(draws, of_draws, strict=True), start=1)
        ]
    _leave_out(values, directions, left_out, asked=metrics is not None)
    curves = [
        _curve(values, name, better, damage, strengths, level)
        for name, better in directions.items()
        for damage in damage_names
    ]
    return Stress(
        curves=tuple(adjust_all(curves, level=level)),
        metrics=tuple(directions),
        damages=tuple(damage_names),
        strengths=strengths,
        n_sentences=n,
        n_draws=n_draws,
        level=level,
        seed=seed,
        texts={name: len(corpus) for name, corpus in texts.items()},
        left_out=left_out,
        findings=_findings(texts["real"], texts.get("train"), texts.get("other")),
    )


def _findings(real: Corpus, train: Corpus | None, other: Corpus | None) -> tuple[Finding, ...]:
    """Return the findings of each text by itself, and of overlap between real and training text."""
    others = {"(train)": train, "(other)": other}
    own = [finding for name, text in others.items() if text is not None for finding in inspect_corpus(text, name=name)]
    return (*inspect({}, real, train=train), *own)


class _Counter:
    """Reports progress."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def tell(self, cell: Cell, *, number: int) -> None:
        """Say that this cell of a draw is being measured."""
        if self._progress is not None:
            what = f"{cell[0]} {cell[1]:g}" if cell[0] else "undamaged text"
            self._progress(f"{what}, draw {number}", self._done, self._total)

    def done(self) -> None:
        """Count a cell."""
        self._done += 1


def _check(
    strengths: Sequence[float],
    damages: Sequence[str] | None,
    *,
    n_sentences: int | None,
    n_draws: int,
    level: float,
    seed: int,
) -> tuple[float, ...]:
    """Return the strengths in order; raise where a setting is impossible."""
    if not strengths or not all(0 < strength <= 1 for strength in strengths):
        raise OptionError(f"strengths must be above 0 and at most 1, got {', '.join(f'{s:g}' for s in strengths)}")
    check_range("draws", n_draws, 2)
    check_range("seed", seed, 0)
    check_level(level)
    if n_sentences is not None:
        check_range("sentences", n_sentences, 2)
    if damages is not None and (not damages or len(set(damages)) < len(damages)):
        raise OptionError(f"at least one damage is needed, each once, got {', '.join(damages) or 'none'}")
    for name in damages or ():
        if name not in DAMAGES:
            raise unknown_name("damage", name, DAMAGES)
    return tuple(sorted(set(strengths)))


def _needed(
    metrics: Sequence[MetricLike] | None,
    evaluators: Sequence[Evaluator],
    damages: Sequence[str] | None,
    train: Corpus | None,
) -> list[str]:
    """Return the parts of the real text that are needed, the optional ones last."""
    sources = {DAMAGES[name].source for name in (DAMAGES if damages is None else damages)}
    needs_train = metrics is None or bool(evaluators)
    if metrics:
        needs_train = needs_train or any("train" in metric.declaration.needs for metric in parse_metrics(metrics))
    is_needed = {"train": train is None and ("train" in sources or needs_train), "spare": "spare" in sources}
    return [name for name in PARTS if is_needed.get(name, True)]


def _parts(n_real: int, n: int | None, needed: Sequence[str], *, strict: bool) -> tuple[list[str], int]:
    """Return the possible parts and the sentences of each; with `strict`, all needed parts or an exception."""
    size = min(N_SENTENCES, n_real // len(needed)) if n is None else n
    n_parts = min(len(needed), n_real // size) if size else 0
    if size < 2 or n_parts < (len(needed) if strict else 2):
        least = len(needed) if strict else 2
        raise TooFewSentencesError(
            f"the real text must have at least {least * max(2, size)} sentences, {least} parts of {max(2, size)}, "
            f"got {n_real}"
        )
    return list(needed[:n_parts]), size


def _possible(
    draws: Sequence[Draw], requested: Sequence[str] | None, strongest: float, left_out: dict[str, str]
) -> list[str]:
    """Return the damages that every draw allows; raise if a requested one is not among them."""
    possible = []
    for name in DAMAGES if requested is None else requested:
        source = DAMAGES[name].source
        if source is not None and source not in draws[0].texts:
            reason: str | None = (
                f"there is no text '{source}'" if source == "other" else "the real text is too short for it"
            )
        else:
            reason = next(filter(None, (draw.obstacle(name, strongest) for draw in draws)), None)
        if reason is None:
            possible.append(name)
        elif requested is not None:
            raise InputError(f"{name}: {reason}")
        else:
            left_out[name] = reason
    return possible


def _directions(metrics: Sequence[Metric], evaluators: Sequence[Evaluator]) -> dict[str, Better]:
    """Return the direction of every metric and evaluator by name."""
    entries = [*((m.name, m.better) for m in metrics), *((e.name, e.better) for e in evaluators)]
    names = [name for name, _ in entries]
    if not names:
        raise OptionError("at least one metric or evaluator is needed, got none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"names of metrics and evaluators must be distinct, got '{twice[0]}' twice")
    return dict(entries)


def _leave_out(values: _Values, directions: dict[str, Better], left_out: dict[str, str], *, asked: bool) -> None:
    """Remove metrics without a value on undamaged text; raise if they were requested."""
    for name in list(directions):
        reason = next(filter(None, (of_draw[_CLEAN][name].reason for of_draw in values)), None)
        if reason is None:
            continue
        if asked:
            raise InputError(f"{name} has no value on undamaged text: {reason}")
        left_out[name] = reason
        del directions[name]


def _curve(
    values: _Values, name: str, better: Better, damage: str, strengths: tuple[float, ...], level: float
) -> DamageCurve:
    """Return the curve of one metric under one damage."""
    cells = [_CLEAN, *((damage, strength) for strength in strengths)]
    rows = [[of_draw[cell][name] for cell in cells] for of_draw in values]
    array = np.array([[math.nan if v.value is None else v.value for v in row] for row in rows])
    reason = next((v.reason for row in rows for v in row if v.reason is not None), None)
    if reason is not None:
        return unknown_curve(DamageCurve(name, better, damage, strengths, array), reason)
    own = [row[0].standard_error for row in rows]
    errors = np.array([math.nan if error is None else error for error in own])
    return judge_curve(name, better, damage, strengths, array, errors, level=level)
