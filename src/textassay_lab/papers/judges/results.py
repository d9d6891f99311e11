"""The study ``judges``: evaluators on texts that people judged, beside the published tables and figures.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, tables 2 to 9, figures 2 to 7 and 10 to 12.
Departs from it: without other texts of the same writers, classifiers are cross-fitted on the judged ones; without the
generators' training text, BLEU against it is not measured.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from textassay.report.document import Figure
from textassay.report.text import join_words
from textassay.resampling.multiplicity import holm
from textassay.seeding import stream
from textassay_lab.human.analysis import HumanAnalysis, analyse
from textassay_lab.human.clusters import clustered_means
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.pages import equal_shares_p_value, mark_counts
from textassay_lab.human.verdicts import Share, usual_votes
from textassay_lab.meta_evaluation.correlations import Agreement, CorrelationKind, agreements, correlation
from textassay_lab.meta_evaluation.evaluation import Evaluation, majority_agreement
from textassay_lab.papers.findings import LEVEL
from textassay_lab.papers.judges.experiment import (
    GENERATED,
    MEAN_WITH_ALL,
    REAL,
    SIDES,
    WITH_ALL,
    JudgedTexts,
    OtherTexts,
    classifier_evaluation,
    classifier_stages,
    drawn_values,
    judged_texts,
    metric_evaluation,
    metric_stages,
    printed_evaluations,
    printed_values,
)
from textassay_lab.papers.judges.findings import (
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    INDIVIDUAL,
    JUDGES_PAPER,
    OVERLAPS,
    PEOPLE,
    SELF_BLEU,
    check_findings,
)
from textassay_lab.papers.paper import Scale
from textassay_lab.papers.reproduction import Cell, ReproducedTable, Reproduction, compared, value_cell
from textassay_lab.papers.stages import Progress, Stage, Study
from textassay_lab.papers.table_figure import Panel, table_figure

KINDS: Mapping[CorrelationKind, str] = {"kendall": "tau", "spearman": "rho", "pearson": "r"}
_REAL_FROM = np.nextafter(0.5, 1.0)  # a probability of exactly 1/2 says fake, as accuracies count it
_TAU = "Kendall's tau"
_STAR = 0.05  # the paper's star
_LABELS = {"correct/mistaken": "right or mistaken", "real/fake": "real or fake"}
_METRICS: Mapping[str, tuple[str, ...]] = {  # of tables
    "figures 4 and 10": (*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL, *(f"{name}, judged fake" for name in OVERLAPS)),
    "table 6": (SELF_BLEU, DIVERSITY, "distinct-1", "distinct-2"),
    "table 9": (BLEU_TRAIN,),
}

Results = Mapping[str, Sequence[Mapping[str, Any]]]  # of each classifier, an outcome a partition of the texts
Spreads = Mapping[tuple[str, str, str], float]  # evaluator, gold and kind to the spread over partitions


def human_tables(analysis: HumanAnalysis) -> list[ReproducedTable]:
    """Return figure 2 and 3 and kappa."""
    cells = [
        Cell(one.name, side) if share is None else _share_cell(one.name, side, share)
        for one in analysis.verdicts
        for side, share in zip(SIDES, one.rates, strict=True)
    ]
    cells += [
        value_cell(f"H2, {one.rule.partition(', ')[2]}", side, rate, factor=100)
        for one in analysis.variants
        for side, rate in zip(SIDES, (one.accuracy, one.true_positive_rate, one.true_negative_rate), strict=True)
    ]
    kappas = [
        value_cell(_LABELS[one.labels], one.items, one.value, one.interval)
        for one in analysis.agreement
        if one.measure == "fleiss-kappa"
    ]
    shares = [
        _share_cell(row.generator, verdict.name, row.share)
        for verdict in analysis.verdicts
        for row in (*verdict.generators, *((verdict.real,) if verdict.real else ()))
    ]
    return [
        compared(JUDGES_PAPER, "figure 2", cells),
        compared(JUDGES_PAPER, "kappa", kappas),
        compared(JUDGES_PAPER, "figure 3", shares),
    ]


def table_2(judged: JudgedTexts, other: OtherTexts | None = None, *, seed: int = 0) -> ReproducedTable:
    """Return how many texts there are of each generator and of people."""
    sizes = {name: {"D-test": len(corpus)} for name, corpus in {**judged.generated, REAL: judged.real}.items()}
    about = (
        "Ours are the judged texts, each tested by classifiers that learnt from the others: there is no D-train apart."
    )
    if other is not None:
        for name, parts in other.parts(seed).items():
            sizes[name] |= {"D-train": len(parts.train), "D-valid": len(parts.valid)}
        about = "D-test are the judged texts, D-train and D-valid the other texts that were given, without judged ones."
    cells = [
        Cell(name, column, ours=float(n))
        for name, parts in sizes.items()
        for column, n in {"total": sum(parts.values()), **parts}.items()
    ]
    return compared(JUDGES_PAPER, "table 2", cells, about=about)


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
        cells.append(value_cell(side, "share", float(means.values[0]), interval, factor=100))
        if side != REAL and min(len(real), len(texts)) > 1:
            rng = stream(seed, "equal markup", side)
            p_values[side] = equal_shares_p_value(real, texts, rng=rng, n_resamples=n_resamples)
    cells += [Cell(side, "p", ours=p) for side, p in p_values.items()]
    each = {side: p for side, p in p_values.items() if side != GENERATED}
    adjusted = holm(np.array(list(each.values()))).tolist()
    cells += [Cell(side, "p, adjusted", ours=p) for side, p in zip(each, adjusted, strict=True)]
    return compared(JUDGES_PAPER, "markup", cells, n_resamples=n_resamples)


def table_4(results: Results, other: OtherTexts | None = None) -> ReproducedTable:
    """Return the accuracies of the classifiers: means over partitions."""
    cells = []
    for name, partitions in results.items():
        for row in partitions[0]["accuracies"]:
            values, lows, highs = (100 * np.array([one["accuracies"][row][k] for one in partitions]) for k in range(3))
            spread = float(values.std(ddof=1)) if len(values) > 1 else None
            cells.append(Cell(row, name, float(values.mean()), float(lows.mean()), float(highs.mean()), spread=spread))
    trained_on = "cross-fitted on the judged texts, where the paper trains on 254,926 generated ones"
    if other is not None:
        n = sum(map(len, other.generated.values()))
        trained_on = f"of the judged texts, by classifiers of {n:,} other generated ones; the paper's of 254,926"
    return compared(JUDGES_PAPER, "table 4", cells, trained_on=trained_on)


def metric_tables(
    measured: Mapping[str, tuple[Evaluation, Mapping[str, tuple[float, float]]]],
) -> Iterator[ReproducedTable]:
    """Yield the values behind figures 4 and 10, table 6, table 9, and what the paper does not have."""
    for table, names in _METRICS.items():
        cells = [
            Cell(generator, name, value, *intervals[generator])
            for name in names
            if name in measured
            for evaluation, intervals in (measured[name],)
            for generator, value in zip(evaluation.generators, evaluation.values.tolist(), strict=True)
        ]
        yield compared(JUDGES_PAPER, table, cells)


def correlation_table(name: str, rows: Sequence[Agreement], spreads: Spreads) -> ReproducedTable:
    """Return correlations as a table, a row an evaluator, with intervals over generators and texts."""
    cells = []
    for one in rows:
        value, low, high = (None if math.isnan(end) else end for end in (one.value, one.low, one.high))
        spread = spreads.get((one.evaluator, one.gold, one.kind)) if name == "table 5" else None
        if name != "figure 6" or value is not None:
            cells.append(Cell(one.evaluator, _column(name, one), value, low, high, spread=spread))
    return compared(JUDGES_PAPER, name, cells)


def _column(table: str, one: Agreement) -> str:
    return f"{KINDS[one.kind]} {one.gold}" if table in ("table 5", "figure 6") else KINDS[one.kind]


def study_figures(
    tables: Sequence[ReproducedTable], generators: Sequence[str], agreed: Mapping[str, Sequence[Agreement]]
) -> tuple[Figure, ...]:
    """Return figures 2 to 7 and 10 to 12; hollow are correlations that are not significant."""
    sure = {
        (table, one.evaluator, _column(table, one)) for table, rows in agreed.items() for one in rows if one.p <= _STAR
    }
    by_id = {table.id: table for table in tables}
    with_people = {f"with {gold}": f"tau {gold}" for gold in PEOPLE}
    evaluators = (*CLASSIFIERS, INDIVIDUAL, *OVERLAPS)
    better, fake = "more: better generator", "texts judged or called fake, percent (fewer: better generator)"
    memorised = {BLEU_TRAIN: ("table 8", "tau")}
    if "table 8" not in agreed:
        memorised = {f"{BLEU_TRAIN}, published": ("table 8, from printed values", "tau")}

    def columns(table: str, names: Mapping[str, str] | Sequence[str]) -> dict[str, Panel]:
        pairs = names.items() if isinstance(names, Mapping) else ((name, name) for name in names)
        return {head: (table, column) for head, column in pairs}

    def drawn(
        number: int, title: str, x: str, rows: Sequence[str], panels: Mapping[str, Panel], **how: Any
    ) -> Figure | None:
        return table_figure(f"figure-{number}", f"Figure {number}: {title}", x, by_id, panels, rows, **how)

    def is_unsure(*place: str) -> bool:
        return place not in sure

    wanted = (
        drawn(2, "how often people are right", "percent", PEOPLE,
              columns("figure 2", {"all texts": "(all)", "real": REAL, "generated": GENERATED})),
        drawn(3, "generators by people and classifiers", fake, generators,
              columns("figure 3", PEOPLE) | columns("table 4", ("LSTM", "SVM"))),
        drawn(4, "word overlap with ten nearest real texts", better, generators,
              columns("figures 4 and 10", OVERLAPS), own_scales=True),
        drawn(5, "evaluators and people", _TAU, evaluators, columns("table 5", with_people), faint=is_unsure),
        drawn(6, "evaluators and people where the majority is the truth", _TAU, evaluators,
              columns("figure 6", with_people), faint=is_unsure),
        drawn(7, "diversity", "fraction", generators, columns("table 6", (SELF_BLEU, DIVERSITY))),
        drawn(10, "word overlap of texts judged fake", better, generators,
              columns("figures 4 and 10", {name: f"{name}, judged fake" for name in OVERLAPS}), own_scales=True),
        drawn(11, "how often classifiers agree with most people", "percent of texts", generators,
              columns("figure 11", ("LSTM", "SVM"))),
        drawn(12, "evaluators, memorisation and diversity", _TAU, (*PEOPLE, *evaluators),
              memorised | columns("table 7", {"Self-BLEU, turned": "tau"}),
              faint=is_unsure),
    )  # fmt: skip
    return tuple(one for one in wanted if one is not None)


def from_printed_values() -> Iterator[ReproducedTable]:
    """Yield tables 5, 7 and 8 as they follow from the printed values of evaluators."""
    known = printed_evaluations()
    for name, golds in (("table 5", PEOPLE), ("table 7", (SELF_BLEU,)), ("table 8", (BLEU_TRAIN,))):
        printed = JUDGES_PAPER.tables[name]
        values = {
            (row, f"{short} {gold}" if len(golds) > 1 else short): correlation(
                known[row].goodness, known[gold].goodness, kind
            ).value
            for row in printed.rows
            if row in known
            for gold in golds
            for kind, short in KINDS.items()
        }
        most = max(abs(value - printed.cells()[place][0]) for place, value in values.items())
        cells = [Cell(*place, value) for place, value in values.items()]
        yield compared(
            JUDGES_PAPER, f"{name}, from printed values", cells, recomputed=True, n_cells=len(values), most=most
        )


def agreement_with_majority(majority: Sequence[Evaluation]) -> ReproducedTable:
    """Return the agreement of classifiers with people's majority; figure 11."""
    cells = [
        Cell(generator, one.name, 100 * value, max(100 * (value - half), 0.0), min(100 * (value + half), 100.0))
        for one in majority
        if one.better == "lower"
        for generator, value, half in zip(one.generators, one.values, one.half_widths(LEVEL), strict=True)
    ]
    return compared(JUDGES_PAPER, "figure 11", cells)


