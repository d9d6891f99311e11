"""A mark says what the numbers beside it say: in every table the marked rows are those whose printed value is best."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from made_up_comparisons import CLOSE_METRICS, make_measured
from textassay.comparison import FLOOR, Comparison
from textassay.report import Digest, render, text, text_tables, to_csv, to_html, to_latex, to_markdown

SEEDS = range(5)
NUMBER = re.compile(r"-?\d[\d,]*\.\d+")
HEADLINES = {"dd": CLOSE_METRICS, "lm-score": dict(reversed(CLOSE_METRICS.items()))}


@dataclass
class Cell:
    """A printed number, whether it is marked, and what real text scores where that stands in the cell."""

    value: float
    marked: bool
    own_floor: float | None = None


Column = dict[str, Cell]  # row to cell


def _number(text: str) -> float | None:
    found = NUMBER.search(text.replace("\N{MINUS SIGN}", "-").replace("$-$", "-"))
    return None if found is None else float(found[0].replace(",", ""))


def _cell(text: str, *, marked: bool, own: str = "") -> Cell | None:
    value = _number(text)
    return None if value is None else Cell(value, marked, _number(own))


def _terminal(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> dict[str, Column]:
    tables: list[Table] = []
    for module in (text, text_tables):
        monkeypatch.setattr(module, "print_table", lambda console, table, **_: tables.append(table))
    render(comparison, Console(file=io.StringIO(), width=100), whole=True)
    found: dict[str, Column] = {}
    for table in tables:
        names = [str(cell) for cell in table.columns[0].cells]
        family = ""
        for column in table.columns[1:]:
            lines = [part.strip(" ↓↑≈") for part in str(column.header).split("\n")]
            family = lines[0] or family
            metric = f"{family}({lines[1]})" if len(lines) > 1 and lines[1] else family
            if metric in comparison.metrics and metric not in found:
                cells = [cell.plain if isinstance(cell, Text) else str(cell) for cell in column.cells]
                rows = {n: _cell(c, marked=c.startswith("*")) for n, c in zip(names, cells, strict=True)}
                found[metric] = {name: cell for name, cell in rows.items() if cell is not None}
    return found


def _markdown(comparison: Comparison, _: pytest.MonkeyPatch) -> dict[str, Column]:
    found: dict[str, Column] = {}
    headline, header = Digest(comparison).headline, [""]
    for line in to_markdown(comparison).split("## Pairs")[0].splitlines():
        cells = [part.strip() for part in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "generator":
            header = [cell.strip(" ↓↑≈").replace("\\", "") for cell in cells]
        elif cells and not cells[0].startswith("---"):
            name = cells[0].strip("*").replace("\\", "")
            for metric, cell in zip(header, cells, strict=True):
                if metric in comparison.metrics:
                    marked = "**" in (cells[0] if metric == headline else cell)
                    made = _cell(cell.strip("*"), marked=marked, own=cell.partition("real")[2])
                    if made is not None:
                        found.setdefault(metric, {})[name] = made
    return found


def _latex(comparison: Comparison, _: pytest.MonkeyPatch) -> dict[str, Column]:
    found: dict[str, Column] = {}
    digest = Digest(comparison)
    for table in to_latex(comparison).split(r"\begin{tabular}")[1:]:
        families: list[str] = []
        header: list[str] = []
        for line in table.splitlines():
            cells = [part.strip() for part in line.removesuffix(r"\\").split("&")]
            if r"\multicolumn" in line:
                for width, name in re.findall(r"\\multicolumn\{(\d)\}\{c\}\{([\w-]+)", line):
                    families += [name] * int(width)
            elif cells[0] == "generator":
                plain = [re.sub(r" ?\$.*", "", cell) for cell in cells[1:]]
                header = [f"{f}({v})" if v else f for f, v in zip(families, plain, strict=True)] if families else plain
            elif len(cells) > 1 and header:
                for metric, cell in zip(header, cells[1:], strict=True):
                    made = _cell(cell, marked=r"\textbf" in cell)
                    if metric in digest.metrics and made is not None:
                        found.setdefault(metric, {}).setdefault(cells[0], made)
    return found


def _html(comparison: Comparison, _: pytest.MonkeyPatch) -> dict[str, Column]:
    found: dict[str, Column] = {}
    page = to_html(comparison, (), {})
    headline = Digest(comparison).headline or ""
    for part in page.split("<table")[1:]:
        table = part.split("</table>")[0]
        head = table.split("<tbody")[0]
        if 'class="metric-table"' in part:
            first, second = [*head.split("</tr>"), ""][:2]
            spans = re.findall(r'(?:colspan="(\d)"[^>]*)?>([\w-]+) ?[↓↑≈]?</th>', first)
            families = [name for width, name in spans if name != "generator" for _ in range(int(width or 1))]
            below = re.findall(r"<th scope=\"col\">([^<]*)</th>", second) or [""] * len(families)
            metrics = [f"{f}({v})" if v else f for f, v in zip(families, below, strict=True)]
        elif f">{headline}</th>" in head and "interval" in head:
            metrics = [headline]
        else:
            continue
        for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table, re.DOTALL):
            name = re.sub("<[^>]*>", "", row.split("</th>")[0])
            cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
            for metric, cell in zip(metrics, cells[1:2] if metrics == [headline] else cells, strict=True):
                marked = 'class="best"' in (row.split("</th>")[0] if metrics == [headline] else cell)
                made = _cell(cell, marked=marked, own=cell.partition("real-like")[2])
                if made is not None:
                    found.setdefault(metric, {})[name] = made
    return found


READERS = {"terminal": _terminal, "Markdown": _markdown, "LaTeX": _latex, "page": _html}


def _badness(column: Mapping[str, Cell], comparison: Comparison, metric: str) -> dict[str, float]:
    """Return how far each generator's printed value is from the best there could be, by what is printed."""
    found = {}
    better = comparison.result(FLOOR, metric).better
    for name in comparison.generators:
        if name not in column:
            continue
        cell = column[name]
        own = column.get(f"{FLOOR} of 150") if name == "small" else column[FLOOR]
        floor = cell.own_floor if cell.own_floor is not None else own.value if own is not None else column[FLOOR].value
        found[name] = {"lower": cell.value, "higher": -cell.value, "closer": abs(cell.value - floor)}[better]
    return found


