"""The corpus: immutable, cheap to take apart and to put together, and known by its content."""

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.encoding import Vocabulary
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.text_file import TextFile, number_groups
from textassay.errors import EmptyCorpusError, InputError, OptionError

SENTENCES = ["the cat sat .", "", "a dog", "the end"]
GROUPS = np.array([7, 7, 8, 9])


def test_nothing_in_it_can_be_changed() -> None:
    corpus = Corpus.from_texts(SENTENCES, groups=GROUPS)
    for copy in (corpus, pickle.loads(pickle.dumps(corpus)), corpus.take(np.arange(2))):
        with pytest.raises(FrozenInstanceError):
            copy.tokens = np.zeros(1, dtype=np.int32)  # type: ignore[misc]
        assert copy.groups is not None
        arrays: list[npt.NDArray[Any]] = [copy.tokens, copy.offsets, copy.groups]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_the_callers_own_arrays_and_list_stay_free() -> None:
    groups, texts = GROUPS.copy(), list(SENTENCES)
    corpus = Corpus.from_texts(texts, groups=groups)
    texts.append("more")
    groups[0] = 1
    assert len(corpus) == 4
    assert list(corpus.texts) == SENTENCES


def test_the_bytes_of_texts_are_shared_not_copied() -> None:
    corpus = Corpus.from_texts(["a long sentence", "another"])
    part = corpus.take(np.array([1]))
    assert isinstance(corpus.texts, PackedTexts)
    assert isinstance(part.texts, PackedTexts)
    assert np.shares_memory(part.texts.data, corpus.texts.data)


@given(st.lists(st.integers(0, 3), max_size=8))
def test_take_gives_the_sentences_asked_for_in_that_order(chosen: list[int]) -> None:
    corpus = Corpus.from_texts(SENTENCES, groups=GROUPS)
    part = corpus.take(np.array(chosen, dtype=np.int64))
    assert [part.sentence(index) for index in range(len(part))] == [corpus.sentence(index) for index in chosen]
    assert list(part.texts) == [SENTENCES[index] for index in chosen]
    assert part.groups is not None
    assert part.groups.tolist() == GROUPS[chosen].tolist()
    assert part.vocabulary is corpus.vocabulary


def test_take_by_mask_and_from_the_end() -> None:
    corpus = Corpus.from_texts(SENTENCES)
    assert list(corpus.take(np.array([True, False, False, True])).texts) == [SENTENCES[0], SENTENCES[3]]
    last = corpus.take(np.array([-1]))
    assert (last.texts[0], last.sentence(0)) == ("the end", ["the", "end"])
    with pytest.raises(OptionError, match=r"mask must have shape \(4,\), got \(2,\)"):
        corpus.take(np.array([True, False]))


def test_sentence_counts_from_both_ends() -> None:
    corpus = Corpus.from_texts(SENTENCES)
    assert corpus.sentence(-1) == ["the", "end"]
    with pytest.raises(IndexError):
        corpus.sentence(4)


def test_concatenate_undoes_take() -> None:
    corpus = Corpus.from_texts(SENTENCES, groups=GROUPS)
    whole = Corpus.concatenate([corpus.take(np.arange(1)), corpus.take(np.arange(1, 1)), corpus.take(np.arange(1, 4))])
    assert whole.fingerprint == corpus.fingerprint
    assert whole.vocabulary is corpus.vocabulary


def test_concatenate_needs_corpora_that_fit() -> None:
    corpora = corpora_from_texts({"a": ["x"], "b": ["y"]}, groups={"a": np.array([0])})
    with pytest.raises(EmptyCorpusError, match="no corpus"):
        Corpus.concatenate([])
    with pytest.raises(OptionError, match="different vocabularies"):
        Corpus.concatenate([corpora["a"], Corpus.from_texts(["x"])])
    with pytest.raises(OptionError, match="all or none"):
        Corpus.concatenate([corpora["a"], corpora["b"]])
    other = Corpus(np.zeros(0, np.int32), np.zeros(1, np.int64), corpora["b"].vocabulary, (), tokenizer="words")
    with pytest.raises(OptionError, match="tokenizers differ: whitespace, words"):
        Corpus.concatenate([corpora["b"], other])


