"""Metrics by kind: each once, families together, and every metric of the catalogue has its place."""

import pytest

from made_up import sentences
from made_up_comparisons import MANY_METRICS
from textassay import compare
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_latex, comparison_markdown, results_record
from textassay.comparison.metric_kinds import KINDS, family_of, group_by_kind, variant_of, with_encoder
from textassay.comparison.sentence_scores import sentence_table
from textassay.comparison.side_by_side import side_by_side
from textassay.metric.catalog import CATALOG


def test_every_metric_of_the_catalogue_has_a_kind() -> None:
    placed = [family for _, families in KINDS for family in families]
    assert len(placed) == len(set(placed))
    assert set(CATALOG) <= set(placed)


def test_all_metrics_are_kept_once_with_families_in_one_table() -> None:
    metrics = [*reversed(MANY_METRICS), "unheard-of(x=1)", *MANY_METRICS]
    kinds = group_by_kind(metrics)
    tables = [table for kind in kinds for table in kind.tables]
    assert sorted(metric for table in tables for metric in table) == sorted({*MANY_METRICS, "unheard-of(x=1)"})
    assert max(map(len, tables)) <= 6
    for family in map(family_of, MANY_METRICS):
        assert sum(any(family_of(metric) == family for metric in table) for table in tables) == 1
    assert [kind.name for kind in kinds][-1] == "Other metrics"
    assert [kind.name for kind in kinds][:2] == [KINDS[0][0], KINDS[1][0]]


def test_a_family_that_is_too_wide_has_a_table_of_its_own() -> None:
    orders = [f"distinct-n(order={order})" for order in range(1, 10)]
    (kind,) = group_by_kind(["zipf", *orders, "self-bleu(order=2)"])
    assert kind.tables == (("self-bleu(order=2)",), tuple(orders), ("zipf",))


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("mauve", "mauve[lsa+lm]"),
        ("mauve(encoder=lsa)", "mauve[lsa]"),
        ("precision(k=10,encoder=minilm:d74f6774)", "precision(k=10)[minilm:d74f6774]"),
        ("recall(k=10)", "recall(k=10)[lsa+lm]"),
        ("mauve[lsa]", "mauve[lsa]"),
        ("bleu(order=4)", "bleu(order=4)"),
        ("dd", "dd"),
    ],
)
def test_metrics_of_sentence_vectors_name_their_encoder(metric: str, name: str) -> None:
    assert with_encoder(metric) == name
    assert family_of(name) == family_of(metric)
    assert variant_of(name) == variant_of(metric).replace(",encoder=minilm:d74f6774", "").replace("encoder=lsa", "")


def test_every_place_where_such_a_number_stands_names_the_encoder() -> None:
    real, generated = sentences(60, 1), sentences(60, 2)
    comparison = compare({"one": generated}, real, metrics=["mauve", "precision", "fed(encoder=lsa)", "length"])
    assert comparison.metrics == ("mauve", "precision", "fed(encoder=lsa)", "length")
    assert [result["details"]["encoder"] for result in comparison.to_dict()["results"][:2]] == ["lsa+lm"] * 2
    names = ("mauve[lsa+lm]", "precision[lsa+lm]", "fed[lsa]")
    screen, markdown, latex = str(comparison), comparison_markdown(comparison), comparison_latex(comparison)
    for name in names:
        assert name in screen
        assert name.replace("[", "\\[").replace("]", "\\]") in markdown
        assert name.replace("[", "{[}").replace("]", "{]}") in latex
    assert {row.cells[1].value for row in results_record(comparison).rows} == {*names, "length"}
    scores = sentence_table(comparison, comparison.texts or {})
    assert scores is not None
    assert "precision[lsa+lm]" in scores.columns
    assert Digest(Digest(comparison).comparison).metrics == Digest(comparison).metrics


def test_values_of_different_encoders_are_not_set_side_by_side() -> None:
    real, generated = sentences(60, 1), sentences(60, 2)
    first, last = (
        compare({"one": generated}, real, metrics=["mauve", "length"], encoder=name) for name in (None, "lsa")
    )
    (changes,) = side_by_side({"before": first, "after": last}).records
    assert {row.cells[0].value for row in changes.rows} == {"length"}
