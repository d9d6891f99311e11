"""Results in the database of a study: progress for the owner, judgements for analysis, everything as JSON."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textassay.errors import InputError
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.ratings_file import ratings_csv
from textassay_lab.human.server.database import ACCEPTED, OPEN, tables
from textassay_lab.human.server.pool import Pool
from textassay_lab.human.study import Study
from textassay_lab.human.submissions import Submission, answers_csv, collect

if TYPE_CHECKING:
    import sqlalchemy as sa


@dataclass(frozen=True)
class SubmittedPage:
    """A page submitted by a participant; times are in seconds since 1970."""

    submission: Submission
    is_accepted: bool
    reason: str
    code: str
    taken: float
    at: float


def check_same_study(connection: "sa.Connection", study: Study) -> str | None:
    """Raise unless the database belongs to `study`; return the hash of the owner's token, None for a new database."""
    import sqlalchemy as sa

    row = connection.execute(sa.select(tables().study)).first()
    if row is None:
        return None
    if row.fingerprint != study.fingerprint:
        raise InputError(
            "the pages of the study have changed since its database was created. Restore the old study.json, or name "
            "a new database with --database"
        )
    return str(row.owner_hash)


def claim(connection: "sa.Connection", study: Study, owner_hash: str) -> None:
    """Record in the database its study and its owner."""
    table = tables().study
    if not connection.execute(table.update().values(owner_hash=owner_hash)).rowcount:
        connection.execute(table.insert().values(id=1, fingerprint=study.fingerprint, owner_hash=owner_hash))


def read_submitted(connection: "sa.Connection") -> list[SubmittedPage]:
    """Return all submitted pages, in order of submission."""
    import sqlalchemy as sa

    sheets, table = tables().sheets, tables().answers
    answers: dict[int, dict[str, str]] = {}
    for sheet, item, label in connection.execute(
        sa.select(table.c.sheet, table.c.item, table.c.label)
        .join(sheets, sheets.c.id == table.c.sheet)
        .where(sheets.c.state != OPEN)
    ):
        answers.setdefault(int(sheet), {})[str(item)] = str(label)
    rows = connection.execute(sa.select(sheets).where(sheets.c.state != OPEN).order_by(sheets.c.handed_in, sheets.c.id))
    return [
        SubmittedPage(
            submission=Submission(row.page, f"p{row.participant}", answers.get(row.id, {}), row.comment),
            is_accepted=row.state == ACCEPTED,
            reason=row.reason or "",
            code=row.code or "",
            taken=row.taken,
            at=row.handed_in,
        )
        for row in rows
    ]


def to_judgements(study: Study, rows: Sequence[SubmittedPage]) -> Judgements:
    """Return accepted judgements; the notes say how many pages were rejected, and why."""
    refused = Counter(row.reason for row in rows if not row.is_accepted)
    notes = [f"{n} page{'s' * (n > 1)} handed in did not count: {reason}" for reason, n in refused.items()]
    return collect(study, _accepted(rows), notes=notes)


def to_csv(study: Study, rows: Sequence[SubmittedPage]) -> str:
    """Return accepted judgements as a long CSV file for analyses."""
    return ratings_csv(to_judgements(study, rows))


def raw_answers_csv(study: Study, rows: Sequence[SubmittedPage]) -> str:
    """Return accepted answers as a CSV file, with attention checks."""
    answers = {(one.rater, item): label for one in _accepted(rows) for item, label in one.answers.items()}
    return answers_csv(study, answers)


def to_json(study: Study, rows: Sequence[SubmittedPage]) -> dict[str, Any]:
    """Return all submissions, including rejected ones, with the writer of each text; JSON-ready."""
    return {
        "title": study.title,
        "kind": study.kind,
        "judgements_per_page": study.judgements_per_page,
        "seed": study.seed,
        "fingerprint": study.fingerprint,
        "items": [
            {"id": item.id, "page": page.id, "text": item.text, "generator": item.generator, "check": item.check}
            | ({"choices": list(item.choices), "top": item.top} if item.choices else {})
            for page in study.pages
            for item in page.items
        ],
        "submissions": [
            {
                "rater": row.submission.rater,
                "page": row.submission.page,
                "accepted": row.is_accepted,
                "reason": row.reason or None,
                "code": row.code,
                "taken": round(row.taken, 3),
                "handed_in": round(row.at, 3),
                "answers": dict(row.submission.answers),
                "comment": row.submission.comment,
            }
            for row in rows
        ],
    }


def to_progress(connection: "sa.Connection", pool: Pool) -> dict[str, Any]:
    """Return the progress of the study, JSON-ready; `pages` has the places of each page: done, at work, open."""
    import sqlalchemy as sa

    sheets = tables().sheets
    rows = connection.execute(
        sa.select(sheets.c.page, sheets.c.state, sheets.c.reason, sheets.c.code, sheets.c.taken, sheets.c.handed_in)
        .where(sheets.c.state != OPEN)
        .order_by(sheets.c.handed_in, sheets.c.id)
    ).all()
    accepted = Counter(row.page for row in rows if row.state == ACCEPTED)
    held, places = pool.held(connection), pool.study.judgements_per_page
    pages = [
        {
            "id": page.id,
            "done": accepted[page.id],
            "at_work": held[page.id] - accepted[page.id],
            "open": max(0, places - held[page.id]),
        }
        for page in pool.study.pages
    ]
    minutes = [(row.handed_in - row.taken) / 60 for row in rows if row.state == ACCEPTED]
    return {
        "n_participants": int(
            connection.execute(sa.select(sa.func.count(sa.distinct(sheets.c.participant)))).scalar_one()
        ),
        "n_at_work": sum(held.values()) - sum(accepted.values()),
        "n_done": sum(min(places, accepted[page.id]) for page in pool.study.pages),
        "n_places": places * len(pages),
        "n_pages": len(pages),
        "n_pages_done": sum(accepted[page.id] >= places for page in pool.study.pages),
        "n_refused": len(rows) - sum(accepted.values()),
        "median_minutes": round(statistics.median(minutes), 1) if minutes else None,
        "pages": pages,
        "handed_in": [
            {
                "code": row.code,
                "page": row.page,
                "accepted": row.state == ACCEPTED,
                "reason": row.reason,
                "minutes": round((row.handed_in - row.taken) / 60, 1),
                "at": row.handed_in,
            }
            for row in reversed(rows)
        ],
    }


def _accepted(rows: Sequence[SubmittedPage]) -> list[Submission]:
    return [row.submission for row in rows if row.is_accepted]
