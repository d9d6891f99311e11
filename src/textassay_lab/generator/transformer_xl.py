"""Transformer-XL language models: settings, presets, and the public class; the network is in `transformer_xl_model`."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

from textassay.errors import OptionError
from textassay.fields import Between, Option, Share
from textassay_lab.generator.text_generator import MAX_LAYERS, BatchSize, MaxLength, Presets, Settings, TextGenerator
from textassay_lab.training.recipe import Recipe

_N_SPECIAL = 4  # tokens before the first word


@dataclass(eq=False, repr=False)
class TransformerXlSettings(Settings):
    """What can be set of a Transformer-XL and its training."""

    width: Annotated[int, Option("Embedding dimension, even and a multiple of --heads.")] = 256
    _: KW_ONLY
    feedforward_width: Annotated[int, Option("Width of the feed-forward layers."), Between(1)] = 1024
    layers: Annotated[int, Option("Transformer blocks."), Between(1, MAX_LAYERS)] = 4
    heads: Annotated[int, Option("Attention heads."), Between(1)] = 4
    dropout: Annotated[float, Option("Dropout of embeddings, positions and blocks."), Share()] = 0.1
    segment: Annotated[int, Option("Tokens of a segment."), Between(1)] = 64
    memory: Annotated[int, Option("Tokens remembered; 0: sentences one by one."), Between(0)] = 64
    memory_reset_prob: Annotated[
        float, Option("Probability that the memory is emptied before a batch."), Share(whole=True)
    ] = 0.03
    cutoffs: Annotated[
        tuple[int, ...],
        Option("Ids where clusters of the adaptive softmax begin, such as 20000,40000; none: a plain softmax."),
    ] = ()
    recipe: Recipe
    batch_size: BatchSize = 32
    max_length: MaxLength = 200
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 1 or self.width % self.heads != 0 or self.width % 2 != 0:
            raise OptionError(f"width must be even and a multiple of heads, {self.heads}, got {self.width}")
        self.cutoffs = tuple(self.cutoffs)
        rising = sorted({_N_SPECIAL - 1, *self.cutoffs})
        if tuple(rising[1:]) != self.cutoffs:
            raise OptionError(f"cutoffs must rise, from {_N_SPECIAL} on, got {list(self.cutoffs)}")


class TransformerXl(TextGenerator):
    """Transformer-XL language model, with a memory of the sentences before.

    Settings: those of `Gpt2`, `feedforward_width`, `segment`, `memory`, `memory_reset_prob` and `cutoffs`.
    """

    kind = "transformer-xl"
    implementation = "textassay_lab.generator.transformer_xl_model:TransformerXlModel"
    settings_class = TransformerXlSettings
    command_options = ("Networks", "Windows")
    # ``paper``: He et al., "Quantifying Exposure Bias for Neural Language Generation"
    presets: ClassVar[Presets] = {
        "paper": {
            "width": 410,
            "feedforward_width": 2100,
            "layers": 16,
            "heads": 10,
            "dropout": 0.1,
            "segment": 150,
            "memory": 150,
            "memory_reset_prob": 0.03,
            "cutoffs": (20_000, 40_000, 200_000),
            "batch_size": 60,
            # of half of WikiText-103, 50 million words, 36 epochs are 200,000 steps
            "recipe": Recipe(max_epochs=36, learning_rate=2.5e-4, schedule="cosine", max_norm=0.25),
        },
        "small": {
            "width": 256,
            "feedforward_width": 1024,
            "layers": 4,
            "heads": 4,
            "dropout": 0.1,
            "segment": 64,
            "memory": 64,
            "batch_size": 32,
            "recipe": Recipe(
                max_epochs=8, learning_rate=1e-3, schedule="cosine", max_norm=0.25, precision="auto", warmup_steps=200
            ),
        },
        "tiny": {
            "width": 32,
            "feedforward_width": 64,
            "layers": 2,
            "heads": 2,
            "dropout": 0.0,
            "segment": 16,
            "memory": 16,
            "batch_size": 16,
            "recipe": Recipe(max_epochs=3, learning_rate=4e-3, schedule="cosine", warmup_steps=10, max_norm=1.0),
        },
    }
