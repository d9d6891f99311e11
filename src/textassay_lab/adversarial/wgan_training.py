"""The recurrent Wasserstein GAN: a noise-driven generator, and a critic of its distributions instead of its tokens.

Lengths grow from 1 (curriculum). With teacher helping, a row is real tokens followed by one distribution of the
generator, and the critic compares it with real rows of the same length. There is no pre-training.

Source: Press, Bar, Bogin, Berant, Wolf, "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017; its schedule as in the public code.
The penalty is that of Gulrajani et al., "Improved Training of Wasserstein GANs", NeurIPS 2017.
Departs from it: windows of running text begin at any token.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS
from textassay.errors import InputError, OptionError, check_range
from textassay.ngram.language_model import check_train, training_record
from textassay.seeding import stream
from textassay_lab.adversarial.generator_training import Player
from textassay_lab.adversarial.noise_gru import WORD_SPREAD, GruCell, NoiseGru
from textassay_lab.adversarial.rounds import Collapse, Phase, RoundsHistory, part_of
from textassay_lab.adversarial.wgan import WganRecipe
from textassay_lab.generator.module import Network, begun
from textassay_lab.training.backend import single_threaded

VALID = "approximate_nll"  # nats per token, under the mean of the distributions of noise vectors
COLLAPSE = Collapse("distinct", least=0.02, patience=20)

_WATCHED = 512  # sentences drawn each round, to detect mode collapse
_VALID_WINDOWS, _VALID_TOGETHER, _VALID_CALLS = 64, 8, 13  # windows, noise vectors for each at once, how often
_FLOOR = 1e-20  # of a probability, as in the public code of the study
_SMALL = 1 << 13  # size of the states of a batch up to which one thread is faster than two

IntArray = npt.NDArray[np.int64]
Score = Callable[[Tensor], Tensor]


class WganCritic(Network):
    """The critic; `width`: embedding and hidden dimension, at least 1."""

    def __init__(self, n_types: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_types, width)
        self.cell = GruCell(width, width)
        self.head = nn.ParameterDict({"weight": torch.empty(width), "bias": torch.empty(())})

    def initialise(self, rng: torch.Generator) -> None:
        self.words.weight.uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.cell.initialise(rng)
        self.head["weight"].uniform_(-WORD_SPREAD, WORD_SPREAD, generator=rng)
        self.head["bias"].zero_()

    def forward(self, rows: Tensor) -> Tensor:
        """Return the critic's score of each row, shape (R,); higher is more real.

        `rows`: distributions or one-hot vectors, left-padded with zeros, shape (R, L, V).
        """
        inputs = self.cell.input(rows @ self.words.weight)
        state = inputs.new_zeros(len(rows), self.cell.state.in_features)
        for part in inputs.unbind(1):
            state = self.cell(part, state)
        scores: Tensor = state @ self.head["weight"] + self.head["bias"]
        return scores


def gradient_norms(score: Score, rows: Tensor) -> Tensor:
    """Return the norm of the gradient of `score` at each row (R, ...), shape (R,), to differentiate again.

    `score` gives one number a row, which depends on no other row.
    """
    at = rows.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(score(at).sum(), at, create_graph=True)
    squares = gradient.flatten(1).square().sum(1)
    return (squares + torch.finfo(squares.dtype).tiny).sqrt()  # at 0 the root has no derivative


def gradient_penalty(score: Score, real: Tensor, generated: Tensor, shares: Tensor) -> Tensor:
    """Return the mean of (norm of the gradient - 1)^2 between real and generated rows, a scalar.

    `real`, `generated`: shape (R, L, V); `shares`: how far from real to generated each row is taken, in [0, 1], shape
    (R,).
    """
    between = real + shares[:, None, None] * (generated - real)
    return (gradient_norms(score, between) - 1).square().mean()


def critic_loss(
    score: Score, real: Tensor, generated: Tensor, shares: Tensor, *, penalty: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the critic's loss, the distance between the sides, and the gradient penalty.

    The loss is E[score(generated)] - E[score(real)] + `penalty` * gradient penalty; the distance is E[score(real)] -
    E[score(generated)]. The parameters are those of `gradient_penalty`.
    """
    scores = score(torch.cat((real, generated)))
    distance = scores[: len(real)].mean() - scores[len(real) :].mean()
    gradient_term = gradient_penalty(score, real, generated, shares)
    return penalty * gradient_term - distance, distance, gradient_term


