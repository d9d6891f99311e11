"""Seconds of the Distributional Discrepancy on captions and news, and against one plain scikit-learn fit.

Usage: python benchmarks/discrepancy.py FOLDER_OF_REAL_DATA [WORKERS]

Prints a Markdown table. Compilation is not counted: a small run comes first. The last column is the time of what many
people would do by hand, in the same process: count words and pairs of words, fit scikit-learn's logistic regression
once on 80 %, test on the rest.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution import default_workers, workers
from textassay.metric.discrepancy import dd

PAIRS = {
    "captions of LeakGAN (9,984) against real ones (5,000)": ("leakgan_coco/generated.txt", "leakgan_coco/real.txt"),
    "COCO captions, train against test (10k + 10k)": ("coco/train.txt", "coco/test.txt"),
    "EMNLP news, valid against test (10k + 10k)": ("emnlp_news/valid.txt", "emnlp_news/test.txt"),
}
REPEATS = 3


def seconds(function: Callable[[], object]) -> float:
    """Return the median time of a few calls."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def by_hand(generated: list[str], real: list[str]) -> float:
    texts, labels = np.array(real + generated), np.repeat([1, 0], [len(real), len(generated)])
    order = np.random.default_rng(0).permutation(len(texts))
    train, test = np.split(order, [len(texts) * 8 // 10])
    vectorizer = CountVectorizer(token_pattern=r"\S+", lowercase=False, ngram_range=(1, 2), binary=True)
    model = make_pipeline(vectorizer, LogisticRegression(max_iter=1000, class_weight="balanced"))
    return float(model.fit(texts[train], labels[train]).score(texts[test], labels[test]))


def run(generated: list[str], real: list[str], folds: int) -> float:
    corpora = corpora_from_texts({"generated": generated, "real": real})
    return dd(corpora["generated"], corpora["real"], folds=folds).value


def main() -> None:
    folder = Path(sys.argv[1])
    n_workers = int(sys.argv[2]) if len(sys.argv) > 2 else default_workers()
    print("| text | dd, 5 folds (s) | dd, one split (s) | dd | scikit-learn by hand, one split (s) | workers |")
    print("|---|---|---|---|---|---|")
    with workers(n_workers):
        for label, paths in PAIRS.items():
            generated, real = ((folder / path).read_text(encoding="utf-8").splitlines() for path in paths)
            small = corpora_from_texts({"generated": generated[:200], "real": real[:200]})
            dd(small["generated"], small["real"])

            five = seconds(partial(run, generated, real, 5))
            one = seconds(partial(run, generated, real, 1))
            plain = seconds(partial(by_hand, generated, real))
            value = run(generated, real, 5)
            print(f"| {label} | {five:.2f} | {one:.2f} | {value:.3f} | {plain:.2f} | {n_workers} |")


if __name__ == "__main__":
    main()
