"""OpenAI-compatible endpoints: how one is named, and how it is asked, with its key, its limits and what goes wrong.

The key is read from the environment when a request is sent, and stands nowhere else: in no attribute, name, message or
file. Where an endpoint repeats it in what it answers, however escaped, it is taken out.

Source: the documented requests and responses of OpenAI's HTTP interface (chat completions, completions, embeddings).
"""

import json
import math
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints
from urllib.parse import urlsplit

from textassay.corpus.documents import read_yaml
from textassay.errors import InputError, OptionError, check_positive, check_range, check_type, unknown_name

PREFIX = "openai:"
OFFICIAL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"

LONGEST_WAIT = 600.0  # seconds that an endpoint may ask us to wait
_FIRST_WAIT, _MOST_BACKOFF = 1.0, 60.0  # seconds before the second try, and at most before any
_CONNECT_SECONDS = 10.0
_IN_FLIGHT_SECONDS = 1.0  # how long what is interrupted waits for answers that are under way, and paid
_MOST_BYTES = 256 << 20  # of one response
_SECRET = 12  # characters from which on a key is taken out of answers; servers without keys are given "none"
_LONGEST_REASON = 200  # characters of what an endpoint says of its error
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)
_OF_FILTERS = ("content_filter", "content_policy_violation")
_ADDRESS = re.compile(r"(?s)(.+)@(https?://[^?]*)", re.IGNORECASE)
_AND = re.compile(r"&(?=[a-z_]+=)")

Job = TypeVar("Job")
Result = TypeVar("Result")
Settings = TypeVar("Settings", bound="Connection")


class EndpointError(InputError):
    """An endpoint gave no answer."""


class FilteredError(EndpointError):
    """An endpoint refused a prompt because of its content."""


class _Stopped(Exception):  # noqa: N818  (nothing went wrong here)
    """Another request has failed, so this one is not tried again."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Which model of which endpoint, and how it may be asked.

    `url`: where None, ``OPENAI_BASE_URL``, or else OpenAI's own. `key_variable`: the environment variable that holds
    the key. `concurrency`: requests at a time. `retries`: of one request. `timeout`: seconds of one try.
    """

    model: str
    url: str | None = None
    key_variable: str = KEY_VARIABLE
    concurrency: int = 4
    retries: int = 5
    timeout: float = 120.0
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            check_type(name, getattr(self, name), kind)
        if not self.model.strip():
            raise OptionError(f"give a model after '{PREFIX}', such as {PREFIX}gpt-4o-mini or {PREFIX}MODEL@URL")
        if not re.fullmatch(r"\w+", self.key_variable):
            raise OptionError("key_variable must be the name of an environment variable, not the key itself")
        check_range("concurrency", self.concurrency, 1, 256)
        check_range("retries", self.retries, 0, 100)
        check_positive(self, ("timeout", "requests_per_minute", "tokens_per_minute"))
        check_address(self.address)

    @property
    def address(self) -> str:
        """Where requests go to, without a stroke at the end."""
        return (self.url or os.environ.get(URL_VARIABLE) or OFFICIAL).rstrip("/")

    @property
    def place(self) -> str:
        return f"{self.model}@{self.address}"


