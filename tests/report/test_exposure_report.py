"""What is said of exposure bias: never more than the intervals support, in the units of people."""

import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from next_word_table import random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.vocabulary import Vocabulary
from textassay.exposure.bias import cgd_curve, eb_c, excess_error
from textassay.exposure.bleu import BleuRun, eb_bleu_of_runs
from textassay.exposure.distance import DISTANCES
from textassay.exposure.lengths import ChosenLengths, choose_lengths
from textassay.exposure.measurement import Exposure, ExposureSettings, measure_exposure
from textassay.exposure.runs import PrefixRun, summarised
from textassay.generator.position_unigram import PositionUnigram
from textassay.generator.prefixes import model_prefixes
from textassay.report.exposure_figures import draw_exposure
from textassay.report.exposure_files import exposure_csv, exposure_markdown
from textassay.report.exposure_text import render_exposure
from textassay.report.exposure_words import verdicts

LENGTHS = ChosenLengths((1, 2), 8, {1: 40, 2: 39, 8: 30}, 40, 30)


def _bleu_runs(ratios: Sequence[float]) -> list[BleuRun]:
    """Return runs whose EB-bleu after the longer prefixes are `ratios`, and 1 after the shorter ones."""
    error = np.full(2, 0.01)
    return [
        BleuRun((1, 2), {"data": np.array([0.3, 0.3 * ratio]), "model": np.array([0.3, 0.3])},
                {"data": error, "model": error}, 15, 15)
        for ratio in ratios
    ]  # fmt: skip


def _prefix_runs(kind: str, means: Sequence[float], lengths: Sequence[int] = (1, 2)) -> list[PrefixRun]:
    rng = np.random.default_rng(0)
    runs = []
    for mean in means:
        values = mean + 0.001 * rng.normal(size=(50, len(lengths)))
        runs.append(summarised({**dict.fromkeys(map(str, DISTANCES), values), "ties": 0 * values}, kind, lengths))
    return runs


def _found(ratios: Sequence[float], own: Sequence[float] = ()) -> Exposure:
    found = Exposure(
        "lstm", None, ExposureSettings(kinds=("model",), bleu_runs=len(ratios), distances=("tv",)), LENGTHS, 0.0,
        {"model": eb_bleu_of_runs(_bleu_runs(ratios))},
    )  # fmt: skip
    if not own:
        return found
    data, model = _prefix_runs("data", [0.2] * len(own)), _prefix_runs("model", own)
    every = [_prefix_runs("data", [0.2] * len(own), range(3)), _prefix_runs("model", own, range(3))]
    return replace(
        found,
        oracle="truth",
        cgd={"tv": {"data": cgd_curve(data, "tv"), "model": cgd_curve(model, "tv")}},
        rates={"tv": {"model": eb_c(data, model, "tv")}},
        ties={"data": 0.0},
        excess=excess_error(*every),
    )


def test_bias_is_said_where_the_interval_lies_above_one() -> None:
    told = verdicts(_found([1.02, 1.03, 1.04]))
    assert told == [
        "After 2 tokens of real text the model's continuations have a BLEU 3.0 % [0.5, 5.5] higher than after its own: "
        "exposure bias."
    ]
    assert "4.0 % [1.5, 6.5] lower" in verdicts(_found([0.95, 0.96, 0.97]))[0]
    assert "rather the contrary" in verdicts(_found([0.95, 0.96, 0.97]))[0]


def test_nothing_is_said_where_it_holds_one() -> None:
    told = verdicts(_found([0.99, 1.03, 1.04]))[0]
    assert told.startswith("No exposure bias is to be seen by BLEU: after 2 tokens of real text")
    assert "between 4.6 % lower and 8.6 % higher" in told
    assert "exposure bias." not in told


def test_against_an_oracle() -> None:
    told = verdicts(_found([1.0, 1.01], own=[0.21, 0.212, 0.211]))
    assert told[0].startswith("After 2 tokens of its own the model's next words are 5.")
    assert "farther from the oracle's than after real ones (total variation): exposure bias." in told[0]
    assert "errors pile up 5." in told[-1]
    assert "faster" in told[-1]
    undefined = _found([1.0, 1.01], own=[0.2, 0.2])
    zero = _prefix_runs("data", [0.0, 0.0])
    for run in zero:
        run.means["tv"][:] = 0.0
    with pytest.warns(UserWarning, match="undefined"):
        undefined = replace(undefined, rates={"tv": {"model": eb_c(zero, zero, "tv")}})
    assert verdicts(undefined)[0] == (
        "EB-C is undefined: after real words, the next words of model and oracle do not differ."
    )
    assert "n/a" in exposure_markdown(undefined, [])


def test_one_run_is_shown_without_a_spread() -> None:
    found = _found([1.02], own=[0.21])
    console = Console(file=io.StringIO(), width=70)
    render_exposure(found, console)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert "±" not in told.split("How to read it")[0]
    assert "Intervals are over the sentences of one run." in " ".join(told.split())
    assert "one run of 15 continuations" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 70
    assert exposure_csv(found).splitlines()[0].startswith("measure,prefixes,distance,length,value,low,high")


def test_figures_hold_their_curves() -> None:
    drawings = draw_exposure(_found([1.02, 1.03, 1.04], own=[0.21, 0.212, 0.211]))
    assert [drawing.subject for drawing in drawings] == ["eb-bleu", "eb-c", "cgd-tv", "excess-error"]
    assert "1.000 at 1, 1.030 at 2" in drawings[0].description
    for drawing in drawings:
        assert "tokens" in drawing.svg
    assert ">1.02<" in drawings[0].svg  # the axis reaches the values


@pytest.mark.slow
def test_a_model_without_exposure_bias_is_seldom_accused() -> None:
    """All runs share one text; a verdict of either direction should come in about one of twenty texts."""
    words = Vocabulary("abcdefghij")
    world = random_table(words, seed=1)

    def text(n: int, seed: int) -> Corpus:
        rows = model_prefixes(world, 8, n, seed=seed)
        return Corpus.from_texts([" ".join(words.decode(row)) for row in rows], vocabulary=words)

    model = PositionUnigram().fit(text(2000, 999))
    n_accused = 0
    for seed in range(200):
        real = text(300, seed)
        settings = ExposureSettings(kinds=("model",), n=150, bleu_runs=5, n_shown=0, seed=seed)
        found = measure_exposure(model, real, choose_lengths(real, [2], 8), settings)
        n_accused += not verdicts(found)[0].startswith("No exposure bias")
    assert n_accused <= 20  # of 200 at 5 %, 10 are expected; more than 20 have a chance of one in a thousand
