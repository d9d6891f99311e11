"""Tokens, their hashes, rates, headers, and bodies of limited size.

A token is the only thing that tells who somebody is. It has 256 random bits, so a plain SHA-256 of it keeps it safe in
the database, and what a form must send back with it (against requests forged by other sites) is made from it alone.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from fastapi import Request


MOST_BYTES = 256 * 1024  # of a body: a page of some hundred answers and a comment
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
    """Return 256 random bits in 43 characters that may stand in an address."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the SHA-256 of `token`, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def form_proof(token: str) -> str:
    """Return what a form that acts for `token` must carry."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def same(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def is_forged(request: "Request", form: dict[str, str], token: str) -> bool:
    """Return whether a request that writes did not come from a form that this server made for `token`."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    return site not in ("same-origin", "none") or not same(form.get("proof", ""), form_proof(token))


async def read_form(request: "Request") -> dict[str, str] | None:
    """Return the fields of a form; none if the body is larger than `MOST_BYTES`, broken off, or no form."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return None
    body, is_whole = bytearray(), False
    while not is_whole:
        message = await request.receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or len(body) > MOST_BYTES:
            return None
        is_whole = not message.get("more_body", False)
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=2000))
    except ValueError:
        return None


class RateLimit:
    """How often each name may do something: `burst` at once, then `rate` a second."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}
        self._room = 10_000  # names, before those who have rested are forgotten

    def allows(self, name: str) -> bool:
        """Return whether `name` may do it now, and count it."""
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
    """Adds `HEADERS` to every answer, and forbids keeping what is not static; nothing else."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        keep = b"no-cache" if scope["path"].startswith("/static/") else b"no-store"

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers, (b"cache-control", keep)]
            await send(message)

        await self._app(scope, receive, send_with_headers)
