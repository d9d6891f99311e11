"""The recurrent Wasserstein GAN: a noise-driven generator, and a critic of its distributions instead of its tokens.

Lengths grow from 1 (curriculum). With teacher helping, a row is real tokens followed by one distribution of the
generator, and the critic compares it with real rows of the same length. There is no pre-training.

Source: Press, Bar, Bogin, Berant, Wolf, "Language Generation with Recurrent Generative Adversarial Networks without
Pre-training", 2017; its schedule as in the public code.
Departs from it: windows of running text begin at any token.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from textassay.adversarial.history import RoundsHistory
from textassay.adversarial.player import Player, part_of
from textassay.adversarial.rounds import Collapse, Phase, train_in_rounds
from textassay.adversarial.wgan_critic import WganCritic, critic_loss
from textassay.adversarial.wgan_recipe import WganRecipe
from textassay.adversarial.wgan_rows import TextWindows, helped, left_padded
from textassay.corpus import EOS, Corpus
from textassay.errors import OptionError, check_range
from textassay.generator import NoiseGru, check_train, training_record
from textassay.seeding import stream
from textassay.training import single_threaded

if TYPE_CHECKING:
    import torch
    from torch import Tensor


VALID = "approximate_nll"  # nats per token, under the mean of the distributions of noise vectors
COLLAPSE = Collapse("distinct", least=0.02, patience=20)

_WATCHED = 512  # sentences drawn each round, to detect mode collapse
_VALID_WINDOWS, _VALID_TOGETHER, _VALID_CALLS = 64, 8, 13  # windows, noise vectors for each at once, how often
_FLOOR = 1e-20  # of a probability, as in the public code of the study
_SMALL = 1 << 13  # size of the states of a batch up to which one thread is faster than two

IntArray = npt.NDArray[np.int64]


class WganTraining:
    """The two sides of an `AdversarialTrainer`.

    `lasting`: the context of the training, to be closed at its end; left by an exception, it restores `model`.
    """

    def __init__(self, model: NoiseGru, train: Corpus, valid: Corpus | None, recipe: WganRecipe, *, seed: int) -> None:
        check_train(train, generator=model.name)
        if valid is not None:
            check_train(valid, generator=model.name, what="validation")
        check_range("seed", seed, 0)
        if model.length < recipe.length:
            raise OptionError(f"{model.name} draws {model.length} tokens, but the recipe trains {recipe.length}")
        import torch

        self.model, self.recipe = model, recipe
        self._record = {
            **training_record(train, train.fingerprint),
            "valid": None if valid is None else {"fingerprint": valid.fingerprint, "sentences": len(valid)},
            "recipe": asdict(recipe),
            "seed": seed,
        }
        self._name = ("wgan", model.name, train.fingerprint)
        self._seed = seed
        initial_generator = model.network.new_weights(
            len(train.vocabulary), torch.Generator().manual_seed(self._key("generator"))
        )
        self._windows = TextWindows(train, recipe.length, ends=model.ends)
        self._valid: IntArray | None = None
        if valid is not None:
            known = TextWindows(valid.with_vocabulary(train.vocabulary), recipe.length, ends=model.ends)
            rng = np.random.default_rng(self._key("validation"))
            self._valid = known.draw(_VALID_WINDOWS, recipe.length, rng)
        self.lasting = ExitStack()
        weights = self.lasting.enter_context(model.in_training(initial_generator, train.vocabulary, train.tokenizer))
        self._weights = weights
        self._n_types = len(train.vocabulary)
        self._device = weights["words"].device
        self._small = recipe.batch_size * max(model.width, recipe.critic_width) <= _SMALL
        self._critic = WganCritic(recipe.critic_width)
        initial = self._critic.new_weights(self._n_types, torch.Generator().manual_seed(self._key("critic")))
        critic = {name: weight.to(self._device).requires_grad_() for name, weight in initial.items()}
        betas = (recipe.beta1, recipe.beta2)
        self._players = {
            "generator": Player(weights, learning_rate=recipe.learning_rate, betas=betas),
            "critic": Player(critic, learning_rate=recipe.learning_rate, betas=betas),
        }

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The only one: the rounds of all lengths."""
        return (Phase("adversarial", self.recipe.curriculum.n_rounds),)

    @property
    def config(self) -> dict[str, Any]:
        """All settings that decide the result, JSON-ready."""
        return {"kind": self.model.kind, **self.model.settings, **self._record}

    def state(self) -> "Mapping[str, Tensor]":
        """Return weights and Adam's moments of both sides."""
        sides = self._players.items()
        return {f"{side}/{name}": tensor for side, player in sides for name, tensor in player.tensors().items()}

    def restore(self, tensors: "Mapping[str, Tensor]") -> None:
        """Restore a copy of `state`."""
        for side, player in self._players.items():
            player.restore(part_of(tensors, side))

    def round(self, phase: str, number: int) -> Mapping[str, float]:
        """Run round `number`; return mean losses, distance and penalty, and the share of distinct rows."""
        with single_threaded() if self._small else nullcontext():
            return self._round(phase, number)

    def _round(self, phase: str, number: int) -> Mapping[str, float]:
        import torch

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

    def finish(self, history: RoundsHistory) -> None:
        """Make the present generator the model, with the history in its record."""
        self.lasting.close()
        self.model.record = {**self._record, "history": asdict(history), "device": self._device.type}

    def _train_critic(
        self, length: int, rng: "torch.Generator", windows: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        import torch

        with torch.no_grad():
            real, generated = self._rows(length, rng, windows)
        shares = torch.rand(len(real), generator=rng, device=self._device)
        critic = self._players["critic"].weights
        losses = critic_loss(
            lambda rows: self._critic.score(critic, rows), real, generated, shares, penalty=self.recipe.penalty
        )
        self._players["critic"].descend(losses[0])
        return np.array([float(value.detach()) for value in losses])

    def _train_generator(self, length: int, rng: "torch.Generator", windows: np.random.Generator) -> float:
        _, generated = self._rows(length, rng, windows)
        score = self._critic.score(self._players["critic"].weights, generated)
        return self._players["generator"].descend(-score.mean())

    def _rows(self, length: int, rng: "torch.Generator", windows: np.random.Generator) -> "tuple[Tensor, Tensor]":
        """Return real and generated rows of one shape, (batch_size, length, V)."""
        import torch

        size = self.recipe.batch_size
        tokens = torch.from_numpy(self._windows.draw(size, length, windows)).to(self._device)
        gold = torch.nn.functional.one_hot(tokens, self._n_types).float()
        noise = self.model.noise * torch.randn(size, self.model.width, generator=rng, device=self._device)
        whole = torch.full((size,), length - 1, device=self._device)
        last = torch.randint(length, (size,), generator=rng, device=self._device) if self.recipe.variable else whole
        rows = torch.arange(size, device=self._device)
        real = left_padded(gold, rows, last)
        if self.recipe.helping:
            predicted = self.model.network.forced(self._weights, tokens, noise).softmax(2)
            return real, helped(gold, predicted, rows, last)
        return real, left_padded(self.model.network.free(self._weights, noise, length), rows, last)

    def _distinct(self, length: int, windows: np.random.Generator) -> float:
        """Return the number of distinct drawn rows, over that of as many real windows."""
        real = self._windows.draw(_WATCHED, length, windows)
        drawn = self.model.draw_rows(_WATCHED, length, seed=int(windows.integers(2**62)))
        return len(np.unique(drawn, axis=0)) / len(np.unique(real, axis=0))

    def _key(self, *purpose: str | int) -> int:
        return int(stream(self._seed, *self._name, *purpose).integers(2**62))


def train_wgan(
    model: NoiseGru,
    train: Corpus,
    valid: Corpus | None = None,
    *,
    recipe: WganRecipe,
    seed: int = 0,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 60.0,
    validate_every: int = 1,
    monitors: Mapping[str, Callable[[int], float | None]] | None = None,
    monitor_every: int = 10,
    progress: Callable[[str, int, int], None] | None = None,
) -> RoundsHistory:
    """Train `model` against a critic, in place, through all lengths; the last weights are kept. See `WganTraining`."""
    training = WganTraining(model, train, valid, recipe, seed=seed)
    with training.lasting:
        history = train_in_rounds(
            training,
            training.phases,
            collapse=COLLAPSE,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
            config=training.config,
            validate_every=validate_every,
            monitors=monitors,
            monitor_every=monitor_every,
            progress=progress,
        )
    training.finish(history)
    return history
