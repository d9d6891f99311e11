"""What a comparison drew from models and commands by itself, and what more would bring."""

from collections.abc import Sequence

from textassay.comparison import FLAT, LITTLE, TIMES_REAL, Draw
from textassay.report.cells import count_cell, number_cell
from textassay.report.document import Cell, Column, Figure, Row, Section, Table, notes, section
from textassay.report.number import count, number, span
from textassay.report.plots import Axis, Curves, Point, Series
from textassay.report.words import join_words

_PLACES = 3
_MOST_TOLD = 3  # generators of which each has a sentence of its own
_WHY = {
    "level": "dd no longer rose",
    "budget": "the budget was spent",
    "time": "the time was spent",
    "ended": "the command printed no more",
    "no dd": "as many as real texts: dd is not measured",
}


def drawn_sentences(draws: Sequence[Draw]) -> list[str]:
    """Return how much was drawn, why no more, and what more would bring."""
    if len(draws) <= _MOST_TOLD:
        return [
            f"{count(draw.n)} texts were drawn from {draw.generator}; {_more(draw)}." if _more(draw) else
            f"{count(draw.n)} texts were drawn from {draw.generator}: {_WHY[draw.stopped]}."
            for draw in draws
        ]  # fmt: skip
    sentences = [f"Texts were drawn from {join_words([f'{draw.generator} ({count(draw.n)})' for draw in draws])}."]
    rising = [draw.generator for draw in draws if draw.rising]
    if rising:
        sentences.append(f"dd still rose with more text of {join_words(rising)}: more would find more (--budget).")
    return sentences


def drawn_section(draws: Sequence[Draw]) -> Section:
    """Return a table of what was drawn, and dd by the number of draws."""
    rows: list[Row] = []
    series: list[Series] = []
    for draw in draws:
        first, last = (draw.curve[0], draw.curve[-1]) if draw.curve else (None, None)
        gain = "" if draw.gain is None else f"{number(draw.gain, _PLACES, sign=True)} {_span(draw)}"
        rows.append(
            Row(
                (
                    Cell(draw.generator), Cell(draw.source or draw.model), count_cell(draw.n),
                    Cell(f"{draw.seconds:.1f}", draw.seconds), Cell(_WHY[draw.stopped]),
                    number_cell(None if first is None else first.value, _PLACES),
                    number_cell(None if last is None else last.value, _PLACES), Cell(gain, draw.gain),
                    Cell("yes" if draw.log_probs else "no"), Cell(str(draw.seed), draw.seed), Cell(draw.file or ""),
                )
            )
        )  # fmt: skip
        if len(draw.curve) > 1:
            line = tuple(Point(point.n_generated, point.value, point.low, point.high) for point in draw.curve)
            series.append(Series(draw.generator, line, dashes=len(series)))
    columns = (
        Column("generator", numeric=False), Column("drawn from", numeric=False), Column("texts"), Column("seconds"),
        Column("why no more", numeric=False), Column("dd at first"), Column("at the end"), Column("last step"),
        Column("log-probabilities", numeric=False), Column("seed"), Column("kept in", numeric=False),
    )  # fmt: skip
    table = Table("drawn", columns, tuple(rows))
    told = (
        f"{TIMES_REAL} times as many texts as real ones were drawn in any case, where that is at most {count(LITTLE)} "
        "of all generators together, or as many as the budget allows; beyond that, until the last doubling raised dd "
        "of none of them by more than its standard error, or the budget was spent. This dd learns from what the "
        "final one learns from, but is measured at the effort quick, so it may differ from that of the other tables."
    )
    unused = dict.fromkeys(draw.no_log_probs for draw in draws if draw.no_log_probs)
    why = [f"Log-probabilities of models were not used: {reason}." for reason in unused]
    why += [f"{draw.generator}: {draw.note}." for draw in draws if draw.note is not None]
    curve = None if not series else Figure(
        "draws", Curves(tuple(series), Axis("generated texts"), Axis("dd")),
        "dd by the number of texts drawn, with intervals: where it still rises, more texts find more.",
        f"dd by the number of texts drawn from {join_words([one.name for one in series])}.",
    )  # fmt: skip
    return section("Texts drawn", table, *notes(told, *why), curve)


def _more(draw: Draw) -> str:
    """Return what the last step says of more texts; empty where there was none."""
    if draw.gain is None or draw.gain_high is None or len(draw.curve) < 2:
        return ""
    sizes = f"from {count(draw.curve[-2].n_generated)} to {count(draw.curve[-1].n_generated)}"
    gain = f"{number(draw.gain, _PLACES)} {_span(draw)}"
    if draw.rising:
        return f"dd still rose by {gain} {sizes}, so more would find more (--budget)"
    if draw.gain_high < FLAT and draw.curve[-1].n_generated >= 2 * draw.curve[-2].n_generated:
        return f"{sizes} dd changed by {gain}, so more would hardly raise it"
    if draw.stopped == "level":
        return f"{sizes} dd changed by {gain}, no more than its error, so it was enough"
    return f"{sizes} dd changed by {gain}, so whether more would find more is not clear (--budget)"


def _span(draw: Draw) -> str:
    return f"{span(draw.gain_low, draw.gain_high, _PLACES)}"
