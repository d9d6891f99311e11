"""textassay: how far generated text is from real text, which generator is closer, and how sure you can be."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textassay.comparison.comparison import Comparison
    from textassay.comparison.run import compare
    from textassay.corpus.corpus import Corpus, corpora_from_texts
    from textassay.corpus.limits import input_limits
    from textassay.corpus.reader import read_texts
    from textassay.errors import TextassayError
    from textassay.estimate import Estimate, Interval
    from textassay.inspection.inspection import inspect
    from textassay.metric.base import measure
    from textassay.metric.catalog import parse_metric
    from textassay.monitoring.monitor import TextMonitor
    from textassay.report.document import write_report

__all__ = [
    "Comparison",
    "Corpus",
    "Estimate",
    "Interval",
    "TextMonitor",
    "TextassayError",
    "compare",
    "corpora_from_texts",
    "input_limits",
    "inspect",
    "measure",
    "parse_metric",
    "read_texts",
    "write_report",
]

_HOMES = {
    "Comparison": "textassay.comparison.comparison",
    "Corpus": "textassay.corpus.corpus",
    "Estimate": "textassay.estimate",
    "Interval": "textassay.estimate",
    "TextMonitor": "textassay.monitoring.monitor",
    "TextassayError": "textassay.errors",
    "compare": "textassay.comparison.run",
    "corpora_from_texts": "textassay.corpus.corpus",
    "input_limits": "textassay.corpus.limits",
    "inspect": "textassay.inspection.inspection",
    "measure": "textassay.metric.base",
    "parse_metric": "textassay.metric.catalog",
    "read_texts": "textassay.corpus.reader",
    "write_report": "textassay.report.document",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that importing the package stays fast."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'textassay' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
