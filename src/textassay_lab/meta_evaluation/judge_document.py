"""A meta-evaluation as a report: which metric to trust, agreements, single texts, wrong pairs, values."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

import numpy as np
from scipy import stats

from textassay.comparison.metric_kinds import with_encoder
from textassay.inspection.document import inspection_sections
from textassay.report.document import Document, Figure, Paragraph, Part, Section, items, notes, section, sections
from textassay.report.plots import (
    Axis,
    Colour,
    Curves,
    Forest,
    ForestRow,
    HeatCell,
    HeatMap,
    Mark,
    Point,
    Reference,
    Series,
)
from textassay.report.table import (
    ARROWS,
    Cell,
    Column,
    Table,
    as_is,
    intervals,
    number_cell,
    numbers,
    p_cell,
    record,
    text_cell,
)
from textassay.report.text import count, counted, join_words, level, number, p_value, slug, span
from textassay_lab.meta_evaluation.correlations import Agreement
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judging import Judging, MetricVerdict
from textassay_lab.meta_evaluation.pairwise import PairCall
from textassay_lab.meta_evaluation.text_correlations import TextCorrelation

_GOLDS = {
    "H1": "people, every judgement",
    "H2": "people, the majority on each text",
    "rating": "people, the mean rating",
}
_MOST_PAIRS = 5
_MOST_PANELS = 9
_MOST_VALUES = 10  # evaluators beside the golds whose values are drawn
_MOST_RANKS = 8


def judge_document(judging: Judging) -> Document:
    """Return a meta-evaluation as a report."""
    of_vectors = [name for one in judging.evaluations if (name := with_encoder(one.name)) != one.name]
    besides = [f"{name} is left out: {reason}" for name, reason in judging.left_out.items()] + list(judging.warnings)
    return Document(
        "Which metric to trust",
        (verdict_sentences(judging, judging.verdicts[0])[0], *_caveat(judging)),
        (
            ("Generators", ", ".join(judging.generators)),
            *([("Real text", judging.real)] if judging.real else []),
            ("Judged by", join_words([_gold_name(gold.name) for gold in judging.golds])),
            ("Settings", f"intervals at {level(judging.level)}, {count(judging.n_resamples)} resamples, "
                         f"seed {judging.seed}"),
            *([("Sentence vectors", join_words(of_vectors))] if of_vectors else []),
        ),
        sections(
            *(_verdict(judging, verdict) for verdict in judging.verdicts),
            *inspection_sections(judging.findings, brief=True),
            _texts(judging) if judging.text_correlations else None,
            section("Values", _values_figure(judging), _values(judging)),
            section("Metrics beside each other", _matrix(judging), _scatters(judging), _ranks(judging)),
            section("Notes", *items(besides)),
        ),
        lead="judge-taus",
        records=(record("judge", [field.name for field in fields(Agreement)],
                        (list(asdict(found).values()) for found in judging.agreements)),),
    )  # fmt: skip


def verdict_sentences(judging: Judging, verdict: MetricVerdict) -> list[str]:
    """Return the sentences that sum up what one gold order says, the most useful first."""
    n, gold = len(judging.generators), verdict.gold
    if not verdict.order:
        return [f"{gold} cannot decide anything: the order itself, or every metric, rates all generators equal."]
    first = verdict.order[0]
    none_agrees = judging.agreement(gold, first).value <= 0
    luck = [name for name in verdict.order if name not in (*verdict.not_luck, *verdict.upside_down)]
    few = f"These do not agree with {gold}, though {n} generators are too few to prove them worse than {first}"
    against = f"Negatively correlated with {gold}, so they prefer the worse generators"
    groups = (
        (f"{n} generators cannot tell whether these are worse than {first}", judging.not_separated(verdict)),
        (few, judging.contrary(verdict)),
        (f"Worse than {first}", judging.worse(verdict)),
        (against, verdict.upside_down),
    )
    if verdict.trusted:
        answer = f"To rank such generators, trust {_with_tau(judging, gold, verdict.trusted[0])} first."
    else:
        why = (
            f"none agrees with {gold}, not even" if none_agrees else f"chance may explain the agreement with {gold} of"
        )
        answer = f"Trust no metric on these {n} generators: {why} {_with_tau(judging, gold, first)}."
    return [
        answer,
        *(f"{said}: {_with_taus(judging, gold, names)}." for said, names in groups if names),
        *[f"A higher value in {gold} is read as better: if it is worse, reverse the signs."]
        * bool(verdict.upside_down and gold not in _GOLDS and none_agrees),
        *[f"Chance may explain the agreement or disagreement of these: {join_words(luck)}."]
        * bool(luck and verdict.trusted),
        *[f"These rate all generators equal, so they give no order: {join_words(verdict.undefined)}."]
        * bool(verdict.undefined),
    ]


def _gold_name(gold: str) -> str:
    """Return a gold order's name with what it is."""
    return f"{gold} ({_GOLDS[gold]})" if gold in _GOLDS else gold


