"""Readers: every kind of file gives the same sentences, none lost; every fault is one line with place and remedy."""

import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textassay.corpus import source as source_module
from textassay.corpus.limits import input_limits
from textassay.corpus.texts import read_texts
from textassay.errors import EmptyCorpusError, InputError, MissingExtraError

SENTENCES = (
    "A b .",
    "",
    "caf\u00e9 \u2028 x\x0by",
    'say "x", y',
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)


def as_txt() -> bytes:
    return "".join(f"{text}\n" for text in SENTENCES).encode()


def as_jsonl() -> bytes:
    return "".join(json.dumps({"text": text, "id": 1}) + "\n" for text in SENTENCES).encode()


def as_json() -> bytes:
    return json.dumps([{"text": text, "id": 1} for text in SENTENCES]).encode()


def as_table(delimiter: str) -> bytes:
    import pandas as pd

    frame = pd.DataFrame({"id": range(len(SENTENCES)), "text": SENTENCES})
    text: str = frame.to_csv(sep=delimiter, index=False)
    return text.encode()


def as_parquet() -> bytes:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = io.BytesIO()
    parquet.write_table(arrow.table({"id": list(range(len(SENTENCES))), "text": SENTENCES}), sink, row_group_size=2)
    return sink.getvalue()


KINDS: dict[str, Callable[[], bytes]] = {
    ".txt": as_txt,
    ".jsonl": as_jsonl,
    ".json": as_json,
    ".csv": lambda: as_table(","),
    ".tsv": lambda: as_table("\t"),
    ".parquet": as_parquet,
}


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def message_of(path: str | Path, **columns: str) -> str:
    """Return the one line that reading `path` ends with."""
    with pytest.raises(InputError) as caught:
        read_texts(path, **columns)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("gz", ["", ".gz"])
def test_every_kind_gives_the_same_sentences(tmp_path: Path, suffix: str, gz: str) -> None:
    data = KINDS[suffix]()
    path = write(tmp_path / f"Real.v1{suffix}{gz}", gzip.compress(data) if gz else data)
    file = read_texts(path)
    assert file.texts == SENTENCES
    assert (file.name, file.path, file.groups) == (path.name, path, None)
    assert read_texts(str(path), column="text").texts == SENTENCES


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=9), min_size=1))
def test_only_a_line_feed_ends_a_line(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> None:
    folder = tmp_path_factory.mktemp("lines")
    sentences[0] = "a" + sentences[0]
    for end in ("\n", "\r\n"):
        path = write(folder / "f.txt", end.join(sentences) + end)
        assert read_texts(path).texts == tuple(sentences)
    unfinished = write(folder / "u.txt", "\n".join([*sentences, "end"]))
    assert read_texts(unfinished).texts == (*sentences, "end")


def test_blocks_do_not_change_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [f"caf\u00e9 {'x' * (number % 40)} \U0001f600" for number in range(300)]
    path = write(tmp_path / "f.txt", "\ufeff" + "\r\n".join(sentences))
    for block in (1, 7, 64):
        monkeypatch.setattr(source_module, "_BLOCK", block)
        assert list(read_texts(path).texts) == sentences


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    assert read_texts(write(tmp_path / "f.txt", b"\xef\xbb\xbfa\nb\n")).texts == ("a", "b")
    assert read_texts(write(tmp_path / "f.csv", b"\xef\xbb\xbftext,n\na,1\n")).texts == ("a",)


def test_standard_input_and_pipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\r\n\nc")))
    file = read_texts("-")
    assert (file.texts, file.name, file.path) == (("a b", "", "c"), "standard input", None)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert message_of("-") == "standard input is empty: give a file with at least one text"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"x\ny\n",))
    writer.start()
    assert read_texts(pipe).texts == ("x", "y")
    writer.join()


def test_texts_with_line_breaks(tmp_path: Path) -> None:
    table = write(tmp_path / "f.csv", 'text,n\r\n"two\r\nlines, one ""quote""",1\r\n\r\n"",2\r\n')
    assert read_texts(table).texts == ('two\r\nlines, one "quote"', "")
    lines = write(tmp_path / "f.jsonl", '"two\\nlines"\n  \n"b"\n')
    assert read_texts(lines).texts == ("two\nlines", "b")


