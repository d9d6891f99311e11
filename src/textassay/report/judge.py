"""A meta-evaluation as a report: which metric to trust, agreements, single texts, wrong pairs, values."""

import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from importlib.metadata import version

import numpy as np
from scipy import stats

from textassay.report.cells import number_cell
from textassay.report.console import ARROWS
from textassay.report.document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Section,
    Table,
    items,
    notes,
    section,
)
from textassay.report.files import record
from textassay.report.inspection import inspection_sections
from textassay.report.kinds import with_encoder
from textassay.report.number import count, level, number, p_value, span
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
from textassay.report.words import join_words, slug
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
    first = judging.verdicts[0]
    of_vectors = [name for one in judging.evaluations if (name := with_encoder(one.name)) != one.name]
    besides = [f"{name} is left out: {reason}" for name, reason in judging.left_out.items()] + list(judging.warnings)
    return Document(
        "Which metric to trust",
        (*_read_warnings_first(judging), verdict_sentences(judging, first)[0]),
        (
            ("Generators", ", ".join(judging.generators)),
            *([("Real text", judging.real)] if judging.real else []),
            ("Judged by", join_words([_gold_name(gold.name) for gold in judging.golds])),
            ("Settings", f"intervals at {level(judging.level)}, {count(judging.n_resamples)} resamples, "
                         f"seed {judging.seed}"),
            *([("Sentence vectors", join_words(of_vectors))] if of_vectors else []),
        ),
        (
            *inspection_sections(judging.findings, brief_notes=True),
            *(_verdict(judging, verdict) for verdict in judging.verdicts),
            *_texts(judging),
            section("Values", _values_figure(judging), _values(judging)),
            section("Metrics beside each other", _matrix(judging), _scatters(judging), _ranks(judging)),
            *([section("Notes", *items(besides))] if besides else []),
        ),
        lead="judge-taus",
        version=version("textassay"),
        records=(record("judge", [field.name for field in fields(Agreement)],
                        (list(asdict(found).values()) for found in judging.agreements)),),
    )  # fmt: skip


def verdict_sentences(judging: Judging, verdict: MetricVerdict) -> list[str]:
    """Return the sentences that sum up what one gold order says, the most useful first."""
    n = len(judging.generators)
    if not verdict.order:
        return [f"{verdict.gold} cannot judge anything: it or every metric calls all generators equal."]
    first = verdict.order[0]
    sentences = []
    if verdict.trusted:
        sentences.append(
            f"Trust {_with_tau(judging, verdict.gold, verdict.trusted[0])} first, to rank such generators."
        )
    elif judging.agreement(verdict.gold, first).value <= 0:
        sentences.append(
            f"No metric is to be trusted on these {n} generators: none agrees with {verdict.gold}, not even "
            f"{_with_tau(judging, verdict.gold, first)}."
        )
    else:
        sentences.append(
            f"No metric is to be trusted on these {n} generators: luck may explain even the agreement of "
            f"{_with_tau(judging, verdict.gold, first)} with {verdict.gold}."
        )
    others, contrary = judging.not_separated(verdict), judging.contrary(verdict)
    if others:
        sentences.append(
            f"{n} generators cannot tell whether these are worse than {first}: "
            f"{_with_taus(judging, verdict.gold, others)}."
        )
    if contrary:
        sentences.append(
            f"These do not agree with {verdict.gold}, though {n} generators are too few to prove them worse than "
            f"{first}: {_with_taus(judging, verdict.gold, contrary)}."
        )
    worse = judging.worse(verdict)
    if worse:
        sentences.append(f"Worse than {first}: {_with_taus(judging, verdict.gold, worse)}.")
    if verdict.upside_down:
        sentences.append(
            f"Negatively correlated with {verdict.gold}, so that they prefer the worse generators: "
            f"{_with_taus(judging, verdict.gold, verdict.upside_down)}."
        )
        if verdict.gold not in _GOLDS and judging.agreement(verdict.gold, first).value <= 0:
            sentences.append(
                f"What has the higher value in {verdict.gold} is read as better: if it is worse, turn the signs."
            )
    luck = [name for name in verdict.order if name not in (*verdict.not_luck, *verdict.upside_down)]
    if luck and verdict.trusted:
        sentences.append(f"Luck may explain what these say, for or against: {join_words(luck)}.")
    if verdict.undefined:
        sentences.append(f"Say nothing, all generators being equal to them: {join_words(verdict.undefined)}.")
    return sentences


def _gold_name(gold: str) -> str:
    """Return a gold order's name with what it is."""
    return f"{gold} ({_GOLDS[gold]})" if gold in _GOLDS else gold


