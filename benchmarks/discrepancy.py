"""Seconds of the Distributional Discrepancy on captions and news, by effort, and against one plain scikit-learn fit.

Usage: python benchmarks/discrepancy.py FOLDER_OF_REAL_DATA [--efforts quick,default] [--workers 2] [--repeats 3]

Prints a Markdown table: five folds, the logistic regression alone and each effort, the median of a few calls. What is
compiled is compiled before. Seconds are those of the clock and, in brackets, of the processor, which other
work on the machine disturbs less. The last column is the time of what many people would do by hand, in the same
process: count words and pairs of words, fit scikit-learn's logistic regression once on 80 %, test on the rest.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution.threads import default_workers, workers
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric

PAIRS = {
    "captions of LeakGAN (9,984) against real ones (5,000)": ("leakgan_coco/generated.txt", "leakgan_coco/real.txt"),
    "COCO captions, train against test (10k + 10k)": ("coco/train.txt", "coco/test.txt"),
    "EMNLP news, valid against test (10k + 10k)": ("emnlp_news/valid.txt", "emnlp_news/test.txt"),
}
LOGISTIC = "logistic"


def seconds(function: Callable[[], object], repeats: int) -> str:
    """Return the median time of a few calls, by the clock and by processor."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter(), time.process_time()
        function()
        times.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    by_clock, by_processor = (statistics.median(kind) for kind in zip(*times, strict=True))
    return f"{by_clock:.2f} s ({by_processor:.2f})"


def by_hand(generated: list[str], real: list[str]) -> float:
    texts, labels = np.array(real + generated), np.repeat([1, 0], [len(real), len(generated)])
    order = np.random.default_rng(0).permutation(len(texts))
    train, test = np.split(order, [len(texts) * 8 // 10])
    vectorizer = CountVectorizer(token_pattern=r"\S+", lowercase=False, ngram_range=(1, 2), binary=True)
    model = make_pipeline(vectorizer, LogisticRegression(max_iter=1000, class_weight="balanced"))
    return float(model.fit(texts[train], labels[train]).score(texts[test], labels[test]))


def run(generated: list[str], real: list[str], judge: str) -> float:
    """Return dd from strings, at an effort or of the logistic regression."""
    corpora = corpora_from_texts({"generated": generated, "real": real})
    metric = parse_metric("dd(discriminator=logistic)") if judge == LOGISTIC else parse_metric("dd", effort=judge)
    return measure(metric, corpora["generated"], corpora["real"], seed=0).value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--efforts", default="quick,default")
    parser.add_argument("--workers", type=int, default=default_workers())
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    judges = [LOGISTIC, *options.efforts.split(",")]
    print(f"{options.workers} threads\n\n| text | {' | '.join(judges)} | by hand, one split |")
    print(f"|---|{'---|' * len(judges)}---|")
    with workers(options.workers):
        for label, paths in PAIRS.items():
            generated, real = ((options.data / path).read_text(encoding="utf-8").splitlines() for path in paths)
            cells = []
            for judge in judges:
                run(generated[:200], real[:200], judge)  # compiles
                value = run(generated, real, judge)
                cells.append(f"{value:.3f}, {seconds(partial(run, generated, real, judge), options.repeats)}")
            cells.append(seconds(partial(by_hand, generated, real), options.repeats))
            print(f"| {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
