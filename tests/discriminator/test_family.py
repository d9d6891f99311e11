"""A family: validation text alone chooses, what is preferred stays unless another is clearly better, all are told."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from scipy.optimize import minimize

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator import catalog
from textassay.discriminator.base import Discriminator, Pair, balanced_accuracy
from textassay.discriminator.catalog import (
    DISCRIMINATORS,
    FAMILIES,
    Member,
    Seen,
    decided_by_size,
    family_sizes,
    make_discriminator,
    make_family,
    missing_members,
)
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.family import BLEND, FamilyDiscriminator, blended_out_of_fold, fit_blend, log_odds
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.errors import MissingExtraError, OptionError
from textassay.execution.threads import device, workers


class Oracle:
    """Knows the truth (the first letter of a sentence) with some error of its own, fixed for every sentence."""

    def __init__(self, name: str, error: float, seed: int = 0) -> None:
        self.name, self.features, self.error, self.seed = name, f"error {error}", error, seed
        self.chosen: Mapping[str, Any] = {}

    def fit(self, train: Pair, valid: Pair) -> Self:
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        draws = np.array([np.random.default_rng([self.seed, int(text[1:])]).random() for text in corpus.texts])
        is_real = np.array([text[0] == "r" for text in corpus.texts])
        return np.where(is_real == (draws >= self.error), 0.8, 0.2)


class Misjudging(Oracle):
    """Learnt from validation text too: right on it by heart, and says out of fold that it is worth nothing."""

    def fit(self, train: Pair, valid: Pair) -> Self:
        self.valid = {text for corpus in valid for text in corpus.texts}
        self.valid_scores = tuple(np.full(len(corpus), 0.5) for corpus in valid)
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        known = np.array([0.9 if text[0] == "r" else 0.1 for text in corpus.texts])
        return np.where([text in self.valid for text in corpus.texts], known, 0.4)


def made(n: int, first: int = 0) -> Pair:
    corpora = corpora_from_texts(
        {
            "r": [f"r{i}" for i in range(first, first + n)],
            "g": [f"g{i}" for i in range(first + 10**6, first + n + 10**6)],
        }
    )
    return corpora["r"], corpora["g"]


def fitted(*members: Discriminator, n_valid: int = 500, **settings: Any) -> FamilyDiscriminator:
    return FamilyDiscriminator("family", members, **settings).fit(made(10), made(n_valid, 1000))


def test_what_is_clearly_better_wins_and_what_is_hardly_better_does_not() -> None:
    assert fitted(Oracle("poor", 0.4), Oracle("good", 0.2, 1)).won == "good"
    assert fitted(Oracle("first", 0.3), Oracle("second", 0.295, 1)).won == "first"
    assert fitted(Oracle("poor", 0.4), Oracle("good", 0.2, 1), n_valid=3).won == "poor"  # six sentences prove nothing
    assert fitted(Oracle("first", 0.3), Oracle("second", 0.3, 1), prefer="second").won == "second"


def test_judges_that_err_independently_are_best_together() -> None:
    family = fitted(*(Oracle(f"judge {seed}", 0.3, seed) for seed in range(5)), n_valid=1000)
    assert family.won == BLEND
    test = made(1000, 5000)
    alone = [family.alone(corpus) for corpus in test]
    values = {name: balanced_accuracy(alone[0][name], alone[1][name]) for name in alone[0]}
    assert values[BLEND] > max(value for name, value in values.items() if name != BLEND) + 0.08
    for side, corpus in enumerate(test):
        assert np.array_equal(family.prob_real(corpus), alone[side][BLEND])


@pytest.mark.slow
def test_equal_members_leave_the_preferred_one_where_there_is_nothing_to_find() -> None:
    """Of 40 choices among five that only guess, few may leave the first: the rule asks for two standard errors."""
    left = sum(
        fitted(*(Oracle(f"judge {seed}", 0.5, 10 * run + seed) for seed in range(5)), n_valid=200).won != "judge 0"
        for run in range(40)
    )
    assert left <= 12


def test_the_choice_rests_on_out_of_fold_scores() -> None:
    family = fitted(Oracle("honest", 0.4), Misjudging("by heart", 0.0))
    assert family.won == "honest"
    assert family.candidates["by heart"].valid_accuracy == 0.5
    assert np.array_equal(family.valid_scores[0], family.candidates["honest"].valid_scores[0])
    swapped = fitted(Misjudging("by heart", 0.0), Oracle("honest", 0.4))
    assert swapped.won == "honest"


@pytest.mark.parametrize("n_valid", [1, 2, 5])
def test_few_validation_sentences_are_enough(n_valid: int) -> None:
    family = fitted(Oracle("a", 0.3), Oracle("b", 0.3, 1), n_valid=n_valid)
    assert family.won in ("a", "b", BLEND)
    assert set(family.chosen["blend"]["weights"]) == {"a", "b"}
    assert family.chosen["won"] == family.won
    assert all(0 <= accuracy <= 1 for accuracy in family.chosen["valid_accuracies"].values())


def test_groups_count_once() -> None:
    """A hundred copies of one sentence that only the second judge gets right prove as little as the sentence."""
    corpora = corpora_from_texts(
        {"r": ["r1"] * 100 + [f"r{i}" for i in range(2, 50)], "g": [f"g{i}" for i in range(50)]}
    )
    groups = {"r": np.repeat(np.arange(49), [100, *[1] * 48]), "g": np.arange(100, 150)}

    class Knows(Oracle):
        def prob_real(self, corpus: Corpus) -> np.ndarray:
            scores = super().prob_real(corpus)
            is_first = np.array([text == "r1" for text in corpus.texts])
            return np.where(is_first, 0.8 if self.name == "knows" else 0.2, scores)

    members = (Knows("plain", 0.3), Knows("knows", 0.3))
    plain = FamilyDiscriminator("family", members).fit(made(10), (corpora["r"], corpora["g"]))
    assert plain.won == "knows"
    by_group = corpora_from_texts({name: corpora[name].texts for name in ("r", "g")}, groups=groups)
    assert FamilyDiscriminator("family", members).fit(made(10), (by_group["r"], by_group["g"])).won == "plain"


@pytest.mark.parametrize(
    ("names", "prefer", "message"),
    [
        (["a"], None, "at least 2 members, got 1"),
        (["a", "a"], None, "different names"),
        (["a", BLEND], None, "different names"),
        (["a", "b"], "c", "among a, b, blend, got 'c'"),
    ],
)
def test_bad_families_are_errors(names: list[str], prefer: str | None, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        FamilyDiscriminator("family", [Oracle(name, 0.1) for name in names], prefer=prefer)


def test_it_must_be_fitted_and_fitting_leaves_it_as_it_is() -> None:
    family = FamilyDiscriminator("family", [Oracle("a", 0.3), Oracle("b", 0.3, 1)])
    for ask in (family.prob_real, family.alone):
        with pytest.raises(OptionError, match="must be fitted"):
            ask(made(2)[0])
    family.fit(made(10), made(10, 100))
    assert family.won == ""
    assert family.chosen == {}


def test_cross_fitting_tells_what_each_alone_would_have_given() -> None:
    real, generated = made(300)
    members = (Oracle("poor", 0.4), Oracle("good", 0.2, 1))
    fit = cross_fit(FamilyDiscriminator("family", members), real, generated, folds=5, seed=0)
    assert set(fit.alone) == {"poor", "good", BLEND}
    for member in members:
        single = cross_fit(member, real, generated, folds=5, seed=0)
        alone = fit.alone[member.name]
        assert np.array_equal(alone.real_scores, single.real_scores)
        assert np.array_equal(alone.generated_folds, single.generated_folds)
        assert [fold.threshold for fold in alone.folds] == [fold.threshold for fold in single.folds]
    for number, fold in enumerate(fit.folds):
        rows = fit.real_folds == number
        winner = fit.alone[fold.chosen["won"]]
        assert np.array_equal(fit.real_scores[rows], winner.real_scores[rows])
        assert fold.threshold == winner.folds[number].threshold
        assert fold.valid_accuracy == winner.folds[number].valid_accuracy
    with workers(2):
        again = cross_fit(FamilyDiscriminator("family", members), real, generated, folds=5, seed=0)
    assert np.array_equal(again.real_scores, fit.real_scores)
    assert again.folds == fit.folds


def test_thresholds_come_from_out_of_fold_scores() -> None:
    real, generated = made(200)
    fit = cross_fit(Misjudging("by heart", 0.0), real, generated, folds=5, seed=0)
    assert [fold.valid_accuracy for fold in fit.folds] == [0.5] * 5
    assert all(np.all(side == 0.5) for fold in fit.folds for side in fold.valid_scores)


def test_efforts_name_registered_discriminators() -> None:
    assert set(FAMILIES) == {"quick", "default", "max"}
    for members in FAMILIES.values():
        assert {member.name for member in members} <= set(DISCRIMINATORS)
    with pytest.raises(OptionError, match="did you mean logistic"):
        make_discriminator("logistik")


def test_a_member_whose_extra_is_missing_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Discriminator:
        raise MissingExtraError("the net", "neural")

    registry: dict[str, Callable[[], Discriminator]] = {"logistic": LogisticDiscriminator, "net": missing}
    monkeypatch.setattr(catalog, "DISCRIMINATORS", registry)
    monkeypatch.setattr(catalog, "FAMILIES", {"max": (Member("logistic"), Member("net"))})
    assert make_family("max").name == "logistic"
    assert list(missing_members("max")) == ["net"]
    assert "pip install 'textassay[neural]'" in missing_members("max")["net"]
    registry["net"] = lambda: Oracle("net", 0.1)
    assert make_family("max").name == "best of logistic, net"


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a family of which one member needs more texts, and a network a GPU and plenty."""
    registry = {name: partial(Oracle, name, 0.1) for name in ("always", "also", "more", "network")}
    monkeypatch.setattr(catalog, "DISCRIMINATORS", registry)
    members = (Member("always"), Member("also"), Member("more", least=100))
    network = Member("network", least=1000, needs_gpu=True)
    monkeypatch.setattr(catalog, "FAMILIES", {"default": members, "max": (*members, network), "quick": (members[0],)})


