"""The study of judges: on made-up judgements whole, on the published ones as far as it is quick."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.discriminator.ngram_classifiers import RandomForestDiscriminator
from textassay.errors import InputError, OptionError
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric
from textassay.report.files import document_files
from textassay.report.plots import Forest
from textassay.storage import write_files
from textassay_lab.human.analysis import analyse
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.mechanical_turk import read_mechanical_turk
from textassay_lab.meta_evaluation.correlations import correlation
from textassay_lab.meta_evaluation.evaluation import Evaluation, majority_agreement
from textassay_lab.papers.document import reproduction_document
from textassay_lab.papers.judges.experiment import (
    GENERATORS,
    MEAN_WITH_ALL,
    METRICS,
    WITH_ALL,
    JudgedTexts,
    classifier_evaluation,
    classifier_stages,
    drawn_values,
    judged_texts,
    metric_evaluation,
    metric_stages,
    other_texts,
)
from textassay_lab.papers.judges.findings import BLEU_TRAIN, CLASSIFIERS, JUDGES_PAPER, OVERLAPS, PEOPLE
from textassay_lab.papers.judges.results import JudgesStudy, human_tables, markup_table
from textassay_lab.papers.reproduction import Reproduction
from textassay_lab.papers.stages import Done, Stage, Work
from whose_values import assert_nothing_published_is_ours

N = 40  # texts of each writer


def judgements(seed: int = 0) -> Judgements:
    """Return judgements of real texts and of three generators, by three raters who like SeqGAN least."""
    texts = {None: sentences(2 * N, 1), "SS": sentences(N, 2, shift=0.4), "mine": sentences(N, 3),
             "SeqGAN": shuffled(sentences(N, 4), 0)}  # fmt: skip
    passes = {None: 0.9, "SS": 0.6, "mine": 0.8, "SeqGAN": 0.2}
    items = tuple(
        Item(f"{name}:{k}", f"page {k % 10}", text, name)
        for name, lines in texts.items()
        for k, text in enumerate(lines)
    )
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(len(items)), 3)
    real = np.array([rng.random() < passes[items[k].generator] for k in place], dtype=np.float64)
    return Judgements(items, ("r", "s", "t"), place, np.tile(np.arange(3), len(items)), real, "real-or-fake")


SCALE = JUDGES_PAPER.scales["tiny"].but(partitions=2)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[JudgesStudy, Reproduction]:
    study = JudgesStudy(judgements(), SCALE, tmp_path_factory.mktemp("judges"), n_resamples=200)
    assert study.compute(["metric"]) == len(METRICS) + 4
    defaults: Any = RandomForestDiscriminator.__init__.__kwdefaults__
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(defaults, "n_trees", 20)  # as many as a forest needs to be one
        assert study.compute() == 2 * 5
    return study, study.result()


def test_nothing_published_is_called_ours(found: tuple[JudgesStudy, Reproduction]) -> None:
    """The generators are the paper's by name, and one is not; the values are all our own."""
    study, _ = found
    assert_nothing_published_is_ours(study.result)


