"""From ``"bleu(order=4)"`` to the metric, and which metrics are computed unasked.

The catalogue is read from the declarations; a metric's module is imported when it is first asked for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from runpy import run_path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from textassay.corpus.structure import TextUnit
from textassay.errors import OptionError, unknown_name
from textassay.metric.base import DECLARED, DRAWN, Declaration, Metric, MetricFunction, words_of

_FUNCTIONS = {
    "dd": "discrepancy:dd",
    "conditional-dd": "conditional_discrepancy:conditional_dd",
    "bleu": "bleu:bleu",
    "self-bleu": "bleu:self_bleu",
    "distinct-n": "diversity:distinct_n",
    "length": "length:length",
    "vocabulary": "vocabulary:vocabulary",
    "fed": "frechet:fed",
    "mmd": "mmd:mmd",
    "mauve": "mauve:mauve",
    "precision": "precision_recall:precision",
    "recall": "precision_recall:recall",
    "density": "precision_recall:density",
    "coverage": "precision_recall:coverage",
    "lm-score": "lm_score:lm_score",
    "reverse-lm-score": "lm_score:reverse_lm_score",
    "compression-ratio": "compression:compression_ratio",
    "zipf": "zipf:zipf",
    "text-entropy": "text_entropy:text_entropy",
    "memorization": "memorization:memorization",
    "huse": "huse:huse",
    "bleu-nearest": "bleu_nearest:bleu_nearest",
    "rouge": "rouge:rouge",
    "meteor": "meteor:meteor",
    "cider": "cider:cider",
    "cider-d": "cider:cider_d",
    "bleu-train": "bleu_nearest:bleu_train",
    "fast-detectgpt": "detectors:fast_detectgpt",
    "binoculars": "detectors:binoculars",
    "lrr": "detectors:lrr",
    "log-rank": "detectors:log_rank",
    "log-likelihood": "detectors:log_likelihood",
    "entropy": "detectors:entropy",
}
# Names that stand for several metrics in lists.
GROUPS = {
    "detectors": tuple(name for name, place in _FUNCTIONS.items() if place.startswith("detectors:")),
    # What papers on diffusion language models report, which senseless text can win, beside what it cannot win.
    "diffusion": ("dd", "lm-score", "text-entropy"),
}


class _Catalog(Mapping[str, Declaration]):
    """All metrics of textassay by name; those that users declared are known by name, too, but not listed."""

    def __getitem__(self, name: str) -> Declaration:
        if name in _FUNCTIONS:
            return function_of(name).declaration
        return DECLARED[name].declaration

    def __iter__(self) -> Iterator[str]:
        return iter(_FUNCTIONS)

    def __len__(self) -> int:
        return len(_FUNCTIONS)


def function_of(name: str) -> MetricFunction:
    """Return the metric of textassay called `name`; raise KeyError for another."""
    function: MetricFunction = resolve_name(f"textassay.metric.{_FUNCTIONS[name]}")
    return function


MetricLike = str | Metric | MetricFunction  # whatever names a metric

CATALOG: Mapping[str, Declaration] = _Catalog()
_FILES: dict[str, dict[str, Any]] = {}  # what files of users define, by path

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
_WITH_PROMPTS = "conditional-dd"
# Metrics of matched n-grams, which are made for sentences; of documents, those of the default set are computed if named
OF_SENTENCES = ("bleu", "self-bleu", "bleu-nearest", "bleu-train", "rouge", "meteor", "cider", "cider-d")
LEFT_OUT_OF_DOCUMENTS = ("bleu", "self-bleu")
_WITH_MORE = ("memorization", "huse")  # default metrics where what they need is there

_PATTERN = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_IN_FILE = re.compile(r"\s*([^()]+\.py):(\w+)\s*(\(.*\))?\s*", re.DOTALL)


def default_metrics(available: Iterable[str] = (), *, unit: TextUnit = "sentence") -> list[str]:
    """Return `DEFAULT_METRICS` and the metrics that need nothing but what is `available`, such as ``train``.

    With prompts, the metric that looks at them comes first. Of documents, without `LEFT_OUT_OF_DOCUMENTS`.
    """
    there = set(available)
    first = [_WITH_PROMPTS] if there >= set(CATALOG[_WITH_PROMPTS].needs) else []
    left_out = LEFT_OUT_OF_DOCUMENTS if unit == "document" else ()
    usual = [name for name in DEFAULT_METRICS if name.partition("(")[0] not in left_out]
    return [*first, *usual, *(name for name in _WITH_MORE if there and there >= set(CATALOG[name].needs))]


def drawn_where_large(metrics: Iterable[Metric], n: int) -> list[Metric]:
    """Return the metrics, those that would take too long for `n` texts a side with the setting ``texts``."""
    return [
        metric
        if metric.declaration.most is None or n <= metric.declaration.most or metric.settings[DRAWN] is not None
        else replace(metric, settings=MappingProxyType({**metric.settings, DRAWN: metric.declaration.most}))
        for metric in metrics
    ]


def size_sensitive_of(metrics: Iterable[Metric]) -> list[str]:
    """Return the names of the metrics whose expected value changes with the number of sentences."""
    return [metric.name for metric in metrics if metric.declaration.size_sensitive]


def split_names(text: str) -> list[str]:
    """Return the metric names in a comma-separated list; commas inside parentheses do not separate."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def parse_metric(text: str, **settings: Any) -> Metric:
    """Return the metric that `text` names, such as ``dd`` or ``bleu(order=4)``.

    Parameters
    ----------
    text
        Name, and parameters in parentheses; or ``FILE.py:FUNCTION`` for a metric of your own in a file of Python.
    settings
        Defaults for parameters of whichever metric has them, such as ``level`` and ``folds``.

    Raises
    ------
    OptionError
        If the metric or a parameter is unknown, or a value is out of range; the valid ones are listed.
    """
    in_file = _IN_FILE.fullmatch(text)
    if in_file is not None:
        return parse_metric(_declared_in(*in_file.group(1, 2)) + (in_file.group(3) or ""), **settings)
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise OptionError(f"cannot read the metric '{text}': write a name, or name(parameter=value)")
    name, arguments = match.groups()
    if name in GROUPS:
        raise OptionError(
            f"'{name}' stands for {len(GROUPS[name])} metrics: name one of them, {', '.join(GROUPS[name])}"
        )
    if name not in CATALOG:
        raise unknown_name("metric", name, [*CATALOG, *GROUPS])
    declaration = CATALOG[name]
    types = declaration.types
    values = {key: value for key, value in settings.items() if key in types}
    for argument in split_names(arguments or ""):
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not equals:
            raise OptionError(f"cannot read '{argument}' in '{text}': write parameter=value")
        if key not in declaration.own_settings:
            raise unknown_name(f"parameter of {name}", key, declaration.own_settings)
        values[key] = _convert(value, types[key], f"{name}({key})")
    return declaration.with_settings(**values)


