"""Display of results: `print` gives the terminal's report, a notebook shows it as HTML, `to_frame` the numbers.

The rooms of results come before that of reports, or name it lazily, so it is imported here only when needed.
"""

from collections.abc import Sized
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 140  # characters of a result in one line


class Drawing(Protocol):
    """A figure, which a notebook shows; `svg`: the drawing as an SVG document."""

    @property
    def svg(self) -> str: ...

    def _repr_svg_(self) -> str: ...


class Displayed:
    """A result that prints as a report and is displayed in notebooks.

    A class names the function that makes its document: ``class Plan(Displayed, document="a.module:function")``.
    Results hold tables and arrays, so that they have no hash, unless a class has its own or is said to be `hashable`.
    """

    _document_function: ClassVar[str] = ""

    def __init_subclass__(cls, *, document: str = "", hashable: bool = False, **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._document_function = document or cls._document_function
        # A dataclass leaves both as it finds them in the class itself.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Displayed.__repr__  # type: ignore[method-assign]
        if "__hash__" not in vars(cls) and not hashable:
            cls.__hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return one line; what it says in full is printed."""
        names: list[str] = [one.name for one in fields(self) if one.repr] if is_dataclass(self) else []
        told = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
        line = f"<{type(self).__name__} {told}"
        return f"{line.rstrip()}>" if len(line) < _LONGEST else f"{line[: _LONGEST - 4]}...>"

    def __str__(self) -> str:
        return str(_shown("as_text")(self))

    def _repr_html_(self) -> str:
        return str(_shown("as_html")(self))

    def to_frame(self) -> "pd.DataFrame":
        """Return the numbers as a data frame in full precision; the page on integrations lists the columns."""
        frame: pd.DataFrame = _shown("as_frame")(self)
        return frame

    def plot(self) -> Drawing:
        """Return the first figure of the report: a notebook shows it, its `svg` is the drawing for a file.

        Raises
        ------
        InputError
            If the report has none.
        """
        drawing: Drawing = _shown("lead_figure")(self)
        return drawing


def _short(value: Any) -> str:
    """Return a value in a few words: of what is long, how many it holds."""
    if value is None or isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        text = " ".join(value.split())
        return repr(text if len(text) <= 40 else f"{text[:37]}...")
    return f"[{len(value)}]" if isinstance(value, Sized) else type(value).__name__


def _shown(name: str) -> Any:
    return getattr(import_module("textassay.report.show"), name)
