"""Published tables, read from text: a table a paragraph, a row a line, its cells between bars.

Before a bar stands a space, so that names may have bars, such as ``C-bleu(TF|D)``. The first line of a paragraph is the
id and the title, the first line with bars names the columns; lines without bars are the note. A cell is empty, a
number, or a number and its spread, such as ``0.850 ± 0.002``.
"""

from textassay_lab.meta_evaluation.reproduction import Number, PublishedTable


def parse_tables(text: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a paper, in order."""
    return tuple(_table(*paragraph.splitlines()) for paragraph in text.strip().split("\n\n"))


def _table(heading: str, *lines: str) -> PublishedTable:
    name, _, title = heading.partition(": ")
    (_, *columns), *rows = ([part.strip() for part in line.split(" |")] for line in lines if " |" in line)
    parts = [[cell.partition("±") for cell in cells] for _, *cells in rows]
    values, spreads = (tuple(tuple(_number(cell[side]) for cell in row) for row in parts) for side in (0, 2))
    has_spreads = any(spread is not None for row in spreads for spread in row)
    note = " ".join(line for line in lines if " |" not in line)
    return PublishedTable(
        name, title, tuple(row for row, *_ in rows), tuple(columns), values, spreads if has_spreads else None, note
    )


def _number(text: str) -> Number:
    text = text.strip()
    return None if not text else int(text) if text.isdecimal() else float(text)