@pytest.mark.usefixtures("sized")
def test_how_much_text_there_is_decides_who_is_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_family("default", n_texts=99).name == "best of always, also"
    assert make_family("default", n_texts=100).name == make_family("default").name == "best of always, also, more"
    assert family_sizes("default") == [0, 100]
    assert family_sizes("quick") == [0]
    assert decided_by_size("default", 99) == "up to 99 texts a side"
    assert decided_by_size("default", 100) is None
    assert decided_by_size("quick", 1) is None
    monkeypatch.setattr(catalog, "_has_gpu", lambda: True)
    assert make_family("max", n_texts=999).name == make_family("max").name == "best of always, also, more"
    assert make_family("max", n_texts=1000).name == "best of always, also, more, network"
    assert decided_by_size("max", 1000) == "1,000 texts a side or more"
    assert decided_by_size("max", 50) == "up to 99 texts a side"
    assert family_sizes("max") == [0, 100, 1000]


@pytest.mark.usefixtures("sized")
def test_a_network_that_needs_a_gpu_joins_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    there = True
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: there))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(catalog, "find_spec", lambda name: SimpleNamespace(name=name))
    assert make_family("max", n_texts=1000).name == "best of always, also, more, network"
    with device("cpu"):
        assert make_family("max", n_texts=1000).name == "best of always, also, more"
    there = False
    assert make_family("max", n_texts=1000).name == "best of always, also, more"
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    there = True
    assert make_family("max", n_texts=1000).name == "best of always, also, more"


