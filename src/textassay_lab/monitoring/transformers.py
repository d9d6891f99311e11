"""A monitor as a callback of the ``Trainer`` of transformers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.integration import with_base
from textassay_lab.monitoring.monitor import TextMonitor
from textassay_lab.training.backend import require_neural

if TYPE_CHECKING:
    from transformers import TrainerCallback as _Base
else:
    _Base = object  # importing this module does not load transformers; __new__ adds its class


@contextmanager
def drawing_from(model: Any) -> Iterator[None]:
    """Switch dropout and gradients of a PyTorch module off; restore the mode of every submodule afterwards."""
    import torch

    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def check_whole(model: Any) -> None:
    """Raise `OptionError` if no process holds all weights (FSDP, tensor parallelism, ZeRO 3): one alone would hang."""
    names = {type(module).__name__ for module in model.modules()}
    marks = ("placements", "ds_id")  # of DTensor and of DeepSpeed
    marked = any(hasattr(weight, mark) for weight in model.parameters() for mark in marks)
    if marked or "FullyShardedDataParallel" in names:
        raise OptionError("a monitor needs all weights in one process, and they are spread over processes")


ModelSampler = Callable[[Any, int, int], Sequence[str] | Corpus]


class TransformersCallback(_Base):
    """Callback for ``trainer.add_callback``; it is also an instance of transformers' ``TrainerCallback``.

    Readings go to ``trainer.state.log_history`` and to whatever the trainer reports to (TensorBoard, W&B and others).
    The main process draws and measures. Weights and random draws of the training are the same as without it.

    Parameters
    ----------
    monitor
        What to measure.
    trainer
        The trainer that the callback is added to.
    sample
        A function of the model, a number of texts and a seed that returns as many samples; dropout and gradients are
        off.
        `sampler_of_tokenizer` makes one for models that have ``generate``.
    every_n_steps
        Optimiser steps between readings, at least 1; None reads at the end of every epoch.

    Raises
    ------
    OptionError
        If `every_n_steps` is below 1; when training begins, if the weights are spread over processes (FSDP, ZeRO 3).
    MissingExtraError
        If transformers is not installed.
    """

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return an instance that also derives from transformers' ``TrainerCallback``."""
        require_neural("a callback for transformers")
        from transformers import TrainerCallback

        instance: Self = object.__new__(with_base(cls, TrainerCallback))
        return instance

    def __init__(
        self, monitor: TextMonitor, trainer: Any, sample: ModelSampler, *, every_n_steps: int | None = None
    ) -> None:
        if every_n_steps is not None and every_n_steps < 1:
            raise OptionError(f"every_n_steps must be at least 1, got {every_n_steps}")
        self.monitor = monitor
        self.trainer = trainer
        self.sample = sample
        self.every_n_steps = every_n_steps

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Raise if the weights are spread over processes."""
        check_whole(kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Take a reading after every `every_n_steps` steps."""
        if self.every_n_steps is not None and state.global_step % self.every_n_steps == 0:
            self._read(state, control, kwargs["model"])

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Take a reading after each epoch if `every_n_steps` is None."""
        if self.every_n_steps is None:
            self._read(state, control, kwargs["model"])

    def _read(self, state: Any, control: Any, model: Any) -> None:
        if not state.is_world_process_zero:
            return
        with drawing_from(model):
            reading = self.monitor.measure(lambda n, seed: self.sample(model, n, seed), state.global_step)
        if reading.logged():
            is_due = control.should_log  # to log clears it, and the trainer's own loss would be lost
            self.trainer.log(reading.logged())
            control.should_log = is_due


def sampler_of_tokenizer(
    tokenizer: Any, *, max_new_tokens: int = 128, batch_size: int = 100
) -> Callable[[Any, int, int], list[str]]:
    """Return a `sample` function for a model that has ``generate``: plain sampling at temperature 1.

    Parameters
    ----------
    tokenizer
        The model's tokenizer. Every text begins with its ``bos_token`` (or ``eos_token``) and ends with its
        ``eos_token``.
    max_new_tokens
        Tokens at which a text is cut, at least 1.
    batch_size
        Texts sampled together, at least 1.

    Raises
    ------
    OptionError
        If the tokenizer has neither token, or a setting is out of range.
    """
    begin = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    for setting, value in (("max_new_tokens", max_new_tokens), ("batch_size", batch_size)):
        if value < 1:
            raise OptionError(f"{setting} must be at least 1, got {value}")
    if begin is None:
        raise OptionError("the tokenizer must have a bos_token or an eos_token to begin a text, and has neither")
    end = tokenizer.eos_token_id

    def sample(model: Any, n: int, seed: int) -> list[str]:
        import torch
        from transformers import GenerationConfig

        torch.manual_seed(seed)
        plain = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=True,
            top_k=0,
            max_new_tokens=max_new_tokens,
            eos_token_id=end,
            pad_token_id=begin if end is None else end,
        )
        previous, model.generation_config = model.generation_config, plain  # as an argument, the two would merge
        texts: list[str] = []
        try:
            while len(texts) < n:
                starts = torch.full((min(batch_size, n - len(texts)), 1), begin, device=model.device)
                drawn = model.generate(input_ids=starts, attention_mask=torch.ones_like(starts))
                texts += tokenizer.batch_decode(drawn[:, 1:], skip_special_tokens=True)
        finally:
            model.generation_config = previous
        return texts

    return sample
