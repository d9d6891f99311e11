"""A noise-driven generator: it maps one random vector to a sentence, and has no likelihood.

`textassay.adversarial` trains it; here are its draws, free or with teacher forcing.

Source: Press, Bar, Bogin, Berant, Wolf, "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017; Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, Corpus
from textassay.errors import InputError, OptionError, check_range
from textassay.execution import parallel_map
from textassay.generator.base import MAX_WINDOW, check_sample, drawn_corpus, prefix_of_each, refuse, tokens_in
from textassay.generator.fitted_network import FittedNetwork
from textassay.generator.noise_gru_network import NoiseGruNetwork
from textassay.seeding import stream
from textassay.training import single_threaded

if TYPE_CHECKING:
    from torch import Tensor


Feeds = Literal["argmax", "distribution"]
IntArray = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]

_TOGETHER = 512  # rows of a block, which is always drawn whole


class NoiseGru(FittedNetwork):
    """GRU whose first state is noise; a `Generator` and a `NoiseDriven`. Needs the extra ``neural``.

    `feeds`: the input of a step in free draws: ``argmax``, the chosen token, as in the public code, or
    ``distribution``, as in training without teacher helping.

    Each token is the likeliest one: the noise is the only randomness. It has no `log_prob`.
    """

    kind: ClassVar[str] = "noise-gru"

    def __init__(
        self,
        width: int = 64,
        *,
        length: int = 32,
        noise: float = 10.0,
        feeds: Feeds = "argmax",
        ends: bool = True,
    ) -> None:
        super().__init__()
        check_range("width", width, 1)
        check_range("length", length, 1, MAX_WINDOW)
        if not 0 < noise < float("inf"):
            raise OptionError(f"noise must be above 0, got {noise}")
        if feeds not in ("argmax", "distribution"):
            raise OptionError(f"feeds must be argmax or distribution, got '{feeds}'")
        self.width = width
        self.length = length
        self.noise = noise
        self.feeds: Feeds = feeds
        self.ends = ends
        self.network = NoiseGruNetwork(width, ends)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {name: getattr(self, name) for name in ("width", "length", "noise", "feeds", "ends")}

    @property
    def draws_ends(self) -> bool:
        """Whether ``<eos>`` can be drawn."""
        return self.ends

    @property
    def _title(self) -> str:
        other = "" if self.feeds == "argmax" else f", feeds={self.feeds}"
        other += "" if self.ends else ", ends=False"
        return f"noise-gru(width={self.width}, length={self.length}, noise={self.noise:g}{other})"

    def _expected_shapes(self, weights: "Mapping[str, Tensor]", n_types: int) -> Mapping[str, tuple[int, ...]]:
        return self.network.shapes(n_types)

    def fit(self, train: Corpus, valid: Corpus | None = None) -> Self:
        """Raise: it is trained against a critic."""
        raise OptionError(f"{self.name} is trained against a critic: use textassay.generators.Wgan")

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

    def _forced(self, windows: IntArray, seed: int) -> "Iterator[Tensor]":
        """Yield the logits at all places of each block of windows, (R, T, V)."""
        import torch

        if windows.ndim != 2 or 0 in windows.shape:
            raise InputError(f"{self.name}: windows must have shape (B, T), B and T at least 1, got {windows.shape}")
        weights = self.working_weights()
        device = weights["words"].device
        with torch.no_grad():
            for start in range(0, len(windows), _TOGETHER):
                tokens = torch.from_numpy(windows[start : start + _TOGETHER]).to(device)
                noise = self._noise(len(tokens), weights, seed, "gold", start)
                yield self.network.forced(weights, tokens, noise)

    def _drawn(self, n: int, length: int, prefixes: IntArray, prefix_lengths: IntArray, *, seed: int) -> IntArray:
        """Return rows of drawn tokens, (n, length), that begin with `prefixes`, (n, width of the longest)."""
        import torch

        weights = self.working_weights()
        device = weights["words"].device
        key = int(stream(seed, self.name, self.digest).integers(2**63))

        def draw(start: int) -> IntArray:
            places = np.minimum(np.arange(start, start + _TOGETHER), n - 1)
            with single_threaded(), torch.no_grad():
                rows = self.network.drawn(
                    weights,
                    self._noise(_TOGETHER, weights, key, "free", start),
                    length,
                    torch.from_numpy(prefixes[places]).to(device),
                    torch.from_numpy(prefix_lengths[places]).to(device),
                    soft=self.feeds == "distribution",
                )
            return np.asarray(rows.cpu().numpy(), dtype=np.int64)

        starts = range(0, n, _TOGETHER)
        blocks = parallel_map(draw, starts) if device.type == "cpu" else [draw(start) for start in starts]
        return np.concatenate(blocks)[:n]

    def _noise(self, n: int, weights: "Mapping[str, Tensor]", seed: int, *purpose: str | int) -> "Tensor":
        import torch

        drawn = stream(seed, "noise-gru", *purpose).standard_normal((n, self.width), dtype=np.float32)
        return (self.noise * torch.from_numpy(drawn)).to(weights["words"])

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
