"""N-grams that occur once need no counts: texts are described as with counts of all n-grams."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError
from textassay.ngram.ngram_texts import NgramTexts
from textassay.ngram.sentence_ends import mark_ends
from textassay.ngram.side_counts import SideCounts

MAX_ORDER = 5


def sides(n: int, seed: int) -> tuple[Corpus, Corpus]:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 41)
    corpora = corpora_from_texts(
        {
            name: [
                " ".join(f"w{word}" for word in rng.choice(40, size=rng.integers(0, 9), p=shares / shares.sum()))
                for _ in range(n)
            ]
            for name in ("real", "generated")
        }
    )
    return mark_ends(corpora["real"]), mark_ends(corpora["generated"])


def both(real: Corpus, generated: Corpus, max_order: int) -> tuple[SideCounts, SideCounts]:
    """Return counts of nothing yet: with a row for each n-gram, and with rows for those that occur twice."""
    everything = Corpus.concatenate([real, generated])
    which = np.repeat(np.array([0, 1], dtype=np.int8), [len(real), len(generated)])
    repeated = NgramTexts.repeated(everything.tokens, everything.offsets, max_order=max_order)
    return SideCounts(NgramTexts.with_index([real, generated], max_order=max_order), which), SideCounts(repeated, which)


@pytest.mark.parametrize("max_order", [1, 2, 3, 5])
@pytest.mark.parametrize("in_groups", [False, True])
def test_texts_are_described_alike(max_order: int, in_groups: bool) -> None:
    real, generated = sides(60, max_order)
    counts = both(real, generated, max_order)
    train, later, test = np.split(np.random.default_rng(0).permutation(120), [70, 90])
    groups = np.arange(70) % 20 if in_groups else None
    drawn = np.arange(70) % 3 > 0
    for each in counts:
        each.count(train)
    assert (counts[0].discounts == counts[1].discounts).all()
    assert counts[0].n_ngrams == counts[1].n_ngrams
    assert len(counts[1].table) < len(counts[0].table)
    own = [each.describe_own(groups, rows=train, drawn=drawn) for each in counts]
    assert (own[0] == own[1]).all()
    assert (own[0] == counts[0].describe_own(groups, rows=train)[drawn]).all()
    assert (counts[0].describe_uncounted(test) == counts[1].describe_uncounted(test)).all()
    for each in counts:
        each.count(later)
    assert (counts[0].discounts == counts[1].discounts).all()
    assert (counts[0].describe_uncounted(test) == counts[1].describe_uncounted(test)).all()


def test_counting_in_two_steps_is_counting_at_once() -> None:
    real, generated = sides(40, 9)
    at_once, in_steps = SideCounts.build(real, generated, max_order=3), both(real, generated, 3)[0]
    in_steps.count(np.arange(30))
    in_steps.count(np.arange(30, 80))
    assert (at_once.table == in_steps.table).all()
    assert (at_once.discounts == in_steps.discounts).all()


def test_new_texts_need_the_index() -> None:
    real, generated = sides(20, 1)
    counts = both(real, generated, 2)[1]
    counts.count(np.arange(40))
    with pytest.raises(InputError, match="no index for others"):
        counts.describe(real)


def test_passes_over_the_text_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, generated = sides(60, 3)
    everything = Corpus.concatenate([real, generated])
    one = NgramTexts.repeated(everything.tokens, everything.offsets, max_order=4)
    monkeypatch.setattr("textassay.ngram.ngram_texts._AT_ONCE", 50)
    several = NgramTexts.repeated(everything.tokens, everything.offsets, max_order=4)
    assert (one.firsts == several.firsts).all()
    assert ((one.longest >= 0) == (several.longest >= 0)).all()
