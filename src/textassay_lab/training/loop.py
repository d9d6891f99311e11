"""The training loop: epochs of batches, best weights by validation score, checkpoints, exact resuming.

All randomness in an epoch comes from streams of the seed and the number of the epoch, whose state a checkpoint keeps. A
run interrupted inside or between epochs therefore continues with the same bits on a CPU with the same number of
threads; on a GPU as far as PyTorch's kernels are deterministic (embedding gradients, for one, may not be). TF32 and
cuDNN flags are left alone.
"""

import json
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, OptionError, OutputError
from textassay.estimate import json_ready
from textassay.seeding import stream
from textassay_lab.training.backend import chosen_precision
from textassay_lab.training.checkpoint import load_checkpoint, save_checkpoint
from textassay_lab.training.history import Epoch, History, Reading, Step
from textassay_lab.training.recipe import Recipe

if TYPE_CHECKING:
    import torch
    from torch import Tensor


Batch = TypeVar("Batch")
Weights = Mapping[str, "Tensor"]

_STEPS_UNREAD = 16  # losses kept on a GPU before they are read together, because reading synchronises


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
    carried: Weights | None = None,
) -> History:
    """Train `weights` in place; at the end they are those of the epoch with the best score.

    `weights`: name to leaf tensor that requires a gradient, all on one device, such as
    ``dict(module.named_parameters())``; `score`: higher is better, NaN and infinity are errors.
    """
    if not weights:
        raise OptionError("training needs at least one weight, got none")
    if checkpoint_seconds < 0:
        raise OptionError(f"checkpoint_seconds must be at least 0, got {checkpoint_seconds}")
    if monitor_steps is not None and monitor_steps < 1:
        raise OptionError(f"monitor_steps must be at least 1, got {monitor_steps}")
    if checkpoint is not None and not checkpoint.parent.is_dir():
        raise OutputError(f"cannot write the checkpoint {checkpoint}: there is no folder {checkpoint.parent}")
    device = next(iter(weights.values())).device
    settings = {"config": dict(config or {}), "seed": seed}
    state = RunState(weights, recipe, chosen_precision(recipe.precision, device), settings, carried or {})
    if checkpoint is not None and checkpoint.exists():
        state.load(checkpoint)
    loop = _Loop(
        state=state,
        seed=seed,
        batches=batches,
        loss=loss,
        score=score or (lambda: float(len(state.epochs))),
        size=size,
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        monitors=monitors or {},
        monitor_steps=monitor_steps,
        pace=Pace(recipe.max_epochs, progress),
    )
    while len(state.epochs) < recipe.max_epochs and not state.history.converged(recipe):
        loop.epoch()
    state.take_best()
    return state.history


