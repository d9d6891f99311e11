"""A metric of one's own is one function, and stands wherever a metric of textassay does."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import textassay as ta
from made_up import sentences
from textassay.cli.main import main
from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError
from textassay.metric.base import Computed, MetricFunction, Shared, compute_once, declare_metric
from textassay.metric.catalog import CATALOG, parse_metric
from textassay_lab.monitoring.monitor import TextMonitor

SOURCE = '''
import textassay as ta

@ta.declare_metric("short-share", bounds=(0, 1))
def short_share(generated, real, *, least: int = 5):
    """Share of short texts."""
    return [len(text.split()) < least for text in generated.texts]

not_a_metric = 3
'''


@declare_metric("mean-length", unit="tokens", bounds=(0, math.inf), size_sensitive=False, cannot_see=["word order"])
def mean_length(generated: Corpus, real: Corpus, *, least: int = 0) -> np.ndarray:
    """Mean number of tokens of a text.

    Those with fewer than `least` count as 0.
    """
    return np.where(generated.lengths >= least, generated.lengths, 0)


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    long = [f"{first[:-2]} {second}" for first, second in zip(sentences(300, 3), sentences(300, 4), strict=True)]
    return {"real": sentences(400, 1), "same": sentences(300, 2), "long": long}


def test_it_returns_an_estimate_with_the_interval_of_a_mean(texts: dict[str, list[str]]) -> None:
    estimate = mean_length(texts["long"], texts["real"], least=3)
    lengths = np.array([len(text.split()) for text in texts["long"]])
    lengths = np.where(lengths >= 3, lengths, 0)
    assert estimate.metric == "mean-length(least=3)"
    assert estimate.value == pytest.approx(lengths.mean())
    assert (estimate.unit, estimate.better) == ("tokens", "closer")
    assert estimate.interval is not None
    margin = 1.968 * lengths.std(ddof=1) / math.sqrt(len(lengths))  # Student's quantile at 299 degrees of freedom
    assert estimate.interval.high - estimate.value == pytest.approx(margin, rel=1e-3)
    assert "least" in str(estimate.signature)


def test_its_declaration_stands_in_the_catalogue() -> None:
    assert CATALOG["mean-length"].summary == "Mean number of tokens of a text"
    assert parse_metric("mean-length(least=2)").name == "mean-length(least=2)"
    assert "All metrics take `level`" in str(mean_length.__doc__)


def test_it_stands_in_a_comparison_and_is_resumed(texts: dict[str, list[str]], tmp_path: Path) -> None:
    def run() -> ta.Comparison:
        return ta.compare(
            {"same": texts["same"], "long": texts["long"]},
            texts["real"],
            metrics=["length", mean_length, mean_length.declaration.with_settings(least=4)],
            out=tmp_path,
        )

    comparison = run()
    assert comparison.metrics == ("length", "mean-length", "mean-length(least=4)")
    assert comparison.best("mean-length") == ("same",)
    assert run().to_dict()["results"] == comparison.to_dict()["results"]
    assert "mean-length" in str(comparison)


def test_it_is_judged_and_stressed(texts: dict[str, list[str]]) -> None:
    others = {"half": texts["same"][:150] + texts["long"][:150]}
    judged = ta.judge(
        {"same": texts["same"], "long": texts["long"], **others},
        texts["real"],
        gold={"order": {"same": 3, "half": 2, "long": 1}},
        metrics=["length", mean_length],
    )
    assert "mean-length" in str(judged)
    stressed = ta.stress(
        sentences(900, 7),
        metrics=[mean_length],
        damages=["shuffle-words", "drop-words"],
        n_sentences=100,
        n_draws=2,
    )
    assert stressed.metrics == ("mean-length",)


def test_it_is_monitored(texts: dict[str, list[str]]) -> None:
    monitor = TextMonitor(texts["real"], metrics=[mean_length, "length"], n=100)
    reading = monitor.measure(sentences, 1)
    assert list(reading.values) == ["mean-length", "length"]


def test_it_is_named_by_file_and_function_on_the_command_line(
    texts: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    names = f"length,{tmp_path}/mine.py:short_share(least=4)"
    files = ["--real", f"{tmp_path}/real.txt", f"long={tmp_path}/long.txt"]
    assert main(["compare", *files, "--metrics", names, "--json"]) == 0
    rows = {(row["generator"], row["metric"]): row for row in json.loads(capsys.readouterr().out)["results"]}
    share = np.mean([len(text.split()) < 4 for text in texts["long"]])
    assert rows["long", "short-share(least=4)"]["value"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{}/none.py:short_share", "there is no file"),
        ("{}/mine.py:short_shar", "did you mean short_share"),
        ("{}/mine.py:not_a_metric", "valid: short_share"),
        ("{}/broken.py:short_share", "ZeroDivisionError"),
        ("{}/mine.py:short_share(least=few)", "must be of type int"),
    ],
)
def test_a_file_without_the_metric_says_so(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    with pytest.raises(OptionError, match=message):
        parse_metric(name.format(tmp_path))


def test_a_single_number_has_no_interval_and_a_wrong_shape_is_refused(texts: dict[str, list[str]]) -> None:
    @declare_metric("n-texts")
    def n_texts(generated: Corpus, real: Corpus) -> int:
        return len(generated)

    @declare_metric("wrong")
    def wrong(generated: Corpus, real: Corpus) -> list[int]:
        return [1, 2, 3]

    assert (n_texts(texts["same"], texts["real"]).value, n_texts(texts["same"], texts["real"]).interval) == (300, None)
    with pytest.raises(OptionError, match="one for each of the 300 generated texts"):
        wrong(texts["same"], texts["real"])


@pytest.mark.parametrize(("name", "message"), [("dd", "has a metric called 'dd'"), ("a b", "must be letters")])
def test_a_name_that_is_taken_or_cannot_be_read_is_refused(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        declare_metric(name)(lambda generated, real: 0.0)


def test_shared_work_tells_columns_apart_where_a_metric_reads_them(texts: dict[str, list[str]]) -> None:
    def total(real: Corpus) -> float:
        return float(sum(column.sum() for column in real.columns.values()))

    def declared(name: str, reads: bool) -> MetricFunction:
        return declare_metric(name, reads_columns=reads)(lambda generated, real: compute_once(total, real))

    corpora = ta.corpora_from_texts({"real": texts["real"], "same": texts["same"]})
    reals = [replace(corpora["real"], columns={"x": np.full(400, value)}) for value in (1.0, 2.0)]
    with Shared().used():
        read = [declared("reads-columns", True)(corpora["same"], real).value for real in reals]
        unread = [declared("reads-none", False)(corpora["same"], real).value for real in reals]
    assert (read, unread) == ([400.0, 800.0], [0.0, 0.0])


def test_what_is_computed_once_is_computed_once(texts: dict[str, list[str]]) -> None:
    calls: list[int] = []

    def count(real: Corpus, add: int) -> int:
        calls.append(add)
        return len(real) + add

    def declared(name: str, add: int) -> MetricFunction:
        @declare_metric(name)
        def total(generated: Corpus, real: Corpus) -> Computed:
            return Computed(compute_once(count, real, add))

        return total

    metrics = [declared("first-of-two", 1), declared("second-of-two", 1)]
    corpora = ta.corpora_from_texts({"real": texts["real"], "same": texts["same"]})
    with Shared().used():
        values = [metric(corpora["same"], corpora["real"]).value for metric in metrics]
    assert values == [401, 401]
    assert calls == [1]
    metrics[0](corpora["same"], corpora["real"])  # outside of a comparison nothing is kept
    assert calls == [1, 1]


@pytest.mark.parametrize(
    ("result", "bounds", "message"),
    [
        (KeyError("boom"), (0, 1), "the metric 'mine' raised KeyError: 'boom'"),
        ("many", (0, 1), "the metric 'mine' raised ValueError: could not convert string to float: 'many'"),
        (3.0, (0, 1), "the metric 'mine' gave 3, outside its bounds of 0 and 1: declare others, or none"),
        (3.0, None, "the metric 'mine': bounds must be its smallest and largest value, such as (0, 1), got None"),
        (3.0, (1, 0), "the metric 'mine': bounds must be its smallest and largest value, such as (0, 1), got (1, 0)"),
    ],
)
def test_what_is_wrong_with_a_metric_names_it(result: Any, bounds: Any, message: str) -> None:
    def mine(generated: ta.Corpus, real: ta.Corpus) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(ta.TextassayError, match=f"^{re.escape(message)}$"):
        ta.declare_metric("mine", bounds=bounds)(mine)(["a b"] * 5, ["a c"] * 5)
