"""Whatever people bring is read right, or refused with a way on: a row a kind of file, made up."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from textassay.corpus.texts import read_texts
from textassay.errors import InputError


class Case(NamedTuple):
    """One kind of input, and what is right: the texts, or words of the refusal."""

    name: str  # of the file
    content: Any  # a text; a list of rows, written as JSON lines; an object, written as JSON
    choice: str = ""  # what follows ::
    texts: Sequence[str] = ()
    refusal: Sequence[str] = ()
    prompts: Sequence[str] | None = None
    cut_off: Sequence[bool] | None = None
    notes: Sequence[str] = ()  # words of them


def message(*content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "type": "message", "content": list(content), **more}


THINKING, TEXT = {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hi."}
ASKED = {"messages": [{"role": "user", "content": "Name a colour"}]}


def lm_eval(number: int, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": number, "doc": {"question": f"q{number}"}, "target": "['3', 'three']",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {number}", "arg_1": {"until": []}}},
        "resps": [[f"a{number}"]], "filtered_resps": [f"a{number}"], "filter": "none", **more,
    }  # fmt: skip


def evals_event(kind: str, sample: str, **data: Any) -> dict[str, Any]:
    return {"run_id": "r", "event_id": 1, "sample_id": sample, "type": kind, "data": data}


CHAT = [*ASKED["messages"], {"role": "assistant", "content": "Red."}]
CHAT_ARGUMENT = json.dumps([{"role": "user", "content": "Name a bird"}])
CASES = {
    "a content that is an object": Case(
        "a.jsonl",
        [{"messages": [{"role": "user", "content": "Name a colour"},
                       {"role": "assistant", "content": {"answer": "Green."}}]}] * 3,
        refusal=["messages[1].content.answer", "FILE::messages[1].content.answer"],
    ),
    "the string in such a content": Case(
        "a.jsonl",
        [{"messages": [{"role": "user", "content": "Name a colour"},
                       {"role": "assistant", "content": {"answer": "Green."}}]}],
        "messages[1].content.answer", ["Green."],
    ),
    "a list of objects": Case(
        "a.jsonl", [{"id": 1, "instances": [{"input": "Name a bird", "output": "Wren."}]}], "instances",
        refusal=["instances[].input", "instances[].output"],
    ),
    "a list of texts in objects": Case(
        "a.jsonl", [{"responses": [{"text": "Yes.", "id": 1}, {"text": "No.", "id": 2}]}], "responses",
        refusal=["responses[].text"],
    ),
    "each text of a list": Case(
        "a.jsonl", [{"q": "Is it?", "responses": [{"text": "Yes.", "id": 1}, {"text": "No.", "id": 2}]}],
        "responses[].text@q", ["Yes.", "No."], prompts=["Is it?", "Is it?"],
    ),
    "a list of strings": Case(
        "a.jsonl", [{"turns": ["It rains.", "It stops."]}] * 2, "turns", refusal=["turns[0]", "turns[]"]
    ),
    "one of a list of strings": Case(
        "a.jsonl", [{"turns": ["It rains.", "It stops."]}] * 2, "turns[0]", ["It rains."] * 2
    ),
    "each of a list of strings": Case(
        "a.jsonl", [{"turns": ["It rains.", "It stops."]}], "turns[]", ["It rains.", "It stops."]
    ),
    "the Responses interface": Case(
        "a.jsonl", [{"output": [{"type": "reasoning"},
                                {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}]}] * 2,
        texts=["Hi."] * 2, notes=["reasoning in 2"],
    ),
    "a batch of messages": Case(
        "a.jsonl",
        [{"custom_id": "1", "result": {"type": "succeeded", "message": message(THINKING, TEXT, stop_reason=reason)}}
         for reason in ("max_tokens", "end_turn")]
        + [{"custom_id": "2", "result": {"type": "errored", "error": {"error": {"message": "overloaded"}}}}],
        texts=["Hi.", "Hi."], cut_off=[True, False],
        notes=["1 of 3 answers are missing", "overloaded", "thinking in 2"],
    ),
    "a batch of Gemini": Case(
        "a.jsonl",
        [{"key": "k", "request": {"contents": [{"parts": [{"text": "Say hi"}], "role": "user"}]},
          "response": {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}, {"text": "Hi."}],
                                                   "role": "model"}, "finishReason": "MAX_TOKENS"}]}}],
        texts=["Hi."], prompts=["Say hi"], cut_off=[True], notes=["thinking in 1"],
    ),
    "a batch of Bedrock": Case(
        "a.jsonl",
        [{"recordId": "1", "modelInput": ASKED, "modelOutput": message(TEXT, stop_reason="end_turn")}],
        texts=["Hi."], prompts=["Name a colour"], cut_off=[False],
    ),
    "answers of Ollama": Case(
        "a.jsonl", [{"model": "m", "message": {"role": "assistant", "content": "Hi."}, "done_reason": "length"}],
        texts=["Hi."], cut_off=[True],
    ),
    "the targets of a harness, written with str": Case(
        "a.jsonl", [lm_eval(1), lm_eval(2)], "target", ["3", "three"] * 2, prompts=["Q: 1", "Q: 1", "Q: 2", "Q: 2"]
    ),
    "a harness with a chat template": Case(
        "a.jsonl", [lm_eval(1, arguments={"gen_args_0": {"arg_0": [CHAT_ARGUMENT], "arg_1": {}}})],
        texts=["a1"], prompts=["Name a bird"],
    ),
    "a document that a harness logged twice": Case(
        "a.jsonl", [lm_eval(1), lm_eval(2), lm_eval(2)], texts=["a1", "a2"], notes=["1 of 3 entries repeat another"]
    ),
    "a flattened log of a vision harness": Case(
        "a.jsonl",
        [{"doc_id": 0, "doc": {}, "input": "What is it?", "target": "a cat", "arguments": {"gen_args_0":
          {"arg_0": "What is it?", "arg_1": "{'until': []}"}}, "resps": "a dog", "filtered_resps": "a dog"}],
        texts=["a dog"], prompts=["What is it?"],
    ),
    "an eval log": Case(
        "a.jsonl",
        [{"spec": {"run_id": "r"}}, evals_event("sampling", "s.1", prompt="One?", sampled=["1"]),
         evals_event("match", "s.1", sampled="1", expected="one"),
         evals_event("sampling", "s.2", prompt="Two?", sampled=["2"]),
         evals_event("match", "s.2", sampled="2", expected="two"), {"final_report": {"accuracy": 1}}],
        texts=["1", "2"], prompts=["One?", "Two?"],
    ),
    "the references of an eval log": Case(
        "a.jsonl",
        [{"spec": {}}, evals_event("sampling", "s.1", prompt="One?", sampled=["1"]),
         evals_event("match", "s.1", sampled="1", expected="one"), {"final_report": {}}],
        "data.expected", ["one"],
    ),
    "lists in place of texts": Case("a.jsonl", [{"text": ["a", "b"]}] * 2, refusal=["text[0]", "text[]"]),
    "JSON lines called .ndjson": Case("x.ndjson", [{"text": "a"}, {"text": "b"}], texts=["a", "b"]),
    "JSON lines called .json": Case("x.json", [{"text": "a"}, {"text": "b"}], texts=["a", "b"]),
    "JSON lines called .txt": Case("x.txt", [{"text": "a"}, {"text": "b"}], texts=["a", "b"]),
    "JSON lines after a line of text": Case(
        "x.txt", "results\n" + '{"text": "a"}\n' * 9, refusal=["lines of JSON", "tail -n +2"]
    ),
    "pretty JSON values": Case("x.jsonl", '{\n "text": "a"\n}\n{\n "text": "b"\n}\n', texts=["a", "b"]),
    "columns as lists": Case(
        "x.json", {"original": ["It rains."], "sampled": ["Rain falls."]}, refusal=["original[]", "sampled[]"]
    ),
    "a column that is a list": Case(
        "x.json", {"original": ["It rains."], "sampled": ["Rain falls."]}, "original@sampled", ["It rains."],
        prompts=["Rain falls."],
    ),
    "an object on top": Case(
        "x.json", {"results": {"results": [{"response": {"output": "It rains."}}]}},
        refusal=["results.results[].response.output"],
    ),
    "a path into it": Case(
        "x.json", {"results": {"results": [{"q": "w?", "response": {"output": "It rains."}}]}},
        "results.results[].response.output@results.results[].q", ["It rains."], prompts=["w?"],
    ),
    "chats in an object": Case(
        "x.json", {"data": [{"messages": CHAT}]}, "data[]",
        ["Red."], prompts=["Name a colour"],
    ),
    "a table of pandas, by column": Case(
        "x.json", {"text": {"0": "a", "1": "b"}, "n": {"0": 1, "1": 2}}, texts=["a", "b"]
    ),
    "choices of a question": Case(
        "a.jsonl", [{"id": "q1", "question": "Which?", "choices": [{"text": "this", "label": "A"}]}],
        refusal=["question, choices[].text"],
    ),
    "answers of several models in one row": Case(
        "a.jsonl", [{"q": "Hi?", "candidates": [{"text": "Yo.", "model": "a"}, {"text": "Hey.", "model": "b"}]}],
        "candidates[].text@q", ["Yo.", "Hey."], prompts=["Hi?", "Hi?"],
    ),
    "a battle of two models": Case(
        "a.jsonl", [{"model_a": "m", "conversation_a": ASKED["messages"], "conversation_b": ASKED["messages"]}],
        refusal=["conversation_a[0].content", "conversation_b[0].content"],
    ),
    "one side of a preference": Case(
        "a.jsonl", [{"chosen": CHAT, "rejected": CHAT[:1]}] * 2, "chosen", ["Red."] * 2, prompts=["Name a colour"] * 2
    ),
    "one message a row": Case(
        "a.jsonl", [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A."}],
        refusal=["content[role=assistant]"],
    ),
    "its answers": Case(
        "a.jsonl", [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A."}],
        "content[role=assistant]", ["A."], notes=["1 of 2 rows are left out"],
    ),
    "semicolons": Case("x.csv", "text;n\na, b;1\nc;2\n", texts=["a, b", "c"]),
    "bars": Case("x.csv", "text|n\na|1\nc|2\n", texts=["a", "c"]),
    "tabs in a text file": Case("x.txt", "text\tn\na b\t1\nc\t2\n", texts=["a b", "c"]),
    "no header": Case(
        "x.csv", "1,It rains a lot.\n2,It stops now.\n", refusal=["no header", "FILE::[1]"]
    ),
    "no header, one column": Case(
        "x.csv", "It rains a lot today.\nIt stops now.\n", refusal=["no header", "FILE::[0]"]
    ),
    "a place in a table without header": Case(
        "x.csv", "1,It rains a lot.\n2,It stops now.\n", "[1]", ["It rains a lot.", "It stops now."]
    ),
    "a filter": Case("x.jsonl", [{"text": "a", "label": 1}, {"text": "b", "label": 0}], "text[label=1]", ["a"],
                     notes=["1 of 2 rows are left out"]),
    "a filter that nothing meets": Case(
        "x.jsonl", [{"text": "a", "label": 1}, {"text": "b", "label": 0}], "text[label=2]",
        refusal=["no row has [label=2]", "label: 1, 0"]
    ),
    "a column of lines": Case("x.txt", "a\nb\n", "text[label=1]", refusal=["columns: leave ::text[label=1] out"]),
    "a column of JSON strings": Case("x.jsonl", ["a", "b"], "text", refusal=["without columns: leave ::text out"]),
    "a filter by a column that is not there": Case(
        "x.jsonl", [{"text": "a", "label": 1}], "text[lable!=1]", refusal=["no row has a column 'lable'", "text, label"]
    ),
    "a filter by what few rows have": Case(
        "x.jsonl", [{"text": "a"}, {"text": "b", "error": "late"}], "text[error=null]", ["a"],
        notes=["1 of 2 rows are left out"]
    ),
    "prompts equal but for case": Case("x.csv", "text,MR\na,p\n", "text@mr", ["a"], prompts=["p"]),
    "SGML": Case("ref.sgm", '<srcset setid="t">\n<seg id="1">It rains.</seg>\n</srcset>\n', refusal=["markup", "sed"]),
    "markup in a text file": Case("x.txt", "<p>It rains.</p>\n" * 9, refusal=["markup", "python -c"]),
    "subtitles": Case("x.srt", "1\n00:00:01,000 --> 00:00:02,000\nIt rains.\n", refusal=["subtitles", "grep"]),
    "CoNLL": Case("x.conll", "1\tIt\tit\tPRON\n2\trains\train\tVERB\n" * 5, refusal=["CoNLL", "awk"]),
    "texts whose source is null": Case(
        "x.jsonl", [{"text": f"a {n}", "model": "gpt" if n % 2 else None, "stars": n % 5 or None} for n in range(20)],
        texts=[f"a {n}" for n in range(20)], notes=["column 'model' has 2 values: null (10), gpt (10)."],
    ),
    "sources that nobody named": Case(
        "x.csv", "text,model\n" + "".join(f"a {n},{'abc'[n % 3]}\n" for n in range(30)),
        texts=[f"a {n}" for n in range(30)], notes=["column 'model' has 3 values", "--source-column model"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_every_kind_is_read_right_or_refused_with_a_way_on(tmp_path: Path, case: Case) -> None:
    path, content = tmp_path / case.name, case.content
    if isinstance(content, list):
        content = "".join(json.dumps(row) + "\n" for row in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    source = f"{path}::{case.choice}" if case.choice else str(path)
    if case.refusal:
        with pytest.raises(InputError) as caught:
            read_texts(source)
        assert "\n" not in str(caught.value)
        assert [words for words in case.refusal if words not in str(caught.value)] == [], str(caught.value)
        return
    file = read_texts(source)
    assert list(file.texts) == list(case.texts)
    if case.prompts is not None:
        assert file.prompts is not None
        assert list(file.prompts) == list(case.prompts)
    if case.cut_off is not None:
        assert file.cut_off is not None
        assert file.cut_off.tolist() == list(case.cut_off)
    notes = " ".join(note.message + note.remedy for note in file.notes)
    assert [words for words in case.notes if words not in notes] == [], notes
    assert case.notes or not file.notes
