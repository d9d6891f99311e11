"""A metric in torchmetrics, whatever the batches: the numbers are those of `measure`."""

from importlib import import_module
from typing import Any

import pytest

import textassay as ta
from made_up import sentences
from textassay.errors import EmptyCorpusError, InputError, MissingLibraryError, OptionError

REAL = [*sentences(59, 1), "naïve 漢字 🙂 ."]
GENERATED = sentences(60, 2, shift=0.3)


@pytest.mark.parametrize("name", ["length", "bleu(order=2)", "self-bleu(order=2)"])
def test_batches_add_up_to_the_value_of_all_texts(name: str) -> None:
    metric: Any = ta.TorchMetric(name, seed=3, lowercase=True)
    assert isinstance(metric, import_module("torchmetrics").Metric)
    for begin in range(0, 60, 25):
        metric.update(GENERATED[begin : begin + 25], REAL[begin : begin + 25])
    expected = ta.measure(ta.parse_metric(name), GENERATED, REAL, seed=3, lowercase=True)
    assert metric.compute().item() == expected.value
    assert metric.estimate == expected
    assert metric.higher_is_better == {"lower": False, "higher": True}.get(expected.better)


def test_sides_may_come_apart_and_are_forgotten() -> None:
    metric: Any = ta.TorchMetric("length")
    metric.update([], REAL)
    metric.update(GENERATED[:10])
    assert metric.compute().item() == ta.length(GENERATED[:10], REAL).value
    metric.reset()
    metric.update([], REAL)
    with pytest.raises(InputError, match=r"no generated text was added; call update\(generated, real\) first"):
        metric.compute()
    metric.reset()
    metric.update(GENERATED)
    with pytest.raises(EmptyCorpusError, match="real"):
        metric.compute()
    alone: Any = ta.TorchMetric("self-bleu(order=2)")
    alone.update(GENERATED)
    assert alone.compute().item() == ta.self_bleu(GENERATED, order=2).value


def test_calling_it_measures_the_batch_and_in_the_end_everything() -> None:
    metrics = import_module("torchmetrics").MetricCollection({"length": ta.TorchMetric("length")})
    first = metrics(GENERATED[:20], REAL[:20])["length"]
    assert first.item() == ta.length(GENERATED[:20], REAL[:20]).value
    metrics(GENERATED[20:], REAL[20:])
    assert metrics.compute()["length"].item() == ta.length(GENERATED, REAL).value


def test_processes_gather_their_texts() -> None:
    """As torchmetrics does after a step: the states of all processes, joined in their order."""
    halves: list[Any] = []
    for part in (slice(0, 30), slice(30, 60)):
        half: Any = ta.TorchMetric("bleu(order=2)")
        half.update(GENERATED[part], REAL[part])
        halves.append(half)

    def gather(tensor: Any, group: Any) -> list[Any]:
        (name,) = (name for name in states if torch.equal(tensor, states[name][0]))
        return states[name]

    torch = import_module("torch")
    states = {name: [getattr(half, name)[0] for half in halves] for name in halves[0]._defaults}
    both: Any = ta.TorchMetric("bleu(order=2)")
    both.update(GENERATED[:30], REAL[:30])
    both.sync(dist_sync_fn=gather, distributed_available=lambda: True)
    assert set(states) == {"generated_bytes", "generated_lengths", "real_bytes", "real_lengths"}
    assert both._texts("generated") == GENERATED
    assert both._texts("real") == REAL
    both.unsync()
    assert both._texts("real") == REAL[:30]


def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="unknown metric"):
        ta.TorchMetric("bleus")
    with pytest.raises(InputError, match="expected many texts, got one str"):
        ta.TorchMetric("length").update("one text", REAL)
    monkeypatch.setattr("textassay.integration.find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match="pip install torchmetrics"):
        ta.TorchMetric("dd")