def _caveat(judging: Judging) -> list[str]:
    """Return the sentence that is needed where inspection warned of the texts."""
    kinds = sorted({finding.kind for finding in judging.findings if finding.severity == "warning"})
    warned = f"Metrics may have ranked the generators by differences that the warnings name: {join_words(kinds)}."
    return [warned] if kinds else []


def _with_tau(judging: Judging, gold: str, evaluator: str) -> str:
    """Return an evaluator with its tau and interval, such as "bleu (tau 0.76 [0.41, 0.94])"."""
    found = judging.agreement(gold, evaluator)
    return f"{evaluator} (tau {number(found.value, 2)} {span(found.low, found.high, 2)})"


def _with_taus(judging: Judging, gold: str, names: Sequence[str]) -> str:
    return join_words([f"{name} ({number(judging.agreement(gold, name).value, 2)})" for name in names])


def _verdict(judging: Judging, verdict: MetricVerdict) -> Section:
    """Return what one gold order says; the figure of all golds stands with the first."""
    parts: list[Part | None] = [Paragraph(sentence) for sentence in verdict_sentences(judging, verdict)]
    parts.append(_agreements(judging, verdict))
    parts.append(_taus(judging) if verdict is judging.verdicts[0] and verdict.order else None)
    for name in verdict.trusted[:1]:
        pairs = [_wrong_pair(call) for call in judging.wrong_pairs(verdict.gold, name)]
        title = f"Pairs that {name} gets wrong, although {verdict.gold} separates them"
        parts.append(section(title, *items(pairs[:_MOST_PAIRS])) if pairs else None)
        if len(pairs) > _MOST_PAIRS:
            parts += notes(f"and {len(pairs) - _MOST_PAIRS} more; --json and --out list all of every metric")
            parts.append(section("The other pairs", *items(pairs[_MOST_PAIRS:]), extra=True))
    return section(f"By {_gold_name(verdict.gold)}", *parts)


def _wrong_pair(call: PairCall) -> str:
    sure = "" if call.p is None else f", p {p_value(call.p)}"
    return (
        f"{call.better} is better than {call.worse} by {number(call.gold_difference, 3)}, but {call.evaluator} rates "
        f"it worse by {number(-call.difference, 3)}{sure}"
    )


