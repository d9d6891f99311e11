"""Tables and figures of the study of exposure bias: ours in the paper's cells, curves as the measures make them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from made_up_exposure import make_exposure_results
from textassay_lab.exposure.bias import eb_c
from textassay_lab.exposure.bleu import eb_bleu_of_runs
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction
from textassay_lab.papers.exposure_bias.findings import after_words
from textassay_lab.papers.exposure_bias.measures import RANDOM_ORACLE, ExposureResults
from textassay_lab.papers.exposure_bias.published import NEXT_WORD
from textassay_lab.papers.exposure_bias.results import (
    AVERAGE,
    exposure_curves,
    exposure_reproduction,
    exposure_samples,
    exposure_tables,
    from_printed_numbers,
)
from whose_values import assert_nothing_published_is_ours

MADE = make_exposure_results()
NOTHING = ExposureResults({}, {}, {}, {}, {}, None, {}, {}, {}, {}, missing=("yelp",))


def _cells(table: ReproducedTable) -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in table.cells}


def test_nothing_published_is_called_ours() -> None:
    assert_nothing_published_is_ours(lambda: exposure_reproduction(MADE))
    for table in (from_printed_numbers("table 2"), from_printed_numbers("table 4")):
        assert {(cell.ours, cell.low, cell.high, cell.spread) for cell in table.cells} == {(None,) * 4}
        assert None not in {cell.recomputed for cell in table.cells}


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
    assert _cells(tables["EB-DD"])["LSTM-512 against the data model, l = 10", "EB-DD"].ours == 0.05
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


def test_simulated_raters_cannot_be_taken_for_the_people_of_table_4() -> None:
    """They have a table of their own; it says so in title, rows and note, and shares no row or column with theirs."""
    found = exposure_reproduction(MADE)
    tables = {table.id: table for table in found.tables}
    people, simulated = tables["table 4"], tables["simulated raters"]
    assert simulated.title.startswith("NOT ANSWERS OF PEOPLE")
    assert "No person was asked." in simulated.note
    assert all(row.startswith("simulated raters") for row in simulated.rows)
    assert not set(people.columns) & set(simulated.columns)
    assert {cell.published for cell in simulated.cells} == {None}
    assert people.published_alone == people.cells
    assert {one.verdict for one in found.findings if one.id == "B9" and one.about == "ours"} == {"not measured"}
    one = MADE.next_word[NEXT_WORD[0]][10]
    row = f"simulated raters, {NEXT_WORD[0]}, l = 10"
    cells, score = _cells(simulated), one.score
    assert simulated.rows == tuple(f"{row}: {name}" for name in ("CGD(M|D)", "CGD(M|M)", "EB-C"))
    assert [cells[name, "raters made with"].ours for name in simulated.rows] == pytest.approx([0.6, 0.7, 0.7 / 0.6])
    assert score.spreads is not None
    assert [cells[name, "spread of five evaluations"].ours for name in simulated.rows] == list(score.spreads)
    intervals = (score.cgd_data_interval, score.cgd_model_interval, score.eb_c_interval)
    values = (score.cgd_data, score.cgd_model, score.eb_c)
    for name, value, interval in zip(simulated.rows, values, intervals, strict=True):
        assert interval is not None
        cell = cells[name, "given back"]
        assert (cell.ours, cell.low, cell.high) == (value, interval.low, interval.high)
    assert "of 3 known values 3 lie in their intervals" in simulated.note
    sizes = tables["simulated raters, sizes"]
    assert {cell.column: cell.ours for cell in sizes.cells} == {
        "answers": 500, "prefixes": 100, "pages": 10, "raters": 10, "next word foreseen": 0.25
    }  # fmt: skip
    assert sizes.rows == (row,)


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
    assert told == [(5.8, None), (9.2, 8.67), (8.5, 8.55)]
    assert list(costs) == [(row, "nats per token") for row in ("random LSTM", RANDOM_ORACLE, "RankGAN")]
    assert "ScratchGAN: training ended early. Made up." in exposure_reproduction(MADE).notes


@pytest.mark.feature("EB-16")
def test_the_misprint_is_told_and_the_ratios_stand_beside_the_printed_ones() -> None:
    table = from_printed_numbers("table 2")
    cell = _cells(table)["EB-bleu(TF)", "25"]
    assert cell.published == 1.014
    assert cell.ours is None
    assert cell.recomputed == pytest.approx(56.32 / 55.01)
    assert "EB-bleu(TF) at l = 25 is off by 4.9 printed spreads: a misprint." in table.note
    assert "C-bleu(TF|TF) is most out of line with its neighbours; with 55.54 for it all would agree" in table.note
    assert "The other ratios differ by at most 0.0028." in table.note
    assert "misprint" not in from_printed_numbers("table 4").note


def test_curves_are_those_of_the_measures_with_averages_without_the_empty_prefix() -> None:
    curves = {(curve.title, curve.family, curve.name): curve for curve in exposure_curves(MADE)}
    assert len(curves) == len(exposure_curves(MADE))
    kinds = MADE.synthetic["LSTM-32"]
    found = eb_c(after_words(kinds["data"]), after_words(kinds["model"]), "greedy")
    curve = curves["Figure 2: EB-C", "greedy", "LSTM-32"]
    assert [point.x for point in curve.points] == list(range(1, 11))
    assert [point.y for point in curve.points] == pytest.approx(found.values.tolist())
    assert curve.average == pytest.approx(np.mean(found.runs))
    shuffled = curves["EB-bleu", "wikitext2", "LSTM, shuffled"]
    kept = curves["Self-recovery", "LSTM, wikitext2", "shuffled"]
    for one, other in zip(shuffled.points, kept.points, strict=True):
        assert one.y_low is not None
        assert one.y_high is not None
        assert (other.y, other.y_low, other.y_high) == pytest.approx((1 / one.y, 1 / one.y_high, 1 / one.y_low))
    printed = curves["EB-bleu", "paper: wiki-103, with spread", "Transformer-XL"]
    assert [point.y for point in printed.points] == [1.009, 1.013, 1.012, 1.013, 1.014, 1.013]


def test_samples_of_translation_come_with_source_and_reference() -> None:
    samples = exposure_samples(MADE)
    assert {"LSTM on wikitext2", "translation, as in table 5"} < set(samples)
    told = [(one.kind, one.prefix) for one in samples["translation, as in table 5"]]
    assert told == [("source", ""), ("reference", ""), ("NORMAL", ""), ("DATA3", "a dog is"), ("UNREL3", "two men are"),
                    ("RAND3", "x y z")]  # fmt: skip


def test_a_study_comes_back_from_its_json_and_says_what_is_missing() -> None:
    whole = exposure_reproduction(MADE)
    assert Reproduction.from_dict(whole.to_dict()).to_dict() == whole.to_dict()
    assert "emnlp_news was not there: what needs it is not measured." in whole.notes
    assert whole.settings["sizes, wikitext2"] == "100 train blocks, 90 unseen blocks"
    alone = exposure_reproduction(NOTHING)
    assert Reproduction.from_dict(alone.to_dict()).to_dict() == alone.to_dict()
    assert {table.id for table in alone.tables} == {
        *("table 2", "table 2, from printed numbers", "table 4", "table 4, from printed numbers", "table 7"),
        *("perplexity, held-out", "BLEU of translation"),
    }
    assert {curve.family for curve in alone.curves} == {"paper: wiki-103, with spread"}


def test_a_model_equal_to_the_data_has_no_rate_and_says_so() -> None:
    kinds = MADE.synthetic["LSTM-32"]
    nothing = {
        kind: tuple(replace(run, means={name: 0 * values for name, values in run.means.items()}) for run in runs)
        for kind, runs in kinds.items()
    }
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = exposure_reproduction(replace(NOTHING, synthetic={"LSTM-32": nothing}))
    assert all("undefined" in str(one.message) for one in said)
    cells = _cells(next(table for table in found.tables if table.id == "figure 2, LSTM-32"))
    assert cells["l = 3", "greedy"].ours is None
    assert {one.verdict for one in found.findings if one.id == "B6"} == {"not measured"}
    assert all(not curve.points for curve in found.curves if curve.title == "Figure 2: EB-C")
