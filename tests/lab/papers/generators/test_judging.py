"""Evaluators of the study of generators, on writers that are made up so that it is known what each must say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made_up import sentences
from made_up_generators import WRITERS, made_up_generators
from textassay.execution.threads import workers
from textassay.metric.bleu_nearest import bleu_nearest, bleu_train
from textassay_lab.meta_evaluation.correlation import correlation
from textassay_lab.papers.generators.experiment import DD, EVALUATORS, JudgedWriters, judged_writers, judging_stages
from textassay_lab.papers.generators.results import drawn_values
from textassay_lab.papers.generators.texts import FLOOR, OTHER_DOMAIN, GeneratorStages
from textassay_lab.papers.judges.experiment import JudgesScale
from textassay_lab.papers.judges.published import ALL, BLEU_TRAIN, DIVERSITY, GENERATED, INDIVIDUAL, SELF_BLEU
from textassay_lab.papers.judges.published import REAL as OF_REAL
from textassay_lab.papers.stages import Done, Stage, Stages

N = 100
SCALE = JudgesScale(networks=False, partitions=1)


def judged(writers: GeneratorStages, folder: Path, scale: JudgesScale = SCALE) -> JudgedWriters:
    judges, stages = judging_stages(writers, scale), Stages(folder)
    with workers(2):
        stages.compute([*writers.targets, *judges.targets])

    def done(stage: Stage) -> Done:
        found = stages.done(stage)
        assert found is not None
        return found

    return judged_writers(judges, done)


def value(found: JudgedWriters, evaluator: str, writer: str) -> float:
    known = found.values[evaluator][writer][0]
    assert known is not None
    return known


@pytest.fixture(scope="module")
def writers() -> GeneratorStages:
    return made_up_generators(N)


@pytest.fixture(scope="module")
def found(writers: GeneratorStages, tmp_path_factory: pytest.TempPathFactory) -> JudgedWriters:
    return judged(writers, tmp_path_factory.mktemp("judged"))


@pytest.mark.slow
def test_every_evaluator_is_asked_of_every_writer(found: JudgedWriters) -> None:
    assert found.writers == found.ranked == (FLOOR, *WRITERS)
    assert set(found.evaluations) == {*EVALUATORS, *SCALE.classifiers}
    for name, evaluation in found.evaluations.items():
        assert evaluation.generators == found.writers
        assert evaluation.values.tolist() == [found.values[name][writer][0] for writer in found.writers]
    for name in SCALE.classifiers:
        totals = {ALL, OF_REAL, GENERATED} - ({ALL, OF_REAL, GENERATED} if name == INDIVIDUAL else set())
        assert set(found.accuracies[name]) == {*found.writers, *totals}
        for value, low, high in found.accuracies[name].values():
            assert value is not None
            assert low is not None
            assert high is not None
            assert low - 1e-9 <= value <= high + 1e-9
    assert [found.evaluations[name].better for name in (DD, "LM score", SELF_BLEU, DIVERSITY, BLEU_TRAIN)] == [
        "lower", "closer", "lower", "higher", "higher",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_order_of_the_damage_comes_out(found: JudgedWriters) -> None:
    """Ever more shuffled sentences; the floor is as real text is, another domain is not."""
    words = ("Word LSTM 1.0", "MLE SeqGAN", "SeqGAN", "CoT", "bigram")
    values = found.evaluations[DD].select(words).values
    assert correlation(values, np.arange(len(words))).value > 0.7
    assert value(found, DD, OTHER_DOMAIN) > 0.9
    for name in ("SVM", "RF", "NB", "XGBoost"):
        assert value(found, name, OTHER_DOMAIN) > value(found, name, FLOOR) + 0.2
    low, high = found.values[DD][FLOOR][1:]
    assert low is not None
    assert high is not None
    assert low < 0 < high
    assert found.evaluations["LM score"].order[0] == FLOOR


@pytest.mark.slow
def test_repetition_shows(found: JudgedWriters) -> None:
    hot, mild, cold = (f"Word LSTM {temperature}" for temperature in ("1.0", "0.7", "0.5"))
    for name, rises in ((SELF_BLEU, True), (DIVERSITY, False), ("distinct-1", False)):
        values = [value(found, name, writer) for writer in (hot, mild, cold)]
        assert values == sorted(values, reverse=not rises)
    assert found.copied[cold] == 1.0
    assert found.copied[hot] < 0.3


@pytest.mark.slow
def test_references_are_where_they_belong(found: JudgedWriters, writers: GeneratorStages) -> None:
    """Word overlap is with the 20 % of real text that classifiers judge; BLEU G-train with what generators learnt."""
    floor, train = writers.texts.floor.corpus, writers.texts.train.corpus
    real = writers.texts.real.corpus
    assert floor is not None
    assert train is not None
    assert real is not None
    expected = bleu_train(floor, real, train=train).value
    assert found.values[BLEU_TRAIN][FLOOR][0] == pytest.approx(expected)
    assert found.values["BLEU"][FLOOR][0] != pytest.approx(bleu_nearest(floor, real).value)
    assert f"n:{N}+{len(real) // 5}" in found.signatures["BLEU"].replace("|", " ").split()
    assert f"n:{N}+{N}" in found.signatures[DD].replace("|", " ").split()


@pytest.mark.slow
def test_texts_dealt_again_are_others_and_all_count(writers: GeneratorStages, tmp_path: Path) -> None:
    few = replace(writers, generated={name: writers.generated[name] for name in ("SeqGAN", OTHER_DOMAIN)})
    one, three = (judged(few, tmp_path, replace(SCALE, partitions=n)) for n in (1, 3))
    terms = [each.evaluations["NB"].terms or {} for each in (one, three)]
    assert [len(of["SeqGAN"]) for of in terms] == [N // 5, 3 * N // 5]
    assert terms[1]["SeqGAN"][: N // 5].tolist() == terms[0]["SeqGAN"].tolist()
    assert three.values["NB"]["SeqGAN"][0] == pytest.approx(terms[1]["SeqGAN"].mean())


@pytest.mark.slow
def test_a_generator_of_two_words_is_in_the_tables_and_in_no_rank(tmp_path: Path) -> None:
    writers = {
        "Word LSTM 1.0": WRITERS["Word LSTM 1.0"],
        "SeqGAN": WRITERS["SeqGAN"],
        "ScratchGAN": lambda n: [" ".join(line.split()[:2]) for line in sentences(n, 30)],
    }
    found = judged(made_up_generators(N, writers=writers), tmp_path)
    assert found.writers == (FLOOR, *writers)
    assert found.ranked == (FLOOR, "Word LSTM 1.0", "SeqGAN")
    assert set(found.undefined) == {"ScratchGAN"}
    assert {"BLEU", DIVERSITY} <= set(found.undefined["ScratchGAN"])
    assert found.values["BLEU"]["ScratchGAN"][0] is None
    assert found.values[DD]["ScratchGAN"][0] == pytest.approx(1.0, abs=0.05)
    assert all(evaluation.generators == found.ranked for evaluation in found.evaluations.values())


@pytest.mark.slow
def test_drawn_values_are_told_in_one_direction(found: JudgedWriters) -> None:
    values = drawn_values("made up", found.evaluations, found.ranked, n_resamples=20)
    assert values.values[DD].shape == (21, len(found.ranked))
    assert set(values.better.values()) == {"higher", "lower"}
    assert values.of(DD, OTHER_DOMAIN)[0] == found.values[DD][OTHER_DOMAIN][0]
    floor = value(found, "LM score", FLOOR)
    for writer in found.ranked:  # closer to the floor is better: the distance from it is told
        assert values.of("LM score", writer)[0] == pytest.approx(abs(value(found, "LM score", writer) - floor))
    for name, evaluation in found.evaluations.items():
        assert values.rank(name, evaluation.order[0])[0] == 0