def _agreements(judging: Judging, verdict: MetricVerdict) -> Table:
    """Return the agreement of each metric with a gold order, the highest first."""
    scores = {score.evaluator: score for score in judging.pair_scores if score.gold == verdict.gold}

    def tau(name: str) -> Agreement:
        return judging.agreement(verdict.gold, name)

    def wrong(name: str) -> Cell:
        score = scores[name]
        return Cell(f"{score.n_wrong} ({score.n_wrong_separated})", score.n_wrong, note=f"of {score.n_pairs}")

    one = next(iter(scores.values()))
    return Table.of_items(f"agreement-{slug(verdict.gold)}", (*verdict.order, *verdict.undefined), [
        ("metric", lambda name: Cell(name, tone="best" if name in verdict.trusted else ""), as_is),
        (Column("tau", better="higher", note="Kendall's tau-b"), lambda name: tau(name).value, _correlation),
        (Column("interval", note="over other generators and texts"), lambda name: _ends(tau(name)), intervals(2)),
        (Column("p", note="of chance, adjusted over all metrics (Holm)"), lambda name: tau(name).p_adjusted, p_cell),
        (Column("rho", note="Spearman"), lambda name: judging.agreement(verdict.gold, name, "spearman").value,
         _correlation),
        (Column("r", note="Pearson"), lambda name: judging.agreement(verdict.gold, name, "pearson").value,
         _correlation),
        (Column("wrong", note="pairs in the wrong order; in brackets those that the gold separates"), wrong,
         as_is),
        (Column("soft", note="soft pairwise accuracy"), lambda name: scores[name].soft_accuracy, numbers(2)),
        (Column("other texts", note="interval over other texts of these generators alone"),
         lambda name: (tau(name).low_texts, tau(name).high_texts), intervals(2)),
        (Column("p alone", hidden=True, note="of chance, not corrected"), lambda name: tau(name).p, p_cell),
    ], title=f"Agreement with {verdict.gold} over {len(judging.generators)} generators",
    notes=(
        f"{counted(one.n_pairs, 'pair')}, {one.n_separated:,} of them separated by {verdict.gold}. Bold: may be the "
        "best, and not by chance.",
        f"tau: Kendall's tau-b with its {level(judging.level)} interval over other generators and texts, or over "
        "other texts of these generators alone. p: of chance, adjusted over all metrics (Holm); rho, r: Spearman, "
        "Pearson. wrong: pairs in the wrong order, in brackets those that the gold separates; soft: soft pairwise "
        "accuracy.",
    ),
    main=True)  # fmt: skip


def _correlation(value: float) -> Cell:
    """Return a correlation in two decimals, with four on demand."""
    cell = number_cell(value, 2)
    return cell if cell.value is None else Cell(cell.text, cell.value, note=number(value, 4))


def _ends(found: Agreement | TextCorrelation) -> tuple[float, float]:
    return found.low, found.high


def _texts(judging: Judging) -> Section:
    """Return how evaluators agree with the first gold on single texts."""
    found = {(t.evaluator, t.grouping, t.kind): t for t in judging.text_correlations}
    within = {name: found[name, "group by generator", "kendall"] for name, *_ in found}
    pooled = {name: found[name, "no grouping", "kendall"] for name in within}
    table = Table.of_items("texts",
        sorted(within, key=lambda name: (math.isnan(value := within[name].value), -value)), [
        ("metric", str, text_cell),
        (Column("tau", "within a generator"), lambda name: within[name].value, _correlation),
        (Column("interval", "within a generator"), lambda name: _ends(within[name]), intervals(2)),
        (Column("p", "within a generator"), lambda name: within[name].p, p_cell),
        (Column("rho", "within a generator"), lambda name: found[name, "group by generator", "spearman"].value,
         _correlation),
        (Column("tau", "pooled"), lambda name: pooled[name].value, _correlation),
        (Column("interval", "pooled"), lambda name: _ends(pooled[name]), intervals(2)),
        (Column("rho", "pooled"), lambda name: found[name, "no grouping", "spearman"].value, _correlation),
    ], notes=(
        "within: mean over generators of the correlation among a generator's texts, with its interval over other "
        "generators and texts. p: of chance on these generators, not corrected; pooled: among all texts. A metric "
        "may rank generators well, but not single texts.",
    ))  # fmt: skip
    title = f"Single texts: agreement with {judging.golds[0].name}"
    return section(title, table, _texts_figure(judging, list(within.values()), pooled))


def _values(judging: Judging) -> Table:
    """Return the values of every evaluator; of one with a right amount, their differences from real text."""
    rows = [
        (f"{one.name}, less real text" if one.better == "closer" else one.name, *map(numbers(4), one.values.tolist()))
        for one in (*judging.golds, *judging.evaluations)
    ]
    return Table.of("values", ("", *judging.generators), rows, title="All values", extra=True)