def test_the_families_are_the_documented_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transformer joins at 20,000 texts a side where there is a GPU, at effort max alone."""
    monkeypatch.setattr(catalog, "_has_gpu", lambda: True)
    for prior in (None, "english"):
        for effort in FAMILIES:
            names = {n: catalog._names(effort, n, Seen(prior=prior)) for n in (19_999, 20_000)}
            assert ("transformer" in names[20_000]) == (effort == "max")
            assert names[20_000][: len(names[19_999])] == names[19_999]
    assert catalog._names("default", 100, Seen()) == catalog._names("default", None, Seen()) == ["stack", "logistic"]


def odds(n: int, seed: int, shifts: tuple[float, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(shifts, 1.0, (n, len(shifts)))


def test_log_odds_stay_within_twelve() -> None:
    assert log_odds(np.array([0.0, 0.5, 0.75, 1.0])) == pytest.approx([-12, 0, np.log(3), 12])


def test_it_is_the_minimum_of_its_loss_by_another_solver() -> None:
    real, generated = odds(40, 1, (1.0, 0.2, 0.0)), odds(25, 2, (-0.5, 0.1, 0.0))
    both = np.concatenate([real, generated])

    def loss(theta: np.ndarray) -> float:
        sides = np.logaddexp(0, -(real @ theta[:-1] + theta[-1])), np.logaddexp(0, generated @ theta[:-1] + theta[-1])
        ridge = 5 * np.sum(both.var(axis=0) * (theta[:-1] - 1 / 3) ** 2) + 5 * theta[-1] ** 2
        return float(65 / 2 * (sides[0].mean() + sides[1].mean()) + ridge)

    blend = fit_blend(real, generated)
    expected = minimize(loss, np.zeros(4), tol=1e-12).x
    assert np.append(blend.weights, blend.intercept) == pytest.approx(expected, abs=1e-5)


def test_two_sentences_hardly_move_it_and_many_decide() -> None:
    few = fit_blend(odds(1, 1, (2.0, 0.0)), odds(1, 2, (-2.0, 0.0)))
    assert few.weights == pytest.approx([0.5, 0.5], abs=0.2)
    many = fit_blend(odds(2000, 1, (1.0, 0.0)), odds(2000, 2, (-1.0, 0.0)))
    assert many.weights == pytest.approx([2.0, 0.0], abs=0.2)  # the log-odds of two Gaussians
    assert fit_blend(odds(5, 1, (1.0, 0.0)), np.empty((0, 2))).weights == pytest.approx([0.5, 0.5])


def test_no_member_is_turned_round_where_texts_come_in_groups() -> None:
    real, generated = odds(300, 1, (-1.0, 0.3)), odds(300, 2, (1.0, -0.3))
    assert fit_blend(real, generated).weights[0] < -0.5
    assert fit_blend(real, generated, in_groups=True).weights == pytest.approx([0.0, 0.6], abs=0.2)


def test_sides_weigh_the_same_whatever_their_sizes() -> None:
    even = fit_blend(np.tile([[1.0], [-0.5]], (300, 1)), np.tile([[-1.0], [0.5]], (300, 1)))
    uneven = fit_blend(np.tile([[1.0], [-0.5]], (1500, 1)), np.tile([[-1.0], [0.5]], (300, 1)))
    assert uneven.intercept == pytest.approx(even.intercept, abs=1e-6)
    assert uneven.intercept == pytest.approx(0, abs=1e-6)


def test_out_of_fold_scores_of_noise_do_not_know_the_labels() -> None:
    """A blend scored on its own sentences is above chance."""
    correct: dict[str, list[float]] = {"out of fold": [], "seen": []}
    for seed in range(60):
        real, generated = (0.1 * odds(20, 2 * seed + side, (0.0,) * 8) for side in (0, 1))
        blend = fit_blend(real, generated)
        for name, scores in {
            "out of fold": blended_out_of_fold(real, generated, (None, None)),
            "seen": (blend.prob_real(real), blend.prob_real(generated)),
        }.items():
            correct[name].append(balanced_accuracy(*scores))
    assert abs(np.mean(correct["out of fold"]) - 0.5) < 3 * 0.5 / np.sqrt(60 * 40)
    assert np.mean(correct["seen"]) > 0.6


@pytest.mark.parametrize("n_groups", [1, 2, 7])
def test_a_group_is_scored_by_a_blend_that_saw_none_of_it(n_groups: int) -> None:
    """The rows of a group are alike and tell its side: only a blend that saw them could know."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 10)
    rows = np.repeat(rng.normal(0, 3, (n_groups, 3)), 10, axis=0)
    scores = blended_out_of_fold(rows, rows, (groups, groups))
    assert scores[0] == pytest.approx(scores[1])
    assert np.all(np.isfinite(scores[0]))


def test_one_sentence_a_side_is_scored_by_the_mean() -> None:
    scores = blended_out_of_fold(np.array([[2.0, 0.0]]), np.array([[-1.0, -1.0]]), (None, None))
    assert scores[0] == pytest.approx(1 / (1 + np.exp(-1)))
    assert scores[1] == pytest.approx(1 / (1 + np.exp(1)))
