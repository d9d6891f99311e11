"""Several finished comparisons side by side: what moved, by how much, and whether that is more than noise.

Source of the intervals of differences: Zou and Donner, "Construction of confidence limits about effect measures: A
general approach", Statistics in Medicine 27, 2008 (square-and-add). Estimates are taken as independent; where two
comparisons share their real text, they vary together, and the intervals are wider than they need be.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from textassay.comparison.comparison import Comparison
from textassay.comparison.digest import Digest
from textassay.comparison.document import cell
from textassay.comparison.metric_kinds import family_of, main_metrics, metric_slug
from textassay.errors import OptionError
from textassay.estimate import Estimate
from textassay.metric.catalog import CATALOG
from textassay.report.document import Document, Figure, Section, items, notes, section, sections
from textassay.report.plots import Axis, Colour, Forest, ForestRow, Mark, MarkStyle
from textassay.report.table import (
    Cell,
    Column,
    Table,
    Tone,
    as_is,
    difference_cell,
    interval_cell,
    p_cell,
    record,
    text_cell,
)
from textassay.report.text import count, ends, join_words, level, number, places_for, span
from textassay.resampling.multiplicity import holm

_FREE = ("n", "seed", "v")  # settings of a signature that may differ
_MOST_NAMED = 4
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "not clear": "weak"}
_COLUMNS = ("metric", "generator", "from", "to", "value_from", "value_to", "difference", "low", "high", "p",
            "p_adjusted", "moved")  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One value in two comparisons; interval and p-value are none where a side has no interval."""

    metric: str
    generator: str
    before: Estimate
    after: Estimate
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    moved: str  # "better", "worse", "moved" where no direction is better, "same" to the last digit, else "not clear"


def changes(first: Comparison, last: Comparison) -> tuple[Change, ...]:
    """Return what both comparisons measured, by metric and generator; p is Holm's over the generators of a metric."""
    digests = Digest(first), Digest(last)
    found: list[Change] = []
    for metric in (metric for metric in digests[0].metrics if metric in digests[1].metrics):
        for names in (digests[0].order, digests[0].floors):  # real text is no part of the family of tests
            found += _changes_of(metric, names, digests, alpha=1 - first.level)
    return tuple(found)


def _changes_of(metric: str, names: Sequence[str], digests: tuple[Digest, Digest], *, alpha: float) -> Iterator[Change]:
    """Yield the changes of one metric, p adjusted for all of `names`."""
    both = []
    for name in names:
        before, after = (digest.shown(name, metric) for digest in digests)
        if before is not None and after is not None:
            both.append((name, before, after, *_difference(before, after)))
    known = [one[-1] for one in both if one[-1] is not None]
    adjusted = iter(holm(np.array(known)).tolist() if known else ())
    for name, before, after, difference, low, high, p in both:
        p_adjusted = None if p is None else next(adjusted)
        is_sure = p_adjusted is not None and p_adjusted < alpha
        moved = _moved(digests, name, metric, difference) if is_sure else "not clear"
        moved = "same" if before.value == after.value and before.interval == after.interval else moved
        yield Change(metric, name, before, after, difference, low, high, p, p_adjusted, moved)


def side_by_side(comparisons: Mapping[str, Comparison]) -> Document:
    """Return several comparisons side by side: what moved from the first to the last, and whether more than noise.

    Parameters
    ----------
    comparisons
        At least two, by the names that the report gives them, the earliest first; `read_comparison` reads a folder.

    Returns
    -------
    Document
        Prints, shows itself in notebooks, and is written by its `save`. Its record has a row for each metric and
        generator that the first and the last have: both values, difference, interval, p, p adjusted for the generators
        of the metric (Holm), and "better", "worse", "moved" (no direction is better), "same" or "not clear".

    Raises
    ------
    OptionError
        If there are fewer than two, or they have no value in common.

    Notes
    -----
    The interval of a difference adds those of both sides in squares (Zou and Donner 2008), as for independent draws.
    """
    if len(comparisons) < 2:
        raise OptionError(f"side by side needs at least two comparisons, got {len(comparisons)}")
    (first_name, first), *_, (last_name, last) = comparisons.items()
    moves = changes(first, last)
    if not moves:
        raise OptionError(f"{first_name} and {last_name} have no generator and metric in common")
    digests = {name: Digest(comparison) for name, comparison in comparisons.items()}
    metrics = list(dict.fromkeys(move.metric for move in moves))
    main = main_metrics(metrics, metrics[0])
    return Document(
        f"What changed from {first_name} to {last_name}",
        _answer(moves, first_name, last_name),
        tuple(
            (name, f"{one.real.name}, {count(one.real.n_sentences)} real texts; generators "
                   f"{join_words(one.generators)}; seed {one.seed}; textassay {one.version}")
            for name, one in comparisons.items()
        ),
        sections(
            section("Warnings", *items(list(_warnings(comparisons, moves)))),
            section("The main metrics",
                    replace(_table("changes", digests, [move for move in moves if move.metric in main]), main=True),
                    *notes(_reading(first)), _figure(digests, metrics[0])),
            section("Other metrics",
                    _table("other-changes", digests, [move for move in moves if move.metric not in main])),
            _absent(comparisons),
        ),
        lead=f"changes-{metric_slug(metrics[0])}",
        version=last.version,
        records=(record("changes", _COLUMNS, [_record(move, first_name, last_name) for move in moves]),),
    )  # fmt: skip


