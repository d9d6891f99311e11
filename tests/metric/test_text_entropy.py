"""Text entropy by hand and by SciPy, and its interval."""

import math

import numpy as np
import pytest
from scipy.stats import entropy

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError
from textassay.metric.text_entropy import text_entropy


def _corpora(texts: list[str], groups: list[int] | None = None) -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": texts, "real": ["r s"]})
    generated = corpora["generated"]
    if groups is not None:
        generated = Corpus(
            generated.tokens, generated.offsets, generated.vocabulary, generated.texts,
            tokenizer=generated.tokenizer, groups=np.array(groups),
        )  # fmt: skip
    return generated, corpora["real"]


def test_hand_worked_case() -> None:
    estimate = text_entropy(*_corpora(["a b a b", "a b c", "c c c", ""]))
    assert estimate.value == pytest.approx((math.log(2) + math.log(3) + 0) / 3)
    assert estimate.details["mean_length"] == 10 / 4


def test_values_are_those_of_scipy_and_the_interval_is_students() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdef"), rng.integers(1, 20))) for _ in range(60)]
    by_hand = [entropy(np.unique(text.split(), return_counts=True)[1]) for text in texts]
    estimate = text_entropy(*_corpora(texts))
    assert estimate.value == pytest.approx(np.mean(by_hand))
    assert estimate.interval is not None
    half = (estimate.interval.high - estimate.interval.low) / 2
    assert half == pytest.approx(2.001 * np.std(by_hand, ddof=1) / math.sqrt(60), rel=1e-3)


def test_texts_of_a_group_are_one_unit() -> None:
    texts = ["a a a", "a b c"] * 20
    alone = text_entropy(*_corpora(texts))
    doubled = text_entropy(*_corpora(texts * 2, [*range(40), *range(40)]))
    assert doubled.value == pytest.approx(alone.value)
    assert doubled.interval is not None
    assert alone.interval is not None
    assert doubled.interval.high == pytest.approx(alone.interval.high)


def test_without_a_token_there_is_no_value() -> None:
    with pytest.warns(RuntimeWarning, match="no generated text has a token"):
        assert math.isnan(text_entropy(*_corpora(["", ""])).value)
    with pytest.raises(EmptyCorpusError):
        text_entropy(*_corpora([]))
