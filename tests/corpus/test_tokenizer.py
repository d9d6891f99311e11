"""Tokenisers split as they say and carry the right name; 13a equals the peer; letters of scripts without spaces."""

import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import is_unspaced, join_tokens, resolve_tokenizer, tokenize_13a, tokenize_words
from textassay.errors import InputError, MissingExtraError, OptionError
from textassay.ngram.language_model import n_characters

# sacrebleu 2.6.0
peer = Tokenizer13a()  # type: ignore[no-untyped-call]
TRICKY = [
    "Hello, world!",
    "It costs $1,234.56, or 3.5% more.",
    "a,,b a,.5 1.,2 ...5 .5. 5.. ,.,.",
    "1-2 a-b 1- -1 1--2 (1-a)",
    "&quot;A&quot; &amp;lt; &amp;quot; &lt;b&gt; &amp;amp;",
    "<skipped>x<skipped> y",
    "line-\nbreak and\nanother -\n",
    "don't \u201cquote\u201d caf\u00e9, na\u00efve.\u00a0\u2028x",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "\u0663.\u0663 \u0663-\u0663 \uff11,\uff12",
    "",
    " . ",
    "-",
    "1-",
    ",5",
]


@pytest.mark.parametrize("text", TRICKY)
def test_13a_equals_sacrebleu_on_tricky_cases(text: str) -> None:
    assert tokenize_13a(text) == peer(text).split()


@given(st.text(st.sampled_from("a1 .,-'&;<>\n\"(quotampltgs") | st.characters(exclude_categories=["Cs"]), max_size=25))
def test_13a_equals_sacrebleu_on_any_text(text: str) -> None:
    assert tokenize_13a(text) == peer(text).split()


@given(st.lists(st.text(st.sampled_from("a1 .,-&;\n"), max_size=8), max_size=6))
def test_13a_of_many_sentences_is_that_of_each(sentences: list[str]) -> None:
    corpus = Corpus.from_texts(sentences, tokenizer="13a")
    assert [corpus.sentence(index) for index in range(len(corpus))] == [peer(text).split() for text in sentences]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop, well-known one.", ["Don't", "stop", ",", "well-known", "one", "."]),
        ("it\u2019s (really) 3.5%", ["it\u2019s", "(", "really", ")", "3", ".", "5", "%"]),
        ("'quoted' -- dash-", ["'", "quoted", "'", "-", "-", "dash", "-"]),
        ("a <unk> b <eos>", ["a", "<unk>", "b", "<eos>"]),
        ("_num_ a_b <b>", ["_num_", "a_b", "<", "b", ">"]),
        (
            "cafe\u0301 \u0939\u093f\u0928\u094d\u0926\u0940!",
            ["cafe\u0301", "\u0939\u093f\u0928\u094d\u0926\u0940", "!"],
        ),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.",
            ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "."],
        ),
        ("two\nlines\x85here", ["two", "lines", "here"]),
        ("\u4f60\u597d\uff0c\u4e16\u754c", ["\u4f60\u597d", "\uff0c", "\u4e16\u754c"]),
        ("", []),
    ],
)
def test_words_splits_punctuation_and_keeps_words(text: str, tokens: list[str]) -> None:
    assert tokenize_words(text) == tokens


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_words_loses_nothing_but_white_space(text: str) -> None:
    assert "".join(tokenize_words(text)) == "".join(text.split())


def test_chars_keeps_every_character() -> None:
    assert Corpus.from_texts(["a b\n\u00e9\U0001f600"], tokenizer="chars").sentence(0) == list("a b\n\u00e9\U0001f600")


def named(text: str) -> list[str]:
    return text.split()


class Splitter:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, text: str) -> list[str]:
        return text.split()


def test_names_stand_for_what_was_done() -> None:
    assert resolve_tokenizer("words").name == "words"
    assert resolve_tokenizer("words", lowercase=True).name == "words+lower"
    assert resolve_tokenizer(named).name == f"{__name__}.named"
    assert resolve_tokenizer(lambda text: [text]).name == "<lambda>"
    assert resolve_tokenizer(str.split).name == "str.split"
    assert resolve_tokenizer(partial(named)).name == "functools.partial"
    assert resolve_tokenizer(Splitter()).name == f"{__name__}.Splitter"
    chars = resolve_tokenizer("chars")
    assert resolve_tokenizer(chars) is chars
    assert resolve_tokenizer(chars, lowercase=True).name == "chars+lower"
    assert resolve_tokenizer(resolve_tokenizer(chars, lowercase=True), lowercase=True)("Ab") == ["a", "b"]


def test_a_callable_need_not_be_hashable() -> None:
    assert Corpus.from_texts(["a b"], tokenizer=Splitter()).sentence(0) == ["a", "b"]


def test_an_unknown_name_lists_the_valid_ones() -> None:
    valid = "13a, chars, mixed, segment, whitespace, words"
    with pytest.raises(OptionError, match=rf"unknown tokenizer 'word': did you mean words\? Valid: {valid}"):
        resolve_tokenizer("word")


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
    with pytest.raises(MissingExtraError, match=r"--tokenizer segment needs the 'segment' extra: .*ssay\[segment\]'"):
        Corpus.from_texts(["我"], tokenizer="segment")
    with pytest.raises(OptionError, match="unknown tokenizer 'segments'"):
        Corpus.from_texts(["我"], tokenizer="segments")
