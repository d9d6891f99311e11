"""Answers of models in the formats that say more than a column: chats, responses of endpoints, logs of evaluations.

A chat is a conversation: a list of messages with a role and a content.

Sources: the chat format and the responses of OpenAI's interface, and its batch output; the samples that
lm-evaluation-harness writes with ``--log_samples``; the samples in a log of inspect_ai.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FORMAT_KEYS = ("messages", "conversations", "choices", "response", "request", "prompt", "error")
_CHATS = ("messages", "conversations", "conversation")
_REQUESTS = ("request", "body", "request_body", "input")
_LM_EVAL = ("doc", "arguments", "resps", "filtered_resps")
_INSPECT = ("id", "epoch", "input", "target", "output")
_CUT_OFF = frozenset(("length", "max_tokens", "model_length", "max_output_tokens", "MAX_TOKENS"))
_FAILED = 400  # the first status of an HTTP response that is an error
_SHOWN = 120  # characters of an endpoint's message
ASSISTANT = "assistant"
_ROLES = {"gpt": ASSISTANT, "model": ASSISTANT, "bot": ASSISTANT, "human": "user"}  # what others call them
_NO_ANSWER = ("reasoning", "thinking")  # parts of a message that the user is not shown


@dataclass(frozen=True)
class Answer:
    """One answer; without a text there is a problem that says why."""

    text: str | None
    prompt: str | None = None
    is_cut_off: bool | None = None  # by a limit of length; None where nobody says
    problem: str = "no text"


class AnswerFormat:
    """How answers stand in the records of one file."""

    def __init__(self, record: Mapping[str, Any], column: str | None) -> None:
        """Take the first record, and the column of the texts where one is named."""
        self.is_filtered = has_lm_eval_keys(record) and isinstance(record.get("filter"), str)
        self.filters: dict[str, None] = {}  # those seen, in order
        self.filter: str | None = record["filter"] if self.is_filtered else None
        self.names_filter = self.is_filtered and column is not None and column not in record and _is_name(column)
        if self.names_filter:
            self.filter = column
        self.must_be_one = self.is_filtered and column is None

    def is_repeat(self, record: Mapping[str, Any]) -> bool:
        """Return whether the record holds the answer of another record once more, through another filter."""
        if not self.is_filtered:
            return False
        name = record.get("filter")
        self.filters.setdefault(str(name))
        return name != self.filter

    def answers(self, record: Mapping[str, Any]) -> Sequence[Answer]:
        if has_lm_eval_keys(record):
            return _of_lm_eval(record)
        if has_inspect_keys(record):
            return _of_inspect(record)
        problem = error_in(record)
        body = _body(record)
        if body is None:
            chat = _chat(record)
            text, prompt = (None, prompt_of(record)) if chat is None else split_answer(chat)
            return [Answer(text, prompt, problem=problem or "no text")]
        return [_of_choice(choice, prompt_of(record)) for choice in body["choices"]] or [
            Answer(None, prompt_of(record), problem=problem or "no choice")
        ]


def answer_format(record: Mapping[str, Any], column: str | None) -> AnswerFormat | None:
    """Return the format of a file whose first record is `record`; None if it is none of these."""
    known = has_lm_eval_keys(record) or has_inspect_keys(record) or _body(record) is not None or _chat(record)
    has_failed = _is_batch(record) or isinstance(record.get("error"), Mapping)
    if known or (has_failed and error_in(record) is not None):
        return AnswerFormat(record, column)
    return None


def prompt_of(record: Mapping[str, Any]) -> str | None:
    """Return what the answers of a record answer; None if the record does not say."""
    if has_lm_eval_keys(record):
        argument = _first(_first(record["arguments"]))
        return argument if isinstance(argument, str) else None
    if has_inspect_keys(record):
        return _prompt(record["input"], record)
    has_answers = _body(record) is not None or _is_batch(record)
    for place in (record, *(record[name] for name in _REQUESTS if isinstance(record.get(name), Mapping))):
        inner = place.get("body") if isinstance(place.get("body"), Mapping) else place
        for source in (place, inner):
            chat = _chat(source)
            if chat is not None:
                return prompt_text(chat) if has_answers else split_answer(chat)[1]
            if "prompt" in source and (has_answers or place is not record):
                return _prompt(source["prompt"], record)
    return None


def error_in(record: Mapping[str, Any]) -> str | None:
    """Return the message of an endpoint's error that a record holds in place of an answer; None if there is none."""
    response = record.get("response")
    places = [record, *([response] if isinstance(response, Mapping) else [])]
    if isinstance(response, Mapping) and isinstance(response.get("body"), Mapping):
        places.append(response["body"])
    for place in places:
        error = place.get("error")
        if error:
            message = error.get("message", error) if isinstance(error, Mapping) else error
            return f"an error of the endpoint ({' '.join(str(message).split())[:_SHOWN]})"
    status = response.get("status_code") if isinstance(response, Mapping) else None
    if isinstance(status, int) and status >= _FAILED:
        return f"an error of the endpoint (status {status})"
    return None


def has_lm_eval_keys(record: Mapping[str, Any]) -> bool:
    """Return whether `record` is a sample logged by lm-evaluation-harness."""
    return all(key in record for key in _LM_EVAL)


def has_inspect_keys(record: Mapping[str, Any]) -> bool:
    """Return whether `record` is a sample of a log of inspect_ai."""
    return all(key in record for key in _INSPECT)


