"""What the metrics of other libraries share: how they are made of a metric of ours."""

from textassay.corpus.corpus import TextOptions
from textassay.metric.base import Metric, MetricFunction
from textassay.metric.catalog import parse_metric

TEXT_OPTIONS = tuple(TextOptions.__annotations__)


def as_metric(metric: str | Metric | MetricFunction) -> Metric:
    """Return a metric by its name, as it is, or of a metric function with its usual settings."""
    if isinstance(metric, str):
        return parse_metric(metric)
    return metric if isinstance(metric, Metric) else metric.declaration.with_settings()


def with_base(adapter: type, base: type) -> type:
    """Return `adapter`, also derived from `base`, a class of another package that is loaded only when needed."""
    if issubclass(adapter, base):
        return adapter
    return type(adapter.__name__, (adapter, base), {"__module__": adapter.__module__, "__doc__": adapter.__doc__})
