"""The study ``judges``: evaluators on texts that people judged, compared with the paper.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019.
Departs from it: without other texts of the same writers, classifiers are cross-fitted on the judged ones; without the
generators' training text, BLEU against it is not measured.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from textassay.human import Agreement as Coefficient
from textassay.human import Judgements, analyse, usual_votes
from textassay.meta_evaluation import (
    Agreement,
    Evaluation,
    Judging,
    Reproduction,
    agreements,
    correlation,
    judge_evaluators,
    majority_agreement,
)
from textassay.report import join_words
from textassay.study.judges.draws import drawn_values, published_values
from textassay.study.judges.evaluators import (
    BESIDES,
    LEVEL,
    WITH_ALL,
    JudgedTexts,
    JudgesScale,
    OtherTexts,
    classifier_evaluation,
    classifier_stages,
    judged_texts,
    metric_evaluation,
    metric_stages,
)
from textassay.study.judges.figures import figures_of
from textassay.study.judges.findings import check_findings
from textassay.study.judges.published import (
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    INDIVIDUAL,
    OVERLAPS,
    PEOPLE,
    SELF_BLEU,
)
from textassay.study.judges.tables import (
    KINDS,
    correlation_table,
    from_printed_values,
    human_tables,
    majority_table,
    markup_table,
    metric_tables,
    rank_table,
    reasons_table,
    table_2,
    table_4,
)
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Stage

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
        people = [
            Evaluation.of_judgements(judged.judgements).select(names),
            Evaluation.of_judgements(judged.judgements, by="majority", votes=self.votes).select(names),
        ]
        measured = {name: metric_evaluation(name, self.outcome(stage)) for name, stage in self.metrics.items()}
        metrics = {name: evaluation for name, (evaluation, _) in measured.items()}
        results = {name: [self.outcome(stage) for stage in stages] for name, stages in self.classifiers.items()}
        classifiers = {name: classifier_evaluation(name, outcomes) for name, outcomes in results.items()}
        judges = {name: metrics[name] for name in (*OVERLAPS, BESIDES)}
        majority = self._majority(results, metrics)
        judging = judge_evaluators(
            people, [*classifiers.values(), *judges.values()], level=LEVEL, n_resamples=self.n_resamples,
            text_level=False, seed=self.seed,
        )  # fmt: skip
        others = [*people, *(classifiers[name] for name in classifiers if name != INDIVIDUAL), *judges.values()]
        with_diversity = self._agreements(metrics[SELF_BLEU], others)
        memorised = [metrics[name] for name in (BLEU_TRAIN,) if name in metrics]
        with_memory = tuple(one for gold in memorised for one in self._agreements(gold, others))
        with_people = tuple(one for gold in people for one in self._agreements(gold, majority))
        with_all = [metrics[name] for name in WITH_ALL]
        of_all = tuple(one for gold in people for one in self._agreements(gold, with_all))
        analysis = analyse(judged.judgements, votes=self.votes, level=LEVEL, seed=self.seed)
        tables = [
            *human_tables(analysis, None if self.unchecked is None else analyse(self.unchecked, seed=self.seed)),
            table_2(judged, self.other, seed=self.seed),
            markup_table(judged, n_resamples=self.n_resamples, seed=self.seed),
            table_4(results, self.other),
            *metric_tables(metrics, {name: intervals for name, (_, intervals) in measured.items()}),
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
                (*PEOPLE, *classifiers, *OVERLAPS, *WITH_ALL, SELF_BLEU, DIVERSITY, BESIDES,
                 *(one.name for one in memorised)),
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

    def _agreements(self, gold: Evaluation, evaluations: Sequence[Evaluation]) -> tuple[Agreement, ...]:
        return agreements(gold, evaluations, level=LEVEL, n_resamples=self.n_resamples, seed=self.seed)

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
