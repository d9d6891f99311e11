"""Answers of models: chats, responses of endpoints and logs of evaluations, recognised by themselves."""

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textassay.corpus.corpus import CUT_OFF, corpora_from_texts
from textassay.corpus.paths import Columns
from textassay.corpus.records import read_records
from textassay.corpus.texts import read_texts
from textassay.errors import InputError

QUESTION = {"role": "user", "content": "Why?"}
CHAT = [{"role": "system", "content": "Be brief."}, QUESTION, {"role": "assistant", "content": "So."}]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def choice(text: str | None, reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, **message}, "finish_reason": reason}


def lm_eval(name: str, answer: Any, *, filtered: str = "none", settings: Any = None) -> dict[str, Any]:
    """Return what the harness logs for one document, as far as it is read."""
    arguments = {
        "gen_args_0": {"arg_0": f"Q: {name}\nA:", "arg_1": {"until": ["\n"]} if settings is None else settings}
    }
    return {
        "doc_id": 0,
        "doc": {"question": name},
        "target": f"the real {name}",
        "arguments": arguments,
        "resps": [[f"raw {answer}"]],
        "filtered_resps": [answer],
        "filter": filtered,
        "exact_match": 0.0,
    }


def sample(name: str, text: str, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """Return a sample of inspect_ai, as far as it is read."""
    output = {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}]}
    return {"id": name, "epoch": epoch, "input": f"{name}?", "target": f"real {name}", "output": output, **more}


def message_of(path: Path, **columns: str) -> str:
    with pytest.raises(InputError) as caught:
        read_texts(path, **columns)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path} ")


def test_a_chat_is_its_last_answer_and_what_came_before(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "So"}, {"type": "text", "text": " what."}]
    rows = [
        {"messages": CHAT},
        {"messages": [QUESTION, {"role": "assistant", "content": parts}]},
        {"messages": [QUESTION, CHAT[-1], QUESTION, {"role": "assistant", "content": "No."}, QUESTION]},
        {"messages": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "Because."}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "Why?"}]},
                CHAT[-1],
            ]
        },
    ]
    file = read_texts(write(tmp_path / "chat.jsonl", rows))
    assert file.texts == ("So.", "So\n what.", "No.", "Because.", "So.")
    assert file.prompts == (
        "system: Be brief.\n\nuser: Why?",
        "Why?",  # one message of the user is what a column of questions would hold
        "user: Why?\n\nassistant: So.\n\nuser: Why?",
        "Why?",
        "Why?",
    )
    (tmp_path / "chat.json").write_text(json.dumps(rows))
    assert read_texts(tmp_path / "chat.json").texts == file.texts


@pytest.mark.parametrize(
    "wrap",
    [
        lambda choices: {"messages": [QUESTION], "choices": choices},
        lambda choices: {"request": {"messages": [QUESTION]}, "response": {"choices": choices}},
        lambda choices: {
            "custom_id": "1",
            "response": {"status_code": 200, "body": {"choices": choices}},
            "error": None,
            "prompt": "Why?",
        },
    ],
    ids=["response", "request and response", "batch"],
)
def test_responses_of_endpoints(tmp_path: Path, wrap: Any) -> None:
    rows = [
        wrap([choice("a b"), choice("c", "length")]),  # two answers to one question
        wrap([{"text": "d e", "finish_reason": "stop"}]),
        wrap([choice(None, refusal="I will not.")]),
    ]
    file = read_texts(write(tmp_path / "answers.jsonl", rows))
    assert file.texts == ("a b", "c", "d e", "I will not.")
    assert file.prompts == ("Why?",) * 4
    assert file.cut_off is not None
    assert file.cut_off.tolist() == [False, True, False, False]
    assert corpora_from_texts({"m": file})["m"].columns[CUT_OFF].tolist() == [0, 1, 0, 0]


