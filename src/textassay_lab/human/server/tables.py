"""The tables of a study's database, the same for SQLite and PostgreSQL.

They do not identify participants: no address, no browser, and only a hash of the link. The writers of texts are not in
the database.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlalchemy as sa


OPEN, ACCEPTED, REFUSED = "open", "accepted", "refused"


@dataclass(frozen=True)
class Tables:
    """The tables."""

    metadata: "sa.MetaData"
    study: "sa.Table"  # One row: fingerprint of the pages, hash of the owner's token
    participants: "sa.Table"  # One row per link that was opened
    # One row per page taken by a participant: state, times when it was taken, last seen and submitted (seconds since
    # 1970), comment, completion code, reason of a rejection
    sheets: "sa.Table"
    answers: "sa.Table"  # One row per item of a sheet: label and time


@cache
def tables() -> Tables:
    """Return the tables; the same object each time."""
    import sqlalchemy as sa

    metadata = sa.MetaData()
    seconds = sa.Float(53)
    study = sa.Table(
        "study",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("owner_hash", sa.String(64), nullable=False),
    )
    participants = sa.Table(
        "participants",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("joined", seconds, nullable=False),
    )
    sheets = sa.Table(
        "sheets",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("participant", sa.ForeignKey("participants.id"), nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("taken", seconds, nullable=False),
        sa.Column("seen", seconds, nullable=False),
        sa.Column("handed_in", seconds),
        sa.Column("comment", sa.Text, nullable=False, server_default=""),
        sa.Column("code", sa.String(20), unique=True),
        sa.Column("reason", sa.Text),
        sa.UniqueConstraint("participant", "page"),
        sa.Index("sheets_by_page", "page", "state"),
    )
    answers = sa.Table(
        "answers",
        metadata,
        sa.Column("sheet", sa.ForeignKey("sheets.id"), primary_key=True),
        sa.Column("item", sa.String(200), primary_key=True),
        sa.Column("label", sa.String(20), nullable=False),
        sa.Column("at", seconds, nullable=False),
    )
    return Tables(metadata, study, participants, sheets, answers)
