"""Random search: the best on validation text is what judges, and the same is found again."""

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator, Pair, balanced_accuracy
from textassay.discriminator.catalog import DISCRIMINATORS
from textassay.errors import OptionError
from textassay.execution.threads import workers
from textassay_lab.judges.meta_evaluator import meta_evaluate
from textassay_lab.judges.random_search import (
    EVALUATORS,
    SPACES,
    LogUniform,
    OneOf,
    RandomSearchDiscriminator,
    SearchSpace,
)


class ByLength:
    """Calls real what has at least `least` tokens; `sure` is how sure it is."""

    name = "by-length"

    def __init__(self, *, least: int = 1, sure: float = 0.6) -> None:
        self.least = least
        self.sure = sure
        self.chosen: Mapping[str, Any] = {}

    @property
    def features(self) -> str:
        return f"least {self.least}, sure {self.sure:g}"

    def fit(self, train: Pair, valid: Pair) -> Self:
        return self

    def prob_real(self, corpus: Corpus) -> npt.NDArray[np.float64]:
        return np.where(corpus.lengths >= self.least, self.sure, 1 - self.sure)


SPACE = SearchSpace(ByLength, {"least": OneOf((1, 2, 3, 4, 5)), "sure": LogUniform(0.55, 0.95)})


def pairs() -> tuple[Pair, Pair]:
    """Return pairs that at least four tokens tell apart, but for one text in ten."""
    real, generated = ["a b c d"] * 9 + ["a"], ["a b"] * 5 + ["a b c"] * 4 + ["a b c d e"]
    found = corpora_from_texts({"real": real, "generated": generated})
    return (found["real"], found["generated"]), (found["real"], found["generated"])


@pytest.mark.feature("JJ-26")
def test_the_best_validation_setting_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SPACES, "by-length", SPACE)
    train, valid = pairs()
    search = RandomSearchDiscriminator("by-length", n_trials=40, seed=3).fit(train, valid)
    assert {trial.settings["least"] for trial in search.trials} == {1, 2, 3, 4, 5}
    best = max(search.trials, key=lambda trial: (trial.valid_accuracy, -trial.valid_cross_entropy))
    assert best.settings["least"] == 4
    assert best.valid_accuracy == 0.9
    # nine texts in ten are right: to be sure by 0.9 costs least
    assert abs(best.settings["sure"] - 0.9) == min(
        abs(t.settings["sure"] - 0.9) for t in search.trials if t.settings["least"] == 4
    )
    assert search.chosen["settings"] == best.settings
    assert search.chosen["trial"] == best.number
    assert isinstance(search.best, ByLength)
    assert (search.best.least, search.best.sure) == (4, best.settings["sure"])
    assert np.array_equal(search.prob_real(valid[0]), search.best.prob_real(valid[0]))
    assert balanced_accuracy(search.prob_real(valid[0]), search.prob_real(valid[1])) == 0.9


@pytest.mark.feature("JJ-26")
def test_it_is_reproducible_in_any_number_of_threads_and_more_trials_repeat_the_first() -> None:
    train, valid = pairs()
    search = RandomSearchDiscriminator("naive-bayes", n_trials=6, seed=1)
    alone = search.fit(train, valid)
    with workers(3):
        again = search.fit(train, valid)
    assert alone.trials == again.trials
    assert alone.chosen == again.chosen
    assert np.array_equal(alone.prob_real(valid[0]), again.prob_real(valid[0]))
    more = RandomSearchDiscriminator("naive-bayes", n_trials=8, seed=1).fit(train, valid)
    assert more.trials[:6] == alone.trials
    other = RandomSearchDiscriminator("naive-bayes", n_trials=6, seed=2).fit(train, valid)
    assert other.trials[0] == alone.trials[0], "the defaults come first"
    assert other.trials[1:] != alone.trials[1:]
    assert alone.trials[0].settings == {"alpha": 1.0, "min_sentences": 1, "weighting": "counts"}
    assert len(json.loads(json.dumps(alone.chosen))["trials"]) == 6
    assert search.chosen == {}


@pytest.mark.feature("JJ-26")
def test_of_equal_trials_the_first_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SPACES, "by-length", SearchSpace(ByLength, {"least": OneOf((1,))}))
    train, valid = pairs()
    assert RandomSearchDiscriminator("by-length", n_trials=5).fit(train, valid).chosen["trial"] == 0


def test_numbers_are_drawn_as_said() -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([LogUniform(0.01, 10).draw(rng) for _ in range(3000)])
    assert drawn.min() >= 0.01
    assert drawn.max() <= 10
    shares = [np.mean((drawn >= low) & (drawn < 10 * low)) for low in (0.01, 0.1, 1.0)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.04)
    counts = np.bincount([OneOf((0, 1, 2)).draw(rng) for _ in range(3000)])
    assert counts / 3000 == pytest.approx([1 / 3] * 3, abs=0.04)


@pytest.mark.parametrize("name", EVALUATORS)
def test_every_evaluator_has_a_space_whose_draws_it_takes(name: str) -> None:
    pytest.importorskip({"xgboost": "xgboost"}.get(name, "torch"))
    assert name in DISCRIMINATORS
    for number in range(20):
        made = SPACES[name].make(**SPACES[name].draw(0, name, number))
        assert isinstance(made, Discriminator)
        assert made.name == name
        assert not set(RandomSearchDiscriminator(name).features) & set("|\n")


def test_what_judges_is_chosen_on_validation_text_alone() -> None:
    """A search among judges that know nothing gains nothing on test text, however well it did where it chose."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in row) for row in rng.integers(0, 50, (480, 6))]
    found = corpora_from_texts({"real": texts[:240], "g": texts[240:]})
    search = RandomSearchDiscriminator("naive-bayes", n_trials=10)
    result = meta_evaluate(search, found["real"], {"g": found["g"]}, folds=4)
    chosen = np.mean([max(trial["valid_accuracy"] for trial in fold["trials"]) for fold in result.chosen])
    assert chosen > 0.52
    assert abs(result.all.value - 0.5) < 4 * np.sqrt(1.64 * 0.25 / 480)


def test_doors() -> None:
    with pytest.raises(OptionError, match="n_trials must be at least 1, got 0"):
        RandomSearchDiscriminator("svm", n_trials=0)
    with pytest.raises(OptionError, match="unknown discriminator to search 'swm': did you mean svm"):
        RandomSearchDiscriminator("swm")
    with pytest.raises(OptionError, match="a svm-search discriminator must be fitted"):
        RandomSearchDiscriminator("svm").prob_real(Corpus.from_texts(["a"]))
