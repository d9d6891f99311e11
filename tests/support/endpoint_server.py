"""A server that speaks the protocol of OpenAI-compatible endpoints, with the faults that a test asks for.

An answer depends on the prompt and the seed of its request alone, as that of an endpoint that heeds seeds.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

KEY = "sk-test-0123456789-not-a-real-key"
MODEL = "tiny-chat"
WORDS = ("the", "a", "food", "place", "was", "is", "good", "bad", "very", "and", "not", "here", "cold", "warm", ".")

Fault = Callable[["Handler"], bool]  # answers in its own way, or returns False to let the server answer


class Endpoint(ThreadingHTTPServer):
    """Counts what it is asked; `faults` are for the next requests, one each; `change` changes a response."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *, key: str | None = KEY, models: Sequence[str] = (MODEL,)) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.key = key
        self.models = models
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.faults: list[Fault | None] = []
        self.always: Fault | None = None
        self.change: Callable[[dict[str, Any]], Any] | None = None
        self.delay: Callable[[int], float] = lambda number: 0.0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            return self.answer(
                200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.server.models]}
            )
        return self.answer(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append(body)
            self.server.paths.append(self.path)
            fault = self.server.faults.pop(0) if self.server.faults else self.server.always
        time.sleep(self.server.delay(number))
        if fault is not None and fault(self):
            return
        if self.server.key is not None and self.headers.get("Authorization") != f"Bearer {self.server.key}":
            said = f"Incorrect API key provided: {self.headers.get('Authorization')}"
            self.answer(401, {"error": {"message": said, "code": "invalid_api_key"}})
        elif body.get("model") not in self.server.models:
            self.answer(404, {"error": {"message": f"The model '{body.get('model')}' does not exist"}})
        else:
            made = {"/v1/chat/completions": _chat, "/v1/completions": _completion, "/v1/embeddings": _embeddings}
            document: Any = made[self.path](body)
            self.answer(200, document if self.server.change is None else self.server.change(document))

    def answer(self, status: int, document: Any, headers: Mapping[str, str] | None = None) -> None:
        content = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _text(prompt: str, seed: int) -> str:
    rng = np.random.default_rng([seed, *prompt.encode()])
    return " ".join(rng.choice(WORDS, size=int(rng.integers(3, 9))))


def _usage(prompt: str, text: str) -> dict[str, int]:
    n_prompt, n_text = len(prompt.split()), len(text.split())
    return {"prompt_tokens": n_prompt, "completion_tokens": n_text, "total_tokens": n_prompt + n_text}


def _chat(body: dict[str, Any]) -> dict[str, Any]:
    prompt = body["messages"][-1]["content"]
    text = _text(prompt, body.get("seed", 0))
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": _usage(prompt, text)}


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    text = _text(body["prompt"], body.get("seed", 0))
    choice = {"index": 0, "text": text, "finish_reason": "stop"}
    return {
        "object": "text_completion",
        "model": body["model"],
        "choices": [choice],
        "usage": _usage(body["prompt"], text),
    }


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    if not all(body["input"]):
        return {"error": {"message": "input must not be empty"}}
    width = body.get("dimensions", 8)
    rows = [np.random.default_rng([*text.encode()]).normal(size=width).tolist() for text in body["input"]]
    data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
    return {
        "object": "list",
        "model": body["model"],
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


# Faults
def status(number: int, document: Any = None, **headers: str) -> Fault:
    """Answer with a status, and headers whose names have ``_`` for ``-``."""
    said = {"error": {"message": f"status {number}"}} if document is None else document

    def fault(handler: Handler) -> bool:
        handler.answer(number, said, {name.replace("_", "-"): value for name, value in headers.items()})
        return True

    return fault


def page(number: int = 200) -> Fault:
    """Answer with a page of the web."""
    return status(number, "<!doctype html><html><body>Bad gateway</body></html>", Content_Type="text/html")


def broken_off(handler: Handler) -> bool:
    """Close the connection in the middle of an answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.wfile.flush()
    handler.close_connection = True
    return True


def hung_up(handler: Handler) -> bool:
    """Close the connection without an answer."""
    handler.close_connection = True
    return True


def malformed(handler: Handler) -> bool:
    """Answer with half of a JSON document."""
    handler.answer(200, '{"choices": [')
    return True


def slow(seconds: float) -> Fault:
    """Answer after some time."""

    def fault(handler: Handler) -> bool:
        time.sleep(seconds)
        return False

    return fault


def trickling(head: bytes, body: bytes) -> Fault:
    """Answer in full at once with `head`, then a byte of `body` every 50 ms for ten seconds, never the last."""

    def fault(handler: Handler) -> bool:
        with suppress(OSError):
            handler.wfile.write(head)
            for number in range(200):
                handler.wfile.write(body[number % len(body) :][:1])
                handler.wfile.flush()
                time.sleep(0.05)
        handler.close_connection = True
        return True

    return fault


@contextmanager
def serving(**settings: Any) -> Iterator[Endpoint]:
    """Run an endpoint inside the ``with`` block."""
    with Endpoint(**settings) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
