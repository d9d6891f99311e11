"""Readings of a monitor in a run of an experiment tracker, which is opened at the first one."""

import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from textassay.errors import TextassayError, TrackingError
from textassay.monitoring.reading import MonitorReading
from textassay.tracking import Tracker, check_tracker, keys_of, open_tracker

_ROOT = "textassay"


class LoggedReadings:
    """Where readings go: values with their intervals at their step, and what real text scores."""

    def __init__(self, tracker: str | Tracker, settings: Mapping[str, Any]) -> None:
        if isinstance(tracker, str):
            check_tracker(tracker)
        else:
            open_tracker(tracker)
        self._tracker = tracker
        self._settings = settings
        self._run: Tracker | None = None

    def append(self, reading: MonitorReading, floor: MonitorReading | None) -> None:
        """Log a reading; raise a TrackingError where the tracker does not take it."""
        try:
            run = self._opened()
            run.values(tracked_values(reading, floor), step=reading.step)
        except TextassayError:
            raise
        except Exception as error:  # of whatever kind: training goes on
            raise TrackingError(f"{type(error).__name__}: {error}") from error

    def _opened(self) -> Tracker:
        if self._run is None:
            run = open_tracker(self._tracker)
            weakref.finalize(self, _close, run)
            run.settings({name: _told(value) for name, value in self._settings.items()})
            self._run = run
        return self._run


def tracked_values(reading: MonitorReading, floor: MonitorReading | None) -> dict[str, float]:
    """Return ``textassay/METRIC``, its ``.low`` and ``.high``, and as ``.floor`` what real text scores."""
    values: dict[str, float] = {}
    keys = keys_of(reading.values)
    for name, value in reading.values.items():
        ends, score = reading.intervals[name], None if floor is None else floor.values[name]
        low, high = (None, None) if ends is None else ends
        found = {"": value, ".low": low, ".high": high, ".floor": score}
        values |= {f"{_ROOT}/{keys[name]}{end}": number for end, number in found.items() if number is not None}
    return values


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _close(run: Tracker) -> None:
    with suppress(Exception):  # its library may be gone by the end of the process
        run.close()
