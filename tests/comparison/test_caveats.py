"""What a comparison warns of: training text of another source, unlike sizes, unlike clusters."""

from typing import Any

import numpy as np
import pytest

from textassay.comparison.caveats import train_differs, unequal_sizes, unlike_clusters
from textassay.comparison.comparison import FLOOR, TRAIN, Result
from textassay.comparison.pairs import pair_differences, rank_intervals
from textassay.estimate import Better, Estimate, Evidence, Interval, Signature
from textassay.inspection.finding import HELDOUT


def estimate(value: float, *, width: float = 0.02, n: int = 100, **details: Any) -> Estimate:
    return Estimate(
        "dd",
        value,
        Interval(value - width, value + width, 0.95, "made up"),
        "fraction",
        "lower",
        {"n_generated": n},
        Signature({"v": "1"}),
        details,
        Evidence(None, np.resize([value - width / 10, value + width / 10], n).astype(np.float64)),
    )


def row(generator: str, found: Estimate, *, floor: float = 0.0, metric: str = "dd", better: Better = "lower") -> Result:
    return Result(generator, metric, better, found, matched=found, floor=estimate(floor))


@pytest.mark.parametrize(
    ("value", "p", "floor", "said"),
    [
        (0.85, 0.001, -0.004, True),
        (0.85, 0.2, 0.0, False),
        (0.05, 0.01, 0.0, True),
        (0.05, 0.01, 0.04, False),  # the floor lies in its interval
        (0.01, 0.01, -0.2, False),  # not above guessing
    ],
)
def test_training_text_that_is_further_than_the_floor_is_called_out(
    value: float, p: float, floor: float, said: bool
) -> None:
    rows = [row("lstm", estimate(0.99, p_value=0.001)), row(TRAIN, estimate(value, p_value=p), floor=floor)]
    found = train_differs(rows, alpha=0.05)
    assert len(found) == said
    if said:
        assert f"the training text itself differs from the real text (dd {value:.2f}, p {p:.3f}; real text" in found[0]


def test_without_a_test_the_first_metric_speaks_by_its_intervals() -> None:
    rows = [
        row(TRAIN, estimate(0.9), metric="zipf", better="neither"),
        row(TRAIN, estimate(0.9), metric="bleu", better="higher", floor=0.5),
        row(TRAIN, estimate(0.9), metric="length", floor=0.5),
    ]
    (found,) = train_differs(rows, alpha=0.05)
    assert "(bleu 0.90; real text against itself 0.50)" in found
    assert train_differs([row(TRAIN, estimate(0.5), metric="bleu", floor=0.49)], alpha=0.05) == []
    assert train_differs([row("lstm", estimate(0.9))], alpha=0.05) == []


def test_unlike_sizes_are_said_of_metrics_that_move_with_them() -> None:
    directions: dict[str, Better] = {"dd": "lower", "zipf": "closer", "mmd": "lower"}
    rows = [
        row(name, estimate(0.5, n=n), metric=metric, better=better)
        for name, n in ((FLOOR, 5), (HELDOUT, 5), (TRAIN, 5), ("few", 40), ("some", 90), ("most", 100))
        for metric, better in directions.items()
    ]
    (found,) = unequal_sizes(rows, ["dd", "zipf"])
    assert "different numbers of texts (few 40; the largest 100), on which dd depend" in found
    assert unequal_sizes([each for each in rows if each.generator != "few"], ["dd", "zipf"]) == []
    assert unequal_sizes(rows, ["zipf"]) == []


def test_values_on_far_fewer_clusters_are_not_compared() -> None:
    rows = [
        row(name, estimate(value, n_clusters=n), metric="mauve", better="higher")
        for name, value, n in (("few", 0.7, 20), ("far", 0.1, 195), ("near", 0.3, 200))
    ]
    (found,) = unlike_clusters(rows)
    assert "mauve has fewer clusters for some generators (few 20; the largest 200)" in found
    pairs = pair_differences(rows, level=0.95)
    assert [pair.difference is None for pair in pairs] == [True, True, False]
    ranks = rank_intervals(rows, pairs, level=0.95)
    assert [(rank.generator, rank.low, rank.high) for rank in ranks] == [("far", 2, 2), ("near", 1, 1)]
    assert unlike_clusters(rows[1:]) == []
