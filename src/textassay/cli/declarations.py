"""Arguments and options that commands share: how each is spelt on the command line, and its line of help."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from textassay.cli.adapter import Between
from textassay.corpus.limits import set_limits
from textassay.errors import OptionError
from textassay.execution import MAX_WORKERS, default_workers, device, workers


def _load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of ``--config`` the defaults of the command."""
    if path is not None and not context.resilient_parsing:
        from textassay.cli.config import read_config

        parameters = [parameter for parameter in context.command.params if parameter.name not in ("config", "help")]
        names = {str(parameter.name).replace("_", "-"): str(parameter.name) for parameter in parameters}
        repeatable = [str(parameter.name) for parameter in parameters if parameter.multiple or parameter.nargs == -1]
        context.default_map = read_config(path, options=names, repeatable=repeatable)
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
Real = Annotated[str, typer.Option(metavar="FILE", help="Real text to compare with; '-' is standard input.")]
Heldout = Annotated[
    str | None, typer.Option(metavar="FILE", help="More real text: a second row of what real text scores.")
]
Train = Annotated[
    str | None, typer.Option(metavar="FILE", help="What the generators were trained on, to find memorised sentences.")
]
Features = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FILE.npy", help="Vectors of real, real-heldout or a generator; may be repeated."),
]
LogProbs = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FILE", help="Log-probabilities (nats) under generator NAME; may be repeated."),
]
Ratings = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FILE", help="People's ratings, beside generator NAME's; may be repeated."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A folder that 'train' wrote, or pretrained:NAME_OR_PATH.")]

# How it is read
Tokenizer = Annotated[
    str,
    typer.Option(metavar="NAME", help="auto (whitespace; chars for unspaced text), whitespace, words, chars or 13a."),
]
Lowercase = Annotated[bool, typer.Option(help="Lower-case all texts.")]
Normalize = Annotated[bool, typer.Option(help="Repair case, quotes and glued punctuation in all texts alike.")]
MaxTokens = Annotated[int | None, typer.Option(metavar="N", help="Cut all sentences after N tokens.")]
MaxInput = Annotated[
    str, typer.Option(metavar="SIZE", help="Most of one file that is read, decompressed.", callback=_set_max_input)
]
MaxText = Annotated[
    int, typer.Option(metavar="N", help="Most characters that one text may have.", callback=_set_max_text)
]
Column = Annotated[str | None, typer.Option(metavar="NAME", help="Column of csv, tsv, json and parquet files.")]
GroupColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column whose equal values are never split: a document, say.")
]

# How it is measured
Metrics = Annotated[
    str | None, typer.Option(metavar="LIST", help="Such as 'dd,bleu(order=4)'; all of them by default.")
]
Effort = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="quick, default or max: dd's classifiers find more, in about 3 s, 20 s, 5 min for 20,000 sentences.",
    ),
]
Encoder = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sentences to vectors: lsa (the default), or a sentence-transformers model."),
]
Paper = Annotated[bool, typer.Option(help="dd to the letter of its paper: its network, one split.")]
Explain = Annotated[bool, typer.Option(help="Say what gives each generator away; takes a while.")]
Folds = Annotated[int | None, typer.Option(metavar="K", help="Folds of cross-fitting; 5 by default.")]
Level = Annotated[float, typer.Option(metavar="L", help="Level of intervals and of significance.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same numbers.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Threads; all processors by default.")]
Precision = Annotated[str, typer.Option(metavar="P", help="Of networks: float32 or bfloat16.")]
Device = Annotated[str, typer.Option(metavar="D", help="Of networks: auto, cpu, cuda, cuda:N or mps.")]

# What comes out
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Write the report here; again, it resumes and adds.")]
Json = Annotated[bool, typer.Option(help="Print one JSON document instead of tables.")]
FailIf = Annotated[
    list[str] | None,
    typer.Option(metavar="'dd>0.3'", help="Exit with 1 where it holds for a generator; may be repeated."),
]
Quiet = Annotated[bool, typer.Option(help="No progress and no notes.")]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.yaml", help="Options from a file; the command line wins.", is_eager=True, callback=_load_config
    ),
]


# Mixins: what several commands take. Each field is one option; `cli/adapter.py` turns them into the command line.
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How texts are read."""

    tokenizer: Tokenizer = "auto"
    lowercase: Lowercase = False
    normalize: Normalize = False
    max_tokens: Annotated[MaxTokens, Between(1)] = None
    column: Column = None
    group_column: GroupColumn = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the work is done."""

    seed: Annotated[Seed, Between(0)] = 0
    workers: Annotated[Workers, Between(1, MAX_WORKERS)] = None
    quiet: Quiet = False
    config: Config = None


@dataclass(frozen=True, kw_only=True)
class Files:
    """How files of sentences are read."""

    column: Column = None
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000


@dataclass(frozen=True)
class Above(Between):
    """The range of an option's number, `low` excluded, `high` included."""

    def check(self, name: str, value: Any) -> None:
        """Raise an OptionError that names the option unless `value` is absent or in range."""
        if value is not None and not (self.low < value < math.inf and (self.high is None or value <= self.high)):
            most = "" if self.high is None else f" and at most {self.high:g}"
            raise OptionError(f"{name} must be above {self.low:g}{most}, got {value:g}")


@dataclass(frozen=True, kw_only=True)
class Computing:
    """Where networks compute, on how many threads."""

    workers: Annotated[Workers, Between(1, MAX_WORKERS)] = None
    device: Device = "auto"
    quiet: Quiet = False
    config: Config = None

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute with these threads and on this device inside the ``with`` block."""
        with workers(default_workers() if self.workers is None else self.workers), device(self.device):
            yield
