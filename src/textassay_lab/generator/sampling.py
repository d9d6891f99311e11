"""Drawing sentences from a network, many at once.

Draws invert the distribution with one uniform number per sentence and position: the search is over sums of stretches of
the vocabulary first, then inside one stretch, so a draw costs little more than the output layer. Sentences that have
ended skip the output layer and, as soon as an eighth of all have ended, the network. A block of sentences is always
drawn whole, so the first sentences do not depend on their number.

Sources: Devroye, "Non-Uniform Random Variate Generation", 1986, chapter III (inversion by guide tables); Fan, Lewis,
Dauphin, "Hierarchical Neural Story Generation", ACL 2018 (top-k); Holtzman et al., "The Curious Case of Neural Text
Degeneration", ICLR 2020 (top-p).
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.execution.tasks import map_in_order
from textassay.seeding import uniforms
from textassay_lab.generator.module import rows_to_add
from textassay_lab.training.backend import single_threaded

IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]

_TOGETHER = {"cpu": 512, "cuda": 2048}  # sentences drawn in one block, by device
_ELSEWHERE = 2048
_CROWDED = 7 / 8  # below this share of unfinished sentences, finished ones are removed from the state
_STRETCH = 64  # tokens of the vocabulary that are summed before the search


class Drawable(Protocol):
    """A network that is read token by token: a `SentenceNetwork`, or a pre-trained one."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        ...

    def begin(self, n: int) -> Any:
        """Return the state of `n` sentences before their first token; see `SentenceNetwork`."""
        ...

    def step(self, state: Any, tokens: Tensor, position: int) -> tuple[Tensor, Any]:
        """Return the hidden state after the token at `position`, and the next state."""
        ...

    def logits(self, vectors: Tensor, temperature: float = 1.0) -> Tensor:
        """Return the logits of the next token, (B, V), for hidden states (B, width)."""
        ...


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen; see `Generator.sample`. Without `ends`, no sentence ends before the limit."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    ends: bool = True

    def tokens(self, logits: Tensor, draws: Tensor) -> Tensor:
        """Return the token that each uniform draw in [0, 1), shape (B,), stands for, shape (B,).

        `logits`, (B, V), float32, are those at `temperature`.
        """
        if not self.ends:
            logits = logits.index_fill(1, torch.tensor([EOS], device=logits.device), -math.inf)
        if self.top_k is not None and self.top_k < logits.shape[1]:
            n_kept = torch.full((len(logits), 1), self.top_k, device=logits.device)
            logits = _likeliest(logits, n_kept, logits.topk(self.top_k).values)
        if self.top_p is not None and self.top_p < 1:
            logits = nucleus(logits, self.top_p)
        return inverted(logits, draws)


@dataclass(frozen=True)
class Beginnings:
    """Prefixes of n samples."""

    tokens: TokenArray  # of all prefixes, concatenated, shape (T,)
    offsets: IntArray  # where each begins, and the end of the last, shape (M + 1,)
    which: IntArray  # the prefix of each sample, shape (n,)
    # input of the network in place of ``<sos>`` of each sample, shape (n,), for conditional networks
    first: IntArray | None = None

    @classmethod
    def nothing(cls, n: int, first: IntArray | None = None) -> "Beginnings":
        """Return the beginnings of `n` free samples."""
        return cls(np.empty(0, np.int32), np.zeros(2, np.int64), np.zeros(n, np.int64), first)

    def read_first(self, samples: IntArray) -> IntArray:
        """Return the first input of each sample, shape (B,)."""
        if self.first is None:
            return np.full(len(samples), SOS, dtype=np.int64)
        return self.first[np.minimum(samples, len(self.which) - 1)]

    def of(self, samples: IntArray) -> tuple[IntArray, IntArray]:
        """Return where in `tokens` the prefix of each sample starts, and its length, shapes (B,)."""
        rows = self.which[np.minimum(samples, len(self.which) - 1)]
        return self.offsets[rows], np.diff(self.offsets)[rows]


def draw_sentences(
    network: Drawable,
    choice: Choice,
    beginnings: Beginnings,
    *,
    key: int,
    limit: int,
    together: int | None = None,
) -> tuple[TokenArray, IntArray]:
    """Return drawn tokens, prefixes included, concatenated, (T,), and lengths, (n,)."""
    n = len(beginnings.which)
    device = network.device.type
    together = together or _TOGETHER.get(device, _ELSEWHERE)

    def draw(start: int) -> tuple[TokenArray, IntArray]:
        with single_threaded():
            samples = np.arange(start, start + together)
            return _draw_block(network, choice, beginnings, samples, key, limit)

    starts = range(0, n, together)
    blocks = map_in_order(draw, starts) if device == "cpu" else [draw(start) for start in starts]
    lengths = np.concatenate([block for _, block in blocks])[:n]
    return np.concatenate([block for block, _ in blocks])[: lengths.sum()], lengths


