"""Counts as a network reads them: against counting by hand, a sentence without its own, a group without all of its."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import balanced_accuracy
from textassay.ngram.index import mark_ends
from textassay.ngram.model import NgramModel
from textassay.ngram.side_counts import SideCounts
from textassay_lab.judges.ngram_network import CountRows, NgramNetworkDiscriminator
from textassay_lab.training.recipe import Recipe

REAL = ["a b a b", "a", "", "b c a b"]
GENERATED = ["a b c", "c c c c", "a b a b"]


def counted(texts: list[str], gram: tuple[str, ...]) -> int:
    """Return how often `gram` stands in `texts` with their ends."""
    marked = [["<s>", *text.split(), "</s>"] for text in texts]
    return sum(
        tuple(words[start : start + len(gram)]) == gram
        for words in marked
        for start in range(len(words) - len(gram) + 1)
    )


def by_hand(sides: list[list[str]], text: str, max_order: int) -> np.ndarray:
    words = ["<s>", *text.split(), "</s>"]
    rows = np.full((len(words), max_order, 2), -1)
    for end in range(len(words)):
        for order in range(1, min(end + 1, max_order) + 1):
            gram = tuple(words[end - order + 1 : end + 1])
            rows[end, order - 1] = [counted(side, gram) for side in sides]
    return rows


@pytest.mark.parametrize("grouped", [False, True])
def test_a_training_sentence_is_counted_without_itself_and_its_group(grouped: bool) -> None:
    groups = {"real": np.array([5, 7, 7, 9]), "generated": np.array([9, 3, 5])} if grouped else None
    corpora = corpora_from_texts({"real": REAL, "generated": GENERATED}, groups=groups)
    numbers = [*groups["real"], *groups["generated"]] if groups else list(range(7))
    _, sides = CountRows.build((corpora["real"], corpora["generated"]), max_order=3, longest=3, min_sentences=1)
    for row, text in enumerate(REAL + GENERATED):
        rest = [
            [other for place, other in enumerate(REAL) if numbers[place] != numbers[row]],
            [other for place, other in enumerate(GENERATED) if numbers[place + 4] != numbers[row]],
        ]
        side, place = (sides[0], row) if row < 4 else (sides[1], row - 4)
        start, stop = side.sentences.offsets[place : place + 2]
        expected = by_hand(rest, text, 3)
        np.testing.assert_array_equal(side.counts[start : start + len(expected)], expected)
        assert np.all(side.counts[start + len(expected) : stop] == -1)


@pytest.mark.parametrize("grouped", [False, True])
def test_numbers_of_a_training_sentence_are_those_without_its_own_counts(grouped: bool) -> None:
    groups = {"real": np.array([5, 7, 7, 9]), "generated": np.array([9, 3, 5])} if grouped else None
    corpora = corpora_from_texts({"real": REAL, "generated": GENERATED}, groups=groups)
    both = (corpora["real"], corpora["generated"])
    rows, sides = CountRows.build(both, max_order=2, longest=3, min_sentences=1)
    joint = np.concatenate([groups["real"], groups["generated"]]) if groups else None
    counts = SideCounts.build(*map(mark_ends, both), max_order=3)
    found = np.concatenate([side.numbers for side in sides])[:, :-1] * rows.scale[:-1] + rows.center[:-1]
    assert found == pytest.approx(counts.describe_own(joint), abs=1e-4)


def test_the_network_counts_no_validation_text() -> None:
    pytest.importorskip("torch")
    corpora = corpora_from_texts({"real": REAL, "generated": GENERATED, "valid": ["a b a b", "c a"]})
    train, valid = (corpora["real"], corpora["generated"]), (corpora["valid"], corpora["valid"])
    _, sides, judged = NgramNetworkDiscriminator(max_order=3, min_sentences=1).encoded(train, valid)
    assert [len(side) for side in sides] == [4, 3]
    for side in judged:
        np.testing.assert_array_equal(side.counts[:6], by_hand([REAL, GENERATED], "a b a b", 3))


def test_a_new_sentence_is_counted_as_it_is() -> None:
    corpora = corpora_from_texts({"real": REAL, "generated": GENERATED})
    rows, _ = CountRows.build((corpora["real"], corpora["generated"]), max_order=3, longest=3, min_sentences=1)
    texts = ["a b a b", "new words a b", ""]
    encoded = rows.encode(Corpus.from_texts(texts))
    for place, text in enumerate(texts):
        start = encoded.sentences.offsets[place]
        expected = by_hand([REAL, GENERATED], text, 3)
        np.testing.assert_array_equal(encoded.counts[start : start + len(expected)], expected)
    taken = encoded.take(np.array([2, 0]))
    assert taken.padded_counts().shape == (2, 9, 3, 2)
    np.testing.assert_array_equal(taken.padded_counts()[1, :6], by_hand([REAL, GENERATED], "a b a b", 3))
    assert np.all(taken.padded_counts()[0, 2:] == -1)


@pytest.mark.slow
def test_equal_generators_are_not_told_apart_and_unequal_ones_are() -> None:
    """With their own counts, training sentences of equal generators would be judged rightly, and new ones wrongly."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([f"w{n}" for n in range(60)], 6, p=np.arange(60, 0, -1) / 1830)) for _ in range(800)]
    model = NgramModel(3).fit(Corpus.from_texts(texts))
    other = NgramModel(1).fit(model.train)
    judge = NgramNetworkDiscriminator(recipe=Recipe(4, learning_rate=3e-3), batch_size=64)
    real, test = model.sample(1000, seed=1), model.sample(1000, seed=2)
    found = []
    for generated, new in ((model, 3), (other, 3)):
        sides = (generated.sample(1000, seed=new), generated.sample(1000, seed=new + 1))
        train = (real.take(np.arange(800)), sides[0].take(np.arange(800)))
        valid = (real.take(np.arange(800, 1000)), sides[0].take(np.arange(800, 1000)))
        fitted = judge.fit(train, valid)
        found.append(2 * balanced_accuracy(fitted.prob_real(test), fitted.prob_real(sides[1])) - 1)
        seen = 2 * balanced_accuracy(fitted.prob_real(train[0]), fitted.prob_real(train[1])) - 1
        assert seen < 1
    assert abs(found[0]) < 3 * np.sqrt(1 / 2000)
    assert found[1] > 0.2
