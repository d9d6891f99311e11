"""``textassay bench``: how much of a known discrepancy dd and other metrics find, and whether they are honest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from textassay.cli.adapter import Between
from textassay.cli.declarations import Device, Level, Output, Tokens, Unseeded
from textassay.cli.options import parse_generators
from textassay.errors import EmptyCorpusError, OptionError, unknown_name

if TYPE_CHECKING:
    from textassay.corpus import Corpus
    from textassay.meta_evaluation import KnownTruthPair

DOCSTRINGS = "docstrings"
NETWORKS = "lstm"  # what the names of their worlds begin with
MAX_SEEDS = 10_000
_SEEDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
CELLS = "cells"  # the folder under --out

Files = Annotated[
    list[str] | None,
    Argument(
        metavar="[NAME=]FILE...",
        help="Text that generators are fitted to; Python's docstrings by default.",
        show_default=False,
    ),
]
Estimators = Annotated[
    str,
    Option(metavar="LIST", help="plain, quick, default, max, logistic, cnn, any metric; each may end in +log-probs."),
]


@dataclass(frozen=True, kw_only=True)
class Bench(Tokens, Unseeded, Output):
    """Measure how much of a known discrepancy dd and other metrics find, and whether they are honest."""

    files: Files = None
    sentences: Annotated[
        list[int] | None,
        Option(metavar="N", help="Sentences a side, 20000 by default; may be repeated."),
        Between(50),
    ] = None
    truth: Annotated[int, Option(metavar="N", help="Sentences a side to compute the truth from."), Between(2)] = 50_000
    seeds: Annotated[str, Option(metavar="LIST", help="Such as 100-104; below 100 for development.")] = "100"
    estimators: Estimators = "plain,quick,default"
    worlds: Annotated[str | None, Option(metavar="LIST", help="Such as growth-4,identical; all by default.")] = None
    level: Level = 0.95
    device: Device = "auto"

    def run(self) -> int:
        """Run the bench, print what it found, write it where asked, and return 0."""
        seeds = parse_seeds(self.seeds)
        files = parse_generators(self.files) if self.files else {}

        from textassay.cli.messages import print_line
        from textassay.execution import device
        from textassay.meta_evaluation import parse_estimator, run_bench
        from textassay.metric import split_names
        from textassay.report import bench_document, render_bench, seeds_told, write_bench

        estimators = [parse_estimator(name, level=self.level) for name in split_names(self.estimators)]
        names, networks = _world_names(self.worlds)
        corpora = self._read(files)
        if not self.quiet:
            print_line(seeds_told(seeds))
        with self.work() as progress, device(self.device):
            bench = run_bench(
                corpora,
                estimators,
                pair_names=names,
                extra=partial(_networks, names=networks) if networks else None,
                sizes=sorted(set(self.sentences or (20_000,))),
                n_truth=self.truth,
                seeds=seeds,
                folder=None if self.out is None else self.out / CELLS,
                progress=progress,
            )
        self.show(bench, render_bench, bench_document)
        self.save(bench, write_bench, quiet=self.quiet)
        return 0

    def _read(self, files: dict[str, str]) -> "dict[str, Corpus]":
        from textassay.corpus import Corpus, docstring_sentences, read_texts

        if not files:
            texts = {DOCSTRINGS: docstring_sentences()}
        else:
            texts = {name: list(read_texts(source, column=self.column).texts) for name, source in files.items()}
            for name, sentences in texts.items():
                if not any(text and not text.isspace() for text in sentences):
                    raise EmptyCorpusError(f"{files[name]} is empty: all of its {len(sentences)} lines are blank")
        return {
            name: Corpus.from_texts(sentences, tokenizer=self.tokenizer, lowercase=self.lowercase)
            for name, sentences in texts.items()
        }


def parse_seeds(text: str) -> list[int]:
    """Return the seeds that `text` lists, such as ``100`` or ``100-104,200``, each once, in order."""
    ranges: list[range] = []
    for part in text.split(","):
        match = _SEEDS.fullmatch(part.strip())
        if match is None:
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            raise OptionError(f"cannot read --seeds '{shown}': write numbers and ranges, such as 100-104,200")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise OptionError(f"--seeds: the range {part.strip()} ends before it begins")
        ranges.append(range(first, last + 1))
    n_seeds = sum(each.stop - each.start for each in ranges)
    if n_seeds > MAX_SEEDS:
        raise OptionError(f"--seeds names {n_seeds:,} seeds, each a bench of its own: at most {MAX_SEEDS:,}")
    return list(dict.fromkeys(chain.from_iterable(ranges)))


def _world_names(text: str | None) -> tuple[list[str], list[str]]:
    """Return the worlds that a comma-separated list names, and what it names of networks; none names no networks.

    A name stands for all worlds that begin with it.
    """
    from textassay.meta_evaluation import PAIR_NAMES
    from textassay.metric import split_names

    if text is None:
        return list(PAIR_NAMES), []
    found: list[str] = []
    networks = []
    named = split_names(text)
    if not named:
        raise OptionError("--worlds is empty: name a world or more, or leave the option out")
    for name in named:
        chosen = [world for world in PAIR_NAMES if _is_part(name, world)]
        if _is_part(NETWORKS, name):
            networks.append(name)
        elif not chosen:
            raise unknown_name("world", name, [*PAIR_NAMES, NETWORKS])
        found += chosen
    return list(dict.fromkeys(found)), networks


def _is_part(beginning: str, name: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}-")


def _networks(corpus: "Corpus", seed: int, *, names: Sequence[str]) -> "list[KnownTruthPair]":
    """Return the worlds of networks that are called for; they are trained anew each time."""
    from textassay.meta_evaluation import neural_pairs

    made = neural_pairs(corpus, seed)
    for name in names:
        if not any(_is_part(name, world.name) for world in made):
            raise unknown_name("world", name, [world.name for world in made])
    return [world for world in made if any(_is_part(name, world.name) for name in names)]
