"""Worlds: what they are made of, that draws are independent, that truths agree, and that no estimate exceeds them."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tabled import corpus_of, toy
from textassay.corpus.corpus import Corpus
from textassay.discriminator.logistic import PlainLogistic
from textassay.errors import OptionError, TooFewSentencesError
from textassay.metric.discrepancy import dd
from textassay_lab.meta_evaluation.known_truth_pairs import (
    LEARNT_NAMES,
    LOG_PROBS,
    PAIR_NAMES,
    KnownTruthPair,
    four_kinds,
    known_truth_pairs,
)

N = 600
EQUAL = ("identical-2", "identical-4")
FEW = ("identical-2", "growth-4-0.4")  # the others take a second each


@cache
def _text() -> Corpus:
    """Return 1,200 sentences in which words depend on the two before them."""
    rng = np.random.default_rng(0)
    follows = rng.permutation(60)[:, None] * 7 % 60 + np.arange(4)
    texts = []
    for _ in range(1200):
        words = [int(rng.integers(60)), int(rng.integers(60))]
        for _ in range(int(rng.integers(3, 12))):
            jump = rng.random() < 0.15
            words.append(int(rng.integers(60)) if jump else int(follows[words[-2], rng.integers(4)] + words[-1]) % 60)
        texts.append(" ".join(f"w{word}" for word in words))
    return corpus_of(texts)


@cache
def _worlds() -> dict[str, KnownTruthPair]:
    return {world.name: world for world in known_truth_pairs(_text(), 0)}


def test_there_are_enough_worlds_and_their_truths_spread() -> None:
    assert len(PAIR_NAMES) >= 12
    truths = sorted(world.truth(2000, seed=0).value for world in _worlds().values())
    assert truths[:2] == [0, 0]
    assert truths[-1] == pytest.approx(1, abs=0.01)
    assert len({int(10 * truth) for truth in truths}) >= 6


@pytest.mark.feature("DD-02", "DD-03")
@pytest.mark.parametrize("name", PAIR_NAMES)
def test_estimators_of_the_truth_agree(name: str) -> None:
    truth = _worlds()[name].truth(2000, seed=1)
    assert truth.disagreement < 4.5
    assert truth.interval.low <= truth.value <= truth.interval.high
    if name in EQUAL:
        assert truth.value == 0
    elif name == "disjoint":
        assert truth.value > 0.99
    else:
        assert 0.02 < truth.value < 1


@pytest.mark.feature("DD-09")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in PAIR_NAMES]
)
def test_no_estimate_exceeds_the_truth(name: str) -> None:
    world = _worlds()[name]
    truth = world.truth(4000, seed=0)
    real, generated = world.sample(N, seed=0)
    for discriminator in (PlainLogistic(), "logistic", "stack-quick"):
        found = dd(generated, real, discriminator=discriminator)
        assert found.value <= truth.interval.high + 3 * max(found.details["se_sampling"], 1 / N)
        assert found.details["certified_bound"]["value"] <= truth.interval.high


def test_fractions_are_nested_and_nearer_the_more_text_there_is() -> None:
    family = [_worlds()[f"growth-4-{fraction}"] for fraction in (0.2, 0.4, 0.6, 0.8)]
    assert all(world.grows and world.family == "growth-4" and world.p is family[0].p for world in family)
    truths = [world.truth(4000, seed=0).value for world in family]
    assert truths == sorted(truths, reverse=True)
    texts = [world.q.train.texts for world in family]  # type: ignore[attr-defined]
    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(texts))


def test_draws_are_independent_and_do_not_depend_on_their_number() -> None:
    world = _worlds()["identical-4"]
    real, generated = world.sample(400, seed=3)
    long = [{text for text in side.texts if len(text.split()) > 8} for side in (real, generated)]
    assert len(long[0]) > 20
    assert not long[0] & long[1]
    again = world.sample(50, seed=3)
    assert (again[0].texts, again[1].texts) == (real.texts[:50], generated.texts[:50])
    same_p = _worlds()["order-2-of-4"].sample(50, seed=3)[0]
    assert same_p.texts == again[0].texts
    assert world.sample(50, seed=4)[0].texts != again[0].texts


@pytest.mark.parametrize("name", ["diluted-0.5", "diluted-0.8"])
def test_real_text_among_generated_text_is_other_real_text(name: str) -> None:
    real, generated = _worlds()[name].sample(2000, seed=0)
    long = [[text for text in side.texts if len(text.split()) > 9] for side in (real, generated)]
    assert len(set(long[0]) & set(long[1])) < 0.02 * len(long[0])


def test_diluted_truth_is_the_share_of_that_of_what_was_diluted() -> None:
    whole = _worlds()["order-2-of-4"].truth(20_000, seed=0)
    for share in (0.5, 0.8):
        diluted = _worlds()[f"diluted-{share}"].truth(20_000, seed=0)
        assert diluted.value == pytest.approx((1 - share) * whole.value, abs=0.01)


def test_both_sides_share_a_vocabulary_and_may_hold_log_probabilities() -> None:
    for name in ("disjoint", "order-3-of-4"):
        world = _worlds()[name]
        real, generated = map(world.with_log_probs, world.sample(100, seed=0))
        assert real.vocabulary is generated.vocabulary
        np.testing.assert_array_equal(generated.columns[LOG_PROBS], world.q.log_prob(generated))
        assert np.isfinite(real.columns[LOG_PROBS]).all()
    assert not set(world.sample(100, seed=0)[0].columns)


def test_generators_that_learnt_draws_were_fitted_to_draws_of_p() -> None:
    family = [world for world in known_truth_pairs(_text(), 0, LEARNT_NAMES) if world.family == "learnt-3"]
    trains = [world.train for world in family if world.train is not None]
    assert [len(train) for train in trains] == [150, 300, 600]
    assert trains[0].texts == trains[2].texts[:150]
    for world, train in zip(family, trains, strict=True):
        assert train.texts != world.sample(150, seed=0)[0].texts
        assert np.isfinite(world.p.log_prob(train)).all()
    assert set(trains[2].texts) - set(_text().texts)
    truths = [world.truth(4000, seed=0).value for world in family]
    assert truths == sorted(truths, reverse=True)
    assert all((world.train is None) == (name == "disjoint") for name, world in _worlds().items())


def test_draws_of_other_sizes_begin_alike_and_more_real_text_is_other_text() -> None:
    world = _worlds()["order-2-of-4"]
    real, generated = world.sample(50, seed=0)
    longer = world.sample(50, seed=0, n_generated=80)
    assert (longer[0].texts, longer[1].texts[:50]) == (real.texts, generated.texts)
    assert len(longer[1]) == 80
    more = world.more_real(50, seed=0)
    assert sum(one == other for one, other in zip(more.texts, real.texts, strict=True)) < 5
    assert more.vocabulary is real.vocabulary


def test_four_kinds_are_equal_parts_by_length_and_wording() -> None:
    corpus = corpus_of(["a a", "a z", "a a a", "y y a", "a", "x", "a a a a", "a u v w"])
    kinds = [[corpus.texts[row] for row in rows] for rows in four_kinds(corpus)]
    assert kinds == [["a a", "a"], ["a z", "x"], ["a a a", "a a a a"], ["y y a", "a u v w"]]


def test_another_seed_takes_other_parts() -> None:
    first, second = (known_truth_pairs(_text(), seed, ["growth-4-0.2"])[0].q for seed in (0, 1))
    assert first.train.texts != second.train.texts  # type: ignore[attr-defined]


def test_refusals() -> None:
    with pytest.raises(TooFewSentencesError, match="at least 20 texts, got 2"):
        known_truth_pairs(corpus_of(["a", "b"]), 0)
    with pytest.raises(OptionError, match="unknown world 'order-2'"):
        known_truth_pairs(_text(), 0, ["order-2"])
    with pytest.raises(OptionError, match="seed must be at least 0, got -1"):
        known_truth_pairs(_text(), -1)
    extra = KnownTruthPair("disjoint", "toy", "toy", *toy())
    assert known_truth_pairs(_text(), 0, ["identical-2"], extra=[extra])[1] is extra
    with pytest.raises(OptionError, match="distinct names"):
        known_truth_pairs(_text(), 0, ["disjoint"], extra=[extra])


@pytest.mark.slow
@pytest.mark.parametrize("file", ["coco/train.txt", "emnlp_news/valid.txt", "yelp/valid.txt"])
def test_truths_agree_on_real_text(data_dir: Path, file: str) -> None:
    corpus = corpus_of((data_dir / file).read_text(encoding="utf-8").splitlines())
    for world in known_truth_pairs(corpus, 0):
        assert world.truth(10_000, seed=0).disagreement < 4.5, world.name
