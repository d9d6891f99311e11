"""A mark says what the numbers beside it say: in every table the marked rows are those whose printed value is best.

Where generators are ranked by all texts but shown at the floor's size, the value of all texts is the one behind "all".
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape

import pytest
from rich.console import Console
from rich.table import Table

from made_up_comparisons import CLOSE_METRICS, make_measured
from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_document, comparison_latex, comparison_markdown, results_record
from textassay.report import terminal
from textassay.report.files import to_csv
from textassay.report.page import to_html
from textassay.report.terminal import print_document

SEEDS = range(5)
NUMBER = re.compile(r"-?\d[\d,]*\.\d+")
HEADLINES = {"dd": CLOSE_METRICS, "lm-score": dict(reversed(CLOSE_METRICS.items()))}


@dataclass
class Cell:
    """A printed number, whether it is marked, and what stands in the cell below it: of all texts, of real text."""

    value: float
    marked: bool
    of_all: float | None = None
    own_floor: float | None = None


Column = dict[str, Cell]  # row to cell


def _number(text: str) -> float | None:
    found = NUMBER.search(text.replace("\N{MINUS SIGN}", "-").replace("$-$", "-"))
    return None if found is None else float(found[0].replace(",", ""))


def _cell(text: str, *, marked: bool) -> Cell | None:
    value = _number(text.split("n/a")[0])
    return None if value is None else Cell(value, marked, _behind("all ", text), _behind("real ", text))


def _behind(word: str, text: str) -> float | None:
    return _number(text.partition(word)[2])


def _metric(comparison: Comparison, *parts: str) -> str | None:
    """Return the metric that a head names: with its variant in brackets, or behind its family."""
    words = " ".join(parts).strip(" ↓↑≈").split()
    name = words[0] if len(words) == 1 else f"{words[0]}({words[1]})" if words else ""
    return name if name in comparison.metrics else None


def _terminal(comparison: Comparison) -> dict[str, list[Column]]:
    tables: list[Table] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "print_table", lambda console, table, **_: tables.append(table))
        print_document(comparison_document(comparison), Console(file=io.StringIO(), width=100), everything=False)
    found: dict[str, list[Column]] = {}
    for table in tables:
        names = [str(cell) for cell in table.columns[0].cells]
        group = ""
        for head in table.columns[1:]:
            lines = str(head.header).split("\n")
            group = (lines[0].strip() or group) if len(lines) > 1 else ""
            metric = _metric(comparison, re.sub(" [↓↑≈]", "", group), lines[-1])
            if metric is None:
                continue
            column: Column = {}
            for name, cell in zip(names, map(str, head.cells), strict=True):
                made = _cell(cell, marked=cell.startswith("*"))
                if made is not None:
                    column[name] = made
            found.setdefault(metric, []).append(column)
    return found


def _markdown(comparison: Comparison) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    columns: list[Column | None] = []
    for line in comparison_markdown(comparison).split("## Pairs")[0].splitlines():
        cells = [part.strip() for part in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "generator":
            columns = []
            for head in cells:
                metric = _metric(comparison, head.replace("\\", ""))
                columns.append(None if metric is None else {})
                if metric is not None:
                    found.setdefault(metric, []).append(columns[-1])  # type: ignore[arg-type]
        elif cells and not cells[0].startswith("---"):
            for column, cell in zip(columns, cells, strict=True):
                made = _cell(cell.strip("*"), marked="**" in cell)
                if column is not None and made is not None:
                    column[cells[0].replace("\\", "")] = made
    return found


def _latex(comparison: Comparison) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for table in comparison_latex(comparison, everything=True).split(r"\begin{tabular}")[1:]:
        groups: list[str] = []
        columns: list[Column | None] = []
        name = ""
        for line in table.splitlines():
            cells = [part.strip() for part in line.removesuffix(r"\\").split("&")]
            if r"\multicolumn" in line:
                for cell in cells[1:]:
                    span = re.match(r"\\multicolumn\{(\d)\}\{c\}\{([^}]*)\}", cell)
                    groups += [""] if span is None else [re.sub(r" ?\$.*", "", span[2])] * int(span[1])
            elif cells[0] == "generator":
                heads = [re.sub(r" ?\$.*", "", cell) for cell in cells[1:]]
                for group, head in zip(groups or [""] * len(heads), heads, strict=True):
                    metric = _metric(comparison, group, head)
                    columns.append(None if metric is None else {})
                    if metric is not None:
                        found.setdefault(metric, []).append(columns[-1])  # type: ignore[arg-type]
            elif len(cells) > 1 and columns:
                name = cells[0] or name
                for column, cell in zip(columns, cells[1:], strict=True):
                    made = _cell(cell, marked=r"\textbf" in cell)
                    if column is None or made is None:
                        continue
                    if cells[0]:
                        column[name] = made
                    elif name in column:
                        column[name].of_all, column[name].own_floor = _behind("all ", cell), _behind("real ", cell)
    return found


def _html(comparison: Comparison) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    page = to_html(comparison_document(comparison), _Blank())
    for table in re.findall(r"<table[^>]*>.*?</table>", page, re.DOTALL):
        *groups, heads = re.findall(r"<tr>.*?</tr>", table.split("<tbody>")[0], re.DOTALL)
        spans = re.findall(r'<th[^>]*colspan="(\d+)"[^>]*>(.*?)</th>', "".join(groups))
        names = [name for width, name in spans for _ in range(int(width))]
        variants = re.findall(r"<th[^>]*>(.*?)</th>", heads)
        parts = zip(names or [""] * len(variants), variants, strict=True)
        metrics = [_metric(comparison, re.sub(" [↓↑≈]", "", name), variant) for name, variant in parts]
        columns: list[Column] = [{} for _ in metrics]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL):
            cells = re.findall(r"<t[hd]\b([^>]*)>(.*?)</t[hd]>", row, re.DOTALL)
            if len(cells) != len(columns):
                continue
            name = re.sub("<[^>]*>", "", unescape(cells[0][1]))
            for column, (attributes, cell) in zip(columns, cells, strict=True):
                made = _cell(cell, marked=re.search(r'class="[^"]*\bbest\b', attributes) is not None)
                if made is not None:
                    column[name] = made
        for metric, column in zip(metrics, columns, strict=True):
            if metric is not None:
                found.setdefault(metric, []).append(column)
    return found


class _Blank(dict[str, str]):
    """Drawings that show nothing."""

    def get(self, name: str, default: str | None = None) -> str:  # type: ignore[override]
        return '<svg viewBox="0 0 1 1"></svg>'


READERS: dict[str, Callable[[Comparison], dict[str, list[Column]]]] = {
    "terminal": _terminal,
    "Markdown": _markdown,
    "LaTeX": _latex,
    "page": _html,
}


def _badness(column: Mapping[str, Cell], comparison: Comparison, metric: str) -> dict[str, float]:
    """Return how far each generator's printed value is from the best there could be, by what is printed."""
    found = {}
    of_floor = comparison.result(FLOOR, metric)
    better = of_floor.better
    for name in comparison.generators:
        if name not in column:
            continue
        cell = column[name]
        if of_floor.ranked_by != of_floor.shown_by:
            if cell.of_all is None:
                continue  # tables of a paper have no second line
            cell = replace(cell, value=cell.of_all)
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


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("headline", HEADLINES)
def test_marked_rows_are_those_whose_printed_value_is_best(reader: str, headline: str) -> None:
    n_marked, n_plain = 0, 0
    for seed in SEEDS:
        comparison = make_measured(seed, metrics=HEADLINES[headline])
        columns = READERS[reader](comparison)
        assert set(columns) == set(comparison.metrics)
        assert len(columns[headline]) == 2  # in the main table and in its own
        for metric, column in ((metric, column) for metric, those in columns.items() for column in those):
            bad = _badness(column, comparison, metric)
            assert len(bad) >= 3 or (reader == "LaTeX" and comparison.result(FLOOR, metric).better != "closer")
            marked = {name for name in bad if column[name].marked}
            worse = {loser for _, loser in _significant(comparison, metric)}
            compared = {name for p in comparison.pairs if p.metric == metric and p.p is not None for name in (p.a, p.b)}
            first = (compared - worse) if worse & compared else set()
            assert marked == first & set(bad), (seed, metric)  # a value may be missing at the floor's size alone
            if marked == first and marked:
                least = min(bad[name] for name in compared & set(bad))
                assert min(bad[name] for name in marked) <= least + 0.0011, (seed, metric)
            for winner, loser in _significant(comparison, metric):
                if {winner, loser} <= set(bad):
                    assert bad[winner] < bad[loser], (seed, metric)
            n_marked += len(marked)
            n_plain += len(worse)
    assert min(n_marked, n_plain) > 20


