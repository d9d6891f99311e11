"""Read texts, groups, prompts and sources out of records: objects with named values, strings, or lists of fields.

This is the one door: whatever a file or an object of Python is, it comes here as records.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.kinds import (
    Answer,
    Kind,
    LogRows,
    content_text,
    error_in,
    is_content,
    is_conversation,
    kind_of,
    prompt_text,
    references_in,
    split_answer,
)
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.paths import Columns, all_paths, json_kind, listed, path_to, plain_value, string_paths, values_at
from textassay.corpus.text_file import Note, TextFile, group_number, is_missing, number_groups
from textassay.errors import EmptyCorpusError, InputError

_NO_TEXTS = ("role", "type", "id", "custom_id")  # ends of paths
USUAL_COLUMNS = ("text", "sentence", "content")
_ID = re.compile(r"(?:id|idx|(?:prompt|question|query|document|doc|source|item|example)(?:[ _-]?idx?)?)", re.IGNORECASE)
_ID_NAME = re.compile(r"(?:^|[ _-])id(?:$|[ _-])", re.IGNORECASE)
_SOURCE = re.compile(
    r"(?:\w+_)?(?:model|system|generator|source|label|labels|split|class|author|method|decoding|attack|domain|human|"
    r"generated|fake|real|machine)(?:_(?:name|id|type))?",
    re.IGNORECASE,
)
_MOST_SOURCES = 24  # values of a column that may say whose the texts are
_LEAST_OF_SOURCE = 5  # rows to each of them
_LONG_NAME = 60  # characters
_NOBODY = "null"  # the source of texts that name none, as often real ones do
_NUMBER = re.compile(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")
_NOTHING = "Nothing to do, if that is intended."
_N_SHOWN = 4  # of them in a note


def is_source_or_id(name: str) -> bool:
    """Return whether a column is called as one that says whose a text is, or what it belongs to."""
    return _ID.fullmatch(name) is not None or _SOURCE.fullmatch(name) is not None


class IdColumns:
    """Values of columns whose names say that they are ids, prompts or documents, gathered row by row."""

    def __init__(self, names: Iterable[str]) -> None:
        self._numbers: dict[str, array[int]] = {name: array("q") for name in names if _ID.fullmatch(name)}
        self._only_counts = dict.fromkeys(self._numbers, True)  # whether it numbers the rows, as in every file

    def add(self, record: Mapping[str, Any]) -> None:
        """Keep the ids of a row; a column in which a row has none is none."""
        for name, numbers in tuple(self._numbers.items()):
            value = record.get(name)
            if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
                del self._numbers[name]
                continue
            text = str(value)
            if self._only_counts[name]:
                self._only_counts[name] = text in (str(len(numbers)), str(len(numbers) + 1))
            numbers.append(group_number(text))

    def numbers(self, n: int) -> dict[str, npt.NDArray[np.int64]]:
        """Return the number of each of `n` texts by every column that has one, shape (n,): equal for equal ids."""
        return {
            name: np.array(numbers, dtype=np.int64)
            for name, numbers in self._numbers.items()
            if len(numbers) == n and not self._only_counts[name]
        }


class SourceColumns:
    """Columns of few values, which may say whose the texts are though nobody named them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._counts: dict[str, Counter[Any]] = {name: Counter() for name in names}

    def add(self, record: Mapping[str, Any]) -> None:
        for name, counts in tuple(self._counts.items()):
            value = record.get(name)
            if value is None or isinstance(value, int) or (isinstance(value, str) and len(value) <= _LONG_NAME):
                counts[value] += 1
                if len(counts) <= _MOST_SOURCES:
                    continue
            del self._counts[name]

    def notes(self, n: int) -> list[Note]:
        """Return a note of all such columns of `n` texts; none where there is none."""
        found = {
            name: counts for name, counts in self._counts.items()
            if 2 <= len(counts) <= n / _LEAST_OF_SOURCE and _are_names([*counts])
        }  # fmt: skip
        if not found:
            return []
        names = sorted(found, key=lambda name: _SOURCE.fullmatch(name) is None)
        name = names[0]
        values = [f"{plain_value(value)} ({count})" for value, count in found[name].most_common(_N_SHOWN)]
        more = ", ..." if len(found[name]) > _N_SHOWN else ""
        others = f"; so have {listed(names[1:])}" if len(names) > 1 else ""
        value = plain_value(next(iter(found[name])))
        return [
            Note(
                "one-side",
                f"All rows are read as one side, though column '{name}' has {len(found[name])} values: "
                f"{', '.join(values)}{more}{others}.",
                f"If the column gives the source of a text, --table FILE --source-column {name} --real VALUE "
                f"compares the sources; 'FILE::COLUMN[{name}={value}]' reads one.",
                n,
                is_warning=_SOURCE.fullmatch(name) is not None,
            )
        ]


