"""Plans: what they assume, what a pilot changes, and that the planned sentences do what was asked of them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison.planning import MARGINS, Pilot, PilotGenerator, Plan, pilot_of, plan, run_pilot
from textassay.comparison.run import compare
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import InputError, OptionError
from textassay.metric.discrepancy import dd
from textassay.settings import Measuring

REAL = sentences(500, 1)
GENERATED = {"far": sentences(500, 3, shift=0.6), "shuffled": shuffled(sentences(500, 4), 0)}


def _sizes(found: Plan) -> dict[tuple[str, float], int]:
    return {(requirement.question, requirement.size): requirement.n for requirement in found.requirements}


def test_without_a_question_some_are_answered_and_all_assumptions_said() -> None:
    found = plan()
    assert {size for question, size in _sizes(found) if question == "margin"} == set(MARGINS)
    assert found.dd == 0
    assert len(found.assumptions) == 6
    json.dumps(found.to_dict(), allow_nan=False)


def test_worse_cases_take_more_sentences() -> None:
    near, far = (_sizes(plan(margins=[0.05], separable=[0.05], dd=value)) for value in (0.1, 0.8))
    assert all(near[question] > far[question] for question in near)
    weak, strong = (_sizes(plan(detectable=[0.05], power=power)) for power in (0.5, 0.9))
    assert weak["detect", 0.05] < strong["detect", 0.05]


def test_one_split_judges_a_tenth_without_the_factor_of_cross_fitting() -> None:
    one, five = (plan(detectable=[0.05], folds=folds).requirements[0] for folds in (1, 5))
    assert one.n == 10 * one.n_tested
    assert five.n == five.n_tested
    assert five.n_tested == pytest.approx(1.64 * one.n_tested, rel=0.01)


def test_never_fewer_than_dd_needs() -> None:
    assert plan(detectable=[0.9]).requirements[0].n == 50
    assert plan(detectable=[0.9], folds=10).requirements[0].n == 100


def test_a_pilot_is_planned_from_its_hardest_generator() -> None:
    pilot = Pilot(
        (
            PilotGenerator("a", 0.6, 0.9, 0.7, 500, 500, None),
            PilotGenerator("b", 0.2, 0.5, 0.7, 500, 500, None),
        ),
        0.3,
    )
    found = plan(separable=[0.1], pilot=pilot)
    assert (found.share_real, found.share_generated, found.dd, found.correlation) == (0.5, 0.7, 0.2, 0.3)
    assert _sizes(found)["separate", 0.1] < _sizes(plan(separable=[0.1], dd=0.2))["separate", 0.1]
    assert any("of b in the pilot" in text for text in found.assumptions)


@pytest.mark.slow
def test_a_pilot_measured_here_and_one_of_a_comparison_agree() -> None:
    real, generated = REAL[:250], {name: texts[:250] for name, texts in GENERATED.items()}
    corpora = corpora_from_texts({"real": real, **generated})
    measured = run_pilot(corpora["real"], {name: corpora[name] for name in generated}, Measuring(seed=1))
    comparison = compare(generated, real, metrics=["dd"], seed=1)
    found = pilot_of(comparison)
    assert [replace(one, more=()) for one in found.generators] == [replace(one, more=()) for one in measured.generators]
    for one, other in zip(found.generators, measured.generators, strict=True):
        assert [(more.side, more.n, more.half_width, more.half_width_doubled) for more in one.more] == [
            (more.side, more.n, more.half_width, more.half_width_doubled) for more in other.more
        ]
        assert all(more.rise is None for more in one.more)  # a comparison of files does not know
        assert [more.side for more in other.more if more.rise is not None] == ["generated", "real"]
    assert found.correlation is not None
    assert measured.correlation is not None
    assert found.correlation == pytest.approx(measured.correlation, abs=0.01)
    assert pilot_of(compare({"far": generated["far"]}, real, metrics=["dd"], explain=False)).correlation is None


def test_a_comparison_with_few_generated_sentences_says_nothing_of_judgements_of_real_ones() -> None:
    few = {name: texts[:60] for name, texts in GENERATED.items()}
    found = pilot_of(compare(few, REAL, metrics=["dd"], effort="quick", explain=False))
    assert found.correlation is None
    assert not any("as in the pilot" in text for text in plan(separable=[0.1], pilot=found).assumptions)


def test_a_comparison_without_dd_is_no_pilot() -> None:
    with pytest.raises(InputError, match="no value of dd"):
        pilot_of(compare(GENERATED, REAL, metrics=["length"], explain=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margins": [0.0]}, "margin must be between 0 and 1"),
        ({"detectable": [1.5]}, "discrepancy must be between 0 and 1"),
        ({"separable": [-0.1]}, "difference must be between 0 and 1"),
        ({"power": 1.0}, "power must be between 0 and 1"),
        ({"dd": 1.0}, "dd must be at least 0 and below 1"),
        ({"dd": math.nan}, "dd must be at least 0 and below 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"folds": 0}, "folds must be at least 1"),
    ],
)
def test_what_is_out_of_range_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        plan(**settings)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_the_planned_sentences_do_what_was_asked(n_runs: int) -> None:
    """On text, with cross-fitting: sentences of one word out of two, learnt at once, so that dd is 0.2 at any size."""

    def run(n: int, seed: int) -> tuple[float, float, float]:
        rng = np.random.default_rng(seed)
        texts = {"real": ["a", "b"], "generated": ["a", "b"]}
        texts = {
            side: rng.choice(words, n, p=[share, 1 - share]).tolist()
            for (side, words), share in zip(texts.items(), (0.5, 0.7), strict=True)
        }
        corpora = corpora_from_texts(texts)
        estimate = dd(corpora["generated"], corpora["real"], discriminator="logistic", seed=seed)
        assert estimate.interval is not None
        return estimate.value, estimate.interval.low, estimate.interval.high

    sizes = _sizes(plan(margins=[0.1], detectable=[0.2], dd=0.2))
    runs = [run(sizes["margin", 0.1], seed) for seed in range(10)]
    assert np.mean([max(value - low, high - value) for value, low, high in runs]) == pytest.approx(0.1, rel=0.03)
    above = np.mean([run(sizes["detect", 0.2], seed)[1] > 0 for seed in range(n_runs)])
    # 80 % and 3 standard errors less, or more: the factor of 1.64 is cautious here.
    assert 0.8 - 3 * np.sqrt(0.16 / n_runs) < above < 0.97 + (n_runs < 200) * 0.02


def test_more_text_of_one_side_narrows_the_interval_as_far_as_the_other_lets() -> None:
    texts = {"real": REAL[:200], "far": GENERATED["far"][:400]}
    corpora = corpora_from_texts(texts)
    pilot = run_pilot(corpora["real"], {"far": corpora["far"]}, Measuring(effort="quick", seed=1))
    generated, real = pilot.generators[0].more
    assert (generated.n, real.n) == (len(corpora["far"]), 200)
    assert generated.half_width == real.half_width > generated.half_width_doubled > real.half_width_doubled
    assert real.half_width_doubled > real.half_width / 2**0.5


def test_with_many_generated_texts_fewer_real_ones_are_enough() -> None:
    for requirement in plan().requirements:
        assert requirement.n_real == pytest.approx(0.6 * requirement.n, rel=0.01)
    least = plan(detectable=[0.9]).requirements[0]
    assert least.n_real == least.n == 50
    pilot = Pilot(
        (PilotGenerator("a", 0.2, 0.9, 0.5, 500, 500, None),), None
    )  # nearly all doubt is about generated text
    assert plan(margins=[0.02], pilot=pilot).requirements[0].n_real < 0.5 * plan(margins=[0.02]).requirements[0].n
