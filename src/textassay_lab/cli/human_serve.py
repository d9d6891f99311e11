"""``textassay human serve``: a study as a web page, until it is stopped."""

import contextlib
import ipaddress
import logging
import os
import shlex
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from textassay.cli.adapter import Between, option
from textassay.cli.messages import print_line
from textassay.errors import InputError, MissingExtraError, OptionError, OutputError
from textassay_lab.cli.human_invite import Database
from textassay_lab.cli.human_study import StudyFolder


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Run the study as a web page."""

    study: StudyFolder
    host: Annotated[str, option("Address to listen on; 0.0.0.0 means all addresses.")] = "127.0.0.1"
    port: Annotated[int, option("Port to listen on; 0 chooses a free one."), Between(0, 65535)] = 8000
    database: Database = None
    owner_token_file: Annotated[
        Path | None, option("Write the owner's token there instead of printing it.", "FILE")
    ] = None
    new_owner_token: Annotated[bool, option("Replace the owner's token.", names=("--new-owner-token",))] = False
    pages_per_participant: Annotated[int, option("Most pages per participant.", "N"), Between(1)] = 1
    time_limit: Annotated[
        float, option("Minutes without an answer before a page goes to another participant.", "MINUTES")
    ] = 60.0
    first_answer_limit: Annotated[
        float, option("Minutes without a first answer before a page goes to another participant.", "MINUTES")
    ] = 10.0
    per_address: Annotated[
        int | None,
        option("Most unfinished participants per address; 0: no limit. Half of all places by default, 5 to 50.", "N"),
        Between(0),
    ] = None
    invite_only: Annotated[
        bool, option("Only for people with a link from 'human invite'.", names=("--invite-only",))
    ] = False
    trust_proxy: Annotated[
        list[str] | None, option("Trusted proxy that forwards client addresses; may be repeated.", "ADDRESS")
    ] = None

    def run(self) -> int:
        """Serve the study until interrupted; return 0."""
        self._check()
        try:
            import uvicorn
        except ImportError as error:
            raise MissingExtraError("human serve", "human") from error

        from textassay_lab.human.server.app import Service, create_app
        from textassay_lab.human.server.database import database_url, open_database
        from textassay_lab.human.server.pool import Pool
        from textassay_lab.human.server.results import check_same_study, claim, to_progress
        from textassay_lab.human.server.security import AddressLimit, server_config, usual_limit
        from textassay_lab.human.study import STUDY_FILE, load_study

        study = load_study(self.study)
        folder = self.study if self.study.is_dir() else self.study.parent
        pool = Pool(study, self.pages_per_participant, 60 * self.time_limit, 60 * self.first_answer_limit)
        url = self.database or database_url(folder)
        n_places = len(study.pages) * study.judgements_per_page
        per_address = usual_limit(n_places) if self.per_address is None else self.per_address
        if self.invite_only:
            per_address = 0  # a personal link says more than an address
        with (
            _private_files(self.study if self.study.is_file() else folder / STUDY_FILE),
            open_database(url) as database,
            _listen(self.host, self.port) as listener,
        ):
            known = database.run_now(lambda connection: check_same_study(connection, study))
            owner_hash, token = self._owner(known)
            database.run_now(lambda connection: claim(connection, study, owner_hash))
            progress = database.run_now(lambda connection: to_progress(connection, pool))
            service = Service(
                pool,
                database,
                owner_hash,
                address_limit=AddressLimit(per_address, time.monotonic),
                invite_only=self.invite_only,
                trusts_proxy=bool(self.trust_proxy),
                notify=print_line,
            )
            config = server_config(create_app(service), trusted_proxies=tuple(self.trust_proxy or ()))
            address = f"http://{_shown(self.host)}:{listener.getsockname()[1]}"
            n_pages, judges = progress["n_pages"], study.judgements_per_page
            size = f"{n_pages} page{'s' * (n_pages != 1)}, {judges} judge{'s' * (judges != 1)} each"
            print(f"study         {study.title}")
            print(f"pages         {size}; {progress['n_done']} of {progress['n_places']} submissions received")
            if self.invite_only:
                print(f"participants  by invitation: textassay human invite {shlex.quote(str(self.study))} makes links")
            else:
                print(f"participants  {address}/join")
                if per_address:
                    print(f"one address   at most {per_address} people who have not finished (--per-address)")
            print(f"owner         {address}/owner")
            if token:
                print(f"owner's token {token}  (shown this once)")
            print("Ctrl-C stops the server; saved answers are kept", flush=True)
            logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listener])
        print("stopped; serve the study again to continue", flush=True)
        return 0

    def _check(self) -> None:
        for name, minutes in (("--time-limit", self.time_limit), ("--first-answer-limit", self.first_answer_limit)):
            if not 0 < minutes < float("inf"):
                raise OptionError(f"{name} must be above 0 minutes, got {minutes:g}")
        for proxy in self.trust_proxy or ():
            try:
                ipaddress.ip_address(proxy)
            except ValueError:
                raise OptionError(
                    f"--trust-proxy takes the address of a proxy, such as 127.0.0.1, got '{proxy[:60]}'"
                ) from None

    def _owner(self, known: str | None) -> tuple[str, str]:
        """Return the hash of the owner's token, and the token itself where it must be shown."""
        from textassay_lab.human.server.security import hash_token, new_token

        file = self.owner_token_file
        wanted = known is None or self.new_owner_token
        if file is not None and file.exists() and not self.new_owner_token:
            try:
                token = file.read_text(encoding="utf-8").strip()
            except (OSError, ValueError) as error:
                raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
            if len(token) < 20:
                raise InputError(f"{file} contains no token: at least 20 characters are needed")
            if known is not None and hash_token(token) != known:
                raise InputError(f"{file} contains the token of another study; --new-owner-token makes a new one")
            return hash_token(token), ""
        if not wanted:
            assert known is not None
            return known, ""
        token = new_token()
        if file is None:
            return hash_token(token), token
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                os.fchmod(descriptor, 0o600)
                opened.write(token + "\n")
        except OSError as error:
            raise OutputError(f"cannot write {file}: {error.strerror or error}") from None
        return hash_token(token), ""


@contextlib.contextmanager
def _private_files(study: Path) -> Iterator[None]:
    """Keep `study` and every file that is made from here on for the owner alone."""
    with contextlib.suppress(OSError):  # another's file
        study.chmod(0o600)
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a port in use is found before anything is said."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        known = error.errno is not None and error.errno > 0  # the rest are no errors of the system, but of names
        reason = (os.strerror(error.errno or 0) if known else error.strerror or str(error)).lower()
        raise OptionError(f"cannot listen on {host}, port {port}: {reason}; choose another --port or --host") from None


def _shown(host: str) -> str:
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    return f"[{name}]" if ":" in name else name
