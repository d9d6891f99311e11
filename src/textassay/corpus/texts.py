"""Sentences that come from Python: lists, iterables, NumPy arrays, columns and tables of pandas, polars and Arrow."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from textassay.errors import InputError, OptionError

__all__ = ["as_texts", "choose_column"]

_USUAL_COLUMNS = ("text", "sentence", "content")
_LISTED = 12


def as_texts(source: Any, name: str, *, column: str | None = None) -> tuple[str, ...]:
    """Return the sentences of `source`; the strings are shared, not copied.

    Parameters
    ----------
    source
        An iterable of str, an array or a column (whatever has ``tolist``, ``to_list`` or ``to_pylist``), or a table
        (whatever has ``columns`` and gives one by name).
    name
        What messages call the source.
    column
        Which column of a table; without it as `choose_column` says.

    Raises
    ------
    InputError
        If it is a single str or bytes, a mapping, or not iterable, or an item is missing or no str (with its position).
    """
    if isinstance(source, str | bytes):
        raise InputError(f"{name}: expected many sentences, got one {type(source).__name__}; put it in a list")
    if isinstance(source, Mapping):
        raise InputError(f"{name}: expected an iterable of str, got a {type(source).__name__}; name one of its values")
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        columns = getattr(source, "column_names", source.columns)
        source = source[choose_column([str(label) for label in columns], column, name)]
    elif column is not None:
        raise OptionError(f"{name}: column '{column}' was asked for, but {type(source).__name__} has no columns")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(source, method):
            source = getattr(source, method)()
            break
    if not isinstance(source, Iterable) or isinstance(source, str):
        raise InputError(f"{name}: expected an iterable of str, got {type(source).__name__}")
    texts: tuple[Any, ...] = tuple(source)
    if set(map(type, texts)) <= {str}:
        return texts
    for position, item in enumerate(texts):
        if item is None or (isinstance(item, float) and item != item) or type(item).__name__ in ("NAType", "NaTType"):
            raise InputError(f"{name}: item {position} is missing ({item}); drop it or fill it in")
        if not isinstance(item, str):
            raise InputError(f"{name}: item {position} is {type(item).__name__}, not str")
    return tuple(map(str, texts))


def choose_column(columns: Sequence[str], column: str | None, place: str) -> str:
    """Return `column`, or the one column that can be meant: the only one, or the only one of a usual name.

    Usual names are text, sentence and content.

    Raises
    ------
    InputError
        If there is no such column, or several can be meant; the message lists them.
    """
    if column is not None:
        if column in columns:
            return column
        raise InputError(f"{place} has no column '{column}'; it has {_listed(columns)}")
    usual = [name for name in columns if name in _USUAL_COLUMNS]
    candidates = columns if len(columns) == 1 else usual
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(f"{place} has several columns; say which holds the sentences (--column): {_listed(columns)}")


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _LISTED} more" if len(columns) > _LISTED else ""
    return ", ".join(columns[:_LISTED]) + more if columns else "none"
