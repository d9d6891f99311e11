"""The study ``generators``: every evaluator of every generator, beside the paper.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 4 and 5, tables 4 and 6 to 9 and figures 4 and 10.
Departs from it: other text, other sizes, no people.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.report.text import join_words
from textassay_lab.meta_evaluation.correlations import agreements, correlation_matrix, draw_goodness
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.reproduction import Cell, ReproducedTable, Reproduction, beside
from textassay_lab.meta_evaluation.table_figure import Panel, TableFigure
from textassay_lab.papers.drawn_values import DrawnValues
from textassay_lab.papers.generators.experiment import (
    DD,
    DISTANCES,
    EVALUATORS,
    JudgedWriters,
    build_generators,
    judged_writers,
    judging_stages,
)
from textassay_lab.papers.generators.findings import check_floor, check_paper
from textassay_lab.papers.generators.texts import (
    FLOOR,
    GENERATORS,
    OTHER_DOMAIN,
    PAPER_NAMES,
    GeneratorsScale,
    GeneratorsTexts,
)
from textassay_lab.papers.judges.experiment import LEVEL, MEAN_WITH_ALL, WITH_ALL, JudgesScale, published_values
from textassay_lab.papers.judges.published import (
    ALL,
    BLEU_TRAIN,
    CLASSIFIERS,
    DIVERSITY,
    GENERATED,
    INDIVIDUAL,
    OVERLAPS,
    SELF_BLEU,
    published_table,
)
from textassay_lab.papers.judges.published import REAL as OF_REAL
from textassay_lab.papers.judges.results import correlation_table
from textassay_lab.papers.presets import as_json
from textassay_lab.papers.staged_study import StagedStudy
from textassay_lab.papers.stages import Stage

FloatArray = npt.NDArray[np.float64]

JUDGED = (  # in the order of tables; other columns of the metrics are not judged
    *DISTANCES,
    *CLASSIFIERS,
    INDIVIDUAL,
    *OVERLAPS,
    SELF_BLEU,
    DIVERSITY,
    BLEU_TRAIN,
)


def drawn_values(
    about: str,
    evaluations: Mapping[str, Evaluation],
    generators: Sequence[str],
    *,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> DrawnValues:
    """Return evaluators' values of `generators`, as measured and over resampled texts.

    For an evaluator that is better the closer to real text, the value is the distance from that.
    """
    together = [one.select(generators) for one in evaluations.values()]
    drawn = draw_goodness(together, n_resamples=n_resamples, seed=seed)
    goodness = np.concatenate([np.array([one.goodness for one in together])[:, None], drawn], axis=1)
    higher = [one.better == "higher" for one in together]
    return DrawnValues(
        about=about,
        generators=tuple(generators),
        values={one.name: rows if up else -rows for one, rows, up in zip(together, goodness, higher, strict=True)},
        better={one.name: "higher" if up else "lower" for one, up in zip(together, higher, strict=True)},
        foreign=OTHER_DOMAIN,
    )


_SETTING = "other generators of other text, of {n:,} sentences each, where the paper has 6,500 tested ones"


def by_closeness(judged: JudgedWriters) -> tuple[str, ...]:
    """Return all writers, those that DD finds closest to real text first."""
    distances = {writer: math.inf if value is None else value for writer, (value, *_) in judged.values[DD].items()}
    return tuple(sorted(judged.writers, key=lambda writer: distances[writer]))


def judged_tables(judged: JudgedWriters, n: int, *, n_resamples: int, seed: int) -> list[ReproducedTable]:
    """Return evaluators' values of all writers, ranks, the paper's layouts, and correlations among evaluators."""
    layouts: tuple[tuple[str, Sequence[str]], ...] = (
        ("figures 4 and 10", (*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL)),
        ("table 6", (SELF_BLEU, DIVERSITY, "distinct-1", "distinct-2")),
        ("table 9", (BLEU_TRAIN,)),
    )
    tables = [_everything(judged), _ranks(judged), _layout("table 4", _accuracies(judged), n)]
    for name, columns in layouts:
        cells = [_cell(writer, column, judged, column) for column in columns for writer in judged.writers]
        tables.append(_layout(name, [cell for cell in cells if cell.ours is not None], n))
    return [*tables, *_table_7_and_8(judged, n_resamples, seed), _among(judged)]


def costs_table(trained: Mapping[str, Mapping[str, Any]], drawn: Mapping[str, Mapping[str, Any]]) -> ReproducedTable:
    """Return the costs of generators, from the results of `Generated.trained` and `Generated.drawn`."""
    cells = []
    shared: dict[str, list[str]] = {}
    for name, one in trained.items():
        numbers = {
            "seconds of training": one["seconds"],
            "sentences seen": one["n_seen"],
            "numbers learnt": one["n_parameters"],
            "seconds per 1,000 draws": 1000 * drawn[name]["seconds"] / drawn[name]["n"],
        }
        cells += [Cell(name, column, ours=value) for column, value in numbers.items()]
        if one["trained_as"] != name:
            shared.setdefault(one["trained_as"], []).append(name)
    return _table(
        "costs", "What generators cost", cells,
        "Seconds of one processor, with what was trained before: SeqGAN's rounds go on from MLE SeqGAN. "
        "Sentences count as often as they were shown.",
        *(f"{join_words(names)}: the model of {name}." for name, names in shared.items()),
        *(f"{name}: {one['stopped']}." for name, one in trained.items() if one["stopped"] is not None),
    )  # fmt: skip


def text_table(judged: JudgedWriters) -> ReproducedTable:
    """Return the share of marked words, the length, and how much of the tested text classifiers also learnt from."""
    cells = []
    for writer, statistics in judged.of_text.items():
        cells += [
            Cell(writer, "marked words, percent", ours=100 * statistics["marked"]),
            Cell(writer, "words of a sentence", ours=statistics["length"]),
            Cell(writer, "longest, percent", ours=100 * statistics["cut"]),
        ]
        if writer in judged.copied:
            cells.append(Cell(writer, "learnt from, percent", ours=100 * judged.copied[writer]))
    return _table(
        "texts", "Marked words, length, repeated texts", cells,
        "Words that the training text has too rarely are marked alike in real and in generated text. Longest: "
        "sentences as long as the longest of the training text, where generators are cut. Learnt from: tested texts "
        "that classifiers have also learnt from, since texts are dealt as they were drawn, with their repetitions.",
    )  # fmt: skip


def _table(what: str, title: str, cells: Sequence[Cell], *notes: str) -> ReproducedTable:
    return ReproducedTable(what, title, tuple(cells), note=" ".join(filter(None, notes)))


def _everything(judged: JudgedWriters) -> ReproducedTable:
    columns = [name for name in (*JUDGED, *EVALUATORS) if name in judged.values]
    cells = [_cell(w, name, judged, name) for w in by_closeness(judged) for name in dict.fromkeys(columns)]
    undefined = (
        f"{writer}: {join_words(list(names))} undefined, so it is in no rank, correlation or finding."
        for writer, names in judged.undefined.items()
    )
    return _table(
        "all evaluators", "Every evaluator of every generator, closest by DD first", cells,
        "Lower is closer: DD, FED, reverse LM score, and classifiers (share that is called generated), Self-BLEU. "
        "Higher is closer: MAUVE, word overlap, lexical diversity. LM score: closer to the floor's. "
        "Classifiers did not learn to call the floor generated; the individual one did.",
        *undefined,
    )  # fmt: skip


def _ranks(judged: JudgedWriters) -> ReproducedTable:
    cells = []
    for name in (name for name in JUDGED if name in judged.evaluations):
        evaluation = judged.evaluations[name]
        places = stats.rankdata(-evaluation.goodness).tolist()
        cells += [Cell(w, name, ours=place) for w, place in zip(evaluation.generators, places, strict=True)]
    order = by_closeness(judged)
    cells.sort(key=lambda cell: order.index(cell.row))
    return _table(
        "ranks", "Rank of each generator by each evaluator, 1 is best", cells,
        "Equal ones share the mean of their ranks. The floor ranks as if a generator had written it.",
    )  # fmt: skip


def _accuracies(judged: JudgedWriters) -> list[Cell]:
    rows = [*judged.writers, ALL, OF_REAL, GENERATED]
    cells = []
    for name in (*CLASSIFIERS, INDIVIDUAL):
        accuracies = judged.accuracies.get(name, {})
        for row in rows[: len(judged.writers)] if name == INDIVIDUAL else rows:
            if row in accuracies:
                value, low, high = (None if end is None else 100 * end for end in accuracies[row])
                cells.append(Cell(row, name, value, low, high))
    return cells


def _layout(name: str, cells: Sequence[Cell], n: int) -> ReproducedTable:
    """Return a table as the paper has it, with its numbers beside ours."""
    return beside(published_table(name), cells, differs=_SETTING.format(n=n))


def _table_7_and_8(judged: JudgedWriters, n_resamples: int, seed: int) -> Iterable[ReproducedTable]:
    """Yield correlations with Self-BLEU and with BLEU of the training text, over the paper's generators."""
    names = [name for name in PAPER_NAMES if name in judged.ranked]
    known: dict[str, Evaluation] = {name: one.select(names) for name, one in judged.evaluations.items()}
    evaluators = [known[name] for name in (*CLASSIFIERS, *OVERLAPS) if name in known]
    for table, gold in (("table 7", SELF_BLEU), ("table 8", BLEU_TRAIN)):
        if gold in known and len(names) > 1:
            coefficients = agreements(known[gold], evaluators, level=LEVEL, n_resamples=n_resamples, seed=seed)
            yield correlation_table(table, coefficients, by_gold=False, differs="as in tables 4, 6 and 9")


