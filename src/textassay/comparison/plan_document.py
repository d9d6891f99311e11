"""How many texts are needed, as a report: one line a question, what is assumed, and the pilot it rests on."""

from collections.abc import Iterator

from textassay.comparison.draw_document import drawn_section, drawn_sentences
from textassay.comparison.planning import TIMES_REAL, Pilot, Plan, Requirement
from textassay.report.document import Document, Figure, Section, items, notes, section, sections
from textassay.report.plots import Axis, Curves, Point, Series
from textassay.report.table import Cell, Table, count_cell, differences, intervals, numbers, text_cell
from textassay.report.text import count, counted, level, number, span

_PLACES = 3


def plan_document(plan: Plan) -> Document:
    """Return a plan as a report."""
    most = max(plan.requirements, key=lambda requirement: requirement.n)
    answer = f"{counted(most.n, 'text')}, real and of each generator, are needed for {_question(most, plan)}"
    answer += "." if len(plan.requirements) == 1 else "; the other questions need fewer."
    draws = () if plan.pilot is None else plan.pilot.draws
    with_tested = plan.folds == 1
    texts = Table.of_items("texts", plan.requirements, [
        ("question", lambda requirement: _question(requirement, plan), text_cell),
        *([("tested", "n_tested", count_cell)] if with_tested else []),
        ("in all" if with_tested else "texts", "n", count_cell),
        (f"real, with {TIMES_REAL}x generated", "n_real", count_cell),
    ], main=True)  # fmt: skip
    return Document(
        "How many texts are needed",
        (answer, *_last_doublings(plan), *drawn_sentences(draws)),
        (("Level", level(plan.level)), ("Power", level(plan.power)), ("Folds", count(plan.folds))),
        sections(
            None if plan.pilot is None else _pilot(plan.pilot, share=level(plan.level)),
            drawn_section(draws),
            section("Texts needed, real and of each generator", texts),
            section("Assumed", *items(plan.assumptions)),
        ),
        lead="plan-pilot",
    )


def _question(requirement: Requirement, plan: Plan) -> str:
    share, power = level(plan.level), level(plan.power)
    if requirement.question == "margin":
        return f"dd within ±{requirement.size:g}, {share} interval"
    if requirement.question == "detect":
        return f"dd of {requirement.size:g} to be detected at {share}, with power {power}"
    return f"two generators whose dd differ by {requirement.size:g} to be separated at {share}, with power {power}"


def _last_doublings(plan: Plan) -> Iterator[str]:
    """Yield which side's last doubling added more to dd of the closest generator, where both are known."""
    generators = () if plan.pilot is None else plan.pilot.generators
    closest = min(generators, key=lambda found: abs(found.value), default=None)
    rises = [] if closest is None else [one for one in closest.more if one.rise is not None]
    if closest is not None and len(rises) == 2:
        told = [
            f"the last doubling of {one.side} text alone changed dd by {number(one.rise, _PLACES)} "
            f"{span(one.rise_low, one.rise_high, _PLACES)}"
            for one in rises
        ]
        yield f"Of {closest.generator}, {' and '.join(told)}."


def _pilot(pilot: Pilot, *, share: str) -> Section:
    curves = {one.generator: one.curve.points for one in pilot.generators if one.curve is not None and one.curve.points}
    rising = {None: "unknown", True: "yes", False: "no"}
    sizes = [
        (found.generator, point, rising[None if found.curve is None else found.curve.rising])
        for found in pilot.generators
        for point in curves.get(found.generator, (found,))
    ]
    measured = Table.of_items("pilot", sizes, [
        ("generator", lambda row: row[0], text_cell),
        ("generated", lambda row: row[1].n_generated, count_cell),
        ("real", lambda row: row[1].n_real, count_cell),
        ("dd", lambda row: row[1].value, numbers(_PLACES)),
        (share, lambda row: (getattr(row[1], "low", None), getattr(row[1], "high", None)), intervals(_PLACES)),
        ("still rising?", lambda row: row[2], text_cell),
    ])  # fmt: skip
    more = Table.of_items("more-text", [(found.generator, one) for found in pilot.generators for one in found.more], [
        ("generator", lambda row: row[0], text_cell),
        ("side", lambda row: row[1].side, text_cell),
        ("texts", lambda row: row[1].n, count_cell),
        ("last doubling of it", lambda row: row[1].rise, differences(_PLACES)),
        ("interval", lambda row: (row[1].rise_low, row[1].rise_high), intervals(_PLACES)),
        ("dd now", lambda row: row[1].half_width, _width),
        ("twice as much", lambda row: row[1].half_width_doubled, _width),
    ], title="What more text would buy: dd's rise, and its interval")  # fmt: skip
    told = "" if pilot.correlation is None else (
        f"Scores of the same real texts beside different generators correlate by {pilot.correlation:.2f}"
        f"{' or more.' if len(pilot.generators) > 2 else '.'}"
    )  # fmt: skip
    series = [
        Series(name, tuple(Point(p.n_generated, p.value, p.low, p.high) for p in points), dashes=place)
        for place, (name, points) in enumerate(curves.items())
    ]
    curve = Figure(
        "plan-pilot",
        Curves(tuple(series), Axis("generated texts"), Axis("dd")),
        "dd of the pilot by number of texts, with intervals: while it still rises, more texts detect more.",
    )
    return section("The pilot", measured, *notes(told), more, curve if series else None)


def _width(half_width: float) -> Cell:
    return Cell(f"±{number(half_width, _PLACES)}", half_width)
