"""The command ``human analyse``: every kind of results, and results that cannot be used."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_up_judgements import simulate
from served_study import hidden, make_next_word, make_study, serve_study
from textassay_lab.human.ratings_file import ratings_csv
from textassay_lab.human.results import read_results
from textassay_lab.human.study import save_study

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def judged(folder: Path) -> Path:
    """Return a long CSV file of judgements."""
    path = folder / "judgements.csv"
    drawn = simulate(np.random.default_rng(0), generators={"(real)": 1.5, "lstm": 0.0, "gan": -1.5})
    path.write_text(ratings_csv(drawn), encoding="utf-8")
    return path


@pytest.mark.feature("JJ-19", "JJ-20", "JJ-22")
def test_the_published_judgements(data_dir: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("human", "analyse", data_dir / "amt_reviews" / "batch_results.csv", "--json", "--out", out)
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert round(100 * found["h1"]["accuracy"]["value"], 2) == 66.61
    assert round(100 * found["h2"]["true_negative_rate"]["value"], 2) == 56.95
    assert found["settings"]["votes"] == 5
    assert round(found["agreement"][0]["value"], 4) == 0.2748
    flagged = [rater for rater in found["raters"] if rater["flags"]]
    assert 1 <= len(flagged) <= 20
    assert all(rater["seconds"] > 0 for rater in found["raters"])
    stored = json.loads((out / "analysis.json").read_text())
    assert stored == {key: value for key, value in found.items() if key != "file"}


def test_a_report_for_people(judged: Path, run: Run) -> None:
    done = run("human", "analyse", judged)
    assert done.status == 0, done.stderr
    for part in ("How often people are right", "Judged fake", "Fleiss' kappa", "gan", "lstm"):
        assert part in done.stdout
    assert done.stderr == ""


def test_options_are_obeyed(judged: Path, run: Run, folder: Path) -> None:
    (folder / "own.yaml").write_text("groups: {boring: {keywords: [dull]}}")
    rows = judged.read_text().splitlines()
    rows[1] += "rather dull"
    judged.write_text("\n".join(rows) + "\n")
    options = ("--ties", "drop", "--votes", "all", "--level", 0.8, "--texts", 2, "--reasons", "own.yaml", "--seed", 3)
    more = ("--min-seconds", 1.5)
    found = json.loads(run("human", "analyse", judged, "--json", *options, *more).stdout)
    assert found["settings"] == {"ties": "drop", "votes": None, "level": 0.8, "seed": 3, "min_seconds": 1.5}
    assert [len(one["texts"]) for one in found["disputed"]] == [2, 2, 2]
    assert found["reasons"]["counts"] == {"boring": 1}


def test_raters_can_be_left_out_and_that_is_said(run: Run, refused: Refused, judged: Path) -> None:
    found = json.loads(run("human", "analyse", judged, "--json", "--exclude", "w3", "--exclude", "w4").stdout)
    assert found["sizes"]["n_raters"] == 46
    (note,) = found["notes"]
    assert re.fullmatch(r"left out: 12 judgements of raters named by --exclude: w3, w4", note)
    assert "w3" not in {rater["rater"] for rater in found["raters"]}
    message = refused("human", "analyse", judged, "--exclude", "w333")
    assert "there is no rater 'w333' among the 48 raters; did you mean w33 or w3" in message
    everybody = [option for number in range(48) for option in ("--exclude", f"w{number}")]
    assert "--exclude removes all judgements" in refused("human", "analyse", judged, *everybody)
    assert "min_seconds must be at least 0" in refused("human", "analyse", judged, "--min-seconds", "-1")


def test_programs_that_answer_at_once_are_suspicious(run: Run, folder: Path) -> None:
    for site in serve_study(folder / "study", make_study(n_pages=1, k=3, n_items=21)):
        for seconds in (0.0, 0.042, 0.1):
            person = site.join()
            site.clock.now += seconds
            person.finish("fake")
    done = run("human", "analyse", folder / "study")
    assert "3 of 3 raters" in done.stdout
    assert "None is suspicious" not in done.stdout
    words = " ".join(done.stdout.split())
    assert "3 of 3 raters are suspicious" in words
    found = json.loads(run("human", "analyse", folder / "study", "--json", "--out", folder / "out").stdout)
    assert [rater["flags"][0] for rater in found["raters"]] == ["too fast"] * 3
    assert found["raters"][1]["reasons"][0] == "0.002 s per text, below the limit of 2 s"
    assert "below the limit of 2 s" in (folder / "out" / "raters.csv").read_text()
    assert "limit" not in run("human", "analyse", folder / "study", "--min-seconds", 0).stdout


def test_failed_checks_of_raters_who_judged_several_pages_are_told(run: Run, folder: Path) -> None:
    for site in serve_study(folder / "study", make_study(n_pages=2, k=1), pages_per_participant=2):
        person = site.join()
        site.clock.now += 100
        person.finish("fake")
        person.post("start", {"proof": hidden(person.html, "proof")})
        person.look()
        person.finish("real")
    (rater,) = json.loads(run("human", "analyse", folder / "study", "--json").stdout)["raters"]
    assert (rater["flags"], rater["reasons"]) == (["failed check"], ["failed 1 of 2 attention checks"])


def test_ratings(run: Run, folder: Path) -> None:
    lines = ["item,rater,label,generator"]
    lines += [
        f"{g}{n},r{r},{good + n % 2 + r / 2},{g}"
        for g, good in (("a", 3), ("real", 4))
        for n in range(6)
        for r in range(2)
    ]
    (folder / "ratings.csv").write_text("\n".join(lines) + "\n")
    found = json.loads(run("human", "analyse", "ratings.csv", "--json").stdout)
    assert found["ratings"]["generators"][0]["mean_rating"] == pytest.approx(3.75)
    assert "h1" not in found


def test_the_folder_of_a_study_that_is_served(run: Run, folder: Path) -> None:
    for site in serve_study(folder / "study", make_study(n_pages=2, k=2)):
        for _ in range(4):
            person = site.join()
            site.clock.now += 30
            person.finish("fake", comment="too vague")
        results = read_results(folder / "study")
        assert len(results.judgements) == 4 * 3
        assert set(results.seconds) == set(results.judgements.raters)
    done = run("human", "analyse", folder / "study", "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["sizes"]["n_judgements"] == 12
    assert found["h1"]["true_negative_rate"]["value"] == 1.0
    assert found["reasons"]["counts"]["vague"] == 4


def test_the_folder_of_an_import(run: Run, judged: Path, folder: Path) -> None:
    assert run("human", "analyse", folder, "--json").status == 0


def test_files_are_written(run: Run, judged: Path, folder: Path) -> None:
    assert run("human", "analyse", judged, "--out", "out").status == 0
    with (folder / "out" / "items.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 72
    assert (folder / "out" / "figures" / "generators.svg").is_file()


def test_what_cannot_be_used_is_refused(refused: Refused, judged: Path, folder: Path) -> None:
    save_study(make_study(), folder / "unjudged")
    save_study(make_next_word(), folder / "words")
    (folder / "empty").mkdir()
    (folder / "bad.yaml").write_text("groups: 1")
    for arguments, message in (
        (("missing.csv",), "missing.csv does not exist"),
        (("real.txt",), "real.txt"),
        (("unjudged",), "nobody has judged the study"),
        (("words",), "next-word task"),
        (("empty",), "contains neither study.json nor judgements.csv"),
        ((judged, "--ties", "none"), "unknown ties 'none'"),
        ((judged, "--votes", "0"), "--votes must be a whole number from 1, or all, got '0'"),
        ((judged, "--votes", "-2"), "--votes must be a whole number"),
        ((judged, "--votes", "9"), "no text has exactly 9 judgements: they have 4"),
        ((judged, "--texts", 0), "at least 1"),
        ((judged, "--level", 1), "level must be between 0 and 1"),
        ((judged, "--seed", -1), "seed must be at least 0"),
        ((judged, "--reasons", "bad.yaml"), "must have 'groups'"),
        ((judged, "--database", "sqlite:///x"), "--database needs the folder of a study"),
    ):
        assert message in refused("human", "analyse", *arguments)


def test_the_time_that_turks_workers_took(folder: Path) -> None:
    columns = [
        "AssignmentStatus",
        "WorkerId",
        "WorkTimeInSeconds",
        "Input.hit_id",
        "Input.gotcha_locs",
        "Answer.comment",
    ]
    columns += [
        name
        for slot in range(3)
        for name in (
            f"Input.review_{slot}_text", f"Input.review_{slot}_student_model", f"Answer.review_{slot}_judgment",
        )
    ]  # fmt: skip
    texts = [("one", "Real"), ("two", "lstm"), ("this text is fake", "lstm")]
    rows = []
    for worker, status, seconds, answers in (
        ("w1", "Submitted", "60", ("real", "fake", "fake")),
        ("w2", "Submitted", "", ("real", "real", "fake")),
        ("w3", "Rejected", "3", ("real", "real", "fake")),
        ("w4", "Submitted", "30", ("fake", "real", "real")),  # failed the check
    ):
        cells = [cell for pair, answer in zip(texts, answers, strict=True) for cell in (*pair, answer)]
        rows.append([status, worker, seconds, "0", "2", "", *cells])
    with (folder / "batch.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    results = read_results(folder / "batch.csv")
    assert results.judgements.raters == ("w1", "w2")
    assert results.seconds == {"w1": 20.0}
    assert results.checks == {"w1": (0, 1), "w2": (0, 1), "w4": (1, 1)}
