"""CSV files of judgements: the long file that we write, and any other whose columns are named.

The long file has one row per judgement: ``item,rater,label``. Optional columns: ``generator`` (empty, ``real`` or
``(real)`` for a person), ``page``, ``text``, ``comment``. A row without rater and label is an item without judgements.

Of any other file, the columns of text, system, rater and one or more criteria are named, so raw batch results of
Mechanical Turk need no converter. A name with ``*`` stands for numbered columns, such as ``Input.review_*_text``: then
every number is a text of its own in each row.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Comment, Item, Judgements, Scale
from textassay_lab.human.reading import TableRow, finite_number, read_columns, read_table

COLUMNS = ("item", "rater", "label", "generator", "page", "text", "comment")
_VALUES = {"fake": 0.0, "real": 1.0}
_PEOPLE = ("", "real", "(real)")


def is_ratings(columns: tuple[str, ...]) -> bool:
    return all(name in columns for name in COLUMNS[:3])


def read_ratings(path: Path) -> Judgements:
    rows = read_table(path, COLUMNS[:3])
    items: dict[str, tuple[Item, str]] = {}
    raters: dict[str, int] = {}
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
        labels.append((places[item.id], raters.setdefault(rater, len(raters)), value))
        if row.values.get("comment", "").strip():
            comments[Comment(item.page, rater, row.values["comment"])] = None
    scale: Scale = "number" if is_number else "real-or-fake"
    notes = []
    if "generator" not in rows[0].values:
        notes.append(f"{path} has no column 'generator': all texts count as written by people")
    return Judgements.of([item for item, _ in items.values()], raters, labels, scale, comments=comments, notes=notes)


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
_N_SHOWN = 4


@dataclass(frozen=True)
class _Columns:
    """The columns of one text in a row; a criterion that is missing there is None."""

    text: str
    system: str  # a column; empty where `name` is the system
    ratings: Mapping[str, str]
    name: str = ""  # what stands for the ``*``
    raters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # criterion to column to rater

    def judged(self) -> "Iterator[tuple[tuple[str, str], str]]":
        """Yield each criterion with a column of its ratings, and who rated there, if the column says so."""
        for criterion, column in self.ratings.items():
            several = self.raters.get(criterion)
            yield from (
                (((criterion, one), who) for one, who in several.items()) if several else (((criterion, column), ""),)
            )


def read_rating_columns(
    path: Path,
    ratings: Sequence[str],
    *,
    text: str | None = None,
    system: str | None = None,
    rater: str | None = None,
) -> dict[str, Judgements]:
    """Return the judgements by each criterion of a table or of JSON, under the names in `ratings`.

    `text`, `system` and `rater` are columns; by default one with a usual name. Rows with equal text, system and page
    are judgements of one item; the system ``real`` or an empty one is a person. Rejected assignments and empty ratings
    are left out, and notes count them. A name with ``*`` stands for several columns: of texts, each is a text, and
    what ``*`` stands for is its system, where no column names that; of ratings alone, each is a rater.
    """
    if not ratings:
        raise OptionError(f"no column of ratings was found: name one or more with --rating-column; {_listed(path)}")
    header = read_columns(path)
    texts = _column(path, header, "text", text)
    is_wide = texts not in header and system is None and _usual(header, "system") is None
    systems = "" if is_wide else _column(path, header, "system", system)
    for rating in ratings:
        _column(path, header, "rating", rating)
    slots = _slots(path, header, texts, systems, ratings)
    by = _column(path, header, "rater", rater) if rater is not None else _usual(header, "rater")
    return _read(path, header, slots, by, ratings)


def _read(
    path: Path, header: Sequence[str], slots: Sequence[_Columns], by: str | None, ratings: Sequence[str]
) -> dict[str, Judgements]:
    page_column = next((name for name in _PAGES if name in header), None)
    items: dict[tuple[str, int, str, str], int] = {}
    raters: dict[str, int] = {}
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
            system = row.values.get(slot.system, slot.name).strip()
            if system.lower() in (*_PEOPLE, _MAYBE_PEOPLE):
                people.setdefault(system, f"{row.place}: the system is missing ({slot.system})")
            if not row.values[slot.text].strip():
                if any(row.values[column].strip() for column in slot.ratings.values()):
                    raise InputError(f"{row.place}: the text is missing ({slot.text}), but it has ratings")
                continue  # a page with fewer texts
            key = (page, number, "" if system.lower() in _PEOPLE else system, row.values[slot.text])
            item = items.setdefault(key, len(items))
            for (name, column), rater in slot.judged():
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
                who = rater or (f"#{counts[name, item]}" if by is None else row.values[by].strip())
                if not who:
                    raise InputError(f"{row.place}: the rater is missing ({by})")
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
            raise InputError(f"{path}: column '{name}' contains no rating")
    return {
        name: Judgements.of(
            own,
            raters,
            labels[name],
            "number" if is_number[name] else "real-or-fake",
            notes=[*notes, *_without(name, n_empty[name])],
        )
        for name in ratings
    }


def _without(name: str, n_empty: int) -> list[str]:
    return [f"without an answer: ratings of {name} ({n_empty})"] if n_empty else []


def _column(path: Path, header: Sequence[str], role: str, name: str | None) -> str:
    """Return the column of `role`; raise, naming the columns, where there is none."""
    found = _usual(header, role) if name is None else name
    if found is None:
        raise InputError(
            f"{path}: found no column for the {_WHAT[role]}: name the column with "
            f"--{role}-column{_one_row_a_system(path, header)}; {_listed(path)}"
        )
    if found not in header and not _middles(header, found):
        raise InputError(f"{path} has no column '{found}' (--{role}-column); {_listed(path)}")
    return found


def _one_row_a_system(path: Path, header: Sequence[str]) -> str:
    """Return a hint where a table has one row for each system, and no texts."""
    by = _usual(header, "system")
    if by is None:
        return ""
    names = [row.values[by] for row in read_table(path, ())]
    return f" (a table with one row a system is given as --gold {path.name})" if len(set(names)) == len(names) else ""


def judged_by_columns(path: Path, columns: Sequence[str]) -> str:
    """Return what a table of ratings seems to hold, and the command that reads it; nothing where it seems to hold none.

    So raw batch results of Mechanical Turk are known: what was shown is `Input.*`, what was said is `Answer.*`.
    """
    answers = [name for name in columns if name.startswith("Answer.")] or [
        name for name in columns if re.search(r"rating|score|judg|label|likert|fluency|quality", name, re.IGNORECASE)
    ]
    inputs = [name for name in columns if name.startswith("Input.")]
    if not answers:
        return ""
    texts = _usual(columns, "text") or next((name for name in inputs if "text" in name.lower()), "NAME")
    system = _usual(columns, "system") or next((n for n in inputs if re.search("model|system|source", n)), "NAME")
    seen = f"{', '.join(inputs[:_N_SHOWN]) or ', '.join(columns[:_N_SHOWN])} and {', '.join(answers[:_N_SHOWN])}"
    return (
        f"{path} has {seen}: name its columns (* stands for a number), as in textassay judge --ratings {path.name} "
        f"--text-column {texts} --system-column {system} --rating-column {answers[0]}"
    )


def _usual(header: Sequence[str], role: str) -> str | None:
    return next((name for name in _USUAL[role] if name in header), None)


def _slots(path: Path, header: Sequence[str], text: str, system: str, ratings: Sequence[str]) -> list[_Columns]:
    """Return the columns of each text in a row: one where no name has a ``*``."""
    if text in header:
        raters = {
            rating: {rating.replace("*", middle): middle for middle in _middles(header, rating)}
            for rating in ratings if rating not in header
        }  # fmt: skip
        return [_Columns(text, system, dict(zip(ratings, ratings, strict=True)), raters=raters)]
    slots = []
    for number in _middles(header, text):
        names = [name if name in header else name.replace("*", number) for name in (text, *ratings)]
        who = system if system in header else system.replace("*", number)
        missing = [name for name in (*names, *([who] if who else [])) if name not in header]
        if missing:
            raise InputError(f"{path} has no column '{missing[0]}'; {_listed(path)}")
        slots.append(_Columns(names[0], who, dict(zip(ratings, names[1:], strict=True)), number))
    return slots


def _middles(header: Sequence[str], name: str) -> list[str]:
    """Return what stands for the ``*`` of a name in the columns: numbers in their order, or names."""
    before, star, after = name.partition("*")
    middles = [
        column[len(before) : len(column) - len(after)]
        for column in header
        if star and column.startswith(before) and column.endswith(after) and len(column) > len(before) + len(after)
    ]
    return sorted((middle for middle in middles if middle.isdecimal()), key=int) or middles


def _listed(path: Path) -> str:
    header = sorted(read_columns(path), key=lambda name: not name.startswith(("Input.", "Answer.")))  # of Turk
    return f"columns: {', '.join(header[:_N_LISTED])}{', ...' if len(header) > _N_LISTED else ''}"
