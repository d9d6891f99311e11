"""The plane of quality and diversity: what a generator writes well against how much of real text it reaches.

Every point is measured at the floor's size, because these metrics move with the number of sentences; the cross is real
text at that size. Axes are turned so that right and up are more quality and more diversity, whatever the metric's own
direction; the goal is the cross, not the corner.
"""

import math
import re

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from textassay.comparison import FLOOR
from textassay.estimate import Estimate
from textassay.report.digest import Digest
from textassay.report.kinds import family_of
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, LABEL_HEIGHT, Drawing, label, names_beside, plane, tick_places
from textassay.report.svg import GENERATED, INK, REAL, SETTINGS, to_svg
from textassay.report.words import printable, slug

# (quality, diversity); of a family with orders, those of one order.
_PAIRS = (
    ("bleu", "self-bleu"),
    ("lm-score", "reverse-lm-score"),
    ("precision", "recall"),
    ("density", "coverage"),
)
_FALLING = {"self-bleu", "lm-score", "reverse-lm-score"}  # less of it is more quality, or more diversity


def plane_pairs(digest: Digest) -> list[tuple[str, str]]:
    """Return the pairs (quality, diversity) of metrics that the comparison has."""
    pairs = []
    for quality in digest.metrics:
        for first, second in _PAIRS:
            diversity = re.sub(r"^[^(]*", second, quality)
            if family_of(quality) == first and diversity in digest.metrics:
                pairs.append((quality, diversity))
    return pairs


def draw_planes(digest: Digest) -> list[Drawing]:
    """Return one panel a pair of metrics: those in which some generator has both values."""
    drawn = (_draw(digest, quality, diversity) for quality, diversity in plane_pairs(digest))
    return [drawing for drawing in drawn if drawing is not None]


@mpl.rc_context(SETTINGS)
def _draw(digest: Digest, quality: str, diversity: str) -> Drawing | None:
    points = {name: both for name in digest.order if (both := _both(digest, name, quality, diversity)) is not None}
    if not points:
        return None
    floor = _both(digest, FLOOR, quality, diversity)
    everyone = {**points, **({} if floor is None else {FLOOR: floor})}
    names = {name: label(name) for name in everyone}
    right = 0.3 + INCHES_A_LETTER * max(map(len, names.values()))
    height = max(2.5, 0.6 + LABEL_HEIGHT * len(names))
    figure, axes = plane(2.7 + right, height, x=f"{quality}: quality →", y=f"{diversity}: diversity →", right=right)
    if floor is not None:
        _region(axes, *floor)
        axes.plot([floor[0].value], [floor[1].value], "+", color=REAL, ms=11, mew=1.6, zorder=3)
    for x, y in points.values():
        for estimate, horizontal in ((x, True), (y, False)):
            if estimate.interval is not None and math.isfinite(estimate.interval.low + estimate.interval.high):
                ends = (estimate.interval.low, estimate.interval.high)
                line = (ends, (y.value, y.value)) if horizontal else ((x.value, x.value), ends)
                axes.plot(*line, "-", color=GENERATED, linewidth=1.1, alpha=0.7)
        axes.plot([x.value], [y.value], "o", color=GENERATED, ms=4.4, mew=0)
    tick_places(axes)
    axes.margins(0.14, 0.12)
    axes.autoscale_view()
    if family_of(quality) in _FALLING:
        axes.invert_xaxis()
    if family_of(diversity) in _FALLING:
        axes.invert_yaxis()
    beside = {
        name: ((x.value, y.value), names[name], REAL if name == FLOOR else INK) for name, (x, y) in everyone.items()
    }
    names_beside(axes, beside, height=height - 0.54, bold=digest.marked(digest.headline or ""))
    told = "; ".join(
        f"{printable(name)} {number(x.value, digest.places(quality))} and {number(y.value, digest.places(diversity))}"
        for name, (x, y) in everyone.items()
    )
    return Drawing(
        "plane",
        quality,
        f"plane-{slug(quality)}.svg",
        to_svg(figure),
        f"Quality by {quality} and diversity by {diversity}, at the floor's size: {told}.",
    )


def _both(digest: Digest, name: str, quality: str, diversity: str) -> tuple[Estimate, Estimate] | None:
    x, y = digest.matched(name, quality), digest.matched(name, diversity)
    return None if x is None or y is None else (x, y)


def _region(axes: Axes, x: Estimate, y: Estimate) -> None:
    """Shade the intervals of real text."""
    if x.interval is None or y.interval is None:
        return
    corner = (x.interval.low, y.interval.low)
    sides = (x.interval.high - x.interval.low, y.interval.high - y.interval.low)
    if all(map(math.isfinite, (*corner, *sides))):
        axes.add_patch(Rectangle(corner, *sides, facecolor=REAL, alpha=0.15, linewidth=0))
