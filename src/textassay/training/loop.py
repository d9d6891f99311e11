"""The training loop: epochs of batches, the weights with the best validation score kept, checkpoints and resuming.

Everything random in an epoch comes from streams made of the seed and the number of the epoch, so a run that was
interrupted goes on, from its last whole epoch, as if it had not been.

Sources: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; Polyak, Juditsky, "Acceleration of
Stochastic Approximation by Averaging", 1992 (`Recipe.averaging`, with exponential weights).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from textassay.errors import InputError, OptionError
from textassay.seeding import stream
from textassay.training.checkpoint import load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Epoch", "History", "Recipe", "train"]

Batch = TypeVar("Batch")
Weights = Mapping[str, "Tensor"]


@dataclass(frozen=True)
class Recipe:
    """How to train, by Adam.

    Attributes
    ----------
    max_epochs
        Most epochs, at least 1.
    patience
        Training has converged, and ends, when so many epochs in a row, at least 1, brought no better score; None
        trains all epochs.
    learning_rate
        At its highest, above 0.
    schedule
        ``constant``, or ``linear``: falling to 0 over `max_epochs`.
    averaging
        Decay, in [0, 1), of the running mean of the weights that is scored and kept instead of the weights; 0 for
        the weights themselves. The mean begins short: after t steps its decay is at most t / (t + 10).
    max_norm
        Gradients are scaled down to this length, above 0, where they are longer; None leaves them.
    precision
        ``float32``, or ``bfloat16`` where PyTorch's autocast finds it safe; weights stay as they are.

    Raises
    ------
    OptionError
        If a setting is out of range.
    """

    max_epochs: int
    patience: int | None = None
    learning_rate: float = 1e-3
    schedule: Literal["constant", "linear"] = "constant"
    averaging: float = 0.0
    max_norm: float | None = None
    precision: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        allowed = {
            "max_epochs": ("at least 1", self.max_epochs >= 1),
            "patience": ("at least 1, or none", self.patience is None or self.patience >= 1),
            "learning_rate": ("above 0", 0 < self.learning_rate < math.inf),
            "schedule": ("constant or linear", self.schedule in ("constant", "linear")),
            "averaging": ("at least 0 and below 1", 0 <= self.averaging < 1),
            "max_norm": ("above 0, or none", self.max_norm is None or self.max_norm > 0),
            "precision": ("float32 or bfloat16", self.precision in ("float32", "bfloat16")),
        }
        for name, (what, holds) in allowed.items():
            if not holds:
                raise OptionError(f"{name} must be {what}, got {getattr(self, name)}")


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number from 1, the mean loss of its batches, the score after it, and what monitors said."""

    number: int
    loss: float
    score: float
    monitored: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """All epochs of a training run, in order."""

    epochs: tuple[Epoch, ...] = ()

    @property
    def best(self) -> Epoch:
        """The epoch whose weights were kept: of those with the highest score, the first."""
        return max(self.epochs, key=lambda epoch: epoch.score)

    def converged(self, recipe: Recipe) -> bool:
        """Return whether the last epochs, as many as `Recipe.patience`, brought nothing better."""
        return bool(self.epochs) and self.epochs[-1].number - self.best.number >= (recipe.patience or math.inf)


def train(
    weights: Weights,
    *,
    batches: Callable[[int], Sequence[Batch]],
    loss: Callable[[Batch, "torch.Generator"], "Tensor"],
    score: Callable[[], float],
    recipe: Recipe,
    seed: int,
    checkpoint: Path | None = None,
    config: Mapping[str, Any] | None = None,
    monitors: Mapping[str, Callable[[int], float]] | None = None,
    progress: Callable[[Epoch], None] | None = None,
) -> History:
    """Train `weights` in place; afterwards they are those of the epoch with the best score.

    Parameters
    ----------
    weights
        Name to leaf tensor that requires a gradient, all on one device; ``dict(module.named_parameters())``, say.
    batches
        From the number of the epoch, from 0, to its batches, at least one; the same for the same number.
    loss
        From a batch to its mean loss, a scalar; what it draws, such as dropout, it draws from the generator alone.
    score
        Of the present weights on validation data; higher is better. NaN is an error.
    recipe
        How to train.
    seed
        Decides the generators that `loss` gets.
    checkpoint
        File to write after each epoch and, where it is there already, to go on from; none keeps nothing.
    config
        What else decides the outcome, JSON-ready: a checkpoint made with another one is refused.
    monitors
        Name to a function of the epoch's number, from 1, called after it, with the weights that are scored in place.
    progress
        Called after each epoch, when its checkpoint is written.

    Raises
    ------
    InputError
        If loss or score are no longer finite, or the checkpoint was made with other settings or is damaged.
    OptionError
        If there is nothing to train, or an epoch without batches.
    """
    run = _Run(weights, recipe, seed, checkpoint, config or {})
    while len(run.epochs) < recipe.max_epochs and not run.history.converged(recipe):
        number = len(run.epochs) + 1
        mean_loss = run.epoch(batches(number - 1), loss)
        run.judge(number, mean_loss, score, monitors or {})
        run.save()
        if progress is not None:
            progress(run.epochs[-1])
    _put(run.best, weights)
    return run.history


