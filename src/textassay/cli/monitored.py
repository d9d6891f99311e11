"""What ``textassay train --monitor`` adds: metrics of what the model draws while it trains, beside real text."""

from collections.abc import Sequence
from pathlib import Path

from textassay.cli.messages import print_line
from textassay.corpus import Corpus
from textassay.monitoring import TextMonitor
from textassay.report import Monitored, draw_monitor
from textassay.training import Reading

MONITOR = "monitor.jsonl"


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