def _taus(judging: Judging) -> Figure:
    """Return Kendall's tau of every evaluator with every gold, a panel each; hollow where it may be luck."""
    verdict, golds = judging.verdicts[0], [gold.name for gold in judging.golds]
    colours: tuple[Colour, ...] = ("ink", "real", "generated", "muted")
    rows = []
    for name in verdict.order:
        found = {gold: judging.agreement(gold, name) for gold in golds}
        marks = tuple(
            Mark(one.value, one.low, one.high, "filled" if one.p_adjusted < 1 - judging.level else "hollow",
                 colours[panel % len(colours)], panel)
            for panel, one in enumerate(found.values()) if not math.isnan(one.value)
        )  # fmt: skip
        text = number(found[golds[0]].value, 2) if len(golds) == 1 else ""
        rows.append(ForestRow(name, marks, text, bold=name in verdict.trusted))
    plot = Forest(
        tuple(rows),
        Axis("Kendall's tau", (-1.08, 1.08), ticks=(-1, -0.5, 0, 0.5, 1) if len(golds) == 1 else (-1, 0, 1)),
        panels=tuple(golds),
        references=(Reference(0.0),),
        legend=((f"not chance: Holm's p below {1 - judging.level:.2g}", Mark(0.0, 0.0, 0.0, colour="ink")),
                ("may be luck", Mark(0.0, 0.0, 0.0, "hollow", "ink"))),
    )  # fmt: skip
    caption = f"Kendall's tau of each metric, with {level(judging.level)} intervals over other generators and texts."
    return Figure("judge-taus", plot, caption)


def _texts_figure(
    judging: Judging, within: Sequence[TextCorrelation], pooled: Mapping[str, TextCorrelation]
) -> Figure | None:
    """Return the correlations of single texts, within generators and pooled."""
    known = sorted((one for one in within if not math.isnan(one.value)), key=lambda one: -one.value)
    if not known:
        return None
    rows = []
    for one in known:
        of = pooled[one.evaluator]
        marks = [Mark(one.value, _finite(one.low), _finite(one.high), colour="ink")]
        if not math.isnan(of.value):
            marks.append(Mark(of.value, _finite(of.low), _finite(of.high), "diamond", "real", below=True))
        rows.append(ForestRow(one.evaluator, tuple(marks)))
    ends = [abs(x) for one in (*known, *pooled.values()) for x in (one.value, *_ends(one)) if not math.isnan(x)]
    plot = Forest(
        tuple(rows),
        Axis(f"Kendall's tau with {judging.golds[0].name}, single texts", (-1.08 * max(ends), 1.08 * max(ends))),
        references=(Reference(0.0),),
        legend=(("texts of one generator, mean over generators", Mark(0.0, colour="ink")),
                ("texts of all generators together", Mark(0.0, style="diamond", colour="real"))),
    )  # fmt: skip
    return Figure("judge-texts", plot)


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def _around(value: float, arm: float) -> tuple[float | None, float | None]:
    return _finite(value - arm), _finite(value + arm)


def _values_figure(judging: Judging) -> Figure:
    """Return the values of golds and evaluators with intervals over other texts, a panel each."""
    golds = judging.golds
    shown = [*golds, *_shown(judging, _MOST_VALUES)]
    arms = [one.half_widths(judging.level).tolist() for one in shown]
    rows = []
    for place in judging.best_first:
        marks = []
        for panel, one in enumerate(shown):
            value = float(one.values[place])
            colour: Colour = "ink" if one in golds else "generated"
            marks.append(Mark(value, *_around(value, arms[panel][place]), colour=colour, panel=panel))
        rows.append(ForestRow(judging.generators[place], tuple(marks)))
    floors = [Reference(one.floor, "x", "", "real", dashed=True, panel=panel)
              for panel, one in enumerate(shown) if one.floor is not None]  # fmt: skip
    plot = Forest(
        tuple(rows),
        Axis(),
        panels=tuple(f"{one.name} {ARROWS[one.better]}".rstrip() for one in shown),
        references=tuple(floors),
        most_columns=4,
        own_scales=True,
    )
    caption = f"Values of generators, the best by {golds[0].name} first, with {level(judging.level)} intervals over "
    return Figure("judge-values", plot, f"{caption}other texts; dashed: real text.")


