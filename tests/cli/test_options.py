"""Values of the command line, read into settings."""

import math
from pathlib import Path

import pytest

from textassay.cli.declarations import read_config
from textassay.cli.options import check_sources, check_writable, parse_condition, parse_generators
from textassay.errors import InputError, OptionError


@pytest.mark.parametrize(
    ("argument", "name", "source"),
    [
        ("lstm=samples/a.txt", "lstm", "samples/a.txt"),
        ("lstm=a=b.txt", "lstm", "a=b.txt"),
        ("samples/lstm.txt", "lstm", "samples/lstm.txt"),
        ("samples/lstm.v2.jsonl.gz", "lstm.v2", "samples/lstm.v2.jsonl.gz"),
        ("runs/lr=0.1/lstm.txt", "lstm", "runs/lr=0.1/lstm.txt"),
        ("samples/dataset", "dataset", "samples/dataset"),
        ("-", "stdin", "-"),
        ("lstm=-", "lstm", "-"),
        ("two words=a.txt", "two words", "a.txt"),
        ("data.jsonl::answer", "answer", "data.jsonl::answer"),
        ("m=data.jsonl::answer", "m", "data.jsonl::answer"),
        ("logs/run.eval", "run", "logs/run.eval"),
    ],
)
def test_generator_arguments(argument: str, name: str, source: str) -> None:
    assert parse_generators([argument]) == {name: source}


def test_real_and_generated_text_may_be_columns_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"a": "x", "b": "y"}\n')
    check_sources(f"{path}::a", {"m": f"{path}::b", "n": str(path)}, {})
    with pytest.raises(InputError, match=r"^--real and m are the same file, .*::a: give real text for one and"):
        check_sources(f"{path}::a", {"m": f"{path}::a"}, {})
    with pytest.raises(InputError, match=r"^no file"):
        check_sources(f"{path}::a", {"m": f"{tmp_path}/none.jsonl::b"}, {})


def test_generators_keep_their_order() -> None:
    assert list(parse_generators(["z=1.txt", "a=2.txt", "m.txt"])) == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("dd>0.3", 0.3, False),
        ("dd>0.3", 0.31, True),
        ("dd >= 0.3", 0.3, True),
        ("dd<.3", 0.29, True),
        ("dd<=1e-1", 0.1, True),
        ("dd<=0.1", 0.11, False),
        ("dd>0.3", math.nan, False),
    ],
)
def test_conditions(text: str, value: float, holds: bool) -> None:
    condition = parse_condition(text)
    assert condition.metric == "dd"
    assert condition.holds(value) is holds


def test_condition_on_a_metric_with_parameters() -> None:
    condition = parse_condition("bleu(order=4) >= 0.25")
    assert (condition.metric, condition.sign, condition.bound) == ("bleu(order=4)", ">=", 0.25)
    assert str(condition) == "bleu(order=4)>=0.25"


def test_a_condition_that_can_never_hold_is_refused() -> None:
    with pytest.raises(OptionError, match="write a metric, one of"):
        parse_condition("dd>nan")


def test_the_probe_of_a_folder_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    check_writable(tmp_path / "there" / "not" / "yet")
    check_writable(tmp_path / "there")
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_configuration_values(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "real: r.txt\nreal-heldout: h.txt\ngenerators: {a: 1.txt, b: 2.txt}\nmetrics: [dd, bleu(order=4)]\n"
        "lowercase: true\nlevel: 0.9\nfail-if: dd>0.3\n",
        encoding="utf-8",
    )
    names = ("real", "real-heldout", "generators", "metrics", "lowercase", "level", "fail-if", "train")
    options = {name: name.replace("-", "_") for name in names}
    assert read_config(path, options=options, repeatable=["generators", "fail_if"]) == {
        "real": "r.txt",
        "real_heldout": "h.txt",
        "generators": ["a=1.txt", "b=2.txt"],
        "metrics": "dd,bleu(order=4)",
        "lowercase": True,
        "level": 0.9,
        "fail_if": ["dd>0.3"],
    }


def test_configuration_keys_are_spelt_as_options(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("real_heldout: h.txt\n", encoding="utf-8")
    with pytest.raises(OptionError, match="did you mean real-heldout"):
        read_config(path, options={"real-heldout": "real_heldout"}, repeatable=[])
