"""Settings of the models of a study: a preset and changes; and the scales of a study by name."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from textassay.errors import unknown_name

Scale = TypeVar("Scale")


@dataclass(frozen=True)
class Network:
    """A preset of `textassay_lab.generator.catalog` and changed settings."""

    preset: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """An adversarial training: a preset of its kind, and changed settings of generator and recipe."""

    preset: str
    network: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)


def in_words(value: Any) -> Any:
    """Return a setting in words, or as it is where it is a plain number or word."""
    if isinstance(value, Network):
        return ", ".join([value.preset, *(f"{name} {in_words(one)}" for name, one in value.changes.items())])
    if isinstance(value, Contest):
        parts = ("generator", value.network), ("rounds", value.recipe)
        return "; ".join([value.preset, *(in_words(Network(name, part)) for name, part in parts if part)])
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {in_words(one)}" for name, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "all" if value is None else value


def scale_in_words(scale: Any) -> dict[str, Any]:
    """Return the settings of a scale, a dataclass, without its name."""
    return {name: in_words(value) for name, value in vars(scale).items() if name != "name"}


def as_json(settings: Any) -> Any:
    """Return settings, dataclasses at any depth among them, as they come back from JSON."""
    return json.loads(json.dumps(settings, default=asdict))


def scales(kind: Callable[..., Scale], **settings: tuple[Any, Any, Any]) -> dict[str, Scale]:
    """Return the scales ``tiny``, ``laptop`` and ``paper``: a row a setting, its value at each."""
    return {
        scale: kind(name=scale, **{name: values[place] for name, values in settings.items()})
        for place, scale in enumerate(("tiny", "laptop", "paper"))
    }


def scale_named(scales: Mapping[str, Scale], name: str) -> Scale:
    """Return the one of `scales` called `name`."""
    if name not in scales:
        raise unknown_name("scale", name, scales)
    return scales[name]