def test_responses_without_requests_have_no_prompts(tmp_path: Path) -> None:
    file = read_texts(write(tmp_path / "answers.jsonl", [{"choices": [choice("a")]}, {"choices": [choice("b")]}]))
    assert (file.texts, file.prompts) == (("a", "b"), None)


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        (
            [{"choices": [choice("a")]}, {"error": {"message": "too\nmany", "code": 429}}],
            "line 2 contains no answer: an error of the endpoint (too many) (1 of 2 answers are missing)",
        ),
        (
            [{"error": {"message": "too many"}}, {"choices": [choice("a")]}, {"error": {"message": "late"}}],
            "line 1 contains no answer: an error of the endpoint (too many) (2 of 3 answers are missing; also an error "
            "of the endpoint (late))",
        ),
        (
            [{"choices": [choice("a")]}, {"choices": [choice(None)]}, {"choices": []}],
            "line 2 contains no answer: null (2 of 3 answers are missing; also no choice)",
        ),
    ],
)
def test_missing_answers_are_left_out_and_counted(tmp_path: Path, rows: list[Any], missing: str) -> None:
    path = write(tmp_path / "answers.jsonl", rows)
    file = read_texts(path)
    assert file.texts == ("a",)
    (note,) = file.notes
    assert note.message == f"{path} {missing}; they are left out."
    assert note.is_warning


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"custom_id": "1", "response": {"status_code": 500, "body": None}, "error": None}],
            "line 1 contains no answer: an error of the endpoint (status 500); request it again",
        ),
        (
            [{"choices": [choice(None, tool_calls=[{"id": 1}])]}],
            "line 1 contains no answer: a call of a tool and no text; request it again, or name another column, as in "
            "FILE::choices[].finish_reason",
        ),
        (
            [{"messages": [QUESTION]}],
            "line 1 contains no answer: no message of the assistant; request it again, or name another column, as in "
            "FILE::messages[0].content",
        ),
        (
            [{"text": "a"}, {"error": "timeout"}],
            "line 2 contains no 'text', but an error of the endpoint (timeout): request it again, or leave the row out",
        ),
        (
            [lm_eval("x", ["-1.5", "False"], settings=" yes")],
            "line 1 contains no answer: scores of given answers, none of which the model wrote; request it again, or "
            "name another column, as in FILE::doc.question",
        ),
    ],
)
def test_a_file_without_answers_says_what_it_holds(tmp_path: Path, rows: list[Any], message: str) -> None:
    assert message_of(write(tmp_path / "answers.jsonl", rows)) == message


def test_a_column_called_error_is_no_failure(tmp_path: Path) -> None:
    assert read_texts(write(tmp_path / "a.jsonl", [{"messages": CHAT, "error": "grammar"}])).texts == ("So.",)
    assert read_texts(write(tmp_path / "b.jsonl", [{"text": "a", "error": "grammar"}])).texts == ("a",)


KEYS = ("messages", "choices", "message", "content", "role", "response", "body", "request", "prompt", "error", "doc",
        "arguments", "resps", "filtered_resps", "filter", "id", "epoch", "input", "target", "output",
        "text")  # fmt: skip
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(0, 600), st.sampled_from(("user", "assistant", "a b", "")))
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=8)
        | st.fixed_dictionaries(dict.fromkeys(("doc", "arguments", "resps", "filtered_resps", "filter"), JSON))
        | st.fixed_dictionaries(dict.fromkeys(("id", "epoch", "input", "target", "output"), JSON)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from((None, "text", "choices[0].message.content", "target")),
)
def test_odd_rows_give_texts_or_one_line(rows: list[Any], column: str | None) -> None:
    with suppress(InputError):
        assert len(read_records(enumerate(rows, start=1), "m row", Columns(column)).texts) >= 1


def test_paths_into_rows(tmp_path: Path) -> None:
    rows = [
        {"choices": [choice("a"), choice("b")], "meta": {"tags": [{"n": "x"}], "id": "u"}, "prompt": [QUESTION]}
    ] * 2
    path = write(tmp_path / "answers.jsonl", rows)
    assert read_texts(path, column="choices[1].message.content").texts == ("b", "b")
    assert read_texts(path, column="choices[-1].message.content").texts == ("b", "b")
    assert read_texts(path, column="meta.tags[0].n", prompt_column="meta.id").prompts == ("u", "u")
    assert read_texts(f"{path}::meta.id").texts == ("u", "u")
    assert read_texts(f"{path}::meta.id").name == "answers.jsonl::meta.id"
    assert read_texts(path, column="meta.id", prompt_column="prompt").prompts == ("Why?", "Why?")
    assert "has no column 'choices[2].text'; it has: choices[].message.role, choices" in message_of(
        path, column="choices[2].text"
    )


def test_samples_of_lm_evaluation_harness(tmp_path: Path) -> None:
    path = write(tmp_path / "samples_task_2026.jsonl", [lm_eval("a", "x y"), lm_eval("b", ["z", "w"])])
    file = read_texts(path)
    assert (file.texts, file.prompts) == (("x y", "z", "w"), ("Q: a\nA:", "Q: b\nA:", "Q: b\nA:"))
    real = read_texts(f"{path}::target")
    assert (real.texts, real.prompts) == (("the real a", "the real b"), ("Q: a\nA:", "Q: b\nA:"))
    older = {**lm_eval("a", "x"), "arguments": [["Q: a", {"until": []}]]}
    del older["filter"]
    assert read_texts(write(path, [older])).prompts == ("Q: a",)


