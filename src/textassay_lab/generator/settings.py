"""What the settings of all models have in common, and settings that several of them have.

The settings of a model are a dataclass, which stands with its presets in the file of the model. What a preset ``paper``
follows, its comment says; where a paper says nothing it has our best. ``small`` trains well on two processors within
minutes, ``tiny`` within seconds, for trying things out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any

from textassay.corpus.limits import MAX_TOKENS
from textassay.fields import Between, Option, check_fields
from textassay_lab.training.recipe import Recipe

Presets = Mapping[str, Mapping[str, Any]]

MAX_WINDOW = 100_000  # the longest fixed length of all samples
MAX_LAYERS = 1000  # a limit for files: names and shapes of weights are listed by layer before anything is checked

SMALL = Recipe(max_epochs=6, learning_rate=4e-3, schedule="linear", max_norm=5.0)

# Fields without an option are decided by the text, or by options that all models have
BatchSize = Annotated[int, Option("Sentences in a batch.", panel="Training"), Between(1)]
Length = Annotated[int | None, Between(1, MAX_WINDOW)]  # tokens of every sentence; None: sentences end
MaxLength = Annotated[int, Between(1, MAX_TOKENS)]  # most tokens of a sample


@dataclass(eq=False, repr=False)
class Settings:
    """Settings are fields; the class of a model inherits them first, and they are checked when one is made."""

    def __post_init__(self) -> None:
        after = getattr(super(), "__post_init__", None)  # of the model
        if after is not None:
            after()
        check_fields(self)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor, JSON-ready."""
        return {each.name: _json_ready(getattr(self, each.name)) for each in fields(self)}


def _json_ready(value: Any) -> Any:
    if isinstance(value, Recipe):
        return asdict(value)
    return (
        [_json_ready(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
    )
