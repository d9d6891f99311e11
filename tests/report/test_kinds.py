"""Metrics by kind: each once, families together, and every metric of the catalogue has its place."""

from made_up_comparisons import MANY_METRICS
from textassay.metric import CATALOG
from textassay.report import KINDS, family_of, group_by_kind


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
