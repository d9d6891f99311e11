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

from textassay.cli.messages import print_line
from textassay.errors import InputError, MissingExtraError, OptionError, OutputError
from textassay.human.server.addresses import AddressLimit, usual_limit
from textassay.human.server.app import create_app
from textassay.human.server.database import database_url, open_database
from textassay.human.server.pool import Pool
from textassay.human.server.results import check_same_study, claim, to_progress
from textassay.human.server.security import hash_token, new_token
from textassay.human.server.service import Service
from textassay.human.study import STUDY_FILE, load_study

__all__ = ["ServeOptions", "run_serve"]


@dataclass(frozen=True)
class ServeOptions:
    """What the command line asked for; the fields are the options of ``textassay human serve``."""

    study: Path
    host: str = "127.0.0.1"
    port: int = 8000
    database: str | None = None
    owner_token_file: Path | None = None
    new_owner_token: bool = False
    pages_per_participant: int = 1
    time_limit: float = 60.0
    first_answer_limit: float = 10.0
    per_address: int | None = None
    invite_only: bool = False
    trust_proxy: tuple[str, ...] = ()


def run_serve(options: ServeOptions) -> int:
    """Serve the study until interrupted; return 0."""
    _check(options)
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("human serve", "human") from error

    from textassay.human.server.protocol import server_config

    study = load_study(options.study)
    folder = options.study if options.study.is_dir() else options.study.parent
    pool = Pool(study, options.pages_per_participant, 60 * options.time_limit, 60 * options.first_answer_limit)
    url = options.database or database_url(folder)
    n_places = len(study.pages) * study.judgements_per_page
    per_address = usual_limit(n_places) if options.per_address is None else options.per_address
    if options.invite_only:
        per_address = 0  # a personal link says more than an address
    with (
        _private_files(options.study if options.study.is_file() else folder / STUDY_FILE),
        open_database(url) as database,
        _listen(options.host, options.port) as listener,
    ):
        known = database.run_now(lambda connection: check_same_study(connection, study))
        owner_hash, token = _owner(options, known)
        database.run_now(lambda connection: claim(connection, study, owner_hash))
        progress = database.run_now(lambda connection: to_progress(connection, pool))
        service = Service(
            pool,
            database,
            owner_hash,
            address_limit=AddressLimit(per_address, time.monotonic),
            invite_only=options.invite_only,
            trusts_proxy=bool(options.trust_proxy),
            tell=print_line,
        )
        config = server_config(create_app(service), trusted_proxies=options.trust_proxy)
        address = f"http://{_shown(options.host)}:{listener.getsockname()[1]}"
        n_pages, judges = progress["n_pages"], study.judgements_per_page
        size = f"{n_pages} page{'s' * (n_pages != 1)}, {judges} judge{'s' * (judges != 1)} each"
        print(f"study         {study.title}")
        print(f"pages         {size}; {progress['n_done']} of {progress['n_places']} submissions are in")
        if options.invite_only:
            print(f"participants  by invitation: textassay human invite {shlex.quote(str(options.study))} makes links")
        else:
            print(f"participants  {address}/join")
            if per_address:
                print(f"one address   at most {per_address} people who have not finished (--per-address)")
        print(f"owner         {address}/owner")
        if token:
            print(f"owner's token {token}  (shown this once)")
        print("Ctrl-C stops; every answer that was saved is kept", flush=True)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    print("stopped; serve the study again to go on", flush=True)
    return 0


def _check(options: ServeOptions) -> None:
    if not 0 <= options.port <= 65535:
        raise OptionError(f"--port must be between 0 and 65535, got {options.port}")
    if options.pages_per_participant < 1:
        raise OptionError(f"--pages-per-participant must be at least 1, got {options.pages_per_participant}")
    if not 0 < options.time_limit < float("inf"):
        raise OptionError(f"--time-limit must be above 0 minutes, got {options.time_limit:g}")
    if not 0 < options.first_answer_limit < float("inf"):
        raise OptionError(f"--first-answer-limit must be above 0 minutes, got {options.first_answer_limit:g}")
    if options.per_address is not None and options.per_address < 0:
        raise OptionError(f"--per-address must be at least 0 (no limit), got {options.per_address}")
    for proxy in options.trust_proxy:
        try:
            ipaddress.ip_address(proxy)
        except ValueError:
            raise OptionError(
                f"--trust-proxy takes the address of a proxy, such as 127.0.0.1, got '{proxy[:60]}'"
            ) from None


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


def _owner(options: ServeOptions, known: str | None) -> tuple[str, str]:
    """Return the hash of the owner's token, and the token itself where it must be shown."""
    file = options.owner_token_file
    wanted = known is None or options.new_owner_token
    if file is not None and file.exists() and not options.new_owner_token:
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if len(token) < 20:
            raise InputError(f"{file} holds no token: at least 20 characters are needed")
        if known is not None and hash_token(token) != known:
            raise InputError(f"{file} holds another token than this study's; --new-owner-token makes a new one")
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
