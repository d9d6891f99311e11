"""Rare words are marked alike on both sides, whatever their side."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from textassay.errors import OptionError, TooFewSentencesError
from textassay_lab.human.mechanical_turk import read_mechanical_turk
from textassay_lab.human.pages import equal_shares_p_value, is_mark, mark_counts, mark_rare_words, mark_share


def test_a_word_seen_too_seldom_elsewhere_becomes_a_mark_on_both_sides() -> None:
    real = ["the cat sat", "the dog sat", "the owl owl owl"]
    marked = mark_rare_words(real, {"lm": ["the cat owl fish", "sat __"]}, min_count=1)
    # cat, dog and owl stand in one real text only: unseen for that text itself, seen for generated text
    assert marked.real == ("the __ sat", "the __ sat", "the __ __ __")
    assert marked.generated == {"lm": ("the cat owl __", "sat __")}
    assert marked.shares == {None: 5 / 10, "lm": 2 / 6}


def test_counts_of_another_text_hold_for_both_sides_alike() -> None:
    counted = ["a b", "a c", "c"]
    marked = mark_rare_words(["a b c"], {"lm": ["a b c"]}, min_count=2, counted=counted)
    assert marked.real == marked.generated["lm"] == ("a __ c",)


@pytest.mark.feature("JJ-01")
def test_two_samples_of_one_distribution_have_equally_many_marks() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(3000)])
    shares = 1 / np.arange(1, 3001)

    def texts() -> list[str]:
        return [" ".join(words[rng.choice(3000, 20, p=shares / shares.sum())]) for _ in range(2000)]

    marked = mark_rare_words(
        texts(), {"same": texts(), "other": [f"{text} new{n}" for n, text in enumerate(texts())]}, min_count=3
    )
    assert marked.shares[None] > 0.01
    assert marked.shares["same"] == pytest.approx(marked.shares[None], rel=0.1)
    assert marked.shares["other"] == pytest.approx(marked.shares["same"] * 20 / 21 + 1 / 21, rel=0.1)


@pytest.mark.feature("JJ-01")
def test_shares_of_the_published_texts(data_dir: Path) -> None:
    judgements = read_mechanical_turk(data_dir / "amt_reviews" / "batch_results.csv")
    by_author: dict[str | None, list[str]] = {}
    for item in judgements.items:
        by_author.setdefault(item.generator, []).append(item.text)
    percent = {author: round(100 * mark_share(texts), 2) for author, texts in by_author.items()}
    assert percent[None] == 2.52
    assert percent["GoogleLM"] == 19.99
    assert percent["NoAttentionAC"] == 0.0
    assert percent["SeqGAN"] == 4.25


def _reviews(rng: np.random.Generator, n: int, *, share: float, length: int) -> list[str]:
    """Return texts whose marks come together: the share of each text is drawn, too."""
    lengths = rng.integers(length // 2, 3 * length // 2, n)
    marks = rng.binomial(lengths, rng.beta(2 * share, 2 * (1 - share), n))
    return [" ".join(["__"] * k + ["w"] * (words - k)) for k, words in zip(marks, lengths, strict=True)]


def _p_of_words(*sides: list[str]) -> float:
    """Return the p-value that takes every word for a draw of its own."""
    table: npt.NDArray[np.int64] = np.array([mark_counts(side).sum(axis=0) for side in sides])
    table[:, 1] -= table[:, 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.feature("JJ-43")
@pytest.mark.parametrize("lengths", [(20, 20), (16, 24)])
def test_equal_shares_of_marks_give_uniform_p_values(lengths: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    pairs = [
        [_reviews(rng, n, share=0.1, length=length) for n, length in zip((80, 50), lengths, strict=True)]
        for _ in range(150)
    ]
    p_values = np.array([equal_shares_p_value(*pair, rng=rng, n_resamples=199) for pair in pairs])
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(p_values <= 0.05) < 0.1
    # a test of words instead of texts calls many equal shares unequal
    assert np.mean([_p_of_words(*pair) <= 0.05 for pair in pairs]) > 0.25


@pytest.mark.feature("JJ-43")
def test_a_planted_difference_of_the_shares_of_marks_is_found() -> None:
    rng = np.random.default_rng(2)
    real, same = (_reviews(rng, n, share=0.05, length=25) for n in (600, 150))
    more = _reviews(rng, 150, share=0.2, length=25)
    none = ["w " * 25] * 150
    p_values = [equal_shares_p_value(real, texts, rng=rng, n_resamples=499) for texts in (same, more, none, real)]
    assert p_values[0] > 0.05
    assert p_values[1] == p_values[2] == 1 / 500
    assert p_values[3] == 1.0
    assert equal_shares_p_value(more, real, rng=rng, n_resamples=499) == 1 / 500
    assert equal_shares_p_value(none, none, rng=rng, n_resamples=9) == 1.0
    assert equal_shares_p_value(none, ["__"] * 90, rng=rng, n_resamples=99) == 1 / 100


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="min_count must be at least 1, got 0"):
        mark_rare_words(["a"], {}, min_count=0)
    assert is_mark("___")
    assert not is_mark("_num_")
    assert not is_mark("")
    assert mark_share([" "]) == 0
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match="n_resamples must be at least 1, got 0"):
        equal_shares_p_value(["a"] * 2, ["a"] * 2, rng=rng, n_resamples=0)
    with pytest.raises(TooFewSentencesError, match="at least 2 texts with words a side"):
        equal_shares_p_value(["a"] * 2, ["a", " "], rng=rng)
