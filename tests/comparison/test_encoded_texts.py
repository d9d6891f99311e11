"""Sets of texts that are encoded once: their corpora are those of one call for all of them."""

from typing import Any

import numpy as np
import pytest

from made_up import sentences
from textassay.comparison.drawn_texts import EncodedTexts
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.text_file import TextFile
from textassay.corpus.tokenizer import SpacingWarning

SETS = {"(real)": sentences(80, 1), "(train)": sentences(90, 2), "a": sentences(120, 3), "b": ["x <unk> y"] * 3}


def _same(one: Corpus, other: Corpus) -> bool:
    return (
        one.vocabulary.tokens == other.vocabulary.tokens
        and np.array_equal(one.tokens, other.tokens)
        and np.array_equal(one.offsets, other.offsets)
        and list(one.texts) == list(other.texts)
        and (one.tokenizer, one.fingerprint) == (other.tokenizer, other.fingerprint)
        and (one.groups is None) == (other.groups is None)
    )


@pytest.mark.parametrize(
    "reading",
    [
        {},
        {"tokenizer": "words", "lowercase": True},
        {"normalize": True, "max_tokens": 3},
        {"tokenizer": "chars"},
        {"tokenizer": lambda text: text.split("e")},
    ],
)
def test_the_corpora_are_those_of_one_call(reading: dict[str, Any]) -> None:
    encoded = EncodedTexts(reading)
    encoded.add("(real)", SETS["(real)"])
    encoded.add("b", SETS["b"])
    encoded.add("(train)", TextFile("t", SETS["(train)"], np.arange(90)))
    encoded.corpora(["(real)", "(train)"])  # before the others come
    encoded.add("a", SETS["a"])
    sets = {**SETS, "(train)": TextFile("t", SETS["(train)"], np.arange(90))}
    for names in (["(real)", "a"], list(SETS), ["(real)", "b", "a"]):
        together = corpora_from_texts({name: sets[name] for name in names}, **reading)
        found = encoded.corpora(names)
        assert list(found) == names
        assert all(_same(found[name], together[name]) for name in names)
        assert len({id(corpus.vocabulary) for corpus in found.values()}) == 1


def test_auto_is_chosen_for_the_first_set() -> None:
    encoded = EncodedTexts({"tokenizer": "auto"})
    with pytest.warns(SpacingWarning):
        encoded.add("(real)", ["这是一个没有空格的句子。", "第二个句子也没有空格。"])
    encoded.add("a", ["words with spaces"])
    assert encoded.corpora(["(real)", "a"])["a"].tokenizer == "mixed"


def test_tokens_of_the_first_set_are_shared_and_columns_stay() -> None:
    encoded = EncodedTexts({})
    real = corpora_from_texts({"real": SETS["(real)"]})["real"]
    real = Corpus(
        real.tokens, real.offsets, real.vocabulary, real.texts, tokenizer=real.tokenizer,
        columns={"features": np.ones((80, 2))},
    )  # fmt: skip
    encoded.add("(real)", real)
    before = encoded.corpora(["(real)"])["(real)"]
    encoded.add("a", SETS["a"])
    after = encoded.corpora(["(real)", "a"])["(real)"]
    assert np.shares_memory(before.tokens, after.tokens)
    assert after.columns["features"].shape == (80, 2)
