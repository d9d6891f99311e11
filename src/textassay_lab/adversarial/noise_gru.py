"""A noise-driven generator: it maps one random vector to a sentence, and has no likelihood.

`textassay_lab.adversarial` trains it; here are its draws, free or with teacher forcing.

The network, a GRU, maps a noise vector to a sentence; ``<sos>`` is the start token, where the public code of its
authors has a start vector of its own.

Source: Press, Bar, Bogin, Berant, Wolf, "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017; Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019.
"""

import math
from collections.abc import Iterator
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, PAD, SOS
from textassay.errors import InputError, OptionError
from textassay.execution.threads import parallel_map
from textassay.ngram.language_model import check_sample, drawn_corpus, prefix_of_each, refuse, tokens_in
from textassay.seeding import stream
from textassay_lab.adversarial.wgan import NoiseGruSettings
from textassay_lab.generator.fitted_network import FittedNetwork
from textassay_lab.generator.module import Network
from textassay_lab.training.backend import single_threaded

IntArray = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]

_TOGETHER = 512  # rows of a block, which is always drawn whole
WORD_SPREAD = 0.1  # of initial embeddings and output layer (public code of the recurrent WGAN)
_GATE_BIAS = 1.0


class GruCell(nn.Module):
    """The gated recurrent unit (GRU) in plain tensor operations, which a gradient penalty can differentiate twice.

    The fused kernels of GPUs do not support that. The first axis of the weights holds reset gate, update gate and
    candidate state. Sources: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical
    Machine Translation", EMNLP 2014; Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010 (initial weights). Departs from them: the reset gate works after the product with the state,
    as in cuDNN, so that a step has one product.
    """

    def __init__(self, n_inputs: int, width: int) -> None:
        super().__init__()
        self.input = nn.Linear(n_inputs, 3 * width)
        self.state = nn.Linear(width, 3 * width)

    def initialise(self, rng: torch.Generator) -> None:
        """Draw the weights; biases are 0, those of gates 1."""
        width = self.state.in_features
        for layer in (self.input, self.state):
            spread = math.sqrt(6 / (layer.in_features + width))  # for each gate
            layer.weight.uniform_(-spread, spread, generator=rng)
            layer.bias.zero_()
        self.input.bias[: 2 * width] = _GATE_BIAS

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Return the next state, (B, width), from one step of ``self.input``, (B, 3 x width), and the state."""
        width = state.shape[1]
        from_state = self.state(state)
        reset, update = torch.sigmoid(inputs[:, : 2 * width] + from_state[:, : 2 * width]).chunk(2, 1)
        candidate = torch.tanh(inputs[:, 2 * width :] + reset * from_state[:, 2 * width :])
        return candidate + update * (state - candidate)

    def run(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Return the states after each of L steps of ``self.input``, (B, L, 3 x width), shape (B, L, width)."""
        states = []
        for part in inputs.unbind(1):
            state = self(part, state)
            states.append(state)
        return torch.stack(states, 1)


