"""A judge that scores most texts alike: its answers are guesses, and the interval of dd is no shorter than those."""

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from textassay.comparison.comparison import Result
from textassay.comparison.pairs import pair_differences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.discriminator.base import Pair
from textassay.estimate import Estimate, Interval
from textassay.metric.blindness import alike_share, blindness, guessing_variance, unseen_shares
from textassay.metric.discrepancy import dd
from textassay.metric.discrepancy_interval import Answers, at_least_guessing, variance_factor
from unspaced import chains, single_tokens

WHITESPACE = resolve_tokenizer("whitespace")
GUESSING = 1.96 * math.sqrt(1.64 * 0.5 / 100)  # half an interval of two sides of 100 guesses


def corpora(n: int, **texts: list[str]) -> dict[str, Corpus]:
    return corpora_from_texts({name: lines[:n] for name, lines in texts.items()}, tokenizer=WHITESPACE)


def blind(n: int = 100, **others: list[str]) -> dict[str, Corpus]:
    """Return texts of one token each, none of which stands twice."""
    return corpora(n, real=chains(n, seed=1), generated=chains(n, seed=2, shift=0.5), **others)


def quick(sides: dict[str, Corpus], name: str = "generated", **settings: object) -> Estimate:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "dd.* is of little use here")
        return dd(sides[name], sides["real"], **{"effort": "quick", **settings})


def test_alike_by_hand() -> None:
    """Fold 0: 0.5 is most common, 2 of 3 real and 1 of 2 generated; fold 1: 0.7, nothing generated."""
    real, generated = ["a", "b", "c", "d", "e"], ["f", "g", "h"]
    scores = np.array([0.5, 0.5, 0.1, 0.7, 0.7]), np.array([0.5, 0.2, 0.3])
    folds = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1])
    assert alike_share((real, generated), scores, folds) == pytest.approx((5 * 0.5 + 3 * 0.0) / 8)
    assert alike_share((real, generated), scores) == pytest.approx(1 / 3)  # 0.5 is most common: 2 of 5 and 1 of 3
    untested = np.array([0.5, 0.5, 0.1, np.nan, np.nan]), np.array([0.5, 0.2, np.nan])
    assert alike_share((real, generated), untested) == pytest.approx(0.5)


def test_repeated_texts_are_no_sign_of_blindness() -> None:
    """Equal texts must have equal scores: labels are seen, however few they are."""
    labels = ["yes"] * 10, ["yes"] * 10
    assert alike_share(labels, (np.full(10, 0.5), np.full(10, 0.5))) == 0
    assert alike_share((["a", "b"], ["a", "c"]), (np.full(2, 0.5), np.full(2, 0.5))) == 0.5


def test_unseen_by_hand() -> None:
    sides = corpora(4, real=["a b", "a", "c", ""], generated=["d", "b", "e f", "f"])
    folds = np.array([0, 1, 0, 1]), np.array([0, 1, 1, -1])
    # fold 0 knows a b e f (the last is never tested, but learnt from): c and d are unseen; fold 1 knows a b c d f
    assert unseen_shares((sides["real"], sides["generated"]), folds) == (1 / 4, 1 / 3)


def test_what_is_said_of_it() -> None:
    assert blindness(0.0, {}) is None
    assert blindness(0.5, {"real": 0.5, "generated": 1.0}) is None
    assert blindness(0.9, {"real": 0.1, "generated": 0.9}) is None  # a judge that says yes or no may do so
    assert blindness(0.95, {"real": 0.1, "generated": 0.9}) == (
        "its classifier gives 95 % of the texts of both sides exactly the same score"
    )
    assert str(blindness(0.9, {"real": 0.8, "generated": 0.9})).startswith("80 % of the texts of both sides share no t")


def test_guessing_takes_over_from_the_answers_at_one_half_without_a_leap() -> None:
    """Texts scored alike on both sides are judged alike: those of one side wrongly, the others here rightly."""
    assert guessing_variance(0.5, 100, 100) == 0
    for alike in (0.5001, 0.7, 1.0):
        plain = alike * (1 - alike) / 100
        assert guessing_variance(alike, 100, 100) == pytest.approx(alike / 200)
        assert guessing_variance(alike, 100, 100) > plain
    assert guessing_variance(0.5001, 100, 100) == pytest.approx(0.5001 * 0.4999 / 100, rel=1e-3)


