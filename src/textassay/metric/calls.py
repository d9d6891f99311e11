"""All metrics as functions, by name; their types stand in `calls.pyi`, since one decorator makes them all."""

from textassay.metric.base import MetricFunction
from textassay.metric.catalog import function_of


def __getattr__(name: str) -> MetricFunction:
    try:
        return function_of(name.replace("_", "-"))
    except KeyError:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'") from None
