"""What is said of exposure bias: never more than the intervals support, in the units of people."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from documents import column_of
from next_word_table import random_table
from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import Vocabulary
from textassay.report.document import Paragraph
from textassay.report.files import document_files
from textassay.report.markdown import to_markdown
from textassay.report.plots import Curves
from textassay.report.terminal import print_document
from textassay_lab.exposure.bias import cgd_curve, eb_c, excess_error
from textassay_lab.exposure.bleu import BleuRun, eb_bleu_of_runs
from textassay_lab.exposure.distance import DISTANCES
from textassay_lab.exposure.document import exposure_document
from textassay_lab.exposure.exposure_bias import (
    ChosenLengths,
    Exposure,
    ExposureSettings,
    choose_lengths,
    measure_exposure,
)
from textassay_lab.exposure.runs import PrefixRun, summarised
from textassay_lab.generator.position_unigram_model import PositionUnigram
from textassay_lab.generator.prefixes import model_prefixes

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


def _verdicts(exposure: Exposure) -> list[str]:
    document = exposure_document(exposure)
    verdict = next(section for section in document.sections if section.title == "Verdict")
    rest = [part.text for part in verdict.parts if isinstance(part, Paragraph) and part.kind == "item"]
    return [*document.answer, *rest]


def _rule(exposure: Exposure) -> str:
    parts = exposure_document(exposure).parts()
    return next(part.text for part in parts if isinstance(part, Paragraph) and part.text.startswith("Rule: "))


def _text_of(exposure: Exposure) -> str:
    return dict(exposure_document(exposure).facts)["Text"]


def test_bias_is_said_where_the_interval_lies_above_one() -> None:
    told = _verdicts(_found([1.02, 1.03, 1.04]))
    assert told == [
        "By BLEU there is exposure bias: after 2 tokens of real text, the BLEU of the model's continuations is "
        "3.0 % [0.5, 5.5] higher than after its own text."
    ]
    assert "-4.0 % [-6.5, -1.5] higher" in _verdicts(_found([0.95, 0.96, 0.97]))[0]
    assert "but the opposite" in _verdicts(_found([0.95, 0.96, 0.97]))[0]


def test_effects_are_the_numbers_after_the_longest_prefix() -> None:
    effects = _found([1.02, 1.03, 1.04], own=[0.21, 0.212, 0.211]).effects
    assert list(effects) == ["EB-C", "EB-bleu", "excess error"]
    assert [effect.side for effect in effects.values()] == [1, 1, 1]
    assert [effect.length for effect in effects.values()] == [2, 2, 3]
    assert effects["EB-bleu"].value == pytest.approx(1.03)
    assert effects["EB-bleu"].n == 3 * 15
    assert _found([0.95, 0.96, 0.97]).effects["EB-bleu"].side == -1
    assert _found([0.99, 1.03, 1.04]).effects["EB-bleu"].side == 0
    assert replace(effects["EB-C"], interval=None).side == 0


def test_nothing_is_said_where_it_holds_one() -> None:
    told = _verdicts(_found([0.99, 1.03, 1.04]))[0]
    assert told.startswith("By BLEU it is not clear whether there is exposure bias: after 2 tokens of real text")
    assert "2.0 % [-4.6, 8.6] higher" in told
    assert re.search(r"; about \d+ more continuations of each kind would show a difference of 5.0 %.$", told)


def test_how_much_bias_there_may_be_is_said_where_it_is_little() -> None:
    told = _verdicts(_found([0.999, 1.001, 1.002, 1.0]))[0]
    assert told.startswith("By BLEU there is no exposure bias of more than 0.")
    assert "is not clear" not in told


def test_against_an_oracle() -> None:
    told = _verdicts(_found([1.0, 1.01], own=[0.21, 0.212, 0.211]))
    assert told[0].startswith("Against the oracle there is exposure bias: after 2 tokens of its own text, the model's")
    assert "farther from the oracle's than after real text (total variation)." in told[0]
    assert "errors accumulate 5." in told[-1]
    assert "faster" in told[-1]
    undefined = _found([1.0, 1.01], own=[0.2, 0.2])
    zero = _prefix_runs("data", [0.0, 0.0])
    for run in zero:
        run.means["tv"][:] = 0.0
    with pytest.warns(UserWarning, match="undefined"):
        undefined = replace(undefined, rates={"tv": {"model": eb_c(zero, zero, "tv")}})
    assert _verdicts(undefined)[0] == (
        "EB-C is undefined: in some run, the next-word distributions of model and oracle do not differ after real text."
    )
    assert "n/a" in to_markdown(exposure_document(undefined))


def test_a_ratio_without_an_interval_is_not_called_undefined() -> None:
    few = BleuRun((2,), {"data": np.array([0.3]), "model": np.array([0.4])},
                  {"data": np.array([np.nan]), "model": np.array([np.nan])}, 1, 1)  # fmt: skip
    lengths = replace(LENGTHS, lengths=(2,))
    found = replace(_found([1.0, 1.0]), bleu={"model": eb_bleu_of_runs([few])}, lengths=lengths)
    assert _verdicts(found) == ["There is no verdict on EB-bleu (0.750): there are too few texts for an interval."]
    none = replace(few, scores={"data": few.scores["data"], "model": np.zeros(1)})
    told = _verdicts(replace(found, bleu={"model": eb_bleu_of_runs([few, none])}))[0]
    assert told.startswith("EB-bleu is undefined: in some run, no word of the model's continuations")
    other = replace(found, bleu={"random": eb_bleu_of_runs([few])})
    assert _verdicts(other) == ["There is no verdict on exposure bias: no prefixes of the model were measured."]


def test_no_interval_of_a_ratio_reaches_below_zero() -> None:
    bounds = eb_bleu_of_runs(_bleu_runs([0.2, 2.0])).intervals[1]
    assert bounds is not None
    assert bounds.low == 0
    assert "[-100.0, " in _verdicts(_found([0.2, 2.0]))[0]


def test_the_table_of_accumulated_error_ends_where_the_verdict_does() -> None:
    found = _found([1.0, 1.01], own=[0.21, 0.212, 0.211])
    document = exposure_document(found)
    assert column_of(document, "excess-error", "tokens so far") == ["2", "3"]
    last = column_of(document, "excess-error", "excess, %")[-1]
    assert f"over the first 3 tokens, errors accumulate {last} %" in _verdicts(found)[-1].lower()


def test_bleu_has_the_same_decimals_after_every_kind() -> None:
    wide = _bleu_runs([0.9, 1.1])
    found = replace(_found([1.0, 1.01]), bleu={"model": eb_bleu_of_runs(wide), "random": eb_bleu_of_runs(wide)})
    exact = eb_bleu_of_runs(_bleu_runs([1.0, 1.0001]))
    found = replace(found, bleu={**found.bleu, "random": exact})
    document = exposure_document(found)
    cells = column_of(document, "eb-bleu-model", "C-bleu(data)")
    cells += [
        cell for kind in ("model", "random") for cell in column_of(document, f"eb-bleu-{kind}", f"C-bleu({kind})")
    ]
    assert len({len(cell.split()[0].partition(".")[2]) for cell in cells}) == 1
    fine = cgd_curve(_prefix_runs("model", [0.2, 0.2]), "tv")
    found = _found([1.0, 1.01], own=[0.15, 0.25])
    document = exposure_document(replace(found, cgd={"tv": {**found.cgd["tv"], "shuffled": fine}}))
    cells = [cell for kind in ("data", "model") for cell in column_of(document, "eb-c-tv", f"CGD({kind})")]
    cells += column_of(document, "cgd-tv", "CGD(shuffled)")
    assert len({len(cell.split()[0].partition(".")[2]) for cell in cells}) == 1


def test_where_all_sentences_are_long_enough_no_length_is_counted() -> None:
    whole = ChosenLengths((1, 2), 8, {1: 40, 2: 40, 8: 40}, 40, 40)
    assert "Of 40 sentences of the text all have 8 tokens or more" in _text_of(replace(_found([1.0]), lengths=whole))
    assert "40 have 1, 39 have 2, 30 have 8 tokens or more" in _text_of(_found([1.0]))


def test_one_run_is_shown_without_a_spread() -> None:
    found = _found([1.02], own=[0.21])
    console = Console(file=io.StringIO(), width=70)
    print_document(exposure_document(found), console)
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert "±" not in told.split("How to read it")[0]
    assert "Intervals are over the sentences of one run." in " ".join(told.split())
    assert "one run of 15 continuations" in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 70
    table = document_files(exposure_document(found))["exposure.csv"]
    assert str(table).startswith("measure,prefixes,distance,length,value,low,high")


def test_figures_hold_their_curves() -> None:
    figures = exposure_document(_found([1.02, 1.03, 1.04], own=[0.21, 0.212, 0.211])).figures
    assert [figure.name for figure in figures] == ["eb-bleu", "eb-c", "cgd-tv", "excess-error"]
    assert "1.000 at 1, 1.030 at 2" in figures[0].description
    for figure in figures:
        assert "tokens" in figure.svg
        assert ": :" not in figure.description
        assert ". :" not in figure.description
    assert ">1.02<" in figures[0].svg  # the axis reaches the values
    undefined = replace(_found([1.0, 1.01]), bleu={"model": eb_bleu_of_runs([replace(_bleu_runs([1])[0], scores={
        "data": np.zeros(2), "model": np.zeros(2)})])})  # fmt: skip
    assert exposure_document(undefined).figures == ()


def test_a_kind_of_prefixes_has_one_colour_in_all_figures() -> None:
    figures = exposure_document(_found([1.02, 1.03, 1.04], own=[0.21, 0.212, 0.211])).figures
    looks: dict[str, dict[str, tuple[str, int]]] = {}
    for figure in figures:
        assert isinstance(figure.plot, Curves)
        lines = figure.plot.series
        looks[figure.name] = {line.name.split(",")[0]: (line.colour, line.dashes) for line in lines}
    assert looks["eb-bleu"]["model"] == looks["cgd-tv"]["model"] != looks["cgd-tv"]["data"]


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
        n_accused += found.effects["EB-bleu"].side != 0
    assert n_accused <= 20  # of 200 at 5 %, 10 are expected; more than 20 have a chance of one in a thousand
