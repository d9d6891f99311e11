"""Stress: every metric on real text that is damaged more and more; what it does not see, and what it takes for quality.

Each draw parts the real text at random into the reference, the text that is damaged, training text and spare text for
the control; no sentence is in two parts. Values are kept by the content they were computed from, so that a run goes on
where it stopped, and further metrics, damages or draws cost only what is new.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from textassay.comparison import FOLDS, EstimateStore, Progress, metric_settings
from textassay.corpus import Corpus
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.estimate import Better
from textassay.inspection import Finding, inspect, inspect_corpus
from textassay.meta_evaluation.damage import DAMAGES, prepare_corpora
from textassay.meta_evaluation.damage_curve import DamageCurve, adjust_all, judge_curve, unknown_curve
from textassay.meta_evaluation.damaged_values import PARTS, Cell, Draw, Evaluator, Value, draw_texts, measure_draw
from textassay.metric import CATALOG, Effort, Metric, check_level, default_metrics, limits_of, parse_metrics

STRENGTHS = (0.1, 0.2, 0.4, 0.8)
N_SENTENCES = 2_000
N_DRAWS = 5
_CLEAN: Cell = ("", 0.0)

_Values = Sequence[Mapping[Cell, Mapping[str, Value]]]  # of each draw


@dataclass(frozen=True)
class Stress(Displayed):
    """What damage does to every metric."""

    curves: tuple[DamageCurve, ...]  # In the order of `metrics`, then of `damages`
    # What was measured, with what
    metrics: tuple[str, ...]
    damages: tuple[str, ...]
    strengths: tuple[float, ...]
    # Sentences of each part, random draws of them, level of intervals and significance, and the seed
    n_sentences: int
    n_draws: int
    level: float
    seed: int
    texts: Mapping[str, int]  # Name to number of sentences of the texts that were given
    left_out: Mapping[str, str] = field(default_factory=dict)  # Metrics and damages that were not measured, and why
    findings: tuple[Finding, ...] = ()  # What inspection found in the texts before any damage

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


def run_stress(
    real: Corpus,
    *,
    train: Corpus | None = None,
    other: Corpus | None = None,
    metrics: Sequence[str] | None = None,
    evaluators: Sequence[Evaluator] = (),
    damages: Sequence[str] | None = None,
    strengths: Sequence[float] = STRENGTHS,
    n_sentences: int | None = None,
    n_draws: int = N_DRAWS,
    effort: Effort = "quick",
    encoder: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Stress:
    """Return what every metric says of real text that is damaged more and more."""
    strengths = _check(strengths, damages, n_sentences=n_sentences, n_draws=n_draws, level=level, seed=seed)
    settings = metric_settings(
        effort=effort, encoder=encoder, has_features=False, folds=FOLDS, level=level, paper=False
    )
    parse_metrics(metrics or ["dd"], **settings)  # mistakes are told before anything is done
    given = {name: text for name, text in (("real", real), ("train", train), ("other", other)) if text is not None}
    left_out: dict[str, str] = {}
    parts, n = _parts(len(real), n_sentences, _needed(metrics, evaluators, damages, train), strict=damages is not None)
    others = prepare_corpora(given)
    whole = others.pop("real")
    draws = [draw_texts(whole, others, parts, n, number, seed=seed) for number in range(n_draws)]
    chosen = _possible(draws, damages, max(strengths), left_out)
    names = default_metrics({"train"} & draws[0].texts.keys()) if metrics is None else metrics
    of_draws = [parse_metrics(names, train=draw.texts.get("train"), **settings) if names else [] for draw in draws]
    if metrics is None:
        of_draws = [_within_limits(of_draw, n, left_out) for of_draw in of_draws]
    directions = _directions(of_draws[0], evaluators)
    cells = [_CLEAN, *((name, strength) for name in chosen for strength in strengths)]
    counter = _Counter(progress, len(cells) * n_draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what damage leaves undefined, which the curves tell
        values = [
            measure_draw(draw, cells, of_draw, evaluators, store=EstimateStore(folder), tell=counter.of(number))
            for number, (draw, of_draw) in enumerate(zip(draws, of_draws, strict=True), start=1)
        ]
    _leave_out(values, directions, left_out, asked=metrics)
    curves = [
        _curve(values, name, better, damage, strengths, level)
        for name, better in directions.items()
        for damage in chosen
    ]
    return Stress(
        curves=tuple(adjust_all(curves, level=level)),
        metrics=tuple(directions),
        damages=tuple(chosen),
        strengths=strengths,
        n_sentences=n,
        n_draws=n_draws,
        level=level,
        seed=seed,
        texts={name: len(text) for name, text in given.items()},
        left_out=left_out,
        findings=_found(real, train, other),
    )


def _found(real: Corpus, train: Corpus | None, other: Corpus | None) -> tuple[Finding, ...]:
    """Return what inspection finds in each text by itself, and of the real text in the training text."""
    others = {"(train)": train, "(other)": other}
    own = [found for name, text in others.items() if text is not None for found in inspect_corpus(text, name=name)]
    return (*inspect({}, real, train=train), *own)


class _Counter:
    """Tells progress from several threads."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = Lock()

    def of(self, number: int) -> Any:
        """Return what is called with each cell of a draw."""

        def tell(cell: Cell) -> None:
            with self._lock:
                done, self._done = self._done, self._done + 1
            if self._progress is not None:
                what = f"{cell[0]} {cell[1]:g}" if cell[0] else "undamaged text"
                self._progress(f"{what}, draw {number}", done, self._total)

        return tell


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
        raise OptionError(f"each damage is named once, and at least one, got {', '.join(damages) or 'none'}")
    for name in damages or ():
        if name not in DAMAGES:
            raise unknown_name("damage", name, DAMAGES)
    return tuple(sorted(set(strengths)))


