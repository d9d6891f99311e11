"""What dd finds with one discriminator or another, by how much text there is.

    python benchmarks/judges.py MACHINE HUMAN [--sizes 200 500 1000] [--draws 20] [--judges stack stack-quick logistic]

MACHINE and HUMAN are files of one sentence a line; of each, as many as a size says are drawn at random. Printed, as
Markdown: for each size, the mean of dd with the first discriminator, how much more the others find on the same folds
of the same draws, each with its standard error over draws, and the processor seconds of one dd.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import corpora_from_texts
from textassay.metric.discrepancy import dd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", type=Path)
    parser.add_argument("human", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[200, 500, 1000])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--judges", nargs="*", default=["stack", "stack-quick", "logistic"])
    options = parser.parse_args()
    corpora = corpora_from_texts({"machine": options.machine, "human": options.human})
    print(f"| sentences a side | {' | '.join(options.judges)} |\n|---|{'---|' * len(options.judges)}")
    for size in options.sizes:
        values = np.zeros((options.draws, len(options.judges)))
        seconds = np.zeros(len(options.judges))
        for draw in range(options.draws):
            rng = np.random.default_rng(100 + draw)
            human, machine = (
                corpora[name].take(np.sort(rng.permutation(len(corpora[name]))[:size])) for name in ("human", "machine")
            )
            for number, judge in enumerate(options.judges):
                begun = time.process_time()
                values[draw, number] = dd(machine, human, discriminator=judge, seed=draw).value
                seconds[number] += time.process_time() - begun
        gains = np.column_stack([values[:, 0], values[:, 1:] - values[:, :1]])
        errors = gains.std(axis=0, ddof=1) / options.draws**0.5
        cells = [
            f"{gain:{'+' if number else ''}.3f} ± {error:.3f}, {took / options.draws:.1f} s"
            for number, (gain, error, took) in enumerate(zip(gains.mean(axis=0), errors, seconds, strict=True))
        ]
        print(f"| {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
