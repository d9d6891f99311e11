"""Beam search for likely translations of many sources.

In each step every live hypothesis is extended by every token; the likeliest `width` unfinished ones stay alive, and
those of the first `width` that end are finished. A source is done when `width` hypotheses have finished. The result has
the highest score: its log-probability, end included, divided by its number of tokens, end included, to a power.

Sources: Graves, "Sequence Transduction with Recurrent Neural Networks", 2012; Wu et al., "Google's Neural Machine
Translation System", 2016 (length normalisation).
Departs from them: the result of greedy search is one of the candidates, so no score is below it. Tokens of a forced
prefix are part of the score, as log-probability and as length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import EOS, SOS
from textassay.errors import InputError, OptionError

if TYPE_CHECKING:
    from torch import Tensor


IntArray = npt.NDArray[np.int64]


class Decoder(Protocol):
    """The model as a search uses it: B sources, each with K hypotheses."""

    def log_probs(self, tokens: "Tensor", position: int) -> "Tensor":
        """Return the log-probability of each next token after the tokens (B, K) at `position`, (B, K, V)."""
        ...

    def keep(self, sources: "Tensor", places: "Tensor") -> None:
        """Keep the sources of these numbers, (B',), and, in each, copies of the hypotheses (B', K)."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation of a source."""

    tokens: IntArray  # without the end, shape (L,)
    log_prob: float  # its end included, in nats
    score: float  # `log_prob` divided by (L + 1) to a power


def beam_search(
    decoder: "Callable[[int], Decoder]",
    limits: Sequence[int],
    *,
    width: int = 10,
    power: float = 1.0,
    prefixes: Sequence[IntArray] | None = None,
) -> list[Hypothesis]:
    """Return the best hypothesis for each of B sources; `prefixes` are forced."""
    if width < 1:
        raise OptionError(f"the width of a beam must be at least 1, got {width}")
    if not 0 <= power < math.inf:
        raise OptionError(f"the power of the length must be at least 0, got {power}")
    forced = [np.empty(0, dtype=np.int64) for _ in limits] if prefixes is None else list(prefixes)
    greedy = _Search(decoder(1), limits, forced, 1, power).run()
    if width == 1:
        return greedy
    wide = _Search(decoder(width), limits, forced, width, power).run()
    return [max(pair, key=lambda hypothesis: hypothesis.score) for pair in zip(wide, greedy, strict=True)]


@dataclass
class _Search:
    """One search; arrays hold the unfinished sources, `live` their numbers."""

    decoder: Decoder
    limits: Sequence[int]
    prefixes: Sequence[IntArray]
    width: int
    power: float
    finished: list[list[Hypothesis]] = field(default_factory=list)

    def run(self) -> list[Hypothesis]:
        import torch

        n, width = len(self.limits), self.width
        self.finished = [[] for _ in range(n)]
        live = np.arange(n)
        limits, prefix_lengths = (
            np.array(self.limits, dtype=np.int64),
            np.array([len(tokens) for tokens in self.prefixes]),
        )
        tokens: Tensor | None = None  # the last token of each hypothesis, (B, K)
        sums = np.full((n, width), -math.inf)
        sums[:, 0] = 0.0  # all hypotheses are equal before the first step: one of them counts
        written = np.empty((n, width, 0), dtype=np.int64)
        position = 0
        while len(live) > 0:
            if tokens is None:
                tokens = torch.full((len(live), width), SOS)
            rows = self.decoder.log_probs(tokens, position)  # (B, K, V)
            totals = rows.double() + torch.from_numpy(sums).to(rows.device)[:, :, None]
            self._force(totals, live, position, prefix_lengths, limits)
            n_types = rows.shape[2]
            best = totals.flatten(1).topk(min(2 * width, width * n_types))
            scores, places = best.values.cpu().numpy(), best.indices.cpu().numpy()
            parents, chosen = places // n_types, places % n_types
            ends = (chosen == EOS) & np.isfinite(scores)
            self._finish(ends, scores, parents, live, written)
            order = np.argsort(ends, axis=1, kind="stable")[:, :width]  # those that go on come first, best first
            kept = np.take_along_axis(parents, order, 1)
            next_tokens = np.take_along_axis(chosen, order, 1)
            sums = np.take_along_axis(np.where(ends, -math.inf, scores), order, 1)
            if sums.shape[1] < width:  # fewer candidates than places
                more = ((0, 0), (0, width - sums.shape[1]))
                sums = np.pad(sums, more, constant_values=-math.inf)
                kept, next_tokens = np.pad(kept, more), np.pad(next_tokens, more)
            written = np.concatenate(
                (np.take_along_axis(written, kept[:, :, None], 1), next_tokens[:, :, None]), axis=2
            )
            goes_on = np.array([len(self.finished[source]) < width for source in live]) & np.isfinite(sums[:, 0])
            rest = np.flatnonzero(goes_on)
            if len(rest) == 0:
                break
            live, sums, written = live[rest], sums[rest], written[rest]
            tokens = torch.from_numpy(next_tokens[rest])
            self.decoder.keep(torch.from_numpy(rest), torch.from_numpy(kept[rest]))
            position += 1
        for number, candidates in enumerate(self.finished):
            if not candidates:
                raise InputError(f"source {number + 1} has no translation of a probability above 0")
        return [max(candidates, key=lambda hypothesis: hypothesis.score) for candidates in self.finished]

    def _force(
        self, totals: "Tensor", live: IntArray, position: int, prefix_lengths: IntArray, limits: IntArray
    ) -> None:
        """Allow only the next token of a prefix, where there is one, and only the end at the length limit."""
        for rows, wanted in (
            (np.flatnonzero(prefix_lengths[live] > position), None),
            (np.flatnonzero((prefix_lengths[live] <= position) & (limits[live] <= position)), EOS),
        ):
            for row in rows.tolist():
                token = int(self.prefixes[live[row]][position]) if wanted is None else wanted
                value = totals[row, :, token].clone()
                totals[row] = -math.inf
                totals[row, :, token] = value

    def _finish(
        self,
        ends: npt.NDArray[np.bool_],
        log_probs: npt.NDArray[np.float64],
        parents: IntArray,
        live: IntArray,
        written: IntArray,
    ) -> None:
        """Keep what ended among the first `width` candidates of each source."""
        for row, place in zip(*np.nonzero(ends[:, : self.width]), strict=True):
            tokens = written[row, parents[row, place]]
            log_prob = float(log_probs[row, place])
            score = log_prob / (len(tokens) + 1) ** self.power
            self.finished[live[row]].append(Hypothesis(tokens.copy(), log_prob, score))
