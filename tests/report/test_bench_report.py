"""What is printed, written and drawn of a bench, from cells made by hand."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from textassay.errors import OutputError
from textassay.meta_evaluation import Bench
from textassay.meta_evaluation.bench import BenchCell
from textassay.report import bench_document, draw_bench, render_bench, seeds_told, write_bench

CELL = BenchCell("plain", "news", "order-2-of-4", "order-of-4", "ngram", False, 100, 500, "dd", 0.2, 0.15, 0.25, 0.95,
            0.1, "lower", 0.8, 0.79, 0.81, 1.5, 2.5)  # fmt: skip


def _bench(*cells: BenchCell) -> Bench:
    names, sizes = (tuple(dict.fromkeys(getattr(c, key) for c in cells)) for key in ("estimator", "n"))
    return Bench(cells, names, sizes, (100,), {"news": 1000})


def _printed(bench: Bench) -> str:
    console = Console(file=io.StringIO(), width=120)
    render_bench(bench, console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_tables_show_shares_truths_and_growth() -> None:
    second = replace(CELL, n=1000, value=0.4, seconds=3.0)
    text = _printed(_bench(CELL, second))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.split()}
    assert rows["order-2-of-4"] == ["order-2-of-4", "0.800", "0.400"]
    shares = next(line.split() for line in text.splitlines() if line.split()[:1] == ["plain"])
    assert shares == ["plain", "1", "0.500", "1.00", "n/a", "n/a", "n/a", "3.0", "2.5"]
    growth = text.split("Mean share by texts a side")[1]
    assert "0.250  0.500" in growth
    assert "1 of 1" in text


def test_a_cell_without_a_value_is_said_to_have_none() -> None:
    text = _printed(_bench(CELL, replace(CELL, estimator="fed", metric="fed", value=None, bound=None)))
    assert "order-2-of-4  0.800  0.200  n/a" in text


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ([100], "Seeds 100 (for tests)."),
        ([0, 1, 2, 99], "Seeds 0-2, 99 (for development: report nothing of them)."),
        ([99, 100, 101], "Seeds 99 (for development: report nothing of them), 100-101 (for tests)."),
    ],
)
def test_seeds_are_told_apart(seeds: list[int], told: str) -> None:
    assert seeds_told(seeds) == told


def test_the_figure_is_of_estimators_of_the_discrepancy() -> None:
    drawing = draw_bench(_bench(CELL, replace(CELL, estimator="fed", metric="fed")))
    assert drawing is not None
    assert "plain" in drawing.svg
    assert "fed" not in drawing.svg
    assert draw_bench(_bench(replace(CELL, estimator="fed", metric="fed"))) is None


def test_files_are_whole_and_the_same_each_time(tmp_path: Path) -> None:
    bench = _bench(CELL)
    written = write_bench(bench, tmp_path)
    before = [path.read_bytes() for path in written]
    assert json.loads(before[0]) == json.loads(json.dumps(bench_document(bench)))
    assert [path.read_bytes() for path in write_bench(bench, tmp_path)] == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.csv", "bench.json", "bench.svg"]
    with pytest.raises(OutputError, match="cannot write to"):
        write_bench(bench, tmp_path / "absent")
