"""A back-off n-gram model as an automaton: states, scores and samples.

The model is a trie in breadth-first order. Node 0 is the empty context, node ``1 + token`` the unigram of `token`, and
the children of a node are adjacent, sorted by token. The probability of a token is stored if it was seen in the
context; otherwise it is the back-off weight of the context times the probability in the context without its oldest
token. Tokens seen in a context were also seen in each shorter one, so the tokens left to the shorter context are one
row without another. Two cumulative sums per node suffice to sum over them and to search them: sampling inverts the
distribution function exactly, at any temperature, without visiting the whole vocabulary.

A temperature t raises the probability of each token to the power 1/t and normalises over all tokens at each position
(the convention of neural generators, not a temperature of whole sequences).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from textassay.corpus.encoding import EOS, SOS
from textassay.ngram import kernels_backoff

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TokenArray = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Tempered:
    """Sums for sampling at one temperature."""

    temperature: float
    cumulative: FloatArray  # Cumulative tempered probabilities over siblings, shape (n_nodes,)
    # The same for their probabilities in the context without its oldest token, shape (n_nodes,)
    cumulative_lower: FloatArray
    backoffs: FloatArray  # Tempered back-off weights, shape (n_contexts,)
    # Sum of the tempered probabilities of all tokens in a context, shape (n_contexts,); 1 at temperature 1
    totals: FloatArray


@dataclass(frozen=True)
class Trace:
    """The path of a text in a trie, valid for all models that share the trie."""

    states: npt.NDArray[np.int32]  # State before each token, shape (T,)
    nodes: npt.NDArray[np.int32]  # Longest stored n-gram that ends in the token, shape (T,)
    n_backoffs: npt.NDArray[np.uint16]  # Number of back-offs to find it, shape (T,)


@dataclass(frozen=True)
class BackoffModel:
    """A back-off n-gram model over a vocabulary of `n_types` tokens, specials included."""

    order: int  # Length of the longest n-gram, at least 1
    n_types: int  # Size of the vocabulary; every token but ``<pad>`` and ``<sos>`` can be predicted
    # First child of each context, and the end of the children of the last, shape (n_contexts + 1,). Nodes from
    # n_contexts on are n-grams of the full order, without children.
    first: IntArray
    tokens: TokenArray  # Last token of each node, shape (n_nodes,)
    suffixes: TokenArray  # The node without its oldest token, shape (n_nodes,)
    probs: FloatArray  # Probability of the last token after the others, shape (n_nodes,)
    backoffs: FloatArray  # Back-off weights, shape (n_contexts,), in (0, 1]

    @cached_property
    def start(self) -> int:
        """State at the start of a text."""
        return 1 + SOS if self.order > 1 else 0

    @cached_property
    def plain(self) -> Tempered:
        return self.tempered(1.0)

    def tempered(self, temperature: float) -> Tempered:
        """Return the sums for sampling at `temperature`, in time linear in the number of n-grams."""
        weights = self.probs if temperature == 1 else self.probs ** (1 / temperature)
        backoffs = self.backoffs if temperature == 1 else self.backoffs ** (1 / temperature)
        cumulative = np.empty_like(weights)
        cumulative_lower = np.empty_like(weights)
        totals = np.empty_like(backoffs)
        kernels_backoff.temper(self.first, self.suffixes, weights, backoffs, cumulative, cumulative_lower, totals)
        return Tempered(temperature, cumulative, cumulative_lower, backoffs, totals)

    def advance(self, tokens: TokenArray, offsets: IntArray) -> IntArray:
        """Return the state after each of the N sequences in `tokens`, shape (N,)."""
        return self._walk(tokens, offsets)[2]

    def token_log_probs(self, tokens: TokenArray, offsets: IntArray, tempered: Tempered) -> FloatArray:
        """Return the log-probability, in nats, of each token after those before it, shape (T,).

        `tokens`, `offsets`: N sequences, shapes (T,) and (N + 1,), each with its ``<eos>`` if it is to be scored.
        """
        probs, states, _ = self._walk(tokens, offsets)
        scores = np.log(probs)
        if tempered.temperature != 1:
            scores = scores / tempered.temperature - np.log(tempered.totals[states])
        return scores

    def trace(self, tokens: TokenArray, offsets: IntArray) -> Trace:
        """Return the paths of N sequences, shapes (T,) and (N + 1,), for repeated scoring by `traced_log_probs`."""
        states, nodes = np.empty(len(tokens), dtype=np.int32), np.empty(len(tokens), dtype=np.int32)
        n_backoffs = np.empty(len(tokens), dtype=np.uint16)
        kernels_backoff.trace(
            self.first, self.tokens, self.suffixes, tokens, offsets, self.start, states, nodes, n_backoffs
        )
        return Trace(states, nodes, n_backoffs)

    def traced_log_probs(self, trace: Trace) -> FloatArray:
        """Return the result of `token_log_probs` at temperature 1, for a text traced in this trie."""
        scores = np.empty(len(trace.states))
        kernels_backoff.score(
            self.suffixes, self.probs, self.backoffs, trace.states, trace.nodes, trace.n_backoffs, scores
        )
        return scores

    def next_probs(self, states: IntArray, tempered: Tempered) -> FloatArray:
        """Return the probability of every token of the vocabulary in each state, shape (B, n_types)."""
        dense = np.empty((len(states), self.n_types))
        kernels_backoff.fill_dense(self.first, self.tokens, self.suffixes, self.probs, self.backoffs, states, dense)
        if tempered.temperature != 1:
            np.power(dense, 1 / tempered.temperature, out=dense)
            dense /= tempered.totals[states][:, None]
        return dense

    def draw(self, states: IntArray, uniforms: FloatArray, tempered: Tempered) -> tuple[TokenArray, IntArray]:
        """Return one token sampled in each state and the state after it, both of shape (B,)."""
        drawn = np.empty(len(states), dtype=np.int32)
        after = np.empty(len(states), dtype=np.int64)
        kernels_backoff.draw(
            self.first,
            self.tokens,
            self.suffixes,
            tempered.cumulative,
            tempered.cumulative_lower,
            tempered.backoffs,
            tempered.totals,
            states,
            uniforms,
            drawn,
            after,
        )
        return drawn, after

    def _walk(self, tokens: TokenArray, offsets: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the probability of each token and the state before it, (T,), and the state after each sequence."""
        probs, states = np.empty(len(tokens)), np.empty(len(tokens), dtype=np.int64)
        after = np.empty(len(offsets) - 1, dtype=np.int64)
        kernels_backoff.walk(
            self.first,
            self.tokens,
            self.suffixes,
            self.probs,
            self.backoffs,
            tokens,
            offsets,
            self.start,
            probs,
            states,
            after,
        )
        return probs, states, after


def with_ends(tokens: TokenArray, offsets: IntArray) -> tuple[TokenArray, IntArray]:
    """Return N texts, shapes (T,) and (N + 1,), with ``<eos>`` after each: shapes (T + N,) and (N + 1,)."""
    ended = offsets + np.arange(len(offsets))
    text = np.full(ended[-1], EOS, dtype=np.int32)
    inside = np.ones(len(text), dtype=np.bool_)
    inside[ended[1:] - 1] = False
    text[inside] = tokens
    return text, ended
