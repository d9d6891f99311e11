"""A monitor in the package's own training loop."""

from collections.abc import Callable, Mapping

from textassay_lab.monitoring.monitor import Sampler, TextMonitor


def loop_monitors(monitor: TextMonitor, sample: Sampler) -> dict[str, Callable[[int], float | None]]:
    """Return the `monitors` of `textassay_lab.training.loop.train`: one a metric, with names such as ``textassay/dd``.

    All metrics of a step come from one reading.

    Parameters
    ----------
    monitor
        What to measure.
    sample
        Draws from the current weights; see `TextMonitor.measure`.
    """

    def value_of(name: str) -> Callable[[int], float | None]:
        def value(step: int) -> float | None:
            if step not in readings:
                readings.clear()
                readings[step] = monitor.measure(sample, step).values
            return readings[step][name]

        return value

    readings: dict[int, Mapping[str, float | None]] = {}
    return {f"textassay/{name}": value_of(name) for name in monitor.names}