def _among(judged: JudgedWriters) -> ReproducedTable:
    generators = [name for name in judged.ranked if name != FLOOR]
    evaluations = [judged.evaluations[name].select(generators) for name in JUDGED if name in judged.evaluations]
    matrix = correlation_matrix(evaluations, "kendall")
    cells = [
        Cell(row, column, ours=None if math.isnan(value) else value)
        for row, values in zip(matrix.names, matrix.values.tolist(), strict=True)
        for column, value in zip(matrix.names, values, strict=True)
    ]
    return _table(
        "evaluators among one another", "Kendall's tau of evaluators, turned so that higher is better", cells,
        f"{len(generators)} generators, without the floor.",
    )  # fmt: skip


def _cell(row: str, column: str, judged: JudgedWriters, evaluator: str) -> Cell:
    value, low, high = judged.values[evaluator].get(row, (None, None, None))
    return Cell(row, column, value, low, high)


_RANKED = (DD, "FED", "SVM", "LSTM", "BLEU", "CIDEr", SELF_BLEU)


def generators_figures(closest: Sequence[str]) -> tuple[TableFigure, ...]:
    """Return the figures; `closest`: all writers, those that DD finds closest first."""
    return (
        TableFigure(
            "dd", "DD of every generator and of real text", "DD: 0 is as real text, 1 is always told apart",
            tuple(closest), (Panel("all evaluators", DD, "DD"),),
        ),
        TableFigure(
            "ranks", "Ranks of generators by evaluators", "rank, 1 is best",
            tuple(closest), tuple(Panel("ranks", name, name) for name in _RANKED),
        ),
        TableFigure(
            "overlap-and-classifiers", "What word overlap and a classifier say, temperatures among them",
            "BLEU and BLEU G-train: more is better; others: less is better", (FLOOR, *GENERATORS),
            tuple(
                Panel("all evaluators", name, name)
                for name in ("SVM", "BLEU", SELF_BLEU, DIVERSITY, BLEU_TRAIN)
            ),
            shared=False,
        ),
    )  # fmt: skip


