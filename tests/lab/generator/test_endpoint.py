"""Models of endpoints: what is asked, what is kept and what goes wrong, at a server that speaks their protocol."""

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import endpoint_server as faults
from endpoint_server import KEY, MODEL, Endpoint, serving
from textassay.corpus.texts import read_texts
from textassay.endpoints import Client, Connection, EndpointError, about_tokens, settings_of
from textassay.errors import InputError, OptionError
from textassay.source.endpoint import Answer, EndpointModel, EndpointSettings, KeptAnswers
from textassay_lab.generators import Endpoint as Generator
from textassay_lab.generators import from_pretrained

PROMPT = "Write one sentence of a review."


@pytest.fixture(autouse=True)
def _key_and_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr("textassay.endpoints._FIRST_WAIT", 0.01)


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


def _model(server: Endpoint, folder: Path | None = None, **settings: Any) -> EndpointModel:
    known = {"model": MODEL, "url": server.url, "prompt": PROMPT, "retries": 3, **settings}
    if "prompts" in settings:
        del known["prompt"]
    return EndpointModel(EndpointSettings(**known), folder=folder)


def _texts(model: EndpointModel, n: int, seed: int = 0) -> list[str]:
    return [answer.text for answer in model.answers(n, seed=seed)]


def test_answers_stand_in_order_however_they_come(server: Endpoint) -> None:
    one_by_one = _texts(_model(server, concurrency=1), 12)
    server.delay = lambda number: 0.03 if number % 4 == 0 else 0.0
    assert _texts(_model(server, concurrency=4), 12) == one_by_one
    assert len(set(one_by_one)) > 6  # each request has a seed of its own
    assert len({body["seed"] for body in server.bodies[:12]}) == 12
    assert _texts(_model(server), 12, seed=1) != one_by_one


def test_the_first_answers_do_not_depend_on_how_many(server: Endpoint) -> None:
    server.change = _numbered()  # an endpoint that heeds no seed
    model = _model(server)
    few = _texts(model, 3)
    assert _texts(model, 6)[:3] == few
    assert len(server.bodies) == 6  # what is there is not asked for again
    assert _texts(model.changed(temperature=0.5), 3) != few  # another question
    assert len(server.bodies) == 9


def _numbered() -> Any:
    numbers = iter(range(10**6))

    def change(document: dict[str, Any]) -> dict[str, Any]:
        document["choices"][0]["message"]["content"] = f"text {next(numbers)}"
        return document

    return change


def test_what_is_asked_is_what_the_settings_say(server: Endpoint) -> None:
    settings: dict[str, Any] = {
        "system": "Be brief.",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 20,
        "extra": {"stop": ["\n"]},
    }
    _model(server, **settings).answers(1, seed=0)
    (body,) = server.bodies
    assert {name: body[name] for name in ("temperature", "top_p", "max_tokens", "stop", "model")} == {
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "stop": ["\n"], "model": MODEL,
    }  # fmt: skip
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == PROMPT
    _model(server, mode="completions", prompt=None, send_seed=False).answers(1, seed=0)
    assert server.bodies[1] == {"model": MODEL, "prompt": ""}
    assert server.paths == ["/v1/chat/completions", "/v1/completions"]


def test_answers_come_with_their_prompts(server: Endpoint, tmp_path: Path) -> None:
    generator = Generator(MODEL, url=server.url)
    answers = generator.answers(["one", "two", "three"], 2)
    assert answers.prompts == ("one", "one", "two", "two", "three", "three")
    asked = {(body["messages"][0]["content"], body["seed"]) for body in server.bodies}
    assert len(asked) == len(answers) == 6
    assert generator.answers(["one", "two", "three"], 1).texts == answers.texts[::2]
    assert len(server.bodies) == 6
    assert answers.rows()[2] == {"prompt": "two", "text": answers.texts[2], "finish_reason": "stop"}
    assert "6 prompt and" in answers.note
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "one"}\n{"prompt": "two"}\n')
    of_file = from_pretrained(f"openai:{MODEL}@{server.url}?prompts={file}")
    assert of_file.sample(4, seed=0) == [of_file.sample(4, seed=0)[number] for number in range(4)]
    assert of_file.model.prompt_of(3) == "two"
    with pytest.raises(OptionError, match="n_per_prompt must be at least 1, got 0"):
        generator.answers(["one"], 0)


