"""The published tables on exposure bias: whole, with the sums of the printed ones, their ratios computed again."""

import pytest

from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER
from textassay_lab.papers.exposure_bias.findings import bleu_row, ratio_row, recomputed_ratios

SPEC = {  # the ratios of the printed BLEU rows, worked out apart from the code
    "EB-bleu(LS)": (1.0234, 1.0213, 1.0183, 1.0166, 1.0171, 1.0143),
    "EB-bleu(TF)": (1.0085, 1.0144, 1.0148, 1.0122, 1.0238, 1.0127),
    "EB-bleu(TF|D_shuf)": (1.0212, 1.0362, 1.0468, 1.0525, 1.0624, 1.0675),
}


def test_rows_of_table_2_have_the_names_that_ours_get() -> None:
    rows = set(EXPOSURE_PAPER.tables["table 2"].rows)
    for model, kinds in (("LSTM", ("model",)), ("Transformer-XL", ("model", "shuffled"))):
        names = {name(model, kind) for kind in kinds for name in (bleu_row, ratio_row)}
        assert {bleu_row(model, "data"), *names} <= rows


def test_columns_have_the_sums_of_the_printed_ones() -> None:
    """Added up apart from the code, so that no digit changes unseen."""
    sums = {
        "table 2": (250.532, 249.001, 246.376, 243.362, 239.442, 235.435),
        "table 4": (3.77, 3.812, 6.051),
        "table 7": (380.88,),
        "perplexity, held-out": (86.63,),
        "BLEU of translation": (35.81,),
    }
    for name, expected in sums.items():
        table = EXPOSURE_PAPER.tables[name]
        assert [sum(table.column(c).values()) for c in table.columns] == pytest.approx(expected, abs=1e-9), name
    spreads = {"table 2": 3.441, "table 4": 0.145}
    for name, total in spreads.items():
        found = EXPOSURE_PAPER.tables[name].spreads
        assert sum(map(sum, found)) == pytest.approx(total, abs=1e-9), name  # type: ignore[arg-type]


def test_the_ratios_of_table_2_and_its_one_misprint() -> None:
    found = recomputed_ratios("table 2")
    for row, expected in SPEC.items():
        assert [one.value for one in found if one.row == row] == pytest.approx(expected, abs=5e-5)
    wrong = [one for one in found if one.in_spreads > 3]
    assert [(one.row, one.column, one.printed) for one in wrong] == [("EB-bleu(TF)", "25", 1.014)]
    assert max(abs(one.value - one.printed) for one in found if one not in wrong) < 0.003
    assert min(one.in_spreads for one in wrong) > 3 * max(one.in_spreads for one in found if one not in wrong)


@pytest.mark.feature("EB-27")
def test_the_ratios_and_errors_of_table_4_follow_from_its_deviations() -> None:
    found = recomputed_ratios("table 4")
    assert len(found) == 6
    for one in found:
        assert abs(one.value - one.printed) <= one.rounding, one
        assert 0.5 < one.spread_of_parts / one.spread < 2, one  # of five evaluations each: ratios of spreads are so
        assert one.in_spreads < 3
