"""The pictures of ``docs/distributional-discrepancy.md``: ``python benchmarks/dd_pictures.py [FOLDER] [--cells DIR]``.

FOLDER is ``docs/images`` by default. All text is made from the docstrings of Python's standard library, by the worlds
of ``textassay bench`` and the generators of ``textassay demo``. Prints every number that the pictures show and the page
quotes. With ``--cells`` what the bench has measured is kept there, and a second run goes on from it; all of it takes
half an hour on two cores.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from scipy.optimize import curve_fit

from textassay.cli.demo import demo_texts
from textassay.comparison.explanation import HALF
from textassay.comparison.learning_curve import LearningCurve, learning_curve
from textassay.comparison.prefix_curve import PrefixCurve, prefix_curve
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.docstrings import docstring_sentences
from textassay.execution.threads import default_workers, workers
from textassay.metric.discrepancy import dd, exact_discrepancy
from textassay.report.document import Figure
from textassay.report.drawing import draw_svg
from textassay.report.plots import Axis, Colour, Curves, Forest, ForestRow, Mark, Point, Reference, Series
from textassay.report.svg import GENERATED, INK, REAL, RULE, SETTINGS, canvas, to_svg
from textassay.seeding import stream
from textassay_lab.meta_evaluation.bench import Bench, BenchCell, parse_estimator, run_bench
from textassay_lab.meta_evaluation.bench_document import bench_document
from textassay_lab.meta_evaluation.bench_summary import ALL, nulls, summarize
from textassay_lab.meta_evaluation.known_truth_pairs import PAIR_NAMES

SEED = 100  # the first of the bench's test seeds
BACKGROUND = '<rect width="100%" height="100%" fill="#ffffff"/>'
DOCSTRINGS = "docstrings"

TOY_REAL = {"AA": 0.25, "AB": 0.25, "BA": 0.25, "BB": 0.25}
TOY_GENERATED = {"AA": 0.81, "AB": 0.09, "BA": 0.05, "BB": 0.05}

SENTENCES = 10_000
ESTIMATORS = ("plain", "quick", "default", "default+log-probs")
IN_THE_PICTURE_OF_BOUNDS = (
    "identical-4", "shares-slightly", "growth-5-0.8", "dropped-mode", "shares-strongly", "order-3-of-5", "diluted-0.5",
    "growth-4-0.4", "order-2-of-4", "temperature-0.8-of-3", "growth-5-0.2", "order-1-of-4",
    "position-unigram",
)  # fmt: skip

SIZES = (500, 1000, 2000, 4000, 8000, 16_000)
FAR, NEAR = "order-2-of-4", "shares-strongly"
BY_SIZE = {"default": 0, "quick": 1, "logistic": 2}  # patterns of dashes
COLOURS: tuple[Colour, Colour, Colour] = ("ink", "muted", "generated")

RISING, LEVEL = "trigram", "full stops lost"
HOLDS_OUT = "shuffled after 5 words"
BY_PREFIX = ("copier", "shuffled", HOLDS_OUT)
HELD = 5  # words
KEPT = 10  # one sentence in so many keeps its full stop

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """Points (place, value, low, high) joined by a line, the name that stands beside it, and how it looks."""

    name: str
    points: Sequence[tuple[float, float, float, float]]
    colour: Colour
    dashes: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/images"))
    parser.add_argument("--cells", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with workers(default_workers()):
        for name, svg in pictures(options.cells).items():
            head, rest = svg.split(">", 3)[:3], svg.split(">", 3)[3]
            (options.folder / f"dd-{name}.svg").write_text(f"{'>'.join(head)}>{BACKGROUND}{rest}", encoding="utf-8")


def pictures(cells: Path | None) -> dict[str, str]:
    """Return the name and the SVG of every picture, and print what they show."""
    sentences = docstring_sentences()
    texts = demo_texts(sentences, seed=0)
    texts[LEVEL] = [text.removesuffix(" .") if row % KEPT else text for row, text in enumerate(texts["train"])]
    texts[HOLDS_OUT] = shuffled_later(texts["train"])
    corpora = corpora_from_texts(texts)
    toy = exact_discrepancy(TOY_REAL, TOY_GENERATED)
    print(f"toy: dd {toy:.2f}")
    drawn = {"toy": draw_toy(toy)}
    prefixes = {name: prefix_curve(corpora["real"], corpora[name]) for name in BY_PREFIX}
    drawn["prefixes"] = draw_prefixes(prefixes)
    for name, prefix in prefixes.items():
        value = dd(corpora[name], corpora["real"]).value
        print(f"{name}: dd {value:.3f}; half-length {prefix.half_length} [{prefix.half_low}, {prefix.half_high}]")
        print("  " + ", ".join(f"{point.n_tokens}: {point.value:.3f}" for point in prefix.points))
    curves = {name: learning_curve(corpora["real"], corpora[name]) for name in (RISING, LEVEL)}
    drawn["curves"] = draw_curves(curves)
    for name, curve in curves.items():
        print(f"{name}: " + ", ".join(f"{point.n_real}: {point.value:.3f}" for point in curve.points), curve.rise)
    print_details(corpora["real"], corpora[RISING])
    text = Corpus.from_texts(sentences)
    drawn["size"] = draw_sizes(measured(text, ("logistic", "quick", "default"), (FAR, NEAR), SIZES, cells))
    bench = measured(text, ESTIMATORS, PAIR_NAMES, (SENTENCES,), cells)
    print_bench(bench)
    (against,) = bench_document(bench).figures
    return drawn | {"truth": draw_svg(against), "bounds": draw_bounds(bench)}


def shuffled_later(texts: Sequence[str]) -> list[str]:
    """Return sentences whose words are in random order but for the first `HELD` ones."""
    rng = stream(SEED, "pictures")
    words = [text.split() for text in texts]
    return [" ".join([*of_text[:HELD], *rng.permutation(of_text[HELD:])]) for of_text in words]


def measured(
    text: Corpus, estimators: Sequence[str], names: Sequence[str], sizes: Sequence[int], cells: Path | None
) -> Bench:
    """Return what estimators say of the worlds called `names`."""
    chosen = [parse_estimator(name) for name in estimators]
    return run_bench({DOCSTRINGS: text}, chosen, pair_names=names, sizes=sizes, seeds=(SEED,), folder=cells)


def print_bench(bench: Bench) -> None:
    """Print the value of every cell, the bounds of the default effort, and the summary."""
    for world in dict.fromkeys(cell.world for cell in bench.cells):
        here = {cell.estimator: cell for cell in bench.cells if cell.world == world}
        values = ", ".join(f"{name} {cell.value:.3f}" for name, cell in here.items())
        default = here["default"]
        print(f"{world}: truth {default.truth:.3f}, {values}; [{default.low:.3f}, {default.high:.3f}], at least "
              f"{default.bound:.3f}")  # fmt: skip
    for row in summarize(bench):
        if row.kind == ALL:
            print(row)
    print(nulls(bench))


def print_details(real: Corpus, generated: Corpus) -> None:
    """Print what stands beside dd, each effort and the logistic regression alone."""
    for effort in ("quick", "default"):
        found = dd(generated, real, effort=effort)
        told = {key: found.details[key] for key in ("certified_bound", "p_value", "e_value", "plug_in", "won", "alone")}
        print(f"{RISING}, {effort}: {found.value:.3f} {found.interval}; {told}")


@mpl.rc_context(SETTINGS)
def draw_toy(value: float) -> str:
    """Return two bars a sentence, and what they share."""
    figure, axes = canvas(4.7, 2.2, left=0.58, right=1.75, top=0.1, bottom=0.44)
    axes.spines["left"].set_visible(True)
    axes.set_ylabel("probability", color=INK, labelpad=3)
    for row, sentence in enumerate(TOY_REAL):
        real, generated = TOY_REAL[sentence], TOY_GENERATED[sentence]
        both = min(real, generated)
        for place, height, colour in ((row - 0.19, real, REAL), (row + 0.19, generated, GENERATED)):
            axes.bar(place, height - both, 0.34, bottom=both, color=colour)
            axes.bar(place, both, 0.34, color=RULE)
            axes.text(place, height + 0.02, f"{height:.2f}", ha="center", color=INK, fontsize=7.5)
    axes.set_xticks(range(len(TOY_REAL)), list(TOY_REAL), color=INK)
    axes.set_ylim(0, 0.95)
    axes.set_yticks([0, 0.25, 0.5, 0.75])
    axes.grid(visible=False)
    for place, (colour, told) in enumerate(
        (
            (REAL, f"real text has more:\n0.16 + 0.20 + 0.20 = {value:.2f}"),
            (GENERATED, f"generator has more:\n0.81 \N{MINUS SIGN} 0.25 = {value:.2f}"),
            (RULE, f"both have it:\n1 \N{MINUS SIGN} {value:.2f} = {1 - value:.2f}"),
        )
    ):
        axes.text(1.03, 0.9 - 0.34 * place, "\N{BLACK SQUARE}", color=colour, transform=axes.transAxes, va="top")
        axes.text(1.09, 0.9 - 0.34 * place, told, color=INK, transform=axes.transAxes, va="top", fontsize=8)
    return to_svg(figure)


def draw_prefixes(curves: Mapping[str, PrefixCurve]) -> str:
    """Return dd of the first tokens of some generators."""
    colours = dict(zip(curves, COLOURS, strict=True))
    lines = []
    for name, curve in curves.items():
        points = [(0.0, 0.0, 0.0, 0.0), *((p.n_tokens, p.value, p.low, p.high) for p in curve.points)]
        lines.append(Line(name, points, colours[name]))
    return draw_lines(lines, x="first tokens of each sentence", half=True)


def draw_curves(curves: Mapping[str, LearningCurve]) -> str:
    """Return a learning curve that rises and one that does not."""
    colours = dict(zip(curves, reversed(COLOURS[::2]), strict=True))
    lines = [
        Line(name, [(p.n_real, p.value, p.low, p.high) for p in curve.points], colours[name])
        for name, curve in curves.items()
    ]
    return draw_lines(lines, x="sentences a side", logarithmic=True)


def draw_sizes(bench: Bench) -> str:
    """Return dd of two pairs at growing sizes and three efforts, beside their truth."""
    lines = []
    for world, colour in ((FAR, COLOURS[2]), (NEAR, COLOURS[0])):
        cells = [cell for cell in bench.cells if cell.world == world]
        truth = cells[0].truth
        lines.append(Line(f"{world}: truth", [(n, truth, truth, truth) for n in (min(SIZES), max(SIZES))], colour))
        print(f"{world}: truth {truth:.3f}")
        for name, dashes in BY_SIZE.items():
            here = {cell.n: cell.value or 0.0 for cell in cells if cell.estimator == name}
            told = ", ".join(f"{n}: {value:.3f}" for n, value in here.items())
            print(f"  {name}: {told}; a power law ends at {end_of_power_law(here):.3f}")
            points = [(n, value, value, value) for n, value in here.items()]
            lines.append(Line(f"{world}: {name}", points, colour, dashes))
    return draw_lines(lines, x="sentences a side", logarithmic=True, height=3.1)


def end_of_power_law(values: Mapping[int, float]) -> float:
    """Return c of the curve c - a n^-b that fits values by number of sentences n best, in [0, 1]: it is no estimate."""
    sizes = np.array(list(values), dtype=np.float64) / min(values)

    def law(n: FloatArray, c: float, a: float, b: float) -> FloatArray:
        return np.asarray(c - a * n**-b, dtype=np.float64)

    found, _ = curve_fit(law, sizes, list(values.values()), p0=(0.5, 0.4, 0.3), bounds=([0, 0, 0.01], [1, 2, 3]))
    return float(found[0])


def draw_lines(
    lines: Sequence[Line],
    *,
    x: str,
    logarithmic: bool = False,
    half: bool = False,
    height: float = 2.3,
) -> str:
    """Return lines with their bands, named beside."""
    series = []
    for line in lines:
        points = tuple(Point(*point) for point in line.points)
        truth = len(points) == 2
        series.append(Series(line.name, points, line.colour, dots=not truth, band=not truth, dashes=line.dashes,
                             beside=True))  # fmt: skip
    lowest = min(0.0, *(point[2] for line in lines for point in line.points)) - 0.02
    sizes = tuple(point[0] for point in lines[-1].points)
    axis = Axis(x, scale="log2", ticks=sizes) if logarithmic else Axis(x, (0, None))
    references = (Reference(HALF, "y", colour="rule"),) if half else ()
    plot = Curves(tuple(series), axis, Axis("dd", (lowest, None)), references=references, size=(3.9, height))
    return draw_svg(Figure("lines", plot))


def draw_bounds(bench: Bench) -> str:
    """Return the truth, dd with its interval and the certified bound of some worlds, one a row."""
    known = {cell.world: cell for cell in bench.cells if cell.estimator == "default"}
    cells: list[BenchCell] = sorted((known[name] for name in IN_THE_PICTURE_OF_BOUNDS), key=lambda cell: cell.truth)
    bound, truth = Mark(0.0, style="diamond", colour="real"), Mark(0.0, style="cross", colour="ink")
    rows = [
        ForestRow(cell.world, (replace(bound, value=cell.bound), Mark(cell.value, cell.low, cell.high),
                               replace(truth, value=cell.truth)))
        for cell in reversed(cells)
    ]  # fmt: skip
    legend = (("at least, certified", bound), ("dd, 95 % interval", Mark(0.0, 0.0, 0.0)), ("truth", truth))
    return draw_svg(Figure("bounds", Forest(tuple(rows), Axis("total variation", (-0.03, 1.02)), legend=legend)))


if __name__ == "__main__":
    main()
