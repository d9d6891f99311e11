"""What participants see and may do, without scripts."""

import asyncio
import re

import pytest

from served_study import Site, hidden
from textassay_lab.human.server.security import HEADERS, MAX_BODY_BYTES, read_form


@pytest.mark.feature("JJ-17")
def test_from_the_link_to_the_code(site: Site) -> None:
    person = site.join()
    assert person.page == "0"
    assert "Thank you" in person.finish(comment="repeats")
    assert re.fullmatch(r"([A-Z2-9]{4}-){2}[A-Z2-9]{4}", person.code)
    code = person.code
    person.look()
    assert person.code == code
    assert "Judge another" not in person.html


def test_reloading_and_coming_back_lose_nothing(site: Site) -> None:
    person = site.join()
    assert person.judge(0, "real").json() == {"saved": 1}
    assert person.judge(2, "fake").json() == {"saved": 2}
    assert person.judge(0, "fake").json() == {"saved": 2}
    page = person.look()
    checked = re.findall(r'name="item-(\d)" value="(\w+)" checked', page)
    assert checked == [("0", "fake"), ("2", "fake")]
    assert "2 of 4 answered" in page


def test_an_incomplete_page_is_refused_says_what_is_missing_and_keeps_the_rest(site: Site) -> None:
    person = site.join()
    answer = person.post("submit", person.fields(item_1="real", comment="so far"))
    assert answer.status_code == 422
    assert re.findall(r'href="#item-(\d)"', answer.text) == ["0", "2", "3"]
    page = person.look()
    assert 'value="real" checked' in page
    assert "so far</textarea>" in page


def test_a_refused_page_looks_like_any_other_to_its_judge(site: Site) -> None:
    good, bad = site.join(), site.join()
    pages = [
        re.sub(r"[A-Z2-9-]{14}", "CODE", person.finish(label)) for person, label in ((good, "fake"), (bad, "real"))
    ]
    assert pages[0] == pages[1]


@pytest.mark.feature("JJ-17")
def test_texts_are_shown_and_never_run_and_nobody_learns_who_wrote_them(site: Site) -> None:
    person = site.join()
    assert "&lt;script&gt;" in person.html
    assert "<script>" not in person.html
    assert "<b>bold" not in person.html
    assert "<i>study</i>" not in person.html
    everything = person.html + site.client.get("/join").text + person.finish()
    for secret in ("secret", "generator", "check=", '"check', "0/1"):
        assert secret not in everything


def test_the_page_fetches_nothing_from_elsewhere_and_has_no_inline_code(site: Site) -> None:
    person = site.join()
    for page in (person.html, site.client.get("/owner").text, person.finish()):
        assert 'lang="en"' in page
        assert not re.search(r"style=| on\w+=\"|<style|https?://|<script>", page)
        for address in re.findall(r'(?:src|href)="(/[^"]*)"', page):
            assert site.client.get(address).status_code == 200