RETRIED = {
    "429": faults.status(429, Retry_After="0"),
    "500": faults.status(500),
    "503 until a date": faults.status(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "a page of a gateway": faults.page(502),
    "broken off": faults.broken_off,
    "hung up": faults.hung_up,
    "malformed": faults.malformed,
    "an error as an answer": faults.status(200, {"error": {"message": "overloaded"}}),
    "no choices": faults.status(200, {"choices": []}),
    "not an object": faults.status(200, "[1, 2]"),
    "slow": faults.slow(0.5),
}


@pytest.mark.parametrize("fault", RETRIED.values(), ids=RETRIED)
def test_what_may_pass_is_tried_again(server: Endpoint, fault: faults.Fault) -> None:
    expected = _texts(_model(server), 3)
    server.faults = [None, fault, fault]
    server.bodies.clear()
    model = _model(server, timeout=0.25 if fault is RETRIED["slow"] else 10)
    assert _texts(model, 3) == expected
    assert len(server.bodies) == 5
    assert "3 answers of" in model.note(model.kept(0).first(3))
    assert "in 5 requests" in model.note(model.kept(0).first(3))


def test_tries_have_an_end_and_the_message_says_what_is_there(server: Endpoint) -> None:
    server.faults = [None, None]
    server.always = faults.status(500, {"error": {"message": "the\nmachine is on fire"}})
    with pytest.raises(EndpointError) as raised:
        _model(server, concurrency=1, retries=2).answers(5, seed=0)
    place = f"{MODEL}@{server.url}"
    said = f"2 of 5 answers are there; {place}: failed with status 500: the machine is on fire, 3 times"
    assert str(raised.value) == said
    assert len(server.bodies) == 2 + 3
    server.bodies.clear()
    with pytest.raises(EndpointError):
        _model(server, concurrency=4, retries=0).answers(100, seed=0)
    assert len(server.bodies) <= 4  # nothing is begun after the first failure


def test_a_wait_that_is_too_long_is_not_waited_for(server: Endpoint) -> None:
    server.always = faults.status(429, Retry_After="7200")
    with pytest.raises(EndpointError, match="asks to wait 7,200 seconds, more than 600"):
        _model(server).answers(1, seed=0)
    assert len(server.bodies) == 1


FATAL = {
    "no money": (faults.status(429, {"error": {"message": "You have no credit", "code": "insufficient_quota"}}),
                 "refused the request (status 429): You have no credit"),
    "a page": (faults.page(), "sent a web page instead of JSON; check the address, which usually ends in /v1"),
    "a missing page": (faults.page(404), "there is nothing at this address (status 404); check the address"),
    "elsewhere": (faults.status(308, Location="http://example.com/v1"), "the address redirects (status 308)"),
    "bad request": (faults.status(400, {"error": {"message": "seed: unknown field"}}),
                    "refused the request (status 400): seed: unknown field"),
    "of FastAPI": (faults.status(422, {"detail": [{"msg": "field required"}]}), "(status 422): [{"),
    "forbidden": (faults.status(403, {"error": "this key may not use it"}), "this key may not use it"),
    "another form": (faults.status(200, {"choices": [{"delta": {}}]}), "its answer is not a completion"),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "message"), FATAL.values(), ids=FATAL)
def test_what_cannot_pass_is_said_at_once(server: Endpoint, fault: faults.Fault, message: str) -> None:
    server.always = fault
    with pytest.raises(EndpointError) as raised:
        _model(server).answers(1, seed=0)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(server.bodies) == 1


