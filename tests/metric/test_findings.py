"""Metrics called as functions say what a comparison says of the texts: dependence, overlap and size."""

import warnings

import pytest

import textassay as ta
from made_up import sentences
from textassay.inspection.finding import Findings
from textassay_lab.monitoring.monitor import TextMonitor

REAL, OTHER = sentences(300, 1), sentences(300, 2, shift=0.3)


@pytest.mark.parametrize(
    ("generated", "kinds"),
    [
        (REAL, ["same-text"]),
        (OTHER[:200] + REAL[:100], ["dependent-texts", "shared-sentences"]),
        (OTHER[:50], ["small-sample"]),
        (OTHER * 2, ["dependent-texts"]),
    ],
)
def test_a_value_comes_with_what_was_found_in_its_texts(generated: list[str], kinds: list[str]) -> None:
    with pytest.warns(ta.FindingWarning) as told:
        estimate = ta.bleu(generated, REAL, order=2)
    assert len(told) == 1
    assert isinstance(estimate.findings, Findings)
    warned = [one for one in estimate.findings if one.severity == "warning"]
    assert sorted(one.kind for one in warned) == kinds
    assert str(told[0].message).startswith("bleu(order=2): generated: ")
    assert all(one.message in str(told[0].message) for one in warned)
    assert told[0].filename == __file__
    assert warned[0].message in estimate._repr_html_().replace("&#x27;", "'")


def test_text_that_nothing_is_wrong_with_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = ta.bleu(OTHER, REAL, order=2)
        ta.distinct_n(OTHER)
    assert {one.severity for one in estimate.findings} <= {"note"}
    with pytest.warns(ta.FindingWarning, match="Few texts: 50"):
        ta.distinct_n(OTHER[:50])
    corpus = ta.Corpus.from_texts(REAL)
    with pytest.warns(ta.FindingWarning, match="are the same 300 texts"):
        ta.bleu(corpus, corpus)
    with pytest.warns(ta.FindingWarning, match="also occur in the real text"):
        ta.measure(ta.parse_metric("length"), OTHER[:200] + REAL[:100], REAL, independent=True)


def test_a_comparison_says_it_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ta.FindingWarning)
        compared = ta.compare({"g": OTHER[:50]}, REAL, metrics=["length"], explain=False)
    estimate = compared.result("g", "length").estimate
    assert estimate is not None
    assert estimate.findings == ()


def test_a_monitor_notes_it() -> None:
    monitor = TextMonitor(REAL, metrics="length", n=250)
    assert "texts" not in monitor.measure(lambda n, seed: sentences(n, 9, shift=0.3), 1).notes
    copied = monitor.measure(lambda n, seed: REAL[:n], 2).notes["texts"]
    assert "Texts are not independent" in copied
    assert "also occur in the real text" in copied
