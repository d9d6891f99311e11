"""A metric in Hugging Face's evaluate: the numbers are those of `measure`."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import textassay as ta
from made_up import sentences
from textassay.errors import MissingLibraryError, OptionError

REAL = sentences(70, 1)
GENERATED = sentences(60, 2, shift=0.3)


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        if "transformers" not in sys.modules:  # of which only its pipelines make use; they take four seconds to load
            patch.setitem(sys.modules, "transformers", None)
        library = import_module("evaluate")
    monkeypatch.setattr(library.config, "HF_METRICS_CACHE", str(tmp_path))
    return library


def test_compute_takes_any_number_of_texts_and_gives_value_interval_and_signature(evaluate: Any) -> None:
    metric: Any = ta.EvaluateMetric("bleu(order=2)", seed=3, lowercase=True)
    assert isinstance(metric, evaluate.Metric)
    found = metric.compute(predictions=GENERATED, references=REAL)
    expected = ta.measure(ta.parse_metric("bleu(order=2)"), GENERATED, REAL, seed=3, lowercase=True)
    assert expected.interval is not None
    assert found == {
        "bleu(order=2)": expected.value,
        "bleu(order=2)_low": expected.interval.low,
        "bleu(order=2)_high": expected.interval.high,
        "bleu(order=2)_n_generated": 60,
        "bleu(order=2)_n_real": 70,
        "bleu(order=2)_signature": str(expected.signature),
    }
    assert metric.estimate == expected
    assert ta.EvaluateMetric("self-bleu(order=2)").compute(predictions=GENERATED)["self-bleu(order=2)"] > 0


def test_batches_and_collections_of_metrics_work(evaluate: Any) -> None:
    both: Any = evaluate.combine([ta.EvaluateMetric("length"), ta.EvaluateMetric(ta.distinct_n)])
    for begin in range(0, 60, 20):
        both.add_batch(predictions=GENERATED[begin : begin + 20], references=REAL[begin : begin + 20])
    found = both.compute()
    assert found["length"] == ta.length(GENERATED, REAL[:60]).value
    assert found["distinct-n(order=2)"] == ta.distinct_n(GENERATED, REAL[:60]).value


def test_what_is_wrong_is_told(evaluate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="unknown metric"):
        ta.EvaluateMetric("bleus")
    with pytest.raises(OptionError, match="compute takes predictions and references, got max_order too"):
        ta.EvaluateMetric("dd").compute(predictions=GENERATED, references=REAL, max_order=2)
    monkeypatch.setattr("textassay.integration.find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match="pip install evaluate"):
        ta.EvaluateMetric("dd")
