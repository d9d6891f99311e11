"""``textassay contexts``: a table of what reviews answer to, from their text and a file of labels."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from textassay.cli.declarations import (
    Column,
    Config,
    MaxInput,
    MaxText,
    Quiet,
)

__all__ = ["contexts_command"]


def contexts_command(
    *,
    text: Annotated[str, typer.Argument(metavar="FILE", help="Sentences, tokens separated by spaces.")],
    labels: Annotated[
        str, typer.Option(metavar="FILE", help="The label of each sentence, such as its sentiment, in the same order.")
    ],
    label_column: Annotated[
        str | None, typer.Option(metavar="C", help="Column of --labels, where it is a table.")
    ] = None,
    bounds: Annotated[
        str, typer.Option(metavar="N,N", help="Longest sentences, in tokens, of all classes of length but the last.")
    ] = "6,9,12",
    column: Column = None,
    out: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Where the table goes; standard output by default.")
    ] = None,
    quiet: Quiet = False,
    max_input: MaxInput = "4GB",
    max_text: MaxText = 1_000_000,
    config: Config = None,
) -> None:
    """Make the table that c2s, gc2s and att2seq answer to: label, class of length, first content word."""
    from textassay.cli.contexts import make_contexts
    from textassay.cli.messages import print_line
    from textassay.cli.options import check_writable
    from textassay.report.whole_files import write_whole

    if out is not None:
        check_writable(out.parent)
    table = make_contexts(text, labels, bounds=bounds, column=column, label_column=label_column)
    if out is None:
        sys.stdout.write(table)
        return
    write_whole(out.parent, {out.name: table})
    if not quiet:
        print_line(f"wrote {table.count(chr(10)) - 1} contexts to {out}")
