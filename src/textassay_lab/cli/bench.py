"""``textassay bench``: how much of a known discrepancy dd and other metrics find, and whether they are honest."""

import re
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

from typer import Argument

from textassay.cli.adapter import Between, call, option
from textassay.cli.declarations import Clustered, Output, Tokens, Unseeded
from textassay.cli.options import parse_generators
from textassay.cli.results import print_and_save
from textassay.errors import OptionError
from textassay.settings import Device, Level, Prior

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


@dataclass(frozen=True, kw_only=True)
class Bench(Tokens, Unseeded, Clustered, Output):
    """Measure how much of a known discrepancy dd and other metrics detect, and whether their intervals hold."""

    files: Files = None
    sentences: Annotated[
        list[int] | None, option("Sentences a side, 20000 by default; may be repeated.", "N"), Between(50)
    ] = None
    n_generated: Annotated[
        int | None,
        option("Generated sentences; as many as real ones by default.", "N", names=("--generated",)),
        Between(50),
    ] = None
    n_fit_real: Annotated[
        int,
        option(
            "More real sentences to train dd's classifiers on; nothing is tested on them.", "N", names=("--fit-real",)
        ),
        Between(0),
    ] = 0
    n_answers: Annotated[
        int, option("Real answers to a prompt, in worlds with prompts.", "N", names=("--answers",)), Between(1)
    ] = 5
    n_truth: Annotated[
        int | None,
        option("Sentences a side for the truth: 50000, fluent worlds 1000 by default.", "N", names=("--truth",)),
        Between(2),
    ] = None
    seeds: Annotated[str, option("Seeds, such as 100-104; below 100 for development.", "LIST")] = "100"
    estimators: Annotated[
        str, option("plain, quick, default, max, logistic or any metric; +log-probs or +train may follow.", "LIST")
    ] = "plain,quick,default"
    worlds: Annotated[
        str | None,
        option("Worlds, such as growth-4,fluent; by default all but learnt, answers, fluent, lstm, gpt2.", "LIST"),
    ] = None
    prior: Prior = None
    level: Level = 0.95
    device: Device = "auto"

    def run(self) -> int:
        """Run the bench, print what it found, write it where asked, and return 0."""
        seeds = parse_seeds(self.seeds)
        files = parse_generators(self.files) if self.files else {}

        from textassay.cli.messages import print_line
        from textassay.execution.threads import device
        from textassay.metric.catalog import split_names
        from textassay_lab.meta_evaluation.bench import bench, matching_worlds, parse_estimators
        from textassay_lab.meta_evaluation.bench_document import bench_document, seeds_sentence
        from textassay_lab.meta_evaluation.bench_summary import with_summary
        from textassay_lab.meta_evaluation.fluent_pairs import FLUENT_NAMES, fluent_pairs

        estimators = split_names(self.estimators)
        parse_estimators(estimators, level=self.level, prior=self.prior)  # raises before anything is read
        worlds = None if self.worlds is None else split_names(self.worlds)
        if worlds == []:
            raise OptionError("--worlds is empty: name at least one world, or leave the option out")
        names, _ = matching_worlds(worlds)
        fluent_pairs([name for name in names if name in FLUENT_NAMES])
        texts = {name: self.read_file(source).texts for name, source in files.items()}
        if not self.quiet:
            print_line(seeds_sentence(seeds))
        with self.on_cluster(), self.work() as progress, device(self.device):
            result = call(
                bench,
                self,
                texts=texts or None,
                estimators=estimators,
                worlds=worlds,
                n_sentences=self.sentences or (20_000,),
                seeds=seeds,
                folder=None if self.out is None else self.out / CELLS,
                progress=progress,
            )
        print_and_save(
            bench_document(result),
            with_summary(result),
            "bench",
            out=self.out,
            as_json=self.json,
            quiet=self.quiet,
            brief=True,
        )
        return 0


def parse_seeds(text: str) -> list[int]:
    """Return the seeds that `text` lists, such as ``100`` or ``100-104,200``, each once, in order."""
    ranges: list[range] = []
    for part in text.split(","):
        match = _SEEDS.fullmatch(part.strip())
        if match is None:
            beginning = text if len(text) <= 60 else f"{text[:57]}..."
            raise OptionError(f"cannot read --seeds '{beginning}': write numbers and ranges, such as 100-104,200")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise OptionError(f"--seeds: the range {part.strip()} ends before it begins")
        ranges.append(range(first, last + 1))
    n_seeds = sum(each.stop - each.start for each in ranges)
    if n_seeds > MAX_SEEDS:
        raise OptionError(f"--seeds names {n_seeds:,} seeds, each of which is a full benchmark: at most {MAX_SEEDS:,}")
    return list(dict.fromkeys(chain.from_iterable(ranges)))
