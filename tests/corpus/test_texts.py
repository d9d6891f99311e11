"""Sentences that come from Python: what is taken, and what is wrong is said with its position."""

import datetime
import importlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_file import TextFile, number_groups
from textassay.corpus.texts import as_texts, is_stream, read_texts
from textassay.errors import InputError

SENTENCES = ("a b", "", "c")


def generate() -> Iterator[str]:
    yield from SENTENCES


class PolarsLike:
    """Has what a polars series has: `to_list`."""

    def to_list(self) -> list[str]:
        return list(SENTENCES)


@pytest.mark.parametrize(
    "source",
    [
        list(SENTENCES),
        SENTENCES,
        generate(),
        dict.fromkeys(SENTENCES).keys(),
        np.array(SENTENCES),
        np.array(SENTENCES, dtype=object),
        pd.Series(SENTENCES),
        pd.Series(SENTENCES, index=[5, 6, 7]),
        pd.Series(SENTENCES, dtype="category"),
        pd.DataFrame({"sentence": SENTENCES, "id": [1, 2, 3]}),
        pd.DataFrame({"whatever": SENTENCES}),
        PolarsLike(),
        TextFile("x", SENTENCES),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_kind_of_source_gives_the_same_sentences(source: Any) -> None:
    assert as_texts(source, "real").texts == SENTENCES
    assert {type(text) for text in as_texts(source, "real").texts} <= {str}


class DatasetLike:
    """Has what a `datasets.Dataset` has: rows by number, columns by name, `column_names`, and no `columns`."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._columns[key]
        return {name: values[key] for name, values in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))


def tables(columns: dict[str, list[Any]]) -> Iterator[Any]:
    """Yield one table of each kind that is installed."""
    yield DatasetLike(columns)
    yield pd.DataFrame(columns)
    for module, make in (("pyarrow", "table"), ("polars", "DataFrame")):
        with suppress(ImportError):
            yield getattr(importlib.import_module(module), make)(columns)


def test_every_kind_of_table_gives_the_same_sentences() -> None:
    texts = list(SENTENCES)
    for table in tables({"label": [1, 2, 3], "text": texts, "title": ["x", "y", "z"]}):
        assert as_texts(table, "real").texts == SENTENCES
    for table in tables({"label": [1, 2, 3], "review": texts}):  # the only one that holds strings
        assert as_texts(table, "real").texts == SENTENCES
    for table in tables({"label": [1, 2, 3], "review": texts, "title": texts}):
        with pytest.raises(InputError, match=r"^real row 1: which column .*table\['review'\]; it has: review, title$"):
            as_texts(table, "real")
    for table in tables({"label": [], "n": []}):
        with pytest.raises(InputError, match=r"^real contains no text$"):
            as_texts(table, "real")
    assert as_texts(pd.DataFrame({0: [1, 2, 3], 1: texts}), "real").texts == SENTENCES


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([["a", "b"]], columns=["text", "text"])
    arrow = pytest.importorskip("pyarrow")
    for table in (frame, arrow.table([["a"], ["b"]], names=["text", "text"])):
        with pytest.raises(InputError, match="two columns are called 'text': rename or remove one"):
            as_texts(table, "real")


def test_read_texts_takes_what_python_has() -> None:
    assert read_texts(["a", "b"]).texts == ("a", "b")
    frame = pd.DataFrame({"answer": ["a"], "question": ["q"], "model": ["m"]})
    file = read_texts(frame, column="answer", prompt_column="question", source_column="model")
    assert (file.texts, file.prompts, file.sources) == (("a",), ("q",), ["m"])


def stream(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from rows


ROWS = [{"prompt": "p", "answer": "a b", "doc": 1}, {"prompt": "q", "answer": "c", "doc": 2}]
CHAT = {"messages": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "a"}]}


def test_rows_are_read_as_lines_of_json_are() -> None:
    named = [{"text": row["answer"], "id": row["doc"]} for row in ROWS]
    for rows in (named, stream(named)):
        assert as_texts(rows, "real").texts == ("a b", "c")
    assert as_texts([CHAT, CHAT], "real").prompts == ("p", "p")
    with pytest.raises(InputError, match=r"^real row 1: which column holds the texts\? .*: prompt, answer$"):
        as_texts(ROWS, "real")
    with pytest.raises(InputError, match=r"^real row 2: 'text' must be a string, got a date$"):
        as_texts([{"text": "a"}, {"text": datetime.date(2026, 1, 1)}], "real")


def test_datasets() -> None:
    """In memory, selected, formatted, streamed, and dicts of splits, by the library itself."""
    datasets = pytest.importorskip("datasets")
    held = datasets.Dataset.from_list(ROWS)
    named = held.rename_column("answer", "text")
    streams = (named.to_iterable_dataset(), datasets.IterableDataset.from_generator(partial(stream, list(named))))
    for source in (named, *(named.with_format(kind) for kind in ("numpy", "pandas", "arrow")), *streams):
        assert as_texts(source, "real").texts == ("a b", "c")
    assert as_texts(held["answer"], "real").texts == ("a b", "c")
    assert as_texts(held.with_format(columns=["answer"]), "real").texts == ("a b", "c")
    assert as_texts(held.select([1]).select_columns(["answer", "doc"]), "real").texts == ("c",)
    for kind in (datasets.DatasetDict, datasets.IterableDatasetDict):
        with pytest.raises(InputError, match=r"got a \w+; take one of its values: train, test$"):
            as_texts(kind(train=held, test=held), "real")
    chats = datasets.Dataset.from_list(
        [{"messages": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "a"}]}]
    )
    for source in (chats, chats.to_iterable_dataset(), chats.to_pandas(), chats.data.table):
        file = as_texts(source, "real")
        assert (file.texts, file.prompts) == (("a",), ("p",))


def test_a_dataset_on_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "held")
    assert read_texts(tmp_path / "held", column="answer", prompt_column="prompt").prompts == ("p", "q")
    datasets.Dataset.from_list([CHAT]).save_to_disk(tmp_path / "chats")
    assert as_texts(str(tmp_path / "chats"), "real").prompts == ("p",)


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS)
    assert as_texts(frame.drop("prompt"), "real").texts == ("a b", "c")
    assert as_texts(frame["answer"], "real").texts == ("a b", "c")
    with pytest.raises(InputError, match=r"got LazyFrame; give the result of its collect\(\)$"):
        as_texts(frame.lazy(), "real")


def test_arrow_columns_and_tables() -> None:
    arrow = pytest.importorskip("pyarrow")
    assert as_texts(arrow.array(SENTENCES), "real").texts == SENTENCES
    table = arrow.table({"text": SENTENCES, "n": [1, 2, 3]})
    assert as_texts(table, "real").texts == SENTENCES
    with pytest.raises(InputError, match=r"real\[1\] is missing"):
        as_texts(arrow.array(["a", None]), "real")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("one sentence", r"^real: expected many texts, got one str; put it in a list$"),
        (b"bytes", r"^real: expected many texts, got one bytes"),
        ({"a": ["b"]}, r"^real: expected an iterable of str, got a dict"),
        (7, r"^real: expected an iterable of str, got int$"),
        (np.array("x"), r"^real: expected an iterable of str, got str$"),
        (["a", 3], r"^real\[1\] must be a str, got int$"),
        (["a", b"b"], r"^real\[1\] must be a str, got bytes$"),
        (["a", "b", None], r"^real\[2\] is missing \(None\)"),
        (pd.Series(["a", np.nan]), r"^real\[1\] is missing \(nan\)"),
        (pd.Series(["a", pd.NA], dtype="string"), r"^real\[1\] is missing \(<NA>\)"),
        ([["a"], ["b"]], r"^real\[0\] must be a str, got list$"),
    ],
)
def test_what_is_no_sentence_is_named_with_its_position(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_texts(source, "real")


def test_a_string_is_no_corpus() -> None:
    with pytest.raises(InputError, match="got one str"):
        Corpus.from_texts("a b c")


def test_a_label_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"real groups\[1\] is missing"):
        number_groups(["x", np.nan], "real groups")


def test_which_column_is_meant() -> None:
    assert as_texts([{"anything": "a"}], "f").texts == ("a",)
    assert as_texts([{"id": "1", "text": "a", "label": "x"}], "f").texts == ("a",)
    assert as_texts([{"id": "1", "story": "a", "n": 3}], "f").texts == ("a",)
    with pytest.raises(InputError, match="which column"):
        as_texts([{"text": "a", "content": "b"}], "f")
    with pytest.raises(InputError, match="which column"):
        as_texts([{"category": "a", "turns": ["b"]}], "f")  # the only string is not the only text
    with pytest.raises(InputError, match=r"c10, c11 and 8 more$"):
        as_texts([{f"c{number}": "a" for number in range(20)}], "f")


def test_a_label_has_the_same_number_in_every_file_and_as_every_type() -> None:
    first = number_groups(["a", 1, "b"], "first")
    second = number_groups(["b", "1", "a", "c"], "second")
    assert first.tolist() == second[[2, 1, 0]].tolist()
    assert len(np.unique(second)) == 4
    assert (second >= 0).all()


def test_what_comes_one_by_one_is_told_while_it_is_read() -> None:
    lines: list[tuple[str, int, int]] = []
    rows = ({"text": f"row {number}"} for number in range(300))
    assert is_stream(rows)
    assert not is_stream(["a"])
    assert not is_stream(Path("real.txt"))
    assert len(as_texts(rows, "real", progress=lambda *line: lines.append(line))) == 300
    assert lines == [("reading real, 0 texts so far", 0, 1), ("reading real, 256 texts so far", 0, 1)]


def test_a_column_that_lines_cannot_have_is_said_to_do_nothing(tmp_path: Path) -> None:
    lines, table = tmp_path / "lines.txt", tmp_path / "table.csv"
    lines.write_text("It rains .\nIt snows .\n")
    table.write_text("text,id\nIt rains .,1\n")
    told = read_texts(lines, column="text").notes
    assert [(note.kind, note.message) for note in told] == [
        ("no-columns", "lines.txt contains only texts, without a column text.")
    ]
    assert not read_texts(lines).notes
    assert "no-columns" not in [note.kind for note in read_texts(table, column="text").notes]