def _needed(
    metrics: Sequence[str] | None,
    evaluators: Sequence[Evaluator],
    damages: Sequence[str] | None,
    train: Corpus | None,
) -> list[str]:
    """Return the parts of the real text that are wanted, those that one can do without last."""
    sources = {DAMAGES[name].source for name in (DAMAGES if damages is None else damages)}
    learnt = metrics is None or any("train" in CATALOG[name.split("(")[0].strip()].needs for name in metrics)
    learnt = learnt or bool(evaluators)
    wanted = {"train": train is None and ("train" in sources or learnt), "spare": "spare" in sources}
    return [name for name in PARTS if wanted.get(name, True)]


def _parts(n_real: int, n: int | None, needed: Sequence[str], *, strict: bool) -> tuple[list[str], int]:
    """Return the parts that there are, and the sentences of each; `strict` gives all that are needed or raises."""
    size = min(N_SENTENCES, n_real // len(needed)) if n is None else n
    n_parts = min(len(needed), n_real // size) if size else 0
    if size < 2 or n_parts < (len(needed) if strict else 2):
        least = len(needed) if strict else 2
        raise TooFewSentencesError(
            f"the real text has {n_real} sentences: at least {least * max(2, size)} are needed, "
            f"{least} parts of {max(2, size)}"
        )
    return list(needed[:n_parts]), size


def _possible(
    draws: Sequence[Draw], asked: Sequence[str] | None, strongest: float, left_out: dict[str, str]
) -> list[str]:
    """Return the damages that every draw allows; one that was asked for must be among them."""
    chosen = []
    for name in DAMAGES if asked is None else asked:
        source = DAMAGES[name].source
        if source is not None and source not in draws[0].texts:
            reason: str | None = (
                f"there is no text '{source}'" if source == "other" else "the real text is too short for it"
            )
        else:
            reason = next(filter(None, (draw.obstacle(name, strongest) for draw in draws)), None)
        if reason is None:
            chosen.append(name)
        elif asked is not None:
            raise InputError(f"{name}: {reason}")
        else:
            left_out[name] = reason
    return chosen


def _within_limits(metrics: Sequence[Metric], n: int, left_out: dict[str, str]) -> list[Metric]:
    limits = limits_of(metrics)
    for name, most in limits.items():
        if n > most:
            left_out[name] = f"it compares every sentence with every other: for more than {most} name it"
    return [metric for metric in metrics if n <= limits.get(metric.name, n)]


def _directions(metrics: Sequence[Metric], evaluators: Sequence[Evaluator]) -> dict[str, Better]:
    """Return name to direction of all that is measured."""
    entries = [*((m.name, m.better) for m in metrics), *((e.name, e.better) for e in evaluators)]
    names = [name for name, _ in entries]
    if not names:
        raise OptionError("there is nothing to measure: name a metric or give an evaluator")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"two evaluators are called '{twice[0]}'")
    return dict(entries)


def _leave_out(
    values: _Values, directions: dict[str, Better], left_out: dict[str, str], *, asked: Sequence[str] | None
) -> None:
    """Take out what has no value on undamaged text; raise where it was asked for."""
    for name in list(directions):
        reason = next(filter(None, (of_draw[_CLEAN][name].reason for of_draw in values)), None)
        if reason is None:
            continue
        if asked is not None:
            raise InputError(f"{name} has no value on undamaged text: {reason}")
        left_out[name] = reason
        del directions[name]


def _curve(
    values: _Values, name: str, better: Better, damage: str, strengths: tuple[float, ...], level: float
) -> DamageCurve:
    """Return what one metric says of one damage."""
    cells = [_CLEAN, *((damage, strength) for strength in strengths)]
    found = [[of_draw[cell][name] for cell in cells] for of_draw in values]
    array = np.array([[math.nan if v.value is None else v.value for v in row] for row in found])
    reason = next((v.reason for row in found for v in row if v.reason is not None), None)
    if reason is not None:
        return unknown_curve(DamageCurve(name, better, damage, strengths, array), reason)
    own = [row[0].standard_error for row in found]
    errors = np.array([math.nan if error is None else error for error in own])
    return judge_curve(name, better, damage, strengths, array, errors, level=level)
