"""Rare words are marked alike on both sides, whatever their side."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus import is_mark, mark_rare_words, mark_share
from textassay.errors import OptionError
from textassay.human import read_mechanical_turk


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


def test_what_is_refused() -> None:
    with pytest.raises(OptionError, match="min_count must be at least 1, got 0"):
        mark_rare_words(["a"], {}, min_count=0)
    with pytest.raises(OptionError, match="must be underscores"):
        mark_rare_words(["a"], {}, min_count=1, mark="_num_")
    assert is_mark("___")
    assert not is_mark("_num_")
    assert not is_mark("")
    assert mark_share([" "]) == 0
