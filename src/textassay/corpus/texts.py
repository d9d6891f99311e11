"""Texts with their source, from Python iterables, arrays, columns and tables."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from textassay.corpus.limits import current_limits, text_too_long
from textassay.errors import InputError, OptionError

_USUAL_COLUMNS = ("text", "sentence", "content")
_MAX_LISTED = 12  # columns named in a message
_N_PROBED = 20  # rows of a table that are read to see which columns hold strings
_TO_LIST = ("tolist", "to_list", "to_pylist")  # NumPy and pandas, polars, Arrow


@dataclass(frozen=True, eq=False)
class TextFile:
    """Texts as they were read.

    Attributes
    ----------
    name
        Their name in messages: the file's, or the caller's.
    texts
        N texts, empty ones included.
    groups
        Group number of each text, shape (N,), from `number_groups`; None without groups.
    path
        The file or folder; None for standard input and for texts from Python.
    """

    name: str
    texts: tuple[str, ...]
    groups: npt.NDArray[np.int64] | None = None
    path: Path | None = None

    def __post_init__(self) -> None:
        """Raise `InputError` if a text is longer than `InputLimits.max_text`."""
        limit = current_limits().max_text
        longest = max(map(len, self.texts), default=0)
        if longest > limit:
            place = self.name if self.path is None else self.path
            number = next(number for number, text in enumerate(self.texts, start=1) if len(text) > limit)
            raise text_too_long(f"{place}: text {number}", len(self.texts[number - 1]), limit)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.texts[place]


def as_texts(source: Any, name: str, *, column: str | None = None, group_column: str | None = None) -> TextFile:
    """Return the texts of a Python object; the strings are shared, not copied.

    `source`: an iterable of str, an array or column (with ``tolist``, ``to_list`` or ``to_pylist``), a table (with
    ``column_names`` or ``columns``, indexed by name: of pandas, polars, pyarrow or datasets), or a `TextFile`.
    """
    if isinstance(source, TextFile):
        return source
    if isinstance(source, str | bytes):
        raise InputError(f"{name}: expected many texts, got one {type(source).__name__}; put it in a list")
    if isinstance(source, Mapping):
        raise InputError(f"{name}: expected an iterable of str, got a {type(source).__name__}; take one of its values")
    columns = _columns(source)
    if columns is not None:
        chosen = _text_column(source, columns, name) if column is None else choose_column([*columns], column, name)
        groups = None
        if group_column is not None:
            labels = _items(source[columns[choose_column([*columns], group_column, name)]], name)
            groups = number_groups(labels, f"{name} groups")
        return TextFile(name, _strings(source[columns[chosen]], name), groups)
    if column is not None or group_column is not None:
        raise OptionError(f"{name}: a column was named, but a {type(source).__name__} has none")
    return TextFile(name, _strings(source, name))


def _columns(source: Any) -> dict[str, Any] | None:
    """Return the columns of a table, name to its own label; None for anything else."""
    names = getattr(source, "column_names", getattr(source, "columns", None))
    if names is None or callable(names) or isinstance(names, Mapping) or not hasattr(source, "__getitem__"):
        return None
    return {str(label): label for label in names}


def _text_column(source: Any, columns: Mapping[str, Any], name: str) -> str:
    """Return the column from `choose_column`, or the only one that holds strings."""
    try:
        return choose_column([*columns], None, name)
    except InputError:
        pass
    textual = []
    rows = source[:_N_PROBED]
    for column, label in columns.items():
        items = [item for item in _items(rows[label], name) if not _is_missing(item)]
        if items and all(isinstance(item, str) for item in items):
            textual.append(column)
    if len(textual) == 1:
        return textual[0]
    raise InputError(
        f"{name}: which column holds the texts? Give that one, as in table['{next(iter(columns), 'text')}']; it "
        f"has: {_listed([*columns])}"
    )


def choose_column(columns: Sequence[str], column: str | None, place: str) -> str:
    """Return `column`, by default the only column, or the only one called text, sentence or content."""
    if column is not None:
        if column in columns:
            return column
        raise InputError(f"{place} has no column '{column}'; it has: {_listed(columns)}")
    candidates = columns if len(columns) == 1 else [name for name in columns if name in _USUAL_COLUMNS]
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(f"{place}: which column holds the texts? Name it with --column; it has: {_listed(columns)}")


def number_groups(labels: Sequence[Any], place: str) -> npt.NDArray[np.int64]:
    """Return a number for each label, shape (N,): equal for equal labels in all files.

    It is a 62-bit hash of the label as text, so that a prompt or document in both the real and the generated file is
    one group; among a million labels two share a number with a probability below 1e-6.
    """
    numbers: dict[str, int] = {}
    result = np.empty(len(labels), dtype=np.int64)
    for position, label in enumerate(labels):
        if _is_missing(label):
            raise InputError(f"{place}[{position}] is missing ({label}); every text needs a group")
        text = str(label)
        if text not in numbers:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            numbers[text] = int.from_bytes(digest, "big") >> 2
        result[position] = numbers[text]
    return result


def _items(source: Any, name: str) -> tuple[Any, ...]:
    """Return the items of an array, a column or an iterable."""
    for method in _TO_LIST:
        if hasattr(source, method):
            source = getattr(source, method)()
            break
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InputError(f"{name}: expected an iterable of str, got {type(source).__name__}")
    return tuple(source)


def _strings(source: Any, name: str) -> tuple[str, ...]:
    """Return the items of `source` after checking that each is a str."""
    items = _items(source, name)
    if set(map(type, items)) <= {str}:
        return items
    for position, item in enumerate(items):
        if _is_missing(item):
            raise InputError(f"{name}[{position}] is missing ({item}); leave it out or fill it in")
        if not isinstance(item, str):
            hint = "; give one of its values, as in [row['text'] for row in rows]" if isinstance(item, Mapping) else ""
            raise InputError(f"{name}[{position}] must be a str, got {type(item).__name__}{hint}")
    return tuple(map(str, items))


def _is_missing(item: Any) -> bool:
    """Return whether `item` is None, NaN or pandas' NA."""
    return item is None or (isinstance(item, float) and item != item) or type(item).__name__ in ("NAType", "NaTType")


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _MAX_LISTED} more" if len(columns) > _MAX_LISTED else ""
    return ", ".join(columns[:_MAX_LISTED]) + more if columns else "none"
