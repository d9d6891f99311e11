"""The exceptions of the package, under one root, and checks of settings that raise them.

A message is one line: what is wrong, where, what is allowed, what to do. The command line prints it and exits with
status 2; Python callers catch `TextassayError` or the built-in error that the class also derives from.
"""

import difflib
import math
from collections.abc import Collection, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


class TextassayError(Exception):
    """Root of all errors that textassay raises on purpose; the message is one line, whatever names a file brings in."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class InputError(TextassayError, ValueError):
    """A file or a corpus cannot be used as it is."""


class EmptyCorpusError(InputError):
    """A corpus has no text."""


class TooFewSentencesError(InputError):
    """A corpus has fewer texts than a metric needs."""


class UnavailableError(InputError):
    """A metric needs something that this corpus does not come with, such as log-probabilities."""


class OptionError(TextassayError, ValueError):
    """A setting is unknown or outside its range."""


class OutputError(TextassayError, ValueError):
    """A result cannot be written to the path given."""


class FindingWarning(UserWarning):
    """What was found in texts moves their values, or widens them; `Estimate.findings` says it in full."""


class NotPutError(OutputError):
    """Results are made, and are in a folder of this machine, but could not be put at their address."""


class ClusterError(TextassayError, RuntimeError):
    """A cluster could not run a task, though it tried again."""


class MissingExtraError(TextassayError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the '{extra}' extra: pip install 'textassay[{extra}]'")


# What extras bring, where it may be missing first where something is used
_BROUGHT_BY = {
    **dict.fromkeys(("safetensors", "tokenizers", "torch", "transformers"), "neural"),
    **dict.fromkeys(("fastapi", "sqlalchemy", "uvicorn"), "human"),
    "pandas": "pandas",
    "pyarrow": "parquet",
    "sacrebleu": "translation",
}


def missing_extra(error: BaseException) -> MissingExtraError | None:
    """Return the error that names the extra without which `error` came about, if it did."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    extra = _BROUGHT_BY.get((name or "").partition(".")[0])
    return None if extra is None else MissingExtraError(f"this command uses {name}, which", extra)


class MissingLibraryError(TextassayError, ImportError):
    """A library that textassay works with, but does not bring along, is not installed."""

    def __init__(self, feature: str, install: str) -> None:
        super().__init__(f"{feature} needs a library that is not installed: pip install {install}")


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> OptionError:
    """Return the error for a `name` that is not among `allowed`; the message suggests similar names."""
    names = sorted(allowed)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f": did you mean {' or '.join(near)}? Valid" if near else "; valid"
    return OptionError(f"unknown {kind} '{name}'{hint}: {', '.join(names) or 'none'}")


def check_range(name: str, value: float | None, low: float, high: float | None = None) -> None:
    """Raise `OptionError` unless the setting `name` is None, or finite and from `low` to `high`."""
    if value is not None and not (low <= value < math.inf and (high is None or value <= high)):
        allowed = f"at least {low}" if high is None else f"between {low} and {high}"
        raise OptionError(f"{name} must be {allowed}, got {value}")


def check_positive(settings: object, names: Iterable[str]) -> None:
    """Raise `OptionError` unless each of these attributes of `settings` is None, or finite and above 0."""
    for name, value in _not_none(settings, names):
        if not 0 < value < math.inf:
            raise OptionError(f"{name} must be above 0, got {value}")


def check_type(name: str, value: object, kind: Any) -> None:
    """Raise `OptionError` unless `value`, read from JSON, has the type that the annotation `kind` names.

    Integers must fit into 64 bits and floats must be finite; booleans are not numbers. JSON lists match sequences and
    tuples. An annotation of any other form raises TypeError.
    """
    if not _has_type(value, kind):
        printed = repr(value)
        printed = printed if len(printed) <= 60 else f"{printed[:57]}..."
        raise OptionError(f"{name} must be {_type_name(kind)}, got {printed}")


def _has_type(value: object, kind: Any) -> bool:
    outer, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if outer in (Union, UnionType):
        return any(_has_type(value, each) for each in inner)
    if outer is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if kind in (bool, str, NoneType):
        return isinstance(value, kind)
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, (int, kind)):
            return False
        return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)
    if isinstance(outer, type) and issubclass(outer, Mapping):
        return isinstance(value, Mapping) and all(
            _has_type(k, inner[0]) and _has_type(v, inner[1]) for k, v in value.items()
        )
    if isinstance(outer, type) and issubclass(outer, Collection):
        return isinstance(value, (list, tuple)) and all(_has_type(each, inner[0]) for each in value)
    raise TypeError(f"values of {kind} cannot be checked")


def _type_name(kind: Any) -> str:
    outer, inner = get_origin(kind), get_args(kind)
    if outer in (Union, UnionType):
        return " or ".join(_type_name(each) for each in inner)
    if outer is Literal:
        return " or ".join(map(repr, inner))
    plain = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}
    return plain.get(kind) or ("an object" if isinstance(outer, type) and issubclass(outer, Mapping) else "a list")


def _not_none(settings: object, names: Iterable[str]) -> list[tuple[str, float]]:
    values = [(name, getattr(settings, name)) for name in names]
    return [(name, value) for name, value in values if value is not None]


_OUT_OF_MEMORY = (
    "out of memory",
    "storage size calculation overflowed",
    "can't allocate memory",
    "not enough memory",
    "alloc_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether `error` is an out-of-memory error of NumPy or of PyTorch on a CPU or GPU."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error).lower() for phrase in _OUT_OF_MEMORY)