def _reading(first: Comparison) -> str:
    return (
        f"Differences from the first to the last, with {level(first.level)} intervals that treat both sides as "
        "independent draws. p is adjusted for the generators of a metric (Holm). A change is clear if p is below one "
        "minus the level. Another draw of texts or another seed is noise; another training run is not covered."
    )


def _difference(before: Estimate, after: Estimate) -> tuple[float, float | None, float | None, float | None]:
    """Return the difference, its interval and its two-sided p-value."""
    difference = after.value - before.value
    a, b = after.interval, before.interval
    if a is None or b is None or not all(map(math.isfinite, (a.low, a.high, b.low, b.high))):
        return difference, None, None, None
    low = difference - math.hypot(after.value - a.low, b.high - before.value)
    high = difference + math.hypot(a.high - after.value, before.value - b.low)
    arm = difference - low if difference > 0 else high - difference  # the one that reaches for 0
    if arm <= 0:
        return difference, low, high, 1.0 if difference == 0 else 0.0
    z = NormalDist().inv_cdf(0.5 + a.level / 2) * abs(difference) / arm
    return difference, low, high, 2 * NormalDist().cdf(-z)


def _moved(digests: tuple[Digest, Digest], name: str, metric: str, difference: float) -> str:
    """Return the direction of a change that is clear."""
    better = digests[0].better(metric)
    if better == "neither" or name in digests[0].floors:
        return "moved"
    before, after = (digest.badness(name, metric) for digest in digests)
    if better != "closer":
        return "better" if (difference < 0) == (better == "lower") else "worse"
    return "better" if after < before else "worse"


def _answer(moves: Sequence[Change], first: str, last: str) -> tuple[str, ...]:
    generators = [move for move in moves if not move.generator.startswith("(")]
    sure = [move for move in generators if move.moved not in ("not clear", "same")]
    n_same = sum(move.moved == "same" for move in generators)
    same = f"; {n_same} are the same to the last digit" if n_same else ""
    headline = generators[0].metric if generators else moves[0].metric
    told = [_change_text(move) for move in generators if move.metric == headline]
    more = f"; {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    kinds = {kind: sum(move.moved == kind for move in sure) for kind in ("better", "worse", "moved")}
    named = {"better": "better", "worse": "worse", "moved": "changed, without a better direction"}
    parts = [f"{n} {named[kind]}" for kind, n in kinds.items() if n]
    overall = f": {join_words(parts)}" if parts else ""
    return (
        f"By {headline}, from {first} to {last}: {'; '.join(told[:_MOST_NAMED])}{more}.",
        f"Of {len(generators)} values of generators that both have, {len(sure)} changed by more than noise{overall}"
        f"{same}.",
        *_floor_moved(moves),
    )


def _change_text(move: Change) -> str:
    places = places_for([move.before, move.after])
    interval = span(move.low, move.high, places)
    said = {"not clear": "no clear change", "same": "the same"}.get(move.moved, f"clearly {move.moved}")
    return f"{move.generator} {number(move.difference, places, sign=True)} {interval}, {said}".replace(" ,", ",")


def _floor_moved(moves: Sequence[Change]) -> tuple[str, ...]:
    names = [f"{move.generator} by {move.metric}" for move in moves
             if move.generator.startswith("(") and move.moved not in ("not clear", "same")]  # fmt: skip
    if not names:
        return ()
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    shown = join_words(names[:_MOST_NAMED]) + more
    return (f"Real text itself changed ({shown}): not only the generators differ, but also the real texts.",)


