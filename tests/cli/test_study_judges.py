"""The command ``study judges``, on made-up judgements and without the slower classifiers."""

import csv
import json
from pathlib import Path

import pytest

from made_up import sentences, shuffled
from textassay_lab.papers.judges.findings import JUDGES_PAPER


@pytest.fixture(autouse=True)
def judged(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Write judgements of 40 texts of each of three writers, and leave two classifiers."""
    few = JUDGES_PAPER.scales["tiny"].but(classifiers=("SVM", "NB"))
    monkeypatch.setitem(JUDGES_PAPER.scales, "tiny", few)
    texts = {"": sentences(40, 1), "SS": sentences(40, 2, shift=0.4), "gan": shuffled(sentences(40, 3), 0)}
    path = folder / "judged.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "rater", "label", "generator", "page", "text"))
        for name, lines in texts.items():
            for k, text in enumerate(lines):
                for rater in range(3):
                    label = "fake" if (k + rater) % 4 < {"": 1, "SS": 2, "gan": 3}[name] else "real"
                    writer.writerow((f"{name}:{k}", f"r{rater}", label, name, f"p{k % 8}", text))
    return path


@pytest.mark.slow
@pytest.mark.feature("JJ-40")
def test_from_a_file_of_judgements_to_the_report(run, folder: Path) -> None:  # type: ignore[no-untyped-def]
    command = ("study", "judges", "--judgements", "judged.csv", "--out", "out", "--json")
    first = run(*command)
    assert first.status == 0, first
    document = json.loads(first.stdout)
    assert [one["id"] for one in document["findings"]][::2] == [f"K{n}" for n in range(1, 14)]
    h1 = {
        cell["row"]: cell["ours"]
        for table in document["tables"]
        if table["id"] == "figure 3"
        for cell in table["cells"]
        if cell["column"] == "H1" and cell["ours"] is not None
    }
    assert h1 == pytest.approx({"Scheduled Sampling": 50, "gan": 75, "(real)": 25})
    for name in ("study.md", "study.csv", "study.json"):
        assert (folder / "out" / name).stat().st_size > 0
    again = run(*command)
    assert "0 stages computed" in again.stderr
    assert json.loads(again.stdout) == document
    plain = run("study", "judges", "--judgements", "judged.csv", "--out", "out")
    assert plain.status == 0
    assert "Findings of the paper, and whether they hold here" in plain.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("judges", "--out", "out"), "missing option '--judgements'"),
        (("judges", "--judgements", "judged.csv"), "missing option '--out'"),
        (("judges", "--judgements", "nowhere.csv", "--out", "out"), "nowhere.csv does not exist"),
        (("judges", "--judgements", "real.txt", "--out", "out"), "real.txt contains plain lines, not judgements"),
        (
            ("judges", "--judgements", "judged.csv", "--real", "real.txt", "--out", "out"),
            "--generated and --real are needed together",
        ),
        (
            ("judges", "--judgements", "judged.csv", "--generated", "nowhere", "--real", "real.txt", "--out", "out"),
            "--generated must be a folder",
        ),
        (
            ("judges", "--judgements", "judged.csv", "--generated", ".", "--real", "real.txt", "--out", "out"),
            "no texts of Scheduled Sampling, gan: each generator needs a file NAME.txt",
        ),
        (("judges", "--judgements", "judged.csv", "--lowercase", "--out", "out"), "unknown option '--lowercase'"),
        (("dd-real", "--judgements", "judged.csv", "--out", "out"), "unknown option '--judgements'"),
        (("judges", "--judgements", "judged.csv", "--out", "out", "--only", "train"), "unknown stage 'train'"),
        (("judges", "--judgements", "judged.csv", "--out", "out", "--scale", "huge"), "unknown scale 'huge'"),
    ],
)
def test_what_is_refused(refused, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    assert message in refused("study", *arguments)


def test_list_names_it(run) -> None:  # type: ignore[no-untyped-def]
    assert "judges" in run("study", "list").stdout
    assert "judges" in json.loads(run("study", "list", "--json").stdout)["studies"]