def check_address(url: str) -> None:
    """Raise unless `url` is an address of the web that holds no password; messages do not repeat what may hold one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # raises where the port is none
    except ValueError:
        host = None
    if host is None or parts.scheme.lower() not in ("http", "https"):
        raise OptionError("the address of an endpoint must begin with http:// or https://, as https://HOST/v1")
    if "@" in parts.netloc:
        raise OptionError(
            f"the address of an endpoint must not contain a user or a password: set {KEY_VARIABLE} instead"
        )
    if parts.query or parts.fragment:
        raise OptionError("the address of an endpoint must not contain '?' or '#': keys are read from the environment")


def names_endpoint(name: object) -> bool:
    """Return whether `name` stands for a model of an endpoint."""
    return isinstance(name, str | os.PathLike) and os.fspath(name).startswith(PREFIX)


def settings_of(kind: type[Settings], name: str) -> Settings:
    """Return the settings that a name stands for: ``openai:MODEL@URL?temperature=0.8&...``, or ``openai:FILE.yaml``."""
    text = os.fspath(name).removeprefix(PREFIX)
    types = {field: hint for field, hint in get_type_hints(kind).items() if not field.startswith("_")}
    if Path(text).suffix in (".yaml", ".yml"):
        return checked(kind, _of_file(Path(text)), text)
    before, mark, after = text.partition("?")
    values: dict[str, Any] = {}
    for part in _AND.split(after) if mark else []:
        key, _, value = part.partition("=")
        _check_known(kind, key, PREFIX)
        if key in values:
            raise OptionError(f"{PREFIX}{before}: '{key}' is given twice")
        values[key] = _converted(key, value, types[key])
    match = _ADDRESS.fullmatch(before)
    if match is None and re.search(r".@([\w-]+\.)*[\w-]+(:\d+)?(/|$)", before):
        raise OptionError("the address of an endpoint must begin with http:// or https://, as openai:MODEL@https://...")
    place = {"model": before} if match is None else {"model": match[1], "url": match[2]}
    return checked(kind, {**values, **place}, PREFIX)


def checked(kind: type[Settings], values: Mapping[str, Any], where: str) -> Settings:
    """Return settings of their values; raise for those that are unknown or missing."""
    for key in values:
        _check_known(kind, key, where)
    if "model" not in values:
        raise OptionError(f"{where}: there is no 'model'")
    return kind(**values)


def _check_known(kind: type[Connection], key: str, where: str) -> None:
    known = [field.name for field in fields(kind)]
    if key in known:
        return
    if "key" in key.lower() or "token" in key.lower() or "auth" in key.lower():
        raise OptionError(f"'{key}': keys are read only from the environment: set {KEY_VARIABLE}, or name key_variable")
    raise unknown_name(f"setting of {where.rstrip(':')}", key, known)


def _of_file(path: Path) -> dict[str, Any]:
    try:
        document = read_yaml(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if not isinstance(document, Mapping) or not all(isinstance(key, str) for key in document):
        raise InputError(f"{path} must map settings of an endpoint to values, such as 'model: gpt-4o-mini'")
    return dict(document)


def _converted(name: str, text: str, kind: Any) -> Any:
    """Return what a value of the command line means, by the type of its setting."""
    kinds = [one for one in (get_args(kind) or (kind,)) if one is not NoneType]
    try:
        if bool in kinds:
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        if int in kinds or float in kinds:
            return int(text) if int in kinds else float(text)
    except (KeyError, ValueError):
        allowed = "yes or no" if bool in kinds else "a whole number" if int in kinds else "a number"
        raise OptionError(f"{name} must be {allowed}, got '{text}'") from None
    return text


class Client:
    """Sends requests to an endpoint: waits for its turn, tries again, and says in one line what is wrong."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._sessions = threading.local()
        self._begin = 0.0  # of the next request, by the clock of `time.monotonic`
        self._has_answered = False

    def __reduce__(self) -> tuple[type["Client"], tuple[Connection]]:
        return Client, (self.connection,)

    def post(
        self, path: str, body: Mapping[str, Any], stop: threading.Event | None = None
    ) -> tuple[dict[str, Any], int]:
        """Return the JSON object that the endpoint answers, and after how many tries.

        Raises an `EndpointError` where it gives none.

        `stop`: ends waiting for another try.
        """
        stop = threading.Event() if stop is None else stop
        tries = 0
        while True:
            self._wait_for_turn(stop)
            tries += 1
            try:
                return self._once(path, body), tries
            except _TryAgain as problem:
                if tries > self.connection.retries:
                    often = "" if tries == 1 else f", {tries} times"
                    raise EndpointError(f"{self.connection.place}: {problem}{often}") from None
                backoff = min(_FIRST_WAIT * 2 ** (tries - 1), _MOST_BACKOFF) * (0.5 + random.Random().random() / 2)
                seconds = backoff if problem.seconds is None else problem.seconds
                if seconds > LONGEST_WAIT:
                    asked = f"and asks to wait {seconds:,.0f} seconds, more than {LONGEST_WAIT:.0f}"
                    raise EndpointError(f"{self.connection.place}: {problem} {asked}") from None
                if problem.seconds is not None:  # it is for all requests
                    with self._lock:
                        self._begin = max(self._begin, time.monotonic() + seconds)
                if stop.wait(seconds):
                    raise _Stopped from None

    def models(self) -> list[str]:
        """Return the names of the endpoint's models; none where it does not say."""
        try:
            status, _, content = self._send("GET", "models", None, seconds=_CONNECT_SECONDS)
            rows = self._parsed(content)["data"] if status == 200 else []
            return sorted(str(row["id"]) for row in rows)
        except (_TryAgain, EndpointError, KeyError, TypeError):
            return []

    def spend(self, tokens: int) -> None:
        """Let the next requests wait as long as so many tokens take at the limit, if there is one."""
        limit = self.connection.tokens_per_minute
        if limit is not None:
            with self._lock:
                self._begin = max(self._begin, time.monotonic()) + 60 * tokens / limit

    def _wait_for_turn(self, stop: threading.Event) -> None:
        limit = self.connection.requests_per_minute
        while True:
            with self._lock:
                now = time.monotonic()
                if now >= self._begin:
                    self._begin = now if limit is None else now + 60 / limit
                    return
                seconds = self._begin - now
            if stop.wait(seconds):
                raise _Stopped

    def _once(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        status, headers, content = self._send("POST", path, body, seconds=self.connection.timeout)
        place = self.connection.place
        if status == 200:
            document = self._parsed(content)
            if isinstance(document, dict) and (document.get("choices") or document.get("data")):
                self._has_answered = True
                return document
            if content.lstrip()[:1] == b"<":
                raise EndpointError(f"{place}: sent a web page instead of JSON; {_ASK_ADDRESS}")
            reason = _reason(document)
            raise _TryAgain(
                "gave no answer" + (f" ({reason})" if reason else ", but the answer is not the expected JSON")
            )
        document = self._parsed(content)
        reason, code = _reason(document), _code(document)
        said = f": {reason}" if reason else ""
        if status in _AGAIN and code != "insufficient_quota":
            raise _TryAgain(f"failed with status {status}{said}", _seconds_asked(headers))
        if 300 <= status < 400:
            raise EndpointError(f"{place}: the address redirects (status {status}); give the target address")
        if status == 401:  # what is said of a key may hold parts of it
            variable = self.connection.key_variable
            wrong = f"the key in {variable} is refused" if _key(variable) else f"it requires a key: set {variable}"
            raise EndpointError(f"{place}: {wrong} (status 401)")
        if status in (404, 405) and not isinstance(document, dict):
            raise EndpointError(f"{place}: there is nothing at this address (status {status}); {_ASK_ADDRESS}")
        if status == 404:
            names = self.models()
            known = f"; it has {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}" if names else ""
            known = known or f"; {_ASK_ADDRESS}"
            raise EndpointError(f"{place}: no such model or address (status 404){said}{known}")
        kind = FilteredError if code in _OF_FILTERS else EndpointError
        raise kind(f"{place}: refused the request (status {status}){said}")

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and content of one response, or raise where it is not there after `seconds`.

        The timeouts of sockets are for each byte, so a thread waits for all of them, and is left behind when time is
        up, with its connection.
        """
        connection, session, came = self.connection, self._session(), SimpleQueue[Any]()
        key = _key(connection.key_variable)
        if key is None and (connection.address == OFFICIAL or connection.key_variable != KEY_VARIABLE):
            raise EndpointError(f"{connection.place}: the environment variable {connection.key_variable} is not set")

        def exchange() -> None:
            try:
                came.put((self._exchange(session, method, path, body, key=key, seconds=seconds), None))
            except BaseException as error:
                came.put((None, error))

        threading.Thread(target=exchange, name="endpoint-request", daemon=True).start()
        try:
            response, error = came.get(timeout=seconds)
        except Empty:
            self._sessions.session = None
            raise _TryAgain(f"sent no complete answer within {seconds:g} seconds") from None
        if error is not None:
            raise error
        return response  # type: ignore[no-any-return]

    def _session(self) -> Any:
        """Return the session of this thread, which keeps its connection open."""
        import requests

        session = getattr(self._sessions, "session", None)
        if session is None:
            session = self._sessions.session = requests.Session()
        return session

    def _exchange(
        self, session: Any, method: str, path: str, body: Mapping[str, Any] | None, *, key: str | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        import requests

        connection = self.connection

        def authorise(request: Any) -> Any:  # as `auth`, so that no .netrc is looked at
            if key is not None:
                request.headers["Authorization"] = f"Bearer {key}"
            return request

        try:
            with session.request(
                method,
                f"{connection.address}/{path}",
                data=None if body is None else json.dumps(body).encode(),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                auth=authorise,
                timeout=(min(_CONNECT_SECONDS, seconds), seconds),
                allow_redirects=False,
                stream=True,
            ) as response:
                parts, size = [], 0
                for part in response.iter_content(1 << 16):
                    parts.append(part)
                    size += len(part)
                    if size > _MOST_BYTES:
                        raise EndpointError(
                            f"{connection.place}: sent an answer of more than {_MOST_BYTES >> 20} MB; request less "
                            "at once, with max_tokens or batch"
                        )
                return response.status_code, {k.lower(): v for k, v in response.headers.items()}, b"".join(parts)
        except EndpointError:  # a ValueError, too
            raise
        except requests.exceptions.SSLError:
            raise EndpointError(f"{connection.place}: no secure connection (invalid certificate)") from None
        except requests.exceptions.ConnectTimeout:
            raise self._no_connection("no connection within 10 seconds") from None
        except requests.exceptions.Timeout:
            raise _TryAgain(f"sent no complete answer within {seconds:g} seconds") from None
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
            raise _TryAgain("closed the connection in the middle of an answer") from None
        except requests.exceptions.ConnectionError as error:
            words = str(error).lower()
            if "resolve" in words or "name or service" in words:
                raise EndpointError(f"{connection.place}: unknown host; {_ASK_ADDRESS}") from None
            if "refused" in words:
                raise self._no_connection("no server is listening (connection refused)") from None
            raise _TryAgain("closed the connection") from None
        except (requests.exceptions.RequestException, ValueError) as error:
            raise EndpointError(f"{connection.place}: the request failed ({type(error).__name__})") from None

    def _parsed(self, content: bytes) -> Any:
        """Return the JSON document of a response, the key taken out of its strings; None where there is none."""
        try:
            return _masked(json.loads(content), _pattern_of(_key(self.connection.key_variable) or ""))
        except (ValueError, RecursionError):
            return None

    def _no_connection(self, words: str) -> Exception:
        """Return what to raise: where nothing was ever answered, waiting would be for nothing."""
        if self._has_answered:
            return _TryAgain(words)
        return EndpointError(f"{self.connection.place}: {words}; {_ASK_ADDRESS}")


_ASK_ADDRESS = "check the address, which usually ends in /v1"


class _TryAgain(Exception):  # noqa: N818  (whether it is an error is seen later)
    """A request failed that may succeed later; `seconds`: how long the endpoint asks to wait."""

    def __init__(self, problem: str, seconds: float | None = None) -> None:
        super().__init__(problem)
        self.seconds = seconds


def ask_each(
    jobs: Iterable[Job], ask: Callable[[Job, threading.Event], Result], n_threads: int
) -> Iterator[tuple[Job, Result]]:
    """Yield each job and what `ask` returns for it, as they are done, `n_threads` at a time.

    After an error no job is begun; those that are running are waited for and yielded, then it is raised. What is
    interrupted waits for them a second.
    """
    stop, done, lock, waiting = threading.Event(), SimpleQueue[Any](), threading.Lock(), iter(jobs)

    def work() -> None:
        while not stop.is_set():
            with lock:
                job = next(waiting, done)
            if job is done:
                break
            try:
                result = ask(job, stop)  # type: ignore[arg-type]
            except BaseException as error:
                stop.set()
                done.put((None, None, error))
            else:
                done.put((job, result, None))
        done.put(None)

    for number in range(n_threads):  # daemons: what is interrupted does not wait for an endpoint
        threading.Thread(target=work, name=f"endpoint-{number}", daemon=True).start()
    failure: BaseException | None = None
    running = n_threads
    try:
        while running:
            item = done.get()
            if item is None:
                running -= 1
            elif item[2] is None:
                yield item[0], item[1]
            elif failure is None or isinstance(failure, _Stopped):
                failure = item[2]
    finally:
        stop.set()
        end = time.monotonic() + _IN_FLIGHT_SECONDS
        while running and (seconds := end - time.monotonic()) > 0:  # `ask` keeps what comes
            with suppress(Empty):
                running -= done.get(timeout=seconds) is None
    if failure is not None:
        raise failure


def about_tokens(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters, of Chinese and the like all of them."""
    n_wide = sum(letter >= "⺀" for letter in text)
    return math.ceil((len(text) - n_wide) / 4) + n_wide


def _key(variable: str) -> str | None:
    key = os.environ.get(variable, "").strip() or None
    if key is not None and not re.fullmatch(r"[!-~]+", key):
        wrong = "a line break" if len(key.splitlines()) > 1 else "a character that is no ASCII letter, digit or mark"
        raise EndpointError(f"the key in {variable} holds {wrong}: set it to the key only")
    return key


@cache
def _pattern_of(key: str) -> re.Pattern[str] | None:
    """Return what finds a key that an endpoint repeats, as it is or escaped; None for one that is no secret."""
    if len(key) < _SECRET:
        return None
    signs = (rf"(?:\\*{re.escape(sign)}|\\+u{ord(sign):04x}|%{ord(sign):02x}|&#{ord(sign)};)" for sign in key)
    return re.compile("".join(signs), re.IGNORECASE)


def _masked(value: Any, key: re.Pattern[str] | None) -> Any:
    if key is None:
        return value
    if isinstance(value, str):
        return key.sub("[key]", value)
    if isinstance(value, list):
        return [_masked(item, key) for item in value]
    if isinstance(value, dict):
        return {_masked(name, key): _masked(item, key) for name, item in value.items()}
    return value


def _reason(document: Any) -> str:
    """Return what an endpoint says of its error, as one short line."""
    error = document.get("error", document) if isinstance(document, dict) else None
    words = error if isinstance(error, str) else None
    for name in ("message", "detail", "msg"):
        if isinstance(error, dict) and words is None and error.get(name):
            words = error[name] if isinstance(error[name], str) else json.dumps(error[name])
    line = "".join(sign if sign.isprintable() else " " for sign in " ".join((words or "").split()))
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}..."


def _code(document: Any) -> str | None:
    error = document.get("error") if isinstance(document, dict) else None
    found = [error.get(name) for name in ("code", "type")] if isinstance(error, dict) else []
    known = [name for name in found if name in (*_OF_FILTERS, "insufficient_quota")]
    return str(known[0]) if known else None


def _seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return how long an endpoint asks to wait, in seconds or until a date; None where it does not."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif "retry-after" in headers:
            value = headers["retry-after"]
            is_number = re.fullmatch(r"\s*\d+(\.\d+)?\s*", value) is not None
            seconds = float(value) if is_number else parsedate_to_datetime(value).timestamp() - time.time()
        else:
            return None
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def defaults_left_out(settings: Connection, names: Iterable[str]) -> dict[str, Any]:
    """Return those of the named settings that are not at their defaults."""
    default = {field.name: None if field.default is MISSING else field.default for field in fields(settings)}
    return {name: getattr(settings, name) for name in names if getattr(settings, name) != default[name]}
