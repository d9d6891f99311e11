"""The state of a training run, and its checkpoints."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from textassay.errors import InputError
from textassay_lab.training.checkpoint import load_checkpoint, save_checkpoint
from textassay_lab.training.history import Epoch, History, Reading
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor


Weights = Mapping[str, "Tensor"]


class RunState:
    """Weights, optimizer state, moving average, best weights, finished epochs and the position in the current one.

    `carried`: tensors passed from each batch to the next, changed in place.
    """

    def __init__(
        self,
        weights: Weights,
        recipe: Recipe,
        precision: str,
        settings: Mapping[str, Any],
        carried: Weights = MappingProxyType({}),
    ) -> None:
        import torch

        self.weights, self.recipe, self.precision, self.carried = weights, recipe, precision, carried
        self.device = next(iter(weights.values())).device
        fused = self.device.type in ("cpu", "cuda")
        self.optimizer = recipe.make_optimizer(weights.values(), fused=fused)
        self.average = _copy(weights) if recipe.averaging else {}
        self.best: dict[str, Tensor] = {}  # empty until the first epoch has ended
        self.epochs: list[Epoch] = []
        self.readings: list[Reading] = []
        self.n_steps = 0  # of the run
        self.step = 0  # of the epoch
        self.loss_sum = 0.0  # over the batches of the epoch
        self.rng = torch.Generator(self.device)  # of the epoch
        decisive = {
            "weights": {name: list(weight.shape) for name, weight in weights.items()},
            "recipe": asdict(recipe),
            "version": version("textassay"),
            **settings,
        }
        self._settings = json.loads(json.dumps(decisive))  # as a checkpoint returns them

    @property
    def history(self) -> History:
        """Epochs and readings so far."""
        return History(tuple(self.epochs), tuple(self.readings), self.precision)

    def update(self) -> None:
        """Do one step of the optimizer and update the moving average."""
        import torch

        if self.recipe.max_value is not None:
            torch.nn.utils.clip_grad_value_(self.weights.values(), self.recipe.max_value)
        if self.recipe.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.weights.values(), self.recipe.max_norm)
        self.optimizer.step()
        self.n_steps += 1
        self.step += 1
        with torch.no_grad():
            decay = min(self.recipe.averaging, self.n_steps / (self.n_steps + 10))
            for name, mean in self.average.items():
                mean.lerp_(self.weights[name], 1 - decay)

    @contextmanager
    def scored_weights(self) -> Iterator[None]:
        """Set the weights to the moving average, if there is one, inside the ``with`` block."""
        if not self.average:
            yield
            return
        trained = _copy(self.weights)
        try:
            _put(self.average, self.weights)
            yield
        finally:
            _put(trained, self.weights)

    def end_epoch(self, epoch: Epoch) -> None:
        """Record `epoch`, keep the weights if it is the best so far, and reset for the next one."""
        self.epochs.append(epoch)
        if self.history.best is epoch:
            self.best = _copy(self.average or self.weights)
        self.step, self.loss_sum = 0, 0.0

    def take_best(self) -> None:
        """Set the weights to those of the best epoch."""
        _put(self.best, self.weights)

    def all_finite(self) -> bool:
        """Return whether all numbers of a checkpoint are finite."""
        import torch

        groups = self._groups().values()
        sums = [tensor.sum() for group in groups for tensor in group.values()]  # much faster than isfinite on each
        return bool(torch.stack([each.to(self.device) for each in sums]).isfinite().all())

    def save(self, path: Path) -> None:
        """Write a checkpoint to `path`."""
        import torch

        tensors = {f"{part}/{name}": tensor for part, group in self._groups().items() for name, tensor in group.items()}
        tensors["random/state"] = self.rng.get_state()
        document = {
            **self._settings,
            "precision": self.precision,
            "threads": torch.get_num_threads(),
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "readings": [asdict(reading) for reading in self.readings],
            "epoch": len(self.epochs) + 1,
            "step": self.step,
            "n_steps": self.n_steps,
            "loss_sum": self.loss_sum,
        }
        save_checkpoint(path, tensors, document)

    def load(self, path: Path) -> None:
        """Restore the checkpoint at `path`."""
        import torch

        tensors, document = load_checkpoint(path)
        changed = [name for name, value in self._settings.items() if document.get(name) != value]
        if changed:
            raise InputError(
                f"the checkpoint {path} was made with another {' and '.join(changed)}: "
                "delete it to start again, or use another folder"
            )
        if document["precision"] != self.precision:
            raise InputError(
                f"the checkpoint {path} was trained in {document['precision']}, but this run uses {self.precision}: "
                "set the precision, continue on the machine that wrote it, or delete it to start again"
            )
        if self.device.type == "cpu" and document["threads"] != torch.get_num_threads():
            warnings.warn(
                f"the checkpoint {path} was made with {document['threads']} threads, now there are "
                f"{torch.get_num_threads()}: the last bits of the weights may differ from an uninterrupted run",
                stacklevel=3,
            )
        self.rng.set_state(tensors.pop("random/state"))
        groups: dict[str, Weights] = {"weights": self.weights, "average": self.average, "carried": self.carried}
        for key, tensor in tensors.items():
            part, name = key.split("/", 1)
            if part in groups:
                _put({name: tensor}, {name: groups[part][name]})
            elif part == "best":
                self.best[name] = tensor.to(self.device)
            else:
                on = self.device if tensor.ndim or self.optimizer.defaults.get("fused") else "cpu"
                self.optimizer.state[self.weights[name]][part.removeprefix("adam ")] = tensor.to(on)
        self.epochs = [Epoch(**epoch) for epoch in document["epochs"]]
        self.readings = [Reading(**reading) for reading in document["readings"]]
        self.n_steps, self.step, self.loss_sum = document["n_steps"], document["step"], document["loss_sum"]

    def _groups(self) -> dict[str, Weights]:
        """Return all tensors of the run; the optimizer has some after its first step."""
        groups: dict[str, Weights] = {
            "weights": self.weights,
            "average": self.average,
            "best": self.best,
            "carried": self.carried,
        }
        for name, weight in self.weights.items():
            for key, tensor in self.optimizer.state[weight].items():
                groups[f"adam {key}"] = {**groups.get(f"adam {key}", {}), name: tensor}
        return groups


def _copy(weights: Weights) -> "dict[str, Tensor]":
    return {name: weight.detach().clone() for name, weight in weights.items()}


def _put(source: Weights, target: Weights) -> None:
    """Copy values from `source` to `target`."""
    import torch

    with torch.no_grad():
        for name, weight in target.items():
            weight.copy_(source[name])
