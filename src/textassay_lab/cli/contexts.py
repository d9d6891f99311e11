"""``textassay contexts``."""

import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from typer import Argument

from textassay.cli.adapter import option
from textassay.cli.declarations import Config, Files, Quiet
from textassay.cli.messages import print_line
from textassay.cli.options import STANDARD_INPUT, check_writable
from textassay.errors import InputError, OptionError


@dataclass(frozen=True, kw_only=True)
class Contexts(Files):
    """Make the table of contexts for c2s, gc2s and att2seq: label, length class, first content word."""

    text: Annotated[str, Argument(metavar="FILE", help="Sentences, tokens separated by spaces.")]
    labels: Annotated[str, option("The label of each sentence, such as its sentiment, in the same order.", "FILE")]
    label_column: Annotated[str | None, option("Column of --labels, where it is a table.", "C")] = None
    bounds: Annotated[str, option("Upper limits, in tokens, of all length classes but the last.", "N,N")] = "6,9,12"
    out: Annotated[Path | None, option("File for the table; standard output by default.", "TABLE")] = None
    quiet: Quiet = False
    config: Config = None

    def run(self) -> int:
        """Make the table, print or write it, and return 0."""
        from textassay.corpus.texts import read_texts
        from textassay.storage import write_file
        from textassay_lab.generator.contexts import contexts_text, review_contexts

        if self.out is not None:
            check_writable(self.out.parent)
        bounds = self._bounds()
        if self.text == self.labels == STANDARD_INPUT:
            raise OptionError("standard input can be read only once: give a file for --labels")
        sentences = read_texts(self.text, column=self.column).texts
        labels = read_texts(self.labels, column=self.label_column).texts
        if len(labels) != len(sentences):
            raise InputError(
                f"{self.labels} has {len(labels):,} labels, but {self.text} has {len(sentences):,} sentences"
            )
        table = contexts_text(review_contexts(sentences, labels, bounds=bounds))
        if self.out is None:
            sys.stdout.write(table)
            return 0
        write_file(self.out, table)
        if not self.quiet:
            print_line(f"wrote {table.count(chr(10)) - 1} contexts to {self.out}")
        return 0

    def _bounds(self) -> list[int]:
        try:
            longest = [int(part) for part in self.bounds.split(",")]
        except ValueError:
            longest = []
        if not longest or longest[0] < 1 or any(after <= before for before, after in pairwise(longest)):
            raise OptionError(
                f"--bounds must be rising whole numbers from at least 1, such as 6,9,12, got '{self.bounds}'"
            )
        return longest