def test_the_interval_of_a_blind_judge_is_that_of_guessing() -> None:
    """Before, it was [-0.06, 0.06] of 100 sentences a side, and [-0.01, 0.01] of 600."""
    estimate = quick(blind())
    assert estimate.value == 0
    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((-GUESSING, GUESSING), rel=1e-4)
    assert estimate.interval.method.endswith("no shorter than guessing on texts scored alike")
    assert estimate.details["alike"] == 1
    assert estimate.details["unseen"] == {"real": 1, "generated": 1}
    assert estimate.details["se_sampling"] == pytest.approx(GUESSING / 1.96, rel=0.02)
    assert estimate.details["certified_bound"]["value"] == 0


def test_one_repeated_text_changes_little() -> None:
    """A rule for exact ties at the threshold alone would fall back to the short interval."""
    lines = chains(100, seed=1)
    sides = corpora(100, real=[lines[1], *lines[1:]], generated=chains(100, seed=2))
    interval = quick(sides).interval
    assert interval is not None
    assert interval.high - interval.low > 1.9 * GUESSING


def test_a_warning_stands_beside_the_number() -> None:
    sides = blind()
    with pytest.warns(
        RuntimeWarning, match="dd is of little use here: 100 % of the texts of both sides share no token"
    ):
        dd(sides["generated"], sides["real"], effort="quick")


def test_differences_between_blind_judgements_are_not_exact() -> None:
    """Two generators of which nothing is known: their difference was 0 with the interval [0, 0]."""
    sides = blind(other=chains(100, seed=3))
    results = [Result(name, "dd", "lower", quick(sides, name)) for name in ("generated", "other")]
    pair = pair_differences(results, level=0.95)[0]
    assert pair.difference == 0
    assert pair.p == pytest.approx(1)
    assert pair.high == pytest.approx(GUESSING * math.sqrt(2), rel=0.15)


def test_groups_are_guesses_too() -> None:
    sides = blind()
    pairs = np.arange(100) // 2
    grouped = {name: replace(sides[name], groups=pairs + at) for name, at in (("real", 0), ("generated", 1000))}
    interval = quick(grouped).interval
    assert interval is not None
    assert interval.high == pytest.approx(GUESSING * math.sqrt(2), rel=0.05)


def test_one_split_and_a_judge_that_always_says_the_same() -> None:
    """The texts have words that are known, but the judge does not look."""
    numbers = range(200)
    sides = corpora(200, real=[f"a {number}" for number in numbers], generated=[f"a -{number}" for number in numbers])
    estimate = quick(sides, discriminator=Indifferent(), folds=1, independent=True)
    assert estimate.details["alike"] == 1
    assert estimate.details["unseen"] == {"real": 0, "generated": 0}
    assert estimate.interval is not None
    assert estimate.interval.high == pytest.approx(1.96 * math.sqrt(0.5 / 20), rel=1e-3)


class Indifferent:
    """A judge with one opinion."""

    name = "indifferent"
    features = ""
    chosen: ClassVar[dict[str, Any]] = {}

    def fit(self, train: Pair, valid: Pair) -> "Indifferent":
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        return np.full(len(corpus), 0.6)


def test_what_only_one_side_has_is_seen() -> None:
    """A generator that writes two texts: that a text is new gives real text away, and nothing is widened."""
    sides = corpora(100, real=chains(100, seed=1), generated=["甲", "乙"] * 50)
    estimate = quick(sides)
    assert estimate.value > 0.95
    assert estimate.details["alike"] == 0
    assert estimate.interval is not None
    assert "guessing" not in estimate.interval.method


def test_labels_are_seen() -> None:
    rng = np.random.default_rng(0)
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    sides = corpora(600, real=single_tokens(600, p, rng), generated=single_tokens(600, q, rng))
    estimate = quick(sides, effort="default")
    assert estimate.interval is not None
    assert estimate.interval.low <= 0.3 <= estimate.interval.high
    assert estimate.details["p_value"] < 0.05
    assert (estimate.details["alike"], estimate.details["unseen"]) == (0, {"real": 0, "generated": 0})


def test_nothing_is_widened_without_need() -> None:
    interval = Interval(-0.2, 0.1, 0.95, "newcombe")
    assert at_least_guessing(interval, 0.0, 0.0) is interval
    assert at_least_guessing(interval, 0.0, 1e-4) is interval
    assert at_least_guessing(interval, -0.05, 0.01).low == pytest.approx(-0.05 - 0.196, abs=1e-3)
    terms = np.array([1.0, 0.0] * 20), np.array([1.0, 1.0, 0.0, 1.0] * 10)
    plain, some = (Answers(terms, (None, None), variance_factor(5), alike, "0") for alike in (0.0, 0.5))
    assert plain.interval(0.95) == some.interval(0.95)
    for one, other in zip(plain.evidence, some.evidence, strict=True):
        assert isinstance(one, np.ndarray)
        assert isinstance(other, np.ndarray)
        assert one.tobytes() == other.tobytes()
