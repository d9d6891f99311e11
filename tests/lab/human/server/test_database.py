"""Commits shared by many, databases that cannot be used, and SQL that PostgreSQL takes as well."""

import re
import sqlite3
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from served_study import OWNER, make_study, serve_study
from textassay.errors import InputError, OptionError
from textassay_lab.human.results import read_results
from textassay_lab.human.server.database import database_url, lock_statement, open_database, tables
from textassay_lab.human.server.results import check_same_study, claim, read_submitted, to_progress
from textassay_lab.human.study import save_study

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("fastapi")


def add(name: str) -> Any:
    """Return work that adds a participant."""
    return lambda connection: connection.execute(tables().participants.insert().values(token_hash=name, joined=0.0))


def names(path: Path) -> set[str]:
    """Return who is in the file, as another program sees it."""
    with sqlite3.connect(path / "judgements.sqlite") as other:
        found = {row[0] for row in other.execute("select token_hash from participants")}
    other.close()
    return found


def test_what_was_answered_is_committed(tmp_path: Path) -> None:
    with open_database(database_url(tmp_path)) as database:
        for number in range(5):
            database.run_now(add(str(number)))
            assert str(number) in names(tmp_path)


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with open_database(database_url(tmp_path)) as database:
        settings = {
            name: database.run_now(lambda connection, what=name: connection.exec_driver_sql(f"PRAGMA {what}").scalar())  # type: ignore[misc]
            for name in ("synchronous", "journal_mode", "foreign_keys")
        }
    assert settings == {"synchronous": 2, "journal_mode": "wal", "foreign_keys": 1}  # 2: FULL, also if power fails


def test_one_that_fails_takes_nobody_with_it(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    began, go = Event(), Event()

    def wait(connection: Any) -> None:
        began.set()
        go.wait(5)

    with open_database(database_url(tmp_path)) as database, ThreadPoolExecutor(8) as threads:
        first = threads.submit(database.run_now, wait)
        began.wait(5)
        # All these wait while the first is at work, so they share a transaction; one breaks a rule.
        rest = [threads.submit(database.run_now, add(name)) for name in ("a", "b", "a", "c")]
        while database._jobs.qsize() < 4:
            pass
        go.set()
        first.result()
        errors = [one.exception() for one in rest]
    assert sum(error is not None for error in errors) == 1
    assert isinstance(next(error for error in errors if error), sa.exc.IntegrityError)
    assert names(tmp_path) == {"a", "b", "c"}


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "judgements.sqlite").write_text("hello " * 1000)
    with pytest.raises(InputError, match="it is not an SQLite database"):
        open_database(database_url(tmp_path))


def test_a_damaged_database(tmp_path: Path) -> None:
    with open_database(database_url(tmp_path)) as database:
        for number in range(200):
            database.run_now(add(f"{number:064d}"))
    path = tmp_path / "judgements.sqlite"
    content = bytearray(path.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        open_database(database_url(tmp_path))


def test_a_locked_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay_lab.human.server.database._PATIENCE", 0.05)
    open_database(database_url(tmp_path)).close()
    other = sqlite3.connect(tmp_path / "judgements.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="another program has locked it"):
        open_database(database_url(tmp_path))
    other.close()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be created or opened"):
        open_database(database_url(tmp_path / "nowhere"))


@pytest.mark.parametrize("url", ["judgements.sqlite", "nosuch://here/there", "", "sqlite"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(OptionError, match="--database must be like"):
        open_database(url)


def test_no_database_is_made_where_one_is_read(tmp_path: Path) -> None:
    save_study(make_study(), tmp_path)
    with pytest.raises(InputError, match=r"there is no database \S*typed-wrong\.sqlite"):
        read_results(tmp_path, database=f"sqlite:///{tmp_path}/typed-wrong.sqlite")
    assert not (tmp_path / "typed-wrong.sqlite").exists()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_database_that_would_forget_is_refused(url: str) -> None:
    with pytest.raises(OptionError, match="--database must name a file"):
        open_database(url)


def test_a_driver_that_is_missing_and_no_password_is_said() -> None:
    with pytest.raises((OptionError, InputError)) as caught:
        open_database("postgresql+pg8000://me:secretword@127.0.0.1:9/x")
    assert "pip install pg8000" in str(caught.value)
    assert "secretword" not in str(caught.value)


def test_a_database_of_another_study_is_refused(tmp_path: Path) -> None:
    study, other = make_study(), make_study(text="changed")
    with open_database(database_url(tmp_path)) as database:
        database.run_now(lambda connection: claim(connection, study, "hash"))
        assert database.run_now(lambda connection: check_same_study(connection, study)) == "hash"
        with pytest.raises(InputError, match="have changed since"):
            database.run_now(lambda connection: check_same_study(connection, other))


def test_all_sql_is_postgresqls_too(tmp_path: Path) -> None:
    from sqlalchemy.dialects import postgresql

    dialect: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
    seen: set[str] = set()

    def note(connection: Any, statement: Any, *rest: object) -> None:
        if not isinstance(statement, str):
            seen.add(str(statement.compile(dialect=dialect)))

    sites = serve_study(tmp_path, make_study())
    site = next(sites)
    sa.event.listen(site.database.engine, "before_execute", note)
    person = site.join()
    person.judge(0, "real")
    person.judge(0, "fake")
    person.finish(comment="hello")
    site.clock.now += 4000
    site.join()
    site.enter_owner()
    site.database.run_now(lambda connection: to_progress(connection, site.pool))
    site.database.run_now(read_submitted)
    sites.close()
    assert len(seen) > 15
    assert str(lock_statement().compile(dialect=dialect)).rstrip().endswith("FOR UPDATE")
    schema = " ".join(
        str(sa.schema.CreateTable(table).compile(dialect=dialect)) for table in tables().metadata.sorted_tables
    )
    assert re.search(r"id SERIAL NOT NULL", schema)
    assert OWNER not in " ".join(seen)
