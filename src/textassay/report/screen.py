"""A comparison on one screen: the answer, what changes its reading, the main table, what gives each generator away."""

import re
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textassay.comparison import FLOOR, TRAIN, DiscriminativeNgram, Explanation
from textassay.report.answer import answer
from textassay.report.console import ARROWS, heading, label_grid, print_table, safe
from textassay.report.digest import Digest, join_words, shorten
from textassay.report.kinds import family_of, main_metrics, variant_of
from textassay.report.number import count, level
from textassay.report.text_tables import COLUMN_GAP, TablePrinter, units

_LINE = 76  # characters: what a line of 80 columns holds
_ANSWER_LINES = 9
_MOST_WARNINGS = 4
_MESSAGE_LINES = 3
_LEAST_PHRASE = 12  # characters
_MOST_IN_FULL = 4  # generators whose giveaways both ways are shown
_MOST_GIVEAWAYS = 3
_ENDS = {"<sos>": "at the start", "<eos>": "at the end"}
_SHORT = {"lower": "lower", "higher": "higher", "closer": f"closer to {FLOOR}"}


class ScreenPrinter(TablePrinter):
    """Prints a comparison on one screen."""

    def print_screen(self, where: str) -> None:
        """Print the answer, warnings, main table and giveaways, and `where` everything else is."""
        self._answer()
        self._warnings()
        self._table()
        self._giveaways()
        self._pointers(where)

    def _answer(self) -> None:
        first, *others = answer(self._digest, warnings=False)
        self._print(first, "bold", indent=0)
        kept: list[str] = []
        for sentence in others:
            if len(" ".join([first, *kept, sentence])) <= _ANSWER_LINES * _LINE:
                kept.append(sentence)
        if kept:
            self._print(" ".join(kept), indent=0)

    def _warnings(self) -> None:
        messages = warning_messages(self._digest)
        if not messages:
            return
        heading(self._console, "Warnings")
        for message in messages[:_MOST_WARNINGS]:
            grid = Table.grid(padding=(0, 1, 0, 0))
            grid.add_row(safe(self._console, "·"), safe(self._console, message))
            print_table(self._console, grid)
        if len(messages) > _MOST_WARNINGS:
            self._print(f"and {len(messages) - _MOST_WARNINGS} more", "dim")

    def _table(self) -> None:
        digest = self._digest
        if digest.headline is None:
            return
        chosen = main_table(digest)
        columns, extra = self.cells(chosen)
        ranks = {name: Text(digest.rank_text(name, digest.headline)) for name in (*digest.order, *digest.floors)}
        has_ranks = len(digest.generators) > 1 and any(rank.plain for rank in ranks.values())
        shown, has_ranks = self._fitting(columns, has_ranks, extra)
        table = self.table()
        two_lines = any(map(variant_of, shown))
        for metric in shown:
            header = f"{family_of(metric)} {ARROWS[digest.better(metric)]}"
            table.add_column(
                safe(self._console, f"{header}\n{variant_of(metric)}" if two_lines else header),
                justify="right",
                no_wrap=True,
            )
            if metric == digest.headline and has_ranks:
                table.add_column("rank", justify="right", no_wrap=True)
        for name in self.rows(table):
            cells = [columns[metric][name] for metric in shown]
            rank = [ranks[name]] * has_ranks
            table.add_row(
                self.name_cell(name, bold=name in digest.marked(digest.headline)), cells[0], *rank, *cells[1:]
            )
        for label in extra:
            cells = [columns[metric][label] for metric in shown]
            if any(cell.plain for cell in cells):
                table.add_row(Text(label, "italic dim"), cells[0], *[Text("")] * has_ranks, *cells[1:])
        self._console.print()
        print_table(self._console, table, indent=0)
        self.say(legend(digest, shown))
        self.notes()

    def _fitting(
        self, columns: dict[str, dict[str, Text]], has_ranks: bool, extra: Sequence[str]
    ) -> tuple[list[str], bool]:
        """Return the metrics for which there is room, and whether there is for the ranks; the first is always shown."""
        widths = [
            COLUMN_GAP
            + max(*(cell.cell_len for cell in cells.values()), len(family_of(metric)) + 2, len(variant_of(metric)))
            for metric, cells in columns.items()
        ]
        rank = has_ranks * (COLUMN_GAP + 4)
        room = self.room(extra)
        metrics = list(columns)
        while len(metrics) > 1 and sum(widths[: len(metrics)]) + rank > room:
            metrics.pop()
        return metrics, has_ranks and widths[0] + rank <= room

    def _giveaways(self) -> None:
        digest = self._digest
        explanations = {found.generator: found for found in digest.comparison.explanations}
        shown = [explanations[name] for name in digest.order if name in explanations]
        if not shown:
            return
        both = len(shown) <= _MOST_IN_FULL
        names = max(cell_len(found.generator) for found in shown)
        title = "What gives them away" if len(shown) > 1 else "What gives it away"
        heading(self._console, title if both else f"{title}: what they say too often")
        grid = label_grid()
        room = max(20, self._console.width - min(names, 24) - 4)
        for found in shown:
            lines = giveaway_lines(found, room, both=both)
            name = shorten(found.generator, 24)
            grid.add_row(safe(self._console, name, "bold"), safe(self._console, "\n".join(lines)))
        print_table(self._console, grid)

    def _pointers(self, where: str) -> None:
        comparison, n_metrics = self._digest.comparison, len(self._digest.metrics)
        self._console.print()
        sizes = {size for name in comparison.generators if (size := self._digest.size(name)) is not None}
        each = f"{count(min(sizes))} to {count(max(sizes))}" if len(sizes) > 1 else "".join(map(count, sizes))
        told = f"Real text: {comparison.real.name}, {count(comparison.real.n_sentences)} texts"
        told += f"; generated: {each} texts{' each' * (len(comparison.generators) > 1)}" if each else ""
        tokenizer = self._digest.setting("tok")
        told += "" if tokenizer is None else f"; tokeniser {tokenizer}"
        self._print(f"{told}; seed {comparison.seed}.", "dim", indent=0)
        everything = f"All {n_metrics} metrics, pairs and notes" if n_metrics > 1 else "Pairs and notes"
        self._print(f"{everything}: {where}", "dim", indent=0)

    def _print(self, text: str, style: str = "", *, indent: int = 2) -> None:
        self._console.print(Padding(safe(self._console, text, style), (0, 0, 0, indent), expand=False))


