"""The study of generators on the command line: what is refused, and a part of it on made-up writers."""

import json
from pathlib import Path

import pytest

from made_up import sentences
from made_up_generators import WRITERS, made_up_generators
from textassay_lab.papers.generators import results as generators_study

NAME = ("study", "generators")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "yelp").mkdir(parents=True)
    lines = "".join(f"{line}\n" for line in sentences(60, 1))
    for name in ("train", "valid"):
        (tmp_path / "data" / "yelp" / f"{name}.txt").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "missing option '--data'"),
        (("--data", "nowhere"), "no folder nowhere: --data names one that holds yelp"),
        (("--data", "data/yelp"), "lacks train.txt, valid.txt"),
        (("--data", "data"), "the scale tiny needs"),
        (("--data", "data", "--real", "x.txt"), "unknown option '--real'"),
        (("--data", "data", "--judgements", "x.csv"), "unknown option '--judgements'"),
        (("--data", "data", "--seeds", "2"), "unknown option '--seeds'"),
        (("--data", "data", "--scale", "huge"), "unknown scale 'huge'"),
    ],
)
def test_mistakes_are_told_in_one_line(run, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    outcome = run(*NAME, *arguments, "--out", "out", "--quiet")
    assert outcome.status == 2
    assert outcome.stdout == ""
    assert message in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_it_is_in_the_list(run) -> None:  # type: ignore[no-untyped-def]
    assert "generators" in json.loads(run("study", "list", "--json").stdout)["studies"]


def test_a_part_of_it_and_what_is_not_there(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    lines = "".join(f"{line}\n" for line in sentences(8000, 1))
    (tmp_path / "data" / "yelp" / "train.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "data" / "yelp" / "valid.txt").write_text(lines, encoding="utf-8")
    monkeypatch.setattr(generators_study, "build_generators", lambda *given, **settings: made_up_generators(60))
    command = (*NAME, "--data", "data", "--out", "out", "--only", "draw", "--json")
    first = run(*command)
    assert first.status == 0, first.stderr
    assert "data has no folder emnlp_news: what needs it is not measured" in first.stderr
    assert json.loads(first.stdout)["computed"] == 2 * len(WRITERS)  # each is trained first
    assert json.loads(run(*command).stdout)["computed"] == 0
    wrong = run(*NAME, "--data", "data", "--out", "out", "--only", "drew", "--quiet")
    assert "unknown stage 'drew'" in wrong.stderr
