"""Arguments and options that commands share: how each is spelt on the command line, and its line of help."""

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from textassay.cli.adapter import Between, Check, option
from textassay.corpus import local_file, set_limits
from textassay.errors import EmptyCorpusError, OptionError
from textassay.execution import MAX_WORKERS

if TYPE_CHECKING:
    from textassay.corpus import TextFile

Progress = Callable[[str, int, int], None]

TEXTS, MEASURING, RUNNING, OUTPUT = "Texts", "Measuring", "Running", "Output"  # the panels of help


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of ``--config`` the defaults of the command."""
    if path is not None and not context.resilient_parsing:
        from textassay.cli.config import read_config

        parameters = [parameter for parameter in context.command.params if parameter.name not in ("config", "help")]
        names = {str(parameter.name).replace("_", "-"): str(parameter.name) for parameter in parameters}
        repeatable = [str(parameter.name) for parameter in parameters if parameter.multiple or parameter.nargs == -1]
        context.default_map = read_config(local_file(path), options=names, repeatable=repeatable)
    return path


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
    typer.Argument(metavar="NAME=GEN...", help="Generated text, with the name it goes by.", show_default=False),
]
Drawable = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME=GEN...",
        help="Files of generated text; folders of 'train', pretrained:NAME, command:... and openai:... are drawn from.",
        show_default=False,
    ),
]
Real = Annotated[str, option("Real text to compare with; '-' is standard input.", "FILE")]
Heldout = Annotated[str | None, option("More real text: a second row that shows how real text scores.", "FILE")]
Train = Annotated[str | None, option("The generators' training text, to find copied sentences.", "FILE")]
FitReal = Annotated[str | None, option("More real text, for dd to learn from; nothing is tested on it.", "FILE")]
Unit = Annotated[str, option("What a text is: sentence, document, or auto (as it looks).", "UNIT")]
Prior = Annotated[str | None, option("What dd knows of a language: english (needs the extra prior).", "NAME")]
PromptColumn = Annotated[str | None, option("Column of the prompts that the texts answer.", "NAME", TEXTS)]
Features = Annotated[
    list[str] | None, option("Vectors of real, real-heldout or a generator; may be repeated.", "NAME=FILE.npy")
]
LogProbs = Annotated[
    list[str] | None, option("Log-probabilities (nats) under generator NAME; may be repeated.", "NAME=FILE")
]
NoLogProbs = Annotated[
    bool, option("Do not use those of generators that are models.", names=("--no-log-probs",), show_default=False)
]
Draw = Annotated[int | None, option("Texts to draw from each model; as many as real ones by default.", "N"), Between(2)]
Ratings = Annotated[
    list[str] | None, option("People's ratings of generator NAME's texts; may be repeated.", "NAME=FILE")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A folder written by 'train', or pretrained:NAME_OR_PATH.")]

# How texts are read
Tokenizer = Annotated[
    str,
    option(
        "auto (whitespace; mixed for unspaced text), whitespace, words, mixed, segment, chars or 13a.", "NAME", TEXTS
    ),
    Check("textassay.corpus.tokenizer:check_tokenizer"),
]
Lowercase = Annotated[bool, option("Lower-case all texts.", panel=TEXTS, show_default=False)]
Normalize = Annotated[
    bool, option("Undo differences of case, quotes and spacing in all texts.", panel=TEXTS, show_default=False)
]
MaxTokens = Annotated[int | None, option("Cut all texts after N tokens.", "N", TEXTS), Between(1)]
MaxInput = Annotated[str, option("Largest file that is read, decompressed.", "SIZE", TEXTS, callback=_set_max_input)]
MaxText = Annotated[int, option("Most characters that one text may have.", "N", TEXTS, callback=_set_max_text)]

# How it is measured
Metrics = Annotated[str | None, option("Such as 'dd,bleu(order=4)'; all of them by default.", "LIST", MEASURING)]
Effort = Annotated[
    str,
    option("Of dd's classifiers: quick, default or max; 3 s, 20 s or 5 min for 20,000 sentences.", "HOW", MEASURING),
    Check("textassay.metric.base:check_effort"),
]
Encoder = Annotated[
    str | None,
    option(
        "Sentence embedding: lsa+lm (the default), lsa, minilm, a sentence-transformers model or openai:MODEL@URL.",
        "NAME",
        MEASURING,
    ),
]
Paper = Annotated[
    bool, option("dd exactly as in its paper: one network, one split.", panel=MEASURING, show_default=False)
]
Explain = Annotated[bool, option("Show what gives each generator away; takes a while.", panel=MEASURING)]
Folds = Annotated[int | None, option("Folds of cross-fitting; 5 by default.", "K", MEASURING), Between(1)]
Level = Annotated[
    float,
    option("Level of confidence intervals and tests.", "L", MEASURING),
    Check("textassay.metric.base:check_level"),
]

# How the work is done
Seed = Annotated[int, option("Random seed: the same seed gives the same numbers.", "N", RUNNING), Between(0)]
Precision = Annotated[str, option("Of networks: float32 or bfloat16.", "P", RUNNING)]
Device = Annotated[
    str, option("Of networks: auto, cpu, cuda, cuda:N or mps.", "D", RUNNING), Check("textassay.execution:check_device")
]
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
    option("Write the report here; run again, it resumes.", "DIR", OUTPUT),
    Check("textassay.cli.options:check_writable"),
]
Json = Annotated[bool, option("Print one JSON document instead of tables.", panel=OUTPUT, show_default=False)]
FailIf = Annotated[
    list[str] | None, option("Exit with status 1 if a generator meets this; may be repeated.", "'dd>0.3'", OUTPUT)
]
Summary = Annotated[
    str | None,
    option("Append a screen of Markdown; without a file, to the page of a GitHub job.", "[FILE.md]", OUTPUT),
    Check("textassay.cli.options:summary_file"),
]
All = Annotated[bool, option("Print every metric, pair and note, not one screen.", panel=OUTPUT, names=("--all",))]
Quiet = Annotated[bool, option("No progress and no notes.", panel=OUTPUT, show_default=False)]


Independent = Annotated[
    bool,
    option("Take texts for independent draws; by default they are examined.", panel=TEXTS, names=("--independent",)),
]


# Mixins: what several commands take. Each field is one option; `cli/adapter.py` turns them into the command line.
@dataclass(frozen=True, kw_only=True)
class Files:
    """How files are read."""

    column: Annotated[str | None, option("Text column of csv, tsv, json and parquet files.", "NAME", TEXTS)] = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def read_file(self, source: str) -> "TextFile":
        """Return the texts of a file; raise an EmptyCorpusError where all of its lines are blank."""
        from textassay.corpus import read_texts

        file = read_texts(source, column=self.column)
        if not any(text and not text.isspace() for text in file.texts):
            raise EmptyCorpusError(f"{source} is empty: all of its {len(file.texts)} lines are blank")
        return file


@dataclass(frozen=True, kw_only=True)
class Tokens(Files):
    """How files are read and split into tokens."""

    tokenizer: Tokenizer = "auto"
    lowercase: Lowercase = False


@dataclass(frozen=True, kw_only=True)
class Reading(Tokens):
    """How texts are read."""

    normalize: Normalize = False
    max_tokens: MaxTokens = None
    group_column: Annotated[
        str | None, option("Column of groups, such as documents, that cross-fitting does not split.", "NAME", TEXTS)
    ] = None
    independent: Independent = False

    @property
    def reading(self) -> dict[str, Any]:
        """How all texts are prepared."""
        names = ("tokenizer", "lowercase", "normalize", "max_tokens")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Unseeded:
    """How work is done that has no seed of its own."""

    workers: Annotated[
        int | None, option("Threads; all processors by default.", "N", RUNNING), Between(1, MAX_WORKERS)
    ] = None
    quiet: Quiet = False
    config: Config = None

    @contextmanager
    def work(self) -> Iterator[Progress | None]:
        """Use as many threads as asked for and show progress, inside the ``with`` block."""
        from textassay.cli.progress import show_progress
        from textassay.execution import default_workers, workers

        n_workers = default_workers() if self.workers is None else self.workers
        with show_progress(quiet=self.quiet) as progress, workers(n_workers):
            yield progress


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """What may run on a cluster."""

    cluster: OnCluster = None

    def on_cluster(self) -> AbstractContextManager[None]:
        """Use the cluster asked for, if any, inside the ``with`` block."""
        from textassay.execution import cluster

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
class Computing(Unseeded):
    """How networks compute, on how many threads and where."""

    device: Device = "auto"

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute with these threads and on this device inside the ``with`` block."""
        from textassay.execution import default_workers, device, workers

        with workers(default_workers() if self.workers is None else self.workers), device(self.device):
            yield


@dataclass(frozen=True)
class Above(Between):
    """The range of an option's number, `low` excluded, `high` included."""

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the option unless `value` is absent or in range."""
        if value is not None and not (self.low < value < math.inf and (self.high is None or value <= self.high)):
            most = "" if self.high is None else f" and at most {self.high:g}"
            raise OptionError(f"{name} must be above {self.low:g}{most}, got {value:g}")
