"""Mechanical Turk: files of a study for it, and its batch results, a row a submission with the texts of its page.

Turk inserts fields into the page unescaped, so our rows are escaped; so are characters beyond ASCII, because Turk
rejects four-byte characters. There are two kinds of results. Published ones say who wrote each text
(``Input.review_K_student_model``) and need no study. Those of our own pages do not, so that workers cannot see it;
they are read with their study.

Source: the layout of the batch results of Garbacea et al., "Judge the Judges", EMNLP 2019: page ``Input.hit_id``, slot
of the attention check ``Input.gotcha_locs``, answers ``Answer.review_K_judgment``.
Departs from it: nothing is matched by text, because equal texts are on several pages.
"""

import html
import re
import string
from collections.abc import Mapping, Sequence
from pathlib import Path

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.reading import TableRow, read_table
from textassay_lab.human.study import NONE_OF_THEM, Study, StudyItem, StudyPage
from textassay_lab.human.submissions import Submission, collect, failed_checks

_PLAIN = frozenset(string.ascii_letters + string.digits + " .,!?:;()_/'")  # nothing that begins a formula, such as -
_SCRIPT = "https://assets.crowd.aws/crowd-html-elements.js"  # Turk's own, required by its crowd layout


def turk_files(study: Study) -> dict[str, str]:
    """Return file name to content: ``pages.csv`` for a batch, and ``template.html``, its layout.

    All pages must have the same number of items, and all items the same number of choices.
    """
    sizes = {(len(page.items), len(item.choices)) for page in study.pages for item in page.items}
    if len(sizes) > 1:
        raise InputError(
            "Mechanical Turk needs pages of one size: some pages of this study have more items than others"
        )
    ((n_items, n_choices),) = sizes
    return {"pages.csv": _rows(study, n_items, n_choices), "template.html": _template(study, n_items, n_choices)}


def escaped(text: str) -> str:
    """Return `text` as ASCII HTML without mark-up and without Turk's ``${variables}``."""
    return "".join(letter if letter in _PLAIN else f"&#{ord(letter)};" for letter in text)


def _rows(study: Study, n_items: int, n_choices: int) -> str:
    columns = ["hit_id"]
    for slot in range(n_items):
        columns += [f"review_{slot}_text", *(f"review_{slot}_choice_{place}" for place in range(n_choices))]
    rows = (
        [page.id, *(escaped(text) for item in page.items for text in (item.text, *item.choices))]
        for page in study.pages
    )
    return csv_text(columns, rows)


def _template(study: Study, n_items: int, n_choices: int) -> str:
    paragraphs = "\n".join(f"    <p>{_words(part)}</p>" for part in study.instructions.split("\n\n"))
    items = "\n".join(_item(slot, study, n_items, n_choices) for slot in range(n_items))
    return f"""<!-- Use this as the layout of a Mechanical Turk project, and publish pages.csv as a batch of it. -->
<script src="{_SCRIPT}"></script>
<style>
  main {{ max-width: 46rem; margin: 0 auto; font: 1rem/1.5 sans-serif; color: #1a1a1a; }}
  fieldset {{ margin: 1.5rem 0; border: 1px solid #767676; border-radius: 4px; }}
  blockquote {{ margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }}
  label {{ display: inline-block; padding: .5rem 1.5rem .5rem 0; }}
  textarea {{ width: 100%; }}
</style>
<crowd-form answer-format="flatten-objects">
  <main>
    <h1>{_words(study.title)}</h1>
{paragraphs}
{items}
    <p><label for="comment">What did you base your answers on? (optional)</label>
    <textarea id="comment" name="comment" rows="3"></textarea></p>
  </main>
</crowd-form>
"""


def _item(slot: int, study: Study, n_items: int, n_choices: int) -> str:
    name = f"review_{slot}_judgment"
    if n_choices:
        words = [f"${{review_{slot}_choice_{place}}}" for place in range(n_choices)] + [_words(NONE_OF_THEM)]
        options = [(str(place), word) for place, word in enumerate(words)]
    else:
        options = [(label, label) for label in study.pages[0].items[0].labels]
    radios = "\n".join(
        f'      <label><input type="radio" name="{name}" value="{value}" required> {word}</label>'
        for value, word in options
    )
    return f"""    <fieldset>
      <legend>{slot + 1} of {n_items}</legend>
      <blockquote dir="auto">${{review_{slot}_text}}</blockquote>
{radios}
    </fieldset>"""


def _words(text: str) -> str:
    """Return plain text as readable HTML without Turk's variables."""
    return html.escape(text).replace("$", "&#36;")


REAL = "Real"
STATUSES = ("Submitted", "Approved", "Rejected")
_BATCH = ("AssignmentStatus", "WorkerId", "Input.hit_id")
_SLOT = re.compile(r"Input\.review_([0-9]{1,6})_text")


def is_batch(columns: Sequence[str]) -> bool:
    return all(name in columns for name in _BATCH)


