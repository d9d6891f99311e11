"""Options that are a model's own settings: their types are read from the class that has them.

A command for one model lists settings and help lines; what is not given on the command line is None and stays as the
preset has it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, make_dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from textassay.cli.adapter import option
from textassay.errors import OptionError

Help = Mapping[str, str | tuple[str, str]]

METAVARS = {int: "N", float: "X", str: "NAME"}


@dataclass(frozen=True)
class Settings:
    """Fields of a class, such as a recipe, as options: setting to its help, or to the option's name and its help.

    `group` is the name under which a command asks for what was given.
    """

    group: str
    owner: type
    panel: str
    help: Help


class _Setting(NamedTuple):
    group: str
    name: str
    parse: Callable[[str, Any], Any]


@dataclass(frozen=True, kw_only=True)
class WithSettings:
    """What a command knows of its options that are settings."""

    settings = MappingProxyType[str, _Setting]({})
    presets = MappingProxyType[str, Any]({})

    @staticmethod
    def leading() -> tuple[str, ...]:
        """Return the options that help lists first."""
        return ()

    def given(self, *groups: str) -> dict[str, Any]:
        """Return the settings of these groups that the command line gave, by their own names."""
        return {
            setting.name: setting.parse(f"--{option.replace('_', '-')}", getattr(self, option))
            for option, setting in self.settings.items()
            if setting.group in groups and getattr(self, option) is not None
        }

    @contextmanager
    def as_options(self, *groups: str) -> Iterator[None]:
        """Let messages inside the ``with`` block name settings of these groups as the options that they are."""
        try:
            yield
        except OptionError as error:
            message = str(error)
            for option, setting in self.settings.items():
                if setting.group in groups and message.startswith(f"{setting.name} must "):
                    changed = f"--{option.replace('_', '-')}{message.removeprefix(setting.name)}"
                    raise OptionError(changed) from None
            raise

    def spellings(self) -> dict[tuple[str, str], str]:
        """Return group and setting to the option's name, without dashes in front."""
        return {(each.group, each.name): option.replace("_", "-") for option, each in self.settings.items()}


def with_settings(
    base: type[WithSettings],
    model: str,
    summary: str,
    parts: Sequence[Settings],
    *,
    presets: Mapping[str, Any],
    preset: str,
) -> type[Any]:
    """Return a command: `base` with an option for each setting of `parts`, and `summary` as its help.

    `presets` are what ``--preset`` names, `preset` is the name of the one without it.
    """
    known = f"Sizes and recipe to start from: {', '.join(presets)}; {preset} by default."
    declared = get_type_hints(base, include_extras=True)
    leading = {each.name: each for each in fields(base) if each.name in base.leading()}
    options: list[Any] = [
        *((key, declared[key], field(default=each.default)) for key, each in leading.items()),
        ("preset", Annotated[str | None, option(known, "NAME")], field(default=None)),
    ]
    settings: dict[str, _Setting] = {}
    for part in parts:
        hints = get_type_hints(part.owner)
        for setting, text in part.help.items():
            name, line = (setting, text) if isinstance(text, str) else text
            kind, metavar, parse = _as_option(hints[setting])
            declared_option = option(line, metavar, part.panel, show_default=False)
            options.append((name, Annotated[kind | None, declared_option], field(default=None)))
            settings[name] = _Setting(part.group, setting, parse)
    namespace = {"__doc__": summary, "model": model, "presets": presets, "settings": MappingProxyType(settings)}
    title = "".join(word.capitalize() for word in model.split("-"))
    return make_dataclass(f"Train{title}", options, bases=(base,), namespace=namespace, frozen=True, kw_only=True)


def _as_option(hint: Any) -> tuple[Any, str | None, Callable[[str, Any], Any]]:
    """Return an option's type and metavar, and what makes the setting of its value."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] if type(None) in get_args(hint) else [hint]
    kind = kinds[0]
    origin = get_origin(kind)
    if origin is Literal:
        return str, "NAME", _unchanged
    if origin is tuple:
        return str, "N,N", lambda option, text: tuple(_numbers(option, text, ","))
    if origin is not None and issubclass(origin, Mapping):
        return str, "W:N,W:N", lambda option, text: dict(_pairs(option, text))
    if origin is not None and issubclass(origin, Sequence):
        return str, "W:N,W:N", _pairs
    return kind, METAVARS.get(kind), _unchanged


def _unchanged(option: str, value: Any) -> Any:
    return value


def _numbers(option: str, text: str, separator: str) -> list[int]:
    try:
        return [int(part) for part in text.split(separator)]
    except ValueError:
        raise OptionError(f"cannot read {option} '{text}': write whole numbers, such as 2000,4000") from None


def _pairs(option: str, text: str) -> tuple[tuple[int, int], ...]:
    try:
        pairs = [tuple(int(number) for number in part.split(":")) for part in text.split(",")]
        return tuple((window, count) for window, count in pairs)
    except ValueError:
        raise OptionError(f"cannot read {option} '{text}': write widths and counts, such as 2:100,3:100") from None
