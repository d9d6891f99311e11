"""Whatever the layout of the texts: what is said of a known distance is true, or that nothing can be told."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from layouts import LAYOUTS, SOURCES, Source, data_sources, layout
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.inspection.dependence import Examined, examine
from textassay.metric.catalog import parse_metric

N, N_DRAWS = 400, 50
FIRST_SEED = 1000  # limits were chosen on smaller ones
DISTANCES = (0.0, 0.3)
ALPHA = 0.05
LUCK = 1e-3  # that as many go wrong, were 5 % wrong
INDEPENDENT = (
    "same source",
    "same source, 1 to 3",
    "15 % stock sentences",
    "templates of other shares",
    "collapsed to 200",
    "topics of other shares",
    "1 to 4 words",
    "without spaces",
)
N_INDEPENDENT = 25  # of each: 200 in all
# Sentences of paragraphs of which each is on one side: once they are shuffled, nothing in them tells a paragraph from a
# topic that one side has more of, and a classifier that has seen a part of each does tell the sides.
NOT_SEEN = "paragraphs, shuffled"
ORDERS: dict[str, list[str]] = {}
for name in LAYOUTS:
    ORDERS.setdefault(name.rsplit(", ", 1)[0], []).append(name)
ORDERS["paragraphs"].remove(NOT_SEEN)
DD = parse_metric("dd", effort="quick")


@dataclass(frozen=True)
class Told:
    """What is said of one draw: nothing where `value` is None."""

    is_found: bool
    value: float | None = None
    bound: float | None = None
    p_value: float | None = None

    def is_wrong(self, truth: float) -> bool:
        """Return whether a difference is claimed that is not there."""
        if self.bound is not None and self.bound > truth:
            return True
        return truth == 0 and self.p_value is not None and self.p_value < ALPHA


def sides(
    name: str, n: int, seed: int, *, distance: float = 0.0, source: Source = SOURCES["chains"]
) -> tuple[Corpus, Corpus]:
    pair = layout(name, n, seed, distance=distance, source=source)
    tokenizer = "chars" if name == "without spaces" else "whitespace"
    corpora = corpora_from_texts({"generated": pair.generated, "real": pair.real}, tokenizer=tokenizer)
    return corpora["generated"], corpora["real"]


def told(name: str, seed: int, distance: float, *, n: int = N, source: Source = SOURCES["chains"]) -> Told:
    texts = Examined.of(*sides(name, n, seed, distance=distance, source=source))
    if not texts.dependence.can_be_told:
        return Told(is_found=True)
    estimate = DD.estimate_examined(texts, seed=seed)
    bound = estimate.details["certified_bound"]["value"]
    return Told(texts.dependence.is_found, estimate.value, bound, estimate.details["p_value"])


@cache
def draws(base: str, distance: float) -> list[Told]:
    """Return what is said of draws of a layout, in each of its orders in turn."""
    orders = ORDERS[base]
    return [told(orders[seed % len(orders)], FIRST_SEED + seed, distance) for seed in range(N_DRAWS)]


@pytest.mark.slow
def test_no_layout_makes_a_number_lie() -> None:
    wrong = {
        (base, distance): sum(one.is_wrong(distance) for one in draws(base, distance))
        for base in ORDERS
        for distance in DISTANCES
    }
    assert len(ORDERS) >= 12
    assert sum(wrong.values()) <= ALPHA * N_DRAWS * len(wrong), wrong
    most = binom.isf(LUCK, N_DRAWS, ALPHA)
    assert all(count <= most for count in wrong.values()), wrong
    bounds_above = [one.bound is not None and one.bound > d for d in DISTANCES for b in ORDERS for one in draws(b, d)]
    assert np.mean(bounds_above) <= ALPHA / 2
    # What the test may not be: content with no verdict at all, or blind to a difference
    can_be_told = {base: sum(one.value is not None for d in DISTANCES for one in draws(base, d)) for base in ORDERS}
    assert all(count >= N_DRAWS / 5 for count in can_be_told.values()), can_be_told
    values = [one.value for base in ORDERS for one in draws(base, 0.3) if one.value is not None]
    assert 0.15 < np.median(values) < 0.3
    values = [one.value for base in ORDERS for one in draws(base, 0.0) if one.value is not None]
    assert abs(np.median(values)) < 0.02


@pytest.mark.slow
def test_shuffled_paragraphs_are_the_exception() -> None:
    """A limit, which the docs say: were it lifted, they should say so."""
    draws_of_it = [told(NOT_SEEN, FIRST_SEED + seed, 0.0) for seed in range(10)]
    assert not any(one.is_found for one in draws_of_it)
    assert sum(one.is_wrong(0.0) for one in draws_of_it) >= 9


@pytest.mark.slow
def test_independent_texts_are_seldom_called_dependent() -> None:
    alarms = {
        name: sum(examine(*sides(name, N, FIRST_SEED + seed)).is_found for seed in range(N_INDEPENDENT))
        for name in INDEPENDENT
    }
    assert sum(alarms.values()) <= 0.01 * N_INDEPENDENT * len(INDEPENDENT), alarms


@pytest.mark.slow
def test_partners_that_are_not_found_make_no_difference(data_dir: Path) -> None:
    """Of 2,000 reviews and captions a side, nearest neighbours leave up to a tenth of the partners in other groups."""
    real_lines = data_sources(data_dir)
    found = [
        told(f"{name}, shuffled", FIRST_SEED + seed, 0.0, n=2000, source=real_lines[source])
        for name in ("beginnings", "paraphrases", "thinned .6", "thinned .4")
        for source in ("yelp", "coco")
        for seed in range(6)
    ]
    values = [one.value for one in found if one.value is not None]
    assert len(values) > 0.8 * len(found)
    assert np.mean(values) < 0.01
    assert sum(one.is_wrong(0.0) for one in found) <= binom.isf(LUCK, len(found), ALPHA)
    assert not any(one.bound for one in found)
