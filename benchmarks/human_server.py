"""How the study server bears many participants at once: none lost, none doubled, and how long an answer takes.

    python benchmarks/human_server.py [--participants 200] [--seconds 60]

Serves a study in a process of its own on this machine; each participant joins and gives one judgement a second, at a
moment of its own, over a connection that stays open. Afterwards the database is compared with what was sent. Times are
from sending a judgement to having its acknowledgement, in milliseconds; processor time is the server's, from its start.
"""

import argparse
import asyncio
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np

from textassay_lab.human.study import Study, StudyItem, StudyPage, save_study

JUDGES = 5


class Participant:
    """One browser: a connection, a link, a page."""

    def __init__(self, number: int, host: str, port: int, rng: random.Random) -> None:
        self._host, self._port = host, port
        self.offset = rng.random()
        self.rng = rng
        self.sent: dict[int, str] = {}
        self.milliseconds: list[float] = []
        self._cookie = ""

    async def connect(self) -> None:
        """Open the connection."""
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Return status, the address that the answer leads to, and the body."""
        body = urlencode(form).encode() if form is not None else b""
        head = f"{'GET' if form is None else 'POST'} {path} HTTP/1.1\r\nHost: study\r\n"
        if self._cookie:
            head += f"Cookie: {self._cookie}\r\n"
        if form is not None:
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = [line.partition(": ") for line in lines[1:]]
        length = next(int(value) for name, _, value in headers if name.lower() == "content-length")
        location = next((value for name, _, value in headers if name.lower() == "location"), "")
        cookie = next((value for name, _, value in headers if name.lower() == "set-cookie"), "")
        self._cookie = cookie.split(";")[0]
        return int(lines[0].split()[1]), location, (await self._reader.readexactly(length)).decode()

    async def join(self) -> None:
        """Join and take a page."""
        _, _, page = await self.ask("/join")
        status, self.link, _ = await self.ask("/join", {"proof": field(page, "proof")})
        assert status == 303, status
        self._cookie = ""
        _, _, page = await self.ask(self.link)
        self.form = {"proof": field(page, "proof"), "sheet": field(page, "sheet")}

    async def judge(self, n: int, start: float) -> None:
        """Give `n` judgements, one a second from `start` on."""
        for place in range(n):
            await asyncio.sleep(max(0, start + self.offset + place - time.perf_counter()))
            label = self.rng.choice(("real", "fake"))
            begin = time.perf_counter()
            status, _, body = await self.ask(f"{self.link}/answer", {**self.form, f"item-{place}": label})
            self.milliseconds.append(1000 * (time.perf_counter() - begin))
            assert status == 200, (status, body)
            self.sent[place] = label

    async def hand_in(self) -> None:
        """Hand the page in."""
        status, _, _ = await self.ask(f"{self.link}/submit", {**self.form, "comment": ""})
        assert status == 303, status


def field(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return found[1]


async def load(people: list[Participant], seconds: int) -> float:
    """Let everybody join, judge and hand in; return the seconds that joining took."""
    begin = time.perf_counter()
    for person in people:
        await person.connect()
    await asyncio.gather(*(person.join() for person in people))
    joined = time.perf_counter() - begin
    start = time.perf_counter() + 0.5
    await asyncio.gather(*(person.judge(seconds, start) for person in people))
    await asyncio.gather(*(person.hand_in() for person in people))
    return joined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--participants", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    n, seconds = arguments.participants, arguments.seconds
    text = "a text of some forty words , as reviews are " * 4
    pages = tuple(
        StudyPage(str(page), tuple(StudyItem(f"{page}/{slot}", text) for slot in range(seconds)))
        for page in range(-(-n // JUDGES))
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_study(Study("real-or-fake", "Load", "Judge.", pages, JUDGES, 0), folder)
        command = [
            sys.executable,
            "-m",
            "textassay",
            "human",
            "serve",
            "--per-address",
            "0",
            str(folder),
            "--port",
            "0",
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout
        said = ""
        while "Ctrl-C" not in said:
            said += server.stdout.readline()
        address = urlsplit(re.findall(r"http://\S+", said)[0])
        rng = random.Random(0)
        people = [
            Participant(number, str(address.hostname), int(address.port or 0), random.Random(rng.random()))
            for number in range(n)
        ]
        joined = asyncio.run(load(people, seconds))
        server.send_signal(signal.SIGINT)
        server.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with sqlite3.connect(folder / "judgements.sqlite") as database:
            rows = database.execute("select sheet, item, label from answers").fetchall()
            states = database.execute("select page, state from sheets").fetchall()
    sent = {(int(p.form["sheet"]), place): label for p in people for place, label in p.sent.items()}
    kept = {(sheet, int(item.split("/")[1])): label for sheet, item, label in rows}
    lost = sum(kept.get(key) != label for key, label in sent.items())
    per_page = np.bincount([int(page) for page, _ in states])
    times = np.concatenate([person.milliseconds for person in people])
    p50, p95, p99 = np.percentile(times, (50, 95, 99))
    print("| participants | judgements | lost | doubled | accepted pages | most on a page | p50 | p95 | p99 | most | "
          "joining, all (s) | processor (s) | of one core |")  # fmt: skip
    print("|---" * 13 + "|")
    cpu = used.ru_utime + used.ru_stime
    print(f"| {n} | {len(times):,} | {lost} | {len(rows) - len(sent)} | {sum(s == 'accepted' for _, s in states)} | "
          f"{per_page.max()} | {p50:.1f} | {p95:.1f} | {p99:.1f} | {times.max():.0f} | {joined:.1f} | {cpu:.1f} | "
          f"{cpu / seconds:.0%} |")  # fmt: skip


if __name__ == "__main__":
    main()
