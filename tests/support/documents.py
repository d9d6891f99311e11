"""Looking up what a document says: a table, a column, a cell by the names of its row and column."""

from textassay.report.document import Document
from textassay.report.table import Table


def table_of(document: Document, name: str) -> Table:
    """Return the table with this name."""
    return next(table for table in (*document.tables, *document.records) if table.name == name)


def column_of(document: Document, table: str, head: str) -> list[str]:
    """Return the texts of a column, with what stands behind ±."""
    found = table_of(document, table)
    place = [column.name for column in found.columns].index(head)
    return [row.cells[place].plain for row in found.rows if row.kind != "heading"]


def cell_of(document: Document, table: str, row: str, head: str) -> str:
    """Return the text of a cell, with what stands behind ±."""
    first = [line.cells[0].plain for line in table_of(document, table).rows if line.kind != "heading"]
    return column_of(document, table, head)[first.index(row)]
