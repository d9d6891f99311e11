"""Tables for files: long CSV in full precision, Markdown that shows and does not interpret, tables over runs."""

import csv
import io
import math

import numpy as np
import pytest

from made_up_comparisons import METRICS, REVIEWS, make_comparison, make_findings
from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.document import RESULT_COLUMNS, comparison_markdown, results_record
from textassay.comparison.runs_table import over_runs, runs_table
from textassay.errors import OptionError
from textassay.report.files import to_csv


def _rows(comparison: Comparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(results_record(comparison)))))


def test_csv_has_one_line_a_cell_in_full_precision() -> None:
    comparison = make_comparison(REVIEWS, missing=True)
    rows = _rows(comparison)
    assert tuple(rows[0]) == RESULT_COLUMNS
    assert len(rows) == len(comparison.results) == len(METRICS) * (len(REVIEWS) + 1)
    for row, result in zip(rows, comparison.results, strict=True):
        assert (row["generator"], row["metric"]) == (result.generator, result.metric)
        if result.estimate is None:
            assert row["value"] == row["signature"] == ""
            assert row["error"] == result.error
        elif math.isnan(result.estimate.value):
            assert row["value"] == ""
        else:
            assert float(row["value"]) == result.estimate.value
            assert row["signature"] == str(result.estimate.signature)
        if result.matched is not None:
            assert float(row["matched_value"]) == result.matched.value
    ranks = {(rank.generator, rank.metric): rank for rank in comparison.ranks}
    assert rows[1]["rank_low"] == str(ranks[rows[1]["generator"], "dd"].low)


def test_csv_survives_names_with_separators() -> None:
    name = 'a,"b"\nc'
    assert [row["generator"] for row in _rows(make_comparison((name, "d")))][1] == name


def test_markdown_has_tables_of_equal_width_and_escapes() -> None:
    generators = ("a|b", "<b>c</b>", "d_e*f*")
    text = comparison_markdown(make_comparison(generators, missing=True, findings=make_findings(generators)))
    text = text.split("## To repeat the comparison")[0]  # what follows is code, which nothing interprets
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert tables
    assert "<b>" not in text
    assert "<script>" not in text
    assert "a\\|b" in text
    plain = [line.replace("\\|", "") for line in tables]
    widths = []
    for number, line in enumerate(plain):
        if number and "---" in line:
            widths.append(plain[number - 1].count("|") - line.count("|"))
    assert set(widths) == {0}
    assert "n/a" in text


def test_markdown_tells_what_gives_them_away() -> None:
    text = comparison_markdown(make_comparison(("a", "b_b", "c"), explained=True))
    told = text.split("## What gives them away")[1].split("\n## ")[0]
    parts = told.split("\n### ")[1:]
    assert [part.split("\n")[0] for part in parts] == ["a", "b\\_b"]
    assert '" at the end (2.4 %, real 0.1 %)' in parts[0]
    assert '"w0" (0.9 %, real 9.0 %)' in parts[0]
    assert "Says too often: no n-gram stands out for c." in parts[1]
    plain = make_comparison(("a", "b"), metrics={"length": "lower"})
    assert "What gives them away" not in comparison_markdown(plain)


@pytest.mark.feature("A-11")
def test_table_over_runs_carries_mean_and_spread() -> None:
    runs = [make_comparison(("a", "b"), seed=seed) for seed in range(5)]
    cells = over_runs(runs)
    values = [_value(run, "a", "dd") for run in runs]
    mean = sum(values) / 5
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / 4)
    assert cells["a", "dd"].mean == pytest.approx(mean, rel=1e-12)
    assert cells["a", "dd"].sd == pytest.approx(spread, rel=1e-12)
    assert cells["a", "dd"].n_runs == 5
    table = runs_table(runs).splitlines()
    shown = next(line for line in table if line.startswith("| a |")).split("|")
    assert shown[2].strip() == f"{mean:.3f} ± {spread:.3f}"
    assert any(line.startswith(f"| {FLOOR} |") for line in table)
    assert "5 runs" in table[-1]


def test_table_over_runs_counts_only_runs_with_a_value() -> None:
    whole, gone = make_comparison(("a", "b")), make_comparison(("a", "b"), seed=1, missing=True)
    cells = over_runs([whole, gone])
    assert cells["b", "length"].n_runs == 1
    assert np.isnan(cells["b", "length"].sd)
    assert " ± " not in next(line for line in runs_table([whole]).splitlines() if line.startswith("| a |"))


def test_runs_need_seeds_of_their_own() -> None:
    with pytest.raises(OptionError, match="its own seed, got 0, 0"):
        over_runs([make_comparison(), make_comparison()])
    with pytest.raises(OptionError, match="at least one"):
        over_runs([])


def _value(comparison: Comparison, generator: str, metric: str) -> float:
    estimate = comparison.result(generator, metric).estimate
    assert estimate is not None
    return estimate.value
