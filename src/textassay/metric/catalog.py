"""All metrics by name, with what each promises; from ``"bleu(order=4)"`` to the metric.

The properties declared here are checked for every metric by the tests in `tests/properties`.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from textassay.errors import OptionError, unknown_name
from textassay.metric.base import Metric
from textassay.metric.bleu import Bleu
from textassay.metric.compression import CompressionRatio
from textassay.metric.discrepancy import DistributionalDiscrepancy
from textassay.metric.diversity import DistinctN
from textassay.metric.frechet import FrechetDistance
from textassay.metric.huse import Huse
from textassay.metric.length import Length
from textassay.metric.lm_score import LmScore
from textassay.metric.mauve import Mauve
from textassay.metric.memorization import Memorization
from textassay.metric.mmd import MaximumMeanDiscrepancy
from textassay.metric.precision_recall import Coverage, Density, Precision, Recall
from textassay.metric.reverse_lm_score import ReverseLmScore
from textassay.metric.self_bleu import SelfBleu
from textassay.metric.vocabulary import UnseenVocabulary
from textassay.metric.zipf import Zipf

__all__ = [
    "CATALOG",
    "DEFAULT_METRICS",
    "Entry",
    "default_metrics",
    "limits_of",
    "parse_metric",
    "parse_metrics",
    "split_names",
]

# Settings of a whole comparison, not of one metric: not part of a metric's name.
_SHARED_SETTINGS = ("effort", "level", "train")


@dataclass(frozen=True)
class Entry:
    """What a metric promises.

    Attributes
    ----------
    make
        The metric's class; its fields are the parameters.
    summary
        One sentence for lists and reports.
    low, high
        Range of the value.
    symmetric
        Whether swapping real and generated leaves the value as it is (up to the noise of sampling folds).
    looks_at_real
        Whether the value depends on the real text at all.
    size_sensitive
        Whether the expected value changes with the number of sentences.
    exact_under_reordering
        Whether the order of sentences leaves the value exactly as it is; else only in distribution.
    needs
        What it needs beside real and generated text (an option of ``compare``), such as ``train``; it joins the default
        set where that is given.
    most
        Sentences a side up to which it belongs to the default set; any number where none.
    """

    make: type[Any]
    summary: str
    low: float
    high: float
    symmetric: bool
    looks_at_real: bool
    size_sensitive: bool
    exact_under_reordering: bool
    needs: tuple[str, ...] = ()
    most: int | None = None


CATALOG: Mapping[str, Entry] = {
    "dd": Entry(
        DistributionalDiscrepancy,
        "Distributional Discrepancy: how much better than chance a classifier tells real from generated sentences",
        low=-1,
        high=1,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=False,
    ),
    "bleu": Entry(
        Bleu,
        "mean BLEU of each generated sentence against all real sentences",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "self-bleu": Entry(
        SelfBleu,
        "mean BLEU of each generated sentence against all other generated ones: how much they repeat each other",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "distinct-n": Entry(
        DistinctN,
        "share of generated n-grams that differ from one another",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "length": Entry(
        Length,
        "Kolmogorov-Smirnov distance between the sentence lengths, in tokens",
        low=0,
        high=1,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "vocabulary": Entry(
        UnseenVocabulary,
        "share of generated tokens, or of token types, that the real text does not have",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "fed": Entry(
        FrechetDistance,
        "Fréchet distance between Gaussians fitted to the sentence vectors of both sides",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "mmd": Entry(
        MaximumMeanDiscrepancy,
        "maximum mean discrepancy between the sentence vectors: a kernel two-sample test with its p-value",
        low=-1,
        high=2,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=False,
        exact_under_reordering=False,  # to 1e-7: distances in single precision
        most=30_000,
    ),
    "mauve": Entry(
        Mauve,
        "MAUVE: area under the frontier of divergences between the shares of sentences in clusters of an embedding",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=30_000,
    ),
    "precision": Entry(
        Precision,
        "share of generated sentences that lie among real ones, within reach of their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=40_000,
    ),
    "recall": Entry(
        Recall,
        "share of real sentences that lie among generated ones, within reach of their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=40_000,
    ),
    "density": Entry(
        Density,
        "how densely real sentences lie around generated ones, where 1 is usual",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=40_000,
    ),
    "coverage": Entry(
        Coverage,
        "share of real sentences that have a generated one among their nearest neighbours",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
        most=40_000,
    ),
    "lm-score": Entry(
        LmScore,
        "mean cost (nats) of a generated token under a language model of the real text",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "reverse-lm-score": Entry(
        ReverseLmScore,
        "mean cost (nats) of a real token under a language model of the generated text",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=True,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "compression-ratio": Entry(
        CompressionRatio,
        "how many times smaller gzip makes the generated text: how much it repeats itself",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "zipf": Entry(
        Zipf,
        "exponent of the rank-frequency curve of generated words; higher where frequencies fall faster",
        low=0,
        high=math.inf,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=True,
        exact_under_reordering=True,
    ),
    "memorization": Entry(
        Memorization,
        "share of generated sentences that stand in the training text",
        low=0,
        high=1,
        symmetric=False,
        looks_at_real=False,
        size_sensitive=False,
        exact_under_reordering=True,
        needs=("train",),
    ),
    "huse": Entry(
        Huse,
        "HUSE: twice the error of telling real from generated by people's ratings and log-probabilities",
        low=0,
        high=2,
        symmetric=True,
        looks_at_real=True,
        size_sensitive=False,
        exact_under_reordering=True,
        needs=("log-probs", "ratings"),
    ),
}

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


def default_metrics(given: Iterable[str] = ()) -> list[str]:
    """Return `DEFAULT_METRICS` and the metrics that need nothing but what is `given`, such as ``train``."""
    given = set(given)
    return [*DEFAULT_METRICS, *(name for name, entry in CATALOG.items() if entry.needs and given >= set(entry.needs))]


def limits_of(metrics: Iterable[Metric]) -> dict[str, int]:
    """Return, for the metrics that have one, the number of sentences a side up to which they are computed unasked."""
    limits = {metric.name: CATALOG[metric.name.split("(")[0]].most for metric in metrics}
    return {name: limit for name, limit in limits.items() if limit is not None}


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
