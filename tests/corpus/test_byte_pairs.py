"""Byte pairs: every text can be written in them and read back, learning is what the paper says and repeatable."""

import copy
import itertools
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus import byte_pairs
from textassay.corpus.byte_pairs import MIN_SIZE, BytePairs, learn_byte_pairs
from textassay.corpus.corpus import Corpus, truncate
from textassay.corpus.tokenizer import BYTE_LETTERS, join_tokens
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError, OptionError
from textassay.ngram.language_model import n_characters

pytest.importorskip("tokenizers")

TEXTS = ["the cat sat on the mat .", "the dog sat on the cat !", "a na\u00efve caf\u00e9, 3 \u20ac  twice", ""] * 3
PAIRS = learn_byte_pairs(TEXTS, size=300)


def by_hand(texts: list[str], n_merges: int) -> list[tuple[str, str]]:
    """Return the merges that the paper's loop finds in text of ASCII letters and single spaces, the slow way.

    Of equally frequent pairs the one comes first whose tokens have the lower numbers.
    """
    words = [list(("\u0120" if number else "") + word) for text in texts for number, word in enumerate(text.split(" "))]
    order = {letter: rank for rank, letter in enumerate(sorted(BYTE_LETTERS))}
    merges: list[tuple[str, str]] = []
    while len(merges) < n_merges:
        counts: dict[tuple[str, str], int] = {}
        for word in words:
            for pair in itertools.pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        best = min(counts, key=lambda pair: (-counts[pair], order[pair[0]], order[pair[1]]))
        merges.append(best)
        order.setdefault("".join(best), len(order))
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = ["".join(best)]
                place += 1
    return merges


def test_merges_are_those_of_the_plain_algorithm() -> None:
    texts = ["low lower lowest", "new newer newest wider wide", "low low newest"]
    assert list(learn_byte_pairs(texts, size=256 + 15).merges) == by_hand(texts, 15)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_comes_back(text: str) -> None:
    assert join_tokens(PAIRS.name, PAIRS(text)) == text
    corpus = Corpus.from_texts([text, "the cat", text], tokenizer=PAIRS)
    assert join_tokens(corpus.tokenizer, corpus.sentence(2)) == text


@pytest.mark.parametrize(
    "text", ["\U0001f600\u200d\u2642\ufe0f \u4f60\u597d", " two  spaces ", "\t\n\x00\u2028", "<unk> <eos>", "caf\u00e9"]
)
def test_unseen_characters_spaces_and_marks_come_back(text: str) -> None:
    tokens = PAIRS(text)
    assert join_tokens(PAIRS.name + "+lower", tokens) == text
    assert set(tokens) <= set(PAIRS.types)
    assert not {"<unk>", "<eos>"} & set(tokens)


def test_bytes_that_are_no_text_are_marked() -> None:
    assert join_tokens(PAIRS.name, ["a", BYTE_LETTERS[0xC3], "b"]) == "a\ufffdb"
    assert join_tokens(PAIRS.name, ["a", "<\uff5cend\uff5c>"]) == "a<\uff5cend\uff5c>"


def test_many_sentences_are_encoded_as_each() -> None:
    corpus = Corpus.from_texts(TEXTS, tokenizer=PAIRS)
    assert [corpus.sentence(index) for index in range(len(corpus))] == [PAIRS(text) for text in TEXTS]
    assert corpus.tokenizer == PAIRS.name == f"bpe-{len(PAIRS.types)}-{PAIRS.name[-8:]}"
    plain = Corpus.from_texts(TEXTS, tokenizer=lambda text: PAIRS(text))  # one by one
    assert plain.vocabulary.tokens == corpus.vocabulary.tokens
    assert corpus.separator == ""
    assert n_characters(corpus) == sum(map(len, TEXTS)) + len(TEXTS)
    assert truncate(corpus, 2).texts[2] == join_tokens(PAIRS.name, PAIRS(TEXTS[2])[:2])


def test_the_same_text_in_any_order_and_process_gives_the_same() -> None:
    assert learn_byte_pairs(TEXTS[::-1], size=300) == PAIRS
    code = f"from textassay.corpus.byte_pairs import learn_byte_pairs as l; print(l({TEXTS!r}, size=300).name)"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.strip() == PAIRS.name


def test_copies_are_equal_and_encode_alike() -> None:
    PAIRS("the cat")
    for again in (BytePairs(PAIRS.merges), pickle.loads(pickle.dumps(PAIRS)), copy.deepcopy(PAIRS)):
        assert again == PAIRS
        assert hash(again) == hash(PAIRS)
        assert again("the cat \u20ac") == PAIRS("the cat \u20ac")
    assert BytePairs(PAIRS.merges[:-1]) != PAIRS


def test_a_small_text_gives_fewer_tokens_and_the_name_says_so() -> None:
    pairs = learn_byte_pairs(["ab ab"], size=1000)
    assert pairs.merges == (("a", "b"), ("\u0120", "ab"))
    assert pairs.name.startswith("bpe-258-")
    assert learn_byte_pairs(["a"], size=MIN_SIZE).merges == ()


def test_bad_input_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match=r"size must be at least 257 .*, got 256"):
        learn_byte_pairs(TEXTS, size=256)
    for empty in ([], ["", ""]):
        with pytest.raises(EmptyCorpusError, match="no character"):
            learn_byte_pairs(empty, size=300)
    with pytest.raises(InputError, match="lone surrogate"):
        learn_byte_pairs(["a \ud800"], size=300)
    with pytest.raises(InputError, match=r"text 2 contains a lone surrogate \(U\+D800\)"):
        Corpus.from_texts(["a", "\ud800"], tokenizer=PAIRS)
    with pytest.raises(InputError, match="cannot be merged"):
        BytePairs([("a", "bc")])
    with pytest.raises(OptionError, match="joined only by the pretrained model"):
        join_tokens("hf-32000-1a2b3c4d", ["a"])
    monkeypatch.setattr(byte_pairs, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'textassay\[neural\]'"):
        learn_byte_pairs(TEXTS, size=300)
