"""Conversations: lists of messages with a role and a content, as chats are stored and sent to endpoints."""

from collections.abc import Mapping, Sequence
from typing import Any

ASSISTANT = "assistant"
_ROLES = {"gpt": ASSISTANT, "model": ASSISTANT, "bot": ASSISTANT, "human": "user"}  # what others call them
_NO_ANSWER = ("reasoning", "thinking")  # parts of a message that the user is not shown


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
    """Return the role of a message; None if it is none."""
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