def _draw_block(
    network: Drawable,
    choice: Choice,
    beginnings: Beginnings,
    samples: IntArray,
    key: int,
    limit: int,
) -> tuple[TokenArray, IntArray]:
    device = network.device
    starts, prefix_lengths = beginnings.of(samples)
    limits = np.maximum(limit, prefix_lengths)
    lengths = np.zeros(len(samples), dtype=np.int64)
    columns: list[tuple[IntArray, IntArray]] = []
    held = np.arange(len(samples))  # the sentences that are in the state of the network
    going = np.ones(len(held), dtype=np.bool_)  # those of them that have not ended
    tokens = beginnings.read_first(samples)
    with torch.no_grad():
        state = network.begin(len(held))
        while True:
            position = len(columns)
            vectors, state = network.step(state, torch.from_numpy(tokens).to(device), position)
            forced = going & (position < prefix_lengths[held])
            free = np.flatnonzero(going & ~forced)
            tokens = np.full(len(held), PAD, dtype=np.int64)
            tokens[forced] = beginnings.tokens[starts[held[forced]] + position]
            if len(free) > 0:
                chosen = vectors if len(free) == len(held) else vectors[torch.from_numpy(free).to(device)]
                draws = torch.from_numpy(uniforms(key, samples[held[free]], position)).to(device)
                logits = network.logits(chosen, choice.temperature).float()
                tokens[free] = choice.tokens(logits, draws).cpu().numpy()
            going &= tokens != EOS
            lengths[held[going]] += 1
            columns.append((held[going], tokens[going]))
            going &= position + 1 < limits[held]
            n_going = int(np.count_nonzero(going))
            if n_going == 0:
                return _in_order(columns, lengths), lengths
            n_kept = n_going + rows_to_add(n_going, vectors)
            if n_going < _CROWDED * len(held) and n_kept < len(held):
                kept = np.argsort(~going, kind="stable")[
                    :n_kept
                ]  # those that go on, in order, and some that have ended
                places = torch.from_numpy(kept).to(device)
                state = tuple(part.index_select(0, places) for part in state)
                held, tokens, going = held[kept], tokens[kept], going[kept]


def _in_order(columns: list[tuple[IntArray, IntArray]], lengths: IntArray) -> TokenArray:
    """Return the tokens sentence by sentence, shape (T,), that `columns` hold position by position."""
    tokens = np.empty(lengths.sum(), dtype=np.int32)
    starts = np.cumsum(lengths) - lengths
    for position, (rows, column) in enumerate(columns):
        tokens[starts[rows] + position] = column
    return tokens


def nucleus(logits: Tensor, top_p: float) -> Tensor:
    """Return `logits`, (B, V), with -inf for all but the fewest likeliest tokens that together have `top_p`."""
    likeliest = _descending(logits)
    reached = torch.exp(likeliest - likeliest[:, :1]).cumsum(1, dtype=torch.float64)
    n_kept = (reached < top_p * reached[:, -1:]).sum(1, keepdim=True) + 1
    return _likeliest(logits, n_kept.clamp_(max=logits.shape[1]), likeliest)


def _descending(logits: Tensor) -> Tensor:
    """Return each row from its highest logit down, by numpy on a processor: a tenth of the time of PyTorch there."""
    if logits.device.type != "cpu":
        return logits.sort(dim=1, descending=True).values
    return torch.from_numpy(-np.sort(-logits.numpy(), axis=1))


def _likeliest(logits: Tensor, n_kept: Tensor, likeliest: Tensor) -> Tensor:
    """Return `logits`, (B, V), with -inf for all but the `n_kept`, (B, 1), highest, the first of equal ones.

    `likeliest` are the highest in descending order, shape (B, at least `n_kept`).
    """
    border = likeliest.gather(1, n_kept - 1)
    above, equal = logits > border, logits == border
    n_equal = n_kept - above.sum(1, keepdim=True)
    if bool((equal.sum(1, keepdim=True) > n_equal).any()):
        equal &= equal.cumsum(1) <= n_equal
    return torch.where(above | equal, logits, -math.inf)


def inverted(logits: Tensor, draws: Tensor) -> Tensor:
    """Return the token that each uniform draw (B,) in [0, 1) hits, shape (B,); sums of stretches are in float64."""
    n_types = logits.shape[1]
    n_stretches = -(-n_types // _STRETCH)
    mass = logits.new_empty(len(logits), n_stretches * _STRETCH)
    mass[:, n_types:] = 0.0
    torch.sub(logits, logits.amax(1, keepdim=True), out=mass[:, :n_types]).exp_()
    parts = mass.view(len(logits), n_stretches, _STRETCH)
    ends = parts.sum(2).cumsum(1, dtype=torch.float64)  # (batch, stretches)
    wanted = (draws * ends[:, -1])[:, None]
    stretch = torch.searchsorted(ends, wanted, right=True).clamp_(max=n_stretches - 1)
    before = torch.where(stretch > 0, ends.gather(1, (stretch - 1).clamp(min=0)), 0.0)
    within = parts[torch.arange(len(logits), device=logits.device), stretch[:, 0]].cumsum(1, dtype=torch.float64)
    last = (within < within[:, -1:]).sum(1, keepdim=True)  # where rounding has left nothing
    place = torch.minimum(torch.searchsorted(within, wanted - before, right=True), last)
    return (stretch * _STRETCH + place)[:, 0]
