"""The test of a batch: exact where nothing changed, blind to no kind of change that it is for."""

from collections.abc import Callable

import numpy as np
import pytest

from endpoint_server import WORDS
from textassay.audit.statistic import BatchTest, Sample, examine_batch

RARE = np.array([f"rare{number}" for number in range(300)])
Write = Callable[[np.random.Generator, int], str]


def plain(rng: np.random.Generator, prompt: int) -> str:
    words = rng.choice(WORDS, size=6)
    rare = rng.random(6) < 0.3
    return " ".join(np.where(rare, rng.choice(RARE, size=6), words))


def batch(write: Write, seed: int, *, n_prompts: int = 20, n_resamples: int = 499) -> BatchTest:
    rng = np.random.default_rng(seed)
    earlier = [[Sample(plain(rng, prompt)) for _ in range(8)] for prompt in range(n_prompts)]
    new = [[Sample(write(rng, prompt)) for _ in range(4)] for prompt in range(n_prompts)]
    return examine_batch(earlier, new, rng=rng, n_resamples=n_resamples)


def test_p_values_are_uniform_where_nothing_changed() -> None:
    p_values = np.array([batch(plain, seed, n_prompts=4, n_resamples=99).p_value for seed in range(120)])
    for level in (0.1, 0.3, 0.6):
        assert abs((p_values <= level).mean() - level) < 0.12


def test_looks_at_one_reference_are_independent_of_each_other() -> None:
    pairs = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        pool = [[Sample(plain(rng, prompt)) for _ in range(4)] for prompt in range(3)]
        found = []
        for _ in range(2):
            new = [[Sample(plain(rng, prompt)) for _ in range(4)] for prompt in range(3)]
            found.append(examine_batch(pool, new, rng=rng, n_resamples=49).p_value)
            pool = [[*before, *after] for before, after in zip(pool, new, strict=True)]
        pairs.append(found)
    assert abs(np.corrcoef(np.array(pairs).T)[0, 1]) < 0.25


def less_random(rng: np.random.Generator, prompt: int) -> str:
    words = rng.choice(WORDS, size=6)
    return " ".join(np.where(rng.random(6) < 0.15, rng.choice(RARE, size=6), words))


def other_beginning(rng: np.random.Generator, prompt: int) -> str:
    return f"sure , {plain(rng, prompt)}" if rng.random() < 0.5 else plain(rng, prompt)


@pytest.mark.parametrize("write", [less_random, other_beginning])
def test_changes_are_found(write: Write) -> None:
    assert np.mean([batch(write, seed, n_resamples=199).p_value <= 0.0125 for seed in range(8)]) >= 0.9


def test_short_answers_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(0)

    def drawn(share: float, n: int) -> list[list[Sample]]:
        return [[Sample("yes" if rng.random() < share else "no") for _ in range(n)] for _ in range(40)]

    found = examine_batch(drawn(0.5, 10), drawn(0.85, 5), rng=rng, n_resamples=499)
    assert found.p_value <= 0.0125


def test_equal_answers_show_nothing() -> None:
    same = [[Sample("Paris")] * 4] * 3
    assert examine_batch(same, same, rng=np.random.default_rng(0), n_resamples=99).p_value == 1


def test_a_small_shift_of_log_probabilities_is_found_among_noise() -> None:
    rng = np.random.default_rng(0)

    def told(shift: float, n: int) -> list[list[Sample]]:
        rows = [[rng.normal(0, 0.02, size=5) for _ in range(n)] for _ in range(20)]
        return [
            [Sample("yes", {f"t{k}": -k + shift * (-1) ** prompt + row[k] for k in range(5)}) for row in own]
            for prompt, own in enumerate(rows)
        ]

    shifted = examine_batch(told(0, 3), told(0.05, 1), rng=rng, n_resamples=499)
    assert shifted.p_value <= 0.0125
    assert shifted.shown_by == "log-probabilities"
    assert examine_batch(told(0, 3), told(0, 1), rng=rng, n_resamples=499).p_value > 0.0125


def test_prompts_are_scored_and_those_without_answers_say_nothing() -> None:
    rng = np.random.default_rng(0)
    earlier = [[Sample(plain(rng, 0)) for _ in range(6)] for _ in range(5)]
    new = [[Sample(plain(rng, 0)) for _ in range(4)] for _ in range(4)]
    new = [*new[:2], [Sample("quite another answer")] * 4, new[3], []]
    scores = examine_batch(earlier, new, rng=rng, n_resamples=199).scores
    assert scores.argmax() == 2
    assert scores[4] == 0
    assert examine_batch(earlier, [[]] * 5, rng=rng).p_value == 1
