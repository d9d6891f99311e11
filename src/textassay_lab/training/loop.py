"""The training loop: epochs of batches, best weights by validation score, checkpoints, exact resuming.

All randomness in an epoch comes from streams of the seed and the number of the epoch, whose state a checkpoint keeps. A
run interrupted inside or between epochs therefore continues with the same bits on a CPU with the same number of
threads; on a GPU as far as PyTorch's kernels are deterministic (embedding gradients, for one, may not be). TF32 and
cuDNN flags are left alone.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from textassay.errors import InputError, OptionError, OutputError
from textassay.estimate import json_ready
from textassay.seeding import stream
from textassay_lab.training.backend import chosen_precision
from textassay_lab.training.history import Epoch, History, Reading, Step
from textassay_lab.training.pace import Pace
from textassay_lab.training.processes import Processes
from textassay_lab.training.recipe import Recipe
from textassay_lab.training.state import RunState

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
    processes: Processes | None = None,
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
    group = processes or Processes()
    if carried and group.count > 1:
        raise OptionError(f"a network with memory across batches must train in one process, got {group.count}")
    device = next(iter(weights.values())).device
    settings = {"config": dict(config or {}), "seed": seed, "processes": group.count}
    state = RunState(weights, recipe, chosen_precision(recipe.precision, device), settings, carried or {})
    if checkpoint is not None and checkpoint.exists():
        state.load(checkpoint)
    group.take_from_main(weights)
    group.check_equal(state.n_steps, "the processes have different checkpoints: keep it on a disk that all share")
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
        pace=Pace(recipe.max_epochs, progress if group.is_main else None),
        processes=group,
    )
    with group.at_work():
        while len(state.epochs) < recipe.max_epochs and not state.history.converged(recipe):
            loop.epoch()
    state.take_best()
    return state.history


@dataclass(kw_only=True)
class _Loop(Generic[Batch]):
    """The arguments of `train`, the state of the run, sizes of batches, and losses not yet read from the device."""

    state: RunState
    seed: int
    batches: Callable[[int], Sequence[Batch]]
    loss: Callable[[Batch, "torch.Generator"], "Tensor"]
    score: Callable[[], float]
    size: Callable[[Batch], int] | None
    checkpoint: Path | None
    checkpoint_seconds: float
    monitors: Mapping[str, Callable[[int], float | None]]
    monitor_steps: int | None
    pace: Pace
    processes: Processes
    sizes: npt.NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    unread: "list[Tensor]" = field(default_factory=list)
    written: float = field(default_factory=lambda: time.monotonic())

    def epoch(self) -> None:
        """Do the remaining steps of the current epoch, score the weights, keep them if they are the best."""
        state, group = self.state, self.processes
        done = len(state.epochs)
        batches = self.batches(done)
        if len(batches) == 0:
            raise OptionError("an epoch needs at least one batch, got 0")
        self.sizes = np.array([1 if self.size is None else self.size(batch) for batch in batches], dtype=np.float64)
        n_steps = math.ceil(len(batches) / group.count)
        if state.step >= n_steps:
            raise InputError(f"the checkpoint {self.checkpoint} belongs to other batches: delete it to start again")
        if state.step == 0:
            state.rng.manual_seed(self._seed(done))
        self.pace.begin(done + 1, state.step, n_steps)
        while state.step < n_steps:
            self._take_step(batches, n_steps)
            if state.step < n_steps:
                self._between_steps()
        mean_loss = self._mean_loss()
        with state.scored_weights():
            score = group.from_main(self.score)
            if not math.isfinite(score):
                raise self._diverged(f"the score of epoch {done + 1} is {score}")
            self._read_monitors()
        state.end_epoch(Epoch(done + 1, mean_loss, score))
        self._write()
        self.pace.report(mean_loss, state.epochs[-1])

    def _take_step(self, batches: Sequence[Batch], n_steps: int) -> None:
        import torch

        state, group = self.state, self.processes
        recipe, done = state.recipe, len(state.epochs)
        passed = (done + state.step / n_steps) / recipe.max_epochs
        state.optimizer.param_groups[0]["lr"] = recipe.rate(passed, state.n_steps + 1)
        state.optimizer.zero_grad(set_to_none=True)
        shared, place = group.share(batches, state.step)
        batch_loss = None
        if place is not None:
            if group.count > 1:  # the draws of a batch do not depend on its process
                state.rng.manual_seed(self._seed(done, place))
            with torch.autocast(state.device.type, torch.bfloat16, enabled=state.precision == "bfloat16"):
                weight = float(self.sizes[place]) * len(batches) / float(self.sizes.sum())
                batch_loss = self.loss(batches[place], state.rng) * weight
            batch_loss.backward()  # type: ignore[no-untyped-call]
        self.unread.append(group.average(state.weights, batch_loss, len(shared)).detach())
        state.update()
        first = (state.step - 1) * group.count
        n_tokens = int(self.sizes[first : first + len(shared)].sum())
        self.pace.count(state.step, None if self.size is None else n_tokens)

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
        done = self.sizes[: state.step * self.processes.count].sum() / self.sizes.sum()
        return float(state.loss_sum / (done * len(self.sizes)))

    def _read_monitors(self) -> None:
        state = self.state
        if self.monitors and self.processes.is_main:
            values = {name: monitor(state.n_steps) for name, monitor in self.monitors.items()}
            state.readings.append(Reading(state.n_steps, len(state.epochs) + 1, json_ready(values)))

    def _write(self) -> None:
        if self.checkpoint is None or not self.processes.is_main:
            return
        if not self.state.all_finite():
            where = f"epoch {len(self.state.epochs) + 1}, step {self.state.step}"
            raise self._diverged(f"a weight after {where} is not finite")
        self.state.save(self.checkpoint)
        self.written = time.monotonic()

    def _seed(self, epoch: int, *batch: int) -> int:
        return int(stream(self.seed, "training", epoch, *batch).integers(2**63))

    def _diverged(self, why: str) -> InputError:
        there = self.checkpoint is not None and self.checkpoint.exists()
        kept = f"; the last good checkpoint is in {self.checkpoint}" if there else ""
        return InputError(f"training diverged: {why}; a lower learning rate may help{kept}")