@dataclass(kw_only=True)
class _Loop(Generic[Batch]):
    """The arguments of `train`, the state of the run, sizes of batches, and losses not yet read from the device."""

    state: "RunState"
    seed: int
    batches: Callable[[int], Sequence[Batch]]
    loss: Callable[[Batch, "torch.Generator"], "Tensor"]
    score: Callable[[], float]
    size: Callable[[Batch], int] | None
    checkpoint: Path | None
    checkpoint_seconds: float
    monitors: Mapping[str, Callable[[int], float | None]]
    monitor_steps: int | None
    pace: "Pace"
    sizes: npt.NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    unread: "list[Tensor]" = field(default_factory=list)
    written: float = field(default_factory=lambda: time.monotonic())

    def epoch(self) -> None:
        """Do the remaining steps of the current epoch, score the weights, keep them if they are the best."""
        state = self.state
        done = len(state.epochs)
        batches = self.batches(done)
        if len(batches) == 0:
            raise OptionError("an epoch needs at least one batch, got 0")
        self.sizes = np.array([1 if self.size is None else self.size(batch) for batch in batches], dtype=np.float64)
        n_steps = len(batches)
        if state.step >= n_steps:
            raise InputError(f"the checkpoint {self.checkpoint} belongs to other batches: delete it to start again")
        if state.step == 0:
            state.rng.manual_seed(self._seed(done))
        self.pace.begin(done + 1, state.step, n_steps)
        while state.step < n_steps:
            self._take_step(batches)
            if state.step < n_steps:
                self._between_steps()
        mean_loss = self._mean_loss()
        with state.scored_weights():
            score = float(self.score())
            if not math.isfinite(score):
                raise self._diverged(f"the score of epoch {done + 1} is {score}")
            self._read_monitors()
        state.end_epoch(Epoch(done + 1, mean_loss, score))
        self._write()
        self.pace.report(mean_loss, state.epochs[-1])

    def _take_step(self, batches: Sequence[Batch]) -> None:
        import torch

        state, place = self.state, self.state.step
        passed = (len(state.epochs) + place / len(batches)) / state.recipe.max_epochs
        rate = state.recipe.rate(passed, state.n_steps + 1, len(batches) * state.recipe.max_epochs)
        state.optimizer.param_groups[0]["lr"] = rate
        state.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(state.device.type, torch.bfloat16, enabled=state.precision == "bfloat16"):
            weight = float(self.sizes[place]) * len(batches) / float(self.sizes.sum())
            batch_loss = self.loss(batches[place], state.rng) * weight
        batch_loss.backward()  # type: ignore[no-untyped-call]
        self.unread.append(batch_loss.detach())
        state.update()
        self.pace.count(state.step, None if self.size is None else int(self.sizes[place]))

    def _between_steps(self) -> None:
        """Call monitors, write a checkpoint and report progress when due."""
        state = self.state
        monitored = self.monitor_steps is not None and state.n_steps % self.monitor_steps == 0
        due = self.checkpoint is not None and time.monotonic() - self.written >= self.checkpoint_seconds
        if state.device.type == "cpu" or len(self.unread) >= _STEPS_UNREAD or monitored or due:
            mean_loss = self._mean_loss()
            if monitored:
                with state.scored_weights():
                    self._read_monitors()
            if due:
                self._write()
            self.pace.report(mean_loss)

    def _mean_loss(self) -> float:
        """Return the mean loss of this epoch so far, over batches or their tokens; reads all losses."""
        import torch

        state = self.state
        for loss in torch.stack(self.unread).cpu().double().tolist() if self.unread else []:
            if not math.isfinite(loss):
                raise self._diverged(f"the loss of epoch {len(state.epochs) + 1} is {loss}")
            state.loss_sum += loss
        self.unread.clear()
        done = self.sizes[: state.step].sum() / self.sizes.sum()
        return float(state.loss_sum / (done * len(self.sizes)))

    def _read_monitors(self) -> None:
        state = self.state
        if self.monitors:
            values = {name: monitor(state.n_steps) for name, monitor in self.monitors.items()}
            state.readings.append(Reading(state.n_steps, len(state.epochs) + 1, json_ready(values)))

    def _write(self) -> None:
        if self.checkpoint is None:
            return
        if not self.state.all_finite():
            where = f"epoch {len(self.state.epochs) + 1}, step {self.state.step}"
            raise self._diverged(f"a weight after {where} is not finite")
        self.state.save(self.checkpoint)
        self.written = time.monotonic()

    def _seed(self, epoch: int) -> int:
        return int(stream(self.seed, "training", epoch).integers(2**63))

    def _diverged(self, why: str) -> InputError:
        there = self.checkpoint is not None and self.checkpoint.exists()
        kept = f"; the last good checkpoint is in {self.checkpoint}" if there else ""
        return InputError(f"training diverged: {why}; a lower learning rate may help{kept}")


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
        _put(self.best, self.weights)

    def all_finite(self) -> bool:
        """Return whether all numbers of a checkpoint are finite."""
        import torch

        groups = self._groups().values()
        sums = [tensor.sum() for group in groups for tensor in group.values()]  # much faster than isfinite on each
        return bool(torch.stack([each.to(self.device) for each in sums]).isfinite().all())

    def save(self, path: Path) -> None:
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
                f"the checkpoint {path} was trained in {document['precision']}, but this run uses {self.precision}. "
                "Set the precision, continue on the same machine, or delete the checkpoint to start again"
            )
        if self.device.type == "cpu" and document["threads"] != torch.get_num_threads():
            warnings.warn(
                f"the checkpoint {path} was made with {document['threads']} threads, but this run has "
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


class Pace:
    """Measures the time of steps and of the end of epochs, and calls `callback` at most every `seconds`."""

    def __init__(
        self,
        max_epochs: int,
        callback: Callable[[Step], None] | None,
        *,
        seconds: float = 0.25,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_epochs, self._callback, self._seconds, self._clock = max_epochs, callback, seconds, clock
        self._last_report = clock()
        self._after = 0.0  # seconds from the last step of an epoch to its end: score, monitors, checkpoint
        self.begin(1, 0, 1)

    def begin(self, epoch: int, step: int, n_steps: int) -> None:
        """Start measuring `epoch`, of which `step` of `n_steps` steps are done."""
        self._epoch, self._first, self._step, self._n_steps = epoch, step, step, n_steps
        self._n_tokens: int | None = None
        self._began = self._stepped = self._clock()

    def count(self, step: int, n_tokens: int | None) -> None:
        """Record that `step` steps of the epoch are done, the last with `n_tokens` tokens (None: unknown)."""
        self._step, self._stepped = step, self._clock()
        if n_tokens is not None:
            self._n_tokens = n_tokens + (self._n_tokens or 0)

    def report(self, loss: float, finished: Epoch | None = None) -> None:
        """Report progress if an epoch is finished or the last report is long enough ago."""
        now = self._clock()
        if finished is not None:
            self._after = now - self._stepped
        if self._callback is None or (finished is None and now - self._last_report < self._seconds):
            return
        self._last_report = now
        spent = self._stepped - self._began
        seconds_per_step = spent / max(1, self._step - self._first)
        epochs_left = self._max_epochs - self._epoch
        left = (self._n_steps - self._step + epochs_left * self._n_steps) * seconds_per_step
        left += (epochs_left + (finished is None)) * self._after
        rate = None if self._n_tokens is None or spent <= 0 else self._n_tokens / spent
        self._callback(Step(self._epoch, self._step, self._n_steps, loss, rate, left, finished))
