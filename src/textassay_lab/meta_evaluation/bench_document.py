"""What a bench found, as a report: shares and ranks, honesty, equal generators, growth, world by world."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from statistics import fmean

from textassay.inspection.document import inspection_sections
from textassay.report.document import Document, Figure, section, sections
from textassay.report.plots import Axis, Colour, Curves, Point, Reference, Series
from textassay.report.table import Cell, Column, Table, as_is, count_cell, numbers, record, text_cell
from textassay.report.text import MISSING, count, join_words, number
from textassay_lab.meta_evaluation.bench import WITH_TRAIN, Bench, BenchCell
from textassay_lab.meta_evaluation.bench_summary import ALL, APART, CONTROLS, Null, nulls, summarize
from textassay_lab.meta_evaluation.bench_summary import Row as Summary
from textassay_lab.meta_evaluation.fluent_pairs import FLUENT_NAMES
from textassay_lab.meta_evaluation.known_truth_pairs import FIRST_TEST_SEED

_PLACES = 3
_COLOURS: tuple[Colour, ...] = ("generated", "real", "ink", "muted")


def bench_document(bench: Bench) -> Document:
    """Return a bench as a report."""
    summaries = summarize(bench)
    n = max(bench.sizes)
    corpora = ", ".join(f"{name} ({count(size)} texts)" for name, size in bench.corpora.items())
    return Document(
        "How much of a known discrepancy is found",
        _answer(summaries, n, _size(bench, n)) or _answer_of_controls(bench, n),
        (
            *((("Generators fitted to", corpora),) if corpora else ()),
            ("Seeds", seeds_sentence(bench.seeds).removeprefix("Seeds ").removesuffix(".")),
            *_sources(bench),
        ),
        sections(
            section(f"Share of the true discrepancy found, and order of the worlds, {_size(bench, n)}",
                    _shares(summaries, n), _figure(bench, n)),
            *inspection_sections(bench.findings, brief=True),
            section("Do bounds and intervals hold?", _honesty(bench, summaries)),
            section(f"Mean share by {_side(bench)}", _growth(bench, summaries)) if len(bench.sizes) > 1 else None,
            section(f"World by world, {_size(bench, n)}", _worlds(bench, n)),
            section(f"What each discriminator of dd finds by itself, {_size(bench, n)}", _alone(bench, n)),
        ),
        lead="bench",
        records=(_record(bench),),
    )  # fmt: skip


def seeds_sentence(seeds: Sequence[int]) -> str:
    """Return which of `seeds` are for development and which for tests, as a sentence."""
    parts = []
    for kind, chosen in (
        ("for development only: do not report them", [seed for seed in seeds if seed < FIRST_TEST_SEED]),
        ("for tests", [seed for seed in seeds if seed >= FIRST_TEST_SEED]),
    ):
        if chosen:
            parts.append(f"{_ranges(chosen)} ({kind})")
    return f"Seeds {', '.join(parts)}."


def _ranges(seeds: Sequence[int]) -> str:
    """Return numbers as ranges, such as "100-104, 110"."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _side(bench: Bench) -> str:
    return "texts a side" if bench.n_generated is None else "real texts"


def _size(bench: Bench, n: int) -> str:
    """Return how many texts there were, such as "20,000 real and 100,000 generated texts"."""
    if bench.n_generated is None:
        return f"{count(n)} texts a side"
    return f"{count(n)} real and {count(bench.n_generated)} generated texts"


def _sources(bench: Bench) -> tuple[tuple[str, str], ...]:
    """Return what else estimators learnt from, as facts."""
    facts = []
    if any(cell.world in FLUENT_NAMES for cell in bench.cells):
        facts.append(("Fluent worlds", "the truth is that of drawn tokens: that of the strings is at most as large"))
    if bench.n_fit_real:
        facts.append(("More real texts to learn from", f"{count(bench.n_fit_real)}, for dd"))
    if bench.prior is not None:
        facts.append(("Prior", f"{bench.prior}, for dd of estimators that can use it"))
    if bench.untrained:
        facts.append((f"Not measured with {WITH_TRAIN}", f"{join_words(bench.untrained)}: no training text is known"))
    return tuple(facts)