def test_nested_columns_and_groups(tmp_path: Path) -> None:
    records = [{"a": {"b": "x"}, "doc": 5}, {"a": {"b": "y"}, "doc": "k"}, {"a": {"b": "z"}, "doc": 5}]
    path = write(tmp_path / "f.jsonl", "\n".join(map(json.dumps, records)))
    file = read_texts(path, column="a.b", group_column="doc")
    assert file.texts == ("x", "y", "z")
    assert file.groups is not None
    assert file.groups[0] == file.groups[2] != file.groups[1]
    literal = write(tmp_path / "l.jsonl", json.dumps({"a.b": "key", "a": {"b": "nested"}}))
    assert read_texts(literal, column="a.b").texts == ("key",)
    table = write(tmp_path / "f.csv", "doc,text\np,x\nq,y\np,z\n")
    groups = read_texts(table, group_column="doc").groups
    assert groups is not None
    assert groups[0] == groups[2] != groups[1]


def test_files_without_columns_pass_over_them(tmp_path: Path) -> None:
    for name, data in {"f.txt": "a\n", "f.json": '["a"]', "f.jsonl": '"a"\n'}.items():
        file = read_texts(write(tmp_path / name, data), column="text", group_column="doc")
        assert (file.texts, file.groups) == (("a",), None)


def test_long_csv_fields_are_read_and_the_limit_put_back(tmp_path: Path) -> None:
    import csv

    before = csv.field_size_limit()
    assert len(read_texts(write(tmp_path / "f.csv", "text\n" + "x" * 200_000 + "\n")).texts[0]) == 200_000
    message_of(write(tmp_path / "g.csv", "text,n\n1\n"))
    assert csv.field_size_limit() == before


def test_missing_files_suggest_the_nearest(tmp_path: Path) -> None:
    write(tmp_path / "valid.txt", "a")
    assert (
        message_of(tmp_path / "vaild.txt")
        == f"no file {tmp_path / 'vaild.txt'}; did you mean {tmp_path / 'valid.txt'}?"
    )
    assert message_of(tmp_path / "zzz.csv") == f"no file {tmp_path / 'zzz.csv'}"
    assert message_of(tmp_path / "no" / "f.txt").endswith(f": there is no folder {tmp_path / 'no'}")


def test_a_folder_names_files_inside(tmp_path: Path) -> None:
    assert message_of(tmp_path) == (
        f"{tmp_path} is a folder, but contains neither a saved dataset nor text files; give a file"
    )
    for name in ("d.csv", "a.csv.gz", "c.json", "x.bin"):
        write(tmp_path / name, "a")
    assert message_of(tmp_path).endswith("nor text files; give a file: a.csv.gz, c.json, d.csv, ...")


def test_a_folder_of_text_files_has_one_text_a_file(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "# b\r\n\nmore\n\n")
    write(tmp_path / "a.txt", "a")
    write(tmp_path / "c.txt", "")
    write(tmp_path / ".hidden", "x")
    file = read_texts(tmp_path)
    assert (file.texts, file.name, file.path) == (("a", "# b\n\nmore\n", ""), tmp_path.name, tmp_path)
    assert not file.notes
    for name in ("inner", "logprobs"):
        (tmp_path / name).mkdir()
    write(tmp_path / "inner" / "d.txt", "d")
    write(tmp_path / "logprobs" / "a.json", "[1]")
    file = read_texts(tmp_path)
    assert file.texts == ("a", "# b\n\nmore\n", "", "d")
    assert file.groups is not None
    assert file.groups[0] == file.groups[2] != file.groups[3]
    assert [note.message for note in file.notes] == [
        "1 files of other kinds are left out: logprobs/a.json.",
        "The texts of a sub-folder are one group (2 groups).",
    ]
    with input_limits(max_input=3), pytest.raises(InputError, match="the limit"):
        read_texts(tmp_path)


def test_unknown_kinds_list_the_valid_ones(tmp_path: Path) -> None:
    valid = "valid: .txt, .jsonl, .json, .csv, .tsv, .parquet, each also with .gz or .zst; and .eval"
    docx = message_of(write(tmp_path / "f.docx", "a"))
    assert docx.endswith(f"(suffix '.docx'); {valid}: save its texts in one of these formats")
    assert message_of(write(tmp_path / "f.xlsx.gz", b"a")).endswith(f"(suffix '.xlsx'); {valid}: save it as CSV")
    assert read_texts(write(tmp_path / "f.TXT", "a")).texts == ("a",)


