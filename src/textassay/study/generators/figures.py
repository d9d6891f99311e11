"""Which columns of the tables of the study of generators stand in which figure."""

from collections.abc import Iterable, Mapping, Sequence

from textassay.meta_evaluation import Panel, ReproducedTable, TableFigure
from textassay.study.generators.judging import DD
from textassay.study.generators.orders import DIVERGENCE, TOTAL_VARIATION, VOLUME
from textassay.study.generators.results import FLOOR, GENERATORS, WORLDS
from textassay.study.generators.tables import table_id
from textassay.study.judges.published import BLEU_TRAIN, DIVERSITY, SELF_BLEU

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
