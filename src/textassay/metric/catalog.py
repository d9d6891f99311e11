"""From ``"bleu(order=4)"`` to the metric, and which metrics are computed unasked."""

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from textassay.errors import OptionError, unknown_name
from textassay.metric.base import Metric
from textassay.metric.entries import CATALOG

# Settings of a whole comparison, not of one metric: not part of a metric's name.
_SHARED_SETTINGS = ("background", "effort", "level", "train")


DEFAULT_METRICS = (
    "dd",
    *(f"bleu(order={order})" for order in (2, 3, 4, 5)),
    *(f"self-bleu(order={order})" for order in (2, 3, 4, 5)),
    *(f"distinct-n(order={order})" for order in (1, 2, 3)),
    "length",
    "vocabulary(of=tokens)",
    "vocabulary(of=types)",
    "fed",
    "mmd",
    "mauve",
    "precision",
    "recall",
    "density",
    "coverage",
    "lm-score",
    "reverse-lm-score",
    "compression-ratio",
    "zipf",
)

_PATTERN = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def default_metrics(available: Iterable[str] = ()) -> list[str]:
    """Return `DEFAULT_METRICS` and the metrics that need nothing but what is `given`, such as ``train``."""
    available = set(available)
    joining = {name for name, entry in CATALOG.items() if entry.needs and not entry.only_named}
    return [*DEFAULT_METRICS, *(name for name in CATALOG if name in joining and available >= set(CATALOG[name].needs))]


def limits_of(metrics: Iterable[Metric]) -> dict[str, int]:
    """Return, for the metrics that have one, the number of sentences a side up to which they are computed unasked."""
    limits = {metric.name: CATALOG[metric.name.split("(")[0]].most for metric in metrics}
    return {name: limit for name, limit in limits.items() if limit is not None}


def size_sensitive_of(metrics: Iterable[Metric]) -> list[str]:
    """Return the names of the metrics whose expected value changes with the number of sentences."""
    return [metric.name for metric in metrics if CATALOG[metric.name.split("(")[0]].size_sensitive]


def split_names(text: str) -> list[str]:
    """Return the metric names in a comma-separated list; commas inside parentheses do not separate."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def parse_metric(text: str, **settings: Any) -> Metric:
    """Return the metric that `text` names, such as ``dd`` or ``bleu(order=4)``.

    Parameters
    ----------
    text
        Name, and parameters in parentheses.
    settings
        Defaults for parameters of whichever metric has them, such as ``level`` and ``folds``.

    Raises
    ------
    OptionError
        If the metric or a parameter is unknown, or a value is out of range; the valid ones are listed.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise OptionError(f"cannot read the metric '{text}': write a name, or name(parameter=value)")
    name, arguments = match.groups()
    if name not in CATALOG:
        raise unknown_name("metric", name, CATALOG)
    make = CATALOG[name].make
    types = {field.name: get_type_hints(make)[field.name] for field in fields(make)}
    values = {key: value for key, value in settings.items() if key in types}
    for argument in split_names(arguments or ""):
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not equals:
            raise OptionError(f"cannot read '{argument}' in '{text}': write parameter=value")
        if key not in types or key in _SHARED_SETTINGS:
            raise unknown_name(f"parameter of {name}", key, set(types) - set(_SHARED_SETTINGS))
        values[key] = _convert(value, types[key], f"{name}({key})")
    metric: Metric = make(**values)
    return metric


def parse_metrics(names: Iterable[str] | None, **settings: Any) -> list[Metric]:
    """Return the metrics of `names`, each once, in that order; those of `DEFAULT_METRICS` for none."""
    metrics = [parse_metric(name, **settings) for name in (DEFAULT_METRICS if names is None else names)]
    if not metrics:
        raise OptionError(f"no metric is named; valid: {', '.join(sorted(CATALOG))}")
    return list({metric.name: metric for metric in metrics}.values())


def _convert(text: str, kind: Any, where: str) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise unknown_name(f"value of {where}", text, get_args(kind))
        return text
    if str in get_args(kind):  # a name here, an object from Python
        kind = str
    try:
        return {int: int, float: float, str: str}[kind](text)
    except ValueError:
        raise OptionError(f"{where} must be of type {kind.__name__}, got '{text}'") from None
