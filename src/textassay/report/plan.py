"""How many texts are needed, as a report: one line a question, what is assumed, and the pilot it rests on."""

from importlib.metadata import version

from textassay.comparison.planning import TIMES_REAL, Pilot, Plan, Requirement
from textassay.report.cells import count_cell, number_cell
from textassay.report.document import Cell, Document, Figure, Row, Section, Table, items, notes, section
from textassay.report.draws import drawn_section, drawn_sentences
from textassay.report.number import count, counted, level, number, span
from textassay.report.plots import Axis, Curves, Point, Series

_PLACES = 3


def plan_document(plan: Plan) -> Document:
    """Return a plan as a report."""
    most = max(plan.requirements, key=lambda requirement: requirement.n)
    answer = f"{counted(most.n, 'text')}, real and of each generator, are needed for {_question(most, plan)}"
    answer += "." if len(plan.requirements) == 1 else "; the other questions need fewer."
    pilot = () if plan.pilot is None else (_pilot(plan.pilot, share=level(plan.level)),)
    draws = () if plan.pilot is None else plan.pilot.draws
    return Document(
        "How many texts are needed",
        (answer, *_more_told(plan), *drawn_sentences(draws)),
        (("Level", level(plan.level)), ("Power", level(plan.power)), ("Folds", count(plan.folds))),
        (*pilot, *([drawn_section(draws)] if draws else []),
         section("Texts needed, real and of each generator", _texts(plan)),
         section("Assumed", *items(plan.assumptions))),
        lead="plan-pilot",
        version=version("textassay"),
    )  # fmt: skip


def _texts(plan: Plan) -> Table:
    with_tested = plan.folds == 1
    rows: list[list[str | Cell]] = []
    for requirement in plan.requirements:
        tested = [count_cell(requirement.n_tested)] if with_tested else []
        sizes = count_cell(requirement.n), count_cell(requirement.n_real)
        rows.append([_question(requirement, plan), *tested, *sizes])
    needed = ("in all" if with_tested else "texts", f"real, with {TIMES_REAL}x generated")
    return Table.of("texts", ("question", *(("tested",) if with_tested else ()), *needed), rows, main=True)


def _more_told(plan: Plan) -> tuple[str, ...]:
    """Return which side's last doubling added more to dd of the closest generator."""
    generators = () if plan.pilot is None else plan.pilot.generators
    closest = min(generators, key=lambda found: abs(found.value), default=None)
    rises = {} if closest is None else {one.side: one for one in closest.more if one.rise is not None}
    if closest is None or len(rises) < 2:
        return ()
    told = [
        f"the last doubling of {side} text alone changed dd by {number(one.rise, _PLACES)} "
        f"{span(one.rise_low, one.rise_high, _PLACES)}"
        for side, one in rises.items()
    ]
    return (f"Of {closest.generator}, {' and '.join(told)}.",)


def _more(pilot: Pilot) -> Table | None:
    """Return what more text of one side would buy."""
    rows: list[Row] = []
    for found in pilot.generators:
        for place, one in enumerate(found.more):
            rise = "unknown" if one.rise is None else (
                f"{number(one.rise, _PLACES, sign=True)} {span(one.rise_low, one.rise_high, _PLACES)}"
            )  # fmt: skip
            widths = [Cell(f"±{number(width, _PLACES)}", width) for width in (one.half_width, one.half_width_doubled)]
            name = Cell(found.generator if place == 0 else "")
            rows.append(Row((name, Cell(one.side), count_cell(one.n), Cell(rise, one.rise), *widths)))
    columns = ("generator", "side", "texts", "last doubling of it", "dd now", "twice as much")
    return (
        Table.of("more-text", columns, rows, texts=(1,), title="What more text would buy: dd's rise, and its interval")
        if rows
        else None
    )


def _question(requirement: Requirement, plan: Plan) -> str:
    share, power = level(plan.level), level(plan.power)
    if requirement.question == "margin":
        return f"dd within ±{requirement.size:g}, {share} interval"
    if requirement.question == "detect":
        return f"dd of {requirement.size:g} told from 0 at {share}, with power {power}"
    return f"two generators whose dd differ by {requirement.size:g} told apart at {share}, with power {power}"


def _pilot(pilot: Pilot, *, share: str) -> Section:
    rows: list[Row] = []
    series: list[Series] = []
    for found in pilot.generators:
        points = () if found.curve is None else found.curve.points
        rising = None if found.curve is None else found.curve.rising
        said = Cell("unknown" if rising is None else "yes" if rising else "no")
        for place, point in enumerate(points):
            sizes = count_cell(point.n_generated), count_cell(point.n_real)
            bounds = Cell(span(point.low, point.high, _PLACES), point.low)
            name = Cell(found.generator if place == 0 else "")
            last = place == len(points) - 1
            rows.append(Row((name, *sizes, number_cell(point.value, _PLACES), bounds, said if last else Cell())))
        if points:
            line = tuple(Point(point.n_generated, point.value, point.low, point.high) for point in points)
            series.append(Series(found.generator, line, dashes=len(series)))
        else:
            sizes = count_cell(found.n_generated), count_cell(found.n_real)
            rows.append(Row((Cell(found.generator), *sizes, number_cell(found.value, _PLACES), Cell(), said)))
    table = Table.of("pilot", ("generator", "generated", "real", "dd", share, "still rising?"), rows)
    told = "" if pilot.correlation is None else (
        f"Scores of the same real texts beside different generators correlate by {pilot.correlation:.2f}"
        f"{' or more.' if len(pilot.generators) > 2 else '.'}"
    )  # fmt: skip
    curve = None if not series else Figure(
        "plan-pilot", Curves(tuple(series), Axis("generated texts"), Axis("dd")),
        "dd of the pilot by the number of texts, with intervals: where it still rises, more texts find more.",
        f"dd by the number of texts of {', '.join(one.name for one in series)}.",
    )  # fmt: skip
    return section("The pilot", table, *notes(told), _more(pilot), curve)
