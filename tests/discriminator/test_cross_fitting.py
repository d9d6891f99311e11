"""Cross-fitting: nobody judges what it saw, groups stay together, the real partition is everybody's."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pytest
from scipy.special import expit

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator import base
from textassay.discriminator.base import Pair, balanced_accuracy, choose_threshold
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.family import FamilyDiscriminator
from textassay.errors import TooFewSentencesError
from textassay.execution.threads import workers


@dataclass
class Witness:
    """Remembers what it saw; says real with certainty for sentences it saw, never otherwise."""

    seen: set[str] = field(default_factory=set)
    log: list[tuple[set[str], set[str]]] = field(default_factory=list)
    name: str = "witness"
    features: str = "memory"
    chosen: dict[str, Any] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> "Witness":
        return Witness(log=self.log)

    def fit(self, train: Pair, valid: Pair) -> Self:
        train_texts, valid_texts = ({text for corpus in pair for text in corpus.texts} for pair in (train, valid))
        self.seen = train_texts | valid_texts
        self.log.append((train_texts, valid_texts))
        self.chosen = {"n_seen": len(self.seen)}
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        return np.array([0.9 if text in self.seen else 0.1 for text in corpus.texts])


def made(n_real: int, n_generated: int, groups: dict[str, np.ndarray] | None = None) -> tuple[Corpus, Corpus]:
    """Return corpora in which every sentence is another."""
    corpora = corpora_from_texts(
        {
            "real": [f"r{number}" for number in range(n_real)],
            "generated": [f"g{number}" for number in range(n_generated)],
        },
        groups=groups,
    )
    return corpora["real"], corpora["generated"]


@pytest.mark.parametrize("folds", [2, 5])
def test_every_sentence_is_judged_once_by_a_discriminator_that_did_not_see_it(folds: int) -> None:
    real, generated = made(103, 57)
    witness = Witness()
    fit = cross_fit(witness, real, generated, folds=folds, threshold="half", seed=0)
    assert np.all(fit.real_scores == 0.1)
    assert np.all(fit.generated_scores == 0.1)
    assert np.bincount(fit.real_folds).min() >= 103 // folds
    assert len(np.bincount(fit.real_folds)) == folds
    assert len(fit.folds) == folds
    for train, valid in witness.log:
        assert not train & valid
    for fold in fit.folds:
        for side, total in ((0, 103), (1, 57)):
            assert fold.n_train[side] + fold.n_valid[side] + fold.n_test[side] == total  # nothing is dropped
            rest = total - fold.n_test[side]
            assert rest // 8 <= fold.n_valid[side] <= rest // 8 + 1


def test_one_split_tests_and_validates_a_tenth_each() -> None:
    real, generated = made(200, 100)
    fit = cross_fit(Witness(), real, generated, folds=1, seed=0)
    assert (fit.folds[0].n_train, fit.folds[0].n_valid, fit.folds[0].n_test) == ((160, 80), (20, 10), (20, 10))
    assert np.count_nonzero(fit.real_folds == 0) == 20
    assert np.array_equal(np.isnan(fit.real_scores), fit.real_folds == -1)
    assert np.array_equal(np.isnan(fit.correct()[1]), fit.generated_folds == -1)


def test_the_real_partition_depends_on_real_text_and_seed_alone() -> None:
    real, generated = made(100, 60)
    other = made(100, 33)[1]
    here = cross_fit(Witness(), real, generated, folds=5, seed=0)
    there = cross_fit(Witness(), real, other, folds=5, seed=0)
    assert np.array_equal(here.real_folds, there.real_folds)
    for seed, repeat in ((1, 0), (0, 1)):
        elsewhere = cross_fit(Witness(), real, generated, folds=5, seed=seed, repeat=repeat)
        assert not np.array_equal(here.real_folds, elsewhere.real_folds)


def test_real_validation_text_is_the_same_for_all_generators() -> None:
    real, generated = made(100, 60)
    logs = []
    for side in (generated, made(100, 40)[1]):
        witness = Witness()
        cross_fit(witness, real, side, folds=5, seed=0)
        logs.append([{text for text in valid if text.startswith("r")} for _, valid in witness.log])
    assert logs[0] == logs[1]


@pytest.mark.feature("DD-07")
def test_a_score_exactly_on_the_threshold_says_generated() -> None:
    class Undecided(Witness):
        def __deepcopy__(self, memo: object) -> "Undecided":
            return Undecided()

        def prob_real(self, corpus: Corpus) -> np.ndarray:
            return np.full(len(corpus), 0.5)

    real, generated = made(50, 50)
    correct = cross_fit(Undecided(), real, generated, folds=5, seed=0).correct()
    assert correct[0].sum() == 0
    assert correct[1].sum() == 50


def test_groups_are_never_split_and_shared_groups_go_together() -> None:
    real_groups = np.repeat(np.arange(40), 3)
    generated_groups = np.repeat(np.arange(20, 60), 2)  # 20 groups on both sides, 20 of the generated side
    real, generated = made(120, 80, {"real": real_groups, "generated": generated_groups})
    fit = cross_fit(Witness(), real, generated, folds=5, seed=0)
    folds = np.concatenate([fit.real_folds, fit.generated_folds])
    groups = np.concatenate([real_groups, generated_groups])
    for group in range(60):
        assert len(set(folds[groups == group])) == 1
    alone = made(120, 80, {"real": real_groups})[1]
    assert np.array_equal(cross_fit(Witness(), real, alone, folds=5, seed=0).real_folds, fit.real_folds)


def test_groups_do_not_straddle_training_and_validation() -> None:
    groups = np.repeat(np.arange(20), 5)
    real, generated = made(100, 100, {"real": groups, "generated": groups})
    witness = Witness()
    cross_fit(witness, real, generated, folds=5, seed=0)
    for train, valid in witness.log:
        assert valid
        assert not {int(text[1:]) // 5 for text in train} & {int(text[1:]) // 5 for text in valid}


def test_too_few_groups_are_an_error() -> None:
    real, generated = made(100, 100, {"real": np.arange(100) // 30})
    with pytest.raises(TooFewSentencesError, match="4 groups are too few for 5 folds"):
        cross_fit(Witness(), real, generated, folds=5, seed=0)
    shared = {"real": np.arange(100) // 5, "generated": np.zeros(100, dtype=np.int64)}
    real, generated = made(100, 100, shared)
    with pytest.raises(TooFewSentencesError):
        cross_fit(Witness(), real, generated, folds=5, seed=0)


def test_threads_do_not_change_anything() -> None:
    real, generated = made(100, 60)
    alone = cross_fit(Witness(), real, generated, folds=5, seed=3)
    with workers(3):
        together = cross_fit(Witness(), real, generated, folds=5, seed=3)
    assert np.array_equal(alone.real_scores, together.real_scores)
    assert alone.folds == together.folds


class Partial:
    """Leans to real: scores of both sides overlap around another threshold than one half, known by heart."""

    def __init__(self, name: str, real: float) -> None:
        self.name, self.features, self.real = name, f"{real}", real
        self.chosen: dict[str, Any] = {}

    def fit(self, train: Pair, valid: Pair) -> Self:
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        draws = [np.random.default_rng([ord(text[0]), int(text[1:])]).normal() for text in corpus.texts]
        centres = [self.real if text[0] == "r" else 1.0 for text in corpus.texts]
        return np.asarray(expit(np.array(draws) + np.array(centres)))


def test_thresholds_are_those_of_validation_text_and_not_of_test_text() -> None:
    real, generated = made(600, 600)
    judges = (Partial("one", 2.5), Partial("other", 3.0))
    single = cross_fit(judges[0], real, generated, folds=3, seed=0)
    family = cross_fit(FamilyDiscriminator("family", judges), real, generated, folds=3, seed=0)
    for fit in (single, family, *family.alone.values()):
        for number, fold in enumerate(fit.folds):
            assert fold.threshold == choose_threshold(*fold.valid_scores)
            rows = fit.real_folds == number, fit.generated_folds == number
            assert fold.threshold != choose_threshold(fit.real_scores[rows[0]], fit.generated_scores[rows[1]])


def test_well_calibrated_scores_keep_one_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_STANDARD_ERRORS", 4.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        real, generated = rng.beta(3, 2, 500), rng.beta(2, 3, 500)
        assert choose_threshold(real, generated) == 0.5


def test_shifted_scores_move_the_threshold_to_between_the_classes() -> None:
    real, generated = np.linspace(0.30, 0.45, 50), np.linspace(0.05, 0.20, 50)
    assert choose_threshold(real, generated) == pytest.approx(0.25)
    assert choose_threshold(1 - generated, 1 - real) == pytest.approx(0.75)


def test_without_a_margin_no_threshold_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_STANDARD_ERRORS", 0.0)
    rng = np.random.default_rng(1)
    for _ in range(10):
        real, generated = np.round(rng.beta(3, 2, 40), 1), np.round(rng.beta(2, 4, 30), 1)
        chosen = balanced_accuracy(real, generated, choose_threshold(real, generated))
        everywhere = [balanced_accuracy(real, generated, threshold) for threshold in np.linspace(0.01, 0.99, 99)]
        assert chosen == pytest.approx(max(everywhere))


def test_a_gain_of_a_few_sentences_is_not_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    real, generated = np.repeat([0.45, 0.9], [3, 97]), np.full(100, 0.1)
    assert choose_threshold(real, generated) == 0.5
    monkeypatch.setattr(base, "_STANDARD_ERRORS", 0.0)
    assert choose_threshold(real, generated) == pytest.approx(0.275)


@pytest.mark.parametrize("standard_errors", [0, 2])
def test_equal_scores_keep_one_half(standard_errors: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_STANDARD_ERRORS", standard_errors)
    for score in (0.2, 1.0):
        assert choose_threshold(np.full(5, score), np.full(5, score)) == 0.5
