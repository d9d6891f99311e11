"""Words by position: settings and the public class; how it counts and draws is in `position_unigram_model`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from textassay.fields import Above, Option
from textassay_lab.generator.text_generator import Presets, Settings, TextGenerator


@dataclass(eq=False, repr=False, kw_only=True)
class PositionUnigramSettings(Settings):
    """What can be set of words by position."""

    strength: Annotated[float, Option("Weight of the frequency over all positions, in words."), Above(0)] = 10.0


class PositionUnigram(TextGenerator):
    """Words drawn independently, by their frequency at each position.

    Settings: `strength`.
    """

    kind = "position-unigram"
    implementation = "textassay_lab.generator.position_unigram_model:PositionUnigram"
    settings_class = PositionUnigramSettings
    command_options = ("Windows",)
    is_network = False
    presets: ClassVar[Presets] = {"paper": {}, "small": {}, "tiny": {}}

    def lengths(self, longest: int, max_length: int) -> Mapping[str, Any]:
        """Return nothing: it learns them."""
        return {}
