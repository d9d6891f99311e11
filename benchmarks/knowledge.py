"""The picture of what dd finds with more generated text and with each source of knowledge.

    python benchmarks/knowledge.py TEXT [IMAGE] [--cells DIR] [--sentences 20000] [--worlds learnt]

TEXT is a file of one sentence a line; the picture was made from 170,153 reviews. Of 20,000 real sentences and 20,000,
40,000 and 100,000 generated ones, each line is the mean share of the truth that dd at effort ``quick`` finds over the
worlds, with 80,000 more real sentences to learn from (``fit_real``), with the text that the generator was trained on,
with both of these, with its log-probabilities, with all, or with none. Every point is what ``textassay bench TEXT
--generated N --fit-real M --estimators quick+train+log-probs --worlds learnt`` prints. Prints the shares and, at each
size, the values world by world. With ``--cells`` what was measured is kept there, and a second run goes on from it.
IMAGE is ``docs/images/dd-knowledge.svg`` by default.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import textassay as ta
from textassay.report.document import Figure
from textassay.report.drawing import draw_svg
from textassay.report.plots import Axis, Colour, Curves, Point, Series
from textassay_lab.meta_evaluation.bench import Bench
from textassay_lab.meta_evaluation.bench_summary import ALL, summarize

SIZES = (1, 2, 5)  # generated sentences for each real one
MORE = 4  # real sentences to learn from, for each that is tested
# name: what dd is given, whether there is more real text, and how the line looks
SOURCES: Mapping[str, tuple[str, bool, Colour]] = {
    "all of these": ("quick+train+log-probs", True, "ink"),
    "training text": ("quick+train", False, "real"),
    "more real text": ("quick", True, "plum"),
    "both texts": ("quick+train", True, "green"),
    "log-probabilities": ("quick+log-probs", False, "generated"),
    "nothing else": ("quick", False, "muted"),
}
BACKGROUND = '<rect width="100%" height="100%" fill="#ffffff"/>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("image", nargs="?", type=Path, default=Path("docs/images/dd-knowledge.svg"))
    parser.add_argument("--cells", type=Path)
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--worlds", nargs="*", default=["learnt"])
    options = parser.parse_args()
    runs = {
        (size, more): measured(options, size * options.sentences, more)
        for size in SIZES
        for more in (False, True)
    }  # fmt: skip
    for (size, more), run in runs.items():
        print_worlds(run, f"{size * options.sentences:,} generated{', more real text' if more else ''}")
    shares = {
        name: [share(runs[size, more], estimator) for size in SIZES] for name, (estimator, more, _) in SOURCES.items()
    }
    for name, values in shares.items():
        print(f"{name}: " + ", ".join(f"{value:.3f}" for value in values))
    head, rest = (picture := draw(shares, [size * options.sentences for size in SIZES])).split(">", 3)[:3], picture
    options.image.write_text(f"{'>'.join(head)}>{BACKGROUND}{rest.split('>', 3)[3]}", encoding="utf-8")


def measured(options: argparse.Namespace, n_generated: int, more: bool) -> Bench:
    """Return what dd finds with every source that stands with or without more real text."""
    return ta.bench(
        {"text": options.text},
        estimators=[estimator for estimator, with_more, _ in SOURCES.values() if with_more == more],
        worlds=options.worlds,
        n_sentences=[options.sentences],
        n_generated=n_generated,
        n_fit_real=MORE * options.sentences if more else 0,
        n_truth=20_000,
        folder=options.cells,
    )


def share(run: Bench, estimator: str) -> float:
    """Return the mean share of the truth that an estimator found."""
    (row,) = (row for row in summarize(run) if (row.estimator, row.kind) == (estimator, ALL))
    assert row.share is not None
    return row.share


def print_worlds(run: Bench, title: str) -> None:
    """Print truth, values and seconds, world by world."""
    print(f"\n{title}\n\n| world | truth | {' | '.join(run.estimators)} |\n|---|---|{'---|' * len(run.estimators)}")
    for world in dict.fromkeys(cell.world for cell in run.cells):
        cells = [cell for cell in run.cells if cell.world == world]
        values = " | ".join(f"{cell.value:.3f}, {cell.cpu_seconds:.0f} s" for cell in cells)
        print(f"| {world} | {fmean(cell.truth for cell in cells):.3f} | {values} |")
    print(flush=True)


def draw(shares: Mapping[str, Sequence[float]], sizes: Sequence[int]) -> str:
    """Return one line a source of knowledge."""
    lines = [
        Series(name, tuple(map(Point, sizes, values)), SOURCES[name][2], beside=True) for name, values in shares.items()
    ]
    labels = tuple(f"{size:,}" for size in sizes)
    x = Axis("generated sentences", scale="log2", ticks=tuple(sizes), labels=labels)
    return draw_svg(
        Figure("knowledge", Curves(tuple(lines), x, Axis("share of the truth", (0, None)), size=(3.9, 2.6)))
    )


if __name__ == "__main__":
    main()
