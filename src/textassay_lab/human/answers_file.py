"""Raw answers of the terminal and of the HTML form: a CSV file with ``item,rater,label``, ``comment``, ``study``.

Unlike `textassay_lab.human.ratings_file`, it includes attention checks and does not say who wrote the texts, so it must
be read together with its study (column ``study``: the fingerprint).
"""

from collections.abc import Mapping
from pathlib import Path

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError
from textassay_lab.human.acceptance import Submission
from textassay_lab.human.study import Study
from textassay_lab.human.table_file import read_table

_COLUMNS = ("item", "rater", "label")
_COMMENT, _STUDY = "comment", "study"


def read_answers(path: Path, study: Study) -> list[Submission]:
    """Return the submissions of each rater for each page of `study`, in the order of their first answers."""
    page_of = {item.id: page.id for page in study.pages for item in page.items}
    places: dict[tuple[str, str], str] = {}
    answers: dict[tuple[str, str], dict[str, str]] = {}
    comments: dict[tuple[str, str], str] = {}
    fingerprint = study.fingerprint
    for row in read_table(path, _COLUMNS):
        if row.values.get(_STUDY, fingerprint) != fingerprint:
            raise InputError(f"{row.place}: the answer belongs to another study")
        item, rater, label = (row.values[name].strip() for name in _COLUMNS)
        if item not in page_of:
            raise InputError(
                f"{row.place}: the study has no item {item[:40]!r}; does the file belong to another study?"
            )
        if not rater:
            raise InputError(f"{row.place}: the rater is missing")
        key = (rater, page_of[item])
        places.setdefault(key, row.place)
        page_answers = answers.setdefault(key, {})
        if item in page_answers:
            raise InputError(f"{row.place}: {rater} judged item {item} before")
        if label:
            page_answers[item] = label
        if row.values.get(_COMMENT, "").strip():
            comments[key] = row.values[_COMMENT].strip()
    return [
        Submission(page, rater, page_answers, comments.get((rater, page), ""), places[rater, page])
        for (rater, page), page_answers in answers.items()
    ]


def answers_csv(study: Study, answers: Mapping[tuple[str, str], str]) -> str:
    """Return answers, (rater, item) to label, as the text of such a file."""
    fingerprint = study.fingerprint
    rows = ((item, rater, label, fingerprint) for (rater, item), label in answers.items())
    return csv_text((*_COLUMNS, _STUDY), rows)
