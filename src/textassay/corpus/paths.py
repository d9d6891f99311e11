"""Paths into what a file holds: ``a.b``, ``choices[0].text``, ``responses[].text``, ``FILE::PATH@PROMPT[A=B]``.

A path is a key of exactly this name, or keys with full stops between them; ``[2]`` is a place in a list (``[-1]`` the
last) and ``[]`` each item of a list or each value of an object.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

COLUMN_SIGN = "::"  # FILE::COLUMN
_PROMPT_SIGN = "@"
_STEP = re.compile(r"([^.\[\]]+)|\[(-?[0-9]{1,9})?\]")
_CONDITION = re.compile(r"\[([^\[\]=!]+)(!?=)([^\[\]]*)\]")
_MAX_LEVELS = 20  # of nested values whose paths are listed
_MAX_LISTED = 12  # paths named in a message
_MANY_KEYS = 20  # of an object whose keys are data, such as ids


class Condition(NamedTuple):
    """Which rows count: those whose value at `path` is `value`, or is not."""

    path: str
    is_equal: bool
    value: str

    def holds(self, values: Sequence[Any]) -> bool:
        """Return whether a row with `values` at the path counts; one without any has null there."""
        value = plain_value(values[0] if values else None)
        return (value == self.value or value == self.value.lower() in ("true", "false")) == self.is_equal

    def __str__(self) -> str:
        return f"[{self.path}{'=' if self.is_equal else '!='}{self.value}]"


class Columns(NamedTuple):
    """What of a table is read: paths, and which rows count."""

    text: str | None = None  # None: the answers of a known kind, the only column, or the only one with a usual name
    group: str | None = None
    prompt: str | None = None
    source: str | None = None  # who wrote each text
    where: tuple[Condition, ...] = ()

    @property
    def named(self) -> list[str]:
        return [name for name in (*self[:4], *(condition.path for condition in self.where)) if name is not None]

    def with_choice(self, choice: str) -> "Columns":
        """Return the columns with those that ``PATH@PROMPT[COLUMN=VALUE]`` names."""
        where = tuple(Condition(path, sign == "=", value) for path, sign, value in _CONDITION.findall(choice))
        text, _, prompt = _CONDITION.sub("", choice).partition(_PROMPT_SIGN)
        return self._replace(text=text or self.text, prompt=prompt or self.prompt, where=(*self.where, *where))


def plain_value(value: Any) -> str:
    """Return a value as conditions and names of sources write it: true, false, null, a number, or the text."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def split_column(source: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], str | None]:
    """Return a source, and what ``FILE::COLUMN`` names in it; None where it names nothing.

    What stands after ``::`` in a chain of addresses is no column, nor is anything in the name of a file that exists.
    """
    if not isinstance(source, str) or COLUMN_SIGN not in source or "\0" in source:
        return source, None
    file, _, column = source.rpartition(COLUMN_SIGN)
    if not file or not column or "://" in column or os.path.exists(source):  # noqa: PTH110
        return source, None
    return (source, None) if "://" in file and os.path.exists(column) else (file, column)  # noqa: PTH110


@lru_cache(maxsize=256)
def _steps(path: str) -> list[tuple[str, str]]:
    return _STEP.findall(path)


def values_at(value: Any, path: str) -> list[Any]:
    """Return the values at `path`: one, several where it has ``[]``, none where it leads nowhere."""
    if isinstance(value, Mapping) and path in value:
        return [value[path]]
    values = [value]
    for name, index in _steps(path):
        inner: list[Any] = []
        for one in values:
            if name:
                inner += [one[name]] if isinstance(one, Mapping) and name in one else [None] if one is None else []
            elif index:
                inner += [one[int(index)]] if isinstance(one, list) and -len(one) <= int(index) < len(one) else []
            else:
                inner += one if isinstance(one, list) else one.values() if isinstance(one, Mapping) else []
        values = inner
    return values


def string_paths(value: Any, prefix: str = "") -> list[str]:
    """Return the paths of all strings in `value`, those of like items of a list once, with ``[]``."""
    return [*dict.fromkeys(path for path, inner in _leaves(value, prefix, 0) if isinstance(inner, str))]


def all_paths(value: Any) -> list[str]:
    """Return the paths of all values in `value` that hold no others."""
    return [*dict.fromkeys(path for path, _ in _leaves(value, "", 0))]


def _leaves(value: Any, prefix: str, level: int) -> Iterator[tuple[str, Any]]:
    if level > _MAX_LEVELS or not isinstance(value, Mapping | list) or not value:
        yield prefix, value
    elif isinstance(value, Mapping) and not _has_data_for_keys(value, level):
        for key, inner in value.items():
            yield from _leaves(inner, f"{prefix}.{key}" if prefix else str(key), level + 1)
    else:
        items = list(value.values() if isinstance(value, Mapping) else value)
        are_turns = all(isinstance(item, Mapping) and ("role" in item or "from" in item) for item in items)
        for number, item in enumerate(items[:_MANY_KEYS]):
            yield from _leaves(item, f"{prefix}[{number}]" if are_turns else f"{prefix}[]", level + 1)


def _has_data_for_keys(value: Mapping[str, Any], level: int) -> bool:
    """Return whether the keys of an object are data, such as ids, and no names."""
    if len(value) <= _MANY_KEYS:
        return level > 0 and len(value) > 1 and all(str(key).isdecimal() for key in value)
    kinds = {type(inner) for inner in value.values()}
    return len(kinds) == 1 and (kinds <= {dict, list} or len(value) > _MANY_KEYS**2)


def path_to(record: Any, value: Any, prefix: str = "") -> str | None:
    """Return the path to the very object `value` in `record`."""
    if record is value:
        return prefix
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(record, Mapping):
        inner = ((f"{prefix}.{key}" if prefix else str(key), item) for key, item in record.items())
    elif isinstance(record, list):
        inner = ((f"{prefix}[{place}]", item) for place, item in enumerate(record))
    return next((path for at, item in inner if (path := path_to(item, value, at)) is not None), None)


def listed(names: Sequence[str]) -> str:
    """Return names for a message, the first twelve of many."""
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more if names else "none"


def json_kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")
