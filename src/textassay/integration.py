"""A metric as a metric of other libraries: Hugging Face's `evaluate`, and `torchmetrics`, whose state is texts."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from textassay.corpus.corpus import TextOptions, Texts
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, MissingLibraryError, OptionError
from textassay.estimate import Estimate
from textassay.metric.base import Metric, MetricFunction, measure
from textassay.metric.catalog import parse_metric

_SIDES = ("generated", "real")
TEXT_OPTIONS = tuple(TextOptions.__annotations__)


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


class TorchMetric:
    """Metric of `torchmetrics`; it is also an instance of its ``Metric``.

    ``update(generated, real)`` gathers texts, ``compute()`` measures all of them and returns the value, ``reset()``
    forgets them. The whole estimate, with its interval, is in `estimate` then. The states are texts as bytes, which are
    gathered over processes, moved and saved as those of any other metric. Calling the metric itself also measures each
    batch alone: call ``update`` where batches are small.

    Parameters
    ----------
    metric
        As in `compare`, such as "dd" or "bleu(order=4)"; a metric of your own, or of `parse_metric`.
    seed
        At least 0.
    settings
        How texts are prepared (`tokenizer`, `lowercase`, `normalize`, `max_tokens`), or of ``torchmetrics.Metric``
        (`sync_on_compute`, `dist_sync_on_step`, ...).

    Raises
    ------
    OptionError
        If there is no such metric.
    MissingLibraryError
        If `torchmetrics` is not installed.
    """

    is_differentiable = False
    full_state_update = False
    estimate: Estimate | None = None  # the last one computed

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return an instance that also derives from ``torchmetrics.Metric``."""
        if find_spec("torchmetrics") is None:
            raise MissingLibraryError("a metric of torchmetrics", "torchmetrics")
        instance: Self = object.__new__(with_base(cls, import_module("torchmetrics").Metric))
        return instance

    def __init__(self, metric: str | Metric | MetricFunction, *, seed: int = 0, **settings: Any) -> None:
        text = {name: settings.pop(name) for name in TEXT_OPTIONS if name in settings}
        base: Any = super()
        base.__init__(**settings)
        self.metric = as_metric(metric)
        self.seed = seed
        self._text: Any = text
        for side in _SIDES:
            for state in (f"{side}_bytes", f"{side}_lengths"):
                self.add_state(state, default=[], dist_reduce_fx="cat")  # type: ignore[attr-defined]

    @property
    def higher_is_better(self) -> bool | None:
        """Direction of the metric; None where closer to real text is better."""
        return {"higher": True, "lower": False}.get(self.metric.better)

    def update(self, generated: Texts, real: Texts = None) -> None:
        """Add generated and real texts, any number of either; real text may come once, or not where it is not used."""
        import torch

        for side, source in zip(_SIDES, (generated, real), strict=True):
            texts = (
                []
                if source is None or source == []
                else [text.encode("utf-8", "surrogatepass") for text in as_texts(source, side).texts]
            )
            if texts:
                content = torch.from_numpy(np.frombuffer(b"".join(texts), np.uint8).copy())
                lengths = torch.tensor([len(text) for text in texts])
                getattr(self, f"{side}_bytes").append(content.to(self.device))  # type: ignore[attr-defined]
                getattr(self, f"{side}_lengths").append(lengths.to(self.device))  # type: ignore[attr-defined]

    def compute(self) -> Any:
        """Return the value for all texts as a scalar, float64 where the device has it."""
        import torch

        generated, real = (self._texts(side) for side in _SIDES)
        if not generated:
            raise InputError(f"{self.metric.name}: no generated text was added; call update(generated, real) first")
        needs_real = self.metric.declaration.looks_at_real or bool(real)
        self.estimate = measure(self.metric, generated, real if needs_real else None, seed=self.seed, **self._text)
        device = self.device  # type: ignore[attr-defined]
        kind = torch.float32 if device.type == "mps" else torch.float64
        return torch.tensor(self.estimate.value, dtype=kind, device=device)

    def _texts(self, side: str) -> list[str]:
        """Return the texts of a side in the order in which they were added, process after process."""
        content, lengths = (_joined(getattr(self, f"{side}_{part}")) for part in ("bytes", "lengths"))
        ends = np.cumsum(lengths, dtype=np.int64)
        whole = content.tobytes()
        return [
            whole[end - length : end].decode("utf-8", "surrogatepass")
            for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
        ]


def _joined(state: Any) -> Any:
    """Return the numbers of a state, which is a list of tensors, or one after it was gathered."""
    parts = state if isinstance(state, list) else [state]
    arrays = [part.cpu().numpy() for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.uint8)


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
