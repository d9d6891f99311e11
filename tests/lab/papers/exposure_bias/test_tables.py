"""Tables and figures of the study of exposure bias: ours in the paper's cells, curves as the measures make them."""

import warnings
from dataclasses import replace

import pytest

from made_up_exposure import make_exposure_results, reproduction
from textassay.report.plots import Curves
from textassay_lab.exposure.bias import eb_c
from textassay_lab.exposure.bleu import eb_bleu_of_runs
from textassay_lab.papers.exposure_bias.experiment import RANDOM_ORACLE, ExposureResults
from textassay_lab.papers.exposure_bias.findings import after_words
from textassay_lab.papers.exposure_bias.results import AVERAGE, exposure_tables, from_printed_numbers
from textassay_lab.papers.reproduction import Cell, ReproducedTable
from whose_values import assert_nothing_published_is_ours

MADE = make_exposure_results()
NOTHING = ExposureResults({}, {}, {}, {}, {}, None)


def _cells(table: ReproducedTable) -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in table.cells}


def test_nothing_published_is_called_ours() -> None:
    assert_nothing_published_is_ours(lambda: reproduction(MADE))
    for table in (from_printed_numbers("table 2"), from_printed_numbers("table 4")):
        assert table.recomputed
        assert None not in {cell.ours for cell in table.cells}


def test_ours_stand_beside_the_published_numbers() -> None:
    tables = {table.id: table for table in exposure_tables(MADE)}
    cells = _cells(tables["table 2"])
    rate = eb_bleu_of_runs(MADE.bleu["wikitext2"]["Transformer-XL"], prefixes="shuffled")
    cell = cells["EB-bleu(TF|D_shuf)", "30"]
    assert (cell.published, cell.published_spread, cell.ours) == (1.066, 0.003, rate.values[-1])
    assert rate.intervals[-1] is not None
    assert (cell.low, cell.high, cell.spread) == (rate.intervals[-1].low, rate.intervals[-1].high, rate.sd[-1])
    assert cells["C-bleu(TF|D)", "5"].ours == pytest.approx(100 * rate.data[0])
    assert cells["EB-bleu(LS|random)", "5"].published is None
    assert cells["EB-bleu(U)", "5"].ours == pytest.approx(1, abs=0.01)
    assert "Here 10 runs of 1,000 continuations against 1,000." in tables["table 2"].note
    assert {cell.published for cell in tables["table 2, yelp"].cells} == {None}
    assert {cell.ours for cell in tables["table 4"].cells} == {None}
    seven = _cells(tables["table 7"])
    assert (seven["LSTM-32", "perplexity"].ours, seven["LSTM-32", "perplexity"].published) == (120.0, 156.3)
    assert seven["LSTM-32", "on samples of the data model"].ours == 96.0
    assert (seven["RankGAN", "perplexity"].ours, seven["RankGAN", "perplexity"].published) == (None, 53.43)
    assert "unexplained" in tables["table 7"].note
    kinds = MADE.synthetic["LSTM-512"]
    found = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), "js")
    assert _cells(tables["figure 2, LSTM-512"])[AVERAGE, "Jensen-Shannon"].ours == found.average
    assert list(tables["figure 2, LSTM-512"].rows) == [f"l = {n}" for n in range(1, 11)] + [AVERAGE]
    assert "corrupted:0.3" in tables["figure 3, LSTM-512"].columns
    (cell,) = tables["BLEU of translation"].cells
    assert (cell.ours, cell.published) == (25.0, 35.81)
    costs = _cells(tables["perplexity, held-out"])
    assert [(row, cell.ours, cell.published) for (row, column), cell in costs.items() if column == "WikiText"] == [
        ("LSTM", 100.0, 34.8),
        ("Transformer-XL", 100.0, 27.81),
        ("Transformer-XL, all of the text", None, 24.02),
        ("position unigram", 100.0, None),
    ]
    assert (costs["LSTM", "yelp"].ours, costs["LSTM", "yelp"].published) == (100.0, None)
    assert _cells(tables["EB-C of translation"])["l = 5", "EB-C, greedy"].ours == 1.02
    assert "500 at 1, 480 at 5, 300 at 10" in tables["EB-C of translation"].note
    assert len(tables) == len(exposure_tables(MADE))


def test_what_has_two_sides_stands_beside_maximum_likelihood() -> None:
    tables = {table.id: table for table in exposure_tables(MADE)}
    four = tables["figure 4"]
    assert four.rows == ("LSTM-512", "ScratchGAN", "LSTM-32", "CoT", RANDOM_ORACLE, "RankGAN")
    for model in four.rows:
        kinds = {**MADE.synthetic, **MADE.others}[model]
        for distance, name in (("tv", "total variation"), ("js", "Jensen-Shannon"), ("greedy", "greedy")):
            rate = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), distance)  # type: ignore[arg-type]
            assert rate.average_interval is not None
            cell = _cells(four)[model, name]
            assert (cell.ours, cell.low, cell.high) == (
                rate.average, rate.average_interval.low, rate.average_interval.high
            )  # fmt: skip
    assert _cells(tables["figure 4, CoT"])["l = 10", "greedy"].ours == pytest.approx(1.01, abs=0.01)
    costs = _cells(tables["oracle NLL"])
    told = [(cell.ours, cell.published) for cell in costs.values()]
    assert told == [(9.2, 8.67), (8.5, 8.55), (5.8, None)]
    assert list(costs) == [(row, "nats per token") for row in (RANDOM_ORACLE, "RankGAN", "random LSTM")]


@pytest.mark.feature("EB-16")
def test_the_misprint_is_told_and_the_ratios_stand_beside_the_printed_ones() -> None:
    table = from_printed_numbers("table 2")
    cell = _cells(table)["EB-bleu(TF)", "25"]
    assert cell.published == 1.014
    assert cell.ours == pytest.approx(56.32 / 55.01)
    assert "EB-bleu(TF) at l = 25 is off by 4.9 printed spreads: a misprint." in table.note
    assert "The other ratios differ by at most 0.0028." in table.note
    assert "misprint" not in from_printed_numbers("table 4").note


def test_the_published_tables_stand_without_ours() -> None:
    assert {table.id for table in exposure_tables(NOTHING)} == {
        *("table 2", "table 2, from printed numbers", "table 4", "table 4, from printed numbers", "table 7"),
        *("perplexity, held-out", "BLEU of translation", "oracle NLL"),
    }


def test_a_model_equal_to_the_data_has_no_rate_and_says_so() -> None:
    kinds = MADE.synthetic["LSTM-32"]
    nothing = {
        kind: tuple(replace(run, means={name: 0 * values for name, values in run.means.items()}) for run in runs)
        for kind, runs in kinds.items()
    }
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = reproduction(replace(NOTHING, synthetic={"LSTM-32": nothing}))
    assert all("undefined" in str(one.message) for one in said)
    cells = _cells(next(table for table in found.tables if table.id == "figure 2, LSTM-32"))
    assert cells["l = 3", "greedy"].ours is None
    assert {one.verdict for one in found.findings if one.id == "B6"} == {"not measured"}
    plot = found.figures[0].plot
    assert isinstance(plot, Curves)
    assert all(not series.points for series in plot.series)
