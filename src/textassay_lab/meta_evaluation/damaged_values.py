"""One random draw of a stress test: parts of the real text, and the values of every metric on one of them, damaged.

Values are stored by the content of all texts they were computed from, one document for each damaged text.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from textassay.comparison.measure import EstimateStore, estimate_key
from textassay.corpus.corpus import Corpus
from textassay.embedding.store import feature_store
from textassay.errors import InputError
from textassay.estimate import Better, Estimate
from textassay.execution.tasks import map_tasks
from textassay.metric.base import Metric, Shared
from textassay.seeding import stream
from textassay_lab.meta_evaluation.damage import DAMAGES, damage, obstacle

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
