"""Several processes, on several GPUs or machines, that train one network together.

A launcher starts them: ``torchrun --nproc-per-node 2 --no-python -- textassay train ...``, say, or ``accelerate launch
--multi-gpu`` (on CPUs that one needs MPI). Each step takes as many batches as there are processes, one each; gradients
are averaged, so all hold equal weights all the time. The first process, the main one, alone scores, calls monitors,
writes checkpoints and tells of progress.

Why Hugging Face accelerate, not Lightning Fabric: its launcher starts machines, the extra brings it along already, and
it finds the backend and the device of each process without owning the loop. What is averaged is one flat buffer,
because weights here are plain tensors, not a module that a wrapper could hook into.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from textassay.errors import InputError, MissingExtraError, OptionError
from textassay.training.backend import training_device

if TYPE_CHECKING:
    from torch import Tensor


Batch = TypeVar("Batch")

_TIMEOUT = timedelta(minutes=30)  # the others wait so long while the main process scores
_TRAINING: ContextVar[bool] = ContextVar("training", default=False)  # whether the processes are at work already


def is_main() -> bool:
    """Return whether this process writes files and tells of progress; the only one does. Loads nothing."""
    return os.environ.get("RANK", "0") == "0"


def launched() -> "Processes | None":
    """Return the processes that a launcher started together with this one; None without a launcher.

    Also None inside a training that uses them, for what its monitors train in the main process alone. Call it before
    any other process has begun to train, in all processes alike.
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
    torch.set_num_threads(n_threads)  # it may have set another number
    return Processes(torch.distributed.get_rank(), torch.distributed.get_world_size(), str(device))


@dataclass(frozen=True)
class Processes:
    """The processes that share a training: the number of this one, from 0, how many there are, and its device."""

    rank: int = 0
    count: int = 1
    device: str = "cpu"

    @property
    def is_main(self) -> bool:
        """Whether this process scores, writes files, shows progress and calls monitors."""
        return self.rank == 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep the processes from being used by what is trained inside the ``with`` block."""
        token = _TRAINING.set(_TRAINING.get() or self.count > 1)
        try:
            yield
        finally:
            _TRAINING.reset(token)

    def share(self, batches: Sequence[Batch], step: int) -> tuple[Sequence[Batch], int | None]:
        """Return the batches of a step, one a process but in the last, and the place of this process's among all."""
        first = step * self.count
        place = first + self.rank
        return batches[first : first + self.count], place if place < len(batches) else None

    def average(self, weights: Mapping[str, "Tensor"], loss: "Tensor | None", n_batches: int) -> "Tensor":
        """Put the mean gradient of the `n_batches` batches of a step in all processes, and return the sum of losses.

        `loss` is that of this process's batch, which has gone backward; None where it had none.
        """
        import torch

        if self.count == 1:
            assert loss is not None  # there is a batch in each step
            return loss
        parts = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights.values()]
        told = torch.zeros((), device=self.device) if loss is None else loss.detach().float()
        flat = torch.cat([*(part.reshape(-1) for part in parts), told.reshape(1)])
        self._collective(torch.distributed.all_reduce, flat)
        gradients = torch.split(flat[:-1].div_(n_batches), [part.numel() for part in parts])
        for weight, gradient in zip(weights.values(), gradients, strict=True):
            weight.grad = gradient.view_as(weight)
        return flat[-1]

    def take_from_main(self, weights: Mapping[str, "Tensor"]) -> None:
        """Let `weights` be those of the main process, in all."""
        import torch

        for weight in weights.values() if self.count > 1 else []:
            self._collective(torch.distributed.broadcast, weight.detach(), 0)

    def from_main(self, compute: Callable[[], float]) -> float:
        """Return what `compute` gives in the main process, which alone calls it."""
        import torch

        value = float(compute()) if self.is_main else 0.0
        if self.count == 1:
            return value
        box = torch.tensor([value], dtype=torch.float64, device=self.device)
        self._collective(torch.distributed.broadcast, box, 0)
        return float(box)

    def check_equal(self, number: int, what: str) -> None:
        """Raise in all processes unless all hold the same `number`; `what` says what it means if they do not."""
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
                "see its message, and start all of them again to go on from the checkpoint"
            ) from error