def warning_messages(digest: Digest) -> list[str]:
    """Return the warnings that change how the main table is read, those that say the same together, in few lines each.

    They are those of the inspection, and those of metrics but for warnings of metrics that the table does not have.
    """
    messages = []
    for group in digest.grouped_findings():
        if group[0].severity == "warning":
            others = [f"{finding.generator} ({count(finding.count_generated)})" for finding in group[1:]]
            messages.append(_message(f"{group[0].generator}: {group[0].message}", others))
    shown = {family_of(metric) for metric in main_table(digest)}
    for warning, subjects in digest.grouped_warnings():
        words = {*re.findall(r"[\w-]+", warning), *subjects}
        about = words & {family_of(metric) for metric in digest.metrics}
        if not about or about & shown:
            messages.append(_message(warning, subjects))
    return messages


def main_table(digest: Digest) -> tuple[str, ...]:
    """Return the metrics of the main table, of those with a direction and a value; none where no metric has these."""
    if digest.headline is None:
        return ()
    known = [
        metric
        for metric in digest.metrics
        if digest.better(metric) != "neither"
        and any(digest.value(generator, metric) is not None for generator in digest.generators)
    ]
    return main_metrics(known, digest.headline)


def legend(digest: Digest, metrics: Sequence[str]) -> str:
    """Return what the signs and the rows of reference of the main table mean."""
    arrows = dict.fromkeys(digest.better(metric) for metric in metrics)
    parts = [f"± the longer arm of the {level(digest.comparison.level)} interval"]
    parts.append(f"{', '.join(f'{ARROWS[better]} {_SHORT[better]}' for better in arrows)} is better")
    if any(map(digest.marked, metrics)):
        parts.append("* none is significantly better")
    if FLOOR in digest.floors:
        size = digest.size(FLOOR)
        sized = "" if size is None else f" ({count(size)} a side)"
        parts.append(f"{FLOOR}: one half of the real text against the other{sized}")
        if any(map(digest.at_floor_size, metrics)):
            parts.append(f"values of {ARROWS['closer']} are at that size, the others of all texts")
    if TRAIN in digest.floors:
        parts.append(f"{TRAIN}: the generators' training text")
    parts += units(digest, metrics)
    return f"{'; '.join(parts)}."


def _message(message: str, others: Sequence[str]) -> str:
    """Return a message in few lines, with what else it is true of."""
    also = f" Also: {join_words(others)}." if others else ""
    whole = message + ("" if message.endswith(".") or not also else ".") + also
    return textwrap.shorten(whole, _MESSAGE_LINES * _LINE, placeholder=" …")


def giveaway_lines(explanation: Explanation, width: int, *, both: bool) -> list[str]:
    """Return what a generator says too often and, with `both`, what it says too rarely, a line each."""
    lines = [_line("too often: " * both, explanation.overused, width)]
    if both:
        lines.append(_line("too rarely: ", explanation.more_real, width))
    return list(filter(None, lines)) or ["no phrase stands out"]


def _line(title: str, giveaways: Sequence[DiscriminativeNgram], width: int) -> str:
    """Return as many n-grams as a line holds, none of them cut but the first where it is longer than the line."""
    line = ""
    for giveaway in giveaways[:_MOST_GIVEAWAYS]:
        shares = f" {_percent(giveaway.share_generated)} (real {_percent(giveaway.share_real)})"
        if not line:
            line = title + _quoted(giveaway.ngram, width - len(title) - len(shares)) + shares
        elif len(longer := f"{line}; {_quoted(giveaway.ngram, width)}{shares}") <= width:
            line = longer
    return line


def _quoted(ngram: str, width: int) -> str:
    """Return an n-gram in quotes, what is said of the ends of a text behind it."""
    if ngram == "<sos> <eos>":
        return "an empty text"
    tokens = ngram.split(" ")
    where = "".join(f" {_ENDS[token]}" for token in (tokens[0], tokens[-1]) if token in _ENDS and len(tokens) > 1)
    words = " ".join(token for token in tokens if token not in _ENDS) if where else ngram
    room = max(_LEAST_PHRASE, width - len(where) - 2)
    return f'"{textwrap.shorten(words, room, placeholder=" …") if " " in words else shorten(words, room)}"{where}'


def _percent(share: float) -> str:
    percent = 100 * share
    if percent == 0:
        return "0 %"
    return "<0.1 %" if percent < 0.1 else f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"
