"""Submissions: pages that raters answered, their CSV file, and the rules by which they count as judgements.

The file of the terminal and of the HTML form, ``item,rater,label``, ``comment``, ``study``, includes attention checks
and does not say who wrote the texts, so it must be read together with its study (column ``study``: the fingerprint).

Sources: Garbacea et al., "Judge the Judges", EMNLP 2019: a submission counts only if its worker is new, every item is
judged and the attention check is passed. He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019:
at most 200 pages of the next-word task per worker.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textassay.corpus.csv_files import csv_text
from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Comment, Item, Judgements
from textassay_lab.human.reading import read_table
from textassay_lab.human.study import Study, StudyItem, StudyPage

MAX_PAGES = {"real-or-fake": 1, "next-word": 200}  # pages per rater, by kind of study
CHECK_ANSWER = "fake"


@dataclass(frozen=True)
class Submission:
    """The answers of one rater on one page."""

    page: str
    rater: str
    answers: Mapping[str, str]  # Item to label, one of `StudyItem.labels`; without items left open
    comment: str = ""
    place: str = ""  # File and line it was read from, for messages
    is_rejected: bool = False  # Rejected by the owner on the platform it comes from


@dataclass(frozen=True)
class Refusal:
    """A submission that does not count, with the rule it breaks."""

    submission: Submission
    rule: str
    reason: str


@dataclass(frozen=True)
class Accepted:
    """The submissions that count, those that do not, and the pages that still need judgements."""

    submissions: tuple[Submission, ...]
    refusals: tuple[Refusal, ...]
    open_pages: Mapping[str, int]  # Page to number of missing submissions


def accept(study: Study, submissions: Iterable[Submission], *, most_pages: int | None = None) -> Accepted:
    """Decide for each submission, in order, whether it counts."""
    most = MAX_PAGES[study.kind] if most_pages is None else most_pages
    if most < 1:
        raise OptionError(f"most_pages must be at least 1, got {most}")
    pages = {page.id: page for page in study.pages}
    taken: dict[str, set[str]] = {}
    accepted: list[Submission] = []
    refusals: list[Refusal] = []
    for submission in submissions:
        done = taken.get(submission.rater, set())
        violation = _broken_rule(submission, pages, done, most)
        if violation is None:
            accepted.append(submission)
            taken[submission.rater] = {*done, submission.page}
        else:
            refusals.append(Refusal(submission, *violation))
    counts = Counter(submission.page for submission in accepted)
    short = {page: study.judgements_per_page - counts[page] for page in pages}
    return Accepted(tuple(accepted), tuple(refusals), {page: n for page, n in short.items() if n > 0})


def failed_checks(page: StudyPage, answers: Mapping[str, str]) -> list[str]:
    """Return the attention checks of `page` that `answers` gets wrong."""
    return [item.id for item in page.items if item.check and answers.get(item.id) != CHECK_ANSWER]


def answer_value(item: StudyItem, label: str) -> float:
    """Return the value of a label: 1 for real, 0 for fake; in the next-word task 1 for the model's top word."""
    return float(label == "real" if item.top is None else label == str(item.top))


def collect(study: Study, submissions: Sequence[Submission], *, notes: Sequence[str] = ()) -> Judgements:
    """Return the judgements of submissions that count, without attention checks.

    In the next-word task, on the scale "number", a judgement is 1 if the model's most probable word was chosen, else 0,
    and `Item.generator` is the writer of the prefix.
    """
    judged = [(page.id, item) for page in study.pages for item in page.items if not item.check]
    places = {item.id: place for place, (_, item) in enumerate(judged)}
    raters = {name: place for place, name in enumerate(dict.fromkeys(one.rater for one in submissions))}
    rows = [
        (places[item], raters[one.rater], answer_value(judged[places[item]][1], label))
        for one in submissions
        for item, label in one.answers.items()
        if item in places
    ]
    return Judgements.of(
        [Item(item.id, page, item.text, item.generator) for page, item in judged],
        raters,
        rows,
        "real-or-fake" if study.kind == "real-or-fake" else "number",
        comments=[Comment(one.page, one.rater, one.comment) for one in submissions if one.comment.strip()],
        notes=notes,
    )


def _broken_rule(
    submission: Submission, pages: Mapping[str, StudyPage], done: set[str], most: int
) -> tuple[str, str] | None:
    """Return the rule that `submission` breaks, and the reason; None if it counts."""
    if submission.is_rejected:
        return "rejected", "rejected by the owner"
    page = pages.get(submission.page)
    if page is None:
        return "unknown page", f"the study has no page {submission.page}"
    if submission.page in done:
        return "repeated page", f"the rater judged page {page.id} before"
    if len(done) >= most:
        return "repeated rater", f"the rater judged {len(done)} page{'s' * (len(done) > 1)} before"
    items = {item.id: item for item in page.items}
    foreign = [item for item in submission.answers if item not in items]
    if foreign:
        return "unknown item", f"page {page.id} has no item {foreign[0]}"
    missing = [name for name in items if name not in submission.answers]
    if missing:
        return "missing item", f"{len(missing):,} of {len(items):,} items have no answer, first {missing[0]}"
    wrong = [name for name, item in items.items() if submission.answers[name] not in item.labels]
    if wrong:
        return "unknown label", f"item {wrong[0]} has the answer {submission.answers[wrong[0]]!r}"
    failed = failed_checks(page, submission.answers)
    if failed:
        return "failed check", f"attention check {failed[0]} has the answer {submission.answers[failed[0]]}"
    return None


_ANSWER_COLUMNS = ("item", "rater", "label")
_COMMENT, _STUDY = "comment", "study"


def read_answers(path: Path, study: Study) -> list[Submission]:
    """Return the submissions of each rater for each page of `study`, in the order of their first answers."""
    page_of = {item.id: page.id for page in study.pages for item in page.items}
    places: dict[tuple[str, str], str] = {}
    answers: dict[tuple[str, str], dict[str, str]] = {}
    comments: dict[tuple[str, str], str] = {}
    fingerprint = study.fingerprint
    for row in read_table(path, _ANSWER_COLUMNS):
        if row.values.get(_STUDY, fingerprint) != fingerprint:
            raise InputError(f"{row.place}: the answer belongs to another study")
        item, rater, label = (row.values[name].strip() for name in _ANSWER_COLUMNS)
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
    return csv_text((*_ANSWER_COLUMNS, _STUDY), rows)
