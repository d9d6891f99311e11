"""Running text in windows of one length."""

import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.windows import cut_windows
from textassay.errors import OptionError, TooFewSentencesError


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