def test_a_wrong_key_model_or_address_is_named_without_the_key(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "sk-another-key-9876543210"
    monkeypatch.setenv("OPENAI_API_KEY", other)
    with pytest.raises(EndpointError, match=r"the key in OPENAI_API_KEY is refused \(status 401\)") as raised:
        _model(server).answers(1, seed=0)
    assert other[:8] not in str(raised.value)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EndpointError, match="it requires a key: set OPENAI_API_KEY"):
        _model(server).answers(1, seed=0)
    with pytest.raises(EndpointError, match="the environment variable MY_KEY is not set"):
        _model(server, key_variable="MY_KEY").answers(1, seed=0)
    monkeypatch.setenv("MY_KEY", KEY)
    assert _model(server, key_variable="MY_KEY").answers(1, seed=0)
    with pytest.raises(EndpointError, match=f"The model 'wrong' does not exist; it has {MODEL}"):
        _model(server, model="wrong", key_variable="MY_KEY").answers(1, seed=0)
    with pytest.raises(EndpointError, match="no server is listening"):
        _model(server, url="http://127.0.0.1:9/v1").answers(1, seed=0)
    with pytest.raises(EndpointError, match="the environment variable OPENAI_API_KEY is not set"):
        EndpointModel(EndpointSettings(model=MODEL, prompt=PROMPT)).answers(1, seed=0)  # OpenAI's own is not asked


