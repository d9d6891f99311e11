"""A lower bound of the share of machine text, and the estimate by words, against shares that are known."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import textassay as ta
from textassay.comparison.occurrence_mixture import OccurrenceMixture, most_likely
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import OptionError

WORDS = [f"w{number}" for number in range(30)]
QUICK: dict[str, Any] = {"effort": "quick", "independent": True, "tokenizer": "whitespace"}


def lines(n: int, seed: int, *, shift: float = 0.0) -> list[str]:
    """Return texts of eight words; of the first half of the words the more, the higher `shift`."""
    rng = np.random.default_rng(seed)
    weights = np.where(np.arange(30) < 15, math.exp(shift), 1.0)
    return [" ".join(line) for line in rng.choice(WORDS, (n, 8), p=weights / weights.sum())]


def mixed(n: int, share: float, seed: int) -> list[str]:
    return [*lines(round(n * (1 - share)), seed), *lines(round(n * share), seed + 1, shift=5.0)]


@pytest.mark.parametrize(("truth", "status"), [(0.0, 0), (0.4, 1)])
def test_the_bound_is_below_the_truth_and_above_nothing_where_much_is_there(truth: float, status: int) -> None:
    found = ta.share({"c": mixed(2000, truth, 1)}, lines(2000, 3), **QUICK)
    assert found.status == status
    (corpus,) = found.corpora
    assert (0.5 * truth if truth else 0) <= corpus.at_least <= truth
    assert corpus.low <= corpus.distance <= corpus.high
    assert ("nothing was found" in str(found)) == (truth == 0)


def test_few_texts_cannot_tell() -> None:
    found = ta.share(lines(150, 1), lines(150, 2), **QUICK)
    assert found.status == 3
    assert found.corpora[0].seen > 0.1
    assert "inconclusive" in str(found)


def test_drift_is_taken_off_and_named_where_it_may_be_there() -> None:
    """Later human text prefers other words: without it, drift would be a share."""
    clean, corpus, later = lines(2000, 1), lines(2000, 2, shift=0.7), lines(2000, 3, shift=0.7)
    without = ta.share({"c": corpus}, clean, **QUICK)
    assert without.corpora[0].at_least > 0.1
    assert any("--later" in warning for warning in without.warnings)
    found = ta.share({"c": corpus}, clean, later=later, **QUICK)
    assert found.corpora[0].at_least == 0
    assert found.drift is not None
    assert found.drift > without.corpora[0].distance - 0.1
    assert not any("--later" in warning for warning in found.warnings)


def test_all_ends_hold_together() -> None:
    alone = ta.share({"c": lines(400, 1)}, lines(400, 2), **QUICK).corpora[0]
    among = ta.share({name: lines(400, 1) for name in "cde"}, lines(400, 2), **QUICK).corpora[0]
    assert among.distance == alone.distance
    assert among.low < alone.low
    assert alone.high < among.high


def test_a_share_is_allowed_up_to_at_most() -> None:
    sides = {"c": mixed(2000, 0.4, 1)}, lines(2000, 3)
    assert ta.share(*sides, at_most=0.5, **QUICK).status == 0
    with pytest.raises(OptionError, match="at_most must be between 0 and 1"):
        ta.share(*sides, at_most=2, **QUICK)
    with pytest.raises(OptionError, match=r"'\(later\)' cannot be the name of a corpus"):
        ta.share({"(later)": ["a"]}, ["a"], **QUICK)


@pytest.mark.parametrize("truth", [0.0, 0.05, 0.3])
def test_words_that_are_independent_tell_the_share(truth: float) -> None:
    """Texts that hold each word by itself are what the estimate assumes."""

    def texts(n: int, seed: int, probs: np.ndarray) -> list[str]:
        held = np.random.default_rng(seed).random((n, 30)) < probs
        return [" ".join(itertools.compress(WORDS, row)) or "none" for row in held]

    p, q = np.linspace(0.1, 0.6, 30), np.linspace(0.5, 0.2, 30)
    n = round(4000 * truth)
    corpora = corpora_from_texts(
        {"h": texts(4000, 1, p), "m": texts(4000, 2, q), "c": [*texts(4000 - n, 3, p), *texts(n, 4, q)]}
    )
    found = OccurrenceMixture.fit(corpora["h"], corpora["m"]).share(corpora["c"], level=0.95, seed=0)
    assert found.value == pytest.approx(truth, abs=0.02)
    assert found.low <= found.value <= found.high


def test_the_most_likely_share_is_where_the_likelihood_is_highest() -> None:
    rng = np.random.default_rng(0)
    ratios, weights = rng.normal(size=200), rng.integers(0, 3, 200)
    grid: Sequence[float] = np.linspace(0.0005, 0.9995, 1000).tolist()
    likelihood = [float(weights @ np.log(1 - s + s * np.exp(ratios))) for s in grid]
    assert most_likely(ratios, weights) == pytest.approx(grid[int(np.argmax(likelihood))], abs=0.001)
    assert most_likely(np.full(3, -1.0), np.ones(3)) == pytest.approx(0, abs=1e-9)
    assert most_likely(np.full(3, 1.0), np.ones(3)) == pytest.approx(1)
