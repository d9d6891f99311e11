"""The report for a terminal: one screen, or everything: the answer, what was compared, warnings, all numbers.

Nothing is interpreted on the way: names and sentences are shown character by character, without colours or links of
their own. Colours are off where the console is no terminal, and signs fall back to ASCII where it cannot show others.
"""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textassay.comparison import FLOOR, Comparison
from textassay.inspection import Finding
from textassay.report.answer import answer, direction, scope
from textassay.report.console import heading, label_grid, print_table, safe
from textassay.report.digest import Digest
from textassay.report.inspection import group_findings
from textassay.report.judges import judge_statements
from textassay.report.number import MISSING, interval, level, number, p_value, span
from textassay.report.screen import ScreenPrinter
from textassay.report.text_tables import COLUMN_GAP, TablePrinter
from textassay.report.words import join_words, printable

_MOST_PAIRS = 10
_FEW_GENERATORS = 4
_BOUND, _LIKE, _DISTINCT_HEADER = "at least", "at floor\nsize", "distinct\ntexts"
_DISPENSABLE = (_DISTINCT_HEADER, _LIKE, "p", _BOUND, "rank")
_DISTINCT = "dd_distinct_texts"  # the same over distinct sentences, where a metric gives it


def render(comparison: Comparison, console: Console, *, whole: bool = False, folder: Path | None = None) -> None:
    """Print `comparison` on `console`, in its width."""
    if not whole:
        where = "--all. The same with figures, as a page: --out DIR." if folder is None else str(folder / "report.html")
        ScreenPrinter(Digest(comparison), console).print_screen(where)
        return
    printer = _Printer(Digest(comparison), console)
    printer.answer()
    printer.scope()
    render_findings(comparison.findings, console, brief_notes=True)
    printer.warnings()
    printer.headline()
    printer.other_metrics()
    printer.like_beside_like(headline_shown=printer.headline_has_like)
    printer.notes()
    printer.pairs()


def render_findings(findings: Sequence[Finding], console: Console, *, brief_notes: bool = False) -> None:
    """Print findings, warnings first, those of one kind together; nothing where there is none."""
    if not findings:
        return
    heading(console, "Warnings and notes")
    for group in group_findings(findings):
        first = group[0]
        loud = first.severity == "warning"
        line = Text.assemble(
            (f"{first.severity} ", "bold red" if loud else "bold cyan"),
            safe(console, f"{first.generator}: {first.message}", "bold" if loud else ""),
        )
        if brief_notes and not loud:
            if len(group) > 1:
                line += safe(console, f" Also {', '.join(_also(other) for other in group[1:])}.")
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
            continue
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
        grid = label_grid()
        for label, example in (("generated", first.example_generated), ("real", first.example_real)):
            if example is not None:
                grid.add_row(Text(label, "dim"), safe(console, printable(example) or "(empty)"))
        if len(group) > 1:
            also = [_also(other) for other in group[1:]]
            grid.add_row(Text("also", "dim"), safe(console, ", ".join(also)))
        grid.add_row(Text("do", "dim"), safe(console, first.remedy))
        print_table(console, grid, indent=4)
    if brief_notes and any(finding.severity == "note" for finding in findings):
        line = safe(console, "`textassay inspect` shows examples of the notes, and what to do.", "dim")
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