@pytest.mark.feature("JJ-44")
def test_the_whole_study(found: tuple[JudgesStudy, Reproduction], tmp_path: Path) -> None:
    study, result = found
    json.dumps(result.to_dict(), allow_nan=False)
    tables = {table.id: table for table in result.tables}
    ranks = {(c.row, c.column): c.ours for c in tables["ranks"].cells if c.ours is not None}
    assert {row for row, _ in ranks} == {"Scheduled Sampling", "SeqGAN", "mine"}
    evaluators = {"H1", "H2", "SVM", "RF", "NB", "XGBoost", "SVM individual", "BLEU", "ROUGE", "METEOR", "CIDEr"}
    assert evaluators <= {column for _, column in ranks}
    for name in evaluators:
        assert sum(ranks[row, name] for row in ("Scheduled Sampling", "SeqGAN", "mine")) == 6
    assert [ranks[row, "H1"] for row in ("mine", "Scheduled Sampling", "SeqGAN")] == [1, 2, 3]
    overlaps = {(c.row, c.column): c.ours for c in tables["figures 4 and 10"].cells}
    for name in WITH_ALL:  # the table has the metric of all texts together, and people's agreement with it
        expected = measure(parse_metric(METRICS[name]), study.judged.generated["SeqGAN"], study.judged.real).value
        assert overlaps["SeqGAN", name] == expected
        assert name in tables["table 5"].rows
    assert overlaps["SeqGAN", MEAN_WITH_ALL] != overlaps["SeqGAN", WITH_ALL[0]]
    svm = next(c for c in tables["table 4"].cells if (c.row, c.column) == ("SeqGAN", "SVM"))
    assert svm.ours is not None
    assert svm.published == 56.2
    assert svm.spread is not None
    written = write_files(tmp_path, document_files(reproduction_document(result), stem="study"))
    assert {f"figure-{n}.svg" for n in (2, 3, 4, 5, 6, 7, 10, 12)} <= {path.name for path in written}
    memorised = next(one.plot for one in result.figures if one.name == "figure-12")
    assert isinstance(memorised, Forest)
    assert memorised.panels[0] == f"{BLEU_TRAIN}, published"
    assert {mark.style for row in memorised.rows for mark in row.marks if mark.panel == 0} == {"hollow diamond"}
    counts = {(c.row, c.column): (c.ours, c.published) for c in tables["table 2"].cells}
    assert counts["SeqGAN", "total"] == (N, 32_500)
    assert counts["SeqGAN", "D-train"] == (None, 22_750)
    assert counts["Google LM", "D-test"] == (None, 1_336)
    assert counts["mine", "D-test"] == (N, None)
    assert counts["(real)", "total"] == (2 * N, None)
    words = {word for line in sentences(2 * N, 1) for word in line.split() if len(word) > 4}
    contents = "".join(path.read_text(encoding="utf-8") for path in written)
    stages = "".join(path.read_text(encoding="utf-8") for path in tmp_path.parent.rglob("stage.json"))
    assert not [word for word in words if f" {word} " in contents or f" {word} " in stages], "text in a report"


@pytest.mark.slow
def test_the_same_again_computes_nothing_and_another_seed_does(found: tuple[JudgesStudy, Reproduction]) -> None:
    study, result = found
    again = JudgesStudy(judgements(), SCALE, study.stages.folder_of(study.all_stages()[0]).parents[1], n_resamples=200)
    assert again.compute() == 0
    assert again.result() == result
    keys = {stage.key for stage in again.all_stages()}
    others = JudgesStudy(judgements(), SCALE, Path("nowhere"), seed=5).all_stages()
    assert not keys & {stage.key for stage in others}
    votes = JudgesStudy(
        judgements(1), SCALE, Path("nowhere")
    ).all_stages()  # other votes: only what they choose changes
    assert {stage.name for stage in votes if stage.key not in keys} == {
        f"{name}, judged fake" for name in ("BLEU", "ROUGE", "METEOR", "CIDEr")
    }
    with pytest.raises(OptionError, match="unknown stage 'metrics': did you mean metric"):
        again.compute(["metrics"])


def test_refused_judgements() -> None:
    made = judgements()
    ratings = replace(made, value=made.value * 3, scale="number")
    with pytest.raises(InputError, match="not ratings"):
        judged_texts(ratings, votes=3)
    for keep in (np.array([item.generator is not None for item in made.items]), made.is_real):
        with pytest.raises(InputError, match="people and of at least two generators"):
            judged_texts(made.select(keep), votes=3)
    empty = replace(made, items=(replace(made.items[0], text=" "), *made.items[1:]))
    with pytest.raises(InputError, match="some items have none"):
        judged_texts(empty, votes=3)


