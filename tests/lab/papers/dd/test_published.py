"""The published tables: whole, consistent with each other as far as they are, and loadable."""

import numpy as np
import pytest

from published_dd import FAMILIES, column_values, published_agreements, published_measured
from textassay_lab.meta_evaluation.correlations import correlation
from textassay_lab.meta_evaluation.rank_agreement import BY_VOLUME
from textassay_lab.papers.dd.experiment import DD, DD_PAPER, EXACT

TAUS = {(tau.metric, tau.group, tau.gold): tau for tau in published_agreements()}


def _tau(metric: str, group: str, gold: str) -> float:
    value = TAUS[metric, group, gold].value
    assert value is not None
    return value


def test_every_table_is_there() -> None:
    assert [table.id for table in DD_PAPER.tables.values()] == [f"table {n}" for n in range(1, 8)]


def test_columns_have_the_sums_of_the_printed_ones() -> None:
    """Added up apart from the code, so that no digit changes unseen."""
    sums = {
        "table 1": (308.6, 14, 1280, 1792, 1.1, 0.00112, 768),
        "table 2": (9.714, 6.490, 2.979),
        "table 3": (6.816, 3.634, 6.801, 3.599),
        "table 4": (1.4, 3.4),
        "table 5": (3.04, 3.64, 3.12),
        "table 6": (0.123,),
        "table 7": (8.509, 5.956, 3.524, 8.627, 6.215, 3.829),
    }
    for table in DD_PAPER.tables.values():
        assert [sum(table.column(name).values()) for name in table.columns] == pytest.approx(sums[table.id])
    spreads = DD_PAPER.tables["table 7"].spreads
    assert np.array(spreads, dtype=float).sum(axis=0) == pytest.approx([0.016, 0.028, 0.030, 0.016, 0.036, 0.041])


@pytest.mark.feature("DD-15")
def test_gold_orders() -> None:
    real, synthetic = published_measured()
    assert synthetic.gold[0].order == tuple(reversed(DD_PAPER.tables["table 2"].rows))
    for names in FAMILIES.values():
        assert real.gold[0].select(names).order == tuple(reversed(names))


def test_dd_is_twice_the_accuracy_less_one() -> None:
    for table, accuracy, found in (
        ("table 2", "accuracy", DD),
        ("table 3", "accuracy", DD),
        ("table 3", "valid accuracy", "valid DD"),
    ):
        columns = DD_PAPER.tables[table].column(accuracy), DD_PAPER.tables[table].column(found)
        for generator, share in columns[0].items():
            assert columns[1][generator] == pytest.approx(2 * share - 1, abs=0.0021)


@pytest.mark.feature("DD-19")
def test_dd_of_table_2_puts_generators_in_the_order_of_the_exact_one() -> None:
    assert _tau(DD, "all 10", EXACT) == 1
    exact, found = (column_values("table 2", column) for column in (EXACT, DD))
    assert correlation(exact.values, found.values, "pearson").value == pytest.approx(0.924, abs=5e-4)
    assert np.all(found.values < exact.values)


@pytest.mark.feature("DD-21")
def test_taus_of_tables_4_and_5_follow_from_the_values_or_are_corrected() -> None:
    for metric, group, gold, expected in (
        (DD, "5 LSTM", EXACT, 1.0),
        (DD, "5 GPT-2", EXACT, 1.0),
        (DD, "all 10", EXACT, 1.0),
        (DD, "5 LSTM", BY_VOLUME, 1.0),
        (DD, "5 GPT-2", BY_VOLUME, 1.0),
        ("FED", "5 LSTM", EXACT, 0.8367),
        ("FED", "5 GPT-2", EXACT, 0.8367),
        ("FED", "all 10", EXACT, 0.8706),
    ):
        assert _tau(metric, group, gold) == pytest.approx(expected, abs=5e-5)
    assert DD_PAPER.tables["table 5"].column("all 10")["FED"] == 0.92
    assert "0.871" in DD_PAPER.tables["table 5"].note
    # The printed 0.92 needs GPT-2_0.4 before LSTM_1.0 in the gold order, which would cost DD its perfect order.
    swapped = dict(DD_PAPER.tables["table 2"].column(EXACT))
    swapped["GPT-2_0.4"], swapped["LSTM_1.0"] = swapped["LSTM_1.0"], swapped["GPT-2_0.4"]
    for metric, table, expected in (("FED", "table 6", 0.92), (DD, "table 2", 43 / 45)):
        values = DD_PAPER.tables[table].column(metric)
        tau = correlation([values[name] for name in swapped], list(swapped.values())).value
        assert tau == pytest.approx(expected, abs=0.005)


@pytest.mark.feature("DD-22")
def test_fed_of_table_6_ties_and_has_a_narrow_range() -> None:
    values = list(DD_PAPER.tables["table 6"].column("FED").values())
    assert max(values) - min(values) == pytest.approx(0.006)
    assert sorted(values.count(value) for value in set(values)) == [1, 1, 2, 3, 3]


@pytest.mark.feature("DD-23")
def test_taus_of_table_7() -> None:
    expected = {
        "5 LSTM": (0.105, 0.0, 0.0, 0.105, 0.0, 0.0),
        "5 GPT-2": (0.8, 0.8, 0.8, -0.949, -0.8, -0.8),
    }
    for group, taus in expected.items():
        for metric, tau in zip(DD_PAPER.tables["table 7"].columns, taus, strict=True):
            assert _tau(metric, group, BY_VOLUME) == pytest.approx(tau, abs=5e-4)
