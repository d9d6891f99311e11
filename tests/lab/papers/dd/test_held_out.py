"""The discrepancy on fixed parts, by hand and with the paper's network."""

from typing import Any, Self

import numpy as np
import pytest

from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Pair
from textassay.discriminator.catalog import make_discriminator
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay_lab.papers.dd.held_out import held_out_dd


class ByFirstWord:
    """Says what the first word of a sentence is: a number."""

    name, features = "by-first-word", "the first word"
    seen: list[Pair]

    def __init__(self) -> None:
        self.chosen: dict[str, Any] = {}
        self.seen = []

    def fit(self, train: Pair, valid: Pair) -> Self:
        self.chosen = {"fitted to": train[0].texts, "chosen on": (valid[0].texts, valid[1].texts)}
        self.seen.append(train)
        return self

    def prob_real(self, corpus: Corpus) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([float(text.split()[0]) for text in corpus.texts])


def made(**texts: list[str]) -> dict[str, Corpus]:
    return corpora_from_texts(texts)


def parts() -> tuple[Pair, Pair, Pair]:
    found = made(
        train=["0.5 a"], valid_real=["0.9 a", "0.2 a"], valid_fake=["0.1 b", "0.4 b"],
        real=["0.9 a", "0.6 a", "0.5 a", "0.7 a"], fake=["0.1 b", "0.5 b", "0.9 b", "0.2 b", "0.3 b"],
    )  # fmt: skip
    return (
        (found["train"], found["train"]),
        (found["valid_real"], found["valid_fake"]),
        (found["real"], found["fake"]),
    )


def test_the_value_is_equation_6_by_hand_on_sides_of_different_size() -> None:
    estimate = held_out_dd(ByFirstWord(), *parts())
    # real: 3 of 4 above one half; generated: 4 of 5 at most one half, 0.5 included
    assert estimate.value == pytest.approx(((3 - 1) / 4 + (4 - 1) / 5) / 2)
    assert estimate.details["accuracy"] == pytest.approx((3 / 4 + 4 / 5) / 2)
    assert estimate.value == pytest.approx(2 * estimate.details["accuracy"] - 1)
    assert estimate.details["validation"]["value"] == pytest.approx(0.5)
    assert estimate.details["mean_score_generated"] == pytest.approx(0.4)
    assert estimate.evidence is not None
    assert estimate.evidence.real_terms is not None
    assert estimate.evidence.real_terms.tolist() == [1, 1, 0, 1]
    assert estimate.interval is not None
    assert estimate.interval.low < estimate.value < estimate.interval.high
    assert estimate.details["certified_bound"] < estimate.value
    train, valid, _ = parts()
    assert estimate.details["chosen"] == {"fitted to": train[0].texts, "chosen on": (valid[0].texts, valid[1].texts)}


def test_the_judge_that_is_given_stays_as_it_was() -> None:
    judge = ByFirstWord()
    held_out_dd(judge, *parts())
    assert judge.seen == []


def test_what_cannot_be_measured_is_said() -> None:
    train, valid, test = parts()
    empty = test[0].take(np.arange(0))
    with pytest.raises(EmptyCorpusError, match="real test corpus"):
        held_out_dd(ByFirstWord(), train, valid, (empty, test[1]))
    with pytest.raises(OptionError, match="vocabularies"):
        held_out_dd(ByFirstWord(), train, valid, parts()[2])
    with pytest.raises(OptionError, match="level"):
        held_out_dd(ByFirstWord(), train, valid, test, level=1.0)

    class Nan(ByFirstWord):
        def prob_real(self, corpus: Corpus) -> np.ndarray[Any, np.dtype[np.float64]]:
            return np.full(len(corpus), np.nan)

    with pytest.raises(InputError, match="NaN"):
        held_out_dd(Nan(), train, valid, test)


def test_a_classifier_finds_most_of_what_differs_and_nothing_where_nothing_does() -> None:
    texts = {
        f"{side} {part}": sentences(n, seed, shift=0.6 if side == "fake" else 0.0)
        for side, first in (("real", 0), ("fake", 10), ("same", 20))
        for seed, (part, n) in enumerate({"train": 400, "valid": 200, "test": 400}.items(), start=first)
    }
    found = made(**texts)

    def pairs(other: str) -> list[Pair]:
        return [(found[f"real {part}"], found[f"{other} {part}"]) for part in ("train", "valid", "test")]

    judge = make_discriminator("logistic")
    far = held_out_dd(judge, *pairs("fake"))
    near = held_out_dd(judge, *pairs("same"))
    assert far.interval is not None
    assert near.interval is not None
    assert far.interval.low > 0.1
    assert near.interval.low < 0 < near.interval.high
