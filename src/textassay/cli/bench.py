"""``textassay bench``: say how much of a known discrepancy dd and other metrics find, and whether they are honest."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from rich.console import Console

from textassay.cli.messages import not_saved, print_line
from textassay.cli.options import check_writable
from textassay.cli.progress import show_progress
from textassay.corpus.corpus import Corpus
from textassay.corpus.docstrings import docstring_sentences
from textassay.corpus.reader import read_texts
from textassay.corpus.tokenizer import check_tokenizer
from textassay.errors import EmptyCorpusError, OptionError, check_range, unknown_name
from textassay.execution import MAX_WORKERS, check_device, default_workers, device, workers
from textassay.meta_evaluation.bench import parse_estimator, run_bench
from textassay.meta_evaluation.worlds import FIRST_TEST_SEED, N_FOR_TRUTH, WORLD_NAMES, World
from textassay.metric.base import check_level
from textassay.metric.catalog import split_names
from textassay.report.bench_files import bench_document, write_bench
from textassay.report.bench_text import render_bench, seeds_told

__all__ = ["BenchOptions", "parse_seeds", "run_bench_command"]

DOCSTRINGS = "docstrings"
NETWORKS = "lstm"  # what the names of their worlds begin with
MAX_SEEDS = 10_000
_SEEDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
CELLS = "cells"  # the folder under --out


@dataclass(frozen=True)
class BenchOptions:
    """What the command line asked for; the fields are the options of ``textassay bench``."""

    files: Mapping[str, str] = field(default_factory=dict)
    sentences: Sequence[int] = (20_000,)
    truth: int = N_FOR_TRUTH
    seeds: str = str(FIRST_TEST_SEED)
    estimators: str = "plain,quick,default"
    worlds: str | None = None
    tokenizer: str = "auto"
    lowercase: bool = False
    column: str | None = None
    level: float = 0.95
    workers: int | None = None
    device: str = "auto"
    out: Path | None = None
    json: bool = False
    quiet: bool = False


def run_bench_command(options: BenchOptions) -> int:
    """Run the bench, print what it found, write it where asked, and return 0."""
    for name, number, least in (("--truth", options.truth, 2), *(("--sentences", n, 50) for n in options.sentences)):
        check_range(name, number, least)
    n_workers = default_workers() if options.workers is None else options.workers
    check_range("--workers", n_workers, 1, MAX_WORKERS)
    check_device(options.device)
    check_level(options.level)
    check_tokenizer(options.tokenizer)
    seeds = parse_seeds(options.seeds)
    estimators = [parse_estimator(name, level=options.level) for name in split_names(options.estimators)]
    names, networks = _world_names(options.worlds)
    if options.out is not None:
        check_writable(options.out)
    corpora = _read(options)
    if not options.quiet:
        print_line(seeds_told(seeds))
    with show_progress(quiet=options.quiet) as progress, workers(n_workers), device(options.device):
        bench = run_bench(
            corpora,
            estimators,
            world_names=names,
            extra=partial(_networks, names=networks) if networks else None,
            sizes=sorted(set(options.sentences)),
            n_truth=options.truth,
            seeds=seeds,
            folder=None if options.out is None else options.out / CELLS,
            progress=progress,
        )
    if options.json:
        json.dump(bench_document(bench), sys.stdout, indent=1, allow_nan=False)
        print()
    else:
        render_bench(bench, Console())
    if options.out is not None:
        with not_saved():
            written = write_bench(bench, options.out)
        if not options.quiet:
            print_line(f"wrote {', '.join(map(str, written))}")
    return 0


def parse_seeds(text: str) -> list[int]:
    """Return the seeds that `text` lists, such as ``100`` or ``100-104,200``, each once, in order.

    Raises
    ------
    OptionError
        If it is no such list, or names more than `MAX_SEEDS`.
    """
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
    if text is None:
        return list(WORLD_NAMES), []
    found: list[str] = []
    networks = []
    named = split_names(text)
    if not named:
        raise OptionError("--worlds is empty: name a world or more, or leave the option out")
    for name in named:
        chosen = [world for world in WORLD_NAMES if _is_part(name, world)]
        if _is_part(NETWORKS, name):
            networks.append(name)
        elif not chosen:
            raise unknown_name("world", name, [*WORLD_NAMES, NETWORKS])
        found += chosen
    return list(dict.fromkeys(found)), networks


def _is_part(beginning: str, name: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}-")


def _networks(corpus: Corpus, seed: int, *, names: Sequence[str]) -> list[World]:
    """Return the worlds of networks that are called for; they are trained anew each time."""
    from textassay.meta_evaluation.neural_worlds import neural_worlds

    made = neural_worlds(corpus, seed)
    for name in names:
        if not any(_is_part(name, world.name) for world in made):
            raise unknown_name("world", name, [world.name for world in made])
    return [world for world in made if any(_is_part(name, world.name) for name in names)]


def _read(options: BenchOptions) -> dict[str, Corpus]:
    if not options.files:
        texts = {DOCSTRINGS: docstring_sentences()}
    else:
        texts = {name: list(read_texts(source, column=options.column).texts) for name, source in options.files.items()}
        for name, sentences in texts.items():
            if not any(text and not text.isspace() for text in sentences):
                raise EmptyCorpusError(f"{options.files[name]} is empty: all of its {len(sentences)} lines are blank")
    return {
        name: Corpus.from_texts(sentences, tokenizer=options.tokenizer, lowercase=options.lowercase)
        for name, sentences in texts.items()
    }
