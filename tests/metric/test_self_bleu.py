"""Self-BLEU against NLTK and hand-worked cases; its jackknife against computing everything anew without each group."""

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.execution.threads import workers
from textassay.metric.base import Shared
from textassay.metric.bleu import score_sentences, self_bleu
from textassay.ngram.matches import match_each_other
from textassay.resampling.jackknife import assign_groups, jackknife_terms
from textassay.seeding import stream

TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=2, max_size=8)


def _corpora(texts: list[str], units: npt.NDArray[np.int64] | None = None) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts(
        {"generated": texts, "real": ["r"]}, groups=None if units is None else {"generated": units}
    )
    return corpora["generated"], corpora["real"]


def _scores(texts: list[str] | Corpus) -> npt.NDArray[np.float64]:
    """Return the scores of all orders, shape (N, 5), whose means are the values of the metric."""
    generated = _corpora(texts)[0] if isinstance(texts, list) else texts
    groups = np.arange(len(generated)) % 2
    matches = match_each_other(generated, max_order=5, groups=groups)
    scores = score_sentences(generated, matches, generated.lengths, groups, leave_one_out=True).values
    for order in range(1, 6):
        assert self_bleu(generated, order=order).value == pytest.approx(scores[:, order - 1].mean(), abs=1e-12)
    return scores


def _nltk(texts: list[str], index: int, order: int) -> float:
    return float(
        sentence_bleu(
            [text.split() for place, text in enumerate(texts) if place != index],
            texts[index].split(),
            weights=(1 / order,) * order,
            smoothing_function=SmoothingFunction().method1,
        )
    )


def _random_texts(n: int, *, seed: int, n_types: int = 12, longest: int = 9) -> list[str]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_types + 1)
    return [
        " ".join(f"w{token}" for token in rng.choice(n_types, size=rng.integers(0, longest), p=weights / weights.sum()))
        for _ in range(n)
    ]


@pytest.mark.feature("A-09")
@given(texts=TEXTS)
def test_scores_are_those_of_nltk(texts: list[str]) -> None:
    scores = _scores(texts)
    for order in range(1, 6):
        expected = [_nltk(texts, index, order) for index in range(len(texts))]
        np.testing.assert_allclose(scores[:, order - 1], expected, rtol=0, atol=1e-12)


@pytest.mark.feature("A-09")
@pytest.mark.parametrize(
    "texts",
    [
        ["a a a b", "a b", "a a c"],
        ["a a a", "a a a", "a"],
        ["", "a", ""],
        ["a b c", "a b", "a b c d"],
        ["a", "b"],
        ["a a b b", "b b a a", "a b a b", "b a b a"],
    ],
)
def test_edge_cases_are_those_of_nltk(texts: list[str]) -> None:
    scores = _scores(texts)
    for order in range(1, 6):
        expected = [_nltk(texts, index, order) for index in range(len(texts))]
        np.testing.assert_allclose(scores[:, order - 1], expected, rtol=0, atol=1e-12)