def test_files_say_by_which_value_rows_are_ranked() -> None:
    comparison = make_measured(0)
    results = json.loads(json.dumps(comparison.to_dict()))["results"]
    rows = list(csv.DictReader(io.StringIO(to_csv(results_record(comparison)))))
    for result, row in zip(results, rows, strict=True):
        by = {"closer": "matched_value", "neither": None}.get(result["better"], "value")
        assert result["ranked_by"] == (row["ranked_by"] or None) == by
        by = "value" if result["metric"] == "dd" else "matched_value"  # dd has a test: guessing is 0 at any size
        assert result["shown_by"] == row["shown_by"] == by
        assert result["value"] == comparison.result(result["generator"], result["metric"]).estimate.value  # type: ignore[union-attr]
    assert Comparison.from_dict(comparison.to_dict()).to_dict() == comparison.to_dict()


def test_a_wide_interval_alone_makes_no_mark_beside_a_better_value() -> None:
    made = make_measured(0, far=0.3)
    digest = Digest(made)
    best, middle, last = digest.order_by("dd")[:3]
    places = {best: (1, 2), middle: (2, 3), last: (1, 3)}  # the last one's interval is wide
    ranks = [replace(one, low=places[one.generator][0], high=places[one.generator][1])
             if one.metric == "dd" and one.generator in places else replace(one, low=3, high=9)
             if one.metric == "dd" else one for one in made.ranks]  # fmt: skip
    wide = Digest(replace(made, ranks=tuple(ranks)))
    assert wide.best("dd") == {best, last}
    assert wide.marked("dd") == {best}
