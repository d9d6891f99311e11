"""Who gets which page, and when it goes to another."""

import random
from collections import Counter
from pathlib import Path
from threading import Thread

import pytest

from served_study import Site
from textassay_lab.human.server.database import database_url, open_database
from textassay_lab.human.server.pool import PageNotHeld, Pool

ALL = dict.fromkeys(range(4), "fake")


def newcomer(site: Site, name: str) -> int:
    """Enter somebody who has not begun; return the number."""
    run = site.database.run_now
    run(lambda connection: site.pool.join(connection, name))
    number = run(lambda connection: site.pool.participant(connection, name))
    assert number is not None
    return number


def start(site: Site, person: int) -> tuple[str, str, int]:
    """Let `person` start; return stage, page and sheet."""
    moment = site.database.run_now(lambda connection: site.pool.start(connection, person))
    return moment.stage, moment.page.id if moment.page else "", moment.sheet


def hand_in(site: Site, person: int, sheet: int, answers: dict[int, str] = ALL) -> list[int]:
    return site.database.run_now(lambda connection: site.pool.hand_in(connection, person, sheet, answers, None))


def test_pages_are_spread_and_each_gets_as_many_judges_as_asked(site: Site) -> None:
    given = [start(site, newcomer(site, str(number)))[:2] for number in range(5)]
    assert given == [("judging", "0"), ("judging", "1"), ("judging", "0"), ("judging", "1"), ("all-taken", "")]


def test_nobody_gets_a_page_twice(open_site: Site) -> None:
    person = newcomer(open_site, "a")
    pages = []
    while (found := start(open_site, person))[0] == "judging":
        pages.append(found[1])
        assert hand_in(open_site, person, found[2]) == []
    assert pages == ["0", "1"]
    assert found[0] == "complete"  # other pages still lack judges, but none that this one may be


def test_an_abandoned_page_goes_to_another_and_its_answers_do_not_count(site: Site) -> None:
    people = [newcomer(site, str(number)) for number in range(5)]
    sheets = [start(site, person)[2] for person in people[:4]]
    site.clock.now += 3599
    hand_in(site, people[1], sheets[1])
    hand_in(site, people[3], sheets[3])
    assert start(site, people[4])[0] == "all-taken"
    site.clock.now += 2
    assert start(site, people[4])[:2] == ("judging", "0")


def test_who_comes_back_goes_on_while_the_page_is_needed(site: Site) -> None:
    late, other = newcomer(site, "late"), newcomer(site, "other")
    sheet = start(site, late)[2]
    site.database.run_now(lambda connection: site.pool.judge(connection, late, sheet, {0: "real"}))
    site.clock.now += 10 * 3600
    assert start(site, other)[1] == "0"  # the place is free, and page 0 comes first
    moment = site.database.run_now(lambda connection: site.pool.look(connection, late))
    assert (moment.stage, moment.sheet, dict(moment.answers)) == ("judging", sheet, {"0/0": "real"})
    assert hand_in(site, late, sheet) == []


def test_who_comes_back_too_late_is_given_another_page(site: Site) -> None:
    late = newcomer(site, "late")
    sheet = start(site, late)[2]
    site.clock.now += 3601
    others = [newcomer(site, str(number)) for number in range(3)]
    assert [start(site, person)[1] for person in others] == ["0", "1", "0"]
    moment = site.database.run_now(lambda connection: site.pool.look(connection, late))
    assert (moment.stage, moment.was_late) == ("new", True)
    with pytest.raises(PageNotHeld):
        hand_in(site, late, sheet)
    assert start(site, late)[:2] == ("judging", "1")
    site.clock.now += 3601  # everybody left: the first page is needed again, and its sheet is still there
    assert hand_in(site, late, start(site, late)[2]) == []


