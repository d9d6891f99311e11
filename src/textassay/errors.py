"""What can go wrong: every error a user can cause, under one root.

A message is one line that says what is wrong, where, what is allowed and what to do. The command line prints it and
exits with status 2; Python callers catch `TextassayError` or the built-in error it also derives from.
"""

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


class TextassayError(Exception):
    """Root of all errors that textassay raises on purpose."""


class InputError(TextassayError, ValueError):
    """A file or a corpus cannot be used as it is."""


class EmptyCorpusError(InputError):
    """A corpus has no sentence."""


class TooFewSentencesError(InputError):
    """A corpus has fewer sentences than a metric needs."""


class UnavailableError(InputError):
    """A metric needs something that this corpus does not come with, such as log-probabilities."""


class OptionError(TextassayError, ValueError):
    """A setting is unknown or outside its range."""


class OutputError(TextassayError, ValueError):
    """A result cannot be written where it was asked for."""


class MissingExtraError(TextassayError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the '{extra}' extra: in the clone, pip install '.[{extra}]'")


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> OptionError:
    """Return the error for `name` not being one of `allowed`, with the nearest names first."""
    names = sorted(allowed)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f": did you mean {' or '.join(near)}? Valid" if near else "; valid"
    return OptionError(f"unknown {kind} '{name}'{hint}: {', '.join(names) or 'none'}")


def check_range(name: str, value: float | None, low: float, high: float | None = None) -> None:
    """Raise `OptionError` unless `value`, of a setting called `name`, is finite, from `low` to `high`, or none."""
    if value is not None and not (low <= value < math.inf and (high is None or value <= high)):
        allowed = f"at least {low}" if high is None else f"between {low} and {high}"
        raise OptionError(f"{name} must be {allowed}, got {value}")


def check_least(settings: object, names: Iterable[str], least: float) -> None:
    """Raise `OptionError` unless the attributes `names` of `settings` are finite and at least `least`, or none."""
    for name in names:
        check_range(name, getattr(settings, name), least)


def check_positive(settings: object, names: Iterable[str]) -> None:
    """Raise `OptionError` unless the attributes `names` of `settings` are finite and above 0, or none."""
    for name, value in _given(settings, names):
        if not 0 < value < math.inf:
            raise OptionError(f"{name} must be above 0, got {value}")


def check_share(settings: object, names: Iterable[str]) -> None:
    """Raise `OptionError` unless the attributes `names` of `settings` are at least 0 and below 1, or none."""
    for name, value in _given(settings, names):
        if not 0 <= value < 1:
            raise OptionError(f"{name} must be at least 0 and below 1, got {value}")


def check_type(name: str, value: object, kind: Any) -> None:
    """Raise `OptionError` unless `value`, which was read from JSON, is what the annotation `kind` says.

    Whole numbers must fit into 64 bits, fractions must be finite; true and false are no numbers. Sequences and tuples
    are lists in JSON. Raises TypeError for an annotation that this function does not know.
    """
    if not _is_of(value, kind):
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise OptionError(f"{name} must be {_in_words(kind)}, got {shown}")


def _is_of(value: object, kind: Any) -> bool:
    outer, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if outer in (Union, UnionType):
        return any(_is_of(value, each) for each in inner)
    if outer is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if kind in (bool, str, NoneType):
        return isinstance(value, kind)
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, (int, kind)):
            return False
        return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)
    if isinstance(outer, type) and issubclass(outer, Mapping):
        return isinstance(value, Mapping) and all(_is_of(k, inner[0]) and _is_of(v, inner[1]) for k, v in value.items())
    if isinstance(outer, type) and issubclass(outer, Collection):
        return isinstance(value, (list, tuple)) and all(_is_of(each, inner[0]) for each in value)
    raise TypeError(f"values of {kind} cannot be checked")


def _in_words(kind: Any) -> str:
    outer, inner = get_origin(kind), get_args(kind)
    if outer in (Union, UnionType):
        return " or ".join(_in_words(each) for each in inner)
    if outer is Literal:
        return " or ".join(map(repr, inner))
    plain = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}
    return plain.get(kind) or ("an object" if isinstance(outer, type) and issubclass(outer, Mapping) else "a list")


def _given(settings: object, names: Iterable[str]) -> list[tuple[str, float]]:
    found = [(name, getattr(settings, name)) for name in names]
    return [(name, value) for name, value in found if value is not None]