@pytest.mark.parametrize("name", ["train.de", "hypotheses", "valid.tok.bpe", "news.2016"])
def test_other_endings_are_read_line_by_line(tmp_path: Path, name: str) -> None:
    assert read_texts(write(tmp_path / name, "ein hund .\nzwei hunde .\n")).texts == ("ein hund .", "zwei hunde .")
    packed = write(tmp_path / f"{name}.gz", gzip.compress(b"ein hund ."))
    assert read_texts(packed).texts == ("ein hund .",)
    assert "binary" in message_of(write(tmp_path / name, b"\0\1"))


@pytest.mark.parametrize("name", ["f.txt", "f.jsonl", "f.json", "f.csv", "f.txt.gz"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, gzip.compress(b"") if name.endswith(".gz") else b"")
    with pytest.raises(EmptyCorpusError, match="is empty: give a file"):
        read_texts(path)


def test_a_file_of_nothing_but_a_byte_order_mark_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptyCorpusError, match="is empty"):
        read_texts(write(tmp_path / "f.txt", b"\xef\xbb\xbf"))


@pytest.mark.parametrize("name", ["texts.json", "texts.jsonl", "texts.csv"])
def test_files_of_white_space_are_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, " \n")
    with pytest.raises(InputError):
        read_texts(path)


def test_one_empty_line_is_one_empty_sentence(tmp_path: Path) -> None:
    assert read_texts(write(tmp_path / "f.txt", "\n")).texts == ("",)


def test_files_without_a_sentence(tmp_path: Path) -> None:
    assert message_of(write(tmp_path / "f.csv", "text,n\n")).endswith("has a header, but no rows")
    assert message_of(write(tmp_path / "f.jsonl", "\n\n")).endswith("contains no text")
    assert message_of(write(tmp_path / "f.json", "[]")).endswith("contains no text")


@pytest.mark.parametrize("block", [4, 1 << 20])
def test_wrong_encodings_name_line_and_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(source_module, "_BLOCK", block)
    path = write(tmp_path / "f.txt", b"one\ntwo\ncaf\xe9 x\n")
    assert message_of(path) == (
        f"{path} is not UTF-8: byte 0xE9 in line 3 (byte 11); convert it with iconv -f WINDOWS-1252 -t UTF-8 < f.txt > "
        "utf8-f.txt or from its own encoding"
    )
    cut = write(tmp_path / "cut.txt", "caf\u00e9".encode()[:-1])
    assert "byte 0xC3 in line 1 (byte 3)" in message_of(cut)
    binary = write(tmp_path / "b.txt", b"a\nPK\x03\0\0")
    assert "is a binary file: zero byte in line 2 (byte 5)" in message_of(binary)
    assert "is UTF-16: convert it with iconv -f UTF-16" in message_of(write(tmp_path / "u.txt", "a\n".encode("utf-16")))


@pytest.mark.parametrize("block", [4, 1 << 20])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("f.txt", "a b\rc d\re\r"),
        ("f.txt", "a b\rc d\n"),
        ("f.jsonl", '{"text": "a"}\r{"text": "b"}\r'),
        ("f.csv", "text,x\ra,1\rb,2\r"),
    ],
)
def test_line_ends_of_old_macs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: str, block: int
) -> None:
    monkeypatch.setattr(source_module, "_BLOCK", block)
    assert message_of(write(tmp_path / name, data)) == (
        f"{tmp_path / name} has line ends of old Macs (\\r alone), so that it is one line: convert it with "
        f"tr '\\r' '\\n' < {name} > unix-{name}"
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\rb\rc")))
    assert message_of("-").endswith("convert it with tr '\\r' '\\n' in the pipe")


def test_strays_and_windows_line_ends_are_no_old_macs(tmp_path: Path) -> None:
    assert read_texts(write(tmp_path / "f.txt", "a\rb\nc\n")).texts == ("a\rb", "c")
    for data in ("a b\r\nc\r\n", "a b\r\n", "a b\r", "a b"):
        assert read_texts(write(tmp_path / "f.txt", data)).texts[0].rstrip("\r") == "a b"
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "one.txt", "a\rb")
    assert read_texts(tmp_path / "folder").texts == ("a\rb",)  # a document, whose line ends are its own