@pytest.mark.feature("A-09")
def test_news_scores_are_those_of_nltk(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()[:120]
    lines += ["", "the", "the the the", lines[7]]
    scores = _scores(lines)
    for index in (0, 7, 50, 120, 121, 122, 123):
        for order in (2, 5):
            assert scores[index, order - 1] == pytest.approx(_nltk(lines, index, order), abs=1e-12)


@pytest.mark.feature("A-09")
def test_equal_sentences_score_one_and_disjoint_ones_zero() -> None:
    equal, real = _corpora(["a b c d e"] * 7)
    disjoint, other = _corpora([" ".join(f"{letter}{place}" for place in range(6)) for letter in "abcdefg"])
    for order in range(1, 6):
        assert self_bleu(equal, real, order=order).value == 1.0
        assert self_bleu(disjoint, other, order=order).value == 0.0


@pytest.mark.feature("A-09")
def test_a_sentence_is_left_out_by_number_not_by_text() -> None:
    # the pair are references of one another; the third has no other like it
    scores = _scores(["a b c d e f", "a b c d e f", "u v w x y z"])
    assert scores[:, 4].tolist() == [1.0, 1.0, 0.0]


@given(texts=TEXTS, seed=st.integers(0, 5))
def test_order_of_sentences_does_not_matter(texts: list[str], seed: int) -> None:
    generated, real = _corpora(texts)
    shuffled = generated.take(np.random.default_rng(seed).permutation(len(texts)))
    for order in range(1, 6):
        value = self_bleu(generated, real, order=order).value
        assert 0 <= value <= 1
        assert self_bleu(shuffled, real, order=order).value == value


def test_threads_do_not_change_a_bit() -> None:
    generated, real = _corpora(_random_texts(15000, seed=1))
    with workers(1):
        one = self_bleu(generated, real, order=4)
    with workers(3):
        three = self_bleu(generated, real, order=4)
    assert one == three


def _check_jackknife(generated: Corpus, real: Corpus) -> None:
    assigned = assign_groups(len(generated), stream(0, "groups", "generated"), units=generated.groups)
    rest = [generated.take(np.flatnonzero(assigned != group)) for group in range(assigned.max() + 1)]
    without = np.array([_scores(left).mean(axis=0) if len(left) > 1 else np.full(5, np.nan) for left in rest])
    for order in range(1, 6):
        estimate = self_bleu(generated, real, order=order)
        expected = jackknife_terms(estimate.value, without[:, order - 1], np.bincount(assigned))
        assert (estimate.evidence is None) == (expected is None)
        if estimate.evidence is not None and expected is not None:
            assert estimate.evidence.generated_terms == pytest.approx(expected, abs=1e-10)


@given(texts=TEXTS)
def test_jackknife_of_single_sentences(texts: list[str]) -> None:
    _check_jackknife(*_corpora(texts))


@given(texts=st.lists(st.lists(st.sampled_from("ab"), max_size=6).map(" ".join), min_size=4, max_size=12))
def test_jackknife_of_documents(texts: list[str]) -> None:
    _check_jackknife(*_corpora(texts, np.arange(len(texts)) % 3))


@pytest.mark.parametrize("documents", [False, True])
def test_jackknife_is_the_score_without_each_group(documents: bool) -> None:
    units = np.random.default_rng(0).integers(0, 90, size=230) if documents else None
    _check_jackknife(*_corpora(_random_texts(230, seed=3), units))


def test_intervals_cover_what_the_sample_size_expects() -> None:
    rng = np.random.default_rng(5)
    weights = 1 / np.arange(1, 61)
    words = np.array([f"w{number}" for number in range(60)])
    n_runs, n_sentences = 120, 200

    def draw() -> list[str]:
        return [" ".join(row) for row in rng.choice(words, size=(n_sentences, 6), p=weights / weights.sum())]

    estimates = [self_bleu(*_corpora(draw()), order=3) for _ in range(n_runs)]
    values = np.array([estimate.value for estimate in estimates])
    intervals = [estimate.interval for estimate in estimates if estimate.interval is not None]
    assert len(intervals) == n_runs
    # the jackknife errs on the wide side where sentences interact (Efron and Stein 1981), but not by much
    assert np.mean([interval.low <= values.mean() <= interval.high for interval in intervals]) >= 0.93
    half_width = np.mean([interval.high - interval.low for interval in intervals]) / 2
    assert 0.95 < half_width / (2 * values.std(ddof=1)) < 1.45


def test_real_text_is_not_looked_at() -> None:
    corpora = corpora_from_texts({"generated": ["a b c", "a b d", "c d"], "one": ["x"], "other": ["a b c", "d"]})
    first = self_bleu(corpora["generated"], corpora["one"], order=2)
    second = self_bleu(corpora["generated"], corpora["other"], order=2)
    assert (first.value, first.interval) == (second.value, second.interval)
    assert first.evidence is not None
    assert first.evidence.real_terms is None


def test_what_an_estimate_says() -> None:
    generated, real = _corpora(["a b c d e f", "a b", "a b c"])
    estimate = self_bleu(generated, real, order=4, level=0.9)
    assert estimate.metric == "self-bleu(order=4)"
    assert (estimate.better, estimate.unit) == ("closer", "fraction")
    assert estimate.sizes == {"n_generated": 3, "n_real": 1, "n_references": 2}
    assert str(estimate.signature).startswith("metric:self-bleu(order=4)|smooth:method1|refs:others|groups:3|")
    assert estimate.details["mean_closest_length"] == pytest.approx((3 + 3 + 2) / 3)
    assert estimate.details["short_share"] == pytest.approx(2 / 3)
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms is not None
    assert estimate.evidence.generated_scores is not None
    assert estimate.evidence.generated_terms.mean() == pytest.approx(estimate.value)
    assert estimate.evidence.generated_scores.mean() == pytest.approx(estimate.value)


def test_orders_share_their_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = import_module("textassay.metric.bleu"), []

    def counted(*arguments: Any, **settings: Any) -> Any:
        calls.append(arguments)
        return match_each_other(*arguments, **settings)

    monkeypatch.setattr(module, "match_each_other", counted)
    corpora = _corpora(["a b c d e f", "a b", "a b c"])
    alone = [self_bleu(*corpora, order=order) for order in (2, 5)]
    assert len(calls) == 2
    with Shared().used():
        assert [self_bleu(*corpora, order=order) for order in (2, 5)] == alone
    assert len(calls) == 3


def test_small_and_wrong_input() -> None:
    two = self_bleu(*_corpora(["a b", "a c"]), order=2)
    assert two.interval is None
    assert math.isfinite(two.value)
    one, real = _corpora(["a b"])
    with pytest.raises(TooFewSentencesError, match="at least 2 sentences, the generated corpus has 1"):
        self_bleu(one, real)
    with pytest.raises(EmptyCorpusError, match="the generated corpus has no text"):
        self_bleu(one.take(np.array([], dtype=np.int64)), real)
    with pytest.raises(OptionError, match="order must be between 1 and 5, got 9"):
        self_bleu(one, real, order=9)
