"""What protects a study: tokens and hashes, security headers, limits on rates, sizes, addresses and slow clients.

Tokens are the only identification. They have 256 random bits, so the database can store a plain SHA-256, and the proof
against cross-site request forgery is derived from the token alone. A limit on participants per internet address keeps
anybody from filling a study alone; addresses are kept in memory only. A connection that sends a request slowly, or not
at all, costs its sender nothing; without limits, enough of them would block all participants.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import math
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from textassay_lab.human.server.database import OPEN, tables

if TYPE_CHECKING:
    import sqlalchemy as sa
    import uvicorn
    from fastapi import Request


MAX_BODY_BYTES = 256 * 1024  # a page of several hundred answers and a comment
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}


def new_token() -> str:
    """Return 256 random bits as 43 URL-safe characters."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def form_proof(token: str) -> str:
    """Return the proof that a form for `token` must contain."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def equal_secrets(actual: str, expected: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(actual.encode(), expected.encode())


def is_forged(request: "Request", form: dict[str, str], token: str) -> bool:
    """Return whether a request did not come from a form of this server for `token`."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    return site not in ("same-origin", "none") or not equal_secrets(form.get("proof", ""), form_proof(token))


async def read_form(request: "Request") -> dict[str, str] | None:
    """Return the fields of a form; None if the body is too large, incomplete, or not a form."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return None
    body, is_whole = bytearray(), False
    while not is_whole:
        message = await request.receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or len(body) > MAX_BODY_BYTES:
            return None
        is_whole = not message.get("more_body", False)
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=2000))
    except ValueError:
        return None


class RateLimit:
    """Token bucket per name: `burst` actions at once, then `rate` per second."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}
        self._room = 10_000  # names, before idle ones are dropped

    def allows(self, name: str) -> bool:
        """Return whether `name` may act now, and count it."""
        now = self._clock()
        left, since = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        if len(self._left) > self._room:
            rested = self._burst / self._rate
            self._left = {key: value for key, value in self._left.items() if now - value[1] < rested}
            self._room = max(10_000, 2 * len(self._left))
        self._left[name] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class SecurityHeaders:
    """Adds `HEADERS` to every response, and forbids caching of everything but static files."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        keep = b"no-cache" if scope["path"].startswith("/static/") else b"no-store"

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers, (b"cache-control", keep)]
            await send(message)

        await self._app(scope, receive, send_with_headers)


_DAY, _HOUR = 24 * 3600.0, 3600.0


def address_name(host: str) -> str:
    """Return the address under which requests are counted: for IPv6 the /64 network of a subscriber."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:100]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)


def usual_limit(n_places: int) -> int:
    """Return the default limit on unfinished participants per address: half the places, from 5 to 50."""
    return min(50, max(5, n_places // 2))


class AddressLimit:
    """At most `most` participants of one address may join per hour, and at most `most` may be unfinished.

    Participants count for a day.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self.most, self._clock = most, clock
        self._joined: dict[str, dict[int, float]] = {}  # address to participants and when they joined
        self._rate = RateLimit(most / _HOUR, most, clock) if most else None
        self._room = 10_000  # addresses, before old ones are dropped

    def admits(self, connection: "sa.Connection", address: str) -> bool:
        """Return whether another participant may join from `address`, and count the request."""
        if self._rate is None:
            return True
        return self.n_unfinished(connection, address) < self.most and self._rate.allows(address)

    def note(self, address: str, participant: int) -> None:
        """Record that `participant` joined from `address`."""
        if self._rate is None:
            return
        if len(self._joined) > self._room:
            since = self._clock() - _DAY
            self._joined = {name: people for name, people in self._joined.items() if max(people.values()) > since}
            self._room = max(10_000, 2 * len(self._joined))
        self._joined.setdefault(address, {})[participant] = self._clock()

    def n_unfinished(self, connection: "sa.Connection", address: str) -> int:
        """Return the number of participants of `address` who have not submitted their page."""
        import sqlalchemy as sa

        since = self._clock() - _DAY
        people = {number: at for number, at in self._joined.get(address, {}).items() if at > since}
        if not people:
            self._joined.pop(address, None)
            return 0
        sheets = tables().sheets
        states: dict[int, set[str]] = {}
        for number, state in connection.execute(
            sa.select(sheets.c.participant, sheets.c.state).where(sheets.c.participant.in_(list(people)))
        ):
            states.setdefault(int(number), set()).add(str(state))
        left = {number: at for number, at in people.items() if OPEN in states.get(number, {OPEN})}
        self._joined[address] = left
        if not left:
            del self._joined[address]
        return len(left)


def timed_protocol(*, request_seconds: float = 20.0, answer_seconds: float = 30.0) -> "type[asyncio.Protocol]":
    """Return uvicorn's protocol with time limits for receiving each request and for sending each response."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        _request_timer: asyncio.TimerHandle | None = None
        _answer_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._request_timer = self.loop.call_later(request_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_request_limit()
            self._end_answer_limit()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Receive more of a request under the same time limit."""
            super().data_received(data)
            self._watch_request()

        def on_response_complete(self) -> None:
            """Start the time limit of a request that arrived meanwhile."""
            super().on_response_complete()
            self._watch_request()

        def pause_writing(self) -> None:
            """Start the time limit for the client to receive a response."""
            super().pause_writing()
            self._watch_answer()

        def resume_writing(self) -> None:
            """Cancel that limit when the client receives again."""
            self._end_answer_limit()
            super().resume_writing()

        def timeout_keep_alive_handler(self) -> None:
            """Close an idle connection, also if the client never received the last response."""
            super().timeout_keep_alive_handler()
            if self._answer_timer is None:
                self._watch_answer()

        def _watch_answer(self, before: float = math.inf) -> None:
            """Check the write buffer regularly, and abort if it has not shrunk below `before`."""
            left = self.transport.get_write_buffer_size()
            if left < before:
                self._answer_timer = self.loop.call_later(answer_seconds, self._watch_answer, left)
            else:
                self.transport.abort()

        def _watch_request(self) -> None:
            """Start the time limit of a request that is arriving; cancel it once the request is complete."""
            state = self.conn.their_state.__name__  # h11 state
            is_arriving = state == "SEND_BODY" or (state == "IDLE" and bool(self.conn.trailing_data[0]))
            if not is_arriving:
                self._end_request_limit()
            elif self._request_timer is None:
                self._request_timer = self.loop.call_later(request_seconds, self.transport.abort)

        def _end_request_limit(self) -> None:
            if self._request_timer is not None:
                self._request_timer.cancel()
                self._request_timer = None

        def _end_answer_limit(self) -> None:
            if self._answer_timer is not None:
                self._answer_timer.cancel()
                self._answer_timer = None

    return TimedProtocol


def server_config(
    app: Any, *, trusted_proxies: Sequence[str] = (), protocol: type[asyncio.Protocol] | None = None
) -> "uvicorn.Config":
    import uvicorn

    return uvicorn.Config(
        app,
        access_log=False,
        http=protocol or timed_protocol(),
        ws="none",
        log_config=None,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        server_header=False,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=75,
    )
