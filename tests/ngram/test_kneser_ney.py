"""Kneser-Ney estimation against arithmetic by hand, a plain dictionary version, and NLTK."""

from collections import Counter, defaultdict
from fractions import Fraction
from math import log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.lm import KneserNeyInterpolated
from nltk.lm.preprocessing import padded_everygram_pipeline

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import EOS, PAD, SOS, UNK
from textassay.ngram.backoff import with_ends
from textassay.ngram.kneser_ney import DiscountKind, count_ngrams, estimate_discounts, fit_kneser_ney

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=7).map(" ".join), min_size=1, max_size=12)
TEXTS = ["a b c", "a b", "b a b c", "c c a", "a b c d", "", "d a b", "b", "a b c", "c a d d a"] * 2 + ["d c b a"]


def _corpus(texts: list[str]) -> Corpus:
    return corpora_from_texts({"train": texts})["train"]


class DictionaryModel:
    """Interpolated Kneser-Ney as the formulas say it: dictionaries and recursion, nothing shared with the package."""

    def __init__(self, corpus: Corpus, order: int, kind: DiscountKind) -> None:
        self.order, self.n_predicted = order, len(corpus.vocabulary) - 2
        raw = [Counter[tuple[int, ...]]() for _ in range(order + 1)]
        for number in range(len(corpus)):
            tokens = corpus.tokens[corpus.offsets[number] : corpus.offsets[number + 1]].tolist()
            padded = [SOS, *tokens, EOS]
            for end in range(1, len(padded)):
                for length in range(1, min(order, end + 1) + 1):
                    raw[length][tuple(padded[end + 1 - length : end + 1])] += 1
        self.counts: list[dict[tuple[int, ...], int]] = [{} for _ in range(order + 1)]
        for length in range(1, order + 1):
            before = defaultdict(set)
            if length < order:
                for gram in raw[length + 1]:
                    before[gram[1:]].add(gram[0])
            for gram, count in raw[length].items():
                keep = length == order or gram[0] == SOS
                self.counts[length][gram] = count if keep else len(before[gram])
        self.off = []
        for length in range(1, order + 1):
            found = estimate_discounts(np.array(list(self.counts[length].values()), dtype=np.int64), kind)
            self.off.append((0.0, found.once, found.twice, found.more))

    def prob(self, history: tuple[int, ...], token: int) -> float:
        length = len(history) + 1
        lower = 1 / self.n_predicted if length == 1 else self.prob(history[1:], token)
        row = {gram[-1]: count for gram, count in self.counts[length].items() if gram[:-1] == history}
        if not row:
            return lower
        off = self.off[length - 1]
        total = sum(row.values())
        seen = row.get(token, 0)
        removed = sum(off[min(count, 3)] for count in row.values())
        return (seen - off[min(seen, 3)]) / total + removed / total * lower

    def next_probs(self, prefix: tuple[int, ...]) -> npt.NDArray[np.float64]:
        history = (SOS, *prefix)[-(self.order - 1) :] if self.order > 1 else ()
        probs = [self.prob(history, token) for token in range(self.n_predicted + 2)]
        probs[PAD] = probs[SOS] = 0.0
        return np.array(probs)


