"""What a comparison will cost, as a report: one line a stage."""

from importlib.metadata import version

from textassay.comparison import Cost, DrawCost, Stage
from textassay.report.cells import count_cell
from textassay.report.document import Cell, Document, Section, Table, notes, section
from textassay.report.number import MISSING, count, counted, duration


def cost_document(cost: Cost) -> Document:
    """Return what a comparison will cost as a report."""
    answer = f"About {duration(cost.wall)} and {_memory(cost.megabytes)} of memory, with {_threads(cost)}."
    unknown = [stage.name for stage in cost.stages if stage.seconds is None]
    beyond = [stage.name for stage in cost.stages if stage.extrapolated and stage.seconds is not None]
    unknown += [f"drawing from {draw.generator}" for draw in cost.draws if draw.seconds is None]
    unknown += [f"log-probabilities of {draw.generator}" for draw in cost.draws if draw.log_probs_seconds is None]
    said = notes(
        "Seconds and memory come from measured runs on sentences of about ten words, or documents of about a thousand, "
        f"and carry 30 % and more. This machine was taken to need {cost.factor:.2f} times as long as the measured one.",
        *([f"Nothing is known of {', '.join(unknown)}: add them yourself."] if unknown else []),
        *([f"Larger than any run that was measured: {', '.join(beyond)}."] if beyond else []),
    )
    return Document(
        "What the comparison will cost",
        (answer,),
        (("Texts", count(cost.texts)), ("Tokens", count(cost.tokens)), ("Processor time", duration(cost.seconds))),
        (*([_drawing(cost)] if cost.draws else []), section("Stages", _stages(cost), *said)),
        lead="stages",
        version=version("textassay"),
    )


def _drawing(cost: Cost) -> Section:
    columns = ("generator", "texts, at least", "at most", "calls", "drawing", "log-probabilities")
    told = (
        "All stages are counted with the most texts that may be drawn (--budget), like the real ones. Models in "
        "folders drew a few texts to see how long they take; commands were not called."
    )
    asked = [f"{requests_line(draw)}." for draw in cost.draws if draw.requests is not None]
    table = Table.of("drawing", columns, [_draw_row(draw) for draw in cost.draws])
    return section("Drawing", table, *notes(told, *asked))


def requests_line(draw: DrawCost) -> str:
    """Return how many requests and tokens drawing from an endpoint takes."""
    requests = draw.requests
    assert requests is not None
    least = "" if draw.n_least == draw.n_most else f"from {count(draw.n_least)} "
    most = f"{least}to {counted(draw.n_most, 'request')}" if least else counted(draw.n_most, "request")
    each = f"about {requests.prompt_tokens / max(1, draw.n_most):.0f} prompt tokens each"
    if requests.completion_tokens is None:
        most_tokens = "answers of any length, since max_tokens is not set"
    else:
        most_tokens = f"at most {count(requests.completion_tokens)} tokens of answers"
    tokens = f"{count(requests.prompt_tokens)} together, and {most_tokens}"
    price = "" if requests.price is None else f"; {requests.price:.4g} at the prices given, at most"
    return f"{draw.generator}: {most}, {each}, {tokens}{price}; answers that are kept are not asked for again"


def _draw_row(draw: DrawCost) -> list[str | Cell]:
    seconds = [
        Cell("unknown") if one is None else Cell(duration(one), one) if one else Cell(MISSING)
        for one in (draw.seconds, draw.log_probs_seconds)
    ]
    n_calls = draw.calls if draw.requests is None else draw.requests.requests
    calls = Cell(MISSING) if n_calls is None else count_cell(n_calls)
    return [draw.generator, count_cell(draw.n_least), count_cell(draw.n_most), calls, *seconds]


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
