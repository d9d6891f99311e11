"""From a matplotlib figure to SVG: reproducible bytes, text as text, and colours that a page can turn into variables.

Colours: two hues of Okabe and Ito, "Color Universal Design" (2008), darkened until they read as text on white. Those of
further series keep apart, from each other and from these two, for eyes with protanopia, deuteranopia or tritanopia as
Machado, Oliveira and Fernandes, IEEE TVCG 2009, simulate them (at least 0.07 in Oklab), on white and on black.
"""

import io
import re
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1c2127"
MUTED = "#5d6875"
RULE = "#d3d8de"
REAL = "#0b659f"
GENERATED = "#bf4a06"
PALETTE = {
    "ink": INK, "muted": MUTED, "rule": RULE, "real": REAL, "generated": GENERATED, "green": "#1f9b82",
    "plum": "#a13170", "violet": "#7973ca", "olive": "#8c8e4b", "maroon": "#430613", "navy": "#323368",
    "umber": "#514d41",
}  # fmt: skip
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "textassay",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.unicode_minus": True,
    "text.parse_math": False,
}
_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
_TAG = re.compile(r"<[^>]*>")
_EXACT = re.compile(r"(\d+\.\d\d)\d+")
_NEEDLESS = re.compile(r' transform="rotate\(-?0 [^"]*"| (?<=<g )id="[^"]*"|font-family: [^;"]*;? ?')
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_FIXED = f"font-family: {_FONTS}; width: {{:g}}px; max-width: 100%; height: auto"


def canvas(
    width: float, height: float, *, left: float, right: float, top: float, bottom: float
) -> "tuple[Figure, Axes]":
    """Return a transparent figure of `width` by `height` inches and its axes inside the margins, also in inches."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # here, so that a page without figures needs none
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    figure.patch.set_visible(False)
    return figure, add_axes(figure, left=left, right=right, top=top, bottom=bottom)


def add_axes(
    figure: "Figure", *, left: float, right: float, top: float, bottom: float, beside: "Axes | None" = None
) -> "Axes":
    """Return new axes inside the margins, in inches, with the limits of the axes `beside` them, if any."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height),
        sharex=beside,
        sharey=beside,
    )
    axes.patch.set_visible(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(RULE)
    axes.tick_params(color=RULE, labelcolor=MUTED, length=3, width=0.8, labelsize=7.5, pad=2)
    axes.set_yticks([])
    return axes


def to_svg(figure: "Figure") -> str:
    """Return the figure as an SVG document in the reader's own sans-serif."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Names may hold characters that the font used for measuring has not; the reader's font draws them.
        warnings.filterwarnings("ignore", message=r"Glyph \d+", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support", category=UserWarning)
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return _lighter(buffer.getvalue())


def _lighter(svg: str) -> str:
    """Return `svg` with the fonts named once, coordinates to a hundredth of a point, and no groups without a use."""
    is_kept: list[bool] = []  # of the groups that are open

    def lighter(tag: re.Match[str]) -> str:
        if tag[0] == "</g>":
            return tag[0] if is_kept.pop() else ""
        kept = _EXACT.sub(r"\1", _NEEDLESS.sub("", tag[0]))
        if tag[0].startswith("<g"):
            if tag[0].endswith("/>"):
                return ""
            is_kept.append(kept != "<g>")
            return kept if is_kept[-1] else ""
        return kept.replace("<svg ", f'<svg font-family="{_FONTS}" ', 1)

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "\n", _TAG.sub(lighter, svg))


def on_white(svg: str) -> str:
    """Return an SVG document with a white ground, so that it can be read on dark pages, too."""
    start = svg.index(">", svg.index("<svg")) + 1
    return f'{svg[:start]}<rect width="100%" height="100%" fill="#ffffff"/>{svg[start:]}'


def to_inline(svg: str, *, name: str, title: str, themed: bool = True) -> str:
    """Return `svg` as an element for a page: colours as variables, ids of its own, no size but its proportions.

    `themed`: whether the page has our variables and styles; else colours are fixed, and the size is its own.
    """
    start = svg.index("<svg")
    head_end = svg.index(">", start)
    head, body = svg[start:head_end], svg[head_end + 1 :]
    box = re.search(r'viewBox="([^"]*)"', head)
    assert box is not None
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="(?!DejaVu)([^"]*)"', rf'id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'xlink:href="#([^"]*)"', rf'href="#{name}-\1"', body)
    for variable, colour in PALETTE.items() if themed else ():
        body = body.replace(colour, f"var(--{variable})")
    width = float(box[1].split()[2])
    style = f"--natural: {width:g}" if themed else _FIXED.format(1.25 * width)
    return f'<svg viewBox="{box[1]}" role="img" aria-label="{title}" style="{style}">{body.strip()}'
