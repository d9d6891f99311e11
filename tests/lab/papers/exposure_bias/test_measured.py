"""What is measured of small models stands in the study's tables and figures, with the verdicts that it deserves."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from exposure_runs import measure_runs
from textassay.corpus.corpus import Corpus
from textassay.ngram.model import NgramModel
from textassay.report.plots import Curves
from textassay_lab.exposure.bias import cgd_curve
from textassay_lab.exposure.bleu import measure_bleu_run
from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import unseen_halves
from textassay_lab.generator.random_lstm import RandomLstm
from textassay_lab.papers.exposure_bias.experiment import EXPOSURE_PAPER, ExposureResults
from textassay_lab.papers.exposure_bias.findings import after_words, check_findings
from textassay_lab.papers.exposure_bias.results import AVERAGE, exposure_figures, exposure_tables

NOTHING = ExposureResults({}, {}, {}, {}, {}, None)


def _verdicts(results: ExposureResults) -> dict[str, str]:
    return {found.id: found.verdict for found in check_findings(results)}


def _ours(results: ExposureResults, table: str) -> dict[tuple[str, str], float | None]:
    found = next(one for one in exposure_tables(results) if one.id == table)
    return {(cell.row, cell.column): cell.ours for cell in found.cells}


@pytest.mark.feature("EB-16", "EB-17")
def test_a_trigram_is_within_the_bounds_and_shuffled_prefixes_hurt_more_the_longer_they_are() -> None:
    """Words rise through a sentence: the last one of a shuffled prefix is the further behind, the longer it is."""
    steps = np.random.default_rng(0).integers(0, 3, (3000, 20)).cumsum(axis=1)
    train, unseen = unseen_halves(Corpus.from_texts([" ".join(f"w{k}" for k in row) for row in steps]), seed=0)
    kinds, lengths = ("model", "shuffled"), (5, 10, 15)
    trigram, unigram = (
        tuple(
            measure_bleu_run(model, unseen, kinds=kinds, lengths=lengths, sentence_length=20, n=500, seed=seed)
            for seed in range(4)
        )
        for model in (NgramModel(3).fit(train), PositionUnigram().fit(train))
    )
    results = replace(NOTHING, bleu={"wikitext2": {"Transformer-XL": trigram, "position unigram": unigram}})
    told = _verdicts(results)
    assert told["D2"] == told["D3"] == told["B3"] == "holds"
    table, columns = _ours(results, "table 2"), tuple(map(str, lengths))
    assert set(columns) < set(EXPOSURE_PAPER.tables["table 2"].columns), "beside the printed ones"
    own, shuffled, blind = (
        [table[row, column] or 0.0 for column in columns]
        for row in ("EB-bleu(TF)", "EB-bleu(TF|D_shuf)", "EB-bleu(U|D_shuf)")
    )
    assert [*own, *blind] == pytest.approx([1.0] * 6, abs=0.03)
    for row, kind in ((own, "model"), (shuffled, "shuffled")):
        assert row == pytest.approx(np.mean([run.scores["data"] / run.scores[kind] for run in trigram], axis=0))
    harm = np.subtract(shuffled, own)
    assert np.all(harm > 0)
    assert np.all(np.diff(harm) > 0)
    # a model that does not look at prefixes cannot be hurt: no verdict without a reason
    told = _verdicts(replace(results, bleu={"wikitext2": {"Transformer-XL": unigram}}))
    assert "holds" not in (told["D3"], told["B3"])


@pytest.mark.feature("EB-19")
def test_deviations_rise_from_prefixes_of_data_to_own_to_corrupted_ones() -> None:
    """An LSTM that learnt from a random one; each step is beyond the error, and the figure has the same values."""
    oracle = RandomLstm(100, length=10, seed=3)
    model = make_generator("lstm", preset="exposure-32", max_epochs=6, max_length=10, learning_rate=0.01, batch_size=32)
    model.fit(oracle.sample(2000, seed=0), oracle.sample(200, seed=1))
    kinds = ("data", "model", "corrupted:0.2", "corrupted:0.5")
    measured = measure_runs(model, oracle, kinds, range(10), 1000, n_runs=4, seed=5)
    runs = {kind: after_words(measured[kind]) for kind in kinds}
    results = replace(NOTHING, synthetic={"LSTM-512": {kind: tuple(measured[kind]) for kind in kinds}})
    assert _verdicts(results)["B7"] == "holds"
    table = _ours(results, "figure 3, LSTM-512")
    averages = [np.mean([run.means["tv"].mean() for run in runs[kind]]) for kind in kinds]
    assert [table[AVERAGE, kind] for kind in kinds] == pytest.approx(averages)
    for better, worse in pairwise(cgd_curve(runs[kind], "tv").average_interval for kind in kinds):
        assert better is not None
        assert worse is not None
        assert better.high < worse.low
    figure = next(one for one in exposure_figures(results) if one.name == "figure-3-cgd-lstm-512")
    assert isinstance(figure.plot, Curves)
    lines = {series.name: series for series in figure.plot.series}
    for kind in kinds:
        points = [point.y for point in lines[kind.replace(":", " ")].points]
        assert points == pytest.approx(np.mean([run.means["tv"] for run in runs[kind]], axis=0))
    # no exposure bias where the model's own prefixes are those of data, and no order
    same = dict.fromkeys(kinds, tuple(measured["data"]))
    assert _verdicts(replace(NOTHING, synthetic={"LSTM-512": same}))["B7"] != "holds"