def test_draws_of_rates_by_hand() -> None:
    made = judgements()
    judged = judged_texts(made, votes=3)
    names = tuple(judged.generated)
    people = [
        Evaluation.of_judgements(judged.judgements).select(names),
        Evaluation.of_judgements(judged.judgements, by="majority", votes=3).select(names),
    ]
    values = drawn_values(judged.judgements, people, {}, {}, votes=3, n_resamples=4000)
    votes = made.votes()
    right = np.where(made.is_real, votes[:, 1], votes[:, 0])
    h1 = [right.sum() / votes.sum(), *(right[side].sum() / votes[side].sum() for side in (made.is_real, ~made.is_real))]
    h2 = (right >= 2).mean(), (right >= 2)[made.is_real].mean(), (right >= 2)[~made.is_real].mean()
    assert values.rates["H1"][0] == pytest.approx(h1)
    assert values.rates["H2"][0] == pytest.approx(h2)
    p = h2[1]
    assert values.rates["H2"][1:, 1].std() == pytest.approx(np.sqrt(p * (1 - p) / (2 * N)), rel=0.06)
    expected = np.sqrt(sum(one.var() / N for one in (right[~made.is_real] >= 2).reshape(3, N)) / 9)
    assert values.rates["H2"][1:, 2].std() == pytest.approx(expected, rel=0.06)


