"""Read texts, group labels and prompts from JSON: lines, lists, and logs of inspect_ai.

A log of inspect_ai is a JSON document, or an ``.eval`` file: a zip archive with one JSON document a sample.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from textassay.corpus.documents import json_error, parse_json
from textassay.corpus.limits import document_limit, input_limit, input_too_long, line_limit
from textassay.corpus.records import (
    Columns,
    Rows,
    json_kind,
    read_records,
)
from textassay.corpus.source import Source, decompressed, io_errors
from textassay.errors import EmptyCorpusError, InputError, TextassayError

_SPACES = (" ", "\n", "\r", "\t")  # white space in JSON
_SPACE = re.compile(r"[ \n\r\t]*")
# Of a log of inspect_ai
_SAMPLES = "samples/"
_SAMPLE = re.compile(r"(.*)_epoch_([0-9]{1,9})\.json")
_ZSTANDARD = 93  # the number of this compression in zip archives; newer logs have it
_LOCAL_HEADER = 30  # bytes before the name of a member
_BLOCK = 1 << 20


def read_json_lines(source: Source, columns: Columns) -> Rows:
    """Return the rows of a file with one JSON string or object per line; blank lines are skipped.

    Group and prompt are ignored if the lines are strings.
    """

    def records() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(source.lines(max_line=line_limit()), start=1):
            if line and not line.isspace():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise json_error(error, f"{source.place} line {number}") from None

    return read_records(records(), f"{source.place} line", columns)


def read_json(source: Source, columns: Columns) -> Rows:
    """Return the rows of a JSON file that holds a list of strings or objects; columns as in `read_json_lines`."""
    return read_records(enumerate(_items(source), start=1), f"{source.place} item", columns)


def _items(source: Source) -> Iterator[Any]:
    """Yield the items of a JSON list one by one, so that unused fields do not stay in memory."""
    text = source.text()
    decoder: Any = json.JSONDecoder()
    scan = decoder.scan_once

    def after_space(place: int) -> int:
        match = _SPACE.match(text, place)
        return place if match is None else match.end()

    def error(problem: str, place: int) -> InputError:
        return json_error(json.JSONDecodeError(problem, text, place), source.place)

    place = after_space(0)
    if text[place : place + 1] != "[":
        value = parse_json(text, source.place)
        if isinstance(value, dict) and isinstance(value.get("samples"), list):  # a log of inspect_ai
            yield from value["samples"]
            return
        kind = json_kind(value)
        raise InputError(f"{source.place} must hold a JSON list of strings or objects, got {kind}")
    place = after_space(place + 1)
    sign = text[place : place + 1]
    while sign != "]":
        try:
            item, place = scan(text, place)
        except StopIteration as stopped:
            raise error("Expecting value", stopped.value) from None
        except (ValueError, RecursionError) as fault:
            raise json_error(fault, source.place) from None
        yield item
        sign = text[place : place + 1]
        if sign != ",":
            place = after_space(place)
            sign = text[place : place + 1]
            if sign != ",":
                break
        place += 1
        if text.startswith(_SPACES, place):
            place = after_space(place)
    if sign != "]":
        raise error("Expecting ',' delimiter", place)
    place = after_space(place + 1)
    if place < len(text):
        raise error("Extra data", place)


def read_inspect_log(source: Source, columns: Columns) -> Rows:
    """Return the samples of an ``.eval`` file, by their epoch and their id."""
    with io_errors(source.place), source.open_as_it_is() as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = _members(archive)
                limit = input_limit(source.size or 0)
                if sum(member.file_size for member in members) > limit:
                    raise input_too_long(source.place, limit)
                if not members:
                    raise EmptyCorpusError(f"{source.place} holds no sample: the evaluation has not written any yet")
                return read_records(_samples(archive, stream, members, source), f"{source.place} sample", columns)
        except TextassayError:
            raise
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, RuntimeError) as error:
            raise InputError(f"{source.place} is not a valid log of inspect_ai: {error}") from None


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the samples of an archive, each once, by epoch, then by id."""
    named = {member.filename: member for member in archive.infolist()}  # the last of a name holds
    found = [(match, member) for name, member in named.items() if (match := _match(name)) is not None]
    found.sort(key=lambda pair: (int(pair[0][2]), len(pair[0][1]), pair[0][1]))
    return [member for _, member in found]


def _match(name: str) -> re.Match[str] | None:
    return _SAMPLE.fullmatch(name.removeprefix(_SAMPLES)) if name.startswith(_SAMPLES) else None


def _samples(
    archive: zipfile.ZipFile, stream: BinaryIO, members: list[zipfile.ZipInfo], source: Source
) -> Iterator[tuple[int, Any]]:
    for number, member in enumerate(members, start=1):
        limit = min(member.file_size, document_limit())
        is_zstandard = member.compress_type == _ZSTANDARD
        content = _zstandard(stream, member, limit) if is_zstandard else archive.open(member).read(limit + 1)
        if len(content) > limit:
            raise input_too_long(f"{source.place}: {member.filename}", limit)
        yield number, parse_json(content, f"{source.place}: {member.filename}")


def _zstandard(stream: BinaryIO, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Return the content of a member whose compression Python's own zipfile does not know before 3.14."""
    from io import BytesIO

    stream.seek(member.header_offset)
    header = stream.read(_LOCAL_HEADER)
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    content = bytearray()
    with decompressed(BytesIO(stream.read(member.compress_size)), ".zst") as opened:
        while (block := opened.read(_BLOCK)) and len(content) <= limit:
            content += block
    return bytes(content)
