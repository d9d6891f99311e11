"""Raw answers, ``item,rater,label``, as the terminal and the single-file form write them: labels as they were given.

Columns ``comment`` and ``study`` (its fingerprint) may be there as well. Unlike `textassay.human.ratings_file` they
hold answers to attention checks and do not say who wrote what: they become judgements beside their study.
"""

from collections.abc import Mapping
from pathlib import Path

from textassay.corpus import csv_text
from textassay.errors import InputError
from textassay.human.acceptance import Submission
from textassay.human.study import Study
from textassay.human.table_file import read_table

_COLUMNS = ("item", "rater", "label")
_COMMENT, _STUDY = "comment", "study"


def read_answers(path: Path, study: Study) -> list[Submission]:
    """Return what each rater answered on each page of `study`, in the order of their first answers."""
    page_of = {item.id: page.id for page in study.pages for item in page.items}
    places: dict[tuple[str, str], str] = {}
    answers: dict[tuple[str, str], dict[str, str]] = {}
    comments: dict[tuple[str, str], str] = {}
    fingerprint = study.fingerprint
    for row in read_table(path, _COLUMNS):
        if row.values.get(_STUDY, fingerprint) != fingerprint:
            raise InputError(f"{row.place}: this is an answer to another study")
        item, rater, label = (row.values[name].strip() for name in _COLUMNS)
        if item not in page_of:
            raise InputError(f"{row.place}: the study has no item {item[:40]!r}; is this another study's file?")
        if not rater:
            raise InputError(f"{row.place}: there is no rater")
        key = (rater, page_of[item])
        places.setdefault(key, row.place)
        given = answers.setdefault(key, {})
        if item in given:
            raise InputError(f"{row.place}: {rater} judged item {item} before")
        if label:
            given[item] = label
        if row.values.get(_COMMENT, "").strip():
            comments[key] = row.values[_COMMENT].strip()
    return [
        Submission(page, rater, given, comments.get((rater, page), ""), places[rater, page])
        for (rater, page), given in answers.items()
    ]


def answers_csv(study: Study, answers: Mapping[tuple[str, str], str]) -> str:
    """Return (rater, item) to label as the text of such a file, which names its study by its fingerprint."""
    fingerprint = study.fingerprint
    rows = ((item, rater, label, fingerprint) for (rater, item), label in answers.items())
    return csv_text((*_COLUMNS, _STUDY), rows)