def parse_metrics(metrics: Iterable[MetricLike] | None, **settings: Any) -> list[Metric]:
    """Return the metrics, each once, in that order, all of a group by its name; those of `DEFAULT_METRICS` for none."""
    names: list[MetricLike] = []
    for metric in DEFAULT_METRICS if metrics is None else metrics:
        names += GROUPS.get(metric, (metric,)) if isinstance(metric, str) else (metric,)
    parsed = [as_metric(metric, settings) for metric in names]
    if not parsed:
        raise OptionError(f"no metric is named; valid: {', '.join(sorted(CATALOG))}")
    return list({metric.name: metric for metric in parsed}.values())


def as_metric(metric: MetricLike, settings: Mapping[str, Any]) -> Metric:
    """Return one metric from whatever names it."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return parse_metric(metric, **settings)
    declaration = getattr(metric, "declaration", None)
    if declaration is None:
        raise OptionError(f"a metric is a name or a function under declare_metric, got {metric!r}")
    types = declaration.types
    chosen: Metric = declaration.with_settings(**{key: value for key, value in settings.items() if key in types})
    return chosen


def _declared_in(path: str, function: str) -> str:
    """Return the name of the metric that a function of a file of Python declares."""
    if path not in _FILES:
        if not Path(path).is_file():
            raise OptionError(f"cannot read the metric '{path}:{function}': there is no file {path}")
        try:
            _FILES[path] = run_path(path)
        except Exception as error:
            raise OptionError(f"cannot read the metric '{path}:{function}': {type(error).__name__}: {error}") from error
    declaration = getattr(_FILES[path].get(function), "declaration", None)
    if declaration is None:
        metrics = [name for name, value in _FILES[path].items() if hasattr(value, "declaration")]
        raise unknown_name(f"metric of {path}", function, metrics)
    return str(declaration.name)


def _convert(text: str, kind: Any, where: str) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise unknown_name(f"value of {where}", text, get_args(kind))
        return text
    if text in words_of(kind):
        return text
    kind = next((each for each in (str, int) if each in get_args(kind)), kind)  # a name here, an object from Python
    try:
        return {int: int, float: float, str: str}[kind](text)
    except (KeyError, ValueError):
        raise OptionError(f"{where} must be of type {getattr(kind, '__name__', kind)}, got '{text}'") from None
