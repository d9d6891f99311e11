"""GPT-2 language models: settings, presets, and the public class; the network is in `gpt2_model`."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

from textassay.corpus.limits import MAX_TOKENS
from textassay.errors import OptionError
from textassay.fields import Between, Option, Share
from textassay_lab.generator.text_generator import MAX_LAYERS, BatchSize, Presets, Settings, TextGenerator
from textassay_lab.training.recipe import Recipe


@dataclass(eq=False, repr=False)
class Gpt2Settings(Settings):
    """What can be set of a GPT-2 and its training."""

    width: Annotated[int, Option("Embedding dimension, a multiple of --heads.")] = 256
    _: KW_ONLY
    layers: Annotated[int, Option("Transformer blocks."), Between(1, MAX_LAYERS)] = 4
    heads: Annotated[int, Option("Attention heads."), Between(1)] = 4
    dropout: Annotated[float, Option("Dropout of embeddings, attention and blocks."), Share()] = 0.1
    # one more than the longest sentence of the training text without it
    positions: Annotated[int | None, Between(2)] = None
    recipe: Recipe
    batch_size: BatchSize = 128
    max_length: Annotated[int | None, Between(1, MAX_TOKENS)] = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1 or self.width % self.heads != 0:
            raise OptionError(f"width must be a multiple of heads, {self.heads}, got {self.width}")


class Gpt2(TextGenerator):
    """GPT-2 language model, trained from scratch.

    Settings: `width`, `layers`, `heads`, `dropout`, `batch_size`, and those of training, see `Lstm`.
    """

    kind = "gpt2"
    implementation = "textassay_lab.generator.gpt2_model:Gpt2Model"
    settings_class = Gpt2Settings
    command_options = ("Networks", "Windows")
    # ``paper``: Cai et al., "Distributional Discrepancy"; ``small`` trains within minutes, ``tiny`` within seconds
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 768,
            "layers": 12,
            "heads": 12,
            "dropout": 0.1,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=40, learning_rate=2e-5),
        },
        "paper-80": {  # the epochs of the text of the paper; ``paper`` has those of its code
            "width": 768,
            "layers": 12,
            "heads": 12,
            "dropout": 0.1,
            "batch_size": 128,
            "recipe": Recipe(max_epochs=80, learning_rate=2e-5),
        },
        "small": {
            "width": 256,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "batch_size": 64,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=1.0, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "batch_size": 32,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    }

    def lengths(self, longest: int, max_length: int) -> Mapping[str, Any]:
        """Return what the model is told of lengths."""
        return {"positions": longest + 1}
