"""The study ``generators``: every evaluator of every generator, beside the paper, and how they follow known orders.

Two orders are known: by the share of the training text, and by the exact distance from the oracle, as total variation
and as Jensen-Shannon divergence. The errors of the exact values are resampled with the texts.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 4 and 5, tables 4 and 6 to 9 and figures 4 and 10.
Departs from it: other text, other sizes, no people; a second world whose truth is a language model.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from textassay.meta_evaluation import (
    Cell,
    CheckedFinding,
    Evaluation,
    Judging,
    Panel,
    PublishedTable,
    ReproducedTable,
    Reproduction,
    TableFigure,
    agreements,
    beside,
    correlation_matrix,
    draw_goodness,
    judge_evaluators,
)
from textassay.report import join_words
from textassay.study.drawn_values import DrawnValues
from textassay.study.generators.experiment import (
    DD,
    DISTANCES,
    EVALUATORS,
    JudgedWorld,
    Judges,
    build_worlds,
    judged_world,
    judging_stages,
)
from textassay.study.generators.findings import check_orders, check_paper
from textassay.study.generators.texts import (
    DIVERGENCE,
    FLOOR,
    GENERATORS,
    OTHER_DOMAIN,
    PAPER_NAMES,
    REAL,
    TOTAL_VARIATION,
    VOLUME,
    WORLDS,
    GeneratorsScale,
    GeneratorsTexts,
    World,
)
from textassay.study.judges.experiment import LEVEL, MEAN_WITH_ALL, WITH_ALL, JudgesScale, published_values
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
from textassay.study.judges.results import agreement_cells, correlation_table
from textassay.study.presets import as_json
from textassay.study.staged_study import StagedStudy
from textassay.study.stages import Stage

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
_EXACT: Mapping[str, str] = {TOTAL_VARIATION: "discrepancy", DIVERGENCE: "jensen_shannon"}
_N_TERMS = 101  # as no metric has: their draws are independent of the exact value's


def order_by_volume(world: World, generators: Sequence[str]) -> list[Evaluation]:
    """Return the order of `generators` by training text; none where fewer than two differ in nothing else."""
    names = tuple(name for name in generators if name in world.volume)
    if len(names) < 2:
        return []
    return [Evaluation(VOLUME, "higher", names, np.array([world.volume[name] for name in names]))]


def exact_orders(results: Mapping[str, Mapping[str, Any]]) -> list[Evaluation]:
    """Return the orders by exact distance, total variation first."""
    if len(results) < 2:
        return []
    scores = stats.norm.ppf((np.arange(_N_TERMS) + 0.5) / _N_TERMS)
    scores *= np.sqrt(_N_TERMS) / scores.std()  # so that the mean of as many draws has variance 1
    orders = []
    for name, key in _EXACT.items():
        values = {generator: one[key] for generator, one in results.items()}
        errors = {
            generator: (one["high"] - one["low"]) / (2 * float(stats.norm.ppf((1 + LEVEL) / 2)))
            for generator, one in values.items()
        }
        orders.append(
            Evaluation(
                name,
                "lower",
                tuple(values),
                np.array([one["value"] for one in values.values()]),
                terms={generator: one["value"] + errors[generator] * scores for generator, one in values.items()},
            )
        )
    return orders


def judged_by_orders(
    orders: Sequence[Evaluation], evaluations: Mapping[str, Evaluation], *, n_resamples: int, seed: int
) -> Judging | None:
    """Return how evaluators agree with orders of the same generators; none where there is no order."""
    if not orders:
        return None
    judged = [evaluations[name].select(orders[0].generators) for name in JUDGED if name in evaluations]
    return judge_evaluators(
        orders, judged, level=LEVEL, n_resamples=n_resamples, text_level=False, soft_pairs=False, seed=seed
    )


def drawn_values(
    about: str,
    evaluations: Mapping[str, Evaluation],
    generators: Sequence[str],
    *,
    orders: Sequence[Evaluation] = (),
    n_resamples: int = 2_000,
    seed: int = 0,
) -> DrawnValues:
    """Return evaluators' values of `generators`, as measured and over resampled texts.

    For an evaluator that is better the closer to real text, the value is the distance from that.
    """
    together = [one.select(generators) for one in (*evaluations.values(), *orders)]
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
        notes = (
            f"Higher is better, {n} generators; intervals are over other generators and other texts; pairs: share of "
            "pairs of generators in the same order.",
            f"Not told apart from {verdict.may_be_best[0]}: {join_words(judging.not_separated(verdict)) or 'none'}."
            if verdict.may_be_best
            else "",
            f"Not explained by chance: {join_words(list(verdict.not_luck)) or 'none'}.",
            f"Negatively correlated: {join_words(list(verdict.upside_down))}." if verdict.upside_down else "",
        )
        title = "Correlation of evaluators with a known order"
        tables.append(_table(world, f"agreement with {verdict.gold}", title, cells, *notes))
    return tables


def exact_table(world: str, judged: JudgedWorld, exact: Mapping[str, Mapping[str, Any]]) -> list[ReproducedTable]:
    """Return the exact distances from the oracle beside DD; `exact` as for `exact_orders`."""
    if not exact:
        return []
    cells = []
    for name in sorted(exact, key=lambda name: float(exact[name]["discrepancy"]["value"])):
        for column, key in _EXACT.items():
            cells.append(Cell(name, column, *(exact[name][key][end] for end in ("value", "low", "high"))))
        cells.append(_cell(name, DD, judged, DD))
    wrong = [name for name, one in exact.items() if not one["agrees"]]
    return [
        _table(
            world, "exact distances", "Exact distances from the oracle, and what DD finds of them", cells,
            "DD is, in expectation, at most the total variation. Jensen-Shannon is in bits.",
            f"Its estimators disagree for {join_words(wrong)}: not exact there." if wrong else "",
        )
    ]  # fmt: skip


def costs_table(
    world: str, trained: Mapping[str, Mapping[str, Any]], drawn: Mapping[str, Mapping[str, Any]]
) -> ReproducedTable:
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
        world, "costs", "What generators cost", cells,
        "Seconds of one processor, with what was trained before: SeqGAN's rounds go on from MLE SeqGAN. "
        "Sentences count as often as they were shown.",
        *(f"{join_words(names)}: the model of {name}." for name, names in shared.items()),
        *(f"{name}: {one['stopped']}." for name, one in trained.items() if one["stopped"] is not None),
    )  # fmt: skip


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
    return _table(
        world, "texts", "Marked words, length, repeated texts", cells,
        "Words that the training text has too rarely are marked alike in real and in generated text. Longest: "
        "sentences as long as the longest of the training text, where generators are cut. Learnt from: tested texts "
        "that classifiers have also learnt from, since texts are dealt as they were drawn, with their repetitions.",
    )  # fmt: skip


def _table(world: str, what: str, title: str, cells: Sequence[Cell], *notes: str) -> ReproducedTable:
    return ReproducedTable(table_id(what, world), title, tuple(cells), note=" ".join(filter(None, notes)))


def _everything(world: str, judged: JudgedWorld) -> ReproducedTable:
    columns = [name for name in (*JUDGED, *EVALUATORS) if name in judged.values]
    cells = [_cell(w, name, judged, name) for w in by_closeness(judged) for name in dict.fromkeys(columns)]
    undefined = (
        f"{writer}: {join_words(list(names))} undefined, so it is in no rank, correlation or finding."
        for writer, names in judged.undefined.items()
    )
    return _table(
        world, "all evaluators", "Every evaluator of every generator, closest by DD first", cells,
        "Lower is closer: DD, FED, reverse LM score, and classifiers (share that is called generated), Self-BLEU. "
        "Higher is closer: MAUVE, word overlap, lexical diversity. LM score: closer to the floor's. "
        "Classifiers did not learn to call the floor generated; the individual one did.",
        *undefined,
    )  # fmt: skip


def _ranks(world: str, judged: JudgedWorld) -> ReproducedTable:
    cells = []
    for name in (name for name in JUDGED if name in judged.evaluations):
        evaluation = judged.evaluations[name]
        places = stats.rankdata(-evaluation.goodness).tolist()
        cells += [Cell(w, name, ours=place) for w, place in zip(evaluation.generators, places, strict=True)]
    order = by_closeness(judged)
    cells.sort(key=lambda cell: order.index(cell.row))
    return _table(
        world, "ranks", "Rank of each generator by each evaluator, 1 is best", cells,
        "Equal ones share the mean of their ranks. The floor ranks as if a generator had written it.",
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
    return _table(
        world, "evaluators among one another", "Kendall's tau of evaluators, turned so that higher is better", cells,
        f"{len(generators)} generators, without the floor.",
    )  # fmt: skip


def _cell(row: str, column: str, judged: JudgedWorld, evaluator: str) -> Cell:
    value, low, high = judged.values[evaluator].get(row, (None, None, None))
    return Cell(row, column, value, low, high)


_RANKED = (DD, "FED", "SVM", "LSTM", "BLEU", "CIDEr", SELF_BLEU)
_AGAINST_EXACT = (DD, "SVM", "FED", "reverse LM score", "BLEU", SELF_BLEU)
_TITLES: Mapping[str, str] = {"real": "text of people", "oracle": "text of an LSTM"}


def generators_figures(
    tables: Sequence[ReproducedTable], closest: Mapping[str, Sequence[str]], exact: Sequence[str]
) -> tuple[TableFigure, ...]:
    """Return the figures."""
    return tuple(
        figure
        for figure in (*_of_worlds(closest), *_against_exact(exact), *_agreement(tables))
        if any(panel.table in {table.id for table in tables} for panel in figure.panels)
    )


def _of_worlds(closest: Mapping[str, Sequence[str]]) -> Iterable[TableFigure]:
    worlds = [world for world in WORLDS if world in closest]
    rows = tuple(closest[worlds[0]]) if worlds else ()
    yield TableFigure(
        "dd", "DD of every generator and of real text", "DD: 0 is as real text, 1 is always told apart", rows,
        tuple(Panel(table_id("all evaluators", world), DD, _TITLES[world]) for world in worlds),
    )  # fmt: skip
    for world in worlds:
        yield TableFigure(
            f"ranks-{world}", f"Ranks of generators by evaluators, {_TITLES[world]}", "rank, 1 is best",
            tuple(closest[world]), tuple(Panel(table_id("ranks", world), name, name) for name in _RANKED),
        )  # fmt: skip
    if worlds:
        yield TableFigure(
            "overlap-and-classifiers", "What word overlap and a classifier say, temperatures among them",
            "BLEU and BLEU G-train: more is better; others: less is better", (FLOOR, *GENERATORS),
            tuple(
                Panel(table_id("all evaluators", worlds[0]), name, name)
                for name in ("SVM", "BLEU", SELF_BLEU, DIVERSITY, BLEU_TRAIN)
            ),
            shared=False,
        )  # fmt: skip


def _against_exact(exact: Sequence[str]) -> Iterable[TableFigure]:
    """Yield the evaluators beside the exact distance: a generator a row, in the exact order."""
    panels = [Panel(table_id("exact distances", "oracle"), TOTAL_VARIATION, "exact")]
    panels += [Panel(table_id("all evaluators", "oracle"), name, name) for name in _AGAINST_EXACT]
    yield TableFigure(
        "evaluators-and-exact", "Evaluators beside the exact distance from the oracle, closest first",
        "exact: total variation; each evaluator on its own scale; BLEU: more is better", tuple(exact), tuple(panels),
        shared=False,
    )  # fmt: skip


def _agreement(tables: Sequence[ReproducedTable]) -> Iterable[TableFigure]:
    """Yield tau of each evaluator with the known orders."""
    ids = {
        table_id(f"agreement with {order}", world): title
        for world, order, title in (
            ("oracle", TOTAL_VARIATION, "exact, TV"),
            ("oracle", DIVERGENCE, "exact, JS"),
            ("oracle", VOLUME, "share of oracle's text"),
            ("real", VOLUME, "share of real text"),
        )
    }
    rows_of = {table.id: table.rows for table in tables}
    rows = [row for table in ids for row in rows_of.get(table, ())]
    yield TableFigure(
        "agreement", "Evaluators and the known orders", "Kendall's tau", tuple(dict.fromkeys(rows)),
        tuple(Panel(table, "tau", title) for table, title in ids.items()),
    )  # fmt: skip


_TOLD = "samples were cut"  # a column of a table says so

_NOTES = (
    "Each generator was trained once and drew once; each classifier was trained once. Intervals and verdicts are over "
    "other text: another training may differ by more.",
    "Intervals of correlations are over other generators and other texts; temperatures and shares of the training text "
    "of one model are not independent generators, so these claim too much.",
    "Orientation as in the paper: of classifiers and Self-BLEU less is better, of word overlap, lexical diversity and "
    "BLEU against the training text more is better, whatever real text scores.",
    "In the real world the only known order is that of the training text; in the oracle world every distance is known.",
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
        from textassay.training import chosen_precision, training_device

        self.texts, self.scale, self.seed, self.n_resamples = texts, scale, seed, n_resamples
        self.precision = chosen_precision(scale.precision, training_device())
        super().__init__(folder, progress)
        self.worlds = build_worlds(texts, scale, precision=self.precision, seed=seed)
        judges = JudgesScale(networks=scale.network_judges, partitions=scale.partitions)
        self.judges = [judging_stages(world, judges, seed=seed) for world in self.worlds]

    @property
    def targets(self) -> Sequence[Stage]:
        """The stages that the result is read from."""
        return [stage for judges in self.judges for stage in (*judges.world.targets, *judges.targets)]

    def result(self) -> Reproduction:
        """Return the results beside the published ones; all stages must be done."""
        reports = [self._report(judges) for judges in self.judges]
        tables = [table for report in reports for table in report.tables]
        findings = [
            *check_paper(published_values(), level=LEVEL),
            *(one for report in reports for one in report.findings),
        ]
        ids = list(dict.fromkeys(finding.id for finding in findings))
        return Reproduction(
            title="Judge the Judges: every generator trained on one text",
            settings=self._settings(),
            tables=tuple(tables),
            findings=tuple(sorted(findings, key=lambda finding: ids.index(finding.id))),
            notes=(*(f"{name} was not there: what needs it is not measured." for name in self.texts.missing), *_NOTES,
                   *self.warning_notes(but=_TOLD)),
            seconds=self.seconds(),
            figures=generators_figures(
                tables,
                {report.world: report.closest for report in reports},
                next((report.exact for report in reports if report.exact), ()),
            ),
        )  # fmt: skip

    def _report(self, judges: Judges) -> "_Report":
        world, judged = judges.world, judged_world(judges, self.done)
        drawing: dict[str, Any] = {"n_resamples": self.n_resamples, "seed": self.seed}
        results = {name: self.outcome(one.exact) for name, one in world.generated.items() if one.exact is not None}
        exact = exact_orders({name: result for name, result in results.items() if name in judged.ranked})
        volume = order_by_volume(world, judged.ranked)
        tables = judged_tables(world.name, judged, world.n, **drawing)
        trained, drawn = (
            {name: self.outcome(getattr(one, what)) for name, one in world.generated.items()}
            for what in ("trained", "drawn")
        )
        tables += [text_table(world.name, judged), costs_table(world.name, trained, drawn)]
        tables += exact_table(world.name, judged, results)
        for orders in (exact, volume):
            tables += order_tables(world.name, judged_by_orders(orders, judged.evaluations, **drawing))
        about = f"{world.name} world"
        known = {FLOOR: drawn_values(about, judged.evaluations, judged.ranked, **drawing)}
        for orders in (exact[:1], volume):
            for order in orders:
                known[order.name] = drawn_values(about, judged.evaluations, order.generators, orders=orders, **drawing)
        paper = drawn_values(about, judged.evaluations, [g for g in PAPER_NAMES if g in judged.ranked], **drawing)
        findings = [*check_paper(paper, level=LEVEL), *check_orders(known, about, level=LEVEL)]
        return _Report(world.name, tables, findings, by_closeness(judged), exact[0].order if exact else ())

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
            **{f"texts, {world.name} world": dict(world.texts.sizes) for world in self.worlds},
            "fingerprint of the training text": self.worlds[0].texts.train.settings["text"],
        }


@dataclass(frozen=True)
class _Report:
    """The report of a world: tables, findings, writers in the order of DD, generators in exact order."""

    world: str
    tables: Sequence[ReproducedTable]
    findings: Sequence[CheckedFinding]
    closest: tuple[str, ...]
    exact: tuple[str, ...]
