"""Which prefixes a text allows, and what is said where it does not allow those asked for."""

import pytest

from textassay.corpus.corpus import Corpus
from textassay.errors import OptionError, TooFewSentencesError
from textassay_lab.exposure.exposure_bias import choose_lengths


def _text(*lengths: int) -> Corpus:
    return Corpus.from_texts([" ".join(["w"] * length) for length in lengths])


def test_the_longest_sentences_that_half_of_the_text_has() -> None:
    found = choose_lengths(_text(2, 5, 8, 9, 30))
    assert found.sentence_length == 8
    assert found.lengths == (1, 2, 3, 4, 5)
    assert found.n_left == {1: 5, 2: 5, 3: 4, 4: 4, 5: 4, 8: 3}
    assert (found.n_sentences, found.n_usable) == (5, 3)
    assert choose_lengths(_text(2, 5, 8, 9)).sentence_length == 8


def test_running_text_gets_the_lengths_of_the_paper() -> None:
    found = choose_lengths(_text(60, 70, 80))
    assert (found.sentence_length, found.lengths) == (50, (5, 10, 15, 20, 25, 30))


def test_what_is_asked_for_makes_the_sentences_longer() -> None:
    found = choose_lengths(_text(*range(1, 21)), [12, 3, 3])
    assert (found.lengths, found.sentence_length, found.n_usable) == ((3, 12), 15, 6)
    assert choose_lengths(_text(3, 9, 9), [5], ends="absorbing").n_usable == 2


def test_mistakes() -> None:
    text = _text(*range(1, 21))
    with pytest.raises(TooFewSentencesError, match=r"^0 of 20 .* for prefixes of 30 tokens in sentences of 33") as told:
        choose_lengths(text, [5, 30])
    assert "(of 20 sentences, 16 have 5 tokens, 0 have 30 tokens, 0 have 33 tokens or more)" in str(told.value)
    with pytest.raises(OptionError, match=r"sentences of 10 tokens leave 2 after a prefix of 8\. .* 13 have 8 tokens"):
        choose_lengths(text, [8], 10)
    with pytest.raises(OptionError, match="at least 1 token, got 0, 4"):
        choose_lengths(text, [4, 0])
    with pytest.raises(TooFewSentencesError, match=r"^0 of 3 sentences"):
        choose_lengths(_text(1, 1, 2))