def test_every_answer_carries_the_headers(site: Site) -> None:
    person = site.join()
    for address in ("/join", person.address, "/owner", "/nowhere", "/static/judge.js", "/p/wrong"):
        headers = site.client.get(address).headers
        for name, value in HEADERS.items():
            assert headers[name] == value
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert site.client.get(person.address).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("action", ["start", "answer", "submit"])
def test_writing_needs_the_proof_of_a_form(site: Site, action: str) -> None:
    person, other = site.join(), site.join()
    data = person.fields(item_0="real")
    assert person.post(action, data | {"proof": ""}).status_code == 403
    assert person.post(action, data | {"proof": other.fields()["proof"]}).status_code == 403
    assert person.post(action, data, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert "0 of 4 answered" in person.look()
    assert site.client.post("/join", data={"proof": data["proof"]}).status_code == 403


def test_links_are_unguessable_kept_as_hashes_and_lead_to_their_own_page_only(site: Site) -> None:
    person = site.join()
    token = person.address.removeprefix("/p/")
    assert len(token) == 43
    assert site.client.get("/p/" + "A" * 43).status_code == 404
    files = b"".join(path.read_bytes() for path in site.folder.glob("judgements.sqlite*"))
    assert token.encode() not in files
    for personal in (b"testclient", b"study.example", b"Mozilla", b"127.0.0.1"):
        assert personal not in files


def test_cookies_are_for_the_server_alone_and_lead_back(site: Site) -> None:
    site.client.cookies.clear()
    first = site.client.get("/join")
    answer = site.client.post("/join", data={"proof": hidden(first.text, "proof")}, follow_redirects=False)
    for cookie in [*first.headers.get_list("set-cookie"), answer.headers.get_list("set-cookie")[0]]:
        assert "HttpOnly" in cookie
        assert "SameSite" in cookie
    assert site.client.get("/join", follow_redirects=False).headers["location"] == answer.headers["location"]
    site.client.cookies.clear()
    behind_tls = site.client.get("https://study.example/join")
    assert "Secure" in behind_tls.headers["set-cookie"]


def test_somebody_who_asks_too_often_is_slowed_down_alone(site: Site) -> None:
    person, other = site.join(), site.join()
    codes = [person.judge(0, "real").status_code for _ in range(80)]
    assert 40 < codes.count(200) < 70
    assert set(codes) == {200, 429}
    assert other.judge(0, "real").status_code == 200
    site.clock.now += 10
    assert person.judge(0, "real").status_code == 200


def test_strangers_together_are_slowed_down(site: Site) -> None:
    codes = {site.client.get(f"/p/{number}").status_code for number in range(120)}
    assert codes == {404, 429}


@pytest.mark.parametrize(
    "data", [{"sheet": "x"}, {"sheet": ""}, {"sheet": "9" * 30}, {"item-0": "<b>"}, {"item-99": "real"}]
)
def test_nonsense_is_refused(site: Site, data: dict[str, str]) -> None:
    person = site.join()
    for action in ("answer", "submit"):
        assert person.post(action, person.fields() | data).status_code == 400
    assert "0 of 4 answered" in person.look()


def test_bodies_have_a_limit(site: Site) -> None:
    person = site.join()
    assert person.post("answer", person.fields(comment="x" * (MAX_BODY_BYTES + 1))).status_code == 413
    assert site.client.post(f"{person.address}/answer", content=b"\xff\xfe", headers={
        "content-type": "application/x-www-form-urlencoded"}).status_code in (403, 413)  # fmt: skip
    assert site.client.post(f"{person.address}/answer", json={"proof": 1}).status_code == 413
    assert person.post("answer", person.fields(comment="ab\0c" + "y" * 5000)).status_code == 200
    assert len(re.search(r"ab(c y*|cy*)</textarea>", person.look())[0]) == len("</textarea>") + 4000  # type: ignore[index]


def test_a_form_that_breaks_off_is_no_form(site: Site) -> None:
    from fastapi import Request

    async def leave() -> dict[str, str]:
        return {"type": "http.disconnect"}

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    request = Request({"type": "http", "method": "POST", "headers": headers}, leave)
    assert asyncio.run(read_form(request)) is None


def test_two_tabs_of_somebody_who_has_not_begun(site: Site) -> None:
    first, second = (hidden(site.client.get("/join").text, "proof") for _ in range(2))
    begun = site.client.post("/join", data={"proof": first}, follow_redirects=False)
    again = site.client.post("/join", data={"proof": second}, follow_redirects=False)
    assert (begun.status_code, again.status_code) == (303, 303)
    assert begun.headers["location"] == again.headers["location"]


def test_answers_to_a_page_that_went_to_others_are_not_taken(site: Site) -> None:
    person = site.join()
    data = person.fields(item_0="real")
    site.clock.now += 4000
    for _ in range(4):
        site.join()
    assert person.post("answer", data).status_code == 409
    page = person.post("submit", data).text
    assert "Your time ran out" in page
    assert "all the remaining pages" in page


def test_more_than_one_page_where_the_owner_allows(open_site: Site) -> None:
    person = open_site.join()
    person.finish()
    assert "Judge another page" in person.html
    person.post("start", {"proof": person.html.split('name="proof" value="')[1][:64]})
    assert 'id="sheet"' in person.look()
    assert person.page == "1"
    assert "nothing more to judge" in person.finish()


@pytest.mark.feature("EB-25")
def test_the_next_word_task(next_word_site: Site) -> None:
    person = next_word_site.join()
    assert person.html.count('type="radio"') == 3 * 6
    assert person.html.count("None of them") == 3
    assert "secret" not in person.html
    assert person.judge(0, "5").json() == {"saved": 1}
    assert person.judge(0, "6").status_code == 400
    assert "Thank you" in person.finish("1")


def test_a_complete_study_says_so(next_word_site: Site) -> None:
    next_word_site.join().finish("1")
    page = next_word_site.join().html
    assert "all the answers it needs" in page
