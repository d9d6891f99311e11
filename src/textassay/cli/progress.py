"""Progress on standard error: a bar on a terminal, now and then a line elsewhere, nothing when asked to be quiet."""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textassay_lab.training.history import Step

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_OF_SILENCE = 60.0
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_WORTH_TELLING = 60.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give the function that is called with a label, the steps done and their total; None when `quiet`."""
    if quiet:
        yield None
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = _Lines()
        try:
            yield lines
        finally:
            lines.stop()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task, pace = bar.add_task("reading", total=None), _Pace()

        def advance(label: str, done: int, total: int) -> None:
            bar.update(task, description=f"{label}{pace.left(label, done, total)}", completed=done, total=total)

        yield advance


def tell_step(tell: Callable[[str, int, int], None], n_epochs: int, step: "Step") -> None:
    """Say how far training is: steps of all epochs, loss, tokens per second, time left at most."""
    speed = "" if step.tokens_per_second is None else f", {step.tokens_per_second:,.0f} tokens/s"
    left = f", {_duration(step.seconds_left)} left at most" if math.isfinite(step.seconds_left) else ""
    label = f"epoch {step.epoch} of {n_epochs}: loss {step.loss:.3f}{speed}{left}"
    tell(label, (step.epoch - 1) * step.n_steps + step.step, n_epochs * step.n_steps)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class _Pace:
    """How long the rest will take, by the pace since the total changed."""

    def __init__(self) -> None:
        self._total, self._first, self._began = -1, 0, 0.0

    def left(self, label: str, done: int, total: int) -> str:
        """Return the time that is left where it is over a minute and the label does not say it."""
        now = time.monotonic()
        if total != self._total or done < self._first:
            self._total, self._first, self._began = total, done, now
        if done == self._first or " left" in label:
            return ""
        seconds = (now - self._began) / (done - self._first) * (total - done)
        return f", about {_duration(seconds)} left" if seconds > _SECONDS_WORTH_TELLING else ""


class _Lines:
    """Prints a line at most every ten seconds, the first after ten; and one a minute while one step takes long."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._line = "at the first step"
        self._pace = _Pace()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        threading.Thread(target=self._break_silence, name="progress", daemon=True).start()

    def __call__(self, label: str, done: int, total: int) -> None:
        with self._lock:
            self._line = f"{done} of {total} done, {label}{self._pace.left(label, done, total)}"
        self.tell(after=_SECONDS_BETWEEN_LINES)

    def tell(self, *, after: float) -> None:
        """Print where it stands if the last line is older than `after` seconds."""
        with self._lock:
            now = time.monotonic()
            if now - self._last >= after:
                self._last = now
                print(f"textassay: {self._line}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Print nothing any more."""
        self._stopped.set()

    def _break_silence(self) -> None:
        while not self._stopped.wait(_SECONDS_BETWEEN_LOOKS):
            self.tell(after=_SECONDS_OF_SILENCE)
