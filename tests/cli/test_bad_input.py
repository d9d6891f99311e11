"""Every mistake in the input: one line that names file, place and remedy; status 2; nothing written."""

import errno
import gzip
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Refused = Callable[..., str]
DD = ("--metrics", "length")


def _file(name: str, content: bytes | str) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def test_missing_file_names_the_nearest(refused: Refused) -> None:
    message = refused("compare", "--real", "rael.txt", "lstm.txt", "--out", "report")
    assert "rael.txt" in message
    assert "real.txt" in message.replace("rael.txt", "")


def test_missing_generated_file(refused: Refused) -> None:
    assert "gone.txt" in refused("compare", "--real", "real.txt", "a=gone.txt")


def test_directory(refused: Refused) -> None:
    Path("texts").mkdir()
    assert "texts" in refused("compare", "--real", "real.txt", "a=texts")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n\n"])
def test_empty_file(refused: Refused, content: bytes) -> None:
    message = refused("compare", "--real", "real.txt", f"a={_file('empty.txt', content)}")
    assert "empty" in message


def test_one_sentence(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", f"one={_file('one.txt', 'only this .')}")
    assert "one" in message
    assert "at least" in message


def test_too_few_sentences_for_a_metric_that_is_named(refused: Refused) -> None:
    few = _file("few.txt", "a b c .\nd e f .\ng h i .\n")
    message = refused("compare", "--real", "real.txt", f"few={few}", "--metrics", "dd")
    assert "dd" in message
    assert "3" in message


def test_binary_file(refused: Refused) -> None:
    message = refused("compare", "--real", _file("model.txt", b"\x00\x01\x02PK\x00\xff" * 50), "lstm.txt")
    assert "model.txt" in message
    assert "binary" in message


def test_wrong_encoding_gives_line_and_byte(refused: Refused) -> None:
    latin = _file("latin.txt", b"fine here .\nna\xefve text .\n")
    message = refused("compare", "--real", "real.txt", f"a={latin}")
    assert "latin.txt" in message
    assert "line 2" in message
    assert "byte" in message


def test_missing_column_lists_the_columns(refused: Refused) -> None:
    table = _file("table.csv", "id,review\n1,a b c\n2,d e f\n")
    message = refused("compare", "--real", table, "lstm.txt", "--column", "reviw")
    assert "reviw" in message
    assert "review" in message.replace("reviw", "")


def test_missing_group_column(refused: Refused) -> None:
    table = _file("table.csv", "id,text\n1,a b c\n2,d e f\n")
    assert "document" in refused("compare", "--real", table, "lstm.txt", "--group-column", "document")


def test_broken_json_line_gives_its_number(refused: Refused) -> None:
    lines = _file("samples.jsonl", '{"text": "a b"}\n{"text": "c d"\n')
    message = refused("compare", "--real", "real.txt", f"a={lines}")
    assert "samples.jsonl" in message
    assert "line 2" in message


def test_group_column_of_files_without_columns(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", "lstm.txt", "--group-column", "document")
    assert message.startswith("--group-column document: none of the files has columns")


def test_truncated_gzip(refused: Refused) -> None:
    packed = gzip.compress(Path("lstm.txt").read_bytes())
    assert "lstm.txt.gz" in refused("compare", "--real", "real.txt", f"a={_file('lstm.txt.gz', packed[:500])}")


def test_unknown_kind_of_file(refused: Refused) -> None:
    assert ".docx" in refused("compare", "--real", "real.txt", f"a={_file('text.docx', 'a b c')}")


def test_duplicate_generator_name(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", "a=lstm.txt", "a=trigram.txt")
    assert "'a'" in message
    assert "lstm.txt" in message
    assert "trigram.txt" in message


def test_bare_paths_with_one_stem_are_duplicates(refused: Refused) -> None:
    Path("other").mkdir()
    _file("other/lstm.txt", "a b .\n")
    assert "'lstm'" in refused("compare", "--real", "real.txt", "lstm.txt", "other/lstm.txt")


@pytest.mark.parametrize("name", ["(real)", "(real-heldout)", "(train)", " ", "a\tb"])
def test_names_that_cannot_be_used(refused: Refused, name: str) -> None:
    refused("compare", "--real", "real.txt", f"{name}=lstm.txt")


def test_no_generator(refused: Refused) -> None:
    assert "NAME=FILE" in refused("compare", "--real", "real.txt")


def test_generator_without_file(refused: Refused) -> None:
    assert "NAME=FILE" in refused("compare", "--real", "real.txt", "a=")


def test_unknown_metric_names_the_nearest(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", "lstm.txt", "--metrics", "dd,bleau(order=4)")
    assert "'bleau'" in message
    assert "did you mean bleu" in message


def test_unknown_parameter_of_a_metric(refused: Refused) -> None:
    assert "order" in refused("compare", "--real", "real.txt", "lstm.txt", "--metrics", "bleu(ordr=4)")


def test_unknown_tokenizer_names_the_nearest(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", "lstm.txt", "--tokenizer", "word")
    assert "did you mean words" in message


def test_unknown_option_names_the_nearest(refused: Refused) -> None:
    assert "did you mean --metrics" in refused("compare", "--real", "real.txt", "lstm.txt", "--metric", "dd")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("compare", "--normalize", "tokens"),
            "--normalize takes no value: leave out 'tokens' after it, or name a file",
        ),
        (("inspect", "--lowercase", "true"), "--lowercase takes no value: leave out 'true' after it"),
        (("compare", "--json", "lstn.txt"), "or name a file (no file lstn.txt; did you mean lstm.txt"),
        (("judge", "--gold", "a>b", "--json", "x.json"), "--json takes no value: leave out 'x.json' after it"),
        (("human", "power", "--json", "x.json"), "--json takes no value: leave out 'x.json' after it"),
        (("compare", "--metrics", "--json"), "--metrics needs a value (LIST), got the option --json"),
        (("inspect", "--train", "--lowercase"), "--train needs a value (FILE), got the option --lowercase"),
    ],
)
def test_an_option_that_takes_no_value_or_has_none(refused: Refused, arguments: tuple[str, ...], expected: str) -> None:
    texts = () if arguments[0] == "human" else ("--real", "real.txt", "a=lstm.txt")
    assert expected in refused(*arguments, *texts)


@pytest.mark.usefixtures("folder")
def test_texts_may_stand_behind_an_option_without_a_value(run: Callable[..., Any]) -> None:
    for texts in (["lstm.txt"], ["a=lstm.txt"], ["--", "lstm.txt"]):
        assert run("inspect", "--real", "real.txt", "--normalize", *texts).status == 0


def test_unknown_command_names_the_nearest(refused: Refused) -> None:
    assert "compare" in refused("compar", "--real", "real.txt", "lstm.txt")


def test_missing_real(refused: Refused) -> None:
    assert "--real" in refused("compare", "lstm.txt")


def test_same_file_on_both_sides(refused: Refused) -> None:
    assert "same file" in refused("compare", "--real", "real.txt", "a=./real.txt", "--out", "report")


def test_same_file_through_a_link(refused: Refused) -> None:
    Path("link.txt").symlink_to("real.txt")
    assert "same file" in refused("compare", "--real", "real.txt", "a=link.txt")


def test_same_sentences_on_both_sides(refused: Refused) -> None:
    copy = _file("copy.txt", Path("real.txt").read_bytes())
    message = refused("compare", "--real", "real.txt", f"a={copy}")
    assert "copy.txt" in message
    assert "same sentences" in message


def test_training_text_as_real_text(refused: Refused) -> None:
    assert "not seen" in refused("compare", "--real", "real.txt", "--train", "real.txt", "lstm.txt")


def test_heldout_text_as_real_text(refused: Refused) -> None:
    assert "give other real text" in refused("compare", "--real", "real.txt", "--real-heldout", "real.txt", "lstm.txt")


def test_standard_input_twice(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b .\n")))
    message = refused("compare", "--real", "-", "lstm=-")
    assert "--real and lstm" in message


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--level", "0", "level"),
        ("--level", "1", "level"),
        ("--level", "95", "level"),
        ("--level", "nan", "level"),
        ("--folds", "0", "folds"),
        ("--folds", "many", "--folds"),
        ("--workers", "0", "workers"),
        ("--seed", "-1", "seed"),
        ("--max-tokens", "0", "max"),
        ("--metrics", "bleu(order=0)", "order"),
        ("--metrics", "bleu(order=four)", "order"),
        ("--metrics", "bleu(order=4", "bleu(order=4"),
        ("--metrics", ",", "metric"),
        ("--fail-if", "dd", "'dd>0.3'"),
        ("--fail-if", "dd>high", "'dd>0.3'"),
        ("--fail-if", "dd=0.3", "'dd>0.3'"),
        ("--fail-if", "dada>0.3", "dada"),
    ],
)
def test_values_out_of_range(refused: Refused, option: str, value: str, expected: str) -> None:
    assert expected in refused("compare", "--real", "real.txt", "lstm.txt", "--out", "report", option, value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--effort", "hard"), "unknown effort 'hard'; valid: default, max, quick"),
        (("--effort", "quik"), "did you mean quick"),
        (("--device", "gpu"), "device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'"),
        (("--device", "cuda:"), "got 'cuda:'"),
        (("--paper", "--folds", "5"), "--paper and --folds cannot be combined"),
        (("--log-probs", "lp.txt"), "cannot read --log-probs 'lp.txt': write NAME=FILE"),
        (("--log-probs", "lstm="), "write NAME=FILE"),
        (("--log-probs", "lsmt=lp.txt"), "unknown generator in --log-probs 'lsmt': did you mean lstm"),
        (("--ratings", "real=lp.txt"), "unknown generator in --ratings 'real'"),
        (("--ratings", "lstm=a.txt", "--ratings", "lstm=b.txt"), "--ratings is given twice for lstm (a.txt and b.txt)"),
        (("--log-probs", "lstm=gone.txt"), "no file gone.txt"),
        (("--features", "lsmt=a.npy"), "unknown name in --features 'lsmt': did you mean lstm"),
        (("--features", "real=a.npy"), "--features of lstm are missing: give --features lstm=FILE.npy too"),
        (("--features", "real-heldout=a.npy"), "unknown name in --features 'real-heldout'"),
        (("--features", "real=gone.npy", "--features", "lstm=gone.npy"), "no file gone.npy"),
        (("--metrics", "memorization"), "memorization needs the training text: give --train FILE"),
        (("--metrics", "huse"), "give --log-probs NAME=FILE"),
    ],
)
def test_inputs_beside_the_texts(refused: Refused, arguments: tuple[str, ...], expected: str) -> None:
    assert expected in refused("compare", "--real", "real.txt", "lstm.txt", *arguments)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({11: "-inf"}, "log-probs of lstm, real side must be finite numbers, row 12 holds -infinity (1 such row)"),
        ({11: "-inf"}, "the model gives this text probability 0"),
        ({11: "nan", 12: "nan"}, "row 12 holds NaN (2 such rows)"),
        ({305: "0.25"}, "log-probs of lstm, generated side must be at most 0, row 6 holds 0.25"),
        ({305: "-1 -2"}, "lp.txt, line 306: must contain one number, got '-1 -2'"),
        ({305: "-1\n-1"}, "lp.txt must hold 600 numbers, first those of the 300 real texts"),
    ],
)
def test_log_probabilities_that_cannot_be(refused: Refused, change: dict[int, str], expected: str) -> None:
    lines = ["-1.5"] * 600
    for line, text in change.items():
        lines[line] = text
    _file("lp.txt", "\n".join(lines))
    assert expected in refused("compare", "--real", "real.txt", "lstm.txt", *DD, "--log-probs", "lstm=lp.txt")


