"""What every discriminator promises, whatever it looks at."""

import json
from functools import cache

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator, Pair
from textassay.discriminator.catalog import DISCRIMINATORS, make_discriminator
from textassay.discriminator.cross_fitting import cross_fit
from textassay.errors import MissingExtraError, OptionError

SLOW = {"cnn-paper", "cnn-paper-120"}  # trains until it stops gaining
OF_COLUMNS = {"language-model", "vectors"}  # reads no words: see test_column_logistic
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in sorted({*DISCRIMINATORS} - OF_COLUMNS)
]
ODD = ["", "zzz", "quite unheard of", "the", "a a a a a a a a a a a a a a a a", ""]


def texts(n: int, share: float, seed: int, *, least: int = 0) -> list[str]:
    """Return sentences of words and numbers, `share` of whose words come from the first half of the list."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number}" for number in range(40)])
    lengths = rng.integers(least, 9, n)
    return [" ".join(words[rng.integers(0, 20, k) + 20 * (rng.random(k) >= share)]) for k in lengths]


@cache
def corpora(n_real: int, n_generated: int, n_valid: int) -> dict[str, Corpus]:
    sides = {
        "real": (n_real, 0.8),
        "generated": (n_generated, 0.2),
        "valid_r": (n_valid, 0.8),
        "valid_g": (n_valid, 0.2),
    }
    made = {name: texts(n, share, seed) for seed, (name, (n, share)) in enumerate(sides.items())}
    return corpora_from_texts({**made, "test_r": texts(200, 0.8, 4), "test_g": texts(200, 0.2, 5), "odd": ODD})


def parts(found: dict[str, Corpus]) -> tuple[Pair, Pair]:
    return (found["real"], found["generated"]), (found["valid_r"], found["valid_g"])


def made(name: str) -> Discriminator:
    try:
        return make_discriminator(name)
    except MissingExtraError as error:
        pytest.skip(str(error))


@cache
def fitted(name: str) -> Discriminator:
    """Return one fitted to 300 real and 300 generated sentences, empty ones and single words among them."""
    return made(name).fit(*parts(corpora(300, 300, 100)))


@cache
def fitted_to_few(name: str) -> Discriminator:
    """Return one fitted to 60 real and 60 generated sentences."""
    return made(name).fit(*parts(corpora(60, 60, 20)))


@pytest.mark.parametrize("name", NAMES)
def test_what_it_says_of_itself(name: str) -> None:
    discriminator = made(name)
    assert isinstance(discriminator, Discriminator)
    assert discriminator.name == name
    assert not set(discriminator.features) & set("|\n")
    assert discriminator.chosen == {}
    assert json.loads(json.dumps(dict(fitted(name).chosen))) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_difference_is_found_in_new_text(name: str) -> None:
    found = corpora(300, 300, 100)
    real, generated = (fitted(name).prob_real(found[side]) for side in ("test_r", "test_g"))
    assert np.mean(real > 0.5) + np.mean(generated <= 0.5) - 1 > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_probabilities_for_any_sentence(name: str) -> None:
    found = corpora(300, 300, 100)
    for corpus in (*found.values(), found["odd"].take(np.arange(1)), found["odd"].take(np.arange(0))):
        scores = fitted(name).prob_real(corpus)
        assert scores.shape == (len(corpus),)
        assert scores.dtype == np.float64
        assert np.all((scores >= 0) & (scores <= 1))  # false for NaN, too


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_is_judged_by_itself(name: str) -> None:
    corpus = corpora(300, 300, 100)["test_r"]
    together = fitted(name).prob_real(corpus)
    rows = np.arange(len(corpus))[::-3]
    assert fitted(name).prob_real(corpus.take(rows)) == pytest.approx(together[rows], abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_other_text_in_the_vocabulary_changes_nothing(name: str) -> None:
    """A fit and its answers are the same whatever other words the corpora of a comparison brought along."""
    found = corpora(60, 60, 20)
    sides = {side: found[side].texts for side in ("real", "generated", "valid_r", "valid_g", "test_r")}
    wider = corpora_from_texts({**sides, "other": [f"new{number} w1 new{number + 1}" for number in range(500)]})
    scores = made(name).fit(*parts(wider)).prob_real(wider["test_r"])
    alone = fitted_to_few(name).prob_real(found["test_r"])
    assert scores == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_fits_repeat_bit_by_bit_and_leave_the_discriminator_as_it_was(name: str) -> None:
    found = corpora(60, 60, 20)
    discriminator = made(name)
    features = discriminator.features
    again = discriminator.fit(*parts(found))
    assert again is not discriminator
    assert (discriminator.features, discriminator.chosen) == (features, {})
    with pytest.raises(OptionError, match="must be fitted"):
        discriminator.prob_real(found["test_r"])
    assert np.array_equal(again.prob_real(found["test_r"]), fitted_to_few(name).prob_real(found["test_r"]))


@pytest.mark.parametrize("name", NAMES)
def test_unequal_sides_weigh_the_same(name: str) -> None:
    """Six times as many generated sentences, hard to tell: scores are not those of a guess by sizes."""
    sizes = {"real": (100, 0.6), "generated": (600, 0.4), "valid_r": (50, 0.6), "valid_g": (300, 0.4)}
    found = corpora_from_texts({side: texts(n, share, 7, least=1) for side, (n, share) in sizes.items()})
    judge = made(name).fit(*parts(found))
    real, generated = (judge.prob_real(found[side]) for side in ("valid_r", "valid_g"))
    # without balance about 2 / 7; cnn-paper knows the hundred real sentences by heart and doubts all others: 0.65
    assert np.mean(real) + np.mean(generated) == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n_real", "n_generated", "folds"), [(16, 40, 2)])
def test_few_sentences_are_enough_to_run(name: str, n_real: int, n_generated: int, folds: int) -> None:
    found = corpora(n_real, n_generated, 2)
    fit = cross_fit(made(name), found["real"], found["generated"], folds=folds, seed=0)
    for scores in (fit.real_scores, fit.generated_scores):
        assert np.all((scores >= 0) & (scores <= 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_a_side_is_enough_to_run(name: str) -> None:
    found = corpora_from_texts({"real": ["a b"], "generated": ["c"], "odd": ODD})
    pair = (found["real"], found["generated"])
    scores = made(name).fit(pair, pair).prob_real(found["odd"])
    assert np.all((scores >= 0) & (scores <= 1))


@pytest.mark.parametrize("name", NAMES)
def test_empty_sentences_alone_are_enough_to_run(name: str) -> None:
    found = corpora_from_texts({"real": [""] * 12, "generated": [""] * 12, "odd": ODD})
    pair = (found["real"], found["generated"])
    judge = made(name).fit(pair, pair)
    assert np.ptp(judge.prob_real(found["real"])) < 1e-6
    assert np.all(np.isfinite(judge.prob_real(found["odd"])))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_equal_distributions_are_not_told_apart(name: str) -> None:
    """Held-out balanced accuracy is one half: what was judged was not learnt from."""
    words = texts(400, 0.5, 6)
    found = corpora_from_texts({"real": words[:200], "generated": words[200:]})
    fit = cross_fit(made(name), found["real"], found["generated"], folds=2, seed=0)
    real, generated = fit.correct()
    assert abs(real.mean() + generated.mean() - 1) < 4 * np.sqrt(2 * 2 * 0.25 / 200)
