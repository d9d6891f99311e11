"""Speed of a training run and its remaining time."""

import time
from collections.abc import Callable

from textassay_lab.training.history import Epoch, Step


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
