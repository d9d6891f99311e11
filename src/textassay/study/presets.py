"""What a study trains: a preset, and what differs from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Contest", "Network"]


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