def read_mechanical_turk(path: Path, *, attention_checks: bool = True) -> Judgements:
    """Return the judgements of a .csv file of batch results that say who wrote each text, without rejected ones."""
    study, submissions = read_batch(path)
    pages = {page.id: page for page in study.pages}
    kept, notes, seen = [], [], set()
    n_rejected = n_failed = n_repeated = n_open = 0
    for one in submissions:
        if one.is_rejected:
            n_rejected += 1
        elif attention_checks and failed_checks(pages[one.page], one.answers):
            n_failed += 1
        elif (one.rater, one.page) in seen:
            n_repeated += 1
        else:
            seen.add((one.rater, one.page))
            kept.append(one)
            n_open += len(pages[one.page].items) - len(one.answers)
    for count, what in (
        (n_rejected, "left out: rejected submissions"),
        (n_failed, "left out: accepted submissions that failed their attention check"),
        (n_repeated, "left out: submissions of a page that their rater had judged before"),
        (n_open, "without an answer: items of submissions that count"),
    ):
        if count:
            notes.append(f"{what} ({count})")
    if attention_checks and not any(item.check for item in study.items):
        notes.append("Input.gotcha_locs names no attention check: every text counts")
    return collect(study, kept, notes=notes)


def read_batch(path: Path) -> tuple[Study, list[Submission]]:
    """Return the study behind batch results, as far as they describe it, and all submissions, in order."""
    rows = read_table(path, _BATCH)
    slots = _slots(path, list(rows[0].values))
    if f"Input.review_{slots[0]}_student_model" not in rows[0].values:
        raise InputError(
            f"{path} does not contain the sources of the texts: read it with 'textassay human import STUDY'"
        )
    pages: dict[str, tuple[TableRow, StudyPage]] = {}
    submissions = []
    for row in rows:
        page = _page(row, slots)
        first, known = pages.setdefault(page.id, (row, page))
        if page != known:
            raise InputError(f"{row.place}: page {page.id} has other texts than {first.place}")
        submissions.append(_submission(row, page))
    counts: dict[str, int] = {}
    for one in submissions:
        counts[one.page] = counts.get(one.page, 0) + (not one.is_rejected)
    study = Study(
        kind="real-or-fake",
        title=rows[0].values.get("Title", "") or path.name,
        instructions=rows[0].values.get("Description", ""),
        pages=tuple(page for _, page in pages.values()),
        judgements_per_page=max(1, *counts.values()),
        seed=0,
    )
    return study, submissions


def read_turk_submissions(path: Path, study: Study) -> list[Submission]:
    """Return all submissions of batch results of our own template for `study`, in order.

    `textassay_lab.human.submissions.accept` rejects unknown pages.
    """
    pages = {page.id: page for page in study.pages}
    submissions = []
    for row in read_table(path, _BATCH):
        page = pages.get(row.values["Input.hit_id"], StudyPage(row.values["Input.hit_id"], ()))
        for slot, item in enumerate(page.items):
            if _value(row, f"Input.review_{slot}_text") not in (escaped(item.text), item.text):
                raise InputError(f"{row.place}: text {slot} of page {page.id} is not that of the study")
        submissions.append(_submission(row, page))
    return submissions


def _slots(path: Path, columns: Sequence[str]) -> list[int]:
    slots = sorted(int(match[1]) for match in map(_SLOT.fullmatch, columns) if match)
    if not slots or slots != list(range(len(slots))):
        raise InputError(f"{path} must have columns Input.review_0_text, Input.review_1_text, ... without a gap")
    return slots


def _page(row: TableRow, slots: Sequence[int]) -> StudyPage:
    page = row.values["Input.hit_id"]
    checks = _checks(row, len(slots))
    items = []
    for slot in slots:
        author = _value(row, f"Input.review_{slot}_student_model")
        if not author:
            raise InputError(f"{row.place}: the writer of text {slot} is missing (Input.review_{slot}_student_model)")
        items.append(
            StudyItem(
                id=f"{page}/{slot}",
                text=_value(row, f"Input.review_{slot}_text"),
                generator=None if author == REAL else author,
                check=slot in checks,
            )
        )
    return StudyPage(page, tuple(items))


def _checks(row: TableRow, n_slots: int) -> set[int]:
    """Return the slots of the attention checks."""
    locations = row.values.get("Input.gotcha_locs", "")
    slots = {int(number) for number in re.findall(r"[0-9]{1,6}", locations)}
    if not locations.isascii() or (slots and max(slots) >= n_slots):
        raise InputError(f"{row.place}: Input.gotcha_locs must be from 0 to {n_slots - 1}, got {locations}")
    return slots


def _submission(row: TableRow, page: StudyPage) -> Submission:
    status = row.values["AssignmentStatus"]
    if status not in STATUSES:
        raise InputError(f"{row.place}: AssignmentStatus must be {', '.join(STATUSES)}, got {status!r}")
    answers = {}
    for slot, item in enumerate(page.items):
        label = _answer(row.values, slot, item.labels)
        if label and label not in item.labels:
            raise InputError(f"{row.place}: item {slot} must be judged {' or '.join(item.labels)}, got {label!r}")
        if label:
            answers[item.id] = label
    return Submission(
        page=page.id,
        rater=row.values["WorkerId"],
        answers=answers,
        comment=row.values.get("Answer.comment", ""),
        place=row.place,
        is_rejected=status == "Rejected",
    )


def _answer(values: Mapping[str, str], slot: int, labels: Sequence[str]) -> str:
    """Return the label of a slot: the value of its column or, for crowd forms, the column that is true."""
    name = f"Answer.review_{slot}_judgment"
    if name in values:
        return values[name]
    return next((label for label in labels if values.get(f"{name}.{label}", "").lower() == "true"), "")


def _value(row: TableRow, column: str) -> str:
    if column not in row.values:
        raise InputError(f"{row.place}: there is no column {column}")
    return row.values[column]