def _are_names(values: Sequence[Any]) -> bool:
    """Return whether values may name sources: words, or 0 and 1, and no measurements."""
    plain = {plain_value(value) for value in values} - {"", _NOBODY}
    return bool(plain) and (plain <= {"0", "1", "0.0", "1.0"} or not all(map(_NUMBER.fullmatch, plain)))


def read_records(
    records: Iterable[tuple[int, Any]],
    place: str,
    columns: Columns,
    *,
    name: str = "",
    path: Path | None = None,
    form: str = "records",
    example: str = "FILE::{}",
) -> TextFile:
    """Return the texts of `records`, pairs of a number (for messages, after `place`) and a value, as one `TextFile`.

    `example`: how a column is named, for messages.
    """
    gathered = _Gathered(place, columns, example)
    texts = PackedTexts.of(gathered.texts(records))
    gathered.check(len(texts))
    return gathered.file(texts, name, path, form)


class _Gathered:
    """What is gathered while the texts of a file are read."""

    def __init__(self, place: str, columns: Columns, example: str) -> None:
        self._example = example
        self.place, self.file_name = place, place.rpartition(" ")[0]
        self.columns = columns
        self.key: str | None = None  # path of the text; None where the kind of the record says where it is
        self.kind: Kind | None = None
        self._each, self._inner = "", ""  # the path of the items that hold a text each, and the text's in it
        self._is_plain = False  # whether the text is a string under the key
        self._has_text_alone = False  # whether nothing else was named
        self._labels: list[Any] = []
        self._sources: list[str] = []
        self._prompts: TextPacker | None = TextPacker()  # None once a row has none and nobody asked for prompts
        self._n_prompts = self._n_rows = self._n_other = self._n_without = 0
        self._cut_off: list[bool] = []
        self._problems: list[tuple[int, str]] = []  # number of the record, and what is wrong
        self._left_out: Counter[str] = Counter()  # types of parts that are no text
        self._values: dict[str, Counter[str]] = defaultdict(Counter)  # seen at the paths of conditions
        self._beside: tuple[IdColumns, SourceColumns] | None = None
        self._log: LogRows | None = None
        self._first: Any = None

    def texts(self, records: Iterable[tuple[int, Any]]) -> Iterator[str]:
        rows = iter(records)
        first = next(rows, None)
        if first is None:
            return
        is_text = isinstance(first[1], str)
        if not is_text:
            self._open(*first)
        log = self._log
        for number, record in chain((first,), rows):
            if isinstance(record, str) != is_text or not isinstance(record, str | list | Mapping):
                expected = "a string" if is_text else "an object"
                seen = f"be {expected} like those before" if number != first[0] else "be a string or an object"
                raise InputError(f"{self.place} {number}: must {seen}, got {json_kind(record)}")
            if isinstance(record, str):
                yield self._checked(record, number)
                continue
            if self.columns.where and not self._counts(record):
                continue
            if log is not None and isinstance(record, Mapping) and not log.has(record, f"{self.place} {number}"):
                continue
            self._n_rows += 1
            if self._is_plain and isinstance(record, Mapping) and isinstance(text := record.get(self.key), str):
                if self._has_text_alone and self._beside is not None and text.isascii():
                    self._beside[0].add(record)
                    self._beside[1].add(record)
                    yield text
                else:
                    yield self._keep(text, None, record, record, number)
                continue
            for answer, item in self._answers(record, number):
                if answer.text is None:
                    if answer.odd is not None:
                        raise self._refusal(record, answer.odd, self.key, number)
                    self._problems.append((number, answer.problem))
                    continue
                self._left_out.update(set(answer.left_out))
                self._cut_off += [] if answer.is_cut_off is None else [answer.is_cut_off]
                yield self._keep(answer.text, answer.prompt, record, item, number)

    def _open(self, number: int, record: Any) -> None:
        """Find out from the first record how texts are read."""
        at, asked, self._first = f"{self.place} {number}", self.columns, record
        if not isinstance(record, list | Mapping):
            raise InputError(f"{at}: the value must be a string or an object, got {json_kind(record)}")
        self.kind = kind_of(record)
        self.columns = columns = self.columns._replace(
            **{role: _resolved(record, name) for role in ("text", "group", "prompt", "source")
               if (name := getattr(asked, role)) is not None},
            where=tuple(one._replace(path=_resolved(record, one.path)) for one in asked.where),
        )  # fmt: skip
        log = self._log = None if self.kind is None else LogRows(self.kind, record, columns.text)
        if log is None or not log.names_filter:
            self.key = self._text_path(record, at)
        if self.key is not None:
            if isinstance(record, Mapping) and self.key not in record and "[]" in self.key:
                before, _, after = self.key.rpartition("[]")
                self._each, self._inner = before + "[]", after.removeprefix(".")
            self._is_plain = isinstance(record, Mapping) and self.kind is None and not self._each
        if isinstance(record, Mapping) and not self._each:
            beside = [name for name in record if name != self.key and name not in columns.named]
            of_source = beside if self.kind is None else filter(_SOURCE.fullmatch, beside)
            self._beside = IdColumns(beside), SourceColumns(of_source)
        self._has_text_alone = not any((columns.prompt, columns.group, columns.source))

    def _text_path(self, record: Any, at: str) -> str | None:
        """Return the path of the texts; None if the kind of the record says where they are."""
        columns = self.columns
        if columns.text is not None:
            return columns.text
        if self.kind is not None:
            usual = [name for name in USUAL_COLUMNS if isinstance(record, Mapping) and name in record]
            is_beside = len(usual) == 1 and not self.kind.has and isinstance(record[usual[0]], str)
            return usual[0] if is_beside and "choices" not in record and "role" not in record else None
        if isinstance(record, list):
            raise InputError(
                f"{at}: the cell is a list of {len(record)} values. Name the position of the text, as in FILE::[0]"
            )
        if "role" in record and isinstance(record.get("content"), str):
            raise InputError(
                f"{at}: each row is one chat message: FILE::content[role=assistant] reads only the answers"
            )
        others = [name for name in record if name not in columns.named]
        strings = string_paths({name: record[name] for name in others if not _ID_NAME.search(name)})
        if len(strings) == 1 and strings[0] in record:
            return strings[0]
        return _choose_column(others or list(record), at, record, self._example)

    def _counts(self, record: Any) -> bool:
        is_counted = True
        for condition in self.columns.where:
            values = values_at(record, condition.path)
            if values and len(self._values[condition.path]) < _MOST_SOURCES:
                self._values[condition.path].update(map(plain_value, values))
            is_counted &= condition.holds(values)
        self._n_other += not is_counted
        return is_counted

    def _answers(self, record: Any, number: int) -> Iterator[tuple[Answer, Any]]:
        """Yield the answers in a record, each with the part of the record that it stands in."""
        prompt = None if self.kind is None else self.kind.prompt(record)
        if self.key is None:
            assert self.kind is not None
            yield from ((answer, record) for answer in self.kind.answers(record))
            return
        if self._each:
            items = values_at(record, self._each)
            for item in items:
                values = values_at(item, self._inner) if self._inner else [item]
                for value in values:
                    yield self._answer(value, prompt, record, number), item
            self._n_without += not items
            return
        value = self._value(record, record, self.key, number)
        several = references_in(value) if self.kind is not None and self.key == self.kind.references else None
        for one in [value] if several is None else several:
            yield self._answer(one, prompt, record, number), record

    def _answer(self, value: Any, prompt: str | None, record: Any, number: int) -> Answer:
        """Return the text of a value that is a string, a conversation or the content of a message."""
        if isinstance(value, str):
            return Answer(value, prompt)
        if is_conversation(value):
            answer = split_answer(value)
            return answer if prompt is None else answer._replace(prompt=prompt)
        if is_content(value):
            text, left_out, odd = content_text(value)
            return Answer(text, prompt, left_out=left_out, odd=odd)
        raise self._refusal(record, value, self.key, number)

    def _refusal(self, record: Any, value: Any, column: str | None, number: int) -> InputError:
        """Return the error for a value that is no string: it names the strings inside."""
        path = (path_to(record, value) if isinstance(value, Mapping | list) else None) or column or "the value"
        subject = f"{self.place} {number}: '{path}' must be a string, got {json_kind(value)}"
        name = self._example.format
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return InputError(
                f"{subject} of strings: name one, as in {name(path + '[0]')}, or each, {name(path + '[]')}"
            )
        inside = string_paths(value, path) if isinstance(value, Mapping | list) else []
        if not inside:
            without = f"{self.key or ''}[{column}!=null]"
            leave = f"; fill it in, or leave such rows out by {name(without)}" if value is None else ""
            return InputError(f"{subject}{leave}")
        return InputError(f"{subject}; the strings in it: {listed(inside)}: name one, as in {name(inside[0])}")

    def _keep(self, text: str, prompt: str | None, record: Any, item: Any, number: int) -> str:
        """Keep what comes with a text, and return the text."""
        columns = self.columns
        if prompt is not None or columns.prompt is not None or self.kind is not None:
            self._add_prompt(prompt, record, item, number)
        if columns.group is not None:
            label = self._value(record, item, columns.group, number)
            if is_missing(label) or isinstance(label, list | dict):
                at = f"{self.place} {number}: '{columns.group}'"
                raise InputError(f"{at} must name a group, got {json_kind(label)}")
            self._labels.append(label)
        if columns.source is not None:
            source = self._value(record, item, columns.source, number)
            self._sources.append(_NOBODY if is_missing(source) or source == "" else plain_value(source))
        if self._beside is not None:
            for gathered in self._beside:
                gathered.add(record)
        return text if text.isascii() else self._checked(text, number)

    def _add_prompt(self, prompt: str | None, record: Any, item: Any, number: int) -> None:
        """Keep the prompt of the column that was asked for; else, or where there is none, the one of the kind."""
        column = self.columns.prompt
        if column is not None and not (prompt is not None and self.kind is not None and not values_at(record, column)):
            value = self._value(record, item, column, number)
            found = (
                prompt_text(value) if is_conversation(value) else content_text(value)[0] if is_content(value) else value
            )
            if not isinstance(found, str):
                raise self._refusal(record, value, column, number)
            prompt = found
        if prompt is None:
            self._prompts = None
        elif self._prompts is not None:
            self._prompts.add_one(self._checked(prompt, number))
            self._n_prompts += 1

    def _value(self, record: Any, item: Any, column: str, number: int) -> Any:
        """Return the value of `column`, in the item that holds the text or in its record."""
        if self._each and column.startswith(self._each):
            values = values_at(item, column.removeprefix(self._each).removeprefix("."))
        else:
            values = values_at(record, column) or values_at(item, column)
        if values:
            return values[0]
        at = f"{self.place} {number}"
        problem = error_in(record) if isinstance(record, Mapping) else None
        if problem is not None:
            raise InputError(f"{at} contains no '{column}', but {problem}: request it again, or leave the row out")
        names = all_paths(record)
        raise InputError(f"{at} has no column '{column}'; it has: {listed(names)}")

    def _checked(self, text: str, number: int) -> str:
        """Return `text`; raise for an escaped lone surrogate."""
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = f"\\u{ord(text[error.start]):04x}"
            raise InputError(
                f"{self.place} {number} contains a lone surrogate ({code}), which is not a character: write a valid "
                "character"
            ) from None
        return text

    def check(self, n_texts: int) -> None:
        """Raise where no record has a text."""
        for condition in self.columns.where if self._n_rows or self._n_other else ():
            if condition.path not in self._values:
                names = listed(all_paths(self._first))
                raise InputError(f"{self.file_name}: no row has a column '{condition.path}'; the first has: {names}")
        if n_texts:
            return
        if self._n_other and not self._n_rows:
            values = "; ".join(f"{path}: {listed([*counts])}" for path, counts in self._values.items())
            raise InputError(
                f"{self.file_name}: no row has {''.join(map(str, self.columns.where))}; the rows have {values}"
            )
        log = self._log
        if log is not None and log.names_filter:
            raise InputError(
                f"{self.file_name} has no column and no filter '{self.columns.text}'; its filters: "
                f"{', '.join(log.filters)}"
            )
        if self._problems:
            number, problem = self._problems[0]
            paths = [path for path in string_paths(self._first) if not path.endswith(_NO_TEXTS)]
            other = f", or name another column, as in {self._example.format(paths[0])}" if paths else ""
            raise InputError(
                f"{self.place} {number} contains no answer: {self._missing(problem, 0)}; request it again{other}"
            )
        raise EmptyCorpusError(f"{self.file_name} contains no text")

    def _missing(self, problem: str, n_texts: int) -> str:
        n = len(self._problems)
        others = sorted({what for _, what in self._problems if what != problem})
        also = f"; also {others[0]}" if others else ""
        return problem + ("" if n == 1 and not n_texts else f" ({n:,} of {n + n_texts:,} answers are missing{also})")

    def _notes(self, n: int) -> list[Note]:
        notes = []
        if self._problems:
            number, problem = self._problems[0]
            notes.append(
                Note(
                    "answers-missing",
                    f"{self.place} {number} contains no answer: {self._missing(problem, n)}; they are left out.",
                    "Request them again: a generator that is measured only on the prompts it answered looks better "
                    "than it is.",
                    len(self._problems),
                    is_warning=True,
                )
            )
        where, n_all = "".join(map(str, self.columns.where)), self._n_rows + self._n_other
        parts = ", ".join(f"{kind} in {count}" for kind, count in self._left_out.most_common())
        for kind, count, message in (
            (
                "parts-left-out",
                max(self._left_out.values(), default=0),
                f"Parts that are not text are left out: {parts}.",
            ),
            ("rows-without-text", self._n_without, f"{self._n_without} of {self._n_rows} rows have no '{self.key}'."),
            (
                "rows-left-out",
                self._n_other,
                f"{self._n_other:,} of {n_all:,} rows are left out, since they are not {where}.",
            ),
        ):
            notes += [Note(kind, message, _NOTHING, count)] if count else []
        log = self._log
        if log is not None and log.n_twice:
            twice = (
                f"{log.n_twice:,} of {self._n_rows + log.n_twice:,} entries repeat another entry of the log, with the "
                "same answer"
            )
            notes.append(Note("repeats-left-out", f"{twice}: each is read once.", _NOTHING, log.n_twice))
        return notes + ([] if self._beside is None or self.columns.source else self._beside[1].notes(n))

    def file(self, texts: PackedTexts, name: str, path: Path | None, form: str) -> TextFile:
        n = len(texts)
        prompts = self._prompts if self._n_prompts == n > 0 else None
        column = f", column '{self.key}'" if self.key is not None else ""
        return TextFile(
            name,
            texts,
            number_groups(self._labels, f"{path or name} groups") if self._labels else None,
            path,
            None if prompts is None else prompts.texts(),
            np.array(self._cut_off, dtype=np.bool_) if len(self._cut_off) == n else None,
            {} if self._beside is None else self._beside[0].numbers(n),
            self._sources or None,
            f"{form}{'' if self.kind is None else f': {self.kind.name}'}{column}",
            tuple(self._notes(n)),
            has_columns=self._first is not None,
        )


def _resolved(record: Any, column: str) -> str:
    """Return the path as it is, or the only one in the first record that is equal but for case."""
    if values_at(record, column):
        return column
    names = {*all_paths(record), *(record if isinstance(record, Mapping) else ())}
    alike = [name for name in names if name.casefold() == column.casefold()]
    return alike[0] if len(alike) == 1 else column


def _choose_column(names: Sequence[str], place: str, record: Mapping[str, Any], example: str) -> str:
    """Return the only column, or the only one called text, sentence or content; else say where strings are."""
    candidates = names if len(names) == 1 else [name for name in names if name in USUAL_COLUMNS]
    if len(candidates) == 1:
        return candidates[0]
    paths = string_paths(record) or all_paths(record) if record else ()
    longest = max(paths, key=lambda path: len(str((values_at(record, path) or [""])[0])), default="")
    way = f"Name the column, as in {example.format(longest)}" if paths else "Give a file with texts"
    raise InputError(f"{place}: which column holds the texts? {way}; it has: {listed(paths)}")
