"""The study of GANs as language models: the whole of it on made-up text, what it goes on from, and real text (slow)."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from micro_gan import micro_scale, write_characters
from textassay.errors import InputError, TooFewSentencesError
from textassay.execution.threads import workers
from textassay_lab.adversarial.leakgan_model import LeakGanModel
from textassay_lab.adversarial.noise_gru import NoiseGru
from textassay_lab.approximation.approximation import approximate
from textassay_lab.generator.lstm_model import LstmModel
from textassay_lab.generator.saved import load_generator
from textassay_lab.generator.uniform import UniformGenerator
from textassay_lab.papers.gan_as_lm.experiment import (
    APPROXIMATE,
    EXACT,
    GAN_PAPER,
    LAST,
    LEAKGAN,
    LSTM,
    MLE,
    SEQGAN,
    UNIFORM,
    WGAN,
    WGAN_SOFT,
    GanResults,
    GanText,
    TextCost,
    checkpoints_of,
    choice_stage,
    evenly_spread,
    read_gan_text,
    rule_curves,
    text_costs,
)
from textassay_lab.papers.gan_as_lm.findings import mean_of
from textassay_lab.papers.gan_as_lm.results import GanStudy
from textassay_lab.papers.stages import Done, Stage, Work
from whose_values import assert_nothing_published_is_ours

MICRO = micro_scale()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> GanText:
    return read_gan_text(write_characters(tmp_path_factory.mktemp("characters")), MICRO)


@pytest.fixture(scope="module")
def study(text: GanText, tmp_path_factory: pytest.TempPathFactory) -> GanStudy:
    """Return the study, computed."""
    found = GanStudy(text, MICRO, tmp_path_factory.mktemp("study"))
    with workers(2):
        found.compute()
    return found


@pytest.fixture(scope="module")
def results(study: GanStudy) -> GanResults:
    return study.measured()


def test_nothing_published_is_called_ours(study: GanStudy) -> None:
    assert_nothing_published_is_ours(study.result)


@pytest.mark.feature("LM-14")
def test_series_by_checkpoint_and_by_window_are_those_of_the_models_that_were_kept(
    study: GanStudy, results: GanResults
) -> None:
    assert {name: [list(rounds) for rounds in runs] for name, runs in results.along.items()} == {
        name: [[0, 1, 2], [0, 1, 2]] for name in (SEQGAN, LEAKGAN)
    }
    for run, rounds in enumerate(results.along[SEQGAN]):
        before, after = results.costs[MLE][run], results.costs[SEQGAN][run]
        assert rounds[0].sums["exact"] == pytest.approx(before.sums["exact"])  # nothing was trained yet
        assert rounds[2].sums["exact"] == pytest.approx(after.sums["exact"])
        assert rounds[1].sums["exact"] != rounds[0].sums["exact"]
        stage = study.experiment.along[SEQGAN][run][1].inputs[0]
        model = load_generator(study.stages.folder_of(stage) / "1").model
        assert isinstance(model, LstmModel)
        alone = approximate(model, study.text.test, mode="exact", window=MICRO.window)
        assert alone.exact is not None
        assert rounds[1].mean("exact") == pytest.approx(alone.exact.value)
    assert set(results.lengths) == {LSTM, MLE, SEQGAN, LEAKGAN, WGAN, WGAN_SOFT}
    for title, windows in results.lengths.items():
        assert list(windows) == [1, 7, 14]
        for window, runs in windows.items():
            assert {run.window for run in runs} == {window}
            assert {run.n_characters for run in runs} == {280}, "not the same text"
            assert len(runs) == (2 if title in (MLE, SEQGAN, LEAKGAN) else 1)
    tables = {table.id: table for table in study.result().tables}
    assert tables["windows"].rows == ("1 characters", "7 characters", "14 characters")
    assert tables["along training of SeqGAN"].rows == ("after 0 rounds", "after 1 rounds", "after 2 rounds")


@pytest.mark.feature("LM-16")
@pytest.mark.parametrize("model", [WGAN, WGAN_SOFT])
def test_the_window_of_the_gan_is_that_of_the_lowest_validation_bpc_and_told(
    study: GanStudy, results: GanResults, text: GanText, model: str
) -> None:
    runs = results.on_validation[model].items()
    bits = {window: np.mean([run.mean("corrected") for run in costs]) for window, costs in runs}
    window = min(bits, key=bits.__getitem__)
    assert list(bits) == [1, 7, 14]
    assert study.done(study.experiment.choices[model]).result == {"window": window}
    assert {run.window for run in results.costs[model]} == {window}
    stage = study.experiment.costs[model][0]
    gan = load_generator(study.stages.folder_of(stage.inputs[0]) / "model").model
    part, mode, seed = evenly_spread(text.test, MICRO.n_noise, 14), stage.settings["mode"], stage.settings["seed"]
    alone = text_costs(gan, part, window=window, mode=mode, sizes=[MICRO.n_samples], floor=1e-20, seed=seed)
    assert results.costs[model][0].mean("plain") == pytest.approx(alone[MICRO.n_samples].mean("plain"))
    table = next(table for table in study.result().tables if table.id == "windows")
    assert f"{model}: windows of {window} cost least on validation text, corrected, and are those of" in table.note
    listed = {cell.row: cell.ours for cell in table.cells if cell.column == f"{model}, validation text"}
    assert listed == {f"{one} characters": pytest.approx(value) for one, value in bits.items()}


@pytest.mark.feature("LM-16")
def test_no_test_text_is_read_before_the_window_is_chosen(study: GanStudy, text: GanText, tmp_path: Path) -> None:
    other = GanStudy(replace(text, test=text.train), MICRO, tmp_path)
    other.compute(["choice"])
    another = GanStudy(replace(text, valid=text.train), MICRO, tmp_path)
    tests = {text.test.fingerprint, evenly_spread(text.test, MICRO.n_noise, 14).fingerprint}
    for model, choice in study.experiment.choices.items():
        before, waiting = set(), [choice]
        while waiting:
            before.add(stage := waiting.pop())
            waiting.extend(stage.inputs)
        assert {stage.kind for stage in before} == {"choice", "validation", "wgan"}
        assert all(stage.settings.get("text") not in tests for stage in before)
        measured = study.experiment.costs[model][0]
        assert choice in measured.inputs
        assert measured.settings["text"] in tests
        assert choice in study.experiment.rules[model].inputs
        assert other.experiment.choices[model].key == choice.key
        assert other.done(other.experiment.choices[model]).result == study.done(choice).result
        assert other.experiment.costs[model][0].key != measured.key
        assert another.experiment.choices[model].key != choice.key


@pytest.mark.feature("LM-16")
def test_the_window_of_least_cost_on_average_over_runs_is_chosen(tmp_path: Path) -> None:
    bits = {7: (3.0, 5.1), 1: (2.0, 7.0), 4: (3.9, 4.1)}  # 1 and 7 are each least in a run
    costs = {one: [Stage("validation", f"{one} {run}", {}, print) for run in (0, 1)] for one in bits}
    inputs = {}
    for window, stages in costs.items():
        for stage, value in zip(stages, bits[window], strict=True):
            cost = TextCost(window, 40, 1e-20, 0.0, (1,), {"corrected": (value,)})
            inputs[stage] = Done(tmp_path, {"40": asdict(cost)}, 0.0, ())
    choice = choice_stage("window", costs)
    assert set(choice.inputs) == set(inputs)
    assert choice.run(Work(tmp_path, inputs, print)) == {"window": 4}


@pytest.mark.feature("LM-13")
def test_table_1_has_the_literature_and_the_uniform_row_computed(study: GanStudy, results: GanResults) -> None:
    table = study.result().tables[0]
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    assert table.id == "table 1"
    literature = {row: cells[row, EXACT].published for row in table.rows[:6]}
    assert literature == {
        "mLSTM + dynamic evaluation": 1.19,
        "Large mLSTM + emb + WN + VD": 1.27,
        "Large RHN": 1.27,
        "LayerNorm HM-LSTM": 1.29,
        "BN LSTM": 1.36,
        "Unregularised mLSTM": 1.40,
    }
    assert cells[WGAN, APPROXIMATE].published == 3.31
    n_types = len(set(study.text.train.texts[0]))
    assert results.n_types == n_types
    assert cells[UNIFORM, EXACT].ours == pytest.approx(math.log2(n_types))
    assert cells[UNIFORM, EXACT].published == 4.75
    assert cells[SEQGAN, APPROXIMATE].ours == pytest.approx(mean_of(results.costs[SEQGAN], "plain").value)
    assert cells[SEQGAN, APPROXIMATE].spread is not None
    assert "windows of 50 characters" in cells[SEQGAN, APPROXIMATE].differs
    window = results.costs[WGAN][0].window
    assert f"windows of {window} characters" in cells[WGAN, APPROXIMATE].differs
    assert "66.44 bits" in table.note


@pytest.mark.feature("LM-13")
def test_the_uniform_generator_costs_log2_of_27_by_algorithm_1(text: GanText) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz "
    form = type(text.form).learn([letters], tokenizer="chars")
    corpus = form.corpus(["the quick brown fox jumps over the lazy dog " * 20])
    settings = {"window": 7, "mode": "onehot", "sizes": [2000], "floor": 1e-20, "seed": 0}
    cost = text_costs(UniformGenerator(form.vocabulary), corpus, **settings)[2000]  # type: ignore[arg-type]
    bias = 26 / (2 * 2000 * math.log(2))  # second order; 0.0094 bits
    spread = math.sqrt(26 / 2000 / cost.n_characters) / math.log(2)
    assert abs(cost.mean("plain") - math.log2(27) - bias) < 4 * spread
    assert abs(cost.mean("corrected") - math.log2(27)) < 4 * spread
    assert round(math.log2(27), 2) == GAN_PAPER.tables["table 1"].column(EXACT)[UNIFORM]


def test_costs_are_those_of_the_command(study: GanStudy) -> None:
    model = load_generator(study.stages.folder_of(study.experiment.costs[LSTM][0].inputs[0]) / "model").model
    gan = load_generator(study.stages.folder_of(study.experiment.costs[WGAN][0].inputs[0]) / "model").model
    assert isinstance(gan, NoiseGru)
    part = evenly_spread(study.text.test, 140, 14)
    assert len(part.tokens) == 140
    for generator, mode in ((model, "multinomial"), (gan, "onehot"), (gan, "soft")):
        told = approximate(generator, part, mode=mode, window=7, n_samples=100, seed=5)
        sizes = [point.n_samples for point in told.curve]
        found = text_costs(generator, part, window=7, mode=mode, sizes=sizes, floor=1e-20, seed=5)  # type: ignore[arg-type]
        assert told.plain is not None
        assert found[100].mean("plain") == pytest.approx(told.plain.value)
        assert [found[point.n_samples].mean("corrected") for point in told.curve] == pytest.approx(
            [point.corrected for point in told.curve]
        )
        interval = mean_of([found[100]], "plain").condition().interval(0.95)
        assert told.plain.interval is not None
        assert interval == pytest.approx((told.plain.interval.low, told.plain.interval.high))
        assert TextCost(**json.loads(json.dumps(asdict(found[100])))) == found[100]


def test_parts_of_the_stopping_rule_are_other_text(study: GanStudy, text: GanText) -> None:
    curves = rule_curves(
        UniformGenerator(text.form.vocabulary), text.test, window=7, mode="onehot", n_samples=100, n_rows=3, n_parts=4,
        seed=0,
    )  # fmt: skip
    assert [curve.n_positions for curve in curves] == [21] * 4
    assert len({curve.differences for curve in curves}) == 4


def test_the_report_holds_every_table_and_comes_back_from_json(study: GanStudy) -> None:
    found = study.result()
    json.dumps(found.to_dict(), allow_nan=False)
    assert [table.id for table in found.tables] == [
        *(
            "table 1",
            "approximation",
            "windows",
            "along training of SeqGAN",
            "along training of LeakGAN",
            "figure 2",
            "stopping rule",
            "bound",
        )
    ]
    bound = {cell.row: cell for cell in found.tables[-1].cells}
    assert bound["gamma 0.001, epsilon 0.01, 27 types"].ours == 4_297_078
    assert [figure.name for figure in found.figures] == ["figure-2-error-against-n"]


@pytest.mark.feature("LM-12")
def test_leakgan_runs_through_algorithm_1_and_is_listed(study: GanStudy, results: GanResults) -> None:
    stage = study.experiment.costs[LEAKGAN][1].inputs[0]
    model = load_generator(study.stages.folder_of(stage) / LAST).model
    assert isinstance(model, LeakGanModel)
    asked = {"window": MICRO.window, "n_samples": MICRO.n_samples, "floor": MICRO.floor}
    # explicit passes: what is drawn after each gold history, counted
    passes = approximate(model, study.text.test, mode="onehot", seed=3, **asked)
    cost = results.costs[LEAKGAN][1]
    assert passes.plain is not None
    assert passes.corrected is not None
    alone = mean_of([cost], "plain")
    assert passes.plain.value == pytest.approx(alone.value, abs=0.1 * cost.mean("plain"))
    assert passes.corrected.value == pytest.approx(cost.mean("exact"), abs=0.05)
    assert cost.mean("exact") < cost.mean("plain")
    cells = {(cell.row, cell.column): cell for cell in study.result().tables[0].cells}
    listed = cells[LEAKGAN, APPROXIMATE]
    assert listed.ours == pytest.approx(np.mean([run.mean("plain") for run in results.costs[LEAKGAN]]))
    assert listed.published is None, "the paper gives no number"
    assert cells[LEAKGAN, EXACT].ours == pytest.approx(np.mean([run.mean("exact") for run in results.costs[LEAKGAN]]))
    judged = [one for one in study.result().findings if one.id == "G3, LeakGAN"]
    assert [one.about for one in judged] == ["ours, windows of 50", "ours, windows of 7"]
    assert all(one.verdict != "not measured" for one in judged)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind", "at"), [(SEQGAN, "rounds", "round 2 "), (LEAKGAN, "leakgan", "adversarial, round 1 ")]
)
def test_a_stopped_study_goes_on_to_the_same_numbers(
    text: GanText, results: GanResults, tmp_path: Path, model: str, kind: str, at: str
) -> None:
    class StopHereError(Exception):
        """Thrown where a run is to end."""

    def stop(label: str, done: int, total: int) -> None:
        if label.startswith(f"{kind} ") and at in label:
            raise StopHereError

    broken = GanStudy(text, MICRO, tmp_path, progress=stop)
    with workers(1), pytest.raises(StopHereError):
        broken.compute([kind])
    assert list(tmp_path.glob(f"stages/{kind}-*/rounds.safetensors"))
    again = GanStudy(text, MICRO, tmp_path)
    with workers(1):
        again.compute(["along"])
    kept = again.read(again.experiment.along[model][0], lambda kept: TextCost(**next(iter(kept.values()))))
    assert kept == results.along[model][0]
    assert again.compute(["along"]) == 0


def test_checkpoints_are_spread_and_hold_both_ends() -> None:
    assert checkpoints_of(150, 6) == (0, 25, 50, 75, 100, 125, 150)
    assert checkpoints_of(8, 3) == (0, 2, 4, 6, 8)
    assert checkpoints_of(7, 2) == (0, 3, 6, 7)
    assert checkpoints_of(0, 2) == (0,)
    for scale in GAN_PAPER.scales.values():
        assert all(max(scale.windows) % window == 0 for window in scale.windows), "windows would cross stretches"
        assert scale.runs >= 3


def test_text_in_one_file_is_parted_and_what_is_short_or_not_there_is_said(tmp_path: Path) -> None:
    folder = write_characters(tmp_path / "text")
    whole = tmp_path / "text8"
    whole.write_text((folder / "train.txt").read_text(encoding="utf-8")[:10_000], encoding="utf-8")
    found = read_gan_text(whole, MICRO)
    assert found.sizes["train characters"] == 6000  # the scale's; of 9000
    assert found.sizes["valid characters"] == found.sizes["test characters"] == 500
    read = whole.read_text(encoding="utf-8")
    assert found.test.texts[0] == read[9500:]
    whole.write_text(read[:2000], encoding="utf-8")
    with pytest.raises(TooFewSentencesError, match="test has 100 characters, the scale micro needs at least"):
        read_gan_text(whole, MICRO.but(window=80))
    (folder / "valid.txt").unlink()
    with pytest.raises(InputError, match=r"lacks valid\.txt"):
        read_gan_text(folder, MICRO)
    with pytest.raises(InputError, match="nowhere"):
        read_gan_text(tmp_path / "nowhere", MICRO)


@pytest.mark.feature("LM-08")
def test_each_adversarial_training_costs_bits_and_approximate_bpc_is_above_exact(
    data_dir: Path, tmp_path: Path
) -> None:
    scale = GAN_PAPER.scales["tiny"].but(runs=2)
    study = GanStudy(read_gan_text(data_dir / "wiki_chars", scale), scale, tmp_path)
    with workers(2):
        study.stages.compute([stage for rounds in study.experiment.along[SEQGAN] for stage in rounds.values()])
    runs = [study.read(rounds, lambda kept: TextCost(**kept["2000"])) for rounds in study.experiment.along[SEQGAN]]
    first, last = ([rounds[number] for rounds in runs] for number in (0, scale.seqgan.rounds["rounds"]))
    assert len(runs) == 2
    assert all(after.mean("exact") > before.mean("exact") for before, after in zip(first, last, strict=True))
    for cost in (*first, *last):
        assert cost.mean("exact") < cost.mean("plain") < math.log2(27)
        assert np.isclose(cost.mean("plain", "-exact"), cost.mean("expected"), atol=0.04)
