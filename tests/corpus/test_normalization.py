"""Normalising: the same for glued and split text, and once is enough; cutting."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts, truncate
from textassay.corpus.normalization import normalize
from textassay.errors import OptionError

CASES = {
    "": "",
    "  A \t cat\n": "a cat",
    "The end.": "the end .",
    "don't": "don't",
    "do n't": "don't",
    "don ' t": "don't",
    "Don\u2019t": "don't",
    "CAN'T, ca n't": "can't , can't",
    "they ' re Tom 's": "they're tom's",
    "dogs' tails": "dogs ' tails",
    "o'clock o ' clock": "o ' clock o ' clock",
    "$1,600.50": "$ 1,600.50",
    "$ 1 , 600 . 50": "$ 1,600.50",
    "1,2": "1 , 2",
    "in 2015, 30000 people": "in 2015 , 30000 people",
    "real-time real - time real @-@ time": "real - time real - time real - time",
    "wait\u2026 wait... wait . . .": "wait ... wait ... wait ...",
    "so \u2014 or -- so": "so -- or -- so",
    "``so'' \u201cso\u201d \u00abso\u00bb": '" so " " so " " so "',
    "-LRB- so -RRB-": "( so )",
    "&quot;Tom &amp; Anna&#39;s&quot;": '" tom & anna\'s "',
    "&amp;amp;lt;": "<",
    "<unk>, [UNK] _num_ <|endoftext|>": "<unk> , [unk] _num_ <|endoftext|>",
    "\uff21\uff22\uff01 \ufb01ne": "ab ! fine",
    "caf\u00e9 cafe\u0301": "caf\u00e9 caf\u00e9",
    "\u0939\u093f\u0928\u094d\u0926\u0940": "\u0939\u093f\u0928\u094d\u0926\u0940",
    "zero\u200bwidth soft\u00adhyphen nul\x00": "zerowidth softhyphen nul",
    "\ufeffle\u200dft \u2067right\u2069 \u2764\ufe0f \u061cx\u2064": "left right \u2764 x",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\U0001f468\u200d\U0001f469": "\U0001f468 \u200d \U0001f469",
    "\U0001d41bold \u24d0 \uff71\uff9e": "bold a \u30a2\u3099",
    "great\U0001f600!": "great \U0001f600 !",
}


@pytest.mark.parametrize("text", CASES)
def test_known_cases(text: str) -> None:
    assert normalize(text) == CASES[text]


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert once == " ".join(once.split())
    assert once == once.lower()


@given(st.text(alphabet="aAnt'` .,@-0123&;<>[]|/ltrbsuk#_\x0b\x85\"", max_size=30))
def test_normalising_twice_changes_nothing_in_awkward_text(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(
    st.lists(st.sampled_from(["Tom", "can", "n", "t", "s", "1", "600", "don", *".,!?;:()%$-'"]), max_size=15), st.data()
)
def test_any_splitting_of_punctuation_ends_the_same(pieces: list[str], data: st.DataObject) -> None:
    text = ""
    for before, piece in zip(["", *pieces], pieces, strict=False):
        words = before[-1:].isalnum() and piece.isalnum()
        quotes = before == piece == "'"  # two together are a closing quote
        text += (" " if words or quotes or data.draw(st.booleans()) else "") + piece
    assert normalize(text) == normalize(" ".join(pieces))


def test_cutting_keeps_the_first_tokens() -> None:
    texts = ["A b c d", "a", "", "c  d e"]
    corpus = corpora_from_texts({"x": texts}, lowercase=True, groups={"x": np.array([0, 1, 2, 2])})["x"]
    short = truncate(corpus, 2)
    assert [short.sentence(number) for number in range(4)] == [["a", "b"], ["a"], [], ["c", "d"]]
    assert list(short.texts) == ["a b", "a", "", "c d"]
    assert short.tokenizer == "whitespace+lower+max-tokens=2"
    assert short.vocabulary is corpus.vocabulary
    assert short.groups is not None
    assert short.groups.tolist() == [0, 1, 2, 2]
    assert list(corpus.texts) == texts
    assert truncate(corpus, 9).tokens.tolist() == corpus.tokens.tolist()


def test_cutting_characters_joins_them_again() -> None:
    assert list(truncate(Corpus.from_texts(["a bcd"], tokenizer="chars"), 3).texts) == ["a b"]


def test_cutting_joins_with_spaces_whatever_the_name_of_a_callable() -> None:
    def split(text: str) -> list[str]:
        return text.split()

    split.__module__ = "charset"
    assert list(truncate(Corpus.from_texts(["a b c"], tokenizer=split), 2).texts) == ["a b"]


def test_cutting_to_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match=re.escape("max_tokens must be at least 1, got 0")):
        truncate(Corpus.from_texts(["a"]), 0)
