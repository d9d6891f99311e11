"""Downloads happen on request, once, are checked, and fail with one line."""

import functools
import http.server
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pooch
import pytest

from textassay.corpus.texts import read_texts
from textassay.errors import InputError

requests_seen: list[str] = []


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        requests_seen.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a server, on this machine, of one file of text; the cache is a fresh folder."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "a text.txt").write_bytes(b"one\ntwo\n")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    handler = functools.partial(Handler, directory=str(tmp_path / "served"))
    requests_seen.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/a%20text.txt"
        server.shutdown()
        thread.join()


def test_an_address_is_read_and_downloaded_once(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    level = logging.getLogger("pooch").level
    for _ in range(2):
        file = read_texts(address)
        assert (file.texts, file.name) == (("one", "two"), "a text.txt")
    assert len(requests_seen) == 1
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("pooch").level == level


def test_what_cannot_be_had_is_one_line(address: str) -> None:
    with pytest.raises(
        InputError, match=r"missing\.txt cannot be downloaded \(404 File not found\); check the address"
    ) as caught:
        read_texts(address.replace("a%20text", "missing"))
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"cannot be downloaded \(ConnectionError\)"):
        read_texts("http://127.0.0.1:9/f.txt")
