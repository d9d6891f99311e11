"""Progress on standard error: a bar on a terminal, now and then a line elsewhere, nothing when asked to be quiet."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


def duration(seconds: float) -> str:
    """Return a time as people say it, such as 2 h 5 min."""
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
        return f", about {duration(seconds)} left" if seconds > _SECONDS_WORTH_TELLING else ""


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