@pytest.mark.parametrize(
    ("shape", "row", "expected"),
    [
        ((300, 4), 41, "features of lstm must be finite numbers, row 42 holds NaN"),
        ((299, 4), None, "features of lstm must have 300 rows, one for each text, got 299"),
        ((300, 5), None, "features must have one width"),
        ((300,), None, "lstm.npy must have one row per text, shape (N, d)"),
    ],
)
def test_features_that_do_not_fit(refused: Refused, shape: tuple[int, ...], row: int | None, expected: str) -> None:
    vectors = np.ones(shape, dtype=np.float32)
    if row is not None:
        vectors[row] = np.nan
    np.save("real.npy", np.ones((300, 4)))
    np.save("lstm.npy", vectors)
    given = ("--features", "real=real.npy", "--features", "lstm=lstm.npy")
    assert expected in refused("compare", "--real", "real.txt", "lstm.txt", *DD, *given)


def test_condition_on_a_metric_that_is_not_computed(refused: Refused) -> None:
    message = refused("compare", "--real", "real.txt", "lstm.txt", *DD, "--fail-if", "dd>0.3")
    assert "dd is not among" in message


@pytest.mark.parametrize("out", ["real.txt", "real.txt/report"])
def test_out_that_is_no_folder(refused: Refused, out: str) -> None:
    assert out in refused("compare", "--real", "real.txt", "lstm.txt", "--out", out)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody may write into")
