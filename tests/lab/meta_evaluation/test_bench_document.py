"""What is printed, written and drawn of a bench, from cells made by hand."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from textassay.report.drawing import draw_svg
from textassay.report.files import document_files
from textassay.report.terminal import print_document
from textassay_lab.meta_evaluation.bench import Bench, BenchCell
from textassay_lab.meta_evaluation.bench_document import bench_document, seeds_sentence

CELL = BenchCell("plain", "news", "order-2-of-4", "order-of-4", "ngram", False, 100, 500, 500, 0, "dd", 0.2, 0.15, 0.25,
            0.95, 0.1, "lower", 0.8, 0.79, 0.81, 1.5, 2.5)  # fmt: skip


def _bench(*cells: BenchCell) -> Bench:
    names, sizes = (tuple(dict.fromkeys(getattr(c, key) for c in cells)) for key in ("estimator", "n"))
    return Bench(cells, names, sizes, (100,), {"news": 1000})


def _printed(bench: Bench) -> str:
    console = Console(file=io.StringIO(), width=120)
    print_document(bench_document(bench), console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_tables_show_shares_truths_and_growth() -> None:
    second = replace(CELL, n=1000, value=0.4, seconds=3.0)
    text = _printed(_bench(CELL, second))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.split()}
    assert rows["order-2-of-4"] == ["order-2-of-4", "0.800", "0.400"]
    shares = next(line.split() for line in text.splitlines() if line.split()[:2] == ["plain", "1"])
    assert shares == ["plain", "1", "0.500", "1.00", "n/a", "n/a", "n/a", "3.0", "2.5"]
    growth = text.split("Mean share by texts a side")[1]
    assert "0.250  0.500" in growth
    assert "1 of 1" in text


def test_a_cell_without_a_value_is_said_to_have_none() -> None:
    text = _printed(_bench(CELL, replace(CELL, estimator="fed", metric="fed", value=None, bound=None)))
    assert "order-2-of-4  0.800  0.200  n/a" in text


def test_what_each_discriminator_finds_by_itself_is_told_without_controls() -> None:
    members = replace(CELL, alone={"logistic": 0.1, "blend": 0.2})
    control = replace(members, world="identical-2", kind="identical", truth=0.0)
    other = replace(members, world="order-1-of-4", alone={"logistic": 0.5, "blend": None})
    text = _printed(_bench(members, control, other)).split("finds by itself, 500 texts a side")[1]
    rows = [line.split() for line in text.splitlines() if line.split()[:1] == ["plain"]]
    assert rows == [["plain", "logistic", "2", "0.375"], ["plain", "blend", "1", "0.250"]]
    assert "by itself" not in _printed(_bench(CELL))


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ([100], "Seeds 100 (for tests)."),
        ([0, 1, 2, 99], "Seeds 0-2, 99 (for development only: do not report them)."),
        ([99, 100, 101], "Seeds 99 (for development only: do not report them), 100-101 (for tests)."),
    ],
)
def test_seeds_are_told_apart(seeds: list[int], told: str) -> None:
    assert seeds_sentence(seeds) == told


def test_the_figure_is_of_estimators_of_the_discrepancy() -> None:
    (figure,) = bench_document(_bench(CELL, replace(CELL, estimator="fed", metric="fed"))).figures
    drawn = draw_svg(figure)
    assert "plain" in drawn
    assert "fed" not in drawn
    assert bench_document(_bench(replace(CELL, estimator="fed", metric="fed"))).figures == ()


def test_the_answer_names_what_finds_most() -> None:
    better = replace(CELL, estimator="quick", value=0.4)
    assert bench_document(_bench(CELL, better)).answer == (
        "quick finds most of the true discrepancy: a share of 0.500 at 500 texts a side; plain 0.250.",
    )


def test_of_equal_generators_alone_the_answer_says_who_stays_near_0() -> None:
    equal = replace(CELL, kind="identical", world="identical-4", truth=0.0)
    near = [replace(equal, seed=seed, value=0.01, low=-0.04, high=0.06) for seed in (100, 101)]
    far = [replace(near[0], estimator="quick"), replace(near[1], estimator="quick", value=0.2, low=0.15, high=0.25)]
    assert bench_document(_bench(*near, *far)).answer == (
        "Within two standard errors of 0 where generators are equal: plain 2 of 2 and quick 1 of 2.",
    )


def test_files_hold_every_cell_and_are_the_same_each_time() -> None:
    files = document_files(bench_document(_bench(CELL)), stem="bench")
    assert files == document_files(bench_document(_bench(CELL)), stem="bench")
    assert sorted(files) == ["bench.csv", "bench.html", "bench.md", "bench.tex", "figures/bench.svg"]
    header, row = str(files["bench.csv"]).splitlines()
    values = dict(zip(header.split(","), row.split(","), strict=True))
    assert values["value"] == "0.2"
    assert values["cpu_seconds"] == "2.5"
    assert "chosen" not in values
