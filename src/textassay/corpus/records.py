"""Read texts, groups and prompts out of records: objects with named values, such as the lines of a JSON file."""

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from textassay.corpus.answers import (
    Answer,
    AnswerFormat,
    answer_format,
    content_text,
    error_in,
    is_conversation,
    prompt_text,
    split_answer,
)
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.errors import EmptyCorpusError, InputError

_MAX_LEVELS = 20  # of nested objects whose columns are listed
_USUAL_COLUMNS = ("text", "sentence", "content")
_MAX_LISTED = 12  # columns named in a message
_STEP = re.compile(r"([^.\[\]]+)|\[(-?[0-9]{1,9})\]")  # of a path such as choices[0].message
_ABSENT = object()
_ID = re.compile(r"(?:id|idx|(?:prompt|question|query|document|doc|source|item|example)(?:[ _-]?idx?)?)", re.IGNORECASE)


class Columns(NamedTuple):
    """Which columns of a table are read: names, or paths to nested ones (``a.b``, ``choices[0].text``)."""

    text: str | None = None  # None: the only one, or the only one with a usual name
    group: str | None = None
    prompt: str | None = None


class IdColumns:
    """Values of columns whose names say that they are ids, prompts or documents, gathered row by row."""

    def __init__(self, names: Iterable[str], wanted: Columns) -> None:
        self._numbers: dict[str, array[int]] = {
            name: array("q") for name in names if name not in wanted and _ID.fullmatch(name)
        }
        self._only_counts = dict.fromkeys(self._numbers, True)  # whether it numbers the rows, as in every file

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def has(self, name: str) -> bool:
        return name in self._numbers

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep the ids of a row; a column in which a row has none is none."""
        for name, numbers in [*self._numbers.items()]:
            value = record.get(name)
            if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
                del self._numbers[name]
                continue
            text = str(value)
            self._only_counts[name] &= text in (str(len(numbers)), str(len(numbers) + 1))
            numbers.append(group_number(text))

    def numbers(self, n: int) -> dict[str, npt.NDArray[np.int64]]:
        """Return the number of each of `n` texts by every column that has one, shape (n,): equal for equal ids."""
        return {
            name: np.array(numbers, dtype=np.int64)
            for name, numbers in self._numbers.items()
            if len(numbers) == n and not self._only_counts[name]
        }


def group_number(text: str) -> int:
    """Return a 62-bit hash: among a million texts two share one with a probability below 1e-6."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


@dataclass(frozen=True)
class Rows:
    """What was read from a table of N rows."""

    texts: PackedTexts
    labels: list[Any] | None = None  # N labels of groups
    prompts: PackedTexts | None = None  # N prompts
    cut_off: npt.NDArray[np.bool_] | None = None  # whether a limit of length ended each text, shape (N,)
    ids: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)  # see `IdColumns`


def read_records(records: Iterable[tuple[int, Any]], place: str, columns: Columns) -> Rows:
    """Return the rows of `records`, pairs of a number (for messages, after `place`) and a JSON value."""
    gathered = _Gathered(place, columns)
    texts = PackedTexts.of(gathered.texts(records))
    gathered.raise_problems(len(texts))
    if not texts:
        raise EmptyCorpusError(f"{place.rpartition(' ')[0]} holds no text")
    return gathered.rows(texts)


