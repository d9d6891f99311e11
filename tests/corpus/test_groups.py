"""Prompts beside texts: read from every kind of table, kept whole, and missing ones named."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.limits import input_limits
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.text_file import TextFile
from textassay.corpus.texts import as_texts, read_texts
from textassay.errors import InputError

ROWS = [
    {"prompt": " Say  yes.\nThen stop. ", "answer": "Yes.", "doc": 1},
    {"prompt": "", "answer": "No.", "doc": 2},
    {"prompt": "\u00e9?", "answer": "", "doc": 1},
]
PROMPTS = tuple(row["prompt"] for row in ROWS)
ANSWERS = tuple(row["answer"] for row in ROWS)
READ: dict[str, Any] = {"column": "answer", "prompt_column": "prompt", "group_column": "doc"}

_LEAVE = "; fill it in, or leave such rows out by FILE::answer[prompt!=null]"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write a table by the ending of its name."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_kind_of_file_gives_the_prompts_as_they_are(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"rows{suffix}", ROWS)
    file = read_texts(path, **READ)
    assert (file.texts, file.prompts) == (ANSWERS, PROMPTS)
    assert isinstance(file.prompts, PackedTexts)
    assert file.groups is not None
    assert read_texts(path, column="answer").prompts is None
    with pytest.raises(InputError, match=r"has no column 'question'; it has: prompt, answer, doc$"):
        read_texts(path, column="answer", prompt_column="question")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_column_that_is_left_holds_the_texts(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"rows{suffix}", ROWS)
    assert read_texts(path, prompt_column="prompt", group_column="doc").texts == ANSWERS
    if suffix == ".csv":  # whose numbers may be texts
        with pytest.raises(InputError, match=r"which column holds the texts\? .* it has: prompt, answer, doc$"):
            read_texts(path, prompt_column="prompt")
    else:
        assert read_texts(path, prompt_column="prompt").texts == ANSWERS
    assert as_texts(pd.DataFrame(ROWS).drop(columns="prompt"), "real").texts == ANSWERS  # numbers are no texts


@pytest.mark.parametrize(
    ("suffix", "prompt", "message"),
    [
        (
            ".jsonl",
            None,
            f"line 2: 'prompt' must be a string, got null{_LEAVE}",
        ),
        (".json", 3, "item 2: 'prompt' must be a string, got a number"),
        (
            ".parquet",
            None,
            f"row 2: 'prompt' must be a string, got null{_LEAVE}",
        ),
    ],
)
def test_a_missing_prompt_is_named(tmp_path: Path, suffix: str, prompt: Any, message: str) -> None:
    path = write(tmp_path / f"rows{suffix}", [ROWS[0], {**ROWS[1], "prompt": prompt}])
    with pytest.raises(InputError) as caught:
        read_texts(path, **READ)
    assert str(caught.value) == f"{path} {message}"


def test_files_without_columns_have_no_prompts(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a\nb\n")
    (tmp_path / "strings.jsonl").write_text('"a"\n"b"\n')
    for name in ("lines.txt", "strings.jsonl"):
        assert read_texts(tmp_path / name, prompt_column="prompt").prompts is None


def test_prompts_belong_to_their_texts() -> None:
    file = TextFile("x", ["a", "b"], prompts=["p", "q"])
    assert isinstance(file.prompts, PackedTexts)
    assert as_texts(file, "y") is file
    assert isinstance(corpora_from_texts({"x": file}, normalize=True)["x"], Corpus)
    with pytest.raises(InputError, match=r"^x: 1 prompts for 2 texts; give each text its prompt$"):
        TextFile("x", ["a", "b"], prompts=["p"])
    with input_limits(max_text=3), pytest.raises(InputError, match=r"^x: prompt 2 has 4 characters, more than the 3"):
        TextFile("x", ["a", "b"], prompts=["p", "qqqq"])