def _read_warnings_first(judging: Judging) -> list[str]:
    """Return the sentence that is needed where inspection warned of the texts."""
    kinds = sorted({finding.kind for finding in judging.findings if finding.severity == "warning"})
    if not kinds:
        return []
    which, they = ("warnings", "they name") if len(kinds) > 1 else ("warning", "it names")
    return [f"Read the {which} first ({join_words(kinds)}): metrics may have ranked the generators by what {they}."]


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
        if pairs:
            title = f"Pairs that {name} gets wrong though {verdict.gold} tells them apart"
            parts.append(section(title, *items(pairs[:_MOST_PAIRS])))
        if len(pairs) > _MOST_PAIRS:
            parts += notes(f"and {len(pairs) - _MOST_PAIRS} more; --json and --out list all of every metric")
            parts.append(section("The other pairs", *items(pairs[_MOST_PAIRS:]), extra=True))
    return section(f"By {_gold_name(verdict.gold)}", *parts)


def _agreements(judging: Judging, verdict: MetricVerdict) -> Table:
    scores = {score.evaluator: score for score in judging.pair_scores if score.gold == verdict.gold}
    names = (*verdict.order, *verdict.undefined)
    rows: list[list[str | Cell]] = []
    for name in names:
        tau, rho, r = (judging.agreement(verdict.gold, name, kind) for kind in ("kendall", "spearman", "pearson"))
        score = scores[name]
        rows.append(
            [
                Cell(name, tone="best" if name in verdict.trusted else ""),
                *_with_interval(tau),
                Cell(p_value(tau.p_adjusted), tau.p_adjusted),
                _exact(rho.value),
                _exact(r.value),
                Cell(f"{score.n_wrong} ({score.n_wrong_separated})", score.n_wrong, note=f"of {score.n_pairs}"),
                number_cell(score.soft_accuracy, 2),
                Cell(span(tau.low_texts, tau.high_texts, 2), tau.low_texts),
                Cell(p_value(tau.p), tau.p),
            ]
        )
    columns = (
        "metric",
        Column("tau", better="higher", note="Kendall's tau-b"),
        Column("interval", note="over other generators and texts"),
        Column("p", note="of luck, Holm's over all metrics"),
        Column("rho", note="Spearman"),
        Column("r", note="Pearson"),
        Column("wrong", note="pairs ordered the other way; in brackets those that the gold tells apart"),
        Column("soft", note="soft pairwise accuracy"),
        Column("other texts", note="interval over other texts of these generators alone"),
        Column("p alone", hidden=True, note="of luck, not corrected"),
    )
    told = (
        f"tau: Kendall's tau-b with its {level(judging.level)} interval over other generators and texts, or over other "
        "texts of these generators alone; p: of luck, Holm's over all metrics; rho, r: Spearman, Pearson; wrong: pairs "
        "ordered the other way, in brackets of those that the gold tells apart; soft: soft pairwise accuracy."
    )
    first = scores[names[0]]
    pairs = f"{first.n_pairs} pairs, {first.n_separated} of them told apart by {verdict.gold}."
    title = f"Agreement with {verdict.gold} over {len(judging.generators)} generators"
    return Table.of(f"agreement-{slug(verdict.gold)}", columns, rows, title=title, notes=(pairs, told), main=True)


def _with_interval(found: Agreement | TextCorrelation) -> tuple[Cell, Cell]:
    return _exact(found.value), Cell(span(found.low, found.high, 2), found.low)


def _exact(value: float) -> Cell:
    """Return a correlation in two decimals, with four on demand."""
    cell = number_cell(value, 2)
    return cell if cell.value is None else Cell(cell.text, cell.value, note=number(value, 4))


def _wrong_pair(call: PairCall) -> str:
    sure = "" if call.p is None else f", p {p_value(call.p)}"
    return (
        f"{call.better} is better than {call.worse} by {number(call.gold_difference, 3)}, "
        f"{call.evaluator} says worse by {number(-call.difference, 3)}{sure}"
    )