class NoiseGruNetwork(Network):
    """The network; `ends`: whether ``<eos>`` can be drawn; ``<pad>`` and ``<sos>`` never are."""

    def __init__(self, n_types: int, width: int, *, ends: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, width)
        self.cell = GruCell(width, width)
        self.head = nn.Linear(width, n_types)
        self.excluded = [PAD, SOS] if ends else [PAD, SOS, EOS]

    def initialise(self, rng: torch.Generator) -> None:
        self.words.weight.uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.cell.initialise(rng)
        self.head.weight.uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.head.bias.zero_()

    def forced(self, tokens: Tensor, noise: Tensor) -> Tensor:
        """Return the logits at each position with teacher forcing, shape (R, T, V).

        `tokens`: ids, shape (R, T), or (1, T) for all; `noise`: first states, shape (R, width).
        """
        read = nn.functional.pad(tokens[:, :-1], (1, 0), value=SOS)
        if read.numel() < self.words.num_embeddings:
            inputs = self.cell.input(self.words(read))
        else:  # the inputs of each type are computed once
            inputs = nn.functional.embedding(read, self.cell.input(self.words.weight))
        return self._logits(self.cell.run(inputs, noise))

    def free(self, noise: Tensor, length: int) -> Tensor:
        """Return the distributions of `length` tokens, each step fed the one before it, (R, length, V)."""
        words = self.words.weight
        vectors = words[SOS].expand(len(noise), -1)
        state, distributions = noise, []
        for _ in range(length):
            state = self.cell(self.cell.input(vectors), state)
            distributions.append(self._logits(state).softmax(1))
            vectors = distributions[-1] @ words
        return torch.stack(distributions, 1)

    def drawn(self, noise: Tensor, length: int, prefixes: Tensor, prefix_lengths: Tensor, *, soft: bool) -> Tensor:
        """Return the likeliest token at each of `length` positions, shape (R, length), after the prefixes.

        `prefixes`: ids that rows begin with, shape (R, width of the longest); `prefix_lengths`: how many of them belong
        to each row, shape (R,).
        """
        words = self.words.weight
        vectors = words[SOS].expand(len(noise), -1)
        state, tokens = noise, []
        for position in range(length):
            state = self.cell(self.cell.input(vectors), state)
            logits = self._logits(state)
            chosen = logits.argmax(1)
            vectors = logits.softmax(1) @ words if soft else words[chosen]
            if position < prefixes.shape[1]:
                is_prefix = position < prefix_lengths
                chosen = torch.where(is_prefix, prefixes[:, position], chosen)
                vectors = torch.where(is_prefix[:, None], words[chosen], vectors)
            tokens.append(chosen)
        return torch.stack(tokens, 1)

    def _logits(self, states: Tensor) -> Tensor:
        blocked = torch.zeros_like(self.head.bias)
        blocked[self.excluded] = -math.inf
        return nn.functional.linear(states, self.head.weight, self.head.bias + blocked)


