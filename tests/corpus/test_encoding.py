"""Encoding gives exactly the tokens of the tokeniser, and ids that hold their promises; vocabularies."""

import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus import encoding
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import EOS, PAD, SOS, SPECIAL_TOKENS, UNK, Interner, Unit, Vocabulary
from textassay.corpus.kernels import count_words
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import TOKENIZERS, resolve_tokenizer
from textassay.errors import InputError, OptionError

SPACES = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())
NEAR_SPACES = (
    "\u200b\u2007\u180e\u2060\ufeff\u0084\u0086\u009f\u00a1\u1681\u2027\u202e\u2030\u2060\u3001\u3040\x1b\x08\x7f"
)
characters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(SPACES + NEAR_SPACES)
WHITESPACE = resolve_tokenizer("whitespace")
texts = st.lists(st.text(characters, max_size=30), max_size=8)


def decoded(corpus: Corpus) -> list[list[str]]:
    return [corpus.sentence(index) for index in range(len(corpus))]


@given(first=texts, second=texts)
def test_whitespace_is_str_split(first: list[str], second: list[str]) -> None:
    corpora = corpora_from_texts({"first": first, "second": second}, tokenizer=WHITESPACE)
    assert decoded(corpora["first"]) == [text.split() for text in first]
    assert decoded(corpora["second"]) == [text.split() for text in second]


def test_every_character_splits_as_str_split_does() -> None:
    for start in range(0, sys.maxunicode + 1, 1 << 16):
        text = "".join(f"a{chr(code)}b" for code in range(start, start + (1 << 16)) if not 0xD800 <= code < 0xE000)
        assert Corpus.from_texts([text], tokenizer=WHITESPACE).sentence(0) == text.split()


@given(sentences=texts)
def test_words_are_counted_as_str_split_does(sentences: list[str]) -> None:
    packed = PackedTexts.of(sentences).compact()
    assert count_words(packed.data, packed.lengths).tolist() == [len(text.split()) for text in sentences]


@pytest.mark.feature("A-01")
@pytest.mark.parametrize("name", sorted(TOKENIZERS))
@given(sentences=texts)
def test_round_trip_of_every_tokenizer(name: str, sentences: list[str]) -> None:
    corpus = Corpus.from_texts(sentences, tokenizer=name)
    assert decoded(corpus) == [list(TOKENIZERS[name](text)) for text in sentences]
    assert corpus.tokens.dtype == np.int32
    assert corpus.offsets.dtype == np.int64
    again = corpus.vocabulary.encode(corpus.vocabulary.decode(corpus.tokens))
    assert np.array_equal(again, corpus.tokens)


@given(sentences=texts)
def test_ids_are_in_order_of_first_appearance(sentences: list[str]) -> None:
    corpus = Corpus.from_texts(sentences)
    expected = dict.fromkeys(
        ["<pad>", "<eos>", "<sos>", "<unk>", *(token for text in sentences for token in text.split())]
    )
    assert corpus.vocabulary.tokens == tuple(expected)


@pytest.mark.feature("A-01")
def test_special_tokens_in_text_have_the_fixed_ids() -> None:
    corpus = Corpus.from_texts(["a <unk> <eos>", "<sos> <pad> a"])
    assert corpus.tokens.tolist() == [4, 3, 1, 2, 0, 4]


def test_blocks_and_growth_do_not_change_what_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sentences = [
        " ".join(f"wörd{number}" for number in rng.integers(0, 30_000, size)) for size in rng.integers(0, 60, 2000)
    ]
    whole = Corpus.from_texts(sentences)
    monkeypatch.setattr(encoding, "_BLOCK", 50)
    blocks = Corpus.from_texts(sentences)
    assert len(whole.vocabulary) > 20_000
    assert blocks.vocabulary.tokens == whole.vocabulary.tokens
    assert np.array_equal(blocks.tokens, whole.tokens)
    assert np.array_equal(blocks.offsets, whole.offsets)
    assert decoded(whole) == [text.split() for text in sentences]


def test_equal_hashes_are_told_apart_by_their_bytes() -> None:
    interner = Interner()
    interner.add(["left"], Unit.STRING)
    key = Interner()
    key.add(["lift"], Unit.STRING)
    slots = interner._slots
    slots[:] = -1
    interner._hashes[0] = key.hashes[0]  # now "left" is stored under the hash of "lift", where "lift" will look first
    mask = len(slots) - 1
    slots[int(key.hashes[0] ^ (key.hashes[0] >> np.uint64(32))) & mask] = 0
    numbers, _ = interner.add(["lift"], Unit.STRING)
    assert numbers.tolist() == [1]


def test_callables_may_return_any_strings_even_empty_ones() -> None:
    def split_at_spaces(text: str) -> list[str]:
        return text.split(" ")

    corpus = Corpus.from_texts(["a  b", "", " "], tokenizer=split_at_spaces)
    assert decoded(corpus) == [["a", "", "b"], [""], ["", ""]]


@pytest.mark.parametrize("tokenize", [str.lower, lambda text: [1], lambda text: None])
def test_a_callable_that_returns_no_list_of_strings_is_an_error(tokenize: Callable[[str], Sequence[str]]) -> None:
    with pytest.raises(OptionError, match=r"must return a list of strings, got .* for 'a b'"):
        Corpus.from_texts(["a b"], tokenizer=tokenize)


