"""How much of a known discrepancy each discriminator finds, and in how many seconds, alone.

Usage: python benchmarks/discriminators.py FOLDER_OF_REAL_DATA [--judges NAME,...] [--worlds NAME,...]
       [--texts reviews,news] [--sentences N] [--seeds 0,1]

Worlds are made from reviews and from news (`textassay_lab.meta_evaluation.known_truth_pairs`); their truth is that of
50,000 further sentences a side. Every judge gets the same sentences and the same five folds. Prints a line a world
while it runs,
then a table: dd for each world, mean over seeds; the mean share of the truth over the worlds above 0.05, and that over
the first judge's; processor seconds for a whole dd, mean of worlds, one thread.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.discriminator.catalog import make_discriminator
from textassay.discriminator.cross_fitting import cross_fit
from textassay_lab.meta_evaluation.known_truth_pairs import KnownTruthPair, known_truth_pairs

FILES = {"reviews": ("yelp/train.txt",), "news": ("emnlp_news/valid.txt", "emnlp_news/test.txt")}
JUDGES = "logistic,boosted-trees"
WORLDS = "order-2-of-4,order-3-of-5,growth-4-0.4,temperature-0.8-of-3,shares-strongly,dropped-mode,identical-4"
SMALLEST_TRUTH = 0.05


def read(folder: Path, paths: tuple[str, ...]) -> Corpus:
    return Corpus.from_texts([line for path in paths for line in (folder / path).read_text("utf-8").splitlines()])


def judge(name: str, real: Corpus, generated: Corpus, seed: int) -> tuple[float, float]:
    """Return dd and the processor seconds it took."""
    started = time.process_time()
    fit = cross_fit(make_discriminator(name), real, generated, folds=5, seed=seed)
    correct = fit.correct()
    return float(correct[0].mean() + correct[1].mean() - 1), time.process_time() - started


def measure(world: KnownTruthPair, judges: list[str], n: int, seeds: list[int]) -> tuple[float, np.ndarray]:
    """Return the truth, and dd and seconds of each judge, means over seeds, shape (n_judges, 2)."""
    found = np.empty((len(seeds), len(judges), 2))
    for row, seed in enumerate(seeds):
        real, generated = world.sample(n, seed=seed)
        found[row] = [judge(name, real, generated, seed) for name in judges]
    return world.truth(seed=seeds[0]).value, found.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--judges", default=JUDGES)
    parser.add_argument("--worlds", default=WORLDS)
    parser.add_argument("--texts", default="reviews,news")
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--seeds", default="0")
    options = parser.parse_args()
    judges = options.judges.split(",")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    rows = {}
    for text in options.texts.split(","):
        corpus = read(options.data, FILES[text])
        for world in known_truth_pairs(corpus, seeds[0], options.worlds.split(",")):
            rows[f"{text} {world.name}"] = truth, found = measure(world, judges, options.sentences, seeds)
            values = ", ".join(f"{name} {value:.3f}" for name, value in zip(judges, found[:, 0], strict=True))
            print(f"{text} {world.name}: truth {truth:.3f}, {values}", file=sys.stderr, flush=True)
    print(f"| world | truth | {' | '.join(judges)} |")
    print("|---" * (len(judges) + 2) + "|")
    for name, (truth, found) in rows.items():
        print(f"| {name} | {truth:.3f} | {' | '.join(f'{value:.3f}' for value in found[:, 0])} |")
    shares = np.array([found[:, 0] / truth for truth, found in rows.values() if truth > SMALLEST_TRUTH])
    seconds = np.mean([found[:, 1] for _, found in rows.values()], axis=0)
    if len(shares):
        print(f"| share of the truth | | {' | '.join(f'{share:.3f}' for share in shares.mean(axis=0))} |")
        ratios = shares.mean(axis=0) / shares[:, 0].mean()
        print(f"| over {judges[0]} | | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |")
    print(f"| processor seconds | | {' | '.join(f'{value:.1f}' for value in seconds)} |")


if __name__ == "__main__":
    main()
