"""What is declared at the field of a setting, beside its name, type and default: its option and its range.

A field is ``name: Annotated[type, Option("line of help"), Between(1)] = default``. `cli/adapter.py` makes options of
fields, `check_fields` checks the values of a dataclass, so that help, option and check stand in one place.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pkgutil import resolve_name
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from textassay.errors import OptionError, check_range


@dataclass(frozen=True)
class Option:
    """How a setting is shown on the command line: its line of help, what stands for its value there, the panel."""

    help: str
    metavar: str | None = None
    panel: str | None = None
    names: Sequence[str] = ()
    show_default: bool = True


class Rule:
    """What the value of a setting must be."""

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the setting where the value is wrong."""
        raise NotImplementedError


@dataclass(frozen=True)
class Between(Rule):
    """The range of a setting's number, ends included; of each number where there may be several."""

    low: float
    high: float | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the setting unless `value` is absent or in range."""
        for number in value if isinstance(value, list | tuple) else [value]:
            check_range(name, number, self.low, self.high)


@dataclass(frozen=True)
class Above(Rule):
    """The range of a setting's number, `low` excluded, `high` included."""

    low: float
    high: float | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the setting unless `value` is absent or in range."""
        if value is not None and not (self.low < value < math.inf and (self.high is None or value <= self.high)):
            most = "" if self.high is None else f" and at most {self.high:g}"
            raise OptionError(f"{name} must be above {self.low:g}{most}, got {value}")


@dataclass(frozen=True)
class Share(Rule):
    """A share: at least 0 and below 1, or, where it may be `whole`, at most 1."""

    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the setting unless `value` is absent or in range."""
        if value is not None and not (0 <= value < 1 or (self.whole and value == 1)):
            raise OptionError(f"{name} must be at least 0 and {'at most' if self.whole else 'below'} 1, got {value}")


@dataclass(frozen=True)
class OneOf(Rule):
    """One of these words."""

    words: Sequence[str]

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the setting unless `value` is absent or one of them."""
        if value is not None and value not in self.words:
            allowed = " or ".join(filter(None, (", ".join(self.words[:-1]), self.words[-1])))
            raise OptionError(f"{name} must be {allowed}, got {value}")


@dataclass(frozen=True)
class Check(Rule):
    """A function that raises unless it may be called with the setting, as ``package.module:function``.

    It is imported only where the option is not at its default.
    """

    function: str

    def check(self, name: str, value: Any) -> None:
        """Raise what the function raises."""
        resolve_name(self.function)(value)


@dataclass(frozen=True)
class Parse:
    """The function that makes a setting of an option's word, as ``package.module:function``."""

    function: str


@dataclass(frozen=True)
class Field:
    """A setting as it is declared: its type without None, its option if it has one, its rules."""

    name: str
    kind: Any
    option: Option | None
    rules: tuple[Rule, ...]


@cache
def fields_of(owner: type) -> Mapping[str, Field]:
    """Return the fields of a dataclass by name."""
    hints = get_type_hints(owner, include_extras=True)
    return MappingProxyType({each.name: _field(each.name, hints[each.name]) for each in fields(owner)})


def check_fields(settings: Any) -> None:
    """Raise an OptionError where a field of a dataclass breaks one of its rules."""
    owner: type = type(settings)
    for field in fields_of(owner).values():
        for rule in field.rules:
            rule.check(field.name, getattr(settings, field.name))


def _field(name: str, hint: Any) -> Field:
    kind, *parts = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    if NoneType in get_args(kind):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    rules = [part for part in parts if isinstance(part, Rule)]
    if get_origin(kind) is Literal:
        rules.append(OneOf(get_args(kind)))
    option = next((part for part in parts if isinstance(part, Option)), None)
    return Field(name, kind, option, tuple(rules))
