"""Kept texts are found by their content, are what encoding gives, and are refused when damaged."""

from pathlib import Path

import numpy as np
import pytest

import textassay
from textassay.corpus import array_files, encoding
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.kept_texts import kept_texts, no_texts_of_refused_input
from textassay.errors import InputError, OptionError, OutputError

REAL = [f"wörd{number % 70} a b" for number in range(500)]
FIRST = [f"new{number} wörd{number % 5}" for number in range(500)]
SECOND = [f"other{number} new{number % 9}" for number in range(500)]


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "MAX_IN_MEMORY", 1000)


def encoded_sets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the name of every set is added that is encoded from now on."""
    names: list[str] = []
    encode = encoding._encode

    def record(name: str, *rest: object) -> object:
        names.append(name)
        return encode(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(encoding, "_encode", record)
    return names


def assert_equal(corpora: dict[str, Corpus], expected: dict[str, Corpus]) -> None:
    for name, corpus in corpora.items():
        assert np.array_equal(corpus.tokens, expected[name].tokens)
        assert np.array_equal(corpus.offsets, expected[name].offsets)
        assert corpus.vocabulary.tokens == expected[name].vocabulary.tokens
        assert corpus.fingerprint == expected[name].fingerprint
        assert corpus.texts == expected[name].texts


def test_a_set_is_encoded_once_with_those_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = {"real": REAL, "small": ["a new1"], "first": FIRST}
    more = {**sets, "second": SECOND}
    expected, expected_more = corpora_from_texts(sets), corpora_from_texts(more)
    alone = corpora_from_texts({"renamed": REAL})
    names = encoded_sets(monkeypatch)
    with kept_texts(tmp_path):
        assert_equal(corpora_from_texts(sets), expected)
        assert names == ["real", "small", "first"]
        assert_equal(corpora_from_texts(sets), expected)
        assert names[3:] == ["small"]
        assert_equal(corpora_from_texts(more), expected_more)
        assert names[4:] == ["small", "second"]
        assert_equal(corpora_from_texts({"renamed": REAL}), alone)
        assert names[6:] == []
        corpora_from_texts({"first": FIRST, "real": REAL})
        corpora_from_texts(sets, tokenizer="words")
        assert names[6:] == ["first", "real", "real", "small", "first"]
        names.clear()
        corpora_from_texts({"real": REAL}, tokenizer=lambda text: text.split())
        corpora_from_texts({"real": REAL}, tokenizer=lambda text: text.split(","))
        assert names == ["real", "real"]  # a function is not known by its name
    assert len(list(tmp_path.iterdir())) == 3 + 2 + 2


def test_nothing_small_is_kept_and_nothing_outside(tmp_path: Path) -> None:
    corpora_from_texts({"real": REAL})
    with kept_texts(tmp_path / "texts"):
        corpora_from_texts({"real": REAL[:10]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"x", b"half", b"changed", None])
@pytest.mark.parametrize("name", ["bytes", "tokens", "offsets", "words", "checksums"])
def test_a_damaged_file_is_written_anew(name: str, damage: bytes | None, tmp_path: Path) -> None:
    expected = corpora_from_texts({"real": REAL})
    with kept_texts(tmp_path):
        corpora_from_texts({"real": REAL})
        (path,) = tmp_path.glob(f"*/{name}.*")
        content = path.read_bytes()
        if damage is None:
            path.unlink()
        else:
            changed = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
            replacement = {b"half": content[: len(content) // 2], b"changed": changed}.get(damage, damage)
            path.write_bytes(replacement)
        assert_equal(corpora_from_texts({"real": REAL}), expected)
        assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        kept_texts(tmp_path / "file"),
        pytest.raises(OutputError, match=r"^cannot write to .*; choose another folder$"),
    ):
        corpora_from_texts({"real": REAL})


def test_a_run_whose_input_is_refused_leaves_its_folder_as_it_was(tmp_path: Path) -> None:
    def refuse(folder: Path, error: type[Exception]) -> None:
        with pytest.raises(error), no_texts_of_refused_input():  # noqa: PT012
            with kept_texts(folder / "encoded-texts"):
                corpora_from_texts({"real": REAL, "first": FIRST})
            raise error("mine")

    refuse(tmp_path / "deep" / "out", InputError)
    assert list(tmp_path.iterdir()) == []
    refuse(tmp_path / "out", OutputError)  # a full disk: the next run goes on from there
    assert len(list((tmp_path / "out" / "encoded-texts").iterdir())) == 2
    with kept_texts(tmp_path / "other" / "encoded-texts"):
        corpora_from_texts({"real": REAL})
    before = sorted(path for path in (tmp_path / "other").rglob("*"))
    refuse(tmp_path / "other", InputError)
    assert sorted(path for path in (tmp_path / "other").rglob("*")) == before


def test_compare_that_refuses_its_input_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--features of real are missing"):
        textassay.compare({"a": FIRST}, REAL, features={"a": np.zeros((3, 2))}, out=tmp_path / "out")
    with pytest.raises(OptionError):
        textassay.compare({"a": FIRST}, REAL, metrics=["no-such-metric"], out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    textassay.compare({"a": FIRST}, REAL, metrics=["length"], out=tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"estimates", "encoded-texts"}
