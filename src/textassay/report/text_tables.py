"""Tables of many metrics on a terminal: as many columns as its width allows, families together, each reason once."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textassay.comparison import FLOOR
from textassay.estimate import Estimate
from textassay.report.answer import direction
from textassay.report.console import ARROWS, heading, print_table, safe
from textassay.report.digest import Digest
from textassay.report.kinds import family_of, variant_of
from textassay.report.number import MISSING, level, number, value_and_half_width
from textassay.report.words import join_words

COLUMN_GAP = 2
_NAME_WIDTH = 24


class TablePrinter:
    """Prints the tables of one comparison on one console."""

    def __init__(self, digest: Digest, console: Console) -> None:
        self._digest = digest
        self._console = console
        self._footnotes: dict[str, int] = {}

    def other_metrics(self) -> None:
        """Print all metrics but the headline: values, half-widths, marks."""
        digest = self._digest
        others = [metric for metric in digest.metrics if metric != digest.headline]
        columns, extra = self.cells(others)
        for group in self._packed(columns, keep_families=True, extra=extra):
            self._print_columns(group, columns, extra=extra)
        if others:
            legend = f"± the longer arm of the {level(digest.comparison.level)} interval"
            arrows = {digest.better(metric) for metric in others} - {"neither"}
            legend += "".join(f"; {ARROWS[better]} {direction(better)}" for better in sorted(arrows))
            marked = any(digest.marked(metric) for metric in digest.comparison.metrics)
            legend += f"; {self.at_floor_size_note()}" * any(map(digest.at_floor_size, others))
            legend += "".join(f"; {unit}" for unit in units(digest, others))
            self.say(legend + ("; * none is significantly better." if marked else "."))

    def cells(self, metrics: Sequence[str]) -> tuple[dict[str, dict[str, Text]], list[str]]:
        """Return each metric's cells by row, and the rows of real text beside generators with a floor of their own."""
        digest = self._digest
        columns = {}
        own_floors: dict[str, int] = {}
        for metric in metrics:
            places = digest.places(metric)
            columns[metric] = {name: self._cell(name, metric, places) for name in (*digest.order, *digest.floors)}
            if digest.at_floor_size(metric):
                for label, own in digest.own_floors(metric).items():
                    columns[metric][label] = self._numbers(own, places)
                    own_floors[label] = own.sizes.get("n_generated", 0)
        extra = sorted(own_floors, key=own_floors.__getitem__, reverse=True)
        for cells in columns.values():
            for label in extra:
                cells.setdefault(label, Text(""))
        return columns, extra

    def like_beside_like(self, *, headline_shown: bool) -> None:
        """Print each generator's values at the floor's size, against the same half of the real text.

        Metrics that are shown at that size anyway are left out. Where a generator has fewer sentences than that, real
        text is shown at its size too; where it comes with log-probabilities or ratings, real text with those.
        `headline_shown` tells whether those of the headline stand elsewhere.
        """
        digest = self._digest
        columns: dict[str, dict[str, Text]] = {}
        smaller: dict[str, int] = {}
        for metric in digest.metrics:
            if digest.at_floor_size(metric):
                continue
            likes = {name: digest.beside(name, metric) for name in (*digest.order, *digest.floors)}
            for label, own in digest.own_floors(metric).items():
                likes[label] = own
                smaller[label] = own.sizes.get("n_generated", 0)
            shown_above = metric == digest.headline and headline_shown
            if shown_above or all(likes[name] is None for name in digest.order):
                continue
            places = digest.places(metric)
            columns[metric] = {
                name: Text(MISSING if like is None else number(like.value, places)) for name, like in likes.items()
            }
        floor = next((digest.estimate(FLOOR, metric) for metric in columns if digest.estimate(FLOOR, metric)), None)
        size = "" if floor is None else f" ({floor.sizes.get('n_generated', 0):,} texts)"
        least = ", or all texts of a generator that has fewer" if smaller else ""
        if columns:
            heading(self._console, f"At equal size: all at the size of the {FLOOR} row{size}{least}")
        for metric_columns in columns.values():
            for label in smaller:
                metric_columns.setdefault(label, Text(""))
        extra = sorted(smaller, key=smaller.__getitem__, reverse=True)
        for group in self._packed(columns, keep_families=False, extra=extra):
            self._print_columns(group, columns, extra=extra)

    def notes(self) -> None:
        """Print why values are missing, each reason once."""
        if self._footnotes:
            self._console.print()
        for reason, mark in self._footnotes.items():
            self.say(f"({mark}) {reason}")

    def room(self, extra: Sequence[str] = ()) -> int:
        """Return the width that the column of names leaves."""
        names = max((cell_len(name) for name in (*self._digest.order, *self._digest.floors, *extra)), default=0)
        return self._console.width - min(_NAME_WIDTH, max(names, len("generator")))

    def rows(self, table: Table) -> Iterator[str]:
        """Yield the generators in order, then the floor rows, set apart by a line."""
        yield from self._digest.order
        if self._digest.floors:
            table.add_section()
            yield from self._digest.floors

    def _cell(self, generator: str, metric: str, places: int) -> Text:
        estimate = self._digest.shown(generator, metric)
        if estimate is None:
            return Text(self.missing(generator, metric), "dim")
        return self._numbers(estimate, places, mark=generator in self._digest.marked(metric))

    def _numbers(self, estimate: Estimate, places: int, *, mark: bool = False) -> Text:
        value, width = value_and_half_width(estimate, places)
        return Text.assemble(
            (f"*{value}" if mark else value, "bold green" if mark else ""),
            safe(self._console, f" {width}" if width else "", "dim"),
        )

    def at_floor_size_note(self) -> str:
        """Return at which size the metrics stand of which the floor is the aim."""
        floor = next((found for m in self._digest.metrics if (found := self._digest.estimate(FLOOR, m))), None)
        size = "" if floor is None else f", {floor.sizes.get('n_generated', 0):,} texts"
        told = f"values of {ARROWS['closer']} are at the size of the {FLOOR} row{size}, as they are ranked"
        if any(
            self._digest.own_floors(metric) for metric in self._digest.metrics if self._digest.at_floor_size(metric)
        ):
            told += ", those of a generator with fewer texts beside real text of its own size"
        return told

    def missing(self, generator: str, metric: str) -> str:
        """Return what stands in place of a value: a sign with the number of its reason."""
        cell = self._digest.cells.get((generator, metric))
        if cell is None:
            return ""
        reason = self._digest.reason(cell)
        return f"{MISSING} ({self._footnotes.setdefault(reason, len(self._footnotes) + 1)})"

    def _packed(
        self, columns: dict[str, dict[str, Text]], *, keep_families: bool, extra: Sequence[str] = ()
    ) -> list[list[str]]:
        """Return the columns table by table, as many as the width allows; families together where asked for."""
        room = self.room(extra)
        widths = {
            metric: COLUMN_GAP + max(*(text.cell_len for text in cells.values()), len(variant_of(metric)))
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
                width = max(widths[metric], COLUMN_GAP + len(self._family(metric)) if family_first else 0)
                if width > left and tables[-1]:
                    tables.append([])
                    left = room
                    width = max(width, COLUMN_GAP + len(self._family(metric)))
                tables[-1].append(metric)
                left -= width
        return [table for table in tables if table]

    def _family(self, metric: str) -> str:
        return f"{family_of(metric)} {ARROWS[self._digest.better(metric)]}".rstrip()

    def _print_columns(
        self, metrics: list[str], columns: dict[str, dict[str, Text]], *, extra: Sequence[str] = ()
    ) -> None:
        self._console.print()
        table = self.table()
        above = ""
        for metric in metrics:
            family = self._family(metric)
            header = family if family != above else ""
            header += f"\n{variant_of(metric)}" if any(map(variant_of, metrics)) else ""
            table.add_column(safe(self._console, header), justify="right", no_wrap=True)
            above = family
        for generator in self.rows(table):
            table.add_row(self.name_cell(generator), *(columns[metric][generator] for metric in metrics))
        for label in extra:
            if any(columns[metric][label].plain for metric in metrics):
                table.add_row(Text(label, "italic dim"), *(columns[metric][label] for metric in metrics))
        print_table(self._console, table, indent=0)

    def table(self) -> Table:
        """Return an empty table with a column of names."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="dim")
        table.add_column("generator", overflow="fold", max_width=_NAME_WIDTH)
        return table

    def name_cell(self, generator: str, *, bold: bool = False) -> Text:
        """Return a generator's name; rows of real text look different."""
        floor = generator in self._digest.floors
        return safe(self._console, generator, "italic dim" if floor else "bold" if bold else "")

    def say(self, text: str) -> None:
        """Print a remark."""
        self._console.print(Padding(safe(self._console, text, "dim"), (0, 0, 0, 2), expand=False))


def units(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return "a and b in nats per token" for every unit that a number has to be read with."""
    families: dict[str, dict[str, None]] = {}
    for metric in metrics:
        unit = digest.told_unit(metric)
        if unit:
            families.setdefault(unit, {})[family_of(metric)] = None
    return [f"{join_words(list(names))} in {unit}" for unit, names in families.items()]
