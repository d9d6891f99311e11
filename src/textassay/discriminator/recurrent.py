"""Recurrent discriminators: an LSTM over word vectors, and one over windows of words (CNN+LSTM).

Sources: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zhou et al., "A C-LSTM Neural
Network for Text Classification", 2015 (convolution before recurrence); Conneau et al., "Supervised Learning of
Universal Sentence Representations", EMNLP 2017 (the largest value over the sentence instead of the last).
Departs from them: mean, largest and last output are all read. Zhou et al. do not pool between convolution and LSTM,
Garbacea et al. ("Judge the Judges", the evaluator CNN & LSTM) do: `pooling` says how.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textassay.discriminator.base import setting
from textassay.discriminator.network import Sentences, WordNetworkDiscriminator, WordRows, padded_words, pooled
from textassay.errors import OptionError
from textassay.training import Recipe, dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


RECURRENT = Recipe(max_epochs=5, learning_rate=3e-3, averaging=0.99, max_norm=1.0)

_WINDOW = 3


@dataclass(eq=False, kw_only=True)
class RecurrentDiscriminator(WordNetworkDiscriminator):
    """LSTM over words, or over windows of three of them; needs the extra ``neural``."""

    convolution: bool = setting(False, "whether the LSTM reads windows of words")
    pooling: int = setting(1, "of so many windows the largest values are read; 1 without a convolution")
    width: int = setting(96, "the width of word vectors, filters and the LSTM")
    dropout: float = setting(0.3, "the share of word vectors and outputs that is left out in training")
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
        """The layers."""
        pooling = f"maximum of {self.pooling}, " if self.pooling > 1 else ""
        convolution = f"{self.width} filters of {_WINDOW}, {pooling}" if self.convolution else ""
        return f"{self.width}-d, {convolution}LSTM {self.width}, mean, maximum and last, dropout {self.dropout}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the initial weights."""
        import torch

        def uniform(*shape: int, fan_in: int) -> "Tensor":
            scale = 1 / math.sqrt(fan_in)
            return torch.nn.init.uniform_(torch.empty(shape), -scale, scale, generator=rng)

        width = self.width
        bias = torch.zeros(4 * width)
        bias[width : 2 * width] = 1  # memory is kept to begin with
        weights = {
            "words": torch.nn.init.normal_(torch.empty(encoder.n_rows, width), std=0.3, generator=rng),
            "input": uniform(4 * width, width, fan_in=width),
            "state": uniform(4 * width, width, fan_in=width),
            "bias": bias,
            "output": uniform(1, 3 * width, fan_in=3 * width),
            "output bias": torch.zeros(1),
        }
        if self.convolution:
            weights["filters"] = uniform(width, width, _WINDOW, fan_in=_WINDOW * width)
            weights["filters bias"] = torch.zeros(width)
        return weights

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        import torch

        words, inside = padded_words(sentences, weights["words"].device)  # (n, length)
        vectors = dropped(
            torch.nn.functional.embedding(words, weights["words"]), self.dropout, rng
        )  # (n, length, width)
        if self.convolution:
            vectors = vectors * inside[..., None]
            hidden = torch.nn.functional.conv1d(
                vectors.transpose(1, 2), weights["filters"], weights["filters bias"], padding=_WINDOW // 2
            )
            hidden = torch.relu(hidden)
            if self.pooling > 1:  # what a pool reaches beyond the end of the sentence adds nothing
                hidden = torch.nn.functional.max_pool1d(hidden * inside[:, None], self.pooling, ceil_mode=True)
                inside = inside[:, :: self.pooling]
            vectors = hidden.transpose(1, 2)  # (n, length / pooling, width)
        zeros = vectors.new_zeros(1, len(words), self.width)
        parameters = [weights["input"], weights["state"], weights["bias"], torch.zeros_like(weights["bias"])]
        learns = rng is not None  # else a GPU keeps nothing for a way back
        outputs, _, _ = torch.lstm(vectors, [zeros, zeros], parameters, True, 1, 0.0, learns, False, True)
        last = outputs[torch.arange(len(words), device=words.device), inside.sum(1) - 1]
        hidden = dropped(torch.cat([*pooled(outputs, inside), last], 1), self.dropout, rng)
        odds: Tensor = torch.nn.functional.linear(hidden, weights["output"], weights["output bias"])[:, 0]
        return odds
