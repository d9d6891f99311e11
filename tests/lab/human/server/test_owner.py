"""The dashboard and what can be taken away."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from served_study import Site, make_study
from textassay.errors import InputError
from textassay_lab.human.results import read_judgements, read_results
from textassay_lab.human.study import save_study
from textassay_lab.human.submissions import read_answers

FILES = ("judgements.csv", "judgements.json", "answers.csv", "progress.json", "progress")


def progress(site: Site) -> Any:
    return site.client.get("/owner/progress.json").json()


@pytest.mark.parametrize("name", FILES)
def test_nothing_without_the_token(site: Site, name: str) -> None:
    site.join().finish()
    site.client.cookies.set("owner", "wrong")
    answer = site.client.get(f"/owner/{name}")
    assert answer.status_code == 401
    assert "secret" not in answer.text


def test_the_token_is_asked_for_and_compared(site: Site) -> None:
    form = site.client.get("/owner").text
    proof = form.split('name="proof" value="')[1][:64]
    assert site.client.post("/owner/enter", data={"token": "x", "proof": "y"}).status_code == 403
    wrong = site.client.post("/owner/enter", data={"token": "wrong", "proof": proof})
    assert wrong.status_code == 403
    site.enter_owner()
    page = site.client.get("/owner").text
    assert "Log out" in page
    out = site.client.post("/owner/leave", data={"proof": page.split('name="proof" value="')[1][:64]})
    assert "Owner&#39;s token" in out.text or "Owner's token" in out.text


def test_progress_counts_what_counts(site: Site) -> None:
    site.join().finish("fake")
    site.clock.now += 90
    site.join().finish("real")  # fails the check
    site.join()
    site.enter_owner()
    found = progress(site)
    assert (found["n_done"], found["n_places"], found["n_refused"], found["n_at_work"]) == (1, 4, 1, 1)
    assert found["n_participants"] == 3
    assert found["pages"] == [
        {"id": "0", "done": 1, "at_work": 0, "open": 1},
        {"id": "1", "done": 0, "at_work": 1, "open": 1},
    ]
    assert "attention check" in found["handed_in"][0]["reason"]
    page = site.client.get("/owner").text
    assert "attention check" in page
    assert found["handed_in"][0]["code"] in page


def test_agreement_is_krippendorffs_alpha(open_site: Site) -> None:
    open_site.enter_owner()
    assert progress(open_site)["agreement"] is None
    answers = (("real", "fake", "fake", "fake"), ("real", "real", "fake", "fake"))
    for given in answers:
        person = open_site.join()
        person.finish("fake")  # page 0 or 1, by turns
        data = {"proof": person.html.split('name="proof" value="')[1][:64]}
        person.post("start", data)
        person.look()
        person.post("submit", person.fields(**{f"item_{place}": label for place, label in enumerate(given)}))
    open_site.enter_owner()
    # Hand-worked: three texts a page without the check. Page 0: fake by one, as `given` by the other, and so page 1.
    rows = read_results(open_site.folder).judgements
    votes = rows.votes()
    coincidence = np.zeros((2, 2))
    for fake, real in votes:
        for a, n_a in enumerate((fake, real)):
            for b, n_b in enumerate((fake, real)):
                coincidence[a, b] += n_a * (n_b - (a == b)) / (fake + real - 1)
    margins, n = coincidence.sum(axis=0), coincidence.sum()
    expected = 1 - (n - 1) * coincidence[0, 1] / (margins[0] * margins[1])
    assert progress(open_site)["agreement"] == pytest.approx(expected)


@pytest.mark.feature("JJ-17")
def test_what_is_taken_away_is_what_was_judged(site: Site, tmp_path: Path) -> None:
    site.join().finish("fake", comment='a "quoted"\ncomment, with = and ü')
    site.join().finish("real")  # refused
    site.enter_owner()
    file = tmp_path / "judgements.csv"
    file.write_bytes(site.client.get("/owner/judgements.csv").content)
    found = read_judgements(file)
    judged = {found.items[item].id: value for item, value in zip(found.item, found.value, strict=True)}
    assert judged == {"0/0": 0, "0/1": 0, "0/2": 0}
    assert [item.generator for item in found.items[:2]] == [None, "secret-generator"]
    assert [comment.text for comment in found.comments] == ['a "quoted"\ncomment, with = and ü']
    everything = json.loads(site.client.get("/owner/judgements.json").content)
    assert [one["accepted"] for one in everything["submissions"]] == [True, False]
    assert everything["submissions"][1]["answers"] == dict.fromkeys(("1/0", "1/1", "1/2", "1/3"), "real")
    raw = tmp_path / "answers.csv"
    raw.write_bytes(site.client.get("/owner/answers.csv").content)
    (submission,) = read_answers(raw, site.study)
    assert submission.answers["0/3"] == "fake"
    direct = read_results(site.folder).judgements
    assert direct.value.tolist() == found.value.tolist()
    assert "attention check" in direct.notes[0]


@pytest.mark.feature("EB-25")
def test_next_word_answers_say_whether_the_models_word_was_chosen(next_word_site: Site) -> None:
    next_word_site.join().finish("1")
    found = read_results(next_word_site.folder, kind="next-word").judgements
    assert (found.scale, found.value.tolist()) == ("number", [1, 1, 1])


def test_a_study_without_judgements_says_so(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    save_study(make_study(), tmp_path)
    with pytest.raises(InputError, match="nobody has judged"):
        read_results(tmp_path)


def test_a_study_is_read_by_its_own_command(next_word_site: Site) -> None:
    with pytest.raises(InputError, match="is a next-word task: analyse it with 'textassay human exposure'"):
        read_results(next_word_site.folder)
    save_study(make_study(), next_word_site.folder)
    with pytest.raises(InputError, match="is a real-or-fake task: analyse it with 'textassay human analyse'"):
        read_results(next_word_site.folder, kind="next-word")
