"""The form in one file, in a browser: judged by keyboard and mouse, kept over a reload, saved as a file."""

from pathlib import Path
from typing import Any

import pytest

from textassay_lab.human.html_form import html_form
from textassay_lab.human.pages import build_study
from textassay_lab.human.study import Study
from textassay_lab.human.submissions import accept, read_answers

_SCRIPT = "document.title = 'run'"
NASTY = f'</script><script>{_SCRIPT}</script><img src=x onerror="{_SCRIPT}"> "q", \u00e9 \U0001f600'


def _study() -> Study:
    return build_study([NASTY, "r1", "r2", "r3"], {"lm": ["g0", "g1", "g2", "g3"]}, page_size=4, seed=1)


@pytest.mark.feature("JJ-17")
def test_a_page_is_judged_and_comes_back(browser: Any, tmp_path: Path) -> None:
    study = _study()
    (tmp_path / "form.html").write_text(html_form(study), encoding="utf-8")
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"file://{tmp_path}/form.html")
    number = next(place for place, one in enumerate(study.pages) if NASTY in [item.text for item in one.items])
    judged = study.pages[number]
    page.fill("#rater", 'ann "x", y')
    page.select_option("#page", judged.id)
    assert page.locator("blockquote").all_text_contents() == [item.text for item in judged.items]
    assert page.title() == study.title
    boxes = page.locator("fieldset")
    for place, item in enumerate(judged.items[:-1]):
        label = "fake" if item.check or item.generator else "real"
        radio = boxes.nth(place).locator(f"input[value={label}]")
        radio.check() if place % 2 else radio.press(" ")
    page.get_by_role("button").click()  # one is missing: nothing is saved, the browser points at it
    assert page.evaluate("document.querySelector('input:invalid').name") == judged.items[-1].id
    page.reload()
    page.fill("#rater", 'ann "x", y')
    page.select_option("#page", judged.id)
    assert page.locator("input:checked").count() == len(judged.items) - 1
    last = judged.items[-1]
    boxes.nth(len(judged.items) - 1).get_by_label("fake" if last.check or last.generator else "real").check()
    page.fill("#comment", 'they "read"\nodd, really')
    with page.expect_download() as download:
        page.get_by_role("button").click()
    saved = tmp_path / "answers.csv"
    download.value.save_as(saved)
    (submission,) = read_answers(saved, study)
    assert (submission.rater, submission.page) == ('ann "x", y', judged.id)
    assert submission.comment == 'they "read"\nodd, really'
    assert len(accept(study, [submission]).submissions) == 1
    assert not complaints
    page.close()


def test_the_form_fits_a_phone(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "form.html").write_text(html_form(_study()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 360, "height": 640})
    page.goto(f"file://{tmp_path}/form.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.screenshot(path=tmp_path / "phone.png")
    page.close()


def test_a_name_typed_last_takes_the_answers_and_another_name_does_not(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "form.html").write_text(html_form(_study()), encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/form.html")
    for place in range(2):
        page.locator("fieldset").nth(place).locator("input[value=real]").check()
    chosen = page.locator("input:checked")
    page.locator("#rater").press_sequentially("ann")
    page.locator("#comment").focus()
    assert chosen.count() == 2
    page.fill("#rater", "bob")
    page.locator("#comment").focus()
    assert chosen.count() == 0
    page.fill("#rater", "ann")
    page.locator("#comment").focus()
    assert chosen.count() == 2
    page.reload()
    assert chosen.count() == 0
    page.close()
