"""A monitor's reading at one training step, and the file that holds all readings of a run.

The file has one JSON document a line: first the settings, then the readings. A line is written by one call, so a killed
run loses at most the line it was writing; an incomplete line is dropped when the file is read.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from textassay.corpus.documents import parse_json
from textassay.errors import InputError, OutputError

_FORMAT = "textassay monitor 1"


@dataclass(frozen=True)
class MonitorReading:
    """All metrics at one step.

    Attributes
    ----------
    step
        Training step, at least 0.
    values
        Metric to value; None if undefined.
    intervals
        Metric to low and high; None without an interval.
    seconds
        Wall time of the parts: ``draw``, and each family of metrics.
    notes
        ``draw`` or metric to a note: why there is no value, or its warnings.
    """

    step: int
    values: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float] | None]
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    notes: Mapping[str, str] = field(default_factory=dict)

    def logged(self, prefix: str = "textassay/") -> dict[str, float]:
        """Return all defined values under names for a trainer's log, such as ``textassay/dd``."""
        return {f"{prefix}{name}": value for name, value in self.values.items() if value is not None}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the reading that ``dataclasses.asdict`` gave, after a round trip through JSON."""
        intervals = {name: None if ends is None else tuple(ends) for name, ends in document["intervals"].items()}
        return cls(**{**document, "intervals": intervals})


class ReadingFile:
    """Readings on disk, in the order they were taken."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._settings = {"format": _FORMAT, **settings}
        self._header = _line(self._settings)
        self._size: int | None = None  # of what is whole; None where there is nothing yet
        self.readings: list[MonitorReading] = []
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            whole, newline, cut_off = self._path.read_bytes().rpartition(b"\n")
            if not whole and self._header.startswith(cut_off):
                return
            header, *documents = [parse_json(line) for line in whole.split(b"\n")]
            self.readings = [MonitorReading.from_dict(document) for document in documents]
            of_monitor = header["format"] == _FORMAT
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            of_monitor = False
        if not of_monitor:
            raise InputError(f"{self._path} is not a file of monitor readings: move it, or use another folder")
        changed = [name for name, value in self._settings.items() if header.get(name) != value]
        if changed:
            raise InputError(
                f"the readings in {self._path} were taken with different settings ({', '.join(changed)}): "
                "delete the file, or use another folder"
            )
        self._size = len(whole + newline)

    def append(self, reading: MonitorReading) -> None:
        """Append one reading."""
        lines = (self._header if self._size is None else b"") + _line(asdict(reading))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab", buffering=0) as file:
                file.truncate(self._size or 0)  # what a killed run left half-written
                file.write(lines)
        except OSError as error:
            raise OutputError(f"cannot write the readings to {self._path}: {error.strerror or error}") from error
        self._size = (self._size or 0) + len(lines)
        self.readings.append(reading)


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode("ascii") + b"\n"
