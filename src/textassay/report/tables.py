"""Tables for files: CSV in long format with full precision, Markdown, and papers' layout over several runs."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from textassay.comparison import Comparison
from textassay.corpus import csv_text
from textassay.errors import OptionError
from textassay.inspection import Finding
from textassay.report.answer import answer, command_line, direction, scope
from textassay.report.console import ARROWS
from textassay.report.digest import Digest, excerpt
from textassay.report.explanation_text import curve_statement, prefix_statement
from textassay.report.inspection import group_findings
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
    value_and_half_width,
)
from textassay.report.old_markdown import escaped
from textassay.report.words import join_words, printable

_MOST_GIVEAWAYS = 5
_EXAMPLE_WIDTH = 160

_AT_FLOOR_SIZE = f"Values of {ARROWS['closer']} are at the size of the (real) row, as they are ranked."

RESULT_COLUMNS = (
    "generator",
    "metric",
    "value",
    "low",
    "high",
    "level",
    "interval_method",
    "unit",
    "better",
    "n_generated",
    "n_real",
    "rank_low",
    "rank_high",
    "matched_value",
    "matched_low",
    "matched_high",
    "floor_value",
    "ranked_by",
    "error",
    "signature",
)


def to_csv(comparison: Comparison) -> str:
    """Return one line a generator and metric, in full precision; what is missing or undefined is empty."""
    digest = Digest(comparison)
    rows = []
    for result in comparison.to_dict()["results"]:
        rank = digest.ranks.get((result["generator"], result["metric"]))
        matched = result["matched"] or {}
        sizes = result["sizes"] or {}
        row: dict[str, Any] = {
            **result,
            "n_generated": sizes.get("n_generated"),
            "n_real": sizes.get("n_real"),
            "rank_low": None if rank is None else rank.low,
            "rank_high": None if rank is None else rank.high,
            "matched_low": matched.get("low"),
            "matched_high": matched.get("high"),
        }
        rows.append([row[column] for column in RESULT_COLUMNS])
    return csv_text(RESULT_COLUMNS, rows)


def to_markdown(comparison: Comparison) -> str:
    """Return the comparison as a Markdown document: answer, findings, tables by kind, pairs, giveaways."""
    digest = Digest(comparison)
    lines = ["# How far the generated text is from the real text", "", " ".join(map(escaped, answer(digest))), ""]
    lines += [f"- {label}: {escaped(text)}" for label, text in scope(digest)]
    lines += _findings(digest)
    if digest.headline is not None:
        lines += ["", f"## {escaped(digest.headline)}", "", *_headline(digest, digest.headline)]
    for kind in digest.kinds:
        lines += ["", f"## {escaped(kind.name)}"]
        for table in kind.tables:
            lines += ["", *_metrics(digest, table)]
        reasons = digest.errors([metric for table in kind.tables for metric in table])
        lines += ["", *(f"- {MISSING}: {escaped(reason)}" for reason, _ in reasons)] if reasons else []
    lines += _pairs(digest)
    lines += _explanations(digest)
    lines += ["", "## To repeat the comparison", "", "    " + printable(command_line(digest)), ""]
    return "\n".join(lines)


def runs_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return mean and spread of every cell over runs that differ in their seed.

    Columns `generator`, `metric`, `mean`, `sd` (over runs, ddof 1; NaN for one run) and `n_runs`.
    """
    seeds = [comparison.seed for comparison in comparisons]
    if not seeds:
        raise OptionError("a table over runs needs at least one comparison, got none")
    if len(set(seeds)) < len(seeds):
        raise OptionError(f"every run must have its own seed, got {', '.join(map(str, seeds))}")
    values: dict[tuple[str, str], list[float]] = {}
    for comparison in comparisons:
        for result in comparison.results:
            cell = values.setdefault((result.generator, result.metric), [])
            if result.estimate is not None and math.isfinite(result.estimate.value):
                cell.append(result.estimate.value)
    rows = [
        (
            *cell,
            statistics.fmean(runs) if runs else math.nan,
            statistics.stdev(runs) if len(runs) > 1 else math.nan,
            len(runs),
        )
        for cell, runs in values.items()
    ]
    return pd.DataFrame(rows, columns=["generator", "metric", "mean", "sd", "n_runs"])


