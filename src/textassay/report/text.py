"""The report for a terminal: what was compared, what to worry about, the numbers, and the answer last.

Nothing is interpreted on the way: names and sentences are shown character by character, without colours or links of
their own. Colours are off where the console is no terminal, and signs fall back to ASCII where it cannot show others.
"""

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textassay.comparison.comparison import FLOOR, Comparison
from textassay.inspection.inspection import Finding
from textassay.report.answer import answer, direction, scope
from textassay.report.digest import Digest, family_of, group_findings, join_words, printable, shorten, variant_of
from textassay.report.number import MISSING, interval, level, number, p_value, span, value_and_half_width

__all__ = ["render", "render_findings"]

_ARROWS = {"lower": "↓", "higher": "↑", "closer": "≈", "neither": ""}
_ASCII = str.maketrans({"↓": "v", "↑": "^", "≈": "~", "±": "+-", "…": "...", "·": "-"})
_NAME_WIDTH = 24
_MOST_PAIRS = 10
_FEW_GENERATORS = 4
_GAP = 2
_BOUND, _LIKE, _DISTINCT_HEADER = "at least", "at floor\nsize", "distinct\ntexts"
_DISPENSABLE = (_DISTINCT_HEADER, _LIKE, "p", _BOUND, "rank")
_DISTINCT = "dd_distinct_texts"  # the same over distinct sentences, where a metric gives it


def render(comparison: Comparison, console: Console) -> None:
    """Print `comparison` on `console`, in its width.

    Parameters
    ----------
    comparison
        What `compare` returned.
    console
        Where to print; its width decides how many columns stand beside each other.
    """
    printer = _Printer(Digest(comparison), console)
    printer.scope()
    render_findings(comparison.findings, console, brief_notes=True)
    printer.warnings()
    printer.headline()
    printer.other_metrics()
    printer.like_beside_like()
    printer.notes()
    printer.pairs()
    printer.answer()


def render_findings(findings: Sequence[Finding], console: Console, *, brief_notes: bool = False) -> None:
    """Print findings, warnings first, those of one kind together; nothing where there is none.

    Parameters
    ----------
    findings
        What the inspection found.
    console
        Where to print.
    brief_notes
        Whether notes are one sentence, and only warnings come with examples and what to do.
    """
    if not findings:
        return
    _heading(console, "What to worry about")
    width = max(20, console.width - 18)
    for group in group_findings(findings):
        first = group[0]
        loud = first.severity == "warning"
        line = Text.assemble(
            (f"{first.severity} ", "bold red" if loud else "bold cyan"),
            _safe(console, f"{first.generator}: {first.message}", "bold" if loud else ""),
        )
        if brief_notes and not loud:
            if len(group) > 1:
                line += _safe(console, f" Also {', '.join(_also(other) for other in group[1:])}.")
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
            continue
        console.print(Padding(line, (0, 0, 0, 2), expand=False))
        grid = _grid()
        for label, example in (("generated", first.example_generated), ("real", first.example_real)):
            if example is not None:
                grid.add_row(Text(label, "dim"), _safe(console, shorten(printable(example), width) or "(empty)"))
        if len(group) > 1:
            also = [_also(other) for other in group[1:]]
            grid.add_row(Text("also", "dim"), _safe(console, ", ".join(also)))
        grid.add_row(Text("do", "dim"), _safe(console, first.remedy))
        console.print(Padding(grid, (0, 0, 0, 4), expand=False))
    if brief_notes and any(finding.severity == "note" for finding in findings):
        line = _safe(console, "`textassay inspect` shows examples of the notes, and what to do.", "dim")
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


