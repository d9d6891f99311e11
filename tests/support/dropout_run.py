"""A small training with dropout, to be run in a process of its own and killed.

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
    """Be killed at ``at`` (``step`` or ``write``) number ``number``."""
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


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