def rank_table(evaluations: Mapping[str, Evaluation], names: Sequence[str]) -> ReproducedTable:
    """Return the rank of each generator by each evaluator, 1 is best, equal ones share the mean of their ranks."""
    printed = printed_evaluations()

    def ranks(known: Mapping[str, Evaluation], name: str) -> dict[str, float]:
        one = known.get(name)
        return {} if one is None else dict(zip(one.generators, stats.rankdata(-one.goodness).tolist(), strict=True))

    both = {name: (ranks(evaluations, name), ranks(printed, name)) for name in names}
    cells = [
        Cell(generator, name, ours=ours.get(generator), published=theirs.get(generator))
        for generator in next(iter(evaluations.values())).generators
        for name, (ours, theirs) in both.items()
        if generator in ours or generator in theirs
    ]
    return compared(JUDGES_PAPER, "ranks", cells)


def _share_cell(row: str, column: str, share: Share) -> Cell:
    return value_cell(row, column, share.value, share.interval, factor=100)


class JudgesStudy(Study):
    """The study."""

    name = "judges"

    def __init__(
        self,
        judgements: Judgements,
        scale: Scale,
        folder: Path,
        *,
        other: Callable[[JudgedTexts], OtherTexts] | None = None,
        train: Sequence[str] = (),
        seed: int = 0,
        partitions: int | None = None,
        n_resamples: int = 2_000,
        progress: Progress | None = None,
    ) -> None:
        scale = scale if partitions is None else scale.but(partitions=partitions)
        super().__init__(folder, scale, seed=seed, progress=progress)
        self.votes = usual_votes(judgements)
        self.judged = judged_texts(judgements, votes=self.votes, train=train)
        self.other = None if other is None else other(self.judged)
        self.n_resamples = n_resamples
        self.metrics = metric_stages(self.judged, seed=seed)
        self.classifiers = classifier_stages(self.judged, scale, seed=seed, other=self.other)

    @property
    def targets(self) -> Sequence[Stage]:
        """All stages; they are independent."""
        return [*self.metrics.values(), *(stage for stages in self.classifiers.values() for stage in stages)]

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        judged = self.judged
        names = tuple(judged.generated)
        people = [Evaluation.of_judgements(judged.judgements).select(names), judged.majority]
        measured = {name: metric_evaluation(name, self.done(stage).result) for name, stage in self.metrics.items()}
        metrics = {name: evaluation for name, (evaluation, _) in measured.items()}
        results = {name: [self.done(stage).result for stage in stages] for name, stages in self.classifiers.items()}
        classifiers = {name: classifier_evaluation(name, outcomes) for name, outcomes in results.items()}
        overlaps = [metrics[name] for name in OVERLAPS]
        majority = self._majority(results, metrics)
        meta = [classifiers[name] for name in classifiers if name != INDIVIDUAL]
        of_people = self._agreements(people, [*classifiers.values(), *overlaps])
        of_all = self._agreements(people, [metrics[name] for name in WITH_ALL])
        memorised = [metrics[name] for name in (BLEU_TRAIN,) if name in metrics]
        analysis = analyse(judged.judgements, votes=self.votes, level=LEVEL, seed=self.seed)
        agreed = {
            "table 5": (*of_people, *of_all),
            **{
                table: self._agreements([gold], [*people, *meta, *overlaps])
                for table, gold in zip(("table 7", "table 8"), (metrics[SELF_BLEU], *memorised), strict=False)
            },
            "figure 6": self._agreements(people, majority),
        }
        spreads = _spreads(results, people)
        tables = (
            *human_tables(analysis),
            table_2(judged, self.other, seed=self.seed),
            markup_table(judged, n_resamples=self.n_resamples, seed=self.seed),
            table_4(results, self.other),
            *metric_tables(measured),
            *(correlation_table(table, rows, spreads) for table, rows in agreed.items() if table != "figure 6"),
            *from_printed_values(),
            agreement_with_majority(majority),
            correlation_table("figure 6", agreed["figure 6"], spreads),
            rank_table(
                {one.name: one for one in (*people, *classifiers.values(), *metrics.values())},
                (*PEOPLE, *classifiers, *OVERLAPS, *WITH_ALL, SELF_BLEU, DIVERSITY, *(one.name for one in memorised)),
            ),
        )
        kappas = {one.items: one.value for one in analysis.agreement
                  if (one.measure, one.labels) == ("fleiss-kappa", "correct/mistaken")}  # fmt: skip
        ours = drawn_values(
            judged.judgements, people, {**classifiers, **metrics},
            {name: np.mean([one["real"] for one in rows], axis=0) for name, rows in results.items()},
            votes=self.votes, majority=majority, kappa=kappas.get("all"), n_resamples=self.n_resamples, seed=self.seed,
        )  # fmt: skip
        pairs = zip(check_findings(printed_values()), check_findings(ours), strict=True)
        return Reproduction(
            title="Judge the Judges: which evaluators of generated text agree with people",
            settings=self._settings(),
            tables=tables,
            findings=tuple(one for pair in pairs for one in pair),
            notes=self._notes(analysis.notes),
            figures=study_figures(tables, names, agreed),
            seconds=self.seconds(),
        )

    def _agreements(self, golds: Sequence[Evaluation], evaluations: Sequence[Evaluation]) -> tuple[Agreement, ...]:
        drawing: dict[str, Any] = {"level": LEVEL, "n_resamples": self.n_resamples, "seed": self.seed}
        return tuple(one for gold in golds for one in agreements(gold, evaluations, **drawing))

    def _majority(self, results: Results, metrics: Mapping[str, Evaluation]) -> list[Evaluation]:
        """Return evaluators with the majority as the truth: agreement with it, and overlap of texts called fake."""
        evaluations = []
        for name, rows in results.items():
            each = [
                majority_agreement(row["generated"], self.judged.majority, name=name, threshold=_REAL_FROM)
                for row in rows
            ]
            names = each[0].generators
            terms = {g: np.mean([(one.terms or {})[g] for one in each], axis=0) for g in names}
            values = np.mean([one.values for one in each], axis=0)
            evaluations.append(Evaluation(name, "lower", names, values, terms=terms))
        known = ((name, metrics.get(f"{name}, judged fake")) for name in OVERLAPS)
        return [*evaluations, *(replace(one, name=name) for name, one in known if one is not None)]

    def _settings(self) -> dict[str, Any]:
        judged = self.judged
        return {
            "generators": list(judged.generated),
            "texts": {"real": len(judged.real), "generated": sum(map(len, judged.generated.values()))},
            "judgements": len(judged.judgements),
            "votes of a majority": self.votes,
            "fingerprint of the texts": judged.key,
            "partitions of the texts": self.scale.partitions,
            "trials of a random search": self.scale.trials,
            "draws": self.n_resamples,
            "level": LEVEL,
            "seed": self.seed,
            "version": version("textassay"),
        }

    def _notes(self, notes: Sequence[str]) -> tuple[str, ...]:
        lines = [f"Judgements: {'; '.join(notes)}."] if notes else []
        missing = [name for name in CLASSIFIERS if name not in self.classifiers]
        if missing:
            lines.append(f"Not measured at this scale: {join_words(missing)}.")
        if self.other is not None:
            lines.append(
                "Classifiers learnt from other texts of these writers and judge each text without having seen it; "
                f"{self.other.n_dropped:,} of them were judged, too, and left out."
            )
        trials = self.scale.trials
        if trials:
            lines.append(
                f"Settings of classifiers: the best of {trials} at random on validation text, the usual among them."
            )
        return (*lines, *JUDGES_PAPER.notes)


def _spreads(results: Results, people: Sequence[Evaluation]) -> Spreads:
    """Return evaluator, gold and kind to the standard deviation of the correlation over partitions."""
    spreads: dict[tuple[str, str, str], float] = {}
    for name, rows in results.items():
        each = [classifier_evaluation(name, [row]) for row in rows]
        for gold in people if len(rows) > 1 else ():
            for kind in KINDS:
                values = [correlation(one.goodness, gold.goodness, kind).value for one in each]
                spreads[name, gold.name, kind] = float(np.std(values, ddof=1))
    return spreads
