"""JSON and YAML of users: whatever stands in a file ends in a value or in one line, soon."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from textassay.corpus.documents import parse_json, parse_yaml, read_document, read_yaml
from textassay.corpus.limits import input_limits
from textassay.errors import InputError


def merge_bomb() -> str:
    lines = ["a: &a {x: 1}"]
    for before, name in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True):
        lines.append(f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}")
    return "\n".join(lines)


def list_bomb() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (merge_bomb(), "may hold 100,000 values with its aliases"),
        (list_bomb(), "may hold 100,000 values with its aliases"),
        ("a: &a [*a]", "line 1: the YAML value contains itself"),
        ("x: 1\na: &a {b: *a}", "line 2: the YAML value contains itself"),
        ("[" * 20_000, "nested too deeply"),
        ("[" * 20_000 + "]" * 20_000, "nested too deeply"),
        ("{a: " * 51 + "}" * 51, "nested too deeply; 50 levels"),
        (
            "a: " + "1" * 5000,
            "line 1, column 4: broken YAML: the value is not a valid int, or is a number with too many digits",
        ),
        ("a: 0b" + "1" * 5000, "a number with too many digits"),
        ("a: 0x_", "not a valid int"),
        ("a: !!timestamp 2020-13-45", "not a valid timestamp"),
        ("a: !!bool maybe", "not a valid bool"),
        ("a: !!int ''", "not a valid int"),
        ("a: !!python/name:os.system", "could not determine a constructor"),
        ("? [a]\n: b", "unhashable key"),
        ("--- a\n--- b", "another document"),
        ("\x00", "unacceptable character"),
        ("a: b: c", "line 1, column 5: broken YAML: mapping values are not allowed here"),
    ],
)
def test_yaml_that_is_refused(text: str, message: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match=r"^c\.yaml") as caught:
        parse_yaml(text, "c.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 3


def test_yaml_that_is_read() -> None:
    text = "seed: 2020-13-45\nout: 2020-01-02\nb: &x {c: 1.5}\nd: {<<: *x, e: [*x, *x]}\nf: null\n"
    assert parse_yaml(text, "c") == {
        "seed": "2020-13-45",  # as it is written: an option takes it for what it wants
        "out": "2020-01-02",
        "b": {"c": 1.5},
        "d": {"c": 1.5, "e": [{"c": 1.5}, {"c": 1.5}]},
        "f": None,
    }
    assert parse_yaml("", "c") is None
    assert yaml.safe_load("a: 2020-01-02")["a"] != "2020-01-02", "the loader of others is as it was"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 300_000, "nested too deeply"),
        ('{"a":' * 300_000, "nested too deeply"),
        ("1" * 5000, "a number has too many digits"),
        ("{", "broken JSON at column 2"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_json_that_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_json(text, "c.json")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.text("[]{}:,-?&*!|>'\"%@`# \n\tab10.<_=", max_size=40))
def test_any_text_ends_in_a_value_or_one_line(text: str) -> None:
    for parse in (parse_yaml, parse_json):
        with suppress(InputError):
            parse(text, "c")


def test_files_that_are_too_long_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("#" * 250_001)
    with pytest.raises(InputError, match="more than 250,000 bytes"):
        read_yaml(path)
    with input_limits(max_input=400), pytest.raises(InputError, match="holds more than 100 bytes"):
        read_document(path)
    path.write_bytes(b"a: \xff")
    with pytest.raises(InputError, match="not UTF-8"):
        read_yaml(path)
    if Path("/dev/zero").exists():
        with pytest.raises(InputError, match="more than 250,000 bytes"):
            read_yaml(Path("/dev/zero"))
