"""The training loop: epochs of batches, the weights with the best validation score kept, checkpoints and resuming.

Everything random in an epoch comes from streams made of the seed and the number of the epoch, so a run that was
interrupted goes on, from its last whole epoch, as if it had not been.

Sources: Kingma, Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015; Polyak, Juditsky, "Acceleration of
Stochastic Approximation by Averaging", 1992 (`Recipe.averaging`, with exponential weights).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textassay.errors import InputError, OptionError
from textassay.seeding import stream
from textassay.training.checkpoint import load_checkpoint, save_checkpoint
from textassay.training.history import Epoch, History, Reading, Step
from textassay.training.processes import Processes
from textassay.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor

__all__ = ["Epoch", "History", "Reading", "Recipe", "Step", "train"]

Batch = TypeVar("Batch")
Weights = Mapping[str, "Tensor"]


def train(
    weights: Weights,
    *,
    batches: Callable[[int], Sequence[Batch]],
    loss: Callable[[Batch, "torch.Generator"], "Tensor"],
    score: Callable[[], float] | None,
    recipe: Recipe,
    seed: int,
    size: Callable[[Batch], int] | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float = 120.0,
    config: Mapping[str, Any] | None = None,
    monitors: Mapping[str, Callable[[int], float | None]] | None = None,
    monitor_steps: int | None = None,
    progress: Callable[[Step], None] | None = None,
    processes: Processes | None = None,
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
        Of the present weights on validation data; higher is better, NaN is an error. None keeps the last epoch.
    recipe
        How to train.
    seed
        Decides the generators that `loss` gets.
    size
        From a batch to its number of tokens, for the progress alone.
    checkpoint
        File to write after each epoch and inside epochs and, where it is there already, to go on from; none keeps
        nothing.
    checkpoint_seconds
        A checkpoint is due when the last is so old, at least 0. Time decides when one is written, never what.
    config
        What else decides the outcome, JSON-ready: a checkpoint made with another one is refused.
    monitors
        Name to a function of the number of steps the run has taken, called after each epoch with the weights that are
        scored in place; what it returns, None where it has no number, is kept in `History.readings`.
    monitor_steps
        Monitors are called after every so many steps, too, at least 1.
    progress
        Called about four times a second, and after each epoch, when its checkpoint is written.
    processes
        What `processes.launched` returned: the processes that share the work; None for this one alone.

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
        run.judge(number, mean_loss, score or (lambda: float(len(run.epochs))), monitors or {})
        run.save()
        if progress is not None:
            n_steps = len(batches(number - 1))
            progress(Step(number, n_steps, n_steps, mean_loss, None, math.nan, run.epochs[-1]))
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
        self.readings: list[Reading] = []
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
        return History(tuple(self.epochs), tuple(self.readings))

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
        self,
        number: int,
        loss: float,
        score: Callable[[], float],
        monitors: Mapping[str, Callable[[int], float | None]],
    ) -> None:
        """Score the weights, or their running mean, and keep them if they are the best so far."""
        judged = self.average or self.weights
        trained = _copy(self.weights)
        try:
            _put(judged, self.weights)
            value = _finite("score", float(score()), number)
            monitored = {name: monitor(self.n_steps) for name, monitor in monitors.items()}
        finally:
            _put(trained, self.weights)
        self.epochs.append(Epoch(number, loss, value))
        if monitored:
            self.readings.append(Reading(self.n_steps, number, monitored))
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
