"""Tables and figures of the study of judges: ours, with intervals, beside the published ones.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, tables 3 to 9 and figures 2 to 7 and 10 to 12.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from textassay.corpus import equal_shares_p_value, mark_counts
from textassay.human import HumanAnalysis, Share, Verdict
from textassay.meta_evaluation import (
    Agreement,
    Cell,
    CorrelationKind,
    Evaluation,
    PublishedTable,
    ReproducedTable,
    beside,
    correlation,
)
from textassay.resampling import clustered_means, holm
from textassay.seeding import stream
from textassay.study.judges.evaluators import (
    BESIDES,
    LEVEL,
    MEAN_WITH_ALL,
    METRICS,
    WITH_ALL,
    JudgedTexts,
    OtherTexts,
)
from textassay.study.judges.published import (
    ALL,
    BLEU_TRAIN,
    DIVERSITY,
    GENERATED,
    OVERLAPS,
    PEOPLE,
    REAL,
    SELF_BLEU,
    published_evaluations,
    published_table,
)

KINDS: Mapping[CorrelationKind, str] = {"kendall": "tau", "spearman": "rho", "pearson": "r"}
_SIDES = (ALL, REAL, GENERATED)
_FEW_TEXTS = "on the judged texts, where the paper has 6,500 a generator"
_CROSS_FITTED = "cross-fitted on the judged texts, where the paper trains on 254,926 generated ones"


def human_tables(analysis: HumanAnalysis, unchecked: HumanAnalysis | None) -> list[ReproducedTable]:
    """Return figure 2 and 3 and kappa; `unchecked` keeps submissions that failed their attention check."""
    assert analysis.by_majority is not None
    cells = [_rate_cell(verdict.name, verdict, side) for verdict in analysis.verdicts for side in range(3)]
    for one in analysis.variants:
        rates = (one.accuracy, one.true_positive_rate, one.true_negative_rate)
        row = f"H2, {one.rule.partition(', ')[2]}"
        cells += [Cell(row, side, ours=_percent(rate)) for side, rate in zip(_SIDES, rates, strict=True)]
    if unchecked is not None:
        cells += [
            _rate_cell(f"{one.name}, failed checks kept", one, side) for one in unchecked.verdicts for side in range(3)
        ]
    kappas = [
        Cell(
            {"correct/mistaken": "right or mistaken", "real/fake": "real or fake"}[one.labels],
            one.items,
            ours=one.value,
            low=None if one.interval is None else one.interval.low,
            high=None if one.interval is None else one.interval.high,
        )
        for one in analysis.agreement
        if one.measure == "fleiss-kappa"
    ]
    shares = [
        _share_cell(row.generator, verdict.name, row.share)
        for verdict in analysis.verdicts
        for row in (*verdict.generators, *((verdict.real,) if verdict.real else ()))
    ]
    return [
        beside(published_table("figure 2"), cells, note="Intervals allow for judgements of one page that go together."),
        beside(published_table("kappa"), kappas),
        beside(published_table("figure 3"), shares),
    ]


def reasons_table(analysis: HumanAnalysis) -> list[ReproducedTable]:
    """Return the number of comments with each of the eight reasons; nothing without comments."""
    reasons = analysis.reasons
    if reasons is None:
        return []
    cells = [
        Cell(reasons.titles[name], column, ours=float(value))
        for name, n in reasons.counts.items()
        for column, value in (("comments", n), ("share", n / max(1, reasons.n_comments)))
    ]
    note = f"{reasons.n_comments} comments say something; a comment may give several reasons. Coded by keywords."
    return [ReproducedTable("reasons", "Reasons that people give", tuple(cells), note=note)]


def table_2(judged: JudgedTexts, other: OtherTexts | None = None, *, seed: int = 0) -> ReproducedTable:
    """Return how many texts there are of each generator and of people."""
    sizes = {name: {"D-test": len(corpus)} for name, corpus in {**judged.generated, REAL: judged.real}.items()}
    note = (
        "Ours are the judged texts, each tested by classifiers that learnt from the others: there is no D-train apart."
    )
    if other is not None:
        for name, parts in other.parts(seed).items():
            sizes[name] |= {"D-train": len(parts.train), "D-valid": len(parts.valid)}
        note = "D-test are the judged texts, D-train and D-valid the other texts that were given, without judged ones."
    cells = [
        Cell(name, column, ours=float(n))
        for name, parts in sizes.items()
        for column, n in {"total": sum(parts.values()), **parts}.items()
    ]
    return beside(published_table("table 2"), cells, note=note)


def markup_table(judged: JudgedTexts, *, n_resamples: int, seed: int) -> ReproducedTable:
    """Return the share of marks of rare words on each side, and tests of each generator's against that of real text."""
    real = judged.real.texts
    generated = {name: corpus.texts for name, corpus in judged.generated.items()}
    sides = {REAL: real, GENERATED: [text for texts in generated.values() for text in texts], **generated}
    cells, p_values = [], {}
    for side, texts in sides.items():
        counts = mark_counts(texts)
        of_word = np.repeat(np.arange(len(texts)), counts[:, 1])
        is_mark = np.concatenate([np.arange(words) < marks for marks, words in counts]).astype(np.float64)
        means = clustered_means(is_mark, np.zeros(len(of_word), dtype=np.int64), of_word)
        interval = means.share_interval(0, level=LEVEL, method="")
        cells.append(_share_cell(side, "share", Share(float(means.values[0]), interval, len(of_word), len(texts))))
        if side != REAL and min(len(real), len(texts)) > 1:
            rng = stream(seed, "equal markup", side)
            p_values[side] = equal_shares_p_value(real, texts, rng=rng, n_resamples=n_resamples)
    cells += [Cell(side, "p", ours=p) for side, p in p_values.items()]
    each = {side: p for side, p in p_values.items() if side != GENERATED}
    adjusted = holm(np.array(list(each.values()))).tolist()
    cells += [Cell(side, "p, adjusted", ours=p) for side, p in zip(each, adjusted, strict=True)]
    note = (
        f"p: of a share equal to that of real text, two-sided, {n_resamples} exchanges of whole texts, since marks of "
        "one text go together; adjusted for the number of generators by Holm's method. Where it is small, the marks "
        "alone say something of who wrote a text."
    )
    return beside(published_table("markup"), cells, note=note)


