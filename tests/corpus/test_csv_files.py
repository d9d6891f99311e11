"""CSV: every reader sees the same rows, no text is a formula, and what was written comes back."""

import csv
import io
import math
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from textassay.corpus.csv_files import csv_text, plain_cell

SOURCE = Path(__file__).resolve().parents[2] / "src" / "textassay"
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\ufeff=1", "\uff1d1", "'=1", "''=1")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(
    "=+-@'\t\r\n\0\",; a1e.\ufeff\u2028\x85\x0b", max_size=6
)


@settings(max_examples=150, deadline=None)
@example([["a\rb", "c"], ["", ""]])
@example([["\0", "="], ["'", "'='"]])
@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1, max_size=4))
def test_every_reader_sees_the_same_rows(rows: list[list[str]]) -> None:
    written = csv_text(("a", "b"), rows)
    read = list(csv.reader(io.StringIO(written, newline=""), strict=True))
    assert [[plain_cell(cell) for cell in row] for row in read] == [["a", "b"], *rows]
    for engine in ("c", "python"):
        frame = pd.read_csv(io.BytesIO(written.encode()), dtype=str, keep_default_na=False, engine=engine)
        assert [["a", "b"], *frame.to_numpy().tolist()] == read


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_one_column_and_tabs(texts: list[str]) -> None:
    one = csv_text(("a",), ([text] for text in texts))
    frame = pd.read_csv(io.BytesIO(one.encode()), dtype=str, keep_default_na=False)
    assert [plain_cell(cell) for cell in frame["a"].tolist()] == texts
    tabs = csv_text(("a", "b"), ([text, text] for text in texts), delimiter="\t")
    rows = list(csv.reader(io.StringIO(tabs, newline=""), delimiter="\t", strict=True))
    assert [list(map(plain_cell, row)) for row in rows[1:]] == [[text, text] for text in texts]


@given(TEXTS)
def test_no_text_is_a_formula(text: str) -> None:
    ((_,), (cell,)) = csv.reader(io.StringIO(csv_text(("a",), [[text]]), newline=""))
    shown = cell.strip("\ufeff\u200b\0 \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029")
    if shown[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20"):
        float(cell)  # a number, which is what a spreadsheet takes it for
    assert cell[:1] not in ("\t", "\r")


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe_and_lose_it_again(text: str) -> None:
    ((_,), (cell,)) = csv.reader(io.StringIO(csv_text(("a",), [[text]]), newline=""))
    assert cell == "'" + text
    assert plain_cell(cell) == text


def test_numbers_stay_numbers_and_what_is_missing_is_empty() -> None:
    row = (-1, -0.5, 1e-300, math.inf, -math.inf, True, None, math.nan, "-1.5e-05", "+3", "- 1")
    assert csv_text("a", [row]) == "a\n-1,-0.5,1e-300,inf,-inf,True,,,-1.5e-05,+3,'- 1\n"


def test_all_csv_is_written_in_one_place() -> None:
    for path in SOURCE.rglob("*.py"):
        assert not re.search(r"\bcsv\.(?:writer|DictWriter)\(|from csv import|\.to_csv\(", path.read_text("utf-8")), (
            path
        )


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_form_that_works_without_a_server_writes_the_same_cells() -> None:
    from textassay_lab.human.html_form import _SCRIPT

    quoted = re.search(r"function quoted\(text\) \{.*?\n\}\n", _SCRIPT, re.DOTALL)
    assert quoted is not None
    texts = [*FORMULAS, "-1.5", "plain", 'a "b"', "'", ""]
    program = f"{quoted[0]}for (const text of {texts!r}) process.stdout.write(quoted(text) + '\\n');"
    said = subprocess.run(["node", "-e", program], capture_output=True, check=True).stdout.decode()
    cells = [cell for (cell,) in csv.reader(io.StringIO(said, newline=""))]
    assert (
        cells == [cell for (cell,) in csv.reader(io.StringIO(csv_text(("a",), ([t] for t in texts)), newline=""))][1:]
    )
    assert [plain_cell(cell) for cell in cells] == texts
