"""Kinds of records that say more than a column: chats, responses of interfaces, their batches, logs of evaluations.

Each is a declaration: the paths by which it is recognised, and where its answers, prompts and reasons of an end stand.

Sources: the chat format, the responses and the batch output of OpenAI's interfaces, those of Anthropic, Google, Cohere,
Amazon and Ollama; the samples that lm-evaluation-harness and those derived from it write with ``--log_samples``; the
logs of inspect_ai and of OpenAI's evals.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from textassay.corpus.paths import values_at
from textassay.errors import InputError

ASSISTANT = "assistant"
_ROLES = {"gpt": ASSISTANT, "model": ASSISTANT, "bot": ASSISTANT, "chatgpt": ASSISTANT, "human": "user"}
_CHATS = ("messages", "conversations", "conversation")
_CUT_OFF = frozenset(("length", "max_tokens", "model_length", "max_output_tokens", "max_length", "token_limit"))
_TEXT_PARTS = ("text", "output_text", "input_text", "refusal")
_OTHER_PARTS = re.compile(
    r"reasoning|\w*thinking|summary_text|\w*tool\w*|\w*function\w*|\w*_call(_output)?|\w*(image|audio|video|file)\w*"
    r"|document|data|item_reference"
)
_FAILED = 400  # the first status of an HTTP response that is an error
_SHOWN = 120  # characters of an endpoint's message
_SEPARATOR = "\n"  # between the parts of a message, as inspect_ai joins them

# Where the response of a model stands in a record, and where its request does
_PLACES = ("", "response", "response.body", "result.message", "modelOutput", "modelOutput.output", "body", "output")
_REQUESTS = ("", "request", "request.body", "body", "request_body", "input", "params", "modelInput")


class Answer(NamedTuple):
    """One answer; without a text there is a problem that says why."""

    text: str | None
    prompt: str | None = None
    is_cut_off: bool | None = None  # by a limit of length; None where nobody says
    problem: str = "no text"
    left_out: tuple[str, ...] = ()  # types of parts that are no text
    odd: Any = None  # what stands where a text should, and is none


@dataclass(frozen=True)
class Response:
    """How answers stand in the response of an interface."""

    answers: str  # path of each
    text: tuple[str, ...]  # paths in an answer, of a message, a content or a string
    reason: tuple[str, ...] = ()  # paths in an answer: why the model stopped
    is_of: Callable[[Mapping[str, Any]], bool] = lambda _: True


def _is_typed(response: Mapping[str, Any]) -> bool:
    return all(isinstance(item, Mapping) and isinstance(item.get("type"), str) for item in response["output"])


_RESPONSES = (
    Response("choices[]", ("message", "text"), ("finish_reason", "stop_reason")),
    Response("candidates[]", ("content.parts",), ("finishReason", "finish_reason")),
    Response("generations[]", ("text",), ("finish_reason",)),
    Response("", ("output",), ("incomplete_details.reason",), lambda it: isinstance(it["output"], list) and
             len(it["output"]) > 0 and _is_typed(it)),
    Response("", ("content",), ("stop_reason",), lambda it: it.get("role") == ASSISTANT and "type" in it),
    Response("", ("message",), ("done_reason", "finish_reason", "stopReason"), lambda it: _role(it["message"]) ==
             ASSISTANT),
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of records: how it is recognised, and how its answers are read."""

    name: str
    has: tuple[tuple[str, ...], ...]  # one of these sets of keys
    answers: Callable[[Mapping[str, Any]], Sequence[Answer]]
    prompt: Callable[[Mapping[str, Any]], str | None]
    repeats: Callable[[Mapping[str, Any]], Any] = lambda _: None  # records with the same value are one; None: never
    references: str = ""  # the path at which a list, or the text of one, is several references

    def is_of(self, record: Mapping[str, Any]) -> bool:
        return any(all(key in record for key in keys) for keys in self.has)


def kind_of(record: Any) -> Kind | None:
    """Return the kind of a file whose first record is `record`; None if it is a plain table."""
    if not isinstance(record, Mapping):
        return CHAT if is_conversation(record) else None
    for kind in (LM_EVAL, INSPECT, EVALS):
        if kind.is_of(record):
            return kind
    if _response(record) is not None or (_is_batch(record) and error_in(record) is not None):
        return RESPONSE
    if isinstance(record.get("error"), Mapping):
        return RESPONSE
    return CHAT if _chat(record) is not None else None


