"""What a comparison drew from models and commands by itself."""

from collections.abc import Sequence

from textassay.comparison.draw import Draw
from textassay.report.cells import count_cell
from textassay.report.document import Cell, Column, Row, Section, Table, notes, section
from textassay.report.number import count
from textassay.report.words import join_words

_MOST_TOLD = 3  # generators of which each has a sentence of its own


def drawn_sentences(draws: Sequence[Draw]) -> list[str]:
    """Return how much was drawn, and of commands that ended before, that they did."""
    if len(draws) <= _MOST_TOLD:
        return [f"{count(draw.n)} texts were drawn from {draw.generator}{_ended(draw)}." for draw in draws]
    return [f"Texts were drawn from {join_words([f'{draw.generator} ({count(draw.n)})' for draw in draws])}."]


def drawn_section(draws: Sequence[Draw]) -> Section:
    """Return a table of what was drawn."""
    rows = [
        Row(
            (
                Cell(draw.generator), Cell(draw.source or draw.model), count_cell(draw.n),
                Cell(f"{draw.seconds:.1f}", draw.seconds), Cell("yes" if draw.log_probs else "no"),
                Cell(str(draw.seed), draw.seed), Cell(draw.file or ""),
            )
        )
        for draw in draws
    ]  # fmt: skip
    columns = (
        Column("generator", numeric=False), Column("drawn from", numeric=False), Column("texts"), Column("seconds"),
        Column("log-probabilities", numeric=False), Column("seed"), Column("kept in", numeric=False),
    )  # fmt: skip
    unused = dict.fromkeys(draw.no_log_probs for draw in draws if draw.no_log_probs)
    why = [f"Log-probabilities of models were not used: {reason}." for reason in unused]
    why += [f"{draw.generator}: {draw.note}." for draw in draws if draw.note is not None]
    return section("Texts drawn", Table("drawn", columns, tuple(rows)), *notes(*why))


def _ended(draw: Draw) -> str:
    return "" if draw.note is None or draw.is_answers else f": {draw.note}"
