"""Beam search on toys whose every translation can be listed, and against greedy choice."""

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.encoding import EOS, SOS
from textassay.errors import InputError, OptionError
from textassay_lab.generator.translation_decoding import Hypothesis, beam_search

torch = pytest.importorskip("torch")

if TYPE_CHECKING:
    from torch import Tensor

N_TYPES = 7  # four special ones, three words
WORDS = (4, 5, 6)


class Toy:
    """A decoder that remembers whole beginnings; each has a distribution of its own, drawn from its tokens."""

    def __init__(self, seeds: list[int], width: int) -> None:
        self.seeds = seeds
        self.begun: list[list[tuple[int, ...]]] = [[()] * width for _ in seeds]

    def log_probs(self, tokens: "Tensor", position: int) -> "Tensor":
        for beginnings, row in zip(self.begun, tokens.tolist(), strict=True):
            for place, token in enumerate(row):
                if position > 0:
                    beginnings[place] = (*beginnings[place], token)
        rows = [[next_log_probs(s, each) for each in begun] for s, begun in zip(self.seeds, self.begun, strict=True)]
        found: Tensor = torch.from_numpy(np.array(rows))
        return found

    def keep(self, sources: "Tensor", places: "Tensor") -> None:
        kept = sources.tolist()
        self.seeds = [self.seeds[source] for source in kept]
        self.begun = [[self.begun[s][place] for place in row] for s, row in zip(kept, places.tolist(), strict=True)]


def next_log_probs(seed: int, tokens: tuple[int, ...]) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng([seed, *tokens])
    logits = np.full(N_TYPES, -np.inf)
    logits[[EOS, *WORDS]] = 2 * rng.normal(size=4)
    return np.asarray(logits - np.log(np.exp(logits).sum()))


def log_prob(seed: int, tokens: tuple[int, ...]) -> float:
    steps = [*tokens, EOS]
    return float(sum(next_log_probs(seed, tokens[:place])[token] for place, token in enumerate(steps)))


def listed(seed: int, limit: int, power: float, given: tuple[int, ...] = ()) -> Hypothesis:
    """Return the best translation, found by looking at all."""
    every = [each for length in range(limit + 1) for each in product(WORDS, repeat=length)]
    fitting = [each for each in every if each[: len(given)] == given and len(each) >= len(given)]
    score, tokens = max((log_prob(seed, each) / (len(each) + 1) ** power, each) for each in fitting)
    return Hypothesis(np.array(tokens), log_prob(seed, tokens), score)


def search(seeds: list[int], limit: int, **settings: object) -> list[Hypothesis]:
    return beam_search(lambda width: Toy(seeds, width), [limit] * len(seeds), **settings)  # type: ignore[arg-type]


@pytest.mark.feature("EB-29")
@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
def test_a_beam_that_holds_everything_finds_the_best_of_all(power: float) -> None:
    seeds = list(range(8))
    for seed, found in zip(seeds, search(seeds, 3, width=100, power=power), strict=True):
        best = listed(seed, 3, power)
        assert found.tokens.tolist() == best.tokens.tolist()
        assert (found.log_prob, found.score) == pytest.approx((best.log_prob, best.score), rel=1e-12)


@pytest.mark.feature("EB-29")
def test_a_beam_of_one_is_greedy() -> None:
    seeds = list(range(30))
    for seed, found in zip(seeds, search(seeds, 6, width=1), strict=True):
        tokens: tuple[int, ...] = ()
        while len(tokens) < 6 and (token := int(next_log_probs(seed, tokens).argmax())) != EOS:
            tokens = (*tokens, token)
        assert tuple(found.tokens.tolist()) == tokens
        assert found.log_prob == pytest.approx(log_prob(seed, tokens), rel=1e-12)


@pytest.mark.feature("EB-29")
def test_a_wider_beam_is_never_below_greedy() -> None:
    seeds = list(range(200))
    greedy = search(seeds, 8, width=1, power=0.6)
    for width in (2, 3, 10):
        wide = search(seeds, 8, width=width, power=0.6)
        assert all(one.score >= other.score for one, other in zip(wide, greedy, strict=True))
        assert sum(one.score > other.score for one, other in zip(wide, greedy, strict=True)) > 20


def followed(seed: int, limit: int, width: int) -> float:
    """Return the highest score that a beam finds, followed one candidate at a time; greedy choice is one of them."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[float] = []
    while live and len(finished) < width:
        nexts = [(EOS,) if len(tokens) == limit else (EOS, *WORDS) for _, tokens in live]
        candidates = sorted(
            (
                (score + next_log_probs(seed, tokens)[token], tokens, token)
                for (score, tokens), allowed in zip(live, nexts, strict=True)
                for token in allowed
            ),
            reverse=True,
        )
        finished += [score / (len(tokens) + 1) for score, tokens, token in candidates[:width] if token == EOS]
        live = [(score, (*tokens, token)) for score, tokens, token in candidates if token != EOS][:width]
    return max(finished) if width == 1 else max(*finished, followed(seed, limit, 1))


@pytest.mark.feature("EB-29")
@pytest.mark.parametrize("width", [2, 3])
def test_a_beam_is_what_following_its_candidates_gives(width: int) -> None:
    seeds = list(range(100))
    found = [each.score for each in search(seeds, 6, width=width)]
    assert found == pytest.approx([followed(seed, 6, width) for seed in seeds], rel=1e-12)


@pytest.mark.feature("EB-29")
@pytest.mark.parametrize("width", [1, 3, 100])
def test_given_tokens_stand_as_they_are_and_count(width: int) -> None:
    given = [np.array([], dtype=np.int64), np.array([4]), np.array([5, 5]), np.array([6, 4, 4]), np.array([6, 6, 6])]
    seeds = list(range(5))
    for seed, begun, found in zip(seeds, given, search(seeds, 3, width=width, prefixes=given), strict=True):
        tokens = tuple(found.tokens.tolist())
        assert tokens[: len(begun)] == tuple(begun.tolist())
        assert found.log_prob == pytest.approx(log_prob(seed, tokens), rel=1e-12)
        if width == 100:
            assert tokens == tuple(listed(seed, 3, 1.0, tuple(begun.tolist())).tokens.tolist())


def test_other_sources_and_their_limits_change_nothing() -> None:
    alone = [search([seed], limit, width=3)[0] for seed, limit in ((3, 2), (4, 5), (5, 9))]
    together = beam_search(lambda width: Toy([3, 4, 5], width), [2, 5, 9], width=3)
    assert [found.tokens.tolist() for found in together] == [found.tokens.tolist() for found in alone]
    assert [found.score for found in together] == [found.score for found in alone]


def test_what_cannot_be_searched() -> None:
    with pytest.raises(OptionError, match="width of a beam must be at least 1, got 0"):
        search([0], 3, width=0)
    with pytest.raises(OptionError, match="power of the length must be at least 0, got -1"):
        search([0], 3, power=-1.0)
    with pytest.raises(InputError, match="source 1 has no translation of a probability above 0"):
        search([0], 3, prefixes=[np.array([SOS])])