def table_4(results: Mapping[str, Sequence[Mapping[str, Any]]], other: OtherTexts | None = None) -> ReproducedTable:
    """Return the accuracies of the classifiers: means over partitions, each partition a result."""
    cells = []
    for name, partitions in results.items():
        for row in partitions[0]["accuracies"]:
            values, lows, highs = (100 * np.array([one["accuracies"][row][k] for one in partitions]) for k in range(3))
            spread = float(values.std(ddof=1)) if len(values) > 1 else None
            cells.append(Cell(row, name, float(values.mean()), float(lows.mean()), float(highs.mean()), spread=spread))
    n = 0 if other is None else sum(map(len, other.generated.values()))
    differs = f"of the judged texts, by classifiers of {n:,} other generated ones; the paper's of 254,926" if n else ""
    return beside(published_table("table 4"), cells, differs=differs or _CROSS_FITTED)


def metric_tables(
    evaluations: Mapping[str, Evaluation], intervals: Mapping[str, Mapping[str, tuple[float, float]]]
) -> list[ReproducedTable]:
    """Return the values behind figures 4 and 10, table 6, table 9, and what the paper does not have."""

    def cells(names: Sequence[str]) -> list[Cell]:
        return [
            Cell(generator, name, value, *intervals[name][generator])
            for name in names
            if name in evaluations
            for generator, value in zip(evaluations[name].generators, evaluations[name].values.tolist(), strict=True)
        ]

    overlaps = [*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL, *(f"{name}, judged fake" for name in OVERLAPS)]
    diversity = [SELF_BLEU, DIVERSITY, "distinct-1", "distinct-2"]
    rest = ReproducedTable(
        BESIDES, f"{METRICS[BESIDES]}, nats a token (higher: better generator)", tuple(cells([BESIDES])),
        note="Developed on these very judgements: how it ranks these generators is no test of it.",
    )  # fmt: skip
    return [
        beside(published_table("figures 4 and 10"), cells(overlaps), differs=f"nearest by TF-IDF, {_FEW_TEXTS}"),
        beside(
            published_table("table 6"),
            cells(diversity),
            differs=_FEW_TEXTS,
            note="Both fall with the number of texts: more n-grams come back, less is new.",
        ),
        beside(
            published_table("table 9"),
            cells([BLEU_TRAIN]),
            note="Against the training text that was given."
            if BLEU_TRAIN in evaluations
            else "The training text of the generators is not published: no ours.",
        ),
        rest,
    ]


def correlation_table(
    name: str,
    agreements: Sequence[Agreement],
    *,
    by_gold: bool,
    spreads: Mapping[tuple[str, str, str], float] | None = None,
    differs: str,
) -> ReproducedTable:
    """Return a table of correlations, ours with intervals over generators and texts."""
    return beside(published_table(name), agreement_cells(agreements, by_gold=by_gold, spreads=spreads), differs=differs)


