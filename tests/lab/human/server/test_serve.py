"""The command as a process: what it says, what it survives, and how it ends."""

import re
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from served_study import hidden, make_study
from textassay.cli.main import main
from textassay_lab.human.study import save_study

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")


class Server:
    """``textassay human serve`` on a free port."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "textassay", "human", "serve", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            self.said += line
        found = re.search(r"http://[\d.]+:\d+", self.said)
        assert found
        self.address = found[0]

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_study(make_study(n_pages=20, k=1, n_items=30), tmp_path / "study")
    return tmp_path / "study"


def join(client: Any) -> tuple[str, dict[str, str]]:
    proof = hidden(client.get("/join").text, "proof")
    page = client.post("/join", data={"proof": proof}, follow_redirects=True)
    return page.url.path, {name: hidden(page.text, name) for name in ("proof", "sheet")}


def test_what_was_acknowledged_survives_being_killed(folder: Path) -> None:
    server = Server(folder)
    acknowledged: list[tuple[int, int, str]] = []

    def judge(number: int) -> None:
        with httpx.Client(base_url=server.address) as client:
            address, form = join(client)
            try:
                for place in range(30):
                    label = ("real", "fake")[(place + number) % 2]
                    answer = client.post(f"{address}/answer", data={**form, f"item-{place}": label})
                    if answer.status_code == 200:
                        acknowledged.append((int(form["sheet"]), place, label))
                    if len(acknowledged) == 60:
                        server.process.kill()
            except httpx.TransportError:
                return

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(judge, range(6)))
    server.process.communicate()
    assert 60 <= len(acknowledged) < 180
    with sqlite3.connect(folder / "judgements.sqlite") as database:
        rows = database.execute("select sheet, item, label from answers").fetchall()
    database.close()
    kept = {(sheet, int(item.split("/")[1])): label for sheet, item, label in rows}
    assert len(kept) == len(rows)
    assert all(kept[sheet, place] == label for sheet, place, label in acknowledged)
    again = Server(folder)
    assert "owner's token" not in again.said  # it was shown once
    assert again.end(signal.SIGTERM)[0] in (0, 128 + signal.SIGTERM)


def test_ctrl_c_ends_it_cleanly_and_nothing_personal_is_written(folder: Path) -> None:
    (folder / "study.json").chmod(0o644)  # as its owner may have set it
    server = Server(folder)
    with httpx.Client(base_url=server.address) as client:
        address, _ = join(client)
        assert client.get("/owner").status_code == 200
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
        assert len(list(folder.iterdir())) == 4  # -wal and -shm among them
    status, out, err = server.end(signal.SIGINT)
    assert (status, err) == (0, "")
    assert out == "stopped; serve the study again to continue\n"
    token = re.search(r"owner's token (\S{43}) ", server.said)
    assert token
    files = b"".join(path.read_bytes() for path in folder.iterdir())
    for secret in (token[1], address.removeprefix("/p/"), "python-httpx", "127.0.0.1"):
        assert secret.encode() not in files
    assert {path.name for path in folder.iterdir() if path.stat().st_mode & 0o077} == set()


def test_the_owners_token_in_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    server = Server(folder, "--owner-token-file", str(file))
    assert "owner's token" not in server.said
    server.end(signal.SIGINT)
    assert file.stat().st_mode & 0o077 == 0
    token = file.read_text().strip()
    server = Server(folder, "--owner-token-file", str(file))
    with httpx.Client(base_url=server.address, follow_redirects=True) as client:
        proof = hidden(client.get("/owner").text, "proof")
        assert "Log out" in client.post("/owner/enter", data={"proof": proof, "token": token}).text
    server.end(signal.SIGINT)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that `human serve` ends with."""
    assert main(["human", "serve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_mistakes_are_one_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no study in" in said(capsys, str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "in use; choose another --port" in said(capsys, str(folder), "--port", port)
    assert "--port must be" in said(capsys, str(folder), "--port", "70000")
    assert "cannot listen on no.such.host.invalid" in said(capsys, str(folder), "--host", "no.such.host.invalid")
    assert "--pages-per-participant must be" in said(capsys, str(folder), "--pages-per-participant", "0")
    assert "--time-limit must be" in said(capsys, str(folder), "--time-limit", "0")
    assert "--first-answer-limit must be" in said(capsys, str(folder), "--first-answer-limit", "nan")
    assert "--per-address must be at least 0" in said(capsys, str(folder), "--per-address", "-1")
    for proxy in ("nginx", "*", "10.0.0.0/8"):
        assert "--trust-proxy takes the address of a proxy" in said(capsys, str(folder), "--trust-proxy", proxy)
    assert "'--port'" in said(capsys, str(folder), "--port", "\uff18\uff10")
    assert "--database must be like" in said(capsys, str(folder), "--database", "nothing")
    (tmp_path / "token").write_text("short")
    assert "contains no token" in said(capsys, str(folder), "--owner-token-file", str(tmp_path / "token"))


def test_a_study_that_changed_and_a_wrong_token(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Server(folder).end(signal.SIGINT)
    (tmp_path / "token").write_text("x" * 43)
    assert "--new-owner-token" in said(
        capsys, str(folder), "--port", "0", "--owner-token-file", str(tmp_path / "token")
    )
    save_study(make_study(text="other"), folder)
    assert "have changed since" in said(capsys, str(folder), "--port", "0")
