"""What no reader should choke on: bombs, odd documents and long names end in one line and status 2."""

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textassay.cli.main import main
from textassay.cli.messages import shortened
from textassay.storage import host_name

Refused = Callable[..., str]
INSPECT = ("inspect", "--real", "real.txt", "g=lstm.txt")


def test_limits_are_options_of_every_command_that_reads_texts(refused: Refused) -> None:
    import typer

    from textassay.cli import main as main_module

    waiting: list[Any] = [typer.main.get_command(main_module.make_app())]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        options = {parameter.name for parameter in command.params}
        if "column" in options or "config" in options:
            assert options >= {"max_input", "max_text"}, command.name
    assert refused(*INSPECT, "--max-input", "1kB").startswith("real.txt holds more than 1 kB")
    assert "of 12,345 " not in refused(*INSPECT, "--max-text", "0")
    assert refused(*INSPECT, "--max-text", "0") == "--max-text must be at least 1, got 0"
    assert refused(*INSPECT, "--max-input", "much").startswith("--max-input must be a number of bytes, such as")


def test_limits_from_a_configuration_end_with_the_command(refused: Refused, folder: Path, run: Any) -> None:
    (folder / "c.yaml").write_text("max-text: 10\n")
    assert "more than the 10 allowed for one text" in refused(*INSPECT, "--config", "c.yaml")
    assert run(*INSPECT, "--config", "c.yaml", "--max-text", 1000).status == 0
    assert run(*INSPECT).status == 0


def test_a_bomb_and_a_long_line(refused: Refused, folder: Path) -> None:
    (folder / "bomb.txt.gz").write_bytes(gzip.compress(b"\0" * 10_000_000))
    assert refused("inspect", "--real", "bomb.txt.gz", "lstm.txt").startswith("bomb.txt.gz is a binary file")
    (folder / "long.txt").write_text("short\n" + "word " * 400_000 + "\n")
    told = refused("inspect", "--real", "long.txt", "lstm.txt")
    assert told.startswith("long.txt: text 2 has 2,000,000 characters, more than the 1,000,000 allowed for one text")
    assert "--max-text 2000000" in told
    assert "--max-tokens" in told


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seed: 2020-13-45", "'--seed': Input should be a valid integer"),
        ("seed: " + "1" * 5000, "a number with too many digits"),
        ("seed: 1e400", "'--seed': Input should be a valid integer"),
        ("[" * 20_000, "nested too deeply"),
        ("seed: &a [*a]", "the YAML value contains itself"),
        ("real: &a [x]\nout: *a", "the value of 'real' cannot be a list"),
        ('real: "a\\0b"', "the value of 'real' contains a zero byte or half a character"),
        ('real: "\\ud800"', "the value of 'real' contains a zero byte or half a character"),
        ('generators: {g: "a\\0b"}', "the value of 'generators' contains a zero byte or half a character"),
        ("tokenizer: !!set {a}", "cannot be a set"),
    ],
)
def test_odd_configurations(refused: Refused, folder: Path, content: str, message: str) -> None:
    (folder / "c.yaml").write_text(content)
    arguments = (
        ("compare", "--real", "real.txt", "g=lstm.txt") if not content.startswith("real") else ("compare", "g=lstm.txt")
    )
    told = refused(*arguments, "--config", "c.yaml")
    assert message in told


@pytest.mark.parametrize("content", ["[" * 20_000, "1" * 5000, '{"text": ' + "1" * 5000 + "}", '{"a":' * 900])
def test_odd_json(refused: Refused, folder: Path, content: str) -> None:
    for name in ("f.jsonl", "f.json"):
        (folder / name).write_text(content)
        assert refused("inspect", "--real", name, "lstm.txt").startswith(name)
    (folder / "lp.json").write_text(content)
    assert "lp.json" in refused("compare", "--real", "real.txt", "g=lstm.txt", "--log-probs", "g=lp.json")
    (folder / "results.json").write_text(content)
    assert refused("report", ".").startswith("results.json is not a comparison")
    (folder / "study.json").write_text(content)
    assert "study.json" in refused("human", "export", ".", "--to", "csv")
    (folder / "r.yaml").write_text(content)
    ratings = "item,rater,label,generator\na,r,real,\nb,r,fake,g\n"
    (folder / "ratings.csv").write_text(ratings)
    assert refused("human", "analyse", "ratings.csv", "--reasons", "r.yaml").startswith("r.yaml")


def test_a_long_name_is_shortened_at_both_ends(refused: Refused) -> None:
    told = refused("inspect", "--real", "begin" + "x" * 5000 + "end.txt", "lstm.txt")
    assert len(told) < 1000
    assert "beginxxx" in told
    assert "xxxend.txt" in told
    assert " characters)..." in told
    assert shortened("a " * 5000).count("a") < 2500
    assert shortened("one two") == "one two"


def test_a_refused_comparison_leaves_the_folder_as_it_was(refused: Refused, folder: Path) -> None:
    (folder / "few.txt").write_text("a b c\nb c d\nc d e\n")
    told = refused(
        "compare",
        "--real",
        "real.txt",
        "g=few.txt",
        "--metrics",
        "length,dd",
        "--no-explain",
        "--quiet",
        "--out",
        "out",
    )
    assert "g: dd needs at least 50 texts a side" in told


def test_what_a_killed_run_left_is_cleared_by_the_next(folder: Path, run: Any) -> None:
    estimates = folder / "out" / "estimates"
    estimates.mkdir(parents=True)
    left = estimates / f".0123.npz.{host_name()}.999999999.abcd.tmp"
    left.touch()
    os.utime(left, (time.time() - 60,) * 2)
    arguments = ("--metrics", "length", "--no-explain", "--quiet", "--out", "out")
    assert run("compare", "--real", "real.txt", "g=lstm.txt", *arguments).status == 0
    assert not left.exists()
    assert list(estimates.glob("*.npz"))


def test_results_that_cannot_be_saved_are_said_to_be_printed_only(
    folder: Path, run: Any, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(path: Path, content: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("textassay.storage._write", no_space)
    outcome = run("discrepancy", models / "ngram", models / "ngram", "-n", 20, "--out", folder / "out", "--json")
    assert outcome.status == 2
    assert json.loads(outcome.stdout)["tokenizer"] == "whitespace"
    assert outcome.stderr.endswith(
        "the results were printed, but not saved: free disk space and run the same command again\n"
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["c.yaml", "f.jsonl", "f.json", "f.csv", "f.tsv", "f.parquet", "f.txt.gz", "f.txt"]),
    st.binary(max_size=60)
    | st.text("[]{}:,-?&*!|>'\"%@`# \n\r\tab10.<_=\0\ufeff", max_size=60).map(str.encode)
    | st.text("textrlog:-\n 0{}[]\"',", max_size=60).map(lambda text: b'text,n\n"' + text.encode()),
)
def test_no_bytes_are_a_bug(folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    inspect = ["inspect", "--real", "real.txt", "lstm.txt"]
    arguments = [*inspect, "--config", name] if name == "c.yaml" else [*inspect[:2], name, "lstm.txt"]
    capsys.readouterr()
    status = main(arguments)
    told = capsys.readouterr().err
    assert status in (0, 2), told
    assert "this is a bug" not in told
    assert "Traceback" not in told
