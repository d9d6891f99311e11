"""Rows of reference in every report: the training text, and floors with what came with a generator."""

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from made_up import sentences
from textassay.comparison.answer_sentences import answer, command_line
from textassay.comparison.comparison import TRAIN, Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import (
    comparison_document,
    comparison_latex,
    comparison_markdown,
    results_record,
    to_json,
)
from textassay.comparison.run import compare
from textassay.report.drawing import draw_svg
from textassay.report.files import to_csv
from textassay.report.page import to_html
from textassay.report.terminal import print_document

NOTE = "the generators' training text, 60 of its 90 texts, drawn at random, measured as if it were generated"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    rng = np.random.default_rng(0)
    generated = {"one": sentences(60, 2, shift=0.5), "two": sentences(60, 3)}
    beside = {name: (-rng.random(60), -rng.random(60))[::-1] for name in generated}
    return compare(
        generated,
        sentences(60, 1),
        train=sentences(90, 4),
        metrics=["length", "memorization", "huse"],
        log_probs=beside,
        ratings=beside,
        explain=False,
    )


def printed(comparison: Comparison) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_document(comparison_document(comparison), console, everything=False)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_training_text_has_a_row_in_every_report(comparison: Comparison) -> None:
    read = Comparison.from_dict(json.loads(to_json(comparison)))
    for found in (comparison, read):
        assert NOTE in printed(found).replace("\n", " ")
        assert NOTE in comparison_markdown(found)
        assert NOTE in comparison_latex(found).replace("{\\char39}", "'")
        document = comparison_document(found)
        drawings = {figure.name: draw_svg(figure) for figure in document.figures}
        assert any(TRAIN in drawing for drawing in drawings.values())
        page = to_html(document, drawings)
        assert NOTE.replace("'", "&#39;") in page
        rows = list(csv.DictReader(io.StringIO(to_csv(results_record(found)))))
        assert [row["value"] != "" for row in rows if row["generator"] == TRAIN] == [True, False, False]
        assert ", the training text 0." in answer(Digest(found))[0]
        assert "--train FILE" in command_line(Digest(found))


def test_no_rank_no_pair_and_no_star_for_the_training_text(comparison: Comparison) -> None:
    digest = Digest(comparison)
    assert digest.order == ("one", "two") or digest.order == ("two", "one")
    assert digest.floors == ("(real)", TRAIN)
    assert all(TRAIN not in digest.marked(metric) for metric in comparison.metrics)
    assert not any(TRAIN in (pair.a, pair.b) for pair in comparison.pairs)


def test_real_text_with_the_ratings_of_a_generator_stands_beside_that_one(comparison: Comparison) -> None:
    digest = Digest(comparison)
    assert digest.estimate("(real)", "huse") is None
    floors = [floor for name in ("one", "two") if (floor := digest.own_floor(name, "huse")) is not None]
    assert len(floors) == 2
    assert floors[0].details["generator"] == "one"
    assert floors[0].value != floors[1].value
    (table,) = [table for table in comparison_document(comparison).tables if table.name == "main"]
    place = [column.name for column in table.columns].index("huse")
    below = {row.cells[0].text: row.cells[place].below for row in table.rows}
    for name, floor in zip(("one", "two"), floors, strict=True):
        assert below[name].endswith(f"real {floor.value:.3f}")
        assert f"real {floor.value:.3f}" in printed(comparison)
    assert digest.own_floor("one", "length") is None
