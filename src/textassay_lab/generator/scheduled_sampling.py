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
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD
from textassay.errors import OptionError, unknown_name
from textassay_lab.generator.lessons import Lessons, mean_loss, padded
from textassay_lab.generator.lstm import LstmModel
from textassay_lab.generator.module import SentenceNetwork
from textassay_lab.generator.settings import ScheduledSamplingSettings

SCHEDULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"constant": ("k",), "exponential": ("k",), "inverse-sigmoid": ("k",), "linear": ("k", "c", "least")}
)

_CALL = re.compile(r"([\w-]+)(?:\((.*)\))?")


@dataclass(frozen=True)
class SamplingSchedule:
    """A probability for each step i of training, from 0."""

    name: str  # one of `SCHEDULES`
    # ``constant``: the probability, in [0, 1]. ``exponential``: k^i, in (0, 1). ``inverse-sigmoid``: k / (k + exp(i /
    # k)), at least 1; half is reached at i = k ln k. ``linear``: the first probability, in [0, 1].
    k: float = 1.0
    # ``linear`` alone: max(least, k - c i); `c` above 0, `least` at least 0 and below 1
    c: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in SCHEDULES:
            raise unknown_name("schedule", self.name, SCHEDULES)
        allowed = {
            "constant": (0 <= self.k <= 1, "in [0, 1]"),
            "exponential": (0 < self.k < 1, "above 0 and below 1"),
            "inverse-sigmoid": (1 <= self.k < math.inf, "at least 1"),
            "linear": (0 <= self.k <= 1, "in [0, 1]"),
        }
        fits, requirement = allowed[self.name]
        if not fits:
            raise OptionError(f"k of the schedule {self.name} must be {requirement}, got {self.k:g}")
        if self.name == "linear" and not 0 < self.c < math.inf:
            raise OptionError(f"c of the schedule linear must be above 0, got {self.c:g}")
        if not 0 <= self.least < 1:
            raise OptionError(f"least of the schedule linear must be at least 0 and below 1, got {self.least:g}")

    @classmethod
    def from_text(cls, text: str) -> "SamplingSchedule":
        """Parse a schedule such as ``linear(k=1,c=0.001,least=0.1)``."""
        call = _CALL.fullmatch(text.strip())
        if call is None:
            raise OptionError(f"a schedule must look like linear(k=1,c=0.001,least=0.1), got '{text}'")
        name, inside = call[1], call[2] or ""
        if name not in SCHEDULES:
            raise unknown_name("schedule", name, SCHEDULES)
        numbers: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in inside.split(","))):
            key, _, value = (piece.strip() for piece in part.partition("="))
            if key not in SCHEDULES[name]:
                raise unknown_name(f"setting of the schedule {name}", key, SCHEDULES[name])
            if key in numbers:
                raise OptionError(f"the schedule {name} has {key} twice")
            try:
                numbers[key] = float(value)
            except ValueError:
                raise OptionError(f"{key} of the schedule {name} must be a number, got '{value}'") from None
        needed = [key for key in ("k", "c") if key in SCHEDULES[name]]
        missing = [key for key in needed if key not in numbers]
        if missing:
            spelt = ",".join(f"{key}=..." for key in needed)
            raise OptionError(f"the schedule {name} needs {' and '.join(missing)}: {name}({spelt})")
        return cls(name, **numbers)

    def __str__(self) -> str:
        """Return what `from_text` reads."""
        return f"{self.name}({','.join(f'{key}={getattr(self, key)!r}' for key in SCHEDULES[self.name])})"

    def prob_true(self, step: int) -> float:
        """Return the probability of the true token at `step`, from 0, in [0, 1]."""
        if self.name == "constant":
            return self.k
        if self.name == "exponential":
            return float(self.k**step)
        if self.name == "linear":
            return max(self.least, self.k - self.c * step)
        beyond = step / self.k - math.log(self.k)  # 1 / (1 + exp(beyond)), where neither side overflows
        return 1 / (1 + math.exp(beyond)) if beyond < 0 else math.exp(-beyond) / (1 + math.exp(-beyond))


class ScheduledSampling(ScheduledSamplingSettings, LstmModel):
    """An LSTM trained by scheduled sampling; a `LanguageModel`. Needs the extra ``neural``.

    `width`, `layers`, `dropout`, `spread`, `length`, `recipe`, `batch_size`, `max_length`, `seed`: see `LstmModel`.
    With the same seed and text, its initial weights are equal, and with ``constant(k=1)`` the final ones, too.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.schedule = SamplingSchedule.from_text(self.mixing)
        self.mixing = str(self.schedule)

    @property
    def name(self) -> str:
        """Canonical name; the random streams of training are those of the LSTM."""
        greedy = ", greedy" if self.greedy else ""
        return f"{self.kind}({super().name.removeprefix('lstm(')[:-1]}, mixing={self.mixing}{greedy})"

    def lessons(self, train: Corpus, module: SentenceNetwork, *, batch_size: int, seed: int) -> Lessons:
        """Return the batches of an LSTM, each with its step, from 0, which decides how many inputs are drawn."""
        plain = super().lessons(train, module, batch_size=batch_size, seed=seed)

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

        return replace(
            plain, batches=numbered, loss=loss, size=lambda batch: plain.size(batch[1]), heaviest=(0, plain.heaviest)
        )


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
