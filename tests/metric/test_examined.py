"""Metrics called as functions look whether texts are independent, and measure those that are not in groups."""

import math
import warnings
from functools import cache

import numpy as np
import pytest

from layouts import INDEPENDENT, chains, layout
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import FindingWarning
from textassay.estimate import Estimate
from textassay.inspection.dependence import examine
from textassay.metric.base import Metric, measure
from textassay.metric.catalog import parse_metrics

N = 200
METRICS = {metric.name: metric for metric in parse_metrics(["dd", "bleu(order=2)", "fed", "length"], effort="quick")}
DD = METRICS["dd"]
OTHERS = [name for name in METRICS if name != "dd"]
UNITS = "units"  # in signatures


def sides_of(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    tokenizer = "whitespace" if " " in "".join(real) else "chars"
    corpora = corpora_from_texts({"generated": generated, "real": real}, tokenizer=tokenizer)
    return corpora["generated"], corpora["real"]


@cache
def sides(name: str) -> tuple[Corpus, Corpus]:
    pair = layout(name, N, 0)
    return sides_of(pair.generated, pair.real)


def as_dict(estimate: Estimate) -> str:
    return repr(estimate.to_dict())


def width(estimate: Estimate) -> float:
    assert estimate.interval is not None
    return estimate.interval.high - estimate.interval.low


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("name", ["same source", "collapsed to 200", "templates of other shares", "1 to 4 words"])
def test_independent_texts_are_measured_as_they_are(metric: Metric, name: str) -> None:
    generated, real = sides(name)
    assert name in INDEPENDENT
    assert as_dict(measure(metric, generated, real)) == as_dict(metric.estimate(generated, real))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_dependent_texts_are_measured_in_groups_and_say_so(metric: Metric) -> None:
    generated, real = sides("beginnings, shuffled")
    estimate = measure(metric, generated, real)
    found = examine(generated, real)
    assert estimate.signature.settings[UNITS] == f"{found.n_groups} groups of nearest neighbours"
    assert found.n_groups is not None
    assert found.n_groups < 1.2 * N
    assert width(estimate) > 0
    alone = metric.estimate(generated, real)
    assert UNITS not in alone.signature.settings
    if metric is DD:
        assert alone.value > 0.5
        assert estimate.value < 0.2
    elif metric.name == "fed":  # nor does its encoder see a text that belongs to what it encodes
        assert estimate.value < 0.8 * alone.value
    else:  # what is measured stays; how sure it is, does not
        assert estimate.value == pytest.approx(alone.value, rel=0.05)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_texts_said_to_be_independent_are_not_looked_at(metric: Metric) -> None:
    generated, real = sides("windows in turn, shuffled")
    estimate, alone = measure(metric, generated, real, independent=True), metric.estimate(generated, real)
    assert estimate.signature.settings[UNITS] == "none (independent)"
    assert (estimate.value, estimate.interval) == (alone.value, alone.interval)


def test_where_nothing_can_be_told_dd_is_not_valid() -> None:
    generated, real = sides("windows in turn, shuffled")
    with pytest.warns(RuntimeWarning, match=r"dd is not valid: texts depend on each other.*--group-column"):
        estimate = measure(DD, generated, real)
    assert math.isnan(estimate.value)
    assert estimate.interval is None
    assert estimate.evidence is None
    assert estimate.details == {}
    assert estimate.sizes == {"n_generated": N, "n_real": N}
    assert estimate.signature.settings[UNITS] == "unknown"


@pytest.mark.parametrize("name", OTHERS)
def test_where_nothing_can_be_told_others_have_no_interval(name: str) -> None:
    generated, real = sides("windows in turn, shuffled")
    estimate = measure(METRICS[name], generated, real)
    assert math.isfinite(estimate.value)
    assert estimate.interval is None
    assert estimate.evidence is None


@pytest.mark.parametrize("name", ["3 times, shuffled", "real 3 times, passes", "answers, other prompts, shuffled"])
def test_what_may_be_collapse_is_measured_both_ways(name: str) -> None:
    generated, real = sides(name)
    estimate, alone = measure(DD, generated, real), DD.estimate(generated, real)
    assert alone.interval is not None
    both = {"value": alone.value, "low": alone.interval.low, "high": alone.interval.high}
    assert estimate.details["as_independent"] == both
    assert alone.value > 0.5
    assert estimate.value < 0.35
    assert "as_independent" not in measure(METRICS["length"], generated, real).details


@pytest.mark.parametrize("name", ["beginnings, shuffled", "itself, shuffled", "answers, same prompts, in order"])
def test_what_crosses_the_sides_is_no_collapse(name: str) -> None:
    estimate = measure(DD, *sides(name))
    assert estimate.value < 0.35
    assert "as_independent" not in estimate.details


@pytest.mark.parametrize("name", OTHERS)
def test_texts_written_three_times_are_no_more_than_once(name: str) -> None:
    """As many independent units give an interval as wide; taken for independent, it would be 1 / sqrt(3) as wide."""
    once, thrice, blind = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        texts = chains(400, rng)
        generated, real = texts[:N], texts[N:]
        repeated = sides_of(*([side[row % N] for row in rng.permutation(3 * N)] for side in (generated, real)))
        metric = METRICS[name]
        once.append(width(measure(metric, *sides_of(generated, real))))
        thrice.append(width(measure(metric, *repeated)))
        blind.append(width(measure(metric, *repeated, independent=True)))
    # The encoder of fed learns from three times as many texts: over 40 draws, its spread is .0075 where it is .0091
    assert np.median(thrice) > (0.65 if name == "fed" else 0.8) * np.median(once)
    assert np.median(blind) < 0.85 * np.median(thrice)  # the control


def test_one_text_passed_twice_is_not_examined() -> None:
    _, real = sides("same source")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FindingWarning)
        assert UNITS not in measure(METRICS["length"], real, real).signature.settings
