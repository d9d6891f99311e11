"""Counts of n-grams with gaps against counting again without the sentence, and against counting by hand."""

import math

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.ngram.index import mark_ends
from textassay.ngram.skip_counts import PATTERNS, SkipCounts, SkipTexts

WORDS = "abcdefgh"


def texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(list(WORDS), size=rng.integers(0, 8))) for _ in range(n)]


def pair() -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"real": texts(40, 1), "generated": texts(30, 2)})
    return mark_ends(corpora["real"]), mark_ends(corpora["generated"])


@pytest.mark.parametrize("together", [1, 4])
def test_a_sentence_is_described_as_if_its_group_had_never_been_counted(together: int) -> None:
    sides = pair()
    groups = np.arange(70) % (70 // together)
    counts = SkipCounts.build(*sides)
    own = counts.describe_own(None if together == 1 else groups)
    for group in (0, 11, 16):
        rows = np.flatnonzero(groups == group)
        kept = np.setdiff1d(np.arange(40), rows), np.setdiff1d(np.arange(30), rows - 40)
        rest = SkipCounts.build(sides[0].take(kept[0]), sides[1].take(kept[1]))
        rest.discounts = counts.discounts  # of the whole text
        assert own[rows] == pytest.approx(rest.describe(Corpus.concatenate(sides).take(rows)), abs=1e-9)


def test_a_pattern_by_hand() -> None:
    corpora = corpora_from_texts({"real": ["a x b", "a y b", "a z c"], "generated": ["a x d"]})
    counts = SkipCounts.build(*(mark_ends(corpora[name]) for name in ("real", "generated")))
    assert PATTERNS[0] == (2,)
    new = mark_ends(Corpus.from_texts(["a b b"], vocabulary=corpora["real"].vocabulary))
    found = dict(zip(counts.names, counts.describe(new)[0], strict=True))
    # known contexts two places before: the beginning (before b: never), a (before b: twice, of three); b before the end
    # was never counted as a context, since x, y and z stand there
    frequency = (2 + 1) / (20 + 9)  # b stands twice among 20 tokens of 9 types, ends included
    off = counts.discounts[0]
    real = [off[0] * 3 * frequency / 3, (2 - off[0] + off[0] * 2 * frequency) / 3]
    generated = [off[1] * 1 * frequency / 1, off[1] * 1 * frequency / 1]
    assert found["skip_real[2]"] == pytest.approx(sum(math.log(prob / frequency) for prob in real))
    assert found["skip_generated[2]"] == pytest.approx(sum(math.log(prob / frequency) for prob in generated))
    share = 4 / 6
    start = share / (1 - share) * (2 / 4)
    after_a = (2 + share) / (1 - share) * (2 / 4)
    assert found["skip_shrunk_ratio[2]"] == pytest.approx(math.log(start) + math.log(after_a))


def test_new_words_and_short_sentences_say_nothing() -> None:
    corpora = corpora_from_texts({"real": ["a", ""], "generated": ["b", ""], "new": ["z z z z z", ""]})
    counts = SkipCounts.build(*(mark_ends(corpora[name]) for name in ("real", "generated")))
    found = counts.describe(mark_ends(corpora["new"]))
    assert np.isfinite(found).all()
    assert (found[1] == 0).all()
    assert np.isfinite(counts.describe_own()).all()


@pytest.mark.parametrize("in_groups", [False, True])
def test_of_many_texts_parts_are_counted_as_if_there_were_no_others(
    in_groups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts numbered together, with or without numbers for what occurs once, are described as each part for itself."""
    sides = pair()
    everything = Corpus.concatenate(sides)
    is_real = np.arange(70) < 40
    rng = np.random.default_rng(3)
    parts = rng.permutation(70) % 3
    counted, later, new = (np.flatnonzero(parts == part) for part in range(3))
    groups = np.arange(len(counted)) % 9 if in_groups else None
    drawn = rng.random(len(counted)) < 0.7
    alone = SkipCounts.build(*(everything.take(counted[is_real[counted] == side]) for side in (True, False)))
    both = np.sort(np.concatenate([counted, later]))
    of_both = SkipCounts.build(*(everything.take(both[is_real[both] == side]) for side in (True, False)))
    in_one_pass = SkipTexts.repeated(sides)
    monkeypatch.setattr("textassay.ngram.skip_counts._AT_ONCE", 50)
    for texts in (in_one_pass, SkipTexts.repeated(sides), SkipTexts.with_index(sides)):
        counts = SkipCounts(texts, np.where(is_real, 0, 1).astype(np.int8))
        counts.count(counted)
        own = counts.describe_own(groups, rows=counted, drawn=drawn)
        assert np.array_equal(own, alone.describe_own(groups)[drawn])
        assert np.array_equal(counts.describe_uncounted(new), alone.describe(everything.take(new)))
        counts.count(later)
        assert np.array_equal(counts.describe_uncounted(new), of_both.describe(everything.take(new)))
        assert np.array_equal(counts.describe_own(rows=both), of_both.describe_own())
