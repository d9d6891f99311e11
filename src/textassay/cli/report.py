"""``textassay report``: draw the report of a finished comparison again, from its ``results.json``."""

from pathlib import Path

from rich.console import Console

from textassay.cli.options import check_writable
from textassay.report.document import read_comparison, write_report
from textassay.report.text import render

__all__ = ["run_report"]


def run_report(folder: Path) -> int:
    """Write the files of `folder` again from its ``results.json``, print the table, and return 0."""
    comparison = read_comparison(folder)
    check_writable(folder)
    write_report(comparison, folder)
    render(comparison, Console(), folder=folder)
    return 0