def runs_table(comparisons: Sequence[Comparison]) -> str:
    """Return papers' layout in Markdown: generators by metrics, cells "mean ± standard deviation" over the runs."""
    frame = runs_frame(comparisons)
    digest = Digest(comparisons[0])
    metrics = list(dict.fromkeys(frame["metric"]))
    cells = {(row.generator, row.metric): row for row in frame.itertuples()}
    rows = []
    for generator in (*digest.order, *digest.floors):
        row = [escaped(generator)]
        for metric in metrics:
            cell = cells.get((generator, metric))
            row.append(MISSING if cell is None else _mean_and_spread(cell.mean, cell.sd))
        rows.append(row)
    note = f"Mean ± standard deviation over {len(comparisons)} runs with different seeds."
    return "\n".join([*_table(["generator", *map(escaped, metrics)], rows), "", note, ""])


def _mean_and_spread(mean: Any, spread: Any) -> str:
    places = decimals(float(mean), float(spread))
    width = "" if math.isnan(spread) else f" ± {number(float(spread), places)}"
    return number(float(mean), places) + width


def _headline(digest: Digest, metric: str) -> list[str]:
    places = digest.places(metric)
    header = [
        "generator",
        metric,
        f"{level(digest.comparison.level)} interval",
        "at least",
        "p",
        "rank",
        "at floor size",
    ]
    rows = []
    for generator in (*digest.order, *digest.floors):
        estimate = digest.shown(generator, metric)
        bound = digest.bound(generator, metric)
        p = digest.detail(generator, metric, "p_value")
        like = digest.beside(generator, metric)
        rows.append(
            [
                _marked(digest, generator, metric, escaped(generator)),
                MISSING if estimate is None else number(estimate.value, places),
                "" if estimate is None else interval(estimate.interval, places),
                "" if bound is None else number(bound[0], places),
                "" if p is None else p_value(p),
                digest.rank_text(generator, metric),
                "" if like is None else number(like.value, places),
            ]
        )
    if digest.at_floor_size(metric):
        rows += [
            [label, number(own.value, places), interval(own.interval, places), "", "", "", ""]
            for label, own in digest.own_floors(metric).items()
        ]
    why = [*(reason for reason, _ in digest.errors([metric])), *digest.bound_reasons(metric)]
    reasons = [f"- {MISSING}: {escaped(reason)}" for reason in why]
    judges = [escaped(statement) for statement in judge_statements(digest, metric)]
    notes = f"{direction(digest.better(metric)).capitalize()}; bold: none is significantly better."
    notes += f" {_AT_FLOOR_SIZE}" * digest.at_floor_size(metric)
    return [
        *_table(header, rows),
        "",
        " ".join([notes, *filter(None, [escaped(digest.train_note)]), *judges]),
        *(["", *reasons] if reasons else []),
    ]