def _answer(summaries: Sequence[Summary], n: int, size: str) -> tuple[str, ...]:
    """Return which estimator finds most, and how the others do."""
    shares = {row.estimator: row.share for row in summaries if (row.kind, row.n) == (ALL, n) and row.share is not None}
    if not shares:
        taus = {row.estimator: row.tau for row in summaries if (row.kind, row.n) == (ALL, n) and row.tau is not None}
        if not taus:
            return ()
        best = max(taus, key=lambda name: taus[name])
        return (f"{best} orders the worlds best: Kendall's tau with the truth {number(taus[best], 2)}.",)
    best, *others = sorted(shares, key=lambda name: -shares[name])
    rest = join_words([f"{name} {number(shares[name], _PLACES)}" for name in others])
    return (
        f"{best} finds most of the true discrepancy: a share of {number(shares[best], _PLACES)} at {size}"
        f"{f'; {rest}' if rest else ''}.",
    )


def _answer_of_controls(bench: Bench, n: int) -> tuple[str, ...]:
    """Return how near to 0 the estimators stay where generators are equal, and no world has a discrepancy to find."""
    told = [
        f"{null.estimator} {sum(abs(z) <= 2 for z in null.z)} of {len(null.z)}" for null in nulls(bench) if null.n == n
    ]
    return (f"Within two standard errors of 0 where generators are equal: {join_words(told)}.",) if told else ()


def _shares(summaries: Sequence[Summary], n: int) -> Table:
    kinds = list(dict.fromkeys(row.kind for row in summaries))
    several = len(kinds) > 2
    return Table.of_items("shares",
        [row for kind in (kinds if several else [ALL]) for row in summaries if (row.kind, row.n) == (kind, n)], [
        ("estimator", "estimator", text_cell),
        ("cells", "n_cells", count_cell),
        (Column("share", better="higher"), "share", numbers(_PLACES)),
        ("x plain", "ratio_to_plain", numbers(2)),
        ("x paper", "smallest_ratio_to_paper", numbers(2)),
        ("tau", "tau", numbers(2)),
        ("grow", "tau_growing", numbers(2)),
        ("wall s", "seconds", numbers(1)),
        ("CPU s", "cpu_seconds", numbers(1)),
    ], heading=lambda row: ("all worlds but controls" if row.kind == ALL else row.kind) if several else "",
    notes=(
        "share: mean of value / truth. x plain: ratio to plain logistic regression, on the same draws. x paper: "
        "smallest ratio to the paper's network over worlds. tau: Kendall's tau with the truth, over worlds more than "
        f"{APART:g} apart in truth. grow: the same within families of one model on growing text. wall s, CPU s: "
        "seconds per cell.",
    ),
    main=True)  # fmt: skip


def _honesty(bench: Bench, summaries: Sequence[Summary]) -> Table:
    of_null = {(null.estimator, null.n): null for null in nulls(bench)}

    def null(row: Summary) -> Null | None:
        return of_null.get((row.estimator, row.n))

    def largest(row: Summary) -> float | None:
        found = null(row)
        return None if found is None else max(map(abs, found.z))

    def within_two(row: Summary) -> Cell:
        found = null(row)
        return Cell(MISSING) if found is None else _share_of(found.within_two, len(found.z))

    return Table.of_items("honesty",
        [row for row in summaries if row.kind == ALL and (row.n_bounds or null(row) is not None)], [
        ("estimator", "estimator", text_cell),
        ("size", "n", count_cell),
        ("bounds hold", lambda row: _share_of(row.bounds_hold, row.n_bounds), as_is),
        ("above truth", lambda row: _share_of(row.above_truth, row.n_intervals), as_is),
        ("cover mean", lambda row: _share_of(row.covers_mean, row.n_covered), as_is),
        ("largest |z|", largest, numbers(2)),
        ("within 2", within_two, as_is),
    ], notes=(
        "Controls are included here. bounds hold: certified bounds not above the truth. above truth: intervals above "
        "that of the truth. cover mean: intervals that include the mean of a world over at least 5 seeds. largest "
        "|z|, within 2: value over standard error, where both generators are the same.",
    ))  # fmt: skip


