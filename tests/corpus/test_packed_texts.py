"""Packed texts are the tuple of the same strings, in less room."""

import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus import array_files, packed_texts
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.texts import as_texts

any_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud83d\ude00é漢\n"), max_size=12)
any_texts = st.lists(any_text, max_size=12)


@pytest.fixture(autouse=True)
def many_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_texts, "_PACKED", 3)
    monkeypatch.setattr(packed_texts, "_MAX_BLOCK", 5)


def assert_same(packed: Sequence[str], texts: Sequence[str]) -> None:
    assert len(packed) == len(texts)
    assert list(packed) == list(texts)  # by iteration
    assert [packed[place] for place in range(-len(texts), len(texts))] == [*texts, *texts]
    assert {type(text) for text in packed} <= {str}
    sequences: list[Sequence[str]] = [tuple(texts), list(texts)]
    assert all(packed == sequence for sequence in sequences)


@given(texts=any_texts)
def test_they_are_the_same_strings_in_order(texts: list[str]) -> None:
    packed = PackedTexts.of(texts)
    assert_same(packed, texts)
    assert_same(PackedTexts.of(iter(texts)), texts)
    assert packed.n_characters.tolist() == [len(text) for text in texts]
    assert packed.lengths.tolist() == [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    assert PackedTexts.of(packed) is packed
    assert_same(pickle.loads(pickle.dumps(packed)), texts)
    with pytest.raises(IndexError):
        packed[len(texts)]


@given(
    texts=any_texts, bounds=st.tuples(*[st.none() | st.integers(-13, 13)] * 2, st.sampled_from([None, 1, 2, -1, -3]))
)
def test_slices_are_slices(texts: list[str], bounds: tuple[int | None, int | None, int | None]) -> None:
    part = PackedTexts.of(texts)[slice(*bounds)]
    assert_same(part, texts[slice(*bounds)])
    assert_same(part.compact(), part)
    assert_same(pickle.loads(pickle.dumps(part)), part)
    assert part.n_characters.tolist() == [len(text) for text in texts[slice(*bounds)]]


@given(texts=st.lists(any_text, min_size=1, max_size=8), data=st.data())
def test_take_is_indexing(texts: list[str], data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(-len(texts), len(texts) - 1), max_size=10))
    packed = PackedTexts.of(texts)
    part = packed.take(np.array(indices, dtype=np.int64))
    assert_same(part, [texts[index] for index in indices])
    assert np.shares_memory(part.data, packed.data) or not packed.data.size
    assert_same(pickle.loads(pickle.dumps(part)), part)


@given(texts=any_texts, others=any_texts, n_bytes=st.integers(0, 20))
def test_blocks_cover_all_and_equality_sees_every_text(texts: list[str], others: list[str], n_bytes: int) -> None:
    packed = PackedTexts.of(texts)
    blocks = list(packed.blocks(n_bytes))
    assert [text for block in blocks for text in block] == texts
    assert all(len(block) == 1 or len(block.data) <= n_bytes for block in blocks)
    for block in blocks:
        assert len(block.data) == block.lengths.sum()
    for other in (others, tuple(others), PackedTexts.of(others)):
        assert (packed == other) == (texts == others)
    assert packed != "".join(texts)


@given(st.lists(st.text(st.sampled_from("ab é\r\n\x85\u2028"), max_size=9), max_size=9))
def test_lines_end_at_line_feeds_only(blocks: list[str]) -> None:
    packer = TextPacker()
    expected = []
    for block in [f"{block}\n" for block in blocks] + ["".join(blocks)]:
        packer.add_lines(block)
        lines = block.replace("\r\n", "\n").split("\n")
        expected += lines[:-1] + ([lines[-1]] if lines[-1] else [])
    assert list(packer.texts()) == expected


def test_joined_bytes_do_not_make_other_texts_equal() -> None:
    assert PackedTexts.of(["ab", "c"]) != PackedTexts.of(["a", "bc"])
    halves = ["\ud83d", "\ude00"]  # together one character
    assert list(PackedTexts.of(halves)) == halves


def test_nothing_in_them_can_be_changed() -> None:
    packed = PackedTexts.of(["a", "b"])
    for array in (packed.data, packed.starts, packed.stops):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        hash(packed)


def test_people_see_the_first_texts() -> None:
    assert repr(PackedTexts.of(["a", "b"])) == "PackedTexts(2 texts: ['a', 'b'])"
    assert repr(PackedTexts.of(["x" * 1000] * 1000)).endswith(", ...])")


def test_they_are_texts_like_any_other_and_not_packed_again() -> None:
    packed = PackedTexts.of(["a b", "c"])
    assert as_texts(packed, "real").texts is packed
    assert corpora_from_texts({"real": packed})["real"].texts == packed


def test_a_pickled_part_holds_no_other_texts() -> None:
    packed = PackedTexts.of(["x" * 1000] * 1000)
    assert len(pickle.dumps(packed.take(np.array([5, 3])))) < 3000


def test_texts_in_a_file_are_pickled_whole_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "MAX_IN_MEMORY", 100)
    texts = [f"text {number} é" for number in range(1000)]
    packed = PackedTexts.of(texts)
    corpus = Corpus.from_texts(texts)
    for part in (packed, packed[990:], PackedTexts.of(corpus.texts)):
        content = pickle.dumps(part)
        assert len(content) < 300 + 30 * len(part)
        assert list(pickle.loads(content)) == list(part)
    again = pickle.loads(pickle.dumps(corpus))
    assert again.fingerprint == corpus.fingerprint == _in_memory(texts, monkeypatch).fingerprint
    assert list(pickle.loads(pickle.dumps(packed.take(np.array([7, 7, 3]))))) == [texts[7], texts[7], texts[3]]


def _in_memory(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.undo()
    return Corpus.from_texts(texts)


def test_texts_that_come_one_by_one_keep_their_order() -> None:
    packer = TextPacker()
    texts = [f"text {number}" for number in range(1100)]
    for text in texts[:600]:
        packer.add_one(text)
    packer.add(texts[600:700])
    for text in texts[700:]:
        packer.add_one(text)
    assert packer.texts() == texts
