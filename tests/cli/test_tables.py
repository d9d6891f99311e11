"""One long table with all texts, a part of a file, and ``inspect`` of a file alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from made_up import sentences
from textassay import compare, read_texts
from textassay.errors import InputError, OptionError

SYSTEMS = ("human", "gpt", "lstm")
QUICK = ("--metrics", "length", "--no-explain", "--json")


@pytest.fixture
def table(folder: Path) -> Path:
    """Return a table of three systems' answers to 60 prompts, the reference repeated in each row."""
    answers = {name: sentences(60, number) for number, name in enumerate(SYSTEMS)}
    references = sentences(60, 9)
    rows = [
        {"q": f"prompt {n}", "model": name, "text": answers[name][n], "reference": references[n], "label": n % 2}
        for n in range(60) for name in SYSTEMS
    ]  # fmt: skip
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_one_generator_a_value_of_the_source_column(table: Path, run: Any) -> None:
    chosen = ("--table", "data.jsonl", "--source-column", "model", "--real", "human")
    document = json.loads(run("compare", *chosen, *QUICK).stdout)
    assert {one["generator"] for one in document["results"]} == {"(real)", "gpt", "lstm"}
    of_files = json.loads(
        run("compare", "gpt=data.jsonl::text[model=gpt]", "lstm=data.jsonl::text[model=lstm]",
            "--real", "data.jsonl::text[model=human]", *QUICK).stdout
    )  # fmt: skip
    assert [one["value"] for one in of_files["results"]] == [one["value"] for one in document["results"]]
    one = json.loads(run("compare", *chosen, "lstm", *QUICK).stdout)
    assert {one["generator"] for one in one["results"]} == {"(real)", "lstm"}
    assert run("explain", *chosen, "--effort", "quick").status == 0
    assert "small sample" in run("inspect", *chosen).stdout


def test_sources_may_stand_inside_of_rows(folder: Path) -> None:
    row = {"q": "Hi?", "candidates": [{"text": "Yo.", "model": "a"}, {"text": "Hey.", "model": "b"}]}
    (folder / "mixed.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    sides = read_texts("mixed.jsonl::candidates[].text@q", source_column="candidates[].model").by_source()
    assert {name: list(side) for name, side in sides.items()} == {"a": ["Yo."] * 2, "b": ["Hey."] * 2}


def test_real_texts_may_name_no_source(folder: Path) -> None:
    rows = [{"text": f"a {n}", "model": "gpt" if n % 2 else None} for n in range(100)]
    (folder / "nulls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sides = read_texts("nulls.jsonl", source_column="model").by_source()
    assert {name: len(side) for name, side in sides.items()} == {"null": 50, "gpt": 50}


def test_what_is_wrong_with_a_table_is_said_in_one_line(table: Path, refused: Callable[..., str]) -> None:
    command = ("compare", "--table", "data.jsonl", "--source-column")
    assert "it has no text by 'humans'; the texts are by: human, gpt, lstm" in refused(
        *command, "model", "--real", "humans"
    )
    assert "has no column 'by'; it has: q, model" in refused(*command, "by", "--real", "human")
    assert "it has no text by 'bert'" in refused(*command, "model", "--real", "human", "bert")
    assert "add --source-column" in refused("compare", "--table", "data.jsonl", "--real", "human")
    assert "add --table FILE" in refused("compare", "--source-column", "model", "--real", "real.txt", "lstm.txt")
    assert "has no columns" in refused("compare", "--table", "lstm.txt", "--source-column", "model", "--real", "human")


def test_a_reference_that_is_in_every_row_counts_once(table: Path, run: Any) -> None:
    done = run("compare", "--table", "data.jsonl::text", "--source-column", "model", "--prompt-column", "q",
               "--real", "data.jsonl::reference", *QUICK)  # fmt: skip
    document = json.loads(done.stdout)
    assert document["real"]["n_sentences"] == 60
    (finding,) = [one for one in document["findings"] if one["kind"] == "references-repeated"]
    assert finding["message"].startswith("The 180 real answers are 60 different answers, repeated for the same prompt")


def test_rows_of_several_systems_are_not_pooled_without_a_word(table: Path, run: Any) -> None:
    document = json.loads(run("compare", "m=data.jsonl", "--real", "real.txt", *QUICK).stdout)
    (finding,) = [one for one in document["findings"] if one["kind"] == "one-side"]
    assert (finding["generator"], finding["severity"]) == ("m", "warning")
    assert "column 'model' has 3 values: human (60), gpt (60), lstm (60); so have label." in finding["message"]


def test_other_commands_say_what_was_noted(table: Path, run: Any) -> None:
    noted = "warning (real): All rows are read as one side, though column 'model' has 3 values"
    stress = ("stress", "--real", "data.jsonl", "--metrics", "length", "--draws", 2, "--strengths", "0.5")
    assert noted in run(*stress).stderr
    assert noted not in run(*stress, "--quiet").stderr


def test_a_file_is_inspected_alone(table: Path, run: Any) -> None:
    shown = run("inspect", "data.jsonl::text@q[model=gpt]")
    assert shown.status == 0
    for words in ("60 texts, read as JSON lines, column 'text'", "60 distinct, such as: prompt 0", "text 60",
                  "120 of 180 rows are left out, since they are not"):  # fmt: skip
        assert words in " ".join(shown.stdout.split())
    values = json.loads(run("inspect", "data.jsonl", "lstm.txt", "--json").stdout)
    assert (values["files"]["data"]["n_texts"], values["files"]["lstm"]["form"]) == (180, "lines")
    assert values["files"]["lstm"]["examples"][0] == (table.parent / "lstm.txt").read_text().split("\n")[0]
    assert run("inspect", "lstm.txt", "--train", "train.txt").status == 2


def test_a_table_of_python(table: Path) -> None:
    frame = pd.read_json(table, lines=True)
    both = [compare(one, by="model", real="human", metrics=["length"], explain=False) for one in (frame, str(table))]
    assert [list(one.generators) for one in both] == [["gpt", "lstm"]] * 2
    assert both[0].result("gpt", "length").estimate == both[1].result("gpt", "length").estimate
    prompted = compare(
        frame, by="model", real="human", column="text", prompts="q", metrics=["conditional-dd"], explain=False
    )
    assert prompted.result("gpt", "conditional-dd").estimate is not None
    with pytest.raises(OptionError, match="name the column of their sources: by='model'"):
        compare(frame, real="human")
    with pytest.raises(InputError, match="it has no text by 'people'"):
        compare(frame, by="model", real="people")
    file = read_texts(frame, column="reference", prompt_column="q", source_column="model")
    assert list(file.by_source()) == list(SYSTEMS)
