"""``textassay judge`` from files to tables, JSON and figures, and every mistake in one line."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from textassay.cli.main import main
from textassay_lab.meta_evaluation.judge import joined

WORDS = [f"w{place}" for place in range(40)]
METRICS = "bleu(order=2),distinct-n(order=2),length"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write real text, three generators ever further from it, and what three raters said of lines 1 to 20."""
    rng = np.random.default_rng(0)
    flat = np.ones(40) / 40

    def lines(weights: np.ndarray, n: int) -> list[str]:
        return [" ".join(rng.choice(WORDS, 9, p=weights / weights.sum())) for _ in range(n)]

    (tmp_path / "real.txt").write_text("\n".join(lines(flat, 60)) + "\n")
    rows = ["item,rater,label"]
    for name, power, share in (("good", 0.3, 0.9), ("fair", 1.0, 0.5), ("poor", 3.0, 0.1)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines(np.arange(1, 41.0) ** power, 40)) + "\n")
        for line in range(1, 21):
            for rater in "rst":
                rows.append(f"{name}:{line},{rater},{'real' if rng.random() < share else 'fake'}")
    (tmp_path / "ratings.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def _arguments(files: Path, *more: str) -> list[str]:
    generators = [f"{name}={files / f'{name}.txt'}" for name in ("good", "fair", "poor")]
    return ["judge", *generators, "--real", str(files / "real.txt"), "--metrics", METRICS, "--resamples", "100",
            "--quiet", *more]  # fmt: skip


def test_ratings_of_lines(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "out"
    assert main(_arguments(files, "--ratings", str(files / "ratings.csv"), "--out", str(out), "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((out / "judge.json").read_text())
    assert [gold["name"] for gold in document["golds"]] == ["H1", "H2"]
    shares = {row["generator"]: row["value"] for row in document["golds"][0]["values"]}
    assert shares["good"] > shares["fair"] > shares["poor"]
    assert {e["name"] for e in document["evaluators"]} == {"bleu(order=2)", "distinct-n(order=2)", "length"}
    # Only the judged lines are texts with a label: 60 of 120.
    assert {t["n_texts"] for t in document["text_correlations"]} == {60}
    assert {"judge.csv", "judge.md", "judge.html", "judge.tex"} <= {path.name for path in out.iterdir()}
    figures = {"judge-taus.svg", "judge-matrix.svg", "judge-scatter.svg", "judge-ranks.svg", "judge-texts.svg",
               "judge-values.svg"}  # fmt: skip
    assert figures == {path.name for path in (out / "figures").iterdir()}
    rows = list(csv.DictReader(io.StringIO((out / "judge.csv").read_text())))
    assert len(rows) == len(document["agreements"]) == 2 * 3 * 3
    page = (out / "judge.md").read_text()
    assert "## By H1 (people, every judgement)" in page
    assert "| length |" in page
    assert "| distinct-n(order=2), less real text |" in page
    matrix = (out / "figures" / "judge-matrix.svg").read_text()
    assert all(name in matrix for name in ("H1", "H2", "bleu(order=2)", "length"))


def test_a_known_order_and_kept_results(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = files / "compared"
    generators = [f"{name}={files / f'{name}.txt'}" for name in ("good", "fair", "poor")]
    assert main(["compare", *generators, "--real", str(files / "real.txt"), "--metrics", METRICS, "--out", str(out),
                 "--quiet"]) == 0  # fmt: skip
    capsys.readouterr()
    gold = ["--gold", "good>fair>poor", "--resamples", "100", "--quiet", "--json"]
    assert main(["judge", "--results", str(out), "--ratings", str(files / "ratings.csv"), *gold]) == 0
    kept = json.loads(capsys.readouterr().out)
    assert main(_arguments(files, *gold)) == 0
    fresh = json.loads(capsys.readouterr().out)
    assert [gold["name"] for gold in kept["golds"]] == ["H1", "H2", "known order"]
    values = [{e["name"]: e["values"] for e in found["evaluators"]} for found in (kept, fresh)]
    assert values[0] == values[1]
    # bleu scores sentences: the file of sentences gives them back.
    assert {t["evaluator"] for t in kept["text_correlations"]} == {"bleu(order=2)"}
    assert main(["judge", "--results", str(out), *gold, "--metrics", "length"]) == 0
    assert [e["name"] for e in json.loads(capsys.readouterr().out)["evaluators"]] == ["length"]
    assert main(["judge", "--results", str(out), *gold, "--metrics", "rouge"]) == 2
    assert "has no rouge(kind=l): it has bleu(order=2)" in capsys.readouterr().err


def test_ratings_with_texts_need_no_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["item,rater,label,generator,text"]
    for name in ("good", "fair", "poor", "real"):
        for line, text in enumerate((files / f"{name}.txt").read_text().splitlines()[:30], 1):
            label = "real" if name in ("good", "real") or (name == "fair" and line % 2) else "fake"
            rows.append(f"{name}/{line},r,{label},{'' if name == 'real' else name},{text}")
    (files / "with_texts.csv").write_text("\n".join(rows) + "\n")
    arguments = ["judge", "--ratings", str(files / "with_texts.csv"), "--metrics", METRICS, "--resamples", "100"]
    assert main([*arguments, "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "By H1 (people, every judgement)" in told
    assert "with 3 generators, p-values" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", "a=a.txt", "--real", "r.txt"], "give --ratings FILE or --gold FILE"),
        (["judge", "--gold", "a>b"], "no texts are given"),
        (["judge", "a=a.txt", "--gold", "a>b"], "--real is missing"),
        (["judge", "a=a.txt", "--results", "x", "--gold", "a>b"], "--results replaces texts"),
        (["judge", "--results", "x", "--gold", "a>b", "--resamples", "3"], "--resamples must be at least 100"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_a_gold_order_that_misses_a_generator(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_arguments(files, "--gold", "good>poor")) == 2
    assert "known order has no value for fair" in capsys.readouterr().err


def test_warnings_alike_but_for_the_generator_are_joined() -> None:
    told = joined(["m1 is short", "x of m: odd", "m is short", "else"], ["m", "m1"])
    assert told == ["each of m1, m is short", "x of m: odd", "else"]


def test_nobody_who_says_anything_is_told_and_does_not_break(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (files / "ratings.csv").read_text().replace(",fake", ",real")
    (files / "equal.csv").write_text(rows)
    assert main(_arguments(files, "--ratings", str(files / "equal.csv"), "--out", str(files / "out"))) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "H1 cannot decide anything" in told
    assert "H1 rates all generators equal" in told
    assert json.loads((files / "out" / "judge.json").read_text())["verdicts"][0]["order"] == []


def test_several_orders_and_what_nothing_agrees_with(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders = ["--gold", "good>fair>poor", "--gold", "poor>fair>good"]
    assert main(_arguments(files, *orders, "--metrics", "distinct-n(order=2)")) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "By known order #2 Trust no metric on these 3 generators: none agrees with known order #2" in told
    (files / "length.csv").write_text("generator,value\ngood,2\nfair,1\npoor,0\n")
    assert main(_arguments(files, "--gold", str(files / "length.csv"))) == 2
    assert "has the name of a metric" in capsys.readouterr().err


def test_items_of_lines_are_checked_and_need_no_column_of_generators(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (files / "ratings.csv").read_text()
    (files / "with_real.csv").write_text(rows + "Real:1,r,real\n")
    assert main(_arguments(files, "--ratings", str(files / "with_real.csv"), "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert not any("generator'" in warning for warning in document["warnings"])
    assert document["golds"][0]["floor"] == 1.0
    (files / "other.csv").write_text(rows + "goood:1,r,real\n")
    assert main(_arguments(files, "--ratings", str(files / "other.csv"))) == 2
    assert "unknown generator of item goood:1 'goood'" in capsys.readouterr().err


def test_votes_are_of_people_who_vote(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = (files / "ratings.csv").read_text().replace(",real", ",4").replace(",fake", ",2")
    (files / "numbers.csv").write_text(numbers)
    assert main(_arguments(files, "--ratings", str(files / "numbers.csv"), "--votes", "3")) == 2
    assert "numbers.csv are numbers" in capsys.readouterr().err
    assert main(_arguments(files, "--gold", "good>fair>poor", "--votes", "3")) == 2
    assert "give --ratings FILE" in capsys.readouterr().err


@pytest.mark.slow
def test_a_generator_that_shares_nothing_does_not_end_the_run(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "poor.txt").write_text("w1 w1 w1 w1 w1\n" * 40)
    metrics = ["--metrics", "bleu-nearest(order=4),length"]
    assert main(_arguments(files, "--gold", "good>fair>poor", *metrics)) == 0
    assert "no scores of single texts from bleu-nearest(order=4)" in " ".join(capsys.readouterr().out.split())


def test_names_of_tied_generators_stand_apart(files: Path) -> None:
    out = files / "out"
    assert main(_arguments(files, "--gold", "good=fair>poor", "--out", str(out))) == 0
    drawn = (out / "figures" / "judge-ranks.svg").read_text()
    found = [re.search(rf'y="([0-9.]+)"[^<]*>{name}</text>', drawn) for name in ("good", "fair", "poor")]
    heights = {place[1] for place in found if place}
    assert len(heights) == 3


def test_one_generator_has_no_rank(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["judge", f"good={files / 'good.txt'}", "--real", str(files / "real.txt"), "--gold", "good>poor"]
    assert main(arguments) == 2
    assert "at least 2 generators are needed to rank them, got good" in capsys.readouterr().err


def test_the_answer_says_at_once_what_inspection_warns_of(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A full stop glued to the last word of one generator moves every metric: nobody may miss it."""
    for name in ("real", "good", "fair", "poor"):
        path = files / f"{name}.txt"
        stop = "." if name == "good" else " ."
        path.write_text("".join(f"{line}{stop}\n" for line in path.read_text().splitlines()))
    gold = ["--gold", "good>fair>poor"]
    out = files / "judged"
    assert main(_arguments(files, *gold, "--out", str(out))) == 0
    shown = " ".join(capsys.readouterr().out.split())
    parts = ("differences that the warnings name", "By known order", "warning good: Punctuation is attached")
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "--normalize" in shown[places[-1] :]
    document = json.loads((out / "judge.json").read_text())
    warned = {(one["kind"], one["generator"]) for one in document["findings"] if one["severity"] == "warning"}
    assert ("glued-punctuation", "good") in warned
    page = (out / "judge.md").read_text()
    parts = ("differences that the warnings name", "## By known order", "warning good: Punctuation")
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert main(_arguments(files, *gold, "--normalize", "--json")) == 0
    kinds = {one["kind"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert "glued-punctuation" not in kinds


def test_columns_of_any_csv_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["Input.text,who,WorkerId,Answer.a,Answer.b"]
    for place, name in enumerate(("good", "fair", "poor", "real")):
        rows += [f"{name} text {line},{name},w,{5 - place + line % 2},{line % 3}" for line in range(20)]
    (tmp_path / "batch.csv").write_text("\n".join(rows) + "\n")
    arguments = [
        "judge",
        "--ratings",
        str(tmp_path / "batch.csv"),
        "--metrics",
        "length",
        "--resamples",
        "100",
        "--quiet",
    ]
    columns = ["--rating-column", "Answer.a", "--rating-column", "Answer.b"]
    assert main([*arguments, *columns, "--system-column", "who", "--json", "--quiet"]) == 0
    golds = json.loads(capsys.readouterr().out)["golds"]
    assert [gold["name"] for gold in golds] == ["Answer.a", "Answer.b"]
    assert [row["generator"] for row in golds[0]["values"]] == ["good", "fair", "poor"]
    assert main([*arguments, *columns]) == 2
    assert (
        "found no column for the system: name the column with --system-column; columns: Input.text"
        in capsys.readouterr().err
    )
    assert main(["judge", "--gold", "a>b", "--text-column", "x", "a=1", "b=2"]) == 2
    assert "rating columns are named, but no file" in capsys.readouterr().err


def test_a_rated_system_called_human_is_ranked_unless_it_is_named_as_real_text(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["text,system,rater,score"]
    for place, name in enumerate(("human", "good", "fair", "poor")):
        lines = (files / f"{name if place else 'real'}.txt").read_text().splitlines()[:20]
        rows += [f"{line},{name},r,{5 - place}" for line in lines]
    (files / "rated.csv").write_text("\n".join(rows) + "\n")
    arguments = ["judge", "--ratings", str(files / "rated.csv"), "--rating-column", "score", "--metrics", "length",
                 "--resamples", "100", "--quiet"]  # fmt: skip
    real = ["--real", str(files / "real.txt")]
    found = []
    for more in (real, ["--real-name", "human"], [*real, "--real-name", "human"]):
        assert main([*arguments, *more, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        (gold,) = document["golds"]
        found.append((document["generators"], document["real"], gold["floor"]))
    rest, rated = ["good", "fair", "poor"], f"20 texts that {files / 'rated.csv'} calls human"
    assert found == [
        (["human", *rest], "as given", None),
        (rest, rated, 5.0),
        (rest, f"as given; {rated} are not ranked", 5.0),
    ]
    assert main([*arguments, "--real-name", "human"]) == 0
    first_screen = " ".join(capsys.readouterr().out.split()[:120])
    assert "Real text 20 texts that" in first_screen
    for more, message in (
        ([], "has no texts called real, but human, good, fair, poor: give --real FILE, or name the real text with "
             "--real-name human"),
        (["--real-name", "people"], "has no system 'people' (--real-name): it has human, good, fair, poor"),
        (["--real-name", "human", *real, "a=a.txt"], "--real-name human needs --ratings, and cannot be combined"),
    ):  # fmt: skip
        assert main([*arguments, *more]) == 2
        told = capsys.readouterr().err
        assert message in told
        assert told.count("\n") == 1
    (files / "both.csv").write_text("\n".join([*rows, "w1 w2,real,r,5"]) + "\n")
    arguments[2] = str(files / "both.csv")
    assert main([*arguments, "--real-name", "human"]) == 2
    assert "has texts called real, and --real-name human names others" in capsys.readouterr().err