def _texts(judging: Judging) -> tuple[Section, ...]:
    """Return how evaluators agree with the first gold on single texts; nothing where that is not known."""
    if not judging.text_correlations:
        return ()
    found = {(t.evaluator, t.grouping, t.kind): t for t in judging.text_correlations}
    within_of = {name: found[name, "group by generator", "kendall"] for name, *_ in found}
    names = sorted(within_of, key=lambda name: (math.isnan(value := within_of[name].value), -value))
    rows: list[list[str | Cell]] = []
    for name in names:
        within, pooled = within_of[name], found[name, "no grouping", "kendall"]
        rho_within, rho_pooled = (found[name, how, "spearman"] for how in ("group by generator", "no grouping"))
        p = Cell(p_value(within.p), within.p)
        rows.append([name, *_with_interval(within), p, _exact(rho_within.value), *_with_interval(pooled),
                     _exact(rho_pooled.value)])  # fmt: skip
    inner = [Column(name, group="within a generator") for name in ("tau", "interval", "p", "rho")]
    outer = [Column(name, group="pooled") for name in ("tau", "interval", "rho")]
    note = (
        "within: mean over generators of the correlation among a generator's texts, with its interval over other "
        "generators and texts; p: that it is luck on these generators, not corrected; pooled: among all texts. A "
        "metric may rank generators well and know nothing of single texts."
    )
    table = Table.of("texts", ("metric", *inner, *outer), rows, notes=(note,))
    return (section(f"Single texts: agreement with {judging.golds[0].name}", table, _texts_figure(judging)),)


def _values(judging: Judging) -> Table:
    rows: list[list[str | Cell]] = [
        [_what(one), *(number_cell(value, 4) for value in one.values.tolist())]
        for one in (*judging.golds, *judging.evaluations)
    ]  # fmt: skip
    return Table.of("values", ("", *judging.generators), rows, title="All values", extra=True)


def _what(evaluation: Evaluation) -> str:
    """Return what the values of an evaluator are: its own, or their differences from what real text scores."""
    return f"{evaluation.name}, less real text" if evaluation.better == "closer" else evaluation.name


def _taus(judging: Judging) -> Figure:
    """Return Kendall's tau of every evaluator with every gold, a panel each; hollow where it may be luck."""
    verdict, golds = judging.verdicts[0], [gold.name for gold in judging.golds]
    colours: tuple[Colour, ...] = ("ink", "real", "generated", "muted")
    rows = []
    for name in verdict.order:
        marks = []
        for panel, gold in enumerate(golds):
            found = judging.agreement(gold, name)
            if not math.isnan(found.value):
                sure = found.p_adjusted < 1 - judging.level
                marks.append(Mark(found.value, found.low, found.high, "filled" if sure else "hollow",
                                  colours[panel % len(colours)], panel))  # fmt: skip
        text = number(judging.agreement(golds[0], name).value, 2) if len(golds) == 1 else ""
        rows.append(ForestRow(name, tuple(marks), text, bold=name in verdict.trusted))
    plot = Forest(
        tuple(rows),
        Axis("Kendall's tau", (-1.08, 1.08), ticks=(-1, -0.5, 0, 0.5, 1) if len(golds) == 1 else (-1, 0, 1)),
        panels=tuple(golds),
        references=(Reference(0.0),),
        legend=((f"not luck: Holm's p below {1 - judging.level:.2g}", Mark(0.0, 0.0, 0.0, colour="ink")),
                ("may be luck", Mark(0.0, 0.0, 0.0, "hollow", "ink"))),
    )  # fmt: skip
    values = "; ".join(f"{name} {number(judging.agreement(golds[0], name).value, 2)}" for name in verdict.order)
    caption = f"Kendall's tau of each metric, with {level(judging.level)} intervals over other generators and texts."
    return Figure("judge-taus", plot, caption, f"Kendall's tau with {golds[0]}: {values}.")


def _texts_figure(judging: Judging) -> Figure | None:
    """Return the correlations of single texts, within generators and pooled."""
    found = [t for t in judging.text_correlations if t.kind == "kendall" and not math.isnan(t.value)]
    within = sorted((t for t in found if t.grouping == "group by generator"), key=lambda t: -t.value)
    if not within:
        return None
    pooled = {t.evaluator: t for t in found if t.grouping == "no grouping"}
    rows = []
    for one in within:
        marks = [Mark(one.value, _finite(one.low), _finite(one.high), colour="ink")]
        if one.evaluator in pooled:
            of = pooled[one.evaluator]
            marks.append(Mark(of.value, _finite(of.low), _finite(of.high), "diamond", "real", below=True))
        rows.append(ForestRow(one.evaluator, tuple(marks)))
    ends = [abs(x) for t in (*within, *pooled.values()) for x in (t.value, t.low, t.high) if not math.isnan(x)]
    plot = Forest(
        tuple(rows),
        Axis(f"Kendall's tau with {judging.golds[0].name}, single texts", (-1.08 * max(ends), 1.08 * max(ends))),
        references=(Reference(0.0),),
        legend=(("texts of one generator, mean over generators", Mark(0.0, colour="ink")),
                ("texts of all generators together", Mark(0.0, style="diamond", colour="real"))),
    )  # fmt: skip
    values = ", ".join(f"{t.evaluator} {number(t.value, 2)}" for t in within)
    return Figure("judge-texts", plot, "", f"Tau of single texts within generators: {values}.")


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def _around(value: float, arm: float) -> tuple[float | None, float | None]:
    return _finite(value - arm), _finite(value + arm)


