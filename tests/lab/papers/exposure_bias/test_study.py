"""The study of exposure bias: what is unseen, the whole of it on made-up text, and on real text (slow)."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from scipy import stats

from made_up import WORDS
from made_up_exposure import (
    MICRO,
    long_sentences,
    make_exposure_results,
    reproduction,
    write_exposure_texts,
    write_lines,
)
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate, Interval
from textassay.execution.threads import workers
from textassay.report.plots import Curves
from textassay_lab.exposure.bias import cgd_curve, eb_c
from textassay_lab.exposure.bleu import BleuRun, eb_bleu_of_runs
from textassay_lab.exposure.distance import DISTANCES
from textassay_lab.exposure.runs import PrefixRun
from textassay_lab.generator.saved import load_model
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.papers.exposure_bias.experiment import (
    BLEU_MODELS,
    CORRUPTION,
    DATA_MODEL,
    EXPOSURE_PAPER,
    OTHERS,
    RANDOM_ORACLE,
    TEST_SET,
    TEXTS,
    TranslationResults,
    read_exposure_texts,
)
from textassay_lab.papers.exposure_bias.findings import by_training, mean_of_trainings
from textassay_lab.papers.exposure_bias.results import ExposureStudy, exposure_tables
from textassay_lab.papers.paper import Network, Scale
from textassay_lab.papers.stages import Stage
from whose_values import assert_nothing_published_is_ours

MADE_UP = make_exposure_results()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_exposure_texts(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> ExposureStudy:
    made = _made(data, tmp_path_factory.mktemp("exposure"))
    with workers(2):
        assert made.compute(["train", "eb-c"]) > 0
        made.compute()
    return made


def _made(data: Path, out: Path, *, seed: int = 0, scale: Scale = MICRO) -> ExposureStudy:
    return ExposureStudy(read_exposure_texts(data, scale, seed=seed), scale, out, seed=seed)


def test_no_document_and_no_sentence_is_on_both_sides(data: Path) -> None:
    texts = read_exposure_texts(data, MICRO, seed=3)
    assert texts.missing == ()
    wiki = texts.free["wikitext2"]
    assert wiki.train.groups is not None
    assert wiki.valid.groups is not None
    assert wiki.unseen.groups is not None
    assert len(set(wiki.unseen.groups.tolist())) == 4
    assert set(wiki.unseen.lengths.tolist()) == set(wiki.train.lengths.tolist()) == {50}
    parts = (wiki.train, wiki.valid, wiki.unseen)
    documents = [set(part.groups.tolist()) for part in parts if part.groups is not None]
    assert sorted(document for part in documents for document in part) == list(range(1, 9))
    marks = {word for word in " ".join(wiki.train.texts).split() if word[1:].isdigit()}
    assert len(marks) == 3, "each document has a mark of its own"
    assert not any(marks & set(" ".join(part.texts).split()) for part in parts[1:])
    assert (wiki.sizes["documents"], wiki.sizes["lines left out"]) == (8, 24)
    assert "Title" not in wiki.form.vocabulary.tokens
    news = texts.free["emnlp_news"]
    assert not set(news.train.texts) & set(news.unseen.texts)
    yelp = texts.free["yelp"]
    assert not {*yelp.train.texts, *yelp.valid.texts} & set(yelp.unseen.texts)
    assert yelp.sizes["sentences left out: too short"] > 0
    assert set(yelp.train.lengths.tolist()) == {11}
    assert texts.pairs is not None
    assert len(texts.pairs.held) == 40
    assert len(texts.pairs.train) == 120


def test_what_is_not_there_is_said_or_refused_in_one_line(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has none of the folders wikitext2, emnlp_news, yelp, multi30k"):
        read_exposure_texts(tmp_path, MICRO, seed=0)
    with pytest.raises(InputError, match="no folder"):
        read_exposure_texts(tmp_path / "nowhere", MICRO, seed=0)
    (tmp_path / "emnlp_news").mkdir()
    with pytest.raises(InputError, match=r"lacks valid.txt, test.txt: add it"):
        read_exposure_texts(tmp_path, MICRO, seed=0)
    (tmp_path / "emnlp_news").rmdir()
    write_lines(tmp_path / "yelp" / "train.txt", ["too short"] * 9)
    with pytest.raises(TooFewSentencesError, match="0 sentences have 11 tokens"):
        read_exposure_texts(tmp_path, MICRO, seed=0)
    write_lines(tmp_path / "yelp" / "train.txt", long_sentences(40, 1))
    write_lines(tmp_path / "emnlp_news" / "valid.txt", long_sentences(40, 2))
    write_lines(
        tmp_path / "emnlp_news" / "test.txt", [*long_sentences(1, 3), *long_sentences(9, 2), *["too short"] * 9]
    )
    with pytest.raises(TooFewSentencesError, match="emnlp_news: 1 test sentences have 20 tokens, 2 are needed"):
        read_exposure_texts(tmp_path, MICRO, seed=0)
    shutil.rmtree(tmp_path / "emnlp_news")
    part = _made(tmp_path, tmp_path / "out")
    assert part.texts.missing == ("wikitext2", "emnlp_news", "multi30k")
    assert set(part.experiment.bleu) == {"yelp"}
    assert set(part.experiment.synthetic) == {RANDOM_ORACLE}
    assert part.experiment.translation == {}


@pytest.mark.slow
def test_the_whole_study(study: ExposureStudy) -> None:
    found = study.measured()
    assert set(found.bleu) == set(TEXTS)
    for text, models in found.bleu.items():
        assert set(models) == (set(BLEU_MODELS) if text == "wikitext2" else {"LSTM", "position unigram"})
        for runs in models.values():
            assert len(runs) == 2
            assert all(set(run.scores) == {"data", "model", "shuffled", "random"} for run in runs)
            assert not np.array_equal(runs[0].scores["data"], runs[1].scores["data"]), "runs draw anew"
    news = [found.bleu["emnlp_news"][model][0] for model in ("LSTM", "position unigram")]
    assert news[0].n_references == news[1].n_references == 20
    for model, kinds in found.synthetic.items():
        assert {"data", "model", "shuffled", "random"} <= set(kinds)
        assert all(run.lengths == tuple(range(20)) for runs in kinds.values() for run in runs)
        assert ("corrupted:0.5" in kinds) == (model == "LSTM-512")
        means = [run.means["tv"] for kind in ("data", "model") for run in kinds[kind]]
        assert np.ptp([mean[0] for mean in means]) == 0, "nothing was read yet"
        assert len({mean[5] for mean in means}) == 4, "fresh draws in each run, of each side"
        assert eb_c(kinds["data"], kinds["model"], "tv").values[0] == 1
    assert set(found.others) == set(OTHERS)
    for kinds in found.others.values():
        assert [(kind, run.n_sequences) for kind, runs in kinds.items() for run in runs] == [
            *(("data", 20), ("data", 20)),
            *(("model", 20), ("model", 20)),
        ]
    assert set(found.oracle_costs) == {"random LSTM", RANDOM_ORACLE, "RankGAN"}
    assert len({cost.value for cost in found.oracle_costs.values()}) == 3
    assert all(np.isfinite(cost.value) for cost in found.oracle_costs.values())
    fresh, test = ("samples of the data model", "EMNLP test set")
    for model, row in found.perplexity.items():
        assert set(row) == ({fresh} if model in (RANDOM_ORACLE, "RankGAN") else {fresh, test})
    assert set(found.perplexity) == {DATA_MODEL, "LSTM-512", "LSTM-32", "ScratchGAN", "CoT", RANDOM_ORACLE, "RankGAN"}
    assert found.translation is not None
    lines = ["source", "reference", "NORMAL", "DATA3", "UNREL3", "RAND3"]
    assert [sample.kind for sample in found.translation.samples] == 4 * lines
    _, reference, _, forced, *_ = found.translation.samples
    assert reference.continuation.startswith(forced.prefix)
    assert forced.prefix
    assert {title: len(lines) for title, lines in study.result().samples.items()} == {
        "Transformer-XL on wikitext2, as in tables 1 and 8": 16,
        "LSTM on emnlp_news, as in table 9": 12,
        "translation, as in table 5": 24,
    }


@pytest.mark.slow
def test_the_report_round_trips_and_the_same_again_computes_nothing(study: ExposureStudy, data: Path) -> None:
    result = study.result()
    json.dumps(result.to_dict(), allow_nan=False)
    folder = study.stages.folder_of(study.all_stages()[0]).parents[1]
    again = _made(data, folder)
    assert again.compute() == 0
    assert again.measured() is not study.measured()
    keys = {stage.key for stage in again.all_stages()}
    same = {stage.label for stage in _made(data, folder, seed=5).all_stages() if stage.key in keys}
    assert same == {"perplexity emnlp_news position unigram of unseen text"}, "nothing there is drawn"
    more = ExposureStudy(study.texts, MICRO, folder, runs=3)
    new = {stage.label for stage in more.all_stages() if stage.key not in keys}
    assert new
    assert all(label.endswith("run 3") for label in new), "runs that are there stay"
    with pytest.raises(OptionError, match="unknown stage 'ebc'"):
        again.compute(["ebc"])


def test_models_trained_several_times_have_seeds_and_draws_of_their_own(data: Path, tmp_path: Path) -> None:
    once, thrice = (
        _made(data, tmp_path, scale=MICRO.but(retrained=retrained, runs=3, bleu_runs=6)) for retrained in (False, True)
    )
    keys = {stage.key for stage in thrice.all_stages()}
    first = [stage for stage in once.all_stages() if stage.kind == "train"]
    assert {stage.key for stage in first} <= keys, "the first trainings are the same"
    seeds = [
        stage.settings["seed"] for stage in thrice.all_stages() if stage.kind == "train" and stage.settings.get("seed")
    ]
    assert len(set(seeds)) == len(seeds)
    for text, model in (("wikitext2", "Transformer-XL"), ("yelp", "LSTM")):
        runs = thrice.experiment.bleu[text][model]
        trained = [stage.inputs[0].key for stage in runs]
        assert len(runs) == 6
        assert len(set(trained)) == 3
        assert trained[:3] == trained[3:]
        assert len(thrice.experiment.held_out_perplexity[text][model]) == 3
    for models in (thrice.experiment.synthetic, thrice.experiment.others):
        for kinds in models.values():
            assert len({stage.inputs[0].key for stage in kinds["model"]}) == 3
            texts = {stage.inputs[0].inputs[0].key for stage in kinds["model"]}
            assert len(texts) == 3, "each learns from draws of its own"


def test_runs_of_one_training_are_averaged() -> None:
    runs = [
        BleuRun((5,), {"data": np.array([value])}, {"data": np.array([error])}, 10, 10)
        for value, error in ((0.1, 0.3), (0.2, 0.0), (0.3, 0.4), (0.6, 0.0))
    ]
    first, second = by_training(runs, 2)  # runs 1 and 3, 2 and 4
    assert first.scores["data"].item() == pytest.approx(0.2)
    assert first.errors["data"].item() == pytest.approx(0.25)
    assert second.scores["data"].item() == pytest.approx(0.4)


def test_the_interval_of_a_mean_over_trainings_covers_trainings_and_the_text() -> None:
    rng = np.random.default_rng(0)
    z = stats.norm.ppf(0.975)
    covered = 0
    for _ in range(2000):
        on_this_text = 100 + 2 * rng.normal()
        values = on_this_text + 3 * rng.normal(size=3)
        quantities = [Quantity(v, Interval(v - 2 * z, v + 2 * z, 0.95, "normal")) for v in values]
        interval = mean_of_trainings(quantities).interval
        assert interval is not None
        covered += interval.low <= 100 <= interval.high
    assert 0.945 <= covered / 2000 <= 0.99
    one = Quantity(3.0, None)
    assert mean_of_trainings([one]) is one
    assert mean_of_trainings([one, Quantity(5.0, None)]) == Quantity(4.0, None)


@pytest.mark.feature("EB-38")
def test_perplexities_and_bleu_of_trained_models_stand_beside_the_printed_ones(data: Path, tmp_path: Path) -> None:
    """Ours are those of the models that were trained, computed here again; they do not depend on what is printed."""
    made = _made(data, tmp_path, scale=MICRO.but(translation=Network("tiny", {"max_epochs": 20, "width": 32})))
    trained = {model: stages[0] for model, stages in made.experiment.held_out_perplexity["wikitext2"].items()}
    quality = made.experiment.translation["quality"]
    assert MADE_UP.translation is not None
    with workers(1):
        made.stages.compute([*trained.values(), quality])
    bleu = Estimate.from_dict(made.done(quality).result["bleu"])
    results = replace(
        MADE_UP,
        held_out_perplexity={
            "wikitext2": {
                model: Quantity(made.done(stage).result["perplexity"]["value"], None)
                for model, stage in trained.items()
            }
        },
        translation=TranslationResults(bleu, MADE_UP.translation.curves, ()),
    )
    tables = {table.id: {cell.row: cell for cell in table.cells} for table in exposure_tables(results)}

    def opened(stage: Stage) -> Any:
        return load_model(made.stages.folder_of(stage.inputs[0]) / "model").model

    unseen, pairs = made.texts.free["wikitext2"].unseen, made.texts.pairs
    assert pairs is not None
    costs = tables["perplexity, held-out"]
    for model, printed in (("LSTM", 34.80), ("Transformer-XL", 27.81)):
        nats = -opened(trained[model]).log_prob(unseen).sum() / (len(unseen.tokens) + len(unseen))
        assert costs[model].ours == pytest.approx(np.exp(nats), rel=1e-5)
        assert costs[model].published == printed
    cell = tables["BLEU of translation"]["translation model"]
    written = opened(quality).translations(pairs.test.source, width=10).texts
    peer = sacrebleu.corpus_bleu(written, [list(pairs.references)], lowercase=True)
    assert cell.ours == pytest.approx(peer.score)
    assert 0 < peer.score < 35.81 == cell.published
    assert_nothing_published_is_ours(lambda: reproduction(results))


@pytest.mark.feature("EB-23")
def test_figure_4_has_a_curve_for_each_model_with_the_jensen_shannon_divergence(data: Path, tmp_path: Path) -> None:
    study = _made(data, tmp_path, scale=MICRO.but(runs=1))
    planned = study.experiment
    measured = {
        model: {kind: kinds[kind][0] for kind in ("data", "model")}
        for model, kinds in {**planned.synthetic, **planned.others}.items()
    }
    with workers(1):
        study.stages.compute([stage for kinds in measured.values() for stage in kinds.values()])
    found = {
        model: {kind: (PrefixRun.from_dict(study.done(stage).result),) for kind, stage in kinds.items()}
        for model, kinds in measured.items()
    }
    synthetic, others = ({model: found[model] for model in models} for models in (planned.synthetic, planned.others))
    result = reproduction(replace(MADE_UP, synthetic=synthetic, others=others))
    plot = result.figures[1].plot
    assert isinstance(plot, Curves)
    assert plot.y.name == "EB-C, Jensen-Shannon"
    lines = {series.name: series for series in plot.series}
    news, random = "against the data model", "against the random LSTM"
    assert {name: plot.panels[line.panel] for name, line in lines.items()} == {
        **dict.fromkeys(("LSTM-512", "LSTM-32", "ScratchGAN", "CoT"), news),
        **dict.fromkeys((RANDOM_ORACLE, "RankGAN"), random),
    }
    for model, kinds in found.items():
        wanted = eb_c(kinds["data"], kinds["model"], "js").values[1:]
        assert [point.y for point in lines[model].points] == pytest.approx(wanted.tolist()), model
        assert [point.x for point in lines[model].points] == list(range(1, 20))
    trained = {stage.name: stage for stage in study.all_stages() if stage.kind == "two-sided"}
    before = study.experiment.synthetic[RANDOM_ORACLE]["model"][0].inputs[0]
    assert before in trained["RankGAN"].inputs, "its rounds go on from what it is compared with"
    draws = study.experiment.synthetic["LSTM-512"]["model"][0].inputs[0].inputs
    assert set(draws) == set(trained["ScratchGAN"].inputs) == set(trained["CoT"].inputs), "all learn from one text"


def test_models_are_trained_anew_for_each_run_where_asked(data: Path, tmp_path: Path) -> None:
    made = _made(data, tmp_path, scale=MICRO.but(retrained=True))
    trained = [stage.name for stage in made.all_stages() if stage.kind == "train" and "LSTM-512" in stage.name]
    assert sorted(trained) == ["LSTM-512", "LSTM-512 again 1"]
    runs = made.experiment.synthetic["LSTM-512"]["model"]
    assert not set(runs[0].inputs) <= set(runs[1].inputs)
    two_sided = sorted(stage.name for stage in made.all_stages() if stage.kind == "two-sided")
    assert two_sided == sorted(name for model in OTHERS for name in (model, f"{model} again 1"))


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_workers(data: Path, study: ExposureStudy, tmp_path: Path) -> None:
    made = _made(data, tmp_path)
    with workers(1):
        made.compute(["eb-bleu"])
    for stage in made.all_stages():
        if stage.kind == "eb-bleu":
            found = [each.stages.done(stage) for each in (made, study)]
            assert found[0] is not None
            assert found[1] is not None
            assert found[0].result == found[1].result


@pytest.mark.slow
def test_made_up_words_do_not_leave_the_machine_in_documents_of_measures(study: ExposureStudy) -> None:
    shown = ("switching", "translate")  # samples are text
    for stage in study.all_stages():
        if stage.kind not in shown:
            document = (study.stages.folder_of(stage) / "stage.json").read_text()
            assert not [word for word in WORDS if f'"{word}"' in document], stage.label


@pytest.mark.slow
@pytest.mark.feature("EB-16", "EB-24")
def test_on_real_news_what_the_paper_found_is_found_again(data_dir: Path, tmp_path: Path) -> None:
    large = Network("exposure-512", {"max_epochs": 4, "width": 256})
    scale = EXPOSURE_PAPER.scales["laptop"].but(
        name="test", lengths={"emnlp_news": (3, 10, 16)}, bleu_runs=2, runs=2, n_drawn=6000,
        n_random=500, n_sequences=2500, n_damaged=800, n_fresh=1000, data_model=large, lstm_512=large,
        lstm_32=Network("exposure-32", {"max_epochs": 3}),
    )  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "emnlp_news").symlink_to(data_dir / "emnlp_news")
    made = _made(tmp_path / "data", tmp_path / "out", scale=scale)
    with workers(2):
        made.compute()
    found = made.measured()
    runs = found.bleu["emnlp_news"]["LSTM"]
    own = eb_bleu_of_runs(runs, prefixes="model").values
    assert np.all((own > 0.97) & (own < 1.06)), own
    for model in ("LSTM-512", "LSTM-32"):
        kinds = found.synthetic[model]
        lengths = kinds["data"][0].lengths[1:]  # after no word at all, both sides are the same
        after = {kind: [run.at(lengths) for run in kinds[kind]] for kind in ("data", "model")}
        for distance in DISTANCES[:3]:
            rate = eb_c(after["data"], after["model"], distance).average
            assert abs(rate - 1) < 0.1, (model, distance, rate)
    kinds = found.synthetic["LSTM-512"]
    order = ("model", *(f"corrupted:{rate:g}" for rate in CORRUPTION[1:]))  # of the data: either side of the model
    deviations = [cgd_curve(kinds[kind], "tv").values[3:].mean() for kind in order]
    assert deviations == sorted(deviations), deviations
    costs = [found.perplexity[model][TEST_SET].value for model in (DATA_MODEL, "LSTM-512", "LSTM-32")]
    assert costs == sorted(costs), costs


@pytest.mark.slow
@pytest.mark.feature("EB-17")
def test_shuffled_prefixes_of_real_reviews_cost_more_than_own_ones_and_more_as_they_grow(
    data_dir: Path, tmp_path: Path
) -> None:
    """One word is the same in any order; from four on, order is lost. Six runs of one LSTM on all text, paired."""
    scale = EXPOSURE_PAPER.scales["laptop"].but(
        name="test", most={"yelp": None}, lengths={"yelp": (1, 4, 8)}, bleu_runs=6,
        n_bleu={"yelp": 10_000}, lstm=Network("small", {"max_epochs": 2}), retrained=False,
    )  # fmt: skip
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "yelp").symlink_to(data_dir / "yelp")
    made = _made(tmp_path / "data", tmp_path / "out", scale=scale)
    with workers(2):
        made.compute(["eb-bleu"])
    runs = [BleuRun.from_dict(made.done(stage).result) for stage in made.experiment.bleu["yelp"]["LSTM"]]
    own, mixed = (
        np.array([eb_bleu_of_runs([run], prefixes=kind).values for run in runs]) for kind in ("model", "shuffled")
    )
    assert stats.ttest_1samp((mixed - own)[:, 1:].mean(axis=1), 0, alternative="greater").pvalue < 0.05, (mixed, own)
    growth = mixed[:, 1:].mean(axis=1) - mixed[:, 0]
    assert stats.ttest_1samp(growth, 0, alternative="greater").pvalue < 0.05, mixed
