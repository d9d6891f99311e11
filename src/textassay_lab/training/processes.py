"""Data-parallel training of one network by several processes, on several GPUs or machines.

A launcher starts them: ``torchrun --nproc-per-node 2 --no-python -- textassay train ...``, say, or ``accelerate launch
--multi-gpu`` (which needs MPI on CPUs). Each step uses one batch per process; gradients are averaged, so weights stay
equal in all. Only the first, the main process scores, calls monitors, writes checkpoints and reports progress.

Why Hugging Face accelerate, not Lightning Fabric: its launcher starts several machines, the extra already includes it,
and it finds backend and device of each process without owning the loop. One flat buffer is averaged, because weights
here are plain tensors, not a module that a wrapper could hook into.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from textassay.errors import InputError, MissingExtraError, OptionError
from textassay_lab.training.backend import training_device

if TYPE_CHECKING:
    from torch import Tensor


Batch = TypeVar("Batch")

_TIMEOUT = timedelta(minutes=30)  # for which the others wait while the main process scores
_TRAINING: ContextVar[bool] = ContextVar("training", default=False)  # whether the processes are training


def is_main() -> bool:
    """Return whether this is the main (or only) process, which writes files and reports progress. Imports nothing."""
    return os.environ.get("RANK", "0") == "0"


def launched() -> "Processes | None":
    """Return the processes started by a launcher together with this one; None without a launcher.

    Also None inside a training that uses them, so that monitors can train in the main process alone. All processes must
    call it before any of them starts to train.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or _TRAINING.get():
        return None
    try:
        from accelerate import PartialState
    except ImportError:
        raise MissingExtraError("training with several processes", "neural") from None
    import torch

    device = training_device()
    if device.type not in ("cpu", "cuda"):
        raise OptionError(f"several processes can train on cpu and cuda, got device '{device}'")
    n_threads = torch.get_num_threads()
    PartialState(cpu=device.type == "cpu", timeout=_TIMEOUT)
    torch.set_num_threads(n_threads)  # PartialState may have changed it
    return Processes(torch.distributed.get_rank(), torch.distributed.get_world_size(), str(device))


@dataclass(frozen=True)
class Processes:
    """The processes of a training: rank of this one, their number, and the device of this one."""

    rank: int = 0
    count: int = 1
    device: str = "cpu"

    @property
    def is_main(self) -> bool:
        """Whether this process scores, writes files, shows progress and calls monitors."""
        return self.rank == 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep networks that are trained inside the ``with`` block from using the processes."""
        token = _TRAINING.set(_TRAINING.get() or self.count > 1)
        try:
            yield
        finally:
            _TRAINING.reset(token)

    def share(self, batches: Sequence[Batch], step: int) -> tuple[Sequence[Batch], int | None]:
        """Return the batches of a step, one per process (fewer in the last), and the index of this process's batch."""
        first = step * self.count
        place = first + self.rank
        return batches[first : first + self.count], place if place < len(batches) else None

    def average(self, weights: Mapping[str, "Tensor"], loss: "Tensor | None", n_batches: int) -> "Tensor":
        """Replace gradients by their mean over the `n_batches` batches of a step, and return the sum of losses.

        `loss`: that of this process's batch, after its backward pass; None if it had no batch.
        """
        import torch

        if self.count == 1:
            assert loss is not None  # there is a batch in each step
            return loss
        parts = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights.values()]
        loss_value = torch.zeros((), device=self.device) if loss is None else loss.detach().float()
        flat = torch.cat([*(part.reshape(-1) for part in parts), loss_value.reshape(1)])
        self._collective(torch.distributed.all_reduce, flat)
        gradients = torch.split(flat[:-1].div_(n_batches), [part.numel() for part in parts])
        for weight, gradient in zip(weights.values(), gradients, strict=True):
            weight.grad = gradient.view_as(weight)
        return flat[-1]

    def take_from_main(self, weights: Mapping[str, "Tensor"]) -> None:
        """Copy the `weights` of the main process to all others."""
        import torch

        for weight in weights.values() if self.count > 1 else []:
            self._collective(torch.distributed.broadcast, weight.detach(), 0)

    def from_main(self, compute: Callable[[], float]) -> float:
        """Return the result of `compute`, which only the main process calls, in all processes."""
        import torch

        value = float(compute()) if self.is_main else 0.0
        if self.count == 1:
            return value
        box = torch.tensor([value], dtype=torch.float64, device=self.device)
        self._collective(torch.distributed.broadcast, box, 0)
        return float(box)

    def check_equal(self, number: int, what: str) -> None:
        """Raise `InputError` with the message `what` in all processes unless all have the same `number`."""
        import torch

        if self.count == 1:
            return
        ends = torch.tensor([number, -number], dtype=torch.int64, device=self.device)
        self._collective(torch.distributed.all_reduce, ends, torch.distributed.ReduceOp.MAX)
        if int(ends[0]) != -int(ends[1]):
            raise InputError(f"{what}: {number} in process {self.rank}, up to {int(ends[0])} in others")

    def _collective(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except RuntimeError as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            raise InputError(
                f"process {self.rank} lost the other {self.count - 1}: one of them ended ({reason}); "
                "read its message, and start all of them again to continue from the checkpoint"
            ) from error
