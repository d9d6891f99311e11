"""Settings of the models of a study: a preset and changes; and the scales of a study by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from textassay.errors import unknown_name

Scale = TypeVar("Scale")


@dataclass(frozen=True)
class Network:
    """A preset of `textassay.generator.catalog` and changed settings."""

    preset: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """An adversarial training: a preset of its kind, and changed settings of generator and recipe."""

    preset: str
    network: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)


def scale_named(scales: Mapping[str, Scale], name: str) -> Scale:
    """Return the one of `scales` called `name`."""
    if name not in scales:
        raise unknown_name("scale", name, scales)
    return scales[name]
