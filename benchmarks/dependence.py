"""What textassay says of texts that depend on others, for every layout and kind of independent pair.

    PYTHONPATH=tests/support python benchmarks/dependence.py [--draws 10] [--sizes 400] [--source chains] [--plainly]

Texts come from tests/support/layouts.py. For each, over draws: how often dependence is found, and of which kinds; how
often groups of neighbours hold what belongs together; the share of pairs of nearest neighbours that cross the sides,
the p-value of so many, and of those that cross between groups: the median and the range. ``--plainly`` computes the
same by brute force, and of the real text alone the shares of mutual nearest neighbours, of triples and of near-copies.
In Markdown. ``--data FOLDER`` adds the sources of real lines, of which ``--source`` names one.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dependence_reference import reference
from layouts import INDEPENDENT, LAYOUTS, SOURCES, Layout, data_sources, layout
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.inspection.dependence import examine


def examined(generated: Corpus, real: Corpus) -> dict[str, Any]:
    """Return what textassay finds."""
    found = examine(generated, real)
    return {
        "kinds": found.kinds,
        "can be told": found.can_be_told,
        "crossing": found.test.n_crossing / max(found.test.n_pairs, 1),
        "p": found.test.p_value,
        "left: p": found.remaining.p_value if found.remaining else float("nan"),
        "largest group": found.largest,
    }


def plain(generated: Corpus, real: Corpus) -> dict[str, Any]:
    """Return the statistics by brute force."""
    found = reference(generated, real)
    return {
        "crossing": found.test.n_crossing / max(found.test.n_pairs, 1),
        "p": found.test.p_value,
        "left: p": found.left.p_value,
        "largest group": float(np.bincount(found.groups).max() / len(found.groups)),
        "mutual": found.mutual,
        "triples": found.triples,
        "copies": found.copies,
    }


def cells(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return one cell a column: how often what is named was found, shares of what holds, else median and range."""
    table = {}
    for column in rows[0]:
        values = [row[column] for row in rows]
        if isinstance(values[0], tuple):
            table["found"] = str(sum(map(bool, values)))
            counts = Counter(kind for kinds in values for kind in kinds)
            table[column] = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
        elif isinstance(values[0], bool):
            table[column] = str(sum(values))
        else:
            known = [value for value in values if not np.isnan(value)]
            low, middle, high = np.quantile(known, [0, 0.5, 1]).tolist() if known else (np.nan,) * 3
            table[column] = f"{middle:.2g} ({low:.2g} to {high:.2g})" if known else ""
    return table


def drawn(pair: Layout) -> tuple[Corpus, Corpus]:
    """Return generated and real text."""
    tokenizer = "mixed" if " " not in pair.real[0] + pair.real[1] else "whitespace"
    corpora = corpora_from_texts({"real": pair.real, "generated": pair.generated}, tokenizer=tokenizer)
    return corpora["generated"], corpora["real"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sizes", default="400", help="texts a side, by commas")
    parser.add_argument("--distance", type=float, default=0.0, help="where it can be known")
    parser.add_argument("--source", default="chains")
    parser.add_argument("--data", type=Path, help="folder of real corpora")
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--plainly", action="store_true", help="by brute force")
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    source = (SOURCES | (data_sources(options.data) if options.data else {}))[options.source]
    statistics = plain if options.plainly else examined
    header = ""
    for name in (*LAYOUTS, *INDEPENDENT):
        known = name in LAYOUTS or not np.isnan(layout(name, 20, 0).truth)
        if options.only not in name or not (known or options.distance == 0):
            continue
        for size in map(int, options.sizes.split(",")):
            seeds = range(options.first_seed, options.first_seed + options.draws)
            pairs = (layout(name, size, seed, distance=options.distance, source=source) for seed in seeds)
            row = cells([statistics(*drawn(pair)) for pair in pairs])
            if not header:
                header = f"| layout | texts | {' | '.join(row)} |\n{'|---' * (len(row) + 2)}|"
                print(header)
            print(f"| {name} | {size} | {' | '.join(row.values())} |", flush=True)


if __name__ == "__main__":
    main()
