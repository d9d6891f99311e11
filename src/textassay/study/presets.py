"""What a study trains: a preset, and what differs from it; and which of its scales is meant by a name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from textassay.errors import unknown_name

Scale = TypeVar("Scale")


@dataclass(frozen=True)
class Network:
    """A preset of `textassay.model_store.catalog`, and settings that differ from it."""

    preset: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """A training with two sides: a preset of its kind, and what differs from it in generator and recipe."""

    preset: str
    network: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)


def scale_named(scales: Mapping[str, Scale], name: str) -> Scale:
    """Return the one of `scales` called `name`."""
    if name not in scales:
        raise unknown_name("scale", name, scales)
    return scales[name]