class WganTraining:
    """The two sides of an `AdversarialTrainer`.

    `lasting`: the context of the training, to be closed at its end; left by an exception, it restores `model`.
    """

    best = VALID
    collapse = COLLAPSE

    def __init__(self, model: NoiseGru, train: Corpus, valid: Corpus | None, recipe: WganRecipe, *, seed: int) -> None:
        check_train(train, generator=model.name)
        if valid is not None:
            check_train(valid, generator=model.name, what="validation")
        check_range("seed", seed, 0)
        if model.length < recipe.length:
            raise OptionError(f"{model.name} draws {model.length} tokens, but the recipe trains {recipe.length}")
        self.model, self.recipe = model, recipe
        self._record = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
            "recipe": asdict(recipe),
            "seed": seed,
        }
        self._name = ("wgan", model.name, train.fingerprint)
        self._seed = seed
        network = model.begun(len(train.vocabulary), 0, torch.Generator().manual_seed(self._key("generator")))
        self._windows = TextWindows(train, recipe.length, ends=model.ends)
        self._valid: IntArray | None = None
        if valid is not None:
            known = TextWindows(valid.with_vocabulary(train.vocabulary), recipe.length, ends=model.ends)
            rng = np.random.default_rng(self._key("validation"))
            self._valid = known.draw(_VALID_WINDOWS, recipe.length, rng)
        self.lasting = ExitStack()
        self._network = self.lasting.enter_context(model.in_training(network, train.vocabulary, train.tokenizer))
        self._n_types = len(train.vocabulary)
        self._device = self._network.device
        self._small = recipe.batch_size * max(model.width, recipe.critic_width) <= _SMALL
        draws = torch.Generator().manual_seed(self._key("critic"))
        self._critic = begun(lambda: WganCritic(self._n_types, recipe.critic_width), draws).to(self._device)
        betas = (recipe.beta1, recipe.beta2)
        self._players = {
            "generator": Player(
                dict(self._network.named_parameters()), learning_rate=recipe.learning_rate, betas=betas
            ),
            "critic": Player(dict(self._critic.named_parameters()), learning_rate=recipe.learning_rate, betas=betas),
        }

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: the rounds of all lengths."""
        return (Phase("adversarial", self.recipe.curriculum.n_rounds),)

    def state(self) -> Mapping[str, Tensor]:
        sides = self._players.items()
        return {f"{side}/{name}": tensor for side, player in sides for name, tensor in player.tensors().items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for side, player in self._players.items():
            player.restore(part_of(tensors, side))

    def round(self, phase: str, number: int) -> Mapping[str, float]:
        """Run round `number`; return mean losses, distance and penalty, and the share of distinct rows."""
        with single_threaded() if self._small else nullcontext():
            return self._round(phase, number)

    def _round(self, phase: str, number: int) -> Mapping[str, float]:
        length = self.recipe.curriculum.length(number)
        rng = torch.Generator(self._device).manual_seed(self._key(phase, number, "noise"))
        windows = np.random.default_rng(self._key(phase, number, "windows"))
        sums = np.zeros(4)
        for _ in range(self.recipe.iterations):
            for _ in range(self.recipe.critic_updates):
                sums[:3] += self._train_critic(length, rng, windows)
            for _ in range(self.recipe.generator_updates):
                sums[3] += self._train_generator(length, rng, windows)
        counts = [self.recipe.critic_updates] * 3 + [self.recipe.generator_updates]
        names = ("critic_loss", "distance", "penalty", "generator_loss")
        means = dict(zip(names, (sums / self.recipe.iterations / counts).tolist(), strict=True))
        return {**means, "distinct": self._distinct(length, windows), "length": length}

    def validate(self) -> Mapping[str, float]:
        """Return nats per token of held-out windows, under the mean of the distributions of some noise vectors."""
        if self._valid is None:
            return {}
        total = np.zeros((*self._valid.shape, self._n_types))
        for call in range(_VALID_CALLS):
            rows = np.tile(self._valid, (_VALID_TOGETHER, 1))
            distributions = self.model.soft_after(rows, seed=self._key("validation draws", call))
            total += distributions.reshape(_VALID_TOGETHER, *total.shape).sum(0, dtype=np.float64)
        probs = total / (_VALID_TOGETHER * _VALID_CALLS)
        gold = np.take_along_axis(probs, self._valid[:, :, None], 2)[:, :, 0]
        ended = np.cumsum(self._valid == EOS, axis=1) - (self._valid == EOS) > 0
        return {VALID: float(-np.log(np.maximum(gold, _FLOOR))[~ended].mean())}

    def finish(self, history: RoundsHistory, record: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Make the present generator the model, with the history in its record, which has the recipe already."""
        self.lasting.close()
        self.model.record = {**self._record, "history": asdict(history), "device": self._device.type}

    def _train_critic(self, length: int, rng: torch.Generator, windows: np.random.Generator) -> npt.NDArray[np.float64]:

        with torch.no_grad():
            real, generated = self._rows(length, rng, windows)
        shares = torch.rand(len(real), generator=rng, device=self._device)
        losses = critic_loss(self._critic, real, generated, shares, penalty=self.recipe.gradient_penalty)
        self._players["critic"].descend(losses[0])
        return np.array([float(value.detach()) for value in losses])

    def _train_generator(self, length: int, rng: torch.Generator, windows: np.random.Generator) -> float:
        _, generated = self._rows(length, rng, windows)
        return self._players["generator"].descend(-self._critic(generated).mean())

    def _rows(self, length: int, rng: torch.Generator, windows: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return real and generated rows of one shape, (batch_size, length, V)."""
        size = self.recipe.batch_size
        tokens = torch.from_numpy(self._windows.draw(size, length, windows)).to(self._device)
        gold = torch.nn.functional.one_hot(tokens, self._n_types).float()
        noise = self.model.noise * torch.randn(size, self.model.width, generator=rng, device=self._device)
        whole = torch.full((size,), length - 1, device=self._device)
        last = (
            torch.randint(length, (size,), generator=rng, device=self._device) if self.recipe.variable_length else whole
        )
        rows = torch.arange(size, device=self._device)
        real = left_padded(gold, rows, last)
        if self.recipe.teacher_helping:
            predicted = self._network.forced(tokens, noise).softmax(2)
            return real, helped(gold, predicted, rows, last)
        return real, left_padded(self._network.free(noise, length), rows, last)

    def _distinct(self, length: int, windows: np.random.Generator) -> float:
        """Return the number of distinct drawn rows, over that of as many real windows."""
        real = self._windows.draw(_WATCHED, length, windows)
        drawn = self.model.draw_rows(_WATCHED, length, seed=int(windows.integers(2**62)))
        return len(np.unique(drawn, axis=0)) / len(np.unique(real, axis=0))

    def _key(self, *purpose: str | int) -> int:
        return int(stream(self._seed, *self._name, *purpose).integers(2**62))


class TextWindows:
    """Windows of a text, of any length.

    `ends`: whether windows begin where sentences begin, and ``<eos>`` fills what is behind their ends; else a window
    may begin at any token, as long as it lies inside a sentence.
    """

    def __init__(self, text: Corpus, longest: int, *, ends: bool) -> None:
        self._text = text
        self._ends = ends
        self._bounds: tuple[int, IntArray] = (0, np.zeros(0, dtype=np.int64))  # of the last length
        if not ends and int(text.lengths.max(initial=0)) < longest:
            raise InputError(
                f"no sentence has {longest} tokens, the longest {int(text.lengths.max(initial=0))}: use shorter windows"
            )

    def draw(self, n: int, length: int, rng: np.random.Generator) -> IntArray:
        """Return `n` windows of `length` tokens, drawn with replacement, shape (n, length)."""
        lengths, starts = self._text.lengths, self._text.offsets[:-1]
        if self._ends:
            rows = rng.integers(len(lengths), size=n)
            first, inside = starts[rows], np.arange(length) < lengths[rows, None]
        else:
            if self._bounds[0] != length:
                self._bounds = (length, np.cumsum(np.maximum(lengths - length + 1, 0)))
            bounds = self._bounds[1]
            chosen = rng.integers(bounds[-1], size=n)
            rows = np.searchsorted(bounds, chosen, side="right")
            first = starts[rows] + chosen - np.concatenate(([0], bounds))[rows]
            inside = np.ones((n, length), dtype=np.bool_)
        windows = np.full((n, length), EOS, dtype=np.int64)
        windows[inside] = self._text.tokens[(first[:, None] + np.arange(length))[inside]]
        return windows


def left_padded(rows: Tensor, which: Tensor, last: Tensor) -> Tensor:
    """Return prefixes of rows, left-padded with zeros, shape (R, L, V).

    `rows`: distributions or one-hot vectors, shape (B, L, V); `which`: row of each prefix, shape (R,); `last`: its last
    position, from 0, shape (R,).
    """
    length = rows.shape[1]
    places = torch.arange(length, device=rows.device) - (length - 1 - last[:, None])
    return rows[which[:, None], places.clamp(min=0)] * (places >= 0)[:, :, None]


def helped(gold: Tensor, predicted: Tensor, which: Tensor, last: Tensor) -> Tensor:
    """Return real prefixes with the prediction at their last position, left-padded, shape (R, L, V).

    `gold`: one-hot vectors of real text, shape (B, L, V); `predicted`: distributions at each position with teacher
    forcing, shape (B, L, V).
    """
    beginnings = left_padded(gold, which, last)
    return torch.cat((beginnings[:, :-1], predicted[which, last][:, None]), 1)