class _Run:
    """Everything that changes during training: weights, Adam's moments, running mean, best weights, epochs."""

    def __init__(
        self, weights: Weights, recipe: Recipe, seed: int, path: Path | None, config: Mapping[str, Any]
    ) -> None:
        import torch

        if not weights:
            raise OptionError("there are no weights to train")
        self.weights, self.recipe, self.seed, self.path = weights, recipe, seed, path
        self.device = next(iter(weights.values())).device
        fused = self.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(list(weights.values()), lr=recipe.learning_rate, fused=fused)
        self.epochs: list[Epoch] = []
        self.average = _copy(weights) if recipe.averaging else {}
        self.best = _copy(weights)
        self.n_steps = 0
        self.settings = {
            "weights": {name: list(weight.shape) for name, weight in weights.items()},
            "recipe": asdict(recipe),
            "config": dict(config),
            "seed": seed,
            "version": version("textassay"),
        }
        if path is not None and path.exists():
            self._load(path)

    @property
    def history(self) -> History:
        return History(tuple(self.epochs))

    def epoch(self, batches: Sequence[Batch], loss: Callable[[Batch, "torch.Generator"], "Tensor"]) -> float:
        """Take a step for each batch and return their mean loss."""
        import torch

        if len(batches) == 0:
            raise OptionError("an epoch needs at least one batch, got 0")
        recipe, device = self.recipe, self.device
        done = len(self.epochs)
        rng = torch.Generator(device).manual_seed(int(stream(self.seed, "training", done).integers(2**63)))
        losses = []
        for step, batch in enumerate(batches):
            if recipe.schedule == "linear":
                rest = 1 - (done + step / len(batches)) / recipe.max_epochs
                self.optimizer.param_groups[0]["lr"] = recipe.learning_rate * rest
            with torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16"):
                batch_loss = loss(batch, rng)
            self.optimizer.zero_grad(set_to_none=True)
            batch_loss.backward()  # type: ignore[no-untyped-call]
            if recipe.max_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.weights.values(), recipe.max_norm)
            self.optimizer.step()
            losses.append(batch_loss.detach())  # read after the epoch: a GPU does not wait
            self.n_steps += 1
            with torch.no_grad():
                decay = min(recipe.averaging, self.n_steps / (self.n_steps + 10))
                for name, mean in self.average.items():
                    mean.lerp_(self.weights[name], 1 - decay)
        return _finite("loss", float(torch.stack(losses).cpu().double().mean()), done + 1)

    def judge(
        self, number: int, loss: float, score: Callable[[], float], monitors: Mapping[str, Callable[[int], float]]
    ) -> None:
        """Score the weights, or their running mean, and keep them if they are the best so far."""
        judged = self.average or self.weights
        trained = _copy(self.weights)
        try:
            _put(judged, self.weights)
            value = _finite("score", float(score()), number)
            monitored = {name: float(monitor(number)) for name, monitor in monitors.items()}
        finally:
            _put(trained, self.weights)
        self.epochs.append(Epoch(number, loss, value, monitored))
        if self.history.best.number == number:
            self.best = _copy(judged)

    def save(self) -> None:
        if self.path is None:
            return
        tensors = {f"{part}/{name}": tensor for part, group in self._groups().items() for name, tensor in group.items()}
        document = {**self.settings, "epochs": [asdict(epoch) for epoch in self.epochs], "n_steps": self.n_steps}
        save_checkpoint(self.path, tensors, document)

    def _groups(self) -> dict[str, Weights]:
        """Return all tensors of the run; those of Adam are there after its first step."""
        groups = {"weights": self.weights, "average": self.average, "best": self.best}
        for name, weight in self.weights.items():
            for key, tensor in self.optimizer.state[weight].items():
                groups[f"adam {key}"] = {**groups.get(f"adam {key}", {}), name: tensor}
        return groups

    def _load(self, path: Path) -> None:
        tensors, document = load_checkpoint(path)
        changed = [name for name, value in self.settings.items() if document.get(name) != value]
        if changed:
            raise InputError(
                f"the checkpoint {path} was made with another {' and '.join(changed)}: "
                "delete it to begin anew, or name another file"
            )
        groups = {"weights": self.weights, "average": self.average, "best": self.best}
        for key, tensor in tensors.items():
            part, name = key.split("/", 1)
            if part in groups:
                _put({name: tensor}, {name: groups[part][name]})
            else:
                on = self.device if tensor.ndim or self.optimizer.defaults["fused"] else "cpu"
                self.optimizer.state[self.weights[name]][part.removeprefix("adam ")] = tensor.to(on)
        self.epochs = [Epoch(**epoch) for epoch in document["epochs"]]
        self.n_steps = document["n_steps"]


def _copy(weights: Weights) -> dict[str, "Tensor"]:
    return {name: weight.detach().clone() for name, weight in weights.items()}


def _put(source: Weights, target: Weights) -> None:
    """Copy values from `source` to `target`."""
    import torch

    with torch.no_grad():
        for name, weight in target.items():
            weight.copy_(source[name])


def _finite(what: str, value: float, epoch: int) -> float:
    if not math.isfinite(value):
        raise InputError(f"training failed: the {what} of epoch {epoch} is {value}; a lower learning rate may help")
    return value
