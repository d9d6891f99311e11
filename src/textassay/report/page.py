"""A document as a page: one file, readable offline and without script, light and dark, on paper and on a phone.

Every text from outside goes through Jinja's escaping, figures are ours with names escaped when they were drawn, and the
page's policy lets a browser run nothing but the page's own script, which it names by its hash: tables are sorted, their
columns switched, and texts filtered by it.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from textassay.corpus.tokenizer import is_unspaced
from textassay.report.document import Document, Figure, Part, Pieces, Section, TextEntry, Texts
from textassay.report.latex import latex_table
from textassay.report.plots import Curves, Forest, HeatMap, series_colour
from textassay.report.svg import on_white, to_inline
from textassay.report.table import ARROWS, Cell, Column, Table
from textassay.report.text import printable, slug

_OPEN_SECTIONS = 3  # of the page; the others are folded
_SHOWN_TEXTS = 12  # of a list; a button shows the others, and without script they are there
_LONG_TEXT = 1000  # characters: longer texts scroll in a box
_MOST_NARROW_COLUMNS = 8  # of a heat map beside another figure
_WORD, _SHORT_NAME, _SLIM, _LONG = 16, 24, 9, 60  # letters
_MOST_PANELS_BESIDE = 3
_MINUS = re.compile(r"(?<![\w.)])-(?=\.?\d)")
_RIGHT_TO_LEFT = re.compile("[{0}][{0} -]*(?<! )".format(r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"))
_FOR_SCRIPT = re.compile(r' data-(?:latex|key|first|width|column)="[^"]*"')  # quotes within are escaped


def to_html(document: Document, drawings: Mapping[str, str] | None = None) -> str:
    """Return the page; `drawings`: figures that are drawn already, as SVG by name."""
    environment = _environment()
    script = _without_blank_lines(_source("document.js"))  # as the page is, or its hash would differ
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template("document.html.j2").render(
        document=document, script=Markup(script), style=Markup(_source("document.css")), script_hash=digest,
        drawn=_drawer(drawings or {}), n_open=_OPEN_SECTIONS, **_variables(document),
    )  # fmt: skip
    return _without_blank_lines(page)


def to_fragment(document: Document) -> str:
    """Return the body of the page without script, with a few styles of its own: what a notebook shows.

    Figures stand on white in fixed colours: a notebook may be dark, and its variables are not ours.
    """
    environment = _environment()
    body = environment.get_template("fragment.html.j2").render(
        document=document, style=Markup(_source("fragment.css")), drawn=_drawn_on_white, n_open=None,
        **_variables(document),
    )  # fmt: skip
    return f'<div class="textassay">{_without_blank_lines(_FOR_SCRIPT.sub("", body))}</div>'


def _variables(document: Document) -> dict[str, Any]:
    """Return what both templates are given: sections, the lead, colours of series, tables that a paper prints."""
    papers = [table for table in document.tables if table.main] or document.tables
    colours = {name: series_colour(place) for place, name in enumerate(document.series)}
    return {"anchors": _anchors(document), "lead": _lead(document), "colours": colours, "papers": papers}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("textassay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": lambda text: _isolated(_MINUS.sub("\N{MINUS SIGN}", _lines(text))),
        "isolated": _isolated,
        "quoted": _lines,
        "slug": slug,
        "kind": _kind,
        "latex": latex_table,
        "heads": _heads,
        "sort_key": _sort_key,
        "marked": _marked,
        "pieces": _pieces,
        "groups": _groups,
        "runs": _runs,
        "is_wide": _is_wide,
        "fits_beside": _fits_beside,
        "look": _look,
        "is_slim": _is_slim,
    }
    environment.globals["arrows"] = ARROWS
    environment.globals["shown_texts"] = _SHOWN_TEXTS
    environment.globals["long_text"] = _LONG_TEXT
    return environment


def _without_blank_lines(text: str) -> str:
    return re.sub(r"\n\s*\n+", "\n", text)


def _lines(text: str) -> str:
    """Return `text` with nothing in it that could steer, its line breaks kept: tooltips and code have several lines."""
    return "\n".join(map(printable, text.split("\n")))


def _isolated(text: str) -> Markup:
    """Return `text`, escaped, with words that run from right to left kept from turning what stands beside them."""
    return Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(text))))


@cache
def _source(name: str) -> str:
    loader = PackageLoader("textassay.report")
    return loader.get_source(_environment(), name)[0]


def _anchors(document: Document) -> list[tuple[str, Section]]:
    """Return the sections with ids that differ."""
    anchors: dict[str, Section] = {}
    for section in document.sections:
        name, n = slug(section.title), 1
        while name in anchors:
            n += 1
            name = f"{slug(section.title)}-{n}"
        anchors[name] = section
    return list(anchors.items())


def _kind(part: Part) -> str:
    return type(part).__name__


def _lead(document: Document) -> Figure | None:
    return next((figure for figure in document.figures if figure.name == document.lead), None)


def _drawn_on_white(figure: Figure) -> Markup:
    """Return a figure for a place whose styles are not ours; its ids differ from those of others of its name."""
    from textassay.report.drawing import draw_svg  # loads Matplotlib

    svg = on_white(draw_svg(figure))
    name = f"{slug(figure.name)}-{zlib.crc32(svg.encode()):08x}"
    return Markup(to_inline(svg, name=name, title=_described(figure), themed=False))


def _described(figure: Figure) -> str:
    return str(escape(printable(figure.description)))


def _drawer(drawings: Mapping[str, str]) -> Callable[[Figure], Markup]:
    from textassay.report.drawing import draw_svg  # loads Matplotlib

    def drawn(figure: Figure) -> Markup:
        svg = drawings.get(figure.name) or draw_svg(figure)
        return Markup(to_inline(svg, name=slug(figure.name), title=_described(figure)))

    return drawn


def _heads(table: Table) -> list[tuple[str, int, int, int]]:
    """Return the upper line of a head with groups: (name with its arrow, columns, how many show, the first one)."""
    spans: list[tuple[str, int, int, int]] = []
    for place, column in enumerate(table.columns):
        arrow = ARROWS[column.better] if column.better and column.group else ""
        name = f"{column.group} {arrow}".strip()
        if spans and name and spans[-1][0] == name:
            _, width, shown, first = spans[-1]
            spans[-1] = (name, width + 1, shown + (not column.hidden), first)
        else:
            spans.append((name, 1, int(not column.hidden), place))
    return spans


def _runs(parts: Sequence[Part], lead: Figure | None) -> list[list[Part]]:
    """Return the parts, figures that follow one another together, without the one that leads the page."""
    runs: list[list[Part]] = []
    for part in parts:
        if lead is not None and isinstance(part, Figure) and part.name == lead.name:
            continue
        if runs and isinstance(part, Figure) and isinstance(runs[-1][-1], Figure):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _is_wide(figure: Figure) -> bool:
    """Return whether a figure needs the width of the page."""
    plot = figure.plot
    if isinstance(plot, HeatMap):
        return len(plot.columns) > _MOST_NARROW_COLUMNS
    return isinstance(plot, Forest | Curves) and len(plot.panels) > 1


def _fits_beside(figure: Figure) -> bool:
    """Return whether a figure of several panels can still be read beside the answer."""
    return isinstance(figure.plot, Forest) and len(figure.plot.panels) <= _MOST_PANELS_BESIDE


def _look(cell: Cell, column: Column, is_name: bool) -> str:
    """Return the classes of a cell: a word is broken over lines nowhere, a name where there is little room."""
    classes = [cell.tone, "" if column.numeric else "left"]
    if len(cell.text) <= (_SLIM if " " in cell.text else _WORD):
        classes.append("word")
    elif is_name and len(cell.text) <= _SHORT_NAME:
        classes.append("short")
    elif not column.numeric and not is_name and len(cell.text) > _LONG:
        classes.append("long")
    return Markup(' class="{}"').format(" ".join(filter(None, classes))) if any(classes) else ""


def _is_slim(table: Table) -> bool:
    """Return whether the first column needs little room: it holds numbers or letters."""
    return all(row.kind != "heading" and len(row.cells[0].text) <= _SLIM for row in table.rows)


def _sort_key(cell: Cell) -> str:
    """Return the attribute with the number in full precision that a column is sorted by; else it is by the text."""
    return "" if cell.value is None else Markup(' data-key="{}"').format(printable(str(cell.value)))


def _groups(part: Texts) -> list[tuple[str, list[TextEntry]]]:
    names = dict.fromkeys(entry.group for entry in part.entries)
    return [(name, [entry for entry in part.entries if entry.group == name]) for name in names]


def _marked(entry: TextEntry, part: Texts) -> Markup:
    """Return a text, escaped, with its line breaks and the phrases of its list marked."""
    text = "\n".join(map(printable, entry.text.expandtabs(4).split("\n")))
    phrases = sorted({printable(phrase) for phrase in part.phrases_in(entry) if phrase.strip()}, key=len, reverse=True)
    if not phrases:
        return Markup(escape(text))
    pattern = re.compile("|".join(map(_bounded, phrases)), re.IGNORECASE)
    pieces: list[Any] = []
    end = 0
    for match in pattern.finditer(text):
        pieces += [escape(text[end : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        end = match.end()
    return Markup("").join([*pieces, escape(text[end:])])


def _pieces(pieces: Pieces) -> Markup:
    """Return a text, escaped, with its pieces marked."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(_lines(text)) if is_marked else escape(_lines(text))
        for text, is_marked in pieces
    )


def _bounded(phrase: str) -> str:
    """Return the pattern of a phrase that ends where words end; letters of scripts without spaces may adjoin others."""
    before = "" if is_unspaced(phrase[0]) else r"(?<!\w)"
    after = "" if is_unspaced(phrase[-1]) else r"(?!\w)"
    return f"{before}{re.escape(phrase)}{after}"
