"""Ratings from any CSV file by the names of its columns: several criteria, numbered columns, and what is missing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from textassay import judge
from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError, OptionError
from textassay_lab.human.ratings_file import read_rating_columns
from textassay_lab.human.results import read_judgements
from textassay_lab.meta_evaluation.evaluation import read_gold

TURK = ("HITId", "WorkerId", "AssignmentStatus", "Input.text", "Input.system", "Answer.fluency", "Answer.sense")


def write(path: Path, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Path:
    path.write_text(csv_text(columns, rows))
    return path


def message_of(path: Path, *ratings: str, **columns: str) -> str:
    with pytest.raises(InputError) as caught:
        read_rating_columns(path, ratings, **columns)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}")


def test_batch_results_of_mechanical_turk_with_two_criteria(tmp_path: Path) -> None:
    rows = [
        ("h1", "ann", "Approved", "a b", "lstm", "4", "1"),
        ("h1", "bob", "Submitted", "a b", "lstm", "2", ""),
        ("h1", "cyd", "Rejected", "a b", "lstm", "9", "9"),
        ("h2", "ann", "Approved", "a b", "lstm", "3", "2"),  # an equal text on another page is another item
        ("h3", "ann", "Approved", "c d", "Real", "5", "5"),
    ]
    people = read_rating_columns(write(tmp_path / "batch.csv", TURK, rows), ["Answer.fluency", "Answer.sense"])
    fluency, sense = people["Answer.fluency"], people["Answer.sense"]
    assert fluency.value.tolist() == [4, 2, 3, 5]
    assert sense.value.tolist() == [1, 2, 5]
    assert [item.generator for item in fluency.items] == ["lstm", "lstm", None]
    assert fluency.item.tolist() == [0, 0, 1, 2]
    assert fluency.raters == ("ann", "bob")
    assert fluency.notes == ("left out: rejected submissions (1)",)
    assert sense.notes[-1] == "without an answer: ratings of Answer.sense (1)"


def test_numbered_columns_are_texts_of_their_own(tmp_path: Path) -> None:
    columns = ("worker", *(f"{what}_{number}" for what in ("text", "who", "is") for number in (1, 2, 10)))
    path = write(tmp_path / "wide.csv", columns, [("w", "a", "b", "c", "m", "real", "m", "fake", "real", "real")])
    people = read_rating_columns(path, ["is_*"], text="text_*", system="who_*")["is_*"]
    assert [(item.text, item.generator) for item in people.items] == [("a", "m"), ("b", None), ("c", "m")]
    assert (people.scale, people.value.tolist()) == ("real-or-fake", [0, 1, 1])
    columns = tuple(name for name in columns if name != "who_10")
    path = write(tmp_path / "gap.csv", columns, [("w", "a", "b", "c", "m", "real", "fake", "real", "real")])
    assert message_of(path, "is_*", text="text_*", system="who_*").startswith(
        " has no column 'who_10'; columns: worker,"
    )


def test_without_raters_each_rating_is_anothers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "plain.csv", ("text", "system", "score"), [("a", "m", "1"), ("a", "m", "2"), ("b", "m", "3")]
    )
    people = read_rating_columns(path, ["score"])["score"]
    assert (people.raters, people.rater.tolist(), people.item.tolist()) == (("#1", "#2"), [0, 1, 0], [0, 0, 1])
    assert people.notes == (f"{path} names no rater: each rating of a text counts as another's",)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ("sentence", "score", "who"), [("a", "1", "x")])
    listed = "columns: sentence, score, who"
    assert (
        message_of(path, "score") == f": found no column for the system: name the column with --system-column; {listed}"
    )
    assert message_of(path, "rating", system="who") == f" has no column 'rating' (--rating-column); {listed}"
    assert message_of(path, "score", system="who", text="a") == f" has no column 'a' (--text-column); {listed}"
    with pytest.raises(OptionError, match=rf"^no column of ratings was found: .*; {listed}$"):
        read_rating_columns(path, [])
    path = write(tmp_path / "c.csv", ("text", "system", "score"), [("a", "m", "good")])
    assert message_of(path, "score") == " line 2, score: a label must be real, fake or a number, got 'good'"
    path = write(tmp_path / "d.csv", ("text", "system", "score"), [("a", "m", "")])
    assert message_of(path, "score") == ": column 'score' contains no rating"


def test_who_judged_a_text_again_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "b.csv", ("text", "system", "rater", "score"), [("a", "m", "r", "1"), ("a", "m", "r", "2")])
    people = read_rating_columns(path, ["score"])["score"]
    assert (people.value.tolist(), people.notes) == (
        [1.5], ("judged again by the same rater: 1 times; their mean counts",)
    )  # fmt: skip


def test_ratings_are_read_from_json_by_any_name(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "system": "m", "scores": {"sense": 1}},
        {"text": "b", "system": "n", "scores": {"sense": 2.5}},
    ]
    lines = tmp_path / "lines.ndjson"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "whole.json").write_text(json.dumps(rows))
    for path in (lines, tmp_path / "whole.json"):
        people = read_rating_columns(path, ["scores.sense"])["scores.sense"]
        assert people.value.tolist() == [1, 2.5]
        assert people.generators == ("m", "n")


def test_wide_tables(tmp_path: Path) -> None:
    header = ("prompt", "gpt_text", "gpt_score", "lstm_text", "lstm_score")
    path = write(tmp_path / "systems.csv", header, [("p", "a", "1", "b", "2"), ("q", "c", "3", "d", "4")])
    people = read_rating_columns(path, ["*_score"], text="*_text")["*_score"]
    assert [(item.text, item.generator) for item in people.items] == [
        ("a", "gpt"), ("b", "lstm"), ("c", "gpt"), ("d", "lstm"),
    ]  # fmt: skip
    assert people.value.tolist() == [1, 2, 3, 4]
    path = write(tmp_path / "raters.csv", ("text", "system", "ann", "score_x", "score_y"), [("a", "m", "", "1", "2")])
    people = read_rating_columns(path, ["score_*"])["score_*"]
    assert (people.raters, people.value.tolist()) == (("x", "y"), [1, 2])


def test_a_raw_batch_says_what_was_seen_and_what_to_give(tmp_path: Path) -> None:
    """Mechanical Turk leaves `Approve` and `Reject` out of each row."""
    header = "HITId,WorkerId,Input.text,Input.model,Answer.quality,Approve,Reject"
    path = tmp_path / "batch.csv"
    path.write_text(f"{header}\n1,w,It rains.,gpt,4\n2,w,It stops.,lstm,3\n")
    with pytest.raises(InputError) as caught:
        read_judgements(path)
    assert str(caught.value) == (
        f"{path} has Input.text, Input.model and Answer.quality: name its columns (* stands for a number), as in "
        "textassay judge --ratings batch.csv --text-column Input.text --system-column Input.model --rating-column "
        "Answer.quality"
    )
    people = read_rating_columns(path, ["Answer.quality"])["Answer.quality"]
    assert people.value.tolist() == [4, 3]


def test_a_table_with_one_row_a_system_is_an_order(tmp_path: Path) -> None:
    path = write(tmp_path / "systems.csv", ("system", "human"), [("gpt", "4.1"), ("lstm", "2.0")])
    assert message_of(path, "human").startswith(
        ": found no column for the texts: name the column with --text-column (a table with one row a system"
    )
    order = read_gold(str(path))
    assert dict(zip(order.generators, order.values.tolist(), strict=True)) == {"gpt": 4.1, "lstm": 2.0}


def test_each_criterion_ranks_the_generators(tmp_path: Path) -> None:
    systems = (("Ann", "a", 4, 3), ("Bob", "b", 3, 5), ("Cyd", "c", 1, 7), ("Dan", "real", 5, 8))
    rows = [
        (f"{word} {number} is here .", system, str(fluency + number % 2), str(sense - number % 3))
        for word, system, fluency, sense in systems
        for number in range(30)
    ]
    path = write(tmp_path / "ratings.csv", ("text", "system", "fluency", "sense"), rows)
    judging = judge(
        ratings=path, rating_columns=["fluency", "sense"], metrics=["length", "distinct-n"], n_resamples=100
    )
    golds = {gold.name: dict(zip(gold.generators, gold.values.tolist(), strict=True)) for gold in judging.golds}
    assert list(golds) == ["fluency", "sense"]
    assert golds["fluency"]["a"] > golds["fluency"]["b"] > golds["fluency"]["c"]
    assert golds["sense"]["a"] < golds["sense"]["b"] < golds["sense"]["c"]


def test_a_row_without_text_or_system_is_named(tmp_path: Path) -> None:
    columns = ("text", "system", "rater", "score")
    path = write(tmp_path / "a.csv", columns, [("a", "real", "r", "1"), (" ", "lstm", "r", "2")])
    assert message_of(path, "score") == " line 3: the text is missing (text), but it has ratings"
    rows = [("a", "Real", "r", "1"), ("b", "", "r", "2"), ("c", "lstm", "r", "2")]
    path = write(tmp_path / "b.csv", columns, rows)
    assert message_of(path, "score") == (
        " line 3: the system is missing (system); real texts are called 'Real' in other rows"
    )
    path = write(tmp_path / "d.csv", columns, [("a", "human", "r", "1"), *rows[1:]])
    assert "real texts are called 'human' in other rows" in message_of(path, "score")
    path = write(tmp_path / "c.csv", columns, [*rows[1:], ("", "lstm", "r", "")])  # a page with fewer texts
    people = read_rating_columns(path, ["score"])["score"]
    assert [item.generator for item in people.items] == [None, "lstm"]