class NoiseGru(NoiseGruSettings, FittedNetwork):
    """GRU whose first state is noise; a `Generator` and a `NoiseDriven`. Needs the extra ``neural``.

    `feeds`: the input of a step in free draws: ``argmax``, the chosen token, as in the public code, or
    ``distribution``, as in training without teacher helping.

    Each token is the likeliest one: the noise is the only randomness. It has no `log_prob`.
    """

    kind = "noise-gru"

    @property
    def draws_ends(self) -> bool:
        """Whether ``<eos>`` can be drawn."""
        return self.ends

    @property
    def _title(self) -> str:
        other = "" if self.feeds == "argmax" else f", feeds={self.feeds}"
        other += "" if self.ends else ", ends=False"
        return f"noise-gru(width={self.width}, length={self.length}, noise={self.noise:g}{other})"

    def new_module(self, n_types: int, longest: int = 0) -> NoiseGruNetwork:
        return NoiseGruNetwork(n_types, self.width, ends=self.ends)

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Raise: it is trained against a critic."""
        raise OptionError(f"{self.name} is trained against a critic: use textassay_lab.generators.Wgan")

    def sample(
        self,
        n: int,
        *,
        seed: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        prefix: Corpus | None = None,
        context: Corpus | None = None,
    ) -> Corpus:
        """Return `n` sentences; see `Generator.sample`. There is no temperature, `top_k`, `top_p` or `context`."""
        refuse(self.name, temperature=temperature, top_k=top_k, top_p=top_p, context=context)
        check_sample(n, seed=seed, prefix=prefix, generator=self.name)
        fitted = self.require()
        prefixes, prefix_lengths = np.zeros((n, 0), dtype=np.int64), np.zeros(n, dtype=np.int64)
        if prefix is not None:
            prefixes, prefix_lengths = self._prefixes(prefix, n)
        rows = self._drawn(n, self.length, prefixes, prefix_lengths, seed=seed)
        kept = np.cumsum(rows == EOS, axis=1) == 0
        kept |= np.arange(self.length) < prefix_lengths[:, None]
        offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        tokens = rows[kept].astype(np.int32)
        return drawn_corpus(tokens, offsets, vocabulary=fitted.vocabulary, tokenizer=fitted.tokenizer)

    def draw_rows(self, n: int, length: int, *, seed: int) -> IntArray:
        """Return `n` rows of `length` tokens, at least 1 each, shape (n, length); tokens after ``<eos>`` stay."""
        return self._drawn(n, length, np.zeros((n, 0), dtype=np.int64), np.zeros(n, dtype=np.int64), seed=seed)

    def step(self, prefixes: IntArray, *, seed: int) -> IntArray:
        """Return one next token for each of B prefixes (B, t), shape (B,); see `SteppableGenerator`."""
        unread = np.full((len(prefixes), 1), EOS, dtype=np.int64)
        return self.step_after(np.concatenate((prefixes, unread), axis=1), seed=seed)[:, -1]

    def step_after(self, windows: IntArray, *, seed: int) -> IntArray:
        """Return the likeliest token after each beginning of each window, (B, T), one noise vector a row.

        See `WindowStepper`: only gold tokens are read.
        """
        blocks = self._forced(windows, seed)
        return np.concatenate([logits.argmax(2).cpu().numpy() for logits in blocks])

    def soft_after(self, windows: IntArray, *, seed: int) -> Float32Array:
        """Return the distributions after each beginning of each window, (B, T, V), one noise vector a row.

        See `NoiseDriven`.
        """
        blocks = self._forced(windows, seed)
        return np.concatenate([logits.float().softmax(2).cpu().numpy() for logits in blocks])

    def _forced(self, windows: IntArray, seed: int) -> Iterator[Tensor]:
        """Yield the logits at all places of each block of windows, (R, T, V)."""
        if windows.ndim != 2 or 0 in windows.shape:
            raise InputError(f"{self.name}: windows must have shape (B, T), B and T at least 1, got {windows.shape}")
        module = self.working_module
        device = module.device
        with torch.no_grad():
            for start in range(0, len(windows), _TOGETHER):
                tokens = torch.from_numpy(windows[start : start + _TOGETHER]).to(device)
                noise = self._noise(len(tokens), module, seed, "gold", start)
                yield module.forced(tokens, noise)

    def _drawn(self, n: int, length: int, prefixes: IntArray, prefix_lengths: IntArray, *, seed: int) -> IntArray:
        """Return rows of drawn tokens, (n, length), that begin with `prefixes`, (n, width of the longest)."""
        module = self.working_module
        device = module.device
        key = int(stream(seed, self.name, self.digest).integers(2**63))

        def draw(start: int) -> IntArray:
            places = np.minimum(np.arange(start, start + _TOGETHER), n - 1)
            with single_threaded(), torch.no_grad():
                rows = module.drawn(
                    self._noise(_TOGETHER, module, key, "free", start),
                    length,
                    torch.from_numpy(prefixes[places]).to(device),
                    torch.from_numpy(prefix_lengths[places]).to(device),
                    soft=self.feeds == "distribution",
                )
            return np.asarray(rows.cpu().numpy(), dtype=np.int64)

        starts = range(0, n, _TOGETHER)
        blocks = parallel_map(draw, starts) if device.type == "cpu" else [draw(start) for start in starts]
        return np.concatenate(blocks)[:n]

    def _noise(self, n: int, module: NoiseGruNetwork, seed: int, *purpose: str | int) -> Tensor:
        drawn = stream(seed, "noise-gru", *purpose).standard_normal((n, self.width), dtype=np.float32)
        return (self.noise * torch.from_numpy(drawn)).to(module.words.weight)

    def _prefixes(self, prefix: Corpus, n: int) -> tuple[IntArray, IntArray]:
        """Return ids of the prefix of each sample, padded with ``<eos>``, and their lengths, (n,)."""
        tokens = tokens_in(self.vocabulary, prefix, generator=self.name)
        longest = int(prefix.lengths.max())
        if longest > self.length:
            raise InputError(f"{self.name} draws {self.length} tokens, but a prefix has {longest}: shorten it")
        rows = np.full((len(prefix), longest), EOS, dtype=np.int64)
        inside = np.arange(longest) < prefix.lengths[:, None]
        rows[inside] = tokens
        chosen = prefix_of_each(prefix, n)
        return rows[chosen], prefix.lengths[chosen]
