"""The cells of a comparison: shared work is done once, kept estimates are not computed again."""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from textassay.comparison import EstimateStore, Task, measure_cells
from textassay.corpus import Corpus, corpora_from_texts
from textassay.errors import TooFewSentencesError, UnavailableError
from textassay.estimate import Better, Estimate, Evidence, Signature


@dataclass
class CountingMetric:
    """Mean length to the power `order`, counting how often each step runs."""

    order: int = 1
    level: float = 0.95
    calls: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"counting(order={self.order})"

    @property
    def better(self) -> Better:
        return "neither"

    @property
    def shares(self) -> Hashable:
        return "counting"

    def prepare(self, real: Corpus) -> int:
        self.calls.append("prepare")
        return len(real)

    def statistics(self, state: int, generated: Corpus, *, seed: int) -> tuple[int, int]:
        self.calls.append("statistics")
        if len(generated) < 2:
            raise TooFewSentencesError("counting needs 2 sentences")
        return state, len(generated)

    def estimate(self, statistics: tuple[int, int]) -> Estimate:
        self.calls.append("estimate")
        warnings.warn("a word of care", stacklevel=1)
        value = float(statistics[1] ** self.order)
        return Estimate(
            self.name, value, None, "n", "neither", {}, Signature({"v": "1"}), evidence=Evidence(None, np.ones(2))
        )


CORPORA = corpora_from_texts({"real": ["a b", "c", "d"], "one": ["a", "b"], "two": ["c", "d"], "tiny": ["a"]})
TASKS = [Task(name, CORPORA[name], CORPORA["real"]) for name in ("one", "two")]


def make_metrics() -> tuple[list[CountingMetric], list[str]]:
    calls: list[str] = []
    return [CountingMetric(order=order, calls=calls) for order in (1, 2)], calls


def test_metrics_of_a_family_share_state_and_statistics() -> None:
    metrics, calls = make_metrics()
    steps = []
    cells = measure_cells(
        metrics,
        TASKS,
        seed=0,
        store=EstimateStore(None),
        strict=True,
        version="1",
        progress=lambda label, done, total: steps.append((label, done, total)),
    )
    assert calls.count("prepare") == 1
    assert calls.count("statistics") == 2
    assert calls.count("estimate") == 4
    estimate = cells["two", "counting(order=2)"].estimate
    assert estimate is not None
    assert estimate.value == 4.0
    assert cells["one", "counting(order=1)"].warnings == ("a word of care",)
    assert steps == [("counting of one", 0, 2), ("counting of two", 1, 2), ("done", 2, 2)]


def test_kept_estimates_are_found_again_and_only_what_is_new_is_computed(tmp_path: Path) -> None:
    metrics, calls = make_metrics()

    def run(tasks: list[Task], seed: int = 0) -> dict[tuple[str, str], float]:
        calls.clear()
        cells = measure_cells(metrics, tasks, seed=seed, store=EstimateStore(tmp_path), strict=True, version="1")
        assert all(cell.warnings == ("a word of care",) for cell in cells.values())
        return {key: float(cell.estimate) for key, cell in cells.items() if cell.estimate is not None}

    first = run(TASKS[:1])
    assert run(TASKS[:1]) == first
    assert calls == []
    assert run(TASKS).items() >= first.items()
    assert calls.count("statistics") == 1
    run(TASKS[:1], seed=1)
    assert calls.count("statistics") == 1


def test_too_few_sentences_raise_or_are_reported() -> None:
    metrics, _ = make_metrics()
    task = [Task("tiny", CORPORA["tiny"], CORPORA["real"])]
    cells = measure_cells(metrics, task, seed=0, store=EstimateStore(None), strict=False, version="1")
    assert cells["tiny", "counting(order=1)"].error == "counting needs 2 sentences"
    with pytest.raises(TooFewSentencesError):
        measure_cells(metrics, task, seed=0, store=EstimateStore(None), strict=True, version="1")


