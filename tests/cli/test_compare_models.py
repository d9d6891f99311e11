"""``textassay compare`` with models and commands in place of files: what it draws, keeps, says and refuses."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from textassay.comparison.document import read_comparison

Run = Callable[..., Any]
Refused = Callable[..., str]
QUICK = ("--metrics", "dd", "--effort", "quick", "--no-explain", "--quiet")
ECHO = f"command:{sys.executable} -c \"for i in range({{n}}): print('text', {{seed}} + i)\""


def _pretrained(folder: Path) -> Path:
    """Save a tiny GPT-2 of random weights and its tokeniser."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    core.train_from_iterator(sentences(50, 1), trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>")
    fast.save_pretrained(folder)
    config = transformers.GPT2Config(
        vocab_size=core.get_vocab_size(), n_positions=128, n_embd=16, n_layer=1, n_head=2, eos_token_id=0,
        bos_token_id=None, initializer_range=0.4,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def test_models_of_every_kind_and_a_file(folder: Path, run: Run, models: Path) -> None:
    gpt2 = _pretrained(folder / "tiny")
    arguments = (
        "compare", "--real", "real.txt", f"ngram={models / 'ngram'}", f"lstm={models / 'lstm'}",
        f"gpt2=pretrained:{gpt2}", f"api={ECHO}", "b=trigram.txt", "--out", "report", *QUICK,
    )  # fmt: skip
    outcome = run(*arguments, "--json")
    assert outcome.status == 0, outcome.stderr
    document = json.loads(outcome.stdout)
    draws = {draw["generator"]: draw for draw in document["draws"]}
    assert list(draws) == ["ngram", "lstm", "gpt2", "api"]
    assert {draw["n"] for draw in draws.values()} == {300}
    assert set(draws["api"]) == {
        *("generator", "source", "model", "seed", "n", "seconds", "file", "log_probs", "no_log_probs", "note"),
    }
    assert {draw["log_probs"] for draw in draws.values()} == {False}
    assert "api, b have none" in draws["lstm"]["no_log_probs"]
    assert draws["gpt2"]["source"] == f"pretrained:{gpt2}"
    files = sorted(Path("report/draws").iterdir())
    assert [file.name.split("-")[0] for file in files if file.suffix == ".jsonl"] == ["api", "gpt2", "lstm", "ngram"]
    before = {file: file.read_bytes() for file in files}
    again = run(*arguments, "--json")
    assert json.loads(again.stdout) == document
    assert {file: file.read_bytes() for file in files} == before
    page = Path("report/report.html").read_text(encoding="utf-8")
    assert "Texts drawn" in page
    assert "Log-probabilities of models were not used" in page
    assert read_comparison("report").draws[0].generator == "ngram"
    kept = (f"{name}={folder / draws_file(document, name)}" for name in draws)  # can be read as any file
    assert run("inspect", "--real", "real.txt", *kept).status == 0


def draws_file(document: dict[str, Any], name: str) -> str:
    """Return the file in which a generator's draws are kept."""
    (file,) = (draw["file"] for draw in document["draws"] if draw["generator"] == name)
    return f"report/{file}"


@pytest.mark.usefixtures("folder")
def test_log_probabilities_are_used_where_all_have_them(run: Run, models: Path) -> None:
    pair = (f"ngram={models / 'ngram'}", f"lstm={models / 'lstm'}")
    command = ("compare", "--real", "real.txt", *pair, *QUICK, "--json")
    with_them = json.loads(run(*command).stdout)
    assert {draw["log_probs"] for draw in with_them["draws"]} == {True}
    signatures = [result["signature"] for result in with_them["results"] if result["generator"] in ("ngram", "lstm")]
    assert all("log_probs:" in signature for signature in signatures)
    without = json.loads(run(*command, "--no-log-probs").stdout)
    assert {draw["log_probs"] for draw in without["draws"]} == {False}
    assert "log_probs:" not in json.dumps([result["signature"] for result in without["results"]])


@pytest.mark.usefixtures("folder")
def test_the_answer_says_how_much_was_drawn_and_how_to_repeat_it(run: Run, models: Path) -> None:
    command = ("compare", "--real", "real.txt", f"lstm={models / 'lstm'}", "--draw", "500", *QUICK)
    outcome = run(*command)
    assert outcome.status == 0, outcome.stderr
    printed = " ".join(outcome.stdout.split())
    assert "500 texts were drawn from lstm." in printed
    everything = " ".join(run(*command, "--all").stdout.split())
    assert f"lstm={models / 'lstm'}" in everything
    assert "--draw 500" in everything
    assert "--log-probs lstm" not in everything
    by_default = " ".join(run(*command[:4], *QUICK, "--all").stdout.split())
    assert "300 texts were drawn from lstm." in by_default  # as many as real ones
    assert "--draw" not in by_default


def test_what_cannot_be_drawn_from_is_refused(folder: Path, refused: Refused, models: Path) -> None:
    real = ("compare", "--real", "real.txt")
    (folder / "empty").mkdir()
    (folder / "begun").mkdir()
    (folder / "begun" / "training.json").write_text("{}")
    assert "empty is a folder" in refused(*real, "a=empty")
    assert "begun is not a model folder: it has no config.json" in refused(*real, "a=begun")
    assert "nowhere" in refused(*real, "a=pretrained:nowhere/model")
    assert "failed after 0 sentences; it ended with status 3" in refused(*real, "a=command:exit 3", "--out", "r")
    few = refused(*real, "b=command:seq 9", f"a={models / 'lstm'}", "--out", "r")
    assert few == "b: the command printed 9 sentences, at least 50 are needed"
    assert "two generators are called 'a'" in refused(*real, f"a={models / 'lstm'}", "a=lstm.txt")
    lstm = f"a={models / 'lstm'}"
    assert "at least 50 texts, which dd needs, got 20" in refused(*real, lstm, "--draw", "20", "--out", "r")
    assert "--draw" in refused(*real, lstm, "--draw", "lots")
    assert "--draw must be at least 2, got 1" in refused(*real, lstm, "--draw", "1")
    assert "--draw applies to models and commands" in refused(*real, "a=lstm.txt", "--draw", "500")
    assert "command of an external generator is empty" in refused(*real, "a=command:")
    (folder / "p.npz").write_bytes(b"")
    assert "computes its own log-probabilities" in refused(*real, lstm, "--log-probs", "a=p.npz")
    assert "--ratings belong to texts" in refused(*real, lstm, "--ratings", "a=p.npz")


@pytest.mark.slow
def test_an_interrupted_command_is_ended_and_what_it_printed_is_kept(folder: Path) -> None:
    slow = "i=0; while true; do i=$((i+1)); echo a line $i; [ $i -lt 250 ] || sleep 0.2; done; echo $$ > ended"
    arguments = ["compare", "--real", "real.txt", f"a=command:echo $$ > pid; {slow}", "--out", "r", *QUICK]
    process = subprocess.Popen([sys.executable, "-m", "textassay", *arguments], stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (folder / "pid").exists() and (folder / "pid").read_text().strip():
            break
        time.sleep(0.1)
    command = int((folder / "pid").read_text())
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(command, 0)
    assert not (folder / "ended").exists()
    assert not (folder / "r" / "results.json").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_explain_and_plan_draw_what_compare_draws(run: Run, models: Path) -> None:
    pair = (f"ngram={models / 'ngram'}", f"lstm={models / 'lstm'}")
    shared = ("--real", "real.txt", *pair, "--effort", "quick", "--quiet", "--json", "--out", "r")
    explained = json.loads(run("explain", *shared).stdout)
    drawn = {file: file.stat().st_mtime_ns for file in Path("r/draws").iterdir()}
    planned = json.loads(run("plan", *shared).stdout)
    compared = json.loads(run("compare", *shared, "--metrics", "dd").stdout)
    assert {file: file.stat().st_mtime_ns for file in Path("r/draws").iterdir()} == drawn  # by the first command
    assert explained["draws"] == planned["pilot"]["draws"] == compared["draws"]
    assert {draw["log_probs"] for draw in explained["draws"]} == {True}
    assert explained["explanations"] == compared["explanations"]
    values = [result["value"] for result in compared["results"] if result["generator"] in ("ngram", "lstm")]
    assert [each["value"] for each in planned["pilot"]["generators"]] == values
    for command, page in (("explain", "explain.html"), ("plan", "plan.html")):
        assert "Texts drawn" in Path("r", page).read_text(encoding="utf-8"), command
    without = json.loads(run("plan", *shared, "--no-log-probs").stdout)
    assert without["pilot"]["draws"][0]["no_log_probs"] == "they were not requested"
    printed = " ".join(run("explain", *shared[:-3], "--out", "r").stdout.split())
    assert "300 texts were drawn from ngram" in printed


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_explain_and_plan_refuse_what_compare_refuses(
    folder: Path, refused: Refused, models: Path, command: str
) -> None:
    real = (command, "--real", "real.txt", "--out", "r")
    lstm = f"a={models / 'lstm'}"
    assert "--draw applies to models and commands" in refused(*real, "a=lstm.txt", "--draw", "500")
    assert "at least 50 texts, which dd needs, got 20" in refused(*real, lstm, "--draw", "20")
    assert "failed after 0 sentences; it ended with status 3" in refused(*real, "a=command:exit 3")
    (folder / "few.txt").write_text("a b\nc d\n" * 10)
    few = refused(command, "--real", "few.txt", lstm, "--out", "r")
    assert few == "(real): dd needs at least 50 texts a side, got 20"
    assert not (folder / "r").exists()


def test_plan_without_texts_draws_nothing(refused: Refused) -> None:
    assert "--draw applies to models and commands" in refused("plan", "--draw", "500")


def _without_seconds(document: dict[str, Any]) -> dict[str, Any]:
    draws = [{key: value for key, value in draw.items() if key != "seconds"} for draw in document["draws"]]
    return {**document, "draws": draws}


def _n_kept(folder: Path) -> int:
    """Return how many texts a folder says that it keeps."""
    files = list((folder / "draws").glob("*.json"))
    return json.loads(files[0].read_text(encoding="utf-8"))["texts"] if files else 0


def test_a_killed_drawing_goes_on_and_ends_as_one_that_was_not(
    folder: Path, run: Run, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (
        "compare", "--real", "real.txt", f"lstm={models / 'lstm'}", "--draw", "1500", "--metrics", "length",
        "--no-log-probs", "--no-explain", "--quiet",
    )  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "textassay", *command, "--out", "killed"])
    while process.poll() is None and _n_kept(folder / "killed") < 1000:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    (file,) = (folder / "killed" / "draws").glob("*.json")
    kept = _n_kept(folder / "killed")
    content = file.with_suffix(".jsonl").read_bytes()
    lines = content.count(b"\n")
    assert kept == 1000
    assert kept <= lines <= kept + 500  # where it was killed between the texts and their document
    sampled = []
    model = importlib.import_module("textassay_lab.generators").Lstm
    sample = model.sample

    def counted(self: Any, n: int, **settings: Any) -> Any:
        sampled.append(n)
        return sample(self, n, **settings)

    monkeypatch.setattr(model, "sample", counted)
    resumed = json.loads(run(*command, "--json", "--out", "killed").stdout)
    assert sum(sampled) == resumed["draws"][0]["n"] - kept == 500
    whole = json.loads(run(*command, "--json", "--out", "whole").stdout)
    assert _without_seconds(resumed) == _without_seconds(whole)
    files = [next((folder / name / "draws").glob("*.jsonl")).read_bytes() for name in ("killed", "whole")]
    assert files[0] == files[1]
    assert files[0].startswith(content[: content.rfind(b"\n") + 1])
    sampled.clear()
    more = json.loads(run(*command, "--json", "--out", "killed", "--draw", "1700").stdout)
    assert (more["draws"][0]["n"], sum(sampled)) == (1700, 200)
