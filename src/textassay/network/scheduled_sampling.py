"""Scheduled sampling: an LSTM that, the longer it learns, is shown the more of its own words.

At step i of training each previous token is the true one with probability eps_i; else the network draws it, from
what it read so far, its own words included. What is to be learnt stays the true next token. The draw is made first,
without gradient; then the network learns from the mixed sentence in one pass.

Source: Bengio, Vinyals, Jaitly, Shazeer, "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks",
NeurIPS 2015.
Departs from it: the network draws as it will when it is done, without dropout, and never an end, after which no word
is to be learnt.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from textassay.corpus import EOS, PAD, Corpus
from textassay.network.batching import padded
from textassay.network.lessons import Lessons
from textassay.network.lstm import LstmModel
from textassay.network.reader import Reader, Weights
from textassay.network.sampling_schedule import SamplingSchedule
from textassay.network.scoring import mean_loss

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(eq=False, repr=False, kw_only=True)
class ScheduledSampling(LstmModel):
    """An LSTM trained by scheduled sampling; a `LanguageModel`. Needs the extra ``neural``.

    `width`, `layers`, `dropout`, `spread`, `length`, `recipe`, `batch_size`, `max_length`, `seed`: see `LstmModel`.
    With the same seed and text, weights begin as its do, and under ``constant(k=1)`` they end so.
    """

    kind: ClassVar[str] = "scheduled-sampling"

    mixing: str = "inverse-sigmoid(k=1000)"
    greedy: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule = SamplingSchedule.from_text(self.mixing)
        self.mixing = str(self.schedule)

    @property
    def name(self) -> str:
        """Canonical name; what is random in training follows that of the LSTM."""
        greedy = ", greedy" if self.greedy else ""
        return f"{self.kind}({super().name.removeprefix('lstm(')[:-1]}, mixing={self.mixing}{greedy})"

    def lessons(self, train: Corpus, weights: "Mapping[str, Tensor]", *, batch_size: int, seed: int) -> Lessons:
        """Return the batches of an LSTM, each with its number, from 0, and a loss that mixes by it."""
        plain = super().lessons(train, weights, batch_size=batch_size, seed=seed)

        def numbered(epoch: int) -> list[tuple[int, Any]]:
            batches = plain.batches(epoch)
            return list(enumerate(batches, start=epoch * len(batches)))

        def loss(batch: tuple[int, Any], rng: "torch.Generator") -> "Tensor":
            import torch

            number, rows = batch
            prob_true = self.schedule.prob_true(number)
            if prob_true == 1:
                return plain.loss(rows, rng)
            inputs, targets = padded(train.tokens, train.offsets, rows)
            told = torch.from_numpy(inputs).to(rng.device)
            told, _ = mixed(self, weights, told, prob_true=prob_true, greedy=self.greedy, rng=rng)
            return mean_loss(self, weights, told.cpu().numpy(), targets, rng)

        return replace(
            plain, batches=numbered, loss=loss, size=lambda batch: plain.size(batch[1]), heaviest=(0, plain.heaviest)
        )


def mixed(
    network: Reader,
    weights: Weights,
    inputs: "Tensor",
    *,
    prob_true: float,
    greedy: bool = False,
    rng: "torch.Generator",
) -> "tuple[Tensor, Tensor]":
    """Return sentences in which some tokens are the network's own, without gradient.

    `inputs`: whole sentences as `padded` gives them, begun by ``<sos>``, shape (B, L).

    The sentences and where the tokens are the network's own, both (B, L).
    """
    import torch

    own = torch.rand(inputs.shape, generator=rng, device=inputs.device) >= prob_true
    own[:, 0] = False
    own &= inputs != PAD
    told = inputs.clone()
    places = own.any(0).nonzero()[:, 0].tolist()
    with torch.no_grad():
        state = network.begin(weights, len(told))
        for place in range(1, max(places, default=0) + 1):
            vectors, state = network.step(weights, state, told[:, place - 1], place - 1)
            rows = own[:, place].nonzero()[:, 0]
            if len(rows) == 0:
                continue
            logits = network.logits(weights, vectors[rows]).float()  # (chosen, V)
            logits[:, EOS] = -math.inf
            if greedy:
                told[rows, place] = logits.argmax(1)
            else:
                told[rows, place] = torch.multinomial(logits.softmax(1), 1, generator=rng)[:, 0]
    return told, own
