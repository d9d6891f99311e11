"""Progress on standard error: a bar on a terminal, now and then a line elsewhere, nothing when asked to be quiet."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["show_progress"]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give the function that is called with a label, the steps done and their total; None when `quiet`."""
    if quiet:
        yield None
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def advance(label: str, done: int, total: int) -> None:
            bar.update(task, description=label, completed=done, total=total)

        yield advance


class _Lines:
    """Prints a line at most every ten seconds, the first after ten."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            print(f"textassay: {done} of {total} done, {label}", file=sys.stderr, flush=True)
