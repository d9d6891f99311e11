"""Counts by side against counting again without the sentence, and against smoothing written out for one order."""

import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError
from textassay.ngram.index import mark_ends
from textassay.ngram.side_counts import NgramTexts, SideCounts

FloatArray = npt.NDArray[np.float64]

WORDS = "abcdefgh"

MAX_ORDER = 5


def texts(n: int, seed: int, weights: list[float] | None = None) -> list[str]:
    rng = np.random.default_rng(seed)
    shares = None if weights is None else np.array(weights) / sum(weights)
    return [" ".join(rng.choice(list(WORDS), size=rng.integers(0, 6), p=shares)) for _ in range(n)]


def pair(n_real: int = 40, n_generated: int = 30) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts(
        {"real": texts(n_real, 1), "generated": texts(n_generated, 2, [4, 3, 2, 1, 1, 1, 1, 1])}
    )
    return mark_ends(corpora["real"]), mark_ends(corpora["generated"])


def without(sides: tuple[Corpus, Corpus], rows: np.ndarray, counts: SideCounts) -> np.ndarray:
    """Return the numbers of the sentences `rows` (real ones first) by counts that never saw any of them."""
    n_real = len(sides[0])
    kept = [np.setdiff1d(np.arange(len(side)), rows - first) for side, first in zip(sides, (0, n_real), strict=True)]
    rest = SideCounts.build(sides[0].take(kept[0]), sides[1].take(kept[1]), max_order=counts.texts.max_order)
    rest.discounts = counts.discounts  # numbers of the whole text, one a level
    return rest.describe(Corpus.concatenate(sides).take(rows))


def test_a_sentence_is_described_as_if_it_had_never_been_counted() -> None:
    sides = pair()
    counts = SideCounts.build(*sides, max_order=4)
    before = counts.table.copy()
    own = counts.describe_own()
    assert (counts.table == before).all()
    for row in (0, 7, 39, 40, 55, 69):
        assert own[row] == pytest.approx(without(sides, np.array([row]), counts)[0], abs=1e-9)


def test_sentences_of_a_group_leave_together_on_both_sides() -> None:
    sides = pair()
    counts = SideCounts.build(*sides, max_order=3)
    groups = np.arange(70) % 20
    own = counts.describe_own(groups)
    for group in (0, 13):
        rows = np.flatnonzero(groups == group)
        assert own[rows] == pytest.approx(without(sides, rows, counts), abs=1e-9)


def test_training_sentences_are_described_as_new_ones_are() -> None:
    own_gaps, leaking_gaps = [], []  # mean of a training sentence's number less that of a new one's, one a drawing
    for seed in range(60):
        names = ("train", "other", "new")
        corpora = corpora_from_texts({name: texts(200, 1000 + 3 * seed + i) for i, name in enumerate(names)})
        train, other, new = (mark_ends(corpora[name]) for name in names)
        counts = SideCounts.build(train, other, max_order=4)
        columns = [counts.names.index(f"{side}_over_pooled[4]") for side in ("real", "generated")]

        def tells(rows: FloatArray, columns: list[int] = columns) -> float:
            return float(np.mean(rows[:, columns[0]] - rows[:, columns[1]]))

        fresh = tells(counts.describe(new))
        own_gaps.append(tells(counts.describe_own()[:200]) - fresh)
        leaking_gaps.append(tells(counts.describe(train)) - fresh)
    # training sentences see one sentence less: a two-hundredth of a side, which moves the mean by less than 0.02
    assert abs(np.mean(own_gaps)) < 3 * np.std(own_gaps) / np.sqrt(60) + 0.02
    assert np.mean(leaking_gaps) > 20 * np.std(leaking_gaps) / np.sqrt(60)  # own counts left in tell the sides apart


