"""HTTP with time limits for requests and responses, against slow-client attacks.

A connection that sends a request slowly, or not at all, costs its sender nothing; without limits, enough of them would
block all participants.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uvicorn


def timed_protocol(*, request_seconds: float = 20.0, answer_seconds: float = 30.0) -> "type[asyncio.Protocol]":
    """Return uvicorn's protocol with time limits for receiving each request and for sending each response."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        """uvicorn's protocol with time limits."""

        _request_timer: asyncio.TimerHandle | None = None
        _answer_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Start the time limit of the first request."""
            super().connection_made(transport)
            self._request_timer = self.loop.call_later(request_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            """Cancel the time limits."""
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
    """Return the configuration of the server for `app`."""
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
