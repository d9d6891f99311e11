"""What generators carry over, as a report: the verdict, the counts beside those of real text, passages side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textassay.leakage.carried import COPIES, LONG, NEAR, QUANTITIES, RARE
from textassay.leakage.leaks import CANARIES, SEEN, GeneratorLeaks, Leaks
from textassay.leakage.near_copies import SHORTEST
from textassay.report.document import Document, Figure, Pair, Pairs, Paragraph, Section, items, section, sections
from textassay.report.plots import Axis, Curves, Point, Series, series_colour
from textassay.report.table import (
    Column,
    Table,
    count_cell,
    p_cell,
    percent_cell,
    percent_interval_cell,
    percents,
    record,
    text_cell,
)
from textassay.report.text import count, counted, join_words, level, number

_PLACES = 2  # of percentages


def leaks_document(leaks: Leaks) -> Document:
    """Return what generators carry over as a report."""
    facts = [("Texts", f"{count(leaks.n_train)} training texts, {count(leaks.n_real)} held-out")]
    facts += [("Tested in groups", leaks.dependence)] if leaks.dependence else []
    return Document(
        "Training text repeated by the generated text",
        tuple(_verdict(one) for one in sorted(leaks.generators, key=lambda one: one.verdict != "excess")),
        tuple(facts),
        sections(
            section("", *(Paragraph(text, "warning") for text in (*leaks.warnings, *_unfinished(leaks)))),
            section("Excess over held-out real text", _table(leaks), *items([*_personal_data(leaks)]), _curves(leaks)),
            _canaries(leaks),
            _passages(leaks),
            section("What is counted", *items([*_meanings(leaks)]), extra=True),
        ),
        lead="shared-runs",
        series=tuple(one.generator for one in leaks.generators),
        records=(
            _record("leaks", leaks.to_dict()["results"]),
            _record("passages", [passage.to_dict() for passage in leaks.passages]),
        ),
    )  # fmt: skip


def _record(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    return record(name, [*rows[0]] if rows else ["generator"], [[*row.values()] for row in rows])


def _verdict(one: GeneratorLeaks) -> str:
    """Return the verdict on a generator, in a sentence."""
    if one.significant:
        told = [
            f"{name} {_percent(one.excesses[name].share)} against {_percent(one.excesses[name].expected)}"
            for name in one.significant
            if name != CANARIES
        ]
        told += ["inserted canaries more than controls"] if CANARIES in one.significant else []
        return f"{one.generator} repeats more of the training text than fresh real text does: {join_words(told)}."
    if one.verdict == "no excess":
        seen = f"{_percent(one.detectable[one.deciding])} of {one.deciding} among its texts"
        return f"{one.generator}: no excess was found; {seen} would have been detected."
    wanted = "one side has fewer than ten groups of texts"
    if one.texts_needed is not None:
        n, both = one.texts_needed
        wanted = f"{_percent(SEEN)} of {one.deciding} among its texts could have gone undetected"
        others = " and as many generated" if both else ""
        wanted += f"; about {count(n)} held-out{others} texts would reveal them" if n else ""
    return f"{one.generator}: inconclusive: no excess was found, but {wanted}."


def _percent(share: float) -> str:
    return f"{number(100 * share, _PLACES)} %"


def _table(leaks: Leaks) -> Table:
    rows = [(one, quantity, one.excesses[quantity]) for one in leaks.generators for quantity in QUANTITIES]
    return Table.of_items("leaks", rows, [
        ("what", lambda row: row[1], text_cell),
        ("texts", lambda row: row[2].count_generated, count_cell),
        (Column("from", note="different training texts"), lambda row: row[0].n_sources[row[1]], count_cell),
        (Column("%", note="of the generated texts that are long enough"), lambda row: row[2].share, percents(_PLACES)),
        (Column("real", note="%, of real texts of these lengths"), lambda row: row[2].expected, percents(_PLACES)),
        ("excess", lambda row: row[2].difference, percents(_PLACES)),
        (level(leaks.level), lambda row: row[2].interval, lambda bounds: percent_interval_cell(bounds, _PLACES)),
        (Column("p", note="one-sided, adjusted for all tests (Holm)"), lambda row: row[0].p_adjusted[row[1]], p_cell),
        (Column("seen", note="%, the smallest share of copied texts that is detected with probability 0.8"),
         lambda row: row[0].detectable[row[1]], percents(_PLACES)),
    ], heading=lambda row: row[0].generator if len(leaks.generators) > 1 else "", main=True)  # fmt: skip


def _personal_data(leaks: Leaks) -> Iterator[str]:
    for one in leaks.generators:
        data = one.personal_data
        if data.n_texts:
            kinds = ", ".join(f"{n} {kind}" for kind, n in data.kinds.items())
            yield (
                f"{one.generator}: personal data from the training text in {counted(data.n_texts, 'text')} "
                f"({kinds}); in {count(data.n_real_texts)} held-out texts."
            )


def _unfinished(leaks: Leaks) -> Iterator[str]:
    for one in leaks.generators:
        if one.n_incomplete:
            yield (
                f"{one.generator}: {counted(one.n_incomplete, 'text')} share parts with too many training texts to "
                "check all of them: there may be more near copies."
            )


def _canaries(leaks: Leaks) -> Section | None:
    found = [(one.generator, one.canaries) for one in leaks.generators if one.canaries is not None]
    if not found:
        return None
    table = Table.of_items("canaries", found, [
        ("generator", lambda row: row[0], text_cell),
        ("whole", lambda row: row[1].n_whole, count_cell),
        ("controls whole", lambda row: row[1].n_controls_whole if row[1].n_controls else None, count_cell),
        ("longest part, %", lambda row: max((one.n_shared / one.n_tokens for one in row[1].canaries), default=None),
         lambda share: percent_cell(share, 0)),
        ("p", lambda row: row[1].p_value, lambda p: p_cell(p, "")),
    ]).compact()  # fmt: skip
    each = Table.of_items("each-canary", [(name, one) for name, of in found for one in of.canaries], [
        ("canary", lambda row: row[1].text, text_cell),
        ("generator", lambda row: row[0], text_cell),
        ("tokens", lambda row: row[1].n_tokens, count_cell),
        ("consecutive tokens", lambda row: row[1].n_shared, count_cell),
    ], title="Each canary", extra=True)  # fmt: skip
    n_in_train, n = leaks.canaries_in_train or 0, len(found[0][1].canaries)
    told = f"{count(n_in_train)} of {count(n)} occur in the training text."
    return section("Canaries", table, Paragraph(told, "note"), each)


def _curves(leaks: Leaks) -> Figure:
    sides = [*((one.generator, one.run_shares) for one in leaks.generators), ("held-out", leaks.real_run_shares)]
    series = [
        Series(
            name,
            tuple(Point(n, share) for n, share in enumerate(shares, start=1)),
            colour="real" if place == len(sides) - 1 else series_colour(place),
            dots=False,
            dashes=place,
        )
        for place, (name, shares) in enumerate(sides)
    ]
    return Figure(
        "shared-runs",
        Curves(tuple(series), Axis("consecutive tokens, at least"), Axis("texts", percent=True, scale="log10")),
        "Share of texts that share a run of at least so many tokens with a training text.",
    )


def _passages(leaks: Leaks) -> Section:
    leaky = {one.generator for one in leaks.generators if one.verdict == "excess"}
    passages = sorted(leaks.passages, key=lambda one: one.generator not in leaky)
    pairs = tuple(Pair(one.generator, one.label, one.generated, one.training) for one in passages)
    told = "" if pairs else "There are none."
    return section(
        "Passages side by side",
        Pairs("passages", ("generated", "training"), pairs) if pairs else Paragraph(told, "note"),
    )


def _meanings(leaks: Leaks) -> Iterator[str]:
    meanings = {
        COPIES: "a training text with the same tokens.",
        NEAR: f"in texts of {SHORTEST} tokens or more: at most one token in ten is substituted, inserted or deleted.",
        LONG: (
            f"more than {leaks.limits[LONG]} consecutive tokens that occur in a training text; 1 % of the training "
            "texts share that with another."
        ),
        RARE: (
            f"more than {leaks.limits[RARE]} consecutive tokens that occur in exactly one training text; 1 % of the "
            "training texts share that with exactly one other."
        ),
    }  # fmt: skip
    for name, meaning in meanings.items():
        yield f"{name}: {meaning}"
