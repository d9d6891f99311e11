"""Recurrent discriminators: an LSTM over word vectors, and one over windows of words (CNN+LSTM).

Sources: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zhou et al., "A C-LSTM Neural
Network for Text Classification", 2015 (convolution before recurrence); Conneau et al., "Supervised Learning of
Universal Sentence Representations", EMNLP 2017 (the largest value over the sentence instead of the last).
Departs from them: mean, largest and last output are all read. Zhou et al. do not pool between convolution and LSTM,
Garbacea et al. ("Judge the Judges", the evaluator CNN & LSTM) do: `pooling` says how.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.discriminator.base import setting
from textassay.errors import OptionError
from textassay_lab.judges.network import WordNetworkDiscriminator, WordRows
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from textassay_lab.judges.networks import RecurrentNetwork


RECURRENT = Recipe(max_epochs=5, learning_rate=3e-3, averaging=0.99, max_norm=1.0)

_WINDOW = 3


@dataclass(eq=False, kw_only=True)
class RecurrentDiscriminator(WordNetworkDiscriminator):
    """LSTM over words, or over windows of three of them; needs the extra ``neural``."""

    convolution: bool = setting(False, "whether the LSTM reads windows of words")
    pooling: int = setting(1, "pooling size: maximum over so many windows; 1 without a convolution")
    width: int = setting(96, "the width of word vectors, filters and the LSTM")
    dropout: float = setting(0.3, "dropout of word vectors and outputs in training")
    recipe: Recipe = RECURRENT

    def __post_init__(self) -> None:
        if self.pooling < 1 or (self.pooling > 1 and not self.convolution):
            raise OptionError(f"pooling must be at least 1, and 1 without convolution, got {self.pooling}")
        if self.width < 1 or not 0 <= self.dropout < 1:
            raise OptionError(f"width must be at least 1 and dropout in [0, 1), got {self.width} and {self.dropout}")
        super().__post_init__()

    @property
    def name(self) -> str:
        """``lstm``, or ``cnn-lstm`` with a convolution."""
        return "cnn-lstm" if self.convolution else "lstm"

    @property
    def network(self) -> str:
        pooling = f"maximum of {self.pooling}, " if self.pooling > 1 else ""
        convolution = f"{self.width} filters of {_WINDOW}, {pooling}" if self.convolution else ""
        return f"{self.width}-d, {convolution}LSTM {self.width}, mean, maximum and last, dropout {self.dropout}"

    def new_network(self, encoder: WordRows) -> "RecurrentNetwork":
        from textassay_lab.judges.networks import RecurrentNetwork

        settings = {"width": self.width, "dropout": self.dropout}
        return RecurrentNetwork(encoder.n_rows, **settings, convolution=self.convolution, pooling=self.pooling)  # type: ignore[arg-type]
