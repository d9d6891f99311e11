"""How reports tell of what a comparison drew from generators."""

from collections.abc import Sequence

from textassay.comparison.comparison import Draw
from textassay.report.document import Section, notes, section
from textassay.report.table import Cell, Table, as_is, count_cell, numbers, text_cell
from textassay.report.text import count, join_words

_MOST_TOLD = 3  # generators of which each has a sentence of its own


def drawn_sentences(draws: Sequence[Draw]) -> list[str]:
    """Return how much was drawn, and of commands that ended before, that they did."""
    if len(draws) > _MOST_TOLD:
        return [f"Texts were drawn from {join_words([f'{draw.generator} ({count(draw.n)})' for draw in draws])}."]
    ended = {draw.generator: f": {draw.note}" for draw in draws if draw.note is not None and not draw.is_answers}
    return [f"{count(draw.n)} texts were drawn from {draw.generator}{ended.get(draw.generator, '')}." for draw in draws]


def drawn_section(draws: Sequence[Draw]) -> Section:
    """Return a table of what was drawn; an empty section where nothing was."""
    table = Table.of_items("drawn", draws, [
        ("generator", "generator", text_cell),
        ("drawn from", lambda draw: draw.source or draw.model, text_cell),
        ("texts", "n", count_cell),
        ("seconds", "seconds", numbers(1)),
        ("log-probabilities", lambda draw: "yes" if draw.log_probs else "no", text_cell),
        ("seed", lambda draw: Cell(str(draw.seed), draw.seed), as_is),
        ("kept in", "file", text_cell),
    ])  # fmt: skip
    unused = dict.fromkeys(draw.no_log_probs for draw in draws if draw.no_log_probs)
    why = [f"Log-probabilities of models were not used: {reason}." for reason in unused]
    why += [f"{draw.generator}: {draw.note}." for draw in draws if draw.note is not None]
    return section("Texts drawn", table, *notes(*why))
