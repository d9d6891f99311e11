"""A small study, its server without a network, and participants who click."""

import html
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textassay_lab.human.server.app import Service, create_app
from textassay_lab.human.server.database import Database, database_url, open_database
from textassay_lab.human.server.pool import Pool
from textassay_lab.human.server.results import claim
from textassay_lab.human.server.security import AddressLimit, RateLimit, hash_token
from textassay_lab.human.study import Study, StudyItem, StudyPage, save_study

OWNER = "owner-token-of-these-tests-0123456789"
SCRIPT = "<script>document.title='hacked'</script> & <b>bold</b>"


@dataclass
class Clock:
    """Time that passes when told to."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def make_study(n_pages: int = 2, k: int = 2, n_items: int = 4, text: str = SCRIPT) -> Study:
    """Return a study: item 0 of each page is real, the others are a generator's, the last is a check."""
    pages = tuple(
        StudyPage(
            str(page),
            tuple(
                StudyItem(
                    f"{page}/{slot}",
                    f"text {page}-{slot} {text if slot == 1 else ''}",
                    "secret-generator" if slot else None,
                    check=slot == n_items - 1,
                )
                for slot in range(n_items)
            ),
        )
        for page in range(n_pages)
    )
    return Study("real-or-fake", "Title of <i>study</i>", "First.\n\nSecond.", pages, k, 0, {"generators": ["secret"]})


def make_next_word(k: int = 1) -> Study:
    """Return a next-word study of one page with three prefixes, whose most probable word is the second shown."""
    items = tuple(
        StudyItem(f"0/{slot}", f"prefix {slot}", "secret-generator" if slot else None, choices=tuple("abcde"), top=1)
        for slot in range(3)
    )
    return Study("next-word", "Next", "Guess.", (StudyPage("0", items),), k, 0, {})


@dataclass
class Site:
    """A study that is served."""

    folder: Path
    study: Study
    clock: Clock
    database: Database
    pool: Pool
    client: Any
    app: Any
    told: list[str]

    def client_at(self, address: str) -> Any:
        """Return another client, at this internet address."""
        from fastapi.testclient import TestClient

        return TestClient(self.app, base_url="http://study.example", client=(address, 50000))

    def ask_to_join(self, client: Any) -> Any:
        """Return what somebody new at `client` is answered who begins."""
        client.cookies.clear()
        form = client.get("/join").text
        answer = client.post("/join", data={"proof": hidden(form, "proof")}, follow_redirects=False)
        client.cookies.clear()
        return answer

    def join(self) -> "Person":
        """Return somebody new, who has begun."""
        self.client.cookies.clear()
        form = self.client.get("/join").text
        answer = self.client.post("/join", data={"proof": hidden(form, "proof")}, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        self.client.cookies.clear()
        return Person(self, answer.headers["location"])

    def enter_owner(self) -> None:
        """Log the client in as the owner."""
        self.client.cookies.clear()
        form = self.client.get("/owner").text
        answer = self.client.post("/owner/enter", data={"proof": hidden(form, "proof"), "token": OWNER})
        assert "Download" in answer.text


@dataclass
class Person:
    """A participant's browser without scripts."""

    site: Site
    address: str
    html: str = field(init=False)

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> str:
        """Return the page as it is now."""
        self.html = self.site.client.get(self.address).text
        return self.html

    @property
    def page(self) -> str:
        """The page being judged, by its texts; empty if there is none."""
        found = re.search(r"text (\d+)-0 ", self.html)
        return found[1] if found else ""

    @property
    def code(self) -> str:
        """The completion code, if there is one."""
        found = re.search(r'class="value"[^>]*>([^<]+)<', self.html)
        return found[1] if found else ""

    def fields(self, **answers: str) -> dict[str, str]:
        """Return the form with `answers`."""
        return {"proof": hidden(self.html, "proof"), "sheet": hidden(self.html, "sheet")} | {
            name.replace("_", "-"): value for name, value in answers.items()
        }

    def post(self, action: str, data: dict[str, str], **settings: Any) -> Any:
        """Send a form."""
        return self.site.client.post(f"{self.address}/{action}", data=data, **settings)

    def judge(self, place: int, label: str) -> Any:
        """Give one answer, as the script does."""
        return self.post("answer", self.fields(**{f"item_{place}": label}))

    def finish(self, label: str = "fake", comment: str = "") -> str:
        """Judge everything alike and hand in."""
        n = len(self.site.study.pages[0].items)
        data = self.fields(**{f"item_{place}": label for place in range(n)})
        answer = self.post("submit", data | {"comment": comment})
        self.html = answer.text
        return self.html


def hidden(page: str, name: str) -> str:
    """Return the value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


def serve_study(
    folder: Path, study: Study, *, per_address: int = 0, invite_only: bool = False, **rules: Any
) -> Generator[Site, None, None]:
    """Serve `study` without a network; `rules` are the pool's."""
    from fastapi.testclient import TestClient

    save_study(study, folder)
    clock = Clock()
    with open_database(database_url(folder)) as database:
        database.run_now(lambda connection: claim(connection, study, hash_token(OWNER)))
        pool = Pool(study, clock=clock, **rules)
        told: list[str] = []
        service = Service(
            pool,
            database,
            hash_token(OWNER),
            own_rate=RateLimit(10, 60, clock),
            stranger_rate=RateLimit(20, 100, clock),
            owner_rate=RateLimit(0.1, 20, clock),
            address_limit=AddressLimit(per_address, clock),
            invite_only=invite_only,
            notify=told.append,
        )
        app = create_app(service)
        with TestClient(app, base_url="http://study.example") as client:
            yield Site(folder, study, clock, database, pool, client, app, told)