def test_the_key_stands_nowhere(server: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def echo(document: dict[str, Any]) -> dict[str, Any]:
        document["choices"][0]["message"]["content"] = f"you sent {KEY}"
        return document

    server.change = echo
    with caplog.at_level(logging.DEBUG):
        model = _model(server, tmp_path)
        (answer,) = model.answers(1, seed=0)
        server.always = faults.status(400, {"error": {"message": f"bad header {KEY}"}})
        with pytest.raises(EndpointError, match=r"bad header \[key\]") as raised:
            model.answers(2, seed=0)
    assert answer.text == "you sent [key]"
    spoken = [repr(raised.value), model.name, model.key, model.note([answer]), repr(vars(model)), caplog.text]
    spoken += [repr(vars(model._client)), *(path.read_text() for path in tmp_path.rglob("*") if path.is_file())]
    assert not any(KEY in words for words in spoken)


ODD = "sk-te+st/0123456789-not-a-real-key"
ESCAPED = {
    "a stroke": ODD.replace("/", "\\/"),
    "a number": ODD.replace("+", "\\u002b"),
    "every sign": "".join(f"\\u{ord(sign):04X}" for sign in ODD),
    "twice": ODD.replace("+", "\\\\u002b").replace("/", "\\\\/"),
    "of addresses": ODD.replace("+", "%2B").replace("/", "%2f"),
}


@pytest.mark.parametrize("escaped", ESCAPED.values(), ids=ESCAPED)
def test_a_key_that_is_escaped_stands_nowhere(
    server: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, escaped: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", ODD)
    text = '{"choices": [{"message": {"content": "you sent KEY."}, "finish_reason": "stop"}]}'
    server.always = faults.status(200, text.replace("KEY", escaped))
    model = _model(server, tmp_path)
    (answer,) = model.answers(1, seed=0)
    assert answer.text == "you sent [key]."
    server.always = faults.status(400, '{"error": {"message": "bad header KEY."}}'.replace("KEY", escaped))
    with pytest.raises(EndpointError, match=r"bad header \[key\]\."):
        model.answers(2, seed=0)
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text())["text"] == "you sent [key]."


@pytest.mark.parametrize("key", ["sk-first-line\nsecond-line", "sk-näh-0123456789"])
def test_a_key_that_no_header_takes_is_named(server: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(EndpointError, match=r"the key in OPENAI_API_KEY holds a (line break|character)") as raised:
        _model(server).answers(1, seed=0)
    assert key[:6] not in str(raised.value)


@pytest.mark.parametrize(
    ("head", "body"),
    [(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), (b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n", b" ")],
    ids=["headers", "body"],
)
def test_a_timeout_is_one_for_the_whole_request(server: Endpoint, head: bytes, body: bytes) -> None:
    server.always = faults.trickling(head, body)
    begun = time.monotonic()
    with pytest.raises(EndpointError, match=r"sent no complete answer within 0\.5 seconds"):
        _model(server, timeout=0.5, retries=0).answers(1, seed=0)
    assert time.monotonic() - begun < 3


def test_an_answer_that_is_too_large_is_named(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textassay.endpoints._MOST_BYTES", 1 << 20)
    server.always = faults.status(200, " " * (3 << 20))
    with pytest.raises(EndpointError, match="sent an answer of more than 1 MB; request less at once"):
        _model(server).answers(1, seed=0)


def test_two_equal_runs_at_once_pay_each_answer_once(server: Endpoint, tmp_path: Path) -> None:
    server.delay = lambda number: 0.02
    server.change = _numbered()  # an endpoint that heeds no seed
    code = (
        "from textassay.source.endpoint import EndpointModel, EndpointSettings;"
        "from pathlib import Path; import json;"
        f"settings = EndpointSettings(model={MODEL!r}, url={server.url!r}, prompt={PROMPT!r});"
        f"answers = EndpointModel(settings, folder=Path({str(tmp_path)!r})).answers(30, seed=0);"
        "print(json.dumps([answer.text for answer in answers]))"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    (first, said_first), (second, said_second) = (run.communicate() for run in runs)
    assert json.loads(first) == json.loads(second)
    assert len(server.bodies) == 30
    assert (said_first + said_second).count("another run is writing to") == 1


def test_what_is_interrupted_keeps_the_answers_that_come_within_a_second(server: Endpoint, tmp_path: Path) -> None:
    server.delay = lambda number: 0.0 if number == 0 else 0.5
    model = _model(server, tmp_path, concurrency=3)
    parts: Any = model.draw(0, 9, seed=0)
    next(parts)
    begun = time.monotonic()
    parts.close()
    assert time.monotonic() - begun < 2
    assert model.kept(0).n_of(9) == len(server.bodies) > 1


def test_answers_that_are_not_as_they_should_be_are_kept_and_named(server: Endpoint) -> None:
    def message(finish: str | None, **values: Any) -> dict[str, Any]:
        return {"choices": [{"message": {"role": "assistant", **values}, "finish_reason": finish}]}

    tool = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    parts = [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}, {"type": "image"}]
    responses = iter([
        message("length", content="it was a"), message("content_filter", content=None),
        message("tool_calls", content=None, tool_calls=[tool]), message("stop", content=None, refusal="I cannot."),
        message("stop", content=parts), message("stop", content=""), message(None, content="fine"),
    ])  # fmt: skip
    server.change = lambda document: next(responses)
    server.faults = [None] * 7 + [faults.status(400, {"error": {"message": "no", "code": "content_filter"}})]
    model = _model(server, concurrency=1, max_tokens=3)
    answers = model.answers(8, seed=0)
    assert [answer.text for answer in answers] == ["it was a", "", "", "I cannot.", "two parts", "", "fine", ""]
    of = "of 8 answers"
    assert model.warnings(answers) == [
        f"1 {of} are truncated at max_tokens (finish reason length): increase max_tokens",
        f"2 {of} were withheld or truncated by a content filter",
        f"1 {of} are refusals",
        f"1 {of} call a tool instead of answering",
        f"4 {of} are empty; they count as empty texts",
    ]
    assert "tokens not told" in model.note(answers)
    assert list(model.sample(8, seed=0).texts) == [answer.text for answer in answers]


def test_max_tokens_goes_by_its_other_name_where_the_endpoint_asks_for_it(server: Endpoint) -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."

    def fault(handler: faults.Handler) -> bool:
        return "max_tokens" in handler.server.bodies[-1] and faults.status(400, {"error": {"message": said}})(handler)

    server.always = fault
    _model(server, concurrency=1, max_tokens=7).answers(3, seed=0)
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 7, 7, 7]


def test_limits_of_requests_and_tokens_are_kept(server: Endpoint) -> None:
    begun = time.monotonic()
    _model(server, requests_per_minute=3000).answers(6, seed=0)
    assert time.monotonic() - begun >= 5 * 60 / 3000
    begun = time.monotonic()
    answers = _model(server, tokens_per_minute=6000, concurrency=1).answers(3, seed=1)
    tokens = sum((answer.prompt_tokens or 0) + (answer.completion_tokens or 0) for answer in answers[:2])
    assert time.monotonic() - begun >= tokens * 60 / 6000


def test_kept_answers_survive_a_torn_file(server: Endpoint, tmp_path: Path) -> None:
    first = _texts(_model(server, tmp_path), 4)
    (file,) = tmp_path.iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:20])  # killed while it wrote
    server.bodies.clear()
    assert _texts(_model(server, tmp_path), 4) == first
    assert len(server.bodies) == 2
    assert _texts(_model(server, tmp_path), 4) == first  # now whole again
    assert len(server.bodies) == 2
    assert len(json.loads(lines[0])["text"]) > 0
    kept = KeptAnswers(file)
    assert (kept.n_of(4), kept.n_without_gap(9)) == (4, 4)
    kept.add(7, Answer("later", "stop", 0, 0))
    assert (kept.n_of(9), kept.n_without_gap(9)) == (5, 4)
    assert KeptAnswers(file)[7] == Answer("later", "stop", 0, 0)


def test_an_endpoint_that_dies_goes_on_where_it_was(server: Endpoint, tmp_path: Path) -> None:
    expected = _texts(_model(server), 10)
    server.bodies.clear()
    server.faults = [None] * 6
    server.always = faults.hung_up
    with pytest.raises(EndpointError, match="6 of 10 answers are there, stored on disk: the same command resumes"):
        _model(server, tmp_path, retries=1, concurrency=2).answers(10, seed=0)
    server.always = None
    server.bodies.clear()
    assert _texts(_model(server, tmp_path), 10) == expected
    assert len(server.bodies) == 4


def test_no_one_waits_for_a_request_after_an_interruption(server: Endpoint) -> None:
    server.always = faults.slow(30)
    parts = _model(server, concurrency=2).draw(0, 4, seed=0)
    begun, told = time.monotonic(), []

    def interrupted() -> None:
        told.append(next(parts, None))

    thread = threading.Thread(target=interrupted, daemon=True)
    thread.start()
    thread.join(0.1)
    assert not told
    assert all(one.daemon for one in threading.enumerate() if one.name.startswith("endpoint-"))
    assert time.monotonic() - begun < 5


NAMES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "openai:gpt-4o-mini?prompt=Say & go.": ("gpt-4o-mini", None, {"prompt": "Say & go."}),
    "openai:m@http://h:1/v1?prompt=a=b&temperature=0.5": ("m", "http://h:1/v1", {"prompt": "a=b", "temperature": 0.5}),
    "openai:@cf/meta/llama@https://h/v1?max_tokens=5&send_seed=no": (
        "@cf/meta/llama", "https://h/v1", {"max_tokens": 5, "send_seed": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_holds_model_address_and_settings(name: str) -> None:
    model, url, settings = NAMES[name]
    known = settings_of(EndpointSettings, name)
    assert (known.model, known.url) == (model, url)
    assert {key: getattr(known, key) for key in settings} == settings


def test_a_file_holds_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "support.yaml"
    file.write_text("model: m\nprompts: [one, two]\nextra: {stop: [x]}\ntop_p: 1\n")
    known = settings_of(EndpointSettings, f"openai:{file}")
    assert (known.prompts, known.extra) == (["one", "two"], {"stop": ["x"]})
    assert known.address == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1/")
    assert known.address == "http://elsewhere/v1"
    name = "openai(m@http://elsewhere/v1, prompts=2:298a9912, top_p=1, extra={'stop': ['x']})"
    assert EndpointModel(known).name == name


WRONG = {
    "openai:": "give a model after 'openai:'",
    "openai:m": "give a prompt: '",
    "openai:m?prompt=a&prompts=b.txt": "prompt and prompts cannot be combined",
    "openai:m?promt=a": "unknown setting of openai 'promt': did you mean prompt",
    "openai:m?prompt=a&temperature=hot": "temperature must be a number, got 'hot'",
    "openai:m?prompt=a&max_tokens=0": "max_tokens must be at least 1, got 0",
    "openai:m?prompt=a&concurrency=1.5": "concurrency must be a whole number, got '1.5'",
    "openai:m?prompt=a&mode=talk": "mode must be 'chat' or 'completions', got 'talk'",
    "openai:m?prompt=a&mode=completions&system=b": "a system prompt is for mode=chat",
    "openai:m?prompt=a&seed=1&seed=2": "unknown setting of openai 'seed'",
    "openai:m?prompt=a&prompt=b": "'prompt' is given twice",
    "openai:m@localhost:8000/v1?prompt=a": "must begin with http:// or https://",
    "openai:m@http://u:secret@h/v1?prompt=a": "must not contain a user or a password",
    "openai:m?prompt=a&api_key=secret": "keys are read only from the environment",
    "openai:m?prompt=a&key_variable=sk-secret": "must be the name of an environment variable, not the key",
    "openai:m?prompt=a&url=http://h/v1?api=secret": "must not contain '\\?'",
    "openai:missing.yaml": "cannot read missing.yaml: no such file",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_name_is_answered_in_one_line_without_secrets(name: str) -> None:
    with pytest.raises((OptionError, InputError), match=WRONG[name]) as raised:
        from_pretrained(name)
    assert "secret" not in str(raised.value)


def test_an_endpoint_does_not_do_what_only_models_can(server: Endpoint) -> None:
    generator = Generator(MODEL, url=server.url, prompt=PROMPT)
    with pytest.raises(OptionError, match="takes no top_k"):
        generator.sample(1, top_k=3)
    with pytest.raises(OptionError, match="there is nothing to fit"):
        generator.fit(["a", "b"])
    for not_there in (generator.log_prob, generator.corpus):
        with pytest.raises(InputError, match="which tells neither tokens nor probabilities"):
            not_there(["a"])
    assert generator.sample(2, temperature=0.7, top_p=0.5) == generator.sample(2, temperature=0.7, top_p=0.5)
    assert server.bodies[0]["top_p"] == 0.5


def test_what_answers_will_take_is_told_before(server: Endpoint) -> None:
    prices: dict[str, Any] = {"input_price": 2.0, "output_price": 8.0}
    model = _model(server, prompts=("a" * 40, "b" * 80), max_tokens=100, mode="completions", **prices)
    requests = model.estimate(5)
    assert (requests.requests, requests.prompt_tokens, requests.completion_tokens) == (5, 10 * 3 + 20 * 2, 500)
    assert requests.price == pytest.approx((70 * 2 + 500 * 8) / 1e6)
    assert model.estimate(5, 4).prompt_tokens == 10
    assert _model(server).estimate(3).completion_tokens is None
    answers = [Answer("x", "stop", 10, 20), Answer("y", "stop", 30, 40)]
    assert f"{(40 * 2 + 60 * 8) / 1e6:.4g} at the prices given" in model.note(answers)
    assert about_tokens("abcd" * 10 + "汉字") == 12
    assert not server.bodies


def test_a_client_can_go_to_another_process(server: Endpoint) -> None:
    import pickle

    client = pickle.loads(pickle.dumps(Client(Connection(model=MODEL, url=server.url))))
    assert client.models() == [MODEL]
    assert _texts(pickle.loads(pickle.dumps(_model(server))), 2) == _texts(_model(server), 2)


def test_prompts_must_be_there(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text("one\ntwo\n")
    assert EndpointModel(EndpointSettings(model="m", prompts=str(file))).prompts == ("one", "two")
    assert tuple(read_texts(file).texts) == ("one", "two")
    with pytest.raises(InputError, match="prompts is empty"):
        _ = EndpointModel(EndpointSettings(model="m", prompts=[])).prompts