def agreement_cells(
    agreements: Sequence[Agreement], *, by_gold: bool, spreads: Mapping[tuple[str, str, str], float] | None = None
) -> list[Cell]:
    """Return correlations as cells, a row an evaluator, with intervals over generators and texts."""
    cells = []
    for one in agreements:
        kind = KINDS[one.kind]
        low, high = (None if math.isnan(end) else end for end in (one.low, one.high))
        value = None if math.isnan(one.value) else one.value
        spread = (spreads or {}).get((one.evaluator, one.gold, one.kind))
        cells.append(Cell(one.evaluator, f"{kind} {one.gold}" if by_gold else kind, value, low, high, spread=spread))
    return cells


def from_printed_values() -> list[ReproducedTable]:
    """Return tables 5, 7 and 8 as they follow from the printed values of evaluators."""
    known = published_evaluations()
    tables = []
    for name, golds in (("table 5", PEOPLE), ("table 7", (SELF_BLEU,)), ("table 8", (BLEU_TRAIN,))):
        printed = published_table(name)
        cells = []
        for row in printed.rows:
            for gold in golds if row in known else ():
                for kind, short in KINDS.items():
                    value = correlation(known[row].goodness, known[gold].goodness, kind).value
                    cells.append(Cell(row, f"{short} {gold}" if len(golds) > 1 else short, recomputed=value))
        other = PublishedTable(
            f"{name}, from printed values", printed.title, printed.rows, printed.columns, printed.values,
            note=printed.note,
        )  # fmt: skip
        pairs = [(c.recomputed, c.published) for c in beside(other, cells).cells if c.recomputed is not None]
        most = max(abs(value - there) for value, there in pairs if there is not None)
        note = (
            f"{len(pairs)} cells follow from printed values, the largest difference is {most:.5f}; of the others the "
        )
        tables.append(beside(other, cells, note=f"{note}values of the evaluators are not printed."))
    return tables


def majority_table(majority: Sequence[Evaluation], agreements: Sequence[Agreement]) -> list[ReproducedTable]:
    """Return the agreement of classifiers with people's majority, and their ranks of generators; figures 6 and 11."""
    cells = [
        Cell(generator, one.name, 100 * value, 100 * (value - half), 100 * (value + half))
        for one in majority
        if one.better == "lower"
        for generator, value, half in zip(one.generators, one.values, one.half_widths(LEVEL), strict=True)
    ]
    cells = [_within(cell, 0.0, 100.0) for cell in cells]
    taus = [
        Cell(one.evaluator, f"{KINDS[one.kind]} {one.gold}", one.value, one.low, one.high)
        for one in agreements
        if not math.isnan(one.value)
    ]
    return [
        ReproducedTable(
            "figure 11", "Share of texts of which a classifier says what most people say, percent", tuple(cells)
        ),
        ReproducedTable(
            "figure 6",
            "Correlation with people where their majority is the truth",
            tuple(taus),
            note="Word overlap is that of texts which the majority called fake. The paper's figure has no numbers.",
        ),
    ]


def rank_table(evaluations: Mapping[str, Evaluation], names: Sequence[str]) -> ReproducedTable:
    """Return the rank of each generator by each evaluator, 1 is best, equal ones share the mean of their ranks."""
    printed = published_evaluations()

    def ranks(known: Mapping[str, Evaluation]) -> dict[tuple[str, str], float]:
        return {
            (generator, name): float(rank)
            for name in names
            if name in known
            for generator, rank in zip(
                known[name].generators, stats.rankdata(-known[name].goodness).tolist(), strict=True
            )
        }

    ours, theirs = ranks(evaluations), ranks(printed)
    cells = [
        Cell(generator, name, ours=ours.get((generator, name)), published=theirs.get((generator, name)))
        for generator in next(iter(evaluations.values())).generators
        for name in names
        if (generator, name) in ours or (generator, name) in theirs
    ]
    return ReproducedTable(
        "ranks", "Rank of each generator by each evaluator, 1 is best", tuple(cells),
        note="Published: ranks of the printed values; those of METEOR and CIDEr are in a figure alone.",
    )  # fmt: skip


def _rate_cell(row: str, verdict: Verdict, side: int) -> Cell:
    share = verdict.rates[side]
    return Cell(row, _SIDES[side]) if share is None else _share_cell(row, _SIDES[side], share)


def _share_cell(row: str, column: str, share: Share) -> Cell:
    interval = share.interval
    low, high = (None, None) if interval is None else (100 * interval.low, 100 * interval.high)
    return Cell(row, column, 100 * share.value, low, high)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _within(cell: Cell, least: float, most: float) -> Cell:
    low, high = (None if end is None else min(max(end, least), most) for end in (cell.low, cell.high))
    return replace(cell, low=low, high=high)
