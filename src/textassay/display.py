"""Display of results: `print` gives the terminal's report, a notebook shows it as HTML, `to_frame` the numbers.

`textassay.report` draws every kind of result and imports all other rooms, so it is imported here only when needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Displayed:
    """A result that prints as a report and is displayed in notebooks."""

    def __str__(self) -> str:
        return str(_report("show", "as_text")(self))

    def _repr_html_(self) -> str:
        return str(_report("show", "as_html")(self))

    def to_frame(self) -> "pd.DataFrame":
        """Return the numbers as a data frame in full precision; the page on integrations lists the columns."""
        frame: pd.DataFrame = _report("frame", "as_frame")(self)
        return frame


def _report(module: str, name: str) -> Any:
    return getattr(import_module(f"textassay.report.{module}"), name)
