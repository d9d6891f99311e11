"""Figures of an approximation: bits against the number of draws, and the stopping rule beside the true error."""

from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from textassay.approximation import Approximation, RuleCurve
from textassay.report.number import count, number
from textassay.report.old_drawing import Drawing, label, legend, plane, tick_places
from textassay.report.svg import GENERATED, INK, MUTED, REAL, SETTINGS, to_svg
from textassay.report.words import printable

_WIDTH, _HEIGHT = 3.8, 2.5
_COLOURS = (GENERATED, REAL, INK, MUTED)
_ROUND = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)


def draw_approximation(found: Approximation) -> list[Drawing]:
    """Return the figures that an approximation allows; none where nothing was drawn."""
    drawn = [_bits(found)] if len(found.curve) > 1 else []
    return drawn + ([] if found.rule is None else [draw_rules({found.generator: found.rule})])


@mpl.rc_context(SETTINGS)
def _bits(found: Approximation) -> Drawing:
    unit = "bits per character" if found.characters_per_token == 1 else "bits per token"
    figure, axes = plane(_WIDTH, _HEIGHT, x="draws a position, N", y=unit, top=0.36)
    sizes = [point.n_samples for point in found.curve]
    lines = {
        "approximate": Line2D([], [], color=GENERATED, marker="o", ms=3.4, mew=0, linewidth=1.3),
        "corrected": Line2D([], [], color=REAL, marker="o", ms=3.4, mew=0, linewidth=1.3),
    }
    for name, values in (("approximate", [point.plain for point in found.curve]),
                         ("corrected", [point.corrected for point in found.curve])):  # fmt: skip
        axes.plot(sizes, values, "o-", color=lines[name].get_color(), linewidth=1.3, ms=3.4, mew=0)
    told = (
        f"Cost of the text under {printable(found.generator)} against the number of draws: approximate "
        f"{number(found.curve[0].plain, 3)} at {count(sizes[0])} and {number(found.curve[-1].plain, 3)} at "
        f"{count(sizes[-1])}; corrected {number(found.curve[0].corrected, 3)} and "
        f"{number(found.curve[-1].corrected, 3)}"
    )
    if found.exact is not None and found.gap is not None:
        axes.axhline(found.exact.value, color=INK, linewidth=1.0, dashes=(3, 2))
        lines["exact"] = Line2D([], [], color=INK, linewidth=1.0, dashes=(3, 2))
        told += f"; exact {number(found.exact.value, 3)}"
    axes.set_xscale("log", base=2)
    tick_places(axes)
    _label_sizes(axes, sizes)
    legend(figure, lines, left=0.58, columns=3)
    return Drawing("curve", found.generator, "bits-against-draws.svg", to_svg(figure), f"{told}, {unit}.")


@mpl.rc_context(SETTINGS)
def draw_rules(rules: Mapping[str, RuleCurve]) -> Drawing:
    """Return the stopping rule of one generator or several: changes as lines, true errors, where known, as dashes."""
    height = 2.1 + 0.2 * (len(rules) + 2)
    top = 0.14 + 0.2 * (len(rules) + 1)
    figure, axes = plane(_WIDTH, height, x="draws a position, N", y="largest difference of a share", top=top)
    lines, told = {}, []
    for place, (name, rule) in enumerate(rules.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        axes.plot(rule.sizes, rule.differences, color=colour, linewidth=1.3)
        lines[f"{label(name)}: change over {rule.alpha} draws"] = Line2D([], [], color=colour, linewidth=1.3)
        of_one = f"{printable(name)}: change over the last {rule.alpha} draws, log-log slope {number(rule.slope, 2)}"
        if rule.errors is not None:
            axes.plot(rule.sizes, rule.errors, color=colour, linewidth=1.1, dashes=(5, 1.6))
            lines["true error"] = Line2D([], [], color=INK, linewidth=1.1, dashes=(5, 1.6))
            of_one += f"; true error, slope {number(rule.error_slope, 2)}"
        if rule.stops_at is not None:
            axes.plot([rule.stops_at], [rule.gamma], "o", color=colour, ms=4, mew=0)
            of_one += f"; the rule stops at N = {count(rule.stops_at)}"
        told.append(of_one)
    first = next(iter(rules.values()))
    axes.axhline(first.gamma, color=MUTED, linewidth=0.9, dashes=(1.4, 1.4))
    lines[f"{first.gamma:g}, which the rule asks for"] = Line2D([], [], color=MUTED, linewidth=0.9, dashes=(1.4, 1.4))
    if "true error" in lines:
        lines["true error"] = lines.pop("true error")  # last
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    longest = max(rule.sizes[-1] for rule in rules.values())
    _label_sizes(axes, [size for size in _ROUND if first.sizes[0] <= size <= longest])
    legend(figure, lines, left=0.58)
    return Drawing("curve", "", "stopping-rule.svg", to_svg(figure), f"{'. '.join(told)}.")


def _label_sizes(axes: Axes, sizes: list[int]) -> None:
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: count(round(value)))