def test_hand_worked_bigram() -> None:
    # Bigrams: <sos> a 3, a b 2, a c 1, b <eos> 2, c <eos> 1: n1 = 2, n2 = 2, D = 2 / (2 + 4) = 1/3.
    # Distinct tokens before a: 1, b: 1, c: 1, <eos>: 2, in all 5: n1 = 3, n2 = 1, D = 3 / (3 + 2) = 3/5.
    # Discounted unigram mass 4 * 0.6 / 5 = 0.48, shared by a, b, c, <eos>, <unk>: 0.096 each.
    #   p(a) = p(b) = p(c) = 0.4 / 5 + 0.096 = 0.176, p(<eos>) = 1.4 / 5 + 0.096 = 0.376, p(<unk>) = 0.096
    # p(a | <sos>) = (3 - 1/3) / 3 + (1/3 / 3) 0.176; p(b | a) = (2 - 1/3) / 3 + (2/3 / 3) 0.176
    # p(<eos> | b) = (2 - 1/3) / 2 + (1/3 / 2) 0.376; p(c | b) = (1/3 / 2) 0.176
    corpus = _corpus(["a b", "a b", "a c"])
    model, used = fit_kneser_ney(corpus.tokens, corpus.offsets, order=2, n_types=7, discounts="single")
    assert [found.once for found in used] == pytest.approx([3 / 5, 1 / 3])
    a, b, c = 4, 5, 6
    text = np.array([a, b, EOS, b, c], dtype=np.int32)
    scores = model.token_log_probs(text, np.array([0, 3, 5]), model.plain)
    expected = [8 / 9 + 0.176 / 9, 5 / 9 + 0.176 * 2 / 9, 5 / 6 + 0.376 / 6, 0.176 / 9, 0.176 / 6]
    assert scores == pytest.approx(np.log(expected), abs=1e-14)
    unigrams = model.next_probs(np.array([0]), model.plain)[0]
    assert unigrams == pytest.approx([0, 0.376, 0, 0.096, 0.176, 0.176, 0.176], abs=1e-15)


def test_hand_worked_bigram_with_three_discounts_a_level() -> None:
    # Bigrams: <sos> a 4; c <eos> 3; a b, a a 2; <sos> c, a c, c c, b c, a <eos>, b <eos> 1: n1..n4 = 6, 2, 1, 1.
    #   Y = 6 / 10; D1 = 1 - 2 Y 2/6 = 3/5, D2 = 2 - 3 Y 1/2 = 11/10, D3 = 3 - 4 Y 1/1 = 3/5
    # Distinct tokens before c: 4, <eos>: 3, a: 2, b: 1, in all 10: n1..n4 = 1, 1, 1, 1.
    #   Y = 1/3; D1 = 1/3, D2 = 1, D3 = 5/3; taken off: 5/3 + 5/3 + 1 + 1/3 = 14/3, a fifth of 14/30 each with <unk>
    corpus = _corpus(["c", "a c c", "a b c", "a a", "a a b"])
    model, used = fit_kneser_ney(corpus.tokens, corpus.offsets, order=2, n_types=7)
    for found, expected in zip(used, [(1 / 3, 1, 5 / 3), (3 / 5, 11 / 10, 3 / 5)], strict=True):
        assert (found.once, found.twice, found.more) == pytest.approx(expected, abs=1e-14)
        assert found.kind == "modified"
    c, a, b = (int(found) for found in corpus.vocabulary.encode(["c", "a", "b"]))
    of_150 = {c: 49, EOS: 34, a: 29, b: 24, UNK: 14}
    unigrams = model.next_probs(np.array([0]), model.plain)[0]
    assert [unigrams[token] for token in of_150] == pytest.approx([found / 150 for found in of_150.values()], abs=1e-15)

    def lower(token: int) -> Fraction:
        return Fraction(of_150[token], 150)

    by_hand = {
        # after <sos>: 5 in all, 3/5 + 3/5 taken off; after a: 6, 11/10 + 11/10 + 3/5 + 3/5; after c: 4, 3/5 + 3/5
        (SOS, a): (4 - Fraction(3, 5)) / 5 + Fraction(6, 25) * lower(a),
        (SOS, c): (1 - Fraction(3, 5)) / 5 + Fraction(6, 25) * lower(c),
        (SOS, UNK): Fraction(6, 25) * lower(UNK),
        (a, b): (2 - Fraction(11, 10)) / 6 + Fraction(17, 30) * lower(b),
        (a, a): (2 - Fraction(11, 10)) / 6 + Fraction(17, 30) * lower(a),
        (a, c): (1 - Fraction(3, 5)) / 6 + Fraction(17, 30) * lower(c),
        (a, EOS): (1 - Fraction(3, 5)) / 6 + Fraction(17, 30) * lower(EOS),
        (a, UNK): Fraction(17, 30) * lower(UNK),
        (c, EOS): (3 - Fraction(3, 5)) / 4 + Fraction(3, 10) * lower(EOS),
        (c, b): Fraction(3, 10) * lower(b),
    }
    dense = model.next_probs(1 + np.arange(7), model.plain)
    for (context, token), expected_prob in by_hand.items():
        assert dense[context, token] == pytest.approx(float(expected_prob), abs=1e-15)


