"""The long CSV file of judgements, one row per judgement: ``item,rater,label``.

Optional columns: ``generator`` (empty, ``real`` or ``(real)`` for a person), ``page``, ``text``, ``comment``. A row
without rater and label is an item without judgements.
"""

from pathlib import Path

import numpy as np

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError
from textassay_lab.human.judgements import Comment, Item, Judgements, Scale
from textassay_lab.human.table_file import TableRow, finite_number, read_table

COLUMNS = ("item", "rater", "label", "generator", "page", "text", "comment")
_VALUES = {"fake": 0.0, "real": 1.0}
_PEOPLE = ("", "real", "(real)")


def is_ratings(columns: tuple[str, ...]) -> bool:
    """Return whether `columns` are those of such a file."""
    return all(name in columns for name in COLUMNS[:3])


def read_ratings(path: Path) -> Judgements:
    """Return the judgements of a long CSV file."""
    rows = read_table(path, COLUMNS[:3])
    items: dict[str, tuple[Item, str]] = {}
    raters: dict[str, int] = {}
    judged: dict[tuple[str, str], str] = {}
    comments: dict[Comment, None] = {}
    labels: list[tuple[int, int, float]] = []
    places: dict[str, int] = {}
    is_number: bool | None = None
    for row in rows:
        item = _item(row)
        known, place = items.setdefault(item.id, (item, row.place))
        if item != known:
            raise InputError(f"{row.place}: generator, page or text of item {item.id} differ from those in {place}")
        places.setdefault(item.id, len(places))
        rater, label = row.values["rater"].strip(), row.values["label"].strip()
        if not rater and not label:
            continue
        if not rater:
            raise InputError(f"{row.place}: the rater is missing")
        value, number = rating_value(row.place, label)
        if is_number not in (None, number):
            raise InputError(
                f"{row.place}: labels must be all real or fake, or all numbers, got {label!r} after others"
            )
        is_number = number
        if (item.id, rater) in judged:
            raise InputError(f"{row.place}: {rater} judged item {item.id} before, in {judged[item.id, rater]}")
        judged[item.id, rater] = row.place
        labels.append((places[item.id], raters.setdefault(rater, len(raters)), value))
        if row.values.get("comment", "").strip():
            comments[Comment(item.page, rater, row.values["comment"])] = None
    scale: Scale = "number" if is_number else "real-or-fake"
    notes = []
    if "generator" not in rows[0].values:
        notes.append(f"{path} has no column 'generator': all texts count as written by people")
    return Judgements(
        items=tuple(item for item, _ in items.values()),
        raters=tuple(raters),
        item=np.array([label[0] for label in labels], dtype=np.int64),
        rater=np.array([label[1] for label in labels], dtype=np.int64),
        value=np.array([label[2] for label in labels], dtype=np.float64),
        scale=scale,
        comments=tuple(comments),
        notes=tuple(notes),
    )


def ratings_csv(judgements: Judgements) -> str:
    """Return `judgements` as the text of such a file, from which `read_ratings` restores them, except order and notes.

    A comment is in the first row of its rater and page.
    """
    comments = {(comment.page, comment.rater): comment.text for comment in judgements.comments}
    table: list[tuple[str, ...]] = []
    is_vote = judgements.scale == "real-or-fake"
    rows = zip(judgements.item.tolist(), judgements.rater.tolist(), judgements.value.tolist(), strict=True)
    for place, rater, value in rows:
        item, name = judgements.items[place], judgements.raters[rater]
        label = ("real" if value else "fake") if is_vote else repr(value).removesuffix(".0")
        comment = comments.pop((item.page, name), "")
        table.append((item.id, name, label, item.generator or "", item.page, item.text, comment))
    for place in np.flatnonzero(np.bincount(judgements.item, minlength=len(judgements.items)) == 0).tolist():
        item = judgements.items[place]
        table.append((item.id, "", "", item.generator or "", item.page, item.text, ""))
    return csv_text(COLUMNS, table)


def _item(row: TableRow) -> Item:
    name = row.values["item"].strip()
    if not name:
        raise InputError(f"{row.place}: the item is missing")
    generator = row.values.get("generator", "").strip()
    page = row.values.get("page", "").strip()
    return Item(
        id=name,
        page=page or name,
        text=row.values.get("text", ""),
        generator=None if generator.lower() in _PEOPLE else generator,
    )


def rating_value(place: str, label: str) -> tuple[float, bool]:
    """Return the value of a label at `place`, and whether it is a number."""
    if label.lower() in _VALUES:
        return _VALUES[label.lower()], False
    value = finite_number(label)
    if value is None:
        raise InputError(f"{place}: a label must be real, fake or a number, got {label[:40]!r}")
    return value, True
