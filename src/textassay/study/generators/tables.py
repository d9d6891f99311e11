"""Tables of the study of generators: every evaluator of every generator, what it costs, and how evaluators agree.

Source of the layouts beside the published ones: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation
Study of Neural Language Models for Online Review Generation", EMNLP 2019, tables 4 and 6 to 9 and figures 4 and 10.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy import stats

from textassay.meta_evaluation import (
    Cell,
    Evaluation,
    Judging,
    PublishedTable,
    ReproducedTable,
    agreements,
    beside,
    correlation_matrix,
)
from textassay.report import join_words
from textassay.study.generators.judging import DD, EVALUATORS, JudgedWorld
from textassay.study.generators.orders import DIVERGENCE, JUDGED, TOTAL_VARIATION
from textassay.study.generators.results import FLOOR, PAPER_NAMES, REAL, TrainingCost
from textassay.study.judges.evaluators import LEVEL, MEAN_WITH_ALL, WITH_ALL
from textassay.study.judges.published import (
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
from textassay.study.judges.published import REAL as OF_REAL
from textassay.study.judges.tables import agreement_cells, correlation_table

_SETTING = "other generators of other text, of {n:,} sentences each, where the paper has 6,500 tested ones"


def table_id(what: str, world: str) -> str:
    """Return the id of a table of a world; ids of the paper stand for the world of real text."""
    return f"{what}, {world} world"


def by_closeness(judged: JudgedWorld) -> tuple[str, ...]:
    """Return all writers, those that DD finds closest to real text first."""
    distances = {writer: math.inf if value is None else value for writer, (value, *_) in judged.values[DD].items()}
    return tuple(sorted(judged.writers, key=lambda writer: distances[writer]))


def judged_tables(world: str, judged: JudgedWorld, n: int, *, n_resamples: int, seed: int) -> list[ReproducedTable]:
    """Return evaluators' values of all writers, ranks, the paper's layouts, and correlations among evaluators."""
    tables = [_everything(world, judged), _ranks(world, judged)]
    layouts: tuple[tuple[str, Sequence[str]], ...] = (
        ("figures 4 and 10", (*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL)),
        ("table 6", (SELF_BLEU, DIVERSITY, "distinct-1", "distinct-2")),
        ("table 9", (BLEU_TRAIN,)),
    )
    tables.append(_layout(world, "table 4", _accuracies(judged), n))
    for name, columns in layouts:
        cells = [_cell(writer, column, judged, column) for column in columns for writer in judged.writers]
        tables.append(_layout(world, name, [cell for cell in cells if cell.ours is not None], n))
    if world == REAL:
        tables += _table_7_and_8(judged, n_resamples, seed)
    return [*tables, _among(world, judged)]


def order_tables(world: str, judging: Judging | None) -> list[ReproducedTable]:
    """Return the agreement of evaluators with each known order, and which are not separated from the best."""
    if judging is None:
        return []
    tables = []
    for verdict in judging.verdicts:
        cells = agreement_cells([one for one in judging.agreements if one.gold == verdict.gold], by_gold=False)
        order = [*verdict.order, *verdict.undefined]
        cells.sort(key=lambda cell: order.index(cell.row))
        pairs = {score.evaluator: score for score in judging.pair_scores if score.gold == verdict.gold}
        cells += [Cell(name, "pairs", ours=pairs[name].accuracy) for name in order]
        n = len(judging.generators)
        notes = [
            f"Higher is better, {n} generators; intervals are over other generators and other texts; pairs: share of "
            "pairs of generators in the same order.",
            f"Not told apart from {verdict.may_be_best[0]}: {join_words(judging.not_separated(verdict)) or 'none'}."
            if verdict.may_be_best
            else "",
            f"Not explained by chance: {join_words(list(verdict.not_luck)) or 'none'}.",
            f"Negatively correlated: {join_words(list(verdict.upside_down))}." if verdict.upside_down else "",
        ]
        tables.append(
            ReproducedTable(
                table_id(f"agreement with {verdict.gold}", world), "Correlation of evaluators with a known order",
                tuple(cells), note=" ".join(filter(None, notes)),
            )
        )  # fmt: skip
    return tables


def exact_table(world: str, judged: JudgedWorld, exact: Mapping[str, Mapping[str, Any]]) -> list[ReproducedTable]:
    """Return the exact distances from the oracle beside DD; `exact` as for `exact_orders`."""
    if not exact:
        return []
    cells = []
    for name in sorted(exact, key=lambda name: float(exact[name]["discrepancy"]["value"])):
        for column, key in ((TOTAL_VARIATION, "discrepancy"), (DIVERGENCE, "jensen_shannon")):
            cells.append(Cell(name, column, *(exact[name][key][end] for end in ("value", "low", "high"))))
        cells.append(_cell(name, DD, judged, DD))
    wrong = [name for name, one in exact.items() if not one["agrees"]]
    doubt = f" Its estimators disagree for {join_words(wrong)}: not exact there." if wrong else ""
    return [
        ReproducedTable(
            table_id("exact distances", world), "Exact distances from the oracle, and what DD finds of them",
            tuple(cells), note=f"DD is, in expectation, at most the total variation. Jensen-Shannon is in bits.{doubt}",
        )
    ]  # fmt: skip


def costs_table(world: str, costs: Mapping[str, TrainingCost], stopped: Mapping[str, str]) -> ReproducedTable:
    """Return the costs of generators; `stopped`: why some trainings ended early."""
    cells = []
    for name, one in costs.items():
        numbers = {
            "seconds of training": one.seconds,
            "sentences seen": one.n_seen,
            "numbers learnt": one.n_parameters,
            "seconds per 1,000 draws": one.seconds_per_1000,
        }
        cells += [Cell(name, column, ours=value) for column, value in numbers.items()]
    shared: dict[str, list[str]] = {}
    for name, one in costs.items():
        if one.trained_as != name:
            shared.setdefault(one.trained_as, []).append(name)
    notes = [
        "Seconds of one processor, with what was trained before: SeqGAN's rounds go on from MLE SeqGAN. "
        "Sentences count as often as they were shown.",
        *(f"{join_words(names)}: the model of {name}." for name, names in shared.items()),
        *(f"{name}: {why}." for name, why in stopped.items()),
    ]
    return ReproducedTable(table_id("costs", world), "What generators cost", tuple(cells), note=" ".join(notes))


def text_table(world: str, judged: JudgedWorld) -> ReproducedTable:
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
    return ReproducedTable(
        table_id("texts", world), "Marked words, length, repeated texts", tuple(cells),
        note="Words that the training text has too rarely are marked alike in real and in generated text. Longest: "
        "sentences as long as the longest of the training text, where generators are cut. Learnt from: tested texts "
        "that classifiers have also learnt from, since texts are dealt as they were drawn, with their repetitions.",
    )  # fmt: skip


def _everything(world: str, judged: JudgedWorld) -> ReproducedTable:
    columns = [name for name in (*JUDGED, *EVALUATORS) if name in judged.values]
    cells = [_cell(w, name, judged, name) for w in by_closeness(judged) for name in dict.fromkeys(columns)]
    undefined = "".join(
        f" {writer}: {join_words(list(names))} undefined, so it is in no rank, correlation or finding."
        for writer, names in judged.undefined.items()
    )
    return ReproducedTable(
        table_id("all evaluators", world), "Every evaluator of every generator, closest by DD first", tuple(cells),
        note="Lower is closer: DD, FED, reverse LM score, and classifiers (share that is called generated), Self-BLEU. "
        "Higher is closer: MAUVE, word overlap, naturalness, lexical diversity. LM score: closer to the floor's. "
        f"Classifiers did not learn to call the floor generated; the individual one did.{undefined}",
    )  # fmt: skip


def _ranks(world: str, judged: JudgedWorld) -> ReproducedTable:
    cells = []
    for name in (name for name in JUDGED if name in judged.evaluations):
        evaluation = judged.evaluations[name]
        places = stats.rankdata(-evaluation.goodness).tolist()
        cells += [Cell(w, name, ours=place) for w, place in zip(evaluation.generators, places, strict=True)]
    order = by_closeness(judged)
    cells.sort(key=lambda cell: order.index(cell.row))
    return ReproducedTable(
        table_id("ranks", world), "Rank of each generator by each evaluator, 1 is best", tuple(cells),
        note="Equal ones share the mean of their ranks. The floor ranks as if a generator had written it.",
    )  # fmt: skip


def _accuracies(judged: JudgedWorld) -> list[Cell]:
    rows = [*judged.writers, ALL, OF_REAL, GENERATED]
    cells = []
    for name in (*CLASSIFIERS, INDIVIDUAL):
        accuracies = judged.accuracies.get(name, {})
        for row in rows[: len(judged.writers)] if name == INDIVIDUAL else rows:
            if row in accuracies:
                value, low, high = (None if end is None else 100 * end for end in accuracies[row])
                cells.append(Cell(row, name, value, low, high))
    return cells


def _layout(world: str, name: str, cells: Sequence[Cell], n: int) -> ReproducedTable:
    """Return a table as the paper has it, with its numbers beside those of the world of real text."""
    printed = published_table(name)
    if world == REAL:
        return beside(printed, cells, differs=_SETTING.format(n=n))
    empty = PublishedTable(table_id(name, world), printed.title, (), (), ())
    return beside(empty, cells)


def _table_7_and_8(judged: JudgedWorld, n_resamples: int, seed: int) -> Iterable[ReproducedTable]:
    """Yield correlations with Self-BLEU and with BLEU of the training text, over the paper's generators."""
    names = [name for name in PAPER_NAMES if name in judged.ranked]
    known: dict[str, Evaluation] = {name: one.select(names) for name, one in judged.evaluations.items()}
    evaluators = [known[name] for name in (*CLASSIFIERS, *OVERLAPS) if name in known]
    for table, gold in (("table 7", SELF_BLEU), ("table 8", BLEU_TRAIN)):
        if gold in known and len(names) > 1:
            coefficients = agreements(known[gold], evaluators, level=LEVEL, n_resamples=n_resamples, seed=seed)
            yield correlation_table(table, coefficients, by_gold=False, differs="as in tables 4, 6 and 9")


def _among(world: str, judged: JudgedWorld) -> ReproducedTable:
    generators = [name for name in judged.ranked if name != FLOOR]
    evaluations = [judged.evaluations[name].select(generators) for name in JUDGED if name in judged.evaluations]
    matrix = correlation_matrix(evaluations, "kendall")
    cells = [
        Cell(row, column, ours=None if math.isnan(value) else value)
        for row, values in zip(matrix.names, matrix.values.tolist(), strict=True)
        for column, value in zip(matrix.names, values, strict=True)
    ]
    return ReproducedTable(
        table_id("evaluators among one another", world), "Kendall's tau of evaluators, turned so that higher is better",
        tuple(cells), note=f"{len(generators)} generators, without the floor.",
    )  # fmt: skip


def _cell(row: str, column: str, judged: JudgedWorld, evaluator: str) -> Cell:
    value, low, high = judged.values[evaluator].get(row, (None, None, None))
    return Cell(row, column, value, low, high)