def _of_lm_eval(record: Mapping[str, Any]) -> list[Answer]:
    """Return the filtered answers, several where the task repeats; a task that scores given answers has none."""
    arguments = _first(record["arguments"])
    settings = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
    prompt = prompt_of(record)
    if isinstance(settings, list) and len(settings) > 1 and isinstance(settings[1], str):
        return [Answer(None, prompt, problem="the task scores given answers, it has the model write none")]
    response = _first(record["filtered_resps"])
    texts = response if isinstance(response, list) and response else [response]
    return [Answer(text if isinstance(text, str) else None, prompt, problem="no filtered response") for text in texts]


def _of_inspect(record: Mapping[str, Any]) -> list[Answer]:
    prompt = prompt_of(record)
    output = record["output"] if isinstance(record["output"], Mapping) else {}
    choices = output.get("choices") or []
    if isinstance(choices, list) and choices:
        return [_of_choice(choice, prompt, record) for choice in choices]
    completion = output.get("completion")
    if isinstance(completion, str) and completion:
        return [Answer(_attached(completion, record), prompt)]
    return [Answer(None, prompt, problem=error_in(record) or error_in(output) or "no output")]


def _of_choice(choice: Any, prompt: str | None, record: Mapping[str, Any] | None = None) -> Answer:
    """Return one of the ``choices`` of a response: with a message, or with a text."""
    if not isinstance(choice, Mapping):
        return Answer(None, prompt, problem="a choice that is no object")
    reason = choice.get("finish_reason", choice.get("stop_reason"))
    message = choice.get("message")
    text = choice.get("text") if message is None else message_text(message) if isinstance(message, Mapping) else None
    if isinstance(text, str) and record is not None:
        text = _attached(text, record)
    is_cut_off = reason in _CUT_OFF if isinstance(reason, str) else None
    called = isinstance(message, Mapping) and message.get("tool_calls")
    problem = "a call of a tool and no text" if called else "null"
    return Answer(text if isinstance(text, str) else None, prompt, is_cut_off, problem)


def _body(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the part of a record that has ``choices`` of a model."""
    response = record.get("response")
    inner = response.get("body") if isinstance(response, Mapping) else None
    for place in (record, response, inner):
        if not isinstance(place, Mapping) or not isinstance(place.get("choices"), list):
            continue
        if all(
            isinstance(choice, Mapping) and ("message" in choice or "text" in choice) for choice in place["choices"]
        ):
            return place
    return None


def _is_batch(record: Mapping[str, Any]) -> bool:
    return "custom_id" in record and "response" in record


def _chat(record: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    return next((record[name] for name in _CHATS if is_conversation(record.get(name))), None)


def _prompt(value: Any, record: Mapping[str, Any]) -> str | None:
    if is_conversation(value):
        return prompt_text(value)
    return _attached(value, record) if isinstance(value, str) else None


def _attached(text: str, record: Mapping[str, Any]) -> str:
    """Return the text that an inspect log keeps elsewhere in the sample, or `text` itself."""
    attachments = record.get("attachments")
    if text.startswith("attachment://") and isinstance(attachments, Mapping):
        kept = attachments.get(text.removeprefix("attachment://"))
        return kept if isinstance(kept, str) else text
    return text


def _first(value: Any) -> Any:
    """Return the first item of a list or of an object; None without one."""
    items = list(value.values()) if isinstance(value, Mapping) else value
    return items[0] if isinstance(items, list) and items else None


def _is_name(column: str) -> bool:
    """Return whether a column is a plain name, and no path into a record."""
    return not any(sign in column for sign in ".[")


def is_conversation(value: Any) -> bool:
    """Return whether `value` is a list of messages, at least one."""
    return isinstance(value, list) and len(value) > 0 and all(_role(message) is not None for message in value)


def content_text(content: Any) -> str | None:
    """Return the text of a message's content: a string, or a list of parts; None if it has none.

    Other parts stand as their kind in brackets, such as ``[image_url]``; what a model thought before its answer is
    left out.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list) or not content:
        return None
    texts = [_part_text(part) for part in content]
    return None if None in texts else "".join(map(str, texts))


def split_answer(messages: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    """Return the last answer of the assistant, None without one or without a text, and the prompt before it."""
    places = [place for place, message in enumerate(messages) if _role(message) == ASSISTANT]
    if not places:
        return None, prompt_text(messages)
    return message_text(messages[places[-1]]), prompt_text(messages[: places[-1]])


def message_text(message: Mapping[str, Any]) -> str | None:
    """Return what a message says; a refusal that stands in a field of its own is what it says."""
    text = content_text(message.get("content", message.get("value")))
    refusal = message.get("refusal")
    return refusal if text is None and isinstance(refusal, str) else text


def prompt_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what comes before an answer: one message of the user as it is, others as ``role: text``; None without any.

    So the prompt of a chat equals the same question in a column of another file.
    """
    if len(messages) == 1 and _role(messages[0]) == "user":
        return message_text(messages[0]) or ""
    return "\n\n".join(f"{_role(message)}: {message_text(message) or ''}" for message in messages) or None


def _role(message: Any) -> str | None:
    if not isinstance(message, Mapping):
        return None
    role = message.get("role") if "role" in message else message.get("from") if "value" in message else None
    return _ROLES.get(role, role) if isinstance(role, str) else None


def _part_text(part: Any) -> str | None:
    """Return what one part of a content adds to its text; None if it is no part."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return None
    text, kind = part.get("text"), part.get("type", "text")
    if kind in _NO_ANSWER:
        return ""
    return text if isinstance(text, str) else f"[{kind}]"
