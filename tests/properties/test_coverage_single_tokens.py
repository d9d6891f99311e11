"""dd of texts of one token each, whose distributions are known: intervals, bounds and p-values, few to many tokens.

Where there are many tokens, most tested ones were never seen, and the judge gives them one score.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.discriminator.base import Discriminator, Pair, validation_scores
from textassay.discriminator.catalog import make_family
from textassay.discriminator.cross_fitting import cross_fit
from textassay.metric.discrepancy import dd
from unspaced import single_tokens

WHITESPACE = resolve_tokenizer("whitespace")


@dataclass
class Recorder:
    """The family of an effort, which writes down what it thinks of every token there is."""

    inner: Discriminator
    space: Corpus
    opinions: list[np.ndarray] = field(default_factory=list)
    valid_scores: Any = None
    name: str = "recorder"
    features: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def fit(self, train: Pair, valid: Pair) -> "Recorder":
        fitted = self.inner.fit(train, valid)
        self.opinions.append(fitted.prob_real(self.space))
        return Recorder(fitted, self.space, valid_scores=validation_scores(fitted, valid))

    def prob_real(self, corpus: Corpus) -> np.ndarray:
        return self.inner.prob_real(corpus)


def runs(p: np.ndarray, q: np.ndarray, n_runs: int, n: int, *, needs_target: bool) -> dict[str, np.ndarray]:
    """Return what whole runs, each on new text, give; the target is the mean over the judges of what each finds."""
    rows = []
    for run in range(n_runs):
        rng = np.random.default_rng([run, n, len(p)])
        texts = {"real": single_tokens(n, p, rng), "generated": single_tokens(n, q, rng)}
        space = {"space": [f"w{kind}" for kind in range(len(p))]} if needs_target else {}
        corpora = corpora_from_texts({**texts, **space}, tokenizer=WHITESPACE)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "dd is of little use here")
            estimate = dd(corpora["generated"], corpora["real"], effort="quick", seed=run, independent=True)
        assert estimate.interval is not None
        target = 0.0
        if needs_target:
            recorder = Recorder(make_family("quick"), corpora["space"])
            fit = cross_fit(recorder, corpora["real"], corpora["generated"], folds=5, seed=run)
            judges = zip(recorder.opinions, fit.folds, strict=True)
            target = float(np.mean([(p - q) @ (scores > fold.threshold) for scores, fold in judges]))
        details = estimate.details
        rows.append(
            {
                "value": estimate.value,
                "low": estimate.interval.low,
                "high": estimate.interval.high,
                "target": target,
                "p": details["p_value"],
                "bound": details["certified_bound"]["value"],
                "alike": details["alike"],
            }
        )
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def covered(found: dict[str, np.ndarray]) -> float:
    return float(np.mean((found["low"] <= found["target"]) & (found["target"] <= found["high"])))


def uniform(n_tokens: int) -> np.ndarray:
    return np.full(n_tokens, 1 / n_tokens)


def narrow(n_tokens: int, first: float, last: float) -> np.ndarray:
    """Return a uniform distribution over a part of the tokens, from one share of them to another."""
    inside = (np.arange(n_tokens) >= first * n_tokens) & (np.arange(n_tokens) < last * n_tokens)
    return np.asarray(inside / inside.sum(), dtype=np.float64)


@pytest.mark.feature("DD-08")
@pytest.mark.parametrize(("n_tokens", "least"), [(3, 0.0), (50_000, 0.9)])
def test_equal_distributions_on_a_few_runs(n_tokens: int, least: float) -> None:
    found = runs(uniform(n_tokens), uniform(n_tokens), 6, 100, needs_target=False)
    assert covered(found) >= 0.6
    assert np.all(found["bound"] <= 0.3)
    assert np.mean(found["alike"]) >= least
    if least:  # the interval of guessing on 100 sentences a side; it was a tenth as long where no token was known
        assert np.all(found["high"] - found["low"] >= 0.9 * 2 * 1.96 * np.sqrt(1.64 * 0.5 / 100))


@pytest.mark.slow
@pytest.mark.feature("DD-08")
@pytest.mark.parametrize("n_tokens", [2, 3, 30, 600, 5_000, 20_000, 10**7])
def test_equal_distributions(n_tokens: int) -> None:
    found = runs(uniform(n_tokens), uniform(n_tokens), 200, 600, needs_target=False)
    assert covered(found) >= 0.92
    assert np.mean(found["bound"] > 0) <= 0.09  # 5 % and three standard errors of 200 runs, rounded down
    for alpha in (0.05, 0.2, 0.5):  # many equal scores make p-values larger, never smaller
        assert np.mean(found["p"] <= alpha) <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 200)
    if n_tokens in (30, 600):  # scores differ: p-values are uniform
        assert np.mean(found["p"] <= 0.5) >= 0.39
    if n_tokens >= 5_000:
        assert np.min(found["high"] - found["low"]) >= 0.8 * 2 * 1.96 * np.sqrt(1.64 * 0.5 / 600)


UNEQUAL = {
    "a tenth of 600 moved": (uniform(600), 0.9 * uniform(600) + 0.1 * narrow(600, 0, 0.01)),
    "a tenth of 5,000 moved": (uniform(5_000), 0.9 * uniform(5_000) + 0.1 * narrow(5_000, 0, 0.01)),
    "half of 3 moved": (np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])),
    "none of 600 shared": (narrow(600, 0, 0.5), narrow(600, 0.5, 1)),
    "none of 5,000 shared": (narrow(5_000, 0, 0.5), narrow(5_000, 0.5, 1)),
    "none of 50,000 shared": (narrow(50_000, 0, 0.5), narrow(50_000, 0.5, 1)),
    "collapsed": (uniform(5_000), narrow(5_000, 0, 0.02)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNEQUAL)
def test_unequal_distributions(kind: str) -> None:
    p, q = UNEQUAL[kind]
    found = runs(p, q, 150, 600, needs_target=True)
    total_variation = np.abs(p - q).sum() / 2
    assert covered(found) >= 0.91
    assert np.mean(found["bound"] > total_variation) <= 0.09
    assert np.all(found["target"] <= total_variation + 1e-9)
