"""A monitor as a callback of PyTorch Lightning, under either of its package names."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from textassay.corpus import Corpus
from textassay.errors import OptionError, TextassayError
from textassay.monitoring.modules import check_whole, drawing_from, with_base
from textassay.monitoring.monitor import TextMonitor

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


class MissingLightningError(TextassayError, ImportError):
    """Lightning is not installed; no extra includes it, since only its users need it."""


class LightningCallback:
    """Callback for ``Trainer(callbacks=[...])``; it is also an instance of Lightning's ``Callback``.

    Values go to all loggers of the trainer and to ``trainer.callback_metrics``, so that early stopping and checkpoints
    can follow ``textassay/dd``. The process of rank 0 draws and measures, the others wait. Weights and random draws of
    the training are the same as without it.

    Parameters
    ----------
    monitor
        What to measure.
    sample
        A function of the Lightning module, a number of texts and a seed that returns as many samples; dropout and
        gradients are off. See `TextMonitor.measure`.
    every_n_steps
        Optimiser steps between readings, at least 1; None reads at the end of every epoch.

    Raises
    ------
    OptionError
        If `every_n_steps` is below 1; when training begins, if the weights are spread over processes (FSDP, ZeRO 3).
    MissingLightningError
        If Lightning is not installed.
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return an instance that also derives from Lightning's ``Callback``."""
        instance: Self = object.__new__(with_base(cls, _lightning().Callback))
        return instance

    def __init__(
        self,
        monitor: TextMonitor,
        sample: Callable[[Any, int, int], Sequence[str] | Corpus],
        *,
        every_n_steps: int | None = None,
    ) -> None:
        if every_n_steps is not None and every_n_steps < 1:
            raise OptionError(f"every_n_steps must be at least 1, got {every_n_steps}")
        self.monitor = monitor
        self.sample = sample
        self.every_n_steps = every_n_steps
        self._last_step = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Raise if the weights are spread over processes."""
        self._last_step = trainer.global_step
        check_whole(trainer.strategy.model or pl_module)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Take a reading after every `every_n_steps` steps."""
        every = self.every_n_steps  # several optimisers take several steps at once
        if every is not None and trainer.global_step // every > self._last_step // every:
            self._read(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Take a reading after each epoch if `every_n_steps` is None."""
        if self.every_n_steps is None:
            self._read(trainer, pl_module)

    def _read(self, trainer: Any, module: Any) -> None:
        step = self._last_step = trainer.global_step
        values: dict[str, float] = {}
        if trainer.is_global_zero:
            with drawing_from(module):
                values = self.monitor.measure(lambda n, seed: self.sample(module, n, seed), step).logged()
            for logger in trainer.loggers if values else ():
                logger.log_metrics(values, step=step)
        values = trainer.strategy.broadcast(values)
        module.log_dict(values, logger=False)


def _lightning() -> Any:
    """Return the package that the user has loaded, else the one that is installed."""
    loaded = [name for name in _PACKAGES if name in sys.modules]
    for name in loaded or _PACKAGES:
        if name in loaded or find_spec(name.split(".")[0]) is not None:
            return import_module(name)
    raise MissingLightningError("the Lightning callback needs Lightning: pip install lightning")
