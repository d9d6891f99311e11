"""Read ratings from any CSV file whose columns are named: text, system, rater and one or more criteria.

So raw batch results of Mechanical Turk need no converter. A name with ``*`` stands for numbered columns, such as
``Input.review_*_text``: then every number is a text of its own in each row.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.ratings_file import rating_value
from textassay_lab.human.table_file import read_columns, read_table

_PEOPLE = ("", "real", "(real)")
_MAYBE_PEOPLE = "human"  # a system like another, beside which an empty name is a mistake
_USUAL = {
    "text": ("text", "sentence", "output", "Input.text"),
    "system": ("system", "generator", "model", "Input.system", "Input.generator", "Input.model"),
    "rater": ("rater", "annotator", "worker", "WorkerId"),
}
_WHAT = {"text": "texts", "system": "system", "rating": "ratings", "rater": "rater"}
_PAGES = ("HITId", "Input.hit_id", "page")
_STATUS, _REJECTED = "AssignmentStatus", "Rejected"
_N_LISTED = 24


@dataclass(frozen=True)
class _Columns:
    """The columns of one text in a row; a criterion that is missing there is None."""

    text: str
    system: str
    ratings: Mapping[str, str]


def read_rating_columns(
    path: Path,
    ratings: Sequence[str],
    *,
    text: str | None = None,
    system: str | None = None,
    rater: str | None = None,
) -> dict[str, Judgements]:
    """Return the judgements by each criterion of a .csv or .tsv file, under the names in `ratings`.

    `text`, `system` and `rater` are columns; by default one with a usual name. Rows with equal text, system and page
    are judgements of one item; the system ``real`` or an empty one is a person. Rejected assignments and empty ratings
    are left out, and notes count them.
    """
    if not ratings:
        raise OptionError(f"no column holds the ratings: name one or more with --rating-column; {_listed(path)}")
    header = read_columns(path)
    named = {"text": _column(path, header, "text", text), "system": _column(path, header, "system", system)}
    for rating in ratings:
        _column(path, header, "rating", rating)
    slots = _slots(path, header, named["text"], named["system"], ratings)
    by = _column(path, header, "rater", rater) if rater is not None else _usual(header, "rater")
    return _read(path, header, slots, by, ratings)


def _read(
    path: Path, header: Sequence[str], slots: Sequence[_Columns], by: str | None, ratings: Sequence[str]
) -> dict[str, Judgements]:
    page_column = next((name for name in _PAGES if name in header), None)
    items: dict[tuple[str, int, str, str], int] = {}
    raters: dict[str, int] = {}
    seen: dict[tuple[str, int, str], str] = {}
    labels: dict[str, list[tuple[int, int, float]]] = {name: [] for name in ratings}
    counts: Counter[tuple[str, int]] = Counter()  # ratings of an item by a criterion
    is_number: dict[str, bool] = {}
    people: dict[str, str] = {}  # how people are called, and what is wrong if that is nothing beside other names
    n_rejected, n_empty = 0, dict.fromkeys(ratings, 0)
    for row in read_table(path, ()):
        if row.values.get(_STATUS) == _REJECTED:
            n_rejected += 1
            continue
        page = row.values[page_column].strip() if page_column is not None else ""
        for number, slot in enumerate(slots):
            system = row.values[slot.system].strip()
            if system.lower() in (*_PEOPLE, _MAYBE_PEOPLE):
                people.setdefault(system, f"{row.place}: the system is missing ({slot.system})")
            if not row.values[slot.text].strip():
                if any(row.values[column].strip() for column in slot.ratings.values()):
                    raise InputError(f"{row.place}: the text is missing ({slot.text}), but it has ratings")
                continue  # a page with fewer texts
            key = (page, number, "" if system.lower() in _PEOPLE else system, row.values[slot.text])
            item = items.setdefault(key, len(items))
            for name, column in slot.ratings.items():
                label = row.values[column].strip()
                if not label:
                    n_empty[name] += 1
                    continue
                value, number_like = rating_value(f"{row.place}, {column}", label)
                if is_number.setdefault(name, number_like) != number_like:
                    raise InputError(
                        f"{row.place}, {column}: labels must be all real or fake, or all numbers, got {label!r}"
                    )
                counts[name, item] += 1
                who = f"#{counts[name, item]}" if by is None else row.values[by].strip()
                if not who:
                    raise InputError(f"{row.place}: the rater is missing ({by})")
                if (name, item, who) in seen:
                    raise InputError(
                        f"{row.place}: {who} judged this text before, in {seen[name, item, who]}; keep one"
                    )
                seen[name, item, who] = row.place
                labels[name].append((item, raters.setdefault(who, len(raters)), value))
    if "" in people and len(people) > 1:
        raise InputError(f"{people['']}; real texts are called '{next(filter(None, people))}' in other rows")
    notes = [] if not n_rejected else [f"left out: rejected submissions ({n_rejected})"]
    notes += [] if by is not None else [f"{path} names no rater: each rating of a text counts as another's"]
    own = [
        Item(f"{page or 'text'}/{place}", page or str(place), text, system or None)
        for (page, _, system, text), place in items.items()
    ]
    for name in ratings:
        if not labels[name]:
            raise InputError(f"{path}: column '{name}' holds no rating")
    return {
        name: _judgements(own, list(raters), labels[name], is_number[name], [*notes, *_without(name, n_empty[name])])
        for name in ratings
    }


def _judgements(
    items: Sequence[Item],
    raters: Sequence[str],
    labels: Sequence[tuple[int, int, float]],
    is_number: bool,
    notes: Sequence[str],
) -> Judgements:
    return Judgements(
        items=tuple(items),
        raters=tuple(raters),
        item=np.array([label[0] for label in labels], dtype=np.int64),
        rater=np.array([label[1] for label in labels], dtype=np.int64),
        value=np.array([label[2] for label in labels], dtype=np.float64),
        scale="number" if is_number else "real-or-fake",
        notes=tuple(notes),
    )


def _without(name: str, n_empty: int) -> list[str]:
    return [f"without an answer: ratings of {name} ({n_empty})"] if n_empty else []


def _column(path: Path, header: Sequence[str], role: str, name: str | None) -> str:
    """Return the column of `role`; raise, naming the columns, where there is none."""
    found = _usual(header, role) if name is None else name
    if found is None:
        raise InputError(f"{path}: no column holds the {_WHAT[role]}: name it with --{role}-column; {_listed(path)}")
    if found not in header and not _numbers(header, found):
        raise InputError(f"{path} has no column '{found}' (--{role}-column); {_listed(path)}")
    return found


def _usual(header: Sequence[str], role: str) -> str | None:
    return next((name for name in _USUAL[role] if name in header), None)


def _slots(path: Path, header: Sequence[str], text: str, system: str, ratings: Sequence[str]) -> list[_Columns]:
    """Return the columns of each text in a row: one where no name has a ``*``."""
    numbers = _numbers(header, text) if text not in header else [""]
    slots = []
    for number in numbers:
        names = [name if name in header else name.replace("*", number) for name in (text, system, *ratings)]
        missing = [name for name in names if name not in header]
        if missing:
            raise InputError(f"{path} has no column '{missing[0]}'; {_listed(path)}")
        slots.append(_Columns(names[0], names[1], dict(zip(ratings, names[2:], strict=True))))
    return slots


def _numbers(header: Sequence[str], name: str) -> list[str]:
    """Return what stands for the ``*`` of a name in the columns, in the order of the numbers."""
    before, star, after = name.partition("*")
    middles = [
        column[len(before) : len(column) - len(after)]
        for column in header
        if star and column.startswith(before) and column.endswith(after) and len(column) > len(before) + len(after)
    ]
    return sorted((middle for middle in middles if middle.isdecimal()), key=int)


def _listed(path: Path) -> str:
    header = sorted(read_columns(path), key=lambda name: not name.startswith(("Input.", "Answer.")))  # of Turk
    return f"columns: {', '.join(header[:_N_LISTED])}{', ...' if len(header) > _N_LISTED else ''}"
