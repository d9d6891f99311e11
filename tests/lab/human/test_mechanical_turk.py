"""Batch results of Mechanical Turk: the published ones to the last judgement, and those of our own template."""

import csv
import html
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from textassay.errors import InputError
from textassay_lab.human.mechanical_turk import escaped, read_batch, read_mechanical_turk, turk_files
from textassay_lab.human.pages import build_study
from textassay_lab.human.results import read_judgements, read_submissions
from textassay_lab.human.study import Study
from textassay_lab.human.submissions import accept, collect

NASTY = "<script>alert(\"\U0001f600\")</script> & \u00e9 ${review_1_text} 'x', a\nb"


@pytest.fixture(scope="module")
def published(data_dir: Path) -> Path:
    """Return the published batch results."""
    return data_dir / "amt_reviews" / "batch_results.csv"


@pytest.mark.feature("JJ-18")
def test_the_published_judgements_with_and_without_the_failed_check(published: Path) -> None:
    every = read_mechanical_turk(published, attention_checks=False)
    assert len(every) == 17_940
    assert len(every.raters) == 897
    assert len({item.page for item in every.items}) == 180
    judgements = read_judgements(published)
    assert len(judgements) == 17_920
    assert len(judgements.raters) == 896
    assert len(judgements.items) == 3_600
    assert judgements.is_real.sum() == 1_800
    assert Counter(item.generator for item in judgements.items if item.generator) == dict.fromkeys(
        judgements.generators, 150
    )
    right = (judgements.value == 1) == judgements.is_real[judgements.item]
    real = judgements.is_real[judgements.item]
    assert round(100 * right.mean(), 2) == 66.61
    assert round(100 * right[real].mean(), 2) == 78.96
    assert round(100 * right[~real].mean(), 2) == 54.26
    votes = judgements.votes().sum(axis=1)
    assert Counter((votes[::20]).tolist()) == {5: 177, 4: 2, 3: 1}
    assert [note.rpartition(" ")[2] for note in judgements.notes] == ["(197)", "(1)"]


@pytest.mark.feature("JJ-18")
def test_equal_texts_are_items_of_their_own(published: Path) -> None:
    judgements = read_mechanical_turk(published)
    texts = [item.text for item in judgements.items if item.generator == "NoAttentionAC"]
    assert len(texts) == 150
    assert len(set(texts)) == 111


@pytest.mark.feature("JJ-17")
def test_the_rules_applied_to_everything_that_was_handed_in(published: Path) -> None:
    study, submissions = read_batch(published)
    assert len(submissions) == 1_094
    found = accept(study, submissions)
    assert len(found.submissions) == 896
    assert Counter(refusal.rule for refusal in found.refusals) == {"rejected": 197, "failed check": 1}
    assert found.open_pages == {"68": 1, "91": 2, "111": 1}
    # without their owner's word, the rules find all with a missing item or a failed check, and who came again
    anew = accept(study, [replace(one, is_rejected=False) for one in submissions])
    rejected = {(one.rater, one.page) for one in submissions if one.is_rejected}
    assert len({(one.submission.rater, one.submission.page) for one in anew.refusals} - rejected) == 1
    assert Counter(one.rule for one in anew.refusals) == {"missing item": 118, "failed check": 46, "repeated rater": 15}


def _study() -> Study:
    real = [NASTY, *(f"r{number}" for number in range(7))]
    return build_study(real, {"lm": [f"g{number}" for number in range(8)]}, page_size=8, seed=2)


