"""What one address may take, links by invitation, the owner's token, files for the owner alone, half requests."""

import os
import re
import socket
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from served_study import OWNER, Person, Site, hidden, make_study, serve_study
from textassay.cli.main import main
from textassay_lab.human.server.database import DATABASE_FILE, database_url, open_database
from textassay_lab.human.server.security import AddressLimit, address_name, usual_limit
from textassay_lab.human.study import STUDY_FILE, save_study

pytest.importorskip("fastapi")


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Site]:
    """Ten places, of which one address may take three."""
    yield from serve_study(tmp_path, make_study(n_pages=5, k=2), per_address=3)


def test_one_address_cannot_take_all_places(limited: Site) -> None:
    codes = [limited.ask_to_join(limited.client_at("203.0.113.7")).status_code for _ in range(20)]
    assert codes == [303] * 3 + [429] * 17
    assert limited.ask_to_join(limited.client_at("203.0.113.8")).status_code == 303
    refused = limited.ask_to_join(limited.client_at("203.0.113.7"))
    assert "Too many people from your network" in refused.text
    assert refused.headers["retry-after"] == "300"
    rows = limited.database.run_now(lambda one: one.exec_driver_sql("select count(*) from participants").scalar())
    assert rows == 4


def test_answers_at_once_do_not_let_one_address_judge_everything(limited: Site) -> None:
    n_in = 0
    for _ in range(10):
        answer = limited.ask_to_join(limited.client_at("203.0.113.7"))
        if answer.status_code == 303:
            n_in += 1
            Person(limited, answer.headers["location"]).finish("fake")
    assert n_in == 3
    limited.clock.now += 3600
    assert limited.ask_to_join(limited.client_at("203.0.113.7")).status_code == 303


def test_a_finished_page_makes_room_for_another_and_an_abandoned_one_after_a_day(limited: Site) -> None:
    client = limited.client_at("203.0.113.7")
    for _ in range(3):
        link = limited.ask_to_join(client).headers["location"]
    limited.clock.now += 5000  # another could be admitted by now, were one of these done
    assert limited.ask_to_join(client).status_code == 429
    Person(limited, link).finish("fake")
    assert limited.ask_to_join(client).status_code == 303
    assert limited.ask_to_join(client).status_code == 429
    limited.clock.now += 24 * 3600
    assert limited.ask_to_join(client).status_code == 303


def test_a_laboratory_behind_one_address_may_be_let_in(tmp_path: Path) -> None:
    for per_address in (12, 0):
        for site in serve_study(tmp_path / str(per_address), make_study(n_pages=3, k=4), per_address=per_address):
            people = [site.join() for _ in range(12)]
            assert all("Thank you" in person.finish("fake") for person in people)


@pytest.mark.parametrize(("n_places", "most"), [(1, 5), (10, 5), (40, 20), (900, 50)])
def test_the_usual_limit(n_places: int, most: int) -> None:
    assert usual_limit(n_places) == most


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
        ("x" * 5000, "x" * 100),
        ("", ""),
    ],
)
def test_what_an_address_is_counted_as(host: str, name: str) -> None:
    assert address_name(host) == name


