"""Running text: reading it, its symbols, its parts, the windows it is cut into."""

from pathlib import Path

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.limits import input_limits
from textassay.corpus.split import contiguous_bounds
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay_lab.approximation.reference_windows import reference_windows
from textassay_lab.generator.running_text import cut_windows, read_running_text, split_characters, symbols

ALPHABET = " abcdefghijklmnopqrstuvwxyz"


def test_lines_are_joined_by_spaces_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(" anarchism originated", encoding="utf-8")
    (tmp_path / "two.txt").write_text("a b\n\nc\n", encoding="utf-8")
    (tmp_path / "blank.txt").write_text(" \n\n", encoding="utf-8")
    assert read_running_text(tmp_path / "one.txt") == " anarchism originated"
    assert read_running_text(tmp_path / "two.txt") == "a b  c"
    with pytest.raises(EmptyCorpusError, match=r"blank.txt is empty"):
        read_running_text(tmp_path / "blank.txt")


@pytest.mark.feature("LM-07")
def test_parts_of_text8() -> None:
    assert contiguous_bounds(100_000_000) == [0, 90_000_000, 95_000_000, 100_000_000]
    text = "".join(np.random.default_rng(0).choice(list(ALPHABET), 10_007))
    parts = split_characters(text)
    assert "".join(parts) == text
    assert [len(part) for part in parts] == [9006, 500, 501]
    with pytest.raises(OptionError, match="sum to 1"):
        split_characters(text, (0.5, 0.4))
    with pytest.raises(TooFewSentencesError, match="3 characters are too few"):
        split_characters("abc")


@pytest.mark.feature("LM-07")
def test_text_like_text8_has_27_symbols_and_is_cut_into_consecutive_windows(data_dir: Path) -> None:
    texts = [read_running_text(data_dir / "wiki_chars" / f"{name}.txt") for name in ("train", "valid", "test")]
    assert [len(text) for text in texts] == [1_960_743, 108_930, 108_931]
    assert [len(part) for part in split_characters("".join(texts))] == [len(text) for text in texts]
    with input_limits(max_text=len(texts[0])):
        form = TextForm.learn([texts[0]], tokenizer="chars")
    assert symbols(texts[0]) == ALPHABET
    assert sorted(form.vocabulary.tokens[4:]) == list(ALPHABET)
    cut = reference_windows(form.corpus([texts[2]]), window=7)
    assert cut.rows.shape == (108_931 // 7, 7)
    assert cut.n_dropped == 108_931 % 7 == 4
    assert cut.unknown_share == 0
    assert "".join(form.vocabulary.decode(cut.rows.reshape(-1))) == texts[2][: 108_931 - 4]


def test_windows_follow_each_other_and_what_is_left_is_dropped() -> None:
    text = Corpus.from_texts(["a b c d e", "f", "", "g h i j"])
    found = cut_windows(text, 2)
    assert found.texts == ("a b", "c d", "g h", "i j")
    assert [found.sentence(index) for index in range(4)] == [["a", "b"], ["c", "d"], ["g", "h"], ["i", "j"]]
    assert found.vocabulary is text.vocabulary
    assert cut_windows(Corpus.from_texts(["ab c"], tokenizer="chars"), 2).texts == ("ab", " c")


def test_what_is_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(
        TooFewSentencesError, match="no window of 3 tokens: the longest text has 2; use a smaller window"
    ):
        cut_windows(Corpus.from_texts(["a b", "c"]), 3)
    with pytest.raises(OptionError, match="length must be at least 1, got 0"):
        cut_windows(Corpus.from_texts(["a b"]), 0)