@settings(max_examples=40)
@given(texts=SENTENCES, order=st.integers(1, 4), kind=st.sampled_from(["modified", "single"]), data=st.data())
def test_leaving_groups_out_is_fitting_the_rest(
    texts: list[str], order: int, kind: DiscountKind, data: st.DataObject
) -> None:
    corpus = _corpus([*texts, "a b a", "c d"])
    n_types = len(corpus.vocabulary)
    groups = np.array([*data.draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts))), 4, 3])
    without = data.draw(st.sets(st.integers(0, 3)))
    counts = count_ngrams(corpus.tokens, corpus.offsets, order=4, n_types=n_types, groups=groups)
    kept = corpus.take(np.flatnonzero(~np.isin(groups, list(without))))
    model, used = counts.fit(order, discounts=kind, without=without)
    rest, rest_used = fit_kneser_ney(kept.tokens, kept.offsets, order=order, n_types=n_types, discounts=kind)
    assert used == rest_used
    text, offsets = with_ends(corpus.tokens, corpus.offsets)
    expected = rest.token_log_probs(text, offsets, rest.plain)
    assert model.token_log_probs(text, offsets, model.plain) == pytest.approx(expected, abs=1e-12)
    whole, _ = counts.fit(order)
    assert model.traced_log_probs(whole.trace(text, offsets)) == pytest.approx(expected, abs=1e-12)
    assert model.next_probs(np.arange(len(model.backoffs)), model.plain).sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_discounts_follow_counts_of_counts() -> None:
    counts = np.repeat([0, 1, 2, 3, 4, 9], [5, 8, 4, 2, 1, 3])
    modified = estimate_discounts(counts)  # Y = 8 / (8 + 2 * 4) = 1/2
    assert (modified.once, modified.twice, modified.more, modified.kind) == (0.5, 1.25, 2.0, "modified")
    single = estimate_discounts(counts, "single")
    assert (single.once, single.twice, single.more, single.kind) == (0.5, 0.5, 0.5, "single")


@pytest.mark.parametrize(
    ("counts", "kind", "once"),
    [
        ([1, 1, 2], "single", 0.5),  # no count of 3: Y = 2 / (2 + 2)
        ([1, 1, 1, 2, 3, 3, 3, 3, 4], "single", 0.6),  # D2 = 2 - 3 * 0.6 * 4 < 0
        ([1, 1], "fixed", 0.5),
        ([2, 3, 4], "fixed", 0.5),
        ([], "fixed", 0.5),
    ],
)
def test_discounts_fall_back(counts: list[int], kind: str, once: float) -> None:
    found = estimate_discounts(np.array(counts, dtype=np.int64))
    assert found.kind == kind
    assert found.once == pytest.approx(once)


@settings(max_examples=40)
@given(texts=SENTENCES, order=st.integers(1, 4), kind=st.sampled_from(["modified", "single"]))
def test_agrees_with_the_formulas(texts: list[str], order: int, kind: DiscountKind) -> None:
    corpus = _corpus([*texts, "a b a"])
    model, _ = fit_kneser_ney(
        corpus.tokens, corpus.offsets, order=order, n_types=len(corpus.vocabulary), discounts=kind
    )
    plain = DictionaryModel(corpus, order, kind)
    prefixes = [(), (4,), (5,), (4, 5), (4, 4, 4), (5, UNK, 4), (4, 5, 4, 5), (UNK,)]
    offsets = np.concatenate(([0], np.cumsum([len(prefix) for prefix in prefixes])))
    states = model.advance(np.array([token for prefix in prefixes for token in prefix], dtype=np.int32), offsets)
    dense = model.next_probs(states, model.plain)
    assert dense == pytest.approx(np.array([plain.next_probs(prefix) for prefix in prefixes]), abs=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["modified", "single"])