# Chats, and responses of interfaces
def _chat_answers(record: Any) -> list[Answer]:
    chat = record if isinstance(record, list) else _chat(record)
    problem = error_in(record) if isinstance(record, Mapping) else None
    if chat is None:
        return [Answer(None, prompt_in(record), problem=problem or "no messages")]
    answer = split_answer(chat)
    return [answer._replace(problem=problem or answer.problem)]


def _response_answers(record: Mapping[str, Any]) -> list[Answer]:
    prompt, problem, found = prompt_in(record), error_in(record), _response(record)
    if found is None:
        return [Answer(None, prompt, problem=problem)] if problem else _chat_answers(record)
    form, body = found
    answers = values_at(body, form.answers) if form.answers else [body]
    return [_answer(answer, form, prompt) for answer in answers] or [
        Answer(None, prompt, problem=problem or "no choice")
    ]


def _answer(answer: Any, form: Response, prompt: str | None) -> Answer:
    if not isinstance(answer, Mapping):
        return Answer(None, prompt, problem="a choice that is no object")
    value = next((values[0] for path in form.text if (values := values_at(answer, path))), None)
    text, left_out, odd = _message_text(value) if isinstance(value, Mapping) else content_text(value)
    reasons = [values[0] for path in form.reason if (values := values_at(answer, path))]
    reason = reasons[0] if reasons and isinstance(reasons[0], str) else None
    called = (isinstance(value, Mapping) and value.get("tool_calls")) or any("tool" in kind for kind in left_out)
    problem = "a call of a tool and no text" if called else f"{left_out[0]} and no text" if left_out else "null"
    return Answer(text, prompt, None if reason is None else reason.lower() in _CUT_OFF, problem, left_out, odd)


def _response(record: Mapping[str, Any]) -> tuple[Response, Mapping[str, Any]] | None:
    """Return how the answers of a record stand, and the part of it that has them."""
    for path in _PLACES:
        for body in values_at(record, path) if path else [record]:
            for form in _RESPONSES if isinstance(body, Mapping) else ():
                key = form.answers.removesuffix("[]")
                if key:
                    items = body.get(key)
                    if isinstance(items, list) and all(_is_answer(item, form) for item in items):
                        return form, body
                elif form.text[0] in body and form.is_of(body):
                    return form, body
    return None


def _is_answer(item: Any, form: Response) -> bool:
    """Return whether an item is an answer: a choice with a text alone may be one of a question, too."""
    first, *others = form.text
    is_known = isinstance(item, Mapping) and any(name in item for name in ("index", *form.reason))
    return bool(values_at(item, first)) or (is_known and any(values_at(item, path) for path in others))


def _is_batch(record: Mapping[str, Any]) -> bool:
    return any(all(key in record for key in keys) for keys in (("custom_id", "response"), ("custom_id", "result")))


