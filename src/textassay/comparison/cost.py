"""What a comparison will cost: texts, tokens, memory and seconds, before anything is measured.

Each stage was measured at several sizes (``benchmarks/scale.py --write`` makes `costs.json`). Between those sizes its
seconds and its memory are read off the straight line through the two neighbouring points in logarithms; beyond the
largest, the line of the last two goes on, rising at least in proportion. Seconds are those of the machine that was
measured, times how much slower this one is at a short fixed piece of work.
"""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Unpack

import numpy as np

from textassay.comparison.comparison import FIT_REAL, FLOOR, TRAIN
from textassay.comparison.measure import Task
from textassay.comparison.run import part_of_train, tasks_of
from textassay.corpus import TextOptions, Texts, corpora_from_texts
from textassay.display import Displayed
from textassay.execution import default_workers
from textassay.inspection import HELDOUT
from textassay.metric import (
    DRAWN,
    Effort,
    Metric,
    MetricLike,
    check_effort,
    default_metrics,
    drawn_where_large,
    parse_metrics,
)

_OF_VECTORS = ("fed", "mmd", "mauve", "neighbours")  # families whose work goes with texts; all others go with tokens
_MEASURED_WORKERS = 2
_PROGRAM_MEGABYTES = 350  # Python and the libraries of a comparison
_TEXT_BYTES, _TOKEN_BYTES = 24, 10  # what a corpus holds of a text and of a token, its characters included


@dataclass(frozen=True)
class Stage:
    """One part of a run."""

    name: str
    seconds: float | None  # Of processors, all runs of the stage together; None where it was never measured
    wall: float | None  # With as many workers as asked for
    megabytes: float  # Peak beyond the texts, of one run
    runs: int  # How many pairs of texts it measures
    extrapolated: bool  # Whether the texts are more than were measured