def _significant(comparison: Comparison, metric: str) -> Iterator[tuple[str, str]]:
    """Yield (better, worse) of all pairs that are separated."""
    sign = 1 if comparison.result(FLOOR, metric).better == "higher" else -1
    for pair in comparison.pairs:
        if pair.metric == metric and pair.p_adjusted is not None and pair.p_adjusted < 0.05:
            assert pair.difference is not None
            yield (pair.a, pair.b) if sign * pair.difference > 0 else (pair.b, pair.a)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("headline", HEADLINES)
def test_marked_rows_are_those_whose_printed_value_is_best(
    reader: str, headline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_marked, n_plain = 0, 0
    for seed in SEEDS:
        comparison = make_measured(seed, metrics=HEADLINES[headline])
        columns = READERS[reader](comparison, monkeypatch)
        assert set(columns) == set(comparison.metrics)
        for metric, column in columns.items():
            bad = _badness(column, comparison, metric)
            assert len(bad) >= 3
            marked = {name for name in bad if column[name].marked}
            worse = {loser for _, loser in _significant(comparison, metric)}
            compared = {name for p in comparison.pairs if p.metric == metric and p.p is not None for name in (p.a, p.b)}
            assert marked == ((compared - worse) if worse & compared else set()), (seed, metric)
            if marked:
                assert min(bad[name] for name in marked) <= min(bad[name] for name in compared) + 0.0011, (seed, metric)
            for winner, loser in _significant(comparison, metric):
                assert bad[winner] < bad[loser], (seed, metric)
            n_marked += len(marked)
            n_plain += len(worse)
    assert min(n_marked, n_plain) > 20


def test_files_say_by_which_value_rows_are_ranked() -> None:
    comparison = make_measured(0)
    results = json.loads(json.dumps(comparison.to_dict()))["results"]
    rows = list(csv.DictReader(io.StringIO(to_csv(comparison))))
    for result, row in zip(results, rows, strict=True):
        by = {"closer": "matched_value", "neither": None}.get(result["better"], "value")
        assert result["ranked_by"] == (row["ranked_by"] or None) == by
        assert result["value"] == comparison.result(result["generator"], result["metric"]).estimate.value  # type: ignore[union-attr]
    assert Comparison.from_dict(comparison.to_dict()).to_dict() == comparison.to_dict()
