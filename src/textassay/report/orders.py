"""Which order can be trusted: the matrix of differences between generators, and their ranks by every metric."""

import math
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from textassay.report.digest import Digest
from textassay.report.kinds import family_of, variant_of
from textassay.report.number import number
from textassay.report.old_drawing import INCHES_A_LETTER, Drawing, label, row_text, with_minus
from textassay.report.svg import GENERATED, INK, MUTED, RULE, SETTINGS, canvas, to_svg
from textassay.report.words import printable, slug

_ROW = 0.25
_COLUMN = 0.62
_MOST_COLUMNS = 12
_HEADER = 2.6  # rows above a panel


@mpl.rc_context(SETTINGS)
def draw_pairs(digest: Digest, metric: str) -> Drawing | None:
    """Return the matrix of differences, row minus column; a filled cell is significant. None below two generators."""
    found = {(pair.a, pair.b): pair for pair in digest.pairs(metric)}
    order = list(digest.order)
    known = [abs(pair.difference) for pair in found.values() if pair.difference is not None]
    if len(order) < 2 or not known:
        return None
    largest = max(known) or 1.0
    cell = 0.5
    names = [label(name) for name in order]
    longest = INCHES_A_LETTER * max(map(len, names))
    n = len(order) - 1
    figure, axes = canvas(
        0.2 + longest + cell * n + 0.75 * longest, 0.2 + 0.34 * n + 0.75 * longest,
        left=0.12 + longest, right=0.08 + 0.75 * longest, top=0.1 + 0.75 * longest, bottom=0.1,
    )  # fmt: skip
    places = 2
    for i in range(1, len(order)):
        row_text(axes, i - 1, names[i])
        for j in range(i):
            pair = found.get((order[i], order[j])) or found.get((order[j], order[i]))
            if pair is None or pair.difference is None:
                continue
            difference = pair.difference if pair.a == order[i] else -pair.difference
            significant = digest.separated(pair)
            box = FancyBboxPatch(
                (j + 0.05, i - 1 - 0.42), 0.9, 0.84, boxstyle="round,pad=0,rounding_size=0.08", mutation_aspect=1.4,
                facecolor=GENERATED if significant else "none",
                alpha=0.14 + 0.4 * abs(difference) / largest if significant else None,
                edgecolor="none" if significant else MUTED, linewidth=0.7, linestyle=(0, (2, 2)),
            )  # fmt: skip
            axes.add_patch(box)
            axes.text(j + 0.5, i - 1, with_minus(number(difference, places, sign=True)), ha="center",
                      va="center", color=INK if significant else MUTED, fontsize=7.5)  # fmt: skip
    for j in range(n):
        axes.text(j + 0.42, -0.62, names[j], rotation=45, rotation_mode="anchor", ha="left", va="center", color=INK)
    axes.set_xlim(0, n)
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xticks([])
    apart = sum(digest.separated(pair) for pair in found.values())
    told = (
        f"Matrix of differences by {metric}, row minus column. {apart} of {len(found)} pairs are separated; the table "
        "of pairs gives every number."
    )
    return Drawing("pairs", metric, f"pairs-{slug(metric)}.svg", to_svg(figure), told)


@mpl.rc_context(SETTINGS)
def draw_ranks(digest: Digest) -> Drawing | None:
    """Return the rank intervals of every generator under every metric that ranks, in panels below each other.

    None below two generators.
    """
    metrics = [metric for metric in digest.metrics if any((g, metric) in digest.ranks for g in digest.generators)]
    n = len(digest.generators)
    if n < 2 or not metrics:
        return None
    names = [label(name) for name in digest.order]
    left = 0.12 + INCHES_A_LETTER * max(map(len, names))
    panels = _panels(metrics)
    n_columns = max(map(len, panels))
    n_rows = len(panels) * (n + _HEADER)
    figure, axes = canvas(left + _COLUMN * n_columns + 0.1, _ROW * n_rows, left=left, right=0.1, top=0.02, bottom=0.02)
    for place, panel in enumerate(panels):
        top = place * (n + _HEADER) + _HEADER - 0.6
        _ranks_panel(digest, axes, panel, top)
        for row, name in enumerate(names):
            row_text(axes, top + row, name, bold=digest.order[row] in digest.marked(digest.headline or ""))
    axes.set_xlim(0, n_columns)
    axes.set_ylim(n_rows, 0)
    axes.spines["bottom"].set_visible(False)
    axes.set_xticks([])
    told = "Rank intervals: " + "; ".join(
        f"{printable(g)} {', '.join(f'{digest.rank_text(g, m)} by {m}' for m in metrics if (g, m) in digest.ranks)}"
        for g in digest.order
    )
    return Drawing("ranks", "", "ranks.svg", to_svg(figure), told + ".")


def _panels(metrics: Sequence[str]) -> list[list[str]]:
    """Return the metrics in as few panels as they need, of about equal width, families together where they fit."""
    width = math.ceil(len(metrics) / math.ceil(len(metrics) / _MOST_COLUMNS)) + 1
    panels: list[list[str]] = [[]]
    families: dict[str, list[str]] = {}
    for metric in metrics:
        families.setdefault(family_of(metric), []).append(metric)
    for family in families.values():
        if panels[-1] and len(panels[-1]) + len(family) > min(width, _MOST_COLUMNS):
            panels.append([])
        for metric in family:
            if len(panels[-1]) == _MOST_COLUMNS:
                panels.append([])
            panels[-1].append(metric)
    return panels


def _ranks_panel(digest: Digest, axes: Axes, metrics: Sequence[str], top: float) -> None:
    """Draw one column a metric, its first row at `top`."""
    n = len(digest.generators)
    gap, bar = 0.14, 0.055
    rules: list[tuple[float, float, float]] = []
    bars: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    for place, metric in enumerate(metrics):
        start, scale = place + gap / 2, (1 - gap - 2 * bar) / max(1, n - 1)
        family, variant = family_of(metric), variant_of(metric)
        name = variant or "-\n".join(family.rsplit("-", 1)) if len(family) > 10 else variant or family
        axes.text(place + 0.5, top - 0.6, name, ha="center", va="bottom", color=INK, fontsize=7, linespacing=1.0)
        if variant and (place == 0 or family_of(metrics[place - 1]) != family):
            axes.text(place + gap / 2, top - 1.2, family, ha="left", va="bottom", color=INK, fontsize=7.5,
                      fontweight="bold")  # fmt: skip
        for end, tick in ((0, "1"), (n - 1, str(n))):
            axes.text(start + bar + scale * end, top + n - 0.55, tick, ha="center", va="top", color=MUTED, fontsize=6.5)
        for row, generator in enumerate(digest.order):
            rules.append((top + row, start, place + 1 - gap / 2))
            rank = digest.ranks.get((generator, metric))
            if rank is not None:
                ends = (start + bar + scale * (rank.low - 1), start + bar + scale * (rank.high - 1))
                bars[generator in digest.marked(metric)].append((top + row, *ends))
    heights, begins, ends_of = map(list, zip(*rules, strict=True))
    axes.hlines(heights, begins, ends_of, colors=RULE, linewidths=0.8, zorder=0)
    for best, lines in bars.items():
        if lines:
            heights, begins, ends_of = map(list, zip(*lines, strict=True))
            axes.hlines(heights, begins, ends_of, colors=GENERATED, linewidths=5, alpha=1.0 if best else 0.55,
                        capstyle="round")  # fmt: skip
