"""Boosted trees: training sentences are scored unseen, groups stay together, log-probabilities are used."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator import boosted_trees
from textassay.discriminator.boosted_trees import BoostedTreesDiscriminator, SideModels, TokenProbs
from textassay.discriminator.cross_fitting import CrossFit, cross_fit
from textassay.errors import OptionError, UnavailableError
from textassay.execution.threads import parallel_map, workers
from textassay.ngram.model import NgramModel


def sentences(n: int, step: int, seed: int) -> list[str]:
    """Return chains of numbers in which the next is `step` to `step` + 19 further, of 200."""
    rng = np.random.default_rng(seed)
    chains = (rng.integers(200) + np.concatenate([[0], (step + rng.integers(0, 20, 5)).cumsum()]) for _ in range(n))
    return [" ".join(map(str, chain % 200)) for chain in chains]


def chains(n: int) -> dict[str, Corpus]:
    steps = {"real": 0, "generated": 15, "valid_r": 0, "valid_g": 15, "test_r": 0, "test_g": 15}
    return corpora_from_texts({side: sentences(n, step, seed) for seed, (side, step) in enumerate(steps.items())})


def ratios(monkeypatch: pytest.MonkeyPatch, *, held_out: bool) -> list[float]:
    """Return the mean log ratio that trees see of real sentences: of those they learn from, and of new ones."""
    corpora = chains(400)
    seen = []

    class Spy(HistGradientBoostingClassifier):  # type: ignore[misc]
        def fit(self, rows: np.ndarray, labels: np.ndarray) -> "Spy":
            seen.append(rows[labels == 1])
            super().fit(rows, labels)
            return self

        def staged_decision_function(self, rows: np.ndarray) -> Iterator[np.ndarray]:
            seen.append(rows)
            return super().staged_decision_function(rows)  # type: ignore[no-any-return]

    monkeypatch.setattr(boosted_trees, "HistGradientBoostingClassifier", Spy)
    if not held_out:
        monkeypatch.setattr(boosted_trees, "_parts", lambda pair, n_parts: None)
    train, valid = (corpora["real"], corpora["generated"]), (corpora["valid_r"], corpora["valid_g"])
    BoostedTreesDiscriminator(max_order=2, folds=10).fit(train, valid)
    bigrams = 4  # the first number of order 2: the sum of the log ratios
    return [float(rows[:, bigrams].mean()) for rows in seen[:2]]


def test_training_sentences_are_scored_by_models_that_did_not_see_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What trees learn from looks like what they will judge; scored by models of themselves it would not."""
    train, new = ratios(monkeypatch, held_out=True)
    assert train == pytest.approx(new, rel=0.15)
    train, new = ratios(monkeypatch, held_out=False)
    assert train > 2 * new > 0


def test_partners_in_different_groups_are_not_turned_into_a_difference() -> None:
    """Each text stands on both sides: a partner in the training text is wrong of its text each time."""
    lines = [" ".join(line) for line in np.random.default_rng(1).choice([f"w{n}" for n in range(60)], (400, 8))]
    real, generated = corpora_from_texts({"real": lines, "generated": lines}).values()
    trees = BoostedTreesDiscriminator()
    assert 2 * accuracy(cross_fit(trees, real, generated, folds=3, seed=0)) - 1 > 0.5
    grouped = (replace(side, groups=1000 * which + np.arange(400)) for which, side in enumerate((real, generated)))
    assert 2 * accuracy(cross_fit(trees, *grouped, folds=3, seed=0)) - 1 < 0.05


def accuracy(fit: CrossFit) -> float:
    real, generated = fit.correct()
    return float(real.mean() + generated.mean()) / 2


def test_whole_groups_are_left_out_together_on_both_sides() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.integers(0, 12, size) for size in (70, 40)]
    corpora = corpora_from_texts(
        {"real": ["a"] * 70, "generated": ["b"] * 40}, groups={"real": groups[0], "generated": groups[1]}
    )
    parts = boosted_trees._parts((corpora["real"], corpora["generated"]), 5)
    assert parts is not None
    assert all(set(side.tolist()) == set(range(5)) for side in parts)
    part_of = dict(zip(np.concatenate(groups).tolist(), np.concatenate(parts).tolist(), strict=True))
    assert all(
        part_of[group] == part for group, part in zip(np.concatenate(groups), np.concatenate(parts), strict=True)
    )


@pytest.mark.parametrize(("n_real", "n_generated", "n_parts"), [(30, 9, 5), (3, 40, 3), (2, 2, 2), (1, 40, None)])
def test_small_sides_have_fewer_parts(n_real: int, n_generated: int, n_parts: int | None) -> None:
    corpora = corpora_from_texts({"real": ["a"] * n_real, "generated": ["b"] * n_generated})
    parts = boosted_trees._parts((corpora["real"], corpora["generated"]), 5)
    assert n_parts == (None if parts is None else len(np.unique(parts[0])))


