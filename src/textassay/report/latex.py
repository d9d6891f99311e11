r"""Tables of a document as LaTeX: booktabs tables of a page's width, ready to be put into a paper.

A table too wide for the text of the article class is split; nothing is scaled. Needs ``\usepackage{booktabs}`` and
nothing else. Names are escaped; those in scripts that pdfLaTeX does not know need XeLaTeX or LuaLaTeX.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from textassay.report.document import Document, Section, without_extras
from textassay.report.table import Cell, Column, Row, Table
from textassay.report.text import printable, shorten

_ARROWS = {"lower": r" $\downarrow$", "higher": r" $\uparrow$", "closer": r" $\approx$", "neither": "", "": ""}
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "'": r"{\char39}",
        "`": r"{\char96}",
        "[": "{[}",  # else an option of the line break before it
        "]": "{]}",
        "*": "{*}",  # else a starred line break
        "\N{REPLACEMENT CHARACTER}": "?",
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "\N{MINUS SIGN}": "$-$",
        "\N{EN DASH}": r"\textendash{}",
        "…": r"\dots{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
_NAME_WIDTH = 22
# In printer's points, of the article class at 10 pt: text width, gap between columns, a character in \small and beside
# it in \scriptsize, measured on Computer Modern digits.
_TEXT_WIDTH, _GAP, _LETTER, _SMALL_LETTER = 345.0, 8.0, 4.7, 3.8
_SIZE = r"\small"
_SMALLER = 0.9  # how much narrower footnotesize is, which keeps a main table in one piece


def to_latex(document: Document, *, everything: bool = False) -> str:
    """Return the main tables of a document without a preamble; with `everything`, or where none is a main one, all.

    Those that are marked as extra are left out: they stand in other files.
    """
    known = [table for section in without_extras(document).sections for table in _with_titles(section)]
    tables = [table for table in known if table.main or everything] or known
    head = f"% Made by textassay {document.version}. Needs \\usepackage{{booktabs}}."
    return "\n\n".join([head, *map(latex_table, tables)]) + "\n"


def _with_titles(section: Section) -> Iterator[Table]:
    """Yield the tables of a section; those without a title have its title."""
    for part in section.parts:
        if isinstance(part, Section):
            yield from _with_titles(part)
        elif isinstance(part, Table):
            yield part if part.title else replace(part, title=section.title)


def escape_latex(text: str) -> str:
    """Return `text` in one line, with everything that LaTeX would interpret made plain."""
    return re.sub("-(?=-)", "-{}", printable(text).translate(_ESCAPES))  # else two hyphens are a dash


def latex_table(table: Table) -> str:
    """Return one table, or several where the columns do not fit the width of the text."""
    places = [place for place, column in enumerate(table.columns) if place and not column.hidden]
    names = [table.columns[0].name, *(row.cells[0].text for row in table.rows if row.kind != "heading")]
    name_width = _LETTER * min(_NAME_WIDTH, max(map(len, names)))
    whole = name_width + sum(_GAP + _width(table, place) for place in places)
    if table.main and _TEXT_WIDTH < whole <= _TEXT_WIDTH / _SMALLER:
        return _one_table(table, places, size=r"\footnotesize")
    room = _TEXT_WIDTH - name_width
    pages: list[list[int]] = [[]]
    left = room
    for place in places:
        width = _GAP + _width(table, place)
        if width > left and pages[-1]:
            pages.append([])
            left = room
        pages[-1].append(place)
        left -= width
    return "\n\n".join(_one_table(table, page, n) for n, page in enumerate(pages, start=1))


def _one_table(table: Table, places: Sequence[int], n: int = 1, *, size: str = _SIZE) -> str:
    """Return part `n` of a table, the columns at `places`; what the caption explains stands with the first part."""
    title = (table.title or table.name).removesuffix(".")
    caption = [f"{title}.", *table.notes] if n == 1 else [f"{title} (continued)."]
    blocks: list[list[str]] = [[]]
    kind = ""
    for row in table.rows:
        if row.kind != kind and row.kind == "reference" and blocks[-1]:
            blocks.append([])
        kind = row.kind
        blocks[-1].append(_row(table, row, places))
        if not table.main and row.kind != "heading" and any(row.cells[place].below for place in places):
            blocks[-1].append(_below(row, places))
    columns = "".join("r" if table.columns[place].numeric else "l" for place in places)
    return "\n".join(
        [
            r"\begin{table}[tbp]",
            r"\centering",
            f"\\caption{{{' '.join(map(_numbers, map(escape_latex, caption)))}}}",
            r"\vspace{4pt}",
            f"\\label{{tab:textassay-{table.name}{f'-{n}' if n > 1 else ''}}}",
            size,
            f"\\setlength{{\\tabcolsep}}{{{4 if size == _SIZE else 3}pt}}",
            f"\\begin{{tabular}}{{@{{}}l{columns}@{{}}}}",
            r"\toprule",
            *_heads(table.columns, places),
            *(line for block in blocks if block for line in (r"\midrule", *block)),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _heads(columns: Sequence[Column], places: Sequence[int]) -> list[str]:
    """Return one line of names, or two: groups over rules, then names."""
    first = escape_latex(columns[0].name)
    shown = [columns[place] for place in places]
    if not any(column.group for column in shown):
        return [" & ".join([first, *(escape_latex(c.name) + _ARROWS[c.better] for c in shown)]) + r" \\"]
    spans: list[tuple[str, int]] = []
    for column in shown:
        name = escape_latex(column.group) + (_ARROWS[column.better] if column.group else "")
        if spans and name and spans[-1][0] == name:
            spans[-1] = (name, spans[-1][1] + 1)
        else:
            spans.append((name, 1))
    rules, start = [], 2
    for name, width in spans:
        rules += [f"\\cmidrule(lr){{{start}-{start + width - 1}}}"] if name else []
        start += width
    groups = [f"\\multicolumn{{{width}}}{{c}}{{{name}}}" if name else "" for name, width in spans]
    names = [escape_latex(c.name) + ("" if c.group else _ARROWS[c.better]) for c in shown]
    return [" & ".join(["", *groups]) + r" \\", "".join(rules), " & ".join([first, *names]) + r" \\"]


def _row(table: Table, row: Row, places: Sequence[int]) -> str:
    name = escape_latex(shorten(printable(row.cells[0].text), _NAME_WIDTH))
    if row.kind == "heading":
        return f"\\multicolumn{{{len(places) + 1}}}{{@{{}}l}}{{\\textit{{{name}}}}} \\\\"
    return " & ".join([name, *(_cell(_short(table, row, place)) for place in places)]) + r" \\"


def _short(table: Table, row: Row, place: int) -> Cell:
    """Return a cell, a name as short as those of rows."""
    cell = row.cells[place]
    return cell if table.columns[place].numeric else replace(cell, text=shorten(printable(cell.text), _NAME_WIDTH))


def _below(row: Row, places: Sequence[int]) -> str:
    """Return the line of what stands below the values; tables of a paper go without."""
    below = (_numbers(escape_latex(row.cells[place].below)) for place in places)
    return " & ".join(["", *(f"{{\\scriptsize {text}}}" if text else "" for text in below)]) + r" \\"


def _cell(cell: Cell) -> str:
    text = re.sub(r"^(\d+)-(\d+)$", r"\1--\2", _numbers(escape_latex(cell.text)))  # a range of ranks
    text = f"\\textbf{{{text}}}" if cell.tone == "best" and text else text
    spread = f" {{\\scriptsize {_numbers(escape_latex(cell.spread))}}}" if cell.spread else ""
    return text + spread


def _numbers(text: str) -> str:
    """Return escaped text with the hyphens before numbers as minus signs."""
    return re.sub(r"(?<![\w.)-])-(?=\d)", "$-$", text)


def _width(table: Table, place: int) -> float:
    column = table.columns[place]
    cells = [_short(table, row, place) for row in table.rows if row.kind != "heading"]
    widths = [_LETTER * (len(cell.text) + 0.7 * bool(cell.spread)) + _SMALL_LETTER * len(cell.spread) for cell in cells]
    widths += [_SMALL_LETTER * len(cell.below) for cell in cells if not table.main]
    heads = [column.name + "  " * bool(column.better and not column.group)]
    if sum(other.group == column.group for other in table.columns) == 1:
        heads.append(f"{column.group}  ")
    return max([*(_LETTER * len(head) for head in heads), *widths])