def test_who_has_handed_in_enough_gets_no_lost_page_back(site: Site) -> None:
    late = newcomer(site, "late")
    lost = start(site, late)[2]
    site.clock.now += 3601
    for name in ("1", "2", "3"):
        start(site, newcomer(site, name))  # pages 0, 1, 0
    assert hand_in(site, late, start(site, late)[2]) == []  # page 1
    site.clock.now += 3601  # page 0 is free again, and the sheet of it still there
    assert site.database.run_now(lambda connection: site.pool.look(connection, late)).stage == "done"
    assert start(site, late)[0] == "done"
    with pytest.raises(PageNotHeld):
        hand_in(site, late, lost)
    assert site.database.run_now(site.pool.held)["0"] == 0


@pytest.mark.feature("JJ-17")
def test_a_failed_check_gives_the_page_back(site: Site) -> None:
    for number in range(4):
        person = newcomer(site, str(number))
        hand_in(site, person, start(site, person)[2], ALL | {3: "real"} if number == 3 else ALL)
    person = newcomer(site, "next")
    assert start(site, person)[:2] == ("judging", "1")
    assert start(site, newcomer(site, "after"))[0] == "all-taken"


def test_an_incomplete_page_is_kept_and_not_handed_in(site: Site) -> None:
    person = newcomer(site, "a")
    _, _, sheet = start(site, person)
    assert hand_in(site, person, sheet, {0: "real", 2: "fake"}) == [1, 3]
    moment = site.database.run_now(lambda connection: site.pool.look(connection, person))
    assert dict(moment.answers) == {"0/0": "real", "0/2": "fake"}
    assert hand_in(site, person, sheet, {1: "fake", 3: "fake"}) == []
    assert hand_in(site, person, sheet, {0: "fake"}) == []  # again: nothing changes
    answers = site.database.run_now(lambda connection: connection.exec_driver_sql(
        "select label from answers where item = '0/0'").scalars().all())  # fmt: skip
    assert answers == ["real"]


@pytest.mark.parametrize(("place", "label"), [(4, "real"), (-1, "real"), (0, "maybe"), (0, "")])
def test_answers_that_do_not_exist_are_refused(site: Site, place: int, label: str) -> None:
    person = newcomer(site, "a")
    sheet = start(site, person)[2]
    with pytest.raises(ValueError, match="no such answer"):
        site.database.run_now(lambda connection: site.pool.judge(connection, person, sheet, {0: "real", place: label}))


def test_sheets_of_others_are_out_of_reach(site: Site) -> None:
    one, two = newcomer(site, "a"), newcomer(site, "b")
    sheet = start(site, one)[2]
    start(site, two)
    for action in (site.pool.judge, site.pool.hand_in):
        with pytest.raises(PageNotHeld):
            site.database.run_now(lambda connection, do=action: do(connection, two, sheet, ALL, None))  # type: ignore[misc]


def test_two_servers_never_give_away_one_place_twice(site: Site, tmp_path: Path) -> None:
    people = [newcomer(site, str(number)) for number in range(24)]
    pool = Pool(site.study, clock=site.clock)
    stages: list[str] = []

    def serve(own: list[int]) -> None:
        with open_database(database_url(tmp_path)) as database:
            for person in own:
                stages.append(database.run_now(lambda connection, who=person: pool.start(connection, who)).stage)  # type: ignore[misc]

    threads = [Thread(target=serve, args=(people[number::3],)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(stages) == {"judging": 4, "all-taken": 20}


def test_no_page_gets_more_or_fewer_than_asked_whatever_people_do(open_site: Site) -> None:
    rng = random.Random(0)
    people = [newcomer(open_site, str(number)) for number in range(6)]
    run, pool = open_site.database.run_now, open_site.pool
    for _ in range(400):
        open_site.clock.now += rng.choice([1, 600, 2000])
        person = rng.choice(people)
        _, _, sheet = start(open_site, person)
        action = rng.random()
        if sheet and action < 0.3:
            hand_in(open_site, person, sheet, ALL if action < 0.2 else ALL | {3: "real"})
        held = run(pool.held)
        assert max(held.values(), default=0) <= 2
        if run(lambda connection: pool.look(connection, people[0])).stage == "complete":
            break
    pairs = run(lambda connection: connection.exec_driver_sql("select participant, page from sheets").all())
    assert len(set(pairs)) == len(pairs)
