"""A result as text for `print`, and as HTML for notebooks; every text in it is escaped."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pkgutil import resolve_name
from typing import Any

from markupsafe import Markup, escape
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from textassay.comparison.comparison import Comparison
from textassay.comparison.explanation import Explanation
from textassay.display import Displayed
from textassay.errors import InputError
from textassay.estimate import Estimate, Interval, Signature
from textassay.inspection.finding import Finding, Findings
from textassay.report.comparison import comparison_document, screen_document
from textassay.report.console import label_grid, safe
from textassay.report.document import Document, Figure, Section, Table, notes, section, without_extras
from textassay.report.explanation import explanation_document
from textassay.report.number import count, decimals, half_width, interval, level, number
from textassay.report.page import to_fragment
from textassay.report.terminal import print_document
from textassay.report.words import printable

_WIDTH = 100
_EVERYTHING = "to_frame(). The page with all figures: save()."
# Module and function of `textassay.report` that make a document of a class of results; of any other, fields are listed.
_DOCUMENTS = {
    "Approximation": "approximation:approximation_document",
    "Bench": "bench:bench_document",
    "Exposure": "exposure:exposure_document",
    "Findings": "inspection:inspection_document",
    "HumanAnalysis": "human:analysis_document",
    "Judging": "judge:judge_document",
    "MetaEvaluation": "accuracy:meta_evaluation_document",
    "ModelDiscrepancy": "discrepancy:discrepancy_document",
    "Plan": "plan:plan_document",
    "Reproduction": "reproduction:reproduction_document",
    "Stress": "stress:stress_document",
    "TextLikelihood": "likelihood:likelihood_document",
    "TextMonitor": "monitor:monitor_document",
}


def as_text(result: Displayed) -> str:
    """Return `result` as the terminal shows it, in 80 columns; an estimate in one line."""
    if isinstance(result, Estimate):
        return _estimate_line(result)
    file = io.StringIO()
    _print(result, Console(file=file, width=80))
    return "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n"))


def as_html(result: Displayed) -> str:
    """Return `result` as a part of a page: tables for comparisons and estimates, else what the terminal shows."""
    if isinstance(result, Estimate):
        return _estimate_html(result)
    found = _notebook_document(result) if isinstance(result, Comparison) else _document(result)
    if found is not None:
        return to_fragment(found)
    console = Console(file=io.StringIO(), width=_WIDTH, record=True, force_terminal=True, force_jupyter=False)
    _print_fields(result, console)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def document(result: Displayed) -> Document:
    """Return a result as a document: the report of a comparison, a plan, an explanation and any other result as data.

    Parameters
    ----------
    result
        What a function of textassay returned.

    Returns
    -------
    Document
        Prints, shows itself in notebooks, and is written by its `save`; the whole report of a comparison.

    Raises
    ------
    InputError
        If there is no report of such a result.
    """
    if isinstance(result, Comparison):
        return comparison_document(result)
    found = _document(result)
    if found is None:
        raise InputError(f"there is no report of a {type(result).__name__}")
    return found


def _notebook_document(comparison: Comparison) -> Document:
    """Return the report of a comparison with its main figure alone, what follows the main table folded."""
    whole = without_extras(comparison_document(comparison))

    def lighter(part: Section) -> Section:
        kept = (one for one in part.parts if not isinstance(one, Figure) or one.name == whole.lead)
        return replace(part, parts=tuple(lighter(one) if isinstance(one, Section) else one for one in kept))

    sections: list[Section] = []
    is_open = True
    for one in map(lighter, whole.sections):
        sections += [replace(one, extra=not is_open)] if one.parts else []
        is_open &= not any(isinstance(part, Table) and part.main for part in one.parts)
    return replace(whole, sections=(*sections, section("", *notes(f"As a table: {_EVERYTHING}"))))


def _document(result: Displayed, console: Console | None = None) -> Document | None:
    """Return a result as a report, to be printed on `console` if given; none where its class has no such function."""
    if isinstance(result, Document):
        return result
    if isinstance(result, Comparison):
        return screen_document(result, where=_EVERYTHING, console=console)
    if isinstance(result, Explanation):
        return explanation_document([result])
    of = Findings([result]) if isinstance(result, Finding) else result
    name = _DOCUMENTS.get(type(of).__name__)
    if name is None:
        return None
    made: Document = resolve_name(f"textassay.report.{name}")(of)
    return made


def _print(result: Displayed, console: Console) -> None:
    found = _document(result, console)
    if found is None:
        _print_fields(result, console)
    else:
        print_document(found, console, everything=False)


def _print_fields(result: Any, console: Console) -> None:
    """Print the numbers and short texts of a result, a line each."""
    console.print(Text(type(result).__name__, "bold"))
    grid = label_grid()
    for field in fields(result):
        value, name = getattr(result, field.name), field.name.replace("_", " ")
        parts = {f"{name} {key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
        for label, part in parts.items():
            shown = _shown(part)
            if shown is not None:
                grid.add_row(safe(console, label, "dim"), safe(console, shown))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _shown(value: Any) -> str | None:
    """Return a number, a text or a quantity with its interval as people read it; None for anything larger."""
    if isinstance(value, str | bool | Signature):
        return str(value)
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return number(value, decimals(value, None))
    bounds = getattr(value, "interval", None)
    if isinstance(bounds, Interval) and isinstance(value.value, float):
        places = decimals(value.value, (bounds.high - bounds.low) / 2)
        return f"{number(value.value, places)} {interval(bounds, places)}"
    return None


def _estimate_line(estimate: Estimate) -> str:
    places = decimals(estimate.value, half_width(estimate))
    bounds = estimate.interval
    told = "" if bounds is None else f" {interval(bounds, places)} ({level(bounds.level)})"
    return f"{printable(estimate.metric)} = {number(estimate.value, places)}{told}"


def _estimate_html(estimate: Estimate) -> str:
    places = decimals(estimate.value, half_width(estimate))
    bounds = estimate.interval
    rows = [["value", number(estimate.value, places)]]
    rows += [] if bounds is None else [[f"{level(bounds.level)} interval", interval(bounds, places)]]
    rows += [["unit", estimate.unit], ["better", estimate.better]]
    rows += [[name, count(size)] for name, size in estimate.sizes.items()]
    rows.append(["signature", str(estimate.signature)])
    return _part(html_table([estimate.metric, ""], rows))


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """Return a table of texts, which are escaped; the first column names the rows."""
    head = Markup("").join(Markup("<th>{}</th>").format(printable(cell)) for cell in header)
    lines = [
        Markup("<tr><th>{}</th>{}</tr>").format(
            printable(name), Markup("").join(Markup("<td>{}</td>").format(printable(cell)) for cell in cells)
        )
        for name, *cells in rows
    ]
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, Markup("").join(lines))


def _part(*parts: Markup) -> str:
    return str(Markup('<div class="textassay">{}</div>').format(Markup("").join(map(escape, parts))))
