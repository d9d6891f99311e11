"""``textassay report``: write the report of a finished comparison again, from its ``results.json``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument

from textassay.cli.declarations import MaxInput
from textassay.cli.options import check_writable


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write the report of a finished comparison again."""

    folder: Annotated[Path, Argument(metavar="DIR", help="A folder written by 'compare --out'.")]
    max_input: MaxInput = "4GB"

    def run(self) -> int:
        """Write the files of the folder again from its ``results.json``, print the table, and return 0."""
        from rich.console import Console

        from textassay.report import print_document, read_comparison, screen_document, write_report

        comparison = read_comparison(self.folder)
        check_writable(self.folder)
        write_report(comparison, self.folder)
        console = Console()
        document = screen_document(comparison, where=str(self.folder / "report.html"), width=console.width)
        print_document(document, console)
        return 0
