"""Two samples of one text by the metrics of sentence vectors: ``python benchmarks/encoder.py DATA``.

Prints, for news and for reviews, the mean and standard deviation over random draws of what real text scores against
other real text with the default encoder, with ``lsa``, and with both fitted once to the real text instead of
cross-fitted: density should be 1, precision and recall alike, p of mmd below 0.05 in a twentieth of the draws.
"""

import argparse
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import corpora_from_texts
from textassay.embedding.encoder import Encoder, JoinedEncoder
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.embedding.store import feature_store, resolve_encoder
from textassay.embedding.surprisal import SurprisalEncoder
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric

FILES = {
    "news": ("emnlp_news/test.txt", "emnlp_news/valid.txt"),
    "reviews": ("yelp/test.txt", "yelp/valid.txt"),
}
METRICS = ("mauve", "precision", "recall", "density", "coverage", "fed", "mmd")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, action="append", help="a side; default 300 and 2000")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--cross-fitted", action="store_true", help="leave out the encoders that are fitted once")
    options = parser.parse_args()
    encoders: dict[str, Encoder] = {name: resolve_encoder(name) for name in ("lsa+lm", "lsa")}
    if not options.cross_fitted:
        encoders["lsa+lm, fitted once"] = JoinedEncoder(LatentSemanticEncoder(), SurprisalEncoder())
        encoders["lsa, fitted once"] = LatentSemanticEncoder()
    print(f"| text | a side | encoder | {' | '.join(METRICS)} | p of mmd below 0.05 |")
    print("|---" * (len(METRICS) + 4) + "|")
    for name, paths in FILES.items():
        lines = [line for path in paths for line in (options.data / path).read_text(encoding="utf-8").splitlines()]
        for size in options.sentences or (300, 2_000):
            for label, encoder in encoders.items():
                draws = np.array([_draw(lines, size, encoder, seed) for seed in range(options.draws)])
                means, spreads = draws.mean(axis=0), draws.std(axis=0, ddof=1)
                cells = [f"{mean:.4f} ± {spread:.4f}" for mean, spread in zip(means[:-1], spreads[:-1], strict=True)]
                below = np.count_nonzero(draws[:, -1] < 0.05)
                print(f"| {name} | {size:,} | {label} | {' | '.join(cells)} | {below} of {options.draws} |", flush=True)


def _draw(lines: list[str], size: int, encoder: Encoder, seed: int) -> list[float]:
    """Return the value of each metric on two disjoint samples, and the p-value of mmd."""
    order = np.random.default_rng(seed).permutation(len(lines))
    sides = {"real": order[:size], "other": order[size : 2 * size]}
    corpora = corpora_from_texts({side: [lines[row] for row in rows] for side, rows in sides.items()})
    with feature_store():
        estimates = [
            measure(parse_metric(metric, encoder=encoder), corpora["other"], corpora["real"]) for metric in METRICS
        ]
    return [*(estimate.value for estimate in estimates), estimates[-1].details["p_value"]]


if __name__ == "__main__":
    main()
