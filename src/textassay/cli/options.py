"""Command-line values to settings (``NAME=GEN``, ``--fail-if``, ``--out``), checked before any work is done."""

import math
import operator
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from textassay.addresses import place_of
from textassay.corpus.paths import COLUMN_SIGN, split_column
from textassay.corpus.source import check_exists, is_url
from textassay.errors import EmptyCorpusError, InputError, OptionError, OutputError, TooFewSentencesError
from textassay.inspection.finding import REAL as FLOOR

if TYPE_CHECKING:
    from textassay.corpus.text_file import TextFile

STANDARD_INPUT = "-"
GITHUB_SUMMARY = "GITHUB_STEP_SUMMARY"
REMEDY = "give real text for one and generated text for the other (FILE::COLUMN reads one column of a file)"
_SUFFIXES = re.compile(r"(\.(txt|jsonl?|[ct]sv|parquet|eval))?(\.(gz|zst))?$", re.IGNORECASE)
_CONDITION = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*(\S+)\s*", re.DOTALL)
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True)
class Condition:
    """What ``--fail-if`` says: `metric` (as written, without spaces around), one of > >= < <=, and a number."""

    metric: str
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.bound:g}"

    def holds(self, value: float) -> bool:
        return _OPERATORS[self.sign](value, self.bound)


def parse_condition(text: str) -> Condition:
    """Return the condition that `text` states, such as ``dd>0.3`` or ``bleu(order=4) <= 0.2``."""
    match = _CONDITION.fullmatch(text)
    try:
        if match is None or math.isnan(float(match[3])):
            raise ValueError
        return Condition(match[1], match[2], float(match[3]))
    except ValueError:
        raise OptionError(
            f"cannot read --fail-if '{text}': write a metric, one of > >= < <=, and a number, such as 'dd>0.3'"
        ) from None


def summary_file(named: str) -> Path:
    """Return the file of ``--summary``; of a bare one, or ``github``, that of GitHub's job."""
    job = os.environ.get(GITHUB_SUMMARY, "")
    if named == "github":
        if not job:
            raise OptionError(f"--summary without a file needs {GITHUB_SUMMARY}, which GitHub sets: give FILE.md")
        return Path(job)
    if Path(named).suffix.lower() not in (".md", ".markdown") and named != job:  # so that no text is appended to
        raise OptionError(f"--summary writes Markdown: the file must end in .md, got {named}")
    return Path(named)


def parse_generators(arguments: Sequence[str]) -> dict[str, str]:
    """Return generator name to source for arguments ``NAME=GEN``; a bare path is named after its file."""
    if not arguments:
        raise OptionError("no generated text is given: add NAME=FILE, such as lstm=lstm.txt")
    generators: dict[str, str] = {}
    for argument in arguments:
        name, source = _split(argument)
        if not name.strip() or not source:
            raise OptionError(f"cannot read '{argument}': write NAME=FILE, such as lstm=lstm.txt")
        if not name.isprintable() or name[0] in "-(":
            raise OptionError(f"a generator's name must be printable and must not start with '-' or '(', got {name!r}")
        if name in generators:
            raise OptionError(
                f"two generators are called '{name}' ({generators[name]} and {source}): give each its own NAME=FILE"
            )
        generators[name] = source
    return generators


def parse_files(option: str, arguments: Sequence[str]) -> dict[str, str]:
    """Return name to file for the values ``NAME=FILE`` of an option that may be repeated."""
    files: dict[str, str] = {}
    for argument in arguments:
        name, _, file = argument.partition("=")
        if not name.strip() or not file:
            raise OptionError(
                f"cannot read {option} '{argument}': write NAME=FILE, where NAME is the name of the texts"
            )
        if name in files:
            raise OptionError(f"{option} is given twice for {name} ({files[name]} and {file})")
        files[name] = file
    return files


def check_sources(real: str, others: Mapping[str, str], remedies: Mapping[str, str]) -> None:
    """Raise where a file is missing, standard input is named twice, or a text is the file of the real text."""
    sources = {"--real": real, **others}
    readers = [name for name, source in sources.items() if source == STANDARD_INPUT]
    if len(readers) > 1:
        raise OptionError(f"standard input can be read only once, but {' and '.join(readers)} all name '-'")
    for source in sources.values():
        if source != STANDARD_INPUT and not is_url(source):
            check_exists(place_of(split_column(source)[0]))
    for name, source in others.items():
        if STANDARD_INPUT not in (real, source) and _same(real, source):
            raise InputError(f"--real and {name} are the same file, {source}: {remedies.get(name, REMEDY)}")


