"""The commands around a study: build, export, judge, import, next-word, exposure and power."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from textassay_lab.generator.catalog import make_generator
from textassay_lab.generator.parallel import ParallelText, learn_joint_form
from textassay_lab.generator.saved import save_model
from textassay_lab.human.results import read_judgements
from textassay_lab.human.study import Study, load_study

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def study(folder: Path, run: Run) -> Study:
    """Return a study of the texts in the working folder, built by the command."""
    made = run(
        "human", "build", "--real", "real.txt", "a=trigram.txt", "b=lstm.txt", "--out", "st", "--per-generator", "10"
    )
    assert made.status == 0, made.stderr
    return load_study(folder / "st")


def _answers(study: Study, raters: int) -> str:
    """Return raw answers: everybody judges one page, rightly but for the first text."""
    output = io.StringIO()
    writer = csv.writer(output)
    writer.writerow(("item", "rater", "label"))
    for number in range(raters):
        page = study.pages[number % len(study.pages)]
        for item in page.items:
            writer.writerow((item.id, f"r{number}", "fake" if item.check or item.generator else "real"))
    return output.getvalue()


@pytest.mark.feature("JJ-17")
def test_from_two_files_to_judgements(study: Study, folder: Path, run: Run) -> None:
    assert len(study.pages) == 2
    assert json.loads((folder / "st" / "summary.json").read_text())["items"] == 40
    assert (folder / "st" / "summary.html").is_file()
    shown = run("human", "build", "--real", "real.txt", "trigram.txt", "--out", "other", "--per-generator", "10")
    assert "trigram" in shown.stdout
    (folder / "answers.csv").write_text(_answers(study, 3) + "1/0,late,real\n")
    done = run("human", "import", "st", "answers.csv", "--out", "results", "--json")
    assert done.status == 0
    document = json.loads(done.stdout)
    assert (document["accepted"], document["judgements"], document["raters"]) == (3, 60, 3)
    assert [one["reason"] for one in document["refused"]] == ["20 of 21 items have no answer, first 1/1"]
    assert document["open_pages"] == {"1": 3, "2": 4}
    assert json.loads((folder / "results" / "import.json").read_text()) == document
    assert "wrote judgements.csv, refused.csv, import.json, import.md, import.html" in done.stderr
    judgements = read_judgements(folder / "results" / "judgements.csv")
    assert judgements.generators == ("a", "b") or judgements.generators == ("b", "a")
    assert (judgements.value == judgements.is_real[judgements.item]).all()
    refused = list(csv.DictReader((folder / "results" / "refused.csv").read_text().splitlines()))
    assert [(row["page"], row["rater"]) for row in refused] == [("1", "late")]
    told = run("human", "import", "st", "answers.csv", "--out", "results")
    assert "missing item" in told.stdout


def test_a_blank_line_is_left_out_and_said(folder: Path, run: Run, refused: Refused) -> None:
    lines = (folder / "trigram.txt").read_text().splitlines()
    (folder / "gaps.txt").write_text("\n".join([lines[0], "", *lines[1:30], "  ", *lines[30:40]]) + "\n")
    options = ("build", "--real", "real.txt", "a=gaps.txt", "--out", "st", "--per-generator")
    done = run("human", *options, "20")
    assert done.status == 0, done.stderr
    assert "note: 2 of 42 texts of a are blank and left out" in done.stderr
    assert all(item.text.strip() for item in load_study(folder / "st").items)
    assert "a has 40 texts besides 2 blank ones" in refused(
        "human", *options[:-3], "--out", "more", *options[-1:], "50"
    )


def test_an_even_number_of_judges_is_advised_against(folder: Path, run: Run) -> None:
    options = ("build", "--real", "real.txt", "a=trigram.txt", "--per-generator", "10", "--judgements")
    even = run("human", *options, 4, "--out", "four")
    assert (
        "note: with 4 judges per text, ties are possible: judges who guess are tied on 38 % of the texts" in even.stderr
    )
    assert "With 3 or 5 judges" in even.stderr
    assert run("human", *options, 5, "--out", "five").stderr == ""
    plan = run("human", "power", "--judges", 2, "--judges", 3)
    words = " ".join(plan.stdout.split())
    assert "with 2 judges per text, ties are possible: judges who guess are tied on 50 % of the texts" in words
    assert "with 3 judges per text, ties are possible" not in words
    rows = json.loads(run("human", "power", "--judges", 2, "--judges", 3, "--json").stdout)["rows"]
    assert [row["ties_by_guessing"] for row in rows] == [pytest.approx(0.5), 0.0]


def test_build_again_never_loses_a_study(study: Study, folder: Path, refused: Refused) -> None:
    before = (folder / "st" / "study.json").read_bytes()
    assert "choose another --out" in refused("human", "build", "--real", "real.txt", "a=trigram.txt", "--out", "st")
    assert (folder / "st" / "study.json").read_bytes() == before


@pytest.mark.feature("JJ-01")
def test_rare_words_are_marked_alike_and_the_shares_are_told(folder: Path, run: Run) -> None:
    arguments = ("--real", "real.txt", "a=trigram.txt", "--page-size", "10", "--per-generator", "50", "--out")
    document = json.loads(run("human", "build", *arguments, "st", "--mark-rare", "20", "--json").stdout)
    settings = document["settings"]
    assert settings["mark_rare"] == 20
    assert 0 < settings["real"]["mark_share"] < 1
    assert 0 < settings["generators"]["a"]["mark_share"] < 1
    plain = json.loads(run("human", "build", *arguments, "plain", "--json").stdout)["settings"]
    assert plain["real"]["mark_share"] == 0
    texts = [item.text for item in load_study(folder / "st").items]
    assert any("__" in text.split() for text in texts)


@pytest.mark.parametrize("to", ["mechanical-turk", "label-studio", "html", "csv"])
def test_exports_do_not_say_who_wrote_what(study: Study, folder: Path, run: Run, to: str) -> None:
    done = run("human", "export", "st", "--to", to)
    assert done.status == 0
    files = [folder / line for line in done.stdout.split()]
    assert files
    content = "".join(file.read_text() for file in files)
    assert "generator" not in content
    assert "trigram" not in content
    assert study.pages[0].items[0].text.split()[0] in content


def test_judging_in_a_terminal(study: Study, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("r\nf\nq\n"))
    stopped = run("human", "judge", "st", "--rater", "ann", "--out", "ann.csv")
    assert stopped.status == 0
    assert "run the same command to continue" in stopped.stderr
    keys = ["f" if item.check or item.generator else "r" for item in study.pages[0].items]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(keys[2:]) + "\n"))
    assert "done" in run("human", "judge", "st", "--rater", "ann", "--out", "ann.csv").stderr
    document = json.loads(run("human", "import", "st", "ann.csv", "--out", "results", "--json").stdout)
    assert document["accepted"] == 1


@pytest.mark.feature("EB-25", "EB-26")
@pytest.mark.filterwarnings("default")  # what is undefined is said in a line
def test_the_next_word_task_from_a_model_to_its_exposure_bias(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("train", "ngram", "--real", "train.txt", "--out", "model", "--quiet").status == 0
    built = run(
        "human", "next-word", "model", "--real", "real.txt", "--length", "3", "--pages", "4", "--out", "nw", "--json"
    )
    assert built.status == 0, built.stderr
    assert json.loads(built.stdout)["items"] == 40
    study = load_study(folder / "nw")
    keys = [str(item.top) if item.generator is None else "5" for item in study.items]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(keys)))
    assert run("human", "judge", "nw", "--rater", "ann", "--out", "ann.csv", "--pages", "4").status == 0
    assert run("human", "import", "nw", "ann.csv", "--out", "results").status == 0
    score = run("human", "exposure", "results/judgements.csv", "--json", "--out", "score")
    document = json.loads(score.stdout)
    assert json.loads((folder / "score" / "exposure.json").read_text()) == document
    assert (folder / "nw" / "summary.json").is_file()
    assert (document["cgd_data"], document["cgd_model"], document["eb_c"]) == (0, 1, None)
    assert "EB-C is undefined" in score.stderr
    assert "exposure bias" in run("human", "exposure", "results/judgements.csv").stdout.lower()


@pytest.mark.feature("EB-37")
def test_the_next_word_task_of_a_translation_model(folder: Path, run: Run, refused: Refused) -> None:
    lines = (folder / "real.txt").read_text().splitlines()[:60]
    (folder / "target.txt").write_text("\n".join(lines))
    (folder / "source.txt").write_text("\n".join(lines).upper())
    form = learn_joint_form(lines, [line.upper() for line in lines], size=300)
    pairs = ParallelText.from_texts([line.upper() for line in lines], lines, form)
    model = make_generator("translation", preset="tiny", max_epochs=1)
    save_model(cast("Any", model).fit(pairs), folder / "translator", form=form)
    options = ("next-word", "translator", "--real", "target.txt", "--length", "2", "--pages", "2", "--page-size", "4")
    assert "is required for models that translate" in refused("human", *options, "--out", "x")
    built = run("human", *options, "--source", "source.txt", "--out", "nt", "--json")
    assert built.status == 0, built.stderr
    texts = [item.text.split("\n") for item in load_study(folder / "nt").items]
    assert {len(parts) for parts in texts} == {2}
    assert {parts[0].removeprefix("Source: ") for parts in texts} <= {line.upper() for line in lines}
    assert all(parts[1].startswith("Translation: ") for parts in texts)


@pytest.mark.feature("JJ-23")
def test_power_alone_and_with_a_pilot(study: Study, folder: Path, run: Run) -> None:
    options = ("--accuracy", 0.4, "--other", 0.6, "--power", 0.85, "--judges", 1, "--json", "--out", "planned")
    plan = json.loads(run("human", "power", *options).stdout)
    assert json.loads((folder / "planned" / "power.json").read_text()) == plan
    assert (folder / "planned" / "power.html").is_file()
    assert plan["rows"] == [
        {"judges": 1, "design_effect": 1.0, "raters": 111, "texts": 111, "judgements": 111, "ties_by_guessing": 0.0}
    ]
    rows = ["item,rater,label,generator"]
    rows += [
        f"{text},r{judge},{'fake' if (text + judge // 2) % 2 else 'real'},lm"
        for text in range(20)
        for judge in range(4)
    ]
    (folder / "pilot.csv").write_text("\n".join(rows) + "\n")
    with_pilot = json.loads(run("human", "power", "--pilot", "pilot.csv", "--texts", 100, "--json").stdout)
    assert with_pilot["texts_per_rater"] == 20
    assert with_pilot["text_correlation"] == 0  # no more alike than chance: below 0 counts as 0
    assert [row["judges"] for row in with_pilot["rows"]] == [1, 3, 5]
    assert "judges a text" in run("human", "power").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "--real", "real.txt", "--out", "x"), "no generated text is given"),
        (("build", "--real", "real.txt", "a=real.txt", "--out", "x"), "the same file"),
        (("build", "--real", "real.txt", "a=lstm.txt", "--out", "x", "--rare-from", "train.txt"), "--mark-rare N"),
        (("build", "--real", "real.txt", "a=lstm.txt", "--out", "x", "--check", " "), "--no-check"),
        (("build", "--real", "real.txt", "a=lstm.txt", "--out", "x", "--judgements", "0"), "at least 1, got 0"),
        (("build", "--real", "real.txt", "a=lstm.txt", "--out", "x", "--per-generator", "7"), "multiple of 10"),
        (("export", "nowhere", "--to", "csv"), "no study in nowhere"),
        (("import", "nowhere", "real.txt", "--out", "x"), "no study in nowhere"),
        (("judge", "nowhere", "--rater", "a", "--out", "x"), "no study in nowhere"),
        (("next-word", "--out", "x"), "give MODEL and --real FILE"),
        (("next-word", "--out", "x", "--page-size", "3"), "even, got 3"),
        (("exposure", "real.txt"), "no column|contains no judgements|separated by|plain lines"),
        (("exposure", "nowhere.csv"), "does not exist"),
        (("power", "--accuracy", "1"), "between 0 and 1, got 1"),
        (("power", "--accuracy", "0.5"), "must differ"),
    ],
)
def test_mistakes_are_one_line(refused: Refused, arguments: tuple[str, ...], message: str) -> None:
    assert re.search(message, refused("human", *arguments))


def test_exports_and_imports_of_wrong_kinds(study: Study, folder: Path, refused: Refused) -> None:
    assert "valid: csv, html, label-studio, mechanical-turk" in refused("human", "export", "st", "--to", "potato")
    (folder / "answers.csv").write_text(_answers(study, 1))
    assert "given twice" in refused("human", "import", "st", "answers.csv", "./answers.csv", "--out", "x")
    assert "plain lines, not judgements" in refused("human", "import", "st", "real.txt", "--out", "x")
    assert not (folder / "x").exists()
