"""How results show themselves: `print` gives the terminal's report, a notebook shows a part of a page.

The report knows how to draw each result, and stands below all other rooms; so it is looked up when it is needed.
"""

from importlib import import_module
from typing import Any


class Displayed:
    """A result that prints as a report and shows itself in a notebook."""

    def __str__(self) -> str:
        return str(_report("as_text")(self))

    def _repr_html_(self) -> str:
        return str(_report("as_html")(self))


def _report(name: str) -> Any:
    return getattr(import_module("textassay.report.show"), name)