def _chat(record: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    return next((record[name] for name in _CHATS if is_conversation(record.get(name))), None)


def prompt_in(record: Mapping[str, Any]) -> str | None:
    """Return what the answers of a record answer; None if it does not say."""
    has_answers = _response(record) is not None or _is_batch(record) or "response" in record
    for path in _REQUESTS:
        for place in values_at(record, path) if path else [record]:
            if not isinstance(place, Mapping):
                continue
            if (chat := _chat(place)) is not None:
                return prompt_text(chat) if has_answers else split_answer(chat).prompt
            for name in ("contents", "prompt", "input") if has_answers or path else ():
                if (prompt := _prompt(place.get(name))) is not None:
                    return prompt
    return None


def error_in(record: Mapping[str, Any]) -> str | None:
    """Return the message of an endpoint's error that a record holds in place of an answer; None if there is none."""
    for path in ("error", "response.error", "response.body.error", "result.error.error", "result.error"):
        for error in values_at(record, path):
            if error:
                message = error.get("message", error) if isinstance(error, Mapping) else error
                return f"an error of the endpoint ({' '.join(str(message).split())[:_SHOWN]})"
    for status in values_at(record, "response.status_code"):
        if isinstance(status, int) and status >= _FAILED:
            return f"an error of the endpoint (status {status})"
    for ended in values_at(record, "result.type"):
        if ended in ("errored", "canceled", "expired"):
            return f"a request that was {ended}"
    return None


# Logs of evaluations
def _lm_eval_answers(record: Mapping[str, Any]) -> list[Answer]:
    """Return the filtered answers, several where the task repeats; a task that scores given answers has none."""
    prompt, response = _lm_eval_prompt(record), record.get("filtered_resps")
    texts = _flat(response)
    if any(len(pair) == 2 and str(pair[1]) in ("True", "False") for pair in _lists(response)):
        return [Answer(None, prompt, problem="scores of given answers, none of which the model wrote")]
    return [Answer(text if isinstance(text, str) else None, prompt, problem="no filtered response") for text in texts]


def _flat(value: Any) -> list[Any]:
    """Return the items of a list of lists one after another; at least one."""
    if isinstance(value, list) and value:
        return [text for item in value for text in _flat(item)]
    return [value]


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
        for item in value:
            yield from _lists(item)


def _lm_eval_prompt(record: Mapping[str, Any]) -> str | None:
    """Return the prompt: a text, or a chat that was written into one as JSON, alone or in a list."""
    for path in ("arguments.gen_args_0.arg_0", "arguments[0][0]", "arguments[0].arg_0", "input", "arguments[0]"):
        for value in values_at(record, path):
            first = value[0] if isinstance(value, list) and len(value) == 1 else value
            if isinstance(first, str):
                if first.startswith("[{"):
                    try:
                        chat = json.loads(first)
                    except ValueError:
                        return first
                    return prompt_text(chat) if is_conversation(chat) else first
                return first
            if is_conversation(value):
                return prompt_text(value)
    return None


def _inspect_answers(record: Mapping[str, Any]) -> list[Answer]:
    prompt, output = _inspect_prompt(record), record.get("output")
    output = output if isinstance(output, Mapping) else {}
    choices = output.get("choices")
    if isinstance(choices, list) and choices:
        answers = [_answer(choice, _RESPONSES[0], prompt) for choice in choices]
        return [one if one.text is None else one._replace(text=_attached(one.text, record)) for one in answers]
    completion = output.get("completion")
    if isinstance(completion, str) and completion:
        return [Answer(_attached(completion, record), prompt)]
    return [Answer(None, prompt, problem=error_in(record) or error_in(output) or "no output")]


def _inspect_prompt(record: Mapping[str, Any]) -> str | None:
    given = record.get("input")
    return _attached(given, record) if isinstance(given, str) else _prompt(given)


def _attached(text: str, record: Mapping[str, Any]) -> str:
    """Return the text that an inspect log keeps elsewhere in the sample, or `text` itself."""
    attachments = record.get("attachments")
    if text.startswith("attachment://") and isinstance(attachments, Mapping):
        kept = attachments.get(text.removeprefix("attachment://"))
        return kept if isinstance(kept, str) else text
    return text


def _evals_answers(record: Mapping[str, Any]) -> list[Answer]:
    prompt = _evals_prompt(record)
    texts = _flat(values_at(record, "data.sampled"))
    return [Answer(text if isinstance(text, str) else None, prompt) for text in texts]


def _evals_prompt(record: Mapping[str, Any]) -> str | None:
    return next((_prompt(value) for value in values_at(record, "data.prompt")), None)


def _same_document(record: Mapping[str, Any]) -> Any:
    """Return what two entries of one document share, as processes that pad their last batch write them."""
    if "doc_id" not in record:
        return None
    return repr([record.get(name) for name in ("doc_id", "filter", "arguments", "resps", "filtered_resps")])


CHAT = Kind("chats", (), _chat_answers, prompt_in)
RESPONSE = Kind("responses of an interface", (), _response_answers, prompt_in)
LM_EVAL = Kind(
    "samples of lm-evaluation-harness", (("doc", "arguments", "resps", "filtered_resps"),
    ("doc_id", "target", "filtered_resps")), _lm_eval_answers, _lm_eval_prompt, _same_document, "target",
)  # fmt: skip
INSPECT = Kind(
    "samples of inspect_ai", (("id", "epoch", "input", "target", "output"),), _inspect_answers, _inspect_prompt,
    references="target",
)  # fmt: skip
EVALS = Kind(
    "events of OpenAI evals", (("spec",), ("final_report",), ("run_id", "event_id", "data")), _evals_answers,
    _evals_prompt,
)  # fmt: skip


class LogRows:
    """Which records of a log are rows: each document once, through one filter; one event of each sample."""

    def __init__(self, kind: Kind | None, first: Any, column: str | None) -> None:
        """Take the kind, the first record, and the path of the texts where one is named."""
        self._kind, self._column = kind, column
        self.n_twice = 0
        self._seen: set[int] = set()
        self._event: str | None = None if column is not None else "sampling"
        self.filters: dict[str, None] = {}  # those seen, in order
        self._is_filtered = kind is LM_EVAL and isinstance(first.get("filter"), str)
        self.filter: str | None = first["filter"] if self._is_filtered else None
        is_name = column is not None and not any(sign in column for sign in ".[")
        self.names_filter = bool(self._is_filtered and is_name and column not in first)
        if self.names_filter:
            self.filter = column

    def has(self, record: Mapping[str, Any], place: str) -> bool:
        if self._kind is EVALS:
            if self._event is None and values_at(record, self._column or ""):
                self._event = record.get("type")
            return record.get("type") == self._event is not None
        if self._is_filtered:
            name = record.get("filter")
            self.filters.setdefault(str(name))
            if name != self.filter:
                if self._column is None:
                    first, *_, last = self.filters
                    raise InputError(
                        f"{place}: the file has every answer once per filter, {first} and {last}: name a filter "
                        f"(FILE::{first}), or FILE::resps[0][0] for the model's output"
                    )
                return False
        if self._kind is not None and (same := self._kind.repeats(record)) is not None:
            n_before = len(self._seen)
            self._seen.add(hash(same))
            self.n_twice += len(self._seen) == n_before
            return len(self._seen) > n_before
        return True


def references_in(value: Any) -> list[str] | None:
    """Return several references: a list of strings, or one that was written with ``str``; None for anything else."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    is_list = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return value if is_list else None


# Messages
def is_conversation(value: Any) -> bool:
    """Return whether `value` is a list of messages, at least one."""
    return isinstance(value, list) and len(value) > 0 and all(_role(message) is not None for message in value)


def content_text(content: Any) -> tuple[str | None, tuple[str, ...], Any]:
    """Return the text of a content, None if it has none; the types of its parts that are no text; what is no part.

    A content is a string or a list of parts of a known type: what a model thought, calls of tools and images are none.
    """
    if isinstance(content, str) or not content:
        return content or "" if isinstance(content, str) else None, (), None
    texts: list[str] = []
    left_out: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "message":
            text, others, odd = content_text(part.get("content"))
            texts += [] if text is None else [text]
            left_out += others
            if odd is not None:
                return None, (), odd
        elif kind is None and isinstance(part, Mapping) and part.get("thought") is not True:
            text = part.get("text")
            names = [re.sub("([A-Z])", r"_\1", name).lower() for name in part]
            if not isinstance(text, str) and not any(map(_OTHER_PARTS.fullmatch, names)):
                return None, (), content
            texts += [text] if isinstance(text, str) else []
            left_out += [] if isinstance(text, str) else [next(iter(part))]
        elif kind in _TEXT_PARTS and isinstance(text := part.get("refusal" if kind == "refusal" else "text"), str):
            texts.append(text)
        elif isinstance(part, Mapping) and (kind is None or _OTHER_PARTS.fullmatch(str(kind))):
            left_out.append(str(kind or "thinking"))
        else:
            return None, (), content
    return _SEPARATOR.join(texts) if texts else None, tuple(left_out), None


def is_content(value: Any) -> bool:
    """Return whether `value` is a list of typed parts of a message, of which `content_text` may know the types."""
    is_list = isinstance(value, list) and len(value) > 0
    return is_list and all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in value)


def split_answer(messages: Sequence[Mapping[str, Any]]) -> Answer:
    """Return the last answer of the assistant and the prompt before it."""
    places = [place for place, message in enumerate(messages) if _role(message) == ASSISTANT]
    if not places:
        return Answer(None, prompt_text(messages), problem="no message of the assistant")
    message = messages[places[-1]]
    text, left_out, odd = _message_text(message)
    problem = f"{left_out[0]} and no text" if left_out else "no text"
    return Answer(text, prompt_text(messages[: places[-1]]), problem=problem, left_out=left_out, odd=odd)


def _content(message: Mapping[str, Any]) -> Any:
    return message.get("content", message.get("parts", message.get("value")))


def _message_text(message: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...], Any]:
    """Return what a message says; a refusal that stands in a field of its own is what it says."""
    text, left_out, odd = content_text(_content(message))
    refusal = message.get("refusal")
    return refusal if text is None and isinstance(refusal, str) else text, left_out, odd


def prompt_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what comes before an answer: one message of the user as it is, others as ``role: text``; None without any.

    So the prompt of a chat equals the same question in a column of another file. Images are no part of it.
    """
    if len(messages) == 1 and _role(messages[0]) == "user":
        return _message_text(messages[0])[0] or ""
    return "\n\n".join(f"{_role(message)}: {_message_text(message)[0] or ''}" for message in messages) or None


def _prompt(value: Any) -> str | None:
    return prompt_text(value) if is_conversation(value) else value if isinstance(value, str) else None


def _role(message: Any) -> str | None:
    if not isinstance(message, Mapping):
        return None
    role = message.get("role") if "role" in message else message.get("from") if "value" in message else None
    if role is None and "parts" in message:
        role = "user"  # as Google's interface has it by default
    return _ROLES.get(role, role) if isinstance(role, str) else None
