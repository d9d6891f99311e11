"""Letters and found words of scripts without spaces: tokens, their text, and where nothing changes."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.letters import is_unspaced
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import join_tokens, resolve_tokenizer
from textassay.errors import InputError, MissingExtraError, OptionError
from textassay.ngram.likelihood import n_characters

LETTERS = {
    "我昨天用iPhone、很好。": ["我", "昨", "天", "用", "iPhone", "、", "很", "好", "。"],
    "กินข้าวที่น้ำ": ["กิ", "น", "ข้", "า", "ว", "ที่", "น้ำ"],
    "ខ្ញុំ\u200bទៅ": ["ខ្", "ញុំ", "ទៅ"],
    "か\u3099き": ["か\u3099", "き"],
    "great😂😂 👍🏽👨\u200d👩\u200d👧🇩🇪🇫🇷❤\ufe0f!": [
        "great", "😂", "😂", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "❤\ufe0f", "!",
    ],
    "a\u0e31b": ["a", "\u0e31", "b"],
    "한국어 문장, שלום العالم don't": ["한국어", "문장,", "שלום", "العالم", "don't"],
    "a\nb": ["a", "b"],
    "": [],
}  # fmt: skip
WORDS = {
    "我昨天在北京大学看书。": ["我", "昨天", "在", "北京", "大学", "看书", "。"],
    "私は昨日東京大学の図書館で": ["私", "は", "昨日", "東京", "大学", "の", "図書館", "で"],
    "ฉันไปโรงเรียนทุกวัน": ["ฉัน", "ไป", "โรงเรียน", "ทุก", "วัน"],
    "ຂ້ອຍໄປໂຮງຮຽນ": ["ຂ້ອຍ", "ໄປ", "ໂຮງຮຽນ"],
    "ខ្ញុំទៅសាលារៀន": ["ខ្ញុំ", "ទៅ", "សាលារៀន"],
    "ကျောင်းသွားသည်": ["ကျောင်း", "သွား", "သည်"],
    "don't 1,600.50 한국어, 👍🏽👍🏽": ["don't", "1,600.50", "한국어,", "👍🏽", "👍🏽"],
}
ALPHABET = "山水 aé.\u3001กิ่ข้า\u200b\u200d\ufe0f👍🏽👩🇩🇪か\u3099"


@pytest.mark.parametrize("text", LETTERS)
def test_letters_with_their_marks(text: str) -> None:
    assert list(resolve_tokenizer("mixed")(text)) == LETTERS[text]


@pytest.mark.parametrize("text", WORDS)
def test_words_that_icu_finds(text: str) -> None:
    pytest.importorskip("icu4py")
    assert list(resolve_tokenizer("segment")(text)) == WORDS[text]


@given(st.text(alphabet=ALPHABET, max_size=20))
def test_tokens_that_are_joined_are_the_same_tokens(text: str) -> None:
    mixed = resolve_tokenizer("mixed")
    assert list(mixed(join_tokens("mixed", mixed(text)))) == list(mixed(text))


@given(st.text(alphabet=ALPHABET, max_size=20))
def test_nothing_is_lost_but_spaces(text: str) -> None:
    kept = "".join(text.replace("\u200b", " ").split())
    assert "".join(resolve_tokenizer("mixed")(text)) == kept
    pytest.importorskip("icu4py")
    assert "".join(resolve_tokenizer("segment")(text)) == kept


@pytest.mark.parametrize("tokenizer", ["mixed", "segment"])
def test_text_with_spaces_has_the_tokens_of_white_space(tokenizer: str) -> None:
    pytest.importorskip("icu4py")
    texts = ["Don't, said Zoë.", "привет мир", "안녕 세계", ""]
    spaced, named = (
        Corpus.from_texts(texts[:2], tokenizer=resolve_tokenizer(one)) for one in ("whitespace", tokenizer)
    )
    assert spaced.tokens.tolist() == named.tokens.tolist()
    assert spaced.vocabulary.tokens == named.vocabulary.tokens


def test_text_of_letters_has_no_space_between_them() -> None:
    assert join_tokens("mixed+lower", ["我", "用", "iphone", "4", "。"]) == "我用 iphone 4 。"
    corpora = corpora_from_texts({"x": ["我昨天 在 北京"]}, tokenizer="mixed", max_tokens=4)
    assert list(corpora["x"].texts) == ["我昨天在"]
    assert n_characters(Corpus.from_texts(["我用 iPhone"], tokenizer="mixed"), ends=False) == len("我用 iPhone")


def test_what_a_space_less_script_is() -> None:
    assert [is_unspaced(character) for character in "我ก\u0e34😀。"] == [True] * 5
    assert [is_unspaced(character) for character in "aé가я1 .\u0431"] == [False] * 8


def test_found_words_are_saved_with_the_version_that_found_them() -> None:
    icu = pytest.importorskip("icu4py")
    form = TextForm.learn(["我昨天在北京大学看书。"], tokenizer="segment")
    assert form.tokenizer.name == f"segment-icu{icu.icu_version}"
    document = form.to_dict()
    assert TextForm.from_dict(document) == form
    with pytest.raises(InputError, match=r"words were found by icu1\.0, but segment-icu[\d.]+ is installed"):
        TextForm.from_dict({**document, "tokenizer": "segment-icu1.0"})


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu4py", None)
    with pytest.raises(MissingExtraError, match=r"--tokenizer segment needs the 'segment' extra: .*'\.\[segment\]'"):
        Corpus.from_texts(["我"], tokenizer="segment")
    with pytest.raises(OptionError, match="unknown tokenizer 'segments'"):
        Corpus.from_texts(["我"], tokenizer="segments")
