"""Where a generator gives itself away: dd by sentence length, and the evidence by place in the text."""

import matplotlib as mpl
from matplotlib.axes import Axes

from textassay.comparison import Explanation
from textassay.report.number import number
from textassay.report.old_drawing import Drawing, plane, tick_places
from textassay.report.svg import GENERATED, MUTED, REAL, RULE, SETTINGS, to_svg
from textassay.report.words import printable, slug

_SHARE_HEIGHT = 0.3  # of the figure, for how many sentences there are


@mpl.rc_context(SETTINGS)
def draw_lengths(explanation: Explanation) -> Drawing | None:
    """Return dd with its interval among short and long sentences, over how many there are; None without bins."""
    bins = explanation.lengths
    if not bins:
        return None
    figure, axes = plane(3.1, 1.75, x="tokens in the text", y="dd")
    known = [(place, part.value, part) for place, part in enumerate(bins) if part.value is not None]
    ends = [end for *_, part in known for end in (part.value, part.low, part.high) if end is not None]
    low, high = min([0.0, *ends]), max([0.2, *ends])
    margin = 0.05 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(-0.6, len(bins) - 0.4)
    tick_places(axes)
    shares = axes.twinx()
    axes.patch.set_visible(False)
    for side, colour, dashes in (("real", REAL, "-"), ("generated", GENERATED, (0, (4, 1.6)))):
        counts = [getattr(part, f"n_{side}") for part in bins]
        heights = [n / (sum(counts) or 1) for n in counts]
        shares.stairs(heights, [place - 0.5 for place in range(len(bins) + 1)], color=colour, alpha=0.6, linewidth=0.9,
                      linestyle=dashes)  # fmt: skip
    _hide(shares)
    shares.set_ylim(0, max(1e-9, shares.dataLim.y1) / _SHARE_HEIGHT)
    axes.axhline(0, color=RULE, linewidth=0.8)
    for place, value, part in known:
        if part.low is not None and part.high is not None:
            axes.plot([place, place], [part.low, part.high], "-", color=GENERATED, linewidth=1.4)
        axes.plot([place], [value], "o", color=GENERATED, ms=4, mew=0)
    names = [_span(part.shortest, part.longest) for part in bins]
    shown = [*names[:-1], f"{bins[-1].shortest}+"] if len(bins) > 1 else names
    axes.set_xticks(range(len(bins)), shown)
    told = "; ".join(
        f"{name} tokens {'too few' if part.value is None else number(part.value, 2)}"
        for name, part in zip(names, bins, strict=True)
    )
    name = explanation.generator
    description = f"dd of {printable(name)} by length: {told}."
    return Drawing("lengths", name, f"lengths-{slug(name)}.svg", to_svg(figure), description)


@mpl.rc_context(SETTINGS)
def draw_positions(explanation: Explanation) -> Drawing | None:
    """Return the evidence of the tokens in each part of the sentence, of both sides; None without bins."""
    bins = explanation.positions
    if not bins:
        return None
    figure, axes = plane(3.1, 1.75, x="place in the text", y="nats for real")
    edges = [100 * part.begin for part in bins] + [100 * bins[-1].end]
    for side, colour, dashes in (("real", REAL, "-"), ("generated", GENERATED, (0, (4, 1.6)))):
        heights = [getattr(part, f"evidence_{side}") for part in bins]
        axes.stairs(heights, edges, baseline=0, fill=True, color=colour, alpha=0.14, linewidth=0)
        axes.stairs(heights, edges, baseline=0, color=colour, linewidth=1.3, linestyle=dashes)
    axes.axhline(0, color=MUTED, linewidth=0.6)
    axes.set_xlim(edges[0], edges[-1])
    tick_places(axes)
    axes.set_xticks([edges[0], edges[-1]], ["begin", "end"])
    told = "; ".join(
        f"{100 * part.begin:.0f} to {100 * part.end:.0f} %: real {number(part.evidence_real, 2)}, "
        f"generated {number(part.evidence_generated, 2)}"
        for part in bins
    )
    name = explanation.generator
    description = f"Evidence for being real by place in the text, {printable(name)}: {told}."
    return Drawing("positions", name, f"positions-{slug(name)}.svg", to_svg(figure), description)


def _span(shortest: int, longest: int) -> str:
    return str(shortest) if shortest == longest else f"{shortest}\N{EN DASH}{longest}"


def _hide(axes: Axes) -> None:
    axes.set_yticks([])
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
