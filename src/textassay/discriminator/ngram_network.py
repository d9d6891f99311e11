"""A network over counts: it reads, for each token, how often the n-grams that end there stand in each side's text.

How much a count means (how far one occurrence may be trusted, how a long n-gram outweighs a short one) is what
smoothing methods fix beforehand; here it is learnt. A few layers turn the counts at each token, with a vector of a
frequent word, into evidence, look at the neighbours, and sum it over the sentence. The sums of smoothed n-gram models
over the whole sentence, which the stack weighs, stand beside. Training sentences are counted without themselves
(`count_rows`).

Source: our own; the sum over tokens is the form of a log-likelihood ratio, its parts are learnt as in Zaheer et al.,
"Deep Sets", NeurIPS 2017.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from textassay.discriminator.base import Pair
from textassay.discriminator.count_rows import CountedSentences, CountRows
from textassay.discriminator.network import NetworkDiscriminator
from textassay.discriminator.padding import pooled
from textassay.discriminator.word_rows import N_PADS
from textassay.errors import OptionError
from textassay.training import Recipe, dropped

if TYPE_CHECKING:
    import torch
    from torch import Tensor


COUNTING = Recipe(max_epochs=5, learning_rate=3e-3, schedule="linear", averaging=0.99, max_norm=1.0)

_LONGEST = 5  # n-grams summed over sentences
_WIDTH = 64
_WINDOW = 3
_DROPOUT = 0.1
_PER_SENTENCE = 10  # sums over tokens are divided by it, so that they are about as large as means
_NUMBERS = 5  # of each order: both logarithms, their difference, unseen on one side


class NgramNetworkDiscriminator(NetworkDiscriminator[CountedSentences]):
    """Network over n-gram counts; needs the extra ``neural``."""

    name_of_kind = "ngram-network"

    def __init__(
        self,
        *,
        max_order: int = 4,
        word_width: int = 8,
        recipe: Recipe = COUNTING,
        batch_size: int = 256,
        min_sentences: int = 50,
        seed: int = 0,
    ) -> None:
        super().__init__(recipe, batch_size=batch_size, min_sentences=min_sentences, seed=seed)
        for setting, value, least in (("max_order", max_order, 1), ("word_width", word_width, 0)):
            if value < least:
                raise OptionError(f"{setting} must be at least {least}, got {value}")
        if max_order > _LONGEST:
            raise OptionError(f"max_order must be at most {_LONGEST}, got {max_order}")
        self.max_order = max_order
        self.word_width = word_width

    @property
    def network(self) -> str:
        """The layers."""
        return (
            f"{self.word_width}-d, counts of 1-{self.max_order}-grams on both sides, "
            f"sums as in a stack of 1-{_LONGEST}-grams, {_WIDTH} wide, window {_WINDOW}, sum, mean and maximum, "
            f"dropout {_DROPOUT}"
        )

    def encoded(
        self, train: Pair, valid: Pair
    ) -> tuple[CountRows, tuple[CountedSentences, CountedSentences], tuple[CountedSentences, CountedSentences]]:
        """Return the counts of the training text, its sentences, each without its own, and validation sentences.

        Were validation text counted, too, its labels would reach the training sentences through their counts, and
        what is found on it would be more than what is found on new text.
        """
        rows, sides = CountRows.build(
            train, max_order=self.max_order, longest=_LONGEST, min_sentences=self.min_sentences
        )
        return rows, sides, (rows.encode(valid[0]), rows.encode(valid[1]))

    def new_weights(self, encoder: CountRows, rng: "torch.Generator") -> "dict[str, Tensor]":
        """Return the weights as they begin."""
        import torch

        def uniform(*shape: int) -> "Tensor":
            scale = 1 / math.sqrt(math.prod(shape[1:]))
            return torch.nn.init.uniform_(torch.empty(shape), -scale, scale, generator=rng)

        n_inputs = _NUMBERS * self.max_order + 2 * (self.max_order - 1) + self.word_width
        weights = {"words": torch.nn.init.normal_(torch.empty(encoder.n_rows, self.word_width), std=0.1, generator=rng)}
        if self.word_width == 0:
            del weights["words"]
        for name, shape in {
            "token": (_WIDTH, n_inputs),
            "window": (_WIDTH, _WIDTH, _WINDOW),
            "deeper": (_WIDTH, _WIDTH),
            "sentence": (_WIDTH, 3 * _WIDTH + encoder.n_numbers),
            "output": (1, 4 * _WIDTH + encoder.n_numbers),
        }.items():
            weights[name] = uniform(*shape)
            weights[f"{name} bias"] = torch.zeros(shape[0])
        return weights

    def log_odds(
        self, weights: "Mapping[str, Tensor]", sentences: CountedSentences, rng: "torch.Generator | None"
    ) -> "Tensor":
        """Return the log-odds of being real, shape (N,)."""
        import torch
        from torch.nn.functional import conv1d, embedding, gelu, linear

        device = weights["token"].device
        words = torch.from_numpy(sentences.sentences.padded()[:, :-N_PADS]).to(device)  # (n, length)
        counts = torch.from_numpy(sentences.padded_counts()[:, :-N_PADS]).to(device)
        inside = counts[:, :, 0, 0] >= 0
        inputs = _described(counts)
        if self.word_width > 0:
            inputs = torch.cat([inputs, embedding(words, weights["words"])], 2)
        here = inside[..., None]
        tokens = gelu(linear(inputs, weights["token"], weights["token bias"])) * here  # (n, length, width)
        around = conv1d(tokens.transpose(1, 2), weights["window"], weights["window bias"], padding=_WINDOW // 2)
        tokens = tokens + gelu(around.transpose(1, 2))
        tokens = (tokens + gelu(linear(tokens, weights["deeper"], weights["deeper bias"]))) * here
        mean, most = pooled(tokens, inside)
        hidden = dropped(torch.cat([tokens.sum(1) / _PER_SENTENCE, mean, most], 1), _DROPOUT, rng)
        hidden = torch.cat([hidden, torch.from_numpy(sentences.numbers).to(device)], 1)
        deep = gelu(linear(hidden, weights["sentence"], weights["sentence bias"]))
        odds: Tensor = linear(torch.cat([hidden, deep], 1), weights["output"], weights["output bias"])[:, 0]
        return odds


def _described(counts: "Tensor") -> "Tensor":
    """Return what is read at each token: numbers of the n-grams that end there, and of the contexts before it.

    `counts`: shape (n, length, max_order, 2), below 0 where there is no n-gram.

    Shape (n, length, 5 max_order + 2 (max_order - 1)).
    """
    import torch

    present = counts[..., 0] >= 0
    known = counts.clamp(min=0).float()
    logs = torch.log1p(known) / 3
    real, generated = known.unbind(-1)
    contrast = torch.log((real + 0.5) / (generated + 0.5))
    only = [((first == 0) & (second > 0) & present).float() for first, second in ((real, generated), (generated, real))]
    before = torch.nn.functional.pad(logs[:, :-1, :-1], (0, 0, 0, 0, 1, 0)).flatten(2)
    return torch.cat([logs.flatten(2), contrast, *only, before], 2)