def test_what_stands_beside_an_asked_row_may_lack_sentences() -> None:
    tasks = [Task("(real)", CORPORA["tiny"], CORPORA["real"], requested=False), TASKS[0]]
    cells = measure_cells(make_metrics()[0], tasks, seed=0, store=EstimateStore(None), strict=True, version="1")
    assert cells["(real)", "counting(order=1)"].error == "counting needs 2 sentences"
    assert cells["one", "counting(order=1)"].estimate is not None


def test_columns_decide_for_metrics_that_read_them_only(tmp_path: Path) -> None:
    metric = CountingMetric()

    def run(column: float, reads: bool) -> None:
        metric.calls.clear()
        real = replace(CORPORA["real"], columns={"features": np.full(3, column)})
        tasks = [Task("one", CORPORA["one"], real)]
        chosen = ColumnCounting(calls=metric.calls) if reads else metric
        measure_cells([chosen], tasks, seed=0, store=EstimateStore(tmp_path), strict=True, version="1")

    @dataclass
    class ColumnCounting(CountingMetric):
        reads_columns = True

    run(0.0, reads=False)
    run(1.0, reads=False)
    assert metric.calls == []
    run(0.0, reads=True)
    assert metric.calls.count("statistics") == 1
    run(1.0, reads=True)
    assert metric.calls.count("statistics") == 1
    run(1.0, reads=True)
    assert metric.calls == []


def test_what_is_missing_raises_where_it_was_asked_for_and_is_said_elsewhere() -> None:
    @dataclass
    class Wanting(CountingMetric):
        def statistics(self, state: int, generated: Corpus, *, seed: int) -> tuple[int, int]:
            raise UnavailableError("there are no ratings")

    cells = measure_cells([Wanting()], TASKS, seed=0, store=EstimateStore(None), strict=False, version="1")
    assert cells["one", "counting(order=1)"].error == "there are no ratings"
    with pytest.raises(UnavailableError, match="one: there are no ratings"):
        measure_cells([Wanting()], TASKS, seed=0, store=EstimateStore(None), strict=True, version="1")


def test_beyond_its_limit_a_metric_says_so_instead_of_running() -> None:
    metrics, calls = make_metrics()
    limits = {metric.name: 2 for metric in metrics}
    cells = measure_cells(metrics, TASKS, seed=0, store=EstimateStore(None), strict=False, version="1", limits=limits)
    assert calls == []
    assert "to measure over 2, got 3" in str(cells["one", "counting(order=1)"].error)


def test_what_is_prepared_for_columns_is_prepared_anew_for_others() -> None:
    @dataclass
    class Column(CountingMetric):
        reads_columns = True

        def prepare(self, real: Corpus) -> int:
            return int(real.columns["features"][0])

        def statistics(self, state: int, generated: Corpus, *, seed: int) -> tuple[int, int]:
            return state, state

    tasks = [
        Task(name, CORPORA[name], replace(CORPORA["real"], columns={"features": np.full(3, float(column))}))
        for name, column in (("one", 5), ("two", 7))
    ]
    cells = measure_cells([Column()], tasks, seed=0, store=EstimateStore(None), strict=True, version="1")
    assert [float(cell.estimate) for cell in cells.values() if cell.estimate is not None] == [5.0, 7.0]


def test_what_makes_no_sense_is_not_computed() -> None:
    metrics, calls = make_metrics()
    task = replace(TASKS[0], senseless={metric.name: "it counts itself" for metric in metrics})
    cells = measure_cells(metrics, [task], seed=0, store=EstimateStore(None), strict=True, version="1")
    assert calls == []
    assert {cell.error for cell in cells.values()} == {"it counts itself"}


def test_another_level_is_another_estimate(tmp_path: Path) -> None:
    def run(level: float) -> list[str]:
        metric = CountingMetric(level=level)
        measure_cells([metric], TASKS[:1], seed=0, store=EstimateStore(tmp_path), strict=True, version="1")
        return metric.calls

    everything = ["prepare", "statistics", "estimate"]
    assert [run(0.95), run(0.9), run(0.95)] == [everything, everything, []]