def test_old_addresses_are_forgotten(limited: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = AddressLimit(3, limited.clock)
    monkeypatch.setattr(limit, "_room", 10)
    for number in range(20):
        limit.note(f"192.0.2.{number}", number)
    assert len(limit._joined) == 20
    limited.clock.now += 25 * 3600
    monkeypatch.setattr(limit, "_room", 10)
    limit.note("192.0.2.200", 99)
    assert set(limit._joined) == {"192.0.2.200"}


def test_no_address_is_kept_on_the_disk(limited: Site) -> None:
    answer = limited.ask_to_join(limited.client_at("203.0.113.77"))
    Person(limited, answer.headers["location"]).finish("fake")
    files = b"".join(path.read_bytes() for path in limited.folder.iterdir())
    assert b"203.0.113.77" not in files


def test_a_page_without_a_first_answer_goes_to_another(tmp_path: Path) -> None:
    for site in serve_study(tmp_path, make_study(n_pages=1, k=2), first_answer_limit=600.0):
        idle, busy = site.join(), site.join()
        busy.judge(0, "real")
        assert "all the remaining pages" in site.join().html
        site.clock.now += 601
        third = site.join()
        assert 'id="sheet"' in third.html  # the place of who gave no answer
        assert "0 of 4 answered" in third.html
        assert "Your time ran out" in idle.look() or "all the remaining pages" in idle.html
        assert busy.judge(1, "fake").status_code == 200
        assert "all the remaining pages" in site.join().html


def test_who_looks_again_and_answers_nothing_holds_no_place(tmp_path: Path) -> None:
    for site in serve_study(tmp_path, make_study(n_pages=1, k=1), first_answer_limit=600.0):
        idle = site.join()
        for _ in range(11):
            site.clock.now += 60
            held = site.database.run_now(site.pool.held)["0"]
        assert held == 0
        assert 'id="sheet"' in idle.look()  # nobody wants it, so it is back in hand
        assert site.database.run_now(site.pool.held)["0"] == 1
        for _ in range(9):
            site.clock.now += 60
            idle.look()
        assert 'id="sheet"' not in site.join().html
        site.clock.now += 61
        assert 'id="sheet"' in site.join().html  # looking did not make the time longer


def test_by_invitation_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "study"
    for site in serve_study(folder, make_study(n_pages=2, k=2), invite_only=True, per_address=1):
        for answer in (site.client.get("/join"), site.client.post("/join", data={"proof": "x"})):
            assert answer.status_code == 403
            assert "personal link" in answer.text
        assert main(["human", "invite", str(folder), "--number", "3", "--address", "https://study.example/"]) == 0
        links = capsys.readouterr().out.split()
        assert len(set(links)) == 3
        assert all(re.fullmatch(r"https://study\.example/p/[\w-]{43}", link) for link in links)
        people = [Person(site, link.removeprefix("https://study.example")) for link in links]
        for person in people:
            assert "Begin" in person.html
            person.post("start", {"proof": hidden(person.html, "proof")})
            assert 'id="sheet"' in person.look()
        assert "Thank you" in people[0].finish("fake")
        assert "Judge another" not in people[0].look()  # one link, one participation
        site.enter_owner()
        assert site.client.get("/owner/progress.json").json()["n_participants"] == 3
        content = (folder / DATABASE_FILE).read_bytes() + (folder / f"{DATABASE_FILE}-wal").read_bytes()
        assert not any(link.rpartition("/")[2].encode() in content for link in links)


def test_links_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_study(make_study(), tmp_path)
    file = tmp_path / "links.txt"
    assert main(["human", "invite", str(tmp_path), "--number", "2", "--out", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert mode(file) == 0o600
    assert len(file.read_text().split()) == 2
    before = participants(tmp_path)
    assert before == 2
    for arguments, message in (
        (["--out", str(file)], "may contain links"),
        (["--out", str(tmp_path / "nowhere" / "links")], "cannot write"),
        (["--number", "0"], "--number must be between 1 and"),
        (["--address", "study.example.org"], "--address must be like"),
        (["--address", "https://study.example.org/folder"], "--address must be like"),
    ):
        assert main(["human", "invite", str(tmp_path), *arguments]) == 2
        assert message in capsys.readouterr().err
    assert participants(tmp_path) == before
    save_study(make_study(text="other"), tmp_path / "none")
    assert main(["human", "invite", str(tmp_path / "nowhere")]) == 2
    assert "no study in" in capsys.readouterr().err


def participants(folder: Path) -> int:
    with sqlite3.connect(folder / DATABASE_FILE) as other:
        (n,) = other.execute("select count(*) from participants").fetchone()
    other.close()
    return int(n)


def try_token(client: Any, token: str) -> Any:
    client.cookies.clear()
    proof = hidden(client.get("/owner").text, "proof")
    return client.post("/owner/enter", data={"proof": proof, "token": token}, follow_redirects=False)


def test_wrong_tokens_are_slowed_down_and_never_lock_the_owner_out(site: Site) -> None:
    guesser, owner = site.client_at("203.0.113.7"), site.client_at("203.0.113.9")
    codes = [try_token(guesser, f"wrong {number}").status_code for number in range(60)]
    assert codes == [403] * 20 + [429] * 40
    assert try_token(owner, OWNER).status_code == 303
    assert try_token(guesser, OWNER).status_code == 303  # the owner, behind the same address
    assert try_token(owner, "mistyped").status_code == 403
    site.clock.now += 11
    assert try_token(guesser, "wrong").status_code == 403


def test_strangers_do_not_keep_others_out(site: Site) -> None:
    stranger = site.client_at("203.0.113.7")
    codes = [stranger.get(f"/p/{number}").status_code for number in range(120)]
    assert codes[-1] == 429
    assert site.ask_to_join(site.client_at("203.0.113.9")).status_code == 303
    assert site.client_at("203.0.113.9").get("/p/nobody").status_code == 404


def test_a_proxy_that_nobody_vouched_for_is_told_once(site: Site) -> None:
    forwarded = {"X-Forwarded-For": "198.51.100.1"}
    far, near = site.client_at("203.0.114.7"), site.client_at("127.0.0.1")
    far.get("/p/x", headers=forwarded)
    assert site.told == []
    for _ in range(3):
        near.get("/p/x", headers=forwarded)
    (line,) = site.told
    assert "serve with --trust-proxy 127.0.0.1" in line


@pytest.mark.parametrize("name", ["item-\u0663", "item-\u0966", "item-\uff11"])
def test_digits_of_other_scripts_are_no_places(site: Site, name: str) -> None:
    person = site.join()
    assert person.post("answer", person.fields() | {name: "real"}).json() == {"saved": 0}
    data = person.fields(item_0="real")
    digits = {ord(str(digit)): 0x660 + digit for digit in range(10)}
    assert person.post("answer", data | {"sheet": data["sheet"].translate(digits)}).status_code == 400


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    before = os.umask(0o022)
    try:
        path = save_study(make_study(), folder)
        assert (mode(folder), mode(path)) == (0o700, 0o600)
        with open_database(database_url(folder)) as database:
            database.run_now(lambda connection: connection.exec_driver_sql("delete from answers"))
            assert {file.name: mode(file) for file in folder.iterdir()} == dict.fromkeys(
                (STUDY_FILE, DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm"), 0o600
            )
        for file in folder.iterdir():  # as their owner may have set them
            file.chmod(0o644)
        with open_database(database_url(folder)) as database:
            database.run_now(lambda connection: connection.exec_driver_sql("delete from answers"))
            assert {mode(file) for file in folder.glob("judgements.sqlite*")} == {0o600}
    finally:
        os.umask(before)


class Listening:
    """The server on a port, with short limits."""

    def __init__(self, app: Any, **limits: float) -> None:
        from textassay_lab.human.server.security import server_config, timed_protocol

        uvicorn = pytest.importorskip("uvicorn")
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        config = server_config(app, protocol=timed_protocol(**limits))
        config.lifespan = "off"
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()

    def open(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture
def listening(site: Site) -> Iterator[Listening]:
    running = Listening(site.app, request_seconds=0.3, answer_seconds=0.3)
    yield running
    running.close()


def seconds_until_closed(connection: socket.socket) -> float:
    begin = time.monotonic()
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - begin


HALVES = [
    b"",
    b"GET /join HT",
    b"GET /join HTTP/1.1\r\nHost: a\r\nX-Header: ",
    b"POST /join HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 99\r\n\r\npr",
    b"GET /join HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nhalf a body that nobody reads",
    b"GET /join HTTP/1.1\r\nHost: a\r\n\r\nGET /join HTTP/1.1\r\nHo",  # a whole one, and half of the next
]


def test_half_requests_are_ended(listening: Listening) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(listening.open()) for _ in HALVES]
        for connection, half in zip(connections, HALVES, strict=True):
            connection.sendall(half)
        for connection, half in zip(connections, HALVES, strict=True):
            assert seconds_until_closed(connection) < 3, half


def test_a_byte_now_and_then_does_not_make_the_time_longer(listening: Listening) -> None:
    with listening.open() as connection:
        begin = time.monotonic()
        connection.sendall(b"GET /join HTTP/1.1\r\nX: ")
        try:
            while time.monotonic() - begin < 5:
                connection.sendall(b"a")
                time.sleep(0.05)
        except ConnectionError:
            pass
        assert time.monotonic() - begin < 3


def test_a_connection_that_is_kept_alive_may_rest(listening: Listening) -> None:
    request = b"GET /join HTTP/1.1\r\nHost: a\r\n\r\n"
    with listening.open() as connection:
        for _ in range(3):
            connection.sendall(request[:20])
            time.sleep(0.05)
            connection.sendall(request[20:])
            answer = b""
            while b"</html>" not in answer:
                answer += connection.recv(65536) or pytest.fail("closed")
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(0.4)  # longer than a request may take to arrive


@pytest.mark.parametrize("pause", [1.0, 0.05])
def test_who_takes_no_answer_is_left_and_who_takes_it_slowly_is_not(pause: float) -> None:
    size = 20_000_000

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
        await send({"type": "http.response.body", "body": bytes(size)})

    running = Listening(app, answer_seconds=0.4)
    try:
        with running.open() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            n_taken = 0
            for number in range(1000):
                time.sleep(pause if number < 20 else 0.0)
                part = connection.recv(1_000_000)
                n_taken += len(part)
                if not part or n_taken > size:
                    break
                if pause == 1.0 and number == 0:
                    pause = 0.0
            assert (n_taken > size) == (pause == 0.05)
    finally:
        running.close()


def test_a_trusted_proxy_says_where_requests_come_from(limited: Site) -> None:
    import httpx

    from textassay_lab.human.server.security import server_config

    async def seen(proxies: list[str], header: str) -> tuple[str, str]:
        found: list[tuple[str, str]] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            found.append((scope["client"][0], scope["scheme"]))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        config = server_config(app, trusted_proxies=proxies)
        config.load()
        transport = httpx.ASGITransport(config.loaded_app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            await client.get("/", headers={"X-Forwarded-For": header, "X-Forwarded-Proto": "https"})
        return found[0]

    import asyncio

    assert asyncio.run(seen([], "198.51.100.1")) == ("127.0.0.1", "http")
    assert asyncio.run(seen(["192.0.2.9"], "198.51.100.1")) == ("127.0.0.1", "http")
    assert asyncio.run(seen(["127.0.0.1"], "198.51.100.1")) == ("198.51.100.1", "https")
    # What the client itself put there comes before what the proxy adds.
    assert asyncio.run(seen(["127.0.0.1"], "10.9.9.9, 198.51.100.1")) == ("198.51.100.1", "https")