def test_several_filters_repeat_no_answer(tmp_path: Path) -> None:
    rows = [lm_eval(name, f"{name}{kind}", filtered=kind) for kind in ("strict", "flexible") for name in "ab"]
    path = write(tmp_path / "samples.jsonl", rows)
    assert message_of(path) == (
        "line 3: the file has every answer once per filter, strict and flexible: name a filter "
        "(FILE::strict), or FILE::resps[0][0] for the model's output"
    )
    assert read_texts(path, column="flexible").texts == ("aflexible", "bflexible")
    assert read_texts(path, column="resps[0][0]").texts == ("raw astrict", "raw bstrict")
    assert read_texts(path, column="target").texts == ("the real a", "the real b")
    assert message_of(path, column="loose") == "has no column and no filter 'loose'; its filters: strict, flexible"


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, 93])
def test_logs_of_inspect(tmp_path: Path, compression: int) -> None:
    samples = [sample("a", "x y"), sample("10", "later"), sample("2", "z", 2), sample("b", "attachment://1")]
    samples[-1]["attachments"] = {"1": "long"}
    samples[-1]["input"] = CHAT[:2]
    samples[0]["output"]["choices"][0]["stop_reason"] = "max_tokens"
    path = tmp_path / "log.eval"
    if compression == zipfile.ZIP_DEFLATED:
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("_journal/start.json", "{}")
            for one in samples:
                archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
    else:
        write_zstandard(path, {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples})
    file = read_texts(path)
    assert file.texts == ("x y", "long", "later", "z")
    assert file.prompts == ("a?", "system: Be brief.\n\nuser: Why?", "10?", "2?")
    assert file.cut_off is not None
    assert file.cut_off.tolist() == [True, False, False, False]
    assert read_texts(f"{path}::target").texts == ("real a", "real b", "real 10", "real 2")
    (tmp_path / "log.json").write_text(json.dumps({"version": 2, "eval": {}, "samples": samples}))
    assert set(read_texts(tmp_path / "log.json").texts) == set(file.texts)


def write_zstandard(path: Path, documents: dict[str, Any]) -> None:
    """Write a zip archive whose members are compressed as Python before 3.14 cannot: stored, then marked."""
    arrow = pytest.importorskip("pyarrow")
    contents = {name: json.dumps(document).encode() for name, document in documents.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in contents.items():
            archive.writestr(name, arrow.compress(content, codec="zstd", asbytes=True))
        for member in archive.filelist:  # what the directory at the end says
            member.compress_type, member.file_size = 93, len(contents[member.filename])


def test_what_is_no_log_of_inspect(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"no archive")
    assert message_of(path) == "is not a valid log of inspect_ai: File is not a zip file"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    assert message_of(path) == "contains no sample: the evaluation has not written any yet"
    failed = {**sample("a", ""), "output": {"choices": []}, "error": {"message": "boom"}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/a_epoch_1.json", json.dumps(failed))
    assert message_of(path).startswith("sample 1 contains no answer: an error of the endpoint (boom)")


def test_tables_of_chats(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{"messages": CHAT, "label": 1}, {"messages": [QUESTION, *CHAT[2:]], "label": 2}]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "chats.parquet")
    file = read_texts(tmp_path / "chats.parquet", group_column="label")
    assert (file.texts, file.prompts) == (("So.", "So."), ("system: Be brief.\n\nuser: Why?", "Why?"))
    assert file.groups is not None
    answers = [{"prompt": [QUESTION], "completion": CHAT[2:], "answer": "Real."}] * 2
    parquet.write_table(arrow.Table.from_pylist(answers), tmp_path / "answers.parquet")
    real = read_texts(tmp_path / "answers.parquet", column="answer", prompt_column="prompt")
    model = read_texts(tmp_path / "answers.parquet", column="completion", prompt_column="prompt")
    assert (real.texts, model.texts, real.prompts, model.prompts) == (
        ("Real.", "Real."), ("So.", "So."), ("Why?", "Why?"), ("Why?", "Why?"),
    )  # fmt: skip


def test_a_column_of_texts_wins_over_a_conversation(tmp_path: Path) -> None:
    file = read_texts(write(tmp_path / "both.jsonl", [{"text": "mine", "messages": CHAT}]))
    assert (file.texts, file.prompts) == (("mine",), ("system: Be brief.\n\nuser: Why?",))


def test_an_export_of_label_studio(tmp_path: Path) -> None:
    tasks = [{"id": 1, "data": {"text": "a b", "generator": "m"}, "annotations": [{"result": []}]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert read_texts(f"{tmp_path}/export.json::data.text").texts == ("a b",)


def test_a_chat_beside_a_table_has_its_own_prompt(tmp_path: Path) -> None:
    chat = write(tmp_path / "chat.jsonl", [{"messages": [QUESTION, CHAT[-1]]}])
    table = write(tmp_path / "table.jsonl", [{"prompt": "Why?", "answer": "Because."}])
    files = [read_texts(path, prompt_column="prompt") for path in (chat, table)]
    assert [file.prompts for file in files] == [("Why?",), ("Why?",)]
    responses = write(tmp_path / "responses.jsonl", [{"choices": [choice("a")]}])
    assert "has no column 'prompt'" in message_of(responses, prompt_column="prompt")


def test_a_column_is_named_after_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", [{"reference": "r", "answer": "a"}])
    assert read_texts(f"{path}::answer").texts == ("a",)
    assert read_texts(f"{path}::answer", column="reference").texts == ("a",)
    odd = write(tmp_path / "odd::name.jsonl", ["x"])
    assert read_texts(str(odd)).texts == ("x",)
    assert read_texts(odd).texts == ("x",)
    with pytest.raises(InputError, match="no file"):
        read_texts(f"{tmp_path}/none.jsonl::answer")