def _table(name: str, digests: Mapping[str, Digest], moves: Sequence[Change]) -> Table:
    def places(move: Change) -> int:
        return places_for([move.before, move.after])

    def value(move: Change, digest: Digest) -> Cell:
        return replace(cell(digest, move.generator, move.metric), below="", tone="")

    table = Table.of_items(name, moves, [
        ("generator", "generator", text_cell),
        *((label, partial(value, digest=digest), as_is) for label, digest in digests.items()),
        ("difference", lambda move: difference_cell(move.difference, places(move)), as_is),
        (Column("change", numeric=False), lambda move: Cell(move.moved, tone=_TONES.get(move.moved, "")), as_is),
        ("interval", lambda move: interval_cell((move.low, move.high), places(move)), as_is),
        ("p adjusted", "p_adjusted", partial(p_cell, missing="")),
    ], heading=lambda move: move.metric, is_reference=lambda move: move.generator.startswith("("))  # fmt: skip
    return replace(table, fits=True)


def _figure(digests: Mapping[str, Digest], metric: str) -> Figure:
    first = next(iter(digests.values()))
    rows = []
    for name in (*first.order, *first.floors):
        marks = []
        for place, digest in enumerate(digests.values()):
            estimate = digest.shown(name, metric)
            if estimate is None:
                continue
            is_last = place == len(digests) - 1
            colour: Colour = "real" if name in first.floors else "generated" if is_last else "muted"
            style: MarkStyle = "filled" if is_last else "hollow"
            marks.append(Mark(estimate.value, *ends(estimate.interval), style, colour, below=not is_last))
        rows.append(ForestRow(name, tuple(marks), reference=name in first.floors))
    names = list(digests)
    legend = ((names[-1], Mark(0.0, 0.0, 0.0)), (join_words(names[:-1]), Mark(0.0, style="hollow", colour="muted")))
    caption = f"Values of {metric} with their intervals, of {join_words(names)}."
    return Figure(f"changes-{metric_slug(metric)}", Forest(tuple(rows), Axis(metric), legend=legend), caption)


def _warnings(comparisons: Mapping[str, Comparison], moves: Sequence[Change]) -> Iterator[str]:
    """Yield why differences may not be those of the generators."""
    names = list(comparisons)
    prints = {one.real.fingerprint for one in comparisons.values()}
    if len(prints) > 1:
        yield "The real texts differ, which may explain a change."
    differing: dict[str, list[str]] = {}
    for move in moves:
        for key in _other_settings(move.before, move.after):
            differing.setdefault(key, []).append(move.metric)
    for key, metrics in differing.items():
        shown = list(dict.fromkeys(metrics))
        which = join_words(shown[:_MOST_NAMED])
        yield f"{names[0]} and {names[-1]} differ in the setting {key} of {which}: these values are not comparable."
    sizes = {move.metric for move in moves if _sizes(move.before) != _sizes(move.after) and _moves_with_size(move)}
    if sizes:
        yield (
            f"Numbers of texts differ, and {join_words(sorted(sizes)[:_MOST_NAMED])} "
            f"{'move' if len(sizes) > 1 else 'moves'} with them."
        )


def _other_settings(before: Estimate, after: Estimate) -> list[str]:
    first, last = before.signature.settings, after.signature.settings
    return [key for key in {**first, **last} if key not in _FREE and first.get(key) != last.get(key)]


def _sizes(estimate: Estimate) -> list[int | None]:
    return [estimate.sizes.get(side) for side in ("n_generated", "n_real")]


def _moves_with_size(move: Change) -> bool:
    entry = CATALOG.get(family_of(move.metric))
    return entry is not None and entry.size_sensitive


def _absent(comparisons: Mapping[str, Comparison]) -> Section:
    everyone = list(dict.fromkeys(name for one in comparisons.values() for name in one.generators))
    told = []
    for name in everyone:
        missing = [label for label, one in comparisons.items() if name not in one.generators]
        if missing:
            told.append(f"{name} is not in {join_words(missing)}.")
    return section("Not in all of them", *items(told))


def _record(move: Change, first: str, last: str) -> tuple[object, ...]:
    return (move.metric, move.generator, first, last, move.before.value, move.after.value, move.difference, move.low,
            move.high, move.p, move.p_adjusted, move.moved)  # fmt: skip
