"""What ``textassay train --monitor`` adds: metrics of what the model draws while it trains, beside real text."""

from collections.abc import Sequence
from pathlib import Path

from textassay.cli.messages import print_line
from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.monitoring.monitor import TextMonitor, monitored_metrics
from textassay.report.monitor_figure import draw_monitor
from textassay.report.training import Monitored
from textassay.training.history import Reading

__all__ = ["MONITOR", "check_monitor", "monitor_figures", "monitored", "new_monitor"]

MONITOR = "monitor.jsonl"


def check_monitor(model: str, metrics: str | None, *, steps: int | None, trains_in_steps: bool) -> None:
    """Raise for whatever can be seen to be wrong with the options before the text is read.

    Raises
    ------
    OptionError
        If a metric is unknown, needs more than two texts, or nothing can be monitored.
    """
    if metrics is None:
        if steps is not None:
            raise OptionError("--monitor-steps says when to read --monitor LIST: add it, or leave both out")
        return
    monitored_metrics(metrics)
    if not trains_in_steps:
        raise OptionError(f"{model} is counted in one go: there is nothing to monitor")


def new_monitor(real: Corpus, metrics: str, *, n: int, seed: int, folder: Path, quiet: bool) -> TextMonitor:
    """Return the monitor, whose readings are kept in `folder`; say so where there is less real text than it wants."""
    monitor = TextMonitor(real, metrics=metrics, n=n, seed=seed, keep=folder / MONITOR)
    if monitor.floor is None and not quiet:
        measured = "" if monitor.n_real == n else f"{n} sentences are drawn and measured against {monitor.n_real}; "
        print_line(
            f"--monitor: {measured}what real text scores is not told, "
            f"which takes {2 * n} validation sentences, there are {len(real)}"
        )
    return monitor


def monitored(monitor: TextMonitor) -> Monitored:
    """Return sizes and floor as `Training` holds them, under the names that its readings have."""
    floor = {} if monitor.floor is None else monitor.floor.values
    return Monitored(monitor.n, monitor.n_real, {f"textassay/{name}": value for name, value in floor.items()})


def monitor_figures(monitor: TextMonitor, readings: Sequence[Reading]) -> dict[str, str]:
    """Return file name to figure for each metric, of the steps of this training alone."""
    frame = monitor.to_frame()
    ours = frame[frame["step"].isin([reading.step for reading in readings])]
    return {drawing.file_name: drawing.svg for drawing in draw_monitor(ours)}
