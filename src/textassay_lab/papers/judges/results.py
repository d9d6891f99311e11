"""The study ``judges``: evaluators on texts that people judged, beside the published tables and figures.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, tables 3 to 9 and figures 2 to 7 and 10 to 12.
Departs from it: without other texts of the same writers, classifiers are cross-fitted on the judged ones; without the
generators' training text, BLEU against it is not measured.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from textassay.corpus.rare_words import equal_shares_p_value, mark_counts
from textassay.report.text import join_words
from textassay.resampling.clusters import clustered_means
from textassay.resampling.multiplicity import holm
from textassay.seeding import stream
from textassay_lab.human.agreement import Agreement as Coefficient
from textassay_lab.human.analysis import HumanAnalysis, analyse
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.verdicts import Share, usual_votes
from textassay_lab.meta_evaluation.correlation import CorrelationKind, correlation
from textassay_lab.meta_evaluation.correlations import Agreement, agreements
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.judging import Judging, judge_evaluators
from textassay_lab.meta_evaluation.majority_labels import majority_agreement
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction, beside
from textassay_lab.meta_evaluation.table_figure import Panel, TableFigure
from textassay_lab.papers.cells import value_cell
from textassay_lab.papers.judges.experiment import (
    LEVEL,
    MEAN_WITH_ALL,
    WITH_ALL,
    JudgedTexts,
    JudgesScale,
    OtherTexts,
    classifier_evaluation,
    classifier_stages,
    drawn_values,
    judged_texts,
    metric_evaluation,
    metric_stages,
    published_values,
)
from textassay_lab.papers.judges.findings import check_findings
from textassay_lab.papers.judges.published import (
    ALL,
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    GENERATED,
    INDIVIDUAL,
    OVERLAPS,
    PEOPLE,
    REAL,
    SELF_BLEU,
    SIDES,
    published_evaluations,
    published_table,
)
from textassay_lab.papers.staged_study import StagedStudy
from textassay_lab.papers.stages import Stage

KINDS: Mapping[CorrelationKind, str] = {"kendall": "tau", "spearman": "rho", "pearson": "r"}
_FEW_TEXTS = "on the judged texts, where the paper has 6,500 a generator"
_CROSS_FITTED = "cross-fitted on the judged texts, where the paper trains on 254,926 generated ones"


def human_tables(analysis: HumanAnalysis, unchecked: HumanAnalysis | None) -> list[ReproducedTable]:
    """Return figure 2 and 3 and kappa; `unchecked` keeps submissions that failed their attention check."""
    assert analysis.by_majority is not None
    rates = {one.name: one.rates for one in analysis.verdicts}
    kept = {f"{one.name}, failed checks kept": one.rates for one in (unchecked.verdicts if unchecked else ())}
    cells = [
        *_rate_cells(rates),
        *(
            value_cell(f"H2, {one.rule.partition(', ')[2]}", side, rate, factor=100)
            for one in analysis.variants
            for side, rate in zip(SIDES, (one.accuracy, one.true_positive_rate, one.true_negative_rate), strict=True)
        ),
        *_rate_cells(kept),
    ]
    labels = {"correct/mistaken": "right or mistaken", "real/fake": "real or fake"}
    kappas = [
        value_cell(labels[one.labels], one.items, one.value, one.interval)
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
    measured: Mapping[str, tuple[Evaluation, Mapping[str, tuple[float, float]]]],
) -> list[ReproducedTable]:
    """Return the values behind figures 4 and 10, table 6, table 9, and what the paper does not have."""

    def cells(names: Sequence[str]) -> list[Cell]:
        return [
            Cell(generator, name, value, *intervals[generator])
            for name in names
            if name in measured
            for evaluation, intervals in (measured[name],)
            for generator, value in zip(evaluation.generators, evaluation.values.tolist(), strict=True)
        ]

    overlaps = [*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL, *(f"{name}, judged fake" for name in OVERLAPS)]
    diversity = [SELF_BLEU, DIVERSITY, "distinct-1", "distinct-2"]
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
            if BLEU_TRAIN in measured
            else "The training text of the generators is not published: no ours.",
        ),
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
        other = replace(printed, id=f"{name}, from printed values")
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
        Cell(generator, one.name, 100 * value, max(100 * (value - half), 0.0), min(100 * (value + half), 100.0))
        for one in majority
        if one.better == "lower"
        for generator, value, half in zip(one.generators, one.values, one.half_widths(LEVEL), strict=True)
    ]
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
    return ReproducedTable(
        "ranks", "Rank of each generator by each evaluator, 1 is best", tuple(cells),
        note="Published: ranks of the printed values; those of METEOR and CIDEr are in a figure alone.",
    )  # fmt: skip


def _rate_cells(rates: Mapping[str, Sequence[Share | None]]) -> list[Cell]:
    return [
        Cell(row, side) if share is None else _share_cell(row, side, share)
        for row, shares in rates.items()
        for side, share in zip(SIDES, shares, strict=True)
    ]


def _share_cell(row: str, column: str, share: Share) -> Cell:
    return value_cell(row, column, share.value, share.interval, factor=100)


_STAR = 0.05
_FAKE = "texts judged or called fake, percent (fewer: better generator)"


def figures_of(
    tables: Sequence[ReproducedTable], generators: Sequence[str], agreements: Mapping[str, Sequence[Agreement]]
) -> tuple[TableFigure, ...]:
    """Return the figures."""
    starred = tuple(
        (table, one.evaluator, f"tau {one.gold}" if table in ("table 5", "figure 6") else "tau")
        for table, rows in agreements.items()
        for one in rows
        if one.kind == "kendall" and one.p <= _STAR
    )
    known = {(table.id, column) for table in tables for column in table.columns}
    evaluators = (*PEOPLE, *CLASSIFIERS, INDIVIDUAL, *OVERLAPS)
    tau = "Kendall's tau"
    wanted = [
        TableFigure("figure-2", "Figure 2: how often people are right", "percent", PEOPLE,
                    _panels("figure 2", {ALL: "all texts", REAL: "real", GENERATED: "generated"})),
        TableFigure("figure-3", "Figure 3: generators by people and classifiers", _FAKE, tuple(generators),
                    (*_panels("figure 3", {name: name for name in PEOPLE}),
                     *_panels("table 4", {name: name for name in ("LSTM", "SVM")}))),
        TableFigure("figure-4", "Figures 4 and 10: word overlap with ten nearest real texts", "more: better generator",
                    tuple(generators), _panels("figures 4 and 10", {name: name for name in OVERLAPS}), shared=False),
        TableFigure("figure-5", "Figure 5: evaluators and people", tau, evaluators[2:],
                    _panels("table 5", {f"tau {gold}": f"with {gold}" for gold in PEOPLE}), starred),
        TableFigure("figure-6", "Figure 6: evaluators and people where the majority is the truth", tau, evaluators[2:],
                    _panels("figure 6", {f"tau {gold}": f"with {gold}" for gold in PEOPLE}), starred),
        TableFigure("figure-7", "Figure 7: diversity", "fraction", tuple(generators),
                    _panels("table 6", {name: name for name in (SELF_BLEU, DIVERSITY)})),
        TableFigure("figure-10", "Figure 10: word overlap of texts judged fake", "more: better generator",
                    tuple(generators),
                    _panels("figures 4 and 10", {f"{name}, judged fake": name for name in OVERLAPS}), shared=False),
        TableFigure("figure-11", "Figure 11: how often classifiers say what most people say", "percent of texts",
                    tuple(generators), _panels("figure 11", {name: name for name in ("LSTM", "SVM")})),
        TableFigure("figure-12", "Figure 12: evaluators, memorisation and diversity", tau, evaluators,
                    (*(_panels("table 8", {"tau": BLEU_TRAIN}) if ("table 8", "tau") in known
                       else _panels("table 8, from printed values", {"tau": f"{BLEU_TRAIN}, published"})),
                     *_panels("table 7", {"tau": "Self-BLEU, turned"})), starred),
    ]  # fmt: skip
    return tuple(
        replace(
            one,
            panels=tuple(panel for panel in one.panels if (panel.table, panel.column) in known),
            starred=tuple(star for star in one.starred if star[0] in {panel.table for panel in one.panels}),
        )
        for one in wanted
        if any((panel.table, panel.column) in known for panel in one.panels)
    )


def _panels(table: str, columns: Mapping[str, str]) -> tuple[Panel, ...]:
    return tuple(Panel(table, column, title) for column, title in columns.items())


JUDGES_SCALES: Mapping[str, JudgesScale] = {
    "tiny": JudgesScale(networks=False, partitions=1),
    "laptop": JudgesScale(networks=True, partitions=2, trials=4),
    "paper": JudgesScale(networks=True, partitions=3, trials=20),
}
_REAL_FROM = np.nextafter(0.5, 1.0)  # a probability of exactly 1/2 says fake, as accuracies count it


class JudgesStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        judgements: Judgements,
        scale: JudgesScale,
        folder: Path,
        *,
        unchecked: Judgements | None = None,
        other: Callable[[JudgedTexts], OtherTexts] | None = None,
        train: Sequence[str] = (),
        seed: int = 0,
        partitions: int | None = None,
        n_resamples: int = 2_000,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.scale = scale if partitions is None else replace(scale, partitions=partitions)
        self.votes = usual_votes(judgements)
        self.judged = judged_texts(judgements, votes=self.votes, train=train)
        self.other = None if other is None else other(self.judged)
        self.unchecked, self.seed, self.n_resamples = unchecked, seed, n_resamples
        super().__init__(folder, progress)
        self.metrics = metric_stages(self.judged, seed=seed)
        self.classifiers = classifier_stages(self.judged, self.scale, seed=seed, other=self.other)

    @property
    def targets(self) -> Sequence[Stage]:
        """All stages; they are independent."""
        return [*self.metrics.values(), *(stage for stages in self.classifiers.values() for stage in stages)]

    def result(self) -> Reproduction:
        """Return the results; all stages must be done."""
        judged = self.judged
        names = tuple(judged.generated)
        people = [Evaluation.of_judgements(judged.judgements).select(names), judged.majority]
        measured = {name: metric_evaluation(name, self.outcome(stage)) for name, stage in self.metrics.items()}
        metrics = {name: evaluation for name, (evaluation, _) in measured.items()}
        results = {name: [self.outcome(stage) for stage in stages] for name, stages in self.classifiers.items()}
        classifiers = {name: classifier_evaluation(name, outcomes) for name, outcomes in results.items()}
        judges = {name: metrics[name] for name in OVERLAPS}
        majority = self._majority(results, metrics)
        judging = judge_evaluators(
            people, [*classifiers.values(), *judges.values()], level=LEVEL, n_resamples=self.n_resamples,
            text_level=False, seed=self.seed,
        )  # fmt: skip
        others = [*people, *(classifiers[name] for name in classifiers if name != INDIVIDUAL), *judges.values()]
        memorised = [metrics[name] for name in (BLEU_TRAIN,) if name in metrics]
        with_diversity = self._agreements([metrics[SELF_BLEU]], others)
        with_memory, with_people = self._agreements(memorised, others), self._agreements(people, majority)
        of_all = self._agreements(people, [metrics[name] for name in WITH_ALL])
        analysis = analyse(judged.judgements, votes=self.votes, level=LEVEL, seed=self.seed)
        tables = [
            *human_tables(analysis, None if self.unchecked is None else analyse(self.unchecked, seed=self.seed)),
            table_2(judged, self.other, seed=self.seed),
            markup_table(judged, n_resamples=self.n_resamples, seed=self.seed),
            table_4(results, self.other),
            *metric_tables(measured),
            correlation_table(
                "table 5", (*judging.agreements, *of_all), by_gold=True, spreads=_spreads(results, people),
                differs="evaluators as in table 4 and figures 4 and 10",
            ),
            correlation_table("table 7", with_diversity, by_gold=False, differs="as above, by Self-BLEU of few texts"),
            *(
                correlation_table("table 8", with_memory, by_gold=False, differs="as above, by the training text given")
                for _ in memorised
            ),
            *from_printed_values(),
            *majority_table(majority, with_people),
            rank_table(
                {one.name: one for one in (*people, *classifiers.values(), *metrics.values())},
                (*PEOPLE, *classifiers, *OVERLAPS, *WITH_ALL, SELF_BLEU, DIVERSITY, *(one.name for one in memorised)),
            ),
            *reasons_table(analysis),
        ]  # fmt: skip
        ours = drawn_values(
            judged.judgements, people, {**classifiers, **metrics},
            {name: np.mean([one["real"] for one in rows], axis=0) for name, rows in results.items()},
            votes=self.votes, majority=majority, kappa=_kappa(analysis.agreement), n_resamples=self.n_resamples,
            seed=self.seed,
        )  # fmt: skip
        pairs = zip(check_findings(published_values(), level=LEVEL), check_findings(ours, level=LEVEL), strict=True)
        return Reproduction(
            title="Judge the Judges: which evaluators of generated text agree with people",
            settings=self._settings(),
            tables=tuple(tables),
            findings=tuple(one for pair in pairs for one in pair),
            notes=self._notes(judging, analysis.notes),
            seconds=self.seconds(),
            figures=figures_of(
                tables,
                names,
                {
                    "table 5": judging.agreements,
                    "table 7": with_diversity,
                    "table 8": with_memory,
                    "figure 6": with_people,
                },
            ),
        )

    def _agreements(self, golds: Sequence[Evaluation], evaluations: Sequence[Evaluation]) -> tuple[Agreement, ...]:
        drawing: dict[str, Any] = {"level": LEVEL, "n_resamples": self.n_resamples, "seed": self.seed}
        return tuple(one for gold in golds for one in agreements(gold, evaluations, **drawing))

    def _majority(
        self, results: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Mapping[str, Evaluation]
    ) -> list[Evaluation]:
        """Return evaluators with the majority as the truth: agreement with it, and overlap of texts called fake."""
        evaluations = []
        for name, rows in results.items():
            each = [
                majority_agreement(row["generated"], self.judged.majority, name=name, threshold=_REAL_FROM)
                for row in rows
            ]
            evaluations.append(
                Evaluation(
                    name,
                    "lower",
                    each[0].generators,
                    np.mean([one.values for one in each], axis=0),
                    terms={g: np.mean([(one.terms or {})[g] for one in each], axis=0) for g in each[0].generators},
                )
            )
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

    def _notes(self, judging: Judging, notes: Sequence[str]) -> tuple[str, ...]:
        lines = [f"Judgements: {'; '.join(notes)}."] if notes else []
        for verdict in judging.verdicts:
            lines.append(
                f"By {verdict.gold}: {verdict.may_be_best[0]} agrees best; not told apart from it by "
                f"{len(judging.generators)} generators: {join_words(judging.not_separated(verdict)) or 'none'}; "
                f"upside down: {join_words(list(verdict.upside_down)) or 'none'}."
            )
        missing = [name for name in CLASSIFIERS if name not in self.classifiers]
        if missing:
            lines.append(f"Not measured at this scale: {join_words(missing)}.")
        if self.other is None:
            lines.append(
                "Classifiers are cross-fitted on the judged texts: no other texts of these writers were given."
            )
        else:
            lines.append(
                "Classifiers learnt from other texts of these writers and judge each text without having seen it; "
                f"{self.other.n_dropped:,} of them were judged, too, and left out."
            )
        trials = self.scale.trials
        lines.append(
            f"Settings of classifiers: the best of {trials} at random on validation text, the usual ones among them."
            if trials
            else "Settings of classifiers: the usual ones, without a search."
        )
        if BLEU_TRAIN not in self.metrics:
            lines.append("BLEU against the training text (tables 8 and 9) is not measured: that text is not published.")
        return (
            *lines,
            "Intervals of correlations are over other generators and other texts; three temperatures of one model are "
            "not three models, so these claim too much.",
            "Draws of texts take votes and classifiers as they are: other people, or other training text, may differ.",
            "Texts that people disagree on: textassay human analyse FILE.",
        )


def _spreads(
    results: Mapping[str, Sequence[Mapping[str, Any]]], people: Sequence[Evaluation]
) -> dict[tuple[str, str, str], float]:
    """Return evaluator, gold and kind to the standard deviation of the correlation over partitions."""
    spreads: dict[tuple[str, str, str], float] = {}
    for name, rows in results.items():
        each = [classifier_evaluation(name, [row]) for row in rows]
        for gold in people if len(rows) > 1 else ():
            for kind in KINDS:
                values = [correlation(one.goodness, gold.goodness, kind).value for one in each]
                spreads[name, gold.name, kind] = float(np.std(values, ddof=1))
    return spreads


def _kappa(coefficients: Sequence[Coefficient]) -> float | None:
    for one in coefficients:
        if (one.measure, one.labels, one.items) == ("fleiss-kappa", "correct/mistaken", "all"):
            return one.value
    return None