def _metrics(digest: Digest, metrics: Sequence[str]) -> list[str]:
    rows = []
    for generator in (*digest.order, *digest.floors):
        row = [escaped(generator)]
        for metric in metrics:
            estimate = digest.shown(generator, metric)
            places = digest.places(metric)
            value, width = (MISSING, "") if estimate is None else value_and_half_width(estimate, places)
            cell = _marked(digest, generator, metric, value) + (f" {width}" if width else "")
            like = None if generator in digest.floors else digest.beside(generator, metric)
            own = None if generator in digest.floors else digest.own_floor(generator, metric)
            told = [] if like is None else [number(like.value, places)]
            told += [] if own is None else [f"real {number(own.value, places)}"]
            row.append(f"{cell} ({'; '.join(told)})" if told else cell)
        rows.append(row)
    header = ["generator", *(f"{escaped(metric)} {ARROWS[digest.better(metric)]}".rstrip() for metric in metrics)]
    betters = dict.fromkeys(digest.better(metric) for metric in metrics)
    legend = "; ".join(f"{ARROWS[better]} {direction(better)}".strip() for better in betters)
    note = f"{legend[:1].upper()}{legend[1:]}."
    if not all(map(digest.at_floor_size, metrics)):
        note += " In brackets: the value at the size of the (real) row, to compare with it."
    if any(map(digest.at_floor_size, metrics)):
        note += f" {_AT_FLOOR_SIZE}"
    if any(digest.own_floor(generator, metric) for generator in digest.generators for metric in metrics):
        note += (
            " A generator with fewer texts, or with log-probabilities or ratings, is compared with real text of "
            "its own size and with those, given after it."
        )
    return [*_table(header, rows), "", note]


def _findings(digest: Digest) -> list[str]:
    lines = ["", "## Warnings and notes", "", *finding_lines(digest.comparison.findings)]
    for warning, names in digest.grouped_warnings():
        lines.append(f"- {escaped(warning)}{f' (the same of {escaped(join_words(names))})' if names else ''}")
    return lines if len(lines) > 3 else [*lines, "Nothing was found."]


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return findings as a Markdown list, warnings first, those of one kind together."""
    lines = []
    for first, *others in group_findings(findings):
        lines.append(f"- **{first.severity}** {escaped(first.generator)}: {escaped(first.message)}")
        also = [f"{escaped(other.generator)} ({count(other.count_generated)})" for other in others]
        lines += [f"    - also: {', '.join(also)}"] if also else []
        lines.append(f"    - do: {escaped(first.remedy)}")
    return lines


def _pairs(digest: Digest) -> list[str]:
    metric = digest.headline
    pairs = () if metric is None else digest.pairs(metric)
    if not pairs or metric is None:
        return []
    places = digest.places(metric)
    rows = [
        [
            escaped(pair.a),
            escaped(pair.b),
            number(pair.difference, places, sign=True),
            span(pair.low, pair.high, places),
            p_value(pair.p_adjusted),
            "yes" if digest.separated(pair) else "no",
        ]
        for pair in pairs
    ]
    return [
        "",
        f"## Pairs by {escaped(metric)}",
        "",
        *_table(["a", "b", "a - b", "interval", "p adjusted", "separated"], rows),
    ]


def _explanations(digest: Digest) -> list[str]:
    """Return what gives each generator away, in a few lines each; the page and the JSON document have the whole."""
    explanations = sorted(digest.comparison.explanations, key=lambda found: digest.order.index(found.generator))
    lines = ["", "## What gives them away"] if explanations else []
    for explanation in explanations:
        lines += ["", f"### {escaped(explanation.generator)}", ""]
        for title, giveaways in (
            ("Says too often", explanation.overused),
            ("Says too rarely", explanation.more_real),
        ):
            shown = [
                f"{escaped(found.ngram)} ({_percent(found.share_generated)}, real {_percent(found.share_real)})"
                for found in giveaways[:_MOST_GIVEAWAYS]
            ]
            lines.append(f"- {title}: {'; '.join(shown) or 'no n-gram stands out'}")
        for title, examples, evidence in (
            ("Most generated", explanation.most_generated, explanation.overused),
            ("Most lifelike", explanation.most_lifelike, explanation.more_real),
        ):
            lines += [
                f"- {title}: {escaped(excerpt(example.text, _EXAMPLE_WIDTH, evidence))}" for example in examples[:1]
            ]
        if explanation.prefixes:
            lines.append(f"- {escaped(prefix_statement(explanation))}")
        lines.append(f"- {escaped(curve_statement(explanation))}")
    return lines


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)} %"


def _marked(digest: Digest, generator: str, metric: str, text: str) -> str:
    return f"**{text}**" if generator in digest.marked(metric) else text


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in header[1:])]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
