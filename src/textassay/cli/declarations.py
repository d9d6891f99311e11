"""Arguments and options that commands share: how each is spelt on the command line, its line of help, ``--config``."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textassay.cli.adapter import Check, option
from textassay.corpus.limits import set_limits
from textassay.corpus.source import local_file
from textassay.errors import EmptyCorpusError, InputError, OptionError, unknown_name
from textassay.settings import OUTPUT, RUNNING, Workers
from textassay.settings import TEXTS as TEXTS
from textassay.settings import Computing as ComputingSettings
from textassay.settings import Lowercase as Lowercase
from textassay.settings import Reading as ReadingSettings
from textassay.settings import Seed as Seed
from textassay.settings import Tokenizer as Tokenizer
from textassay.settings import Tokens as TokenSettings

if TYPE_CHECKING:
    from textassay.corpus.text_file import TextFile

Progress = Callable[[str, int, int], None]

NAMED_FILES = ("generators", "features", "log-probs", "ratings")


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of ``--config`` the defaults of the command."""
    if path is not None and not context.resilient_parsing:
        parameters = [parameter for parameter in context.command.params if parameter.name not in ("config", "help")]
        names = {_spelt(parameter): str(parameter.name) for parameter in parameters}
        repeatable = [str(parameter.name) for parameter in parameters if parameter.multiple or parameter.nargs == -1]
        context.default_map = read_config(local_file(path), options=names, repeatable=repeatable)
    return path


def _spelt(parameter: Any) -> str:
    long = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
    return long[0] if long else str(parameter.name).replace("_", "-")


def _set_max_input(size: str) -> str:
    """Let so much of a file be read, to the end of the command."""
    set_limits(max_input=size)
    return size


def _set_max_text(n: int) -> int:
    """Let a text be so long, to the end of the command."""
    set_limits(max_text=n)
    return n


# What is measured
Generators = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME=GEN...", help="Generated text, with the name of its generator.", show_default=False),
]
Drawable = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME=GEN...",
        help=(
            "Files of generated text, or models to sample from: a folder of 'train', pretrained:NAME, command:... or "
            "openai:..."
        ),
        show_default=False,
    ),
]
Real = Annotated[str, option("Real text to compare with; '-' is standard input.", "FILE")]
Train = Annotated[str | None, option("Training text of the generators, to find copied sentences.", "FILE")]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A folder written by 'train', or pretrained:NAME_OR_PATH.")]

# How texts are read
MaxInput = Annotated[str, option("Largest file that is read, decompressed.", "SIZE", TEXTS, callback=_set_max_input)]
MaxText = Annotated[int, option("Most characters in one text.", "N", TEXTS, callback=_set_max_text)]

# How the work is done
Precision = Annotated[str, option("Precision of networks: float32 or bfloat16.", "P", RUNNING)]
OnCluster = Annotated[
    str | None, option("Run on a Ray cluster: its address, or auto (RAY_ADDRESS, or this machine).", "ADDRESS", RUNNING)
]
Config = Annotated[
    Path | None,
    option(
        "Read options from a file; the command line wins.", "FILE.yaml", RUNNING, is_eager=True, callback=_load_config
    ),
]

# What comes out
Out = Annotated[
    Path | None,
    option("Write the report here; the same command resumes an interrupted run.", "DIR", OUTPUT),
    Check("textassay.cli.options:check_writable"),
]
Json = Annotated[bool, option("Print one JSON document instead of tables.", panel=OUTPUT, show_default=False)]
Quiet = Annotated[bool, option("No progress and no notes.", panel=OUTPUT, show_default=False)]


# Mixins: what several commands take. Each field is one option; `cli/adapter.py` turns them into the command line.
@dataclass(frozen=True, kw_only=True)
class Files:
    """How files are read."""

    column: Annotated[str | None, option("Text column of tables and JSON, or the path to it.", "NAME", TEXTS)] = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def read_file(self, source: str) -> "TextFile":
        """Return the texts of a file; raise an EmptyCorpusError where all of its lines are blank."""
        from textassay.cli.messages import print_notes
        from textassay.corpus.texts import read_texts

        file = read_texts(source, column=self.column)
        if not any(text and not text.isspace() for text in file.texts):
            raise EmptyCorpusError(f"{source} is empty: all of its {len(file.texts):,} lines are blank")
        print_notes({source: file}, quiet=getattr(self, "quiet", False))
        return file


