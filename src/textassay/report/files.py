"""The files of a document: Markdown, page, LaTeX, records as CSV, figures as SVG."""

from textassay.corpus.csv_files import csv_text
from textassay.report.document import Document, with_unique_names
from textassay.report.latex import to_latex
from textassay.report.markdown import to_markdown
from textassay.report.page import to_html
from textassay.report.svg import on_white
from textassay.report.table import Table
from textassay.storage import Content


def document_files(
    document: Document, *, stem: str = "report", brief_markdown: bool = False, png: bool = False
) -> dict[str, Content]:
    """Return name to content of what a document is written as, for `textassay.storage.write_files`.

    ``STEM.md``, ``STEM.html``, ``STEM.tex`` where it has tables of a paper, a CSV file a record, ``figures/*.svg``.
    `brief_markdown`: whether Markdown goes without what is marked as extra. `png`: whether to write ``figures/*.png``,
    too.
    """
    from textassay.report.drawing import draw_png, draw_svg  # loads Matplotlib

    document = with_unique_names(document)
    drawings = {figure.name: draw_svg(figure) for figure in document.figures}
    files: dict[str, Content] = {f"{table.name}.csv": to_csv(table) for table in document.records}
    files[f"{stem}.md"] = to_markdown(document, everything=not brief_markdown)
    files[f"{stem}.html"] = to_html(document, drawings)
    if any(table.main for table in document.tables):
        files[f"{stem}.tex"] = to_latex(document)
    if png:
        files |= {f"figures/{figure.name}.png": draw_png(figure) for figure in document.figures}
    return files | {f"figures/{name}.svg": on_white(svg) for name, svg in drawings.items()}


def to_csv(table: Table) -> str:
    """Return a table as CSV in full precision; what is missing or undefined is empty, headings are left out."""
    rows = [[cell.value for cell in row.cells] for row in table.rows if row.kind != "heading"]
    return csv_text([column.name for column in table.columns], rows)