def test_groups_of_one_side_only() -> None:
    corpora = corpora_from_texts({"real": ["a"] * 9, "generated": ["b"] * 9}, groups={"real": np.arange(9) // 3})
    parts = boosted_trees._parts((corpora["real"], corpora["generated"]), 5)
    assert parts is not None
    assert sorted(parts[0][::3].tolist()) == [0, 1, 2]
    assert np.array_equal(parts[0], np.repeat(parts[0][::3], 3))


def test_log_probabilities_of_the_generator_are_used_where_both_sides_have_them() -> None:
    texts = sentences(300, 0, 0)
    corpora = corpora_from_texts({"real": texts, "generated": texts})
    rng = np.random.default_rng(0)
    real, generated = (
        replace(corpora[side], columns={"log_probs/g": rng.normal(centre, 1, 300)})
        for side, centre in (("real", -12.0), ("generated", -8.0))
    )
    judge = BoostedTreesDiscriminator().fit((real, generated), (real, generated))
    assert np.mean(judge.prob_real(real) > 0.5) + np.mean(judge.prob_real(generated) <= 0.5) > 1.9
    with pytest.raises(UnavailableError, match="fitted with log_probs/g"):
        judge.prob_real(corpora["real"])
    blind = BoostedTreesDiscriminator().fit((real, corpora["generated"]), (real, corpora["generated"]))
    assert blind.chosen["n_features"] < judge.chosen["n_features"]


def test_fits_are_equal_bit_by_bit_in_any_number_of_threads() -> None:
    corpora = chains(150)
    pair = (corpora["real"], corpora["generated"])

    def scores(_: int) -> np.ndarray:
        return BoostedTreesDiscriminator(max_trees=20).fit(pair, pair).prob_real(corpora["test_r"])

    alone = scores(0)
    with workers(2):
        together = parallel_map(scores, range(3))
    assert all(np.array_equal(alone, other) for other in together)


def test_the_signature_says_all_settings() -> None:
    assert BoostedTreesDiscriminator(max_order=2, folds=3, max_trees=50).features == (
        "Kneser-Ney 1-2-gram ratios of 3 folds, blur 0+0.2, length, <=50 trees of 7 leaves, rate 0.05, L2 10"
    )


@pytest.mark.parametrize(("setting", "least"), [("max_order", 1), ("folds", 2), ("max_trees", 1)])
def test_bad_settings_are_errors(setting: str, least: int) -> None:
    with pytest.raises(OptionError, match=f"{setting} must be at least {least}, got 0"):
        BoostedTreesDiscriminator(**{setting: 0})


def drawn(n: int, seed: int = 0) -> dict[str, Corpus]:
    """Return sentences of five words, all of which stand in each part, with repeats."""
    rng = np.random.default_rng(seed)
    words = np.array(list("abcde"))
    made = {
        side: ["a b c d e", *(" ".join(rng.choice(words, rng.integers(0, 6), p=p)) for _ in range(n))]
        for side, p in (("real", [0.2] * 5), ("generated", [0.4, 0.3, 0.1, 0.1, 0.1]))
    }
    return corpora_from_texts({**made, "new": ["a b", "", "e e e", "zzz a", "<eos> b"]})


def without_unknown(corpora: dict[str, Corpus]) -> Corpus:
    return corpora["new"].take(np.arange(3))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_token_probabilities_are_those_of_the_ngram_generator(order: int) -> None:
    corpora = drawn(60)
    pair = (corpora["real"], corpora["generated"])
    probs = SideModels(pair, max_order=3).fit(order).token_probs(without_unknown(corpora))
    for found, corpus in zip((probs.real, probs.generated), pair, strict=True):
        alone = corpora_from_texts({"train": corpus.texts})["train"]  # a vocabulary of the five words
        peer = NgramModel(order).fit(alone)
        assert np.log(found) == pytest.approx(peer.token_log_probs(without_unknown(corpora)))
        assert probs.sums(np.log(found)) == pytest.approx(peer.log_prob(without_unknown(corpora)))


def test_a_model_without_a_group_is_that_of_the_other_sentences() -> None:
    corpora = drawn(60)
    pair = (corpora["real"], corpora["generated"])
    groups = (np.arange(61) % 3, np.arange(61) // 2 % 3)
    models = SideModels(pair, max_order=2, groups=groups)
    rest = tuple(corpus.take(group != 1) for corpus, group in zip(pair, groups, strict=True))
    alone = SideModels((rest[0], rest[1]), max_order=2).fit(2).token_probs(corpora["new"])
    found = models.fit(2, without=(1,)).token_probs(corpora["new"])
    assert found.real == pytest.approx(alone.real)
    assert found.generated == pytest.approx(alone.generated)


def test_unknown_and_reserved_words_are_one_word() -> None:
    corpora = drawn(60)
    models = SideModels((corpora["real"], corpora["generated"]), max_order=2).fit(2)
    other = corpora_from_texts({"x": ["yyy a", "<pad> b"]}, vocabulary=corpora["real"].vocabulary)["x"]
    found, same = models.token_probs(corpora["new"].take(np.array([3, 4]))), models.token_probs(other)
    assert np.array_equal(found.real, same.real)


def test_blur_bounds_what_a_token_can_say() -> None:
    probs = TokenProbs(np.array([0.9, 1e-9, 0.2]), np.array([1e-9, 0.9, 0.2]), np.array([0, 2, 3]))
    assert probs.log_ratios() == pytest.approx([math.log(9e8), -math.log(9e8), 0])
    assert probs.log_ratios(0.2) == pytest.approx([math.log(4), -math.log(4), 0], abs=1e-6)
    assert probs.sums(np.array([1.0, 2.0, 4.0])) == pytest.approx([3, 4])