@dataclass(frozen=True)
class Cost(Displayed):
    """What a comparison will cost.

    Attributes
    ----------
    texts, tokens
        Of all sides together.
    stages
        In the order in which they run.
    workers
        Threads for which `wall` holds.
    factor
        Seconds of this machine for one of the machine that was measured.
    """

    texts: int
    tokens: int
    stages: tuple[Stage, ...]
    workers: int
    factor: float

    @property
    def seconds(self) -> float:
        """Processor seconds, stages that were never measured left out."""
        return math.fsum(stage.seconds or 0.0 for stage in self.stages)

    @property
    def wall(self) -> float:
        """Seconds from call to answer, stages that were never measured left out."""
        return math.fsum(stage.wall or 0.0 for stage in self.stages)

    @property
    def megabytes(self) -> float:
        """Peak of memory: the program, the texts, and the stage that takes most."""
        held = (self.texts * _TEXT_BYTES + self.tokens * _TOKEN_BYTES) / 1e6
        return _PROGRAM_MEGABYTES + held + max((stage.megabytes for stage in self.stages), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {**asdict(self), "seconds": self.seconds, "wall": self.wall, "megabytes": self.megabytes}


def cost(
    generated: Mapping[str, Texts],
    real: Texts,
    *,
    real_heldout: Texts = None,
    train: Texts = None,
    fit_real: Texts = None,
    metrics: Sequence[MetricLike] | None = None,
    effort: Effort = "default",
    explain: bool = True,
    workers: int | None = None,
    **text: Unpack[TextOptions],
) -> Cost:
    """Return what `compare` will cost on this machine; the texts are read, and nothing is measured.

    Parameters
    ----------
    generated, real, real_heldout, train, fit_real, metrics, effort, explain, workers, text
        As in `compare`. Estimates that an ``out`` folder already holds are counted as if they were not there.

    Raises
    ------
    InputError, OptionError
        As `compare`.
    """
    texts = {FLOOR: real, HELDOUT: real_heldout, TRAIN: train, **generated, FIT_REAL: fit_real}
    corpora = corpora_from_texts({name: source for name, source in texts.items() if source is not None}, **text)
    names = default_metrics(["train"] if train is not None else []) if metrics is None else metrics
    train = corpora.get(TRAIN)
    learnt_from = {"trained_on": train, "fit_real": corpora.get(FIT_REAL)}
    chosen = parse_metrics(names, effort=check_effort(effort), train=train, **learnt_from)
    if metrics is None:
        chosen = drawn_where_large(chosen, max(map(len, corpora.values())))
    others = {name: corpora[name] for name in (HELDOUT, TRAIN, *generated) if name in corpora}
    if TRAIN in others:
        others[TRAIN] = part_of_train(others[TRAIN], len(corpora[FLOOR]), 0)
    tasks, _ = tasks_of(corpora[FLOOR], others, 0)
    n_texts = sum(map(len, corpora.values()))
    n_tokens = sum(len(corpus.tokens) for corpus in corpora.values())
    factor = probe() / _measured()["probe_seconds"]
    n_threads = default_workers() if workers is None else workers
    has_dd = any(metric.declaration.family == "dd" for metric in chosen)
    explained = [task for task in tasks if task.name in generated] if explain and has_dd else []
    stages = [
        _stage(key, name, runs, factor, n_threads)
        for key, name, runs in _work(chosen, tasks, effort, explained, (n_texts, n_tokens))
        if runs
    ]
    return Cost(n_texts, n_tokens, tuple(stages), n_threads, factor)


def _work(
    metrics: Sequence[Metric], tasks: Sequence[Task], effort: str, explained: Iterable[Task], whole: tuple[int, int]
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """Yield the key of each stage's figures, its name, and the texts and tokens of each of its runs."""
    yield "reading", "reading", [whole]
    yield "inspection", "inspection", [whole]
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        families.setdefault(metric.declaration.family, []).append(metric)
    yield f"explanation {effort}", "explanations", [_size(task, families.get("dd", [])) for task in explained]
    of_vectors = [metric for metric in metrics if metric.declaration.family in _OF_VECTORS]
    if of_vectors:
        yield "encoder", "encoder", [_size(task, of_vectors) for task in tasks]
    for family, of_family in families.items():
        names = dict.fromkeys(metric.declaration.name for metric in of_family)
        sizes = [_size(task, of_family) for task in tasks]
        yield f"dd {effort}" if family == "dd" else family, ", ".join(names), sizes


def probe() -> float:
    """Return the seconds that a fixed piece of sorting, counting and linear algebra takes here, the least of three."""
    numbers = np.random.default_rng(0).integers(0, 1 << 40, 1 << 20)
    square = (numbers[: 1 << 18] % 1000).reshape(512, 512).astype(np.float64)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        np.unique(numbers, return_counts=True)
        for _ in range(4):
            square @ square
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _size(task: Task, metrics: Iterable[Metric] = ()) -> tuple[int, int]:
    """Return the texts and the tokens of both sides that the metrics look at."""
    drawn = [metric.settings.get(DRAWN) or math.inf for metric in metrics]
    more = [metric.settings["fit_real"] for metric in metrics if metric.settings.get("fit_real") is not None]
    together = (task.generated, task.real, *more[:1])
    sides = [(min(len(side), max(drawn, default=math.inf)), side) for side in together]
    return int(sum(n for n, _ in sides)), round(sum(len(side.tokens) * n / max(1, len(side)) for n, side in sides))


def _stage(key: str, name: str, runs: Sequence[tuple[int, int]], factor: float, workers: int) -> Stage:
    points = _measured()["stages"].get(key)
    if not points:
        return Stage(name, None, None, 0.0, len(runs), extrapolated=True)
    unit = "texts" if key in _OF_VECTORS else "tokens"
    sizes = [n_texts if unit == "texts" else n_tokens for n_texts, n_tokens in runs]
    seconds, walls = [], []
    for size in sizes:
        cpu, wall = (factor * _at(points, unit, size, what) for what in ("cpu", "wall"))
        alone = max(0.0, (_MEASURED_WORKERS * wall - cpu) / (_MEASURED_WORKERS - 1))  # what one thread does alone
        alone = min(alone, cpu)
        seconds.append(cpu)
        walls.append(alone + (cpu - alone) / workers)
    largest = max(sizes)
    return Stage(
        name,
        math.fsum(seconds),
        math.fsum(walls),
        _at(points, unit, largest, "megabytes"),
        len(runs),
        extrapolated=largest > points[-1][unit],
    )


def _at(points: Sequence[Mapping[str, float]], unit: str, size: int, what: str) -> float:
    """Return `what` at `size`, on straight lines in logarithms; below the smallest size, what that takes."""
    sizes = np.log([point[unit] for point in points])
    values = np.log([max(point[what], 0.01) for point in points])
    place = math.log(max(size, 1))
    if place <= sizes[-1]:
        return float(np.exp(np.interp(place, sizes, values)))
    slope = 1.0 if len(points) < 2 else max(1.0, float((values[-1] - values[-2]) / (sizes[-1] - sizes[-2])))
    return float(np.exp(values[-1] + slope * (place - sizes[-1])))


@cache
def _measured() -> dict[str, Any]:
    costs: dict[str, Any] = json.loads((files("textassay.comparison") / "costs.json").read_text("utf-8"))
    return costs
