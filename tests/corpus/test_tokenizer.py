"""Tokenisers split as they say, carry the right name, and 13a equals the peer implementation."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from textassay.corpus.corpus import Corpus
from textassay.corpus.tokenizer import resolve_tokenizer, tokenize_13a, tokenize_words
from textassay.errors import OptionError

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
