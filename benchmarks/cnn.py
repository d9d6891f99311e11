"""What the stack, the linear discriminator and the paper's network find, with their seconds; and the seconds of a step.

Usage: python benchmarks/cnn.py FOLDER_OF_REAL_DATA [--seeds N] [--data NAME,...] [--judges NAME,...]
       python benchmarks/cnn.py FOLDER_OF_REAL_DATA --steps

One split for all (80 % to train, a tenth each to choose and to test), the threshold one half; seed k draws split k. The
first prints a line a run and then a table: mean dd over the seeds with its standard error; the mean difference from
cnn-paper on the same splits, with its standard error; seconds and epochs, means. The second prints the milliseconds of
a training step on 512 captions, by table look-up and by PyTorch's convolution. One thread.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.discriminator.base import Discriminator
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.discriminator.stack import StackDiscriminator
from textassay.ngram.model import NgramModel
from textassay_lab.generator.module import begun
from textassay_lab.judges.cnn import PAPER, CnnDiscriminator
from textassay_lab.judges.network import WordRows
from textassay_lab.judges.networks import CnnNetwork
from textassay_lab.training.backend import single_threaded

JUDGES: Mapping[str, Callable[[], Discriminator]] = {
    "stack": StackDiscriminator,
    "logistic": LogisticDiscriminator,
    "cnn": CnnDiscriminator,
    "cnn-paper": lambda: CnnDiscriminator(PAPER),
}
DATA = {
    "leakgan": "captions of LeakGAN (9,984) against real ones (5,000)",
    "emnlp": "EMNLP news, valid against test (10k + 10k)",
    "yelp": "a trigram model of Yelp against its test set (10k + 10k)",
}


def read(folder: Path, name: str) -> dict[str, Corpus]:
    def lines(path: str) -> list[str]:
        return (folder / path).read_text(encoding="utf-8").splitlines()

    if name == "leakgan":
        texts: dict[str, Any] = {
            "generated": lines("leakgan_coco/generated.txt"),
            "real": lines("leakgan_coco/real.txt"),
        }
    elif name == "emnlp":
        texts = {"generated": lines("emnlp_news/valid.txt"), "real": lines("emnlp_news/test.txt")}
    else:
        model = NgramModel(order=3).fit(Corpus.from_texts(lines("yelp/train.txt")))
        texts = {"generated": model.sample(10_000, seed=0).texts, "real": lines("yelp/test.txt")}
    return corpora_from_texts(texts)


def judge(name: str, corpora: Mapping[str, Corpus], seed: int) -> tuple[float, float, int]:
    """Return what a judge finds on split `seed`, its seconds and its epochs."""
    start = time.perf_counter()
    fit = cross_fit(JUDGES[name](), corpora["real"], corpora["generated"], folds=1, threshold="half", seed=seed)
    seconds = time.perf_counter() - start
    real, generated = fit.correct()
    return float(np.nanmean(real) + np.nanmean(generated) - 1), seconds, fit.folds[0].chosen.get("epochs", 0)


def compare(corpora: Mapping[str, Corpus], data: str, judges: list[str], n_seeds: int) -> None:
    small = {side: corpus.take(np.arange(200)) for side, corpus in corpora.items()}
    runs: dict[str, list[tuple[float, float, int]]] = {}
    for name in judges:
        if name == "logistic":
            judge(name, small, 0)  # compilation is not counted
        runs[name] = []
        for seed in range(n_seeds):
            runs[name].append(judge(name, corpora, seed))
            value, seconds, epochs = runs[name][-1]
            print(f"{data} {name} seed {seed}: dd {value:.4f}, {seconds:.1f} s, {epochs} epochs", flush=True)
    print(f"\n| {DATA[data]} | dd | less cnn-paper | seconds | epochs |\n|---|---|---|---|---|")
    for name, rows in runs.items():
        values, seconds_, epochs_ = zip(*rows, strict=True)
        paper = [value for value, *_ in runs.get("cnn-paper", [])]
        less = with_error([value - other for value, other in zip(values, paper, strict=True)]) if paper else ""
        print(
            f"| {name} | {with_error(values)} | {less} | {np.mean(seconds_):.1f} | {np.mean(epochs_):.0f} |", flush=True
        )
    print()


def with_error(values: Any) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.4f} ± {error:.4f}"


def steps(corpora: Mapping[str, Corpus]) -> None:
    import torch

    words = WordRows.build((corpora["real"], corpora["generated"]), 2)
    judge = CnnDiscriminator()
    network = begun(lambda: judge.new_network(words), torch.Generator().manual_seed(0))
    sides = [words.encode(corpora[side]).take(np.arange(256)) for side in ("real", "generated")]
    sentences = type(sides[0]).concatenate(sides)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)
    print("| pooled by | ms a step |\n|---|---|")
    look_up = CnnNetwork.pooled_by_look_up
    for name in ("pooled_by_look_up", "pooled_by_convolution"):
        CnnNetwork.pooled_by_look_up = getattr(CnnNetwork, name)  # type: ignore[method-assign]
        times = []
        for _ in range(12):
            start = time.perf_counter()
            optimizer.zero_grad()
            network.loss(sentences, np.repeat([1, 0], 256), None).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            times.append(time.perf_counter() - start)
        print(f"| {name} | {1000 * statistics.median(times[2:]):.1f} |")
    CnnNetwork.pooled_by_look_up = look_up  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--judges", default=",".join(JUDGES))
    parser.add_argument("--steps", action="store_true")
    arguments = parser.parse_args()
    if arguments.steps:
        with single_threaded():
            steps(read(arguments.folder, "leakgan"))
        return
    for name in arguments.data.split(","):
        compare(read(arguments.folder, name), name, arguments.judges.split(","), arguments.seeds)


if __name__ == "__main__":
    main()