_TOLD = "samples were cut"  # a column of a table says so

_NOTES = (
    "Each generator was trained once and drew once; each classifier was trained once. Intervals and verdicts are over "
    "other text: another training may differ by more.",
    "Intervals of correlations are over other generators and other texts; temperatures of one model are not "
    "independent generators, so these claim too much.",
    "Orientation as in the paper: of classifiers and Self-BLEU less is better, of word overlap, lexical diversity and "
    "BLEU against the training text more is better, whatever real text scores.",
)


class GeneratorsStudy(StagedStudy):
    """The study."""

    def __init__(
        self,
        texts: GeneratorsTexts,
        scale: GeneratorsScale,
        folder: Path,
        *,
        seed: int = 0,
        n_resamples: int = 2_000,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        from textassay_lab.training.backend import chosen_precision, training_device

        self.texts, self.scale, self.seed, self.n_resamples = texts, scale, seed, n_resamples
        self.precision = chosen_precision(scale.precision, training_device())
        super().__init__(folder, progress)
        self.writers = build_generators(texts, scale, precision=self.precision, seed=seed)
        judges = JudgesScale(networks=scale.network_judges, partitions=scale.partitions)
        self.judges = judging_stages(self.writers, judges, seed=seed)

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return [*self.writers.targets, *self.judges.targets]

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        judged = judged_writers(self.judges, self.done)
        drawing: dict[str, Any] = {"n_resamples": self.n_resamples, "seed": self.seed}
        trained, drawn = (
            {name: self.outcome(getattr(one, what)) for name, one in self.writers.generated.items()}
            for what in ("trained", "drawn")
        )
        paper, everyone = (
            drawn_values("our run", judged.evaluations, names, **drawing)
            for names in ([name for name in PAPER_NAMES if name in judged.ranked], judged.ranked)
        )
        findings = [
            *check_paper(published_values(), level=LEVEL),
            *check_paper(paper, level=LEVEL),
            *check_floor(everyone, level=LEVEL),
        ]
        ids = list(dict.fromkeys(finding.id for finding in findings))
        return Reproduction(
            title="Judge the Judges: every generator trained on one text",
            settings=self._settings(),
            tables=(
                *judged_tables(judged, self.writers.n, **drawing), text_table(judged), costs_table(trained, drawn)
            ),
            findings=tuple(sorted(findings, key=lambda finding: ids.index(finding.id))),
            notes=(*(f"{name} was not there: what needs it is not measured." for name in self.texts.missing), *_NOTES,
                   *self.warning_notes(but=_TOLD)),
            seconds=self.seconds(),
            figures=generators_figures(by_closeness(judged)),
        )  # fmt: skip

    def _settings(self) -> dict[str, Any]:
        scale = as_json(self.scale)
        return {
            "study": "generators",
            "scale": scale.pop("name"),
            **scale,
            "precision": self.precision,
            "draws": self.n_resamples,
            "level": LEVEL,
            "seed": self.seed,
            "version": version("textassay"),
            "texts": dict(self.writers.texts.sizes),
            "fingerprint of the training text": self.writers.texts.train.settings["text"],
        }