def _matrix(judging: Judging) -> Figure:
    """Return Kendall's tau of all golds and evaluators with one another: blue: agree, orange: reversed."""
    matrix = next(matrix for matrix in judging.matrices if matrix.kind == "kendall")
    verdict = judging.verdicts[0]
    golds = tuple(gold.name for gold in judging.golds)
    order = (*golds, *verdict.order, *verdict.undefined)
    places = [matrix.names.index(name) for name in order]

    def cell(i: int, j: int) -> HeatCell | None:
        value = float(matrix.values[i, j])
        if i == j or math.isnan(value):
            return None
        is_sure = bool(matrix.p_adjusted[i, j] < 1 - judging.level)
        return HeatCell(value, number(value, 2).replace("0.", ".", 1), strong=is_sure)

    cells = tuple(tuple(cell(i, j) for j in places) for i in places)
    return Figure(
        "judge-matrix",
        HeatMap(order, order, cells, bold=golds, wide=0.34),
        "Kendall's tau of all with one another: blue: agree, orange: reversed; dark numbers: significant "
        "after Benjamini and Hochberg.",
    )


def _scatters(judging: Judging) -> Figure | None:
    """Return the first gold against its best and its most contrary evaluators, a panel each."""
    gold, shown = judging.golds[0], _shown(judging, _MOST_PANELS)
    if not shown:
        return None
    tall = gold.half_widths(judging.level).tolist()
    series, panels = [], []
    for panel, one in enumerate(shown):
        wide = one.half_widths(judging.level).tolist()
        points = []
        for rank, place in enumerate(judging.best_first, 1):
            x, y = float(one.values[place]), float(gold.values[place])
            points.append(Point(x, y, *_around(y, tall[place]), *_around(x, wide[place]), str(rank)))
        series.append(Series("", tuple(points), "generated", line=False, panel=panel))
        panels.append(f"{one.name} {ARROWS[one.better]}, tau {number(judging.agreement(gold.name, one.name).value, 2)}")
    plot = Curves(tuple(series), Axis(), Axis(gold.name), tuple(panels), legend=False, size=(2.7, 2.3),
                  own_scales=True, kind="scatter")  # fmt: skip
    key = ", ".join(f"{rank} {name}" for rank, name in enumerate(gold.order, 1))
    differences = any(one.better == "closer" for one in shown)
    caption = f"{gold.name} (upwards) against metrics, with intervals over other texts: {key}."
    caption += f" {ARROWS['closer']}: the difference from real text." if differences else ""
    return Figure("judge-scatter", plot, caption)


def _ranks(judging: Judging) -> Figure | None:
    """Return the ranks of all generators by the golds and the first evaluators."""
    columns = [*judging.golds, *_shown(judging, _MOST_RANKS)]
    n = len(judging.generators)
    if len(columns) < 2:
        return None
    ranks = np.array([stats.rankdata(-column.goodness, method="average") for column in columns])
    cells = tuple(
        tuple(HeatCell(1 - 2 * (float(own[place]) - 1) / max(1, n - 1), f"{own[place]:g}") for own in ranks)
        for place in judging.best_first
    )
    plot = HeatMap(judging.golds[0].order, tuple(column.name for column in columns), cells, wide=0.45)
    caption = f"Ranks of the generators, the best by {judging.golds[0].name} first: blue the better, orange the worse."
    return Figure("judge-ranks", plot, caption)


def _shown(judging: Judging, most: int) -> list[Evaluation]:
    """Return the evaluators to draw: the best by the first gold and, where there are more, the most contrary third."""
    order = judging.verdicts[0].order
    chosen: Sequence[str] = order if len(order) <= most else (*order[: most - most // 3], *order[-(most // 3) :])
    by_name = {evaluation.name: evaluation for evaluation in judging.evaluations}
    return [by_name[name] for name in chosen]
