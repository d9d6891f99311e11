"""Which columns of the study's tables stand in which figure, as the paper's figures 2 to 7 and 10 to 12."""

from collections.abc import Mapping, Sequence

from textassay.meta_evaluation import Agreement, Panel, ReproducedTable, TableFigure
from textassay.study.judges.evaluators import BESIDES
from textassay.study.judges.published import (
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
)

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
    evaluators = (*PEOPLE, *CLASSIFIERS, INDIVIDUAL, *OVERLAPS, BESIDES)
    tau = "Kendall's tau"
    wanted = [
        TableFigure("figure-2", "Figure 2: how often people are right", "percent", PEOPLE,
                    _panels("figure 2", {side: _side(side) for side in (ALL, REAL, GENERATED)})),
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
        TableFigure(
            one.name,
            one.title,
            one.x,
            one.rows,
            tuple(panel for panel in one.panels if (panel.table, panel.column) in known),
            tuple(star for star in one.starred if star[0] in {panel.table for panel in one.panels}),
            one.shared,
        )
        for one in wanted
        if any((panel.table, panel.column) in known for panel in one.panels)
    )


def _panels(table: str, columns: Mapping[str, str]) -> tuple[Panel, ...]:
    return tuple(Panel(table, column, title) for column, title in columns.items())


def _side(side: str) -> str:
    return {ALL: "all texts", REAL: "real", GENERATED: "generated"}[side]
