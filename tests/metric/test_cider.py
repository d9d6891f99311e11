"""CIDEr by hand, CIDEr-D against caption evaluation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocoevalcap.cider.cider_scorer import CiderScorer

from made_up import sentences
from nearest import nearest_references
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import OptionError
from textassay.metric.base import MetricFunction
from textassay.metric.catalog import parse_metric
from textassay.metric.cider import NgramWeights, cider, cider_d, cider_pairs

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), min_size=1, max_size=6)


def _pair(generated: list[str], real: list[str]) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return corpora["generated"], corpora["real"]


def _scores(metric: MetricFunction, generated: Corpus, real: Corpus, **settings: Any) -> npt.NDArray[np.float64]:
    scores: npt.NDArray[np.float64] = metric.declaration.compute(generated, real, **settings).generated_scores
    return scores


def _by_caption_evaluation(generated: Corpus, real: Corpus, k: int) -> npt.NDArray[np.float64]:
    scorer = CiderScorer(n=4, sigma=6.0)
    for text, row in zip(generated.texts, nearest_references(generated, real, k=k), strict=True):
        scorer += (text, [real.texts[place] for place in row if place >= 0])
    return np.asarray(scorer.compute_score()[1])


@pytest.mark.feature("JJ-32")
def test_hand_worked_pairs() -> None:
    # of three real texts, a stands in three, b in two, c and d in one each: ln(3/3), ln(3/2), ln 3
    generated, real = _pair(["a b", "a b b", "e"], ["a b", "a b c", "a d"])
    weights = NgramWeights.of_documents(generated, real)
    pairs = np.array([[0, 1, 2], [0, 1, -1], [0, 1, 2]])
    plain = cider_pairs(generated, real, pairs, weights, is_d=False)
    b, c = math.log(3 / 2), math.log(3)
    ab, bc = math.log(3 / 2), math.log(3)  # pairs of words
    assert plain[0, 0] == pytest.approx(10 * (1 + 1) / 4)  # there are no longer n-grams
    words, two = b * b / (b * math.hypot(b, c)), ab * ab / (ab * math.hypot(ab, bc))
    assert plain[0, 1] == pytest.approx(10 * (words + two) / 4)
    assert plain[0, 2] == 0  # only a, which weighs nothing
    # b stands twice, and b b is known to no reference: ln 3
    assert plain[1, 0] == pytest.approx(10 * (1 + ab / math.hypot(ab, math.log(3))) / 4)
    clipped = cider_pairs(generated, real, pairs, weights, is_d=True)
    both = 1 / 2 + ab / math.hypot(ab, math.log(3))  # the second b does not count, but its length does
    assert clipped[1, 0] == pytest.approx(10 * both / 4 * math.exp(-1 / 72))
    assert clipped[1, 2] == 0
    assert (plain[2] == 0).all()


@pytest.mark.feature("JJ-32")
@given(generated=SENTENCES, real=SENTENCES)
def test_d_with_sets_is_that_of_caption_evaluation(generated: list[str], real: list[str]) -> None:
    pair = _pair(generated, [*real, "a"])  # without any word in the references it gives up
    found = _scores(cider_d, *pair, documents="sets", references=9)
    np.testing.assert_allclose(found, _by_caption_evaluation(*pair, 9), rtol=0, atol=1e-9)


@pytest.mark.feature("JJ-32")
def test_news_scores_are_those_of_caption_evaluation(data_dir: Path) -> None:
    lines = (data_dir / "emnlp_news" / "test.txt").read_text(encoding="utf-8").splitlines()
    generated, real = _pair(lines[:60], lines[100:600])
    expected = _by_caption_evaluation(generated, real, 10)
    np.testing.assert_allclose(_scores(cider_d, generated, real, documents="sets"), expected, rtol=0, atol=1e-9)
    value = cider_d(generated, real, documents="sets").value
    assert value == pytest.approx(expected.mean(), abs=1e-9)


@pytest.mark.feature("JJ-32")
def test_identical_text_scores_highest_and_rare_words_weigh_more() -> None:
    texts = [text for text in sentences(400, 1) if len(text.split()) >= 4]
    generated, real = _pair(texts[:100], texts)
    for metric in (cider, cider_d):
        assert metric(generated, real, references=1).value == pytest.approx(10)
    hypotheses, references = _pair(["the zebra", "the cat"], ["a zebra", *["the cat"] * 50, *["the dog"] * 50])
    weights = NgramWeights.of_documents(hypotheses, references)
    rare, common = cider_pairs(hypotheses, references, np.array([[0], [60]]), weights, is_d=False)[:, 0]
    assert rare > common > 0


def test_documents_show_and_weights_do_not_depend_on_the_generator_by_default() -> None:
    generated, real = _pair(sentences(60, 1), sentences(200, 2))
    half = generated.take(np.arange(30))
    np.testing.assert_array_equal(_scores(cider, generated, real)[:30], _scores(cider, half, real))
    by_sets = [_scores(cider, corpus, real, documents="sets") for corpus in (generated, half)]
    assert not np.allclose(by_sets[0][:30], by_sets[1])
    assert parse_metric("cider(documents=sets)").name == "cider(documents=sets)"
    assert parse_metric("cider-d(references=3,documents=sets)").name == "cider-d(documents=sets,references=3)"
    estimate = cider_d(generated, real)
    assert estimate.unit == "score"
    assert "idf:real|sigma:6" in str(estimate.signature)
    with pytest.raises(OptionError, match=r"unknown value of cider\(documents\) 'all'"):
        cider(generated, real, documents="all")
