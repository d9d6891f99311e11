"""What dd finds with a prior of English in small samples.

    python benchmarks/prior.py MACHINE HUMAN [--sizes 300 1000 4000] [--draws 4] [--effort default]
    python benchmarks/prior.py TEXT --equal [--sizes 300] [--draws 90]

MACHINE and HUMAN are files of one sentence a line. Printed, as Markdown: for each size, the mean of dd over draws of so
many sentences a side, with its standard error, without and with ``prior="english"``, and the processor seconds of one
dd. With ``--equal``, both sides are halves of one draw from TEXT: the mean should be 0, and the last column is the
share of 95 % intervals that hold it. Needs the extra ``prior``.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.metric.discrepancy import dd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", type=Path)
    parser.add_argument("human", type=Path, nargs="?")
    parser.add_argument("--sizes", type=int, nargs="*", default=[300, 1000, 4000])
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--effort", default="default", choices=("quick", "default", "max"))
    parser.add_argument("--equal", action="store_true")
    options = parser.parse_args()
    if options.equal == (options.human is not None):
        parser.error("name two files, or one with --equal")
    corpora = corpora_from_texts({"machine": options.machine, "human": options.human or options.machine})
    print("| sentences a side | prior | mean dd | seconds | intervals that hold 0 |")
    print("|---|---|---|---|---|")
    for n in options.sizes:
        for prior in (None, "english"):
            measured(corpora, n, prior, options)


def measured(corpora: dict[str, Corpus], n: int, prior: str | None, options: argparse.Namespace) -> None:
    """Print a row."""
    values, held, seconds = [], [], 0.0
    for draw in range(options.draws):
        machine, human = sides(corpora, n, draw, equal=options.equal)
        begun = time.process_time()
        estimate = dd(machine, human, effort=options.effort, prior=prior, seed=draw)
        seconds += time.process_time() - begun
        assert estimate.interval is not None
        values.append(estimate.value)
        held.append(estimate.interval.low <= 0 <= estimate.interval.high)
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    mean = f"{np.mean(values):.3f} ± {error:.3f}"
    print(f"| {n:,} | {prior} | {mean} | {seconds / options.draws:.1f} | {np.mean(held):.2f} |", flush=True)


def sides(corpora: dict[str, Corpus], n: int, draw: int, *, equal: bool) -> tuple[Corpus, Corpus]:
    """Return `n` drawn sentences of each side."""
    rng = np.random.default_rng(100 + draw)
    if equal:
        rows = rng.permutation(len(corpora["human"]))[: 2 * n]
        return corpora["human"].take(rows[:n]), corpora["human"].take(rows[n:])
    machine, human = (corpora[name].take(np.sort(rng.permutation(len(corpora[name]))[:n])) for name in corpora)
    return machine, human


if __name__ == "__main__":
    main()