@pytest.fixture(scope="module")
def published(data_dir: Path) -> JudgedTexts:
    return judged_texts(read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv"), votes=5)


def test_what_people_say_is_what_is_printed(published: JudgedTexts) -> None:
    tables = human_tables(analyse(published.judgements))
    assert tuple(published.generated) == GENERATORS
    n_cells = 0
    for table in tables:
        for cell in table.cells:
            if cell.published is not None:
                assert cell.ours == pytest.approx(cell.published, abs=0.005 if table.id == "figure 2" else 5.1e-5)
                n_cells += 1
    assert n_cells == 6 + 1 + 24
    rows = {(c.row, c.column): c.ours for c in tables[0].cells}
    assert rows["H2, all items, ties count as real", "(all)"] == pytest.approx(72.69, abs=0.005)


@pytest.mark.feature("JJ-43")
def test_marks_of_rare_words_are_not_equally_frequent_in_the_published_texts(published: JudgedTexts) -> None:
    table = markup_table(published, n_resamples=199, seed=0)
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    for row, printed, share in (("(real)", 2.5, 2.52), ("(generated)", 2.2, 3.57)):  # 2.2 holds without Google LM
        assert cells[row, "share"].published == printed
        assert cells[row, "share"].ours == pytest.approx(share, abs=0.005)
    percent = {name: round(cells[name, "share"].ours or 0.0, 2) for name in ("Google LM", "C2S", "SeqGAN", "gC2S")}
    assert percent == {"Google LM": 19.99, "C2S": 0.0, "SeqGAN": 4.25, "gC2S": 0.58}
    for name in GENERATORS:
        p, adjusted = cells[name, "p"].ours, cells[name, "p, adjusted"].ours
        assert p is not None
        assert adjusted is not None
        assert 1 / 200 <= p <= adjusted <= 1
        assert name not in percent or p == 1 / 200


@pytest.mark.feature("JJ-37")
def test_classifiers_turn_round_where_the_majority_is_the_truth(published: JudgedTexts, tmp_path: Path) -> None:
    stages = classifier_stages(published, JUDGES_PAPER.scales["tiny"], seed=0)
    people = Evaluation.of_judgements(published.judgements).select(GENERATORS)
    for name in ("SVM", "NB"):
        result = stages[name][0].run(Work(tmp_path, {}, lambda text: None))
        by_source = classifier_evaluation(name, [result])
        by_majority = majority_agreement(result["generated"], published.majority, name=name)
        taus = [correlation(one.goodness, people.goodness).value for one in (by_source, by_majority)]
        assert taus[0] < -0.4
        assert taus[1] > 0.3


@pytest.mark.feature("JJ-33")
def test_bleu_agrees_with_people(published: JudgedTexts, tmp_path: Path) -> None:
    result = metric_stages(published, seed=0)["BLEU"].run(Work(tmp_path, {}, lambda text: None))
    bleu, intervals = metric_evaluation("BLEU", result)
    for gold in PEOPLE:
        people = published.majority if gold == "H2" else Evaluation.of_judgements(published.judgements)
        assert correlation(bleu.goodness, people.select(GENERATORS).goodness).value > (0.6 if gold == "H1" else 0.5)
    assert all(low < value < high for value, (low, high) in zip(bleu.values, intervals.values(), strict=True))


def test_classifiers_learn_from_other_texts_and_judge_all() -> None:
    judged = judged_texts(judgements(), votes=3, train=sentences(100, 9))
    again = judged.generated["SeqGAN"].texts[0]
    generated = {
        "SS": sentences(64, 12, shift=0.4),
        "mine": sentences(64, 13),
        "SeqGAN": [*shuffled(sentences(64, 14), 1), again, f"  {again.upper()}"],
    }
    other = other_texts(judged, sentences(128, 11), generated)
    seen = {" ".join(text.lower().split()) for one in (judged.real, *judged.generated.values()) for text in one.texts}
    kept = [text for one in (other.real, *other.generated.values()) for text in one.texts]
    assert not seen & {" ".join(text.lower().split()) for text in kept}
    assert other.n_dropped == 128 + 3 * 64 + 2 - len(kept)
    assert other.n_dropped >= 2
    for parts in other.parts(0).values():
        assert not set(parts.train.texts) & set(parts.valid.texts)
        assert len(parts.valid) == pytest.approx((len(parts.train) + len(parts.valid)) / 8, abs=3)
    alone = classifier_stages(judged, SCALE, seed=0)["SVM"][0]
    stage = classifier_stages(judged, SCALE, seed=0, other=other)["SVM"][0]
    assert "trained on" not in alone.settings
    assert stage.key != alone.key
    result = stage.run(Work(Path("nowhere"), {}, lambda text: None))
    assert {name: len(scores) for name, scores in result["generated"].items()} == dict.fromkeys(judged.generated, N)
    assert len(result["real"]) == 2 * N
    assert "parts:given" in result["signature"].replace(" ", "").replace("=", ":")
    with pytest.raises(InputError, match=r"no texts of mine: each generator needs a file NAME.txt"):
        other_texts(judged, sentences(20, 11), {"SS": ["a b"], "SeqGAN": ["a b"]})


def test_bleu_against_the_training_text_is_measured_where_it_is_given() -> None:
    judged = judged_texts(judgements(), votes=3, train=sentences(100, 9))
    stages = metric_stages(judged, seed=0)
    plain = metric_stages(judged_texts(judgements(), votes=3), seed=0)
    assert set(stages) - set(plain) == {BLEU_TRAIN}
    assert all(stages[name].key == stage.key for name, stage in plain.items())
    value, _ = metric_evaluation(BLEU_TRAIN, stages[BLEU_TRAIN].run(Work(Path("nowhere"), {}, lambda text: None)))
    metric = parse_metric("bleu-train(order=4)", train=judged.train)
    assert value.values[0] == measure(metric, next(iter(judged.generated.values())), judged.real).value
    assert value.better == "higher"


@pytest.mark.feature("JJ-41")
def test_thirteen_evaluators_rank_twelve_generators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Outcomes are made up, so that all classifiers take part."""
    rng = np.random.default_rng(3)
    texts: dict[str | None, list[str]] = {None: sentences(24, 1)} | {
        name: sentences(6, 2 + k) for k, name in enumerate(GENERATORS)
    }
    items = tuple(Item(f"{name}:{k}", f"{k}", text, name) for name, own in texts.items() for k, text in enumerate(own))
    place = np.repeat(np.arange(len(items)), 3)
    votes = (rng.random(len(place)) < 0.5).astype(np.float64)
    made = Judgements(items, ("r", "s", "t"), place, np.tile(np.arange(3), len(items)), votes, "real-or-fake")
    study = JudgesStudy(
        made,
        JUDGES_PAPER.scales["laptop"].but(partitions=1, trials=0),
        tmp_path,
        n_resamples=40,
        train=sentences(30, 40),
    )

    def outcome(stage: Stage) -> dict[str, Any]:
        draws = np.random.default_rng(sum(map(ord, stage.label)))
        if stage.kind == "metric":
            rows = {name: draws.random(6) for name in GENERATORS}
            of = {name: {"value": v.mean(), "low": 0.0, "high": 1.0, "terms": v.tolist()} for name, v in rows.items()}
            return {"generators": of, "better": "higher", "signature": ""}
        rows = {name: draws.random(6).tolist() for name in GENERATORS}
        accuracies = {name: [0.5, 0.4, 0.6] for name in (*GENERATORS, "(all)", "(real)", "(generated)")}
        return {"real": [1.0] * 24, "generated": rows, "accuracies": accuracies, "signature": ""}

    monkeypatch.setattr(study, "done", lambda stage: Done(tmp_path, outcome(stage), 0.0, ()))
    result = study.result()
    evaluators = (*PEOPLE, *CLASSIFIERS, *OVERLAPS)
    assert len(evaluators) == 13
    ranks = {(c.row, c.column): c.ours for table in result.tables if table.id == "ranks" for c in table.cells}
    for name in evaluators:
        assert sum(ranks[generator, name] or 0 for generator in GENERATORS) == 12 * 13 / 2
    for name in OVERLAPS:
        values = metric_evaluation(name, outcome(study.metrics[name]))[0].values
        assert [ranks[generator, name] for generator in GENERATORS] == (-values).argsort().argsort().__add__(1).tolist()
    tables = {table.id: table for table in result.tables}
    assert all(cell.ours is not None for cell in tables["table 9"].cells)
    assert {cell.row for cell in tables["table 8"].cells if cell.ours is not None} >= {*PEOPLE, *CLASSIFIERS, *OVERLAPS}
    assert {one.verdict for one in result.findings if one.id == "K11"} == {"does not hold"}
    assert tables["figure 3"].rows[:12] == tables["figures 4 and 10"].rows == tables["table 6"].rows == GENERATORS
    assert set(tables["figure 11"].rows) == set(GENERATORS)
    for name in ("table 5", "figure 6"):
        assert set(tables[name].rows) >= {*CLASSIFIERS, *OVERLAPS}
        assert {"tau H1", "tau H2"} <= set(tables[name].columns)
    assert set(tables["table 7"].rows) == {*PEOPLE, *CLASSIFIERS, *OVERLAPS}
    figures = {one.name: one.plot for one in result.figures}
    assert list(figures) == [f"figure-{n}" for n in (2, 3, 4, 5, 6, 7, 10, 11, 12)]
    with_people = ("with H1", "with H2")
    panels = {
        "figure-2": ("all texts", "real", "generated"), "figure-3": ("H1", "H2", "LSTM", "SVM"), "figure-4": OVERLAPS,
        "figure-5": with_people, "figure-6": with_people, "figure-7": ("Self-BLEU", "lexical diversity"),
        "figure-10": OVERLAPS, "figure-11": ("LSTM", "SVM"), "figure-12": (BLEU_TRAIN, "Self-BLEU, turned"),
    }  # fmt: skip
    cells = {(table.id, c.row, c.column): c for table in result.tables for c in table.cells}
    for name, plot in figures.items():
        assert isinstance(plot, Forest)
        assert plot.panels == panels[name]
        rows = [row.name for row in plot.rows]
        if name in ("figure-5", "figure-6"):
            assert set(rows) >= {*CLASSIFIERS, *OVERLAPS}
        elif name == "figure-12":
            assert set(rows) >= set(evaluators)
        else:
            assert rows == list(PEOPLE if name == "figure-2" else GENERATORS)
    drawn = {
        (row.name, mark.panel): mark
        for row in vars(figures["figure-5"])["rows"]
        for mark in row.marks
        if mark.style != "hollow diamond"
    }
    for (row, panel), mark in drawn.items():
        cell = cells["table 5", row, f"tau {PEOPLE[panel]}"]
        assert (mark.value, mark.low, mark.high) == (cell.ours, cell.low, cell.high)
    sure = {
        name: {(row.name, mark.panel) for row in vars(plot)["rows"] for mark in row.marks if mark.style == "filled"}
        for name, plot in figures.items()
    }
    taus = {place: abs(mark.value or 0) for place, mark in drawn.items()}
    assert sure["figure-5"] == {place for place, tau in taus.items() if tau > 0.45}  # p <= .05 of twelve generators
    assert any(sure[name] for name in ("figure-5", "figure-6", "figure-12"))
