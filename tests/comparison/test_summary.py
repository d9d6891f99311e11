"""The short Markdown of a comparison: for a pull request or the page of a job."""

from dataclasses import replace

from made_up_comparisons import HOSTILE, MANY_METRICS, make_comparison, make_findings
from textassay.comparison.summary import comparison_summary


def test_a_summary_has_verdicts_intervals_floor_and_warnings_on_one_screen() -> None:
    comparison = make_comparison(("a", "b"), metrics=MANY_METRICS, findings=make_findings(("a", "b")), explained=True)
    text = comparison.to_markdown(short=True)
    lines = text.splitlines()
    head = next(line for line in lines if line.startswith("| generator | texts | verdict |"))
    assert "interval" in head
    assert "real text" in head
    assert sum(line.startswith("| a |") for line in lines) == 2  # its verdict, its other metrics
    assert "#### Warnings" in lines
    assert "textassay 0.1.0" in lines[-1]
    assert len(lines) < len(comparison.to_markdown().splitlines()) / 2
    assert len(lines) < 60


def test_what_fails_comes_first_and_headings_are_below_those_of_the_page() -> None:
    text = comparison_summary(make_comparison(("a", "b")), failures=["dd>0.3 holds for a (0.5)"])
    assert text.startswith("### Generated text against ")
    assert "- Fails: dd&gt;0.3 holds for a (0.5)" in text
    assert text.index("Fails:") < text.index("| verdict |")


def test_names_and_texts_cannot_add_markup() -> None:
    comparison = make_comparison((HOSTILE[0], "b"), findings=make_findings((HOSTILE[0], "b")), explained=True)
    text = comparison.to_markdown(short=True)
    assert "<script" not in text
    assert "<img" not in text
    tables = [line for line in text.splitlines() if line.startswith("| ") and "verdict" in line]
    assert len(tables) == 1


def test_without_a_metric_that_has_a_direction_it_says_so() -> None:
    comparison = make_comparison(("a", "b"))
    results = tuple(replace(one, estimate=None, matched=None, floor=None, error="no") for one in comparison.results)
    text = replace(comparison, results=results, pairs=(), ranks=()).to_markdown(short=True)
    assert "No metric that has a direction could be computed." in text
    assert "| verdict |" not in text
