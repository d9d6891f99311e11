"""The cells of a comparison, one for each metric and corpus, computed once and stored."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from textassay.comparison.store import EstimateStore, estimate_key
from textassay.corpus import Corpus
from textassay.errors import TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate
from textassay.metric import Metric, Shared

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

    Metrics of one family share work, which is forgotten after the family's last task.
    """
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        families.setdefault(metric.declaration.family, []).append(metric)
    total = len(families) * len(tasks)
    done = 0
    cells: dict[tuple[str, str], Cell] = {}
    for family in families.values():
        shared = Shared()
        for task in tasks:
            if progress is not None:
                progress(f"{family[0].declaration.name} of {task.name}", done, total)
            with shared.used():
                for metric in family:
                    reason = task.senseless.get(metric.name) or _too_large(metric, task, limits or {})
                    cells[task.name, metric.name] = (
                        Cell(None, reason)
                        if reason is not None
                        else _cell(metric, task, seed=seed, store=store, strict=strict, version=version)
                    )
            shared.forget(task.generated)
            done += 1
    if progress is not None:
        progress("done", total, total)
    return cells


def _too_large(metric: Metric, task: Task, limits: Mapping[str, int]) -> str | None:
    limit = limits.get(metric.name)
    n = max(len(task.generated), len(task.real))
    if limit is None or n <= limit:
        return None
    name = metric.declaration.name
    return f"{name} compares every text with every other: name it in --metrics to measure over {limit}, got {n}"


def cell_key(metric: Metric, generated: Corpus, real: Corpus, *, seed: int, version: str) -> str:
    """Return the key of an estimate in the store: a hash of everything that can change it."""
    return estimate_key(
        *(metric.name, metric.level, metric.key, seed, version),
        *(part for corpus in (generated, real) for part in _content(metric, corpus)),
    )


def _content(metric: Metric, corpus: Corpus) -> tuple[str, str]:
    """Return hashes of the text of `corpus`, and of its columns if `metric` reads them."""
    return corpus.fingerprint, corpus.columns_fingerprint if metric.reads_columns else ""


def _cell(metric: Metric, task: Task, *, seed: int, store: EstimateStore, strict: bool, version: str) -> Cell:
    key = cell_key(metric, task.generated, task.real, seed=seed, version=version)
    stored = store.load(key)
    if stored is not None:
        return Cell(stored[0], None, stored[1])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimate = metric.estimate(task.generated, task.real, seed=seed)
    except (TooFewSentencesError, UnavailableError) as error:
        if strict and task.requested:
            raise type(error)(f"{task.name}: {error}") from None
        return Cell(None, str(error))
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    store.save(key, estimate, messages)
    return Cell(estimate, None, messages)
