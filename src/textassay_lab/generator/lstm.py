"""LSTM language models: settings, presets, and the public class; the network is in `lstm_model`."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar

from textassay.fields import Above, Between, Option, Share
from textassay_lab.generator.text_generator import (
    MAX_LAYERS,
    SMALL,
    BatchSize,
    Length,
    MaxLength,
    Presets,
    Settings,
    TextGenerator,
)
from textassay_lab.training.recipe import Recipe

_EXPOSURE = Recipe(max_epochs=12, learning_rate=2e-3, schedule="cosine", max_norm=5.0, precision="auto")


@dataclass(eq=False, repr=False)
class LstmSettings(Settings):
    """What can be set of an LSTM and its training."""

    width: Annotated[int, Option("Embedding and hidden dimension."), Between(1)] = 128
    _: KW_ONLY
    layers: Annotated[int, Option("LSTM layers."), Between(1, MAX_LAYERS)] = 1
    dropout: Annotated[float, Option("Dropout between layers."), Share()] = 0.1
    embedding_width: Annotated[int | None, Option("Embedding dimension; that of --width by default."), Between(1)] = (
        None
    )
    init_range: Annotated[float | None, Option("Initial weights are uniform between -X and X."), Above(0)] = None
    recipe: Recipe = SMALL
    batch_size: BatchSize = 128
    length: Length = None
    max_length: MaxLength = 200
    seed: int = 0


class Lstm(TextGenerator):
    """LSTM language model.

    Settings: `width`, `layers`, `dropout`, `embedding_width`, `init_range`, `batch_size`, and those of training:
    `max_epochs`, `learning_rate`, `schedule`, `max_norm`, `patience` and others of the recipe.
    """

    kind = "lstm"
    implementation = "textassay_lab.generator.lstm_model:LstmModel"
    settings_class = LstmSettings
    command_options = ("Networks", "Windows")
    # ``paper``: Cai et al., "Distributional Discrepancy", as far as they say; the sizes of ``exposure-512``,
    # ``exposure-32`` and ``exposure-600`` are those of He et al., "Quantifying Exposure Bias", who do not say how
    # theirs are trained
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 512,
            "layers": 2,
            "dropout": 0.5,
            "init_range": 0.05,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=1e-3, max_norm=10.0),
        },
        "small": {
            "width": 256,
            "layers": 1,
            "dropout": 0.4,  # with less, it overfits before the learning rate has fallen
            "batch_size": 64,
            "recipe": Recipe(max_epochs=8, learning_rate=5e-3, schedule="cosine", max_norm=5.0, precision="auto"),
        },
        "tiny": {
            "width": 32,
            "layers": 1,
            "dropout": 0.0,
            "batch_size": 32,
            "recipe": Recipe(max_epochs=3, learning_rate=1e-2, schedule="linear", max_norm=5.0),
        },
        "reviews": {  # Garbacea et al., "Judge the Judges"
            "width": 512,
            "layers": 2,
            "dropout": 0.5,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=1e-3, max_norm=5.0),
        },
        "exposure-512": {"width": 512, "layers": 1, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
        "exposure-32": {
            "width": 32,
            "layers": 1,
            "dropout": 0.0,
            "batch_size": 64,
            "recipe": replace(_EXPOSURE, learning_rate=1e-2),
        },
        "exposure-600": {"width": 600, "layers": 3, "dropout": 0.3, "batch_size": 64, "recipe": _EXPOSURE},
    }

    def lengths(self, longest: int, max_length: int) -> Mapping[str, Any]:
        """Return what the model is told of lengths; the end of a window is not learnt."""
        if self.window is not None:
            return {"length": self.window, "max_length": self.window}
        return super().lengths(longest, max_length)
