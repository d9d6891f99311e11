"""What a file is, told by its content, and its records: lines, JSON lines, JSON documents, tables, logs of inspect_ai.

The ending of a name only decides where the content leaves it open: one line of JSON, quoted lines, single columns.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from textassay.corpus.csv_files import csv_rows, delimiter_of
from textassay.corpus.documents import json_error, parse_json
from textassay.corpus.kinds import INSPECT, is_conversation
from textassay.corpus.limits import document_limit, input_limit, input_too_long, line_limit
from textassay.corpus.paths import Columns, json_kind, listed, string_paths, values_at
from textassay.corpus.source import Source, decompressed, io_errors
from textassay.errors import EmptyCorpusError, InputError, TextassayError

Records = Iterator[tuple[int, Any]]

_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines", ".jl")
_JSON = (".json", *_JSON_LINES)
_TABLES = (".csv", ".tsv", ".tab", ".psv")
_LOG = ".eval"  # of inspect_ai; it is compressed already
SUFFIXES = (".txt", ".jsonl", ".json", ".csv", ".tsv", ".parquet", _LOG)
_ENDINGS = frozenset((*SUFFIXES, *_JSON, *_TABLES, ".arrow"))
# fmt: off
_NOT_LINES = frozenset((
    ".7z", ".bin", ".bz2", ".doc", ".docx", ".epub", ".h5", ".hdf5", ".ipynb", ".md", ".npy", ".npz",
    ".odt", ".ods", ".orc", ".pdf", ".pickle", ".pkl", ".pptx", ".pt", ".py", ".rst", ".rtf", ".sqlite", ".tar", ".tex",
    ".tgz", ".xls", ".xlsx", ".xz", ".yaml", ".yml", ".zip",
))
# fmt: on
_WAYS = {
    (".xls", ".xlsx", ".ods"): "save it as CSV",
    (".pkl", ".pickle", ".npy", ".npz", ".pt", ".bin"): "open it in Python and give the texts to textassay.compare",
    (".7z", ".bz2", ".tar", ".tgz", ".xz", ".zip"): "unpack it and give the files inside",
}
_SPACE = re.compile(r"[ \n\r\t]*")  # in JSON
_DOCUMENT_START = re.compile(r'\s*(?:\{\s*"[^"\n]*"\s*:|\[\s*(?:[\[{]|"))')
_N_LOOKED_AT = 200  # lines
_MOST = 0.8  # of them
# Markup, by how it begins, and how its texts are made lines
_ROOT = re.compile(
    r"<(?:\?xml|!doctype|html|tmx|mteval|srcset|refset|tstset|xliff|corpus|dataset|root|documents?|doc|seg|hl)\b", re.I
)
_TAGGED = re.compile(
    r"<(?!/?(?:s|pad|unk|bos|eos|sos|go|start|end|cls|sep|mask|br)\b)/?[a-zA-Z][^<>]*>(?:.*<[^<>]+>)?\s*"
)
_TIMES = re.compile(r"[0-9:.,]+ --> [0-9:.,]+.*")
_TOKEN_LINE = re.compile(r"[0-9]+(?:\t[^\t]*){3,}")
# Of a log of inspect_ai
_SAMPLES = "samples/"
_SAMPLE = re.compile(r"(.*)_epoch_([0-9]{1,9})\.json")
_ZSTANDARD = 93  # the number of this compression in zip archives; newer logs have it
_LOCAL_HEADER = 30  # bytes before the name of a member
_BLOCK = 1 << 20


def form_of(source: Source) -> str:
    """Return what is in a file: lines, JSON lines, JSON, table, Parquet, Arrow or log; raise for what is not read."""
    if source.kind in _NOT_LINES:
        way = next(
            (way for endings, way in _WAYS.items() if source.kind in endings), "save its texts in one of these formats"
        )
        raise InputError(
            f"{source.place}: unknown kind of file (suffix '{source.kind}'); valid: {', '.join(SUFFIXES[:-1])}, each "
            f"also with .gz or .zst; and {_LOG}: {way}"
        )
    if source.kind == _LOG:
        return "log"
    head = source.head
    if source.kind == ".parquet" or head.startswith(b"PAR1"):
        return "Parquet"
    if source.kind == ".arrow" or head.startswith(b"ARROW1"):
        return "Arrow"
    if head.startswith(b"version https://git-lfs"):
        raise InputError(f"{source.place} is a Git LFS pointer, not the file itself: fetch the file with git lfs pull")
    text = head.decode("utf-8", "ignore").removeprefix("\ufeff")
    lines = text.split("\n")[:_N_LOOKED_AT]
    filled = [line for line in lines if line and not line.isspace()]
    form = _form_of_json(source, text, filled or [""])
    if form is not None:
        return form
    if not filled:
        return "table" if source.kind in _TABLES else "lines"
    _check_no_markup(source, filled)
    if source.kind in _TABLES or _has_tabs(filled):
        return "table"
    n_json = sum(line.lstrip()[:1] == "{" and isinstance(_parsed(line), Mapping) for line in filled)
    if n_json >= _MOST * len(filled):
        raise InputError(
            f"{source.place} contains lines of JSON, but the first line is not JSON: remove it, for example with "
            f"tail -n +2 {source.name} > {source.name}.jsonl"
        )
    return "lines"


def _form_of_json(source: Source, text: str, filled: Sequence[str]) -> str | None:
    is_named = source.kind in _JSON
    first = _parsed(filled[0])
    if isinstance(first, list | Mapping) or (is_named and first is not None):
        if len(filled) == 1:
            return "JSON lines" if source.kind in _JSON_LINES else "JSON"
        if is_named or isinstance(_parsed(filled[1]), list | Mapping) or len(filled[1]) >= _BLOCK:
            return "JSON lines"
    if source.kind in _JSON_LINES:
        return "JSON" if filled[0].strip() in ("[", "{") else "JSON lines"
    if source.kind == ".json":
        return "JSON"
    is_document = _DOCUMENT_START.match(text) is not None and (len(text) >= _BLOCK // 2 or _parsed(text) is not None)
    return "JSON" if is_document else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _has_tabs(lines: Sequence[str]) -> bool:
    numbers = {line.rstrip("\r").count("\t") for line in lines[:-1] or lines}
    return len(lines) > 1 and len(numbers) == 1 and numbers != {0}


def _check_no_markup(source: Source, lines: Sequence[str]) -> None:
    """Raise for markup: its texts must be taken out of it first."""
    name, kind, command = source.name, "", ""
    if _ROOT.match(lines[0].lstrip()) or sum(map(bool, map(_TAGGED.fullmatch, lines))) >= _MOST * len(lines):
        has_segments = any("<seg" in line for line in lines)
        kind = "markup (XML, SGML or HTML)"
        command = (
            rf"sed -n 's:.*<seg[^>]*>\(.*\)</seg>.*:\1:p' {name} > texts.txt"
            if has_segments
            else f"python -c \"import sys, re; print(re.sub('<[^>]*>', '', sys.stdin.read()))\" < {name} > texts.txt"
        )
    elif lines[0].startswith("WEBVTT") or any(map(_TIMES.fullmatch, map(str.rstrip, lines[:3]))):
        kind, command = "subtitles", rf"grep -vE '^[0-9]*.?$|-->|^WEBVTT' {name} > texts.txt"
    elif sum(map(bool, map(_TOKEN_LINE.fullmatch, map(str.rstrip, lines)))) >= _MOST * len(lines):
        kind = "a token a line (CoNLL)"
        command = "awk -F'\\t' 'NF {printf \"%s \", $2} !NF {print \"\"}' " + f"{name} > texts.txt"
    if kind:
        raise InputError(
            f"{source.place} is {kind}, a format that is not read: extract its texts, one per line, for example with "
            f"{command}"
        )


def records_of(source: Source, form: str, columns: Columns) -> tuple[Records, str, Columns]:
    """Return the records of a file, what one is called in messages, and the columns as they are called in a record."""
    if form == "JSON lines":
        return _json_lines(source), "line", columns
    if form == "table":
        rows = table_records(source, columns)
        return rows, "line", columns
    text = source.text()
    values = _values(text, source)
    if text.startswith("[", _after_space(text, 0)):
        return enumerate(values, start=1), "item", columns
    records, columns = _from_object(list(values), columns, source)
    return records, "item", columns


def _json_lines(source: Source) -> Records:
    for number, line in enumerate(source.lines(max_line=line_limit()), start=1):
        if line and not line.isspace():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise json_error(error, f"{source.place} line {number}") from None


def table_records(source: Source, columns: Columns) -> Records:
    """Yield the rows of a table: by the names of its header, or as lists where it has none and columns are places."""
    rows = csv_rows(source, delimiter=delimiter_of(source))
    _, header = next(rows, (0, []))
    if _is_header(header, columns, source):
        twice = next((name for name in header if name and header.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{source.place} has two columns called '{twice}': rename or remove one of them")
        is_empty = True
        for number, row in rows:
            is_empty = False
            yield number, dict(zip(header, row, strict=True))
        if is_empty:
            raise EmptyCorpusError(f"{source.place} has a header, but no rows")
        return
    yield 1, header
    yield from rows


_KNOWN = frozenset((
    "answer", "author", "class", "completion", "content", "doc", "generated", "generation", "generator", "id", "idx",
    "input", "item", "label", "labels", "model", "output", "prediction", "prompt", "question", "rating", "reference",
    "response", "score", "sentence", "source", "split", "summary", "system", "target", "text", "title", "word",
))  # fmt: skip
_ENDS = (".", "!", "?")
_MOST_WORDS, _LONGEST = 4, 60  # of the name of a column


def _is_header(first: Sequence[str], columns: Columns, source: Source) -> bool:
    """Return whether the first row of a table names its columns; raise where it looks like a text and nobody says."""
    names = {name.strip().casefold() for name in first}
    is_counted = [*first] == [str(place) for place in range(len(first))]  # as pandas calls columns without names
    if is_counted or first[:1] == [""] or names & (_KNOWN | {name.casefold() for name in columns.named}):
        return True
    if any(re.fullmatch(r"\[-?[0-9]+\]", name) for name in columns.named):
        return False
    text = next((name for name in first if _looks_like_text(name)), None)
    if text is None and not any(re.fullmatch(r"[-+]?[0-9.]+", name.strip()) for name in first):
        return True
    shown = text or first[0]
    place = first.index(shown)
    raise InputError(
        f"{source.place} seems to have no header: its first row contains '{shown[:_LONGEST]}'. Name the column of "
        f"texts by its position, as in FILE::[{place}], or give the file a first line with the names of its columns"
    )


def _looks_like_text(name: str) -> bool:
    words = name.split()
    return len(words) > _MOST_WORDS or len(name) > _LONGEST or (len(words) > 1 and name.rstrip().endswith(_ENDS))


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


def _values(text: str, source: Source) -> Iterator[Any]:
    """Yield the items of a list one by one, so that unused fields do not stay in memory; else value after value."""
    decoder: Any = json.JSONDecoder()
    place = _after_space(text, 0)
    is_list = text[place : place + 1] == "["
    place = _after_space(text, place + is_list)
    is_more = text[place : place + 1] not in ("", "]")

    def check(is_right: bool, problem: str) -> None:
        if not is_right:
            raise json_error(json.JSONDecodeError(problem, text, place), source.place)

    while is_more:
        try:
            value, place = decoder.scan_once(text, place)
        except StopIteration as stopped:
            place = stopped.value
            check(is_right=False, problem="Expecting value")
        except (ValueError, RecursionError) as error:
            raise json_error(error, source.place) from None
        yield value
        place = _after_space(text, place)
        is_more = place < len(text)
        if is_list:
            check(text.startswith((",", "]"), place), "Expecting ',' delimiter")
            is_more = text[place] == ","
            place = _after_space(text, place + is_more)
    if is_list:
        check(text.startswith("]", place), "Expecting value")
        place = _after_space(text, place + 1)
    check(place == len(text), "Extra data")


def _from_object(values: Sequence[Any], columns: Columns, source: Source) -> tuple[Records, Columns]:
    """Return the records in a document that is an object, or in several."""
    if not values:
        raise EmptyCorpusError(f"{source.place} contains only white space: give a file with at least one text")
    value, path = values[0], columns.text
    if len(values) > 1 or not isinstance(value, Mapping):
        if not isinstance(value, Mapping | str):
            raise InputError(f"{source.place} must contain a JSON list or object, got {json_kind(value)}")
        return enumerate(values, start=1), columns
    samples = value.get("samples")
    if isinstance(samples, list) and samples and isinstance(samples[0], Mapping) and INSPECT.is_of(samples[0]):
        return enumerate(samples, start=1), columns
    if path is None and "eval" in value and "status" in value and not samples:
        raise EmptyCorpusError(f"{source.place} contains no sample: the evaluation is {value['status']}")
    if by_column := _columns_of_rows(value):
        return enumerate(by_column, start=1), columns
    if path is None:
        return iter([(1, value)]), columns
    items = values_at(value, path.removesuffix("[]"))
    if len(items) == 1 and isinstance(items[0], list) and not is_conversation(items[0]) and items[0]:
        parent, _, name = path.removesuffix("[]").rpartition(".")
        if isinstance(items[0][0], Mapping):
            return enumerate(items[0], start=1), _inside(columns, path.removesuffix("[]") + "[]")
        place = (values_at(value, parent) if parent else [value])[0]
        beside = {
            key: column for key, column in place.items() if isinstance(column, list) and len(column) == len(items[0])
        }
        rows = (dict(zip(beside, row, strict=True)) for row in zip(*beside.values(), strict=True))
        return enumerate(rows, start=1), _inside(columns, f"{parent}." if parent else "")._replace(text=name)
    if "[]" in path:
        each = path.rpartition("[]")[0] + "[]"
        return enumerate(values_at(value, each), start=1), _inside(columns, each)
    if not items:
        raise InputError(f"{source.place} has nothing at '{path}'; strings are at: {listed(string_paths(value))}")
    return iter([(1, value)]), columns


def _inside(columns: Columns, prefix: str) -> Columns:
    """Return the columns as they are called in the items at `prefix`."""

    def cut(name: str) -> str:
        return name.removesuffix("[]").removeprefix(prefix.removesuffix("[]")).lstrip("].[")

    text, group, prompt, source = (None if name is None else cut(name) or None for name in columns[:4])
    where = tuple(one._replace(path=cut(one.path) or one.path) for one in columns.where)
    return Columns(text, group, prompt, source, where)


def _columns_of_rows(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that pandas wrote by column, ``{"text": {"0": ..., "1": ...}}``; none for others."""
    columns = list(value.values())
    if not columns or not all(isinstance(column, Mapping) and column for column in columns):
        return []
    keys = list(columns[0])
    if not all(key.isdecimal() for key in keys) or any(list(column) != keys for column in columns):
        return []
    return [{name: column[key] for name, column in value.items()} for key in keys]


# Logs of inspect_ai: a zip archive with one JSON document a sample
def inspect_records(source: Source) -> Records:
    """Yield the samples of an ``.eval`` file, by their epoch and their id."""
    with io_errors(source.place), source.open_as_it_is() as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = _members(archive)
                limit = input_limit(source.size or 0)
                if sum(member.file_size for member in members) > limit:
                    raise input_too_long(source.place, limit)
                if not members:
                    raise EmptyCorpusError(f"{source.place} contains no sample: the evaluation has not written any yet")
                yield from _samples(archive, stream, members, source)
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
