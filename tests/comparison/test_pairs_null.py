"""Two generators with one distribution are seldom called different, by whatever metric."""

from collections import Counter

import pytest

from made_up import sentences
from textassay.comparison.run import compare

METRICS = ("bleu(order=2)", "self-bleu(order=2)", "distinct-n(order=2)", "length", "vocabulary(of=tokens)")
N_RUNS = 100
MOST = 11  # of 100; more has a probability of 0.4 % where 5 % is true


@pytest.mark.slow
def test_equal_generators_are_seldom_called_different() -> None:
    significant: Counter[str] = Counter()
    for run in range(N_RUNS):
        real, first, second = (
            sentences(n, 3 * run + part, shift=shift)
            for part, (n, shift) in enumerate([(300, 0), (400, 0.3), (400, 0.3)])
        )
        comparison = compare({"first": first, "second": second}, real, metrics=METRICS, explain=False, seed=run)
        significant.update(pair.metric for pair in comparison.pairs if pair.p is not None and pair.p < 0.05)
    assert all(significant[metric] <= MOST for metric in METRICS), significant


def test_different_generators_are_called_different() -> None:
    """What the test above may never be: blind."""
    near, repeating = sentences(600, 1), sentences(60, 2, shift=0.9) * 10
    comparison = compare({"near": near, "repeating": repeating}, sentences(600, 0), metrics=METRICS[:3])
    assert all(pair.p is not None and pair.p < 0.001 for pair in comparison.pairs)
