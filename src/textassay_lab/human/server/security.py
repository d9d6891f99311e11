"""Tokens and their hashes, rate limits, security headers, limited request bodies.

Tokens are the only identification. They have 256 random bits, so the database can store a plain SHA-256, and the proof
against cross-site request forgery is derived from the token alone.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

if TYPE_CHECKING:
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
    """Return the SHA-256 of `token`, in hexadecimal."""
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
