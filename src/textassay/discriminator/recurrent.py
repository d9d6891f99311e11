"""Recurrent discriminators: an LSTM over word vectors, and one over windows of words (CNN+LSTM).

Sources: Hochreiter, Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; Zhou et al., "A C-LSTM Neural
Network for Text Classification", 2015 (convolution before recurrence); Conneau et al., "Supervised Learning of
Universal Sentence Representations", EMNLP 2017 (the largest value over the sentence instead of the last).
Departs from them: mean, largest and last output are all judged.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textassay.discriminator.network import WordNetworkDiscriminator
from textassay.discriminator.padding import padded_words, pooled
from textassay.discriminator.word_rows import Sentences, WordRows
from textassay.training.dropout import dropped
from textassay.training.loop import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["RECURRENT", "RecurrentDiscriminator"]

RECURRENT = Recipe(max_epochs=5, learning_rate=3e-3, averaging=0.99, max_norm=1.0)

_WIDTH = 96
_WINDOW = 3
_DROPOUT = 0.3


class RecurrentDiscriminator(WordNetworkDiscriminator):
    """LSTM over words, or over windows of three of them; needs the extra ``neural``.

    Parameters
    ----------
    convolution
        Whether windows of words are read instead of words.
    recipe, batch_size, min_sentences, seed
        See `NetworkDiscriminator`.
    """

    def __init__(
        self,
        *,
        convolution: bool = False,
        recipe: Recipe = RECURRENT,
        batch_size: int = 256,
        min_sentences: int = 2,
        seed: int = 0,
    ) -> None:
        self.convolution = convolution
        super().__init__(recipe, batch_size=batch_size, min_sentences=min_sentences, seed=seed)

    @property
    def name_of_kind(self) -> str:
        """``lstm``, or ``cnn-lstm`` with a convolution."""
        return "cnn-lstm" if self.convolution else "lstm"

    @property
    def network(self) -> str:
        """The layers."""
        convolution = f"{_WIDTH} filters of {_WINDOW}, " if self.convolution else ""
        return f"{_WIDTH}-d, {convolution}LSTM {_WIDTH}, mean, maximum and last, dropout {_DROPOUT}"

    def new_weights(self, encoder: WordRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin."""
        import torch

        def uniform(*shape: int, fan_in: int) -> "Tensor":
            scale = 1 / math.sqrt(fan_in)
            return torch.nn.init.uniform_(torch.empty(shape), -scale, scale, generator=rng)

        bias = torch.zeros(4 * _WIDTH)
        bias[_WIDTH : 2 * _WIDTH] = 1  # memory is kept to begin with
        weights = {
            "words": torch.nn.init.normal_(torch.empty(encoder.n_rows, _WIDTH), std=0.3, generator=rng),
            "input": uniform(4 * _WIDTH, _WIDTH, fan_in=_WIDTH),
            "state": uniform(4 * _WIDTH, _WIDTH, fan_in=_WIDTH),
            "bias": bias,
            "output": uniform(1, 3 * _WIDTH, fan_in=3 * _WIDTH),
            "output bias": torch.zeros(1),
        }
        if self.convolution:
            weights["filters"] = uniform(_WIDTH, _WIDTH, _WINDOW, fan_in=_WINDOW * _WIDTH)
            weights["filters bias"] = torch.zeros(_WIDTH)
        return weights

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: Sentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        import torch

        words, inside = padded_words(sentences, weights["words"].device)  # (n, length)
        vectors = dropped(torch.nn.functional.embedding(words, weights["words"]), _DROPOUT, rng)  # (n, length, width)
        if self.convolution:
            vectors = vectors * inside[..., None]
            found = torch.nn.functional.conv1d(
                vectors.transpose(1, 2), weights["filters"], weights["filters bias"], padding=_WINDOW // 2
            )
            vectors = torch.relu(found).transpose(1, 2)
        zeros = vectors.new_zeros(1, len(words), _WIDTH)
        parameters = [weights["input"], weights["state"], weights["bias"], torch.zeros_like(weights["bias"])]
        learns = rng is not None  # else a GPU keeps nothing for a way back
        outputs, _, _ = torch.lstm(vectors, [zeros, zeros], parameters, True, 1, 0.0, learns, False, True)
        last = outputs[torch.arange(len(words), device=words.device), inside.sum(1) - 1]
        found = dropped(torch.cat([*pooled(outputs, inside), last], 1), _DROPOUT, rng)
        odds: Tensor = torch.nn.functional.linear(found, weights["output"], weights["output bias"])[:, 0]
        return odds
