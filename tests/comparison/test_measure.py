"""The cells of a comparison: shared work is done once, kept estimates are not computed again."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from textassay.comparison.measure import EstimateStore, Task, measure_cells
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import TooFewSentencesError, UnavailableError
from textassay.inspection.dependence import Examined
from textassay.metric.base import Computed, Metric, Setting, compute_once, declare_metric

CALLS: list[str] = []  # what was computed, in order
CORPORA = corpora_from_texts({"real": ["a b", "c", "d"], "one": ["a", "b"], "two": ["c", "d"], "tiny": ["a"]})
TASKS = [Task(name, Examined.unexamined(CORPORA[name], CORPORA["real"])) for name in ("one", "two")]


def _of_real(real: Corpus) -> int:
    CALLS.append("real")
    return len(real)


def _of_pair(generated: Corpus, real: Corpus) -> tuple[int, int]:
    CALLS.append("pair")
    return compute_once(_of_real, real), len(generated)


@declare_metric("counting", better="neither", at_least=2, reads_columns=lambda settings: settings["reads"])
def counting(
    generated: Corpus, real: Corpus, *, order: Annotated[int, Setting(is_shown=True)] = 1, reads: bool = False
) -> Computed:
    """Number of texts to the power `order`."""
    CALLS.append("value")
    warnings.warn("a word of care", stacklevel=1)
    if reads:
        return Computed(float(real.columns["features"][0]), terms={"generated": np.arange(2.0)})
    return Computed(float(compute_once(_of_pair, generated, real)[1] ** order), terms={"generated": np.arange(2.0)})


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def both(level: float = 0.95) -> list[Metric]:
    return [counting.declaration.with_settings(order=order, level=level) for order in (1, 2)]


def test_metrics_of_a_family_share_work() -> None:
    steps = []
    cells = measure_cells(
        both(),
        TASKS,
        seed=0,
        store=EstimateStore(None),
        strict=True,
        version="1",
        progress=lambda label, done, total: steps.append((label, done, total)),
    )
    assert [CALLS.count(part) for part in ("real", "pair", "value")] == [1, 2, 4]
    estimate = cells["two", "counting(order=2)"].estimate
    assert estimate is not None
    assert estimate.value == 4.0
    assert cells["one", "counting(order=1)"].warnings == ("a word of care",)
    assert steps == [("counting of one", 0, 2), ("counting of two", 1, 2), ("done", 2, 2)]


def test_kept_estimates_are_found_again_and_only_what_is_new_is_computed(tmp_path: Path) -> None:
    def run(tasks: list[Task], seed: int = 0) -> dict[tuple[str, str], float]:
        CALLS.clear()
        cells = measure_cells(both(), tasks, seed=seed, store=EstimateStore(tmp_path), strict=True, version="1")
        assert all(cell.warnings == ("a word of care",) for cell in cells.values())
        return {key: float(cell.estimate) for key, cell in cells.items() if cell.estimate is not None}

    first = run(TASKS[:1])
    assert run(TASKS[:1]) == first
    assert CALLS == []
    assert run(TASKS).items() >= first.items()
    assert CALLS.count("pair") == 1
    run(TASKS[:1], seed=1)
    assert CALLS.count("pair") == 1


def test_too_few_sentences_raise_or_are_reported() -> None:
    task = [Task("tiny", Examined.unexamined(CORPORA["tiny"], CORPORA["real"]))]
    cells = measure_cells(both(), task, seed=0, store=EstimateStore(None), strict=False, version="1")
    assert cells["tiny", "counting(order=1)"].error == (
        "counting needs at least 2 texts a side, the generated corpus has 1"
    )
    with pytest.raises(TooFewSentencesError):
        measure_cells(both(), task, seed=0, store=EstimateStore(None), strict=True, version="1")


def test_what_stands_beside_an_asked_row_may_lack_sentences() -> None:
    tasks = [Task("(real)", Examined.unexamined(CORPORA["tiny"], CORPORA["real"]), requested=False), TASKS[0]]
    cells = measure_cells(both(), tasks, seed=0, store=EstimateStore(None), strict=True, version="1")
    assert "needs at least 2 texts" in str(cells["(real)", "counting(order=1)"].error)
    assert cells["one", "counting(order=1)"].estimate is not None


def test_columns_decide_for_metrics_that_read_them_only(tmp_path: Path) -> None:
    def run(column: float, reads: bool) -> int:
        CALLS.clear()
        real = replace(CORPORA["real"], columns={"features": np.full(3, column)})
        tasks = [Task("one", Examined.unexamined(CORPORA["one"], real))]
        chosen = counting.declaration.with_settings(reads=reads)
        measure_cells([chosen], tasks, seed=0, store=EstimateStore(tmp_path), strict=True, version="1")
        return CALLS.count("value")

    assert [run(column, reads=False) for column in (0.0, 1.0)] == [1, 0]
    assert [run(column, reads=True) for column in (0.0, 1.0, 1.0)] == [1, 1, 0]


def test_what_is_missing_raises_where_it_was_asked_for_and_is_said_elsewhere() -> None:
    @declare_metric("wanting")
    def wanting(generated: Corpus, real: Corpus) -> float:
        raise UnavailableError("there are no ratings")

    metrics = [wanting.declaration.with_settings()]
    cells = measure_cells(metrics, TASKS, seed=0, store=EstimateStore(None), strict=False, version="1")
    assert cells["one", "wanting"].error == "there are no ratings"
    with pytest.raises(UnavailableError, match="one: there are no ratings"):
        measure_cells(metrics, TASKS, seed=0, store=EstimateStore(None), strict=True, version="1")


def test_what_makes_no_sense_is_not_computed() -> None:
    task = replace(TASKS[0], senseless={metric.name: "it counts itself" for metric in both()})
    cells = measure_cells(both(), [task], seed=0, store=EstimateStore(None), strict=True, version="1")
    assert CALLS == []
    assert {cell.error for cell in cells.values()} == {"it counts itself"}


def test_another_level_is_another_estimate(tmp_path: Path) -> None:
    def run(level: float) -> int:
        CALLS.clear()
        measure_cells(both(level)[:1], TASKS[:1], seed=0, store=EstimateStore(tmp_path), strict=True, version="1")
        return CALLS.count("value")

    assert [run(0.95), run(0.9), run(0.95)] == [1, 1, 0]
