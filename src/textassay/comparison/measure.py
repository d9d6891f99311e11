"""The cells of a comparison: metrics times corpora, each computed once, kept, and found again."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from textassay.comparison.store import EstimateStore, estimate_key
from textassay.corpus.corpus import Corpus
from textassay.errors import TooFewSentencesError
from textassay.estimate import Estimate
from textassay.metric.base import Metric

__all__ = ["Cell", "Progress", "Task", "measure_cells"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Task:
    """One corpus to be measured against one real corpus; `name` says which row of the table it is for.

    Too few sentences of an `asked` one may be an error; the others stand beside those, where they can be measured.
    """

    name: str
    generated: Corpus
    real: Corpus
    asked: bool = True


@dataclass(frozen=True)
class Cell:
    """What came of one metric for one task: an estimate, or the reason why there is none; and the warnings given."""

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
    progress: Progress | None = None,
) -> dict[tuple[str, str], Cell]:
    """Return the cell of every (task name, metric name).

    Metrics that share statistics are computed together, and the real side of each is prepared once a real corpus.

    Parameters
    ----------
    metrics, tasks
        What to compute.
    seed
        Given to every metric.
    store
        Where estimates are looked up and kept.
    strict
        Whether too few sentences for a metric raise, where the task was asked for; otherwise the cell says so.
    version
        Of the software, part of what an estimate is kept under.
    progress
        Called with a label, the number of steps done and their total.

    Raises
    ------
    TooFewSentencesError
        If `strict` and a metric needs more sentences than a corpus has.
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
            for metric, cell in _measure_family(family, task, states, seed, store, strict, version):
                cells[task.name, metric.name] = cell
            done += 1
    if progress is not None:
        progress("done", total, total)
    return cells


def _family(metric: Metric) -> str:
    return repr(metric.shares)


def _measure_family(
    family: Sequence[Metric],
    task: Task,
    states: dict[str, object],
    seed: int,
    store: EstimateStore,
    strict: bool,
    version: str,
) -> Iterator[tuple[Metric, Cell]]:
    """Yield the cells of metrics that share statistics; `states` keeps what was prepared for each real corpus."""
    keys = {
        metric.name: estimate_key(
            metric.name, metric.level, task.generated.fingerprint, task.real.fingerprint, seed, version
        )
        for metric in family
    }
    kept = {metric.name: store.load(keys[metric.name]) for metric in family}
    statistics = None
    for metric in family:
        found = kept[metric.name]
        if found is not None:
            yield metric, Cell(found[0], None, found[1])
            continue
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if statistics is None:
                    if task.real.fingerprint not in states:
                        states[task.real.fingerprint] = metric.prepare(task.real)
                    statistics = metric.statistics(states[task.real.fingerprint], task.generated, seed=seed)
                estimate = metric.estimate(statistics)
        except TooFewSentencesError as error:
            if strict and task.asked:
                raise TooFewSentencesError(f"{task.name}: {error}") from None
            yield metric, Cell(None, str(error))
            continue
        messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        store.save(keys[metric.name], estimate, messages)
        yield metric, Cell(estimate, None, messages)
