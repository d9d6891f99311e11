"""All tables that commands write, of hostile texts and names: no cell is a formula, and all readers see one table."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from made_up_comparisons import FEW_METRICS, make_comparison, make_texts
from made_up_exposure import make_exposure_results, reproduction
from made_up_judgements import from_table
from textassay.cli.main import main
from textassay.comparison.document import write_report
from textassay.comparison.sentence_scores import open_sentences
from textassay.corpus.texts import read_texts
from textassay.report.files import document_files
from textassay.storage import write_files
from textassay_lab.cli.human_study import Export, Import
from textassay_lab.generator.contexts import contexts_text, read_contexts
from textassay_lab.human.analysis import analyse
from textassay_lab.human.document import analysis_document
from textassay_lab.human.judgements import Comment
from textassay_lab.human.ratings_file import ratings_csv, read_ratings
from textassay_lab.human.study import Study, StudyItem, StudyPage, save_study
from textassay_lab.human.submissions import answers_csv, read_answers
from textassay_lab.papers.document import reproduction_document

NAMES = ("=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "'=quoted", "\uff1dwide")
TEXTS = ("a\rb", "=1+1", "-2+3", "\t=1", "\r=1", "+x", "@y", '"=z"', "a,b;c", "line\nbreak", "\0zero", "- dash", "'")


def _report(folder: Path) -> None:
    texts = {name: [*TEXTS, *list(given)[len(TEXTS) :]] for name, given in make_texts(NAMES).items()}
    write_report(make_comparison(NAMES, metrics=FEW_METRICS), folder, texts=texts)


def _analysis(folder: Path) -> None:
    rows = {f"i{k}": (None if k % 2 else NAMES[k % len(NAMES)], (1.0, 0.0, 1.0)) for k in range(len(TEXTS))}
    judged = from_table(rows, comments=[Comment("i0", "r0", "=comment")])
    items = tuple(replace(item, id=f"={item.id}", text=text) for item, text in zip(judged.items, TEXTS, strict=True))
    judged = replace(judged, items=items, raters=NAMES[:3])
    write_files(folder, document_files(analysis_document(analyse(judged))))
    (folder / "judgements.csv").write_bytes(ratings_csv(judged).encode())


def _study() -> Study:
    items = [StudyItem(f"0/{k}", text, NAMES[k % 5] if k % 2 else None) for k, text in enumerate(TEXTS)]
    return Study("real-or-fake", "=title", "Read.", (StudyPage("0", tuple(items)),), 1, 0, {})


def _study_files(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    study = _study()
    save_study(study, folder)
    for kind in ("csv", "mechanical-turk"):
        Export(study=folder, to=kind).run()
    answers = {("=rater", item.id): "real" for item in study.items}
    (folder / "answers.csv").write_bytes(answers_csv(study, answers).encode())
    (folder / "late.csv").write_bytes(answers_csv(study, {("@late", "0/0"): "real"}).encode())
    Import(study=folder, files=[folder / "answers.csv", folder / "late.csv"], out=folder / "imported").run()


def _contexts(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "contexts.tsv").write_text(contexts_text({"=name": ["-1", "=a", "b"], "x": ["+a", "", "@c"]}))


def _study_of_a_paper(folder: Path) -> None:
    write_files(folder, document_files(reproduction_document(reproduction(make_exposure_results())), stem="study"))


@pytest.mark.parametrize("write", [_report, _analysis, _study_files, _contexts, _study_of_a_paper])
def test_no_cell_is_a_formula_and_all_readers_agree(tmp_path: Path, write: Callable[[Path], None]) -> None:
    folder = tmp_path / "out"
    write(folder)
    tables = [*folder.rglob("*.csv"), *folder.rglob("*.tsv")]
    assert tables
    for path in tables:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter=delimiter, strict=True))
        assert {len(row) for row in rows} == {len(rows[0])}, path
        for cell in (cell for row in rows for cell in row):
            if cell.strip()[:1] in ("=", "+", "-", "@", "\uff1d") or cell[:1] in ("\t", "\r"):
                float(cell)
        frame = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False)
        assert frame.to_numpy().tolist() == rows[1:], path


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    _report(tmp_path / "report")
    table = open_sentences(tmp_path / "report" / "sentences.csv")
    assert table is not None
    rows = list(table.rows)
    assert {row[0] for row in rows} == set(NAMES)
    first = [row[3] for row in rows if row[0] == NAMES[0] and row[1] == "generated"]
    assert tuple(first[: len(TEXTS)]) == TEXTS
    assert main(["report", str(tmp_path / "report")]) == 0

    _contexts(tmp_path)
    assert read_contexts(tmp_path / "contexts.tsv") == {"=name": ["-1", "=a", "b"], "x": ["+a", "", "@c"]}

    study = _study()
    (tmp_path / "answers.csv").write_text(answers_csv(study, {("=rater", "0/0"): "real"}))
    assert [one.rater for one in read_answers(tmp_path / "answers.csv", study)] == ["=rater"]


def test_ratings_come_back_whatever_their_texts(tmp_path: Path) -> None:
    texts = [text for text in TEXTS if "\0" not in text]  # no file of text holds a zero byte
    rows = {f"i{k}": (NAMES[k % 5], (-1.5 * k, 2.0)) for k in range(len(texts))}
    judged = from_table(rows, scale="number")
    items = tuple(replace(item, text=text) for item, text in zip(judged.items, texts, strict=True))
    judged = replace(judged, items=items)
    path = tmp_path / "ratings.csv"
    path.write_bytes(ratings_csv(judged).encode())
    found = read_ratings(path)
    assert found.items == judged.items
    np.testing.assert_array_equal(found.value, judged.value)


def test_long_texts_in_the_file_of_sentences_are_read_back(tmp_path: Path) -> None:
    texts = {name: ["x" * 200_000, *list(given)[1:]] for name, given in make_texts(NAMES[:2]).items()}
    write_report(make_comparison(NAMES[:2], metrics=FEW_METRICS), tmp_path, texts=texts)
    table = open_sentences(tmp_path / "sentences.csv")
    assert table is not None
    assert sum(1 for _ in table.rows) == len(read_texts(tmp_path / "sentences.csv", column="text").texts)
