"""Judging in a terminal: keys, going back, stopping and coming back, and what is on the disk meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest

from textassay.errors import InputError, OutputError
from textassay_lab.human.pages import build_study
from textassay_lab.human.study import Study, StudyPage
from textassay_lab.human.submissions import accept, read_answers
from textassay_lab.human.terminal import TerminalSession, judge_pages


@pytest.fixture
def study() -> Study:
    """Return a study of two pages with five items each."""
    return build_study([f"r{n}" for n in range(4)], {"lm": [f"g{n}" for n in range(4)]}, page_size=4, seed=1)


def _judge(
    session: TerminalSession, keys: str, *, n_pages: int = 1, seen: Callable[[int], None] = lambda _: None
) -> bool:
    waiting = iter(keys)

    def show(page: StudyPage, place: int) -> None:
        seen(place)

    return judge_pages(session, n_pages=n_pages, show=show, read_key=lambda: next(waiting, ""))


@pytest.mark.feature("JJ-17")
def test_every_answer_is_on_the_disk_before_the_next_is_asked_for(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.csv"
    kept = []

    def seen(place: int) -> None:
        kept.append(len(read_answers(path, study)[0].answers) if path.exists() else 0)

    assert _judge(TerminalSession(study, "ann", path), "rfrfr", seen=seen)
    assert kept == [0, 1, 2, 3, 4]
    (submission,) = read_answers(path, study)
    assert list(submission.answers.values()) == ["real", "fake", "real", "fake", "real"]
    assert [file.name for file in path.parent.iterdir()] == ["answers.csv"]


def test_back_stop_and_come_back(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    places: list[int] = []
    assert not _judge(TerminalSession(study, "ann", path), "bxrf bq", seen=places.append)
    assert places == [0, 0, 1, 2, 1]
    assert not _judge(TerminalSession(study, "ann", path), "", seen=places.append)  # the input ends
    assert places[-1] == 1
    assert _judge(TerminalSession(study, "ann", path), "rrrr")
    assert list(read_answers(path, study)[0].answers.values()) == ["real"] * 5


def test_raters_share_a_file_and_take_the_page_with_the_fewest(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    assert _judge(TerminalSession(study, "ann", path), "f" * 5)
    bob = TerminalSession(study, "bob", path)
    page = bob.next_page()
    assert page is not None
    assert page.id == "2"
    assert _judge(bob, "f" * 10, n_pages=3)
    assert bob.next_page() is None
    found = accept(study, read_answers(path, study), most_pages=2)
    assert {(one.rater, one.page) for one in found.submissions} == {("ann", "1"), ("bob", "2"), ("bob", "1")}


def test_what_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="printable"):
        TerminalSession(study, "a\x1b[0m", tmp_path / "a.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose another --out"):
        _judge(TerminalSession(study, "ann", tmp_path / "file" / "a.csv"), "r")
