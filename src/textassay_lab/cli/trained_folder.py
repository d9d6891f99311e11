"""The folder that ``textassay train --out`` names: what is in it, whether what was begun there is done, monitors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from textassay.corpus.documents import parse_json, read_document
from textassay.errors import InputError, TextassayError
from textassay.report.document import Figure
from textassay.storage import write_files
from textassay_lab.generator.document import Monitored
from textassay_lab.generator.saved import check_saved, holds_model
from textassay_lab.monitoring.document import draw_monitor
from textassay_lab.monitoring.monitor import TextMonitor
from textassay_lab.training.history import Reading

SETTINGS = "training.json"  # what the folder was begun with
HISTORY = "history.json"
CHECKPOINT = "checkpoint.safetensors"  # there until training is done
ROUNDS_CHECKPOINT = "rounds.safetensors"  # the same, of rounds against a discriminator
CONFIG = "config.json"
MONITOR = "monitor.jsonl"


def finished(
    out: Path,
    settings: Mapping[str, Any],
    read: Callable[[str], Any],
    *,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return what was trained in `out` before, as `read` reads its history; None where that is still to do.

    `options` are the names of options by that of their settings.
    """
    try:
        before = parse_json(read_document(out / SETTINGS))
    except FileNotFoundError:
        if holds_model(out):
            raise InputError(f"{out} contains a model that was not trained there: choose another --out") from None
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{out / SETTINGS} cannot be read ({error}): choose another --out") from None
    if not isinstance(before, dict):
        raise InputError(f"{out / SETTINGS} was not written by 'train': choose another --out")
    changed = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
    if changed and _can_resume(out):
        changes = ", ".join(
            _change(*each)
            for name in changed
            for each in _changes((name,), before.get(name), settings.get(name), options)
        )
        raise InputError(f"{out} was started with other settings ({changes}): choose another --out")
    if not holds_model(out):
        return None
    try:
        check_saved(out)
    except InputError as error:
        raise InputError(f"{error}; delete {out} to train again, or choose another --out") from None
    for name in (CHECKPOINT, ROUNDS_CHECKPOINT):  # of a run that was killed right before it took them away
        if (out / name).exists():
            (out / name).unlink()
    try:
        return read((out / HISTORY).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{out / HISTORY} cannot be read ({error.strerror}): choose another --out") from None


@contextmanager
def begun(out: Path, files: Mapping[str, str]) -> Iterator[None]:
    """Write `files`, what a training begins with, into `out`; train inside the ``with`` block.

    If the training is refused, before or after its first steps, and has left nothing to go on from, the folder is as it
    was before. Where it is interrupted or killed, the files stay.
    """
    missing = [place for place in (out, *out.parents) if not place.exists()]  # the innermost first
    paths = [out / name for name in (*files, MONITOR)]
    before = {path.name: path.read_bytes() for path in paths if path.exists()}
    write_files(out, files)
    try:
        yield
    except TextassayError:
        if not _can_resume(out):
            write_files(out, before)
            for path in paths:
                if path.name not in before:
                    path.unlink(missing_ok=True)
            for place in missing:
                with suppress(OSError):  # something else is in it by now
                    place.rmdir()
        raise


def _can_resume(out: Path) -> bool:
    """Return whether there is anything to go on from, or a model."""
    return holds_model(out) or any((out / name).exists() for name in (CHECKPOINT, ROUNDS_CHECKPOINT))


def monitored(monitor: TextMonitor) -> Monitored:
    """Return sizes and floor as `Training` holds them, under the names that its readings have."""
    floor = {} if monitor.floor is None else monitor.floor.values
    return Monitored(monitor.n, monitor.n_real, {f"textassay/{name}": value for name, value in floor.items()})


def monitor_figures(monitor: TextMonitor, readings: Sequence[Reading]) -> list[Figure]:
    """Return a figure for each metric, of the steps of this training alone."""
    steps = {reading.step for reading in readings}
    return draw_monitor(row for row in monitor.rows() if row["step"] in steps)


def _changes(path: tuple[str, ...], before: Any, now: Any, options: Mapping[str, str]) -> list[tuple[str, Any, Any]]:
    """Return names of what changed, and what they were and are; of settings within settings, those that did."""
    name = path[-1].replace("-", "_")
    if isinstance(before, dict) and isinstance(now, dict) and (name not in options or len(path) == 1):
        changed = [inner for inner in {**before, **now} if before.get(inner) != now.get(inner)]
        return [
            each for inner in changed for each in _changes((*path, inner), before.get(inner), now.get(inner), options)
        ]
    return [(options.get(name, name.replace("_", "-")), _shown(before), _shown(now))]


def _shown(value: Any) -> Any:
    """Return a value as the command line spells it."""
    return ",".join(f"{key}:{each}" for key, each in value.items()) if isinstance(value, dict) else value


def _change(name: str, before: Any, now: Any) -> str:
    """Return what changed; hashes say nothing to a person."""
    if name in ("source", "real", "valid-source", "valid", "vocabulary"):
        return f"another {name}{' text' if name != 'vocabulary' else ''}"
    if name in ("contexts", "valid-contexts"):
        return f"other {name.replace('-', ' ')}"
    values = ["the default" if value is None else value for value in (before, now)]
    return f"{name} {values[0]}, now {values[1]}"
