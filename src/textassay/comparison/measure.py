"""The cells of a comparison, one for each metric and corpus, computed once and stored."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from textassay.comparison.store import EstimateStore, estimate_key
from textassay.corpus import Corpus
from textassay.errors import TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate
from textassay.metric import ColumnMetric, Metric

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Task:
    """One corpus to measure against one real corpus; `name` is its row of the table.

    With too few texts a `requested` task may raise; the others are left out. `senseless` maps the names of metrics that
    make no sense for it to the reason.
    """

    name: str
    generated: Corpus
    real: Corpus
    requested: bool = True
    senseless: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One metric for one task: an estimate, or the reason why there is none, and its warnings."""

    estimate: Estimate | None
    error: str | None
    warnings: tuple[str, ...] = ()


def measure_cells(
    metrics: Sequence[Metric],
    tasks: Sequence[Task],
    *,
    seed: int,
    store: EstimateStore,
    strict: bool,
    version: str,
    limits: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str, str], Cell]:
    """Return the cell of every (task name, metric name).

    Metrics that share statistics are computed together, and each real corpus is prepared once for each family.
    """
    families = [list(family) for _, family in groupby(sorted(metrics, key=_family), key=_family)]
    families.sort(key=lambda family: metrics.index(family[0]))
    total = len(families) * len(tasks)
    done = 0
    cells: dict[tuple[str, str], Cell] = {}
    for family in families:
        states: dict[str, object] = {}
        for task in tasks:
            if progress is not None:
                progress(f"{family[0].name.split('(')[0]} of {task.name}", done, total)
            reason = task.senseless.get(family[0].name) or _too_large(family[0], task, limits or {})
            if reason is not None:
                cells.update({(task.name, metric.name): Cell(None, reason) for metric in family})
            else:
                run = _Run(states, seed, store, strict, version)
                cells.update({(task.name, metric.name): cell for metric, cell in _measure_family(family, task, run)})
            done += 1
    if progress is not None:
        progress("done", total, total)
    return cells


def _family(metric: Metric) -> str:
    return repr(metric.shares)


def _too_large(metric: Metric, task: Task, limits: Mapping[str, int]) -> str | None:
    limit = limits.get(metric.name)
    n = max(len(task.generated), len(task.real))
    if limit is None or n <= limit:
        return None
    family = metric.name.split("(")[0]
    return f"{family} compares every text with every other: name it in --metrics to measure over {limit}, got {n}"


@dataclass(frozen=True)
class _Run:
    """What all cells of one family of metrics share; `states` holds the prepared real corpora."""

    states: dict[str, object]
    seed: int
    store: EstimateStore
    strict: bool
    version: str


def cell_key(metric: Metric, generated: Corpus, real: Corpus, *, seed: int, version: str) -> str:
    """Return the key of an estimate in the store: a hash of everything that can change it."""
    return estimate_key(
        *(metric.name, metric.level, repr(metric.shares), seed, version),
        *(part for corpus in (generated, real) for part in _content(metric, corpus)),
    )


def _content(metric: Metric, corpus: Corpus) -> tuple[str, str]:
    """Return hashes of the text of `corpus`, and of its columns if `metric` reads them."""
    reads = isinstance(metric, ColumnMetric) and metric.reads_columns
    return corpus.fingerprint, corpus.columns_fingerprint if reads else ""


def _prepare(metric: Metric, task: Task, run: _Run) -> object:
    content = " ".join(_content(metric, task.real))
    if content not in run.states:
        run.states[content] = metric.prepare(task.real)
    return run.states[content]


def _measure_family(family: Sequence[Metric], task: Task, run: _Run) -> Iterator[tuple[Metric, Cell]]:
    """Yield the cells of metrics that share statistics."""
    keys = {
        metric.name: cell_key(metric, task.generated, task.real, seed=run.seed, version=run.version)
        for metric in family
    }
    stored_cells = {metric.name: run.store.load(keys[metric.name]) for metric in family}
    statistics = None
    for metric in family:
        stored = stored_cells[metric.name]
        if stored is not None:
            yield metric, Cell(stored[0], None, stored[1])
            continue
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if statistics is None:
                    statistics = metric.statistics(_prepare(metric, task, run), task.generated, seed=run.seed)
                estimate = metric.estimate(statistics)
        except (TooFewSentencesError, UnavailableError) as error:
            if run.strict and task.requested:
                raise type(error)(f"{task.name}: {error}") from None
            yield metric, Cell(None, str(error))
            continue
        messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        run.store.save(keys[metric.name], estimate, messages)
        yield metric, Cell(estimate, None, messages)
