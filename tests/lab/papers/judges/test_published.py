"""The published tables of "Judge the Judges": whole, in line with each other, and with another reading of them."""

import numpy as np
import pytest

import judges_tables as other
from textassay_lab.judges.meta_evaluator import overall_accuracy
from textassay_lab.papers.judges.experiment import ALL, GENERATED, GENERATORS, NAMES, REAL, printed_evaluations
from textassay_lab.papers.judges.findings import CLASSIFIERS, INDIVIDUAL, JUDGES_PAPER, PEOPLE
from textassay_lab.papers.judges.results import from_printed_values


def test_every_table_is_there() -> None:
    assert len(JUDGES_PAPER.tables) == 12
    assert len(NAMES) == len(set(GENERATORS)) == 12


def test_columns_have_the_sums_of_the_printed_ones() -> None:
    """Added up apart from the code, so that no digit changes unseen."""
    sums = {
        "table 2": (364_180, 254_926, 36_418, 72_836),
        "table 5": (-1.9393, -2.7763, -3.0308, -2.9094, -3.3706, -3.1104),
        "table 6": (4.3436, 6.0255),
        "table 7": (0.3034, 0.6502, 0.6997),
        "table 8": (0.1985, 0.0173, -0.1543),
        "table 9": (4.1933,),
        "figures 4 and 10": (3.3474, 5.7554, 8.3447, 6.4992, 3.1755, 3.3056, 5.7259, 3.0113),
    }
    for name, expected in sums.items():
        table = JUDGES_PAPER.tables[name]
        assert [sum(table.column(c).values()) for c in table.columns] == pytest.approx(expected, abs=1e-9), name


def test_another_reading_of_the_paper_has_the_same_numbers() -> None:
    known = printed_evaluations()
    inputs = {
        **{name: 100 * np.array(row) for name, row in other.SHARE_JUDGED_FAKE.items()},
        **other.ACCURACY,
        **other.OVERLAP,
        "Self-BLEU": other.SELF_BLEU,
        "lexical diversity": other.LEXICAL_DIVERSITY,
        "BLEU G-train": other.BLEU_OF_TRAINING,
    }
    assert set(known) == set(inputs)
    for name, row in inputs.items():
        assert known[name].select(other.GENERATORS).values == pytest.approx(row, abs=1e-9), name
    for table, rows in (("table 5", other.TABLE_5), ("table 7", other.TABLE_7), ("table 8", other.TABLE_8)):
        printed = JUDGES_PAPER.tables[table]
        for name, printed_row in rows.items():
            assert printed.values[printed.rows.index(name)] == pytest.approx(printed_row), (table, name)


@pytest.mark.feature("JJ-28")
def test_rows_of_table_4_follow_from_those_of_the_generators() -> None:
    table = JUDGES_PAPER.tables["table 4"]
    n_tested = {name: int(n) for name, n in JUDGES_PAPER.tables["table 2"].column("D-test").items()}
    for classifier in CLASSIFIERS:
        values = table.column(classifier)
        by_generator = {name: values[name] for name in GENERATORS}
        generated, everything = overall_accuracy(by_generator, n_tested, values[REAL])
        assert generated == pytest.approx(values[GENERATED], abs=0.01)
        assert everything == pytest.approx(values[ALL], abs=0.01)


@pytest.mark.feature("JJ-36")
def test_tables_of_correlations_follow_from_printed_values() -> None:
    tables = {table.id.partition(",")[0]: table for table in from_printed_values()}
    n_cells = {}
    for name, table in tables.items():
        both = [cell for cell in table.cells if cell.ours is not None]
        assert table.recomputed
        for cell in both:
            assert cell.ours == pytest.approx(cell.published, abs=1.01e-4), (name, cell.row, cell.column)
        n_cells[name] = len(both)
        alone = {cell.row for cell in table.cells if cell.ours is None}
        assert alone == {"METEOR", "CIDEr", *((INDIVIDUAL,) if name == "table 5" else ())}
    assert n_cells == {"table 5": 3 * 2 * 9, "table 7": 3 * 11, "table 8": 3 * 11}


def test_names_of_other_generators_stay() -> None:
    assert NAMES["SkipConnectionsAC"] == "gC2S"
    assert printed_evaluations()["H1"].order[0] == printed_evaluations()["H2"].order[0] == "gC2S"
    assert set(PEOPLE) <= set(printed_evaluations())
