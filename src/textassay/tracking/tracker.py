"""A run of an experiment tracker: what is logged to it, by which names, and how it is opened.

Each tracker is one file, and follows its library's own settings (servers, projects, offline modes, credentials). A run
that the caller has open is used and left open; otherwise one is opened and closed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from textassay.errors import MissingLibraryError, OptionError, TextassayError, TrackingError, unknown_name

TRACKERS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "mlflow": ("MlflowTracker", ("mlflow",), "mlflow"),
    "tensorboard": ("TensorBoardTracker", ("tensorboardX", "tensorboard"), "tensorboardX"),
    "wandb": ("WandbTracker", ("wandb",), "wandb"),
}
"""Name to class, packages of which one is needed, and what to install."""


class Tracker(Protocol):
    """A run that takes numbers, settings and files."""

    def values(self, values: Mapping[str, float], *, step: int | None = None) -> None:
        """Log numbers under keys whose parts `keys_of` gave, of a training step if there is one."""
        ...

    def settings(self, settings: Mapping[str, str]) -> None:
        """Log what the numbers depend on: sizes, seeds, signatures."""
        ...

    def page(self, summary: str, files: Sequence[Path]) -> None:
        """Log a summary in Markdown and the files of a report, as far as the tracker takes either."""
        ...

    def close(self, *, failed: bool = False) -> None:
        """End the run if it was opened here."""
        ...


def keys_of(names: Iterable[str]) -> dict[str, str]:
    """Return the part of a key for each name, in letters, digits, ``_``, ``-`` and ``.``; no two are alike."""
    keys: dict[str, str] = {}
    for name in dict.fromkeys(names):
        key = plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unnamed"
        number = 1
        while key in keys.values():
            number += 1
            key = f"{plain}-{number}"
        keys[name] = key
    return keys


def check_tracker(named: str) -> tuple[str, str | None]:
    """Return the tracker's name and where it logs, of ``NAME`` or ``NAME:WHERE``; raise if it cannot be used."""
    name, _, where = named.partition(":")
    if name not in TRACKERS:
        raise unknown_name("tracker", name, TRACKERS)
    _, packages, install = TRACKERS[name]
    if not any(find_spec(package) for package in packages):
        raise MissingLibraryError(f"logging to {name}", install)
    return name, where or None


def open_tracker(tracker: str | Tracker) -> Tracker:
    """Return a run of the tracker named, ``NAME`` or ``NAME:WHERE``; an object is returned as it is.

    WHERE is the experiment (MLflow), the project (W&B) or the folder (TensorBoard).
    """
    if not isinstance(tracker, str):
        if not all(hasattr(tracker, name) for name in ("values", "settings", "page", "close")):
            raise OptionError(f"a tracker is one of {', '.join(TRACKERS)}, got {type(tracker).__name__}")
        return tracker
    name, where = check_tracker(tracker)
    with _errors_of(name):
        made: Tracker = resolve_name(f"textassay.tracking:{TRACKERS[name][0]}")(where)
    return made


@contextmanager
def opened(tracker: str | Tracker) -> Iterator[Tracker]:
    """Open a run for the ``with`` block; what its library raises becomes one line."""
    run = open_tracker(tracker)
    with _errors_of(tracker if isinstance(tracker, str) else type(tracker).__name__):
        try:
            yield run
        except BaseException:
            run.close(failed=True)
            raise
        run.close()


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    try:
        yield
    except TextassayError:
        raise
    except Exception as error:
        raise TrackingError(f"cannot log to {name}: {type(error).__name__}: {error}") from error
