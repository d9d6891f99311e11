"""Progress of a training."""

import math
from collections.abc import Callable

from textassay.cli.messages import duration
from textassay_lab.training.history import Step


def tell_step(tell: Callable[[str, int, int], None], n_epochs: int, step: Step) -> None:
    """Say how far training is: steps of all epochs, loss, tokens per second, time left at most."""
    speed = "" if step.tokens_per_second is None else f", {step.tokens_per_second:,.0f} tokens/s"
    left = f", {duration(step.seconds_left)} left at most" if math.isfinite(step.seconds_left) else ""
    label = f"epoch {step.epoch} of {n_epochs}: loss {step.loss:.3f}{speed}{left}"
    tell(label, (step.epoch - 1) * step.n_steps + step.step, n_epochs * step.n_steps)