@pytest.mark.parametrize("temperature", [1.0, 0.05, 0.3, 2.5])
def test_sums_to_one_in_every_context(order: int, kind: DiscountKind, temperature: float) -> None:
    corpus = _corpus(TEXTS)
    model, _ = fit_kneser_ney(
        corpus.tokens, corpus.offsets, order=order, n_types=len(corpus.vocabulary), discounts=kind
    )
    states = np.arange(len(model.backoffs))
    tempered = model.tempered(temperature)
    dense = model.next_probs(states, tempered)
    assert dense.sum(axis=1) == pytest.approx(np.ones(len(states)), abs=1e-12)
    assert (np.delete(dense, [PAD, SOS], axis=1) > 0).all()
    expected = model.next_probs(states, model.plain) ** (1 / temperature)
    assert dense == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_draws_invert_the_distribution(order: int, temperature: float) -> None:
    # Each token owns one stretch of [0, 1) as long as its probability: a grid of K points hits it K p times, give or
    # take one.
    corpus = _corpus(TEXTS)
    model, _ = fit_kneser_ney(corpus.tokens, corpus.offsets, order=order, n_types=len(corpus.vocabulary))
    tempered = model.tempered(temperature)
    n_points = 5000
    grid = (np.arange(n_points) + 0.5) / n_points
    for state in range(0, len(model.backoffs), 3):
        drawn, after = model.draw(np.full(n_points, state), grid, tempered)
        hits = np.bincount(drawn, minlength=model.n_types)
        expected = n_points * model.next_probs(np.array([state]), tempered)[0]
        assert np.abs(hits - expected).max() <= 1.0 + 1e-6
        assert hits[PAD] == hits[SOS] == 0
        if order == 1:
            assert not after.any()


def test_a_draw_leads_where_the_sentence_leads() -> None:
    corpus = _corpus(TEXTS)
    model, _ = fit_kneser_ney(corpus.tokens, corpus.offsets, order=3, n_types=len(corpus.vocabulary))
    tokens = np.array([4, 5, 6, 4], dtype=np.int32)
    for length in range(4):
        states = model.advance(tokens[:length], np.array([0, length]))
        drawn, after = model.draw(np.repeat(states, 50), np.linspace(0, 0.999, 50), model.plain)
        for token, state in zip(drawn, after, strict=True):
            if token != EOS:
                text = np.append(tokens[:length], token).astype(np.int32)
                assert state == model.advance(text, np.array([0, length + 1]))[0]


def test_agrees_with_nltk_where_the_definitions_coincide() -> None:
    # NLTK does not discount or smooth its unigrams: it has c(w) / c(.) of distinct left neighbours there.
    corpus = _corpus(TEXTS)
    model, used = fit_kneser_ney(
        corpus.tokens, corpus.offsets, order=2, n_types=len(corpus.vocabulary), discounts="single"
    )
    peer = KneserNeyInterpolated(2, discount=used[1].once)
    peer.fit(*padded_everygram_pipeline(2, [text.split() for text in TEXTS]))
    pairs = {(left, right) for text in TEXTS for left, right in zip(["", *text.split()], [*text.split(), "."])}  # noqa: B905
    words = ["a", "b", "c", "d"]
    for context in ["<s>", *words]:
        state = model.start if context == "<s>" else 1 + int(corpus.vocabulary.encode([context])[0])
        ours = model.next_probs(np.array([state]), model.plain)[0]
        unigrams = model.next_probs(np.array([0]), model.plain)[0]
        for word in [*words, "</s>"]:
            token = EOS if word == "</s>" else int(corpus.vocabulary.encode([word])[0])
            name = "." if word == "</s>" else word
            continuation = sum(right == name for _, right in pairs) / len(pairs)
            expected = ours[token] + model.backoffs[state] * (continuation - unigrams[token])
            assert log(peer.score(word, [context])) == pytest.approx(log(expected), abs=1e-12)