@dataclass(frozen=True, kw_only=True)
class Tokens(TokenSettings, Files):
    """How files are read and split into tokens."""


@dataclass(frozen=True, kw_only=True)
class Reading(ReadingSettings, Tokens):
    """How texts are read."""

    group_column: Annotated[
        str | None, option("Column of groups, such as documents, that cross-fitting keeps together.", "NAME", TEXTS)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Tables:
    """One table with the texts of all sides."""

    table: Annotated[
        str | None, option("One table with all texts: --real is then a value of --source-column.", "FILE", TEXTS)
    ] = None
    source_column: Annotated[
        str | None, option("Column of --table with the source of each text, such as model or label.", "NAME", TEXTS)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Unseeded:
    """How work is done that has no seed of its own."""

    workers: Workers = None
    quiet: Quiet = False
    config: Config = None

    @contextmanager
    def work(self) -> Iterator[Progress | None]:
        """Use as many threads as asked for and show progress, inside the ``with`` block."""
        from textassay.cli.messages import show_progress
        from textassay.execution.threads import default_workers, workers

        n_workers = default_workers() if self.workers is None else self.workers
        with show_progress(quiet=self.quiet) as progress, workers(n_workers):
            yield progress


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """What may run on a cluster."""

    cluster: OnCluster = None

    def on_cluster(self) -> AbstractContextManager[None]:
        """Use the cluster asked for, if any, inside the ``with`` block."""
        from textassay.execution.cluster import cluster

        return cluster(self.cluster)


@dataclass(frozen=True, kw_only=True)
class Running(Unseeded):
    """How the work is done."""

    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class Printing:
    """How the result is printed."""

    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Output(Printing):
    """How the result is printed, and where it is written."""

    out: Out = None


@dataclass(frozen=True, kw_only=True)
class Computing(ComputingSettings, Unseeded):
    """How networks compute, on how many threads and where."""


def read_config(path: Path, *, options: Mapping[str, str], repeatable: Iterable[str]) -> dict[str, Any]:
    """Return parameter name to value, as a command line would give it, from a YAML file, where every option is a key.

    `path`: the file: a mapping from option names without their dashes (``real-heldout``) to values; ``generators``,
    ``features``, ``log-probs`` and ``ratings`` map names to files, ``equivalent`` may map metrics to margins. Relative
    files are looked for from the working folder, as on the command line.
    """
    settings: dict[str, Any] = {}
    repeated = set(repeatable)
    for key, value in _load(path).items():
        if key not in options:
            raise OptionError(f"{path}: {unknown_name('key', str(key), options)}")
        if value is None or value in ([], {}):
            raise OptionError(f"{path}: '{key}' has no value: give one, or leave the key out")
        settings[options[key]] = _value(path, key, value, may_repeat=options[key] in repeated)
    return settings


def _load(path: Path) -> Mapping[Any, Any]:
    from textassay.corpus.documents import read_yaml

    try:
        document = read_yaml(path)
    except OSError as error:
        raise InputError(f"cannot read --config {path}: {(error.strerror or str(error)).lower()}") from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise InputError(f"{path} must map option names to values, such as 'seed: 1', got a {type(document).__name__}")
    return document


def _value(path: Path, key: str, value: Any, *, may_repeat: bool) -> Any:
    pairs = [*value, *value.values()] if isinstance(value, Mapping) else value
    for part in pairs if isinstance(pairs, list) else [pairs]:
        if isinstance(part, str) and any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in part):
            raise OptionError(
                f"{path}: the value of '{key}' contains a zero byte or half a character, which a command line cannot "
                "hold"
            )
    if key in NAMED_FILES and isinstance(value, Mapping):
        return [f"{name}={source}" for name, source in value.items()]
    if key == "equivalent" and isinstance(value, Mapping | int | float) and not isinstance(value, bool):
        margins = value.items() if isinstance(value, Mapping) else [("dd", value)]
        return ",".join(f"{name}={margin}" for name, margin in margins)
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        if key in ("metrics", "monitor"):
            return ",".join(map(str, value))
        if may_repeat:
            return [str(item) for item in value]
    if isinstance(value, bool | int | float | str):
        return [str(value)] if may_repeat else value
    raise OptionError(f"{path}: the value of '{key}' cannot be a {type(value).__name__}")