def _growth(bench: Bench, summaries: Sequence[Summary]) -> Table:
    shares = {(row.estimator, row.n): row.share for row in summaries if row.kind == ALL}
    sizes = [(count(n), lambda name, n=n: shares.get((name, n)), numbers(_PLACES)) for n in bench.sizes]
    return Table.of_items("growth", bench.estimators, [("estimator", str, text_cell), *sizes])


def _worlds(bench: Bench, n: int) -> Table:
    """Return the truth and the mean value of each estimator, a row a world, the farthest first."""
    cells: dict[tuple[str, str], list[BenchCell]] = {}
    for cell in bench.cells:
        if cell.n == n:
            cells.setdefault((cell.corpus, cell.world), []).append(cell)
    truths = {place: fmean(cell.truth for cell in found) for place, found in cells.items()}
    places = list(dict.fromkeys(place for place, _ in cells))
    values = [
        (name, lambda place, name=name: _mean_value(cells[place], name), numbers(_PLACES)) for name in bench.estimators
    ]
    return Table.of_items("worlds",
        sorted(cells, key=lambda place: (places.index(place[0]), -truths[place], place[1])), [
        ("world", lambda place: place[1], text_cell),
        ("truth", truths.get, numbers(_PLACES)),
        *values,
    ], heading=lambda place: place[0] if len(places) > 1 else "")  # fmt: skip


def _alone(bench: Bench, n: int) -> Table | None:
    """Return the mean share of the truth of each discriminator of a family; none without a family."""
    shares: dict[tuple[str, str], list[float]] = {}
    for cell in bench.cells:
        if cell.n == n and cell.kind not in CONTROLS and cell.truth > 0:
            for name, value in (cell.alone or {}).items():
                if value is not None:
                    shares.setdefault((cell.estimator, name), []).append(value / cell.truth)
    if not shares:
        return None
    return Table.of_items("alone", shares, [
        ("estimator", lambda place: place[0], text_cell),
        ("discriminator", lambda place: place[1], text_cell),
        ("cells", lambda place: len(shares[place]), count_cell),
        (Column("share", better="higher"), lambda place: fmean(shares[place]), numbers(_PLACES)),
    ], notes=("share: mean of value / truth, without controls, on the folds of the estimator.",))  # fmt: skip


def _mean_value(cells: Iterable[BenchCell], name: str) -> float | None:
    values = [cell.value for cell in cells if cell.estimator == name and cell.value is not None]
    return fmean(values) if values else None


def _share_of(share: float | None, n: int) -> Cell:
    return Cell(MISSING) if share is None else Cell(f"{round(share * n)} of {count(n)}", share)


def _figure(bench: Bench, n: int) -> Figure | None:
    """Return value against truth, one mark a cell; none where no estimator is one of dd."""
    series: list[Series] = []
    for name in bench.estimators:
        cells = [c for c in bench.cells if (c.estimator, c.n, c.metric) == (name, n, "dd") and c.value is not None]
        if cells:
            points = tuple(Point(cell.truth, cell.value) for cell in cells)
            place = len(series)
            series.append(Series(name, points, _COLOURS[place % len(_COLOURS)], line=False, marker=place))
    if not series:
        return None
    low = min(-0.03, *(point.y for one in series for point in one.points if point.y is not None))
    plot = Curves(
        tuple(series),
        Axis("true discrepancy", (-0.03, 1.03)),
        Axis(f"found, {count(n)} {_side(bench)}", (low - 0.01, 1.03)),
        references=(Reference(axis="diagonal"),),
        size=(4.4, 3.7),
        kind="scatter",
    )
    return Figure("bench", plot, "A mark a world and seed; on the line all is found.")


def _record(bench: Bench) -> Table:
    """Return one row a cell; what an estimator chose, and its discriminators, stand in the JSON document."""
    names = [field.name for field in fields(BenchCell) if field.name not in ("chosen", "alone")]
    return record("bench", names, ([getattr(cell, name) for name in names] for cell in bench.cells))