def test_equal_content_has_an_equal_fingerprint_whatever_shares_the_vocabulary() -> None:
    alone = Corpus.from_texts(SENTENCES)
    second = corpora_from_texts({"first": ["other words"], "second": SENTENCES})["second"]
    assert not np.array_equal(alone.tokens, second.tokens)
    assert alone.fingerprint == second.fingerprint == pickle.loads(pickle.dumps(alone)).fingerprint
    assert alone.fingerprint == "70404fea59e3abf113d2fd3978b5d43a"


@pytest.mark.parametrize(
    "other",
    [
        Corpus.from_texts(SENTENCES[::-1]),
        Corpus.from_texts(SENTENCES[:3]),
        Corpus.from_texts(["the cat sat . ", "", "a dog", "the end"]),
        Corpus.from_texts(["the cat sat .", "a", "dog", "the end"]),
        Corpus.from_texts(SENTENCES, groups=GROUPS),
        Corpus.from_texts(SENTENCES, lowercase=True),
        Corpus.from_texts(SENTENCES, tokenizer="words"),
        Corpus.from_texts(SENTENCES, vocabulary=Vocabulary(["the"])),
    ],
)
def test_other_content_has_another_fingerprint(other: Corpus) -> None:
    assert other.fingerprint != Corpus.from_texts(SENTENCES).fingerprint


def test_two_lambdas_that_split_differently_differ_in_fingerprint() -> None:
    first = Corpus.from_texts(["Ab Cd"], tokenizer=lambda text: text.split())
    second = Corpus.from_texts(["Ab Cd"], tokenizer=lambda text: text.lower().split())
    assert first.tokenizer == second.tokenizer
    assert first.fingerprint != second.fingerprint


def test_with_vocabulary_keeps_texts_and_maps_tokens() -> None:
    corpus = Corpus.from_texts(SENTENCES, groups=GROUPS)
    mapped = corpus.with_vocabulary(Vocabulary(["end", "the"]))
    assert mapped.sentence(0) == ["the", "<unk>", "<unk>", "<unk>"]
    assert mapped.tokens.tolist()[-2:] == [5, 4]
    assert mapped.texts == corpus.texts
    assert mapped.groups is not None


def test_groups_come_with_the_texts_or_apart() -> None:
    source = TextFile("real", ["a", "b"], number_groups(["x", "x"], "doc"))
    corpora = corpora_from_texts({"real": source, "other": source}, groups={"other": np.array([4, 5])})
    assert source.groups is not None
    assert source.groups[0] == source.groups[1]
    found = [corpora[name].groups.tolist() for name in ("real", "other")]  # type: ignore[union-attr]
    assert found == [source.groups.tolist(), [4, 5]]
    with pytest.raises(OptionError, match="unknown sets: mistyped"):
        corpora_from_texts({"real": ["a"]}, groups={"mistyped": np.array([0])})
    with pytest.raises(InputError, match="one number per text: 1, got 2"):
        corpora_from_texts({"real": ["a"]}, groups={"real": np.array([0, 1])})


def test_parts_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(InputError, match="offsets do not fit"):
        Corpus(np.zeros(3, np.int32), np.array([0, 2]), Vocabulary(), ("a",), tokenizer="whitespace")


def test_corpora_of_one_vocabulary_stay_as_they_are_and_others_are_encoded_together() -> None:
    made = corpora_from_texts({"a": ["x y"], "b": ["y z"]})
    again = corpora_from_texts(made)
    assert all(again[name] is made[name] for name in made)
    grouped = Corpus.from_texts(["z", "x y"], groups=np.array([3, 4]))
    joined = corpora_from_texts({"a": made["a"], "b": grouped, "c": ["w"]})
    assert len({id(corpus.vocabulary) for corpus in joined.values()}) == 1
    assert joined["b"].groups is not None
    assert joined["b"].groups.tolist() == [3, 4]
    assert corpora_from_texts(made, lowercase=True)["a"].tokenizer == "whitespace+lower"


def test_preparation_is_recorded_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Don ' t, he said.\n", encoding="utf-8")
    corpus = corpora_from_texts({"a": tmp_path / "a.txt"}, normalize=True, max_tokens=2)["a"]
    assert corpus.sentence(0) == ["don't", ","]
    assert corpus.tokenizer == "whitespace+normalize+max-tokens=2"
    with pytest.raises(OptionError, match="max_tokens must be at least 1, got 0"):
        corpora_from_texts({"a": corpus}, max_tokens=0)
