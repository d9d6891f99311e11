"""All that changes while a network is trained, and its way into a checkpoint and back."""

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
from textassay.training.checkpoint import load_checkpoint, save_checkpoint
from textassay.training.history import Epoch, History, Reading
from textassay.training.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor


Weights = Mapping[str, "Tensor"]


class RunState:
    """Weights, Adam's moments, running mean and best weights; whole epochs, and how far the present one is.

    `precision`: what products are computed in: ``float32`` or ``bfloat16``; `carried`: what goes from each batch to the
    next, changed in place.
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
        self.optimizer = recipe.optimizer(weights.values(), fused=fused)
        self.average = _copy(weights) if recipe.averaging else {}
        self.best: dict[str, Tensor] = {}  # none before the first epoch has ended
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
        self._settings = json.loads(json.dumps(decisive))  # as it comes back from a checkpoint

    @property
    def history(self) -> History:
        """What the run tells."""
        return History(tuple(self.epochs), tuple(self.readings), self.precision)

    def update(self) -> None:
        """Take the step of Adam that the gradients ask for, and move the running mean along."""
        import torch

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
    def judged(self) -> Iterator[None]:
        """Let the weights be what is scored and kept, the running mean if there is one, inside the ``with`` block."""
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
        """Keep the weights if `epoch` is the best so far, and stand before the next one."""
        self.epochs.append(epoch)
        if self.history.best is epoch:
            self.best = _copy(self.average or self.weights)
        self.step, self.loss_sum = 0, 0.0

    def take_best(self) -> None:
        """Let the weights be those of the best epoch."""
        _put(self.best, self.weights)

    def all_finite(self) -> bool:
        """Return whether every number that a checkpoint would keep is finite."""
        import torch

        groups = self._groups().values()
        sums = [tensor.sum() for group in groups for tensor in group.values()]  # many times as fast as isfinite
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
        """Go on from the checkpoint at `path`."""
        import torch

        tensors, document = load_checkpoint(path)
        changed = [name for name, value in self._settings.items() if document.get(name) != value]
        if changed:
            raise InputError(
                f"the checkpoint {path} was made with another {' and '.join(changed)}: "
                "delete it to begin anew, or use another folder"
            )
        if document["precision"] != self.precision:
            raise InputError(
                f"the checkpoint {path} was trained in {document['precision']}, which precision 'auto' is not on this "
                f"machine ({self.precision}): go on where it is, or delete it to begin anew"
            )
        if self.device.type == "cpu" and document["threads"] != torch.get_num_threads():
            warnings.warn(
                f"the checkpoint {path} was made with {document['threads']} threads, now there are "
                f"{torch.get_num_threads()}: the last bits of the weights may differ from those of an unbroken run",
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
                on = self.device if tensor.ndim or self.optimizer.defaults["fused"] else "cpu"
                self.optimizer.state[self.weights[name]][part.removeprefix("adam ")] = tensor.to(on)
        self.epochs = [Epoch(**epoch) for epoch in document["epochs"]]
        self.readings = [Reading(**reading) for reading in document["readings"]]
        self.n_steps, self.step, self.loss_sum = document["n_steps"], document["step"], document["loss_sum"]

    def _groups(self) -> dict[str, Weights]:
        """Return all tensors of the run; those of Adam are there after its first step."""
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
