"""A result as a document, as text for `print`, as HTML for notebooks, and as columns of numbers.

A class of results names the function that makes its document: ``class Plan(Displayed, document="a.module:function")``.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from textassay.display import Displayed, columns_from
from textassay.errors import InputError
from textassay.estimate import Estimate
from textassay.report.document import Document, Figure
from textassay.report.page import to_fragment
from textassay.report.terminal import memory_console, printed
from textassay.report.text import count, decimals, half_width, interval, level, number, printable


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
    if isinstance(result, Document):
        return result
    if isinstance(result, Estimate):
        return _estimate_document(result)
    module, _, function = getattr(type(result), "_document_function", "").partition(":")
    if not module:
        raise InputError(f"no report shows {type(result).__name__}: give what a function of textassay returned")
    made: Document = getattr(import_module(module), function)(result)
    return made


def as_text(result: Displayed) -> str:
    """Return `result` as the terminal shows it, in 80 columns; an estimate in one line."""
    if isinstance(result, Estimate):
        bounds, places = result.interval, decimals(result.value, half_width(result))
        told = "" if bounds is None else f" {interval(bounds, places)} ({level(bounds.level)})"
        return f"{printable(result.metric)} = {number(result.value, places)}{told}"
    return printed(document(result), memory_console())


def as_html(result: Displayed) -> str:
    """Return `result` as a part of a page."""
    return to_fragment(document(result))


def _estimate_document(estimate: Estimate) -> Document:
    bounds, places = estimate.interval, decimals(estimate.value, half_width(estimate))
    facts = [("value", number(estimate.value, places))]
    facts += [] if bounds is None else [(f"{level(bounds.level)} interval", interval(bounds, places))]
    facts += [("unit", estimate.unit), ("better", estimate.better)]
    facts += [(name, count(size)) for name, size in estimate.sizes.items()]
    facts.append(("signature", str(estimate.signature)))
    found = document(estimate.findings).sections if isinstance(estimate.findings, Displayed) else ()
    return Document(estimate.metric, facts=tuple(facts), sections=found)


def lead_figure(result: Displayed) -> Figure:
    """Return the first figure of a result's document; raise `InputError` where there is none."""
    made = None if isinstance(result, Estimate) else document(result)
    figures = [] if made is None else [part for part in made.parts() if isinstance(part, Figure)]
    for figure in sorted(figures, key=lambda one: made is not None and one.name != made.lead):
        return figure
    raise InputError(f"{type(result).__name__} has no figure: print it, or use to_frame()")


def as_columns(result: Displayed) -> dict[str, list[Any]]:
    """Return the columns of the first record of a result's document, else one row of all that its `to_dict` has."""
    records = document(result).records
    if records:
        names = [column.name for column in records[0].columns]
        rows = [dict(zip(names, (cell.value for cell in row.cells), strict=True)) for row in records[0].rows]
        return columns_from(rows, names)
    to_dict = getattr(result, "to_dict", None)
    if isinstance(result, Document) or to_dict is None:
        raise InputError(
            f"this {type(result).__name__} has no table of numbers: use the table of the result that it was made from"
        )
    plain_first = dict(sorted(to_dict().items(), key=lambda item: isinstance(item[1], Mapping)))
    return {name: [value] for name, value in _flat(plain_first)}


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names joined by dots and their values: of settings within settings, each."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
