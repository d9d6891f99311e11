"""The models of both sides against n-gram generators, and what blurring does."""

import math

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.side_models import SideModels, TokenProbs
from textassay.ngram.model import NgramModel


def drawn(n: int, seed: int = 0) -> dict[str, Corpus]:
    """Return sentences of five words, all of which stand in each part, with repeats."""
    rng = np.random.default_rng(seed)
    words = np.array(list("abcde"))
    made = {
        side: ["a b c d e", *(" ".join(rng.choice(words, rng.integers(0, 6), p=p)) for _ in range(n))]
        for side, p in (("real", [0.2] * 5), ("generated", [0.4, 0.3, 0.1, 0.1, 0.1]))
    }
    return corpora_from_texts({**made, "new": ["a b", "", "e e e", "zzz a", "<eos> b"]})


def without_unknown(corpora: dict[str, Corpus]) -> Corpus:
    return corpora["new"].take(np.arange(3))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_token_probabilities_are_those_of_the_ngram_generator(order: int) -> None:
    corpora = drawn(60)
    pair = (corpora["real"], corpora["generated"])
    probs = SideModels(pair, max_order=3).fit(order).token_probs(without_unknown(corpora))
    for found, corpus in zip((probs.real, probs.generated), pair, strict=True):
        alone = corpora_from_texts({"train": corpus.texts})["train"]  # a vocabulary of the five words
        peer = NgramModel(order).fit(alone)
        assert np.log(found) == pytest.approx(peer.token_log_probs(without_unknown(corpora)))
        assert probs.sums(np.log(found)) == pytest.approx(peer.log_prob(without_unknown(corpora)))


def test_a_model_without_a_group_is_that_of_the_other_sentences() -> None:
    corpora = drawn(60)
    pair = (corpora["real"], corpora["generated"])
    groups = (np.arange(61) % 3, np.arange(61) // 2 % 3)
    models = SideModels(pair, max_order=2, groups=groups)
    rest = tuple(corpus.take(group != 1) for corpus, group in zip(pair, groups, strict=True))
    alone = SideModels((rest[0], rest[1]), max_order=2).fit(2).token_probs(corpora["new"])
    found = models.fit(2, without=(1,)).token_probs(corpora["new"])
    assert found.real == pytest.approx(alone.real)
    assert found.generated == pytest.approx(alone.generated)


def test_unknown_and_reserved_words_are_one_word() -> None:
    corpora = drawn(60)
    models = SideModels((corpora["real"], corpora["generated"]), max_order=2).fit(2)
    other = corpora_from_texts({"x": ["yyy a", "<pad> b"]}, vocabulary=corpora["real"].vocabulary)["x"]
    found, same = models.token_probs(corpora["new"].take(np.array([3, 4]))), models.token_probs(other)
    assert np.array_equal(found.real, same.real)


def test_blur_bounds_what_a_token_can_say() -> None:
    probs = TokenProbs(np.array([0.9, 1e-9, 0.2]), np.array([1e-9, 0.9, 0.2]), np.array([0, 2, 3]))
    assert probs.log_ratios() == pytest.approx([math.log(9e8), -math.log(9e8), 0])
    assert probs.log_ratios(0.2) == pytest.approx([math.log(4), -math.log(4), 0], abs=1e-6)
    assert probs.sums(np.array([1.0, 2.0, 4.0])) == pytest.approx([3, 4])
