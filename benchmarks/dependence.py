"""Layouts of texts, and what says that their texts are dependent.

    PYTHONPATH=tests/support python benchmarks/dependence.py [--draws 3] [--size 400] [--source chains]

For each layout and each kind of independent pair: the share of pairs of nearest neighbours that cross the sides, the
p-value, the same between groups of neighbours; then, of the real text alone, the shares of mutual nearest neighbours,
of triples and of near-copies. By brute force; each cell is the median over draws, and the range. In Markdown.
``--data FOLDER`` adds the sources of real lines, of which ``--source`` names one.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dependence_reference import reference
from layouts import INDEPENDENT, LAYOUTS, SOURCES, Layout, data_sources, layout
from textassay.corpus import corpora_from_texts

COLUMNS = ("crossing", "p", "left: p", "largest group", "mutual", "triples", "copies")


def plain(pair: Layout) -> dict[str, Any]:
    """Return the statistics by brute force."""
    corpora = corpora_from_texts({"real": pair.real, "generated": pair.generated})
    found = reference(corpora["generated"], corpora["real"])
    return {
        "crossing": found.test.n_crossing / max(found.test.n_pairs, 1),
        "p": found.test.p_value,
        "left: p": found.left.p_value,
        "largest group": int(np.bincount(found.groups).max()),
        "mutual": found.mutual,
        "triples": found.triples,
        "copies": found.copies,
    }


def cell(values: Sequence[float]) -> str:
    """Return the median and the range, or one number where all are equal."""
    low, middle, high = np.quantile(values, [0, 0.5, 1]).tolist()
    return f"{low:.2g}" if low == high else f"{middle:.2g} ({low:.2g}-{high:.2g})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--size", type=int, default=400, help="texts a side")
    parser.add_argument("--distance", type=float, default=0.0)
    parser.add_argument("--source", default="chains")
    parser.add_argument("--data", type=Path, help="folder of real corpora")
    parser.add_argument("--only", help="a part of the names")
    options = parser.parse_args()
    sources = SOURCES | (data_sources(options.data) if options.data else {})
    print("| layout | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
    for name in (*LAYOUTS, *INDEPENDENT):
        if options.only and options.only not in name:
            continue
        pairs = [
            layout(name, options.size, seed, distance=options.distance, source=sources[options.source])
            for seed in range(options.draws)
        ]
        rows = [plain(pair) for pair in pairs]
        print(f"| {name} | " + " | ".join(cell([row[column] for row in rows]) for column in COLUMNS) + " |", flush=True)


if __name__ == "__main__":
    main()
