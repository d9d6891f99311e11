"""HTTP as the study is served: requests must arrive, and answers be taken, in a stated time.

A connection that sends half a request, byte after byte or nothing at all, costs its sender nothing; without a limit it
would stay open for ever, and enough of them would leave no room for participants.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uvicorn


def timed_protocol(*, request_seconds: float = 20.0, answer_seconds: float = 30.0) -> "type[asyncio.Protocol]":
    """Return uvicorn's protocol, with a time limit for each request to arrive whole and for each answer to be taken."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        """uvicorn's protocol with these limits."""

        _request_timer: asyncio.TimerHandle | None = None
        _answer_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """Begin to wait for a request."""
            super().connection_made(transport)
            self._request_timer = self.loop.call_later(request_seconds, transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget the limits."""
            self._end_request_limit()
            self._end_answer_limit()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Take more of a request; the time that it may take goes on."""
            super().data_received(data)
            self._watch_request()

        def on_response_complete(self) -> None:
            """Go on with what arrived while the answer was made."""
            super().on_response_complete()
            self._watch_request()

        def pause_writing(self) -> None:
            """Begin to wait for the client to take an answer."""
            super().pause_writing()
            self._watch_answer()

        def resume_writing(self) -> None:
            """Go on: the client takes it."""
            self._end_answer_limit()
            super().resume_writing()

        def timeout_keep_alive_handler(self) -> None:
            """Close an idle connection, also where the client never took the last answer."""
            super().timeout_keep_alive_handler()
            if self._answer_timer is None:
                self._watch_answer()

        def _watch_answer(self, before: float = math.inf) -> None:
            """Look again after a while, and give up if no more of what waits has been taken than `before`."""
            left = self.transport.get_write_buffer_size()
            if left < before:
                self._answer_timer = self.loop.call_later(answer_seconds, self._watch_answer, left)
            else:
                self.transport.abort()

        def _watch_request(self) -> None:
            """Limit the time of a request that has begun to arrive; end the limit where one is whole."""
            state = self.conn.their_state.__name__  # h11's: uvicorn brings it
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
    """Return how `app` is served."""
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
