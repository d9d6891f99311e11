"""Which submissions count, and why others do not."""

from dataclasses import replace

import pytest

from textassay.errors import OptionError
from textassay_lab.human.pages import build_study
from textassay_lab.human.study import Study, StudyPage
from textassay_lab.human.submissions import Submission, accept, collect, failed_checks


def study_of(n_pages: int = 3) -> Study:
    """Return a study of pages with two real and two generated texts and a check."""
    real = [f"r{number}" for number in range(2 * n_pages)]
    generated = [f"g{number}" for number in range(2 * n_pages)]
    return build_study(real, {"lm": generated}, page_size=4, judgements_per_page=2, seed=1)


def perfect(page: StudyPage, rater: str, **changes: object) -> Submission:
    """Return a submission with nothing but right answers."""
    answers = {item.id: "fake" if item.check or item.generator else "real" for item in page.items}
    return replace(Submission(page.id, rater, answers, place="here"), **changes)  # type: ignore[arg-type]


@pytest.mark.feature("JJ-17")
def test_each_rule_with_its_reason() -> None:
    study = study_of()
    one, two, _ = study.pages
    check = next(item.id for item in one.items if item.check)
    answers = dict(perfect(one, "x").answers)
    submissions = [
        perfect(one, "ann"),
        perfect(two, "ann"),
        perfect(one, "ann"),
        perfect(one, "bob", answers={item: label for item, label in answers.items() if item != "1/2"}),
        perfect(one, "bob", answers=answers | {check: "real"}),
        perfect(one, "bob", answers=answers | {"1/0": "maybe"}),
        perfect(one, "bob", answers=answers | {"2/0": "real"}),
        replace(perfect(one, "bob"), page="9"),
        perfect(one, "bob", is_rejected=True),
        perfect(one, "bob"),
    ]
    found = accept(study, submissions)
    assert [one.rater for one in found.submissions] == ["ann", "bob"]
    assert [(refusal.rule, refusal.reason) for refusal in found.refusals] == [
        ("repeated rater", "the rater judged 1 page before"),
        ("repeated page", "the rater judged page 1 before"),
        ("missing item", "1 of 5 items have no answer, first 1/2"),
        ("failed check", f"attention check {check} has the answer real"),
        ("unknown label", "item 1/0 has the answer 'maybe'"),
        ("unknown item", "page 1 has no item 2/0"),
        ("unknown page", "the study has no page 9"),
        ("rejected", "rejected by the owner"),
    ]
    assert found.open_pages == {"2": 2, "3": 2}


@pytest.mark.feature("EB-26")
def test_the_cap_of_pages_for_one_worker() -> None:
    study = study_of(4)
    submissions = [perfect(page, "ann") for page in study.pages]
    assert len(accept(study, submissions, most_pages=3).submissions) == 3
    assert accept(study, submissions, most_pages=3).refusals[0].reason == "the rater judged 3 pages before"
    with pytest.raises(OptionError, match="at least 1, got 0"):
        accept(study, submissions, most_pages=0)


def test_a_check_without_an_answer_is_failed() -> None:
    page = study_of().pages[0]
    check = next(item.id for item in page.items if item.check)
    assert failed_checks(page, {}) == failed_checks(page, {check: "real"}) == [check]
    assert failed_checks(page, {check: "fake"}) == []


def test_judgements_leave_checks_out_and_keep_comments() -> None:
    study = study_of()
    judgements = collect(study, [perfect(study.pages[0], "ann", comment="hm"), perfect(study.pages[1], "bob")])
    assert len(judgements.items) == 12
    assert len(judgements) == 8
    assert (judgements.value == judgements.is_real[judgements.item]).all()
    assert [(comment.page, comment.rater, comment.text) for comment in judgements.comments] == [("1", "ann", "hm")]
