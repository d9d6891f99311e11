"""The bench: its cells against what the estimators say alone, resuming, and what an interruption costs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from tabled import Tabled, corpus_of, toy
from textassay.corpus.corpus import Corpus
from textassay.discriminator.logistic import PlainLogistic
from textassay.errors import InputError, OptionError
from textassay.inspection.dependence import Examined
from textassay.metric.base import Metric
from textassay.metric.discrepancy import dd
from textassay_lab.meta_evaluation.bench import Bench, parse_estimator, run_bench
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair, known_truth_pairs

TEXT = corpus_of(sentences(300, 1))
NAMES = ("identical-2", "order-2-of-4")


def _run(estimators: str = "plain,bleu(order=2)", folder: Path | None = None, **settings: Any) -> Bench:
    return run_bench(
        {"made-up": TEXT},
        [parse_estimator(name) for name in estimators.split(",")],
        **{"pair_names": NAMES, "sizes": (60,), "n_truth": 500, "seeds": (3,), "folder": folder, **settings},
    )


def _same(one: Bench, other: Bench) -> bool:
    return [replace(c, seconds=0, cpu_seconds=0) for c in one.cells] == [
        replace(c, seconds=0, cpu_seconds=0) for c in other.cells
    ]


def test_a_cell_is_what_the_estimator_says_of_the_draw() -> None:
    found = _run(sizes=(60, 80), seeds=(3, 4))
    assert len(found.cells) == 2 * 2 * 2 * 2
    assert [(c.seed, c.world, c.n, c.estimator) for c in found.cells[:3]] == [
        (3, "identical-2", 60, "plain"),
        (3, "identical-2", 60, "bleu(order=2)"),
        (3, "identical-2", 80, "plain"),
    ]
    world = known_truth_pairs(TEXT, 4, ["order-2-of-4"])[0]
    real, generated = world.sample(80, seed=4)
    expected = dd(generated, real, discriminator=PlainLogistic(), seed=4)
    cell = found.cells[-2]
    assert (cell.estimator, cell.world, cell.metric, cell.better) == ("plain", "order-2-of-4", "dd", "lower")
    assert expected.interval is not None
    assert (cell.value, cell.low, cell.high) == (expected.value, expected.interval.low, expected.interval.high)
    assert cell.bound == expected.details["certified_bound"]["value"]
    assert cell.chosen == expected.details["chosen"]
    truth = world.truth(500, seed=4)
    assert (cell.truth, cell.truth_low, cell.truth_high) == (truth.value, truth.interval.low, truth.interval.high)
    assert cell.share == expected.value / truth.value
    assert found.cells[0].share is None
    assert cell.seconds > 0


def test_truths_of_other_sizes_are_kept_apart(tmp_path: Path) -> None:
    for n_truth in (500, 900):
        assert _same(_run("plain", tmp_path, n_truth=n_truth), _run("plain", n_truth=n_truth))


def test_what_is_kept_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run("plain", tmp_path)
    measured: list[str] = []
    measure = Metric.estimate_examined

    def counted(metric: Any, *arguments: Any, **settings: Any) -> Any:
        measured.append(metric.name)
        return measure(metric, *arguments, **settings)

    monkeypatch.setattr(Metric, "estimate_examined", counted)
    assert _run("plain", tmp_path) == first
    assert measured == []
    assert len(_run("plain,bleu(order=2)", tmp_path).cells) == 4
    assert measured == ["bleu(order=2)"] * 2
    _run("plain", tmp_path, seeds=(5,))
    assert len(measured) == 4


def test_what_was_kept_of_other_settings_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run("plain", tmp_path, pair_names=NAMES[:1])
    monkeypatch.setattr(PlainLogistic, "features", "others")
    n_before = len(list(tmp_path.iterdir()))
    _run("plain", tmp_path, pair_names=NAMES[:1])
    assert len(list(tmp_path.iterdir())) == n_before + 1


def test_an_interruption_costs_the_running_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = Metric.estimate_examined
    done: list[str] = []

    def interrupted(metric: Any, *arguments: Any, **settings: Any) -> Any:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(metric.name)
        return measure(metric, *arguments, **settings)

    monkeypatch.setattr(Metric, "estimate_examined", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _run(folder=tmp_path)
    done.clear()
    whole = _run(folder=tmp_path)
    assert len(done) == 1
    monkeypatch.undo()
    assert _same(whole, _run())


def test_log_probabilities_are_given_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[bool, bool]] = []
    measure = Metric.estimate_examined

    def watched(metric: Any, texts: Examined, **settings: Any) -> Any:
        given.append((bool(texts.real.columns), bool(texts.generated.columns)))
        return measure(metric, texts, **settings)

    monkeypatch.setattr(Metric, "estimate_examined", watched)
    found = _run("bleu(order=2),bleu(order=2)+log-probs", pair_names=NAMES[:1])
    assert given == [(False, False), (True, True)]
    assert [cell.estimator for cell in found.cells] == ["bleu(order=2)", "bleu(order=2)+log-probs"]


def test_what_estimators_learn_from_is_what_dd_is_given() -> None:
    names = "quick,quick+train,quick+log-probs+train,bleu(order=2)"
    found = _run(names, pair_names=("learnt-3-0.5",), n_generated=90, n_fit_real=70)
    world = known_truth_pairs(TEXT, 3, ["learnt-3-0.5"])[0]
    real, generated = world.sample(60, seed=3, n_generated=90)
    assert (len(real), len(generated)) == (60, 90)
    more, train = world.more_real(70, seed=3), world.train
    assert train is not None
    assert len(train) == 150
    scored = [world.with_log_probs(side) for side in (real, generated, more)]
    expected = [
        dd(generated, real, effort="quick", seed=3, fit_real=more),
        dd(generated, real, effort="quick", seed=3, fit_real=more, trained_on=train),
        dd(scored[1], scored[0], effort="quick", seed=3, fit_real=scored[2], trained_on=train),
    ]
    assert [cell.value for cell in found.cells[:3]] == [estimate.value for estimate in expected]
    assert [(cell.n, cell.n_generated, cell.n_fit_real) for cell in found.cells] == [(60, 90, 70)] * 3 + [(60, 90, 0)]
    assert "log_probs:generated" in str(expected[2].signature)


def test_worlds_without_a_training_text_are_named_where_it_is_asked_for() -> None:
    found = _run("quick,quick+train", pair_names=("disjoint", "identical-2"), seeds=(3, 4))
    assert found.untrained == ("disjoint",)
    assert [(cell.world, cell.estimator) for cell in found.cells[:3]] == [
        ("disjoint", "quick"),
        ("identical-2", "quick"),
        ("identical-2", "quick+train"),
    ]


def test_what_is_kept_is_of_the_same_texts(tmp_path: Path) -> None:
    settings: list[dict[str, Any]] = [{}, {"n_generated": 90}, {"n_fit_real": 70}, {"n_generated": 60}]
    for each in settings:
        assert _same(_run("quick,quick+train", tmp_path, **each), _run("quick,quick+train", **each))
    assert len(list(tmp_path.iterdir())) == 2 + 2 * 2 * 3  # truths, and cells: 60 generated ones are the usual ones


def test_other_worlds_join_and_wrong_log_probabilities_are_refused() -> None:
    def right(_: Corpus, seed: int) -> Sequence[KnownTruthPair]:
        return [KnownTruthPair("toy", "toy", "toy", *toy())]

    cell = _run("plain", pair_names=(), extra=right).cells[0]
    assert (cell.world, cell.kind) == ("toy", "toy")
    assert cell.truth == pytest.approx(0.56, abs=0.08)

    def wrong(_: Corpus, seed: int) -> Sequence[KnownTruthPair]:
        p, q = toy()
        liar = Tabled({text: 2 * share for text, share in q.table.items()}, p.vocabulary, drawn_by=q.table)
        return [KnownTruthPair("liar", "toy", "toy", p, liar)]

    with pytest.raises(InputError, match="estimates of the discrepancy of liar must agree"):
        _run("plain", pair_names=(), extra=wrong, n_truth=5000)


@pytest.mark.parametrize(
    ("name", "metric", "log_probs"),
    [
        ("plain", "dd(discriminator=plain)", False),
        ("logistic+log-probs", "dd(discriminator=logistic)", True),
        (" cnn ", "dd(discriminator=cnn)", False),
        ("cnn-paper", "dd(discriminator=cnn-paper,folds=1,threshold=half)", False),
        ("bleu(order=3)", "bleu(order=3)", False),
    ],
)
def test_names_of_estimators(name: str, metric: str, log_probs: bool) -> None:
    estimator = parse_estimator(name, level=0.9)
    assert (estimator.name, estimator.metric.name, estimator.log_probs) == (name.strip(), metric, log_probs)
    assert estimator.metric.level == 0.9


def test_efforts_are_those_of_dd() -> None:
    for effort in ("quick", "default", "max"):
        metric = parse_estimator(effort).metric
        assert metric.settings["effort"] == effort
        assert metric.name.startswith("dd")


def test_refusals() -> None:
    with pytest.raises(OptionError, match="unknown metric 'plan'"):
        parse_estimator("plan")
    with pytest.raises(OptionError, match="at least one estimator, each once, got \\['plain', 'plain'\\]"):
        _run("plain,plain")
    with pytest.raises(OptionError, match="at least one seed, each once"):
        _run(seeds=())
    with pytest.raises(OptionError, match="n_truth must be at least 2, got 1"):
        _run(n_truth=1)
    with pytest.raises(OptionError, match="sentences must be at least 1, got 0"):
        _run(sizes=(0,))