class _Printer(TablePrinter):
    """One comparison on its way to one console."""

    def __init__(self, digest: Digest, console: Console) -> None:
        super().__init__(digest, console)
        self.headline_has_like = False

    def scope(self) -> None:
        grid = label_grid()
        for label, text in scope(self._digest):
            grid.add_row(Text(label, "dim"), safe(self._console, text))
        print_table(self._console, grid, indent=0)

    def warnings(self) -> None:
        warnings = self._digest.grouped_warnings()
        if warnings:
            heading(self._console, "Warnings")
        for warning, others in warnings:
            also = f" The same of {join_words(others)}." if others else ""
            line = f"· {warning}{'.' if also and not warning.endswith('.') else ''}{also}"
            self._console.print(Padding(safe(self._console, line), (0, 0, 0, 2), expand=False))

    def headline(self) -> None:
        digest, metric = self._digest, self._digest.headline
        if metric is None:
            return
        heading(self._console, f"{metric}, {direction(digest.better(metric))}")
        columns = self._fitting(self._headline_columns(metric))
        self.headline_has_like = _LIKE in columns
        table = self.table()
        for header in columns:
            table.add_column(safe(self._console, header), justify="right", no_wrap=True, vertical="bottom")
        for generator in self.rows(table):
            cells = [column[generator] for column in columns.values()]
            table.add_row(self.name_cell(generator, bold=generator in digest.marked(metric)), *cells)
        if digest.at_floor_size(metric):
            for label, own in digest.own_floors(metric).items():
                places = digest.places(metric)
                texts = [number(own.value, places), interval(own.interval, places), *[""] * len(columns)]
                table.add_row(Text(label, "italic dim"), *texts[: len(columns)])
        print_table(self._console, table, indent=0)
        if _BOUND in columns:
            share = level(digest.comparison.level)
            self.say(f"{_BOUND}: the total variation is at least this, certified at {share}.")
            for reason in digest.bound_reasons(metric):
                self.say(f"{MISSING}: {reason}.")
        for statement in judge_statements(digest, metric):
            self.say(statement)
        if digest.at_floor_size(metric):
            note = self.at_floor_size_note()
            self.say(f"{note[:1].upper()}{note[1:]}.")
        if FLOOR in digest.floors:
            self.say(f"{FLOOR}: one half of the real text against the other, what indistinguishable text scores.")
        if digest.train_note:
            self.say(digest.train_note)

    def _headline_columns(self, metric: str) -> dict[str, dict[str, Text]]:
        """Return what can be said of one metric, column by column; those that say nothing are left out."""
        digest, places = self._digest, self._digest.places(metric)
        columns: dict[str, dict[str, Text]] = {}
        for generator in (*digest.order, *digest.floors):
            estimate, like = digest.shown(generator, metric), digest.beside(generator, metric)
            bound, p = digest.bound(generator, metric), digest.detail(generator, metric, "p_value")
            distinct = digest.detail(generator, metric, _DISTINCT)
            mark = generator in digest.marked(metric)
            if estimate is None:
                value, bounds = self.missing(generator, metric), ""
            else:
                value, bounds = number(estimate.value, places), interval(estimate.interval, places)
            row = {
                metric: Text(f"*{value}" if mark else value, "bold green" if mark else ""),
                f"{level(digest.comparison.level)} interval": Text(bounds),
                _BOUND: Text("" if bound is None else number(bound[0], places)),
                "p": Text("" if p is None else p_value(p)),
                "rank": Text(digest.rank_text(generator, metric)),
                _LIKE: Text("" if like is None else number(like.value, places)),
                _DISTINCT_HEADER: Text("" if distinct is None else number(distinct, places)),
            }
            for header, cell in row.items():
                columns.setdefault(header, {})[generator] = cell
        return {header: cells for header, cells in columns.items() if any(cells[name].plain for name in digest.order)}

    def _fitting(self, columns: dict[str, dict[str, Text]]) -> dict[str, dict[str, Text]]:
        """Return the columns without those, the least needed first, for which there is no room."""
        kept = dict(columns)
        for dropped in (None, *_DISPENSABLE):
            kept = {header: cells for header, cells in kept.items() if header != dropped}
            widths = [
                max(*map(len, header.split("\n")), *(cell.cell_len for cell in cells.values()))
                for header, cells in kept.items()
            ]
            if sum(COLUMN_GAP + width for width in widths) <= self.room():
                break
        return kept

    def pairs(self) -> None:
        digest, metric = self._digest, self._digest.headline
        pairs = () if metric is None else digest.pairs(metric)
        if not pairs or metric is None:
            return
        apart = [pair for pair in pairs if digest.separated(pair)]
        close = [pair for pair in pairs if not digest.separated(pair)]
        heading(self._console, f"Differences between generators by {metric}, p adjusted for all pairs (Holm)")
        shown = pairs if len(digest.generators) <= _FEW_GENERATORS else close
        if shown is close:
            tail = "; not separated:" if close else "."
            self.say(f"{len(apart)} of {len(pairs)} pairs are separated{tail}")
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
        for column in range(4 if shown is close else 5):
            table.add_column(justify="right" if column in (1, 2) else "left", overflow="fold")
        for pair in shown[:_MOST_PAIRS]:
            places = digest.places(metric)
            bounds = span(pair.low, pair.high, places)
            table.add_row(
                safe(self._console, f"{pair.a} - {pair.b}"),
                Text(number(pair.difference, places, sign=True)),
                Text(bounds),
                Text(f"p {p_value(pair.p_adjusted)}"),
                *([] if shown is close else [_separated(digest.separated(pair))]),
            )
        print_table(self._console, table)
        if len(shown) > _MOST_PAIRS:
            self.say(f"and {len(shown) - _MOST_PAIRS} more in the report.")

    def answer(self) -> None:
        self._console.print(safe(self._console, " ".join(answer(self._digest)), "bold"))
        self._console.print()


def _also(finding: Finding) -> str:
    """Return whose text shows the same, and in how many of its sentences."""
    of = "" if finding.count_generated == finding.n_generated else f" of {finding.n_generated:,}"
    return f"{finding.generator} ({finding.count_generated:,}{of})"


def _separated(separated: bool) -> Text:
    return Text("separated", "green") if separated else Text("not separated", "dim")
