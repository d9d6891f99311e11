"""Time and memory of the metrics of sentence vectors by number of sentences, and what their ways in linear time change.

    python benchmarks/embedding_scale.py DATA [--sizes 1000 10000 30000 100000] [--compared 10000 20000] [--workers 2]

DATA holds `yelp/`. Real text is the first part of its training text, generated text a trigram model's of the last
70,000 lines. The first table has processor seconds on given vectors (those of the encoder in a column of their own) and
the peak of memory so far, the second mauve clustered together and in parts, mmd by all pairs and by random features,
with the standard deviation of single clusterings and of four draws of features. Markdown; the sizes above 30,000 take
minutes.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.embedding.store import DEFAULT_ENCODER, feature_store, features, fit_encoder
from textassay.execution.threads import default_workers, workers
from textassay.metric.frechet import fed
from textassay.metric.mauve import mauve
from textassay.metric.mmd import mmd
from textassay.metric.precision_recall import precision
from textassay.ngram.model import NgramModel

METRICS = {"fed": fed, "mmd": mmd, "precision": precision, "mauve": mauve}
N_DRAWS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=(1_000, 10_000, 30_000, 100_000))
    parser.add_argument("--compared", type=int, nargs="*", default=(10_000, 20_000))
    parser.add_argument("--workers", type=int, default=default_workers())
    options = parser.parse_args()
    lines = (options.data / "yelp" / "train.txt").read_text("utf-8").splitlines()
    sampled = (
        NgramModel(3).fit(Corpus.from_texts(lines[100_000:])).sample(max(*options.sizes, *options.compared), seed=0)
    )
    with workers(options.workers):
        print(f"| sentences a side | encoder | {' | '.join(METRICS)} | peak, MB |\n|{'---|' * (len(METRICS) + 3)}")
        for n in options.sizes:
            print(f"| {n:,} | {' | '.join(seconds(lines[:n], sampled.texts[:n]))} | {peak()} |", flush=True)
        print("\n| pair | mauve together | in parts | mmd by all pairs | by random features |\n|---|---|---|---|---|")
        for n in options.compared:
            pairs = {"trigram": sampled.texts[:n], "other real text": lines[n : 2 * n]}
            for name, generated in pairs.items():
                print(f"| {name}, {n:,} | {' | '.join(agreement(lines[:n], generated))} |", flush=True)


def seconds(real: Sequence[str], generated: Sequence[str]) -> Iterator[str]:
    """Yield processor seconds of the encoder and of each metric."""
    corpora = corpora_from_texts({"real": real, "generated": generated})
    with feature_store():
        start = time.process_time()
        encoder = fit_encoder(DEFAULT_ENCODER, corpora["real"])
        for corpus in corpora.values():
            features(encoder, corpus)
        yield f"{time.process_time() - start:.1f}"
        for metric in METRICS.values():
            start = time.process_time()
            metric(corpora["generated"], corpora["real"])
            yield f"{time.process_time() - start:.1f}"


def agreement(real: Sequence[str], generated: Sequence[str]) -> Iterator[str]:
    """Yield mean and standard deviation of the values each way."""
    corpora = corpora_from_texts({"real": real, "generated": generated})
    with feature_store():
        for largest in (10**12, len(real) ** 2 // 15):  # in two parts
            with limit("textassay.metric.mauve", "TOGETHER_UP_TO", largest):
                details = mauve(corpora["generated"], corpora["real"]).details
            yield f"{np.mean(details['values']):.4f} ± {details['sd_clusterings']:.4f}"
        for largest, n_draws in ((10**9, 1), (0, N_DRAWS)):
            with limit("textassay.metric.mmd", "EXACT_UP_TO", largest):
                values = [mmd(corpora["generated"], corpora["real"], seed=seed).value for seed in range(n_draws)]
            yield f"{np.mean(values):.2e}" + (f" ± {np.std(values, ddof=1):.1e}" if n_draws > 1 else "")


@contextmanager
def limit(module: str, name: str, largest: int) -> Iterator[None]:
    """Take the exact way up to `largest` inside the ``with`` block."""
    before = getattr(sys.modules[module], name)
    setattr(sys.modules[module], name, largest)
    try:
        yield
    finally:
        setattr(sys.modules[module], name, before)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
