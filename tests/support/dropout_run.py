"""A small training with dropout, to be run in processes of its own: killed, or several of them together.

``python dropout_run.py '{"checkpoint": ...}'``; see `main`.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from textassay_lab.training.backend import single_threaded
from textassay_lab.training.history import History
from textassay_lab.training.loop import train
from textassay_lab.training.processes import Processes, launched
from textassay_lab.training.recipe import Recipe

RECIPE = Recipe(
    max_epochs=4,
    learning_rate=0.02,
    schedule="cosine",
    averaging=0.9,
    max_norm=1.0,
    warmup_steps=4,
    precision="float32",
)
N_BATCHES = 5
BATCHES = np.random.default_rng(0).normal(size=(N_BATCHES, 16, 24)).astype(np.float32)


def started() -> "dict[str, Any]":
    import torch

    rng = torch.Generator().manual_seed(1)
    shapes = {"a": (32, 24), "b": (32, 32), "c": (8, 32)}
    return {name: (torch.randn(shape, generator=rng) / 5).requires_grad_() for name, shape in shapes.items()}


def loss_of(weights: "dict[str, Any]", dropout: float) -> "Callable[[Any, Any], Any]":
    import torch

    def loss(batch: Any, rng: Any) -> Any:
        hidden = torch.from_numpy(batch)
        for name in ("a", "b"):
            kept = torch.rand(len(batch), 32, generator=rng) >= dropout
            hidden = torch.tanh(hidden @ weights[name].T) * kept / (1 - dropout)
        return ((hidden @ weights["c"].T).float() - torch.from_numpy(batch[:, :8])).square().mean()

    return loss


def run(weights: "dict[str, Any]", recipe: Recipe = RECIPE, *, dropout: float = 0.3, **options: Any) -> History:
    """Train `weights` as `train` does; the last epoch is kept."""
    settings = {"batches": lambda epoch: list(BATCHES), "loss": loss_of(weights, dropout), "score": None, "seed": 5}
    with single_threaded():
        return train(weights, recipe=recipe, **{**settings, **options})


def main(task: "dict[str, Any]") -> None:
    """Do what `task` says: be killed at ``at`` (``step`` or ``write``) number ``number``, or train together."""
    if "at" in task:
        _be_killed(task)
    else:
        _train_together(task)


def _be_killed(task: "dict[str, Any]") -> None:
    import safetensors.torch

    weights = started()
    plain_loss, plain_save = loss_of(weights, 0.3), safetensors.torch.save_file
    counts = {"step": 0, "write": 0}

    def loss(batch: Any, rng: Any) -> Any:
        counts["step"] += 1
        if task["at"] == "step" and counts["step"] == task["number"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain_loss(batch, rng)

    def save(tensors: Any, path: Path, metadata: Any) -> None:
        counts["write"] += 1
        plain_save(tensors, path, metadata)
        if task["at"] == "write" and counts["write"] == task["number"]:
            os.truncate(path, path.stat().st_size // 2)  # as if it had come so far
            os.kill(os.getpid(), signal.SIGKILL)

    with patch.object(safetensors.torch, "save_file", save):
        recipe = replace(RECIPE, precision=task["precision"])
        run(weights, recipe, loss=loss, checkpoint=Path(task["checkpoint"]), checkpoint_seconds=0)


def _train_together(task: "dict[str, Any]") -> None:
    """Write the weights of three runs: without dropout, with it, and with it interrupted and gone on."""
    from safetensors.torch import save_file

    together = launched()
    assert together is not None
    folder, rank = Path(task["folder"]), together.rank
    if task.get("dies"):
        weights = started()
        run(weights, loss=_interrupted(weights, 6, os._exit if rank == 1 else None), processes=together)
    for name, dropout in (("plain", 0.0), ("dropout", 0.3)):
        weights = started()
        run(weights, dropout=dropout, processes=together)
        save_file(weights, folder / f"{name}-{rank}.safetensors")
    weights = started()
    checkpoint = folder / "run.safetensors"
    try:
        loss = _interrupted(weights, 8 if rank == 0 else 6, _stop)  # both in the second step of epoch 3
        run(weights, loss=loss, checkpoint=checkpoint, checkpoint_seconds=0, processes=together)
    except KeyboardInterrupt:
        together.check_equal(0, "wait until both were interrupted")
    weights = started()
    said: list[int] = []
    monitors = {"w": lambda step: float(_inner(together))}
    history = run(
        weights,
        checkpoint=checkpoint,
        processes=together,
        monitors=monitors,
        progress=lambda step: said.append(step.epoch),
    )
    save_file(weights, folder / f"resumed-{rank}.safetensors")
    (folder / f"told-{rank}.json").write_text(json.dumps([said, [epoch.loss for epoch in history.epochs]]))


def _interrupted(weights: "dict[str, Any]", number: int, stop: "Callable[[int], Any] | None") -> Any:
    plain, count = loss_of(weights, 0.3), 0

    def loss(batch: Any, rng: Any) -> Any:
        nonlocal count
        count += 1
        if count == number and stop is not None:
            stop(9)
        return plain(batch, rng)

    return loss


def _stop(_: int) -> None:
    raise KeyboardInterrupt


def _inner(together: Processes) -> int:
    """Train something else inside a monitor, in the main process alone; the processes must not be waited for."""
    assert together.is_main
    assert launched() is None
    return len(run(started(), Recipe(1), processes=launched()).epochs)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