def split_models(generators: Mapping[str, str], draw: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the generators that are drawn from, and those that are files; raise for --draw without models."""
    from textassay.comparison.sources import names_model

    models = {name: source for name, source in generators.items() if names_model(source)}
    if draw is not None and not models:
        raise OptionError("--draw applies to models and commands, but all generators are files: leave it out")
    return models, {name: source for name, source in generators.items() if name not in models}


def read_sources(
    sources: "Mapping[str, str | TextFile]",
    *,
    column: str | None,
    group_column: str | None,
    prompt_column: str | None = None,
    without_prompts: Collection[str] = (),
    remedies: Mapping[str, str] | None = None,
) -> "dict[str, TextFile]":
    """Return what each name stands for.

    `sources`: name to source, or what was read of it, the real text under ``(real)``; `without_prompts`: those that
    answer none.
    """
    from textassay.corpus.texts import read_texts

    if group_column is not None and prompt_column is not None:
        raise OptionError(
            "--group-column and --prompt-column cannot be combined: the answers to a prompt already form a group"
        )
    files = {
        name: source
        if not isinstance(source, str)
        else read_texts(
            source,
            column=column,
            group_column=group_column,
            prompt_column=None if name in without_prompts else prompt_column,
        )
        for name, source in sources.items()
    }
    named = {name: source if isinstance(source, str) else source.name for name, source in sources.items()}
    for name, file in files.items():
        if prompt_column is not None and name not in without_prompts and file.prompts is None:
            raise OptionError(
                f"--prompt-column {prompt_column}: {named[name]} has no columns; give csv, tsv, jsonl or parquet"
            )
    if group_column is not None and all(file.groups is None for file in files.values()):
        raise OptionError(
            f"--group-column {group_column}: none of the files has columns; give csv, tsv, jsonl or parquet"
        )
    for name, file in files.items():
        if len(file.texts) < 2:
            raise TooFewSentencesError(f"{named[name]} has {len(file.texts):,} texts; at least 2 are needed")
        if not any(text and not text.isspace() for text in file.texts):
            raise EmptyCorpusError(f"{named[name]} is empty: all of its {len(file.texts):,} lines are blank")
        if name != FLOOR and file.texts == files[FLOOR].texts:
            remedy = (remedies or {}).get(name, REMEDY)
            raise InputError(f"{named[name]} contains the same sentences as {named[FLOOR]}: {remedy}")
    return files


def read_table(
    table: str | None,
    source_column: str | None,
    real: str,
    names: Sequence[str],
    *,
    column: str | None,
    group_column: str | None = None,
    prompt_column: str | None = None,
) -> "dict[str, TextFile]":
    """Return the texts of each source of ``--table``, the real ones under ``(real)``; nothing without a table.

    `real`: one of the sources, or another file or column; `names`: the sources that are compared, all of them if none.
    """
    if table is None and source_column is None:
        return {}
    if table is None or source_column is None:
        option = "--table FILE" if table is None else "--source-column NAME, the column with the source of each text"
        raise OptionError(f"--table and --source-column go together: add {option}")
    from textassay.corpus.texts import read_texts

    wanted = {"column": column, "group_column": group_column, "prompt_column": prompt_column}
    file = read_texts(table, **wanted, source_column=source_column)
    if file.sources is None:
        raise OptionError(f"--source-column {source_column}: {table} has no columns; give csv, tsv, jsonl or parquet")
    sources = file.by_source()
    if real in sources or split_column(real)[1] is None:
        own, others = file.sides(real)
    else:
        own, others = read_texts(real, **{**wanted, "column": None}), sources
    unknown = [name for name in names if name not in others]
    if unknown:
        raise OptionError(f"{table}: it has no text by '{unknown[0]}'; the texts are by: {', '.join(sources)}")
    return {FLOOR: own, **{name: others[name] for name in names or others}}


def check_writable(folder: Path, option: str = "--out") -> None:
    """Raise unless a file can be written into `folder`, which `option` names; leave everything as it was."""
    created: list[Path] = []
    try:
        for place in [*reversed(folder.parents), folder]:
            if not place.exists():
                place.mkdir()
                created.append(place)
        with TemporaryFile(dir=folder) as probe:
            probe.write(b"textassay")
    except OSError as error:
        raise OutputError(
            f"cannot write into {folder}: {(error.strerror or str(error)).lower()}; choose another {option}"
        ) from None
    finally:
        for place in reversed(created):
            with suppress(OSError):
                place.rmdir()


def _split(argument: str) -> tuple[str, str]:
    """Return name and source of one argument; where what stands before ``=`` is a path, all of it is one."""
    name, equals, source = argument.partition("=")
    if equals and not any(sign in name for sign in ("/", "\\", COLUMN_SIGN)):
        return name, source
    if argument == STANDARD_INPUT:
        return "stdin", argument
    if (column := split_column(argument)[1]) is not None:
        return column, argument
    return _SUFFIXES.sub("", Path(argument).name) or argument, argument


def _same(first: str, second: str) -> bool:
    (first_file, first_column), (second_file, second_column) = split_column(first), split_column(second)
    try:
        return first_column == second_column and Path(first_file).samefile(second_file)
    except OSError:
        return False