@given(sentences=texts)
def test_lower_case_is_each_sentence_lower_cased(sentences: list[str]) -> None:
    corpus = Corpus.from_texts(sentences, lowercase=True)
    assert decoded(corpus) == [text.lower().split() for text in sentences]
    assert list(corpus.texts) == sentences
    assert corpus.tokenizer == "whitespace+lower"


def test_final_sigma_is_lower_cased_within_its_sentence() -> None:
    corpus = Corpus.from_texts(["ΓΔΦΣ", "ΔΦ"], lowercase=True)
    assert decoded(corpus) == [["γδφς"], ["δφ"]]


@pytest.mark.parametrize("tokenizer", sorted(TOKENIZERS))
def test_a_lone_surrogate_is_named_with_set_and_sentence(tokenizer: str) -> None:
    with pytest.raises(InputError, match=r"^real: text 3 contains a lone surrogate \(U\+D83D\)"):
        corpora_from_texts({"generated": ["a"], "real": ["a", "b", "c \ud83d"]}, tokenizer=tokenizer)


def test_no_sentences_and_empty_sentences() -> None:
    empty = Corpus.from_texts([])
    assert (len(empty), len(empty.tokens), empty.offsets.tolist()) == (0, 0, [0])
    assert Corpus.from_texts(["", " ", "a", ""]).offsets.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("file", ["emnlp_news/valid.txt", "wikitext2/test.txt", "multi30k/train.de", "yelp/test.txt"])
def test_real_text_is_split_as_str_split_does(data_dir: Path, file: str) -> None:
    path = data_dir / file
    if not path.is_file():
        pytest.skip(f"no real data at {path}")
    sentences = path.read_text(encoding="utf-8").split("\n")
    assert decoded(Corpus.from_texts(sentences)) == [text.split() for text in sentences]


@pytest.mark.feature("A-01")
def test_ids_zero_to_three_are_fixed_and_unknown_tokens_are_unk() -> None:
    vocabulary = Vocabulary(["b", "a", "b", "<eos>"])
    assert (PAD, EOS, SOS, UNK) == (0, 1, 2, 3)
    assert vocabulary.tokens == ("<pad>", "<eos>", "<sos>", "<unk>", "b", "a")
    assert vocabulary.encode(["a", "missing", "<pad>"]).tolist() == [5, UNK, PAD]
    assert vocabulary.decode([5, 3, 4]) == ["a", "<unk>", "b"]
    assert len(vocabulary) == 6
    assert "a" in vocabulary
    assert "missing" not in vocabulary


def test_a_negative_id_is_an_error_rather_than_the_last_token() -> None:
    with pytest.raises(OptionError, match="at least 0, got -1"):
        Vocabulary(["a"]).decode([-1])


def test_build_takes_the_most_frequent_first_and_ties_by_appearance_in_that_corpus() -> None:
    corpora = corpora_from_texts({"other": ["z y x w"], "train": ["w x y x <unk> z", "w v"]})
    assert Vocabulary.build(corpora["train"]).tokens[4:] == ("w", "x", "y", "z", "v")
    assert Vocabulary.build(corpora["train"], max_size=3).tokens[4:] == ("w", "x", "y")
    assert Vocabulary.build(corpora["train"], min_count=2).tokens[4:] == ("w", "x")
    assert Vocabulary.build(corpora["train"], max_size=0).tokens == SPECIAL_TOKENS


@pytest.mark.parametrize("settings", [{"max_size": -1}, {"min_count": 0}])
def test_build_checks_its_settings(settings: dict[str, int]) -> None:
    with pytest.raises(OptionError, match="must be at least"):
        Vocabulary.build(Corpus.from_texts(["a"]), **settings)


@pytest.mark.feature("A-01")
def test_a_fixed_vocabulary_makes_unk_and_its_rate_is_reported() -> None:
    vocabulary = Vocabulary.build(Corpus.from_texts(["a b a"]))
    corpus = Corpus.from_texts(["a c <unk> b", "d b b a"], vocabulary=vocabulary)
    assert corpus.vocabulary is vocabulary
    assert corpus.sentence(0) == ["a", "<unk>", "<unk>", "b"]
    assert corpus.unk_rate == 3 / 8


def test_the_unk_rate_of_no_token_is_nan_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="no token"):
        assert np.isnan(Corpus.from_texts([""]).unk_rate)


def test_pickling_keeps_tokens_and_hashes() -> None:
    vocabulary = Corpus.from_texts(["caf\u00e9 a"]).vocabulary
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.tokens == vocabulary.tokens
    assert np.array_equal(copy.hashes, vocabulary.hashes)
    assert len(copy) == len(vocabulary) == 6


def test_hashes_are_fnv_1a() -> None:
    """Published test vectors: "a" is af63dc4c8601ec8c and "foobar" is 85944171f73967e8."""
    assert [hex(key) for key in Vocabulary(["a", "foobar"]).hashes[4:]] == ["0xaf63dc4c8601ec8c", "0x85944171f73967e8"]
