"""The database of a study, SQLite or PostgreSQL, used by one thread that commits the work of many requests at once.

The tables do not identify participants: no address, no browser, and only a hash of the link. The writers of texts are
not in the database.

A commit waits for the disk, whether it holds one judgement or fifty. So requests queue their work, the thread does all
of it in one transaction, and only then the requests continue: everything acknowledged is on the disk.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from textassay.errors import InputError, MissingExtraError, OptionError

if TYPE_CHECKING:
    import sqlalchemy as sa


OPEN, ACCEPTED, REFUSED = "open", "accepted", "refused"


@dataclass(frozen=True)
class Tables:
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


DATABASE_FILE = "judgements.sqlite"
_MAX_BATCH = 200
_PATIENCE = 5  # seconds to wait for another program that writes to the same file

Result = TypeVar("Result")
_Job = tuple[Callable[["sa.Connection"], Any], "Future[Any]"]


def database_url(folder: Path) -> str:
    """Return the address of the default database of a study in `folder`."""
    return f"sqlite:///{(folder / DATABASE_FILE).absolute()}"


def open_database(url: str, *, may_be_new: bool = True) -> "Database":
    """Open the database at `url` and create its tables; a new file is created only if it `may_be_new`."""
    try:
        import sqlalchemy as sa
    except ImportError as error:
        raise MissingExtraError("a study's database", "human") from error

    try:
        address = sa.make_url(url)
        engine = sa.create_engine(address, pool_pre_ping=not url.startswith("sqlite"))
    except (sa.exc.ArgumentError, ValueError) as error:
        kinds = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
        raise OptionError(f"--database must be like {kinds}: {_first(error)}") from None
    except ModuleNotFoundError as error:
        raise OptionError(f"--database needs the Python package {error.name}: pip install {error.name}") from None
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise OptionError(
            f"--database must name a file, such as sqlite:///judgements.sqlite; {url} would store nothing"
        )
    if not may_be_new and address.get_backend_name() == "sqlite" and not Path(str(address.database)).is_file():
        raise InputError(f"there is no database {address.database}")
    file = None
    if address.get_backend_name() == "sqlite" and not str(address.database).startswith("file:"):
        file = Path(str(address.database))
        _keep_private(file)
    name = address.database if address.get_backend_name() == "sqlite" else address.render_as_string()
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                status = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
                if status != "ok":
                    raise InputError(
                        f"the database {name} is damaged ({_first(status)}); restore a copy, or move it away"
                    )
            tables().metadata.create_all(connection)
    except (sa.exc.SQLAlchemyError, OSError) as error:
        engine.dispose()
        raise InputError(f"the database {name} cannot be used: {explain(error)}") from None
    return Database(engine)


class Database:
    def __init__(self, engine: "sa.Engine") -> None:
        self.engine = engine
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="database", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[["sa.Connection"], Result]) -> Result:
        """Run `work` in the thread, in a transaction that others may share; return its result once committed."""
        future: Future[Result] = Future()
        self._jobs.put((work, future))
        return await asyncio.wrap_future(future)

    def run_now(self, work: Callable[["sa.Connection"], Result]) -> Result:
        """Do the same without an event loop."""
        future: Future[Result] = Future()
        self._jobs.put((work, future))
        return future.result()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish queued work and close the database; a second call does nothing."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
            self.engine.dispose()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, ends = [job], False
            while len(batch) < _MAX_BATCH and not ends:
                try:
                    following = self._jobs.get_nowait()
                except Empty:
                    break
                ends = following is None
                if following is not None:
                    batch.append(following)
            batch = [job for job in batch if job[1].set_running_or_notify_cancel()]
            try:
                results = self._run_batch([work for work, _ in batch])
            except Exception as error:
                self._run_separately(batch, error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    future.set_result(result)
            if ends:
                return

    def _run_batch(self, batch: list[Callable[["sa.Connection"], Any]]) -> list[Any]:
        with self.engine.begin() as connection:
            if self.engine.dialect.name != "sqlite":  # SQLite allows one writer only
                connection.execute(lock_statement())
            return [work(connection) for work in batch]

    def _run_separately(self, batch: list[_Job], error: Exception) -> None:
        """Run each job in its own transaction, so that only the failing ones fail."""
        for work, future in batch:
            if len(batch) == 1:
                future.set_exception(error)
                continue
            try:
                (result,) = self._run_batch([work])
            except Exception as own:
                future.set_exception(own)
            else:
                future.set_result(result)


def lock_statement() -> "sa.Select[Any]":
    """Return the statement that locks out other servers until the transaction ends, so no place is given twice."""
    import sqlalchemy as sa

    return sa.select(tables().study.c.id).with_for_update()


def explain(error: BaseException) -> str:
    """Return a one-line explanation of an error of a database or file."""
    import sqlalchemy as sa

    text = _first(error.orig if isinstance(error, sa.exc.DBAPIError) else error)
    known = {
        "database is locked": "another program has locked it; end it, or name another database with --database",
        "file is not a database": "it is not an SQLite database; move it away or name another with --database",
        "malformed": "it is damaged; restore a copy, or move it away",
        "unable to open database file": "it cannot be created or opened there",
        "readonly database": "it cannot be written to",
    }
    return next((meaning for symptom, meaning in known.items() if symptom in text), text)


def _keep_private(file: Path) -> None:
    """Create the file, if necessary, readable by its owner only; SQLite gives its side files the same mode."""
    with contextlib.suppress(OSError):  # SQLite reports the problem
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    for one in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        with contextlib.suppress(OSError):  # owned by somebody else
            if one.is_file():
                one.chmod(0o600)


def _first(error: BaseException | str | None) -> str:
    return str(error).strip().partition("\n")[0]


def _prepare_sqlite(engine: "sa.Engine") -> None:
    """Set SQLite to write-ahead logging, full synchronisation and immediate transactions."""
    import sqlalchemy as sa

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        cursor = connection.cursor()
        for setting in (
            f"busy_timeout = {1000 * _PATIENCE}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            cursor.execute(f"PRAGMA {setting}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: "sa.Connection") -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
