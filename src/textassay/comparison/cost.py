"""What a comparison will cost: texts, tokens, memory and seconds, before anything is measured.

Each stage was measured at several sizes (``benchmarks/scale.py --write`` makes `costs.json`). Between those sizes its
seconds and its memory are read off the straight line through the two neighbouring points in logarithms; beyond the
largest, the line of the last two goes on, rising at least in proportion. Documents have points of their own. Seconds
are those of the machine that was measured, times how much slower this one is at a short fixed piece of work.

Generators that are drawn from are counted with the most that may be drawn. A model in a folder draws a few texts, to
see how long it takes; commands are not called, endpoints not asked and pretrained models not loaded: how long they
take is known only where a folder of results has draws of them. Tokens of an endpoint are estimated from its prompts.
"""

import json
import math
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from textassay.comparison.comparison import FIT_REAL, FLOOR, TRAIN
from textassay.comparison.drawing import has_log_probs, least_drawn, sizes_to
from textassay.comparison.kept_draws import CALL, DRAWS
from textassay.comparison.measure import Task
from textassay.comparison.run import part_of_train, tasks_of
from textassay.comparison.sources import MOST, Budget, Source, command_of, is_endpoint, is_source, open_source
from textassay.corpus import AUTO_UNIT, Corpus, TextOptions, Texts, TextUnit, as_texts, corpora_from_texts, unit_of
from textassay.display import Displayed
from textassay.execution import default_workers, one_blas_thread
from textassay.generator import Requests, endpoint_model
from textassay.inspection import HELDOUT, Independence
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
_TRIAL = 100  # texts that a model draws to see how long it takes
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
class DrawCost:
    """What drawing from one generator will cost.

    `n_least` texts are drawn in any case, `n_most` if dd goes on rising; `seconds` and `log_probs_seconds` (of the
    draws and the real texts) are for the most, None where they are not known; `calls`: of a command that is told how
    many texts to print; `requests`: to an endpoint, with the most tokens.
    """

    generator: str
    n_least: int
    n_most: int
    seconds: float | None
    log_probs_seconds: float | None = 0.0  # 0 where they are not used
    calls: int | None = None
    requests: Requests | None = None


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
    draws
        Of generators that are drawn from.
    """

    texts: int
    tokens: int
    stages: tuple[Stage, ...]
    workers: int
    factor: float
    draws: tuple[DrawCost, ...] = ()

    @property
    def seconds(self) -> float:
        """Processor seconds, what was never measured left out."""
        return math.fsum((*(stage.seconds or 0.0 for stage in self.stages), self.drawing))

    @property
    def wall(self) -> float:
        """Seconds from call to answer, what was never measured left out."""
        return math.fsum((*(stage.wall or 0.0 for stage in self.stages), self.drawing))

    @property
    def drawing(self) -> float:
        """Seconds of drawing and of log-probabilities, those that are not known left out."""
        return math.fsum((draw.seconds or 0.0) + (draw.log_probs_seconds or 0.0) for draw in self.draws)

    @property
    def megabytes(self) -> float:
        """Peak of memory: the program, the texts, and the stage that takes most."""
        held = (self.texts * _TEXT_BYTES + self.tokens * _TOKEN_BYTES) / 1e6
        return _PROGRAM_MEGABYTES + held + max((stage.megabytes for stage in self.stages), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {**asdict(self), "seconds": self.seconds, "wall": self.wall, "megabytes": self.megabytes}


def cost(
    generated: Mapping[str, Texts | Source],
    real: Texts,
    *,
    real_heldout: Texts = None,
    train: Texts = None,
    fit_real: Texts = None,
    metrics: Sequence[MetricLike] | None = None,
    effort: Effort = "default",
    prior: Literal["english"] | None = None,
    unit: str = AUTO_UNIT,
    explain: bool = True,
    budget: int | str | None = None,
    own_log_probs: bool = True,
    with_log_probs: Collection[str] = (),
    workers: int | None = None,
    out: Path | str | None = None,
    **text: Unpack[TextOptions],
) -> Cost:
    """Return what `compare` will cost on this machine; the texts are read, and nothing is measured.

    Parameters
    ----------
    generated, real, real_heldout, train, fit_real, metrics, effort, prior, unit, explain, budget, own_log_probs
        As in `compare`. Generators are counted with the most texts that may be drawn, like the real ones.
    workers, text
        As in `compare`.
    with_log_probs
        Names of the texts whose log-probabilities are given.
    out
        A folder of results: how long its draws took says what drawing costs. All else is counted as if it were empty.

    Raises
    ------
    InputError, OptionError
        As `compare`.
    """
    sources = {name: source for name, source in generated.items() if is_source(source)}
    real = real if isinstance(real, Corpus) or not sources else as_texts(real, FLOOR)
    draws: dict[str, DrawCost] = {}
    if sources:
        scored = own_log_probs and all(name in sources or name in with_log_probs for name in generated)
        draws = _draws(sources, real.texts, draw_limit(budget, len(real.texts), metrics), scored, out)
        like_real = {name: list(islice(cycle(real.texts), draw.n_most)) for name, draw in draws.items()}
        generated = {name: like_real.get(name, source) for name, source in generated.items()}
    texts = {FLOOR: real, HELDOUT: real_heldout, TRAIN: train, **generated, FIT_REAL: fit_real}
    corpora = corpora_from_texts({name: source for name, source in texts.items() if source is not None}, **text)
    seen_as = unit_of(corpora[FLOOR], unit)
    names = default_metrics(["train"] if train is not None else [], unit=seen_as) if metrics is None else metrics
    train = corpora.get(TRAIN)
    learnt_from = {"trained_on": train, "fit_real": corpora.get(FIT_REAL)}
    chosen = parse_metrics(names, effort=check_effort(effort), train=train, prior=prior, **learnt_from)
    if metrics is None:
        chosen = drawn_where_large(chosen, max(map(len, corpora.values())))
    others = {name: corpora[name] for name in (HELDOUT, TRAIN, *generated) if name in corpora}
    if TRAIN in others:
        others[TRAIN] = part_of_train(others[TRAIN], len(corpora[FLOOR]), 0)
    tasks, _ = tasks_of(corpora[FLOOR], Independence.of(corpora[FLOOR], others, independent=True), 0)
    n_texts = sum(map(len, corpora.values()))
    n_tokens = sum(len(corpus.tokens) for corpus in corpora.values())
    factor = probe() / _measured()["probe_seconds"]
    n_threads = default_workers() if workers is None else workers
    has_dd = any(metric.declaration.family == "dd" for metric in chosen)
    explained = [task for task in tasks if task.name in generated] if explain and has_dd else []
    kind = effort if prior is None else f"{effort} prior"
    work = list(_work(chosen, tasks, kind, explained, (n_texts, n_tokens)))
    if draws and has_dd:
        deciding = [
            _part(task, size)
            for task in tasks
            if task.name in draws
            for size in _sizes(draws[task.name], len(corpora[FLOOR]))
        ]
        work.append(("dd quick" if prior is None else "dd quick prior", "dd while drawing", deciding))
    stages = [_stage(key, name, seen_as, runs, factor, n_threads) for key, name, runs in work if runs]
    return Cost(n_texts, n_tokens, tuple(stages), n_threads, factor, tuple(draws.values()))


def draw_limit(budget: int | str | None, n_real: int, metrics: Sequence[MetricLike] | None) -> Budget:
    """Return how much may be drawn: without dd among the metrics (None: the default ones), as many as real texts."""
    limit = Budget.of(budget, n_real)
    names = default_metrics(()) if metrics is None else metrics
    if any(metric.declaration.family == "dd" for metric in parse_metrics(names)):
        return limit
    return Budget(min(n_real, limit.texts or n_real), None)


def _sizes(draw: DrawCost, n_real: int) -> list[int]:
    """Return the sizes at which dd is measured if all is drawn."""
    sizes = sizes_to(draw.n_least, n_real)
    while sizes[-1] < draw.n_most:
        sizes.append(min(2 * sizes[-1], draw.n_most))
    return sizes


def _part(task: Task, n: int) -> tuple[int, int]:
    """Return the texts and tokens of a task with `n` generated texts."""
    share = n / max(1, len(task.generated))
    return n + len(task.real), round(share * len(task.generated.tokens)) + len(task.real.tokens)


def _draws(
    sources: Mapping[str, Any], real: Sequence[str], budget: Budget, scored: bool, out: Path | str | None
) -> dict[str, DrawCost]:
    """Return what drawing from each generator will cost."""
    models = {name: _opened(source) for name, source in sources.items()}
    scored = scored and all(command_of(source) is None and not is_endpoint(source) for source in sources.values())
    found = request_costs(sources, len(real), budget, out)
    for name, source in sources.items():
        if name in found:
            continue
        rate, of_scores = _rate_of(name, out), 0.0 if not scored else None
        model = models[name]
        if model is not None:
            model.sample(_TRIAL // 5, seed=0)  # loads and compiles
            start = time.perf_counter()
            model.sample(_TRIAL, seed=1)
            rate = (time.perf_counter() - start) / _TRIAL if rate is None else rate
        n_most = _most(budget, rate)
        n_least = min(n_most, least_drawn(len(real), len(sources), budget))
        seconds = None if rate is None else rate * n_most
        if scored and model is not None and has_log_probs(model):
            of_scores = _seconds_of_scores(model, real) * (len(real) + n_most)
        calls = math.ceil(n_most / CALL) if "{n}" in (command_of(source) or "") else None
        found[name] = DrawCost(name, n_least, n_most, seconds, of_scores, calls)
    return found


def request_costs(
    sources: Mapping[str, Any], n_real: int, budget: Budget, out: Path | str | None = None
) -> dict[str, DrawCost]:
    """Return what drawing takes from those generators that are at endpoints, which are not asked for it."""
    found = {}
    for name, source in sources.items():
        model = endpoint_model(open_source(source)) if is_endpoint(source) else None
        if model is not None:
            rate = _rate_of(name, out)
            n_most = _most(budget, rate)
            n_least = min(n_most, least_drawn(n_real, len(sources), budget))
            seconds = None if rate is None else rate * n_most
            found[name] = DrawCost(name, n_least, n_most, seconds, requests=model.estimate(n_most))
    return found


def _most(budget: Budget, rate: float | None) -> int:
    """Return the most texts that may be drawn, where one takes `rate` seconds."""
    n_most = budget.texts or MOST
    if rate is not None and budget.seconds is not None:
        n_most = min(n_most, math.ceil(budget.seconds / max(rate, 1e-9)))
    return n_most


def _seconds_of_scores(model: Any, real: Sequence[str]) -> float:
    """Return how long the log-probability of one text takes."""
    texts = list(real[:_TRIAL])
    model.log_prob(texts[: _TRIAL // 5])
    start = time.perf_counter()
    model.log_prob(texts)
    return (time.perf_counter() - start) / len(texts)


def _opened(source: Any) -> Any:
    """Return a model of this program, in a folder or in memory; None for what may be slow to open, or cost money."""
    if isinstance(source, str | os.PathLike):
        return open_source(source) if Path(source).is_dir() else None
    return source if callable(getattr(getattr(source, "model", source), "arrays", None)) else None


def _rate_of(name: str, out: Path | str | None) -> float | None:
    """Return how long one text of a generator took, where a folder has draws of it."""
    for file in sorted((Path(out) / DRAWS).glob("*.json")) if out is not None else ():
        try:
            document = json.loads(file.read_text("utf-8"))
            if document["generator"] == name and document["texts"] > 0:
                return float(document["seconds"]) / int(document["texts"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _work(
    metrics: Sequence[Metric], tasks: Sequence[Task], kind: str, explained: Iterable[Task], whole: tuple[int, int]
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """Yield the key of each stage's figures, its name, and the texts and tokens of each of its runs.

    `kind`: of dd, its effort, and whether it has a prior.
    """
    yield "reading", "reading", [whole]
    yield "inspection", "inspection", [whole]
    families: dict[str, list[Metric]] = {}
    for metric in metrics:
        families.setdefault(metric.declaration.family, []).append(metric)
    yield f"explanation {kind}", "explanations", [_size(task, families.get("dd", [])) for task in explained]
    of_vectors = [metric for metric in metrics if metric.declaration.family in _OF_VECTORS]
    if of_vectors:
        yield "encoder", "encoder", [_size(task, of_vectors) for task in tasks]
    for family, of_family in families.items():
        names = dict.fromkeys(metric.declaration.name for metric in of_family)
        sizes = [_size(task, of_family) for task in tasks]
        yield f"dd {kind}" if family == "dd" else family, ", ".join(names), sizes


@cache
def probe() -> float:
    """Return the processor seconds that a fixed piece of sorting, counting and linear algebra takes, least of five.

    It is measured once in a process.
    """
    numbers = np.random.default_rng(0).integers(0, 1 << 40, 1 << 20)
    square = (numbers[: 1 << 18] % 1000).reshape(512, 512).astype(np.float64)
    seconds = []
    with one_blas_thread():
        for _ in range(5):
            start = time.process_time()
            np.unique(numbers, return_counts=True)
            for _ in range(4):
                square @ square
            seconds.append(time.process_time() - start)
    return min(seconds)


def _size(task: Task, metrics: Iterable[Metric] = ()) -> tuple[int, int]:
    """Return the texts and the tokens of both sides that the metrics look at."""
    drawn = [metric.settings.get(DRAWN) or math.inf for metric in metrics]
    more = [metric.settings["fit_real"] for metric in metrics if metric.settings.get("fit_real") is not None]
    together = (task.generated, task.real, *more[:1])
    sides = [(min(len(side), max(drawn, default=math.inf)), side) for side in together]
    return int(sum(n for n, _ in sides)), round(sum(len(side.tokens) * n / max(1, len(side)) for n, side in sides))


def _stage(
    key: str, name: str, seen_as: TextUnit, runs: Sequence[tuple[int, int]], factor: float, workers: int
) -> Stage:
    measured = _measured()["stages"]
    points = (seen_as == "document" and measured.get(f"{key} documents")) or measured.get(key)
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
