"""Display of results: `print` gives the terminal's report, a notebook shows it as HTML, `to_frame` the numbers.

The rooms of results come before that of reports, or name it lazily, so it is imported here only when needed.
"""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args, overload

from textassay.errors import MissingExtraError, MissingLibraryError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

Library = Literal["pandas", "polars", "pyarrow"]
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

    @overload
    def to_frame(self, library: Literal["pandas"] = "pandas") -> "pd.DataFrame": ...

    @overload
    def to_frame(self, library: Library) -> Any: ...

    def to_frame(self, library: Library = "pandas") -> Any:
        """Return the numbers as a data frame of a library, in full precision.

        Parameters
        ----------
        library
            "pandas", "polars" or "pyarrow".

        Returns
        -------
        DataFrame
            The page on integrations lists the columns. Of pyarrow, a table. What is missing is None or NaN.

        Raises
        ------
        MissingExtraError
            If the library is not installed.
        """
        return data_frame(self._columns(), library)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the numbers by column: the table of the result's CSV file, else all that its `to_dict` has."""
        columns: dict[str, list[Any]] = _shown("as_columns")(self)
        return columns

    def plot(self) -> Drawing:
        """Return the first figure of the report: a notebook shows it, its `svg` is the drawing for a file.

        Raises
        ------
        InputError
            If the report has none.
        """
        drawing: Drawing = _shown("lead_figure")(self)
        return drawing


def data_frame(columns: Mapping[str, Sequence[Any]], library: Library) -> Any:
    """Return columns of equal length as a data frame of pandas or polars, or as a table of pyarrow."""
    if library not in get_args(Library):
        raise unknown_name("library", library, get_args(Library))
    try:
        if library == "pandas":
            is_empty = not any(map(len, columns.values()))
            return import_module("pandas").DataFrame(columns, dtype=object if is_empty else None)
        import_module(library)
    except ModuleNotFoundError as error:
        if library == "polars":
            raise MissingLibraryError("to_frame('polars')", "polars") from error
        raise MissingExtraError(f"to_frame('{library}')", {"pyarrow": "parquet"}.get(library, library)) from error
    import narwhals as nw

    return nw.from_dict({name: _of_one_type(values) for name, values in columns.items()}, backend=library).to_native()


def _of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """Return numbers as floats where any is, which these libraries want."""
    has_floats = any(isinstance(value, float) for value in values)
    return [float(value) if isinstance(value, int) else value for value in values] if has_floats else values


def columns_from(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns that `names` names of `rows`; what a row lacks is None."""
    return {name: [row.get(name) for row in rows] for name in names}


def _short(value: Any) -> str:
    """Return a value in a few words: of what is long, how many it holds."""
    if value is None or isinstance(value, bool | int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(_cut(value))
    if isinstance(value, Sized):
        return f"[{len(value)}]"
    return _cut(str(value)) if "__str__" in vars(type(value)) else type(value).__name__


def _cut(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shown(name: str) -> Any:
    return getattr(import_module("textassay.report.show"), name)
