"""A metric as a metric of `torchmetrics`, whose state is gathered texts."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from textassay.corpus.corpus import Texts
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, MissingLibraryError
from textassay.estimate import Estimate
from textassay.integration.library_metric import TEXT_OPTIONS, as_metric, with_base
from textassay.metric.base import Metric, MetricFunction, measure

_SIDES = ("generated", "real")


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