class _Printer:
    """One comparison on its way to one console."""

    def __init__(self, digest: Digest, console: Console) -> None:
        self._digest = digest
        self._console = console
        self._footnotes: dict[str, int] = {}
        self._headline_has_like = False

    def scope(self) -> None:
        grid = _grid()
        for label, text in scope(self._digest):
            grid.add_row(Text(label, "dim"), _safe(self._console, text))
        self._console.print(grid)

    def warnings(self) -> None:
        warnings = self._digest.grouped_warnings()
        if warnings:
            _heading(self._console, "Warnings")
        for warning, others in warnings:
            also = f" The same of {join_words(others)}." if others else ""
            line = f"· {warning}{'.' if also and not warning.endswith('.') else ''}{also}"
            self._console.print(Padding(_safe(self._console, line), (0, 0, 0, 2), expand=False))

    def headline(self) -> None:
        digest, metric = self._digest, self._digest.headline
        if metric is None:
            return
        _heading(self._console, f"{metric}, {direction(digest.better(metric))}")
        columns = self._fitting(self._headline_columns(metric))
        self._headline_has_like = _LIKE in columns
        table = self._table()
        for header in columns:
            table.add_column(_safe(self._console, header), justify="right", no_wrap=True, vertical="bottom")
        for generator in self._rows(table):
            cells = [column[generator] for column in columns.values()]
            table.add_row(self._name(generator, bold=generator in digest.best(metric)), *cells)
        self._console.print(table)
        if _BOUND in columns:
            share = level(digest.comparison.level)
            self._say(f"{_BOUND}: the total variation is at least this, certified at {share}.")
            for reason in digest.bound_reasons(metric):
                self._say(f"{MISSING}: {reason}.")
        if FLOOR in digest.floors:
            self._say(f"{FLOOR}: one half of the real text against the other, what indistinguishable text scores.")

    def _headline_columns(self, metric: str) -> dict[str, dict[str, Text]]:
        """Return what can be said of one metric, column by column; those that say nothing are left out."""
        digest, places = self._digest, self._digest.places(metric)
        columns: dict[str, dict[str, Text]] = {}
        for generator in (*digest.order, *digest.floors):
            estimate, like = digest.estimate(generator, metric), digest.matched(generator, metric)
            bound, p = digest.bound(generator, metric), digest.detail(generator, metric, "p_value")
            distinct = digest.detail(generator, metric, _DISTINCT)
            mark = generator in digest.best(metric)
            if estimate is None:
                value, bounds = self._missing(generator, metric), ""
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
            if sum(_GAP + width for width in widths) <= self._room():
                break
        return kept

    def _room(self, extra: Sequence[str] = ()) -> int:
        """Return the width that the column of names leaves."""
        names = max((cell_len(name) for name in (*self._digest.order, *self._digest.floors, *extra)), default=0)
        return self._console.width - min(_NAME_WIDTH, max(names, len("generator")))

    def other_metrics(self) -> None:
        digest = self._digest
        others = [metric for metric in digest.comparison.metrics if metric != digest.headline]
        columns = {}
        for metric in others:
            places = digest.places(metric)
            columns[metric] = {name: self._cell(name, metric, places) for name in (*digest.order, *digest.floors)}
        for group in self._packed(columns, keep_families=True):
            self._print_columns(group, columns)
        if others:
            legend = f"± the longer arm of the {level(digest.comparison.level)} interval"
            arrows = {digest.better(metric) for metric in others} - {"neither"}
            legend += "".join(f"; {_ARROWS[better]} {direction(better)}" for better in sorted(arrows))
            marked = any(digest.best(metric) for metric in digest.comparison.metrics)
            self._say(legend + ("; * none is significantly better." if marked else "."))

    def like_beside_like(self) -> None:
        """Print each generator's values at the floor's size, against the same half of the real text.

        Where a generator has fewer sentences than that, real text is shown at its size too.
        """
        digest = self._digest
        columns: dict[str, dict[str, Text]] = {}
        smaller: dict[str, int] = {}
        for metric in digest.comparison.metrics:
            likes = {name: digest.matched(name, metric) for name in (*digest.order, *digest.floors)}
            for name in digest.order:
                own = digest.own_floor(name, metric)
                if own is not None:
                    label = f"{FLOOR} of {own.sizes.get('n_generated', 0):,}"
                    likes[label] = own
                    smaller[label] = own.sizes.get("n_generated", 0)
            shown_above = metric == digest.headline and self._headline_has_like
            if shown_above or all(likes[name] is None for name in digest.order):
                continue
            places = digest.places(metric)
            columns[metric] = {
                name: Text(MISSING if like is None else number(like.value, places)) for name, like in likes.items()
            }
        floor = next((digest.estimate(FLOOR, metric) for metric in columns if digest.estimate(FLOOR, metric)), None)
        size = "" if floor is None else f" ({floor.sizes.get('n_generated', 0):,} sentences)"
        least = ", or all sentences of a generator that has fewer" if smaller else ""
        if columns:
            _heading(self._console, f"Like beside like: all at the size of the {FLOOR} row{size}{least}")
        for metric_columns in columns.values():
            for label in smaller:
                metric_columns.setdefault(label, Text(""))
        extra = sorted(smaller, key=smaller.__getitem__, reverse=True)
        for group in self._packed(columns, keep_families=False, extra=extra):
            self._print_columns(group, columns, extra=extra)

    def notes(self) -> None:
        if self._footnotes:
            self._console.print()
        for reason, mark in self._footnotes.items():
            self._say(f"({mark}) {reason}")

    def pairs(self) -> None:
        digest, metric = self._digest, self._digest.headline
        pairs = () if metric is None else digest.pairs(metric)
        if not pairs or metric is None:
            return
        apart = [pair for pair in pairs if digest.separated(pair)]
        close = [pair for pair in pairs if not digest.separated(pair)]
        _heading(self._console, f"Could the order be luck? Pairs by {metric}, p adjusted for all pairs (Holm)")
        shown = pairs if len(digest.generators) <= _FEW_GENERATORS else close
        if shown is close:
            tail = "; not separated:" if close else "."
            self._say(f"{len(apart)} of {len(pairs)} pairs are separated{tail}")
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
        for column in range(4 if shown is close else 5):
            table.add_column(justify="right" if column in (1, 2) else "left", overflow="fold")
        for pair in shown[:_MOST_PAIRS]:
            places = digest.places(metric)
            bounds = span(pair.low, pair.high, places)
            table.add_row(
                _safe(self._console, f"{pair.a} - {pair.b}"),
                Text(number(pair.difference, places, sign=True)),
                Text(bounds),
                Text(f"p {p_value(pair.p_adjusted)}"),
                *([] if shown is close else [_separated(digest.separated(pair))]),
            )
        self._console.print(Padding(table, (0, 0, 0, 2), expand=False))
        if len(shown) > _MOST_PAIRS:
            self._say(f"and {len(shown) - _MOST_PAIRS} more in the report.")

    def answer(self) -> None:
        _heading(self._console, "Answer")
        self._console.print(
            Padding(_safe(self._console, " ".join(answer(self._digest)), "bold"), (0, 0, 0, 2), expand=False)
        )

    def _rows(self, table: Table) -> Iterator[str]:
        """Yield the generators in order, then the floor rows, set apart by a line."""
        yield from self._digest.order
        if self._digest.floors:
            table.add_section()
            yield from self._digest.floors

    def _cell(self, generator: str, metric: str, places: int) -> Text:
        estimate = self._digest.estimate(generator, metric)
        if estimate is None:
            return Text(self._missing(generator, metric), "dim")
        value, width = value_and_half_width(estimate, places)
        mark = generator in self._digest.best(metric)
        return Text.assemble(
            (f"*{value}" if mark else value, "bold green" if mark else ""),
            _safe(self._console, f" {width}" if width else "", "dim"),
        )

    def _missing(self, generator: str, metric: str) -> str:
        cell = self._digest.cells.get((generator, metric))
        if cell is None:
            return ""
        reason = self._digest.reason(cell)
        return f"{MISSING} ({self._footnotes.setdefault(reason, len(self._footnotes) + 1)})"

    def _packed(
        self, columns: dict[str, dict[str, Text]], *, keep_families: bool, extra: Sequence[str] = ()
    ) -> list[list[str]]:
        """Return the columns table by table, as many as the width allows; families together where asked for."""
        room = self._room(extra)
        widths = {
            metric: _GAP + max(*(text.cell_len for text in cells.values()), len(variant_of(metric)))
            for metric, cells in columns.items()
        }
        tables: list[list[str]] = [[]]
        left = room
        for _, family in self._digest.families:
            metrics = [metric for metric in family if metric in columns]
            if keep_families and sum(widths[metric] for metric in metrics) > left < room:
                tables.append([])
                left = room
            for metric in metrics:
                family_first = not tables[-1] or self._family(tables[-1][-1]) != self._family(metric)
                width = max(widths[metric], _GAP + len(self._family(metric)) if family_first else 0)
                if width > left and tables[-1]:
                    tables.append([])
                    left = room
                    width = max(width, _GAP + len(self._family(metric)))
                tables[-1].append(metric)
                left -= width
        return [table for table in tables if table]

    def _family(self, metric: str) -> str:
        return f"{family_of(metric)} {_ARROWS[self._digest.better(metric)]}".rstrip()

    def _print_columns(
        self, metrics: list[str], columns: dict[str, dict[str, Text]], *, extra: Sequence[str] = ()
    ) -> None:
        self._console.print()
        table = self._table()
        above = ""
        for metric in metrics:
            family = self._family(metric)
            header = f"{family if family != above else ''}\n{variant_of(metric)}"
            table.add_column(_safe(self._console, header), justify="right", no_wrap=True)
            above = family
        for generator in self._rows(table):
            table.add_row(self._name(generator), *(columns[metric][generator] for metric in metrics))
        for label in extra:
            if any(columns[metric][label].plain for metric in metrics):
                table.add_row(Text(label, "italic dim"), *(columns[metric][label] for metric in metrics))
        self._console.print(table)

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="dim")
        table.add_column("generator", overflow="fold", max_width=_NAME_WIDTH)
        return table

    def _name(self, generator: str, *, bold: bool = False) -> Text:
        floor = generator in self._digest.floors
        return _safe(self._console, generator, "italic dim" if floor else "bold" if bold else "")

    def _say(self, text: str) -> None:
        self._console.print(Padding(_safe(self._console, text, "dim"), (0, 0, 0, 2), expand=False))


def _also(finding: Finding) -> str:
    """Return whose text shows the same, and in how many of its sentences."""
    of = "" if finding.count_generated == finding.n_generated else f" of {finding.n_generated:,}"
    return f"{finding.generator} ({finding.count_generated:,}{of})"


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(_safe(console, text, "bold underline" if console.is_terminal else "bold"))


def _separated(separated: bool) -> Text:
    return Text("separated", "green") if separated else Text("not separated", "dim")


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _safe(console: Console, text: str, style: str = "") -> Text:
    """Return `text` for this console, line breaks kept, with nothing in it that could steer a terminal."""
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return Text(lines.translate(_ASCII) if console.options.ascii_only else lines, style)