class _Gathered:
    """What is gathered while the texts of a file are read."""

    def __init__(self, place: str, columns: Columns) -> None:
        self.place = place
        self.columns = columns
        self._labels: list[Any] = []
        self._prompts: TextPacker | None = TextPacker()  # None once a row has none and nobody asked for prompts
        self._n_prompts = 0
        self._cut_off: list[bool] = []
        self._form: AnswerFormat | None = None
        self._problems: list[tuple[int, str]] = []  # number of the record, and what is wrong
        self._ids = IdColumns((), columns)

    def texts(self, records: Iterable[tuple[int, Any]]) -> Iterator[str]:
        place, columns = self.place, self.columns
        is_first, has_columns = True, False
        key: str | None = None  # of the text in an object
        form: AnswerFormat | None = None
        for number, record in records:
            is_object = isinstance(record, dict)
            if is_first and is_object:
                has_columns = True
                form = self._form = answer_format(record, columns.text)
                key = _text_key(record, columns, form, f"{place} {number}")
                self._ids = IdColumns((name for name in record if name != key), columns)
            is_first = False
            if is_object != has_columns:
                expected = "an object" if has_columns else "a string"
                raise InputError(f"{place} {number}: must be {expected} like those before, got {json_kind(record)}")
            if not has_columns:
                yield _string(record, "the value", place, number)
                continue
            if form is not None:
                yield from self._answers(form, key, number, record)
                continue
            assert key is not None
            text = record[key] if key in record else self._value(record, key, number)
            if not isinstance(text, str):
                answer = _answer_in(text)
                text = _string(answer.text, f"'{key}'", place, number) if answer.text is not None else text
                self._add_prompt(number, record, answer.prompt)
            elif columns.prompt is not None:
                self._add_prompt(number, record, None)
            if columns.group is not None:
                self._add_label(number, record)
            if self._ids:
                self._ids.add(record)
            yield text if isinstance(text, str) and text.isascii() else _string(text, f"'{key}'", place, number)

    def _answers(self, form: AnswerFormat, key: str | None, number: int, record: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts of a record in the format `form`, or of its column `key`."""
        if form.is_repeat(record):
            if form.must_be_one:
                first, *_, last = form.filters
                raise InputError(
                    f"{self.place} {number}: every answer is there once for each filter, {first} and {last}: name one "
                    f"as the column, or resps[0][0] for what the model wrote"
                )
            return
        answers = form.answers(record)
        if key is not None:
            value = self._value(record, key, number)
            answer = _answer_in(value)
            text = value if answer.text is None else answer.text
            answers = [Answer(_string(text, f"'{key}'", self.place, number), answers[0].prompt)]
        for answer in answers:
            if answer.text is None:
                self._problems.append((number, answer.problem))
                continue
            _check_characters(answer.text, self.place, number)
            self._cut_off += [] if answer.is_cut_off is None else [answer.is_cut_off]
            self._add_prompt(number, record, answer.prompt)
            self._add_label(number, record)
            if self._ids:
                self._ids.add(record)
            yield answer.text

    def _value(self, record: Mapping[str, Any], column: str, number: int) -> Any:
        """Return the value of `column`: a key of exactly this name, or a path of keys and places in lists."""
        value = _value_at(record, column)
        if value is _ABSENT:
            problem = error_in(record)
            if problem is not None:
                raise InputError(
                    f"{self.place} {number} holds no '{column}' but {problem}: ask again, or leave the row out"
                )
            return record[choose_column(_paths(record), column, f"{self.place} {number}")]
        return value

    def _add_label(self, number: int, record: Mapping[str, Any]) -> None:
        column = self.columns.group
        if column is None:
            return
        label = self._value(record, column, number)
        if label is None or isinstance(label, list | dict):
            raise InputError(f"{self.place} {number}: '{column}' must name a group, got {json_kind(label)}")
        self._labels.append(label)

    def _add_prompt(self, number: int, record: Mapping[str, Any], prompt: str | None) -> None:
        """Keep the prompt of the column that was asked for; else, or where there is none, the one of the format."""
        column = self.columns.prompt
        has_own = prompt is not None and self._form is not None
        if column is not None and not (has_own and _value_at(record, column) is _ABSENT):
            value = self._value(record, column, number)
            text = prompt_text(value) if is_conversation(value) else value
            prompt = _string(text, f"'{column}'", self.place, number)
        if prompt is None:
            self._prompts = None
        elif self._prompts is not None:
            _check_characters(prompt, self.place, number)
            self._prompts.add_one(prompt)
            self._n_prompts += 1

    def raise_problems(self, n_texts: int) -> None:
        """Raise if records had no text."""
        if not self._problems:
            if n_texts == 0 and self._form is not None and self._form.names_filter:
                raise InputError(
                    f"{self.place.rpartition(' ')[0]} has no column and no filter '{self.columns.text}'; its filters: "
                    f"{', '.join(self._form.filters)}"
                )
            return
        number, problem = self._problems[0]
        n = len(self._problems)
        others = sorted({what for _, what in self._problems if what != problem})
        more = "" if n == 1 else f" ({n} of {n + n_texts} answers are missing{'; also ' + others[0] if others else ''})"
        raise InputError(f"{self.place} {number} holds no answer but {problem}{more}: ask again, or leave the row out")

    def rows(self, texts: PackedTexts) -> Rows:
        prompts = self._prompts if self._n_prompts == len(texts) else None
        return Rows(
            texts,
            self._labels or None,
            None if prompts is None else prompts.texts(),
            np.array(self._cut_off, dtype=np.bool_) if len(self._cut_off) == len(texts) else None,
            self._ids.numbers(len(texts)),
        )


def _text_key(record: Mapping[str, Any], columns: Columns, form: AnswerFormat | None, place: str) -> str | None:
    """Return the column of the texts; None if the format says where they are."""
    if form is None:
        return choose_text_column(list(record), columns, place) if columns.text is None else columns.text
    if columns.text is not None:
        return None if form.names_filter else columns.text
    with suppress(InputError):
        key = choose_text_column(list(record), columns, place)
        if isinstance(record[key], str):
            return key
    return None


def _answer_in(value: Any) -> Answer:
    """Return the text and the prompt of a value that is a conversation or the content of a message."""
    if is_conversation(value):
        return Answer(*split_answer(value))
    return Answer(value if isinstance(value, str) else content_text(value) if isinstance(value, list) else None)


def _string(value: Any, subject: str, place: str, number: int) -> str:
    """Return `value` after checking that it is a string of characters."""
    if not isinstance(value, str):
        raise InputError(f"{place} {number}: {subject} must be a string, got {json_kind(value)}")
    _check_characters(value, place, number)
    return value


def _check_characters(text: str, place: str, number: int) -> None:
    """Raise for an escaped lone surrogate."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(text[error.start]):04x}"
        raise InputError(
            f"{place} {number} holds a lone surrogate ({code}), which is not a character: write the character itself"
        ) from None


def _value_at(record: Mapping[str, Any], column: str) -> Any:
    """Return the value at a path such as ``a.b`` or ``choices[0].message.content``, or `_ABSENT`."""
    if column in record:
        return record[column]
    if "." not in column and "[" not in column:
        return _ABSENT
    value: Any = record
    for name, index in _STEP.findall(column):
        if index and isinstance(value, list) and -len(value) <= int(index) < len(value):
            value = value[int(index)]
        elif name and isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return _ABSENT
    return value


def _paths(value: Any, prefix: str = "") -> Sequence[str]:
    """Return the paths of all values in `value` that are neither objects nor lists of objects."""
    paths: list[str] = []
    named = isinstance(value, Mapping)
    for key, inner in value.items() if named else enumerate(value[:1]):
        path = f"{prefix}.{key}" if prefix and named else str(key) if named else f"{prefix}[{key}]"
        is_inner = isinstance(inner, Mapping) or (isinstance(inner, list) and inner and isinstance(inner[0], Mapping))
        paths += _paths(inner, path) if is_inner and path.count(".") < _MAX_LEVELS else [path]
    return paths


def json_kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")


def choose_text_column(columns: Sequence[str], wanted: Columns, place: str) -> str:
    """Return the column of the texts; by default `choose_column` chooses it besides those of groups and prompts."""
    if wanted.text is None and (others := [name for name in columns if name not in wanted]):
        with suppress(InputError):
            return choose_column(others, None, place)
    return choose_column(columns, wanted.text, place)


def choose_column(columns: Sequence[str], column: str | None, place: str) -> str:
    """Return `column`, by default the only column, or the only one called text, sentence or content."""
    if column is not None:
        if column in columns:
            return column
        raise InputError(f"{place} has no column '{column}'; it has: {listed_columns(columns)}")
    candidates = columns if len(columns) == 1 else [name for name in columns if name in _USUAL_COLUMNS]
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(f"{place}: which column holds the texts? Name it with --column; it has: {listed_columns(columns)}")


def listed_columns(columns: Sequence[str]) -> str:
    """Return the names of the columns for a message, the first twelve of many."""
    more = f" and {len(columns) - _MAX_LISTED} more" if len(columns) > _MAX_LISTED else ""
    return ", ".join(columns[:_MAX_LISTED]) + more if columns else "none"
