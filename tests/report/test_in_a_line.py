"""What results are at a prompt: one line, a hash or none, and a lead figure."""

from collections.abc import Hashable

import pytest

import textassay as ta
from made_up import sentences, shuffled
from made_up_comparisons import make_comparison

REAL = sentences(200, 1)


def test_a_result_is_one_line_whatever_it_holds() -> None:
    comparison = make_comparison(("trigram", "5-gram"))
    explained = ta.explain(shuffled(sentences(200, 2), 0), REAL, effort="quick", folds=2, halvings=1)
    planned = ta.plan(margins=[0.1])
    findings = ta.inspect({"g": sentences(50, 2)}, REAL)
    estimate = ta.length(sentences(200, 2), REAL)
    monitor = ta.TextMonitor(REAL, metrics="length", n=50)
    for result in (comparison, ta.document(comparison), explained, planned, findings, findings[0], estimate, monitor):
        line = repr(result)
        assert len(line) <= 140
        assert "\n" not in line
        assert line.startswith(f"<{type(result).__name__}")
        assert line.endswith(">")
    assert repr(ta.document(planned)).startswith("<Document title='")
    assert "metric='length'" in repr(estimate)


def test_a_hash_works_or_is_not_offered() -> None:
    estimate = ta.length(sentences(200, 2), REAL)
    assert len({estimate, ta.length(sentences(200, 2), REAL)}) == 1
    assert len({estimate.signature}) == 1
    (finding, *_) = ta.inspect({"g": sentences(50, 2)}, REAL)
    assert len({finding}) == 1
    for result in (make_comparison(("trigram",)), ta.plan(margins=[0.1]), ta.document(ta.plan(margins=[0.1]))):
        assert not isinstance(result, Hashable)


def test_the_lead_figure() -> None:
    comparison = make_comparison(("trigram", "5-gram"))
    figure = comparison.plot()
    assert figure == ta.document(comparison).plot()
    assert figure.svg.lstrip().startswith(("<?xml", "<svg"))
    assert figure._repr_svg_() == figure.svg
    with pytest.raises(ta.TextassayError, match="Estimate has no figure"):
        ta.length(REAL[:150], REAL).plot()
