"""A page judged in a real browser: by mouse, by keyboard, on a phone, reloaded, incomplete, without scripts."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from served_study import OWNER, SCRIPT, Site, make_next_word, make_study, serve_study
from textassay_lab.human.server.app import Service, create_app
from textassay_lab.human.server.results import read_submitted
from textassay_lab.human.server.security import hash_token

uvicorn = pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.feature("JJ-17")

SHOWN = "h1 .text .word .meaning input:checked+.face kbd #count .optional .primary summary .keys .keys>button"
CONTRAST = """one => {  // by the definition of WCAG 2
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const linear = value => (value /= 255) <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  let back = one;
  while (/, 0\\)$/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;
  const found = [light(numbers(getComputedStyle(one).color)), light(numbers(getComputedStyle(back).backgroundColor))];
  return (Math.max(...found) + .05) / (Math.min(...found) + .05);
}"""


class Served:
    """A study on a port, and browsers that complain of any error."""

    def __init__(self, site: Site, browser: Any) -> None:
        self.site, self._browser = site, browser
        self.complaints: list[str] = []
        self._contexts: list[Any] = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        service = Service(site.pool, site.database, hash_token(OWNER))
        config = uvicorn.Config(create_app(service), access_log=False, log_config=None, ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()

    def open(self, address: str = "/join", **settings: Any) -> Any:
        """Return a page of a fresh browser."""
        context = self._browser.new_context(**settings)
        context.set_default_timeout(8000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._note)
        page.goto(self.address + address)
        return page

    def _note(self, line: Any) -> None:
        if line.type == "error":
            self.complaints.append(line.text)

    def answers(self) -> dict[str, str]:
        """Return what the database has, item to label."""
        rows = self.site.database.run_now(
            lambda connection: connection.exec_driver_sql("select item, label from answers").all()
        )
        return {str(item): str(label) for item, label in rows}

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path, browser: Any) -> Iterator[Served]:
    """Return a study of real or fake, or the one that the test names as its parameter."""
    for site in serve_study(tmp_path, getattr(request, "param", make_study)()):
        running = Served(site, browser)
        yield running
        running.close()
        assert running.complaints == []


def begin(page: Any) -> None:
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#sheet")
    page.wait_for_load_state("load")  # its style has come, too
    page.wait_for_load_state()


def code(page: Any) -> str:
    return str(page.locator(".code .value").inner_text())


def until_saved(page: Any, n: int) -> None:
    playwright.expect(page.locator("#count")).to_contain_text(f"{n} of")
    playwright.expect(page.locator("#saved")).to_have_text("Saved")


def test_by_mouse(served: Served) -> None:
    page = served.open()
    begin(page)
    for place, label in enumerate(("Real", "Fake", "Fake", "Fake")):
        page.locator(f"#item-{place} .choice", has_text=label).click()
    until_saved(page, 4)
    assert served.answers() == {"0/0": "real", "0/1": "fake", "0/2": "fake", "0/3": "fake"}
    page.fill("#comment", "short ones")
    page.click("#hand-in")
    (row,) = served.site.database.run_now(read_submitted)
    assert (row.code, row.submission.comment, row.is_accepted) == (code(page), "short ones", True)


def test_by_keyboard_alone(served: Served) -> None:
    page = served.open()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sheet")
    page.wait_for_load_state("load")  # its style has come, too
    page.wait_for_load_state()
    for key in "rffr":
        page.keyboard.press(key)
    until_saved(page, 4)
    page.keyboard.press("k")  # from the last item, where the keys were, to the third
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("f")  # corrects the last, and goes on to the button
    until_saved(page, 4)
    page.keyboard.press("Enter")
    assert code(page)
    assert served.answers() == {"0/0": "real", "0/1": "fake", "0/2": "real", "0/3": "fake"}


@pytest.mark.slow
def test_keys_can_be_turned_off_and_do_not_disturb_typing(served: Served) -> None:
    page = served.open()
    begin(page)
    page.click("#comment")
    page.keyboard.type("fair or far")
    page.click("text=Turn shortcuts off")
    page.keyboard.press("r")
    time.sleep(1)  # longer than the comment waits before it is saved
    assert served.answers() == {}
    page.reload()
    assert page.input_value("#comment") == "fair or far"


@pytest.mark.slow
def test_on_a_phone(served: Served) -> None:
    page = served.open(viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
    page.locator("text=Begin").tap()
    page.wait_for_selector("#sheet")
    page.wait_for_load_state("load")  # its style has come, too
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for place in range(4):
        choice = page.locator(f"#item-{place} .choice", has_text="Fake")
        box = choice.bounding_box()
        assert box["height"] >= 44
        assert box["x"] + box["width"] <= 375
        choice.tap()
    until_saved(page, 4)
    page.locator("#hand-in").tap()
    assert code(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_reload_in_the_middle_and_a_browser_that_was_closed(served: Served) -> None:
    page = served.open()
    begin(page)
    page.keyboard.press("r")
    page.keyboard.press("f")
    until_saved(page, 2)
    page.reload()
    playwright.expect(page.locator("#count")).to_have_text("2 of 4 answered")
    address = page.url.removeprefix(served.address)
    page.context.close()
    again = served.open(address)
    checked = again.eval_on_selector_all("input:checked", "all => all.map(one => one.name + one.value)")
    assert checked == ["item-0real", "item-1fake"]
    assert "current" in again.locator("#item-2").get_attribute("class")


def test_a_missing_item_is_pointed_at(served: Served) -> None:
    page = served.open()
    begin(page)
    for place in (0, 1, 3):
        page.locator(f"#item-{place} .choice", has_text="Fake").click()
    page.click("#hand-in")
    playwright.expect(page.locator("#problem")).to_contain_text("1 still to answer")
    playwright.expect(page.locator("#item-2 .todo")).to_be_visible()
    playwright.expect(page.locator("#item-2")).to_be_in_viewport()
    assert page.evaluate("document.activeElement.closest('.item').id") == "item-2"
    page.keyboard.press("f")
    playwright.expect(page.locator("#problem")).to_be_hidden()
    page.click("#hand-in")
    assert code(page)


@pytest.mark.slow
def test_an_answer_that_could_not_be_sent_is_sent_later(served: Served) -> None:
    page = served.open()
    begin(page)
    page.context.set_offline(True)
    page.keyboard.press("r")
    playwright.expect(page.locator("#saved")).to_have_text("Not saved yet, trying again")
    page.context.set_offline(False)
    until_saved(page, 1)
    assert served.answers() == {"0/0": "real"}
    served.complaints.clear()  # the browser's own line about being offline


def test_a_text_with_a_script_is_text(served: Served) -> None:
    page = served.open()
    begin(page)
    assert page.locator("#text-1").inner_text() == f"text 0-1 {SCRIPT}"
    assert page.title() == "Title of <i>study</i>"
    assert page.locator("#text-1 script, #text-1 b").count() == 0


@pytest.mark.slow
def test_without_scripts(served: Served) -> None:
    page = served.open(java_script_enabled=False)
    begin(page)
    page.check("#item-0 input[value=real]", force=True)
    page.click("#hand-in")
    playwright.expect(page.locator("#problem")).to_contain_text("3 still to answer")
    for place in (1, 2, 3):
        page.check(f"#item-{place} input[value=fake]", force=True)
    page.click("#hand-in")
    assert code(page)
    served.complaints.clear()  # the incomplete page came with status 422


@pytest.mark.slow
@pytest.mark.slow
def test_two_windows_of_one_participant(served: Served) -> None:
    page = served.open()
    begin(page)
    second = page.context.new_page()
    second.goto(page.url)
    for key in "ffff":
        second.keyboard.press(key)
    second.click("#hand-in")
    assert code(second)
    page.keyboard.press("r")  # this window is behind: it is told
    page.wait_for_selector(".code")
    assert served.answers()["0/0"] == "fake"
    served.complaints.clear()  # the 409 of that answer


@pytest.mark.slow
def test_every_control_has_a_name_and_texts_stand_out(served: Served) -> None:
    page = served.open()
    begin(page)
    unnamed = """all => all.filter(one => !(one.labels?.length || one.textContent.trim())).length"""
    assert page.eval_on_selector_all("input:not([type=hidden]), textarea, button, summary", unnamed) == 0
    groups = page.get_by_role("group").filter(has=page.locator("input")).all()
    assert len(groups) == 4
    page.locator("#item-0 .choice").first.click()
    page.wait_for_timeout(300)  # colours change slowly
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(300)
        for selector in SHOWN.split():
            assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, (scheme, selector)


@pytest.mark.slow
def test_the_dashboard_is_live(served: Served) -> None:
    owner = served.open("/owner")
    owner.fill("#token", OWNER)
    owner.click("text=Open the dashboard")
    playwright.expect(owner.locator(".main-number dd").first).to_have_text(re.compile(r"0\s+of 4"))
    served.site.join().finish()
    playwright.expect(owner.locator(".main-number dd").first).to_have_text(re.compile(r"1\s+of 4"))
    with owner.expect_download() as download:
        owner.click("text=judgements.csv")
    assert "secret-generator" in Path(download.value.path()).read_text()


@pytest.mark.slow
@pytest.mark.feature("EB-25")
@pytest.mark.parametrize("served", [make_next_word], indirect=True)
def test_the_next_word_task_by_keyboard(served: Served) -> None:
    page = served.open()
    begin(page)
    for key in "261":
        page.keyboard.press(key)
    until_saved(page, 3)
    page.keyboard.press("Enter")
    assert code(page)
    assert served.answers() == {"0/0": "1", "0/1": "5", "0/2": "0"}
