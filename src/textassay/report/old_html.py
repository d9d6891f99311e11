"""The page: one file, readable offline, light and dark, on paper and on a phone; no script, nothing loaded.

Every text from outside goes through Jinja's escaping; figures are ours, with names escaped when they were drawn.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from textassay.comparison import FLOOR, Comparison, PairDifference
from textassay.report.answer import answer, command_line, direction, scope
from textassay.report.digest import Digest
from textassay.report.judges import judge_statements
from textassay.report.number import (
    MISSING,
    count,
    decimals,
    interval,
    level,
    number,
    p_value,
    span,
)
from textassay.report.old_drawing import Drawing
from textassay.report.page_cards import EXAMPLE_WIDTH, generator_cards
from textassay.report.page_tables import kind_sections, missing_reasons, summary_of
from textassay.report.reading import reading_guide
from textassay.report.sentences import Examples
from textassay.report.svg import to_inline
from textassay.report.words import join_words, printable, shorten, slug

_FEW_GENERATORS = 4
_DISTINCT = "dd_distinct_texts"  # the same over distinct sentences, where a metric gives it


def to_html(comparison: Comparison, drawings: Sequence[Drawing], examples: Mapping[str, Examples]) -> str:
    """Return the page."""
    digest = Digest(comparison)
    environment = Environment(
        loader=PackageLoader("textassay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count
    environment.filters["minus"] = lambda text: text.replace("-", "\N{MINUS SIGN}")
    environment.filters["minus_numbers"] = lambda text: re.sub(r"(?<![\w.)])-(?=\d)", "\N{MINUS SIGN}", text)
    environment.filters["words"] = join_words
    environment.filters["sentence_case"] = lambda text: text[:1].upper() + text[1:]
    environment.filters["shown"] = printable
    environment.filters["short"] = lambda text: shorten(printable(" ".join(text.split())), EXAMPLE_WIDTH)
    figures = {(drawing.kind, drawing.subject): _inline(drawing) for drawing in drawings}
    page = environment.get_template("report.html.j2").render(
        answer=answer(digest),
        scope=scope(digest),
        level=level(comparison.level),
        version=comparison.version,
        findings=digest.grouped_findings(),
        warnings=digest.grouped_warnings(),
        headline=digest.headline,
        headline_summary=summary_of(digest.headline or ""),
        headline_direction="" if digest.headline is None else direction(digest.better(digest.headline)),
        head_rows=() if digest.headline is None else _headline_rows(digest, digest.headline),
        head_has=_headline_columns(digest),
        head_at_floor_size=digest.headline is not None and digest.at_floor_size(digest.headline),
        head_forest=figures.get(("forest", digest.headline or "")),
        head_reasons=()
        if digest.headline is None
        else (*missing_reasons(digest, (digest.headline,)), *digest.bound_reasons(digest.headline)),
        head_judges=() if digest.headline is None else judge_statements(digest, digest.headline),
        head_details=_details(digest),
        kinds=kind_sections(digest, figures),
        frontier=next((figure for (kind, _), figure in figures.items() if kind == "frontier"), None),
        planes=[figure for (kind, _), figure in figures.items() if kind == "plane"],
        cards=generator_cards(digest, figures, examples),
        open_cards=len(digest.generators) <= _FEW_GENERATORS,
        pair_figure=figures.get(("pairs", digest.headline or "")),
        rank_figure=figures.get(("ranks", "")),
        pair_tables=_pair_tables(digest),
        has_floor=FLOOR in digest.floors,
        train_note=digest.train_note,
        has_best={metric: bool(digest.marked(metric)) for metric in comparison.metrics},
        has_own_floors=any(digest.own_floor(*cell) is not None for cell in digest.cells),
        signatures=[
            (result.generator, result.metric, str(result.estimate.signature))
            for result in comparison.results
            if result.estimate is not None
        ],
        command=command_line(digest),
        reading=reading_guide(digest),
    )
    return re.sub(r"\n\s*\n+", "\n", page)


def _inline(drawing: Drawing) -> Markup:
    title = str(escape(drawing.description))
    return Markup(to_inline(drawing.svg, name=slug(drawing.file_name), title=title))


def _headline_columns(digest: Digest) -> dict[str, bool]:
    metric = digest.headline or ""
    return {
        "bound": any(digest.detail(g, metric, "certified_bound") is not None for g in digest.generators),
        "p": any(digest.detail(g, metric, "p_value") is not None for g in digest.generators),
        "like": any(digest.beside(g, metric) is not None for g in digest.generators),
        "distinct": any(digest.detail(g, metric, _DISTINCT) is not None for g in digest.generators),
        "rank": any((g, metric) in digest.ranks for g in digest.generators),
    }


def _headline_rows(digest: Digest, metric: str) -> list[dict[str, Any]]:
    places = digest.places(metric)
    rows = []
    for generator in (*digest.order, *digest.floors):
        estimate, like = digest.shown(generator, metric), digest.beside(generator, metric)
        bound, p = digest.bound(generator, metric), digest.detail(generator, metric, "p_value")
        distinct = digest.detail(generator, metric, _DISTINCT)
        size = digest.size(generator)
        rows.append(
            {
                "name": generator,
                "floor": generator in digest.floors,
                "best": generator in digest.marked(metric),
                "n": "" if size is None else count(size),
                "value": MISSING if estimate is None else number(estimate.value, places),
                "interval": "" if estimate is None else interval(estimate.interval, places),
                "bound": "" if bound is None else number(bound[0], places),
                "p": "" if p is None else p_value(p),
                "rank": digest.rank_text(generator, metric).replace("-", "\N{EN DASH}"),
                "distinct": "" if distinct is None else number(distinct, places),
                "like": "" if like is None else number(like.value, places),
            }
        )
    for label, own in digest.own_floors(metric).items() if digest.at_floor_size(metric) else ():
        shown = {"name": label, "floor": True, "n": count(own.sizes.get("n_generated", 0))}
        numbers = {"value": number(own.value, places), "interval": interval(own.interval, places)}
        rows.append({**dict.fromkeys(rows[0], ""), "best": False, **shown, **numbers})
    return rows


def _details(digest: Digest) -> tuple[tuple[str, ...], list[tuple[str, list[str]]]]:
    """Return the numbers among the headline's details: their names, and one row a generator."""
    metric = digest.headline or ""
    estimates = {name: digest.estimate(name, metric) for name in (*digest.order, *digest.floors)}
    details = {name: estimate.details for name, estimate in estimates.items() if estimate is not None}
    keys = dict.fromkeys(
        key
        for found in details.values()
        for key, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    rows = [(name, [_detail(found.get(key)) for key in keys]) for name, found in details.items()]
    return tuple(key.replace("_", " ") for key in keys), rows


def _detail(value: Any) -> str:
    if value is None or isinstance(value, int):
        return MISSING if value is None else count(value)
    return number(value, decimals(value, abs(value)))


def _pair_tables(digest: Digest) -> list[tuple[str, int, tuple[dict[str, Any], ...]]]:
    """Return (metric, number of separated pairs, rows) for every metric with pairs, the headline first."""
    tables = []
    for metric in sorted(digest.comparison.metrics, key=lambda metric: metric != digest.headline):
        pairs = digest.pairs(metric)
        if pairs:
            rows = tuple(_pair_row(digest, pair) for pair in pairs)
            tables.append((metric, sum(digest.separated(pair) for pair in pairs), rows))
    return tables


def _pair_row(digest: Digest, pair: PairDifference) -> dict[str, Any]:
    places = digest.places(pair.metric)
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": number(pair.difference, places, sign=True),
        "interval": span(pair.low, pair.high, places),
        "p": p_value(pair.p_adjusted),
        "separated": digest.separated(pair),
    }
