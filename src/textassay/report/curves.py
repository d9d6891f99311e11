"""Curves: the discriminator's receiver operating characteristic, MAUVE's divergence frontier, dd by size and prefix.

Nothing here is computed: the points stand in the details of the estimates and in the explanations.
"""

import math
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from textassay.comparison import FLOOR, HALF, Explanation
from textassay.estimate import Estimate
from textassay.report.digest import Digest
from textassay.report.explanation_text import curve_statement, prefix_statement
from textassay.report.number import count, number
from textassay.report.old_drawing import INCHES_A_LETTER, LABEL_HEIGHT, Drawing, label, names_beside, plane, tick_places
from textassay.report.svg import GENERATED, INK, REAL, RULE, SETTINGS, to_svg
from textassay.report.words import printable, slug

_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.4, 1.4), (6, 1.6, 1.4, 1.6))


@mpl.rc_context(SETTINGS)
def draw_roc(digest: Digest, generator: str) -> Drawing | None:
    """Return how many real sentences are found at what share of false alarms; None where no metric keeps the points."""
    for metric in digest.comparison.metrics:
        points = digest.detail(generator, metric, "roc")
        if points is not None:
            break
    else:
        return None
    area = digest.detail(generator, metric, "auc")
    figure, axes = plane(2.35, 2.15, x="generated called real", y="real called real")
    axes.plot([0, 1], [0, 1], color=RULE, linewidth=0.9)
    axes.plot(*zip(*points, strict=True), color=REAL if generator in digest.floors else GENERATED, linewidth=1.4)
    if area is not None:
        axes.text(0.95, 0.08, f"AUC {number(area, 3)}", ha="right", color=INK, transform=axes.transAxes)
    _unit_square(axes)
    told = (
        f"Receiver operating characteristic of the classifier for {printable(generator)}: share of real texts "
        f"called real against share of generated ones called real, at every threshold; the diagonal is guessing. "
        f"Area {number(area, 3)}."
    )
    return Drawing("roc", generator, f"roc-{slug(generator)}.svg", to_svg(figure), told)


@mpl.rc_context(SETTINGS)
def draw_frontier(digest: Digest) -> Drawing | None:
    """Return the divergence frontiers of all generators and of real text, all at the floor's size where it is known.

    None where no metric keeps any.
    """
    for metric in digest.comparison.metrics:
        curves = _frontiers(digest, metric)
        if any(name in digest.generators for name in curves):
            break
    else:
        return None
    names = {name: label(name) for name in curves}
    margin = 0.3 + INCHES_A_LETTER * max(map(len, names.values()))
    height = max(3.1, 0.6 + LABEL_HEIGHT * len(curves))
    figure, axes = plane(3.1 + margin, height, x="generated text: like the mixture", y="real text: like the mixture",
                         right=margin)  # fmt: skip
    corners = {}
    for place, (name, estimate) in enumerate(curves.items()):
        points = estimate.details["frontier"]
        floor = name in digest.floors
        axes.plot(*zip(*points, strict=True), color=REAL if floor else GENERATED, linewidth=1.3,
                  dashes=(3, 2) if floor else _DASHES[place % len(_DASHES)])  # fmt: skip
        corners[name] = tuple(max(points, key=min))
    _unit_square(axes)
    names_beside(axes, {name: (corners[name], names[name], _ink(digest, name)) for name in corners},
                 height=height - 0.54, bold=digest.marked(digest.headline or ""))  # fmt: skip
    told = "; ".join(f"{printable(name)} {number(estimate.value, 3)}" for name, estimate in curves.items())
    return Drawing(
        "frontier",
        metric,
        f"frontier-{slug(metric)}.svg",
        to_svg(figure),
        f"Divergence frontiers; the area under each is {metric}: {told}.",
    )


@mpl.rc_context(SETTINGS)
def draw_learning_curve(explanation: Explanation) -> Drawing | None:
    """Return dd at growing sample sizes with its intervals; None where there is none."""
    curve = explanation.curve
    if not curve:
        return None
    sizes = [point.n_generated for point in curve]
    figure, axes = plane(3.1, 1.75, x="generated texts", y="dd")
    axes.fill_between(sizes, [point.low for point in curve], [point.high for point in curve], color=GENERATED,
                      alpha=0.14, linewidth=0)  # fmt: skip
    axes.plot(sizes, [point.value for point in curve], "o-", color=GENERATED, linewidth=1.3, ms=3.4, mew=0)
    axes.set_xscale("log", base=2)
    tick_places(axes)
    axes.xaxis.set_major_locator(FixedLocator(_spaced(sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
    told = ", ".join(f"{number(point.value, 3)} of {count(point.n_generated)}" for point in curve)
    return Drawing(
        "curve",
        explanation.generator,
        f"curve-{slug(explanation.generator)}.svg",
        to_svg(figure),
        f"dd of {printable(explanation.generator)} by number of texts: {told}. {curve_statement(explanation)}",
    )


@mpl.rc_context(SETTINGS)
def draw_prefixes(explanation: Explanation) -> Drawing | None:
    """Return dd of the first tokens with its intervals, and where it reaches one half; None where there is none."""
    points = explanation.prefixes
    if not points:
        return None
    lengths = [point.n_tokens for point in points]
    figure, axes = plane(3.1, 1.75, x="first tokens of each text", y="dd")
    axes.fill_between(lengths, [point.low for point in points], [point.high for point in points], color=GENERATED,
                      alpha=0.14, linewidth=0)  # fmt: skip
    axes.plot(lengths, [point.value for point in points], "o-", color=GENERATED, linewidth=1.3, ms=3.4, mew=0)
    axes.set_ylim(min(0.0, *(point.low for point in points)) - 0.02, 1.02)
    axes.set_xlim(0, max(lengths) + 0.5)
    tick_places(axes)
    axes.axhline(HALF, color=RULE, linewidth=0.8)
    if explanation.half_length is not None:
        axes.plot([explanation.half_length] * 2, [axes.get_ylim()[0], HALF], color=INK, linewidth=0.9, dashes=(2, 2))
    told = ", ".join(f"{number(point.value, 3)} of {count(point.n_tokens)}" for point in points)
    return Drawing(
        "prefixes",
        explanation.generator,
        f"prefixes-{slug(explanation.generator)}.svg",
        to_svg(figure),
        f"dd of the first tokens, {printable(explanation.generator)}: {told}. {prefix_statement(explanation)}",
    )


def _frontiers(digest: Digest, metric: str) -> dict[str, Estimate]:
    """Return the estimates that hold frontiers, at the floor's size where all have them, real text last."""
    found = {}
    for name in (*digest.order, FLOOR):
        estimate = digest.matched(name, metric) or digest.estimate(name, metric)
        if estimate is not None and estimate.details.get("frontier"):
            found[name] = estimate
    return found


def _ink(digest: Digest, name: str) -> str:
    return REAL if name in digest.floors else INK


def _unit_square(axes: Axes) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.005)
    for set_ticks in (axes.set_xticks, axes.set_yticks):
        set_ticks([0, 0.5, 1], ["0", "0.5", "1"])


def _spaced(sizes: Sequence[int]) -> list[int]:
    """Return those sizes, the largest among them, whose labels have room on a logarithmic axis."""
    room = math.log2(max(sizes) / min(sizes)) / 4 if min(sizes) < max(sizes) else 1
    kept = [max(sizes)]
    for size in sorted(sizes, reverse=True)[1:]:
        if math.log2(kept[-1] / size) >= room * 0.99:
            kept.append(size)
    return kept