def test_unwritable_out(refused: Refused) -> None:
    assert "/proc" in refused("compare", "--real", "real.txt", "lstm.txt", "--out", "/proc/report")


def test_full_disk(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("textassay.cli.options.TemporaryFile", full)
    assert "no space left" in refused("compare", "--real", "real.txt", "lstm.txt", "--out", "report")


@pytest.mark.parametrize("command", ["compare", "inspect"])
def test_configuration_mistakes(refused: Refused, command: str) -> None:
    def config(content: str) -> str:
        return refused(command, "--config", _file("c.yaml", content), "--real", "real.txt", "lstm.txt")

    assert "'lowercas': did you mean lowercase" in config("lowercas: true")
    assert "line 1" in config("{real: [")
    assert "map" in config("- real")
    assert "real" in config("real: {a: b}")
    assert "missing.yaml" in refused(command, "--config", "missing.yaml", "lstm.txt")


@pytest.mark.parametrize("content", [None, "", "{}", '{"version": "1"}', "[]"])
def test_report_of_a_folder_without_results(refused: Refused, content: str | None) -> None:
    Path("report").mkdir()
    if content is not None:
        _file("report/results.json", content)
    message = refused("report", "report")
    assert str(Path("report", "results.json")) in message
    assert "run 'textassay compare'" in message or "compare --out" in message


def test_inspect_refuses_the_same(refused: Refused) -> None:
    assert "gone.txt" in refused("inspect", "--real", "real.txt", "gone.txt")
    assert "same file" in refused("inspect", "--real", "real.txt", "real.txt")
    assert "did you mean --real" in refused("inspect", "--reel", "real.txt", "lstm.txt")
