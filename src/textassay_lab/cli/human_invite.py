"""``textassay human invite``: personal links to a study, each for one participant."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from textassay.cli.adapter import Between, option
from textassay.cli.messages import print_line
from textassay.errors import OptionError, OutputError
from textassay_lab.cli.human_study import StudyFolder

Database = Annotated[str | None, option("[default: STUDY/judgements.sqlite]", "URL")]


@dataclass(frozen=True, kw_only=True)
class Invite:
    """Make personal links to a study, each for one participant; its server may be running."""

    study: StudyFolder
    number: Annotated[int, option("How many links.", "N"), Between(1, 100000)] = 1
    address: Annotated[str, option("Address at which participants reach the study.", "URL")] = "http://127.0.0.1:8000"
    out: Annotated[Path | None, option("Write the links there instead of printing them.", "FILE")] = None
    database: Database = None

    def run(self) -> int:
        """Enter participants who have not begun, give out a link for each, and return 0."""
        from textassay_lab.human.server.database import database_url, open_database, tables
        from textassay_lab.human.server.results import check_same_study
        from textassay_lab.human.server.security import hash_token, new_token
        from textassay_lab.human.study import load_study

        if not re.fullmatch(r"https?://[^\s/?#]+/?", self.address):
            raise OptionError(f"--address must be like https://study.example.org, got '{self.address[:60]}'")
        study = load_study(self.study)
        url = self.database or database_url(self.study if self.study.is_dir() else self.study.parent)
        tokens = [new_token() for _ in range(self.number)]
        links = "".join(f"{self.address.rstrip('/')}/p/{token}\n" for token in tokens)
        now = time.time()
        rows = [{"token_hash": hash_token(token), "joined": now} for token in tokens]

        def enter(connection: Any) -> None:
            check_same_study(connection, study)
            connection.execute(tables().participants.insert(), rows)
            if self.out is not None:  # within the transaction: without the file there are no links either
                _write_new(self.out, links)

        with open_database(url) as database:
            database.run_now(enter)
        if self.out is None:
            print(links, end="")
            print_line("each link is for one person; keep this list, it cannot be shown again")
        else:
            print_line(f"wrote {self.number} link{'s' * (self.number != 1)} to {self.out}, each for one person")
        return 0


def _write_new(path: Path, text: str) -> None:
    """Write a file that only its owner can read, and that was not there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{path} exists and may contain links: choose another --out") from None
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another --out") from None
