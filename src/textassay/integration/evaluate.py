"""A metric as a metric of Hugging Face's `evaluate`: predictions are generated text, references real text."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

from textassay.errors import MissingLibraryError, OptionError
from textassay.estimate import Estimate
from textassay.integration.library_metric import TEXT_OPTIONS, as_metric, with_base
from textassay.metric.base import Metric, MetricFunction, measure


class EvaluateMetric:
    """Metric of Hugging Face's `evaluate`; it is also an instance of its ``Metric``.

    ``compute(predictions=, references=)`` returns the value under the metric's name, and ``low``, ``high``,
    ``n_generated``, ``n_real`` and ``signature`` under the name with ``_low`` and so on. As many references as
    predictions are wanted by ``add_batch`` only: ``compute`` takes any number of either.

    Parameters
    ----------
    metric
        As in `compare`, such as "dd" or "bleu(order=4)"; a metric of your own, or of `parse_metric`.
    seed
        At least 0.
    settings
        How texts are prepared (`tokenizer`, `lowercase`, `normalize`, `max_tokens`), or of `evaluate`'s ``Metric``
        (`experiment_id`, `num_process`, ...).

    Raises
    ------
    OptionError
        If there is no such metric.
    MissingLibraryError
        If `evaluate` is not installed.

    Examples
    --------
    >>> from textassay import EvaluateMetric  # doctest: +SKIP
    >>> EvaluateMetric("dd").compute(predictions=generated, references=real)  # doctest: +SKIP
    """

    estimate: Estimate | None = None  # the last one computed

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return an instance that also derives from `evaluate`'s ``Metric``."""
        if find_spec("evaluate") is None:
            raise MissingLibraryError("a metric of evaluate", "evaluate")
        instance: Self = object.__new__(with_base(cls, import_module("evaluate").Metric))
        return instance

    def __init__(self, metric: str | Metric | MetricFunction, *, seed: int = 0, **settings: Any) -> None:
        self._metric = as_metric(metric)
        self._seed = seed
        self._text = {name: settings.pop(name) for name in TEXT_OPTIONS if name in settings}
        base: Any = super()
        base.__init__(**settings)

    def _info(self) -> Any:
        evaluate, datasets = import_module("evaluate"), import_module("datasets")
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=f"{self._metric.declaration.summary}.",
            citation="",
            inputs_description="predictions: generated texts; references: real texts, in any order",
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **settings: Any) -> Any:
        """Return the numbers for these texts, or for all that were added."""
        if settings:
            raise OptionError(f"compute takes predictions and references, got {', '.join(settings)} too")
        of_library: Any = self
        if predictions is not None and of_library.writer is None and of_library.num_process == 1:
            return self._compute(predictions, references)
        given = {"predictions": predictions, "references": references}
        base: Any = super()
        return base.compute(**{name: texts for name, texts in given.items() if texts is not None})

    def _compute(self, predictions: Any, references: Any) -> dict[str, Any]:
        estimate = measure(self._metric, predictions, references, seed=self._seed, **self._text)
        self.estimate = estimate
        bounds = {} if estimate.interval is None else {"low": estimate.interval.low, "high": estimate.interval.high}
        sizes = {name: estimate.sizes[name] for name in ("n_generated", "n_real") if name in estimate.sizes}
        more = {**bounds, **sizes, "signature": str(estimate.signature)}
        name = self._metric.name
        return {name: estimate.value, **{f"{name}_{key}": value for key, value in more.items()}}
