"""Text forms: they learn a vocabulary, go through JSON unchanged, and text goes through them and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.encoding import UNK
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import read_texts
from textassay.corpus.tokenizer import TOKENIZERS, join_tokens
from textassay.errors import EmptyCorpusError, InputError, OptionError

TEXTS = ["The cat sat", "the cat ran", "a dog , the cat", ""]


def learn(tokenizer: str, **settings: Any) -> TextForm:
    if tokenizer.startswith("bpe"):
        pytest.importorskip("tokenizers")
    return TextForm.learn(TEXTS, tokenizer=tokenizer, **settings)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenizer", [*TOKENIZERS, "bpe-280"])
def test_json_brings_back_the_same_form(tokenizer: str, lowercase: bool) -> None:
    form = learn(tokenizer, lowercase=lowercase)
    again = TextForm.from_dict(json.loads(json.dumps(form.to_dict())))
    assert again == form
    assert again.hash == form.hash
    assert again.tokenizer.name == form.tokenizer.name
    assert again.vocabulary.tokens == form.vocabulary.tokens
    new = ["The CAT saw a \u00e9l\u00e9phant", "\U0001f600"]
    assert again.corpus(new).fingerprint == form.corpus(new).fingerprint
    assert again.corpus(new).tokens.tolist() == form.corpus(new).tokens.tolist()


def test_the_vocabulary_is_that_of_frequent_tokens() -> None:
    form = learn("whitespace", lowercase=True, min_count=2)
    assert form.vocabulary.tokens[4:] == ("the", "cat")
    assert learn("whitespace", max_size=1).vocabulary.tokens[4:] == ("cat",)
    assert learn("chars", max_size=2).vocabulary.tokens[4:] == (" ", "a")
    corpus = form.corpus(["The dog", "cat"])
    assert corpus.tokenizer == "whitespace+lower"
    assert corpus.vocabulary is form.vocabulary
    assert corpus.tokens.tolist() == [4, UNK, 5]
    assert len(learn("bpe-280").vocabulary) <= 284


@pytest.mark.parametrize(("tokenizer", "known"), [("whitespace", True), ("chars", True), ("bpe-280", False)])
def test_text_goes_there_and_back(tokenizer: str, known: bool) -> None:
    """Words with single spaces and characters come back where all are known; byte pairs always."""
    form = learn(tokenizer)
    texts = TEXTS if known else [*TEXTS, " \t\u4f60\u597d  \U0001f600 <unk>"]
    corpus = form.corpus(texts)
    assert [join_tokens(corpus.tokenizer, corpus.sentence(index)) for index in range(len(texts))] == texts


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=5))
def test_what_a_form_was_learnt_from_goes_through_characters_and_back(texts: list[str]) -> None:
    corpus = TextForm.learn(texts, tokenizer="chars").corpus(texts)
    assert [join_tokens("chars", corpus.sentence(index)) for index in range(len(texts))] == texts


def test_hashes_differ_where_forms_do() -> None:
    forms = [learn("whitespace"), learn("whitespace", lowercase=True), learn("words"), learn("chars", max_size=3)]
    forms += [learn("bpe-270"), learn("bpe-280"), learn("whitespace", max_size=2), learn("whitespace", max_size=3)]
    assert len({form.hash for form in forms}) == len(set(forms)) == len(forms)
    # the same on every machine and in every version: saved models hold it
    assert TextForm.learn(["b a b"]).hash == "cebc57e70c397b85514b11c920a41fd8"


def test_a_form_that_was_changed_is_refused() -> None:
    document = learn("whitespace").to_dict()
    with pytest.raises(InputError, match="hash does not match"):
        TextForm.from_dict({**document, "tokens": ["cat", "the"]})
    with pytest.raises(InputError, match="unknown tokenizer 'wrds': did you mean words"):
        TextForm.from_dict({**document, "tokenizer": "wrds"})
    with pytest.raises(InputError, match="a text form must have hash, lowercase"):
        TextForm.from_dict({"tokenizer": "words"})
    with pytest.raises(InputError, match="cannot be read"):
        TextForm.from_dict({**learn("bpe-280").to_dict(), "merges": [["a"]]})
    with pytest.raises(InputError, match="cannot be read"):
        TextForm.from_dict({**document, "tokens": 3})


def test_what_cannot_be_learnt_or_saved_is_one_line() -> None:
    with pytest.raises(EmptyCorpusError, match="at least one text"):
        TextForm.learn([])
    with pytest.raises(OptionError, match=r"unknown tokenizer 'bpe': .*bpe-SIZE"):
        TextForm.learn(TEXTS, tokenizer="bpe")
    with pytest.raises(OptionError, match="size must be at least 257"):
        learn("bpe-256")
    with pytest.raises(OptionError, match="max_size and min_count do not apply"):
        learn("bpe-300", max_size=100)
    with pytest.raises(OptionError, match="cannot be saved, since it is code"):
        TextForm.learn(TEXTS, tokenizer=lambda text: text.split(",")).to_dict()


def test_real_sentences_go_through_all_forms_and_back(data_dir: Path) -> None:
    texts = list(read_texts(data_dir / "yelp" / "valid.txt").texts[:2000])
    for tokenizer in ("whitespace", "chars", "bpe-1000"):
        form = TextForm.learn(texts, tokenizer=tokenizer)
        corpus = form.corpus(texts)
        assert corpus.unk_rate == 0
        back = [join_tokens(corpus.tokenizer, corpus.sentence(index)) for index in range(len(texts))]
        assert back == [" ".join(text.split()) for text in texts] if tokenizer == "whitespace" else back == texts
