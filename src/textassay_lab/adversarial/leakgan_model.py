"""LeakGAN's generator: leaked features, a manager that sets goals in their space, a worker that draws words.

The features are those of the discriminator: convolutions over windows of words, max-pooling, a highway layer. The
manager turns them into a goal, a unit vector in feature space; the worker is guided by the sum of the last goals. Goals
are functions of the tokens, so the probability of each next word is exact: it is a language model.
`textassay_lab.adversarial` trains it.

Source: Guo et al., "Long Text Generation via Adversarial Training with Leaked Information", AAAI 2018.
Departs from it: padding stands before a sentence, not behind it, so that the features of a beginning are a running
maximum; windows reach the start of the sentence and its end, which are tokens of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import PAD
from textassay.errors import OptionError
from textassay_lab.adversarial.leakgan import LeakGanSettings
from textassay_lab.generator.lstm_model import LstmLayer
from textassay_lab.generator.module import SentenceNetwork, State
from textassay_lab.generator.network import NetworkLanguageModel
from textassay_lab.training.history import History

_SMALL = 0.1  # standard deviation of initial filters and output layer


@dataclass(frozen=True)
class Reading:
    """What the network computes at each of L tokens of B sentences."""

    features: Tensor  # shape (B, L, F), at least 0
    goals: Tensor  # unit vectors, shape (B, L, F)
    goal_sums: Tensor  # sum of the last goals before this token's own, shape (B, L, F)
    vectors: Tensor  # the worker's state, with a 1, times the embedded goals, shape (B, L, (width + 1) x goal)
    state: State  # after the last token


class Features(nn.Module):
    """What the discriminator leaks; `filters`: window to number of filters."""

    def __init__(self, n_types: int, dimension: int, filters: Mapping[int, int]) -> None:
        super().__init__()
        self.n_features, self.widest = sum(filters.values()), max(filters)
        self.words = nn.Embedding(n_types, dimension)
        self.filters: Any = nn.ModuleList(
            nn.Conv1d(dimension, count, window, bias=False) for window, count in filters.items()
        )
        self.pooled = nn.ParameterDict({"bias": torch.empty(self.n_features)})
        self.highway = nn.Linear(self.n_features, self.n_features)
        self.gate = nn.Linear(self.n_features, self.n_features)

    def initialise(self, rng: torch.Generator) -> None:
        self.words.weight.uniform_(-1, 1, generator=rng)
        for bank in self.filters:
            _truncated(bank.weight, rng)
        self.pooled["bias"].fill_(_SMALL)
        for layer in (self.highway, self.gate):
            nn.init.xavier_uniform_(layer.weight, generator=rng)
            layer.bias.zero_()

    def windows(self, tokens: Tensor) -> Tensor:
        """Return the value of each filter on the window that ends at each token, shape (B, L, F).

        `tokens`, shape (B, widest - 1 + L), begin with those before the first of the L.
        """
        vectors = self.words(tokens).transpose(1, 2)
        values = [bank(vectors[:, :, self.widest - bank.kernel_size[0] :]) for bank in self.filters]
        return torch.cat(values, 1).transpose(1, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        """Return the features, after the highway layer, of the pooled filters; both of shape (..., F)."""
        y = torch.relu(pooled + self.pooled["bias"])
        gate = torch.sigmoid(self.gate(y))
        return gate * torch.relu(self.highway(y)) + (1 - gate) * y


class Manager(nn.Module):
    """Turns features into goals."""

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        self.lstm = LstmLayer(n_features, width)
        self.goal = nn.Linear(width, n_features)

    def initialise(self, rng: torch.Generator) -> None:
        for weight in (self.lstm.weight_ih, self.lstm.weight_hh, self.goal.weight):
            _even(weight, rng)
        self.lstm.initialise_bias()
        self.goal.bias.zero_()

    def forward(self, features: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return a goal after each token, unit vectors (B, L, F), and the next state."""
        output, hidden, cell = self.lstm(features, *state)
        return nn.functional.normalize(self.goal(output), dim=-1), (hidden, cell)