def test_broken_json_names_line_and_column(tmp_path: Path) -> None:
    lines = write(tmp_path / "f.jsonl", '{"text": "a"}\n\n{"text": "b"\n')
    assert message_of(lines) == f"{lines} line 3: broken JSON at column 13: Expecting ',' delimiter"
    whole = write(tmp_path / "f.json", '["a",\n "b" "c"]')
    assert message_of(whole) == f"{whole}: broken JSON at line 2 column 6: Expecting ',' delimiter"
    assert "nested too deeply" in message_of(write(tmp_path / "d.jsonl", "[" * 100_000))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"text": "a"}\n{"text": 3}\n', "line 2: 'text' must be a string, got a number"),
        ('{"text": "a"}\n{"text": null}\n', "line 2: 'text' must be a string, got null"),
        ('{"text": "a"}\n{"txt": "b"}\n', "line 2 has no column 'text'; it has: txt"),
        ('{"text": "a"}\n"b"\n', "line 2: must be an object like those before, got a string"),
        ('"a"\n{"text": "b"}\n', "line 2: must be a string like those before, got an object"),
        ("3\n", "line 1: the value must be a string or an object, got a number"),
        ("[1]\n", "line 1: the cell is a list of 1 values. Name the position of the text, as in FILE::[0]"),
        ("true\n", "line 1: the value must be a string or an object, got a boolean"),
        ('{"a": "x", "b": "y"}\n', "which column holds the texts? Name the column, as in FILE::a; it has: a, b"),
        ('"\\ud83d"\n', "line 1 contains a lone surrogate (\\ud83d), which is not a character"),
        ("{}\n", "which column holds the texts? Give a file with texts; it has: none"),
    ],
)
def test_json_values_of_the_wrong_kind(tmp_path: Path, data: str, message: str) -> None:
    assert message in message_of(write(tmp_path / "f.jsonl", data))


def test_json_columns_that_are_missing_or_no_groups(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", '{"a": {"b": "x"}, "doc": null}\n')
    assert message_of(path, column="a.c").endswith("line 1 has no column 'a.c'; it has: a.b, doc")
    assert message_of(path, column="a").endswith(
        "'a' must be a string, got an object; the strings in it: a.b: name one, as in FILE::a.b"
    )
    assert message_of(path, column="a.b", group_column="doc").endswith("'doc' must name a group, got null")
    assert message_of(path, column="a.b", group_column="d").endswith("has no column 'd'; it has: a.b, doc")
    assert "Give a file with texts; it has: none" in message_of(write(tmp_path / "f.json", "{}"))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("f.csv", "text,n\na,1\nb,c,2\n", "line 3: 3 fields, but the first line has 2"),
        ("f.csv", "text,n\na\n", "line 2: 1 fields, but the first line has 2"),
        ("f.csv", 'text,n\n"a" b,1\n', "line 2: ',' expected after '\"'"),
        ("f.csv", 'text,n\n"a,1\n', "line 2: unexpected end of data"),
        (
            "f.csv",
            "text,n\na\rb,1\n",
            "line 2: new-line character seen in unquoted field; put fields that contain quotes",
        ),
        ("f.csv", "a,b\n1,2\n", "which column holds the texts? Name the column, as in FILE::a; it has: a, b"),
        (
            "f.csv",
            "text\na, b\n",
            "line 2: 2 fields, but the first line has 1: it has no comma; if each line is one",
        ),
    ],
)
def test_broken_tables(tmp_path: Path, name: str, data: str, message: str) -> None:
    assert message in message_of(write(tmp_path / name, data))


def test_missing_columns_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "f.csv", "a,b\n1,2\n")
    assert message_of(path, column="c") == f"{path} line 2 has no column 'c'; it has: a, b"
    assert message_of(path, column="a", group_column="c") == f"{path} line 2 has no column 'c'; it has: a, b"


def test_broken_gzip_files(tmp_path: Path) -> None:
    whole = gzip.compress(("some text\n" * 1000).encode())
    cut = write(tmp_path / "cut.txt.gz", whole[: len(whole) // 2])
    assert message_of(cut) == f"{cut} ends too early: the gzip file is cut off; copy or download it again"
    assert "not a valid gzip file" in message_of(write(tmp_path / "no.txt.gz", "plain text"))
    damaged = write(tmp_path / "damaged.txt.gz", whole[:20] + b"\xff\xff\xff" + whole[23:])
    assert "not a valid gzip file" in message_of(damaged)


def test_what_the_system_complains_about_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "f.txt", "a")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert message_of(path) == f"{path} cannot be read: Permission denied"


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet files needs the 'parquet' extra: pip install"):
        read_texts(write(tmp_path / "f.parquet", b"PAR1"))


def test_a_name_that_no_file_can_have_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no file (can be called .*a: File name too long|\S*a)[^\n]*$"):
        read_texts(tmp_path / ("a" * 5000))
