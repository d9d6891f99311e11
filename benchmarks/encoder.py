"""Two halves of one text by the metrics of sentence vectors: ``python benchmarks/encoder.py DATA``.

Prints, for news and for reviews, what real text scores against other real text with the default encoder (``lsa``,
which is cross-fitted) and with the same one fitted once to the real text: density should be 1, precision and recall
alike.
"""

import argparse
from pathlib import Path

import numpy as np

from textassay.corpus.corpus import corpora_from_texts
from textassay.embedding.base import Encoder
from textassay.embedding.latent_semantic import LatentSemanticEncoder
from textassay.embedding.store import resolve_encoder
from textassay.metric.base import measure
from textassay.metric.catalog import parse_metric

FILES = {"news": "emnlp_news/test.txt", "reviews": "yelp/test.txt"}
METRICS = ("precision", "recall", "density", "coverage", "fed", "mmd")
SIZES = (2_000, 5_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    encoders: dict[str, Encoder] = {
        "lsa": resolve_encoder("lsa"),
        "fitted once": LatentSemanticEncoder(),
        "fitted once, 256": LatentSemanticEncoder(dimensions=256),
    }
    print(f"| text | a side | encoder | {' | '.join(METRICS)} | p of mmd |")
    print("|---" * (len(METRICS) + 4) + "|")
    for name, path in FILES.items():
        lines = (data / path).read_text(encoding="utf-8").splitlines()
        order = np.random.default_rng(1).permutation(len(lines))
        for size in SIZES:
            halves = {"real": order[:size], "other": order[size : 2 * size]}
            corpora = corpora_from_texts({side: [lines[row] for row in rows] for side, rows in halves.items()})
            for label, encoder in encoders.items():
                found = [
                    measure(parse_metric(metric, encoder=encoder), corpora["other"], corpora["real"])
                    for metric in METRICS
                ]
                values = " | ".join(f"{estimate.value:.4f}" for estimate in found)
                print(f"| {name} | {size:,} | {label} | {values} | {found[-1].details['p_value']:.3f} |", flush=True)


if __name__ == "__main__":
    main()
