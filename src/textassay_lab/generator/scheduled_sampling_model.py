"""Scheduled sampling: an LSTM whose inputs in training are more and more its own draws instead of true tokens.

At step i of training each input token is the true one with probability eps_i; else it is drawn from the network given
the inputs so far. Targets stay the true next tokens. Inputs are drawn first, without gradient; then the network is
trained on the mixed sentence in one pass.

Source: Bengio, Vinyals, Jaitly, Shazeer, "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks",
NeurIPS 2015.
Departs from it: inputs are drawn without dropout, as in sampling, and never ``<eos>``, after which there is no target;
``constant``, which holds one probability, is added to the schedules.
"""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.objective import TrainingObjective, mean_loss, padded
from textassay_lab.generator.scheduled_sampling import ScheduledSamplingSettings


class ScheduledSamplingModel(ScheduledSamplingSettings, LstmModel):
    """An LSTM trained by scheduled sampling; a `LanguageModel`. Needs the extra ``neural``.

    With the same seed and text, its initial weights are those of the LSTM, and with ``constant(k=1)`` the final ones,
    too.
    """

    kind = "scheduled-sampling"

    @property
    def name(self) -> str:
        """Canonical name; the random streams of training are those of the LSTM."""
        greedy = ", greedy" if self.greedy else ""
        return f"{self.kind}({super().name.removeprefix('lstm(')[:-1]}, mixing={self.sampling_schedule}{greedy})"

    def objective(self, train: Corpus, module: SentenceNetwork, *, seed: int) -> TrainingObjective:
        """Return the batches of an LSTM, each with its step, from 0, which decides how many inputs are drawn."""
        plain = super().objective(train, module, seed=seed)

        def numbered(epoch: int) -> list[tuple[int, Any]]:
            batches = plain.batches(epoch)
            return list(enumerate(batches, start=epoch * len(batches)))

        def loss(batch: tuple[int, Any], rng: torch.Generator) -> Tensor:
            number, rows = batch
            prob_true = self.schedule.prob_true(number)
            if prob_true == 1:
                return plain.loss(rows, rng)
            inputs, targets = padded(train.tokens, train.offsets, rows)
            mixed_inputs = torch.from_numpy(inputs).to(rng.device)
            mixed_inputs, _ = mixed(module, mixed_inputs, prob_true=prob_true, greedy=self.greedy, rng=rng)
            return mean_loss(module, mixed_inputs.cpu().numpy(), targets, rng)

        return replace(plain, batches=numbered, loss=loss, size=lambda batch: plain.size(batch[1]))


def mixed(
    network: SentenceNetwork,
    inputs: Tensor,
    *,
    prob_true: float,
    greedy: bool = False,
    rng: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return inputs with some tokens drawn from the network, without gradient, and where these are, both (B, L).

    `inputs`: whole sentences as `padded` gives them, begun by ``<sos>``, shape (B, L).
    """
    own = torch.rand(inputs.shape, generator=rng, device=inputs.device) >= prob_true
    own[:, 0] = False
    own &= inputs != PAD
    tokens = inputs.clone()
    places = own.any(0).nonzero()[:, 0].tolist()
    with torch.no_grad():
        state = network.begin(len(tokens))
        for place in range(1, max(places, default=0) + 1):
            vectors, state = network.step(state, tokens[:, place - 1], place - 1)
            rows = own[:, place].nonzero()[:, 0]
            if len(rows) == 0:
                continue
            logits = network.logits(vectors[rows]).float()  # (chosen, V)
            logits[:, EOS] = -math.inf
            if greedy:
                tokens[rows, place] = logits.argmax(1)
            else:
                tokens[rows, place] = torch.multinomial(logits.softmax(1), 1, generator=rng)[:, 0]
    return tokens, own