def test_smoothing_of_bigrams_is_what_the_formulas_say() -> None:
    corpora = corpora_from_texts({"real": ["a b a", "a b", "b a c"], "generated": ["c c", "a c", ""]})
    sides = [mark_ends(corpora[name]) for name in ("real", "generated")]
    counts = SideCounts.build(sides[0], sides[1], max_order=2)
    new = mark_ends(Corpus.from_texts(["b a"], vocabulary=corpora["real"].vocabulary))
    found = dict(zip(counts.names, counts.describe(new)[0], strict=True))
    uniform = 1 / 5  # three words and both ends
    probs: dict[str, list[list[float]]] = {"wb": [[], []], "kn": [[], []], "over": [[], []]}
    bigrams = [
        Counter(
            tuple(ends[i : i + 2])
            for text in side
            for ends in [["<", *text.split(), ">"]]
            for i in range(len(ends) - 1)
        )
        for side in (["a b a", "a b", "b a c"], ["c c", "a c", ""])
    ]
    bigrams.append(bigrams[0] + bigrams[1])
    for context, word in (("<", "b"), ("b", "a"), ("a", ">")):
        lower_kn: list[float] = []
        parts: list[tuple[float, float, int]] = []
        for side, table in enumerate(bigrams):
            off = counts.discounts[side]
            unigrams = Counter({w: sum(n for (_, v), n in table.items() if v == w) for _, w in table})
            total = sum(unigrams.values())
            before = Counter(v for _, v in table)
            lower_kn.append((max(before[word] - off[0], 0) + off[0] * len(unigrams) * uniform) / len(table))
            lower_wb = (unigrams[word] + len(unigrams) * uniform) / (total + len(unigrams))
            n = sum(count for (u, _), count in table.items() if u == context)
            followers = sum(1 for u, _ in table if u == context)
            if side < 2:
                probs["wb"][side].append(
                    (table[context, word] + followers * lower_wb) / (n + followers) if n else lower_wb
                )
                gain = max(table[context, word] - off[1], 0)
                probs["kn"][side].append((gain + off[1] * followers * lower_kn[side]) / n if n else lower_kn[side])
                parts.append((gain, off[1] * followers, n))
        for side, (gain, left, n) in enumerate(parts):
            probs["over"][side].append((gain + left * lower_kn[2]) / n if n else lower_kn[2])
    logs = {name: [sum(map(math.log, values)) for values in both] for name, both in probs.items()}
    assert found["wb_ratio[2]"] == pytest.approx(logs["wb"][0] - logs["wb"][1])
    assert found["kn_real[2]"] == pytest.approx(logs["kn"][0])
    assert found["kn_generated[2]"] == pytest.approx(logs["kn"][1])
    assert found["real_over_pooled[2]"] == pytest.approx(logs["over"][0])
    assert found["generated_over_pooled[2]"] == pytest.approx(logs["over"][1])


def test_a_shrunk_ratio_by_hand() -> None:
    corpora = corpora_from_texts({"real": ["a a a"], "generated": ["a b"]})
    counts = SideCounts.build(*(mark_ends(corpora[name]) for name in ("real", "generated")), max_order=1)
    new = mark_ends(Corpus.from_texts(["b"], vocabulary=corpora["real"].vocabulary))
    found = dict(zip(counts.names, counts.describe(new)[0], strict=True))
    # 4 real and 3 generated events with their ends, one added to each: a share of 5/9
    of_b = (0 + 1 * 5 / 9) / (1 + 1 * 4 / 9) * (4 / 5)
    of_end = (1 + 5 / 9) / (1 + 4 / 9) * (4 / 5)
    assert found["shrunk_ratio(1)[1]"] == pytest.approx(math.log(of_b) + math.log(of_end))


def test_unknown_words_and_empty_sentences_have_finite_numbers() -> None:
    corpora = corpora_from_texts({"real": ["a b"], "generated": [""], "new": ["z z", "", "a"]})
    real, generated, new = (mark_ends(corpora[name]) for name in ("real", "generated", "new"))
    counts = SideCounts.build(real, generated, max_order=5)
    assert np.isfinite(counts.describe(new)).all()
    assert np.isfinite(counts.describe_own()).all()


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
    with pytest.raises(InputError, match="cannot be looked up in another"):
        counts.describe(real)


def test_passes_over_the_text_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, generated = sides(60, 3)
    everything = Corpus.concatenate([real, generated])
    one = NgramTexts.repeated(everything.tokens, everything.offsets, max_order=4)
    monkeypatch.setattr("textassay.ngram.side_counts._AT_ONCE", 50)
    several = NgramTexts.repeated(everything.tokens, everything.offsets, max_order=4)
    assert (one.firsts == several.firsts).all()
    assert ((one.longest >= 0) == (several.longest >= 0)).all()
