"""What the page shows of many metrics: one section a kind, with what the metrics are, tables and forest plots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from textassay.metric import CATALOG
from textassay.report.answer import direction
from textassay.report.console import ARROWS
from textassay.report.digest import Digest
from textassay.report.kinds import family_of, variant_of
from textassay.report.number import MISSING, number, value_and_half_width
from textassay.report.words import slug


@dataclass(frozen=True)
class Cell:
    """One number in a table: the value, half its interval, its value at the floor's size, a mark, a footnote.

    `like_real` is what real text scores at the size of `like` where that is smaller than the floor's.
    """

    value: str
    width: str = ""
    like: str = ""
    like_real: str = ""
    best: bool = False
    note: int | None = None


@dataclass(frozen=True)
class Row:
    """One generator, or real text, in a table."""

    name: str
    floor: bool
    best: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class MetricTable:
    """Metrics beside each other."""

    families: tuple[tuple[str, int], ...]  # (name with its arrow, number of columns), from left to right
    variants: tuple[str, ...]  # What stands below the families; empty where none has any
    rows: tuple[Row, ...]  # One a generator, then real text
    forests: tuple[Markup, ...]  # The figures of these metrics


@dataclass(frozen=True)
class KindSection:
    """One kind of metrics: what each is, the tables, the directions in words, the reasons of missing values."""

    name: str
    anchor: str
    summaries: tuple[tuple[str, str], ...]
    tables: tuple[MetricTable, ...]
    legend: str
    reasons: tuple[str, ...]
    at_floor_size: bool  # whether values of some metrics are
    beside: bool  # whether those of others stand below the value


def kind_sections(digest: Digest, figures: Mapping[tuple[str, str], Markup]) -> list[KindSection]:
    """Return one section a kind; `figures` by kind and subject."""
    sections = []
    for kind in digest.kinds:
        metrics = [metric for table in kind.tables for metric in table]
        reasons = missing_reasons(digest, metrics)
        families = dict.fromkeys(map(family_of, metrics))
        sections.append(
            KindSection(
                name=kind.name,
                anchor=slug(kind.name),
                summaries=tuple((family, _described(digest, family, metrics)) for family in families),
                tables=tuple(_table(digest, table, reasons, figures) for table in kind.tables),
                legend=_legend(digest, metrics),
                reasons=tuple(reasons),
                at_floor_size=any(map(digest.at_floor_size, metrics)),
                beside=any(digest.beside(name, metric) is not None for metric in metrics for name in digest.order),
            )
        )
    return sections


def summary_of(metric: str) -> str:
    """Return what a metric is in one sentence; empty for one that the catalogue does not have."""
    entry = CATALOG.get(family_of(metric))
    return "" if entry is None else entry.summary


def missing_reasons(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return why values are missing, each reason once."""
    return [reason for reason, _ in digest.errors(metrics)]


def _described(digest: Digest, family: str, metrics: Sequence[str]) -> str:
    """Return what a family of metrics is, with its unit where a number has to be read with it."""
    unit = next(digest.told_unit(metric) for metric in metrics if family_of(metric) == family)
    summary = summary_of(family)
    return summary if not unit or unit.split()[0] in summary else f"{summary} ({unit})"


def _legend(digest: Digest, metrics: Sequence[str]) -> str:
    betters = dict.fromkeys(digest.better(metric) for metric in metrics)
    if len(betters) == 1:
        return direction(next(iter(betters)))
    return "; ".join(f"{ARROWS[better]} {direction(better)}".strip() for better in betters)


def _table(
    digest: Digest, metrics: Sequence[str], reasons: Sequence[str], figures: Mapping[tuple[str, str], Markup]
) -> MetricTable:  # fmt: skip
    families: list[tuple[str, int]] = []
    for metric in metrics:
        name = f"{family_of(metric)} {ARROWS[digest.better(metric)]}".rstrip()
        if families and families[-1][0] == name:
            families[-1] = (name, families[-1][1] + 1)
        else:
            families.append((name, 1))
    rows = [
        Row(
            generator,
            generator in digest.floors,
            any(generator in digest.marked(metric) for metric in metrics),
            tuple(_cell(digest, generator, metric, reasons) for metric in metrics),
        )
        for generator in (*digest.order, *digest.floors)
    ]
    variants = tuple(map(variant_of, metrics))
    forests = tuple(figures["forest", metric] for metric in metrics if ("forest", metric) in figures)
    return MetricTable(tuple(families), variants if any(variants) else (), tuple(rows), forests)


def _cell(digest: Digest, generator: str, metric: str, reasons: Sequence[str]) -> Cell:
    estimate = digest.shown(generator, metric)
    if estimate is None:
        cell = digest.cells.get((generator, metric))
        reason = digest.reason(cell) if cell is not None else None
        return Cell(MISSING, note=reasons.index(reason) + 1 if reason in reasons else None)
    places = digest.places(metric)
    value, width = value_and_half_width(estimate, places)
    like = digest.beside(generator, metric)
    own = digest.own_floor(generator, metric)
    return Cell(
        value,
        width,
        "" if like is None else number(like.value, places),
        "" if own is None else number(own.value, places),
        generator in digest.marked(metric),
    )
