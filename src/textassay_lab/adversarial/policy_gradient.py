"""The policy gradient (REINFORCE): drawn sentences as actions, roll-outs after each of their prefixes, and the loss.

For sentences drawn from a policy, grad J = E[sum_t R_t grad log pi(u_t | before)], where R_t is the return after the
action u_t. A baseline that does not depend on the action leaves the expectation unchanged and reduces the variance.
A policy reads each drawn sentence once; every roll-out continues from the state there. Uniform numbers depend on the
roll-out and the position alone, so draws do not depend on blocks or on the number of workers.

Sources: Williams, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning", Machine
Learning 8, 1992; Kool, van Hoof, Welling, "Buy 4 REINFORCE Samples, Get a Baseline for Free!", 2019 (leave one out);
Yu et al., "SeqGAN: Sequence Generative Adversarial Nets with Policy Gradient", AAAI 2017 (Monte Carlo search).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.execution.threads import parallel_map
from textassay.seeding import uniforms
from textassay_lab.generator.module import SentenceNetwork, State
from textassay_lab.generator.sampling import Beginnings, Choice, draw_sentences
from textassay_lab.training.backend import single_threaded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Scorer = Callable[[IntArray], FloatArray]

_TOGETHER = 512  # roll-outs drawn in one block
_SCORED_AT_ONCE = 1 << 15  # roll-outs scored at once


@dataclass(frozen=True)
class Actions:
    """Sentences as rows of actions: tokens, then the end where one was drawn, then padding."""

    tokens: IntArray  # shape (B, limit); ``<pad>`` after the last action
    lengths: IntArray  # actions of each row, its end included, shape (B,), at least 1

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def taken(self) -> npt.NDArray[np.bool_]:
        """Where the actions are, shape (B, limit)."""
        return np.asarray(np.arange(self.tokens.shape[1]) < self.lengths[:, None])

    @property
    def inputs(self) -> IntArray:
        """Input of the policy before each action, shape (B, limit)."""
        return np.concatenate((np.full((len(self), 1), SOS), self.tokens[:, :-1]), axis=1)

    def take(self, rows: IntArray) -> "Actions":
        return Actions(self.tokens[rows], self.lengths[rows])

    @classmethod
    def of_text(cls, tokens: npt.NDArray[np.int32], offsets: IntArray, limit: int) -> "Actions":
        """Return sentences of at most `limit` tokens as the actions of a policy with this limit."""
        n_tokens = np.diff(offsets)
        table = np.full((len(n_tokens), limit + 1), PAD, dtype=np.int64)
        table[np.arange(limit + 1) < n_tokens[:, None]] = tokens
        table[np.arange(len(n_tokens)), n_tokens] = EOS
        return cls(table[:, :limit], np.minimum(n_tokens + 1, limit))

    def sentences(self) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Return the tokens without ends, concatenated, (T,), and offsets, (B + 1,)."""
        words = self.taken & (self.tokens != EOS)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(words.sum(axis=1))))
        return self.tokens[words].astype(np.int32), offsets


def draw_actions(network: SentenceNetwork, n: int, *, limit: int, key: int) -> Actions:
    """Return `n` sentences of at most `limit` tokens, drawn from the policy; `key` decides the uniform numbers."""
    tokens, lengths = draw_sentences(
        network, Choice(), Beginnings.nothing(n), key=key, limit=limit, together=min(n, _TOGETHER)
    )
    return Actions.of_text(tokens, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), limit)


def variety(drawn: Actions, real: Actions) -> float:
    """Return the number of distinct bigrams of actions, over that of as many real sentences."""
    rows = np.arange(min(len(drawn), len(real)))
    return _n_pairs(drawn.take(rows)) / max(_n_pairs(real.take(rows)), 1)


def _n_pairs(rows: Actions) -> int:
    both = rows.taken[:, 1:]
    return len(np.unique(rows.tokens[:, :-1][both] << 32 | rows.tokens[:, 1:][both]))


def log_probs_of(network: SentenceNetwork, drawn: Actions, vectors: Tensor | None = None) -> Tensor:
    """Return the log-probability of each action, shape (B, limit), to differentiate; 0 where there is none.

    `vectors`: hidden states before each action, (B, limit, width); without them the network reads, without dropout.
    """
    device = network.device
    taken = torch.from_numpy(drawn.taken).to(device)
    vectors = network(torch.from_numpy(drawn.inputs).to(device)) if vectors is None else vectors
    wanted = torch.from_numpy(drawn.tokens).to(device)[taken]
    log_probs = -torch.nn.functional.cross_entropy(network.logits(vectors[taken]), wanted, reduction="none")
    return torch.zeros(taken.shape, device=device).masked_scatter(taken, log_probs)


