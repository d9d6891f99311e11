"""How often the intervals of all metrics miss where generated text is of the same kind as real text.

    python benchmarks/own_kind.py [--draws 200] [--sizes 300x300 1000x1000] [--sources trigram docstrings templates]

Each draw is new text on both sides, beside one training text: sentences of a trigram model of Python's docstrings, the
docstrings themselves (with replacement), or a few templates. Prints a table in Markdown for each source and each number
of generated x real texts. The truth is 0 for distances whose interval is of the distributions, for all other metrics
the mean over the draws, as their intervals are of what samples of these sizes score. "of sd" is the half-width over
1.96 standard deviations of the value: 1 where the interval is as long as it has to be. Left out are `conditional-dd`,
which needs prompts, and `huse`, which needs people.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.embedding.store import feature_store
from textassay.execution.threads import workers
from textassay.metric.base import Shared
from textassay.metric.catalog import CATALOG, DEFAULT_METRICS, GROUPS, parse_metrics
from textassay.ngram.model import NgramModel

LEFT_OUT = ("conditional-dd", "huse")
WITHOUT_MODEL = [name for name in CATALOG if name not in GROUPS["detectors"]]
NAMES = (*DEFAULT_METRICS, *(name for name in WITHOUT_MODEL if CATALOG[name].only_named or CATALOG[name].needs))
OF_DISTRIBUTIONS = ("dd", "length", "mmd")  # whose truth is 0
TEMPLATES = ("the {} is {} .", "we saw a {} near the {} .", "{} and {} .", "no {} is as {} as this old {} from here .")
SEED_OF_TRAIN = 10**6

Source = Callable[[int, int], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--sizes", nargs="+", default=["300x300", "1000x1000"])
    parser.add_argument("--sources", nargs="+", default=["trigram", "docstrings", "templates"])
    parser.add_argument("--metrics", nargs="+", default=[name for name in NAMES if name not in LEFT_OUT])
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    known = sources()
    with workers(options.workers):
        for source in options.sources:
            for size in options.sizes:
                n_generated, n_real = map(int, size.split("x"))
                print(f"\n{source}, {n_generated:,} generated and {n_real:,} real texts, {options.draws} draws:\n")
                report(known[source], n_generated, n_real, options.metrics, options.draws)


def sources() -> dict[str, Source]:
    """Return what draws texts, from how many and a seed."""
    sentences = np.array(docstring_sentences())
    trigram = NgramModel(3).fit(Corpus.from_texts(sentences.tolist()))

    def of_templates(n: int, seed: int) -> list[str]:
        rng = np.random.default_rng(seed)
        return [
            TEMPLATES[kind].format(*slots) for kind, slots in zip(rng.integers(4, size=n), words(rng, n), strict=True)
        ]

    return {
        "trigram": lambda n, seed: list(trigram.sample(n, seed=seed).texts),
        "docstrings": lambda n, seed: np.random.default_rng(seed).choice(sentences, n).tolist(),
        "templates": of_templates,
    }


def words(rng: np.random.Generator, n: int) -> list[list[str]]:
    """Return three words for each of `n` texts, of 200 that are the rarer the later."""
    weights = 1 / np.arange(1, 201)
    return [[f"w{word}" for word in row] for row in rng.choice(200, size=(n, 3), p=weights / weights.sum()).tolist()]


def report(source: Source, n_generated: int, n_real: int, metrics: list[str], n_draws: int) -> None:
    """Print the table of one source and size."""
    draws: dict[str, list[tuple[float, float, float]]] = {}
    train = source(n_real, SEED_OF_TRAIN)
    for draw in range(n_draws):
        generated, real = source(n_generated, 2 * draw), source(n_real, 2 * draw + 1)
        corpora = corpora_from_texts({"generated": generated, "real": real, "train": train})
        with feature_store(), Shared().used(), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for metric in parse_metrics(metrics, train=corpora["train"], effort="quick"):
                estimate = metric.estimate(corpora["generated"], corpora["real"], seed=draw)
                ends = (
                    (np.nan, np.nan) if estimate.interval is None else (estimate.interval.low, estimate.interval.high)
                )
                draws.setdefault(metric.name, []).append((estimate.value, *ends))
    print("| metric | truth | mean | sd | half-width | of sd | miss | below | above | no interval |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rows in draws.items():
        print(line(name, np.array(rows)), flush=True)


def line(name: str, rows: npt.NDArray[np.float64]) -> str:
    """Return the line of a metric from value, low and high of its draws, shape (n, 3)."""
    values, lows, highs = rows.T
    truth = 0.0 if name in OF_DISTRIBUTIONS else float(np.nanmean(values))
    half_width, sd = float(np.nanmean(highs - lows)) / 2, float(np.nanstd(values, ddof=1))
    has_interval = np.isfinite(lows)
    below, above = (float(np.mean(misses[has_interval])) for misses in (highs < truth, lows > truth))
    of_sd = half_width / (1.96 * sd) if sd > 0 else np.nan
    cells = [f"{truth:.4f}", f"{np.nanmean(values):.4f}", f"{sd:.4f}", f"{half_width:.4f}", f"{of_sd:.2f}"]
    cells += [f"{share:.1%}" for share in (below + above, below, above)]
    return f"| `{name}` | {' | '.join(cells)} | {np.count_nonzero(~has_interval)} |"


if __name__ == "__main__":
    main()
