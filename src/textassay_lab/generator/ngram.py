"""n-gram language models: settings, presets, and the public class; how it counts and draws is in `ngram_model`."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, Literal

from textassay.corpus.limits import MAX_ORDER
from textassay.fields import Between, Option
from textassay_lab.generator.text_generator import MaxLength, Presets, Settings, TextGenerator


@dataclass(eq=False, repr=False)
class NgramSettings(Settings):
    """What can be set of an n-gram model."""

    order: Annotated[int, Option("Words of the longest n-grams."), Between(1, MAX_ORDER)] = 3
    _: KW_ONLY
    discounts: Annotated[
        Literal["modified", "single"], Option("Kneser-Ney discounts: modified (three an order) or single.")
    ] = "modified"
    max_length: MaxLength = 200


class Ngram(TextGenerator):
    """n-gram language model with Kneser-Ney smoothing.

    Settings: `order` and `discounts`.
    """

    kind = "ngram"
    implementation = "textassay.ngram.model:NgramModel"
    settings_class = NgramSettings
    command_options = ("Windows",)
    is_network = False
    presets: ClassVar[Presets] = {"paper": {"order": 5}, "small": {"order": 3}, "tiny": {"order": 2}}
