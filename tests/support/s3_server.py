"""A server of objects on this machine that speaks as much of S3 as s3fs asks for; some requests may fail."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"


class Store:
    """Objects of one bucket by key, the requests so far, and which of them fail."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []  # method and key
        self.n_refused = 0  # objects that were there already
        self.fails: Callable[[int, str], bool] = lambda number, request: False
        self.lock = Lock()

    def environment(self, port: int) -> dict[str, str]:
        """Return the variables that let s3fs find the server."""
        return {
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }


@contextmanager
def serve() -> Iterator[tuple[Store, dict[str, str]]]:
    """Serve an empty bucket inside the ``with`` block; yield the store and the environment of those who use it."""
    store = Store()
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield store, store.environment(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _error(self, status: int, code: str) -> None:
        message = "At least one of the pre-conditions you specified did not hold" if status == 412 else code
        self._answer(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode())

    def _handle(self) -> None:
        body = self._body()
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        with self.store.lock:
            self.store.requests.append(f"{self.command} {key}")
            if self.store.fails(len(self.store.requests), self.store.requests[-1]):
                self._error(503, "SlowDown")
            elif bucket != BUCKET:
                self._error(404, "NoSuchBucket")
            elif self.command == "GET" and not key:
                self._list({name: values[0] for name, values in parse_qs(parts.query).items()})
            elif self.command == "POST":
                self._delete_several(body)
            else:
                getattr(self, f"_{self.command.lower()}")(key, body)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _handle  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            plain, rest = b"", data
            while rest:
                head, _, rest = rest.partition(b"\r\n")
                n = int(head.split(b";")[0], 16)
                if n == 0:
                    break
                plain, rest = plain + rest[:n], rest[n + 2 :]
            data = plain
        return data

    def _get(self, key: str, body: bytes) -> None:
        if key not in self.store.objects:
            self._error(404, "NoSuchKey")
            return
        content = self.store.objects[key]
        span = self.headers.get("Range")
        headers: dict[str, str] = {"ETag": _etag(content), "Last_Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
        if span is None:
            self._answer(200, content, **headers)
            return
        first, _, last = span.removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1 if last else None]
        self._answer(206, part, **headers, Content_Range=f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")

    def _head(self, key: str, body: bytes) -> None:
        if key and key not in self.store.objects:
            self._answer(404)
            return
        content = self.store.objects.get(key, b"")
        self._answer(
            200,
            ETag=_etag(content),
            Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT",
            Content_Length=str(len(content)),
        )

    def _put(self, key: str, body: bytes) -> None:
        if self.headers.get("If-None-Match") == "*" and key in self.store.objects:
            self.store.n_refused += 1
            self._error(412, "PreconditionFailed")
            return
        self.store.objects[key] = body
        self._answer(200, ETag=_etag(body))

    def _delete(self, key: str, body: bytes) -> None:
        self.store.objects.pop(key, None)
        self._answer(204)

    def _delete_several(self, body: bytes) -> None:
        for part in body.decode().split("<Key>")[1:]:
            self.store.objects.pop(part.partition("</Key>")[0], None)
        self._answer(200, b"<DeleteResult></DeleteResult>")

    def _list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        entries, folders = [], set()
        for key, content in sorted(self.store.objects.items()):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.partition(delimiter)[0] + delimiter)
            else:
                entries.append(
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size><ETag>{escape(_etag(content))}</ETag>"
                    "<LastModified>2024-01-01T00:00:00.000Z</LastModified><StorageClass>STANDARD</StorageClass></Contents>"
                )
        entries += [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        count = len(entries)
        entries = entries[: int(query.get("max-keys", 1000))]
        self._answer(
            200,
            (
                f"<ListBucketResult><Name>{BUCKET}</Name><IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>"
                f"{''.join(entries)}</ListBucketResult>"
            ).encode(),
        )

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'
