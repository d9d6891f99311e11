"""Display of results: `print` gives the terminal's report, a notebook shows it as HTML.

`textassay.report` draws every kind of result and imports all other rooms, so it is imported here only when needed.
"""

from importlib import import_module
from typing import Any


class Displayed:
    """A result that prints as a report and is displayed in notebooks."""

    def __str__(self) -> str:
        return str(_report("as_text")(self))

    def _repr_html_(self) -> str:
        return str(_report("as_html")(self))


def _report(name: str) -> Any:
    return getattr(import_module("textassay.report.show"), name)