def _results(study: Study, *, crowd: bool) -> str:
    """Return batch results for what `turk_files` wrote: one perfect submission a page, as Turk gives them back."""
    inputs = list(csv.DictReader(io.StringIO(turk_files(study)["pages.csv"], newline="")))
    rows = []
    for number, (given, page) in enumerate(zip(inputs, study.pages, strict=True)):
        row = {"AssignmentStatus": "Submitted", "WorkerId": f"W{number}", "Answer.comment": "so, so"}
        row |= {f"Input.{name}": value for name, value in given.items()}
        for slot, item in enumerate(page.items):
            label = "fake" if item.check or item.generator else "real"
            if crowd:
                row |= {f"Answer.review_{slot}_judgment.{one}": str(one == label).lower() for one in ("real", "fake")}
            else:
                row[f"Answer.review_{slot}_judgment"] = label
        rows.append(row)
    output = io.StringIO()
    writer = csv.DictWriter(output, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return output.getvalue()


@pytest.mark.parametrize("crowd", [True, False])
def test_our_own_template_there_and_back(tmp_path: Path, crowd: bool) -> None:
    study = _study()
    path = tmp_path / "Batch_1.csv"
    path.write_text(_results(study, crowd=crowd), encoding="utf-8")
    found = accept(study, read_submissions(path, study))
    assert not found.refusals
    judgements = collect(study, found.submissions)
    assert (judgements.value == judgements.is_real[judgements.item]).all()
    assert len(judgements) == 16
    assert {comment.text for comment in judgements.comments} == {"so, so"}
    other = build_study(
        [f"r{number}" for number in range(8)], {"lm": [f"g{number}" for number in range(8)]}, page_size=8
    )
    with pytest.raises(InputError, match=r"line \d+: text \d of page 1 is not that of the study"):
        read_submissions(path, other)
    with pytest.raises(InputError, match=r"does not contain the sources of the texts: .* human import"):
        read_judgements(path)


def test_nothing_in_the_files_says_who_wrote_what_and_no_text_is_mark_up() -> None:
    study = _study()
    files = turk_files(study)
    assert "lm" not in re.sub("html|real", "", files["template.html"] + files["pages.csv"])
    (cell,) = [
        value
        for row in csv.DictReader(io.StringIO(files["pages.csv"], newline=""))
        for name, value in row.items()
        if "alert" in value
    ]
    assert cell.isascii()
    assert not set(cell) & set('<>"$`{}\n')
    assert html.unescape(cell) == NASTY
    assert escaped("a b, c's (d)!") == "a b, c's (d)!"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.radios: Counter[str] = Counter()
        self.required = True
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if given.get("type") == "radio":
            self.radios[str(given["name"])] += 1
            self.required &= "required" in given
            assert "crowd-form" in self.open
        if tag not in ("input", "br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_template_asks_for_every_item() -> None:
    study = replace(_study(), title="a <b> $c", instructions="one <i>\n\ntwo")
    template = turk_files(study)["template.html"]
    page = _Page()
    page.feed(template)
    assert not page.open
    assert page.radios == {f"review_{slot}_judgment": 2 for slot in range(9)}
    assert page.required
    assert "a &lt;b&gt; &#36;c" in template
    assert "<p>one &lt;i&gt;</p>" in template
    assert set(re.findall(r"\$\{(\w+)\}", template)) == {f"review_{slot}_text" for slot in range(9)}


HEADER = "AssignmentStatus,WorkerId,Input.hit_id,Input.gotcha_locs,Input.review_0_text,Input.review_0_student_model"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["Submitted,w,1,,a,Real,maybe"], r"line 2: item 0 must be judged real or fake, got 'maybe'"),
        (
            ["Pending,w,1,,a,Real,real"],
            r"line 2: AssignmentStatus must be Submitted, Approved, Rejected, got 'Pending'",
        ),
        (["Submitted,w,1,,a,Real,real", "Submitted,v,1,,b,Real,real"], "line 3: page 1 has other texts than"),
        (["Submitted,w,1,,a,,real"], "line 2: the writer of text 0 is missing"),
        (["Submitted,w,1,7,a,Real,real"], "line 2: Input.gotcha_locs must be from 0 to 0, got 7"),
        (["Submitted,w,1,a,Real,real"], "line 2: 6 fields, but the first line has 7"),
        ([], "no row"),
    ],
)
def test_damaged_batch_results_are_refused_with_their_line(tmp_path: Path, rows: list[str], message: str) -> None:
    path = tmp_path / "batch.csv"
    path.write_text("\n".join([f"{HEADER},Answer.review_0_judgment", *rows]) + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read_mechanical_turk(path)
    assert "\n" not in str(caught.value)


def test_open_items_and_repeated_pages_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    rows = ["Approved,w,1,,a,Real,real", "Submitted,w,1,,a,Real,fake", "Submitted,v,1,,a,Real,"]
    path.write_text("\n".join([f"{HEADER},Answer.review_0_judgment", *rows]) + "\n")
    judgements = read_mechanical_turk(path)
    assert judgements.value.tolist() == [1]
    assert judgements.notes == (
        "left out: submissions of a page that their rater had judged before (1)",
        "without an answer: items of submissions that count (1)",
        "Input.gotcha_locs names no attention check: every text counts",
    )
    assert np.all(judgements.is_real)


def test_the_place_of_a_check_has_ascii_digits(tmp_path: Path) -> None:
    columns = "AssignmentStatus,WorkerId,Input.hit_id,Input.gotcha_locs,Input.review_0_text"
    columns += ",Input.review_0_student_model,Answer.review_0_judgment"
    path = tmp_path / "batch.csv"
    path.write_text(f"{columns}\nSubmitted,w,0,\u0660,text,Real,real\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"Input\.gotcha_locs must be from 0 to 0"):
        read_mechanical_turk(path)