def _values_figure(judging: Judging) -> Figure:
    """Return the values of golds and evaluators with intervals over other texts, a panel each."""
    golds = judging.golds
    shown = [*golds, *_shown(judging, _MOST_VALUES)]
    order = judging.best_first
    arms = [one.half_widths(judging.level).tolist() for one in shown]
    rows = []
    for place in order:
        marks = []
        for panel, one in enumerate(shown):
            value = float(one.values[place])
            colour: Colour = "ink" if one in golds else "generated"
            marks.append(Mark(value, *_around(value, arms[panel][place]), colour=colour, panel=panel))
        rows.append(ForestRow(judging.generators[place], tuple(marks)))
    described = [f"{one.name}: {', '.join(number(one.values[place], 3) for place in order)}" for one in shown]
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
    told = (
        f"the best by {golds[0].name} first, with {level(judging.level)} intervals over other texts; dashed: real text."
    )
    description = f"Values of {', '.join(golds[0].order)}, {told} {'; '.join(described)}."
    return Figure("judge-values", plot, f"Values of generators, {told}", description)


def _matrix(judging: Judging) -> Figure:
    """Return Kendall's tau of all golds and evaluators with one another: blue: agree, orange: reversed."""
    matrix = next(matrix for matrix in judging.matrices if matrix.kind == "kendall")
    verdict = judging.verdicts[0]
    order = [*(gold.name for gold in judging.golds), *verdict.order, *verdict.undefined]
    places = [matrix.names.index(name) for name in order]
    values, p = matrix.values[np.ix_(places, places)], matrix.p_adjusted[np.ix_(places, places)]

    def cell(i: int, j: int) -> HeatCell | None:
        value = float(values[i, j])
        text = number(value, 2).replace("0.", ".", 1)
        sure = bool(p[i, j] < 1 - judging.level)
        return None if i == j or math.isnan(value) else HeatCell(value, text, strong=sure)

    cells = tuple(tuple(cell(i, j) for j in range(len(order))) for i in range(len(order)))
    golds = tuple(gold.name for gold in judging.golds)
    description = "; ".join(f"{order[0]} with {b} {number(float(values[0, j]), 2)}" for j, b in enumerate(order) if j)
    return Figure(
        "judge-matrix",
        HeatMap(tuple(order), tuple(order), cells, bold=golds, wide=0.34),
        "Kendall's tau of all with one another: blue: agree, orange: reversed; dark numbers: significant "
        "after Benjamini and Hochberg.",
        f"Kendall's tau of all evaluators with one another; dark numbers: significant after Benjamini and Hochberg. "
        f"{description}.",
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
        tau = number(judging.agreement(gold.name, one.name).value, 2)
        panels.append(f"{one.name} {ARROWS[one.better]}, tau {tau}")
    plot = Curves(tuple(series), Axis(), Axis(gold.name), tuple(panels), legend=False, size=(2.7, 2.3),
                  own_scales=True, kind="scatter")  # fmt: skip
    key = ", ".join(f"{rank} {name}" for rank, name in enumerate(gold.order, 1))
    differences = any(one.better == "closer" for one in shown)
    caption = f"{gold.name} (upwards) against metrics, with intervals over other texts: {key}."
    caption += f" {ARROWS['closer']}: the difference from real text." if differences else ""
    names = ", ".join(f"{e.name} (tau {number(judging.agreement(gold.name, e.name).value, 2)})" for e in shown)
    return Figure(
        "judge-scatter", plot, caption,
        f"{gold.name} against {names}; a point a generator, numbered from the best, with intervals over other texts.",
    )  # fmt: skip


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
    by = "; ".join(f"by {column.name}: {', '.join(column.order)}" for column in columns)
    caption = f"Ranks of the generators, the best by {judging.golds[0].name} first: blue the better, orange the worse."
    return Figure("judge-ranks", plot, caption, f"Generators, the best first, {by}.")


def _shown(judging: Judging, most: int) -> list[Evaluation]:
    """Return the evaluators to draw: the best by the first gold and, where there are more, the most contrary third."""
    order = judging.verdicts[0].order
    chosen: Sequence[str] = order if len(order) <= most else (*order[: most - most // 3], *order[-(most // 3) :])
    by_name = {evaluation.name: evaluation for evaluation in judging.evaluations}
    return [by_name[name] for name in chosen]
