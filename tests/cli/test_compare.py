"""``textassay compare``, ``inspect`` and ``report`` on small files."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textassay.comparison.comparison import Comparison

Run = Callable[..., Any]
Refused = Callable[..., str]
QUICK = ("--metrics", "length,distinct-n(order=2)")
RESULT_KEYS = {"generator", "metric", "value", "low", "high", "better", "signature", "details", "error"}
PAIR_KEYS = {"metric", "a", "b", "difference", "low", "high", "p", "p_adjusted"}


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def _document(run: Run, *arguments: object) -> dict[str, Any]:
    outcome = run("compare", "--json", *arguments)
    assert outcome.status == 0, outcome.stderr
    document: dict[str, Any] = json.loads(outcome.stdout, parse_constant=_refuse_constant)
    return document


@pytest.mark.usefixtures("folder")
def test_the_table_goes_to_standard_output_alone(run: Run) -> None:
    outcome = run("compare", "--real", "real.txt", "lstm.txt", "other=trigram.txt", *QUICK)
    assert outcome.status == 0
    assert "lstm" in outcome.stdout
    assert "other" in outcome.stdout
    assert "(real)" in outcome.stdout
    assert outcome.stderr == ""


def test_of_few_texts_the_first_screen_says_that_dd_is_missing_and_why(run: Run, folder: Path) -> None:
    for name in ("real", "lstm"):
        lines = (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"{name}.txt").write_text("".join(lines[:30]), encoding="utf-8")
    screen = " ".join(run("compare", "--real", "real.txt", "lstm.txt", "--quiet").stdout.split())
    assert screen.startswith(
        "dd has no value: it needs at least 50 texts a side, the generated corpus has 30. Give at "
    )
    assert "Until then, the answer uses bleu(order=2)" in screen


@pytest.mark.usefixtures("folder")
def test_json_is_one_document_with_the_promised_keys(run: Run) -> None:
    texts = ("--real", "real.txt", "lstm.txt", "trigram.txt", "--train", "train.txt")
    document = _document(run, *texts, "--effort", "quick")
    assert {"version", "real", "results", "pairs", "ranks", "findings", "warnings"} <= set(document)
    assert {result["generator"] for result in document["results"]} == {"(real)", "(train)", "lstm", "trigram"}
    assert {name for pair in document["pairs"] for name in (pair["a"], pair["b"])} == {"lstm", "trigram"}
    assert {rank["generator"] for rank in document["ranks"]} == {"lstm", "trigram"}
    assert all(set(result) >= RESULT_KEYS for result in document["results"])
    assert all(set(pair) == PAIR_KEYS for pair in document["pairs"])
    assert len(document["metrics"]) > 10
    Comparison.from_dict(document)


@pytest.mark.usefixtures("folder")
def test_a_folder_takes_more_generators_and_metrics_but_no_other_seed(run: Run) -> None:
    command = ("compare", "--real", "real.txt", "lstm.txt", "--out", "report", "--quiet", "--metrics")
    assert run(*command, "length", "--seed", 1).status == 0
    assert run(*command, "length,zipf", "trigram.txt", "--seed", 1).status == 0
    before = Path("report/results.json").read_bytes()
    outcome = run(*command, "length", "--seed", 2)
    assert outcome.status == 2
    assert outcome.stderr == (
        "textassay: error: report contains results for other settings (seed 1, now 2): choose another --out, "
        "give the same settings, or delete report/results.json\n"
    )
    assert Path("report/results.json").read_bytes() == before


@pytest.mark.usefixtures("folder")
def test_the_same_seed_gives_the_same_document_with_any_number_of_workers(run: Run) -> None:
    arguments = ("--real", "real.txt", "lstm.txt", "--metrics", "dd,self-bleu(order=3)", "--folds", 2)
    one, two = (_document(run, *arguments, "--seed", 5, "--workers", workers) for workers in (1, 2))
    assert one == two
    assert one["results"] != _document(run, *arguments, "--seed", 6, "--no-explain")["results"]


@pytest.mark.usefixtures("folder")
def test_options_reach_the_numbers(run: Run) -> None:
    def lengths(*arguments: object) -> str:
        document = _document(run, "--real", "real.txt", "lstm.txt", "--metrics", "length", *arguments)
        return str(document["results"][-1]["signature"])

    assert "tok:whitespace" in lengths()
    assert "tok:chars" in lengths("--tokenizer", "chars")
    assert "lower" in lengths("--lowercase")
    assert lengths("--max-tokens", 5) != lengths()
    assert lengths("--normalize") != lengths()
    document = _document(run, "--real", "real.txt", "lstm.txt", "--metrics", "length", "--level", 0.8)
    assert document["level"] == 0.8
    assert {result["level"] for result in document["results"]} == {0.8}


def test_out_writes_the_files_of_the_contract_and_adds(folder: Path, run: Run) -> None:
    command = ("compare", "--real", "real.txt", "--out", "new/report", "--quiet")
    assert run(*command, "lstm.txt", *QUICK).status == 0
    report = folder / "new" / "report"
    for name in ("results.json", "results.csv", "report.html"):
        assert (report / name).stat().st_size > 0
    assert list((report / "figures").glob("*.svg"))
    kept = {path: path.stat().st_mtime_ns for path in (report / "estimates").iterdir()}
    assert run(*command, "lstm.txt", "trigram.txt", "--metrics", QUICK[1] + ",vocabulary(of=types)").status == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    document = json.loads((report / "results.json").read_text(encoding="utf-8"))
    assert document["generators"] == ["lstm", "trigram"]
    assert len(document["metrics"]) == 3


def test_what_is_added_equals_what_is_computed_at_once(folder: Path, run: Run) -> None:
    arguments = ("--real", "real.txt", "lstm.txt", "trigram.txt", *QUICK)
    run("compare", "--real", "real.txt", "lstm.txt", "--metrics", "length", "--out", "report", "--quiet")
    assert _document(run, *arguments, "--out", "report") == _document(run, *arguments)


def test_report_draws_again(folder: Path, run: Run) -> None:
    run("compare", "--real", "real.txt", "lstm.txt", *QUICK, "--out", "report", "--quiet")
    html = (folder / "report" / "report.html").read_text(encoding="utf-8")
    (folder / "report" / "report.html").unlink()
    outcome = run("report", "report")
    assert outcome.status == 0
    assert "lstm" in outcome.stdout
    assert len((folder / "report" / "report.html").read_text(encoding="utf-8")) > len(html) / 2


@pytest.mark.usefixtures("folder")
def test_fail_if_says_who_and_exits_with_1(run: Run) -> None:
    command = ("compare", "--real", "real.txt", "lstm.txt", "trigram.txt", "--metrics", "length", "--quiet")
    assert run(*command, "--fail-if", "length>1").status == 0
    outcome = run(*command, "--fail-if", "length >= 0")
    assert outcome.status == 1
    assert "length" in outcome.stdout, "the results are printed as always"
    assert outcome.stderr.startswith("textassay: --fail-if 'length>=0' holds for lstm (0")
    assert "trigram (0" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_conditions_on_what_is_left_out_of_documents_are_refused_before_anything_is_measured(
    run: Run, folder: Path
) -> None:
    for name in ("real", "model"):
        lines = "".join(json.dumps(f"# Item {n}\n\n- {name} {n}") + "\n" for n in range(60))
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    command = ("compare", "--real", "real.jsonl", "model.jsonl", "--out", "out", "--fail-if", "bleu(order=4)>0.3")
    for more in ((), ("--unit", "document")):
        outcome = run(*command, *more)
        assert outcome.status == 2
        assert "bleu(order=4) is not among the metrics of documents, " in outcome.stderr
    assert not (folder / "out").exists()
    assert run(*command, "--unit", "sentence", "--effort", "quick", "--no-explain").status < 2


def test_conditions_on_conditional_dd_need_texts_that_bring_prompts(run: Run, folder: Path) -> None:
    for name in ("real", "model"):
        texts = [f"{name} {n} says no more" for n in range(60)]
        chats = [{"messages": [{"role": "user", "content": f"say {n}"}, {"role": "assistant", "content": text}]}
                 for n, text in enumerate(texts)]  # fmt: skip
        (folder / f"{name}.chats.jsonl").write_text(
            "".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8"
        )
        (folder / f"{name}.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    condition = ("--fail-if", "conditional-dd>0.2", "--effort", "quick", "--no-explain")
    assert run("compare", "--real", "real.chats.jsonl", "model=model.chats.jsonl", *condition).status < 2
    outcome = run("compare", "--real", "real.txt", "model=model.txt", *condition)
    assert outcome.status == 2
    assert outcome.stderr.endswith("; it needs prompts\n")


@pytest.mark.usefixtures("folder")
def test_a_metric_without_a_value_meets_every_condition(run: Run) -> None:
    Path("few.txt").write_text("a b c .\nd e f .\ng h .\n", encoding="utf-8")
    outcome = run("compare", "--real", "real.txt", "few.txt", "--fail-if", "dd>2", "--json", "--quiet")
    assert outcome.status == 1
    assert "few (no value)" in outcome.stderr
    document = json.loads(outcome.stdout)
    (result,) = [result for result in document["results"] if (result["generator"], result["metric"]) == ("few", "dd")]
    assert result["value"] is None
    assert result["error"]


@pytest.mark.usefixtures("folder")
def test_the_command_line_wins_over_the_configuration(run: Run) -> None:
    Path("c.yaml").write_text(
        "real: real.txt\ngenerators:\n  a: lstm.txt\n  b: trigram.txt\nmetrics: [length, 'distinct-n(order=2)']\n"
        "seed: 3\nlowercase: true\nfail-if: [length>1]\nquiet: true\n",
        encoding="utf-8",
    )
    document = _document(run, "--config", "c.yaml")
    assert (document["generators"], document["metrics"]) == (["a", "b"], ["length", "distinct-n(order=2)"])
    assert document["seed"] == 3
    assert "lower" in document["results"][0]["signature"]
    document = _document(run, "--config", "c.yaml", "--seed", 4, "--no-lowercase", "--metrics", "length", "c=lstm.txt")
    assert (document["generators"], document["metrics"], document["seed"]) == (["c"], ["length"], 4)
    assert "lower" not in document["results"][0]["signature"]


@pytest.mark.usefixtures("folder")
def test_log_probabilities_and_ratings_reach_the_metrics(run: Run) -> None:
    rng = np.random.default_rng(0)
    np.savez("lp.npz", real=-5 - rng.random(300), generated=-50 - rng.random(300))
    Path("ratings.json").write_text(
        json.dumps({"real": rng.random(300).tolist(), "generated": rng.random(300).tolist()}), encoding="utf-8"
    )
    Path("c.yaml").write_text("log-probs: {lstm: lp.npz}\nratings: {lstm: ratings.json}\n", encoding="utf-8")
    arguments = ("--real", "real.txt", "lstm.txt", "--metrics", "huse,length")
    document = _document(run, *arguments, "--log-probs", "lstm=lp.npz", "--ratings", "lstm=ratings.json")
    values = {row["metric"]: row["value"] for row in document["results"] if row["generator"] == "lstm"}
    assert values["huse"] < 0.05
    assert _document(run, *arguments, "--config", "c.yaml") == document


@pytest.mark.usefixtures("folder")
def test_training_text_brings_memorization(run: Run) -> None:
    document = _document(
        run, "--real", "real.txt", "copier=train.txt", "lstm.txt", "--train", "train.txt", "--metrics", "memorization"
    )
    values = {row["generator"]: row["value"] for row in document["results"]}
    assert values["copier"] == 1
    assert values["lstm"] < 0.5
    assert values["(real)"] < 0.5


@pytest.mark.usefixtures("folder")
def test_features_effort_and_explain(run: Run) -> None:
    rng = np.random.default_rng(0)
    np.save("r.npy", rng.normal(size=(300, 3)))
    np.save("g.npy", rng.normal(size=(300, 3)) + 10)
    arguments = ("--real", "real.txt", "lstm.txt", "--metrics", "fed", "--effort", "quick", "--device", "cpu")
    document = _document(run, *arguments, "--features", "real=r.npy", "--features", "lstm=g.npy", "--no-explain")
    (row,) = (row for row in document["results"] if row["generator"] == "lstm")
    assert row["metric"].startswith("fed")
    assert row["value"] == pytest.approx(300, rel=0.1)
    assert document["explanations"] == []


@pytest.mark.usefixtures("folder")
def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("lstm.txt").read_bytes())))
    piped = _document(run, "--real", "real.txt", "lstm=-", *QUICK)
    assert piped == _document(run, "--real", "real.txt", "lstm=lstm.txt", *QUICK)


@pytest.mark.usefixtures("folder")
def test_heldout_text_gets_a_row(run: Run) -> None:
    document = _document(run, "--real", "real.txt", "--real-heldout", "train.txt", "lstm.txt", *QUICK)
    assert {result["generator"] for result in document["results"]} == {"(real)", "(real-heldout)", "lstm"}


@pytest.mark.usefixtures("folder")
def test_groups_come_from_their_column(run: Run) -> None:
    for name in ("real", "lstm"):
        lines = Path(f"{name}.txt").read_text(encoding="utf-8").splitlines()
        rows = "".join(f"{number // 3},{line}\n" for number, line in enumerate(lines))
        Path(f"{name}.csv").write_text("page,review\n" + rows, encoding="utf-8")
    arguments = (
        "--real",
        "real.csv",
        "lstm.csv",
        "--column",
        "review",
        "--metrics",
        "dd",
        "--no-explain",
        "--folds",
        2,
    )
    grouped, by_line = _document(run, *arguments, "--group-column", "page"), _document(run, *arguments)
    assert "split:group" in grouped["results"][-1]["signature"]
    assert "split:draw" in by_line["results"][-1]["signature"]


@pytest.mark.usefixtures("folder")
def test_inspect_prints_findings(run: Run) -> None:
    glued = Path("lstm.txt").read_text(encoding="utf-8").replace(" .", ".").title()
    Path("glued.txt").write_text(glued, encoding="utf-8")
    outcome = run("inspect", "--real", "real.txt", "glued.txt", "--train", "train.txt")
    assert outcome.status == 0
    assert "--normalize" in outcome.stdout
    document = json.loads(run("inspect", "--real", "real.txt", "glued.txt", "--json", "--out", "found").stdout)
    assert json.loads(Path("found/inspection.json").read_text()) == document
    assert Path("found/inspection.html").is_file()
    assert {"glued-punctuation", "case"} <= {finding["kind"] for finding in document["findings"]}
    repaired = json.loads(run("inspect", "--real", "real.txt", "glued.txt", "--normalize", "--json").stdout)
    assert not {"glued-punctuation", "case"} & {finding["kind"] for finding in repaired["findings"]}


def test_reports_of_two_folders_stand_side_by_side(run: Run, folder: Path) -> None:
    for name in ("a", "b"):
        texts = "lstm.txt" if name == "a" else "trigram.txt"
        arguments = (
            "compare",
            "--real",
            "real.txt",
            f"lstm={texts}",
            "--metrics",
            "length,bleu(order=2)",
            "--no-explain",
        )
        assert run(*arguments, "--quiet", "--out", name).status == 0
    shown = run("report", "a", "b", "--out", "both")
    assert shown.status == 0
    assert "from a to b: lstm " in " ".join(shown.stdout.split())
    assert {path.name for path in (folder / "both").iterdir()} == {
        "changes.csv", "changes.html", "changes.md", "changes.tex", "figures"
    }  # fmt: skip
    assert json.loads(run("report", "a", "b", "--json").stdout)["is"] == "Document"
    for wrong, message in ((("a", "a"), "the same folder is given twice"), (("a", "none"), "none/results.json")):
        refused = run("report", *wrong)
        assert refused.status == 2
        assert message in refused.stderr


def test_the_papers_one_split_is_no_setting_of_metrics_that_need_prompts(refused: Refused) -> None:
    pytest.importorskip("torch")
    told = refused("compare", "--real", "real.txt", "lstm.txt", "--paper", "--fail-if", "huse>1")
    assert "huse is not among the metrics" in told