class Worker(nn.Module):
    """Reads words, and draws the next in the direction of the goals."""

    def __init__(self, n_types: int, n_features: int, width: int, goal: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, width)
        self.lstm = LstmLayer(width, width)
        self.first = nn.ParameterDict({"goal": torch.empty(n_features)})
        self.goals = nn.Linear(n_features, goal, bias=False)
        self.head = nn.Linear((width + 1) * goal, n_types, bias=False)

    def initialise(self, rng: torch.Generator) -> None:
        _even(self.words.weight, rng, math.sqrt(3))
        for weight in (self.lstm.weight_ih, self.lstm.weight_hh):
            _even(weight, rng)
        self.lstm.initialise_bias()
        self.first["goal"].normal_(generator=rng)
        _even(self.goals.weight, rng, math.sqrt(3))
        _truncated(self.head.weight, rng)

    def forward(
        self, tokens: Tensor, goal_sums: Tensor, state: Sequence[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the hidden state after each token, (B, L, (width + 1) x goal), and the next state."""
        directions = self.goals(goal_sums)  # (batch, length, goal)
        output, hidden, cell = self.lstm(self.words(tokens), *state)
        output = torch.cat((output, torch.ones_like(output[..., :1])), -1)
        return (output[..., None] * directions[..., None, :]).flatten(2), (hidden, cell)


class LeakGanNetwork(SentenceNetwork):
    """Features, manager and worker."""

    def __init__(
        self,
        n_types: int,
        *,
        width: int,
        goal: int,
        memory: int,
        dimension: int,
        filters: Mapping[int, int],
        sharpness: float,
        excluded: Sequence[int],
        longest: int | None,
    ) -> None:
        super().__init__(excluded=excluded, longest=longest)
        self.features = Features(n_types, dimension, filters)
        self.manager = Manager(self.features.n_features, width)
        self.worker = Worker(n_types, self.features.n_features, width, goal)
        self.width, self.memory, self.sharpness = width, memory, sharpness

    def initialise(self, rng: torch.Generator) -> None:
        for part in (self.features, self.manager, self.worker):
            part.initialise(rng)

    def forward(self, tokens: Tensor, rng: torch.Generator | None = None) -> Tensor:
        """Return the worker's hidden state after each token, (B, L, (width + 1) x goal); there is no dropout."""
        return self.reading(tokens, self.begin(len(tokens))).vectors * self.sharpness

    def begin(self, n: int) -> State:
        """Return the state of `n` sentences before their first token.

        Its parts: the last tokens, the pooled filters, hidden state and cell of manager and worker, the last goals.
        """
        output = self.worker.head.weight
        tokens = torch.full((n, self.features.widest - 1), PAD, dtype=torch.int64, device=output.device)
        largest = output.new_full((n, self.features.n_features), -math.inf)
        zeros = output.new_zeros(n, self.width)
        first = nn.functional.normalize(self.worker.first["goal"], dim=0)
        return tokens, largest, zeros, zeros, zeros, zeros, first.expand(n, self.memory, -1)

    def step(self, state: State, tokens: Tensor, position: int) -> tuple[Tensor, State]:
        reading = self.reading(tokens[:, None], state)
        return reading.vectors[:, 0] * self.sharpness, reading.state

    def output(self) -> tuple[Tensor, Tensor | None]:
        return self.worker.head.weight, None

    def reading(self, tokens: Tensor, state: State) -> Reading:
        """Return what the network computes for `tokens`, shape (B, L), from `state` on."""
        recent, largest, *recurrent, last_goals = state
        length = tokens.shape[1]
        window_tokens = torch.cat((recent, tokens), 1)
        pooled = self.features.windows(window_tokens)  # (batch, length, features)
        pooled = torch.cat((largest[:, None].to(pooled.dtype), pooled), 1).cummax(1).values[:, 1:]
        features = self.features(pooled)
        goals, manager_state = self.manager(features, recurrent[:2])
        all_goals = torch.cat((last_goals.to(goals.dtype), goals), 1)
        goal_sums = torch.stack([all_goals[:, i : i + length] for i in range(self.memory)]).sum(0)  # (36)
        vectors, worker_state = self.worker(tokens, goal_sums, recurrent[2:])
        after = (window_tokens[:, length:], pooled[:, -1], *manager_state, *worker_state, all_goals[:, length:])
        return Reading(features, goals, goal_sums, vectors, after)


def _even(weight: Tensor, rng: torch.Generator, root: float = 1.0) -> None:
    spread = root / math.sqrt(weight.shape[-1])
    weight.uniform_(-spread, spread, generator=rng)


def _truncated(weight: Tensor, rng: torch.Generator) -> None:
    nn.init.trunc_normal_(weight, std=_SMALL, a=-2 * _SMALL, b=2 * _SMALL, generator=rng)


class LeakGanModel(LeakGanSettings, NetworkLanguageModel):
    """Manager, worker and leaked features; a `LanguageModel` trained against a discriminator.

    Needs the extra ``neural``.
    """

    kind = "leakgan"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.record = {"history": asdict(History())}

    @property
    def _title(self) -> str:
        sharpness = "" if self.sharpness == 1 else f", sharpness={self.sharpness:g}"
        length = "" if self.length is None else f", length={self.length}"
        return f"leakgan(width={self.width}, goal={self.goal}, memory={self.memory}{sharpness}{length})"

    def fit(self, train: Corpus, valid: Corpus | None = None, **settings: Any) -> Self:
        """Raise: it is trained against a discriminator."""
        raise OptionError(f"{self.name} is trained against a discriminator: use textassay_lab.generators.LeakGan")

    def new_module(self, n_types: int, longest: int) -> LeakGanNetwork:
        names = ("width", "goal", "memory", "sharpness", "excluded")
        sizes = {
            **{name: getattr(self, name) for name in names},
            "dimension": self.feature_width,
            "filters": {pair[0]: pair[1] for pair in self.feature_filters},
        }
        return LeakGanNetwork(n_types, **sizes, longest=self.length)
