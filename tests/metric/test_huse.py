"""HUSE: the vote of neighbours by plain search, known errors of the best classifier, and an interval that covers."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from textassay.comparison.columns import attach_columns
from textassay.comparison.run import compare
from textassay.corpus.corpus import corpora_from_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate
from textassay.metric.catalog import parse_metric
from textassay.metric.huse import huse

Array = npt.NDArray[np.float64]


def _huse(real: Array, generated: Array, *, n_tokens: int = 1) -> Estimate:
    """Return HUSE of sides given by (rating, log-probability a token), shapes (n, 2), of 1 to `n_tokens` tokens."""
    sides = {"(real)": real, "gpt": generated}
    lengths = {name: 1 + np.arange(len(rows)) % n_tokens for name, rows in sides.items()}
    corpora = corpora_from_texts({name: [" ".join("w" * length) for length in lengths[name]] for name in sides})
    attached = {
        name: replace(corpora[name], columns={"ratings/gpt": rows[:, 0], "log_probs/gpt": rows[:, 1] * lengths[name]})
        for name, rows in sides.items()
    }
    return huse(attached["gpt"], attached["(real)"])


def _plain(real: Array, generated: Array) -> float:
    """Return HUSE by sorting all distances of each sentence."""
    features = np.concatenate((real, generated))
    features = features / features.std(axis=0)
    label = np.arange(len(features)) < len(real)
    errors = []
    for number, row in enumerate(features):
        distances = np.sqrt(((features - row) ** 2).sum(axis=1))
        distances[number] = math.inf
        near = distances <= np.sort(distances)[15] * (1 + 1e-9)
        sizes = (len(real), len(generated))
        own, other = (near[label].sum(), near[~label].sum())[:: 1 if label[number] else -1]
        n_own, n_other = sizes[:: 1 if label[number] else -1]
        if own * n_other > other * n_own:
            errors.append(0.0)
        else:
            errors.append(1.0 if (own + 1) * n_other < other * n_own else 0.5)
    return float(np.mean(np.array(errors)[label]) + np.mean(np.array(errors)[~label]))


def _sides(n: int, distance: float, seed: int, *, n_generated: int | None = None) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=(n_generated or n, 2)) + np.array([distance, 0.0])


@pytest.mark.parametrize("n_generated", [60, 45])
@pytest.mark.parametrize("rounded", [False, True])
def test_it_is_the_vote_of_the_nearest(n_generated: int, rounded: bool) -> None:
    real, generated = _sides(60, 1.0, 1, n_generated=n_generated)
    if rounded:  # many ties, as ratings have
        real, generated = np.round(real), np.round(generated)
    estimate = _huse(real, generated, n_tokens=3)
    assert estimate.value == pytest.approx(_plain(real, generated), abs=1e-12)
    ones = np.ones(1)
    assert estimate.details["huse_q"] == pytest.approx(_plain(real[:, :1] * ones, generated[:, :1] * ones), abs=1e-12)
    assert estimate.details["huse_d"] == pytest.approx(1 + estimate.value - estimate.details["huse_q"])


def test_it_comes_near_twice_the_error_of_the_best_classifier() -> None:
    """Two normal distributions `distance` apart: the best classifier errs with the probability of half the distance."""
    for distance in (0.0, 1.0, 2.0):
        best = 2 * float(norm.cdf(-distance / 2))
        value = np.mean([_huse(*_sides(500, distance, seed)).value for seed in range(5)])
        assert best - 0.03 < value < best + 0.08


def test_it_sees_quality_and_diversity() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(size=(400, 2))
    bad, copied = (rng.normal(size=(400, 2)) + np.array(shift) for shift in ([-5, 0], [0, 5]))
    poor, collapsed = _huse(real, bad), _huse(real, copied)
    assert poor.value < 0.05
    assert poor.details["huse_q"] < 0.05
    assert poor.details["huse_d"] == pytest.approx(1, abs=0.05)
    assert collapsed.value < 0.05
    assert collapsed.details["huse_q"] == pytest.approx(1, abs=0.2)
    assert collapsed.details["huse_d"] < 0.25


@pytest.mark.parametrize("distance", [0.0, 0.7])
def test_the_interval_covers_the_mean_over_samples(distance: float) -> None:
    estimates = [_huse(*_sides(100, distance, seed)) for seed in range(100)]
    mean = np.mean([estimate.value for estimate in estimates])
    covered = [e.interval.low <= mean <= e.interval.high for e in estimates if e.interval is not None]
    assert len(covered) == 100
    assert np.mean(covered) > 0.91


def test_constant_columns_say_nothing() -> None:
    same = np.ones((30, 2))
    assert _huse(same, same).value == 1


def test_what_it_needs() -> None:
    corpora = corpora_from_texts({"(real)": ["a b"] * 20, "lstm": ["a c"] * 20, "few": ["a"] * 16})
    zeros = (-np.ones(20), -np.ones(20))
    assert parse_metric("huse").reads_columns
    with pytest.raises(UnavailableError, match=r"give --log-probs NAME=FILE"):
        huse(corpora["lstm"], corpora["(real)"])
    attached = attach_columns(corpora, ["lstm"], log_probs={"lstm": zeros})
    with pytest.raises(UnavailableError, match=r"give --ratings NAME=FILE"):
        huse(attached["lstm"], attached["(real)"])
    with pytest.raises(TooFewSentencesError, match="at least 17 texts a side"):
        huse(corpora["few"], corpora["(real)"])
    both = attach_columns(corpora, ["lstm", "few"], log_probs={"lstm": zeros, "few": (-np.ones(16), zeros[0])})
    with pytest.raises(UnavailableError, match="have those of few, lstm"):
        huse(both["(real)"], both["(real)"])


def test_columns_may_come_with_the_call() -> None:
    real, generated = _sides(40, 1.0, 0, n_generated=30)
    sides = ["a"] * 30, ["b"] * 40
    estimate = huse(*sides, log_probs=(generated[:, 1], real[:, 1]), ratings=(generated[:, 0], real[:, 0]))
    assert estimate.value == _huse(real, generated).value
    assert (estimate.metric, estimate.details["generator"]) == ("huse", "generated")
    with pytest.raises(InputError, match="log_probs must be 30 finite numbers for this side"):
        huse(*sides, log_probs=(real[:, 1], real[:, 1]))
    rows = [huse.declaration.with_settings(ratings=(row, row)).key for row in (generated[:, 0], generated[:, 1])]
    assert rows[0] != rows[1]
    with pytest.raises(OptionError, match=r"unknown parameter of huse 'ratings'"):
        parse_metric("huse(ratings=1)")


def test_it_joins_a_comparison_where_both_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.metric.catalog.DEFAULT_METRICS", ("length",))
    rng = np.random.default_rng(0)

    def texts(seed: int) -> list[str]:
        return [" ".join(row) for row in np.random.default_rng(seed).choice(["a", "b", "c"], size=(120, 4))]

    of_real, of_lstm = -rng.random(120) - 5, -rng.random(120) - 7
    sides = (of_lstm, of_real)
    rated = (rng.random(120), rng.random(120))[::-1]
    comparison = compare(
        {"lstm": texts(2), "gpt": texts(3)},
        texts(1),
        log_probs={"lstm": sides},
        ratings={"lstm": rated},
        explain=False,
    )
    assert comparison.metrics == ("length", "huse")
    estimate = comparison.result("lstm", "huse").estimate
    assert estimate is not None
    assert estimate.value < 0.2
    assert estimate.details["generator"] == "lstm"
    floor = comparison.result("lstm", "huse").floor
    assert floor is not None
    assert floor.value == pytest.approx(1, abs=0.4)
    missing = comparison.result("gpt", "huse")
    assert missing.estimate is None
    assert missing.error is not None
    assert "give --log-probs NAME=FILE" in missing.error