def mean_outcomes(network: SentenceNetwork, drawn: Actions, score: Scorer, *, n_roll_outs: int, key: int) -> FloatArray:
    """Return the mean score of roll-outs after each action, shape (B, limit); of the last action, of the sentence.

    `score`: from sentences as rows of actions, shape (R, limit), to a number each, shape (R,).
    """
    limit = drawn.tokens.shape[1]
    outcomes = np.zeros(drawn.tokens.shape)
    rows = np.arange(len(drawn))
    outcomes[rows, drawn.lengths - 1] = score(drawn.tokens)
    waiting: list[tuple[int, IntArray, IntArray]] = []  # after how many actions, of which rows, their roll-outs
    n_waiting = 0
    for n_actions, open_rows, vectors, state in _read(network, drawn):
        which = np.repeat(open_rows, n_roll_outs)
        numbers = (which * limit + n_actions) * n_roll_outs + np.tile(np.arange(n_roll_outs), len(open_rows))
        starts = range(0, len(which), _TOGETHER)
        draw = partial(_go_on, network, vectors, state, drawn, which, numbers, n_actions, key)
        waiting.append((n_actions, which, np.concatenate(parallel_map(draw, starts))))
        n_waiting += len(which)
        if n_waiting >= _SCORED_AT_ONCE:
            _settle(waiting, score, outcomes, n_roll_outs)
            waiting, n_waiting = [], 0
    _settle(waiting, score, outcomes, n_roll_outs)
    return outcomes


def _settle(waiting: list[tuple[int, IntArray, IntArray]], score: Scorer, outcomes: FloatArray, n: int) -> None:
    """Score roll-outs and write their means, `n` each, into `outcomes`."""
    if not waiting:
        return
    scores = score(np.concatenate([tokens for _, _, tokens in waiting]))
    first = 0
    for n_actions, which, _ in waiting:
        means = scores[first : first + len(which)].reshape(-1, n).mean(axis=1)
        outcomes[which[::n], n_actions - 1] = means
        first += len(which)


def _read(network: SentenceNetwork, drawn: Actions) -> Iterator[tuple[int, IntArray, Tensor, State]]:
    """Read all sentences; after each action but the last, yield the start of a roll-out.

    That is the number of actions, the unfinished rows, and for all rows the hidden state and the network's state.
    """
    device = network.device
    limit = drawn.tokens.shape[1]
    inputs = torch.from_numpy(drawn.inputs).to(device)
    with torch.no_grad():
        state = network.begin(len(drawn))
        for n_actions in range(int(drawn.lengths.max(initial=1))):
            vectors, state = network.step(state, inputs[:, n_actions], n_actions)
            open_rows = np.flatnonzero(drawn.lengths > n_actions)
            if 0 < n_actions < limit and len(open_rows) > 0:
                yield n_actions, open_rows, vectors, state


def _go_on(
    network: SentenceNetwork,
    vectors: Tensor,
    state: State,
    drawn: Actions,
    which: IntArray,
    numbers: IntArray,
    n_actions: int,
    key: int,
    start: int,
) -> IntArray:
    """Return roll-outs `start` and those drawn with it as rows of actions, (R, limit), after `n_actions` of `which`."""
    held, numbers = which[start : start + _TOGETHER], numbers[start : start + _TOGETHER]
    limit = drawn.tokens.shape[1]
    tokens = np.full((len(held), limit), PAD, dtype=np.int64)
    tokens[:, :n_actions] = drawn.tokens[held, :n_actions]
    going, choice = np.arange(len(held)), Choice()
    with single_threaded(), torch.no_grad():
        places = torch.from_numpy(held).to(vectors.device)
        vectors, state = vectors[places], tuple(part[places] for part in state)
        for position in range(n_actions, limit):
            draws = torch.from_numpy(uniforms(key, numbers[going], position)).to(vectors.device)
            chosen = choice.tokens(network.logits(vectors).float(), draws)
            tokens[going, position] = chosen.cpu().numpy()
            open_ones = tokens[going, position] != EOS
            if position + 1 == limit or not open_ones.any():
                break
            if not open_ones.all():
                going, places = going[open_ones], torch.from_numpy(np.flatnonzero(open_ones)).to(vectors.device)
                chosen, state = chosen[places], tuple(part[places] for part in state)
            vectors, state = network.step(state, chosen, position + 1)
    return tokens


def policy_loss(log_probs: Tensor, returns: Tensor, taken: Tensor) -> Tensor:
    """Return minus the mean over trajectories of sum_t R_t log pi(u_t), a scalar; its gradient estimates -grad J.

    `log_probs`: of the actions, in nats, shape (B, T); `returns`: return of each action, less any baseline, shape
    (B, T); `taken`: where there are actions, shape (B, T).
    """
    none = log_probs.new_zeros(())
    terms = torch.where(taken, log_probs, none) * torch.where(taken, returns.detach(), none)
    return -terms.sum() / len(log_probs)


def leave_one_out(returns: Tensor, taken: Tensor) -> Tensor:
    """Return for each action the mean return of the others at the same time, shape (B, T); 0 where there is none."""
    present = torch.where(taken, returns, returns.new_zeros(()))
    n_others = taken.sum(0) - taken.to(torch.int64)
    return (present.sum(0) - present) / n_others.clamp(min=1) * (n_others > 0)
