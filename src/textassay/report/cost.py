"""What a comparison will cost, as a report: one line a stage."""

from importlib.metadata import version

from textassay.comparison import Cost, Stage
from textassay.report.cells import count_cell
from textassay.report.document import Cell, Document, Table, notes, section
from textassay.report.number import count, counted, duration


def cost_document(cost: Cost) -> Document:
    """Return what a comparison will cost as a report."""
    answer = f"About {duration(cost.wall)} and {_memory(cost.megabytes)} of memory, with {_threads(cost)}."
    unknown = [stage.name for stage in cost.stages if stage.seconds is None]
    beyond = [stage.name for stage in cost.stages if stage.extrapolated and stage.seconds is not None]
    said = notes(
        "Seconds and memory come from measured runs on sentences of about ten words, and carry 30 % and more. This "
        f"machine was taken to need {cost.factor:.2f} times as long as the measured one.",
        *([f"Nothing is known of {', '.join(unknown)}: add them yourself."] if unknown else []),
        *([f"Larger than any run that was measured: {', '.join(beyond)}."] if beyond else []),
    )
    return Document(
        "What the comparison will cost",
        (answer,),
        (("Texts", count(cost.texts)), ("Tokens", count(cost.tokens)), ("Processor time", duration(cost.seconds))),
        (section("Stages", _stages(cost), *said),),
        lead="stages",
        version=version("textassay"),
    )


def _stages(cost: Cost) -> Table:
    columns = ("stage", "pairs of texts", "processor", "wall", "memory")
    return Table.of("stages", columns, [_row(stage) for stage in cost.stages], main=True)


def _row(stage: Stage) -> list[str | Cell]:
    if stage.seconds is None or stage.wall is None:
        return [stage.name, count_cell(stage.runs), *(Cell("unknown") for _ in range(3))]
    memory = Cell(_memory(stage.megabytes), stage.megabytes)
    times = (Cell(duration(seconds), seconds) for seconds in (stage.seconds, stage.wall))
    return [stage.name, count_cell(stage.runs), *times, memory]


def _memory(megabytes: float) -> str:
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.0f} MB"


def _threads(cost: Cost) -> str:
    return counted(cost.workers, "thread")
