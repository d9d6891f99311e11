"""``textassay human invite``: personal links to a study, each for one participant."""

import os
import re
import time
from pathlib import Path
from typing import Any

from textassay.cli.messages import print_line
from textassay.errors import OptionError, OutputError, check_range
from textassay.human.server.database import database_url, open_database
from textassay.human.server.results import check_same_study
from textassay.human.server.security import hash_token, new_token
from textassay.human.server.tables import tables
from textassay.human.study import load_study

__all__ = ["run_invite"]

_MOST = 100_000


def run_invite(folder: Path, *, number: int, address: str, out: Path | None, database: str | None) -> int:
    """Enter `number` participants who have not begun, give out a link for each, and return 0."""
    check_range("--number", number, 1, _MOST)
    if not re.fullmatch(r"https?://[^\s/?#]+/?", address):
        raise OptionError(f"--address must be like https://study.example.org, got '{address[:60]}'")
    study = load_study(folder)
    url = database or database_url(folder if folder.is_dir() else folder.parent)
    tokens = [new_token() for _ in range(number)]
    links = "".join(f"{address.rstrip('/')}/p/{token}\n" for token in tokens)
    now = time.time()
    rows = [{"token_hash": hash_token(token), "joined": now} for token in tokens]

    def enter(connection: Any) -> None:
        check_same_study(connection, study)
        connection.execute(tables().participants.insert(), rows)
        if out is not None:  # within the transaction: without the file there are no links either
            _write_new(out, links)

    with open_database(url) as opened:
        opened.run_now(enter)
    if out is None:
        print(links, end="")
        print_line("each link is for one person; keep this list, it cannot be shown again")
    else:
        print_line(f"wrote {number} link{'s' * (number != 1)} to {out}, each for one person")
    return 0


def _write_new(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and that was not there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{path} is there already, and may hold links: choose another --out") from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None
