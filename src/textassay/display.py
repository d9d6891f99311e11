"""Display of results: `print` gives the terminal's report, a notebook shows it as HTML, `to_frame` the numbers.

The rooms of results come before that of reports, or name it lazily, so it is imported here only when needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd


class Displayed:
    """A result that prints as a report and is displayed in notebooks.

    A class names the function that makes its document: ``class Plan(Displayed, document="a.module:function")``.
    """

    _document_function: ClassVar[str] = ""

    def __init_subclass__(cls, *, document: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._document_function = document or cls._document_function

    def __str__(self) -> str:
        return str(_shown("as_text")(self))

    def _repr_html_(self) -> str:
        return str(_shown("as_html")(self))

    def to_frame(self) -> "pd.DataFrame":
        """Return the numbers as a data frame in full precision; the page on integrations lists the columns."""
        frame: pd.DataFrame = _shown("as_frame")(self)
        return frame


def _shown(name: str) -> Any:
    return getattr(import_module("textassay.report.show"), name)
